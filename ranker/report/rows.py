"""The labelled rows of a decision: who is wrong on which, and how often on rows of which label."""

from __future__ import annotations

from collections.abc import Iterator

from ranker.numbers import counted
from ranker.report.tables import Table, table
from ranker.results.records import Decision

LISTED = 200
"""The most rows that are listed; the JSON has all."""

COUNTED = "Right, by true label"
LISTS = "Labelled rows"
HELP = {
    COUNTED: "On how many rows of each true label a model is right.",
    LISTS: "wrong: the models that predict another label than the true one, and which; empty: all are right.",
}
"""Caption -> what is shown."""


def tables(found: Decision) -> Iterator[Table]:
    """The rows counted by label and, where they are not too many, one by one; nothing where they are not known."""
    if found.rows:
        yield by_label(found)
    if 0 < len(found.rows) <= LISTED:
        yield one_by_one(found)


def one_by_one(found: Decision) -> Table:
    """Each row's true label, and the models that predict another, the first of the order first."""
    names, listed = found.names, []
    for row in found.rows:
        wrong = [f"{name} ({row.predicted[name]})" for name in names if row.predicted[name] != row.label]
        listed.append((row.id, row.label, ", ".join(wrong)))
    return table(LISTS, ["row", "true label", "wrong"], [], listed)


def by_label(found: Decision) -> Table:
    """On how many rows of each true label a model is right."""
    labels = [row.label for row in found.rows]
    known = list(dict.fromkeys(labels))
    counts = []
    for model in found.models:
        right = [row.label for row in found.rows if row.predicted[model.name] == row.label]
        counts.append((model.name, *(str(right.count(label)) for label in known)))
    numbers = [f"{label}, {counted(labels.count(label), 'row')}" for label in known]
    return table(COUNTED, ["model"], numbers, counts)
