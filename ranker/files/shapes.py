"""JSON as rows: lines, and the shapes of tables; and a row's lists and objects as columns."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ranker.errors import DataError, Question, check_distinct, listed, reject_repeated_keys
from ranker.files import trec
from ranker.files.columns import Record
from ranker.files.programs import ANSWER, promptfoo, unwrap_answer
from ranker.limits import LIMITS, Limits

log = logging.getLogger(__name__)

_SINGLE = (str, int, float, bool, type(None))


def of_lines(origin: str, lines: Iterator[tuple[int, str]]) -> Iterator[Record]:
    """Yield the rows of JSON lines: an object each, or a model's scores.

    Raises:
        DataError: a line is no JSON, or of another kind than the first.
    """
    kind = None
    for number, line in lines:
        try:
            cells = json.loads(line, object_pairs_hook=reject_repeated_keys)
        except (ValueError, RecursionError) as error:
            raise DataError.at(
                f"{origin}, line {number}", f"no JSON ({getattr(error, 'msg', None) or error})"
            ) from error
        kind = kind or (list if _are_scores(cells) else dict)
        if not isinstance(cells, kind) or (kind is list and not _are_scores(cells)):
            raise DataError.at(
                f"{origin}, line {number}", f"an object {{...}} is needed (got {line[:50]!r})", value=line
            )
        yield number, unwrap_answer(cells) if isinstance(cells, dict) else {ANSWER: cells}


def _are_scores(cell: Any) -> bool:
    """Return whether a cell is a list of the scores of labels."""
    numbers = isinstance(cell, list) and all(isinstance(score, (int, float)) for score in cell)
    return bool(cell) and (numbers or _are_named(cell))


def _are_named(cell: Any) -> bool:
    """Return whether a cell is a list of labels and their scores, as pipelines of transformers answer."""
    return isinstance(cell, list) and all(isinstance(i, dict) and {*i} == {"label", "score"} for i in cell)


def of_text(path: Path, text: str, limits: Limits = LIMITS) -> Iterator[Mapping[str, Any]]:
    """Return the rows of a JSON text.

    It may be an array of records or of answers, questions as SQuAD writes them, ``{"columns", "data"}``,
    ``{"schema", "data"}``, columns of lists or of objects, records by id, answers by id, records under one of several
    keys, results of promptfoo; or lines of records, as `datasets` writes them.

    Raises:
        DataError: it is no JSON, has another shape, or is too large.
    """
    limits.check_objects(path, text)
    limits.check(path, "values", text.count(","))
    try:
        content = json.loads(
            text, object_pairs_hook=reject_repeated_keys
        )  # with NaN, which Python's own programs write
    except (ValueError, RecursionError) as error:
        if getattr(error, "msg", "") == "Extra data" and text.lstrip()[:1] == "{":
            lines = ((number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip())
            return (cells for _, cells in of_lines(str(path), lines))
        reason = (
            "it is nested too deeply" if isinstance(error, RecursionError) else getattr(error, "msg", None) or error
        )
        raise DataError.at(path, f"no JSON ({reason})") from error
    return _rows(path, content)


def _rows(path: Path, content: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(content, list):
        return _records(path, content)
    if not isinstance(content, dict) or not content:
        raise DataError.at(
            path, f"an array of records, or an object, is needed (got {str(content)[:50]!r})", value=content
        )
    if _is_squad(content):
        return _squad(path, content["data"])
    if isinstance(content.get("columns"), list) and isinstance(content.get("data"), list):
        return _split(path, content["columns"], content["data"])
    if isinstance(content.get("schema"), dict) and isinstance(content.get("data"), list):
        return _of_schema(path, content["schema"], content["data"])
    if (results := promptfoo(content)) is not None:
        return results
    lists = {name: value for name, value in content.items() if isinstance(value, list)}
    if len(lists) > 1 and _are_columns([*lists.values()]):
        content = lists  # the others are of the whole file
    elif (records := _wrapped(path, lists, len(content))) is not None:
        return records
    values = list(content.values())
    if all(isinstance(value, list) for value in values) and _are_columns(values):
        return (dict(zip(content, row, strict=True)) for row in zip(*values, strict=True))
    if (rankings := trec.of_objects(content)) is not None:
        return rankings
    if all(isinstance(value, dict) for value in values):
        numbered = list(map(str, range(len(values[0]))))
        if all(list(value) == numbered for value in values) and list(content) != numbered:  # pandas' own
            return (dict(zip(content, row, strict=True)) for row in zip(*(v.values() for v in values), strict=True))
        return ({"id": key, **value} for key, value in content.items())
    if not all(isinstance(value, (*_SINGLE, list)) for value in values):
        got = ", ".join(sorted({type(value).__name__ for value in values}))
        raise DataError.at(path, f"an object of answers by id holds nothing but answers (got values of {got})")
    return ({"id": key, ANSWER: value} for key, value in content.items())


def _wrapped(path: Path, lists: Mapping[str, list[Any]], keys: int) -> Iterator[Mapping[str, Any]] | None:
    """Return the rows under one of an object's keys, beside others of the whole file; None if no list holds objects."""
    records = {name: value for name, value in lists.items() if {*map(type, value)} == {dict} and not _are_named(value)}
    if not records:
        return None
    if len(records) > 1:
        text = f"rows may stand under {listed(map(repr, records))}; write those that are meant into a file of their own"
        raise Question.at(path, text, value=[*records])
    ((name, rows),) = records.items()
    if keys > 1:
        log.warning("%s: the rows are those under %r", path, name)
    return iter(rows)


