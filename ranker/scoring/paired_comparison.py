"""Paired comparison of two models on the same labelled rows, for a decision without a pool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from factors.types import Ints
from ranker.numbers import counted, percent
from ranker.statistics.paired import PairedComparison

FEW_CLUSTERS = 20
"""Clusters below which intervals are wide, and only large differences are visible (docs/STATISTICS.md)."""

FEW_ROWS = 300
"""Rows of a table or log below which a difference of a few points is seldom visible."""

MAX_PAIRED_MODELS = 30
"""Most models with all pairs compared; of more, each is compared with the first, and with a named one."""


def pairs_of(order: Sequence[int], names: Sequence[str], base: str | None = None) -> list[tuple[int, int]]:
    """List the pairs of models that are compared, the one first in the order first.

    Args:
        order: (M,) the models in the predicted order.
        base: a model that each other one is compared with, however many they are.

    Example:
        >>> pairs_of([2, 0, 1], ["a", "b", "c"])
        [(2, 0), (2, 1), (0, 1)]
    """
    pairs = list(combinations(order, 2))
    if len(order) <= MAX_PAIRED_MODELS:
        return pairs
    hubs = {order[0], *(n for n, name in enumerate(names) if name == base)}
    return [pair for pair in pairs if not hubs.isdisjoint(pair)]


def clusters_of(groups: Sequence[str]) -> Ints | None:
    """Return (N,) numbers of the groups of rows; None where rows are independent.

    Example:
        >>> clusters_of(["a", "b", "a"]).tolist(), clusters_of(["", ""])
        ([0, 1, 0], None)
    """
    if not any(groups):
        return None
    number = {group: n for n, group in enumerate(dict.fromkeys(groups))}
    return np.array([number[group] for group in groups])


def warnings(comparisons: Sequence[PairedComparison], precomputed: bool) -> Iterator[str]:
    """Warn of few rows or clusters.

    Args:
        precomputed: whether the answers were made elsewhere, where more answers may have been possible.
    """
    if precomputed and comparisons and comparisons[0].rows < FEW_ROWS:
        yield f"{counted(comparisons[0].rows, 'row is', 'rows are')} few{_least(comparisons)}."
    if comparisons and comparisons[0].clusters is not None and comparisons[0].clusters < FEW_CLUSTERS:
        yield f"{comparisons[0].clusters} clusters of rows are few: only large differences are detected."


def _least(comparisons: Sequence[PairedComparison]) -> str:
    least = min((pair.detectable for pair in comparisons if pair.detectable is not None), default=None)
    if least is None:
        return ""
    differences = "differences" if least > 1 else f"a true difference below {percent(least)} points"
    return f": {differences} would mostly be missed"
