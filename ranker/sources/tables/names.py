"""Clues about a column from its name and the look of its cells; they decide nothing alone."""

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
    as_number,
    dictionary_codes,
    distinct,
    has_other_numbers,
    label_counts,
    no_number,
    numbers_of,
    outcomes,
    whole_number,
)

PREDICTED = frozenset(
    {"prediction", "predictions", "pred", "preds", "predicted", "predict", "yhat", "output", "outputs", "response"}
)
"""Words in column names that suggest predictions."""

TRUE = frozenset(["gold", "truth", "true", "expected", "reference", "references", "target", "targets"])
"""Words in column names that suggest true labels."""

LABELS = frozenset({"label", "labels", "label ids", "is duplicate"})
"""Names of label columns that more likely hold the truth than answers."""

NAMED = PREDICTED | TRUE | frozenset(["label", "labels", "category", "class", "annotation", "answer"])
"""Words that suggest that 0 and 1 are labels, true or predicted."""

SPELLING = NAMED | frozenset(
    ["name", "names", "id", "ids", "text", "str", "string", "index", "idx", "number", "num", "y"]
)
"""Words of column names in which two columns may differ that hold the same labels, as numbers and as names."""

RIGHT = frozenset(
    ["correct", "correctness", "outcome", "outcomes", "right", "acc", "accuracy", "em", "hit", "mark", "marks"]
)
"""Words that suggest outcomes."""

DECISION = frozenset({"decision", "decision function", "margin", "logit", "log odds"})
"""Names of a single score for two labels that is above 0 for the second."""

PROBABILITY = frozenset({"prob", "probs", "proba", "probas", "probability", "probabilities"})
"""Words in names of a single score of two labels that is the probability of the second."""

SCORE = frozenset({"score", "scores"})
"""Words in names of such a score, beside the truth."""

LOGARITHM = frozenset({"ll", "loglik", "loglikelihood", "log likelihood", "logprob", "logprobs", "logp"})
"""Prefixes of columns of log-likelihoods."""

OTHERS = frozenset({"", "p", "predict proba", "logit", "logits", "class", "label"})
"""Prefixes of other class columns that name no model."""

GENERIC = PREDICTED | PROBABILITY | SCORE | LOGARITHM | OTHERS
"""Prefixes of class columns that name the type of the numbers and not a model."""


def plain(name: str) -> str:
    """Reduce a name to lower-case letters and digits.

    Example:
        >>> plain("Gold_Label")
        'gold label'
    """
    return " ".join(re.findall(r"[a-z0-9]+", name.casefold()))


def words(name: str) -> set[str]:
    """Split a name into its words.

    Example:
        >>> sorted(words("goldLabel_2"))
        ['gold', 'label']
    """
    return set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).casefold()))


def is_true(name: str) -> bool:
    """Return True if the name suggests true labels."""
    return not is_prediction(name) and (bool(words(name) & TRUE) or plain(name) in LABELS)


def is_prediction(name: str) -> bool:
    """Return True if the name suggests predictions."""
    return bool(words(name) & PREDICTED)


def is_right(name: str) -> bool:
    """Return True if the name suggests outcomes."""
    return bool(words(name) & RIGHT)


def is_bare(name: str) -> bool:
    """Return True if the name suggests predictions and names no model.

    Example:
        >>> is_bare("predicted_label"), is_bare("pred_bert")
        (True, False)
    """
    return is_prediction(name) and words(name) <= PREDICTED | NAMED | {"y", "model", "id", "ids"}


def are_twins(columns: Columns, first: str, second: str) -> bool:
    """Return True if two columns hold the same labels, as numbers and as names, and are named alike."""
    alike = {*plain(first).split()} - SPELLING == {*plain(second).split()} - SPELLING
    if not alike or holds_numbers(columns, first) == holds_numbers(columns, second):
        return False
    codes = [dictionary_codes(columns.cells[name])[1] for name in (first, second)]
    pairs = np.unique(np.stack(codes), axis=1)
    return pairs.shape[1] > 1 and all(len({*of_column}) == pairs.shape[1] for of_column in pairs.tolist())


def holds_numbers(columns: Columns, name: str) -> bool:
    """Return True if a column holds more numbers than other cells. Each column is counted once."""
    key = f"holds numbers: {name}"
    if key not in columns.worked_out:
        values, bad = numbers_of(columns, name)
        columns.worked_out[key] = (~np.isnan(values)).sum() > bad.sum()
    return bool(columns.worked_out[key])


def is_empty(columns: Columns, name: str) -> bool:
    """Return True if a column is empty, as the scores of a model that failed on every row are."""
    values, bad = numbers_of(columns, name)
    return bool(np.isnan(values).all()) and not bad.any()


