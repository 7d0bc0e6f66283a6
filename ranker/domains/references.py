"""Reference distances: pairs of sets shipped with the package, and the verdict by the nearest of them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ranker.domains.results.shift import Verdict
from ranker.statistics.correlation import DistanceMeasure

FILE = Path(__file__).with_name("references.toml")
"""Written by `python -m benchmarks.shift_references`."""

KINDS: dict[Verdict, str] = {"near": "halves of one set", "far": "two sets of one task", "other": "sets of two tasks"}
"""Verdict -> kind of such a pair."""


@dataclass(frozen=True)
class ReferencePair:
    """A pair of sets whose distance is known.

    Attributes:
        a, b: the sets; of two halves both are the same.
        mmd: MMD^2 of their word vectors; unbiased, so it does not depend on the number of rows.
    """

    a: str
    b: str
    mmd: float

    @property
    def kind(self) -> Verdict:
        """Kind of the pair: halves of one set, sets of one task, or of two."""
        if self.a == self.b:
            return "near"
        return "far" if self.a.partition("-")[0] == self.b.partition("-")[0] else "other"

    @property
    def text(self) -> str:
        """The pair in words."""
        return f"two halves of {self.a}" if self.a == self.b else f"{self.a} and {self.b}"


@cache
def reference_pairs() -> tuple[ReferencePair, ...]:
    """Read the reference pairs, the nearest first."""
    pairs = tomllib.loads(FILE.read_text(encoding="utf-8"))["pairs"]
    return tuple(sorted((ReferencePair(**pair) for pair in pairs), key=lambda pair: pair.mmd))


def nearest_pair(mmd: float) -> ReferencePair:
    """Return the pair with the nearest MMD^2.

    Example:
        >>> nearest_pair(0.0).kind, nearest_pair(0.3).kind
        ('near', 'other')
    """
    return min(reference_pairs(), key=lambda pair: abs(pair.mmd - mmd))


def verdicts_within(mmd: DistanceMeasure) -> set[Verdict]:
    """Return the verdicts that the interval of an MMD^2 reaches; all if it has no interval."""
    order: list[Verdict] = [*KINDS]
    if mmd.low is None or mmd.high is None:
        return {*order}
    low, high = (order.index(nearest_pair(end).kind) for end in (mmd.low, mmd.high))
    return {*order[low : high + 1]}
