"""What models answered, put together: the score table, the pool, and what is to be known beside them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import TypeVar

import numpy as np

from factors import BUILTIN, Example, Factor
from factors.types import Floats
from ranker.attribution import hiding, spelled
from ranker.attribution.settings import Attributing
from ranker.errors import ModelError
from ranker.results.explanation import Explanation
from ranker.results.records import Data, Header, Provenance, Quality, RowResult
from ranker.results.table import ScoreTable
from ranker.runs.collect import Answered, Collected
from ranker.runs.plan import Plan
from ranker.runtime.base import Answer
from ranker.scoring.diagnostics import below_chance, misled_share, quality_of, shortcut_avoided, worse_than_guessing
from ranker.scoring.score import UNDEFINED, ModelScores, assemble, defined_nowhere, score_model
from ranker.scoring.views import View, telling
from ranker.sources.base import Machine
from ranker.statistics.pool import InDomain, Pool, PoolMethod, Targets
from ranker.tasks.classes import Classes, ClassTask

log = logging.getLogger(__name__)

T = TypeVar("T")

VERSIONED = ("rank-models", "torch", "transformers", "numpy")
"""The packages whose versions stand in a ranking's provenance."""

NO_LABEL = "no answer"
"""What stands for the label of an answer that was not given."""

NO_PROBABILITIES = "needs what each model says of each row, and some say only how good they were"

OWN_TRUTH = (
    "The true order is that on these very rows. Of models a few points apart it is itself a guess, and favours {}, "
    "which judges the same rows."
)
"""What to know where a set has no rows beside those that are drawn from."""


@dataclass(frozen=True)
class Scored:
    """What the models of a suite scored.

    Attributes:
        table: the scores of the models that could be asked.
        pool: what these make of all rows, labelled or not; None where some say nothing of labels.
        targets: what is known of these rows.
        methods: those that see the pool, and can be had.
        left_out: method -> why it has no numbers.
        families: of the models, in the order of the table; None where no family is known.
        misled: model -> how often the shortcut misleads it, a fraction; empty where the set has no shortcut, or the
            population no row on which it is wrong.
        in_domain: model -> mean outcome in the domain that it was trained for, where it is known.
        failed_factors: those of the user's own that failed on every example.
        quality: model -> how good its attributions are.
        notes: what is to be known of rows and models, a sentence each.
        examples: what the models see in the most telling examples.
        rows: the labelled rows as the models predict them; empty where the truth is known, or answers have no labels.
    """

    table: ScoreTable
    pool: Pool | None
    targets: Targets
    methods: tuple[PoolMethod, ...]
    left_out: Mapping[str, str]
    families: tuple[str, ...] | None
    misled: Mapping[str, float]
    in_domain: Mapping[str, float]
    failed_factors: tuple[str, ...]
    quality: Mapping[str, Quality]
    notes: tuple[str, ...]
    examples: tuple[Explanation, ...]
    rows: tuple[RowResult, ...]


def scored(plan: Plan, collected: Collected) -> Scored:
    """Put together what the models answered.

    Raises:
        ModelError: fewer than two did.
    """
    rows, ood, answered = plan.rows, plan.rows.ood, collected.answered
    in_domain = _known(answered, lambda one: _in_domain(plan, one))
    warnings = tuple(below_chance(in_domain, len(plan.task.labels))) if plan.task.labels else ()
    for warning in warnings:
        log.warning(warning)
    if len(answered) < 2:
        count = len(plan.gathered.looked.models)
        raise ModelError(f"nothing to rank: {len(collected.failures)} of {count} models failed")
    truth = _known(answered, lambda one: _truth(plan, one)) if rows.truth else None
    table = assemble(
        _known(answered, lambda one: plan.task.outcomes(one.to["population"].predictions, rows.population)),
        _known(answered, lambda one: _scores(plan, one.to["population"], rows.population, plan.factors)),
        rows.population,
        plan.factors,
        plan.task.metric,
        truth,
    )
    pool = pool_of(plan, answered)
    nowhere = defined_nowhere(table)
    failed = failing(table, nowhere, plan.factors)
    misled = _known(answered, lambda one: _misled(plan, one))
    families = [one.model.family for one in answered]
    without = {one.name: NO_PROBABILITIES for one in plan.methods} if pool is None and rows.truth else {}
    return Scored(
        table=table,
        pool=pool,
        targets=_targets(plan, table, pool),
        methods=plan.methods,
        left_out={**plan.left_out, **nowhere, **without},
        families=tuple(families) if any(families) else None,
        misled=misled,
        in_domain=in_domain,
        failed_factors=failed,
        quality=_known(answered, lambda one: quality_of(_own(one).attributions, rows.population, plan.settings)),
        notes=(
            *ood.notes,
            *warnings,
            *_own_truth(plan),
            *_here(plan, table),
            *hiding.speaks(_known(answered, _effects), plan.settings),
            *(shortcut_avoided(misled) if any(one.kind == "factor" for one in table.methods) else ()),
        ),
        examples=_examples(plan, answered),
        rows=() if rows.truth else _predicted(plan, answered),
    )


