"""Join the answers of a table to the requested rows: by id, else by order, else by text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from factors.types import Bools, Ints
from ranker.errors import Assumption, DataError, Question
from ranker.sources.tables.base import NONE, RequestedRows, TableAnswerColumn, count, some
from ranker.sources.tables.keys import strip_point_zero, tidy
from ranker.sources.tables.reading import ParsedTable

MAX_DIFFERENT_TEXTS = 0.5
"""Largest share of the joined rows whose texts may differ from the file's; beyond it these are other rows."""

_LAST_NUMBER = re.compile(r"(?<![0-9])[0-9]{1,9}\Z")


@dataclass(frozen=True, eq=False)
class Joined:
    """Answers to N requested rows.

    Attributes:
        models: answers of each; a row without one is `MISSING`.
        places: (N,) position of each row in the file, -1 for none. Read-only.
        notes: how rows were matched, and how many were not.
    """

    models: tuple[TableAnswerColumn, ...]
    places: Ints
    notes: tuple[str, ...]

    @cached_property
    def by_name(self) -> Mapping[str, TableAnswerColumn]:
        """The models by their names; there may be thousands, and each is looked up."""
        return {model.name: model for model in self.models}


def join(reading: ParsedTable, rows: RequestedRows) -> Joined:
    """Join the answers of a file to the requested rows.

    Ids are compared as text. If either side has no ids, or none is shared, rows are joined by order, provided that both
    have as many rows and all texts agree. Else they are joined by text; a repeated text is joined in order if it
    occurs as often on both sides. Rows whose texts differ are not joined. Rows that come from this very file keep their
    positions. True labels in the file must be those of the rows, unless the user states the order. Time and memory are
    proportional to the rows of both.

    Raises:
        DataError: no row matches, or most texts differ.
        Question: a row has another true label in the file.
    """
    texts = _keys(reading, rows)
    if rows.by_order:
        places, notes = _by_stated_order(reading, rows, texts)
    elif rows.places is not None:
        places, notes = np.array(rows.places), ["the rows are those of the file"]
    else:
        places, notes = _by_id(reading, rows, checked=texts is not None) or _by_texts(reading, rows, texts)
    differ = 0
    if texts is not None and not rows.by_order:
        wrong = _differs(places, *texts)
        differ = int(wrong.sum())
        if differ > MAX_DIFFERENT_TEXTS * (places >= 0).sum():
            place = int(wrong.argmax())
            raise DataError.at(
                reading.origin,
                f"{differ:,} of {int((places >= 0).sum()):,} texts are not those of the rows, "
                f"the first that of the row {rows.called(place)}; are these answers to other rows?",
            )
        places = np.where(wrong, -1, places)
        notes += (
            [Assumption(f"{count(differ, 'row', 'has', 'have')} another text in the file: missing")] if differ else []
        )
    if rows.places is None and not rows.by_order:
        _check_truth(reading, rows, places)
    missing, unused = int((places < 0).sum()), reading.size - len(np.unique(places[places >= 0]))
    if missing == len(rows):
        raise DataError.at(reading.origin, "no row of the file is one of those asked about")
    if missing > differ:
        notes.append(Assumption(f"{count(missing - differ, 'row', 'is', 'are')} not in the file: missing"))
    if unused > differ:
        notes.append(f"{count(unused - differ, 'row', 'is', 'are')} only in the file")
    places.flags.writeable = False
    same = len(places) == reading.size and (places == np.arange(len(places))).all()
    models = reading.models if same else tuple(model.part(places) for model in reading.models)
    return Joined(models, places, tuple(notes))


def _true_labels(reading: ParsedTable, rows: RequestedRows, places: Ints) -> tuple[Ints, Ints]:
    """Return (N,) the true labels in the file, and those of the rows; `NONE` in both where either has none."""
    if reading.truth is None or not rows.truth:
        return np.full(len(rows), NONE), np.full(len(rows), NONE)
    in_file, wanted = np.where(places >= 0, reading.truth[places], NONE), np.array(rows.truth)
    compared = (in_file != NONE) & (wanted != NONE)
    return np.where(compared, in_file, NONE), np.where(compared, wanted, NONE)


