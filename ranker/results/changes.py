"""Changes between two runs, as records: models, methods and settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ranker.errors import listed
from ranker.numbers import counted, interval, percent, points, probability, unit
from ranker.results.evaluation import equal_up_to_rounding
from ranker.results.result import NAMES, Mode, Result, to_plain

SCHEMA_VERSION = 2

Status = Literal["ranked", "failed", "absent"]

MODELS = "models."
"""Prefix of the names of the models' content hashes."""


@dataclass(frozen=True)
class ModelChange:
    """A model before and after; None if it is not ranked, or the mode has no such number.

    Attributes:
        name: of the model.
        before, after: "ranked", "failed" or "absent".
        rank_before, rank_after: 1 for the best.
        outcome_before, outcome_after: mean outcome on the set, in a decision on the rows; fractions, or values of
            `Changes.metric`.
        p_near_best_before, p_near_best_after: in a decision, P(no other model is better by more than a point).
        reason: why it failed, after or else before; empty if it did not.
    """

    name: str
    before: Status
    after: Status
    rank_before: int | None
    rank_after: int | None
    outcome_before: float | None
    outcome_after: float | None
    p_near_best_before: float | None
    p_near_best_after: float | None
    reason: str = ""

    @property
    def moved(self) -> bool:
        """True if its rank or its status changed."""
        return (self.before, self.rank_before) != (self.after, self.rank_after)

    @property
    def changed(self) -> bool:
        """True if any of its values changed."""
        outcomes = _differ(self.outcome_before, self.outcome_after)
        return self.moved or outcomes or _differ(self.p_near_best_before, self.p_near_best_after)

    @property
    def place(self) -> str:
        """Its rank, or its status if it has none; before and after if these differ."""
        before, after = str(self.rank_before or self.before), str(self.rank_after or self.after)
        return f"{before} to {after}" if self.moved else after


@dataclass(frozen=True)
class MethodChange:
    """A method's pairwise accuracy before and after, fractions; None if it was not measured.

    Attributes:
        name: of the method.
        before, after: pairwise accuracies.
        difference: after minus before.
        low, high: 95 % interval of the difference.
        beyond: the interval excludes 0; None also if the pairs of models differ.
        paired: whether the interval is paired (samples of rows shared by both runs) or assumes independent runs.
    """

    name: str
    before: float | None
    after: float | None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    beyond: bool | None = None
    paired: bool | None = None


@dataclass(frozen=True)
class SettingChange:
    """A setting that differs between the two runs; None if a run does not state it.

    Attributes:
        name: a field of the ranking, or the path of a value of its provenance: "settings.steps", "versions.torch",
            "models.bert-a" (the content of that checkpoint).
        before, after: JSON values.
    """

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, repr=False)
class Changes(Result):
    """Changes from one run to another of the same mode.

    Attributes:
        mode: of both.
        ood, suite: names, before and after.
        models: all of either run, in the order of the second, then those that only the first has.
        methods: in the same order; empty in a decision.
        settings: settings that differ.
        notes: notes for a reader of the differences, a sentence each.
        metric: of both runs, if it is no mean over rows; "" for the mean outcome.

    Example:
        >>> nothing = Changes("decision", ("ten", "ten"), ("models", "models"), (), (), (), ())
        >>> nothing
        models on ten: what changed
        nothing
    """

    mode: Mode
    ood: tuple[str, str]
    suite: tuple[str, str]
    models: tuple[ModelChange, ...]
    methods: tuple[MethodChange, ...]
    settings: tuple[SettingChange, ...]
    notes: tuple[str, ...]
    metric: str = ""

    @property
    def title(self) -> str:
        """One-line title of the comparison."""
        suite, ood = (" -> ".join(dict.fromkeys(names)) for names in (self.suite, self.ood))
        return f"{suite} on {ood}: what changed"

    @property
    def changed(self) -> bool:
        """True if any value changed."""
        models = any(model.changed for model in self.models)
        methods = any(_differ(method.difference, 0.0) for method in self.methods)
        return bool(self.settings) or models or methods

    @property
    def answer(self) -> str:
        """Models that changed places, methods beyond their intervals, and the number of settings that differ."""
        moved = [f"{model.name} {model.place}" for model in self.models if model.moved]
        beyond = [f"{method.name} {points(method.difference)}" for method in self.methods if method.beyond]
        changes = [
            *([f"ranks: {listed(moved, NAMES)}"] if moved else []),
            *([f"beyond its interval: {listed(beyond, NAMES)}"] if beyond else []),
            *([counted(len(self.settings), "setting differs", "settings differ")] if self.settings else []),
        ]
        return f"{self.title}\n{'; '.join(changes) or ('numbers alone' if self.changed else 'nothing')}"

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each method (`MethodChange`), in a decision for each model (`ModelChange`)."""
        return [to_plain(change) for change in (self.methods or self.models)]

    def in_words(self) -> list[dict[str, str]]:
        """Return values before and after in percent, or in the unit of a metric that is no mean."""
        value = unit(self.metric).value
        if self.methods:
            return [
                {
                    "method": change.name,
                    "before": percent(change.before),
                    "after": percent(change.after),
                    "difference": points(change.difference),
                    "95 % interval": interval(change.low, change.high, points),
                }
                for change in self.methods
            ]
        return [
            {
                "model": change.name,
                "rank": change.place,
                "outcome before": value(change.outcome_before),
                "after": value(change.outcome_after),
                "P(near best) before": probability(change.p_near_best_before),
                "now": probability(change.p_near_best_after),
            }
            for change in self.models
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the stable schema: see `docs/json-schema.md`."""
        return {"schema_version": SCHEMA_VERSION, **to_plain(self)}


def _differ(before: float | None, after: float | None) -> bool:
    """Return whether two values differ by more than rounding."""
    return before is not after if before is None or after is None else not equal_up_to_rounding(before, after)