def header(plan: Plan, collected: Collected, found: Scored, seed: int, probe: int, machine: Machine) -> Header:
    """What a run was about.

    Args:
        plan, collected, found: what was asked, answered and put together.
        seed: of the draws.
        probe: K.
        machine: what the models were run on.
    """
    return Header(
        ood=plan.rows.ood.name,
        suite=plan.suite.name,
        probe=probe,
        seed=seed,
        metric=plan.task.metric,
        attribution=plan.settings.name,
        failures=collected.failures,
        left_out=found.left_out,
        failed_factors=found.failed_factors,
        quality=found.quality,
        notes=found.notes,
        provenance=_made_from(plan, collected, machine),
    )


def _own(one: Answered) -> Answer:
    return one.to["population"]


def _truth(plan: Plan, one: Answered) -> float:
    """A model's mean outcome on the whole set: as its suite states it, else as it was asked."""
    ood = plan.rows.ood
    stated = one.model.ood_accuracy.get(ood.fingerprint)
    return _mean(plan, one.to["set"], ood.examples) if stated is None else stated


def _in_domain(plan: Plan, one: Answered) -> float | None:
    asked = one.to.get("in-domain")
    return one.model.in_domain_accuracy if asked is None else _mean(plan, asked, plan.gathered.in_domain_rows)


def _mean(plan: Plan, answer: Answer, examples: Sequence[Example]) -> float:
    """The mean outcome, over what can be judged."""
    return float(np.nanmean(plan.task.outcomes(answer.predictions, examples)))


def _misled(plan: Plan, one: Answered) -> float | None:
    predictions = _own(one).predictions
    return misled_share(predictions, plan.rows.population, plan.task) if isinstance(predictions, Classes) else None


def _scores(plan: Plan, answer: Answer, examples: Sequence[Example], factors: Sequence[Factor]) -> ModelScores:
    predictions = answer.predictions
    if not isinstance(predictions, Classes):
        return ModelScores(np.zeros((0, len(examples))), {})
    return score_model(predictions, answer.attributions, examples, factors, plan.task, plan.target, plan.norm)


def pool_of(plan: Plan, answered: Sequence[Answered]) -> Pool | None:
    """What the models make of all rows, labelled or not."""
    of_pool = [one.to.get("pool", _own(one)) for one in answered]
    probs = [one.predictions.probs for one in of_pool]
    some = [_opinion(one) for one in probs if one is not None and one.shape[1] > 1]
    if len(some) < len(probs):
        return None
    designed, explained = plan.about_all, plan.explains_pool or not plan.rows.pool
    examples = plan.rows.pool or plan.rows.population
    factor = None
    if designed is not None and explained:
        sign = 1.0 if designed.higher_is_better else -1.0
        factor = np.array([sign * _scores(plan, one, examples, [designed]).values[0] for one in of_pool])
    domain = [one.to["in-domain"].predictions.probs for one in answered if "in-domain" in one.to]
    labels = np.array([example.label for example in plan.gathered.in_domain_rows])
    known = [one for one in domain if one is not None]
    return Pool(np.array(some), InDomain(np.array(known), labels) if known else None, factor)


def _opinion(probs: Floats) -> Floats:
    """(N, C) probabilities; a model that does not answer a row has no opinion of it."""
    return np.where(np.isnan(probs), 1 / probs.shape[1], probs)


