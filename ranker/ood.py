"""The OOD sets by name: a folder with a card, and its rows from the embedded sample or from the official file.

A set is data, not code: its card says where the official file lies, how its rows are laid out and which rule marks
which words (`ranker.cards`). A user's own set is a folder like those in ``data/``, named by ``include``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from factors import Example
from ranker import cards as cards_of
from ranker import embedded, readers
from ranker.cards import Card, Layout, Task
from ranker.errors import DataError, UsageError, look_up
from ranker.marks import marker

SAMPLE = ("examples.jsonl.gz", "examples.jsonl")
"""The files of a set's own folder that may hold its rows."""

EMBEDDED = "embedded sample"
"""The origin of rows that come with the product."""

OWN = Layout(text=("segments",), label="label", id="id")
"""How a row stands in them: {"id": "a", "segments": ["The actor ran.", "An actor ran."], "label": "entailment"}."""


@dataclass(frozen=True)
class OODSet:
    """Labelled examples of a new domain.

    Attributes:
        name: as in ``--ood NAME``.
        task: the labels.
        examples: all rows; accuracy on these is the truth that a ranking is compared with.
        population: how many of them are attributed, at most: see `sample`.
        designed: the factor that was designed for this set, if any.
        origin: `EMBEDDED`, or the file that the rows come from.
    """

    name: str
    task: Task
    examples: tuple[Example, ...]
    population: int
    designed: str | None = None
    origin: str = ""

    @cached_property
    def fingerprint(self) -> str:
        """What identifies the rows, and with them what an accuracy was measured on: see `fingerprint`."""
        return fingerprint(self.examples, self.task)


def load(name: str, data_dir: str | Path | None = None, include: Iterable[str | Path] = ()) -> OODSet:
    """Read an OOD set.

    Args:
        name: a set's name; case does not matter.
        data_dir: where the official file lies (directly, or in a folder of its own), or that file; None takes the
            sample in the set's own folder.
        include: folders of a user's own sets, or folders of such folders.

    Raises:
        UnknownName: no set bears that name.
        UsageError: the file is not there; the message says how to get it.
        DataError: the card or the file cannot be read, with the line.
    """
    card = look_up("OOD set", name, cards(include))
    file = _find(card, None if data_dir is None else Path(data_dir))
    origin = EMBEDDED if file.parent == card.folder else str(file)
    return _built(card, readers.read_rows(file), origin, lambda layout: layout)


def from_rows(name: str, rows: Iterable[Mapping[str, Any]], include: Iterable[str | Path] = ()) -> OODSet:
    """An OOD set from its rows in memory, such as its copy on the Hugging Face hub.

    ``from_rows("hans-sub", datasets.load_dataset("jhu-cogsci/hans", split="validation"))``

    Args:
        name: a set's name.
        rows: mappings in one of the set's layouts; numbers are read as the container names them, if it does.
        include: folders of a user's own sets.

    Raises:
        UnknownName: no set bears that name.
        DataError: the rows cannot be read, with the number of the row.
    """
    card = look_up("OOD set", name, cards(include))
    return _built(card, readers.placed(rows), "rows in memory", lambda layout: readers.named(layout, rows))


def _built(card: Card, rows: Iterable[readers.Row], origin: str, adapt: Callable[[Layout], Layout]) -> OODSet:
    """The set of a card's rows, in the first of its layouts whose columns are there."""
    layouts = (*card.layouts, OWN)

    def choose(found: Sequence[str]) -> Layout:
        return adapt(next((layout for layout in layouts if set(layout.columns) <= set(found)), layouts[0]))

    examples = tuple(readers.examples(rows, card.task, choose, marker(card.marks)))
    if not examples:
        wanted = " or ".join(sorted({f"{c} = {v}" for layout in card.layouts for c, v in layout.where.items()}))
        raise DataError(f"{origin} holds no row of {card.name}" + (f": none has {wanted}" if wanted else ""))
    return OODSet(card.name, card.task, examples, card.population, card.designed, origin)


def labelled(
    data: str | Path | Collection[Mapping[str, Any]],
    task: str | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    like: str | None = None,
    include: Iterable[str | Path] = (),
) -> OODSet:
    """Read a user's own labelled rows; all of them are the population.

    Args:
        data: a ``.jsonl``, ``.csv``, ``.tsv`` or ``.txt`` file (see `ranker.readers.read_examples`), or rows in memory,
            such as a ``datasets.Dataset``.
        task: the name of a task; None takes the only one whose labels the file has.
        columns: "text", "label" and "id" -> columns, where their names are unusual.
        like: an OOD set whose task, marks and designed factor hold for these rows, too.
        include: folders of a user's own sets.

    Raises:
        UsageError: no such set or task, or no task whose labels fit, or several.
        DataError: the file cannot be read, with the line, or holds no row.
    """
    source = Path(data) if isinstance(data, str) else data
    name, origin = (source.stem, str(source)) if isinstance(source, Path) else ("rows", "rows in memory")
    known = cards(include)
    card = None if like is None else look_up("OOD set", like, known)
    marks = readers.no_marks if card is None else marker(card.marks)

    def read(chosen: Task) -> OODSet:
        if isinstance(source, Path):
            rows = readers.read_examples(source, chosen, columns, marks)
        else:
            rows = readers.from_rows(source, chosen, columns, marks)
        if not rows:
            raise DataError(f"{origin} holds no row")
        return OODSet(name, chosen, rows, len(rows), None if card is None else card.designed, origin)

    if card is not None:
        if task not in (None, card.task.name):
            raise UsageError(f"`--task` {task} is not that of {card.name}, which is {card.task.name}")
        return read(card.task)
    if task is not None:
        return read(look_up("task", task, tasks(include)))
    fitting, error = [], None
    for candidate in tasks(include).values():
        try:
            fitting.append(read(candidate))
        except DataError as unfit:
            error = error or unfit
    if error is not None and not fitting:
        raise error
    if len(fitting) > 1:
        names = ", ".join(one.task.name for one in fitting)
        raise UsageError(f"`--task` is needed: the labels of {origin} fit several tasks ({names})")
    return fitting[0]


