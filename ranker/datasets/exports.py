"""What tools for labelling export, as rows: Label Studio's JSON and CSV, doccano's JSON lines and zip, Prodigy's lines.

Each annotation becomes a row: the columns that were handed out, `label`, `annotator` and `seconds`. A row that somebody
skipped, rejected or cannot tell has no label.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ranker.datasets.archive import Archive
from ranker.datasets.rows import Row, content, nested_in, once, read_rows
from ranker.errors import DataError, listed
from ranker.limits import LIMITS, Limits, opened
from ranker.records import parse_json

CANNOT_TELL = "cannot tell"
"""The choice that is no label."""

OURS = ("rank_models_row", "annotation_id")
"""Columns by which a row is known to come from such a tool."""


def exported(path: Path, encoding: str = "", limits: Limits = LIMITS, nested: Sequence[str] = ()) -> Iterator[Row]:
    """The rows of a file, whoever wrote it: see `rows.read_rows`; a .json is Label Studio's, and a .zip doccano's.

    Raises:
        UsageError, DataError: as in `read_rows`; or an export of another kind, or two labels of one row.
    """
    if path.suffix == ".json":
        rows = _label_studio(path, encoding, limits)
    elif path.suffix == ".zip":
        rows = _doccano(path, limits)
    else:
        rows = read_rows(path, encoding, limits, nested)
    return map(told, rows)


def told(row: Row) -> Row:
    """A row with the label that it has, where a tool writes that in its own way.

    Example:
        >>> told(Row("a", 1, {"text": "Fine.", "label": ["good"]})).cells["label"]
        'good'
        >>> told(Row("a", 1, {"text": "Fine.", "accept": ["good"], "answer": "reject"})).cells["label"] is None
        True
    """
    cells = dict(row.cells)
    if "accept" in cells and "answer" in cells:
        label = cells["accept"] if cells["answer"] == "accept" else []
        cells |= {"label": label if isinstance(label, list) else [label]}
        if "_annotator_id" in cells:
            cells["annotator"] = cells["_annotator_id"]
    if isinstance(cells.get("label"), list):
        cells["label"] = _only(row.place, cells["label"])
    if str(cells.get("label")).strip().casefold() == CANNOT_TELL and any(name in cells for name in OURS):
        cells["label"] = None
    return row if cells == row.cells else row._replace(cells=cells)


def _only(place: str, labels: Sequence[Any]) -> Any:
    """The one label of several choices.

    Raises:
        DataError: there are two.
    """
    if len(labels) > 1:
        raise DataError(f"{place}: a row must have one label (got {listed(labels)})")
    return labels[0] if labels else None


def _label_studio(path: Path, encoding: str, limits: Limits) -> Iterator[Row]:
    """An annotation a row: those that were cancelled have no label, and predictions and drafts are not read."""
    try:
        text = content(path, encoding, limits)
        limits.check_objects(path, text)
        tasks = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: no JSON ({getattr(error, 'msg', None) or error})") from error
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise DataError(f"{path}: a list of tasks is needed, as Label Studio exports it")
    number = cells = 0
    for at, task in enumerate(tasks, 1):
        place = f"{path}, task {at}"
        data, annotations = task.get("data"), task.get("annotations")
        if not isinstance(data, dict) or not isinstance(annotations, list):
            raise DataError(f"{place}: no `data` and `annotations`: JSON_MIN loses rows; export JSON or CSV instead")
        limits.check(place, "columns", len(data))
        for one in annotations:
            number, cells = number + 1, cells + len(data)
            limits.check(path, "rows", number)
            limits.check(place, "values", cells)
            try:
                label = None if one.get("was_cancelled") else _only(place, _choices(one["result"]))
                seconds = one.get("lead_time")
                beside = {"label": label, "annotator": _who(one.get("completed_by")), "seconds": seconds}
            except (AttributeError, KeyError, TypeError) as error:
                raise DataError(f"{place}: no annotation as Label Studio writes it") from error
            yield Row(place, number, {**data, "annotation_id": one.get("id"), **beside})


def _choices(result: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [label for part in result if part["type"] == "choices" for label in part["value"]["choices"]]


def _who(who: Any) -> str:
    return str(who.get("email") or who.get("id") or "") if isinstance(who, dict) else "" if who is None else str(who)


def _doccano(path: Path, limits: Limits) -> Iterator[Row]:
    """The lines of each person, whose name is that of a file of the archive."""
    number = values = 0
    try:
        with os.fdopen(opened(path), "rb") as raw:
            archive = Archive(raw, path, limits, parts="members", size="json", whole="json")
            if archive.repeated:
                raise DataError(f"{path}: two files are named {min(archive.repeated)!r}")
            for member in archive.parts:
                if not member.endswith(".jsonl"):
                    continue
                text = archive.read(member).decode("utf-8-sig")
                limits.check_objects(path, text)
                for at, line in enumerate(io.StringIO(text), 1):
                    place, number = f"{path}, {member}, line {at}", number + 1
                    limits.check(path, "rows", number)
                    cells = json.loads(line, object_pairs_hook=once)
                    if not isinstance(cells, dict):
                        raise DataError(f"{place}: an object {{...}} is needed (got {line[:50]!r})")
                    values += len(cells) + nested_in(cells)
                    limits.check(place, "values", values)
                    yield Row(place, number, {**cells, "annotator": Path(member).stem})
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
