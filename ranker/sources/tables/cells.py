"""Parse the cells of a table as labels, scores of labels, or outcomes.

Axis letters: n rows, K columns of scores (several may belong to one label), C classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from factors.types import Bools, Floats, Ints
from ranker.datasets.mapping import candidate_label_maps, label_map_reading
from ranker.errors import Assumption, DataError, Question, UnknownName, listed
from ranker.files.arrow import fill_nulls, of_texts
from ranker.files.cells import cell_text
from ranker.sources.tables.base import NONE, UNIT, Columns, Kind, TableAnswerColumn, count, some, states
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER
from ranker.tasks.classes import ClassificationTask, softmax
from ranker.tasks.empty import INVALID, WORDS, is_blank, is_empty_word
from ranker.tasks.names import NameIndex, fold, with_numbers

SUM = 0.01 + 1e-9
"""Largest deviation of a sum of probabilities from 1, as rounding causes, of floats, too; they are divided by it."""

UNKNOWN = -2
"""Code of a cell that is no label of the task."""

READABLE = 0.5
"""Least share of a column's filled cells that must be labels of the task; the rest then counts as no answer."""

_NUMBERED = re.compile(r"label[_\- ]?([0-9]{1,6})", re.IGNORECASE)
_WHOLE = re.compile(r"([-+]?(?:0|[1-9][0-9]{0,5}))(?:\.0)?")
_TRUTHS = {"false": 0, "true": 1}  # as data frames write them
_NUMBER = r"(?i)^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^[+-]?(inf|infinity)$"
_COMMA = r"^[+-]?\d+,\d+$"
_PERCENT = r"^[+-]?\d+(\.\d+)? ?%$"


def whole_number(text: str) -> int | None:
    """Parse a whole number; "01" is a name, not a number.

    Example:
        >>> [whole_number(text) for text in ("1", "1.0", "-1", "True", "01", "1.5")]
        [1, 1, -1, 1, None, None]
    """
    number = _WHOLE.fullmatch(text)
    return int(number[1]) if number else _TRUTHS.get(text.casefold())


def label_number(text: str) -> int | None:
    """Parse a number that may stand for a label.

    Example:
        >>> [label_number(text) for text in ("LABEL_2", "label-2", "2.0", "two")]
        [2, 2, 2, None]
    """
    part = _NUMBERED.fullmatch(text)
    return int(part[1]) if part else whole_number(text)


