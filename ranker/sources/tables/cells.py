"""What the cells of a table mean: labels, scores of labels, or outcomes.

Axis letters: n rows, K columns of scores (several may be of one label), C classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from factors.types import Bools, Floats, Ints
from ranker.errors import Assumption, DataError, UnknownName, listed
from ranker.files.arrow import filled, of_texts
from ranker.files.cells import cell_text
from ranker.sources.tables.base import NONE, UNIT, Columns, Kind, TableAnswerColumn, count, some, states
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER
from ranker.tasks.classes import ClassificationTask, softmax
from ranker.tasks.empty import INVALID, WORDS, is_blank, is_empty_word
from ranker.tasks.names import NameIndex, fold, with_numbers

SUM = 0.01
"""How far from 1 probabilities may add up, as rounded ones do; they are divided by their sum."""

UNKNOWN = -2
"""The number of a cell that is no label."""

READABLE = 0.5
"""The part of a column's filled cells that must be labels of the task for the others to count as no answer."""

_NUMBERED = re.compile(r"label[_\- ]?([0-9]{1,6})", re.IGNORECASE)
_WHOLE = re.compile(r"([-+]?(?:0|[1-9][0-9]{0,5}))(?:\.0)?")
_TRUTHS = {"false": 0, "true": 1}  # as data frames write them
_NUMBER = r"(?i)^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^[+-]?(inf|infinity)$"
_COMMA = r"^[+-]?\d+,\d+$"
_SHARE = r"^\+?(\d+\.?\d*|\.\d+) ?%$"


def whole_number(text: str) -> int | None:
    """The whole number that a text says; "01" is a name, and no number.

    Example:
        >>> [whole_number(text) for text in ("1", "1.0", "-1", "True", "01", "1.5")]
        [1, 1, -1, 1, None, None]
    """
    number = _WHOLE.fullmatch(text)
    return int(number[1]) if number else _TRUTHS.get(text.casefold())