def in_unit(columns: Columns, name: str) -> bool:
    """Return True if a column holds only numbers from 0 to 1."""
    values, bad = numbers_of(columns, name)
    return not bad.any() and bool(((values >= 0) & (values <= 1) | np.isnan(values)).all())


def has_fractions(columns: Columns, name: str) -> bool:
    """Return True if a column holds a fractional number, which is no label."""
    values, _ = numbers_of(columns, name)
    return bool((values[np.isfinite(values)] % 1 != 0).any())


def other_numbers(columns: Columns, among: Iterable[str]) -> Iterator[str]:
    """Describe each of some columns whose numbers have a decimal comma, or the sign of percents."""
    for name in among:
        if has_other_numbers(columns, name):
            cell = next(cell for cell in map(cell_text, distinct(columns.cells[name])) if {*cell} & {*",%"})
            yield f"the column {name!r} holds numbers, and {no_number(cell)}; write {as_number(cell)}"


def holds_whole(columns: Columns, name: str) -> bool:
    """Return True if a column holds whole numbers, or truth values, which may stand for labels."""
    truths = {cell_text(value).casefold() for value in distinct(columns.cells[name])} <= {"true", "false"}
    return truths or (holds_numbers(columns, name) and not has_fractions(columns, name))


def holds_outcomes(columns: Columns, name: str, scale: tuple[float, float] = UNIT) -> bool:
    """Return True if a column may hold outcomes: numbers on the scale, or truth values.

    At least half of its cells, or most of its distinct ones, must be outcomes; others are errors, or refused by name.
    """
    values, _, bad = outcomes(columns.cells[name])
    filled = values[~np.isnan(values)]
    within = (filled >= scale[0]) & (filled <= scale[1])
    most = within.sum() >= READABLE * (len(filled) + bad.sum())
    few = not bad.any() and len(np.unique(filled[within])) > len(np.unique(filled[~within]))
    return bool(within.any() and (most or few))


def holds_decision(columns: Columns, name: str) -> bool:
    """Return True if a column is clearly one score for two labels: named so, with values on both sides of 0."""
    if plain(name.rpartition("/")[2]) not in DECISION or not holds_numbers(columns, name):
        return False
    values, bad = numbers_of(columns, name)
    return not bad.any() and bool((values < 0).any() and (values > 0).any()) and has_fractions(columns, name)


def holds_probability(columns: Columns, name: str, judged: bool) -> bool:
    """Return True if a column is clearly one probability for two labels: named so, with fractions from 0 to 1.

    If the file is judged, a score beside its truth is one of an answer.
    """
    is_score = bool(words(name) & (PROBABILITY | SCORE if judged else PROBABILITY)) and not is_right(name)
    return is_score and holds_numbers(columns, name) and in_unit(columns, name) and has_fractions(columns, name)


class LabelCells(NamedTuple):
    """Counts of cells that are labels of the task.

    Attributes:
        readable: number of cells that are labels.
        unread: number of filled cells that are none.
        values: number of distinct labels.
        strangers: number of distinct other values.
    """

    readable: int
    unread: int
    values: int
    strangers: int


def label_cells(columns: Columns, name: str, labels: Labels) -> LabelCells:
    """Count the cells that are labels of the task; a column of floats has none."""
    array = columns.cells[name]
    if pa.types.is_floating(array.type):  # reading makes dictionaries of columns with few values
        return LabelCells(0, len(array) - array.null_count, 0, len(array))
    values, _, counts = label_counts(columns, name)
    codes = np.array([labels.index(value) for value in values], dtype=np.int64)
    counts = np.where(codes == NONE, 0, counts)
    right, wrong = (codes >= 0) & (counts > 0), (codes == UNKNOWN) & (counts > 0)
    return LabelCells(int(counts[right].sum()), int(counts[wrong].sum()), int(right.sum()), int(wrong.sum()))


def holds_labels(columns: Columns, name: str, cells: LabelCells) -> bool:
    """Return True if a column holds labels, or its name says that it should.

    At least half of its cells must be labels; of numbers, most distinct values, since others suggest counts.
    """
    if holds_numbers(columns, name):
        most = cells.values > cells.strangers
    else:
        most = cells.readable > 0 and cells.readable >= READABLE * (cells.readable + cells.unread)
    if most:
        return True
    return is_prediction(name) and not (holds_numbers(columns, name) and has_fractions(columns, name))


def holds_bits(columns: Columns, name: str, labels: Labels) -> bool:
    """Return True if a column holds only 0 and 1, also as 1.0, or true and false, and these are not label names."""
    cells = {cell_text(value).casefold() for value in distinct(columns.cells[name]) if labels.index(value) != NONE}
    names = {label.casefold() for label in labels.task.labels} - {"0", "1"}
    return bool(cells) and {*map(whole_number, cells)} <= {0, 1} and not cells & names
