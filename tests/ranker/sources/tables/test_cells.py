import numpy as np
import pytest
from refusals import refuses
from tables_made import TASK, csv, said_by, understood

from ranker.datasets.mapping import parse_label_map
from ranker.errors import DataError, Question, UnknownName, UsageError
from ranker.sources.tables.cells import Labels
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER
from ranker.tasks.classes import ClassificationTask, softmax
from ranker.tasks.empty import INVALID, WORDS

NLI = ClassificationTask("nli", ("entailment", "neutral", "contradiction"))


@pytest.mark.parametrize(
    "cell", ["positive", "Positive", " POSITIVE ", "good", "1", "1.0", "LABEL_1", "label 1", "True"]
)
def test_a_label_by_any_of_its_names(tmp_path, cell):
    """Names, aliases, numbers, and the names that transformers gives to numbers."""
    assert said_by(understood(tmp_path / "a.csv", csv(["prediction"], [cell], ["negative"])).models[0])[0] == "positive"


@pytest.mark.parametrize("cell", [*sorted(WORDS), "None", "N/A", INVALID])
def test_no_answer_is_wrong(tmp_path, cell):
    """No answer counts as 0, and is said with how often it stands there."""
    model = understood(tmp_path / "a.csv", csv(["id", "prediction"], ["a", cell], ["b", "good"], ["c", ""])).models[0]
    assert model.state.tolist() == [NO_ANSWER, ANSWERED, NO_ANSWER]
    assert model.correct(np.array([1, 1, 1])).tolist() == [0, 1, 0]
    assert np.isnan(model.probs[0]).all()
    assert model.notes[0] == f"1 cell says '{cell}' in 'prediction': no answer"


@pytest.mark.parametrize("name", ["None", "N", "NaN", "-1"])
def test_what_is_a_label_is_an_answer(tmp_path, name):
    """A task may call a label so."""
    task = ClassificationTask("own", ("yes", name))
    model = understood(tmp_path / "a.csv", csv(["id", "prediction"], ["a", name], ["b", "yes"]), task).models[0]
    assert model.state.tolist() == [ANSWERED, ANSWERED]
    assert model.predicted.tolist() == [1, 0]


def test_minus_one_is_not_one(tmp_path):
    """Case, blanks and hyphens of names do not matter; that of a number does."""
    task = ClassificationTask("own", ("0", "1"))
    model = understood(tmp_path / "a.csv", csv(["id", "prediction"], ["a", -1], ["b", 1], ["c", 0]), task).models[0]
    assert model.state.tolist() == [NO_ANSWER, ANSWERED, ANSWERED]
    assert model.predicted.tolist() == [-1, 1, 0]
    assert model.notes == ("1 cell is no label in 'prediction' ('-1'): no answer",)


@pytest.mark.parametrize(
    ("labels", "cell"), [(("01", "02"), 1), (("-1", "+1"), 0), (("-2", "-1"), 1), (("0.5", "1.5"), 1)]
)
def test_a_number_is_no_place_among_labels_that_are_numbers(tmp_path, labels, cell):
    """A 1 is not the second of 01 and 02; the user says what it stands for."""
    path, task = tmp_path / "a.csv", ClassificationTask("codes", labels, ordered=False)
    content = csv(["id", "prediction"], ["a", cell], ["b", cell])
    with refuses(DataError, option="label_map", value=str(cell), place=path, allowed=labels):
        understood(path, content, task)
    (model,) = understood(path, content, task, label_map={str(cell): labels[0]}).models
    assert model.predicted.tolist() == [0, 0]


def test_a_label_map_is_read_and_checked(tmp_path):
    """Several names may stand for one label, and no name for two; numbers may be counted otherwise."""
    model = understood(
        tmp_path / "a.csv", csv(["id", "prediction"], ["a", "bad"], ["b", "0"], ["c", "LABEL_0"], ["d", "1"]),
        label_map=parse_label_map("bad, awful = negative; 0 = positive; 1 = negative"),
    ).models[0]  # fmt: skip
    assert said_by(model) == ["negative", "positive", "positive", "negative"]
    assert parse_label_map("") == {}
    for wrong in ("a", "a=", "=b", "a,,b=c"):
        with refuses(UsageError, option="label_map"):
            parse_label_map(wrong)
    with refuses(UsageError, option="label_map", value="a"):
        parse_label_map("a=b;a=c")
    with refuses(UnknownName, value="postive"):
        Labels(TASK, {"x": "postive"})


