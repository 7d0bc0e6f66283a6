import itertools
import json

import pytest
from conftest import LABELS, TASK, make_checkpoint
from refusals import refuses

from ranker.errors import LabelError
from ranker.sources.base import ResourceCache
from ranker.sources.hf.kind import Checkpoint
from ranker.sources.hf.labels import check_inverse, reconcile
from ranker.tasks.classes import ClassificationTask

THREE = ("entailment", "neutral", "contradiction")


@pytest.mark.parametrize("order", list(itertools.permutations(THREE)))
def test_three_way_nli_in_any_order_becomes_binary(order):
    """The outputs of each class are found by name: neutral and contradiction are both no entailment."""
    groups = reconcile(dict(enumerate(order)), TASK)
    assert [{order[i] for i in group} for group in groups] == [{"neutral", "contradiction"}, {"entailment"}]


@pytest.mark.parametrize("names", [("ENTAILMENT", "Non Entailment"), ("Entailment", "non_entailment")])
def test_case_and_hyphens_do_not_matter(names):
    """A name is the same in capitals, and with a blank or an underscore for a hyphen."""
    assert reconcile(dict(enumerate(names)), TASK) == ((1,), (0,))


def test_a_map_must_name_every_output():
    """An order is never assumed: every output must mean something."""
    with refuses(LabelError, value="LABEL_0", place="models/a"):
        reconcile({0: "LABEL_0", 1: "LABEL_1"}, TASK, model="models/a")
    with refuses(LabelError, value="LABEL_1", place="the model"):
        reconcile({0: "LABEL_0", 1: "LABEL_1"}, TASK, {"0": "entailment"})


@pytest.mark.parametrize("keys", [("0", "1", "2"), ("LABEL_0", "label_1", " 2 ")])
def test_a_map_names_outputs_by_index_or_label(keys):
    """Several outputs may be mapped to one class, which may be called by an alias."""
    label_map = dict(zip(keys, ("entailment", "neutral", "non-entailment"), strict=True))
    assert reconcile({i: f"LABEL_{i}" for i in range(3)}, TASK, label_map) == ((1, 2), (0,))


def test_a_map_of_other_outputs_says_nothing_of_a_checkpoint():
    """One map serves a suite; one name that is there is a promise that all are."""
    label_map = {"LABEL_0": "entailment", "label_1": "non-entailment"}
    assert reconcile({0: "LABEL_0", 1: "LABEL_1"}, TASK, label_map) == ((1,), (0,))
    assert reconcile({0: "non-entailment", 1: "entailment"}, TASK, label_map) == ((0,), (1,))
    with refuses(LabelError, option="label_map", value="LABEL_2", place="m"):
        reconcile({0: "LABEL_0", 1: "LABEL_1"}, TASK, {**label_map, "LABEL_2": "neutral"}, model="m")
    names = {0: "non-entailment", 1: "entailment"}
    assert reconcile(names, TASK, {"yes": "entailment", "no": "non-entailment"}) == ((0,), (1,))
    with refuses(LabelError, option="label_map", value="no", place="m"):
        reconcile(names, TASK, {"entailment": "entailment", "no": "non-entailment"}, model="m")


def test_a_partial_map_overrules_no_name_by_an_index():
    """What a map leaves out the configuration completes, whose names no index in a map turns round."""
    names = {0: "yes", 1: "contradiction", 2: "neutral"}
    assert reconcile(names, TASK, {"yes": "entailment"}) == ((1, 2), (0,))
    assert reconcile(names, TASK, {"yes": "entailment", "neutral": "entailment"}) == ((1,), (0, 2))
    names = {0: "entailment", 1: "not_entailment"}
    with refuses(LabelError, option="label_map", value="0", place="m"):
        reconcile(names, TASK, {"0": "non-entailment", "1": "entailment"}, model="m")
    assert reconcile(names, TASK, {"0": "entailment", "1": "neutral"}) == ((1,), (0,))


def test_what_is_no_output_or_no_class_is_refused():
    """No label is guessed, each class needs an output, and keys and values of a map are named with what there is."""
    with refuses(LabelError, value="positive", place="sst"):
        reconcile({0: "positive", 1: "negative"}, TASK, model="sst")
    with refuses(LabelError, value="entailment", place="m"):
        reconcile({0: "neutral", 1: "contradiction"}, TASK, model="m")
    names = {0: "LABEL_0", 1: "LABEL_1"}
    with refuses(LabelError, option="label_map", value="2", allowed=("LABEL_0", "LABEL_1"), place="m"):
        reconcile(names, TASK, {"2": "entailment"}, model="m")
    with refuses(LabelError, option="label_map", value="entailing", allowed=TASK.labels):
        reconcile(names, TASK, {"1": "entailing"})


def test_any_task_and_any_spelling_of_a_label_will_do():
    """Two classes are nothing special, and case, "_", "-" and blanks in a map's keys do not matter."""
    task = ClassificationTask("topic", ("sport", "politics", "art"), {"art": ("culture",)})
    assert reconcile({0: "Culture", 1: "Sport", 2: "Politics"}, task) == ((1,), (2,), (0,))
    names = {0: "not_so", 1: "SO"}
    assert reconcile(names, TASK, {"Not So": "non-entailment", "so": "entailment"}) == ((0,), (1,))


@pytest.mark.parametrize(
    "inverse", [{"bad": 1, "good": 0}, {"BAD": 1}, {"good": "0"}, {"good": 7}, {"good": None}, {"bad": [0]}]
)
def test_a_label_at_two_outputs_is_refused(inverse):
    """Case does not matter, nor how the number is written."""
    with refuses(LabelError, place="a"):
        check_inverse({0: "bad", 1: "good"}, inverse, "a")


@pytest.mark.parametrize("inverse", [{"bad": 0, "Good": "1"}, {"LABEL_0": 0, "LABEL_1": 1}, {}, {"worst": 1}])
def test_what_says_the_same_or_nothing_contradicts_nothing(inverse):
    """As checkpoints have it whose `id2label` alone was set."""
    check_inverse({0: "bad", 1: "good", 2: "bad"}, inverse, "a")


def test_a_checkpoint_that_contradicts_itself_is_not_looked_at_further(tmp_path):
    """No order of its outputs is taken for the right one."""
    file = make_checkpoint(tmp_path / "m") / "config.json"
    assert not Checkpoint("m", str(tmp_path / "m")).inspect(ResourceCache()).trouble
    file.write_text(json.dumps({**json.loads(file.read_text()), "label2id": dict(zip(LABELS, (1, 0, 2), strict=True))}))
    message = "m: config.json contradicts itself: by `id2label` 'contradiction' is output 0, by `label2id` 1"
    assert Checkpoint("m", str(tmp_path / "m")).inspect(ResourceCache()).trouble.endswith(message)
