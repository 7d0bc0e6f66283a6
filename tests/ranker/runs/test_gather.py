import json
import re
from dataclasses import replace

import pandas
import pytest
from conftest import TASK
from refusals import refuses

from ranker import ClassificationTask, label, labelled
from ranker.datasets import sets
from ranker.errors import DataError, UsageError
from ranker.files.draws import sample_rows
from ranker.runs.gather import check_numbers, gather_without_truth
from ranker.runs.inspected import inspect_models, unread_options
from ranker.runs.task import decide_task
from ranker.sources.base import SourceOptions
from ranker.sources.hf.kind import Checkpoint

THREE = ("entailment", "neutral", "contradiction")


@pytest.fixture
def models(tmp_path):
    """Models of which only the names of the labels are there, a folder each."""

    def make(*names):
        created = []
        for number, labels in enumerate(names):
            folder = tmp_path / f"model-{number}"
            folder.mkdir(exist_ok=True)
            content = {"id2label": dict(enumerate(labels))} if labels else {}
            (folder / "config.json").write_text(json.dumps(content))
            created.append(Checkpoint(folder.name, str(folder)))
        return created

    return make


def stated(models, label_map=None):
    """Give models a run's label map, and read what they say of themselves."""
    options = SourceOptions(label_map)
    return inspect_models([replace(model, options=options) for model in models]).infos


def test_a_label_map_names_the_labels_of_a_task_too(models):
    """Two outputs may have one name; a model that is not there has no say."""
    label_map = {"LABEL_0": "bad", "LABEL_1": "good", "LABEL_2": "good"}
    gone = Checkpoint("gone", "/nowhere")
    task = decide_task(infos=stated([gone, *models(("LABEL_0", "LABEL_1", "LABEL_2"))], label_map))
    assert task.labels == ("bad", "good")


@pytest.mark.parametrize(
    ("label_map", "none"),
    [
        (None, False),
        ({"entailmnt": "entailment"}, True),
        ({"LABEL_0": "entailment"}, False),
        ({"Contra_Diction": "non-entailment"}, False),
    ],
)
def test_a_label_map_that_fits_no_model_is_known(models, label_map, none):
    """Misspelt, it says nothing of any; one that it fits, that has its own or cannot be read leaves that open."""
    three = models(THREE, ("yes", "no"), ("contra-diction", "yes"), ("LABEL_0", "LABEL_1"))
    labelled_models = three if label_map and "LABEL_0" in label_map else three[:3]
    assert ("label_map" in unread_options(stated(labelled_models, label_map))) == none
    if none:
        other_labels = replace(labelled_models[0], name="own", label_map={"yes": "entailment"})
        assert "label_map" not in unread_options(stated([*labelled_models, other_labels], label_map))
        assert "label_map" not in unread_options(stated([*labelled_models, Checkpoint("gone", "/nowhere")], label_map))


def test_numbers_that_a_checkpoint_counts_otherwise_are_refused(models):
    """MNLI's 0 is entailment, and that of the task is not: nobody but their author knows which is meant."""
    row = {"premise": "A cook ran.", "hypothesis": "It rained.", "label": 0}
    rows = labelled([row, {**row, "premise": "It rained.", "label": 1}], TASK)
    agreeing = models(("no entailment", "entailment"), ("LABEL_0", "LABEL_1"), ("neutral", "entailment"))
    check_numbers([rows], stated(agreeing, {"no entailment": "neutral"}))
    with pytest.raises(UsageError) as caught:
        check_numbers([rows], stated(models(THREE)))
    assert str(caught.value) == (
        "the labels of rows in memory are numbers: in the task nli 0 is non-entailment, 1 is entailment, and to "
        "model-0 0 is entailment, 1 is neutral; write names instead"
    )
    numbered = labelled([{**row, "label": "neutral"}], TASK)
    check_numbers([numbered], stated(models(THREE)))


POLAR, THREE_WAY = ("NEGATIVE", "POSITIVE"), ("negative", "neutral", "positive")


def rows(*labels):
    """Rows with these labels."""
    return [{"text": f"A tree of {number} years.", "label": label} for number, label in enumerate(labels)]


def lines(message):
    """The label maps that a message says to type."""
    return [json.loads(match) for match in re.findall(r"`label_map=(\{.*?\})`", message)]


def asked(models, labels, label_map=None):
    """The task of models and rows that meet."""
    options = SourceOptions(label_map)
    with_options = [replace(model, options=options) for model in models]
    return gather_without_truth(with_options, rows(*labels)).ood


