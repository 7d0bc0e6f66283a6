"""From a score table whose truth is known to a `Ranking`: how well each method would have ranked these models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ranker import engine, intervals
from ranker.engine import Floats
from ranker.errors import UsageError
from ranker.ranking import Kind, MethodResult, ModelResult, PairResult, Ranking
from ranker.score import ScoreTable

INTERVAL_DRAWS = 20_000
"""Draws behind every interval, and behind methods that are no means where the others are exact: their own noise is
then below a tenth of what the examples contribute."""

EQUAL = 1e-12
"""OOD accuracies this close are equal."""


def evaluate(
    table: ScoreTable,
    *,
    probe: int = 10,
    draws: int | Literal["exact"] = 500,
    seed: int = 0,
    ood: str = "",
    suite: str = "",
    attribution: str = "none",
    families: Sequence[str] | None = None,
    designed: str | None = None,
    near: float = 0.1,
    failures: Mapping[str, str] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Ranking:
    """Say how often each method, shown K examples, would have put two models in the right order.

    Args:
        table: the scores, with known OOD accuracies.
        probe: K.
        draws: B, or "exact".
        seed: of the draws.
        ood, suite, attribution: names, kept in the result.
        families: (M,) each model's architecture, in the order of the table; splits the pairs.
        designed: the factor designed for the set.
        near: OOD accuracies less than this apart make a near pair.
        failures, provenance: kept in the result.

    Raises:
        UsageError: K does not fit the population, fewer than two models, or no two that differ in OOD accuracy.
        ValueError: the table holds no OOD accuracies.
    """
    if table.ood_accuracy is None:
        raise ValueError("an evaluation needs the models' OOD accuracies; without them, decide")
    check(table, probe, ood)
    order = np.argsort(-table.ood_accuracy, kind="stable")
    truth = table.ood_accuracy[order]
    first, second = engine.pairs(len(truth)).T
    gap = truth[first] - truth[second]
    decided = gap > EQUAL
    if not decided.any():
        raise UsageError("no two models differ in OOD accuracy; there is no order to find")
    signs = np.array([1.0 if method.higher_is_better else -1.0 for method in table.methods])
    values = table.values[order] * signs[:, None]
    rng = np.random.default_rng(seed)
    count = INTERVAL_DRAWS if draws == "exact" else draws
    rows = engine.draws(rng, values.shape[2], probe, max(count, INTERVAL_DRAWS))

    def with_random(means: Floats) -> Floats:
        return np.concatenate([means, rng.random((len(truth), 1, means.shape[2]))], axis=1)

    simulation = engine.simulate(values, rows[:count], decided, with_random)
    names = [method.name for method in table.methods] + ["RANDOM"]
    kinds: list[Kind] = [method.kind for method in table.methods] + ["baseline"]
    accuracy = simulation.beats[decided].mean(axis=0)
    wide = simulation if count == len(rows) else engine.simulate(values, rows, decided, with_random)
    low, high = _interval(accuracy, wide.success, simulation.success, rows, values.shape[2], (0.0, 1.0))
    half = intervals.over_models(simulation.beats, decided, len(truth))
    acc = names.index("ACC") if "ACC" in names else None
    if acc is not None:
        difference = accuracy - accuracy[acc]
        vs_low, vs_high = _interval(
            difference,
            wide.success - wide.success[acc],
            simulation.success - simulation.success[acc],
            rows,
            values.shape[2],
            (-1.0, 1.0),
        )
    ranks = engine.expected_ranks(simulation.beats, len(truth))
    same = None if families is None else np.array(families, dtype=object)[order]

    def optional(value: float) -> float | None:
        return None if np.isnan(value) else float(value)

    methods = tuple(
        MethodResult(
            name=name,
            kind=kinds[f],
            few_shot_accuracy=float(accuracy[f]),
            ci_low=float(low[f]),
            ci_high=float(high[f]),
            models_low=optional(max(accuracy[f] - half[f], 0.0)),
            models_high=optional(min(accuracy[f] + half[f], 1.0)),
            vs_acc=None if acc is None else float(difference[f]),
            vs_acc_low=None if acc is None else float(vs_low[f]),
            vs_acc_high=None if acc is None else float(vs_high[f]),
            designed=name == designed,
            dropped=dict(table.dropped.get(name, {})),
        )
        for f, name in enumerate(names)
    )
    ordered = [table.models[m] for m in order]
    models = tuple(
        ModelResult(
            name=ordered[m],
            family="" if same is None else str(same[m]),
            ood_accuracy=float(truth[m]),
            rank=1 + int((truth > truth[m] + EQUAL).sum()),
            scores={
                method.name: optional(_mean(table.values[order[m], f], engine.defined(table.values)[f]))
                for f, method in enumerate(table.methods)
            },
            expected_rank={name: float(ranks[m, f]) for f, name in enumerate(names)},
        )
        for m in range(len(order))
    )
    pair_results = tuple(
        PairResult(
            a=ordered[first[p]],
            b=ordered[second[p]],
            method=name,
            accuracy=float(simulation.beats[p, f]),
            accuracy_a=float(truth[first[p]]),
            accuracy_b=float(truth[second[p]]),
            gap=float(gap[p]),
            near=bool(gap[p] < near),
            same_family=None if same is None else bool(same[first[p]] == same[second[p]]),
        )
        for p in np.flatnonzero(decided)
        for f, name in enumerate(names)
    )
    return Ranking(
        mode="evaluation",
        ood=ood,
        suite=suite,
        attribution=attribution,
        probe=probe,
        draws=draws,
        seed=seed,
        table=table,
        models=models,
        methods=methods,
        pair_results=pair_results,
        tied_pairs=int((~decided).sum()),
        near=near,
        failures=dict(failures or {}),
        provenance=dict(provenance or {}),
    )


def check(table: ScoreTable, probe: int, ood: str) -> None:
    """Refuse a K that does not fit the examples, and a single model."""
    if len(table.models) < 2:
        raise UsageError(f"a ranking needs at least two models (got {len(table.models)}); name more with `--models`")
    if not 1 <= probe <= len(table.examples):
        size = f"the size of {ood}" if ood else "the number of examples"
        raise UsageError(f"`--probe` must be between 1 and {len(table.examples)}, {size} (got {probe})")


def _mean(row: Floats, usable: np.ndarray) -> float:
    return float(row[usable].mean()) if usable.any() else float("nan")


def _interval(
    estimate: Floats,
    wide: Floats,
    drawn: Floats,
    rows: np.ndarray,
    examples: int,
    limits: tuple[float, float],
) -> tuple[Floats, Floats]:
    variance = intervals.population_variance(wide, rows, examples) + drawn.var(axis=1) / drawn.shape[1]
    return intervals.interval(estimate, variance, *limits)
