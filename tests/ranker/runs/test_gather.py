import json
from dataclasses import replace

import pytest
from conftest import TASK

from ranker.datasets import sets
from ranker.errors import ModelError, UsageError
from ranker.runs.gather import check_numbers, check_readable, looked, own_task, unused
from ranker.sources.base import SourceOptions
from ranker.sources.hf.kind import Checkpoint
from ranker.sources.suites import load

THREE = ("entailment", "neutral", "contradiction")


@pytest.fixture
def models(tmp_path):
    """Models of which only the names of the labels are there, a folder each."""

    def make(*names):
        found = []
        for number, labels in enumerate(names):
            folder = tmp_path / f"model-{number}"
            folder.mkdir(exist_ok=True)
            content = {"id2label": dict(enumerate(labels))} if labels else {}
            (folder / "config.json").write_text(json.dumps(content))
            found.append(Checkpoint(folder.name, str(folder)))
        return found

    return make


def stated(models, label_map=None):
    """What models say of themselves, under a run's label map."""
    options = SourceOptions(label_map)
    return looked([replace(model, options=options) for model in models]).stated


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        ([("bad", "so-so", "good"), ("GOOD", "Bad", "so_so")], ("bad", "so-so", "good")),
        ([("LABEL_0", "LABEL_1"), ("bad", "good")], ("bad", "good")),
        ([(), ("bad", "good")], ("bad", "good")),
        ([("bad", "good"), ("no", "yes")], None),
        ([("LABEL_0", "LABEL_1"), ()], None),
        ([("bad", "Bad")], None),
    ],
)
def test_models_say_what_their_task_is(models, names, labels):
    """In the order of the first that names its outputs; where two name others, none is taken."""
    found = own_task(stated(models(*names)))
    assert (found and found.labels) == labels


def test_a_label_map_names_the_labels_of_a_task_too(models):
    """Two outputs may have one name; a model that is not there has no say."""
    given = {"LABEL_0": "bad", "LABEL_1": "good", "LABEL_2": "good"}
    gone = Checkpoint("gone", "/nowhere")
    found = own_task(stated([gone, *models(("LABEL_0", "LABEL_1", "LABEL_2"))], given))
    assert found.labels == ("bad", "good")


@pytest.mark.parametrize(
    ("given", "none"),
    [
        (None, False),
        ({"entailmnt": "entailment"}, True),
        ({"LABEL_0": "entailment"}, False),
        ({"Contra_Diction": "non-entailment"}, False),
    ],
)
def test_a_label_map_that_fits_no_model_is_known(models, given, none):
    """Misspelt, it says nothing of any; one that it fits, that has its own or cannot be read leaves that open."""
    three = models(THREE, ("yes", "no"), ("contra-diction", "yes"), ("LABEL_0", "LABEL_1"))
    named = three if given and "LABEL_0" in given else three[:3]
    assert unused(stated(named, given), "label_map") == none
    if none:
        own = replace(named[0], name="own", label_map={"yes": "entailment"})
        assert not unused(stated([*named, own], given), "label_map")
        assert not unused(stated([*named, Checkpoint("gone", "/nowhere")], given), "label_map")


def test_models_of_which_none_can_be_read_are_refused(tmp_path):
    """The first is named; beside one that can be read, those that cannot are no matter."""
    missing = [Checkpoint(name, str(tmp_path / name)) for name in "ab"]
    with pytest.raises(ModelError, match="there is no directory '.*a'"):
        check_readable(stated(missing))
    check_readable(stated([*missing, load(["paws-mini"]).models[0].source]))


def test_numbers_that_a_checkpoint_counts_otherwise_are_refused(models):
    """MNLI's 0 is entailment, and that of the task is not: nobody but their author knows which is meant."""
    row = {"premise": "A cook ran.", "hypothesis": "It rained.", "label": 0}
    rows = sets.labelled([row, {**row, "premise": "It rained.", "label": 1}], TASK)
    agreeing = models(("no entailment", "entailment"), ("LABEL_0", "LABEL_1"), ("neutral", "entailment"))
    check_numbers([rows], stated(agreeing, {"no entailment": "neutral"}))
    with pytest.raises(UsageError) as caught:
        check_numbers([rows], stated(models(THREE)))
    assert str(caught.value) == (
        "the labels of rows in memory are numbers: in the task nli 0 is non-entailment, 1 is entailment, and to "
        "model-0 0 is entailment, 1 is neutral; write names instead"
    )
    named = sets.labelled([{**row, "label": "neutral"}], TASK)
    check_numbers([named], stated(models(THREE)))