@pytest.mark.parametrize(
    ("outputs", "labels", "maps"),
    [
        (POLAR, ("good", "bad"), [{"NEGATIVE": "bad", "POSITIVE": "good"}]),
        (POLAR, ("pos", "neg"), [{"NEGATIVE": "neg", "POSITIVE": "pos"}]),
        (POLAR, (1, -1), [{"NEGATIVE": "-1", "POSITIVE": "1"}]),
        (POLAR, ("+1", "-1"), [{"NEGATIVE": "-1", "POSITIVE": "+1"}]),
        (POLAR, (1, 2), [{"NEGATIVE": "1", "POSITIVE": "2"}, {"NEGATIVE": "2", "POSITIVE": "1"}]),
        (POLAR, ("ham", "spam"), [{"NEGATIVE": "ham", "POSITIVE": "spam"}, {"NEGATIVE": "spam", "POSITIVE": "ham"}]),
        (("toxic", "non-toxic"), ("clean", "toxic"), [{"toxic": "toxic", "non-toxic": "clean"}]),
        (("LABEL_0", "LABEL_1"), ("b", "g"), [{"LABEL_0": "b", "LABEL_1": "g"}, {"LABEL_0": "g", "LABEL_1": "b"}]),
        (
            tuple(f"{n} star{'s' * (n > 1)}" for n in range(1, 6)),
            (1, 2, 3, 4, 5),
            [{"1 star": "1", "2 stars": "2", "3 stars": "3", "4 stars": "4", "5 stars": "5"}],
        ),
        (("1 star", "2 stars", "3 stars"), (2, 1), [{"1 star": "1", "2 stars": "2", "3 stars": "3"}]),
        (
            THREE_WAY,
            ("good", "bad"),
            [
                {"negative": "bad", "neutral": "bad", "positive": "good"},
                {"negative": "bad", "neutral": "good", "positive": "good"},
            ],
        ),
        (POLAR, (1, 2, 3, 4, 5), []),
    ],
)
def test_labels_that_models_do_not_have_come_with_the_line_to_type(models, outputs, labels, maps):
    """One line for the likely reading, all where the direction is open; each makes them one task, and none is taken."""
    two_models = models(outputs, outputs)
    with pytest.raises(UsageError) as refused:
        asked(two_models, labels)
    text = str(refused.value)
    assert lines(text) == maps
    assert f"the models {', '.join(outputs)}" in text
    assert ("only you know" in text) == (len(maps) > 1)
    for label_map in maps:
        ood = asked(two_models, labels, label_map)
        names = [label_map[outputs[0]], *label_map.values()]
        assert {ood.task.labels[row.target] for row in ood.examples} <= set(names)
        assert [ood.task.labels[row.target] for row in ood.examples] == list(map(str, labels))
    if not maps:
        assert "5 labels are more than 2 outputs: write labels of the models into the rows" in text


def test_models_that_differ_in_their_labels_are_named_with_the_line_to_type(models):
    """Each line says who differs, whom to leave out, or what a label may count as, and works."""
    three = models(POLAR, THREE_WAY, POLAR)
    with pytest.raises(UsageError) as refused:
        asked(three, ("positive", "negative"))
    assert str(refused.value) == (
        "the labels of the models differ: model-0, model-2 say NEGATIVE, POSITIVE; model-1 says negative, neutral, "
        'positive. Leave model-1 out, or say what its other labels count as: `label_map={"neutral": "NEGATIVE"}` or '
        '`label_map={"neutral": "POSITIVE"}`'
    )
    for label_map in lines(str(refused.value)):
        assert asked(three, ("positive", "negative"), label_map).task.labels == POLAR
    assert asked([three[0], three[2]], ("positive", "negative")).task.labels == POLAR


@pytest.mark.parametrize(
    ("names", "maps"),
    [
        ([POLAR, ("bad", "good")], [{"bad": "NEGATIVE", "good": "POSITIVE"}]),
        ([THREE_WAY, THREE_WAY, POLAR], []),
        ([POLAR, ("a", "b")], [{"a": "NEGATIVE", "b": "POSITIVE"}, {"a": "POSITIVE", "b": "NEGATIVE"}]),
    ],
)
def test_maps_between_models(models, names, maps):
    """Of other names for the same, of fewer labels, and of labels that nobody knows."""
    with pytest.raises(UsageError) as refused:
        asked(models(*names), ("positive", "negative"))
    assert lines(str(refused.value)) == maps
    assert f"Leave model-{len(names) - 1} out" in str(refused.value)


def test_models_that_differ_are_judged_by_a_known_task_that_rows_are_of(models):
    """Nothing is in the way there: three-way and two-way models of entailment."""
    assert asked(models(THREE, ("entailment", "not_entailment")), ("entailment", "neutral")).task.name == "nli"


