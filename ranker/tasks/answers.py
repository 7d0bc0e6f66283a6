"""Kinds of answers by name. Code that stores or sends answers uses their protocol, and no class."""

from __future__ import annotations

from importlib import import_module, metadata
from typing import cast

from ranker.errors import UsageError, look_up
from ranker.tasks.base import Predictions

BUILTIN = {
    "classes": "ranker.tasks.classes:ClassProbabilities",
    "scores": "ranker.tasks.precomputed:PrecomputedScores",
    "tags": "ranker.tasks.tags:TagAnswers",
    "texts": "ranker.tasks.texts:TextAnswers",
    "numbers": "ranker.tasks.numbers:NumberAnswers",
    "rankings": "ranker.tasks.rankings:RankingAnswers",
    "label-sets": "ranker.tasks.label_sets:LabelSetAnswers",
}
"""Built-in kinds of answers: kind -> class."""

GROUP = "rank_models.answers"
"""Entry point group of packages with kinds of answers: the name of an entry point is its kind."""


def answer_class(kind: str) -> type[Predictions]:
    """Find the class of a kind of answers.

    Raises:
        UsageError: a package gives another object than the class of that kind.

    Example:
        >>> answer_class("classes").__name__
        'ClassProbabilities'
    """
    place = BUILTIN.get(kind, "")
    if not place:
        added = {entry.name: entry.value for entry in metadata.entry_points(group=GROUP)}
        place = look_up("kind of answers", kind, BUILTIN | added)
    module, _, name = place.partition(":")
    loaded = getattr(import_module(module), name, None)
    if getattr(loaded, "kind", None) != kind or not hasattr(loaded, "of_columns"):
        raise UsageError.at(place, f"it must be the class of the answers called {kind!r}", value=kind)
    return cast("type[Predictions]", loaded)
