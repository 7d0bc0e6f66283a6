"""Agreement between several answers to the same rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import combinations

MIN_ROWS_FOR_SHARE = 10
"""Rows with two answers or more that are needed before a share of agreement is reported."""


@dataclass(frozen=True)
class AnnotatorAgreement:
    """Agreement between answers to the same rows.

    Attributes:
        rows: number of rows with two answers or more.
        disputed: the rows whose answers differ, in the order of their first answers.
        share: P(two answers to one row are equal), each row counting once; None if fewer than `MIN_ROWS_FOR_SHARE` rows
            have two answers. It is not corrected for agreement by chance.
    """

    rows: int
    disputed: tuple[Hashable, ...]
    share: float | None


def agreement(answers: Iterable[tuple[Hashable, Hashable]]) -> AnnotatorAgreement:
    """Measure how often answers to the same rows agree.

    Args:
        answers: pairs (row, label).

    Example:
        >>> agreement([("a", 1), ("b", 0), ("a", 0), ("b", 0), ("c", 1)])
        AnnotatorAgreement(rows=2, disputed=('a',), share=None)
    """
    labels_of_row: dict[Hashable, list[Hashable]] = {}
    for row, label in answers:
        labels_of_row.setdefault(row, []).append(label)
    several = {row: labels for row, labels in labels_of_row.items() if len(labels) > 1}
    disputed = tuple(row for row, labels in several.items() if len(set(labels)) > 1)
    if len(several) < MIN_ROWS_FOR_SHARE:
        return AnnotatorAgreement(len(several), disputed, None)
    pairs = [[a == b for a, b in combinations(labels, 2)] for labels in several.values()]
    return AnnotatorAgreement(len(several), disputed, sum(sum(equal) / len(equal) for equal in pairs) / len(pairs))