class Labels:
    """Mapping of names and numbers in cells to labels of a task.

    Args:
        task: the labels.
        label_map: other names, or numbers, -> labels of the task.
        order: labels that 0, 1, ... stand for, as the file states; empty for the task's own order.
        words: treat words such as "N/A" as no answer, unless they are labels of the task.

    Raises:
        UnknownName: the map leads to no label of the task.

    Example:
        >>> labels = Labels(ClassificationTask("nli", ("non-entailment", "entailment")), {"neutral": "non-entailment"})
        >>> [labels.index(cell) for cell in ("Entailment", "neutral", "LABEL_1", 0, "N/A", None, "maybe")]
        [1, 0, 1, 0, -1, -1, -2]
    """

    def __init__(
        self,
        task: ClassificationTask,
        label_map: Mapping[str, str] | None = None,
        order: Sequence[str] = (),
        words: bool = True,
    ) -> None:
        self.task = task
        self.label_map = label_map or {}
        self.words = words
        self.has_stated_order = bool(order)
        for label in self.label_map.values():
            if task.index(label) is None:
                raise UnknownName("label of the task", label, task.labels)
        self._map = NameIndex((name, task.index(label) or 0) for name, label in self.label_map.items())
        self._order = tuple(order) or task.counted
        self._known: dict[Any, tuple[int, bool]] = {}
        names = [*task.labels, *(name for names in task.aliases.values() for name in names), *self.label_map]
        self._longest = 2 * max(map(len, names)) + 20  # with blanks; a longer text is no label, and not looked up

    def index(self, cell: Any) -> int:
        """Return the class of a cell; `NONE` for no answer, `UNKNOWN` if it is no label."""
        return self._lookup(cell)[0]

    def by_number(self, cells: Iterable[Any]) -> bool:
        """Return True if some cell is a number that only the order of the labels explains."""
        return any(self._lookup(cell)[1] for cell in cells)

    def of_column(self, columns: Columns, column: str) -> Labels:
        """Return labels whose numbers follow the order that a file states for a column, if it states one."""
        order = columns.names.get(column, ())
        return Labels(self.task, self.label_map, order, self.words) if order else self

    @property
    def listed(self) -> str:
        """The labels, with the numbers that stand for them."""
        return with_numbers(self._order) if self._order else listed(self.task.labels)

    @property
    def second(self) -> int | None:
        """Class of the second of two labels, which a single score is of; None if their order is not known."""
        return self.task.index(self._order[1]) if len(self._order) == len(self.task.labels) == 2 else None

    def _lookup(self, cell: Any) -> tuple[int, bool]:
        kind = (type(cell), cell)
        if kind not in self._known:
            self._known[kind] = (NONE, False) if is_blank(cell) else self._parse(cell_text(cell))
        return self._known[kind]

    def _parse(self, text: str) -> tuple[int, bool]:
        """Return the class of a text, and whether it is a number that only the order of the labels explains."""
        if len(text) > self._longest:
            return UNKNOWN, False
        number = label_number(text)
        if self.has_stated_order and number is not None:  # even if labels are named by numbers
            return self._class_of_number(number, text)
        for name in (text,) if number is None else (text, str(number)):
            for index in (self._map.find(name), self.task.index(name)):
                if index is not None:
                    return index, False
        if number is not None and 0 <= number < len(self._order):
            return self._class_of_number(number, text)
        nothing = text == INVALID or (self.words and is_empty_word(text))
        return NONE if nothing else UNKNOWN, False

    def _class_of_number(self, number: int, text: str) -> tuple[int, bool]:
        """Return the class at a number in the order; `datasets` writes -1 for a row without a label."""
        if number == -1 and self.has_stated_order:
            return NONE, False
        if mapped := [index for index in (self._map.find(text), self._map.find(str(number))) if index is not None]:
            return mapped[0], False
        name = self._order[number] if 0 <= number < len(self._order) else ""
        for index in (self._map.find(name), self.task.index(name)) if name else ():
            if index is not None:
                return index, True
        return UNKNOWN, False


def dictionary_codes(array: Any) -> tuple[list[Any], Ints]:
    """Return the distinct values of a column, and (n,) the index of each cell among them, -1 if empty or nan."""
    if pa.types.is_null(array.type):
        return [], np.full(len(array), -1)
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    return encoded.dictionary.to_pylist(), fill_nulls(encoded.indices, -1).astype(np.int64)


def distinct(array: Any) -> list[Any]:
    """Return the distinct values of a column, without empty ones and nan."""
    return [value for value in dictionary_codes(array)[0] if value is not None and value == value]


def texts(array: Any) -> list[str]:
    """Return (n,) the cells as text; "" if empty."""
    values, codes = dictionary_codes(array)
    names = ["" if value is None or value != value else cell_text(value) for value in values]
    return [names[code] if code >= 0 else "" for code in codes.tolist()]


def blanks_to_null(array: Any, words: Sequence[str] | None) -> Any:
    """Replace blank texts, and words that the user calls empty, by null."""
    values = array.dictionary if pa.types.is_dictionary(array.type) else array
    if not words and not is_text(values):
        return array
    empty = of_texts(["", *(words or ())])
    trimmed = pc.utf8_trim_whitespace(values) if is_text(values) else of_texts(texts(values))
    blank = fill_nulls(pc.is_in(trimmed, empty.cast(trimmed.type)), False)
    if not blank.any():
        return array
    if values is array:
        return pc.if_else(pa.array(blank), pa.nulls(1, array.type)[0], array)
    codes = fill_nulls(array.indices, -1)
    gone = pa.array(np.isin(codes, np.flatnonzero(blank)))
    return pc.if_else(gone, pa.nulls(1, values.type)[0], array.dictionary_decode()).dictionary_encode()


