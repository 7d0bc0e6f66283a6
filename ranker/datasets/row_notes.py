"""Notes on how a user's rows were read, so that no assumption passes for a statement of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from factors import Example
from ranker.datasets.readers import Sheet
from ranker.errors import Assumption, listed
from ranker.numbers import counted
from ranker.tasks.classes import ClassificationTask
from ranker.tasks.names import fold, number_of


def label_notes(meant: Mapping[str, int], task: ClassificationTask) -> Iterator[str]:
    """Yield which labels of rows count as one, and how bare numbers were read.

    Args:
        meant: label as written -> the class that it was read as.

    Example:
        >>> aliases = {"non-entailment": ("neutral", "contradiction")}
        >>> nli = ClassificationTask("nli", ("non-entailment", "entailment"), aliases)
        >>> print(*label_notes({"neutral": 0, "entailment": 1, "contradiction": 0}, nli))
        The labels contradiction and neutral of the rows count as one label here: non-entailment.
    """
    for label, name in enumerate(task.labels):
        says = {fold(text): text for text, index in meant.items() if index == label and number_of(text) is None}
        if len(says) > 1:
            yield f"The labels {_and(sorted(says.values()))} of the rows count as one label here: {name}."
    if read_as := [f"{number} as {task.labels[label]}" for number, label in read_numbers(meant, task).items()]:
        yield Assumption(f"{listed(read_as).replace(' as', ' was read as', 1)}.")


def count_notes(rows: Sequence[Example], blank: int = 0, repeated: int = 0) -> Iterator[str]:
    """Yield the numbers of rows that were left out, and of rows with equal texts.

    Args:
        blank: number of rows without a label.
        repeated: number of rows that repeat another, label included.

    Example:
        >>> print(*count_notes((), repeated=1))
        1 row that exactly repeats another was left out.
    """
    if blank:
        sentence = counted(blank, "row has no label yet, and counts", "rows have no label yet, and count")
        yield Assumption(f"{sentence} only in a pool (`pool`).")
    if repeated:
        sentence = counted(repeated, "row that exactly repeats another was", "rows that exactly repeat another were")
        yield Assumption(f"{sentence} left out.")
    labels_of: dict[tuple[str, ...], list[object]] = {}
    for row in rows:
        labels_of.setdefault(row.segments, []).append(row.target)
    several = [labels for texts, labels in labels_of.items() if len(labels) > 1 and any(texts)]
    if disputed := sum(len(labels) for labels in several if len({*labels}) > 1):
        yield f"{counted(disputed, 'row has', 'rows have')} the same text as another, but a different label."
    if alike := sum(len(labels) for labels in several if len({*labels}) == 1):
        yield f"{counted(alike, 'row has', 'rows have')} the same text and label as another, and an id of their own."


def file_notes(sheet: Sheet, rows: Sequence[Example], chosen: bool) -> Iterator[str]:
    """Yield the likely misreadings of a file.

    Args:
        chosen: the user named the columns of texts.

    Example:
        >>> from ranker.datasets.readers import read_sheet
        >>> qa = read_sheet([{"question": "Who ran?", "answer": "A dog did.", "label": "yes"}])
        >>> print(*file_notes(qa, (), chosen=False))  # doctest: +ELLIPSIS
        Read as text: question. Unread, though it holds text: answer; choose with `columns`.
    """
    layout, cells = sheet.layout, sheet.rows[0].cells
    used = {*layout.columns}
    unread = [
        name for name, cell in cells.items() if name not in used and isinstance(cell, str) and " " in cell.strip()
    ]
    if unread and not chosen:
        texts, left = listed(layout.text) or "nothing", listed(unread)
        yield Assumption(f"Read as text: {texts}. Unread, though it holds text: {left}; choose with `columns`.")
    if hint := swapped_columns_note(sheet):
        yield f"{hint}."
    if sheet.origin.removesuffix(".gz").endswith((".tsv", ".txt")):
        quoted = sum(any(len(t) > 1 and t[0] == t[-1] == '"' for t in row.segments) for row in rows)
        if quoted:
            sentence = counted(quoted, "row has a text in quotes", "rows have texts in quotes")
            yield f"{sentence}, read as part of the text: a .tsv has no quoting; if they are not, save it as .csv."


def read_numbers(meant: Mapping[str, int], task: ClassificationTask) -> dict[int, int]:
    """Return the bare numbers among labels and their classes, except numbers that are label names.

    Example:
        >>> read_numbers({"good": 1, "0": 0}, ClassificationTask("mood", ("bad", "good")))
        {0: 0}
        >>> read_numbers({"1": 0, "2": 1}, ClassificationTask("mood", ("1", "2")))
        {}
    """
    bare = {text: label for text, label in meant.items() if task.index(text) is None}
    return dict(sorted((number, label) for text, label in bare.items() if (number := number_of(text)) is not None))


MAX_SIZE_OF_LABELS = 6
"""Distinct texts, and words of each, up to which a column of texts probably holds labels."""


def swapped_columns_note(sheet: Sheet) -> str:
    """Report signs that the columns of texts and labels are swapped, and the option to type; "" without such signs.

    Example:
        >>> from ranker.datasets.readers import read_sheet
        >>> rows = [{"label": f"It was {word} to me.", "text": "good"} for word in ("fun", "fine", "great", "a joy")]
        >>> print(swapped_columns_note(read_sheet(rows)))
        'text' has 1 different text in 4 rows, and 'label' holds sentences; if they are swapped, say `columns=text=label,label=text`
    """  # noqa: E501
    layout = sheet.layout
    if len(layout.text) != 1:
        return ""
    texts = [str(row.cells.get(layout.text[0])) for row in sheet.rows]
    different = len(set(texts))
    long = any(len(text.split()) > MAX_SIZE_OF_LABELS for text in texts)
    if different > MAX_SIZE_OF_LABELS or 2 * different > len(texts) or long:
        return ""
    finding = f"{layout.text[0]!r} has {counted(different, 'different text')} in {counted(len(texts), 'row')}"
    if layout.label is None:
        return f"{finding}; if these are labels, name the column of texts with `columns=text=NAME`"
    labels = [str(row.cells.get(layout.label)) for row in sheet.rows]
    if sum(len(label.split()) for label in labels) <= 2 * len(labels) or len(set(labels)) <= different:
        return ""
    line = f"`columns=text={layout.label},label={layout.text[0]}`"
    return f"{finding}, and {layout.label!r} holds sentences; if they are swapped, say {line}"


def _and(items: Sequence[str]) -> str:
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
