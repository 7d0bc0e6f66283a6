"""People's marks of a few rows and judges' marks of many: one belief, and what each judge is worth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.statistics import judges
from ranker.statistics.judges import JudgedMarks, draw, facts, infer


def some_marks(models=4, rows=60, labelled=6, noises=(0.3, 0.5), seed=0, spread=0.15):
    """People's marks of the first rows, the judges' of all, and people's of all."""
    rng = np.random.default_rng(seed)
    truth = np.clip(0.5 + rng.normal(0, spread, (models, 1)) + rng.normal(0, 0.15, (models, rows)), 0, 1)
    marks = np.array([1 + 4 * truth + 4 * noise * rng.normal(0, 0.3, truth.shape) for noise in noises])
    return JudgedMarks(np.where(np.arange(rows) < labelled, truth, np.nan), marks), truth


def by_row_effects(marks, effect_sds):
    """The differences on all rows, with an effect of each row as a parameter of its own, for one prior of d."""
    people, says = marks.people, marks.says / marks.says.sum()
    size, models, rows = *marks.judges.shape[:2], people.shape[1]
    marked = [n for n in range(rows) if (~np.isnan(people[:, n])).sum() > 1]
    design, targets = [], []
    for place, n in enumerate(marked):
        for m in range(models):
            if not np.isnan(people[m, n]):
                row = np.zeros(size + models + len(marked))
                row[:size], row[size + m], row[size + models + place] = marks.filled[:, m, n], 1, 1
                design.append(row)
                targets.append(people[m, n])
    x, y = np.array(design), np.array(targets)
    groups = [int(np.flatnonzero(row[size + models :])[0]) for row in x]
    centred = np.array(
        [value - np.mean([y[i] for i in range(len(y)) if groups[i] == g]) for value, g in zip(y, groups, strict=True)]
    )
    usual = judges.USUAL_MARKS
    unit = np.sqrt(((centred**2).sum() + usual * judges.USUAL**2) / (len(centred) + usual))
    wide = 1e9
    variances = np.concatenate([judges.WEIGHT_SD**2 * says, effect_sds**2, np.full(len(marked), wide)])
    mean = np.concatenate([judges.WEIGHT * says, np.zeros(models + len(marked))])
    precision = np.diag(1 / variances) + x.T @ x
    effects = np.linalg.solve(precision, mean / variances + x.T @ y / unit)
    total = np.zeros(models)
    for n in range(rows):
        if n in marked and not np.isnan(people[:, n]).any():
            total += people[:, n] - people[:, n].mean()
        else:
            expected = effects[:size] @ marks.filled[:, :, n] + effects[size : size + models]
            total += unit * (expected - expected.mean())
    return total / rows


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 3), st.integers(1, 5))
def test_the_means_are_those_of_a_regression_with_effects_of_rows(seed, models, size, labelled):
    """Marks that are missing here and there, too; each prior of the models' effects has its normal distribution."""
    marks, _ = some_marks(models, 12, labelled, [0.4] * size, seed)
    rng = np.random.default_rng(seed)
    people = np.where(rng.random(marks.people.shape) < 0.15, np.nan, marks.people)
    people[:2, 0] = [0.3, 0.6]
    given_marks = JudgedMarks(people, np.where(rng.random(marks.judges.shape) < 0.2, np.nan, marks.judges))
    if not given_marks.says.all():
        return
    differences = infer(given_marks, domain=False).differences
    for place, (_, effect_sds) in enumerate(judges._effects(models)):
        assert differences.means[place] == pytest.approx(by_row_effects(given_marks, effect_sds), abs=1e-5)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 50), st.floats(-100, 100))
def test_a_judge_may_have_any_scale_and_anything_any_order(seed, factor, shift):
    """Only differences of its marks count, in their own unit; listings of models, rows and judges change nothing."""
    marks, _ = some_marks(seed=seed)
    rng = np.random.default_rng(seed)
    models, rows = rng.permutation(4), rng.permutation(60)
    moved = JudgedMarks(marks.people[models][:, rows], (factor * marks.judges + shift)[::-1][:, models][:, :, rows])
    first, second = infer(marks).differences, infer(moved).differences
    assert second.score == pytest.approx(first.score[models], abs=1e-8)
    assert second.beats() == pytest.approx(first.beats()[np.ix_(models, models)], abs=1e-7)


