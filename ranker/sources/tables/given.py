"""Infer the labels of a file for which no task is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from ranker.datasets.mapping import check_spellings, number_in
from ranker.errors import DataError
from ranker.files.cells import cell_text
from ranker.sources.tables import names
from ranker.sources.tables.base import Columns, TableHints, some
from ranker.sources.tables.cells import (
    READABLE,
    add_up,
    distinct,
    has_other_numbers,
    is_text,
    label_counts,
    whole_number,
)
from ranker.sources.tables.groups import SIGN, SIGNS, cuts, nested_columns
from ranker.sources.tables.keys import Keys
from ranker.tasks.classes import ClassificationTask
from ranker.tasks.empty import INVALID, empty_word_question, is_blank, is_empty_word, unlabelled_words
from ranker.tasks.names import NameIndex, fold, number_of, spelled

MAX_INFERRED_LABELS = 200
"""Most distinct values of a column that may be the labels of an unnamed task; more are free text or numbers."""

OUTCOMES = ClassificationTask("given", ("wrong", "right"))
"""Task of a file of outcomes for which no other is named."""


def file_labels(columns: Columns, hints: TableHints, keys: Keys) -> tuple[ClassificationTask, bool]:
    """Collect the labels of a file, as written, from the truth, else the answers, else the column names.

    The flag says that the file, the column names or a label map name the labels. Otherwise they are read from the
    cells, and an empty word among them may be a label: see `check_words`.

    Raises:
        DataError: there are none, or too many.
    """
    free = [name for name in columns.cells if name not in keys.columns]
    scores = nested_columns(columns)  # numbers of a list are scores, even if they are whole
    numeric = [name for name in free if names.holds_numbers(columns, name)]
    usable = [
        name
        for name in free
        if not (names.holds_numbers(columns, name) and (name in scores or names.has_fractions(columns, name)))
        and not has_other_numbers(columns, name)
    ]
    coded = {name: _values(columns, name, hints) for name in usable if str(columns.cells[name].type).startswith("dict")}
    few = {name: values for name, values in coded.items() if len(values) <= MAX_INFERRED_LABELS}
    true = [hints.truth] if hints.truth else [name for name in few if names.is_true(name)]
    answers = [name for name in few if name in hints.prediction or names.is_prediction(name)]
    repeating = [  # a remark hardly does
        name for name, values in few.items() if len(values) <= READABLE * int(label_counts(columns, name)[2].sum())
    ]
    if not repeating and not any(name in scores or names.has_fractions(columns, name) for name in numeric):
        repeating = list(few)
    texts_of = [name for name in repeating if is_text(columns.cells[name])]
    targets = _targets(_named_after(columns, free, hints), hints)
    after = tuple(dict.fromkeys(spelled(label or end) for end, label in targets.items()))
    spellings = (
        [text for name in free for text in (*_ends(columns, name), *few.get(name, ()))] if hints.label_map else []
    )
    declared = [text for text, label in _targets(spellings, hints).items() if label and not text.isdecimal()]
    for candidates in (true, answers, texts_of, repeating):
        stated = next((columns.names[name] for name in candidates if name in columns.names), ())
        values = [value for name in candidates for value in few.get(name, ())]
        values = _mapped([*values, *(declared if values else ())], hints)
        labels = stated or _in_order(values)
        if len(labels) > 1 and not (labels[0] == "0" and len(after) == len(labels)):
            if not stated:
                check_spellings(
                    columns.origin, some(candidates), (v for v in values if v not in hints.label_map.values())
                )
            named_labels = {*map(fold, labels)} <= {fold(end) for name in free for end in _ends(columns, name)}
            task = ClassificationTask("given", tuple(labels), ordered=bool(stated) or labels[0].isdecimal())
            return task, bool(stated or hints.label_map or named_labels)
        check_words(columns, [name for name in candidates if name in true or name in answers], hints)
    if len(after) > 1:
        return ClassificationTask("given", after), True
    check_words(columns, few, hints)
    hint = next((f"; {problem}" for problem in names.other_numbers(columns, free)), "")
    numbers = hints.truth in numeric if hints.truth else len(numeric) > 1
    advice = "name the task" + ", beside `data` `task=number` if answers are numbers" * numbers
    column = "" if hints.truth else ", or say with `truth` which column holds them"
    raise DataError.at(
        columns.origin,
        f"no labels of a task are found (columns: {some(columns.cells, 10)}); {advice}{column}{hint}",
        option="truth",
    )


def truth_in_words_of(columns: Columns, hints: TableHints) -> str:
    """Return the column of the truth; where it is not stated, the twin of the usual one that has the answers' labels.

    A file may have the truth and the answers as numbers and as names, and the user name one column of answers.
    """
    if hints.truth or not hints.prediction:
        return hints.truth
    answers = {value for name in hints.prediction if name in columns.cells for value in _values(columns, name, hints)}
    for usual in filter(names.is_true, columns.cells):
        if not answers <= {*_values(columns, usual, hints)}:
            twins = (name for name in columns.cells if names.are_twins(columns, usual, name))
            return next((name for name in twins if answers <= {*_values(columns, name, hints)}), "")
    return ""


def has_mapped_names(columns: Columns, label_map: Mapping[str, str]) -> bool:
    """Return True if a label map names a cell, a label of the file's metadata, or the end of a score column's name."""
    few = [array for array in columns.cells.values() if str(array.type).startswith(("dict", "int", "uint", "bool"))]
    cells = {cell_text(value) for array in few for value in distinct(array)}
    texts = {
        *cells,
        *(end for name in columns.cells for end in _ends(columns, name)),
        *chain(*columns.names.values()),
    }
    numbers = {str(n) for text in texts for n in (number_in(text), number_of(text)) if n is not None}
    names_of = NameIndex((name, 0) for name in label_map)
    return any(names_of.find(text) is not None for text in texts | numbers)


def _ends(columns: Columns, name: str) -> list[str]:
    """List what a numeric column may be named for: its name, and what follows each sign in it."""
    cuts = [0, *(sign.end() for sign in SIGN.finditer(name))][-SIGNS:] if names.holds_numbers(columns, name) else []
    return [name[cut:] for cut in cuts]


def check_words(columns: Columns, among: Iterable[str], hints: TableHints) -> None:
    """Refuse empty words in columns of undeclared labels, since they may be labels.

    Raises:
        Question: there is one, and the user did not state which words are empty.
    """
    for name in among if hints.empty_words is None else ():
        _ask_about(columns, name, filter(is_empty_word, _label_counts(columns, name)))


def check_truth(
    columns: Columns, truth: str, answers: Sequence[str], hints: TableHints, declared: bool = False
) -> None:
    """Refuse words among true labels that may say that a row has none: see `unlabelled_words`.

    If the labels are declared, usual empty words are none of them.

    Raises:
        Question: there is one, and the user did not state which words are empty.
    """
    if hints.empty_words is None and truth not in columns.names:
        predicted = {text for name in answers for text in _label_counts(columns, name)}
        words = unlabelled_words(_label_counts(columns, truth), predicted or None) - {*hints.label_map}
        _ask_about(columns, truth, (word for word in words if not (declared and is_empty_word(word))))


def _label_counts(columns: Columns, name: str) -> dict[str, int]:
    """Return the labels in a column, without outer blanks, with the number of their cells."""
    values, _, counts = label_counts(columns, name)
    return {str(value).strip(): many for value, many in zip(values, counts.tolist(), strict=True) if many}


def _ask_about(columns: Columns, name: str, words: Iterable[str]) -> None:
    counts = _label_counts(columns, name)
    doubtful = {*words}
    if doubtful:
        of_words = {word: many for word, many in counts.items() if word in doubtful}
        raise empty_word_question(columns.origin, name, of_words)


def _named_after(columns: Columns, free: Sequence[str], hints: TableHints) -> tuple[str, ...]:
    """Return the labels in names of scores: ``model/label`` of most models, else mapped ones, or those adding to 1."""
    scores = [name for name in free if names.holds_numbers(columns, name)]
    parts: dict[str, list[str]] = {}
    for name in scores:
        before, sign, part = name.rpartition("/")
        if sign and part and not part.isdecimal():
            parts.setdefault(before, []).append(part)
    several = Counter(tuple(endings) for endings in parts.values() if len(endings) > 1)
    if several:
        return several.most_common(1)[0][0]
    prefixed: dict[str, list[str]] = {}
    for name in (name for name in scores if names.has_fractions(columns, name)):
        for before, ending in cuts(columns, name):
            if not ending.isdecimal():
                prefixed.setdefault(before, []).append(ending)
    stated = [endings for endings in prefixed.values() if any(_targets(endings, hints).values())]
    if stated:
        return tuple(stated[-1])
    alike = len(scores) == len(free) > 1 and not parts and not nested_columns(columns)
    if not alike or not add_up(columns, scores):
        return ()
    if all(
        any(end.isdecimal() and names.plain(before) in names.GENERIC for before, end in cuts(columns, name))
        for name in free
    ):
        return ()  # numbers of labels whose names the file does not tell
    generic = [endings for before, endings in prefixed.items() if names.plain(before) in names.GENERIC]
    return tuple(next((endings for endings in reversed(generic) if len(endings) == len(scores)), free))


def _values(columns: Columns, name: str, hints: TableHints) -> list[str]:
    """Return the distinct cells of a column that may be labels."""
    values = dict.fromkeys(spelled(cell_text(value)) for value in distinct(columns.cells[name]) if not is_blank(value))
    unsaid = hints.empty_words is None
    return [text for text in values if text != INVALID and not (unsaid and is_empty_word(text))]


def _mapped(values: Iterable[str], hints: TableHints) -> list[str]:
    """Return the distinct labels that values stand for: unmapped values as they are, then mapped labels."""
    targets = _targets(values, hints)
    unmapped = [value for value, label in targets.items() if label is None]
    folded = {fold(value) for value in unmapped}
    return [*unmapped, *dict.fromkeys(label for label in targets.values() if label and fold(label) not in folded)]


def _targets(values: Iterable[str], hints: TableHints) -> dict[str, str | None]:
    """Return value -> the label that the label map names for it; None if it names none."""
    targets = [*map(spelled, hints.label_map.values())]
    names_of = NameIndex((name, position) for position, name in enumerate(hints.label_map))
    positions = {value: names_of.find(value) for value in values}
    return {value: None if position is None else targets[position] for value, position in positions.items()}


def _in_order(values: Sequence[str]) -> Sequence[str]:
    numbers_of = [whole_number(value) for value in values]
    whole_numbers = [n for n, value in zip(numbers_of, values, strict=True) if n is not None and value[:1].isdigit()]
    if values and len(whole_numbers) == len(values):
        if 0 not in whole_numbers:  # numbers that do not start at 0 may skip labels, so none is added
            return tuple(map(str, sorted({*whole_numbers})))
        return tuple(map(str, range(max(whole_numbers) + 1))) if max(whole_numbers) < MAX_INFERRED_LABELS else ()
    return sorted(values, key=lambda value: (value.casefold(), value))
