"""Sets of labels: metrics equal to scikit-learn's, and the forms in which files hold them."""

import json
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from sklearn import metrics as theirs

from factors import Example
from ranker import UsageError
from ranker.errors import UnknownName
from ranker.tasks.label_sets import LabelSetTask
from ranker.tasks.named import value_task

LABELS = ("anger", "fear", "joy", "love", "sadness")

MEANS = {
    "samples-f1": lambda true, answered: theirs.f1_score(true, answered, average="samples", zero_division=1.0),
    "jaccard": lambda true, answered: theirs.jaccard_score(true, answered, average="samples", zero_division=1.0),
    "exact-match": theirs.accuracy_score,
    "1-hamming": lambda true, answered: 1 - theirs.hamming_loss(true, answered),
}
OF_SETS = {
    "micro-f1": lambda true, answered: theirs.f1_score(true, answered, average="micro", zero_division=0.0),
    "macro-f1": lambda true, answered: theirs.f1_score(true, answered, average="macro", zero_division=np.nan),
    "weighted-f1": lambda true, answered: theirs.f1_score(true, answered, average="weighted", zero_division=0.0),
    "f1:love": lambda true, answered: theirs.f1_score(true[:, 3], answered[:, 3], zero_division=0.0),
}


def drawn(seed):
    """Random sets: (N, L) indicators of targets and of answers, and the sets."""
    rng = np.random.default_rng(seed)
    rows, share = int(rng.integers(1, 12)), rng.random()
    true, answered = (rng.random((2, rows, len(LABELS))) < share).astype(int)
    sets = [[tuple(np.array(LABELS)[row > 0].tolist()) for row in matrix] for matrix in (true, answered)]
    return true, answered, *sets


@pytest.mark.more
@settings(max_examples=150)
@given(st.integers(0, 2**32 - 1))
def test_metrics_are_those_of_scikit_learn(seed):
    """Two empty sets are right, and a label that nobody has counts for no mean."""
    true, answered, targets, answers = drawn(seed)
    task = LabelSetTask("moods", possible=LABELS)
    rows = [Example(str(n), ("",), target) for n, target in enumerate(targets)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's, of labels without a row
        for name, expected in MEANS.items():
            value = task.judged_by(name).outcomes(task.predictions(answers), rows).mean()
            assert value == pytest.approx(expected(true, answered), abs=1e-12), name
        for name, expected in OF_SETS.items():
            metric = task.metric_named(name)
            value = float(metric.value(metric.statistics(answers, targets).mean(axis=0)))
            assert value == pytest.approx(np.nan_to_num(expected(true, answered)), abs=1e-12), name
        by_label = task.by_label(answers, targets)
        for place, label in enumerate(LABELS):
            f1 = theirs.f1_score(true[:, place], answered[:, place], zero_division=0.0)
            assert by_label[label] == (true[:, place].sum(), pytest.approx(f1, abs=1e-12))


def test_an_answer_that_was_not_given_is_an_empty_set():
    """No answer is right where the row has no label, and counts for nothing else."""
    task = LabelSetTask("moods", possible=LABELS)
    rows = [Example("1", ("",), ()), Example("2", ("",), ("joy",))]
    for name in MEANS:
        judging = task.judged_by(name)
        empty = judging.outcomes(judging.predictions([(), ()]), rows)
        assert judging.outcomes(judging.predictions([None, None]), rows).tolist() == empty.tolist(), name
    metric = task.metric_named("")
    assert metric.statistics([None], [("joy",)]).tolist() == metric.statistics([()], [("joy",)]).tolist()


def test_labels_that_no_row_has_are_wrong():
    """Micro-F1 and rows count them, the mean over labels is over those of the rows, and both kinds are noted."""
    task = LabelSetTask("moods", possible=("joy", "love"))
    answers, targets = [("joy", "zeal")], [("joy",)]
    metrics = {name: task.metric_named(name) for name in ("micro-f1", "macro-f1")}
    values = {
        name: float(metric.value(metric.statistics(answers, targets).mean(axis=0))) for name, metric in metrics.items()
    }
    assert values == {"micro-f1": pytest.approx(2 / 3), "macro-f1": 1.0}
    assert task.outcome(*answers, *targets) == pytest.approx(2 / 3)
    assert task.judging_notes({"a": answers}, targets) == (
        "No row has these labels, which are wrong wherever they are answered: zeal.",
        "No model answers with these labels: love.",
    )


@pytest.mark.parametrize(("cell", "labels"), [
    ("joy;love", ("joy", "love")), (" love ; joy ;", ("joy", "love")), ('["love", "joy"]', ("joy", "love")),
    (["love", "joy"], ("joy", "love")), ({"joy": 1, "love": 0}, ("joy",)), ({"joy": 0.7, "love": 0.69}, ("joy",)),
    ('{"joy": true, "love": false}', ("joy",)), ("[]", ()), ([], ()), ([3, 1], ("1", "3")),
    (("JOY", "Love"), ("joy", "love")),
])  # fmt: skip
def test_forms(cell, labels):
    """Texts with a separator, lists, and objects of truth values or probabilities; names in any case."""
    task = LabelSetTask("moods", separator=";", threshold=0.7, possible=LABELS)
    assert task.answer_of(cell) == labels == task.target_of(task.cell_of(task.target_of(cell)))


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("joy;love", "`separator=;` splits it"),
        ("joy, love", "`separator=,` splits it"),
        ({"joy": 1.5}, "the label 'joy' needs 0, 1 or a probability"),
        ({"joy": float("nan")}, "the label 'joy' needs 0, 1 or a probability"),
        ({"joy": "yes"}, "the label 'joy' needs 0, 1 or a probability"),
        (["joy", "joy"], "the label 'joy' stands twice"),
        ([["joy"]], "a label must be a text"),
        ([True], "a label must be a text"),
        (0.5, "a set must be a list of labels"),
        ("[1", "Expecting"),
    ],
)
def test_what_is_no_set_is_refused(cell, text):
    """In one line; a text that may hold several labels is a question, not one label."""
    with pytest.raises(ValueError, match=text.replace("(", r"\(")):
        LabelSetTask("moods").answer_of(cell)