NOTHING = {
    "one mark": lambda marks: np.full(marks.shape[1:], 3.0),
    "zeros": lambda marks: np.zeros(marks.shape[1:]),
    "the same of all models": lambda marks: np.tile(np.arange(marks.shape[2]), (marks.shape[1], 1)).astype(float),
    "a copy": lambda marks: marks[0] * 2 - 1,
    "no mark": lambda marks: np.full(marks.shape[1:], np.nan),
}


@pytest.mark.parametrize("make", NOTHING.values(), ids=NOTHING)
@pytest.mark.parametrize("place", [0, 2])
def test_a_judge_that_says_nothing_new_changes_nothing(make, place):
    """One that is constant, tells no models apart, repeats another or is silent; wherever it is listed."""
    marks, _ = some_marks()
    more_marks = JudgedMarks(marks.people, np.insert(marks.judges, place, make(marks.judges), axis=0))
    assert len(more_marks.telling) == 2
    assert infer(more_marks).differences.score == pytest.approx(infer(marks).differences.score, abs=1e-9)
    assert infer(more_marks).differences.beats() == pytest.approx(infer(marks).differences.beats(), abs=1e-9)


def share_right(marks, truth):
    """The share of pairs in their true order."""
    score, means = infer(marks).differences.score, truth.mean(axis=1)
    pairs = [(a, b) for a in range(len(truth)) for b in range(len(truth)) if means[a] > means[b]]
    return np.mean([score[a] > score[b] for a, b in pairs])


def test_judges_order_models_that_few_marks_do_not():
    """Thirty suites of near models by three rows: judges order more pairs, and four that are noise cost little."""
    right = {"people": [], "judges": [], "noise": []}
    for seed in range(30):
        marks, truth = some_marks(6, 100, 3, (0.3, 0.3), seed, spread=0.04)
        noise = np.random.default_rng(seed).normal(size=(4, *truth.shape))
        right["people"].append(share_right(marks.by(np.zeros(0, dtype=int)), truth))
        right["judges"].append(share_right(marks, truth))
        right["noise"].append(share_right(JudgedMarks(marks.people, np.concatenate([marks.judges, noise])), truth))
    people, both_errors, noisy = (np.mean(errors) for errors in right.values())
    assert both_errors > people + 0.08
    assert noisy > both_errors - 0.02


def test_half_of_the_marks_may_be_missing():
    """Of one model on hard rows, and of half of all rows at random: the models' means are not those of their rows."""
    marks, _ = some_marks(rows=400, labelled=10)
    rng = np.random.default_rng(1)
    hard = marks.judges.mean(axis=(0, 1)) < np.median(marks.judges.mean(axis=(0, 1)))
    missing = rng.random(marks.judges.shape) < 0.5
    missing[:, 0] |= hard
    score = infer(JudgedMarks(marks.people, np.where(missing, np.nan, marks.judges))).differences.score
    assert score == pytest.approx(infer(marks).differences.score, abs=0.03)


def test_a_mark_that_is_missing_is_the_sum_of_a_model_and_a_row():
    """Of marks that are such sums, models differ by as much on every row, also where some have none."""
    rng = np.random.default_rng(0)
    models = np.array([[0.6], [0.2], [-0.8]])
    present = rng.random((3, 40)) < 0.7
    judged = JudgedMarks(np.full((3, 40), np.nan), np.where(present, models + rng.normal(size=40), np.nan)[None])
    differences = np.broadcast_to(models, (3, 40))
    unit = np.sqrt((differences[present] ** 2).mean())
    assert judged.filled[0] == pytest.approx(differences / unit, abs=1e-6)


def test_many_clear_marks_leave_one_prior_alone():
    """The others are less probable by more than numbers hold, and weigh nothing."""
    rng = np.random.default_rng(0)
    people = np.array([[1.0], [0.0]]) + 0.01 * rng.normal(size=(2, 1000))
    score = infer(JudgedMarks(people, rng.normal(size=(1, 2, 1000)))).differences.score
    assert score == pytest.approx([0.5, -0.5], abs=0.01)


def test_people_overrule_a_judge_that_flatters():
    """With forty marks the flattered model is no longer first, and the judge's bias is known."""
    rng = np.random.default_rng(0)
    truth = np.array([0.6, 0.5, 0.4])[:, None] + rng.normal(0, 0.1, (3, 200))
    flattered = 5 * truth + rng.normal(0, 0.2, (3, 200)) + np.array([[0], [0], [1.5]])
    first = []
    for labelled in (2, 40):
        marks = JudgedMarks(np.where(np.arange(200) < labelled, truth, np.nan), flattered[None])
        first.append(infer(marks).differences.score.argmax())
    assert first[1] == 0
    facts_found = facts(marks, 0)
    assert facts_found.low[2] > 0 > facts_found.high[0]
    assert facts_found.bias[2] == pytest.approx(0.2, abs=0.07)  # 1.5 of 5, less the mean of the three
    assert facts_found.bias.sum() == pytest.approx(0.0, abs=1e-9)