def _is_squad(content: Mapping[str, Any]) -> bool:
    """Return whether an object holds articles as SQuAD writes them."""
    articles = content.get("data")
    return (
        bool(articles)
        and isinstance(articles, list)
        and all(isinstance(article, dict) and isinstance(article.get("paragraphs"), list) for article in articles)
    )


def _squad(path: Path, articles: list[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the questions of SQuAD's articles, with the texts of their answers: none if there is no answer.

    A question without the key `answers` is not labelled.
    """
    for number, article in enumerate(articles, 1):
        try:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    references = () if question.get("is_impossible") else question.get("answers")
                    cells = {"id": question["id"], "question": question["question"], "passage": paragraph["context"]}
                    yield {
                        **cells,
                        "answers": None if references is None else {"text": [answer["text"] for answer in references]},
                    }  # as `datasets` has them
        except (KeyError, TypeError, AttributeError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else "it is none as SQuAD writes them"
            raise DataError.at(f"{path}, article {number}", reason) from error


def _of_schema(path: Path, schema: Mapping[str, Any], records: list[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield records beside a schema, as pandas writes them; its own numbering of the rows is no column."""
    index = schema.get("primaryKey") == ["index"]
    for row in _records(path, records):
        yield {"" if index and name == "index" else name: cell for name, cell in row.items()}


def _are_columns(values: list[list[Any]]) -> bool:
    """Return whether lists are the columns of a table, not the scores of each row by its id."""
    numeric = all(isinstance(number, (int, float)) for value in values for number in value)
    return len({len(value) for value in values}) == 1 and (len(values[0]) > len(values) or not numeric)


def _records(path: Path, items: list[Any]) -> Iterator[Mapping[str, Any]]:
    kinds = {type(element) for element in items}
    if kinds == {dict}:
        return map(unwrap_answer, items)
    if kinds <= {*_SINGLE, list}:
        return ({ANSWER: element} for element in items)
    raise DataError.at(path, "the items of an array are all objects, or all answers")


def _split(path: Path, names: list[Any], records: list[Any]) -> Iterator[Mapping[str, Any]]:
    columns = ["" if name is None else str(name) for name in names]
    check_distinct(path, "columns", columns)
    for number, row in enumerate(records, 1):
        if not isinstance(row, list) or len(row) != len(columns):
            got = len(row) if isinstance(row, list) else type(row).__name__
            raise DataError.at(
                f"{path}, row {number}", f"{len(columns)} cells are needed, as in `columns` (got {got})", value=got
            )
        yield dict(zip(columns, row, strict=True))


def flatten_row(
    cells: Mapping[str, Any], groups: dict[str, dict[str, None]], unread: dict[str, str], most: int = LIMITS.list
) -> Mapping[str, Any]:
    """Return the row with lists of numbers or of two texts, and objects of single values, as columns ``column/part``.

    Args:
        groups: column -> its parts so far, in order; more are added.
        unread: column -> its type, where it has no single values; more are added.
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
        for part, cell in parts.items():
            groups.setdefault(name, {})[f"{name}/{part}"] = None
            columns[f"{name}/{part}"] = cell
    return columns


def nested_in(cells: Mapping[str, Any]) -> int:
    """Count the values in the lists and objects of a row, and in those within.

    Example:
        >>> nested_in({"text": "a", "probs": [0.5, 0.5], "marks": {"x": [[0, 1]]}})
        6
    """
    total, left = 0, [cell for cell in cells.values() if isinstance(cell, (list, dict))]
    while left:
        inner = left.pop()
        total += len(inner)
        values = inner.values() if isinstance(inner, dict) else inner
        left += [value for value in values if isinstance(value, (list, dict))]
    return total


def _parts(value: list[Any] | dict[str, Any], most: int) -> Mapping[str, Any] | None:
    if isinstance(value, dict):
        return value if all(isinstance(cell, _SINGLE) for cell in value.values()) else None
    if value and _are_named(value):
        return {str(entry["label"]): entry["score"] for entry in value}
    single = all(isinstance(cell, _SINGLE) for cell in value)
    most = 2 if any(isinstance(cell, str) for cell in value) else most
    return {str(n): cell for n, cell in enumerate(value)} if single and len(value) <= most else None