def _check_truth(reading: ParsedTable, rows: RequestedRows, places: Ints) -> None:
    """Refuse a file whose true labels are not those of the rows: its answers may be joined to other rows."""
    in_file, wanted = _true_labels(reading, rows, places)
    wrong = in_file != wanted
    if wrong.any() and reading.task is not None:
        row, many = int(wrong.argmax()), f"{int(wrong.sum()):,} of {int((wanted != NONE).sum()):,} rows"
        label_in_file, label_of_row = (reading.task.labels[labels[row]] for labels in (in_file, wanted))
        raise Question.at(
            reading.origin,
            f"its own true labels differ from those of the rows on {many}, the first the row {rows.called(row)} "
            f"({label_in_file} in the file, {label_of_row} in the rows); is it about other rows, or in another "
            "order? If not, keep one truth: leave out `data`, or the labels of the file",
            option="data",
            value=label_in_file,
            allowed=(label_of_row,),
        )


def _by_stated_order(
    reading: ParsedTable, rows: RequestedRows, texts: tuple[list[str], list[str]] | None
) -> tuple[Ints, list[str]]:
    """Return (N,) the positions of rows by their order, as the user states; the note counts other texts."""
    order = np.arange(len(rows)) if rows.stands is None else np.array(rows.stands)
    size = rows.file_size or len(rows)
    if reading.size != size:
        raise DataError(
            f"`by_order`: {reading.origin} has {count(reading.size, 'row')}, and there are {size:,} to match",
            option="by_order", value=reading.size, allowed=(size,), place=reading.origin,
        )  # fmt: skip
    differ = {
        "text": 0 if texts is None else int(_differs(order, *texts).sum()),
        "true label": int(np.not_equal(*_true_labels(reading, rows, order)).sum()),
    }
    parts = [f"; {count(many, noun)} {'differs' if many == 1 else 'differ'}" for noun, many in differ.items() if many]
    return order, [f"rows are joined by their order, as stated{''.join(parts)}"]


def _by_id(reading: ParsedTable, rows: RequestedRows, checked: bool) -> tuple[Ints, list[str]] | None:
    """Return (N,) the positions of rows by their ids; None if no id is shared and there are texts instead."""
    if reading.ids is None or rows.ids is None:
        return None
    wanted = strip_point_zero([text.strip() for text in rows.ids])
    by_number = _numbered(reading.origin, reading.ids, wanted)
    if by_number is not None:
        return by_number
    places = {text: place for place, text in enumerate(reading.ids)}
    positions = np.array([places.get(text, -1) for text in wanted], dtype=np.int64)
    if (positions >= 0).any():
        return positions, ["rows are joined by their ids"]
    if checked:
        return None
    raise DataError.at(
        reading.origin,
        f"no id of the file is that of a row asked about (file: {some(reading.ids)}; rows: {some(rows.ids)})",
    )


def _numbered(origin: str, ids: Sequence[str], wanted: Sequence[str]) -> tuple[Ints, list[str]] | None:
    """Return (N,) the positions of rows whose ids in the file number them; None if they do not."""
    # they do if the rows count from the other start, or if they count all rows from 0 or 1 and share no id with them
    size = len(wanted)
    if not all(text.isdecimal() and len(text) <= 9 and (text == "0" or text[0] != "0") for text in ids):
        return None
    numbers = np.array([int(text) for text in ids])
    start = next((s for s in (0, 1) if wanted[0] == str(s) and list(wanted) == [str(i + s) for i in range(size)]), None)
    low, high = int(numbers.min()), int(numbers.max())
    if start is None:
        if set(ids) & set(wanted) or len(ids) != size or low not in (0, 1) or high - low != size - 1:
            return None
        _check_last_numbers(origin, low, wanted)
        base = low
    elif (start == 1 and low == 0 and high < size) or (start == 0 and high == size and low > 0):
        base = 1 - start
    else:
        return None
    places = np.full(size, -1)
    places[numbers - base] = np.arange(len(ids))
    return places, [Assumption(f"the ids of the file are the numbers of the rows, counted from {base}")]


def _check_last_numbers(origin: str, start: int, wanted: Sequence[str]) -> None:
    """Ask about ids of rows that end in numbers, such as 7 of "test-007", which count the rows in another order."""
    ends = [_LAST_NUMBER.search(text) for text in wanted]
    numbers = [int(end[0]) for end in ends if end]
    count_all = len({*numbers}) == len(wanted) and max(numbers) - min(numbers) == len(wanted) - 1
    if count_all and sorted(numbers) != numbers:
        raise Question.at(
            origin,
            f"its ids count the rows from {start}, and those of the rows ({some(wanted)}) from {min(numbers)}, in "
            "another order than they stand in; give both the same ids, or say with `by_order` that both have one order",
            option="by_order",
        )


