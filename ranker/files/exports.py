"""What tools for labelling export, as rows: Label Studio's JSON and CSV, doccano's JSON lines and zip, Prodigy's lines.

Each annotation becomes a row: the columns that were handed out, `label`, `annotator` and `seconds`. A row that somebody
skipped, rejected or cannot tell has no label.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ranker.errors import DataError, listed
from ranker.files.archive import Archive
from ranker.files.shapes import of_lines
from ranker.limits import LIMITS, Limits, open_regular

CANNOT_TELL = "cannot tell"
"""The choice that is no label."""

OURS = ("rank_models_row", "annotation_id")
"""Columns by which a row is known to come from such a tool."""

Record = tuple[int, Mapping[str, Any]]
"""Where a row stands, as a number, and its cells."""


def label_rows(records: Iterable[Record], place: str = "row") -> Iterator[Record]:
    """Rows with the label that they have, where a tool writes that in its own way.

    Args:
        records: the rows.
        place: what stands before the number of a row in messages: "a.csv, line".

    Raises:
        DataError: a row has two labels.

    Example:
        >>> [cells["label"] for _, cells in label_rows([(1, {"text": "Fine.", "label": ["good"]})])]
        ['good']
        >>> rejected = {"text": "Fine.", "accept": ["good"], "answer": "reject"}
        >>> [cells["label"] for _, cells in label_rows([(1, rejected)])]
        [None]
    """
    for at, row in records:
        cells = row if type(row) is dict else dict(row)
        if "accept" in cells and "answer" in cells:
            label = cells["accept"] if cells["answer"] == "accept" else []
            cells = {**cells, "label": label if isinstance(label, list) else [label]}
            if "_annotator_id" in cells:
                cells["annotator"] = cells["_annotator_id"]
        label = cells.get("label")
        if isinstance(label, list) and all(isinstance(choice, (str, int)) for choice in label):
            label = _only(f"{place} {at}", label)
            cells = {**cells, "label": label}
        if label is not None and str(label).strip().casefold() == CANNOT_TELL and any(name in cells for name in OURS):
            cells = {**cells, "label": None}
        yield at, cells


def _only(place: str, labels: Sequence[Any]) -> Any:
    """The one label of several choices.

    Raises:
        DataError: there are two.
    """
    if len(labels) > 1:
        raise DataError(f"{place}: a row must have one label (got {listed(labels)})")
    return labels[0] if labels else None


def label_studio(path: Path, tasks: Iterator[Mapping[str, Any]], limits: Limits = LIMITS) -> Iterator[Record]:
    """An annotation a row, where these are tasks of Label Studio; else the rows as they are.

    Annotations that were cancelled have no label; predictions and drafts are not read.

    Raises:
        DataError: an annotation is none as Label Studio writes it, or has two labels.
    """
    first = next(tasks, None)
    if first is not None and {"annotation_id", "lead_time"} <= first.keys():
        raise DataError(f"{path}: Label Studio's JSON_MIN loses rows; export JSON or CSV instead")
    if first is None or not {"data", "annotations"} <= first.keys():
        yield from enumerate(chain([] if first is None else [first], tasks), 1)
        return
    number = 0
    for at, task in enumerate(chain([first], tasks), 1):
        place = f"{path}, task {at}"
        data, annotations = task.get("data"), task.get("annotations")
        if not isinstance(data, dict) or not isinstance(annotations, list):
            raise DataError(f"{place}: no `data` and `annotations`, as Label Studio writes them")
        for annotation in annotations:
            number += 1
            try:
                choices = [] if annotation.get("was_cancelled") else _choices(annotation["result"])
                label = _only(place, choices) if choices else None
                seconds = annotation.get("lead_time")
                beside = {"label": label, "annotator": _who(annotation.get("completed_by")), "seconds": seconds}
            except (AttributeError, KeyError, TypeError) as error:
                raise DataError(f"{place}: no annotation as Label Studio writes it") from error
            yield number, {**data, "annotation_id": annotation.get("id"), **beside}


def _choices(result: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [label for part in result if part["type"] == "choices" for label in part["value"]["choices"]]


def _who(who: Any) -> str:
    return str(who.get("email") or who.get("id") or "") if isinstance(who, dict) else "" if who is None else str(who)


def doccano(path: Path, limits: Limits = LIMITS) -> Iterator[Record]:
    """The lines of each person, whose name is that of a file of the archive.

    Raises:
        DataError: the archive, or a line of it, cannot be read.
    """
    number = 0
    try:
        with os.fdopen(open_regular(path), "rb") as raw:
            archive = Archive(raw, path, limits, parts="members", size="json", whole="json")
            if archive.repeated:
                raise DataError(f"{path}: two files are named {min(archive.repeated)!r}")
            for member in archive.parts:
                if not member.endswith(".jsonl"):
                    continue
                content = archive.read(member).decode("utf-8-sig")
                limits.check_objects(path, content)
                lines = ((at, line) for at, line in enumerate(io.StringIO(content), 1) if line.strip())
                for _, cells in of_lines(f"{path}, {member}", lines):
                    number += 1
                    yield number, {**cells, "annotator": Path(member).stem}
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
