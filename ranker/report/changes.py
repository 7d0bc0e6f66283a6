"""Report of the changes between two runs: its tables and remarks."""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from typing import Any

from ranker.numbers import interval, percent, points, probability, unit
from ranker.report.document import Document
from ranker.report.tables import Table, table
from ranker.results.changes import MODELS, Changes, ModelChange

FINGERPRINT_LENGTH = 12
"""Characters shown of a fingerprint, enough to tell two apart."""

NUMBERS = ("rank", "outcome", "p_near_best")
"""Compared values of a model; `ModelChange` has each before and after."""

CHANGE = ("difference", "low", "high", "beyond", "paired")
"""Fields of the change of a method."""


def document(changes: Changes) -> Document:
    """Build the document of the changes."""
    return Document(changes.title, tables(changes), remarks(changes), list(_rows(changes)), changes.to_dict)


def tables(changes: Changes) -> list[Table]:
    """Return the tables of models, methods and settings that have rows."""
    parts = [models(changes)]
    parts += [methods(changes)] if changes.methods else []
    return [*parts, settings(changes)] if changes.settings else parts


def remarks(changes: Changes) -> list[str]:
    """Return the remarks for a reader of the tables, a sentence each."""
    first = [] if changes.changed else ["Nothing changed."]
    starred = any(method.beyond for method in changes.methods)
    return [*first, *changes.notes, *(["* the interval of the change does not include 0."] if starred else [])]


def models(changes: Changes) -> Table:
    """Tabulate each model's rank and numbers, before and after."""
    decided, value, metric = changes.mode == "decision", unit(changes.metric).value, changes.metric or "outcome"
    outcome = f"{metric} here" if decided else f"OOD {metric}"
    numbers = ["rank", "then", outcome, "then", *(["P(near best)", "then"] if decided else [])]
    rows = []
    for model in changes.models:
        cells = [str(model.rank_before or ""), str(model.rank_after or "")]
        cells += [value(model.outcome_before), value(model.outcome_after)]
        if decided:
            cells += [probability(model.p_near_best_before), probability(model.p_near_best_after)]
        rows.append((model.name, *cells, fate(model)))
    return table("Models", ["model"], numbers, rows, last=[""])


def fate(model: ModelChange) -> str:
    """Describe the change of a model's status; empty if it stayed ranked.

    Example:
        >>> fate(ModelChange("a", "absent", "ranked", None, 1, None, 0.5, None, None))
        'new'
    """
    if model.after == "failed":
        return f"{'FAILED as before' if model.before == 'failed' else 'FAILED'}: {model.reason}"
    if model.after == "absent":
        return "gone"
    return {"ranked": "", "failed": "had failed", "absent": "new"}[model.before]


def methods(changes: Changes) -> Table:
    """Tabulate each method's pairwise accuracy before and after; a star marks an interval without 0."""
    rows = [
        (
            method.name,
            percent(method.before),
            percent(method.after),
            points(method.difference),
            interval(method.low, method.high, points),
            "new" if method.before is None else "gone" if method.after is None else "*" if method.beyond else "",
        )
        for method in changes.methods
    ]
    numbers = ["before", "after", "change", "95 % interval"]
    return table("Methods, pairwise accuracy", ["method"], numbers, rows, last=[""])


def settings(changes: Changes) -> Table:
    """Tabulate the settings that differ between the runs."""
    rows = []
    for setting in changes.settings:
        cut = FINGERPRINT_LENGTH if setting.name.endswith("fingerprint") or setting.name.startswith(MODELS) else None
        rows.append((setting.name, *(_value_text(value)[:cut] for value in (setting.before, setting.after))))
    return table("Made with", ["setting", "before", "after"], [], rows)


def _value_text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else dumps(value, ensure_ascii=False)


def _rows(changes: Changes) -> Iterator[dict[str, Any]]:
    for model in changes.models:
        yield _row("model", model.name, "status", model.before, model.after)
        for number in NUMBERS:
            before, after = getattr(model, f"{number}_before"), getattr(model, f"{number}_after")
            if (before, after) != (None, None):
                yield _row("model", model.name, number, before, after)
    for method in changes.methods:
        change = {field: getattr(method, field) for field in CHANGE}
        yield _row("method", method.name, "pairwise_accuracy", method.before, method.after) | change
    for setting in changes.settings:
        yield _row("setting", setting.name, "value", _value_text(setting.before), _value_text(setting.after))


def _row(part: str, name: str, field: str, before: Any, after: Any) -> dict[str, Any]:
    empty = dict.fromkeys(CHANGE)
    return {"part": part, "name": name, "what": field, "before": before, "after": after} | empty
