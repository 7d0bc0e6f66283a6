"""The answers of a table -> answers to the rows that are asked about: by id, else by order, else by text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from factors.types import Bools, Ints
from ranker.errors import Assumption, DataError
from ranker.sources.tables.base import RequestedRows, TableAnswerColumn, count, some
from ranker.sources.tables.entries import whole
from ranker.sources.tables.keys import tidy
from ranker.sources.tables.reading import ParsedTable

How = Literal["id", "number", "order", "text"]
"""By what rows were found: their ids, ids that number them, their order, or their texts."""

MOST_OTHER = 0.5
"""The part of the joined rows whose texts may differ from the file's; beyond it these are other rows."""


@dataclass(frozen=True, eq=False)
class Joined:
    """The answers to N rows.

    Attributes:
        models: their answers; a row without one is `MISSING`.
        at: (N,) the row of the file that a row is, -1 where it is none. Read-only.
        how: by what rows were found.
        differ: how many rows have another text in the file; they are taken for none of it.
        unused: how many rows of the file are none that is asked about.
        notes: the same in sentences.
    """

    models: tuple[TableAnswerColumn, ...]
    at: Ints
    how: How
    differ: int
    unused: int
    notes: tuple[str, ...]

    @cached_property
    def by_name(self) -> Mapping[str, TableAnswerColumn]:
        """The models by their names; there may be thousands, and each is looked up."""
        return {model.name: model for model in self.models}


def join(reading: ParsedTable, rows: RequestedRows) -> Joined:
    """The answers to rows.

    By id, compared as text. Where either has none, or the file none that any row has: by order, where there are as many
    rows and most of the texts agree that both have; else by text, one that repeats in order, where it is as often on
    both sides. Where both have texts, rows whose texts differ are not joined. Rows that come from this very file are
    where they were. It takes time and memory in proportion to the rows of both.

    Raises:
        DataError: no row is found, or most texts differ.
    """
    texts = _keys(reading, rows)
    found = _here(rows) or _by_id(reading, rows, checked=texts is not None)
    at, how, notes = found or _by_texts(reading, rows, texts)
    differ = 0
    if texts is not None:
        wrong = _differs(at, *texts)
        differ = int(wrong.sum())
        if differ > MOST_OTHER * (at >= 0).sum():
            place = int(wrong.argmax())
            raise DataError(
                f"{reading.origin}: {differ:,} of {int((at >= 0).sum()):,} texts are not those of the rows, "
                f"the first that of the row {rows.called(place)}; are these answers to other rows?"
            )
        at = np.where(wrong, -1, at)
        notes += (
            [Assumption(f"{count(differ, 'row', 'has', 'have')} another text in the file, and so no answer: missing")]
            if differ
            else []
        )
    missing, unused = int((at < 0).sum()), reading.size - len(np.unique(at[at >= 0]))
    if missing == len(rows):
        raise DataError(f"{reading.origin}: no row of the file is one of those asked about")
    if missing > differ:
        notes.append(Assumption(f"{count(missing - differ, 'row', 'is', 'are')} not in the file: missing"))
    if unused > differ:
        notes.append(f"{count(unused - differ, 'row', 'is', 'are')} in the file alone")
    at.flags.writeable = False
    same = len(at) == reading.size and (at == np.arange(len(at))).all()
    models = reading.models if same else tuple(model.part(at) for model in reading.models)
    return Joined(models, at, how, differ, unused, tuple(notes))


def _here(rows: RequestedRows) -> tuple[Ints, How, list[str]] | None:
    """(N,) the places of rows that come from this very file; None of others."""
    return None if rows.places is None else (np.array(rows.places), "order", ["the rows are those of the file"])


def _by_id(reading: ParsedTable, rows: RequestedRows, checked: bool) -> tuple[Ints, How, list[str]] | None:
    """(N,) the places of rows by their ids; None where the file's ids are none of theirs, and there are texts instead.

    Raises:
        DataError: they are none of theirs, and nothing else tells the rows.
    """
    if reading.ids is None or rows.ids is None:
        return None
    wanted = whole([text.strip() for text in rows.ids])
    by_number = _numbered(reading.ids, wanted)
    if by_number is not None:
        return by_number
    places = {text: place for place, text in enumerate(reading.ids)}
    at = np.array([places.get(text, -1) for text in wanted], dtype=np.int64)
    if (at >= 0).any():
        return at, "id", ["rows are joined by their ids"]
    if checked:
        return None
    raise DataError(
        f"{reading.origin}: no id of the file is that of a row asked about (file: {some(reading.ids)}; "
        f"rows: {some(rows.ids)})"
    )