def test_swapped_columns_are_suspected(models):
    """A column of a few repeated words as text, beside labels that are sentences, is suspected."""
    swapped = [{"text": row["label"], "label": row["text"]} for row in rows("good", "bad", "good", "bad", "good")]
    with refuses(DataError, place="rows in memory"):
        gather_without_truth(models(POLAR, POLAR), swapped)


TEXTS = ["A tree.", "A hut.", "A cat."]


@pytest.mark.parametrize("kind", ["examples", "mappings", "a data frame", "a path", "its name"])
def test_a_pool_is_read_from_wherever_it_is(kind, models, tmp_path):
    """Rows in memory or a file: the same examples, without labels."""
    rows = [{"text": text, "label": "good"} for text in TEXTS]
    file = tmp_path / "pool.csv"
    frame = pandas.DataFrame(rows)
    frame.to_csv(file, index=False)
    forms = {"mappings": rows, "a data frame": frame, "a path": file, "its name": str(file)}
    pool = forms.get(kind) if kind in forms else sets.unlabelled(rows)
    inputs = gather_without_truth(models(POLAR, POLAR), [{"text": "It rang.", "label": "negative"}], pool)
    assert [row.segments for row in inputs.pool] == [(text,) for text in (*TEXTS, "It rang.")]
    assert [row.target for row in inputs.pool[:3]] == [None] * 3


@pytest.mark.parametrize("kind", ["rows", "examples"])
def test_a_pool_larger_than_is_read_is_sampled_with_its_labelled_rows(kind, models, monkeypatch):
    """Ten of a hundred rows are left and the two labelled ones, in order and the same each time; a note."""
    for module in ("gather", "rows"):
        monkeypatch.setattr(f"ranker.runs.{module}.POOL_ROWS", 10)
    pool = [{"text": f"Row {n}."} for n in range(100)]
    if kind == "examples":
        pool = sets.unlabelled(pool)
    labelled = [{"text": "Row 70.", "label": "negative"}, {"text": "Row 3.", "label": "positive"}]
    runs = [gather_without_truth(models(POLAR, POLAR), labelled, pool) for _ in range(2)]
    numbers = [int(row.segments[0][4:-1]) for row in runs[0].pool]
    assert set(numbers) == {3, 70, *sample_rows(100, 10).tolist()}
    assert numbers == sorted(numbers)
    assert [numbers[place] for place in runs[0].places] == [70, 3]
    assert [row.segments for row in runs[1].pool] == [row.segments for row in runs[0].pool]
    note = f"{len(numbers)} of the 100 rows of the pool are read, drawn at random (seed 0)."
    assert note in runs[0].ood.notes


def test_a_pool_in_memory_that_cannot_be_read_is_one_line(models):
    """The line says what the pool lacks, as of a file."""
    with refuses(DataError, place="rows in memory"):
        sets.unlabelled([{"text": " "}])
    with refuses(DataError, place="rows in memory"):
        gather_without_truth(models(POLAR, POLAR), [{"text": "It rang.", "label": "negative"}], [{"label": "good"}])


def test_a_pool_whose_texts_look_like_labels_is_pointed_out(tmp_path, caplog):
    """Two short texts again and again; twenty sentences are none."""
    (tmp_path / "pool.csv").write_text("text,other\n" + "good,A tree.\nbad,A hut.\n" * 5)
    sets.unlabelled(tmp_path / "pool.csv")
    assert "'text' has 2 different texts in 10 rows; if these are labels, name the column of texts" in caplog.text
    caplog.clear()
    (tmp_path / "pool.csv").write_text("text\n" + "".join(f"A tree of {n} years.\n" for n in range(20)))
    sets.unlabelled(tmp_path / "pool.csv")
    assert not caplog.text


@pytest.mark.parametrize("ask", ["run", "label"])
def test_an_id_with_two_texts_is_refused_if_answers_are_joined_by_ids(ask, tmp_path):
    """Both rows would take one answer of a file; other ids, or none, are fine."""
    tables = []
    for name in ("a", "b"):
        tables.append(tmp_path / f"{name}.csv")
        tables[-1].write_text("id,prediction\n" + "".join(f"r{n},{'good' if n % 3 else 'bad'}\n" for n in range(9)))
    pool = [{"id": f"r{n}", "text": f"Text {n}."} for n in range(9)]

    def gathered(rows):
        if ask == "run":
            return gather_without_truth(tables, rows, pool)
        task = ClassificationTask("mood", ("bad", "good"))
        return label(tables, sets.unlabelled(pool), task=task, labelled=labelled(rows, task).examples)

    gathered([{"id": "r1", "text": "Text 1.", "label": "good"}, {"id": "r2", "text": "Text 2.", "label": "bad"}])
    with refuses(UsageError, option="id", value="r1"):
        gathered([{"id": "r1", "text": "Another.", "label": "good"}, {"id": "r2", "text": "Text 2.", "label": "bad"}])
