"""The methods that ours is compared with do what their papers say: by loops, by sampling, and where it is plain."""

import copy
import itertools

import numpy as np
import pytest

from benchmarks.rivals import (
    CODA,
    DIAGONAL,
    EQUAL,
    ERROR,
    LURE,
    STRENGTH,
    WORSE,
    LLMSelector,
    ModelPicker,
    SelectLLM,
    entropy,
)
from benchmarks.sequential import METHODS, World

RNG = np.random.default_rng(0)
LABELS = RNG.integers(3, size=40)
PREDICTED = np.where(RNG.random((4, 40)) < [[0.9], [0.7], [0.5], [0.4]], LABELS, RNG.integers(3, size=(4, 40)))


def bits(probabilities):
    """The entropy, term by term."""
    return -sum(p * np.log2(p) for p in probabilities if p > 0)


def test_model_picker_asks_what_leaves_least_entropy():
    """By a loop over rows, labels and models, after five answers."""
    picker = ModelPicker(PREDICTED, 3)
    for row in range(5):
        picker.tell(row, LABELS[row])
    odds = (1 - ERROR) / ERROR
    likely = [odds ** sum(PREDICTED[m, row] == LABELS[row] for row in range(5)) for m in range(4)]
    assert picker.probabilities == pytest.approx(np.array(likely) / sum(likely))
    left = {}
    for row in range(5, 40):
        if len(set(PREDICTED[:, row].tolist())) > 1:
            after = [[likely[m] * (odds if PREDICTED[m, row] == c else 1) for m in range(4)] for c in range(3)]
            left[row] = sum(bits([belief / sum(beliefs) for belief in beliefs]) for beliefs in after) / 3
    assert left[picker.next()] == pytest.approx(min(left.values()))


def test_llm_selector_asks_what_the_models_expect_to_leave_least_entropy():
    """By a loop over rows and the models' own answers, each compared with the baseline's, after five answers."""
    picker = LLMSelector(PREDICTED, 3)
    for row in range(5):
        picker.tell(row, LABELS[row])
    agreement = [sum(PREDICTED[m, row] == PREDICTED[k, row] for k in range(4) for row in range(40)) for m in range(4)]
    baseline = agreement.index(max(agreement))

    def likelihood(model, row, label):
        right, right_baseline = PREDICTED[model, row] == label, PREDICTED[baseline, row] == label
        if right == right_baseline:
            return EQUAL
        return WORSE if right_baseline else 1 - WORSE - EQUAL

    likely = [np.prod([likelihood(m, row, LABELS[row]) for row in range(5)]) for m in range(4)]
    assert picker.probabilities == pytest.approx(np.array(likely) / sum(likely))
    assert len(set(likely)) > 1, "else the model's evidence is not tried"
    left = {}
    for row in range(5, 40):
        answers = PREDICTED[:, row].tolist()
        if len(set(answers)) > 1:
            after = [[likely[m] * likelihood(m, row, label) for m in range(4)] for label in answers]
            left[row] = sum(bits([p / sum(joint) for p in joint]) for joint in after) / 4
    assert picker.next() == min(left, key=left.__getitem__)


def drawn_sequences(picker, outcomes, size):
    """Yield each sequence of rows that can be drawn, as its probability and the scores after it."""
    if size == 0:
        yield 1.0, picker.score
        return
    for row in np.flatnonzero(picker.chances):
        after = copy.deepcopy(picker)
        after.tell(row, outcomes[:, row])
        for chance, score in drawn_sequences(after, outcomes, size - 1):
            yield picker.chances[row] * chance, score


@pytest.mark.parametrize("size", [1, 2, 4, 5])
def test_the_estimates_of_lure_are_unbiased(size):
    """The mean over all sequences of draws is the mean outcome on the pool, if no row is sure not to be drawn."""
    picker, outcomes = LURE(RNG.random((3, 3, 5)), RNG), RNG.random((3, 5))
    sequences = list(drawn_sequences(picker, outcomes, size))
    assert sum(chance for chance, _ in sequences) == pytest.approx(1)
    assert sum(chance * score for chance, score in sequences) == pytest.approx(outcomes.mean(axis=1))
    assert size == 5 or np.ptp([score[0] for _, score in sequences]) > 0.1


def test_lure_is_unbiased_about_differences_where_some_rows_are_never_drawn():
    """Rows on which all models answer alike do not tell them apart, and are drawn when nothing else is left."""
    predicted, labels = np.array([[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 0, 1]]), np.array([1, 1, 0, 0])
    outcomes = (predicted == labels).astype(float)
    picker = LURE((predicted[:, None] == predicted).astype(float), RNG)
    assert picker.chances == pytest.approx([0, 0, 0.5, 0.5])
    expected = sum(chance * score for chance, score in drawn_sequences(picker, outcomes, 2))
    assert expected - expected.mean() == pytest.approx(outcomes.mean(axis=1) - outcomes.mean())
    for row in (2, 3):
        picker.tell(row, outcomes[:, row])
    assert picker.chances == pytest.approx([0.5, 0.5, 0, 0])


def test_lure_expects_a_loss_where_answers_are_unlike():
    """By a loop: the loss of each model is expected by each model's answer, its own included."""
    similarity = RNG.random((3, 3, 6))
    picker = LURE(similarity, RNG)
    picker.tell(1, np.ones(3))
    expected = {
        row: sum(1 - similarity[m, k, row] for m in range(3) for k in range(3) if m != k) for row in (0, 2, 3, 4, 5)
    }
    for row, loss in expected.items():
        assert picker.chances[row] == pytest.approx(loss / sum(expected.values()))
    assert picker.chances[1] == 0
    assert {picker.next() for _ in range(200)} == set(expected)


