"""What each model answers, and what that says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from factors.types import Floats
from ranker.attribution import hiding
from ranker.results.records import Quality
from ranker.runs.plan import Study
from ranker.runs.survey import survey
from ranker.runtime.base import Answer
from ranker.scoring.diagnostics import accuracy_of, misled_share, quality_of
from ranker.scoring.score import ModelScores, score_model
from ranker.sources.suites import Model
from ranker.tasks.classes import Classes


@dataclass(frozen=True)
class Measured:
    """What was found out about one model.

    Attributes:
        content: what identifies the checkpoint.
        own: what it makes of the population.
        scores: what the factors make of them.
        quality: how good they are.
        accuracy: on the whole set, a fraction; None where the truth is not wanted.
        in_domain: its in-domain accuracy, a fraction; None where that is not known.
        misled: how often the shortcut misleads it, a fraction; None where that is not known.
        pool: (N,) its answers to the rows of the pool.
        in_domain_rows: those to the in-domain rows; None where there are none.
        pool_factor: (N,) the designed factor of the pool, the higher the better; None where it needs labels.
        hiding: the effect of a word hidden as the backend does, and in the other way; None where that was not asked.
    """

    content: str
    own: Answer
    scores: ModelScores
    quality: Quality
    accuracy: float | None
    in_domain: float | None
    misled: float | None
    pool: Classes
    in_domain_rows: Classes | None
    pool_factor: Floats | None
    hiding: tuple[float, float] | None


def collect(study: Study) -> tuple[dict[str, Measured], dict[str, str]]:
    """Ask every model of a study, and measure what it answers.

    Returns:
        What was found out about each that could be asked, and why the others could not.

    Raises:
        StoreError: the store cannot be read or written.
    """

    def use(model: Model, content: str, answers: Sequence[Answer | None]) -> Measured:
        named = dict(zip(study.questions(model), answers, strict=False))
        behind = answers[len(named) :]
        return measure(study, model, content, {name: one for name, one in named.items() if one}, effects(behind))

    return survey(study.looked, study.task, study.asked, study.runtime, use)


def measure(
    study: Study, model: Model, content: str, answers: Mapping[str, Answer], hidden: tuple[float, float] | None
) -> Measured:
    """What a model's answers to its `questions`, by their names, say of it."""
    rows, own = study.rows, answers["population"]
    of_pool = answers.get("pool", own)
    of_domain = answers["in-domain"].predictions if "in-domain" in answers else None
    accuracy = model.ood_accuracy.get(rows.ood.fingerprint) if rows.truth else None
    if rows.truth and accuracy is None:
        accuracy = accuracy_of(answers["set"].predictions, rows.ood.examples)
    factors, _ = study.measurable
    return Measured(
        content=content,
        own=own,
        scores=score_model(
            own.predictions, own.attributions, rows.population, factors, study.task, study.target, study.norm
        ),
        quality=quality_of(own.attributions, rows.population, study.settings),
        accuracy=accuracy,
        in_domain=model.in_domain_accuracy if of_domain is None else accuracy_of(of_domain, study.in_domain_rows),
        misled=misled_share(own.predictions, rows.population, study.task),
        pool=of_pool.predictions,
        in_domain_rows=of_domain,
        pool_factor=pool_factor(study, of_pool),
        hiding=hidden,
    )


def pool_factor(study: Study, of_pool: Answer) -> Floats | None:
    """(N,) the designed factor of the pool's rows; None where it needs labels, or they have no attributions."""
    rows, (factors, _) = study.rows, study.measurable
    free = study.about_all(factors)
    if not free or (rows.pool and not rows.explain_pool):
        return None
    examples = rows.pool or rows.population
    scored = score_model(
        of_pool.predictions, of_pool.attributions, examples, free, study.task, study.target, study.norm
    )
    return np.asarray(scored.values[0] if free[0].higher_is_better else -scored.values[0])


def effects(answers: Sequence[Answer | None]) -> tuple[float, float] | None:
    """The effects of a word hidden behind the token, and behind the other; None where that was not asked.

    None, too, where the model's tokenizer has no such token.
    """
    found = [hiding.effect(one.attributions) for one in answers if one is not None]
    return (found[0], found[1]) if len(found) == 2 else None
