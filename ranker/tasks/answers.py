"""The kinds of answers by name. Whoever keeps or sends answers knows their protocol, and no class."""

from __future__ import annotations

from importlib import import_module, metadata
from typing import cast

from ranker.errors import UsageError, look_up
from ranker.tasks.base import Predictions

BUILTIN = {
    "classes": "ranker.tasks.classes:ClassProbabilities",
    "scores": "ranker.tasks.precomputed:PrecomputedScores",
}
"""A kind -> the class of its answers."""

GROUP = "rank_models.answers"
"""Entry point group of packages with kinds of answers: each entry point is named by its kind."""


def answer_class(kind: str) -> type[Predictions]:
    """Find the class of a kind of answers.

    Raises:
        UnknownName: no kind bears that name.
        UsageError: a package gives a class of another kind, or none.

    Example:
        >>> answer_class("classes").__name__
        'ClassProbabilities'
    """
    place = BUILTIN.get(kind, "")
    if not place:
        added = {entry.name: entry.value for entry in metadata.entry_points(group=GROUP)}
        place = look_up("kind of answers", kind, BUILTIN | added)
    module, _, name = place.partition(":")
    found = getattr(import_module(module), name, None)
    if getattr(found, "kind", None) != kind or not hasattr(found, "of_columns"):
        raise UsageError(f"{place}: it must be the class of the answers called {kind!r}")
    return cast("type[Predictions]", found)
