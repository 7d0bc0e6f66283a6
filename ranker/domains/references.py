"""What a distance is held against: pairs of sets that come with the product, and the verdict by the nearest of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ranker.records import read_toml, record
from ranker.results.shift import Verdict
from ranker.statistics.shift import DistanceMeasure

FILE = Path(__file__).with_name("references.toml")
"""Written by `python -m benchmarks.shift_references`."""

PUBLISHED = Path(__file__).with_name("published.toml")

KINDS: dict[Verdict, str] = {"near": "halves of one set", "far": "two sets of one task", "other": "sets of two tasks"}
"""Verdict -> what such a pair is."""


@dataclass(frozen=True)
class ReferencePair:
    """A pair of sets whose distance is known.

    Attributes:
        a, b: the sets; of two halves both are the same.
        mmd: MMD^2 of the vectors of their words, unbiased, so that it does not depend on how many rows there are.
    """

    a: str
    b: str
    mmd: float

    @property
    def kind(self) -> Verdict:
        """Halves of one set, sets of one task, or of two."""
        if self.a == self.b:
            return "near"
        return "far" if self.a.partition("-")[0] == self.b.partition("-")[0] else "other"

    @property
    def said(self) -> str:
        """The pair in words."""
        return f"two halves of {self.a}" if self.a == self.b else f"{self.a} and {self.b}"


@dataclass(frozen=True)
class PublishedCosine:
    """A pair of sets whose cosine by SimCSE has been published.

    Attributes:
        a, b: the sets.
        cosine: of their centroids.
    """

    a: str
    b: str
    cosine: float


@cache
def published() -> tuple[PublishedCosine, ...]:
    """The pairs of BOSS: what cosines by SimCSE are held against, and by no other encoder."""
    read = read_toml(PUBLISHED, "the published pairs")
    return tuple(record(PublishedCosine, one, "a published pair") for one in read["pairs"])


@cache
def references() -> tuple[ReferencePair, ...]:
    """The pairs, the nearest first."""
    read = read_toml(FILE, "the reference pairs")
    found = [record(ReferencePair, one, "a reference pair") for one in read["pairs"]]
    return tuple(sorted(found, key=lambda one: one.mmd))


def nearest(mmd: float) -> ReferencePair:
    """The pair whose MMD^2 is nearest.

    Example:
        >>> nearest(0.0).kind, nearest(0.3).kind
        ('near', 'other')
    """
    return min(references(), key=lambda one: abs(one.mmd - mmd))


def kinds(mmd: DistanceMeasure) -> set[Verdict]:
    """The verdicts that the interval of an MMD^2 reaches; all where there is none."""
    order: list[Verdict] = [*KINDS]
    if mmd.low is None or mmd.high is None:
        return {*order}
    low, high = (order.index(nearest(end).kind) for end in (mmd.low, mmd.high))
    return {*order[low : high + 1]}
