"""What decisions on several sets, by a few labelled rows each, say of the models' means over these sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factors.types import Floats
from ranker.results.decision import Decision, groups
from ranker.results.over_sets import OnAverage
from ranker.results.ranking import Ranking
from ranker.statistics import on_average, posterior

REACH = 2 * 1.959964
"""Standard errors that a 95 % interval is wide."""


def decided(runs: Sequence[Ranking], names: Sequence[str], rope: float, rng: np.random.Generator) -> OnAverage | None:
    """Which model is best on average, how sure that is, and which set needs more labels.

    Of a decision by labelled rows alone the mean outcomes are drawn as it draws them itself; of one that had a pool,
    from a normal law with its intervals and probabilities.

    Args:
        runs: on a set each.
        names: (M,) the models, in order.
        rope: how much better is much.
        rng: the only source of randomness.

    Returns:
        None where a run is no decision or lacks a model, or where there is one run alone.
    """
    found = [run.found for run in runs if isinstance(run.found, Decision) and set(names) <= set(run.found.names)]
    if len(found) < len(runs) or len(runs) < 2:
        return None
    drawn = [_drawn(run, one, names, own) for run, one, own in zip(runs, found, rng.spawn(len(runs)), strict=True)]
    labels = {run.header.ood: len(run.table.examples) for run in runs}
    beats = on_average.beats_on_average(drawn)
    best, near = on_average.best_on_average(drawn, rope)
    first, second = (int(at) for at in np.argsort(-best, kind="stable")[:2])
    more = on_average.more_labels(drawn, np.array(list(labels.values())), first, second)
    return OnAverage(
        labels=labels,
        p_best=dict(zip(names, map(float, best), strict=True)),
        p_near_best=dict(zip(names, map(float, near), strict=True)),
        p_beats=tuple(tuple(map(float, row)) for row in beats),
        level=posterior.LEVEL,
        groups=tuple(tuple(names[at] for at in group) for group in groups(beats.tolist(), posterior.LEVEL)),
        first=names[first],
        second=names[second],
        more_labels=None if more is None else dict(zip(labels, map(int, more), strict=True)),
    )


def _drawn(run: Ranking, found: Decision, names: Sequence[str], rng: np.random.Generator) -> Floats:
    """(B, M) what the mean outcomes may be on one set."""
    if found.kind != "pool":
        places = [run.table.models.index(name) for name in names]
        outcomes = run.table.outcomes[places]
        return posterior.draws(outcomes[:, ~np.isnan(outcomes).any(axis=0)], rng)
    order = [found.names.index(name) for name in names]
    low, high = (np.array([getattr(found.models[at], end) for at in order]) for end in ("low", "high"))
    beats = np.array(found.p_beats)[np.ix_(order, order)]
    return on_average.normal_draws((low + high) / 2, (high - low) / REACH, beats, rng, posterior.SAMPLES)
