"""Pools: rows without labels, and labelled rows among them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from factors.types import Example, Ints
from ranker.errors import UsageError
from ranker.files.draws import sample_rows


def with_labelled(pool: Sequence[Example], labelled: Sequence[Example]) -> tuple[list[Example], Ints]:
    """Append labelled rows to a pool unless they are in it; return the rows and the indices of the labelled ones.

    Rows are the same if their texts are, whatever their labels. Among several in the pool the one with the same id
    counts, else the first.

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
    for row in labelled:
        if row.segments not in place:
            place[row.segments] = len(rows)
            rows.append(row)
    places = [exact.get((row.id, row.segments), place[row.segments]) for row in labelled]
    return rows, np.array(places, dtype=np.int64)


def check_ids(pool: Sequence[Example], labelled: Sequence[Example]) -> None:
    """Raise if a labelled row and a row of the pool have one id and different texts; numbers of lines are no ids.

    Raises:
        UsageError: they do, so answers that are joined by ids would count for both.
    """
    texts: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for row in pool:
        if not row.numbered_in and any(row.segments):
            texts[row.id].add(row.segments)
    for row in labelled:
        if not row.numbered_in and any(row.segments) and row.segments not in texts.get(row.id, {row.segments}):
            text = f"the id {row.id[:50]!r} has another text in the pool than among the labelled rows"
            advice = "and answers in files are joined by ids; give these rows other ids"
            raise UsageError(f"{text}, {advice}", option="id", value=row.id)


def sample_pool(rows: Sequence[Example], places: Ints, most: int) -> tuple[list[Example], Ints]:
    """Return a random sample of a pool, and its labelled rows, in order.

    The sample is always the same; see `ranker.files.draws`. Differences between two models' accuracies on it have a
    standard error of at most 1 / sqrt(most) from the sampling, 0.7 points with 20,000 rows.

    Args:
        rows: the pool.
        places: indices of the labelled rows in it.
        most: how many rows are drawn, beside those that are labelled.

    Returns:
        The rows, and the indices of the labelled ones.

    Example:
        >>> pool = [Example(f"{n}", (f"Row {n}.",), None) for n in range(100)]
        >>> rows, places = sample_pool(pool, np.array([70, 3]), 10)
        >>> [rows[place].id for place in places]
        ['70', '3']
    """
    chosen = np.union1d(sample_rows(len(rows), most), places)
    return [rows[place] for place in chosen.tolist()], np.searchsorted(chosen, places)


def check_text_counts(rows: Sequence[Example]) -> None:
    """Raise if rows of one text stand beside rows of two, since models' outputs on them are not comparable.

    Raises:
        UsageError: they do.
    """
    first = rows[0] if rows else None
    unlike = next((row for row in rows if first and len(row.segments) != len(first.segments)), None)
    if first is not None and unlike is not None:
        texts = [" and ".join(f"{text[:30]!r}" for text in row.segments) for row in (first, unlike)]
        text = f"some rows have one text and some two ({texts[0]}; {texts[1]}); choose from either by itself"
        raise UsageError(text, option="text", value=unlike.id)
