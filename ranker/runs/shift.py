"""How far domains are from each other: sets read, split, and measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ranker.datasets import readers, sets
from ranker.datasets.readers import Sheet, blank
from ranker.datasets.rows import Row
from ranker.datasets.sets import OODSet
from ranker.domains import parts
from ranker.domains.shift import Domain, measured
from ranker.errors import DataError, UsageError
from ranker.limits import LIMITS, Limits
from ranker.progress import Progress, silent
from ranker.results.shift import Shift
from ranker.runs.gather import LabelledRows
from ranker.tasks.classes import ClassTask


@dataclass(frozen=True)
class Reading:
    """How files of texts are read.

    Attributes:
        columns: "text" and "label" -> columns, where their names are unusual; "summary" -> the one of the summary of a
            text, which has none otherwise.
        encoding: of files that are not UTF-8 and do not say what they are.
        limits: how much of them is read.
    """

    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    encoding: str = ""
    limits: Limits = LIMITS


def shift(
    *texts: LabelledRows,
    by: str | None = None,
    topics: int | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Shift:
    """Measure how far new domains are from the one that models were trained for.

    Args:
        texts: the in-domain set first, then the new ones: files, names of OOD sets, sets, or rows in memory. They need
            no labels. With `by` or `topics` one set, whose parts are compared, or two, of which the second is split.
        by: the column that says which part a row belongs to. Of one set the part of its first row is in-domain.
        topics: how many topics to split by. Of one set the largest topic is in-domain.
        columns: "text" and "label" -> columns, where their names are unusual; "summary" -> the one of the summary of a
            text, whose measures are then told of each set.
        seed: of draws and resamples.
        progress: is told of each pair of sets.

    Returns:
        Every two sets: how far they are from each other, by several measures, and in a word.

    Raises:
        UsageError: fewer than two sets, or more than 20.
        DataError: a file cannot be read, or has no texts.

    Example:
        >>> from ranker import load_set, shift
        >>> found = shift(load_set("hans-sub"), load_set("hans-con"))
        >>> found.pair("hans-sub", "hans-con").verdict
        'far'
    """
    return shift_of(texts, by, topics, Reading(columns or {}), seed, progress)


def shift_of(
    texts: Sequence[LabelledRows],
    by: str | None = None,
    topics: int | None = None,
    reading: Reading = Reading(),
    seed: int = 0,
    progress: Progress = silent,
) -> Shift:
    """The same, of files that are read in another way."""
    return measured(domains(texts, by, topics, reading, seed), seed, progress)


def domains(
    texts: Sequence[LabelledRows], by: str | None, topics: int | None, reading: Reading, seed: int = 0
) -> tuple[Domain, ...]:
    """The sets that are to be compared, as `shift` takes them; their names differ.

    Raises:
        UsageError, DataError: as `shift`.
    """
    if by is not None and topics is not None:
        raise UsageError("`by` and `topics` both split a set: give one of them")
    split = by is not None or topics is not None
    if split and not 1 <= len(texts) <= 2:
        name, where = "topics" if by is None else "by", "name it alone, or after the in-domain one"
        raise UsageError(f"`{name}` splits one set: {where} (got {len(texts)})")
    if not split and not 2 <= len(texts) <= parts.MOST:
        raise UsageError(
            f"two sets or more are needed, up to {parts.MOST}: in-domain rows, and new ones (got {len(texts)})"
        )
    read = [_read(one, reading) for one in texts]
    found = [domain for domain, _ in read]
    if topics is not None:
        found[-1:] = parts.by_topic(found[-1], topics, np.random.default_rng(seed))
    elif by is not None:
        found[-1:] = parts.by_value(found[-1], _column(by, *read[-1]))
    return tuple(_named(found))


def _read(source: LabelledRows, reading: Reading) -> tuple[Domain, Sheet | None]:
    """A set, and the rows that it was read from; None where they are not at hand."""
    if isinstance(source, str) and not Path(source).exists() and source.casefold() in map(str.casefold, sets.cards(())):
        source = sets.load(source)
    if isinstance(source, OODSet):
        names = source.task.labels if isinstance(source.task, ClassTask) else ()
        labels = [names[one.label] if 0 <= one.label < len(names) else None for one in source.examples]
        return Domain(source.name, source.examples, labels), None
    columns = {role: names for role, names in reading.columns.items() if role != "summary"}
    if isinstance(source, (str, Path)):
        sheet = readers.pool(Path(source), columns, reading.encoding, reading.limits)
    else:
        sheet = readers.sheet(source, columns, ("text",))  # type: ignore[arg-type]
    sheet = sheet._replace(layout=replace(sheet.layout, id=None))  # nothing is looked up by it
    summaries = [_summary(row, one) for one in reading.columns.get("summary", ()) for row in sheet.rows]
    read = Domain(_stem(sheet.origin), readers.unlabelled(sheet), readers.written(sheet), summaries=summaries)
    return read, sheet


def _summary(row: Row, column: str) -> str:
    """The summary of a row.

    Raises:
        DataError: there is none.
    """
    found = row.cells.get(column)
    if not isinstance(found, str) or blank(found):
        raise DataError(f"{row.place}: the column {column!r} must hold a summary (columns: {', '.join(row.cells)})")
    return found


def _stem(origin: str) -> str:
    """What a set is called: the name of its file, without endings."""
    return Path(origin).name.split(".")[0] or origin


def _column(by: str, domain: Domain, sheet: Sheet | None) -> list[str | None]:
    """(N,) what rows have in a column; None for nothing."""
    if sheet is None:
        raise UsageError(f"`by`: {domain.name} is no file whose columns are known")
    known = list(dict.fromkeys(column for row in sheet.rows for column in row.cells))
    if by not in known:
        raise UsageError(f"`by`: {domain.name} has no column {by!r} (columns: {', '.join(known)})")
    cells: list[Any] = [row.cells.get(by) for row in sheet.rows]
    return [None if blank(cell) else str(cell).strip() for cell in cells]


def _named(found: Sequence[Domain]) -> list[Domain]:
    """The sets with names that differ: those of a name that several have are numbered."""
    many = Counter(one.name for one in found)
    seen: Counter[str] = Counter()
    named = []
    for one in found:
        seen[one.name] += 1
        named.append(replace(one, name=f"{one.name} {seen[one.name]}") if many[one.name] > 1 else one)
    return named
