"""What the name of a column says of it, and what its cells look like: clues, and no more than that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ranker.files.cells import cell_text
from ranker.sources.tables.base import NONE, UNIT, Columns
from ranker.sources.tables.cells import (
    READABLE,
    UNKNOWN,
    Labels,
    distinct,
    has_decimal_commas,
    label_counts,
    no_number,
    numbers_of,
    outcomes,
)

PREDICTED = frozenset(
    {"prediction", "predictions", "pred", "preds", "predicted", "predict", "yhat", "output", "outputs", "response"}
)
"""Words in the names of columns that say that a model answered."""

TRUE = frozenset(["gold", "truth", "true", "expected", "reference", "references", "target", "targets"])
"""Words in the names of columns that usually hold the truth."""

LABELS = frozenset({"label", "labels", "label ids", "is duplicate"})
"""Names of columns that hold labels, of which the truth is the likelier."""

NAMED = PREDICTED | TRUE | frozenset(["label", "labels", "category", "class", "annotation", "answer"])
"""Words that say that 0 and 1 are labels, whoever gave them."""

RIGHT = frozenset(["correct", "correctness", "outcome", "outcomes", "right", "acc", "accuracy", "em", "hit"])
"""Words that say that a number is an outcome."""

DECISION = frozenset({"decision", "decision function", "margin", "logit", "log odds"})
"""Names of one score for two labels that is above 0 for the second."""

GENERIC = PREDICTED | frozenset(
    [
        "",
        "p",
        "prob",
        "probs",
        "proba",
        "probability",
        "probabilities",
        "predict proba",
        "score",
        "scores",
        "logit",
        "logits",
        "ll",
        "loglik",
        "loglikelihood",
        "log likelihood",
        "logprob",
        "logprobs",
        "logp",
        "class",
        "label",
    ]
)
"""What stands before the name of a class where there is one model: it says what the numbers are, not whose."""

CLEAR = 100
"""Rows that are looked at to see whether a column holds numbers."""


def plain(name: str) -> str:
    """A name without the differences that do not matter.

    Example:
        >>> plain("Gold_Label")
        'gold label'
    """
    return " ".join(re.findall(r"[a-z0-9]+", name.casefold()))


def words(name: str) -> set[str]:
    """The words of a name.

    Example:
        >>> sorted(words("goldLabel_2"))
        ['gold', 'label']
    """
    return set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).casefold()))


def is_true(name: str) -> bool:
    """Whether a column is named as the truth usually is."""
    return not is_prediction(name) and (bool(words(name) & TRUE) or plain(name) in LABELS)


def is_prediction(name: str) -> bool:
    """Whether a column is named for what a model said."""
    return bool(words(name) & PREDICTED)


def is_right(name: str) -> bool:
    """Whether a column is named for what is right."""
    return bool(words(name) & RIGHT)


def is_bare(name: str) -> bool:
    """Whether a column is named for what a model said, and for no model.

    Example:
        >>> is_bare("predicted_label"), is_bare("pred_bert")
        (True, False)
    """
    return is_prediction(name) and words(name) <= PREDICTED | NAMED | {"y", "model", "id", "ids"}


def holds_numbers(columns: Columns, name: str) -> bool:
    """Whether a column holds numbers, or more of them than of other things. It is worked out once for each column."""
    key = f"holds numbers: {name}"
    if key not in columns.worked_out:
        columns.worked_out[key] = _holds_numbers(columns, name)
    return bool(columns.worked_out[key])


def _holds_numbers(columns: Columns, name: str) -> bool:
    values, bad = numbers_of(columns, name, CLEAR)
    if np.isnan(values).all() and not bad.any():
        values, bad = numbers_of(columns, name)
    return bool((~np.isnan(values)).sum() > bad.sum())


def is_empty(columns: Columns, name: str) -> bool:
    """Whether a column holds nothing, as the scores of a model do that failed on every row."""
    values, bad = numbers_of(columns, name)
    return bool(np.isnan(values).all()) and not bad.any()


def in_unit(columns: Columns, name: str) -> bool:
    """Whether a column holds nothing but numbers from 0 to 1."""
    values, bad = numbers_of(columns, name)
    return not bad.any() and bool(((values >= 0) & (values <= 1) | np.isnan(values)).all())


def has_fractions(columns: Columns, name: str) -> bool:
    """Whether a column holds a number that is no whole one, and so no label."""
    values, _ = numbers_of(columns, name)
    return bool((values[np.isfinite(values)] % 1 != 0).any())


def decimal_commas(columns: Columns, among: Iterable[str]) -> Iterator[str]:
    """What is wrong with those of some columns whose numbers have a decimal comma."""
    for name in among:
        if has_decimal_commas(columns, name):
            comma = next(cell for cell in map(cell_text, distinct(columns.cells[name])) if "," in cell)
            yield f"the column {name!r} holds numbers, and {no_number(comma)}; write {comma.replace(',', '.')}"


def holds_whole(columns: Columns, name: str) -> bool:
    """Whether a column holds whole numbers, or truth values, which are written where labels are counted."""
    truths = {cell_text(value).casefold() for value in distinct(columns.cells[name])} <= {"true", "false"}
    return truths or (holds_numbers(columns, name) and not has_fractions(columns, name))


def holds_outcomes(columns: Columns, name: str, scale: tuple[float, float] = UNIT) -> bool:
    """Whether a column may hold outcomes: numbers from 0 to 1, or on another scale, or truth values."""
    values, _, bad = outcomes(columns.cells[name])
    known = values[~np.isnan(values)]
    low, high = scale
    return len(known) > 0 and not bad.any() and bool(((known >= low) & (known <= high)).all())


def holds_decision(columns: Columns, name: str) -> bool:
    """Whether a column is unmistakably one score for two labels: named so, and on both sides of 0."""
    if plain(name.rpartition("/")[2]) not in DECISION or not holds_numbers(columns, name):
        return False
    values, bad = numbers_of(columns, name)
    return not bad.any() and bool((values < 0).any() and (values > 0).any()) and has_fractions(columns, name)


class LabelCells(NamedTuple):
    """How much of a column is labels of the task.

    Attributes:
        readable: cells that are labels.
        unread: filled cells that are none.
        values: how many different labels there are.
        strangers: how many different other values.
    """

    readable: int
    unread: int
    values: int
    strangers: int


def label_cells(columns: Columns, name: str, labels: Labels) -> LabelCells:
    """How much of a column is labels of the task; of one of many numbers, nothing is."""
    array = columns.cells[name]
    if pa.types.is_floating(array.type):  # which was not kept as a few values
        return LabelCells(0, len(array) - array.null_count, 0, len(array))
    values, _, counts = label_counts(columns, name)
    known = np.array([labels.index(value) for value in values], dtype=np.int64)
    counts = np.where(known == NONE, 0, counts)
    right, wrong = (known >= 0) & (counts > 0), (known == UNKNOWN) & (counts > 0)
    return LabelCells(int(counts[right].sum()), int(counts[wrong].sum()), int(right.sum()), int(wrong.sum()))


def holds_labels(columns: Columns, name: str, cells: LabelCells) -> bool:
    """Whether a column holds labels, or, by its name, what is meant to be labels.

    Most of its cells are; and of one of numbers most values, too: other numbers are more likely to count something.
    """
    most = cells.readable > 0 and cells.readable >= READABLE * (cells.readable + cells.unread)
    if most and (cells.values > cells.strangers or not holds_numbers(columns, name)):
        return True
    return is_prediction(name) and not (holds_numbers(columns, name) and has_fractions(columns, name))


def holds_bits(columns: Columns, name: str, labels: Labels) -> bool:
    """Whether a column holds 0 and 1, or true and false, and these are no names of labels."""
    said = {cell_text(value).casefold() for value in distinct(columns.cells[name]) if labels.index(value) != NONE}
    named = {label.casefold() for label in labels.task.labels} - {"0", "1"}
    return bool(said) and said <= {"0", "1", "true", "false"} and not said & named