def is_text(array: Any) -> bool:
    """Return True if a column holds texts."""
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def numbers_of(columns: Columns, name: str) -> tuple[Floats, Bools]:
    """Return (n,) the cells of a column as `numbers` does.

    Texts that repeat in a dictionary are parsed once for the whole table, however many columns it has.
    """
    array = columns.cells[name]
    if not _is_text_dictionary(array):
        return numbers(array)
    values, bad = _dictionary_numbers(columns)[name]
    codes = fill_nulls(array.indices, -1)
    return values[codes], bad[codes]


def _is_text_dictionary(array: Any) -> bool:
    """Return True if a column is a dictionary of texts."""
    return bool(pa.types.is_dictionary(array.type)) and is_text(array)


def _dictionary_numbers(columns: Columns) -> Mapping[str, tuple[Floats, Bools]]:
    """Map each dictionary column to the `numbers` of its values, with an entry for null last."""
    key = "numbers of distinct texts"
    if key not in columns.worked_out:
        dictionaries = {name: array.dictionary for name, array in columns.cells.items() if _is_text_dictionary(array)}
        values, bad = numbers(pa.concat_arrays(list(dictionaries.values())))
        ends = np.cumsum([0, *map(len, dictionaries.values())])
        columns.worked_out[key] = {
            name: (np.append(values[low:high], np.nan), np.append(bad[low:high], False))
            for name, low, high in zip(dictionaries, ends[:-1], ends[1:], strict=True)
        }
    return cast("Mapping[str, tuple[Floats, Bools]]", columns.worked_out[key])


def numbers(array: Any) -> tuple[Floats, Bools]:
    """Return (n,) the cells as numbers, nan if empty or a word for empty, and (n,) True if a cell is neither."""
    flat = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    if pa.types.is_null(flat.type):
        return np.full(len(flat), np.nan), np.zeros(len(flat), bool)
    if not is_text(flat):
        return fill_nulls(flat.cast(pa.float64(), safe=False), np.nan), np.zeros(len(flat), bool)
    flat = pc.utf8_trim_whitespace(flat)
    empty = pc.is_in(pc.utf8_lower(flat), value_set=of_texts(["", *sorted(WORDS)]).cast(flat.type))
    flat = pc.if_else(empty, pa.nulls(1, flat.type)[0], flat)
    right = pc.match_substring_regex(flat, _NUMBER)  # null where the cell is
    bad = ~fill_nulls(right, True)
    values = pc.if_else(right, pc.replace_substring_regex(flat, r"^\+", ""), pa.nulls(1, flat.type)[0])
    return fill_nulls(values.cast(pa.float64()), np.nan), bad


def has_other_numbers(columns: Columns, name: str) -> bool:
    """Return True if a column holds only numbers, and some have a decimal comma, or the sign of percents."""
    array = columns.cells[name]
    if _is_text_dictionary(array) and not _dictionary_numbers(columns)[name][1].any():
        return False
    values = array.dictionary if pa.types.is_dictionary(array.type) else array
    if not is_text(values):
        return False
    unusual = pc.match_substring_regex(pc.utf8_trim_whitespace(values), f"{_COMMA}|{_PERCENT}")
    return bool(pc.any(unusual).as_py()) and not numbers(pc.filter(values, pc.invert(unusual)))[1].any()


def no_number(text: str) -> str:
    """Describe why a cell is no number.

    Example:
        >>> no_number("0,13"), no_number("13 %"), no_number("much")
        ("'0,13' has a decimal comma", "'13 %' is a percentage", "'much' is no number")
    """
    percent = "is a percentage" if re.fullmatch(_PERCENT, text) else "is no number"
    return f"{text[:50]!r} {'has a decimal comma' if re.fullmatch(_COMMA, text) else percent}"


def as_number(text: str) -> str:
    """Return how to write a number with a decimal comma, or the sign of percents.

    Example:
        >>> as_number("0,13"), as_number("13 %")
        ('0.13', '0.13')
    """
    return f"{float(text.rstrip('% ')) / 100:g}" if "%" in text else text.replace(",", ".")


