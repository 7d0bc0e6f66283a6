"""Two models on the same labelled rows: the paired comparison that a decision without a pool rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from factors.types import Ints
from ranker.numbers import counted, percent
from ranker.results.table import ScoreTable
from ranker.statistics import engine, paired
from ranker.statistics.paired import PairedComparison

FEW_CLUSTERS = 20
"""Clusters below which only large differences are shown: intervals are wide (docs/STATISTICS.md)."""

FEW_ROWS = 300
"""Rows of a table or log below which a difference of a few points is seldom seen."""

MOST = 30
"""Models up to which every two are compared; of more, each with the first, and with one that somebody names."""


def compare_pairs(
    table: ScoreTable, order: Sequence[int], groups: Sequence[str], seed: int, base: str | None = None
) -> tuple[PairedComparison, ...]:
    """Compare models two at a time, the better one first in the order.

    Args:
        table: the scores on the labelled rows; those without an outcome for some model are left out.
        order: (M,) the models in the predicted order.
        groups: (N,) which rows belong together; all "" where rows are independent.
        seed: of the signs that are drawn where they are too many; each pair has a generator of its own.
        base: a model that each other one is compared with, however many they are.
    """
    judged = engine.defined(table.values)[0]
    outcomes, names = table.outcomes[:, judged], table.models
    clusters = clusters_of([group for group, kept in zip(groups, judged, strict=True) if kept])
    pairs = pairs_of(order, names, base)
    streams = np.random.default_rng(seed).spawn(len(pairs))
    return paired.corrected(
        [
            paired.compare((names[a], names[b]), outcomes[[a, b]], own, clusters)
            for (a, b), own in zip(pairs, streams, strict=True)
        ]
    )


def pairs_of(order: Sequence[int], names: Sequence[str], base: str | None = None) -> list[tuple[int, int]]:
    """List the pairs of models that are compared, the one first in the order first.

    Args:
        order, base: as for `compare_pairs`.
        names: (M,) of the models.

    Example:
        >>> pairs_of([2, 0, 1], ["a", "b", "c"])
        [(2, 0), (2, 1), (0, 1)]
    """
    pairs = list(combinations(order, 2))
    if len(order) <= MOST:
        return pairs
    hubs = {order[0], *(n for n, name in enumerate(names) if name == base)}
    return [pair for pair in pairs if not hubs.isdisjoint(pair)]


def clusters_of(groups: Sequence[str]) -> Ints | None:
    """(N,) numbers of the groups of rows; None where rows are independent.

    Example:
        >>> clusters_of(["a", "b", "a"]).tolist(), clusters_of(["", ""])
        ([0, 1, 0], None)
    """
    if not any(groups):
        return None
    number = {group: n for n, group in enumerate(dict.fromkeys(groups))}
    return np.array([number[group] for group in groups])


def warnings(found: Sequence[PairedComparison], kept: bool) -> Iterator[str]:
    """What is to be known of rows that are few.

    Args:
        found: what was compared.
        kept: answers were made elsewhere, so that more of them could have been.
    """
    if kept and found and found[0].rows < FEW_ROWS:
        yield f"{counted(found[0].rows, 'row is', 'rows are')} few{_least(found)}."
    if found and found[0].clusters is not None and found[0].clusters < FEW_CLUSTERS:
        yield f"{found[0].clusters} clusters of rows are few: only large differences are seen."


def _least(found: Sequence[PairedComparison]) -> str:
    least = min((one.detectable for one in found if one.detectable is not None), default=None)
    if least is None:
        return ""
    which = "differences" if least > 1 else f"a true difference below {percent(least)} points"
    return f": {which} would mostly be missed"
