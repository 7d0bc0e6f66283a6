"""Measure factors and attribution quality on each row that a model answered.

Measures that read attributions are slow, so they are stored under a key of the attributions, the measure and the rows.
Factors that cannot be identified, and those that read answers alone, are computed each time.
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
from ranker.attribution.settings import Settings
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
from ranker.tasks.classes import ClassProbabilities, are_classes

REVISION = 1
"""Version of the stored scores; raised when the same sources give other numbers."""

Compute = Callable[[Sequence[int]], Sequence[MeasureColumn]]
"""(positions of the missing columns) -> these columns, in order."""


@dataclass(frozen=True)
class Measurer:
    """Measures the answers of a plan.

    Attributes:
        plan: the plan.
        store: store of scores; None to store nothing.
        runtime: shows which factor is applied to which model's answers, if that takes long.
    """

    plan: Plan
    store: Store | None = None
    runtime: Runtime = Runtime()

    def scores_of_each(
        self, models: Sequence[tuple[ModelResponses, Answer]], examples: Sequence[Example], factors: Sequence[Factor]
    ) -> Iterator[ModelScores]:
        """Apply factors to the answers of one model after the other. Progress names the model and the factor."""
        with self.runtime.steps("factors", len(models)) as watch:
            for model, answer in models:
                yield self.scores(model, answer, examples, factors, watch)
                watch(f"those of {model.model.name} are done", 1)

    def scores(
        self,
        reply: ModelResponses,
        answer: Answer,
        examples: Sequence[Example],
        factors: Sequence[Factor],
        watch: Callable[[str, int], object] = lambda step, count: None,
    ) -> ModelScores:
        """Score a model's answers by factors; no rows without factors. `watch` is told each factor's name."""
        predictions, plan = answer.predictions, self.plan
        if not factors:
            return ModelScores(np.zeros((0, len(examples))), {})
        if not are_classes(predictions):
            predictions = ClassProbabilities.of_outputs(np.array([row.probs for row in answer.attributions]))

        def compute(places: Sequence[int]) -> list[MeasureColumn]:
            missing = [factors[place] for place in places]

            def name_factor(name: str) -> None:
                watch(f"{name} on {reply.model.name}", 0)

            scores = score_model(
                predictions, answer.attributions, examples, missing, plan.task, plan.target, plan.norm, name_factor
            )
            return [_pack(scores, f, factor.name) for f, factor in enumerate(missing)]

        names = [self._score_key(factor, examples) if answer.attributions else None for factor in factors]
        return _unpack(self._load_or_compute(reply, answer, names, compute), factors, len(examples))

    def quality(self, reply: ModelResponses, answer: Answer, examples: Sequence[Example], backend: Settings) -> Quality:
        """Measure the quality of a model's attributions by a backend."""

        if not answer.attributions:
            return quality_of(np.empty((3, 0)))

        def compute(places: Sequence[int]) -> list[MeasureColumn]:
            rows = judge_attributions(answer.attributions, examples, backend)
            return [MeasureColumn(rows[place], np.full(rows.shape[1], -1)) for place in places]

        settings = json.dumps([REVISION, asdict(backend)], sort_keys=True)
        versions = json.dumps(functions.computation_versions(), sort_keys=True)
        names = [_digest(f"quality {part} {settings} {versions}", self._rows(examples)) for part in range(3)]
        columns = self._load_or_compute(reply, answer, names, compute)
        return quality_of(np.array([part.values for part in columns]))

    def _load_or_compute(
        self, reply: ModelResponses, answer: Answer, names: Sequence[bytes | None], compute: Compute
    ) -> list[MeasureColumn]:
        """Return columns in the order of `names`; those without a name, or not in the store, are computed."""
        entry = self._entry(reply, answer) if any(names) else None
        stored = {} if entry is None else entry.scores([name for name in names if name])
        columns = {place: stored[name] for place, name in enumerate(names) if name in stored}
        missing = [place for place in range(len(names)) if place not in columns]
        computed = dict(zip(missing, compute(missing) if missing else (), strict=True))
        keepable = {name: row for place, row in computed.items() if (name := names[place])}
        if entry is not None and keepable:
            entry.add(shards.scores(list(keepable), list(keepable.values())))
            entry.compact()
        columns |= computed
        return [columns[place] for place in range(len(names))]

    def _entry(self, reply: ModelResponses, answer: Answer) -> Entry | None:
        """Return the store entry for measures of a model's answers."""
        if self.store is None or not answer.key:
            return None
        task, plan = self.plan.task, self.plan
        key = {
            "scores": REVISION,
            "of": answer.key,
            "source": {"content": reply.content},
            "norm": plan.norm,
            "task": {rule: getattr(task, rule, None) for rule in FIXED},
        }
        return self.store.entry(key, reply.model.name)

    def _score_key(self, factor: Factor, examples: Sequence[Example]) -> bytes | None:
        """Return the key of a factor's scores on rows; None if the factor cannot be identified."""
        identity = self._functions.get(factor.name)
        parts = json.dumps([identity, factor.kind, label_rule(factor, self.plan.target)])
        return None if identity is None else _digest(parts, self._rows(examples))

    @cached_property
    def _functions(self) -> dict[str, str | None]:
        return {factor.name: functions.identity(factor.score) for factor in self.plan.factors}

    def _rows(self, examples: Sequence[Example]) -> bytes:
        """Return the digest of rows, computed once per sequence."""
        if id(examples) not in self._digests:
            self._digests[id(examples)] = rows_digest(examples)
        return self._digests[id(examples)]

    @cached_property
    def _digests(self) -> dict[int, bytes]:
        return {}


def rows_digest(examples: Sequence[Example]) -> bytes:
    """Return 32 bytes that identify rows by everything a factor can read of them, in order."""
    digest = hashlib.sha256()
    for example, text in zip(examples, text_names(examples), strict=True):
        target = -1 if example.target is None else example.target
        marks = sorted((name, [asdict(span) for span in spans]) for name, spans in example.marks.items())
        digest.update(text + json.dumps([example.id, target, example.group, marks]).encode() + b"\n")
    return digest.digest()


def _digest(name: str, rows: bytes) -> bytes:
    return hashlib.sha256(name.encode() + rows).digest()


def _pack(scores: ModelScores, place: int, name: str) -> MeasureColumn:
    """Return the scores of one factor in stored form."""
    reasons = scores.undefined.get(name, {})
    reason_numbers = np.full(scores.values.shape[1], -1)
    for number, rows in enumerate(reasons.values()):
        reason_numbers[list(rows)] = number
    return MeasureColumn(scores.values[place], reason_numbers, tuple(reasons))


def _unpack(rows: Sequence[MeasureColumn], factors: Sequence[Factor], size: int) -> ModelScores:
    """Return the scores of all factors from stored form."""
    undefined = {
        factor.name: {
            reason: frozenset(np.flatnonzero(row.why == number).tolist()) for number, reason in enumerate(row.reasons)
        }
        for factor, row in zip(factors, rows, strict=True)
        if row.reasons
    }
    values: Floats = np.array([row.values for row in rows]).reshape(len(rows), size)
    return ModelScores(values, undefined)
