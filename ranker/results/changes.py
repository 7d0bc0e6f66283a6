"""What changed between two runs, as records: models, methods, and what the runs were made with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ranker.errors import listed
from ranker.numbers import counted, interval, percent, points, probability, unit
from ranker.results.result import NAMES, Mode, Result, plain

SCHEMA_VERSION = 2

Status = Literal["ranked", "failed", "absent"]

MODELS = "models."
"""What the names of the models' content hashes begin with."""


@dataclass(frozen=True)
class ModelChange:
    """One model before and after; None where it is not ranked, or where the mode has no such number.

    Attributes:
        name: of the model.
        before, after: "ranked", "failed" or "absent".
        rank_before, rank_after: 1 for the best.
        outcome_before, outcome_after: mean outcome on the set, in a decision on the rows; fractions, or values of
            `Changes.metric`.
        p_near_best_before, p_near_best_after: in a decision, the probability that no other model is better by
            more than a point.
        reason: why it failed, after or else before; empty where it did not.
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
        """Whether its rank, or what became of it, is another."""
        return (self.before, self.rank_before) != (self.after, self.rank_after)

    @property
    def changed(self) -> bool:
        """Whether anything of it is not as it was."""
        before = (self.outcome_before, self.p_near_best_before)
        return self.moved or before != (self.outcome_after, self.p_near_best_after)

    @property
    def place(self) -> str:
        """Its rank, before and after where these differ; instead of a rank what became of it."""
        before, after = str(self.rank_before or self.before), str(self.rank_after or self.after)
        return f"{before} to {after}" if self.moved else after


@dataclass(frozen=True)
class MethodChange:
    """One method's pairwise accuracy before and after, fractions; None where it was not measured.

    Attributes:
        name: of the method.
        before, after: pairwise accuracies.
        difference: after minus before.
        low, high: 95 % interval of the difference.
        beyond: the interval does not include 0; None, too, where the pairs of models are others.
        paired: the interval is over samples of rows that are the same for both runs; else it takes them as independent.
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
    """Something that the two runs were not made with alike; None where a run does not state it.

    Attributes:
        name: a field of the ranking, or the way to a value of its provenance: "settings.steps", "versions.torch",
            "models.bert-a" (the content of that checkpoint).
        before, after: as JSON knows them.
    """

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, repr=False)
class Changes(Result):
    """What changed from one run to another of the same mode.

    Attributes:
        mode: of both.
        ood, suite: names, before and after.
        models: all of either run, in the order of the second, then those that only the first has.
        methods: the same; empty in a decision.
        settings: what differs.
        notes: what a reader of the differences has to know, a sentence each.
        metric: of both runs, where it is no mean over rows; "" for the mean outcome.

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
        """What is compared, in a line."""
        suite, ood = (" -> ".join(dict.fromkeys(names)) for names in (self.suite, self.ood))
        return f"{suite} on {ood}: what changed"

    @property
    def changed(self) -> bool:
        """Whether anything is not as it was."""
        models = any(model.changed for model in self.models)
        return bool(self.settings) or models or any(method.difference != 0 for method in self.methods)

    @property
    def answer(self) -> str:
        """Which models changed places, which methods beyond their intervals, and how many settings differ."""
        moved = [f"{one.name} {one.place}" for one in self.models if one.moved]
        beyond = [f"{one.name} {points(one.difference)}" for one in self.methods if one.beyond]
        said = [
            *([f"ranks: {listed(moved, NAMES)}"] if moved else []),
            *([f"beyond its interval: {listed(beyond, NAMES)}"] if beyond else []),
            *([counted(len(self.settings), "setting differs", "settings differ")] if self.settings else []),
        ]
        return f"{self.title}\n{'; '.join(said) or ('numbers alone' if self.changed else 'nothing')}"

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each method (`MethodChange`), in a decision for each model (`ModelChange`)."""
        return [plain(one) for one in (self.methods or self.models)]

    def in_words(self) -> list[dict[str, str]]:
        """Before and after, in percent; a metric that is no mean in its own unit."""
        value = unit(self.metric).value
        if self.methods:
            return [
                {
                    "method": one.name,
                    "before": percent(one.before),
                    "after": percent(one.after),
                    "difference": points(one.difference),
                    "95 % interval": interval(one.low, one.high, points),
                }
                for one in self.methods
            ]
        return [
            {
                "model": one.name,
                "rank": one.place,
                "outcome before": value(one.outcome_before),
                "after": value(one.outcome_after),
                "P(near best) before": probability(one.p_near_best_before),
                "now": probability(one.p_near_best_after),
            }
            for one in self.models
        ]

    def to_dict(self) -> dict[str, Any]:
        """The stable schema: see `docs/json-schema.md`."""
        return {"schema_version": SCHEMA_VERSION, **plain(self)}