def label_counts(columns: Columns, column: str) -> tuple[list[Any], Ints, Ints]:
    """Return the distinct values of a column, (n,) the index of each cell, -1 if empty, and the count of each value."""
    values, codes = dictionary_codes(columns.cells[column])
    if blank := [place for place, value in enumerate(values) if is_blank(value)]:
        codes = np.where(np.isin(codes, blank), -1, codes)
    return values, codes, np.bincount(codes + 1, minlength=len(values) + 1)[1:]


def read_label_column(columns: Columns, column: str, name: str, labels: Labels) -> TableAnswerColumn:
    """Read a column of labels as answers; a cell that is no label of the task is no answer, and counted in a note.

    Raises:
        DataError: fewer than half of the filled cells are labels of the task; or the others seem to be labels of
            another task: they repeat while a label of this one never occurs; or they are numbers beyond the order.
    """
    labels = labels.of_column(columns, column)
    values, codes, counts = label_counts(columns, column)
    class_codes = np.array([*map(labels.index, values)], dtype=np.int64)
    wrong = np.flatnonzero((class_codes == UNKNOWN) & (counts > 0))
    readable, unread = int(counts[class_codes >= 0].sum()), int(counts[wrong].sum())
    beyond = labels.by_number(values) and any(label_number(cell_text(values[place])) is not None for place in wrong)
    unsaid = len({*class_codes[(class_codes >= 0) & (counts > 0)].tolist()}) < len(labels.task.labels)
    # "neutral", again and again, where "non-entailment" never is
    strangers = unsaid and bool((counts[wrong] > 1).any())
    if unread and (beyond or strangers or readable < READABLE * (readable + unread)):
        raise _no_labels_error(columns, column, labels, [values[place] for place in wrong], "prediction")
    notes = list(silent_notes(columns, column, labels, "no answer"))
    if unread:
        examples = some(cell_text(values[place]) for place in wrong)
        verb = "is no label" if unread == 1 else "are no labels"
        notes.append(Assumption(f"{count(unread, 'cell', verb, verb)} in {column!r} ({examples}): no answer"))
    if labels.by_number(values):
        origin = ", as the file of the rows says" if labels.task.numbers and not labels.has_stated_order else ""
        note = f"the numbers in {column!r} are labels: {_numbers_of(values, labels)}{origin}"
        notes.append(note if labels.has_stated_order else Assumption(note))
    notes += _alike(values, column, labels)
    classes = len(labels.task.labels)
    code_of: Ints = np.array([*np.maximum(class_codes, NONE), NONE], np.int8 if classes <= 127 else np.int32)
    answers = code_of[codes]
    return TableAnswerColumn(name, "labels", classes, answers, states(answers >= 0, NO_ANSWER), tuple(notes))


def silent_notes(columns: Columns, column: str, labels: Labels, meaning: str) -> Iterable[str]:
    """Count the cells of a column of labels that are empty, and the words that say so."""
    labels = labels.of_column(columns, column)
    values, codes, counts = label_counts(columns, column)
    for value, many in zip(values, counts.tolist(), strict=True):
        if many and labels.index(value) == NONE:
            says = f"{count(many, 'cell', 'says', 'say')} {cell_text(value)!r} in {column!r}: {meaning}"
            yield says if cell_text(value) == INVALID else Assumption(says)
    if empty := int(((codes < 0) & ~_absent(columns, column)).sum()):
        yield f"{count(empty, 'cell', 'is', 'are')} empty in {column!r}: {meaning}"


def _alike(values: Sequence[Any], column: str, labels: Labels) -> Iterable[str]:
    """Report spellings of one label that differ in case or in other ignored signs."""
    spellings: dict[tuple[str, int], list[str]] = {}
    for text in dict.fromkeys(cell_text(value) for value in values if labels.index(value) >= 0):
        spellings.setdefault((fold(text), labels.index(text)), []).append(text)
    for names in spellings.values():
        if len(names) > 1:
            yield Assumption(f"{some(names)} in {column!r} are read as one label")


def _numbers_of(values: Sequence[Any], labels: Labels) -> str:
    readings = sorted({cell_text(value): labels.index(value) for value in values if labels.index(value) >= 0}.items())
    return ", ".join(f"{value} is {labels.task.labels[label]}" for value, label in readings[:5])


