"""What was made of a user's own rows, in sentences: what nobody was told would be taken for what the file says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from factors import Example
from ranker.datasets.readers import Sheet
from ranker.errors import Assumption, listed
from ranker.numbers import counted
from ranker.tasks.classes import ClassificationTask
from ranker.tasks.names import fold, number_of


def of_labels(meant: Mapping[str, int], task: ClassificationTask) -> Iterator[str]:
    """Say which labels of rows count as one, and how bare numbers were read.

    Args:
        meant: label as the rows write it -> the class that it was read as.
        task: the labels.

    Example:
        >>> aliases = {"non-entailment": ("neutral", "contradiction")}
        >>> nli = ClassificationTask("nli", ("non-entailment", "entailment"), aliases)
        >>> print(*of_labels({"neutral": 0, "entailment": 1, "contradiction": 0}, nli))
        The rows say contradiction and neutral, which count as one label here: non-entailment.
    """
    for label, name in enumerate(task.labels):
        says = {fold(said): said for said, read in meant.items() if read == label and number_of(said) is None}
        if len(says) > 1:
            yield f"The rows say {_and(sorted(says.values()))}, which count as one label here: {name}."
    if read_as := [f"{number} as {task.labels[label]}" for number, label in numbers(meant, task).items()]:
        yield Assumption(f"{listed(read_as).replace(' as', ' was read as', 1)}.")


def notes(kept: Sequence[Example], blank: int = 0, repeated: int = 0) -> Iterator[str]:
    """Count the rows that are left out, and those of one text.

    Args:
        kept: the rows.
        blank: how many have no label.
        repeated: how many repeat another, label and all.

    Example:
        >>> print(*notes((), repeated=1))
        1 row that repeats another, label and all, was left out.
    """
    if blank:
        what = counted(blank, "row has no label yet, and counts", "rows have no label yet, and count")
        yield Assumption(f"{what} only in a pool (`pool`).")
    if repeated:
        what = counted(
            repeated, "row that repeats another, label and all, was", "rows that repeat another, label and all, were"
        )
        yield Assumption(f"{what} left out.")
    several = [count for count in Counter(row.segments for row in kept if any(row.segments)).values() if count > 1]
    if several:
        yield f"{counted(sum(several), 'row has', 'rows have')} the same text as another, and another label."


def of_file(sheet: Sheet, kept: Sequence[Example], chosen: bool) -> Iterator[str]:
    """What may have been read otherwise than it was meant.

    Args:
        sheet: the rows, and their columns.
        kept: the rows as examples.
        chosen: the user has said which columns hold texts.

    Example:
        >>> from ranker.datasets.readers import sheet
        >>> qa = sheet([{"question": "Who ran?", "answer": "A dog did.", "label": "yes"}])
        >>> print(*of_file(qa, (), chosen=False))  # doctest: +ELLIPSIS
        Read as text: question. Not read, though it holds text: answer; say which to read with `columns`.
    """
    layout, cells = sheet.layout, sheet.rows[0].cells
    known = {*layout.text, layout.label, layout.id}
    unread = [
        name for name, cell in cells.items() if name not in known and isinstance(cell, str) and " " in cell.strip()
    ]
    if unread and not chosen:
        read, left = listed(layout.text) or "nothing", listed(unread)
        yield Assumption(
            f"Read as text: {read}. Not read, though it holds text: {left}; say which to read with `columns`."
        )
    if hint := swapped(sheet):
        yield f"{hint}."
    if sheet.origin.removesuffix(".gz").endswith((".tsv", ".txt")):
        quoted = sum(any(len(t) > 1 and t[0] == t[-1] == '"' for t in row.segments) for row in kept)
        if quoted:
            what = counted(quoted, "row has a text in quotes", "rows have texts in quotes")
            yield f"{what}, which are read as part of it: a .tsv has no quoting; save it as .csv if they are none."


def numbers(meant: Mapping[str, int], task: ClassificationTask) -> dict[int, int]:
    """The bare numbers among labels, and the classes that they were read as; a number that is a label's name is none.

    Example:
        >>> numbers({"good": 1, "0": 0}, ClassificationTask("mood", ("bad", "good")))
        {0: 0}
        >>> numbers({"1": 0, "2": 1}, ClassificationTask("mood", ("1", "2")))
        {}
    """
    bare = {said: label for said, label in meant.items() if task.index(said) is None}
    return dict(sorted((number, label) for said, label in bare.items() if (number := number_of(said)) is not None))


FEW = 6
"""Different texts that are so few, and have no more words, are probably labels."""


def swapped(sheet: Sheet) -> str:
    """What speaks for the columns of texts and labels being swapped, and the line to type; "" where nothing does.

    Example:
        >>> from ranker.datasets.readers import sheet
        >>> rows = [{"label": f"It was {word} to me.", "text": "good"} for word in ("fun", "fine", "great", "a joy")]
        >>> print(swapped(sheet(rows)))
        'text' has 1 different text in 4 rows, and 'label' holds sentences; if they are swapped, say `columns=text=label,label=text`
    """  # noqa: E501
    layout = sheet.layout
    if len(layout.text) != 1:
        return ""
    texts = [str(row.cells.get(layout.text[0])) for row in sheet.rows]
    different = len(set(texts))
    if different > FEW or 2 * different > len(texts) or any(len(text.split()) > FEW for text in texts):
        return ""
    what = f"{layout.text[0]!r} has {counted(different, 'different text')} in {counted(len(texts), 'row')}"
    if layout.label is None:
        return f"{what}; if these are labels, name the column of texts with `columns=text=NAME`"
    labels = [str(row.cells.get(layout.label)) for row in sheet.rows]
    if sum(len(label.split()) for label in labels) <= 2 * len(labels) or len(set(labels)) <= different:
        return ""
    line = f"`columns=text={layout.label},label={layout.text[0]}`"
    return f"{what}, and {layout.label!r} holds sentences; if they are swapped, say {line}"


def _and(items: Sequence[str]) -> str:
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
