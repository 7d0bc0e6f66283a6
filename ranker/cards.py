"""What an OOD set says about itself: its task, where its rows stand in which file, and which words are marked."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from ranker.errors import DataError, UnknownName, UsageError, look_up

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "card.toml"

T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """What the models are asked.

    Attributes:
        name: "nli", "paraphrase", ...: suites say which task they are for.
        labels: (C,) in class order; `Example.label` is an index into it. In a binary task class 1 is the positive one.
        aliases: label -> other names of it, in files and in the configurations of checkpoints. Several of a
            checkpoint's labels may be aliases of one label: their probabilities add up.
        heuristic: the label that the shortcut speaks for; None where there is no such label.
        evidence: the label that the right evidence (the marked words) speaks for; None where it depends on the row.

    Raises:
        ValueError: fewer than two labels, a name that stands for two of them, or an alias of no label.
    """

    name: str
    labels: tuple[str, ...]
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    heuristic: int | None = None
    evidence: int | None = None

    def __post_init__(self) -> None:
        if len(self.labels) < 2:
            raise ValueError(f"a task needs at least two labels (got {list(self.labels)})")
        for label in self.aliases:
            if label not in self.labels:
                raise UnknownName("label with aliases", label, self.labels)
        names = [fold(name) for label in self.labels for name in (label, *self.aliases.get(label, ()))]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"the label name {twice[0]!r} is given twice")
        object.__setattr__(self, "aliases", MappingProxyType(dict(self.aliases)))

    def index(self, name: str) -> int | None:
        """The class that a label name, or an alias, stands for; None if it is no name of this task.

        Case does not matter, and "_", "-" and a blank are the same.

        Example:
            >>> task = Task("nli", ("non-entailment", "entailment"), {"non-entailment": ("neutral",)})
            >>> task.index("ENTAILMENT"), task.index("non_entailment"), task.index("neutral"), task.index("LABEL_0")
            (1, 0, 0, None)
        """
        return self._index.get(fold(name))

    @cached_property
    def _index(self) -> Mapping[str, int]:
        return {fold(n): i for i, label in enumerate(self.labels) for n in (label, *self.aliases.get(label, ()))}


@dataclass(frozen=True)
class Layout:
    """Where a row's parts stand in one kind of file.

    Attributes:
        text: the columns of the segments, in order; or one column that holds them as a list.
        label: the column of the label, a name or a number.
        id: the column of the example's id; None numbers the rows.
        numbers: the labels that the numbers 0, 1, ... stand for; empty: the task's own order.
        where: column -> the value that a row must have to belong to the set.
    """

    text: tuple[str, ...]
    label: str
    id: str | None = None
    numbers: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that a file of this layout must have."""
        return (*self.text, self.label, *([self.id] if self.id else []), *self.where)


@dataclass(frozen=True)
class Card:
    """One OOD set, as its ``card.toml`` describes it.

    Attributes:
        name: as in ``--ood NAME``: the name of the folder.
        description: what is hard about it, in a sentence.
        task: the labels.
        population: how many examples are attributed; the probe is drawn from them.
        in_domain: the data that its models are trained on.
        designed: the factor that was designed for it, if any.
        folders: where below the data directory its file may lie, beside the data directory itself.
        files: names that its file may have.
        layouts: how its rows may stand in a file; the first that fits is taken.
        marks: mark -> the rule that finds it (`ranker.marks.RULES`).
        source: who made it, and where it is described.
        licence: of the official data.
        folder: where the card lies, and with it the set's own rows.
        citation: the paper.
        url: of the official file, if it is one file.
        sha256: of that file; None where we have no official one to compare with.
        notes: anything else worth knowing.
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

    def __post_init__(self) -> None:
        if self.population < 1:
            raise ValueError(f"`population` must be at least 1 (got {self.population})")


def read_card(path: Path) -> Card:
    """Read a card; its set bears the name of the card's folder.

    Raises:
        DataError: it cannot be read, a key is unknown or missing, or a value cannot be right; the key is named.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path} cannot be read as a card: {error}") from error
    try:
        for key in ("name", "folder"):
            if key in table:
                raise ValueError(f"a set bears the name of its folder: leave the key `{key}` out")
        task = _task(_table(table.pop("task", None), "task"))
        layouts = table.pop("layouts", [])
        if not isinstance(layouts, list):
            raise ValueError("`layouts` must be an array of tables: `[[layouts]]`")
        return _record(
            Card,
            {
                **table,
                "name": path.resolve().parent.name,
                "folder": path.parent,
                "task": task,
                "layouts": [_record(Layout, layout, "layouts") for layout in layouts],
            },
            "",
        )
    except (ValueError, UsageError) as error:
        raise DataError(f"{path}: {error}") from error


def fold(name: str) -> str:
    """A label name without the differences that do not matter: case, and "_" or a blank for "-"."""
    return "-".join(name.casefold().replace("_", " ").replace("-", " ").split())


def _task(table: Mapping[str, Any]) -> Task:
    """A task's table names its heuristic and evidence label; the record counts them."""
    aliases = _table(table.get("aliases", {}), "task.aliases")
    values = {**table, "aliases": {label: tuple(names) for label, names in aliases.items()}}
    labels = {str(label): i for i, label in enumerate(table.get("labels", ()))}
    for role in ("heuristic", "evidence"):
        if role in table:
            values[role] = look_up(f"label for `{role}`", str(table[role]), labels)
    return _record(Task, values, "task")


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"`{where}` must be a table: `[{where}]` (got {value!r})")
    return value


def _record(cls: type[T], value: Any, where: str) -> T:
    """A frozen record from a table, with each key and each value's type checked."""
    table = _table(value, where)
    place = f"`[{where}]`" if where else "the card"
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]  # T is always one of the records above
    for key in table:
        if key not in known:
            raise UnknownName(f"key of {place}", key, known)
    for key, f in known.items():
        if f.default is MISSING and f.default_factory is MISSING and key not in table:
            raise ValueError(f"{place} needs the key `{key}`")
    return cls(**{key: _typed(item, str(known[key].type), key) for key, item in table.items()})


def _typed(value: Any, annotation: str, key: str) -> Any:
    """The value in the shape of its field's annotation; lists become tuples.

    Raises:
        ValueError: it is of another type.
    """
    wanted = annotation.removesuffix(" | None")
    if wanted.startswith("tuple["):
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"`{key}` must be a list (got {value!r})")
        return tuple(_typed(item, wanted[len("tuple[") :].partition(",")[0], key) for item in value)
    if wanted.startswith("Mapping["):
        return MappingProxyType(dict(_table(value, key)))
    kind, words = {"str": (str, "a string"), "int": (int, "a whole number")}.get(wanted, (object, ""))
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"`{key}` must be {words} (got {value!r})")
    return value
