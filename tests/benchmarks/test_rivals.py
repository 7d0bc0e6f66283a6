"""The methods that ours is compared with do what their papers say: by loops, by sampling, and where it is plain."""

import itertools

import numpy as np
import pytest

from benchmarks.rivals import CODA, DIAGONAL, ERROR, STRENGTH, ModelPicker, SelectLLM, entropy

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
            left[row] = sum(bits([one / sum(each) for one in each]) for each in after) / 3
    assert left[picker.next()] == pytest.approx(min(left.values()))


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
    found = CODA(PREDICTED, 3)
    most = [np.bincount(PREDICTED[:, row], minlength=3).argmax() for row in range(40)]
    for m, c, j in itertools.product(range(4), range(3), range(3)):
        rows = [row for row in range(40) if most[row] == c]
        share = np.mean([PREDICTED[m, row] == j for row in rows])
        assert found.counts[m, c, j] == pytest.approx(DIAGONAL * ((1.0 if c == j else 0.5) + 0.1 * share))
    found.tell(7, 2)
    assert found.counts[1, 2, PREDICTED[1, 7]] - CODA(PREDICTED, 3).counts[1, 2, PREDICTED[1, 7]] == pytest.approx(
        STRENGTH
    )


def test_codas_probabilities_are_those_of_draws():
    """P(best) by integrals is how often a draw from the Beta distributions is the greatest."""
    found = CODA(PREDICTED, 3)
    found.counts[0, :, :] += 5 * np.eye(3)
    right, wrong = found.recall
    drawn = np.random.default_rng(1).beta(right, wrong, (200_000, 4, 3)).argmax(axis=1)
    expected = sum(found.frequency[c] * np.bincount(drawn[:, c], minlength=4) / 200_000 for c in range(3))
    assert found.probabilities() == pytest.approx(expected, abs=0.005)
    assert found.best() == 0


def test_codas_gain_is_that_of_telling_each_label():
    """The expected fall of the entropy, each answer told to a copy of it as one full label."""
    found = CODA(PREDICTED, 3)
    rows = np.arange(12)
    for row, gain in zip(rows, found.gains(rows), strict=True):
        expected = bits(found.probabilities())
        for label in range(3):
            told = CODA(PREDICTED, 3)
            told.counts = found.counts.copy()
            told.counts[:, label] += told.votes[:, row]
            # the frequency of labels, and what other labels say, stay as they are
            kept = found.frequency
            each = np.array([best_of(told, c) if c == label else best_of(found, c) for c in range(3)])
            expected -= found.labels[row, label] * bits(kept @ each)
        assert gain == pytest.approx(expected, abs=1e-6)


def best_of(coda, label):
    """(M,) P(best) of the recall of one label."""
    only = CODA(PREDICTED, 3)
    only.counts = np.repeat(coda.counts[:, label : label + 1], 3, axis=1)
    diagonal = coda.counts[:, label, label]
    rest = coda.counts[:, label].sum(axis=1) - diagonal
    only.counts = np.stack([np.diag(np.ones(3))] * 4) * diagonal[:, None, None] + (rest / 2)[:, None, None] * (
        1 - np.eye(3)
    )
    return only.probabilities()


@pytest.mark.parametrize("rival", [ModelPicker, CODA])
def test_a_rival_finds_a_model_that_is_nearly_always_right(rival):
    """Thirty answers at most; no row is asked twice."""
    rng = np.random.default_rng(3)
    labels = rng.integers(2, size=200)
    predicted = np.where(rng.random((5, 200)) < [[0.6], [0.65], [0.97], [0.7], [0.6]], labels, 1 - labels)
    found = rival(predicted, 2)
    for _ in range(30):
        row = found.next()
        found.tell(row, labels[row])
    assert len(set(found.asked)) == 30
    assert found.best() == 2


def test_the_entropy_of_certainty_is_nothing():
    """And of four alike two bits."""
    assert entropy(np.array([1.0, 0.0])) == pytest.approx(0, abs=1e-9)
    assert entropy(np.full((4, 2), 0.25)).tolist() == [2, 2]
