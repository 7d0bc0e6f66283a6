"""Exports of labelling tools as rows: Label Studio's JSON and CSV, doccano's and Prodigy's JSON lines, and votes in
argilla's JSON.

Each annotation becomes a row: the exported columns, `label`, `annotator` and `seconds`. A row that was skipped,
rejected or marked "cannot tell" has no label, and neither has one with several.

A choice between two answers also becomes a vote: `winner`, beside the columns `model_a` and `model_b` of Label Studio's
tasks (left and right) or argilla's metadata, or those made of the ids of Prodigy's two options.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ranker.errors import Assumption, DataError, listed
from ranker.files.columns import Record

log = logging.getLogger(__name__)

CANNOT_TELL = "cannot tell"
"""Choice that is no label."""

OURS = ("rank_models_row", "annotation_id")
"""Columns that show that a row comes from such a tool."""


def label_rows(records: Iterable[Record], place: str = "row") -> Iterator[Record]:
    """Yield rows with their label, where a tool writes it in its own way; log the rows that have several.

    Args:
        place: text before the number of a row in messages: "a.csv, line".

    Raises:
        DataError: more rows have several labels than one.

    Example:
        >>> [cells["label"] for _, cells in label_rows([(1, {"text": "Fine.", "label": ["good"]})])]
        ['good']
        >>> rejected = {"text": "Fine.", "accept": ["good"], "answer": "reject"}
        >>> [cells["label"] for _, cells in label_rows([(1, rejected)])]
        [None]
    """
    single, several = 0, list[tuple[int, Sequence[Any]]]()
    for number, row in records:
        cells = row if type(row) is dict else dict(row)
        if "accept" in cells and "answer" in cells:
            label = cells["accept"] if cells["answer"] == "accept" else []
            cells = {**cells, "label": label if isinstance(label, list) else [label], **_vote(cells)}
            if "_annotator_id" in cells:
                cells["annotator"] = cells["_annotator_id"]
        label = cells.get("label")
        if isinstance(label, list) and all(isinstance(choice, (str, int)) for choice in label):
            several += [(number, label)] if len(label) > 1 else []
            single += len(label) == 1
            label = label[0] if len(label) == 1 else None
            cells = {**cells, "label": label}
        if label is not None and str(label).strip().casefold() == CANNOT_TELL and any(name in cells for name in OURS):
            cells = {**cells, "label": None}
        yield number, cells
    if several:
        number, labels = several[0]
        if len(several) > single:
            raise DataError.at(f"{place} {number}", f"a row must have one label (got {listed(labels)})", value=labels)
        text = f"rows with several labels count as unlabelled: {len(several):,} (here {listed(labels)})"
        log.warning(Assumption(f"{place} {number}: {text}"))


def _vote(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return models and winner of a line of Prodigy's, whose two options have models' names as ids; {} of others."""
    options, accepted = cells.get("options"), cells["accept"]
    if not (isinstance(options, list) and len(options) == 2 and isinstance(accepted, list)):
        return {}
    ids = [option.get("id") if isinstance(option, dict) else None for option in options]
    if not all(isinstance(name, str) and not name.isdigit() for name in ids):
        return {}
    winner = accepted[0] if len(accepted) == 1 else "tie"
    return {"model_a": ids[0], "model_b": ids[1], "winner": winner if cells["answer"] == "accept" else None}


def label_studio(path: Path, tasks: Iterator[Mapping[str, Any]]) -> Iterator[Record]:
    """Yield a row for each annotation of Label Studio's tasks, or argilla's; other records are returned as they are.

    Where annotations of a task are its ground truth, the others are left out. Annotations that were cancelled have no
    label; predictions and drafts are not read.

    Raises:
        DataError: an annotation is none as Label Studio writes it.
    """
    first = next(tasks, None)
    if first is not None and {"annotation_id", "lead_time"} <= first.keys():
        raise DataError.at(path, "Label Studio's JSON_MIN loses rows; export JSON or CSV instead")
    if first is not None and {"fields", "metadata", "responses"} <= first.keys():
        yield from _argilla(path, chain([first], tasks))
        return
    if first is None or not {"data", "annotations"} <= first.keys():
        yield from enumerate(chain([] if first is None else [first], tasks), 1)
        return
    number = left_out = 0
    for number_of_task, task in enumerate(chain([first], tasks), 1):
        place = f"{path}, task {number_of_task}"
        columns, annotations = task.get("data"), task.get("annotations")
        if not isinstance(columns, dict) or not isinstance(annotations, list):
            raise DataError.at(place, "no `data` and `annotations`, as Label Studio writes them")
        try:
            true = [
                annotation
                for annotation in annotations
                if annotation.get("ground_truth") and not annotation.get("was_cancelled")
            ]
            left_out += len(annotations) - len(true or annotations)
            for annotation in true or annotations:
                number += 1
                parts, cancelled = annotation["result"], annotation.get("was_cancelled")
                choices = [part["value"]["choices"] for part in parts if part["type"] == "choices" and not cancelled]
                seconds = annotation.get("lead_time")
                beside = {
                    "label": [*chain(*choices)],
                    "annotator": _who(annotation.get("completed_by")),
                    "seconds": seconds,
                }
                sides = [part["value"]["selected"] for part in parts if part["type"] == "pairwise"]
                if sides or {"model_a", "model_b"} <= columns.keys():
                    beside["winner"] = sides[0] if sides and not cancelled else None
                yield number, {**columns, "annotation_id": annotation.get("id"), **beside}
        except (AttributeError, KeyError, TypeError) as error:
            raise DataError.at(place, "no annotation as Label Studio writes it") from error
    if left_out:
        log.warning("%s: annotations beside those marked as ground truth are left out: %d", path, left_out)


def _argilla(path: Path, records: Iterable[Mapping[str, Any]]) -> Iterator[Record]:
    """Yield a row for each response to the only question of argilla's records: a vote, if metadata names two models."""
    number = 0
    for number_of_record, record in enumerate(records, 1):
        place = f"{path}, record {number_of_record}"
        try:
            fields, questions = record["fields"], record["responses"]
            if len(questions) > 1:
                raise DataError.at(place, f"responses to several questions: {listed(questions)}; export one alone")
            for response in next(iter(questions.values()), []):
                value = response["value"][0] if isinstance(response["value"], list) else response["value"]
                # a vote is the name of a field, which ends in 1 or a, 2 or b; a word for a winner; or a ranking of them
                side = {"1": "1", "a": "1", "2": "2", "b": "2"}.get(str(value)[-1:].casefold())
                winner = side if value in fields and side else value
                number += 1
                beside = {"label": value, "winner": winner, "annotator": _who(response.get("user_id"))}
                yield number, {"id": record.get("id"), **fields, **record["metadata"], **beside}
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise DataError.at(place, "no record as argilla writes it") from error


def _who(person: Any) -> str:
    if isinstance(person, dict):
        return str(person.get("email") or person.get("id") or "")
    return "" if person is None else str(person)
