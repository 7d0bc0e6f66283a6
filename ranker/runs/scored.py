"""What models answered, put together: the score table, the pool, and what is to be known beside them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from typing import TypeVar

import numpy as np

from factors import BUILTIN, Example, Factor
from ranker.attribution import hiding, spelled
from ranker.attribution.settings import Attributing
from ranker.datasets.sets import OODSet
from ranker.errors import ModelError
from ranker.results.explanation import Explanation
from ranker.results.ranking import Ranking
from ranker.results.records import Data, Provenance, Quality, RowResult
from ranker.results.table import ScoreTable
from ranker.runs.collect import Measured, collect
from ranker.runs.plan import Study
from ranker.runtime.base import Answer
from ranker.scoring.diagnostics import accuracy_of, below_chance, shortcut_avoided, worse_than_guessing
from ranker.scoring.score import UNDEFINED, assemble, defined_nowhere
from ranker.scoring.views import View, telling
from ranker.statistics.pool import InDomain, Pool
from ranker.tasks.classes import Classes, Task

log = logging.getLogger(__name__)

S = TypeVar("S")
T = TypeVar("T")

VERSIONED = ("rank-models", "torch", "transformers", "numpy")
"""The packages whose versions stand in a ranking's provenance."""

OWN_TRUTH = (
    "The true order is that on these very rows. Of models a few points apart it is itself a guess, and favours ACC, "
    "which counts the same rows."
)
"""What to know where a set has no rows beside those that are drawn from."""


@dataclass(frozen=True)
class Scored:
    """What the models of a suite scored.

    Attributes:
        table: the scores of the models that could be measured.
        pool: what these make of all rows, labelled or not.
        families: their families, in the order of the table; None where no family is known.
        misled: model -> how often the shortcut misleads it, a fraction; empty where the set has no shortcut, or the
            population no row on which it is wrong.
        in_domain: model -> accuracy in the domain that it was trained for, a fraction, where it is known.
        notes: what is to be known of the models before the factors are trusted, a sentence each.
        failures: model -> why it could not be measured.
        left_out: method -> why it has no numbers.
        failed_factors: those of the user's own that failed on every example.
        quality: model -> how good its attributions are.
        attribution: the backend that the factors read.
        examples: what the models see in the most telling examples.
        rows: the labelled rows as the models predict them; empty where the truth is known.
        provenance: what the numbers were made from.
    """

    table: ScoreTable
    pool: Pool
    families: tuple[str, ...] | None
    misled: Mapping[str, float]
    in_domain: Mapping[str, float]
    notes: tuple[str, ...]
    failures: Mapping[str, str]
    left_out: Mapping[str, str]
    failed_factors: tuple[str, ...]
    quality: Mapping[str, Quality]
    attribution: str
    examples: tuple[Explanation, ...]
    rows: tuple[RowResult, ...]
    provenance: Provenance

    def completed(self, ranking: Ranking) -> Ranking:
        """The ranking with what no table of scores tells of its models: see the attributes."""
        models = tuple(
            replace(model, in_domain_accuracy=self.in_domain.get(model.name), misled=self.misled.get(model.name))
            for model in ranking.models
        )
        of_factors = any(method.kind == "factor" for method in self.table.methods)
        notes = (*self.notes, *(shortcut_avoided(self.misled) if of_factors else ()), *ranking.notes)
        return replace(
            ranking,
            attribution=self.attribution,
            models=models,
            failures=self.failures,
            left_out=self.left_out,
            failed_factors=self.failed_factors,
            quality=self.quality,
            notes=notes,
            examples=self.examples,
            rows=self.rows,
            provenance=self.provenance,
        )


def scored(study: Study) -> Scored:
    """Ask every model, and put together what they score.

    Raises:
        ModelError: fewer than two models could be measured.
        StoreError: the store cannot be read or written.
    """
    return together(study, *collect(study))


