"""Cards of OOD sets: the task, the layout of the rows in a file, and the words that are marked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ranker.errors import DataError, UsageError, look_up
from ranker.records import read_toml, record, table
from ranker.tasks.classes import ClassificationTask


@dataclass(frozen=True)
class Layout:
    """Columns of a row's parts in one kind of file.

    Attributes:
        text: the columns of the segments, in order; or one column that holds them as a list.
        label: the column of the label, a name or a number; None if the rows have none.
        id: the column of the example's id; None numbers the rows.
        cluster: the column that groups dependent rows; None if rows are independent.
        numbers: the labels that the numbers 0, 1, ... stand for; empty: the task's own order.
        where: column -> the value that a row must have to belong to the set.
    """

    text: tuple[str, ...]
    label: str | None
    id: str | None = None
    cluster: str | None = None
    numbers: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that a file of this layout must have."""
        return (*self.text, *(column for column in (self.label, self.id, self.cluster) if column), *self.where)


@dataclass(frozen=True)
class Card:
    """Description of an OOD set, read from its ``card.toml``.

    Attributes:
        name: as in ``--ood NAME``: the name of the folder.
        description: what is hard about it, in a sentence.
        task: the labels.
        population: number of examples that are attributed; the probe is drawn from them.
        in_domain: the data that its models are trained on.
        designed: the factor that was designed for it, if any.
        folders: folders below the data directory that may hold its file, besides the data directory itself.
        files: names that its file may have.
        layouts: possible layouts of its rows; the first that fits is used.
        marks: mark -> the rule that finds it (`marks.RULES`).
        source: its authors, and where it is described.
        licence: of the official data.
        folder: folder of the card and of the set's own rows.
        citation: the paper.
        url: of the official file, if it is one file.
        sha256: of that file; None if there is no official one to compare with.
        notes: anything else worth knowing.
    """

    name: str
    description: str
    task: ClassificationTask
    source: str
    licence: str
    folder: Path
    population: int = 600
    in_domain: str = ""
    designed: str | None = None
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    layouts: tuple[Layout, ...] = ()
    marks: Mapping[str, str] = field(default_factory=dict)
    citation: str = ""
    url: str | None = None
    sha256: str | None = None
    notes: str = ""

    def __post_init__(self) -> None:
        if self.population < 1:
            raise UsageError.about("population", f"must be at least 1 (got {self.population})", self.population)
        for name in (*self.files, *self.folders):
            if os.path.isabs(name) or os.pardir in Path(name).parts:  # `fetch` writes there
                raise UsageError(f"`files` and `folders` lie below the data directory (got {name!r})", value=name)


def read_card(path: Path) -> Card:
    """Read a card; its set has the name of the card's folder.

    Raises:
        DataError: it cannot be read, a key is unknown or missing, or a value cannot be right; the key is named.
    """
    content = read_toml(path, "a card")
    try:
        for key in ("name", "folder"):
            if key in content:
                raise UsageError(f"a set bears the name of its folder: leave the key `{key}` out", option=key)
        content["task"] = _task(content.get("task"))
        return record(Card, {**content, "name": path.resolve().parent.name, "folder": path.parent}, label="the card")
    except (ValueError, UsageError) as error:
        raise DataError.at(path, error) from error


def _task(content: Any) -> ClassificationTask:
    """Build the task; its table names the shortcut and evidence labels, which the record stores as indices."""
    values = dict(table(content, "task"))
    labels = values.get("labels", ())
    numbers = {str(label): i for i, label in enumerate(labels if isinstance(labels, list) else [labels])}
    for role in {"shortcut", "evidence"} & values.keys():
        values[role] = look_up(f"label for `{role}`", str(values[role]), numbers)
    return record(ClassificationTask, values, "task")
