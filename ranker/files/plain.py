"""Plain texts as rows: a text on each line, without a line that names columns."""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ranker.errors import Assumption
from ranker.files import encodings
from ranker.files.columns import Record
from ranker.files.text import lines
from ranker.limits import LIMITS, Limits

log = logging.getLogger(__name__)

TEXT = "text"
"""Column of the texts, unless the caller names another."""

HEADS = frozenset(
    [
        *("text", "texts", "sentence", "sentences", "sentence1", "sentence2", "document", "dialogue", "source", "src"),
        *("premise", "hypothesis", "question", "passage", "context", "review", "input", "prompt", "segment", "tokens"),
        *("label", "labels", "gold", "gold_label", "true_label", "y_true", "class", "category", "tag", "tags", "truth"),
        *("target", "targets", "reference", "references", "ref", "expected", "correct", "outcome", "score", "value"),
        *("prediction", "predictions", "pred", "preds", "predicted", "predicted_label", "y_pred", "answer", "answers"),
        *("output", "outputs", "response", "responses", "completion", "completions", "generation", "generations"),
        *("generated", "generated_text", "translation", "summary", "id", "ids", "idx", "index", "model", "set"),
    ]
)
"""Names by which a first line is known to name columns."""

SHOWN = 50
"""Lines that must have as many cells as the first, where that has no usual name."""

_NAME = re.compile(r"\S+( \S+){0,2}(?<![.?!,;:])")
"""Cell that may name a column: a few words, and no sentence."""


def by_lines(path: Path, encoding: str = "", limits: Limits = LIMITS, column: str = TEXT) -> Iterator[Record]:
    """Read a row a line, in order; a blank line is an empty cell. A note says so."""
    log.warning(Assumption(f"{path}: its first line names no columns, so each line is a row, with one text"))
    for number, line in enumerate(lines(path, encoding, limits), 1):
        yield number, {column: line.rstrip("\r\n")}


def is_plain(path: Path, encoding: str = "", limits: Limits = LIMITS) -> bool:
    """Return whether the first line of a file is a text: it has no usual name, and is no head of the lines below."""
    begun = [*islice(lines(path, encoding, limits), SHOWN)]
    first = begun[0] if begun else ""
    sign = "\t" if "\t" in first else encodings.delimiter(first)
    try:
        head, *rows = csv.reader(begun, delimiter=sign, quoting=csv.QUOTE_NONE if sign == "\t" else csv.QUOTE_MINIMAL)
    except (csv.Error, ValueError):
        return False
    if {cell.strip().casefold() for cell in head} & HEADS and all(
        _NAME.fullmatch(cell.strip()) for cell in head if cell
    ):
        return False
    of_a_table = len(head) > 1 and all(_NAME.fullmatch(cell) for cell in head if cell)
    return not (of_a_table and all(len(row) == len(head) for row in rows if row))
