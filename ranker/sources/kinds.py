"""The kinds of sources that references may name: those that come with the product, and those of installed packages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Protocol, cast

from ranker.errors import UnknownName, UsageError, look_up
from ranker.sources.base import ResourceCache, Source, SourceOptions, TasksOfPlace
from ranker.sources.options import GROUP
from ranker.sources.packages import added
from ranker.sources.references import Reference

BUILTIN = {
    "log": "ranker.sources.logs.kind",
    "table": "ranker.sources.tables.kind",
    "hf": "ranker.sources.hf.kind",
}
"""A kind -> the module that is it."""


class Kind(Protocol):
    """What makes sources of references: a module, or an object, with these two functions.

    A kind whose places may hold several tasks has a third, `tasks(reference, options, shelf)`, which gives
    `TasksOfPlace`; of a place that holds one task by its nature, as a file does, and of one that cannot be read, these
    are empty.
    A kind that has options of its own declares their record as `Options`: see `ranker.sources.options`.
    """

    def claims(self, reference: Reference, options: SourceOptions) -> bool:
        """Whether a reference that names no kind is one of this kind, by how it looks or by what is there.

        Raises:
            UsageError: there is more than `options.limits` let it look at.
        """

    def sources(self, reference: Reference, options: SourceOptions, shelf: ResourceCache) -> Sequence[Source]:
        """The sources that a reference names: one or more, each under a name of its own.

        What was opened to find them may be left on the shelf, which is the one that they are looked at with.

        Raises:
            UsageError: there is nothing of this kind.
        """


def available() -> dict[str, Kind]:
    """The kinds by name; of those that claim a reference the first one has it.

    Raises:
        UsageError: a package cannot be imported, is no kind of source, or takes a name that is taken.
    """
    kinds = {name: cast(Kind, import_module(module)) for name, module in BUILTIN.items()}
    for name, kind in _installed():
        if name in kinds:
            raise UsageError(f"a package adds a kind of source that there is already: {name!r}")
        kinds[name] = kind
    return kinds


def known_kinds(shelf: ResourceCache) -> dict[str, Kind]:
    """The same, looked up once for all that share a shelf: to go through the installed packages takes a while."""
    if GROUP not in shelf:
        shelf[GROUP] = available()
    return cast("dict[str, Kind]", shelf[GROUP])


def _installed() -> tuple[tuple[str, Kind], ...]:
    """The kinds of installed packages."""
    found = []
    for name, where, target, kind in added(GROUP):
        if not (callable(getattr(kind, "claims", None)) and callable(getattr(kind, "sources", None))):
            raise UsageError(f"{where}: it must have the functions `claims` and `sources` (got {target})")
        found.append((name, cast(Kind, kind)))
    return tuple(found)


def kind_of(reference: Reference, options: SourceOptions, shelf: ResourceCache, names: Sequence[str] = ()) -> Kind:
    """The kind of a reference.

    Args:
        reference: where they are, and of which kind, if it says so.
        options: what is said of all references.
        shelf: what is opened meanwhile is left here.
        names: what else the place could have been called, for the message where nothing claims it.

    Raises:
        UsageError: nothing is there.
    """
    kind = _claiming(reference, options, shelf)
    if kind is None:
        known = str(UnknownName("suite", reference.place, names))
        where = "no file, directory, suite.json or hub id `org/name`"
        raise UsageError(f"`models`: {where} is called {reference.place!r}; {known}")
    return kind


def check_concerned(options: SourceOptions, kinds: Iterable[Kind]) -> None:
    """Refuse what is said of other kinds than those of a run.

    Raises:
        UsageError: there is something.
    """
    refuse(options.of_others(*(kind.Options for kind in kinds if hasattr(kind, "Options"))))


def refuse(unread: Iterable[str]) -> None:
    """Refuse options that none of a run's models reads.

    Raises:
        UsageError: there is one.
    """
    if names := [f"`{name}`" for name in sorted(unread)]:
        raise UsageError(f"none of these models reads {' or '.join(names)}; leave it out")


def tasks(reference: Reference, options: SourceOptions, shelf: ResourceCache) -> TasksOfPlace:
    """The tasks that a place has answers to, where these may be several; none of a reference that names one.

    Args:
        reference: where they are.
        options: what is said of all references.
        shelf: what is opened meanwhile is left here.

    Raises:
        UsageError: there is more than `options.limits` let a kind look at.
    """
    kind = None if reference.part else _claiming(reference, options, shelf)
    found = getattr(kind, "tasks", None)
    return TasksOfPlace() if found is None else cast(TasksOfPlace, found(reference, options, shelf))


def _claiming(reference: Reference, options: SourceOptions, shelf: ResourceCache) -> Kind | None:
    """The kind that a reference names, else the first that claims it."""
    kinds = known_kinds(shelf)
    if reference.kind:
        return look_up("kind of source", reference.kind, kinds)
    return next((kind for kind in kinds.values() if kind.claims(reference, options)), None)