def _keys(reading: ParsedTable, rows: RequestedRows) -> tuple[list[str], list[str]] | None:
    """Return (R,) the texts of the file's rows and (N,) of the requested ones, if both have some."""
    if not reading.texts or not rows.segments:
        return None
    segments = [segment for segment in sorted(reading.texts) if segment < rows.segments]
    file_texts = zip(*(reading.texts[segment] for segment in segments), strict=True)
    file = ["\x1f".join(map(tidy, texts)) for texts in file_texts]
    return file, ["\x1f".join(tidy(texts[segment]) for segment in segments) for texts in rows.texts]


def _differs(places: Ints, file: Sequence[str], wanted: Sequence[str]) -> Bools:
    """Return (N,) True for rows that have another text in the file; a row without texts has none."""
    has_text = [bool(text.strip("\x1f")) for text in wanted]
    rows = zip(places.tolist(), wanted, has_text, strict=True)
    return np.array([place >= 0 and filled and file[place] != text for place, text, filled in rows])


def _by_texts(
    reading: ParsedTable, rows: RequestedRows, texts: tuple[list[str], list[str]] | None
) -> tuple[Ints, list[str]]:
    """Return (N,) the positions of rows by their order or their texts."""
    one_of_many = len(rows) == 1 < rows.file_size  # and so without an order
    order, alike = np.arange(len(rows)), reading.size == len(rows) and not one_of_many
    if rows.stands is not None and rows.file_size == reading.size:
        order, alike = np.array(rows.stands), True
    if texts is None:
        if alike:
            _check_numbers(reading, rows)
            ids = "" if reading.ids is None else "; it has ids, and the rows have none"
            confirmed = int((_true_labels(reading, rows, order)[0] != NONE).sum())
            sign = f"of the file's contents only its true labels confirm it, on {confirmed:,} of {len(rows):,} rows"
            note = (
                f"rows are joined by their order alone; {sign if confirmed else 'nothing in the file confirms it'}{ids}"
            )
            return order, [Assumption(note)]
        asked = f"{len(rows):,} of {rows.file_size:,}" if rows.file_size > len(rows) else f"{len(rows):,}"
        raise DataError.of(
            reading.origin,
            f"has {count(reading.size, 'row')} and no ids or texts that the rows have, too, so that "
            f"their order must tell which is which, and {asked} rows are asked about (`columns` names those of ids "
            "and texts)",
        )
    if alike and not _differs(order, *texts).any():
        return order, ["rows are joined by their order, and all texts agree"]
    places, notes = _by_text(*texts, all_segments=len(reading.texts) >= rows.segments)
    if (places < 0).all() and notes:
        raise Question.at(reading.origin, f"{notes[0]}; give both ids, or all texts of the rows", option="text")
    if (places < 0).all():
        raise DataError.at(
            reading.origin,
            f"no text of the file is that of a row asked about (file: "
            f"{some([text.replace(chr(31), ' | ') for text in texts[0]], 1)})",
        )
    return places, ["rows are joined by their texts", *notes]


def _check_numbers(reading: ParsedTable, rows: RequestedRows) -> None:
    """Refuse to join by order if the file's ids number its rows in another order and the requested rows have no ids."""
    if rows.ids is None and reading.ids and all(text.isdecimal() for text in reading.ids):
        numbers = [int(text) for text in reading.ids]
        if sorted(numbers) != numbers and max(numbers) - min(numbers) == len(numbers) - 1:
            raise DataError.at(
                reading.origin,
                "its ids number the rows in another order than they stand in, and the rows that are "
                "asked about have no ids; give them ids, or texts to both",
            )


def _by_text(file: Sequence[str], wanted: Sequence[str], all_segments: bool = True) -> tuple[Ints, list[str]]:
    """Return (N,) the positions of rows by their texts; whole ones that repeat as often on both sides join in order."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(file):
        places.setdefault(text, []).append(place)
    requested: dict[str, list[int]] = {}
    for place, text in enumerate(wanted):
        requested.setdefault(text, []).append(place)
    joined = np.full(len(wanted), -1)
    unequal = repeated = 0
    for text, rows in requested.items():
        matches = places.get(text, [])
        if len(matches) == len(rows) and (all_segments or len(rows) == 1):
            joined[rows] = matches
        elif matches and all_segments:
            unequal += len(rows)
        elif matches:
            repeated += len(rows)
    reason = "so the answer is ambiguous"
    left_out = {
        f"{count(unequal, 'row', 'has a text that is', 'have texts that are')} not as often in the file": unequal,
        f"{count(repeated, 'row', 'shares', 'share')} a text of a pair, and the file holds no other": repeated,
    }
    return joined, [Assumption(f"{rows_named}, {reason}") for rows_named, many in left_out.items() if many]
