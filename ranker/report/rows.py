"""The labelled rows of a decision: who is wrong on which, and how often on rows of which label."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from ranker.numbers import counted
from ranker.ranking import Ranking
from ranker.report.terminal import table

LISTED = 200
"""The most rows that are listed; the JSON has all."""

COUNTED = "Right, by true label"
LISTS = "Labelled rows"
HELP = {
    COUNTED: "On how many rows of each true label a model is right.",
    LISTS: "wrong: the models that predict another label than the true one, and which; empty: all are right.",
}
"""Caption -> what is shown."""


def tables(ranking: Ranking) -> Iterator[tuple[str, Table]]:
    """The rows counted by label and, where they are not too many, one by one; nothing where they are not known."""
    if ranking.rows:
        yield COUNTED, by_label(ranking)
    if 0 < len(ranking.rows) <= LISTED:
        yield LISTS, one_by_one(ranking)


def one_by_one(ranking: Ranking) -> Table:
    """Each row's true label, and the models that predict another, the first of the order first."""
    shown = table("row", "true label", "wrong")
    for row in ranking.rows:
        given = {model.name: row.predicted[model.name] for model in ranking.models}
        wrong = [f"{model} ({label})" for model, label in given.items() if label != row.label]
        shown.add_row(Text(row.id), Text(row.label), Text(", ".join(wrong)))
    return shown


def by_label(ranking: Ranking) -> Table:
    """On how many rows of each true label a model is right."""
    labels = [row.label for row in ranking.rows]
    known = list(dict.fromkeys(labels))
    shown = table("model", *(f"{label}, {counted(labels.count(label), 'row')}" for label in known))
    for model in ranking.models:
        right = [row.label for row in ranking.rows if row.predicted[model.name] == row.label]
        shown.add_row(Text(model.name), *(str(right.count(label)) for label in known))
    return shown
