"""Kinds of sources that references may name: the built-in ones, and those of installed packages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from ranker.errors import UnknownName, UsageError, look_up
from ranker.files.text import near_file
from ranker.sources.base import ResourceCache, Source, SourceOptions, TasksOfPlace
from ranker.sources.options import GROUP
from ranker.sources.packages import load_entry_points
from ranker.sources.references import Reference, parse

BUILTIN = {
    "log": "ranker.sources.logs.kind",
    "table": "ranker.sources.tables.kind",
    "lm": "ranker.sources.lm.kind",
    "openai": "ranker.sources.endpoint.kind",
    "hf": "ranker.sources.hf.kind",
}


class Kind(Protocol):
    """Maker of sources from references: a module, or an object, with these two functions.

    A kind whose places may hold several tasks has a third, `tasks(reference, options, cache)`, which returns
    `TasksOfPlace`; it is empty for a place that can only hold one task, such as a file, and for an unreadable one.
    A kind with options of its own declares their record as `Options`: see `ranker.sources.options`.
    """

    def claims(self, reference: Reference, options: SourceOptions) -> bool:
        """Return True if a reference without a kind belongs to this one, by its form or by what is there.

        Raises:
            UsageError: there is more than `options.limits` let it look at.
        """

    def sources(self, reference: Reference, options: SourceOptions, cache: ResourceCache) -> Sequence[Source]:
        """List the sources that a reference names: one or more, each with a name of its own.

        Files that were opened to find them may stay in the cache, which is also passed to `inspect`.

        Raises:
            UsageError: there is nothing of this kind.
        """


def available_kinds() -> dict[str, Kind]:
    """Return the kinds by name; the first one that claims a reference gets it."""
    kinds = {name: cast(Kind, import_module(module)) for name, module in BUILTIN.items()}
    for name, origin, target, kind in load_entry_points(GROUP):
        if not (callable(getattr(kind, "claims", None)) and callable(getattr(kind, "sources", None))):
            text = f"it must have the functions `claims` and `sources` (got {target})"
            raise UsageError.at(origin, text, value=target)
        if name in kinds:
            raise UsageError(f"a package adds a kind of source that there is already: {name!r}", value=name)
        kinds[name] = cast(Kind, kind)
    return kinds


def known_kinds(cache: ResourceCache) -> dict[str, Kind]:
    """Return the same from the cache, since listing installed packages takes a while."""
    if GROUP not in cache:
        cache[GROUP] = available_kinds()
    return cast("dict[str, Kind]", cache[GROUP])


def kind_of(reference: Reference, options: SourceOptions, cache: ResourceCache, names: Sequence[str] = ()) -> Kind:
    """Return the kind of a reference.

    Args:
        names: other names for the place, for the message if nothing claims it.

    Raises:
        UsageError: nothing is there.
    """
    kind = _find_kind(reference, options, cache)
    if kind is None:
        if os.path.isfile(reference.place):
            from ranker.files.reader import check_ending

            check_ending(Path(reference.place))
        near = near_file(reference.place)
        suggestion = f"did you mean {near}?" if near else str(UnknownName("suite", reference.place, names))
        options_listed = "no file, directory, suite.json or hub id `org/name`"
        raise UsageError(
            f"`models`: {options_listed} is called {reference.place!r}; {suggestion}",
            option="models",
            value=reference.place,
        )
    return kind


def without_unread(options: SourceOptions, references: Iterable[str]) -> SourceOptions:
    """Return options without the records that no kind of some references reads, which are then for other ones."""
    cache = ResourceCache()
    kinds = [_find_kind(parse(reference, known_kinds(cache)), options, cache) for reference in references]
    records = tuple(getattr(kind, "Options", None) for kind in kinds)
    return replace(options, kinds=[record for record in options.kinds if type(record) in records or None in kinds])


def check_concerned(options: SourceOptions, kinds: Iterable[Kind]) -> None:
    """Raise a UsageError for options of other kinds than those of a run."""
    refuse_unread_options(options.of_others(*(kind.Options for kind in kinds if hasattr(kind, "Options"))))


def refuse_unread_options(unread: Iterable[str]) -> None:
    """Raise a UsageError for options that none of a run's models reads."""
    if options := tuple(sorted(unread)):
        names = " or ".join(f"`{name}`" for name in options)
        hub = ", or call a language model on the hub `lm:org/name`" if "prompts" in options else ""
        raise UsageError(f"none of these models reads {names}; leave it out{hub}", option=options[0])


def tasks(reference: Reference, options: SourceOptions, cache: ResourceCache) -> TasksOfPlace:
    """Return the tasks of a place that may hold several; none for a reference that names one."""
    kind = None if reference.part else _find_kind(reference, options, cache)
    list_tasks = getattr(kind, "tasks", None)
    return TasksOfPlace() if list_tasks is None else cast(TasksOfPlace, list_tasks(reference, options, cache))


def _find_kind(reference: Reference, options: SourceOptions, cache: ResourceCache) -> Kind | None:
    """Return the kind that a reference names, else the first that claims it."""
    kinds = known_kinds(cache)
    if reference.kind:
        return look_up("kind of source", reference.kind, kinds)
    return next((kind for kind in kinds.values() if kind.claims(reference, options)), None)
