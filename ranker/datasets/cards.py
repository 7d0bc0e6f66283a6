"""Cards of OOD sets: the task, the layouts of rows in files, the rules of a paper, and the words that are marked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from ranker.datasets import rules
from ranker.errors import DataError, UnknownName, UsageError, look_up
from ranker.records import read_toml, record, table, typed
from ranker.tasks.base import Task
from ranker.tasks.classes import ClassificationTask
from ranker.tasks.named import BUILTIN, value_task


@dataclass(frozen=True)
class Layout:
    """Columns of a row's parts in one kind of file.

    Attributes:
        text: the columns of the segments, in order; or one column that holds them as a list.
        label: the column of the label, a name or a number; None if the rows have none.
        id: the column of the example's id; None numbers the rows.
        cluster: the column that groups dependent rows; None if rows are independent.
        rationale: the columns of the words that people gave as their reason, one for each annotator.
        numbers: the labels that the numbers 0, 1, ... stand for; empty: the task's own order.
        where: column -> the value that a row must have to belong to the set.
        form: ending by which the file is read, such as ".conll"; "" for its own.
        header: names of the columns of a file by tabs whose first line is a row.
        rows: rules that make rows of a row, in order: see `ranker.datasets.rules`.
        needs: columns of the file, where these rules make those above.
        clean: rules of texts, in order.
        map: rule of labels; "" for none.
        id_columns: the columns of usual names for ids, that of the id first; () if there is one alone, or the user
            named it.

    Raises:
        UnknownName: there is no such rule.
        UsageError: texts are changed, and the spans of rationales are of the unchanged ones.
    """

    text: tuple[str, ...]
    label: str | None
    id: str | None = None
    cluster: str | None = None
    rationale: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)
    form: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    clean: tuple[str, ...] = ()
    map: str = ""
    id_columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for kind, names, choices in (
            ("rule of rows", self.rows, rules.ROWS),
            ("rule of texts", self.clean, rules.TEXTS),
            ("rule of labels", (self.map,) if self.map else (), rules.LABELS),
        ):
            for name in names:
                look_up(kind, name, choices)
        if self.rationale and self.clean:
            raise UsageError("`rationale` has spans of the texts as they stand, so `clean` must be left out")

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that a file of this layout must have."""
        single = (column for column in (self.label, self.id, self.cluster) if column)
        return self.needs or (*self.text, *single, *self.rationale, *self.where)


@dataclass(frozen=True)
class Card:
    """Description of an OOD set, read from its ``card.toml``.

    Attributes:
        name: as in ``--ood NAME``: the name of the folder; in a catalogue the path in it.
        description: what is hard about it, in a sentence.
        task: the labels, or another kind of answers.
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
        url: of the official file, if it is one file.
        sha256: of that file; None if there is no official one to compare with.
        metrics: by which the paper judges; the first is the default.
        role: of the set in its catalogue.
        size: number of rows that the paper counts; None if it counts none.
        tested: what the layouts were tested on.
        by_hand: how to get the file, where it cannot be fetched.
        balance: True if rows of each label but the rarest are left out at random until all labels are as frequent.
        sources: paper and section, or file at hand -> the fields that are from there.
    """

    name: str
    description: str
    task: Task
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
    metrics: tuple[str, ...] = ()
    role: Literal["ood", "in-domain", "candidate", "stand-in"] = "ood"
    size: int | None = None
    tested: Literal["official file", "made file"] = "made file"
    by_hand: str = ""
    balance: bool = False
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.population < 1:
            raise UsageError.about("population", f"must be at least 1 (got {self.population})", self.population)
        for name in (*self.files, *self.folders):
            if os.path.isabs(name) or os.pardir in Path(name).parts:  # `fetch` writes there
                raise UsageError(f"`files` and `folders` lie below the data directory (got {name!r})", value=name)
        for metric in self.metrics:
            self.task.metric_named(metric)
        for name in (name for names in self.sources.values() for name in names):
            look_up("field of a card", name, {part.name: None for part in fields(self)})


def read_card(path: Path, name: str | None = None) -> Card:
    """Read a card.

    Args:
        name: of its set; None for that of the card's folder.

    Raises:
        DataError: it cannot be read, a key is unknown or missing, or a value cannot be right; the key is named.
    """
    content = read_toml(path, "a card")
    try:
        for key in ("name", "folder"):
            if key in content:
                raise UsageError(f"a set bears the name of its folder: leave the key `{key}` out", option=key)
        content["task"] = _task(content.get("task"))
        identity = {"name": name or path.resolve().parent.name, "folder": path.parent}
        return record(Card, {**content, **identity}, label="the card")
    except (ValueError, UsageError) as error:
        raise DataError.at(path, error) from error


def _task(content: Any) -> Task:
    """Build the task: that of its labels, else a known one of other answers."""
    values = dict(table(content, "task"))
    name = values.get("name")
    if isinstance(name, str) and "labels" not in values:
        scale = typed(values.pop("range", ()), tuple[float, ...], "range")
        if values.keys() == {"name"} and len(scale) in (0, 2):
            task = value_task(name, scale=(scale[0], scale[1]) if scale else None)
            if task is not None:
                return task
        if name not in BUILTIN:
            raise UnknownName("task without `labels`", name, BUILTIN)
    labels = values.get("labels", ())
    numbers = {str(label): i for i, label in enumerate(labels if isinstance(labels, list) else [labels])}
    for role in {"shortcut", "evidence"} & values.keys():
        values[role] = look_up(f"label for `{role}`", str(values[role]), numbers)
    return record(ClassificationTask, values, "task")
