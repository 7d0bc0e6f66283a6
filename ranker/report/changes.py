"""What changed between two runs: its tables and remarks."""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from typing import Any

from ranker.numbers import interval, percent, points, probability, unit
from ranker.report.document import Document
from ranker.report.tables import Table, table
from ranker.results.changes import MODELS, Changes, ModelChange

SHORT = 12
"""Characters of a fingerprint that tell two apart."""

NUMBERS = ("rank", "outcome", "p_near_best")
"""What is compared of a model: `ModelChange` has each of them before and after."""

CHANGE = ("difference", "low", "high", "beyond", "paired")
"""What is said of the change of a method."""


def document(found: Changes) -> Document:
    """What changed, before any format."""
    return Document(found.title, tables(found), remarks(found), list(_rows(found)), found.to_dict())


def tables(found: Changes) -> list[Table]:
    """Models, methods and settings, as far as there are any."""
    shown = [models(found)]
    shown += [methods(found)] if found.methods else []
    return [*shown, settings(found)] if found.settings else shown


def remarks(found: Changes) -> list[str]:
    """What a reader of the tables has to know, a sentence each."""
    first = [] if found.changed else ["Nothing changed."]
    starred = any(method.beyond for method in found.methods)
    return [*first, *found.notes, *(["* the interval of the change does not include 0."] if starred else [])]


def models(found: Changes) -> Table:
    """Each model's rank and numbers, before and after."""
    decided, value, what = found.mode == "decision", unit(found.metric).value, found.metric or "outcome"
    outcome = f"{what} here" if decided else f"OOD {what}"
    numbers = ["rank", "then", outcome, "then", *(["P(near best)", "then"] if decided else [])]
    shown = []
    for model in found.models:
        cells = [str(model.rank_before or ""), str(model.rank_after or "")]
        cells += [value(model.outcome_before), value(model.outcome_after)]
        if decided:
            cells += [probability(model.p_near_best_before), probability(model.p_near_best_after)]
        shown.append((model.name, *cells, fate(model)))
    return table("Models", ["model"], numbers, shown, last=[""])


def fate(model: ModelChange) -> str:
    """What became of a model, in a few words; empty where it was ranked, and is.

    Example:
        >>> fate(ModelChange("a", "absent", "ranked", None, 1, None, 0.5, None, None))
        'new'
    """
    if model.after == "failed":
        return f"{'FAILED as before' if model.before == 'failed' else 'FAILED'}: {model.reason}"
    if model.after == "absent":
        return "gone"
    return {"ranked": "", "failed": "had failed", "absent": "new"}[model.before]


def methods(found: Changes) -> Table:
    """Each method's pairwise accuracy before and after; a star marks a change that its interval tells from none."""
    shown = [
        (
            method.name,
            percent(method.before),
            percent(method.after),
            points(method.difference),
            interval(method.low, method.high, points),
            "new" if method.before is None else "gone" if method.after is None else "*" if method.beyond else "",
        )
        for method in found.methods
    ]
    numbers = ["before", "after", "change", "95 % interval"]
    return table("Methods, pairwise accuracy", ["method"], numbers, shown, last=[""])


def settings(found: Changes) -> Table:
    """What the runs were not made with alike."""
    shown = []
    for setting in found.settings:
        cut = SHORT if setting.name.endswith("fingerprint") or setting.name.startswith(MODELS) else None
        shown.append((setting.name, *(_written(value)[:cut] for value in (setting.before, setting.after))))
    return table("Made with", ["setting", "before", "after"], [], shown)


def _written(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else dumps(value, ensure_ascii=False)


def _before(model: ModelChange) -> tuple[Any, ...]:
    return tuple(getattr(model, f"{number}_before") for number in NUMBERS)


def _after(model: ModelChange) -> tuple[Any, ...]:
    return tuple(getattr(model, f"{number}_after") for number in NUMBERS)


def _rows(found: Changes) -> Iterator[dict[str, Any]]:
    for model in found.models:
        statuses = [("status", model.before, model.after)]
        numbers = zip(NUMBERS, _before(model), _after(model), strict=True)
        for what, before, after in (*statuses, *(row for row in numbers if row[1:] != (None, None))):
            yield _row("model", model.name, what, before, after)
    for method in found.methods:
        change = {field: getattr(method, field) for field in CHANGE}
        yield _row("method", method.name, "pairwise_accuracy", method.before, method.after) | change
    for setting in found.settings:
        yield _row("setting", setting.name, "value", _written(setting.before), _written(setting.after))


def _row(part: str, name: str, what: str, before: Any, after: Any) -> dict[str, Any]:
    empty = dict.fromkeys(CHANGE)
    return {"part": part, "name": name, "what": what, "before": before, "after": after} | empty