def _targets(plan: Plan, table: ScoreTable, pool: Pool | None) -> Targets:
    """What is known of the rows of the pool; where there is none beside the labelled rows, of these."""
    labels = np.array([example.label for example in plan.rows.population], dtype=np.int64)
    places = plan.rows.places
    if pool is None or places is None:
        return Targets(table.outcomes, labels)
    size = pool.probs.shape[1]
    outcomes, every = np.full((len(table.models), size), np.nan), np.full(size, -1, dtype=np.int64)
    outcomes[:, places], every[places] = table.outcomes, labels
    return Targets(outcomes, every)


def _effects(one: Answered) -> tuple[float, float] | None:
    """The effects of a word hidden behind the token, and behind the other; None where that was not asked.

    None, too, where the model's tokenizer has no such token.
    """
    found = [hiding.effect(answer.attributions) for answer in one.hidden if answer is not None]
    return (found[0], found[1]) if len(found) == 2 else None


def _examples(plan: Plan, answered: Sequence[Answered]) -> tuple[Explanation, ...]:
    """What the models see in the most telling examples; none where answers have no labels."""
    if not isinstance(plan.task, ClassTask):
        return ()
    rows = plan.rows
    view = View(plan.task, plan.settings, plan.factors, rows.ood.designed, target=plan.target, norm=plan.norm)
    given = {one.model.name: _own(one).predictions for one in answered}
    classes = {name: one for name, one in given.items() if isinstance(one, Classes)}
    return tuple(
        view.explanation(rows.population[n], {one.model.name: _own(one).seen(n) for one in answered})
        for n in telling(classes, rows.population, view)
    )


def _own_truth(plan: Plan) -> tuple[str, ...]:
    """What is to be known of an order that is taken from the rows that models are ranked on."""
    own = plan.rows.truth and len(plan.rows.population) == len(plan.rows.ood.examples)
    return (OWN_TRUTH.format(plan.task.metric),) if own else ()


def _here(plan: Plan, table: ScoreTable) -> Iterator[str]:
    """What is to be known of the models' answers to labelled rows, where nobody knows more of the truth."""
    if not plan.rows.truth and isinstance(plan.task, ClassTask):
        right = dict(zip(table.models, np.nansum(table.outcomes, axis=1).astype(int).tolist(), strict=True))
        yield from worse_than_guessing(right, len(table.examples), len(plan.task.labels))


def _asked_label(plan: Plan) -> dict[str, str | None]:
    """The label that is attributed, by name, where it is another than what the task has by itself."""
    if not isinstance(plan.settings, Attributing):
        return {}
    labels, label = plan.task.labels, plan.settings.label
    of_task = Attributing().settled(labels, plan.task.shortcut).label
    return {"target": None if label == of_task else labels[label]}


def _made_from(plan: Plan, collected: Collected, machine: Machine) -> Provenance:
    """What the numbers are made from; of the models, what identifies them."""
    ood, settings = plan.rows.ood, asdict(plan.settings) | _asked_label(plan)
    return Provenance(
        data=Data(ood.origin, len(ood.examples), ood.fingerprint),
        population=len(plan.rows.population),
        attribution=spelled(plan.settings.name, settings),
        error=plan.settings.measure or None,
        settings=settings,
        target=plan.target,
        norm=plan.norm,
        dtype=machine.settled(plan.settings.bfloat16).dtype,
        versions={name: metadata.version(name) for name in (*VERSIONED, *plan.settings.libraries)},
        models={one.model.name: one.content for one in collected.answered},
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


def _known(answered: Sequence[Answered], part: Callable[[Answered], T | None]) -> dict[str, T]:
    """A part of what was found out about each model, by the model's name, where it is known."""
    values = {one.model.name: part(one) for one in answered}
    return {name: value for name, value in values.items() if value is not None}


def _predicted(plan: Plan, answered: Sequence[Answered]) -> tuple[RowResult, ...]:
    """What the models take the labelled rows for; nothing where answers have no labels, or some rows no true one."""
    labels, given = plan.task.labels, {}
    if any(example.label < 0 for example in plan.rows.population):
        return ()
    for one in answered:
        probs = _own(one).predictions.probs
        if probs is None or not labels:
            return ()
        best = zip(probs.argmax(axis=1).tolist(), np.isnan(probs[:, 0]).tolist(), strict=True)
        given[one.model.name] = [NO_LABEL if nothing else labels[label] for label, nothing in best]
    return tuple(
        RowResult(example.id, labels[example.label], {name: said[n] for name, said in given.items()})
        for n, example in enumerate(plan.rows.population)
    )
