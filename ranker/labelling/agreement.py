"""How far several answers to the same rows agree."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import combinations

ENOUGH = 10
"""Rows with two answers or more from which on it is said how often two answers agree."""


@dataclass(frozen=True)
class AnnotatorAgreement:
    """What several answers to the same rows say of each other.

    Attributes:
        rows: how many rows have two answers or more.
        disputed: the rows whose answers are not all the same, in the order of their first answers.
        share: how often two answers to one row are the same, a fraction, each row counting once; None where fewer than
            `ENOUGH` rows have two answers. It is raw: nothing is taken off for what chance would agree on.
    """

    rows: int
    disputed: tuple[Hashable, ...]
    share: float | None


def agreement(answers: Iterable[tuple[Hashable, Hashable]]) -> AnnotatorAgreement:
    """Compare answers.

    Args:
        answers: (row, label) each.

    Example:
        >>> agreement([("a", 1), ("b", 0), ("a", 0), ("b", 0), ("c", 1)])
        AnnotatorAgreement(rows=2, disputed=('a',), share=None)
    """
    given: dict[Hashable, list[Hashable]] = {}
    for row, label in answers:
        given.setdefault(row, []).append(label)
    several = {row: labels for row, labels in given.items() if len(labels) > 1}
    disputed = tuple(row for row, labels in several.items() if len(set(labels)) > 1)
    if len(several) < ENOUGH:
        return AnnotatorAgreement(len(several), disputed, None)
    pairs = [[a == b for a, b in combinations(labels, 2)] for labels in several.values()]
    return AnnotatorAgreement(len(several), disputed, sum(sum(one) / len(one) for one in pairs) / len(pairs))