def label_codes(columns: Columns, column: str, labels: Labels) -> Ints:
    """Return (n,) the classes of a column of labels; `NONE` if empty, `UNKNOWN` for a cell that is no label."""
    values, codes, _ = label_counts(columns, column)
    labels = labels.of_column(columns, column)
    return np.array([*map(labels.index, values), NONE])[codes]


def true_label_codes(columns: Columns, column: str, labels: Labels) -> Ints:
    """Return (n,) the classes of a column of true labels; `NONE` if empty.

    Raises:
        DataError: a cell is no label of the task.
    """
    labels = labels.of_column(columns, column)
    codes = label_codes(columns, column, labels)
    if (codes == UNKNOWN).any():
        values, _, counts = label_counts(columns, column)
        wrong = [v for v, many in zip(values, counts, strict=True) if many and labels.index(v) == UNKNOWN]
        raise _no_labels_error(columns, column, labels, wrong, "truth")
    return codes


def _no_labels_error(columns: Columns, column: str, labels: Labels, wrong: Sequence[Any], role: str) -> DataError:
    """Return the error of cells that are no labels, in a column of a role, which is the option that names others."""
    verb, stands = ("is no label", "it stands") if len(wrong) == 1 else ("are no labels", "they stand")
    names = [cell_text(value) for value in wrong]
    problem = f"{some(names)} in the column {column!r} {verb} of the task ({labels.listed})"
    counted = len(names) == len(labels.task.labels) == 2 and {*map(label_number, names)} == {0, 1}
    maps = candidate_label_maps(labels.task.labels, names) if counted else []
    if len(maps) > 1:
        readings = [*map(label_map_reading, maps)]
        text = f"{problem}; only you know which is which: say {' or '.join(reading.answer for reading in readings)}"
        allowed = labels.task.labels
        return Question.at(columns.origin, text, option="label_map", value=names[0], allowed=allowed, readings=readings)
    advice = f"`label_map` says what {stands} for, `empty_words` which words are nothing, `{role}` another column"
    text = f"{problem}; {advice}"
    return DataError.at(columns.origin, text, option="label_map", value=names[0], allowed=labels.task.labels)


def read_score_columns(
    columns: Columns,
    group: Sequence[str],
    classes: Sequence[int],
    name: str,
    task: ClassificationTask,
    kind: Kind | str,
) -> TableAnswerColumn:
    """Read a group of (K,) columns of scores, of (K,) classes, as answers; kind "" is inferred.

    Raises:
        DataError: a cell is no number, or not of the kind.
    """
    scores = np.column_stack([_number(columns, column) for column in group])
    alone = len(group) == 1
    notes: list[str] = []
    if alone:
        scores, notes = _scores_of_both(columns, group[0], scores[:, 0], classes[0], kind, task)
        classes = (0, 1)
    broken = np.isnan(scores).any(axis=1)
    if kind in ("", "probabilities") and are_percents(scores[~broken]):
        scores = scores / 100
        notes.append(Assumption(f"{some(group)} add up to 100 and are read as percentages"))
    used_kind = kind or infer_score_kind(scores[~broken])
    place = f"{columns.origin}: {some(group)}"
    infinite = np.isposinf(scores) if used_kind == "log-likelihoods" else np.isinf(scores)
    if infinite.any():
        raise DataError.at(_place(columns, np.asarray(infinite.any(axis=1))), f"{some(group)} must be finite (got inf)")
    of_class = np.zeros((scores.shape[1], len(task.labels)))
    of_class[np.arange(scores.shape[1]), list(classes)] = 1
    probs = np.full((columns.size, len(task.labels)), np.nan)
    if used_kind == "probabilities":
        totals = _totals(scores)
        wrong = ~broken & ~((scores >= 0).all(axis=1) & (np.abs(totals - 1) <= SUM))
        if wrong.any():
            total = totals[wrong.argmax()]
            reason = f"are probabilities, and must be at least 0 and add up to 1 (got {total:.6g})"
            hint = "" if kind else "; if they are something else, `answers` says what"
            raise DataError.at(_place(columns, wrong), f"{some(group)} {reason}{hint}", option="answers", value=total)
        probs[~broken] = scores[~broken] @ of_class / totals[~broken, None]
    elif np.isneginf(scores).all(axis=1).any():
        raise DataError.at(place, "a row has no finite log-likelihood")
    else:
        probs[~broken] = softmax(scores[~broken]) @ of_class
    several = () if alone else group
    notes += [*_softmax_notes(used_kind, several), *_numbers_in(several, classes, task)]
    notes += _merged(group, classes, task)
    if empty := int((broken & ~_absent(columns, group[0])).sum()):
        notes.append(f"{count(empty, 'row', 'holds', 'hold')} no number in {some(group)}: errors")
    return TableAnswerColumn(name, used_kind, len(task.labels), probs, states(~broken, ERROR), tuple(notes))  # type: ignore[arg-type]  # one of them