def together(study: Study, measured: Mapping[str, Measured], failures: Mapping[str, str]) -> Scored:
    """Put together what was found out about the models.

    Raises:
        ModelError: that are fewer than two.
    """
    rows, ood, (factors, left_out) = study.rows, study.rows.ood, study.measurable
    in_domain = known(measured, lambda one: one.in_domain)
    warnings = tuple(below_chance(in_domain, len(study.task.labels)))
    for warning in warnings:
        log.warning(warning)
    if len(measured) < 2:
        raise ModelError(f"nothing to rank: {len(failures)} of {len(study.suite.models)} models failed")
    families = {model.name: model.family for model in study.suite.models}
    pool_factor = known(measured, lambda one: one.pool_factor)
    answers = known(measured, lambda one: one.own)
    table = assemble(
        known(measured, lambda one: one.scores),
        rows.population,
        factors,
        known(measured, lambda one: one.accuracy) or None,
    )
    nowhere = defined_nowhere(table)
    view = View(study.task, study.settings, factors, ood.designed, target=study.target, norm=study.norm)
    return Scored(
        table=table,
        pool=Pool(
            np.array([one.pool.probs for one in measured.values()]),
            in_domain_of(list(known(measured, lambda one: one.in_domain_rows).values()), study.in_domain),
            np.array(list(pool_factor.values())) if pool_factor else None,
        ),
        families=tuple(families[name] for name in measured) if any(families.values()) else None,
        misled=known(measured, lambda one: one.misled),
        in_domain=in_domain,
        notes=(
            *ood.notes,
            *warnings,
            *own_truth(study),
            *here(study, answers),
            *hiding.speaks(known(measured, lambda one: one.hiding), study.settings),
        ),
        failures=failures,
        left_out={**left_out, **nowhere},
        failed_factors=failing(table, nowhere, factors),
        quality=known(measured, lambda one: one.quality),
        attribution=study.settings.name,
        examples=tuple(
            view.explanation(rows.population[n], {name: answer.seen(n) for name, answer in answers.items()})
            for n in telling(known(answers, lambda one: one.predictions), rows.population, view)
        ),
        rows=() if rows.truth else predicted(answers, rows.population, study.task),
        provenance=made_from(study, known(measured, lambda one: one.content)),
    )


def own_truth(study: Study) -> tuple[str, ...]:
    """What is to be known of an order that is taken from the rows that models are ranked on."""
    return (OWN_TRUTH,) if study.rows.truth and len(study.rows.population) == len(study.rows.ood.examples) else ()


def here(study: Study, answers: Mapping[str, Answer]) -> Iterator[str]:
    """What is to be known of the models' answers to labelled rows, where nobody knows more of the truth."""
    if not study.rows.truth:
        rows = study.rows.population
        right = {name: round(accuracy_of(own.predictions, rows) * len(rows)) for name, own in answers.items()}
        yield from worse_than_guessing(right, len(rows), len(study.task.labels))


def asked_label(study: Study) -> dict[str, str | None]:
    """The label that is attributed, by name, where it is another than what the task has by itself."""
    if not isinstance(study.settings, Attributing):
        return {}
    labels, label = study.task.labels, study.settings.label
    of_task = Attributing().settled(labels, study.task.shortcut).label
    return {"target": None if label == of_task else labels[label]}


def made_from(study: Study, models: Mapping[str, str]) -> Provenance:
    """What the numbers are made from; of the models, what identifies them."""
    ood = study.rows.ood
    return Provenance(
        data=Data(ood.origin, len(ood.examples), ood.fingerprint),
        population=len(study.rows.population),
        attribution=spelled(study.settings.name, asdict(study.settings) | asked_label(study)),
        error=study.settings.measure or None,
        settings=asdict(study.settings) | asked_label(study),
        target=study.target,
        norm=study.norm,
        dtype=study.runtime.machine.settled(study.settings.bfloat16).dtype,
        versions={name: metadata.version(name) for name in (*VERSIONED, *study.settings.libraries)},
        models=models,
    )


def failing(table: ScoreTable, nowhere: Mapping[str, str], factors: Sequence[Factor]) -> tuple[str, ...]:
    """The user's own factors that raise on every example; logged, as are those that are only defined on none.

    Args:
        table: the scores.
        nowhere: factor -> why it is not in the table.
        factors: what was measured.
    """
    own = [one.name for one in factors if one.name in nowhere and BUILTIN.get(one.name) is not one]
    failed = tuple(name for name in own if UNDEFINED not in table.dropped[name])
    for name in own:
        level = logging.ERROR if name in failed else logging.WARNING
        log.log(level, "%s is not in the table: it %s", name, nowhere[name])
    return failed


def known(measured: Mapping[str, S], part: Callable[[S], T | None]) -> dict[str, T]:
    """A part of what was found out about each model, by the model's name, where it is known.

    Args:
        measured: model -> what was found out.
        part: takes the part.
    """
    values = {name: part(one) for name, one in measured.items()}
    return {name: value for name, value in values.items() if value is not None}


def predicted(answers: Mapping[str, Answer], examples: Sequence[Example], task: Task) -> tuple[RowResult, ...]:
    """What the models take examples for.

    Args:
        answers: model -> (N,) what it makes of them.
        examples: (N,) the examples.
        task: names the labels.
    """
    given = {name: [task.labels[label] for label in answer.predictions.predicted] for name, answer in answers.items()}
    return tuple(
        RowResult(example.id, task.labels[example.label], {name: labels[n] for name, labels in given.items()})
        for n, example in enumerate(examples)
    )


def in_domain_of(answers: Sequence[Classes], in_domain: OODSet | None) -> InDomain | None:
    """The in-domain rows as the models see them; None where there are none."""
    if in_domain is None:
        return None
    return InDomain(
        np.array([one.probs for one in answers]), np.array([example.label for example in in_domain.examples])
    )