def test_the_worth_of_a_judge_is_what_rows_would_bring():
    """A variance falls as 1 / K, so that K + w rows of people tell as much; noise is worth hardly a row."""
    marks, truth = some_marks(5, 300, 10, (0.2, 0.5))
    worth = [facts(marks, judge).worth for judge in (0, 1)]
    assert worth[0] > worth[1] > 1
    variances = []
    for size in (0, 1):
        differences = infer(marks.by(np.arange(size)), domain=False).differences
        covariance = sum(w * part for w, part in zip(differences.weights, differences.covariances, strict=True))
        pairs = [(a, b) for a in range(5) for b in range(a)]
        variances.append(np.mean([covariance[a, a] + covariance[b, b] - 2 * covariance[a, b] for a, b in pairs]))
    assert (10 + worth[0]) / 10 == pytest.approx(variances[0] / variances[1])
    noise = np.random.default_rng(0).normal(size=truth.shape)
    assert facts(JudgedMarks(marks.people, noise[None]), 0).worth < 1.5


def test_agreement_is_the_correlation_within_rows():
    """Row by row, over the rows that both marked."""
    marks, _ = some_marks()
    people, judge = marks.people[:, :6], marks.judges[1][:, :6]
    pair = [(part - part.mean(axis=0)).ravel() for part in (people, judge)]
    assert facts(marks, 1).agreement == pytest.approx(np.corrcoef(*pair)[0, 1])


def test_draws_have_the_probabilities_and_the_level():
    """Means and shares of draws are those of the mixture; the level is that of people's marks."""
    marks, _ = some_marks(labelled=8)
    draws = draw(marks, np.random.default_rng(0), 20_000)
    exact = infer(marks).differences
    shares = (draws.values[:, :, None] > draws.values[:, None]).mean(axis=0)
    assert shares == pytest.approx(exact.beats() - np.eye(4) / 2, abs=0.02)
    assert draws.expected - draws.expected.mean() == pytest.approx(exact.score, abs=0.01)
    low, high = exact.interval()
    ends = np.quantile(draws.values - draws.values.mean(axis=1, keepdims=True), [0.025, 0.975], axis=0)
    assert (low, high) == (pytest.approx(ends[0], abs=0.01), pytest.approx(ends[1], abs=0.01))


def test_likeness_is_a_regressor_whose_weight_begins_at_nothing():
    """Marks that follow likeness gain by it; where they do not, they lose little; without marks nothing is known."""
    rng = np.random.default_rng(0)
    truth = rng.normal(0, 0.05, (5, 1)) + rng.normal(0, 0.2, (5, 100))
    people, nobody = np.where(np.arange(100) < 4, truth, np.nan), np.zeros((0, 5, 100))
    scores = {
        name: infer(JudgedMarks(people, nobody, likeness=likeness), domain=False).differences.score
        for name, likeness in (("none", None), ("same", truth), ("other", rng.normal(0, 1, truth.shape)))
    }
    wanted = truth.mean(axis=1) - truth.mean()
    misses = {name: float(np.abs(score - wanted).max()) for name, score in scores.items()}
    assert misses["same"] < 0.8 * misses["none"]
    assert misses["other"] < misses["none"] + 0.02
    unmarked = JudgedMarks(np.full(truth.shape, np.nan), nobody, likeness=truth)
    assert infer(unmarked).differences.score == pytest.approx(np.zeros(5))


def test_two_models_and_one_row_are_enough():
    """One row marked by people; without any, judges are trusted as far as the prior says, in a stated unit."""
    marks, truth = some_marks(models=2, labelled=1)
    assert infer(marks).differences.beats()[0, 1] != 0.5
    alone = infer(JudgedMarks(np.full(truth.shape, np.nan), marks.judges, 0.5)).differences
    better = int(marks.judges.mean(axis=(0, 2)).argmax())
    assert 0.5 < alone.beats()[better, 1 - better] < 0.9
    half = infer(JudgedMarks(np.full(truth.shape, np.nan), marks.judges, 0.25)).differences
    assert half.score == pytest.approx(alone.score / 2)
    with pytest.raises(ValueError, match="M >= 2"):
        JudgedMarks(truth[:1], marks.judges[:, :1])