def _numbered(ids: Sequence[str], wanted: Sequence[str]) -> tuple[Ints, How, list[str]] | None:
    """(N,) the places of rows whose ids in the file are their numbers; None where they are not.

    They are, where the rows are numbered, too, from the other number; and where they are all numbers from 0, or from
    1, to that of the last row, and the rows' ids are others.
    """
    size = len(wanted)
    if not all(text.isdecimal() and len(text) <= 9 and (text == "0" or text[0] != "0") for text in ids):
        return None
    numbers = np.array([int(text) for text in ids])
    start = next((s for s in (0, 1) if wanted[0] == str(s) and list(wanted) == [str(i + s) for i in range(size)]), None)
    low, high = int(numbers.min()), int(numbers.max())
    if start is None:
        if set(ids) & set(wanted) or len(ids) != size or low not in (0, 1) or high - low != size - 1:
            return None
        base = low
    elif (start == 1 and low == 0 and high < size) or (start == 0 and high == size and low > 0):
        base = 1 - start
    else:
        return None
    at = np.full(size, -1)
    at[numbers - base] = np.arange(len(ids))
    return at, "number", [Assumption(f"the ids of the file are the numbers of the rows, counted from {base}")]


def _keys(reading: ParsedTable, rows: RequestedRows) -> tuple[list[str], list[str]] | None:
    """(R,) the texts of the file's rows and (N,) of those asked about, where both have some."""
    if not reading.texts or not rows.segments:
        return None
    segments = [at for at in sorted(reading.texts) if at < rows.segments]
    own = zip(*(reading.texts[at] for at in segments), strict=True)
    file = ["\x1f".join(map(tidy, texts)) for texts in own]
    return file, ["\x1f".join(tidy(texts[at]) for at in segments) for texts in rows.texts]


def _differs(at: Ints, file: Sequence[str], wanted: Sequence[str]) -> Bools:
    return np.array([place >= 0 and file[place] != text for place, text in zip(at.tolist(), wanted, strict=True)])


def _by_texts(
    reading: ParsedTable, rows: RequestedRows, texts: tuple[list[str], list[str]] | None
) -> tuple[Ints, How, list[str]]:
    """(N,) the places of rows by their order or their texts.

    Raises:
        DataError: neither tells them.
    """
    order, alike = np.arange(len(rows)), reading.size == len(rows)
    if rows.stands is not None and rows.of == reading.size:
        order, alike = np.array(rows.stands), True
    if texts is None:
        if alike:
            _check_numbers(reading, rows)
            ids = "" if reading.ids is None else "; it has ids, and the rows have none"
            note = f"rows are joined by their order alone: nothing in the file can check it{ids}"
            return order, "order", [Assumption(note)]
        raise DataError(
            f"{reading.origin} has {count(reading.size, 'row')} and no ids or texts that the rows have, too, so that "
            f"their order must tell which is which, and {len(rows):,} rows are asked about (`id` and `text` name "
            "columns)"
        )
    agree = len(rows) - int(_differs(order, *texts).sum()) if alike else 0
    if agree == len(rows):
        return order, "order", ["rows are joined by their order, and all texts agree"]
    at, notes = _by_text(*texts)
    if agree and agree >= (at >= 0).sum():
        note = f"rows are joined by their order: {agree:,} of {len(rows):,} texts agree"
        return order, "order", [Assumption(note)]
    if (at < 0).all():
        raise DataError(
            f"{reading.origin}: no text of the file is that of a row asked about (file: "
            f"{some([text.replace(chr(31), ' | ') for text in texts[0]], 1)})"
        )
    return at, "text", ["rows are joined by their texts", *notes]


def _check_numbers(reading: ParsedTable, rows: RequestedRows) -> None:
    """Refuse to join by order where the ids of the file number its rows in another one, and the rows have no ids.

    Raises:
        DataError: they do.
    """
    if rows.ids is None and reading.ids and all(text.isdecimal() for text in reading.ids):
        numbers = [int(text) for text in reading.ids]
        if sorted(numbers) != numbers and max(numbers) - min(numbers) == len(numbers) - 1:
            raise DataError(
                f"{reading.origin}: its ids number the rows in another order than they stand in, and the rows that are "
                "asked about have no ids; give them ids, or texts to both"
            )


def _by_text(file: Sequence[str], wanted: Sequence[str]) -> tuple[Ints, list[str]]:
    """(N,) the places of rows by their texts; a text that repeats, in order, where it does so as often in both."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(file):
        places.setdefault(text, []).append(place)
    asked: dict[str, list[int]] = {}
    for place, text in enumerate(wanted):
        asked.setdefault(text, []).append(place)
    at = np.full(len(wanted), -1)
    unequal = 0
    for text, rows in asked.items():
        found = places.get(text, [])
        if len(found) == len(rows):
            at[rows] = found
        elif found:
            unequal += len(rows)
    which = "not as often in the file: which answer is whose is not known"
    notes = [f"{count(unequal, 'row', 'has a text that is', 'have texts that are')} {which}"]
    return at, [Assumption(note) for note in notes] if unequal else []
