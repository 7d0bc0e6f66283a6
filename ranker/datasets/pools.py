"""Rows without labels, and labelled rows beside them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factors.types import Example, Ints
from ranker.errors import UsageError


def with_labelled(pool: Sequence[Example], own: Sequence[Example]) -> tuple[list[Example], Ints]:
    """The rows of a pool, those labelled rows that are not in it behind them, and the places of the labelled ones.

    Rows are the same where their texts are, whatever their labels; of several in the pool it is the one with the same
    id, else the first.

    Example:
        >>> ran, sang = Example("1", ("A dog ran.",), -1), Example("2", ("A dog sang.",), None)
        >>> rows, places = with_labelled([ran, sang], [Example("a", ("A dog sang.",), 1), Example("b", ("Hm.",), 0)])
        >>> [row.id for row in rows], places.tolist()
        (['1', '2', 'b'], [1, 2])
    """
    rows = list(pool)
    backwards = list(reversed(list(enumerate(rows))))
    place = {row.segments: n for n, row in backwards}
    exact = {(row.id, row.segments): n for n, row in backwards}
    for row in own:
        if row.segments not in place:
            place[row.segments] = len(rows)
            rows.append(row)
    at = [exact.get((row.id, row.segments), place[row.segments]) for row in own]
    return rows, np.array(at, dtype=np.int64)


def check_alike(rows: Sequence[Example]) -> None:
    """Refuse rows of one text beside rows of two: models read either, and what they say of both is not comparable.

    Raises:
        UsageError: so they are.
    """
    first = rows[0] if rows else None
    other = next((row for row in rows if first and len(row.segments) != len(first.segments)), None)
    if first is not None and other is not None:
        texts = [" and ".join(f"{text[:30]!r}" for text in row.segments) for row in (first, other)]
        raise UsageError(f"some rows have one text and some two ({texts[0]}; {texts[1]}); choose from either by itself")
