"""What is measured on each row that a model answered: by factors, and of how good its attributions are.

What reads attributions takes time, and is kept in the store: under a key of the attributions, by what is measured on
which rows. A factor that nobody can identify is measured each time, as is what reads answers alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

from factors import Example, Factor
from factors.types import Floats
from ranker.datasets.identity import text_names
from ranker.results.header import Quality
from ranker.runs import functions
from ranker.runs.collect import ModelResponses
from ranker.runs.plan import Plan
from ranker.runtime import shards
from ranker.runtime.base import Answer
from ranker.runtime.runtime import Runtime
from ranker.runtime.shards import MeasureColumn
from ranker.runtime.store import Entry, Store
from ranker.scoring.diagnostics import judge_attributions, quality_of
from ranker.scoring.score import FIXED, ModelScores, label_rule, score_model
from ranker.tasks.classes import are_classes, has_labels

REVISION = 1
"""Of what is kept here: raised when the same sources come to give other numbers."""

Compute = Callable[[Sequence[int]], Sequence[MeasureColumn]]
"""(places of what is not known) -> what it gives, in order."""


@dataclass(frozen=True)
class Measurer:
    """How the answers of a plan are measured.

    Attributes:
        plan: what was asked.
        store: where scores are kept; None where nothing is.
        runtime: shows which factor is applied to which model's answers, if that takes long.
    """

    plan: Plan
    store: Store | None = None
    runtime: Runtime = Runtime()

    def scores_of_each(
        self, models: Sequence[tuple[ModelResponses, Answer]], examples: Sequence[Example], factors: Sequence[Factor]
    ) -> Iterator[ModelScores]:
        """Apply factors to the answers of one model after the other. Progress names the model and the factor.

        Raises:
            StoreError: the store cannot be read or written.
        """
        with self.runtime.steps("factors", len(models)) as watch:
            for model, answer in models:
                yield self.scores(model, answer, examples, factors, watch)
                watch(f"those of {model.model.name} are done", 1)

    def scores(
        self,
        one: ModelResponses,
        answer: Answer,
        examples: Sequence[Example],
        factors: Sequence[Factor],
        watch: Callable[[str, int], object] = lambda step, done: None,
    ) -> ModelScores:
        """What factors make of a model's answers; nothing, where these were judged elsewhere.

        Args:
            one, answer: the model and its answers.
            examples: what it answered.
            factors: what is measured.
            watch: is told which factor is applied next.

        Raises:
            StoreError: the store cannot be read or written.
        """
        predictions, plan = answer.predictions, self.plan
        task = plan.task
        if not (are_classes(predictions) and has_labels(task)):
            return ModelScores(np.zeros((0, len(examples))), {})

        def compute(places: Sequence[int]) -> list[MeasureColumn]:
            some = [factors[place] for place in places]

            def name_factor(name: str) -> None:
                watch(f"{name} on {one.model.name}", 0)

            found = score_model(
                predictions, answer.attributions, examples, some, task, plan.target, plan.norm, name_factor
            )
            return [_packed(found, f, factor.name) for f, factor in enumerate(some)]

        names = [self._named(factor, examples) if answer.attributions else None for factor in factors]
        return _unpacked(self._known(one, answer, names, compute), factors, len(examples))

    def quality(self, one: ModelResponses, answer: Answer, examples: Sequence[Example]) -> Quality:
        """How good a model's attributions are.

        Raises:
            StoreError: the store cannot be read or written.
        """

        if not answer.attributions:
            return quality_of(np.empty((3, 0)))

        def compute(places: Sequence[int]) -> list[MeasureColumn]:
            rows = judge_attributions(answer.attributions, examples, self.plan.settings)
            return [MeasureColumn(rows[place], np.full(rows.shape[1], -1)) for place in places]

        settings = json.dumps([REVISION, asdict(self.plan.settings)], sort_keys=True)
        made = json.dumps(functions.made_with(), sort_keys=True)
        names = [_digest(f"quality {part} {settings} {made}", self._rows(examples)) for part in range(3)]
        found = self._known(one, answer, names, compute)
        return quality_of(np.array([part.values for part in found]))

    def _known(
        self, one: ModelResponses, answer: Answer, names: Sequence[bytes | None], compute: Compute
    ) -> list[MeasureColumn]:
        """What was measured, in the order of the names; what has none, or is not known, is computed now."""
        entry = self._entry(one, answer) if any(names) else None
        kept = {} if entry is None else entry.scores([name for name in names if name])
        found = {place: kept[name] for place, name in enumerate(names) if name in kept}
        missing = [place for place in range(len(names)) if place not in found]
        new = dict(zip(missing, compute(missing) if missing else (), strict=True))
        keep = {name: row for place, row in new.items() if (name := names[place])}
        if entry is not None and keep:
            entry.add(shards.scores(list(keep), list(keep.values())))
            entry.compact()
        found |= new
        return [found[place] for place in range(len(names))]

    def _entry(self, one: ModelResponses, answer: Answer) -> Entry | None:
        """Where what is measured on a model's answers is kept."""
        if self.store is None or not answer.key:
            return None
        task, plan = self.plan.task, self.plan
        key = {
            "scores": REVISION,
            "of": answer.key,
            "source": {"content": one.content},
            "norm": plan.norm,
            "task": {rule: getattr(task, rule, None) for rule in FIXED},
        }
        return self.store.entry(key, one.model.name)

    def _named(self, factor: Factor, examples: Sequence[Example]) -> bytes | None:
        """The name of a factor's scores on rows; None where nobody knows what it reaches."""
        known = self._functions.get(factor.name)
        told = json.dumps([known, factor.kind, label_rule(factor, self.plan.target)])
        return None if known is None else _digest(told, self._rows(examples))

    @cached_property
    def _functions(self) -> dict[str, str | None]:
        return {factor.name: functions.identity(factor.score) for factor in self.plan.factors}

    def _rows(self, examples: Sequence[Example]) -> bytes:
        """What identifies rows, with all that a factor can read of them, in order."""
        if id(examples) not in self._told:
            self._told[id(examples)] = rows_digest(examples)
        return self._told[id(examples)]

    @cached_property
    def _told(self) -> dict[int, bytes]:
        return {}


def rows_digest(examples: Sequence[Example]) -> bytes:
    """32 bytes that identify rows by all that is in them."""
    found = hashlib.sha256()
    for example, text in zip(examples, text_names(examples), strict=True):
        target = -1 if example.target is None else example.target
        marks = sorted((name, [asdict(span) for span in spans]) for name, spans in example.marks.items())
        found.update(text + json.dumps([example.id, target, example.group, marks]).encode() + b"\n")
    return found.digest()


def _digest(what: str, rows: bytes) -> bytes:
    return hashlib.sha256(what.encode() + rows).digest()


def _packed(found: ModelScores, place: int, name: str) -> MeasureColumn:
    """What one factor gave, as it is kept."""
    reasons = found.undefined.get(name, {})
    why = np.full(found.values.shape[1], -1)
    for number, rows in enumerate(reasons.values()):
        why[list(rows)] = number
    return MeasureColumn(found.values[place], why, tuple(reasons))


def _unpacked(rows: Sequence[MeasureColumn], factors: Sequence[Factor], size: int) -> ModelScores:
    """What all factors gave."""
    undefined = {
        factor.name: {
            reason: frozenset(np.flatnonzero(row.why == number).tolist()) for number, reason in enumerate(row.reasons)
        }
        for factor, row in zip(factors, rows, strict=True)
        if row.reasons
    }
    values: Floats = np.array([row.values for row in rows]).reshape(len(rows), size)
    return ModelScores(values, undefined)
