"""A second reader of tables, of the standard library's `csv` and `json` alone: the accuracy of each model by one rule.

*Rows.* Those without a truth are left out. Rows of two files are joined by their ids as text where both have a column
`id`, else by their texts where both have a column `text`, else by their order. No id is ever made.

*Nothing.* A cell that is blank, null or NaN is no answer, or no truth; so is one of the words that were given, and no
other. Words are compared as they are written.

*Labels.* They are those of the truth. No answer, or an answer that is no label, is wrong. Two are equal when they are
written alike, blanks around them aside; or alike but for case and `_`, `-` and blanks, unless one of the two is a
number or would be nothing then, or two labels of the truth would be one: then both readings are returned. Numbers are
equal when they are written alike; in a column of numbers, and in JSON, `1.0` is `1`. JSON's true and false are 1 and 0,
or `true` and `false` where these are the labels of the truth.
"""

import csv
import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, as they stand there."""
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix in (".csv", ".tsv"):
            return list(csv.DictReader(file, delimiter="," if path.suffix == ".csv" else "\t"))
        return json.load(file) if path.suffix == ".json" else [json.loads(line) for line in file]


def is_number(text: str) -> bool:
    """Whether a text is a number, with a sign or without."""
    return text.lstrip("+-").replace(".", "", 1).isdecimal()


def column(cells: Sequence[Any], words: Collection[str] = (), truths: Sequence[str] = ("0", "1")) -> list[str | None]:
    """A column of labels as text, None where a cell says nothing."""
    texts: list[str | None] = []
    for cell in cells:
        rounds = isinstance(cell, float) and cell.is_integer()
        text = truths[cell] if isinstance(cell, bool) else str(int(cell) if rounds else cell).strip()
        texts.append(None if cell is None or cell != cell or not text or text in words else text)
    numbers = all(is_number(text) for text in texts if text is not None)
    return [text.removesuffix(".0") if numbers and text is not None else text for text in texts]


def fold(text: str) -> str:
    """A label without what does not matter; as it is, where it is a number, or would be nothing."""
    return text if is_number(text) else " ".join(text.casefold().replace("_", " ").replace("-", " ").split()) or text


def truth_of(rows: Sequence[dict[str, Any]], label: str, words: Collection[str] = ()) -> tuple[list[str | None], Any]:
    """The truth of each row, and how JSON's false and true are written there."""
    truth = column([row.get(label) for row in rows], words)
    folded = {text.casefold(): text for text in truth if text is not None}
    return truth, (folded["false"], folded["true"]) if {*folded} == {"false", "true"} else ("0", "1")


def joined(rows: Sequence[dict[str, Any]], answers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a file of answers, in the order of those that are asked about."""
    key = next((name for name in ("id", "text") if name in rows[0] and name in answers[0]), "")
    of_key = {str(row[key]): row for row in answers} if key else {}
    return [of_key[str(row[key])] for row in rows] if key else list(answers)


def share(answers: Sequence[str | None], truth: Sequence[str | None], same: Callable[[str], str]) -> float:
    """The part of the rows with a truth on which a model says it."""
    pairs = [(answer, label) for answer, label in zip(answers, truth, strict=True) if label is not None]
    return sum(answer is not None and same(answer) == same(label) for answer, label in pairs) / len(pairs)


def accuracies(truth: Sequence[str | None], models: dict[str, list[str | None]]) -> list[dict[str, float]]:
    """The accuracy of each model: one reading, or two where labels differ in nothing but what is folded."""
    labels = {text for text in truth if text is not None}
    ambiguous = len({fold(text) for text in labels}) < len(labels)
    readings = (fold, str) if ambiguous else (fold,)
    return [{name: share(answers, truth, same) for name, answers in models.items()} for same in readings]