def test_numbers_say_of_which_labels_they_are(tmp_path):
    """Nobody can see in the file which label 0 stands for; names, and labels that are numbers, say it."""
    model = understood(tmp_path / "a.csv", csv(["id", "prediction"], ["a", 0], ["b", 1])).models[0]
    assert model.notes == ("the numbers in 'prediction' are labels: 0 is negative, 1 is positive",)
    scores = np.array([[0.25, 0.75], [0.5, 0.5]])
    counted = "the numbers of 'predictions/0' and 'predictions/1' are labels: 0 is negative, 1 is positive"
    assert counted in understood(tmp_path / "a.npy", scores).models[0].notes
    with_names = csv(["id", "LABEL_0", "LABEL_1"], ["a", 0.25, 0.75], ["b", 0.5, 0.5])
    expected = "the numbers of 'LABEL_0' and 'LABEL_1' are labels: 0 is negative, 1 is positive"
    assert expected in understood(tmp_path / "a.csv", with_names).models[0].notes
    table = csv(["id", "negative", "positive"], ["a", 0.25, 0.75], ["b", 0.5, 0.5])
    for file, content, task in (("b.csv", table, TASK), ("b.npy", scores, ClassificationTask("own", ("0", "1")))):
        notes = understood(tmp_path / file, content, task).models[0].notes
        assert not any("are labels" in note for note in notes)


def test_probabilities_may_be_rounded(tmp_path):
    """Such probabilities add up to 1 within a hundredth, and are divided by their sum."""
    model = understood(tmp_path / "a.csv", csv(["negative", "positive"], [0.333, 0.666], [0.5, 0.505])).models[0]
    assert model.kind == "probabilities"
    assert np.allclose(model.probs, [[1 / 3, 2 / 3], [0.5 / 1.005, 0.505 / 1.005]], atol=1e-12)
    rounded = [0.45, 0.47, 0.07]  # its sum is further from 1 than 0.01, in floats
    header = ["entailment", "neutral", "contradiction"]
    model = understood(tmp_path / "b.csv", csv(header, rounded, [0.15, 0.62, 0.24]), NLI).models[0]
    assert np.allclose(model.probs[0], np.array(rounded) / 0.99, atol=1e-12)
    model = understood(tmp_path / "c.csv", csv(header, [45, 47, 7], [15, 62, 24]), NLI).models[0]
    assert np.allclose(model.probs[0], np.array(rounded) / 0.99, atol=1e-12)


def test_logits_may_be_stated(tmp_path):
    """Finite numbers that are no probabilities go through the softmax, and so do those that are said to be logits."""
    scores = np.array([[1.5, -0.5], [100.0, 1000.0], [-1e9, 1e9]])
    model = understood(tmp_path / "a.csv", csv(["negative", "positive"], *scores)).models[0]
    assert model.kind == "logits"
    assert np.allclose(model.probs, softmax(scores), atol=1e-12)
    content = csv(["negative", "positive"], [0.5, 0.1], [0.9, 0.9])
    model = understood(tmp_path / "a.csv", content, answers="logits").models[0]
    assert np.allclose(model.probs, softmax(np.array([[0.5, 0.1], [0.9, 0.9]])))


def test_log_likelihoods_are_never_checked_for_adding_up(tmp_path):
    """Numbers never above 0 are taken for them, whatever their exponentials, and said to be uncalibrated."""
    scores = np.array([[-20.5, -22.5], [-1000.0, -1001.0], [-3, -np.inf]])
    model = understood(tmp_path / "a.csv", csv(["negative", "positive"], *scores)).models[0]
    assert model.kind == "log-likelihoods"
    assert np.allclose(model.probs, softmax(scores), atol=1e-12)
    assert "log-likelihoods are converted to probabilities by softmax; these are not calibrated" in model.notes


def test_nan_in_a_score_is_an_error(tmp_path):
    """Of that row; what is not there is no different."""
    content = csv(["id", "negative", "positive"], ["a", "nan", "nan"], ["b", 0.4, 0.6], ["c", "", 0.5])
    model = understood(tmp_path / "a.csv", content).models[0]
    assert model.state.tolist() == [ERROR, ANSWERED, ERROR]
    assert np.isnan(model.correct(np.array([0, 1, 1]))).tolist() == [True, False, True]
    assert "2 rows hold no number in 'negative' and 'positive': errors" in model.notes


def test_scores_of_several_names_of_a_label_add_up(tmp_path):
    """Probabilities of a model of three labels, for a task of two; of logits, after the softmax."""
    task = ClassificationTask("nli", ("non-entailment", "entailment"), {"non-entailment": ("neutral", "contradiction")})
    scores = np.array([[2.0, 1.0, -1.0]])
    content = csv(["entailment", "neutral", "contradiction"], scores[0])
    model = understood(tmp_path / "a.csv", content, task).models[0]
    probs = softmax(scores)[0]
    assert np.allclose(model.probs, [[probs[1] + probs[2], probs[0]]])
    assert "the probabilities of 'neutral' and 'contradiction' add up to that of 'non-entailment'" in model.notes


def test_one_probability_that_is_named_for_its_label(tmp_path):
    """Such a probability is unmistakable, of either label, and said."""
    for name, expected in (("p_positive", 0.75), ("negative", 0.25)):
        model = understood(tmp_path / "a.csv", csv(["id", name], ["a", 0.75], ["b", 0.5])).models[0]
        assert np.allclose(model.probs[0], [1 - expected, expected])
        assert f"'{name}' is the probability of '{TASK.labels[name != 'negative']}'" in model.notes


