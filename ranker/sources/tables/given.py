"""The labels that stand in a file, where no task is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ranker.datasets.mapping import check_alike
from ranker.errors import DataError, Question
from ranker.files.cells import cell_text
from ranker.sources.tables import names
from ranker.sources.tables.base import Columns, TableHints, some
from ranker.sources.tables.cells import SUM, distinct, has_decimal_commas, label_counts, numbers_of, whole_number
from ranker.sources.tables.groups import SIGN, SIGNS, listed
from ranker.sources.tables.keys import Keys, is_text
from ranker.tasks.classes import ClassificationTask
from ranker.tasks.empty import INVALID, ask, is_blank, is_empty_word
from ranker.tasks.names import NameIndex, fold

MOST_LABELS = 200
"""Distinct values of a column, up to which they may be the labels of a task that nobody has named."""

OUTCOMES = ClassificationTask("given", ("wrong", "right"))
"""The task of outcomes, where no other is named."""


class FileLabels(NamedTuple):
    """The labels that stand in a file, as written.

    Attributes:
        labels: in the order that somebody gave or counted them in, or of the alphabet.
        ordered: that order is no alphabet's.
        declared: the file, the names of columns or a label map name them. Else they are read off the cells, and a word
            for nothing among these may be a label: see `check_words`.
    """

    labels: tuple[str, ...]
    ordered: bool
    declared: bool


def file_labels(columns: Columns, said: TableHints, keys: Keys) -> FileLabels:
    """Collect the labels that stand in a file: those of the truth, else of the answers, else of the columns' names.

    Raises:
        DataError: there are none, or too many; or two that may be one.
    """
    rest = [name for name in columns.cells if name not in keys.columns]
    scores = listed(columns)  # numbers of a list are scores, even if they are whole
    whole = [
        name
        for name in rest
        if not (names.holds_numbers(columns, name) and (name in scores or names.has_fractions(columns, name)))
        and not has_decimal_commas(columns, name)
    ]
    coded = {name: _values(columns, name, said) for name in whole if str(columns.cells[name].type).startswith("dict")}
    few = {name: values for name, values in coded.items() if len(values) <= MOST_LABELS}
    true = [said.truth] if said.truth else [name for name in few if names.is_true(name)]
    answers = [name for name in few if name in said.prediction or names.is_prediction(name)]
    texts_of = [name for name in few if is_text(columns.cells[name])]
    after = _named_after(columns, rest)
    for where in (true, answers, texts_of, list(few)):
        stated = next((columns.names[name] for name in where if name in columns.names), ())
        values = _mapped(dict.fromkeys(value for name in where for value in few.get(name, ())), said)
        found = stated or _in_order(values)
        if len(found) > 1 and not (found[0] == "0" and len(after) == len(found)):
            if not stated:
                check_alike(columns.origin, some(where), (v for v in values if v not in said.label_map.values()))
            named = {*map(fold, found)} <= {fold(end) for name in rest for end in _ends(columns, name)}
            ordered = bool(stated) or found[0].isdecimal()
            return FileLabels(tuple(found), ordered, bool(stated or said.label_map or named))
        check_words(columns, [name for name in where if name in true or name in answers], said)
    if len(after) > 1:
        return FileLabels(after, ordered=True, declared=True)
    check_words(columns, few, said)
    hint = next((f"; {comma}" for comma in names.decimal_commas(columns, rest)), "")
    raise DataError(
        f"{columns.origin}: no labels of a task are found (columns: {some(columns.cells, 10)}); name the "
        f"task, or say with `truth` which column holds them{hint}"
    )


def _ends(columns: Columns, name: str) -> list[str]:
    """What a column of numbers may be named for: its name, and what stands behind each sign in it."""
    cuts = [0, *(sign.end() for sign in SIGN.finditer(name))][-SIGNS:] if names.holds_numbers(columns, name) else []
    return [name[cut:] for cut in cuts]


def check_words(columns: Columns, among: Iterable[str], said: TableHints) -> None:
    """Refuse words for nothing in columns of labels that nobody has declared: they may be labels.

    Raises:
        Question: there is one, and it is not said which words are nothing.
    """
    for name in among if said.empty_words is None else ():
        values, _, counts = label_counts(columns, name)
        every = zip(map(str, values), counts.tolist(), strict=True)
        if words := {text.strip(): many for text, many in every if many and is_empty_word(text)}:
            raise Question(ask(columns.origin, name, words))


def _named_after(columns: Columns, rest: Sequence[str]) -> tuple[str, ...]:
    """The labels that columns of scores are named for: ``model/label`` of most models, or all columns, if no other."""
    scores = [name for name in rest if names.holds_numbers(columns, name)]
    parts: dict[str, list[str]] = {}
    for name in scores:
        before, sign, part = name.rpartition("/")
        if sign and part and not part.isdecimal():
            parts.setdefault(before, []).append(part)
    several = Counter(tuple(found) for found in parts.values() if len(found) > 1)
    if several:
        return several.most_common(1)[0][0]
    alike = len(scores) == len(rest) > 1 and not parts and not listed(columns)
    sums = sum(numbers_of(columns, name)[0] for name in scores) if alike else np.zeros(1)
    return tuple(rest) if alike and bool((np.abs(sums - 1) <= SUM).all()) else ()


def _values(columns: Columns, name: str, said: TableHints) -> list[str]:
    """The distinct cells of a column that may be labels."""
    values = (cell_text(value) for value in distinct(columns.cells[name]) if not is_blank(value))
    unsaid = said.empty_words is None
    return [text for text in values if text != INVALID and not (unsaid and is_empty_word(text))]


def _mapped(values: Iterable[str], said: TableHints) -> list[str]:
    """The labels that values stand for, each once, where a label map says it; a map decides what else it may be."""
    targets = list(said.label_map.values())
    names_of = NameIndex((name, at) for at, name in enumerate(said.label_map))
    found: dict[str, None] = {}
    mapped: dict[str, None] = {}
    for value in values:
        at = names_of.find(value)
        mapped |= {} if at is None else {targets[at]: None}
        found |= {value: None} if at is None else {}
    known = {fold(value) for value in found}
    return [*found, *(label for label in mapped if label not in found and fold(label) not in known)]


def _in_order(values: Sequence[str]) -> Sequence[str]:
    numbers_of = [whole_number(value) for value in values]
    whole = [n for n, value in zip(numbers_of, values, strict=True) if n is not None and value[:1].isdigit()]
    if values and len(whole) == len(values):
        if 0 not in whole:  # they count no labels from 0: none is made that nobody says
            return tuple(map(str, sorted({*whole})))
        return tuple(map(str, range(max(whole) + 1))) if max(whole) < MOST_LABELS else ()
    return sorted(values, key=lambda value: (value.casefold(), value))
