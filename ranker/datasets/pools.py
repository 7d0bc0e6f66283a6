"""Pools: rows without labels, and labelled rows among them."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from factors.types import Example, Ints
from ranker.datasets.identity import counted_keys, row_key, text_or_place
from ranker.errors import Assumption, UsageError
from ranker.files.draws import sample_rows

log = logging.getLogger(__name__)


def with_labelled(
    pool: Sequence[Example], labelled: Sequence[Example], repeated: bool = False
) -> tuple[list[Example], Ints]:
    """Append labelled rows to a pool unless they are in it; return the rows and the indices of the labelled ones.

    Rows are the same if their ids are, whatever their texts and labels. If a side has no ids, or if an id stands for
    two texts, rows of the same texts are the same, in their order. A row without a text is like no other.

    Args:
        repeated: labelled rows with one id, or with one text where ids do not tell, are answers to one row.

    Example:
        >>> ran, sang = Example("1", ("A dog ran.",), -1), Example("2", ("A dog sang.",), None)
        >>> rows, places = with_labelled([ran, sang], [Example("2", ("A dog sang.",), 1), Example("b", ("Hm.",), 0)])
        >>> [row.id for row in rows], places.tolist()
        (['1', '2', 'b'], [1, 2])
    """
    by_ids = not any(row.numbered_in for row in (*pool, *labelled))
    if by_ids and (contradicting := _other_text(pool, labelled)):
        log.warning(
            Assumption(
                f"the id {contradicting.id[:50]!r} has another text in the pool: rows are matched by their texts"
            )
        )
        by_ids = False
    key = row_key if by_ids else text_or_place
    pool_keys, labelled_keys = list(map(key, pool)), list(map(key, labelled))
    if not by_ids and not repeated:
        pool_keys, labelled_keys = list(counted_keys(pool_keys)), list(counted_keys(labelled_keys))
    rows, place = list(pool), {key: n for n, key in reversed(list(enumerate(pool_keys)))}
    for row, key_of_row in zip(labelled, labelled_keys, strict=True):
        if key_of_row not in place:
            place[key_of_row] = len(rows)
            rows.append(row)
    return rows, np.array([place[key_of_row] for key_of_row in labelled_keys], dtype=np.int64)


def distinct_rows(rows: Iterable[Example]) -> list[Example]:
    """Return the rows of a pool, each id once, or each text where rows have no ids."""
    distinct: dict[Hashable, Example] = {}
    for row in rows:
        distinct.setdefault(row_key(row), row)
    return list(distinct.values())


def _other_text(pool: Sequence[Example], labelled: Sequence[Example]) -> Example | None:
    """Return the first labelled row whose id has another text in the pool; numbers of lines are no ids."""
    texts: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for row in pool:
        if not row.numbered_in and any(row.segments):
            texts[row.id].add(row.segments)
    with_texts = (row for row in labelled if not row.numbered_in and any(row.segments))
    return next((row for row in with_texts if row.segments not in texts.get(row.id, {row.segments})), None)


def check_ids(pool: Sequence[Example], labelled: Sequence[Example]) -> None:
    """Raise a UsageError if a labelled id has another text in the pool, since files of answers are joined by ids."""
    if row := _other_text(pool, labelled):
        text = f"the id {row.id[:50]!r} has another text in the pool than among the labelled rows"
        advice = "and answers in files are joined by ids; give these rows other ids"
        raise UsageError(f"{text}, {advice}", option="id", value=row.id)


def sample_pool(rows: Sequence[Example], places: Ints, most: int) -> tuple[list[Example], Ints]:
    """Return a random sample of a pool, and its labelled rows, in order.

    The sample is always the same; see `ranker.files.draws`. Differences between two models' accuracies on it have a
    standard error of at most 1 / sqrt(most) from the sampling, 0.7 points with 20,000 rows.

    Args:
        places: indices of the labelled rows in it.
        most: how many rows are drawn, beside those that are labelled.

    Example:
        >>> pool = [Example(f"{n}", (f"Row {n}.",), None) for n in range(100)]
        >>> rows, places = sample_pool(pool, np.array([70, 3]), 10)
        >>> [rows[place].id for place in places]
        ['70', '3']
    """
    chosen = np.union1d(sample_rows(len(rows), most), places)
    return [rows[place] for place in chosen.tolist()], np.searchsorted(chosen, places)


def check_text_counts(rows: Sequence[Example]) -> None:
    """Raise a UsageError if rows of one text stand beside rows of two: models' outputs on them are not comparable."""
    rows = [row for row in rows if any(row.segments)]
    first = rows[0] if rows else None
    unlike = next((row for row in rows if first and len(row.segments) != len(first.segments)), None)
    if first is not None and unlike is not None:
        texts = [" and ".join(f"{text[:30]!r}" for text in row.segments) for row in (first, unlike)]
        text = f"some rows have one text and some two ({texts[0]}; {texts[1]}); choose from either by itself"
        raise UsageError(text, option="text", value=unlike.id)