def unlabelled(
    path: str | Path,
    task: Task,
    columns: Mapping[str, Sequence[str]] | None = None,
    like: str | None = None,
    include: Iterable[str | Path] = (),
) -> tuple[Example, ...]:
    """Read rows of a domain that nobody has labelled; a column of labels, if there is one, is not looked at.

    Args:
        path: a ``.jsonl``, ``.csv``, ``.tsv`` or ``.txt`` file (see `ranker.readers.read_examples`).
        task: what the models do with them.
        columns: "text" and "id" -> columns, where their names are unusual.
        like: an OOD set whose marks hold for these rows, too.
        include: folders of a user's own sets.

    Raises:
        UnknownName: no set bears that name.
        DataError: the file cannot be read, with the line, or holds no row.
    """
    marks = readers.no_marks if like is None else marker(look_up("OOD set", like, cards(include)).marks)
    rows = readers.read_unlabelled(Path(path), task, columns, marks)
    if not rows:
        raise DataError(f"{path} holds no row")
    return rows


def cards(include: Iterable[str | Path] = ()) -> dict[str, Card]:
    """The sets that can be loaded: name -> card. A user's set hides a built-in one of the same name.

    Raises:
        UsageError: an included folder holds no card.
        DataError: a card cannot be read.
    """
    found = sorted(embedded.folder().glob(f"*/{cards_of.FILE}"))
    for folder in map(Path, include):
        below = sorted(folder.glob(f"*/{cards_of.FILE}")) if os.path.isdir(folder) else ()
        own = [path for path in (folder / cards_of.FILE, *below) if os.path.isfile(path)]
        if not own:
            raise UsageError(
                f"`--include` must name a folder with a {cards_of.FILE}, or a folder of such (got {folder})"
            )
        found += own
    return {card.name: card for card in map(cards_of.read_card, found)}


def names(include: Iterable[str | Path] = ()) -> tuple[str, ...]:
    """The names of the sets, in order."""
    return tuple(cards(include))


def tasks(include: Iterable[str | Path] = ()) -> dict[str, Task]:
    """The tasks of the known sets, by name."""
    return {card.task.name: card.task for card in cards(include).values()}


def sample(ood: OODSet, size: int, seed: int = 0) -> tuple[Example, ...]:
    """The population: ``size`` of the examples, drawn without replacement, in the order of the set.

    A smaller one is part of a larger one, so that what is known of its examples serves both.

    Args:
        ood: the set.
        size: how many; all of them if there are not more.
        seed: of the draw.
    """
    if size >= len(ood.examples):
        return ood.examples
    chosen = np.random.default_rng(seed).permutation(len(ood.examples))[:size]
    return tuple(ood.examples[i] for i in sorted(chosen))


def fingerprint(examples: Iterable[Example], task: Task) -> str:
    """A SHA-256 over the rows' ids, texts and labels by name; marks, which no accuracy depends on, are left out.

    Example:
        >>> task = Task("nli", ("non-entailment", "entailment"))
        >>> fingerprint([Example("a", ("A dog ran.", "A dog ran."), 1)], task)[:8]
        '...'
    """
    digest = hashlib.sha256()
    for example in examples:
        row = [example.id, *example.segments, task.labels[example.label]]
        digest.update(json.dumps(row).encode() + b"\n")
    return digest.hexdigest()


def _find(card: Card, data_dir: Path | None) -> Path:
    """The file that holds the set's rows."""
    get = f"`rank-models fetch {card.name} --data-dir DIR` gets them" if card.url else f"they come from {card.source}"
    if data_dir is None or not card.files:
        places = [card.folder / file for file in (*SAMPLE, *card.files)]
        missing = f"{card.name} has no embedded sample: name the folder of the official rows with `--data-dir`; {get}"
    elif os.path.isfile(data_dir):
        return data_dir
    elif not os.path.isdir(data_dir):
        raise UsageError(f"`--data-dir` must be a folder that exists (got {data_dir})")
    else:
        places = [data_dir / folder / file for folder in ("", *card.folders) for file in card.files]
        below = ", ".join(f"{folder}/" for folder in card.folders)
        missing = f"`--data-dir`: there is no {card.files[0]} in {data_dir}, nor in its {below}; {get}"
    found = next((path for path in places if os.path.isfile(path)), None)
    if found is None:
        raise UsageError(missing)
    return found