def test_names_of_metrics():
    """One that does not exist, and a label that no row has."""
    task = LabelSetTask("moods", possible=LABELS)
    with pytest.raises(UnknownName, match="there is no metric of moods 'f2'"):
        task.metric_named("f2")
    with pytest.raises(UnknownName, match="there is no label 'zeal'"):
        task.metric_named("f1:zeal")
    assert task.metric_named("F1:Love").name == "f1:love"
    assert task.metric_named("JACCARD") is None


def test_options_are_of_this_task():
    """Others do not read them, and a threshold is a probability."""
    assert value_task("label-sets", separator="|", threshold=0.2).threshold == 0.2
    with pytest.raises(UsageError, match="`separator` is not for the task tags"):
        value_task("tags", separator=";")
    with pytest.raises(UsageError, match="`threshold` must lie above 0"):
        LabelSetTask("moods", threshold=0.0)


ROWS = {"1": ["joy", "love"], "2": ["anger"], "3": [], "4": ["joy"], "5": ["anger", "sadness"], "6": ["love"]}
SAID = {"good": {**ROWS, "4": []}, "poor": {"1": ["joy"], "2": [], "3": ["anger"], "4": ["joy"], "5": [], "6": ["joy"]}}
NAMES = ("anger", "joy", "love", "sadness")


def indicators(sets, high=1, low=0, before=""):
    """A CSV of a column for each label."""
    lines = [",".join(["id", *(f"{before}{name}" for name in NAMES)])]
    return "\n".join(
        [*lines, *(",".join([row, *(str(high if n in has else low) for n in NAMES)]) for row, has in sets.items())]
    )


