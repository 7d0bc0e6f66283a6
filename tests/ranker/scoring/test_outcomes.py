"""Outcomes are real numbers: a graded answer, or a mean over repeated ones, is ranked as right and wrong are."""

import numpy as np
import pytest
from deciding import decide
from hypothesis import given, settings
from hypothesis import strategies as st

from factors import BUILTIN, Attributions
from factors.types import Example
from ranker.results.table import ScoreTable
from ranker.scoring.evaluation import evaluate
from ranker.scoring.score import column_of
from ranker.statistics import exact
from ranker.tasks.base import ERROR, MISSING, NO_ANSWER
from ranker.tasks.classes import ClassificationTask, ClassProbabilities

MANY = 200_000
TASK = ClassificationTask("mood", ("bad", "good"))


def graded(kind, models=4, rows=120, seed=0):
    """(M, N) outcomes of models of rising skill."""
    rng = np.random.default_rng(seed)
    skill = np.linspace(0.45, 0.8, models)[:, None] + 0.1 * rng.normal(size=rows)
    if kind == "mean of three":
        return rng.binomial(3, np.clip(skill, 0, 1), (models, rows)) / 3
    if kind == "marks":
        return rng.beta(8 * np.clip(skill, 0.05, 0.95), 8 * (1 - np.clip(skill, 0.05, 0.95)))
    return np.where(rng.random((models, rows)) < 0.5, rng.random((models, rows)), (skill > 0.6).astype(float))


def table(outcomes, truth=None, metric="SCORE"):
    """A table of one column."""
    models, rows = outcomes.shape
    names = tuple(f"m{m}" for m in range(models))
    return ScoreTable(
        names, (column_of(metric),), tuple(map(str, range(rows))), outcomes[:, None].copy(), metric, truth
    )


@pytest.mark.parametrize("kind", ["mean of three", "marks", "half of them 0 or 1"])
@pytest.mark.parametrize("size", [1, 10, 30])
def test_the_exact_engine_agrees_with_draws(kind, size):
    """Over all probes there are, and over 200,000 of them: within 0.3 points, pair by pair."""
    outcomes = graded(kind)
    exactly = exact.probabilities(outcomes[:, None], size)[:, 0]
    rng = np.random.default_rng(1)
    means = np.concatenate(
        [outcomes[:, rng.integers(outcomes.shape[1], size=(MANY // 10, size))].mean(axis=2) for _ in range(10)], axis=1
    )
    first, second = np.triu_indices(len(outcomes), 1)
    lead = means[first] - means[second]
    drawn = ((lead > 1e-12) + 0.5 * (np.abs(lead) <= 1e-12)).mean(axis=1)
    np.testing.assert_allclose(exactly, drawn, atol=0.003)


@pytest.mark.parametrize("kind", ["mean of three", "marks"])
def test_an_evaluation_and_a_decision_take_them(kind):
    """Each mean, interval and probability is of the outcomes themselves, and none is a share of right rows."""
    outcomes = graded(kind)
    evaluation = evaluate(table(outcomes, outcomes.mean(axis=1)), probe=10)
    assert 0.5 < evaluation.method("SCORE").ci_low < evaluation.method("SCORE").pairwise_accuracy < 1
    assert evaluation.method("SCORE").curve[1] < evaluation.method("SCORE").curve[50]
    few = outcomes[:, :15]
    decided = decide(table(few))
    by_name = {model.name: model for model in decided.models}
    for m, row in enumerate(few):
        assert by_name[f"m{m}"].outcome == pytest.approx(row.mean())
        assert by_name[f"m{m}"].low < row.mean() < by_name[f"m{m}"].high
    assert sum(model.p_best for model in decided.models) == pytest.approx(1)


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_right_and_wrong_are_what_the_factor_says(seed):
    """The metric's column of classes is the factor ACC on every row; an answer not given is wrong."""
    rng = np.random.default_rng(seed)
    rows = [Example(str(n), (f"text {n}",), int(rng.integers(2))) for n in range(12)]
    probs = rng.dirichlet([1, 1], 12)
    outcomes = TASK.outcomes(ClassProbabilities(probs), rows)
    by_factor = [
        BUILTIN["ACC"].score(Attributions(probabilities, int(probabilities.argmax())), row)
        for probabilities, row in zip(probs, rows, strict=True)
    ]
    assert outcomes.tolist() == by_factor
    state = np.zeros(12, dtype=int)
    state[:3] = NO_ANSWER, ERROR, MISSING
    outcomes = TASK.outcomes(ClassProbabilities(probs, state), rows)
    assert outcomes[0] == 0
    assert np.isnan(outcomes[1:3]).all()
    assert outcomes[3:].tolist() == by_factor[3:]


def test_a_row_without_an_outcome_leaves_the_metric_for_all_models():
    """It is counted with its reason, and a decision is made of the others."""
    outcomes = graded("marks", rows=10)
    holed = outcomes.copy()
    holed[1, 4] = np.nan
    remaining = np.delete(outcomes, 4, axis=1)
    with_hole, without = decide(table(holed)), decide(table(remaining))
    assert with_hole.p_beats == without.p_beats
    assert [model.outcome for model in with_hole.models] == [model.outcome for model in without.models]
