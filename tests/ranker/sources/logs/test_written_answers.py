import numpy as np
import pytest
from logmaking import eval_log, header, lm_log, results, sample, written_row
from refusals import refuses

from factors import Example
from ranker import decide
from ranker.errors import DataError
from ranker.sources.logs.answers import match_rows, read_labels
from ranker.sources.logs.labels import MAX_TARGET_LABELS, WrittenAnswer, closed_targets, label_written_answers
from ranker.sources.logs.options import LogOptions
from ranker.sources.logs.reading import read_log
from ranker.tasks.base import ANSWERED, MISSING, NO_ANSWER
from ranker.tasks.classes import ClassificationTask

NAN = float("nan")
SAYS = "Answers have labels: em says whether each is the target, {}."
OTHERWISE = "Answers have no labels: em disagrees with a comparison to the target on {} of {} answers."


def log(folder, targets, answers, values):
    """A log of lm-evaluation-harness whose model wrote answers."""
    cells = enumerate(zip(targets, answers, values, strict=True))
    rows = [written_row(n, {"q": n}, target, answer, answer, em=value) for n, (target, answer, value) in cells]
    return read_log(lm_log(folder, rows))


TARGETS = ["no", "yes", "no", "yes"]
GUESSED = "More of em is assumed to be better; if not, use `lower_is_better`."


@pytest.mark.parametrize(
    ("answers", "values", "comparison", "expected"),
    [
        (["no", "no", "yes", "yes"], [1, 0, 0, 1], "exactly", [0, 0, 1, 1]),
        (["no", "Yes", "yes.", "yes"], [1, 0, 0, 1], "exactly", [0, -1, -1, 1]),
        ([" no", "no ", "perhaps", "yes"], [1, 0, 0, 1], "ignoring blanks around it", [0, 0, -1, 1]),
        (["NO", "no", "[invalid]", " Yes"], [1, 0, 0, 1], "ignoring case and blanks around it", [0, 0, -1, 1]),
        (["No.", "no", "YES!", "(yes)"], [1, 0, 0, 1], "ignoring case, punctuation and blanks", [0, 0, 1, 1]),
    ],
)
def test_an_answer_is_a_label_where_the_metric_says_whether_it_is_the_target(
    tmp_path, answers, values, comparison, expected
):
    """By the strictest comparison that says what the metric says on every row; none of the labels is no answer."""
    logged = log(tmp_path, TARGETS, answers, values)
    assert (logged.labels, logged.truth.tolist(), logged.answers.tolist()) == (("no", "yes"), [0, 1, 0, 1], expected)
    assert (logged.scores, logged.notes) == (None, (GUESSED, SAYS.format(comparison)))


@pytest.mark.parametrize("values", [[1, 0, 0, 0], [1, 1, 0, 1], [1, 0, 0.5, 1]])
def test_one_row_that_disagrees_leaves_outcomes_alone(tmp_path, values):
    """A right answer that is not the target, a target that is not right, half a point."""
    logged = log(tmp_path, TARGETS, ["no", "no", "yes", "yes"], values)
    assert (logged.labels, logged.answers.tolist(), logged.outcomes.tolist()) == ((), [-1] * 4, values)
    assert logged.notes == (GUESSED, OTHERWISE.format(1, 4))


def test_a_row_without_a_value_agrees_with_all(tmp_path):
    """Rows that were not scored say nothing."""
    assert log(tmp_path, TARGETS, ["no", "no", "yes", "no"], [1, 0, 0, None]).answers.tolist() == [0, 0, 1, 0]


def test_a_few_right_answers_are_labels():
    """Twenty kinds at most, each twice or more; the same in every log, in whatever order."""
    most = [str(n) for n in range(MAX_TARGET_LABELS)]
    assert closed_targets(2 * most) == closed_targets(most + most[::-1]) == tuple(sorted(most))
    for targets in (2 * [*most, "more"], [*TARGETS, "once"], ["no", "no"], [*TARGETS, "", ""]):
        assert closed_targets(targets) == ()


