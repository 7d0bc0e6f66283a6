"""Extensions by installed packages: the objects in a group of entry points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ranker.errors import UsageError


class LoadedEntryPoint(NamedTuple):
    """One entry point, loaded.

    Attributes:
        origin: package, entry point and group, for messages.
        target: object that it names, as the package wrote it.
    """

    name: str
    origin: str
    target: str
    loaded: object


def load_entry_points(group: str) -> Iterator[LoadedEntryPoint]:
    """Load the entry points of a group, one at a time.

    Raises:
        UsageError: one cannot be loaded.

    Example:
        >>> list(load_entry_points("rank_models.nobody_names_this"))
        []
    """
    from importlib import metadata  # `--help` of a command that asks for no package does not wait for it

    for point in metadata.entry_points(group=group):
        package = f"the package {point.dist.name!r}" if point.dist else "a package"
        origin = f"{package}, entry point {point.name!r} of {group!r}"
        try:
            loaded = point.load()
        except Exception as error:  # another package's code may raise anything
            raise UsageError.at(
                origin, f"{point.value} cannot be loaded: {type(error).__name__}: {error}", value=point.value
            ) from error
        yield LoadedEntryPoint(point.name, origin, point.value, loaded)
