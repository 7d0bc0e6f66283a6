"""JSON as rows: its lines, and the shapes that it gives to a table; and a row's lists and objects as columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ranker.errors import DataError, repeated
from ranker.files.programs import ANSWER, promptfoo, unwrap_answer
from ranker.limits import LIMITS, Limits

Record = tuple[int, Mapping[str, Any]]
"""Where a row stands, as a number, and its cells."""

_SINGLE = (str, int, float, bool, type(None))


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object that JSON says, if no key of it is there twice.

    Raises:
        ValueError: one is; which of its values is meant, nobody can tell.

    Example:
        >>> json.loads('{"a": 1, "a": 2}', object_pairs_hook=once)
        Traceback (most recent call last):
        ValueError: the key 'a' is there twice
    """
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = repeated(name for name, _ in pairs) or ""
        raise ValueError(f"the key {twice[:50]!r} is there twice")
    return content


def of_lines(origin: str, lines: Iterator[tuple[int, str]]) -> Iterator[Record]:
    """The rows of JSON lines: an object each, or the scores that a model gives to each.

    Args:
        origin: the file, for messages.
        lines: their numbers, and what they hold.

    Raises:
        DataError: a line is no JSON, or of another kind than the first.
    """
    kind = None
    for at, line in lines:
        try:
            cells = json.loads(line, object_pairs_hook=once)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{origin}, line {at}: no JSON ({getattr(error, 'msg', None) or error})") from error
        kind = kind or (list if _are_scores(cells) else dict)
        if not isinstance(cells, kind) or (kind is list and not _are_scores(cells)):
            raise DataError(f"{origin}, line {at}: an object {{...}} is needed (got {line[:50]!r})")
        yield at, unwrap_answer(cells) if isinstance(cells, dict) else {ANSWER: cells}


def _are_scores(cell: Any) -> bool:
    """Whether a cell is a list of the scores of labels."""
    numbers = isinstance(cell, list) and all(isinstance(item, (int, float)) for item in cell)
    return bool(cell) and (numbers or _are_named(cell))


def _are_named(cell: Any) -> bool:
    """Whether a cell is a list of labels and their scores, as pipelines of transformers answer."""
    return isinstance(cell, list) and all(isinstance(i, dict) and {*i} == {"label", "score"} for i in cell)


def of_text(path: Path, text: str, limits: Limits = LIMITS) -> Iterator[Mapping[str, Any]]:
    """The rows of a JSON text: an array of records or of answers, ``{"columns", "data"}``, ``{"schema", "data"}``,
    columns of lists or of objects, records by id, answers by id, results of promptfoo; or lines of records, as
    `datasets` writes them.

    Raises:
        DataError: it is no JSON, has another shape, or is too large.
    """
    limits.check_objects(path, text)
    limits.check(path, "values", text.count(","))
    try:
        whole = json.loads(text, object_pairs_hook=once)  # with NaN, which Python's own programs write
    except (ValueError, RecursionError) as error:
        if getattr(error, "msg", "") == "Extra data" and text.lstrip()[:1] == "{":
            lines = ((at, line) for at, line in enumerate(text.splitlines(), 1) if line.strip())
            return (cells for _, cells in of_lines(str(path), lines))
        why = "it is nested too deeply" if isinstance(error, RecursionError) else getattr(error, "msg", None) or error
        raise DataError(f"{path}: no JSON ({why})") from error
    return _rows(path, whole)


