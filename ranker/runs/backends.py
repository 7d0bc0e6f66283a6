"""Read the attributions of all backends of a run: scores, quality, notes, and how far backends agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ranker.attribution import hiding
from ranker.attribution.settings import OcclusionSettings
from ranker.results.agreement import Agreement
from ranker.results.header import Quality
from ranker.results.table import ScoreTable
from ranker.runs.collect import ModelResponses
from ranker.runs.measured import Measurer
from ranker.runs.plan import Backend, Plan
from ranker.scoring.diagnostics import agreements
from ranker.scoring.score import ModelScores


def scores_by(
    measuring: Measurer, answered: Sequence[ModelResponses], backends: Sequence[Backend]
) -> Iterator[ModelScores]:
    """Yield each model's scores by the factors of all backends."""
    population = measuring.plan.rows.population
    by_backend = [
        list(
            measuring.scores_of_each(
                [(reply, reply.answers[backend.question]) for reply in answered], population, backend.columns
            )
        )
        for backend in backends
    ]
    yield from map(ModelScores.joined, zip(*by_backend, strict=True))


def quality_by(measuring: Measurer, reply: ModelResponses, backend: Backend) -> Quality:
    """Measure the quality of a model's attributions by a backend."""
    return measuring.quality(reply, reply.answers[backend.question], measuring.plan.rows.population, backend.settings)


def backend_notes(measuring: Measurer, answered: Sequence[ModelResponses], backend: Backend) -> Iterator[str]:
    """Warn of a token that means something; say how many attributions of a further backend are not exact enough."""
    pair = hiding.occlusion_settings(backend.settings)
    effects = {reply.model.name: _effects(measuring.plan, reply, pair) for reply in answered}
    known_effects = {name: of_model for name, of_model in effects.items() if of_model is not None}
    yield from hiding.token_warnings(known_effects, backend.settings)
    qualities = (
        {reply.model.name: quality_by(measuring, reply, backend) for reply in answered} if backend.further else {}
    )
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