def infer_score_kind(scores: Floats) -> Kind:
    """Infer the kind of (n, K) scores: all in [0, 1] are probabilities, none above 0 log-likelihoods, else logits.

    Example:
        >>> [infer_score_kind(np.array([row])) for row in ([0.2, 0.8], [-3.0, -9.0], [-1.0, 2.0])]
        ['probabilities', 'log-likelihoods', 'logits']
    """
    if ((scores >= 0) & (scores <= 1)).all():
        return "probabilities"
    return "log-likelihoods" if (scores <= 0).all() else "logits"


def are_percents(scores: Floats) -> bool:
    """Return True if (n, K) scores are at least 0 and add up to 100 in each row, but for rounding.

    Example:
        >>> are_percents(np.array([[20.4, 79.6], [99.9, 0.0]])), are_percents(np.array([[0.2, 0.8]]))
        (True, False)
    """
    return len(scores) > 0 and bool((scores >= 0).all() and (np.abs(_totals(scores) - 100) <= 100 * SUM).all())


def add_up(columns: Columns, group: Sequence[str]) -> bool:
    """Return True if some columns add up to 1, or as percentages to 100, in each row that is complete."""
    scores = np.column_stack([numbers_of(columns, name)[0] for name in group])
    scores = scores[~np.isnan(scores).any(axis=1)]
    return are_percents(scores) or are_percents(100 * scores)


def _totals(scores: Floats) -> Floats:
    """Return the (n,) sums of rows, infinite where they are too large; numpy would warn."""
    with np.errstate(over="ignore"):
        return np.asarray(scores.sum(axis=1))


def _softmax_notes(kind: str, group: Sequence[str]) -> Iterable[str]:
    if kind == "log-likelihoods":
        yield "log-likelihoods are converted to probabilities by softmax; these are not calibrated"
    elif group:
        suffix = ", made probabilities by softmax" if kind == "logits" else ""
        yield f"{some(group)} are {kind}{suffix}"


def _numbers_in(group: Sequence[str], classes: Sequence[int], task: ClassificationTask) -> Iterable[str]:
    """Report the labels of columns that are named by numbers."""
    ends = [re.search("[0-9]+$", column) for column in group]
    if group and all(ends) and all(task.index(end[0]) is None for end in ends if end):
        meanings = listed(f"{end[0]} is {task.labels[label]}" for end, label in zip(ends, classes, strict=False) if end)
        yield f"the numbers of {some(group)} are labels: {meanings}"


def _merged(group: Sequence[str], classes: Sequence[int], task: ClassificationTask) -> Iterable[str]:
    for index, label in enumerate(task.labels):
        same = [column for column, c in zip(group, classes, strict=False) if c == index]
        if len(same) > 1:
            yield f"the probabilities of {some(same)} add up to that of {label!r}"


