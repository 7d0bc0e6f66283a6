"""What the cells of a table mean: labels, scores of labels, or outcomes.

Axis letters: n rows, K columns of scores (several may be of one label), C classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from factors.types import Bools, Floats, Ints
from ranker.datasets.readers import counted, number_of
from ranker.errors import DataError, UnknownName, listed
from ranker.sources.tables.arrays import filled, of_texts
from ranker.sources.tables.base import NONE, UNIT, Answers, Columns, Kind, count, some, states
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER
from ranker.tasks.classes import ClassTask, fold, softmax

SUM = 0.01
"""How far from 1 probabilities may add up, as rounded ones do; they are divided by their sum."""

NOTHING = frozenset({"", "[invalid]", "invalid", "null", "none", "nan", "<na>", "na", "n/a", "n", "-1", "-1.0"})
"""Cells that say that there is no answer, where they are no label of the task."""

EMPTY = ("", "nan", "null", "none", "<na>", "na", "n/a")
"""Cells that say that there is no number, which is an error."""

UNKNOWN = -2
"""The number of a cell that is no label."""

_NUMBERED = re.compile(r"label[_\- ]?([0-9]{1,6})", re.IGNORECASE)
_NEGATIVE = re.compile(r"-\s*[0-9.]+")
_NUMBER = r"(?i)^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^[+-]?(inf|infinity)$"


class Labels:
    """What names and numbers stand for.

    Args:
        task: the labels.
        label_map: other names, or numbers, -> labels of the task.
        order: the labels that 0, 1, ... stand for; empty: the task's own order.

    Raises:
        UnknownName: the map leads to no label of the task.

    Example:
        >>> labels = Labels(ClassTask("nli", ("non-entailment", "entailment")), {"neutral": "non-entailment"})
        >>> [labels.index(cell) for cell in ("Entailment", "neutral", "LABEL_1", 0, "-1", None, "maybe")]
        [1, 0, 1, 0, -1, -1, -2]
    """

    def __init__(self, task: ClassTask, label_map: Mapping[str, str] | None = None, order: Sequence[str] = ()) -> None:
        self.task = task
        self.given = label_map or {}
        self._map: dict[str, int] = {}
        for name, label in (label_map or {}).items():
            at = task.index(label)
            if at is None:
                raise UnknownName("label of the task", label, task.labels)
            self._map[_key(name)] = at
        known = task.ordered or len(task.labels) == 2  # of two, no is before yes, and negative before positive
        self._order = order or (task.labels if known else ())
        self._known: dict[Any, int] = {}

    def index(self, cell: Any) -> int:
        """The class of a cell; `NONE` where it says that there is no answer, `UNKNOWN` where it is no label."""
        kind = (type(cell), cell)
        if kind not in self._known:
            self._known[kind] = NONE if cell is None else self._index(written(cell))
        return self._known[kind]

    def numbered(self, cells: Iterable[Any]) -> bool:
        """Whether labels are given as numbers that only their order explains."""
        texts = [written(cell) for cell in cells if cell is not None]
        return any(self._named(text) is None and self.index(text) >= 0 for text in texts)

    def _named(self, text: str) -> int | None:
        if _key(text) in self._map:
            return self._map[_key(text)]
        if _NEGATIVE.fullmatch(text):  # "-" is no letter of a label's name: "-1" would be "1"
            return self.task.labels.index(text) if text in self.task.labels else None
        return self.task.index(text)

    def _index(self, text: str) -> int:
        named = self._named(text)
        if named is not None:
            return named
        said = _NUMBERED.fullmatch(text)
        number = int(said[1]) if said else number_of(text)
        if number is not None and str(number) in self._map:
            return self._map[str(number)]
        if number is not None and 0 <= number < len(self._order):
            at = self._named(self._order[number])
            return UNKNOWN if at is None else at
        return NONE if text.casefold() in NOTHING else UNKNOWN


def _key(text: str) -> str:
    return text.strip() if _NEGATIVE.fullmatch(text.strip()) else fold(text)


def written(cell: Any) -> str:
    """A cell as text: whole numbers without a point, truth values as 0 and 1.

    Example:
        >>> written(1.0), written(True), written(" a ")
        ('1', '1', 'a')
    """
    if isinstance(cell, bool):
        return str(int(cell))
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def coded(array: Any) -> tuple[list[Any], Ints]:
    """The distinct values of a column, and (n,) which of them each cell is, -1 where it is empty or nan."""
    if pa.types.is_null(array.type):
        return [], np.full(len(array), -1)
    found = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    return found.dictionary.to_pylist(), filled(found.indices.cast(pa.int64()), -1)


def distinct(array: Any) -> list[Any]:
    """The distinct values of a column, without those that are empty or nan."""
    if pa.types.is_dictionary(array.type):
        values = array.dictionary.to_pylist()
    else:
        values = [] if pa.types.is_null(array.type) else pc.unique(array).to_pylist()
    return [value for value in values if value is not None and value == value]


def texts(array: Any) -> list[str]:
    """(n,) the cells as text; "" where one is empty."""
    values, codes = coded(array)
    names = ["" if value is None or value != value else written(value) for value in values]
    return [names[code] if code >= 0 else "" for code in codes.tolist()]


def numbers(array: Any) -> tuple[Floats, Bools]:
    """(n,) the cells as numbers, nan where one is empty or says nan; (n,) whether one is neither."""
    flat = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    if pa.types.is_null(flat.type):
        return np.full(len(flat), np.nan), np.zeros(len(flat), bool)
    bad = np.zeros(len(flat), bool)
    if not (pa.types.is_string(flat.type) or pa.types.is_large_string(flat.type)):
        return filled(flat.cast(pa.float64(), safe=False), np.nan), bad
    flat = pc.utf8_trim_whitespace(flat)
    empty = pc.is_in(
        pc.utf8_lower(flat), value_set=of_texts(["", "nan", "null", "none", "<na>", "na", "n/a"]).cast(flat.type)
    )
    flat = pc.if_else(empty, pa.nulls(1, flat.type)[0], flat)
    right = pc.match_substring_regex(flat, _NUMBER)  # null where the cell is
    bad = ~filled(right, True)
    values = pc.if_else(right, pc.replace_substring_regex(flat, r"^\+", ""), pa.nulls(1, flat.type)[0])
    return filled(values.cast(pa.float64()), np.nan), bad


def of_labels(columns: Columns, column: str, name: str, labels: Labels) -> Answers:
    """The answers of a column of labels.

    Raises:
        DataError: a cell is no label of the task.
    """
    codes = labels_of(columns, column, labels)
    counts = {}
    values, at = coded(columns.cells[column])
    for place, value in enumerate(values):
        if labels.index(None if value != value else value) == NONE and (many := int((at == place).sum())):
            counts[written(value)] = many
    empty = int((codes == NONE).sum()) - sum(counts.values())
    empty += counts.pop("", 0)
    notes = [f"{count(many, 'cell', 'says', 'say')} {said!r} in {column!r}: no answer" for said, many in counts.items()]
    notes += [f"{count(empty, 'cell', 'is', 'are')} empty in {column!r}: no answer"] if empty else []
    if labels.numbered(values):
        notes.append(f"the numbers in {column!r} are labels: {_numbers_of(values, labels)}")
    classes = len(labels.task.labels)
    kept = codes.astype(np.int8 if classes <= 127 else np.int32)
    return Answers(name, "labels", classes, kept, states(codes >= 0, NO_ANSWER), True, tuple(notes))


def _numbers_of(values: Sequence[Any], labels: Labels) -> str:
    said = sorted({written(value): labels.index(value) for value in values if labels.index(value) >= 0}.items())
    return ", ".join(f"{value} is {labels.task.labels[at]}" for value, at in said[:5])


def labels_of(columns: Columns, column: str, labels: Labels) -> Ints:
    """(n,) the classes of a column of labels, `NONE` where there is none.

    Raises:
        DataError: a cell is no label of the task.
    """
    values, codes = coded(columns.cells[column])
    known = [labels.index(None if value != value else value) for value in values]
    there = set(codes.tolist()) if UNKNOWN in known else set()
    wrong = [value for place, value in enumerate(values) if known[place] == UNKNOWN and place in there]
    if wrong:
        verb, stands = ("is no label", "it stands") if len(wrong) == 1 else ("are no labels", "they stand")
        raise DataError(
            f"{columns.origin}: {some(map(written, wrong))} in the column {column!r} {verb} of the task "
            f"({counted(labels.task.labels)}); `label_map` says what {stands} for"
        )
    return np.array([*known, NONE])[codes]


def of_scores(
    columns: Columns, group: Sequence[str], classes: Sequence[int], name: str, task: ClassTask, kind: Kind | str
) -> Answers:
    """The answers of a group of columns of scores.

    Args:
        columns: the file.
        group: (K,) the columns.
        classes: (K,) the class of each.
        name: of the model.
        task: the labels.
        kind: of the scores; "" finds it out.

    Raises:
        DataError: a cell is no number, or not of the kind.
    """
    scores = np.column_stack([_number(columns, column) for column in group])
    alone = len(group) == 1
    notes: list[str] = []
    if alone:
        scores, notes = _both(columns, group[0], scores[:, 0], classes[0], kind, task)
        classes = (0, 1)
    broken = np.isnan(scores).any(axis=1)
    found = kind or kind_of(scores[~broken])
    what = f"{columns.origin}: {some(group)}"
    infinite = np.isposinf(scores) if found == "log-likelihoods" else np.isinf(scores)
    if infinite.any():
        raise DataError(f"{_place(columns, np.asarray(infinite.any(axis=1)))}: {some(group)} must be finite (got inf)")
    of_class = np.zeros((scores.shape[1], len(task.labels)))
    of_class[np.arange(scores.shape[1]), list(classes)] = 1
    probs = np.full((columns.size, len(task.labels)), np.nan)
    if found == "probabilities":
        wrong = ~broken & ~((scores >= 0).all(axis=1) & (np.abs(scores.sum(axis=1) - 1) <= SUM))
        if wrong.any():
            row = scores[wrong.argmax()]
            why = f"are probabilities, and must be at least 0 and add up to 1 (got {row.sum():.6g})"
            hint = "" if kind else "; if they are something else, `answers` says what"
            raise DataError(f"{_place(columns, wrong)}: {some(group)} {why}{hint}")
        probs[~broken] = scores[~broken] @ of_class / scores[~broken].sum(axis=1, keepdims=True)
    elif np.isneginf(scores).all(axis=1).any():
        raise DataError(f"{what}: a row has no finite log-likelihood")
    else:
        probs[~broken] = softmax(scores[~broken]) @ of_class
    hard = bool(found == "probabilities" and not broken.all() and np.isin(scores[~broken], (0, 1)).all())
    several = () if alone else group
    notes += [*_said(found, several), *_numbers_in(several, classes, task), *_merged(group, classes, task)]
    if broken.any():
        notes.append(f"{count(int(broken.sum()), 'row', 'holds', 'hold')} no number in {some(group)}: errors")
    return Answers(name, found, len(task.labels), probs, states(~broken, ERROR), hard, tuple(notes))  # type: ignore[arg-type]  # one of them


def kind_of(scores: Floats) -> Kind:
    """What (n, K) scores are: those in [0, 1] are probabilities, those that are never above 0 log-likelihoods.

    Example:
        >>> kind_of(np.array([[0.2, 0.8]])), kind_of(np.array([[-3.0, -9.0]])), kind_of(np.array([[-1.0, 2.0]]))
        ('probabilities', 'log-likelihoods', 'logits')
    """
    if ((scores >= 0) & (scores <= 1)).all():
        return "probabilities"
    return "log-likelihoods" if (scores <= 0).all() else "logits"


def _said(kind: str, group: Sequence[str]) -> Iterable[str]:
    if kind == "log-likelihoods":
        yield "log-likelihoods are made probabilities by softmax; they are not calibrated"
    elif group:
        how = ", made probabilities by softmax" if kind == "logits" else ""
        yield f"{some(group)} are {kind}{how}"


def _numbers_in(group: Sequence[str], classes: Sequence[int], task: ClassTask) -> Iterable[str]:
    """Which labels columns are of that are named by numbers."""
    ends = [re.search("[0-9]+$", column) for column in group]
    if group and all(ends) and all(task.index(end[0]) is None for end in ends if end):
        which = listed(f"{end[0]} is {task.labels[at]}" for end, at in zip(ends, classes, strict=False) if end)
        yield f"the numbers of {some(group)} are labels: {which}"


def _merged(group: Sequence[str], classes: Sequence[int], task: ClassTask) -> Iterable[str]:
    for at, label in enumerate(task.labels):
        same = [column for column, c in zip(group, classes, strict=False) if c == at]
        if len(same) > 1:
            yield f"the probabilities of {some(same)} add up to that of {label!r}"


def _both(
    columns: Columns, column: str, values: Floats, of: int, kind: Kind | str, task: ClassTask
) -> tuple[Floats, list[str]]:
    """(n, 2) scores of both labels from those of one, and what was understood."""
    if len(task.labels) != 2:
        raise DataError(
            f"{columns.origin}: one column of scores, {column!r}, is enough for two labels only "
            f"(the task has {len(task.labels)})"
        )
    if kind == "log-likelihoods":
        raise DataError(f"{columns.origin}: log-likelihoods need a column for each label (got {column!r} alone)")
    if kind == "probabilities":
        wrong = (values < 0) | (values > 1)
        if wrong.any():
            got = values[wrong.argmax()]
            raise DataError(
                f"{_place(columns, wrong)}: the column {column!r} holds probabilities, and must be between "
                f"0 and 1 (got {got:g})"
            )
        both, note = (1 - values, values), f"{column!r} is the probability of {task.labels[of]!r}"
    else:
        both, note = (np.zeros_like(values), values), f"{column!r} is a decision value: above 0 is {task.labels[of]!r}"
    return np.column_stack(both if of == 1 else both[::-1]), [note]


def outcomes(array: Any) -> tuple[Floats, Bools, Bools]:
    """(n,) the cells as numbers, truth values as 0 and 1; (n,) whether one says that there is no answer; (n,) whether
    one is neither, nor empty."""
    flat = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    silent = np.zeros(len(flat), bool)
    if pa.types.is_string(flat.type) or pa.types.is_large_string(flat.type):
        low = pc.utf8_lower(pc.utf8_trim_whitespace(flat))
        silent = filled(pc.is_in(low, of_texts(["[invalid]", "invalid"]).cast(low.type)), False)
        flat = pc.replace_substring_regex(pc.replace_substring_regex(low, "^true$", "1"), "^false$", "0")
    values, bad = numbers(flat)
    return values, silent, bad & ~silent


def of_outcomes(
    columns: Columns, column: str, name: str, scale: tuple[float, float] = UNIT, lower_is_better: bool = False
) -> Answers:
    """The outcomes that a column holds: what was right, and not what was said.

    Args:
        columns: the file.
        column: where they stand.
        name: of the model.
        scale: the worst and the best, which become 0 and 1.
        lower_is_better: it is the other way round.

    Raises:
        DataError: a cell is no number on the scale.
    """
    worst, best = scale
    values, silent, bad = outcomes(columns.cells[column])
    wrong = bad | (values < worst) | (values > best)
    if wrong.any():
        got = texts(columns.cells[column].slice(int(wrong.argmax()), 1))[0]
        hint = "" if scale != UNIT else "; `range` says what is worst and best"
        raise DataError(
            f"{_place(columns, wrong)}: the column {column!r} holds outcomes, and must be between {worst:g} and "
            f"{best:g} (got {got[:50]!r}){hint}"
        )
    values = (values - worst) / (best - worst)
    values = 1 - values if lower_is_better else values
    errors = np.isnan(values) & ~silent
    given = np.where(silent, 0.0, values)
    notes = [f"{count(int(errors.sum()), 'cell', 'is', 'are')} empty in {column!r}: errors"] if errors.any() else []
    state = np.where(silent, NO_ANSWER, np.where(errors, ERROR, ANSWERED)).astype(np.int8)
    return Answers(name, "outcomes", 0, given, state, False, tuple(notes))


def _number(columns: Columns, column: str) -> Floats:
    values, bad = numbers(columns.cells[column])
    if bad.any():
        got = texts(columns.cells[column].slice(int(bad.argmax()), 1))[0]
        raise DataError(f"{_place(columns, bad)}: the column {column!r} holds scores, and {got[:50]!r} is no number")
    return values


def _place(columns: Columns, wrong: Bools) -> str:
    return f"{columns.origin}, row {int(wrong.argmax()) + 1:,}"
