"""What installed packages add: the objects that they name in a group of entry points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ranker.errors import UsageError


class Added(NamedTuple):
    """One entry point, loaded.

    Attributes:
        name: the entry point's.
        where: how a message calls it: the package, the entry point and its group.
        target: what it names, as the package wrote it.
        found: the object itself.
    """

    name: str
    where: str
    target: str
    found: object


def added(group: str) -> Iterator[Added]:
    """The entry points of a group, each loaded when its turn comes.

    Raises:
        UsageError: one cannot be loaded.

    Example:
        >>> list(added("rank_models.nobody_names_this"))
        []
    """
    from importlib import metadata  # `--help` of a command that asks for no package does not wait for it

    for point in metadata.entry_points(group=group):
        package = f"the package {point.dist.name!r}" if point.dist else "a package"
        where = f"{package}, entry point {point.name!r} of {group!r}"
        try:
            found = point.load()
        except Exception as error:  # another package's code may raise anything
            raise UsageError(f"{where}: {point.value} cannot be loaded: {type(error).__name__}: {error}") from error
        yield Added(point.name, where, point.value, found)
