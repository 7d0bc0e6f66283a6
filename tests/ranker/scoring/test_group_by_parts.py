"""Models grouped by their parts: the levels of each, and which of two matters more."""

import numpy as np
import pytest
from deciding import decide
from test_by_metric import answered
from test_by_metric import decided as decided_by_metric
from test_evaluation import table

from ranker.scoring.evaluation import evaluate
from ranker.scoring.parts import group_by_parts
from ranker.statistics.components import variance_components

PARTS = {f"m{m}": {"model": model, "prompt": prompt} for m, (model, prompt) in enumerate(["ab", "ac", "bb", "bc"])}
"""Two models with two prompts each; `table` calls the members m0 to m3."""


def outcomes(rows=40, members=4):
    """Members that are right on nearly half of the rows, and on ever more."""
    ease = np.random.default_rng(0).random((members, rows))
    return (ease < np.linspace(0.4, 0.9, members)[:, None]).astype(float)


def scored(values, truth=None):
    """A table of accuracies alone."""
    return table(values[:, None], ["ACC"], truth)


@pytest.mark.parametrize("with_truth", [True, False])
def test_levels_have_the_means_of_their_members(with_truth):
    """Of the outcomes that the report shows, best first: on the whole set if the truth is known, else on the rows."""
    truth = np.array([0.9, 0.5, 0.8, 0.7]) if with_truth else None
    judged = scored(outcomes(), truth)
    outcome = evaluate(judged, probe=5) if with_truth else decide(judged)
    parts = group_by_parts(outcome, judged, PARTS)
    means = truth if with_truth else judged.outcomes.mean(axis=1)
    wanted = {
        "model": {"a": means[:2].mean(), "b": means[2:].mean()},
        "prompt": {"b": means[::2].mean(), "c": means[1::2].mean()},
    }
    assert {part.name: {level.name: level.outcome for level in part.levels} for part in parts.parts} == {
        name: pytest.approx(of_levels) for name, of_levels in wanted.items()
    }
    for part in parts.parts:
        best_first = sorted(wanted[part.name].values(), reverse=True)
        assert [level.outcome for level in part.levels] == pytest.approx(best_first)
        for level in part.levels:
            assert level.models == tuple(model for model in PARTS if PARTS[model][part.name] == level.name)


def test_components_are_those_of_the_members_outcomes():
    """In the order of the parts, with clusters of rows, from the seed of the run."""
    judged, groups = scored(outcomes()), [str(n // 4) for n in range(40)]
    parts = group_by_parts(decide(judged, groups=groups), judged, PARTS, seed=7, groups=groups)
    first, second, clusters = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.arange(40) // 4
    wanted = variance_components(outcomes(), first, second, np.random.default_rng(7), clusters)
    assert parts.components == wanted
    assert parts.reason == ""


def test_models_without_parts_are_left_out():
    """They are in no level, and change no number; without any parts there is nothing to group."""
    judged, larger = scored(outcomes()), scored(np.vstack([outcomes(), np.ones(40)]))
    beside, alone = (group_by_parts(decide(scores), scores, PARTS) for scores in (larger, judged))
    assert beside.components == alone.components
    for part, as_alone in zip(beside.parts, alone.parts, strict=True):
        assert [level.models for level in part.levels] == [level.models for level in as_alone.levels]
        outcomes_alone = [level.outcome for level in as_alone.levels]
        assert [level.outcome for level in part.levels] == pytest.approx(outcomes_alone)
    assert group_by_parts(decide(judged), judged, {}) is None


@pytest.mark.parametrize(
    ("parts", "names", "reason"),
    [
        (
            {name: {**of_model, "shots": name[-1]} for name, of_model in PARTS.items()},
            ["model", "prompt", "shots"],
            "two parts are compared, and these have 3 parts in common",
        ),
        ({**PARTS, "m3": {"model": "b"}}, ["model"], "two parts are compared, and these have 1 part in common"),
        (
            {name: {**of_model, "prompt": name} for name, of_model in PARTS.items()},
            ["model", "prompt"],
            "the parts are confounded: too few pairs of them exist to tell the two apart",
        ),
    ],
)
def test_parts_that_cannot_be_compared_are_still_grouped(parts, names, reason):
    """Those that all members have are tabled; the reason says why no two are compared."""
    judged = scored(outcomes())
    grouped = group_by_parts(decide(judged), judged, parts)
    assert [part.name for part in grouped.parts] == names
    assert (grouped.components, grouped.reason) == (None, reason)


def test_no_common_part_groups_nothing():
    """A model and a prompt that are parts of different members say nothing of each other."""
    judged = scored(outcomes())
    assert group_by_parts(decide(judged), judged, {"m0": {"model": "a"}, "m1": {"prompt": "b"}}) is None


@pytest.mark.parametrize(("metric", "best"), [("macro-f1", "m0"), ("mae", "m0")])
def test_a_metric_that_is_no_mean_is_grouped_and_not_compared(metric, best):
    """The level of the best member comes first, also where less is better."""
    answers, targets = answered()
    decision, rows = decided_by_metric(metric, answers, targets)
    judged = scored((answers == targets).astype(float))
    parts = {name: {"model": name, "prompt": "p"} for name in judged.models}
    grouped = group_by_parts(decision, judged, parts, by_metric=rows)
    assert grouped.parts[0].levels[0].name == best
    assert grouped.reason == f"this is known for means only, and {metric} is not a mean"