def test_many_right_answers_are_none_and_need_no_note(tmp_path):
    """Questions with answers of their own."""
    logged = log(tmp_path, ["Paris", "Rome", "Bonn"], ["Paris", "Rome", "x"], [1, 1, 0])
    assert (logged.labels, logged.notes) == ((), (GUESSED,))


def test_targets_that_the_metric_takes_for_one_are_no_labels():
    """`No` and `no` are one answer where case does not matter, and two labels."""
    texts, targets = (("no", 1.0), ("NO", 1.0), ("x", 0.0), ("no", 1.0)), ["no", "no", "No", "No"]
    answers = [WrittenAnswer(n, text, value) for n, (text, value) in enumerate(texts)]
    labelled, (note,) = label_written_answers(closed_targets(targets), targets, answers, "em")
    assert labelled.labels == ()
    assert note == "Answers have no labels: em takes some of the targets for one, ignoring case and blanks around it."


def test_choices_that_the_results_name_are_the_labels(tmp_path):
    """Even those that are never right; a target is then the number of a choice, or its text."""
    results(tmp_path, config={"doc_to_choice": ["no", "yes", "maybe"]})
    logged = log(tmp_path, ["1", "0"], ["yes", "maybe"], [1, 0])
    assert (logged.labels, logged.truth.tolist(), logged.answers.tolist()) == (("no", "yes", "maybe"), [1, 0], [1, 2])


def inspected(path, cells):
    """A log of Inspect: (target, answer, value) of each sample."""
    samples = [sample(f"s{n}", value, answer=text, target=target) for n, (target, text, value) in enumerate(cells)]
    return read_log(eval_log(path, samples))


def test_what_inspect_takes_for_the_answer_is_a_label(tmp_path):
    """A list of one target is a target; of several there is none to be compared with."""
    cells = [("no", "No.", "C"), (["yes"], "no", "I"), ("no", "maybe", "I"), (" yes", "yes", "C")]
    logged = inspected(tmp_path / "a.eval", cells)
    assert (logged.labels, logged.truth.tolist(), logged.answers.tolist()) == (
        ("no", "yes"),
        [0, 1, 0, 1],
        [0, 0, -1, 1],
    )
    assert inspected(tmp_path / "b.eval", [*cells, (["no", "yes"], "no", "C")]).labels == ()


def test_answers_that_are_logged_where_they_are_right_are_no_labels(tmp_path):
    """A pattern of several groups logs no wrong answer: that there is a label would tell that it is the right one."""
    cells = [("no", "no", "C"), ("yes", None, "I"), ("no", None, "I"), ("yes", "yes", "C")]
    logged = inspected(tmp_path / "a.eval", cells)
    assert (logged.labels, logged.notes) == ((), ("Answers have no labels: the log records only the right ones.",))
    assert inspected(tmp_path / "b.eval", [*cells, ("no", "yes", "I")]).labels == ("no", "yes")


def test_of_several_epochs_every_answer_has_to_agree(tmp_path):
    """The most frequent is the label."""
    answers_of = {"a": ["no", "no", "yes"], "b": ["yes", "x", "y"], "c": ["no", "yes", "no"], "d": ["yes", "yes", "no"]}
    samples = [
        sample(key, "C" if answer == target else "I", epoch=epoch, answer=answer, target=target)
        for (key, answers), target in zip(answers_of.items(), TARGETS, strict=True)
        for epoch, answer in enumerate(answers, 1)
    ]
    logged = read_log(eval_log(tmp_path / "a.eval", samples, header(epochs=3)))
    assert logged.answers.tolist() == [0, 1, 0, 1]
    np.testing.assert_allclose(logged.outcomes, [2 / 3, 1 / 3, 2 / 3, 2 / 3])
    samples[0]["scores"]["match"]["value"] = "I"
    assert (
        "match disagrees with a comparison to the target on 1 of 12 answers"
        in read_log(eval_log(tmp_path / "a.eval", samples)).notes[-1]
    )