def _scores_of_both(
    columns: Columns, column: str, values: Floats, label: int, kind: Kind | str, task: ClassificationTask
) -> tuple[Floats, list[str]]:
    """Return (n, 2) scores of both labels from those of one, and a note."""
    if len(task.labels) != 2:
        raise DataError.at(
            columns.origin,
            f"one column of scores, {column!r}, is enough for two labels only (the task has {len(task.labels)})",
            option=column,
            value=len(task.labels),
        )
    if kind == "log-likelihoods":
        raise DataError.at(
            columns.origin, f"log-likelihoods need a column for each label (got {column!r} alone)", option=column
        )
    if kind == "probabilities":
        wrong = (values < 0) | (values > 1)
        if wrong.any():
            got = values[wrong.argmax()]
            raise DataError.of_column(
                column,
                f"holds probabilities, and must be between 0 and 1 (got {got:g})",
                got,
                place=_place(columns, wrong),
                allowed=(0, 1),
            )
        pair, note = (1 - values, values), f"{column!r} is the probability of {task.labels[label]!r}"
    else:
        pair = np.zeros_like(values), values
        note = f"{column!r} is a decision value: above 0 is {task.labels[label]!r}"
    return np.column_stack(pair if label == 1 else pair[::-1]), [note]


def outcomes(array: Any) -> tuple[Floats, Bools, Bools]:
    """Return (n,) the cells as numbers, truth values as 0 and 1; (n,) True if a cell says that there is no answer; (n,)
    True if a cell is none of these and not empty.
    """
    flat = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    silent = np.zeros(len(flat), bool)
    if is_text(flat):
        low = pc.utf8_lower(pc.utf8_trim_whitespace(flat))
        silent = fill_nulls(pc.equal(low, INVALID), False)
        flat = pc.replace_substring_regex(pc.replace_substring_regex(low, "^true$", "1"), "^false$", "0")
    values, bad = numbers(flat)
    return values, silent, bad & ~silent


def read_outcome_column(
    columns: Columns, column: str, name: str, scale: tuple[float, float] = UNIT, lower_is_better: bool = False
) -> TableAnswerColumn:
    """Read a column of outcomes: what was right, not what was answered. The ends of the scale become 0 and 1.

    Raises:
        DataError: a cell is no number on the scale.
    """
    worst, best = scale
    values, silent, bad = outcomes(columns.cells[column])
    strange = texts(pc.filter(columns.cells[column], pa.array(bad)))
    wrong = (values < worst) | (values > best)
    # "error 429" is no outcome; "1,0" may be one
    wrong[bad] = [any(map(str.isnumeric, text)) and not any(map(str.isalpha, text)) for text in strange]
    if wrong.any():
        got = texts(columns.cells[column].slice(int(wrong.argmax()), 1))[0]
        hint = "" if scale != UNIT else "; `range` says what is worst and best"
        if scale != UNIT and values[wrong.argmax()] < worst:  # a judge that gave no mark may have written -1
            hint = f"; `empty_words={got[:50]}` if it is none"
        hint += ("," if hint else ";") + " `prediction` says which columns are to be read"
        raise DataError.of_column(
            column,
            f"holds outcomes, and must be between {worst:g} and {best:g} (got {got[:50]!r}){hint}",
            got,
            place=_place(columns, wrong),
            allowed=scale,
        )
    values = (values - worst) / (best - worst)
    values = 1 - values if lower_is_better else values
    errors = np.isnan(values) & ~silent
    answers = np.where(silent, 0.0, values)
    empty = int((errors & ~bad & ~_absent(columns, column)).sum())
    notes = [f"{count(empty, 'cell', 'is', 'are')} empty in {column!r}: errors"] if empty else []
    if strange:
        cells = count(len(strange), "cell", "is no outcome", "are no outcomes")
        notes.append(Assumption(f"{cells} in {column!r} ({some(dict.fromkeys(strange))}): errors"))
    state = np.where(silent, NO_ANSWER, np.where(errors, ERROR, ANSWERED)).astype(np.int8)
    return TableAnswerColumn(name, "outcomes", 0, answers, state, tuple(notes))


def _absent(columns: Columns, column: str) -> Bools:
    """Return (n,) True for the rows that do not name a column."""
    return np.asarray(columns.absent.get(column, np.zeros(columns.size, bool)))


def _number(columns: Columns, column: str) -> Floats:
    values, bad = numbers_of(columns, column)
    if bad.any():
        got = texts(columns.cells[column].slice(int(bad.argmax()), 1))[0]
        raise DataError.of_column(column, f"holds scores, and {no_number(got)}", got, place=_place(columns, bad))
    return values


def _place(columns: Columns, wrong: Bools) -> str:
    return f"{columns.origin}, row {int(wrong.argmax()) + 1:,}"