def write_forms():
    """The rows and the answers of two systems in each form."""
    for name, sets in {"rows": ROWS, **SAID}.items():
        column = "labels" if name == "rows" else "prediction"
        lines = [json.dumps({"id": row, "text": f"Text {row}.", column: has}) for row, has in sets.items()]
        Path(f"{name}.jsonl").write_text("\n".join(lines))
        cells = [f"{row},Text {row}.,{';'.join(has) or '[]'}" for row, has in sets.items()]
        Path(f"{name}.csv").write_text("\n".join([f"id,text,{column}", *cells]))
        Path(f"{name}-columns.csv").write_text(indicators(sets))
        objects = [json.dumps({"id": row, column: {n: int(n in has) for n in NAMES}}) for row, has in sets.items()]
        Path(f"{name}-objects.jsonl").write_text("\n".join(objects))
        Path(f"{name}-probabilities.csv").write_text(indicators(sets, 0.8, 0.1))
        table = {"id": [*sets], "text": [f"Text {row}." for row in sets], column: [*sets.values()]}
        parquet.write_table(pa.table(table), f"{name}.parquet")
    systems = [indicators(SAID[name], before=f"{name}/").splitlines() for name in SAID]
    Path("wide.csv").write_text("\n".join(f"{a},{b.partition(',')[2]}" for a, b in zip(*systems, strict=True)))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with these."""
    monkeypatch.chdir(tmp_path)
    write_forms()
    return tmp_path


TASK = ("--task", "label-sets")
COLUMNS = ["--columns", ",".join(f"label={name}" for name in NAMES)]
FORMS = {
    "lists": ("rows.jsonl", ["good.jsonl", "poor.jsonl"], []),
    "Parquet": ("rows.parquet", ["good.parquet", "poor.parquet"], []),
    "separator": ("rows.csv", ["good.csv", "poor.csv"], ["--separator", ";"]),
    "objects": ("rows-objects.jsonl", ["good-objects.jsonl", "poor-objects.jsonl"], []),
    "columns": ("rows-columns.csv", ["good-columns.csv", "poor-columns.csv"], COLUMNS),
    "probabilities": ("rows.jsonl", ["good-probabilities.csv", "poor-probabilities.csv"], ["--threshold", "0.75"]),
    "columns of both": ("rows.jsonl", ["wide.csv"], []),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_the_same_numbers(folder, rank_models, form):
    """Rows and answers as lists, texts, objects and columns: six rows, one without a label; and F1 by label."""
    rows, models, options = FORMS[form]
    status, out, err = rank_models("--data", rows, "--models", *models, *TASK, *options, "--format", "json")
    assert status == 0, err
    decision = json.loads(out)["decision"]
    true, good, poor = (
        np.array([[name in has for name in NAMES] for has in sets.values()]) for sets in (ROWS, *SAID.values())
    )
    expected = [theirs.f1_score(true, answered, average="micro") for answered in (good, poor)]
    assert [model["outcome"] for model in decision["models"]] == pytest.approx(expected, abs=1e-12)
    assert len(decision["rows"]) == 6
    by_label = {label["label"]: (label["rows"], [*label["f1"].values()]) for label in decision["labels"]}
    for place, name in enumerate(NAMES):
        f1 = [theirs.f1_score(true[:, place], answered[:, place], zero_division=0.0) for answered in (good, poor)]
        assert by_label[name] == (true[:, place].sum(), pytest.approx(f1, abs=1e-12))


def test_a_threshold_is_read(folder, rank_models):
    """Above all probabilities no label is given."""
    status, out, _ = rank_models("--data", "rows.jsonl", "--models", "good-probabilities.csv", "poor-probabilities.csv",
                                 *TASK, "--threshold", "0.9", "--format", "json")  # fmt: skip
    assert status == 0
    assert {model["outcome"] for model in json.loads(out)["decision"]["models"]} == {0.0}


@pytest.mark.more
def test_a_pool_and_metrics(folder, rank_models):
    """Beside a pool metrics of all rows have a posterior by each label's vote, means of rows one by likeness."""
    Path("pool.csv").write_text("id,text\n" + "".join(f"{row},Text {row}.\n" for row in ROWS))
    Path("three.jsonl").write_text("\n".join(Path("rows.jsonl").read_text().splitlines()[:3]))
    command = ("--data", "three.jsonl", "--pool", "pool.csv", "--models", "good.jsonl", "poor.jsonl", *TASK)
    for metric, method, words in (
        ((), "LABEL-VOTES", "Its micro-f1 on the 3 rows"),
        (("--metric", "macro-f1"), "LABEL-VOTES", "Its macro-f1 on the 3 rows"),
        (("--metric", "f1:love"), "LABEL-VOTES", "Its f1:love on the 3 rows"),
        (("--metric", "jaccard"), "ANCHORS", "Its mean JACCARD on the 3 rows"),
    ):
        out = " ".join(rank_models(*command, *metric)[1].split())
        assert f"{method} puts good first. {words}" in out
        assert "The pool adds 3 rows, read without labels." in out
    assert "none." not in out


@pytest.mark.parametrize(
    ("changes", "options", "text"),
    [
        ({"rows.csv": "id,text,label\n1,Text 1.,joy;love\n"}, [], "it may hold several labels: `--separator ';'`"),
        ({"rows.csv": "id,text,label\n1,Text 1.,joy|joy\n"}, ["--separator", "|"], "the label 'joy' stands twice"),
        ({}, ["--separator", ";", "--threshold", "2"], "Invalid value for '--threshold'"),
        ({}, ["--separator", ";", "--metric", "auc"], "there is no metric of label-sets 'auc'"),
    ],
)  # fmt: skip
def test_hostile_files_are_refused_in_a_line(folder, rank_models, changes, options, text):
    """Cells that may hold several labels, a label twice, and options that are wrong."""
    for name, content in changes.items():
        Path(name).write_text(content)
    status, out, err = rank_models("--data", "rows.csv", "--models", "good.csv", "poor.csv", *TASK, *options)
    assert (status, text in " ".join(err.split())) == (2, True), err


def test_another_separator_is_seen(folder, rank_models):
    """All answers of a system are one label each, which no row has."""
    Path("good.csv").write_text("id,prediction\n" + "".join(f"{row},joy|love\n" for row in ROWS))
    command = ("--data", "rows.csv", "--models", "good.csv", "poor.csv", *TASK, "--separator", ";")
    out = " ".join(rank_models(*command)[1].split())
    assert "No row has these labels, which are wrong wherever they are answered: joy|love." in out


def test_columns_of_other_numbers_are_no_labels(folder, rank_models):
    """A 2 among 0 and 1: the columns are no indicators, and nothing is ranked."""
    Path("rows-columns.csv").write_text(indicators({**ROWS, "1": ["joy"]}).replace("\n1,0,1", "\n1,0,2"))
    status, _, err = rank_models("--data", "rows-columns.csv", "--models", "good.jsonl", "poor.jsonl", *TASK, *COLUMNS)
    assert status == 2
    assert "stands twice" in err


def test_a_separator_is_for_sets(folder, rank_models):
    """Without the task's name the option is a question."""
    status, _, err = rank_models("--data", "rows.csv", "--models", "good.csv", "poor.csv", "--separator", ";")
    assert (status, "`--separator` is for sets of labels: name them by `--task label-sets`" in err) == (2, True)
