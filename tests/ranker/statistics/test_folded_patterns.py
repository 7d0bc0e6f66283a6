import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.statistics import patterns
from ranker.statistics.patterns import fold, gather_answers


@st.composite
def pools(draw, least=1):
    """(M, N) predictions, some of them silent, and the number of classes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    models, rows, classes = draw(st.integers(least, 5)), draw(st.integers(1, 9)), draw(st.integers(2, 4))
    return rng.integers(-1, classes, size=(models, rows)), classes


@settings(max_examples=100)
@given(pools())
def test_patterns_are_the_rows_of_the_pool(pool):
    """Each row is of the pattern that says what the models predict on it, and the patterns are distinct and counted."""
    predicted, classes = pool
    folded = fold(predicted, classes)
    assert (folded.predicted[folded.pattern_of_row] == predicted.T).all()
    assert len({tuple(pattern) for pattern in folded.predicted.tolist()}) == len(folded.predicted)
    assert folded.counts.tolist() == [(folded.pattern_of_row == p).sum() for p in range(len(folded.predicted))]


@settings(max_examples=100)
@given(pools())
def test_agreement_is_that_of_the_definition(pool):
    """The mean share of rows on which another model predicts the same, corrected for chance, counted in loops."""
    predicted, classes = pool
    for model, agreement in enumerate(fold(predicted, classes).agreement):
        same = [
            sum(a == b >= 0 for a, b in zip(predicted[model], other_predicted, strict=True)) / predicted.shape[1]
            for number, other_predicted in enumerate(predicted)
            if number != model
        ]
        expected = (classes * sum(same) / len(same) - 1) / (classes - 1) if same else 0.0  # of one model alone
        assert agreement == pytest.approx(expected, abs=1e-8)


@settings(max_examples=100)
@given(pools(), st.booleans())
def test_what_models_usually_say_is_counted(pool, alike):
    """The mean over rows of how much each label gets from each model, counted in loops."""
    predicted, classes = pool
    sure = np.ones(predicted.shape) if alike else np.resize([0.5, 1.0, 2.25], predicted.shape)
    usual = fold(predicted, classes, strength=sure).usual
    for model, label in np.ndindex(*usual.shape):
        expected = np.mean([s * (q == label) for s, q in zip(sure[model], predicted[model], strict=True)])
        assert usual[model, label] == pytest.approx(expected, abs=1e-8)


@settings(max_examples=100)
@given(pools(), st.integers(0, 2**32 - 1))
def test_no_order_changes_the_seed(pool, seed):
    """Models, rows and answers may be listed in any order."""
    predicted, classes = pool
    rng = np.random.default_rng(seed)
    models, rows = rng.permutation(predicted.shape[0]), rng.permutation(predicted.shape[1])
    rows_asked, labels = rng.integers(predicted.shape[1], size=4), rng.integers(classes, size=4)
    first = fold(predicted, classes)
    second = fold(predicted[models], classes)
    order = rng.permutation(4)
    assert second.seed(gather_answers(second, rows_asked[order], labels[order], 0.1)) == first.seed(
        gather_answers(first, rows_asked, labels, 0.1)
    )
    assert (second.predicted == first.predicted[:, models]).all()
    turned = fold(predicted[:, rows], classes)
    places = np.argsort(rows)[rows_asked]
    if len({tuple(sorted(column.tolist())) for column in predicted}) == len(predicted):  # no two predict alike often
        assert turned.seed(gather_answers(turned, places, labels, 0.1)) == first.seed(
            gather_answers(first, rows_asked, labels, 0.1)
        )


def test_another_answer_is_another_seed():
    """What was answered, and about rows of which pattern, decides the seed."""
    pool = fold(np.array([[0, 1, 1, 0], [0, 0, 0, 0]]), 2)
    answers = [((1,), (1,)), ((1,), (0,)), ((0,), (1,)), ((0, 1), (1, 1)), ((0, 0), (1, 1)), ((), ())]
    seeds = {
        pool.seed(gather_answers(pool, np.array(rows, dtype=int), np.array(labels, dtype=int), 0.1))
        for rows, labels in answers
    }
    assert len(seeds) == len(answers)
    assert (
        pool.seed(gather_answers(pool, np.array([2]), np.array([1]), 0.1)) in seeds
    )  # another row of the same pattern


def test_several_answers_to_a_row_are_readings_of_one_label():
    """Their likelihoods multiply: with 30 % noise over three classes an answer is right in 80 % of cases."""
    pool = fold(np.array([[0, 1, 2], [0, 0, 0]]), 3)
    readings = gather_answers(pool, np.array([1, 1, 1]), np.array([2, 2, 0]), 0.3)
    expected = np.array([0.1 * 0.1 * 0.8, 0.1 * 0.1 * 0.1, 0.8 * 0.8 * 0.1])
    assert readings.likelihood[0] == pytest.approx(expected / expected.max())
    assert (readings.counts.tolist(), readings.rows.tolist()) == ([1], [1])


def test_a_large_pool_is_read_in_part(monkeypatch):
    """A sample of the rows, always the same, and all that have a label."""
    monkeypatch.setattr(patterns, "ROWS", 100)
    predicted = np.random.default_rng(0).integers(2, size=(3, 500))
    folded, again = (fold(predicted, 2, np.arange(10)) for _ in range(2))
    assert (folded.pattern_of_row == again.pattern_of_row).all()
    assert (folded.pattern_of_row[:10] >= 0).all()
    assert 100 <= folded.counts.sum() == (folded.pattern_of_row >= 0).sum() <= 110
    has_pattern = folded.pattern_of_row >= 0
    assert (folded.predicted[folded.pattern_of_row[has_pattern]] == predicted.T[has_pattern]).all()


@pytest.mark.parametrize(
    ("predicted", "classes", "message"),
    [
        (np.zeros((0, 3), dtype=int), 2, r"\(V, N\).*\(0, 3\)"),
        (np.zeros((2, 0), dtype=int), 2, r"\(V, N\).*\(2, 0\)"),
        (np.array([[0, 2]]), 2, r"below 2 \(got 2\)"),
    ],
)
def test_what_is_no_pool_is_refused(predicted, classes, message):
    """One line says what is wrong."""
    with pytest.raises(ValueError, match=message):
        fold(predicted, classes)


@pytest.mark.parametrize(
    ("rows", "labels", "noise", "message"),
    [
        ([0], [2], 0.1, r"labels must be between 0 and 1 \(got 2 to 2\)"),
        ([0], [-1], 0.1, r"labels must be between 0 and 1 \(got -1 to -1\)"),
        ([0, 0], [0, 1], 0.0, "all answers to one row must be the same"),
        ([0], [0], 1.5, r"label_noise must be between 0 and 1 \(got 1.5\)"),
    ],
)
def test_what_is_no_answer_is_refused(rows, labels, noise, message):
    """One line says what is wrong."""
    with pytest.raises(ValueError, match=message):
        gather_answers(fold(np.array([[0, 1], [1, 1]]), 2), np.array(rows), np.array(labels), noise)


def test_rows_on_which_models_are_not_as_sure_are_not_of_one_pattern():
    """Up to a step; where a model is silent nothing is sure, and where all are as sure nothing is noted."""
    predictions = np.array([[0, 0, 0, 1], [-1, -1, -1, 1]])
    sure = np.array([[1.0, 1.1, 2.0, 0.0], [3.0, 0.0, 1.0, 1.0]])
    folded = fold(predictions, 2, strength=sure)
    assert folded.pattern_of_row.tolist() == [0, 0, 1, 2]
    assert folded.counts.tolist() == [2, 1, 1]
    assert folded.strength.tolist() == [[1.0, 1.0], [2.0, 1.0], [0.0, 1.0]]
    assert fold(predictions, 2, strength=np.full((2, 4), 1.04)).strength is None
    turned = fold(predictions[::-1], 2, strength=sure[::-1])
    assert turned.strength[:, ::-1].tolist() == folded.strength.tolist()