def test_select_llm_asks_where_likely_models_differ():
    """By a loop over rows and pairs of models, after two rows; one that was asked is not asked again."""
    similarity, outcomes = RNG.random((4, 4, 30)), RNG.random((4, 30))
    picker = SelectLLM(similarity, temperature=0.5)
    for row in (3, 8):
        picker.tell(row, outcomes[:, row])
    likely = [np.exp(2 * (outcomes[m, 3] + outcomes[m, 8])) for m in range(4)]
    expected = {}
    for row in set(range(30)) - {3, 8}:
        expected[row] = sum(
            likely[m] * likely[k] * (1 if m == k else similarity[m, k, row]) for m in range(4) for k in range(4)
        )
    assert picker.next() == min(expected, key=expected.__getitem__)
    assert picker.score.argmax() == np.argmax(likely)


def test_coda_starts_from_the_consensus():
    """The prior of a model is diagonal, and a share of how often it says j where most models say c."""
    coda = CODA(PREDICTED, 3)
    most = [np.bincount(PREDICTED[:, row], minlength=3).argmax() for row in range(40)]
    for m, c, j in itertools.product(range(4), range(3), range(3)):
        rows = [row for row in range(40) if most[row] == c]
        share = np.mean([PREDICTED[m, row] == j for row in rows])
        assert coda.counts[m, c, j] == pytest.approx(DIAGONAL * ((1.0 if c == j else 0.5) + 0.1 * share))
    coda.tell(7, 2)
    assert coda.counts[1, 2, PREDICTED[1, 7]] - CODA(PREDICTED, 3).counts[1, 2, PREDICTED[1, 7]] == pytest.approx(
        STRENGTH
    )


def test_codas_probabilities_are_those_of_draws():
    """P(best) by integrals is how often a draw from the Beta distributions is the greatest."""
    coda = CODA(PREDICTED, 3)
    coda.counts[0, :, :] += 5 * np.eye(3)
    right, wrong = coda.recall
    drawn = np.random.default_rng(1).beta(right, wrong, (200_000, 4, 3)).argmax(axis=1)
    expected = sum(coda.frequency[c] * np.bincount(drawn[:, c], minlength=4) / 200_000 for c in range(3))
    assert coda.probabilities() == pytest.approx(expected, abs=0.005)
    assert coda.best() == 0


def test_codas_gain_is_that_of_telling_each_label():
    """The expected fall of the entropy, each answer told to a copy of it as one full label."""
    coda = CODA(PREDICTED, 3)
    rows = np.arange(12)
    for row, gain in zip(rows, coda.gains(rows), strict=True):
        expected = bits(coda.probabilities())
        for label in range(3):
            updated = CODA(PREDICTED, 3)
            updated.counts = coda.counts.copy()
            updated.counts[:, label] += updated.votes[:, row]
            # the frequency of labels, and what other labels say, stay as they are
            frequency = coda.frequency
            best = np.array([best_of(updated, c) if c == label else best_of(coda, c) for c in range(3)])
            expected -= coda.labels[row, label] * bits(frequency @ best)
        assert gain == pytest.approx(expected, abs=1e-6)


def best_of(coda, label):
    """(M,) P(best) of the recall of one label."""
    only = CODA(PREDICTED, 3)
    only.counts = np.repeat(coda.counts[:, label : label + 1], 3, axis=1)
    diagonal = coda.counts[:, label, label]
    off_diagonal = coda.counts[:, label].sum(axis=1) - diagonal
    only.counts = np.stack([np.diag(np.ones(3))] * 4) * diagonal[:, None, None] + (off_diagonal / 2)[:, None, None] * (
        1 - np.eye(3)
    )
    return only.probabilities()


@pytest.mark.parametrize("rival", [ModelPicker, CODA, LLMSelector])
def test_a_rival_finds_a_model_that_is_nearly_always_right(rival):
    """Thirty answers at most; no row is asked twice."""
    rng = np.random.default_rng(3)
    labels = rng.integers(2, size=200)
    predicted = np.where(rng.random((5, 200)) < [[0.6], [0.65], [0.97], [0.7], [0.6]], labels, 1 - labels)
    choices = rival(predicted, 2)
    for _ in range(30):
        row = choices.next()
        choices.tell(row, labels[row])
    assert len(set(choices.labelled)) == 30
    assert choices.best() == 2


@pytest.mark.parametrize("name", ["Select-LLM", "LURE", "LLM Selector", "ModelPicker"])
def test_the_benchmark_asks_a_rival_about_labels(name):
    """A model that is nearly always right is named after 40 labels, though some answers are missing."""
    rng = np.random.default_rng(3)
    labels = rng.integers(2, size=200)
    predicted = np.where(rng.random((5, 200)) < [[0.6], [0.65], [0.97], [0.7], [0.6]], labels, 1 - labels)
    predicted[:, :4] = -1
    truth = (predicted == labels).mean(axis=1)
    world = World(predicted, labels, 2, truth, rng.permutation(200), None, None, predicted[:0])
    first, last = METHODS[name](world, (1, 40))
    assert last.best == 2
    assert not np.array_equal(first.score, last.score)


def test_the_entropy_of_certainty_is_nothing():
    """And of four alike two bits."""
    assert entropy(np.array([1.0, 0.0])) == pytest.approx(0, abs=1e-9)
    assert entropy(np.full((4, 2), 0.25)).tolist() == [2, 2]