class Labels:
    """What names and numbers stand for.

    Args:
        task: the labels.
        label_map: other names, or numbers, -> labels of the task.
        order: the labels that 0, 1, ... stand for, as the file states it; empty: the task's own order.
        words: words for nothing are no answers, unless the task has them as labels.

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
        self.given = label_map or {}
        self.words = words
        self.stated = bool(order)
        for label in self.given.values():
            if task.index(label) is None:
                raise UnknownName("label of the task", label, task.labels)
        self._map = NameIndex((name, task.index(label) or 0) for name, label in self.given.items())
        known = task.ordered or len(task.labels) == 2  # of two, no is before yes, and negative before positive
        counted_on = known and not any(map(_WHOLE.fullmatch, task.labels))  # the number 1 is not the second of 1 and 2
        self._order = order or (task.labels if counted_on else ())
        self._known: dict[Any, tuple[int, bool]] = {}
        names = [*task.labels, *(name for names in task.aliases.values() for name in names), *self.given]
        self._longest = 2 * max(map(len, names)) + 20  # with blanks; a longer text is no label, and not looked up

    def index(self, cell: Any) -> int:
        """The class of a cell; `NONE` where it says that there is no answer, `UNKNOWN` where it is no label."""
        return self._found(cell)[0]

    def by_number(self, cells: Iterable[Any]) -> bool:
        """Whether labels are given as numbers that only their order explains."""
        return any(self._found(cell)[1] for cell in cells)

    def with_order(self, order: Sequence[str]) -> Labels:
        """The same, with numbers read as a file states them, if it does."""
        return Labels(self.task, self.given, order, self.words) if order else self

    def _found(self, cell: Any) -> tuple[int, bool]:
        kind = (type(cell), cell)
        if kind not in self._known:
            self._known[kind] = (NONE, False) if is_blank(cell) else self._read(cell_text(cell))
        return self._known[kind]

    def _read(self, text: str) -> tuple[int, bool]:
        """The class of a text, and whether it is a number that only the order of the labels explains."""
        if len(text) > self._longest:
            return UNKNOWN, False
        part = _NUMBERED.fullmatch(text)
        number = int(part[1]) if part else whole_number(text)
        if self.stated and number is not None:  # the file says what its numbers are, whatever labels are called
            return self._at(number, text)
        for name in (text,) if number is None else (text, str(number)):
            for known in (self._map.find(name), self.task.index(name)):
                if known is not None:
                    return known, False
        if number is not None and 0 <= number < len(self._order):
            return self._at(number, text)
        nothing = text == INVALID or (self.words and is_empty_word(text))
        return NONE if nothing else UNKNOWN, False

    def _at(self, number: int, text: str) -> tuple[int, bool]:
        """The class that a number is of in the order; -1 is how `datasets` writes that a row has none."""
        if number == -1 and self.stated:
            return NONE, False
        if mapped := [at for at in (self._map.find(text), self._map.find(str(number))) if at is not None]:
            return mapped[0], False
        name = self._order[number] if 0 <= number < len(self._order) else ""
        known = next((at for at in (self._map.find(name), self.task.index(name)) if name and at is not None), None)
        return (UNKNOWN, False) if known is None else (known, True)


def dictionary_codes(array: Any) -> tuple[list[Any], Ints]:
    """The distinct values of a column, and (n,) which of them each cell is, -1 where it is empty or nan."""
    if pa.types.is_null(array.type):
        return [], np.full(len(array), -1)
    found = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    return found.dictionary.to_pylist(), filled(found.indices, -1).astype(np.int64)


def distinct(array: Any) -> list[Any]:
    """The distinct values of a column, without those that are empty or nan."""
    if pa.types.is_dictionary(array.type):
        values = array.dictionary.to_pylist()
    else:
        values = [] if pa.types.is_null(array.type) else pc.unique(array).to_pylist()
    return [value for value in values if value is not None and value == value]


def texts(array: Any) -> list[str]:
    """(n,) the cells as text; "" where one is empty."""
    values, codes = dictionary_codes(array)
    names = ["" if value is None or value != value else cell_text(value) for value in values]
    return [names[code] if code >= 0 else "" for code in codes.tolist()]


def emptied(array: Any, words: Sequence[str] | None) -> Any:
    """A column without blank texts, and without words for nothing that somebody named."""
    values = array.dictionary if pa.types.is_dictionary(array.type) else array
    if not words and not _is_text(values.type):
        return array
    empty = of_texts(["", *(words or ())])
    trimmed = pc.utf8_trim_whitespace(values) if _is_text(values.type) else of_texts(texts(values))
    blank = filled(pc.is_in(trimmed, empty.cast(trimmed.type)), False)
    if not blank.any():
        return array
    if values is array:
        return pc.if_else(pa.array(blank), pa.nulls(1, array.type)[0], array)
    codes = filled(array.indices, -1)
    gone = pa.array(np.isin(codes, np.flatnonzero(blank)))
    return pc.if_else(gone, pa.nulls(1, values.type)[0], array.dictionary_decode()).dictionary_encode()


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def numbers_of(columns: Columns, name: str, first: int | None = None) -> tuple[Floats, Bools]:
    """(n,) the cells of a column as `numbers` has them, or so many of them.

    Texts that stand in several columns, or cells, are read once for the whole table, however many columns it has.
    """
    array = columns.cells[name] if first is None else columns.cells[name].slice(0, first)
    if not _is_kept_once(array):
        return numbers(array)
    values, bad = _of_distinct(columns)[name]
    codes = filled(array.indices, -1)
    return values[codes], bad[codes]


def _is_kept_once(array: Any) -> bool:
    """Whether a column is of texts of which each is kept once."""
    return bool(pa.types.is_dictionary(array.type)) and _is_text(array.type.value_type)


def _of_distinct(columns: Columns) -> Mapping[str, tuple[Floats, Bools]]:
    """Column of texts that are kept once each -> their numbers, and whether they are none; the last is of no text."""
    key = "numbers of distinct texts"
    if key not in columns.worked_out:
        kept = {name: array.dictionary for name, array in columns.cells.items() if _is_kept_once(array)}
        values, bad = numbers(pa.concat_arrays(list(kept.values())), shares=False)
        ends = np.cumsum([0, *map(len, kept.values())])
        found: dict[str, tuple[Floats, Bools]] = {}
        for name, low, high in zip(kept, ends[:-1], ends[1:], strict=True):
            of_column = values[low:high], bad[low:high]
            if of_column[1].any() and are_shares(kept[name]):
                of_column = numbers(kept[name])
            found[name] = np.append(of_column[0], np.nan), np.append(of_column[1], False)
        columns.worked_out[key] = found
    return cast("Mapping[str, tuple[Floats, Bools]]", columns.worked_out[key])


def numbers(array: Any, shares: bool = True) -> tuple[Floats, Bools]:
    """(n,) the cells as numbers, nan where one is empty or a word for nothing; (n,) whether one is neither.

    A column in which all cells end in "%" holds shares of 100, unless it is said that it holds none.
    """
    flat = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    if pa.types.is_null(flat.type):
        return np.full(len(flat), np.nan), np.zeros(len(flat), bool)
    if not _is_text(flat.type):
        return filled(flat.cast(pa.float64(), safe=False), np.nan), np.zeros(len(flat), bool)
    flat = pc.utf8_trim_whitespace(flat)
    empty = pc.is_in(pc.utf8_lower(flat), value_set=of_texts(["", *sorted(WORDS)]).cast(flat.type))
    flat = pc.if_else(empty, pa.nulls(1, flat.type)[0], flat)
    shares = shares and flat.null_count < len(flat) and pc.all(pc.match_substring_regex(flat, _SHARE)).as_py()
    flat = pc.replace_substring_regex(flat, " ?%$", "") if shares else flat
    right = pc.match_substring_regex(flat, _NUMBER)  # null where the cell is
    bad = ~filled(right, True)
    values = pc.if_else(right, pc.replace_substring_regex(flat, r"^\+", ""), pa.nulls(1, flat.type)[0])
    return filled(values.cast(pa.float64()), np.nan) / (100 if shares else 1), bad


def are_shares(array: Any) -> bool:
    """Whether a column holds nothing but percents with their sign."""
    values = array.dictionary if pa.types.is_dictionary(array.type) else array
    if not _is_text(values.type) or values.null_count == len(values):
        return False
    return bool(pc.all(pc.match_substring_regex(pc.utf8_trim_whitespace(values), _SHARE)).as_py())


def has_decimal_commas(columns: Columns, name: str) -> bool:
    """Whether a column holds nothing but numbers, some of them with a decimal comma."""
    array = columns.cells[name]
    if _is_kept_once(array) and not _of_distinct(columns)[name][1].any():
        return False
    values = array.dictionary if pa.types.is_dictionary(array.type) else array
    if not _is_text(values.type):
        return False
    commas = pc.match_substring_regex(pc.utf8_trim_whitespace(values), _COMMA)
    return bool(pc.any(commas).as_py()) and not numbers(pc.filter(values, pc.invert(commas)))[1].any()


def no_number(text: str) -> str:
    """What is wrong with a cell that should be a number.

    Example:
        >>> no_number("0,13"), no_number("much")
        ("'0,13' has a decimal comma", "'much' is no number")
    """
    return f"{text[:50]!r} {'has a decimal comma' if re.fullmatch(_COMMA, text) else 'is no number'}"


def label_counts(columns: Columns, column: str) -> tuple[list[Any], Ints, Ints]:
    """The distinct values of a column, (n,) which of them each cell is, -1 where it is empty, and how often each is."""
    values, at = dictionary_codes(columns.cells[column])
    at = np.where(np.isin(at, [place for place, value in enumerate(values) if is_blank(value)]), -1, at)
    return values, at, np.bincount(at[at >= 0], minlength=len(values))


def of_labels(columns: Columns, column: str, name: str, labels: Labels) -> TableAnswerColumn:
    """The answers of a column of labels; a cell that is no label of the task is no answer, and counted in a note.

    Raises:
        DataError: less than half of the filled cells are labels of the task; or others seem to be labels of another
            task: they repeat, and a label of this one is never said; or are numbers beyond the order of the labels.
    """
    values, _, counts = label_counts(columns, column)
    known = np.array([*map(labels.index, values), NONE])
    codes = codes_of(columns, column, labels)
    wrong = np.flatnonzero((known[:-1] == UNKNOWN) & (counts > 0))
    readable, unread = int((codes >= 0).sum()), int((codes == UNKNOWN).sum())
    beyond = labels.by_number(values) and any(whole_number(cell_text(values[place])) is not None for place in wrong)
    unsaid = len({*codes[codes >= 0].tolist()}) < len(labels.task.labels)
    others = unsaid and bool((counts[wrong] > 1).any())  # "neutral", again and again, where "non-entailment" never is
    if unread and (beyond or others or readable < READABLE * (readable + unread)):
        raise DataError(_no_labels(columns, column, labels, [values[place] for place in wrong]))
    notes = list(silent_notes(columns, column, labels, "no answer"))
    if unread:
        shown = some(cell_text(values[place]) for place in wrong)
        verb = "is no label" if unread == 1 else "are no labels"
        notes.append(Assumption(f"{count(unread, 'cell', verb, verb)} in {column!r} ({shown}): no answer"))
    if labels.by_number(values):
        note = f"the numbers in {column!r} are labels: {_numbers_of(values, labels)}"
        notes.append(note if labels.stated else Assumption(note))
    notes += _alike(values, column, labels)
    classes = len(labels.task.labels)
    kept = np.maximum(codes, NONE).astype(np.int8 if classes <= 127 else np.int32)
    return TableAnswerColumn(name, "labels", classes, kept, states(codes >= 0, NO_ANSWER), True, tuple(notes))


def silent_notes(columns: Columns, column: str, labels: Labels, what: str) -> Iterable[str]:
    """How many cells of a column of labels say nothing, and by which words."""
    values, at, counts = label_counts(columns, column)
    for value, many in zip(values, counts.tolist(), strict=True):
        if many and labels.index(value) == NONE:
            says = f"{count(many, 'cell', 'says', 'say')} {cell_text(value)!r} in {column!r}: {what}"
            yield says if cell_text(value) == INVALID else Assumption(says)
    there = ~columns.absent[column] if column in columns.absent else True
    if empty := int(((at < 0) & there).sum()):
        yield f"{count(empty, 'cell', 'is', 'are')} empty in {column!r}: {what}"


def _alike(values: Sequence[Any], column: str, labels: Labels) -> Iterable[str]:
    """Names of one label that differ in case, or in what else is left out of account."""
    spellings: dict[tuple[str, int], list[str]] = {}
    for text in dict.fromkeys(cell_text(value) for value in values if labels.index(value) >= 0):
        spellings.setdefault((fold(text), labels.index(text)), []).append(text)
    for names in spellings.values():
        if len(names) > 1:
            yield Assumption(f"{some(names)} in {column!r} are read as one label")


def _numbers_of(values: Sequence[Any], labels: Labels) -> str:
    said = sorted({cell_text(value): labels.index(value) for value in values if labels.index(value) >= 0}.items())
    return ", ".join(f"{value} is {labels.task.labels[at]}" for value, at in said[:5])


def codes_of(columns: Columns, column: str, labels: Labels) -> Ints:
    """(n,) the classes of a column of labels, `NONE` where there is none and `UNKNOWN` where a cell is no label."""
    values, at, _ = label_counts(columns, column)
    return np.array([*map(labels.index, values), NONE])[at]


def labels_of(columns: Columns, column: str, labels: Labels) -> Ints:
    """(n,) the classes of a column of true labels, `NONE` where there is none.

    Raises:
        DataError: a cell is no label of the task.
    """
    codes = codes_of(columns, column, labels)
    if (codes == UNKNOWN).any():
        values, _, counts = label_counts(columns, column)
        wrong = [v for v, many in zip(values, counts, strict=True) if many and labels.index(v) == UNKNOWN]
        raise DataError(_no_labels(columns, column, labels, wrong))
    return codes


def _no_labels(columns: Columns, column: str, labels: Labels, wrong: Sequence[Any]) -> str:
    verb, stands = ("is no label", "it stands") if len(wrong) == 1 else ("are no labels", "they stand")
    return (
        f"{columns.origin}: {some(map(cell_text, wrong))} in the column {column!r} {verb} of the task "
        f"({with_numbers(labels.task.labels)}); `label_map` says what {stands} for, `empty_words` which words "
        "are nothing"
    )


def of_scores(
    columns: Columns,
    group: Sequence[str],
    classes: Sequence[int],
    name: str,
    task: ClassificationTask,
    kind: Kind | str,
) -> TableAnswerColumn:
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
    if any(are_shares(columns.cells[column]) for column in group):
        notes.append(f"{some(group)} are percents, as their signs say")
    if kind in ("", "probabilities") and are_percents(scores[~broken]):
        scores = scores / 100
        notes.append(Assumption(f"{some(group)} add up to 100 and are read as percents"))
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
    return TableAnswerColumn(name, found, len(task.labels), probs, states(~broken, ERROR), hard, tuple(notes))  # type: ignore[arg-type]  # one of them


def kind_of(scores: Floats) -> Kind:
    """What (n, K) scores are: those in [0, 1] are probabilities, those that are never above 0 log-likelihoods.

    Example:
        >>> kind_of(np.array([[0.2, 0.8]])), kind_of(np.array([[-3.0, -9.0]])), kind_of(np.array([[-1.0, 2.0]]))
        ('probabilities', 'log-likelihoods', 'logits')
    """
    if ((scores >= 0) & (scores <= 1)).all():
        return "probabilities"
    return "log-likelihoods" if (scores <= 0).all() else "logits"


def are_percents(scores: Floats) -> bool:
    """Whether (n, K) scores are percents: those of each row are at least 0, and add up to 100 but for rounding.

    Example:
        >>> are_percents(np.array([[20.4, 79.6], [99.9, 0.0]])), are_percents(np.array([[0.2, 0.8]]))
        (True, False)
    """
    return len(scores) > 0 and bool((scores >= 0).all() and (np.abs(scores.sum(axis=1) - 100) <= 100 * SUM).all())


def _said(kind: str, group: Sequence[str]) -> Iterable[str]:
    if kind == "log-likelihoods":
        yield "log-likelihoods are made probabilities by softmax; they are not calibrated"
    elif group:
        how = ", made probabilities by softmax" if kind == "logits" else ""
        yield f"{some(group)} are {kind}{how}"


def _numbers_in(group: Sequence[str], classes: Sequence[int], task: ClassificationTask) -> Iterable[str]:
    """Which labels columns are of that are named by numbers."""
    ends = [re.search("[0-9]+$", column) for column in group]
    if group and all(ends) and all(task.index(end[0]) is None for end in ends if end):
        which = listed(f"{end[0]} is {task.labels[at]}" for end, at in zip(ends, classes, strict=False) if end)
        yield f"the numbers of {some(group)} are labels: {which}"


def _merged(group: Sequence[str], classes: Sequence[int], task: ClassificationTask) -> Iterable[str]:
    for at, label in enumerate(task.labels):
        same = [column for column, c in zip(group, classes, strict=False) if c == at]
        if len(same) > 1:
            yield f"the probabilities of {some(same)} add up to that of {label!r}"


def _both(
    columns: Columns, column: str, values: Floats, of: int, kind: Kind | str, task: ClassificationTask
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
        silent = filled(pc.equal(low, INVALID), False)
        flat = pc.replace_substring_regex(pc.replace_substring_regex(low, "^true$", "1"), "^false$", "0")
    values, bad = numbers(flat)
    return values, silent, bad & ~silent


def of_outcomes(
    columns: Columns, column: str, name: str, scale: tuple[float, float] = UNIT, lower_is_better: bool = False
) -> TableAnswerColumn:
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
    return TableAnswerColumn(name, "outcomes", 0, given, state, False, tuple(notes))


def _number(columns: Columns, column: str) -> Floats:
    values, bad = numbers_of(columns, column)
    if bad.any():
        got = texts(columns.cells[column].slice(int(bad.argmax()), 1))[0]
        raise DataError(f"{_place(columns, bad)}: the column {column!r} holds scores, and {no_number(got)}")
    return values


def _place(columns: Columns, wrong: Bools) -> str:
    return f"{columns.origin}, row {int(wrong.argmax()) + 1:,}"
