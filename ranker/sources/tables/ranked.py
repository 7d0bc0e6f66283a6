"""Scores beside the labels that they belong to, the best first, as pipelines of transformers write them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ranker.errors import DataError
from ranker.files.arrow import of_cells, python_values
from ranker.files.cells import cell_text
from ranker.sources.tables.base import NONE, Columns, some
from ranker.sources.tables.cells import Labels, is_text
from ranker.sources.tables.names import holds_numbers

_NUMBER = re.compile(r"[_\-. /]?([0-9]{1,6})\Z")


def name_scores(columns: Columns, reserved: Iterable[str] = ()) -> Columns:
    """Name scores for the labels beside them: lists in cells, or numbered columns, such as label_1 and score_1.

    It changes nothing unless one such list of labels stands beside one of scores, and all rows have the same labels;
    reserved columns, which the user names, stay.

    Example:
        >>> from ranker.files.reader import of_rows
        >>> rows = [{"labels": ["b", "a"], "scores": [0.9, 0.1]}, {"labels": ["a", "b"], "scores": [0.8, 0.2]}]
        >>> {name: cells.to_pylist() for name, cells in name_scores(of_rows(rows)).cells.items()}
        {'scores/a': [0.1, 0.8], 'scores/b': [0.9, 0.2]}
    """
    lists = _lists(columns)
    by_name = {
        (name, beside): labels
        for name, parts in lists.items()
        if all(holds_numbers(columns, part) for part in parts)
        for beside in _label_lists(columns, lists, parts)
        if (labels := _same_labels(columns, beside, lists.get(beside, ()), len(parts)))
    }
    if len(by_name) != 1:
        return columns
    ((name, beside), labels), *_ = by_name.items()
    gone = {beside, *lists.get(beside, ()), *lists[name]}
    if gone & {*reserved}:
        return columns
    scores = zip(*(python_values(columns.cells[part]) for part in lists[name]), strict=True)
    rows = zip(_rows(columns, beside, lists.get(beside, ())), scores, strict=True)
    by_label = [dict(zip(texts or (), row, strict=False)) for texts, row in rows]
    parts = {f"{name}/{label}": of_cells([row.get(label) for row in by_label]) for label in labels}
    return replace(
        columns,
        cells={column: cells for column, cells in columns.cells.items() if column not in gone} | parts,
        groups={column: of_list for column, of_list in columns.groups.items() if column != beside}
        | {name: tuple(parts)},
        unread={column: kind for column, kind in columns.unread.items() if column != beside},
    )


def check_places(columns: Columns, scores: Sequence[str], labels: Labels) -> None:
    """Refuse scores that are numbered, and beside which labels are numbered alike, but not the same in all rows.

    Raises:
        DataError: their numbers are places, and no labels.
    """
    for beside in _label_lists(columns, lists := _lists(columns), scores):
        texts = next(filter(None, _rows(columns, beside, lists.get(beside, ()))), ())
        if texts and all(labels.index(text) >= 0 for text in texts):
            problem = f"{some(scores)} are numbered, and {beside!r} holds a label for each, not the same in all rows"
            raise DataError.at(
                columns.origin, f"{problem}; `prediction` says which columns hold the answers", option="prediction"
            )


def _lists(columns: Columns) -> Mapping[str, Sequence[str]]:
    """Return the numbered columns of each list in cells, and of names that differ in their last number alone."""
    lists: dict[str, list[str]] = {}
    for name in columns.cells:
        if part := _NUMBER.search(name):
            lists.setdefault(name[: part.start()], []).append(name)
    return {name: sorted(parts, key=_number) for name, parts in lists.items() if len(parts) > 1}


def _label_lists(columns: Columns, lists: Mapping[str, Sequence[str]], scores: Sequence[str]) -> Iterator[str]:
    """Yield the lists of texts that are numbered like scores; one-hot columns of a truth are none."""
    if not all(map(_NUMBER.search, scores)):
        return
    numbers = {*map(_number, scores)}
    in_cells = {part for parts in columns.groups.values() for part in parts}
    for name, parts in lists.items():
        texts = all(
            is_text(columns.cells[part]) and (part in in_cells or not holds_numbers(columns, part)) for part in parts
        )
        if texts and {*parts} != {*scores} and {*map(_number, parts)} == numbers:
            yield name
    if in_cells.issuperset(scores):
        yield from (name for name in columns.nested if name in columns.unread)


def _number(name: str) -> int:
    """Return the last number of a numbered name."""
    part = _NUMBER.search(name)
    return int(part[1]) if part else NONE


def _rows(columns: Columns, name: str, parts: Sequence[str]) -> Iterator[tuple[str, ...] | None]:
    """Yield the texts of a list in each row; None where there are none, or something else."""
    rows: Iterable[Sequence[object] | None]
    if parts:
        rows = zip(*(python_values(columns.cells[part]) for part in parts), strict=True)
    else:
        rows = (None if text is None else json.loads(text) for text in python_values(columns.nested[name]))
    for row in rows:
        texts = isinstance(row, (list, tuple)) and all(isinstance(cell, str) for cell in row)
        yield tuple(map(cell_text, row or ())) if texts else None


def _same_labels(columns: Columns, name: str, parts: Sequence[str], size: int) -> tuple[str, ...]:
    """Return the labels that a list has in all rows, once each; none if rows differ."""
    rows = _rows(columns, name, parts)
    first = tuple(sorted(next(filter(None, rows), ())))
    same = len({*first}) == size and all(row is None or tuple(sorted(row)) == first for row in rows)
    return first if same else ()