def _rows(path: Path, whole: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(whole, list):
        return _records(path, whole)
    if not isinstance(whole, dict) or not whole:
        raise DataError(f"{path}: an array of records, or an object, is needed (got {str(whole)[:50]!r})")
    if isinstance(whole.get("columns"), list) and isinstance(whole.get("data"), list):
        return _split(path, whole["columns"], whole["data"])
    if isinstance(whole.get("schema"), dict) and isinstance(whole.get("data"), list):
        return _of_schema(path, whole["schema"], whole["data"])
    if (results := promptfoo(whole)) is not None:
        return results
    lists = {name: value for name, value in whole.items() if isinstance(value, list)}
    if (
        len(lists) > 1
        and _are_columns([*lists.values()])
        and all(isinstance(v, (*_SINGLE, list)) for v in whole.values())
    ):
        whole = lists  # beside them stand numbers of the whole file
    values = list(whole.values())
    if all(isinstance(value, list) for value in values) and _are_columns(values):
        return (dict(zip(whole, row, strict=True)) for row in zip(*values, strict=True))
    if all(isinstance(value, dict) for value in values):
        numbered = list(map(str, range(len(values[0]))))
        if all(list(value) == numbered for value in values) and list(whole) != numbered:  # pandas' own
            return (dict(zip(whole, row, strict=True)) for row in zip(*(v.values() for v in values), strict=True))
        return ({"id": key, **value} for key, value in whole.items())
    if not all(isinstance(value, (*_SINGLE, list)) for value in values):
        got = ", ".join(sorted({type(value).__name__ for value in values}))
        raise DataError(f"{path}: an object of answers by id holds nothing but answers (got values of {got})")
    return ({"id": key, ANSWER: value} for key, value in whole.items())


def _of_schema(path: Path, schema: Mapping[str, Any], data: list[Any]) -> Iterator[Mapping[str, Any]]:
    """Records that a schema stands beside, as pandas writes them; its own numbering of the rows is no column."""
    index = schema.get("primaryKey") == ["index"]
    for row in _records(path, data):
        yield {"" if index and name == "index" else name: cell for name, cell in row.items()}


def _are_columns(values: list[list[Any]]) -> bool:
    """Whether lists are the columns of a table, and not the scores of each row, by its id."""
    return len({len(value) for value in values}) == 1 and (len(values[0]) > len(values) or not _numbers(values))


def _numbers(values: list[list[Any]]) -> bool:
    return all(isinstance(item, (int, float)) for value in values for item in value)


def _records(path: Path, items: list[Any]) -> Iterator[Mapping[str, Any]]:
    kinds = {type(item) for item in items}
    if kinds == {dict}:
        return iter(items)
    if kinds <= {*_SINGLE, list}:
        return ({ANSWER: item} for item in items)
    raise DataError(f"{path}: the items of an array are all objects, or all answers")


def _split(path: Path, names: list[Any], data: list[Any]) -> Iterator[Mapping[str, Any]]:
    columns = ["" if name is None else str(name) for name in names]
    if (twice := repeated(columns)) is not None:
        raise DataError(f"{path}: two columns are named {twice!r}")
    for number, row in enumerate(data, 1):
        if not isinstance(row, list) or len(row) != len(columns):
            got = len(row) if isinstance(row, list) else type(row).__name__
            raise DataError(f"{path}, row {number}: {len(columns)} cells are needed, as in `columns` (got {got})")
        yield dict(zip(columns, row, strict=True))


def flat(
    cells: Mapping[str, Any], groups: dict[str, dict[str, None]], unread: dict[str, str], most: int = LIMITS.list
) -> Mapping[str, Any]:
    """The row with each list of numbers, or of two texts, and each object of single values as columns ``column/part``.

    Args:
        cells: of one row.
        groups: column -> its parts so far, in order; more are added.
        unread: column -> what it holds instead; more are added.
        most: how many values of a list are read.
    """
    if {list, dict}.isdisjoint(map(type, cells.values())):
        return cells
    columns: dict[str, Any] = {}
    for name, value in cells.items():
        if not isinstance(value, (list, dict)):
            columns[name] = value
            continue
        parts = _parts(value, most)
        if parts is None:
            unread[name] = "lists or objects"
            continue
        for part, item in parts.items():
            groups.setdefault(name, {})[f"{name}/{part}"] = None
            columns[f"{name}/{part}"] = item
    return columns


def _parts(value: list[Any] | dict[str, Any], most: int) -> Mapping[str, Any] | None:
    if isinstance(value, dict):
        return value if all(isinstance(item, _SINGLE) for item in value.values()) else None
    if value and _are_named(value):
        return {str(item["label"]): item["score"] for item in value}
    single = all(isinstance(item, _SINGLE) for item in value)
    most = 2 if any(isinstance(item, str) for item in value) else most
    return {str(at): item for at, item in enumerate(value)} if single and len(value) <= most else None
