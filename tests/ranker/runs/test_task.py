"""The task, decided in one place."""

from types import SimpleNamespace

import pytest
from refusals import refuses

from ranker.datasets import readers, sets
from ranker.datasets.sets import find_card
from ranker.errors import DataError, ModelError, Question, UnknownName, UsageError
from ranker.runs.task import SHARED, NamedTask, check_known_labels, check_readable, decide_task
from ranker.sources.base import ModelInfo
from ranker.tasks.classes import ClassificationTask

THREE = ("entailment", "neutral", "contradiction")
GLUE = ("entailment", "not entailment")
MOOD = ("negative", "positive")
MINE = ClassificationTask("mine", ("yes", "no"))


def stated(*labels, precomputed=False, **options):
    """Build models that state these labels."""
    sources = [SimpleNamespace(name=f"model-{number}", precomputed=precomputed) for number in range(len(labels))]
    return [ModelInfo(source, label, **options) for source, label in zip(sources, labels, strict=True)]


def sheet(*labels):
    """Rows with these labels."""
    rows = [{"text": f"A tree of {number} years.", "label": label} for number, label in enumerate(labels)]
    return readers.read_sheet(rows, required=["text"])


def test_what_the_user_named_comes_first():
    """A task, its name, or a set that has one; whatever rows and models say, and whether these can be read."""
    models = [*stated(MOOD, THREE), *stated((), trouble="it is gone")]
    for task_name, task in (
        (NamedTask(MINE), MINE),
        (NamedTask("NLI"), find_card("hans-sub").task),
        (NamedTask(like="PAWS"), find_card("paws").task),
        (NamedTask("paraphrase", "paws"), find_card("paws").task),
    ):
        assert decide_task(task_name, sheet("bad", "good"), models) == task
        assert decide_task(task_name, infos=stated((), trouble="it is gone")) == task


def test_a_task_beside_a_set_of_another_is_refused():
    """Neither is dropped silently, whatever is asked."""
    with refuses(UsageError, option="task", value="nli", allowed=("paraphrase",)):
        decide_task(NamedTask("nli", "paws"), sheet("entailment"), stated(GLUE))
    with refuses(UnknownName, value="nil"):
        decide_task(NamedTask("nil"))


@pytest.mark.parametrize(
    ("label_names", "labels", "task"),
    [
        (THREE, ("neutral", "contradiction"), SHARED), (THREE, ("Entailment", "neutral"), SHARED),
        (THREE, ("entailment", "non-entailment"), "nli"), (THREE, (0, 1, "2"), SHARED),
        (GLUE, ("neutral", "entailment"), "nli"), (GLUE, (0, 1), "nli"), (MOOD, ("Positive", "NEGATIVE"), SHARED),
        (MOOD, (0, 1), SHARED), (MOOD, ("entailment", "neutral"), "nli"), ((), ("entailment", "neutral"), "nli"),
    ],
)  # fmt: skip
def test_labels_are_the_models_own_where_no_known_task_has_them(label_names, labels, task):
    """Three ways by three-way models; two ways where the rows say so; a known task where it has all the same labels."""
    assert decide_task(rows=sheet(*labels), infos=stated(label_names)).name == task


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        ([("bad", "so-so", "good"), ("GOOD", "Bad", "so_so")], ("bad", "so-so", "good")),
        ([("0", "1"), ("bad", "good")], ("bad", "good")),
        ([(), ("bad", "good")], ("bad", "good")),
    ],
)
def test_models_say_what_their_task_is(names, labels):
    """In the order of the first that names its outputs; numbers name nothing beside names."""
    assert decide_task(infos=stated(*names)).labels == labels


@pytest.mark.parametrize(
    ("names", "option"),
    [([("bad", "good"), ("no", "yes")], "label_map"), ([(), ()], "task"), ([("bad", "bad")], "task")],
)
def test_models_that_share_no_labels_tell_no_task(names, option):
    """The error names the option that tells it."""
    for rows in (None, sheet(None, "")):
        with refuses(UsageError, option=option):
            decide_task(rows=rows, infos=stated(*names))


def test_outputs_without_names_may_be_told_by_a_map():
    """The error offers it, beside the known tasks."""
    with refuses(UsageError, option="task", allowed=tuple(sets.tasks())) as stop:
        decide_task(infos=stated((), outputs=("LABEL_0", "LABEL_1")))
    assert "or say with `label_map` what their outputs mean" in str(stop.value)


def test_rows_without_labels_are_of_the_models_task():
    """Of the known one with the same labels, if there is one."""
    for rows in (None, sheet(None, " ")):
        assert decide_task(rows=rows, infos=stated(MOOD)) == ClassificationTask(SHARED, MOOD)
        assert decide_task(rows=rows, infos=stated(GLUE)).name == "nli"


def test_numbers_that_several_tasks_count_are_not_taken_for_one():
    """0 and 1 may be the first two of three, or those of two."""
    with refuses(Question, option="task", allowed=("nli", "msgs", "paraphrase"), place="rows in memory"):
        decide_task(rows=sheet(0, 1), infos=stated(THREE))


def test_the_rows_own_labels_are_the_task_where_files_of_answers_name_none():
    """In the order of the alphabet, which nobody gave them; a known task that would count two of them as one waits."""
    files = stated(("0", "1", "2"), ("0", "1", "2"), precomputed=True)
    task = decide_task(rows=sheet("maybe", "yes", "no"), infos=files)
    assert (task.labels, task.ordered) == (("maybe", "no", "yes"), False)
    assert decide_task(rows=sheet(*THREE), infos=files).labels == ("contradiction", "entailment", "neutral")
    assert decide_task(rows=sheet("entailment", "neutral"), infos=files).name == "nli"
    for models in (stated(("0", "1", "2")), ()):
        with refuses(DataError, option="label", value="maybe"):
            decide_task(rows=sheet("maybe", "yes", "no"), infos=models)
        assert decide_task(rows=sheet(*THREE), infos=models).name == "nli"


def test_two_spellings_of_a_label_are_asked_about():
    """The two spellings may be one label or two."""
    with refuses(Question, option="label_map", value="Good"):
        decide_task(rows=sheet("Good", "good"), infos=stated((), precomputed=True))


def test_labels_that_no_model_knows_are_refused_beside_some_that_all_know():
    """Models that say "bad" can be right on no row that says "fruit" instead; a label more than theirs is no matter."""
    models = stated(("bad", "good"))
    with refuses(DataError, value="fruit", allowed=("bad", "good"), place="rows.csv"):
        check_known_labels(ClassificationTask("rows", ("fruit", "good")), models, "rows.csv")
    check_known_labels(ClassificationTask("rows", ("bad", "fruit", "good")), models, "rows.csv")
    check_known_labels(ClassificationTask("rows", ("x", "y")), models, "rows.csv")


def test_models_of_which_none_can_be_read_are_refused():
    """The first is named; beside one that can be read, those that cannot are no matter."""
    missing = [*stated((), trouble="a is gone"), *stated((), trouble="b is gone")]
    for refused in (check_readable, lambda models: decide_task(rows=sheet("entailment"), infos=models)):
        with refuses(ModelError, place="model-0"):
            refused(missing)
    check_readable([*missing, *stated(MOOD)])
    assert decide_task(rows=sheet("entailment"), infos=[*missing, *stated(GLUE)]).name == "nli"
