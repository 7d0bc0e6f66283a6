"""Measure factors and attribution quality on each row that a model answered.

Measures that read attributions are slow, so they are stored under a key of the attributions, the measure and the rows.
Factors that are not ours, and those that read answers alone, are computed each time.
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
from ranker.attribution import hiding
from ranker.attribution.settings import OcclusionSettings
from ranker.datasets.identity import text_names
from ranker.results.agreement import Agreement
from ranker.results.header import Quality
from ranker.results.table import ScoreTable
from ranker.runs import functions
from ranker.runs.collect import ModelResponses
from ranker.runs.plan import Backend, Plan
from ranker.runtime.base import Answer
from ranker.runtime.runtime import Runtime
from ranker.runtime.shards import MeasureColumn
from ranker.runtime.store import Entry, Store, load_or_compute
from ranker.scoring.diagnostics import agreements, judge_attributions, quality_of
from ranker.scoring.score import FIXED, ModelScores, label_rule, score_model
from ranker.tasks.classes import ClassProbabilities, are_classes

REVISION = 1
"""Version of the stored scores; raised when the same sources give other numbers."""


@dataclass(frozen=True)
class Measurer:
    """Measures the answers of a plan.

    Attributes:
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
        return _unpack(load_or_compute(self._entry(reply, answer), names, compute), factors, len(examples))

    def quality(self, reply: ModelResponses, backend: Backend) -> Quality:
        """Measure the quality of a model's attributions by a backend."""
        answer, examples, settings = reply.answers[backend.question], self.plan.population, backend.settings
        if not answer.attributions:
            return quality_of(np.empty((3, 0)))

        def compute(places: Sequence[int]) -> list[MeasureColumn]:
            rows = judge_attributions(answer.attributions, examples, settings)
            return [MeasureColumn(rows[place], np.full(rows.shape[1], -1)) for place in places]

        identity = json.dumps([REVISION, asdict(settings)], sort_keys=True)
        versions = json.dumps(functions.computation_versions(), sort_keys=True)
        names = [_digest(f"quality {part} {identity} {versions}", self._rows(examples)) for part in range(3)]
        columns = load_or_compute(self._entry(reply, answer), names, compute)
        return quality_of(np.array([part.values for part in columns]))

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


def scores_by(
    measuring: Measurer, answered: Sequence[ModelResponses], backends: Sequence[Backend]
) -> Iterator[ModelScores]:
    """Yield each model's scores by the factors of all backends."""
    population = measuring.plan.population
    by_backend = [
        list(
            measuring.scores_of_each(
                [(reply, reply.answers[backend.question]) for reply in answered], population, backend.columns
            )
        )
        for backend in backends
    ]
    yield from map(ModelScores.joined, zip(*by_backend, strict=True))


def backend_notes(measuring: Measurer, answered: Sequence[ModelResponses], backend: Backend) -> Iterator[str]:
    """Warn of a token that means something; say how many attributions of a further backend are not exact enough."""
    pair = hiding.occlusion_settings(backend.settings)
    effects = {reply.model.name: _effects(measuring.plan, reply, pair) for reply in answered}
    known_effects = {name: of_model for name, of_model in effects.items() if of_model is not None}
    yield from hiding.token_warnings(known_effects, backend.settings)
    qualities = {reply.model.name: measuring.quality(reply, backend) for reply in answered} if backend.further else {}
    inexact = [f"{name} {quality.over_tolerance:,}" for name, quality in qualities.items() if quality.over_tolerance]
    if inexact:
        yield f"Attributions over the error tolerance of {backend.settings.name}, of each model: {', '.join(inexact)}."


def agreements_of(
    answered: Sequence[ModelResponses], backends: Sequence[Backend], table: ScoreTable
) -> Iterator[Agreement]:
    """Compare each two backends; none where there is one."""
    attributions = {
        backend.settings.name: [row for reply in answered for row in reply.answers[backend.question].attributions]
        for backend in backends
    }
    columns = {
        backend.settings.name: {
            factor.name: column.name
            for factor, column in zip(backend.factors, backend.columns, strict=True)
            if factor.kind == "factor"
        }
        for backend in backends
    }
    return agreements(attributions, columns, table)


def _effects(plan: Plan, reply: ModelResponses, pair: Sequence[OcclusionSettings]) -> tuple[float, float] | None:
    """Return the effects of hiding a word behind the token and behind the other; None if not both were measured."""
    by_settings = zip(plan.hidden_word_requests, reply.hidden, strict=True)
    answers = {request.settings: answer for request, answer in by_settings if answer is not None}
    effects = [hiding.mean_effect(answers[settings].attributions) for settings in pair if settings in answers]
    return (effects[0], effects[1]) if len(effects) == 2 else None


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