def test_one_score_that_is_said_to_be_one(tmp_path):
    """A probability of the second label, or a decision value above 0 for it."""
    content = csv(["id", "score"], ["a", 0.75], ["b", 0.25])
    model = understood(tmp_path / "a.csv", content, answers="probabilities", prediction=("score",)).models[0]
    assert np.allclose(model.probs, [[0.25, 0.75], [0.75, 0.25]])
    content = csv(["id", "score"], ["a", 1.5], ["b", -2])
    model = understood(tmp_path / "a.csv", content, answers="logits", prediction=("score",)).models[0]
    assert np.allclose(model.probs[:, 1], 1 / (1 + np.exp([-1.5, 2])))
    assert "'score' is a decision value: above 0 is 'positive'" in model.notes


def test_one_decision_value_alone_is_asked_about(tmp_path):
    """Beside scores of all labels it is read, if its name says so and it stands on both sides of 0."""
    with refuses(Question, option="answers", place=tmp_path / "a.csv"):
        understood(tmp_path / "a.csv", csv(["id", "decision"], ["a", 1.5], ["b", -0.5]))
    header = ["id", "m/negative", "m/positive", "n/decision"]
    model = understood(tmp_path / "b.csv", csv(header, ["a", 0.25, 0.75, 1.5], ["b", 0.9, 0.1, -0.5])).models[1]
    assert (model.name, model.kind, said_by(model)) == ("n", "logits", ["positive", "negative"])


def test_fewer_scores_than_labels_are_no_answer(tmp_path):
    """One of three, with a name of its own or that of its label, or two: nothing says the others."""
    file, hints = tmp_path / "a.csv", {"answers": "probabilities", "prediction": ("score",)}
    with refuses(DataError, option="score", value=3, place=file):
        understood(file, csv(["id", "score"], ["a", 0.75], ["b", 0.25]), NLI, **hints)
    with refuses(Question, option="answers", place=file):
        understood(file, csv(["id", "p_neutral"], ["a", 0.75], ["b", 0.5]), NLI)
    with refuses(DataError, place=file):
        understood(file, csv(["m/entailment", "m/neutral"], [0.75, 0.25]), NLI)


def test_outcomes_need_no_task(tmp_path):
    """Outcomes are numbers from 0 to 1, and truth values; nothing is known of what is empty."""
    content = csv(["id", "a", "b"], ["x", 1, "true"], ["y", 0.5, "False"], ["z", "", "[invalid]"])
    first, second = understood(tmp_path / "a.csv", content, answers="outcomes").models
    assert first.state.tolist() == [ANSWERED, ANSWERED, ERROR]
    assert second.state.tolist() == [ANSWERED, ANSWERED, NO_ANSWER]
    assert np.array_equal(first.correct(np.zeros(3)), [1, 0.5, np.nan], equal_nan=True)
    assert second.outcomes.tolist() == [1, 0, 0]
    assert (first.probs, first.classes) == (None, 0)
    with pytest.raises(ValueError, match="what was right, and not what was said"):
        first.predicted  # noqa: B018
    parsed = understood(tmp_path / "a.csv", csv(["id", "m", "n"], ["x", 1, 0], ["y", 0, 1]), None, answers="outcomes")
    assert parsed.ids == ("x", "y")
    assert parsed.truth.tolist() == [-1, -1]


def test_probabilities_of_labels_are_one_hot(tmp_path):
    """Rows without an answer are nan."""
    parsed = understood(tmp_path / "a.csv", csv(["id", "prediction"], ["a", "good"], ["b", ""]))
    model = parsed.models[0].part([1, 0, -1])
    assert model.state.tolist() == [1, 0, 3]
    assert np.array_equal(model.probs, [[np.nan] * 2, [0, 1], [np.nan] * 2], equal_nan=True)


def test_answers_are_read_only(tmp_path):
    """Nobody who has them changes them for others."""
    model = understood(tmp_path / "a.csv", csv(["prediction"], ["good"])).models[0]
    for array in (model.answers, model.state, model.probs):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_percents_that_add_up_are_no_logits(tmp_path):
    """Rounded ones are read so, too, with a note; other numbers above 1 are what they were."""
    rows = [("id", "p_negative", "p_positive"), ("a", 18.4, 81.6), ("b", 63.9, 36), ("c", 100, 0)]
    model = understood(tmp_path / "a.csv", csv(*rows)).models[0]
    np.testing.assert_allclose(model.probs, [[0.184, 0.816], [63.9 / 99.9, 36 / 99.9], [1, 0]])
    assert "'p_negative' and 'p_positive' add up to 100 and are read as percentages" in model.notes
    rows[1] = ("a", 18.4, 31.6)
    assert understood(tmp_path / "c.csv", csv(*rows)).models[0].kind == "logits"
