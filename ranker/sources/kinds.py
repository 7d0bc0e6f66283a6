"""The kinds of sources that references may name: those that come with the product, and those of installed packages."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

from ranker.errors import UnknownName, UsageError, look_up
from ranker.packages import added
from ranker.sources.base import Source, SourceOptions
from ranker.sources.references import Reference

BUILTIN = {
    "log": "ranker.sources.logs.kind",
    "table": "ranker.sources.tables.kind",
    "hf": "ranker.sources.hf.kind",
}
"""A kind -> the module that is it."""

GROUP = "rank_models.sources"
"""The entry point group of packages with a kind of sources: each entry point's name is the kind's."""


class Kind(Protocol):
    """What makes sources of references: a module, or an object, with these two functions."""

    def claims(self, reference: Reference) -> bool:
        """Whether a reference that names no kind is one of this kind, by how it looks or by what is there."""

    def sources(self, reference: Reference, options: SourceOptions) -> Sequence[Source]:
        """The sources that a reference names: one or more, each under a name of its own.

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


def _installed() -> tuple[tuple[str, Kind], ...]:
    """The kinds of installed packages."""
    found = []
    for name, where, target, kind in added(GROUP):
        if not (callable(getattr(kind, "claims", None)) and callable(getattr(kind, "sources", None))):
            raise UsageError(f"{where}: it must have the functions `claims` and `sources` (got {target})")
        found.append((name, cast(Kind, kind)))
    return tuple(found)


def sources(reference: Reference, options: SourceOptions, names: Sequence[str] = ()) -> Sequence[Source]:
    """The sources that a reference names.

    Args:
        reference: where they are, and of which kind, if it says so.
        options: what is said of all references.
        names: what else the place could have been called, for the message where nothing claims it.

    Raises:
        UsageError: nothing is there.
    """
    kinds = available()
    if reference.kind:
        return look_up("kind of source", reference.kind, kinds).sources(reference, options)
    kind = next((kind for kind in kinds.values() if kind.claims(reference)), None)
    if kind is None:
        known = str(UnknownName("suite", reference.place, names))
        where = "no file, directory, suite.json or hub id `org/name`"
        raise UsageError(f"`models`: {where} is called {reference.place!r}; {known}")
    return kind.sources(reference, options)
