"""True order of the models of an evaluation, and the pairs that have one.

Axis letters as in `statistics.engine`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from factors.rounding import TIE, level
from factors.types import Bools, Floats, Ints
from ranker.errors import UsageError
from ranker.results.evaluation import FOLLOWS
from ranker.results.table import ScoreTable
from ranker.statistics import engine

NEAR = 0.1
"""Difference of true outcomes below which a pair is near."""


@dataclass(frozen=True)
class Truth:
    """Models in their true order, best first, and their pairs.

    Attributes:
        order: (M,) index into the table.
        outcome: (M,) mean outcomes on the whole set, falling.
        gap: (P,) differences of these.
        decided: (P,) pairs that have a true order.
        near: (P,) pairs that are nearly level.
        families: (M,); None where unknown.
        splits: part of the pairs -> (P,) its members; parts without a decided pair are left out.
    """

    order: Ints
    outcome: Floats
    gap: Floats
    decided: Bools
    near: Bools
    families: tuple[str, ...] | None
    splits: Mapping[str, Bools]

    @classmethod
    def of(
        cls,
        table: ScoreTable,
        families: Sequence[str] | None,
        misled: Mapping[str, float] | None = None,
    ) -> Truth:
        """Order the models of a table.

        Args:
            families: (M,) each model's architecture, in the order of the table; None where unknown.
            misled: model -> share of examples on which the shortcut misleads it; None or empty where unknown.

        Raises:
            UsageError: no two models differ in their truth.
            ValueError: the truth is not known.
        """
        if table.truth is None:
            raise ValueError("an evaluation needs the models' true outcomes; without them, decide")
        order = np.argsort(-level(table.truth), kind="stable")
        outcome = table.truth[order]
        first, second = engine.pairs(len(order)).T
        gap = outcome[first] - outcome[second]
        decided = gap > TIE
        if not decided.any():
            raise UsageError(f"no two models differ in {table.metric}; there is no order to find", option="models")
        is_near = gap < NEAR - TIE  # ten points are not less than ten, however their difference is rounded
        splits = {"near": is_near, "far": ~is_near}
        if families is not None:
            same = np.array(families, dtype=object)[order]
            alike = np.array(same[first] == same[second], dtype=np.bool_)
            splits |= {"within-family": alike, "across-family": ~alike}
        if misled:
            follows = np.array([misled[table.models[row]] >= FOLLOWS for row in order])
            any_follows = np.array(follows[first] | follows[second], dtype=np.bool_)
            splits |= {"misled": any_follows, "not-misled": ~any_follows}
        return cls(
            order=order,
            outcome=outcome,
            gap=gap,
            near=is_near,
            decided=decided,
            families=None if families is None else tuple(families[int(m)] for m in order),
            splits={name: part & decided for name, part in splits.items() if (part & decided).any()},
        )


def guess_range(truth: Truth) -> tuple[float, float]:
    """Return the shares of pairs that a fixed preference for one model gets right, for the worst and the best pick.

    Pairs without that model count as 1/2 each.
    """
    pairs = engine.pairs(len(truth.order))[truth.decided]
    shares = [
        0.5 + ((pairs[:, 0] == m).sum() - (pairs[:, 1] == m).sum()) / (2 * len(pairs)) for m in range(len(truth.order))
    ]
    return float(min(shares)), float(max(shares))