def test_an_answer_that_is_none_of_the_labels_is_no_answer(tmp_path):
    """In a run it counts as such, and stands so beside the others; what the log itself says of it stays."""
    for name, third in (("run-a", "perhaps"), ("run-b", "yes")):
        assert log(tmp_path / name, TARGETS, ["no", "no", third, "yes"], [1, 0, 0, 1]).state.tolist() == [ANSWERED] * 4
    ranking = decide([tmp_path / "run-a", tmp_path / "run-b"])
    assert [row.predicted["run-a"] for row in ranking.decision.rows] == ["no", "no", "no answer", "yes"]
    assert "run-a: 1 row has no answer, which counts as wrong." in ranking.notes
    assert not [note for note in ranking.notes if note.startswith("run-b:")]


def test_an_answer_that_several_choices_are_is_shown_as_none(tmp_path):
    """Two letters where one is right name no label."""
    for name, answer in (("a", "A,B"), ("b", "B")):
        samples = [sample(n, "I", answer=answer, target="A", choices=["no", "yes"]) for n in range(2)]
        samples += [sample(9, "C", answer="A", target="A", choices=["no", "yes"])]
        eval_log(tmp_path / f"{name}.eval", samples)
    ranking = decide([tmp_path / "a.eval", tmp_path / "b.eval"])
    assert [row.predicted for row in ranking.decision.rows] == [
        {"a": "no answer", "b": "yes"},
        {"a": "no answer", "b": "yes"},
        {"a": "no", "b": "no"},
    ]


def test_the_scorer_can_be_one_of_several(tmp_path):
    """The scorer's own answers are compared."""
    scores = [
        {"x": {"value": "C", "answer": target}, "y": {"value": "I", "answer": "none"}} for target in ["no", "yes"] * 2
    ]
    samples = [sample(n, 0, scores=of_sample, target=of_sample["x"]["answer"]) for n, of_sample in enumerate(scores)]
    path = eval_log(tmp_path / "a.eval", samples)
    assert read_log(path, LogOptions(scorer="x")).answers.tolist() == [0, 1, 0, 1]
    assert read_log(path, LogOptions(scorer="y")).answers.tolist() == [-1] * 4


def test_rows_of_ones_own_are_found_by_id_or_by_a_text_that_stands_alone(tmp_path):
    """An id that may be a position counts where the texts agree; a text that repeats tells nothing."""
    samples = [sample(n, "C", input=text) for n, text in ((1, "One."), (2, "Two."), (3, "Two."), (4, "Four."))]
    logged = read_log(eval_log(tmp_path / "a.eval", samples, header(ids=[1, 2, 3, 4])))
    assert logged.numbered

    def asked(*rows):
        return match_rows(logged, [Example(key, (text,), None) for key, text in rows]).tolist()

    assert asked(("1", "One."), ("3", "Two."), ("4", "Other."), ("9", "Four.")) == [0, 2, -1, -1]
    assert asked(("x", " One. "), ("y", "Two."), ("4", "Fourth."), ("z", "Four.")) == [0, -1, -1, 3]
    with pytest.raises(DataError):
        asked(("x", "Two."))


def test_labels_of_a_log_are_those_of_the_rows(tmp_path):
    """In the order of the task, several for one; others, or none, are one line."""
    logged = log(tmp_path, TARGETS, ["no", "no", "perhaps", "yes"], [1, 0, 0, 1])
    places = np.array([0, 1, 2, 3, -1])
    predictions = read_labels(logged, places, ClassificationTask("own", ("yes", "no", "more")))
    np.testing.assert_array_equal(predictions.probs[[0, 1, 3]], [[0, 1, 0], [0, 1, 0], [1, 0, 0]])
    assert predictions.state.tolist() == [ANSWERED, ANSWERED, NO_ANSWER, ANSWERED, MISSING]
    merged = read_labels(logged, places, ClassificationTask("own", ("yes", "other"), {"yes": ("no",)}))
    assert merged.probs[[0, 3]].tolist() == [[1, 0], [1, 0]]
    with refuses(DataError, value="no"):
        read_labels(logged, places, ClassificationTask("own", ("yes", "other")))
    with pytest.raises(DataError):
        read_labels(log(tmp_path, ["a", "b"], ["a", "b"], [1, 1]), places, ClassificationTask("own", ("yes", "no")))
