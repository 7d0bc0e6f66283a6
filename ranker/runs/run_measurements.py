"""What models answered, put together: the score table, the pool, and what is to be known beside them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import TypeVar

import numpy as np

from factors import BUILTIN, Example, Factor
from factors.types import Ints
from ranker.attribution import hiding, spelled
from ranker.attribution.settings import Attributing, settle
from ranker.errors import Assumption, ModelError, listed
from ranker.numbers import counted, percent
from ranker.results.decision import RowResult
from ranker.results.explanation import Explanation
from ranker.results.header import Data, Header, Provenance, Quality
from ranker.results.table import ScoreTable
from ranker.runs.collect import ModelResponses, RunResponses
from ranker.runs.measured import Measurer
from ranker.runs.plan import NEEDS, Plan
from ranker.runs.pool import pool_of, population_answers, positions_among, targets_of, true_labels
from ranker.runtime.base import Answer
from ranker.runtime.runtime import Runtime
from ranker.scoring.by_metric import MetricRows
from ranker.scoring.diagnostics import (
    below_chance,
    copies,
    misled_share,
    shortcut_avoided,
    worse_than_guessing,
)
from ranker.scoring.score import UNDEFINED, assemble, defined_nowhere
from ranker.scoring.views import View, telling
from ranker.sources.base import Machine
from ranker.statistics.pool import Pool, PoolMethod, Targets
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER, Predictions, Task
from ranker.tasks.classes import are_classes, has_labels, label_names
from ranker.tasks.metrics import F1, Metric

log = logging.getLogger(__name__)

T = TypeVar("T")

VERSIONED = ("rank-models", "torch", "transformers", "numpy")
"""The packages whose versions stand in a ranking's provenance."""

NO_PROBABILITIES = "needs what each model says of each row, and some say only how good they were"

OWN_TRUTH = (
    "The true order is taken from these same rows. For models a few points apart it is uncertain, and {} has an "
    "advantage, because it judges by the same rows."
)
"""What to know where a set has no rows beside those that are drawn from."""


@dataclass(frozen=True)
class RunMeasurements:
    """What the models of a suite scored.

    Attributes:
        table: the scores of the models that could be asked.
        pool: what these make of all rows, labelled or not; None where some say nothing of labels.
        targets: what is known of these rows.
        places: (K,) where the labelled rows stand in the pool; None where there is none beside them.
        labels: (K,) what each of these was labelled.
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
        rows: the labelled rows as the models predict them; empty where the truth is known.
        by_metric: what the population adds to a metric that is no mean over rows; None where there is none.
    """

    table: ScoreTable
    pool: Pool | None
    targets: Targets
    places: Ints | None
    labels: Ints
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
    by_metric: MetricRows | None = None


def measure_run(plan: Plan, collected: RunResponses, runtime: Runtime = Runtime()) -> RunMeasurements:
    """Put together what the models answered.

    Raises:
        ModelError: fewer than two did.
        StoreError: the store cannot be read or written.
    """
    with nullcontext() if runtime.store is None else runtime.kept() as store:
        return _measure(plan, collected, Measurer(plan, store, runtime))


def _measure(plan: Plan, collected: RunResponses, measuring: Measurer) -> RunMeasurements:
    rows, ood, answered = plan.rows, plan.rows.ood, collected.answered
    in_domain = _known(answered, lambda one: _in_domain(plan, one))
    labels = label_names(plan.task)
    warnings = tuple(below_chance(in_domain, len(labels))) if labels else ()
    for warning in warnings:
        log.warning(warning)
    if len(answered) < 2:
        count = len(plan.gathered.looked.models)
        raise ModelError(f"nothing to rank: {len(collected.failures)} of {count} models failed")
    truth = _known(answered, lambda one: _truth(plan, one)) if rows.truth else None
    factors, ungraded = _graded(plan, answered)
    scores = measuring.scores_of_each([(one, population_answers(one)) for one in answered], rows.population, factors)
    table = assemble(
        _known(answered, lambda one: plan.task.outcomes(population_answers(one).predictions, rows.population)),
        dict(zip([one.model.name for one in answered], scores, strict=True)),
        rows.population,
        factors,
        plan.task.metric,
        truth,
    )
    pool, asked = pool_of(measuring, answered)
    places = None if pool is None or rows.places is None else positions_among(rows.places, asked, len(rows.pool))
    nowhere = defined_nowhere(table)
    failed = failing(table, nowhere, factors)
    misled = _known(answered, lambda one: _misled(plan, one))
    families = [one.model.family for one in answered]
    without = _without(plan, pool)
    return RunMeasurements(
        table=table,
        pool=pool,
        targets=targets_of(plan, table, asked, places) if pool else Targets(table.outcomes, true_labels(plan)),
        places=None if places is None else places[places >= 0],
        labels=true_labels(plan)[... if places is None else places >= 0],
        methods=plan.methods,
        left_out={**plan.left_out, **ungraded, **nowhere, **without},
        families=tuple(families) if any(families) else None,
        misled=misled,
        in_domain=in_domain if plan.metric is None else _known(answered, lambda one: _in_domain_value(plan, one)),
        failed_factors=failed,
        quality=_known(answered, lambda one: measuring.quality(one, population_answers(one), rows.population)),
        notes=(
            *ood.notes,
            *_file_notes(plan),
            *warnings,
            *_own_truth(plan),
            *_positive(plan),
            *_chance_warnings(plan, answered),
            *copies({one.model.name: one.content for one in answered if not one.model.source.precomputed}),
            *states(plan, answered),
            *_on_asked_rows(plan, answered),
            *hiding.speaks(_known(answered, _effects), plan.settings),
            *(shortcut_avoided(misled) if any(one.kind == "factor" for one in table.methods) else ()),
        ),
        examples=_examples(plan, answered, factors),
        rows=() if rows.truth else _predicted(plan, answered),
        by_metric=None if plan.metric is None else _metric_rows(plan.metric, plan, answered),
    )


def _metric_rows(metric: Metric, plan: Plan, answered: Sequence[ModelResponses]) -> MetricRows:
    """What the population adds to a metric that is no mean."""
    return MetricRows.of(
        metric, plan.task, [population_answers(one).predictions for one in answered], plan.rows.population
    )


def _positive(plan: Plan) -> Iterator[str]:
    """Which label a metric of one is about, where nobody named it."""
    labels = label_names(plan.task)
    if plan.metric is not None and plan.metric.name == F1 and len(labels) == 2:
        other, positive = labels
        yield Assumption(f"f1 is that of {positive}, the second label; f1:{other} is that of the other.")


def _graded(plan: Plan, answered: Sequence[ModelResponses]) -> tuple[tuple[Factor, ...], dict[str, str]]:
    """The factors that can be had, and why others cannot: where answers are labels alone there is no confidence."""
    reading = [one for one in plan.factors if one.kind == "baseline"]
    hard = [
        one.model.name
        for one in answered
        if one.model.source.precomputed and _labels_alone(population_answers(one).predictions)
    ]
    if not hard:
        return plan.factors, {}
    others = f" and of {counted(len(hard) - 1, 'other')}" if len(hard) > 1 else ""
    why = f"needs probabilities, and the answers of {hard[0]}{others} are labels alone"
    return tuple(one for one in plan.factors if one not in reading), {one.name: why for one in reading}


def _labels_alone(predictions: Predictions) -> bool:
    """Whether no answer has a probability that is neither 0 nor 1."""
    return are_classes(predictions) and not ((predictions.probs > 0) & (predictions.probs < 1)).any()


def _without(plan: Plan, pool: Pool | None) -> dict[str, str]:
    """Which methods that see a pool cannot be had of these answers, and why; of a decision, that it is to go by."""
    asked = [one for one in plan.methods if plan.rows.truth or one.name == plan.method]
    if pool is None:
        return {one.name: NO_PROBABILITIES for one in asked}
    return {one.name: NEEDS["probabilities"] for one in asked if "probabilities" in one.needs and not pool.graded}


def header(
    plan: Plan, collected: RunResponses, found: RunMeasurements, seed: int, probe: int, machine: Machine
) -> Header:
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
        metric=plan.task.metric if plan.metric is None else plan.metric.name,
        attribution=plan.settings.name,
        failures=collected.failures,
        left_out=found.left_out,
        failed_factors=found.failed_factors,
        quality=found.quality,
        notes=found.notes,
        provenance=_made_from(plan, collected, machine),
    )


def _truth(plan: Plan, one: ModelResponses) -> float:
    """A model's mean outcome on the whole set: as its suite states it, else as it was asked; or the metric there."""
    ood = plan.rows.ood
    if plan.metric is not None:
        return _value(plan.metric, plan.task, one.to["set"], ood.examples)
    stated = one.model.ood_accuracy.get(ood.fingerprint)
    return _mean(plan, one.to["set"], ood.examples) if stated is None else stated


def _in_domain(plan: Plan, one: ModelResponses) -> float | None:
    asked = one.to.get("in-domain")
    return one.model.in_domain_accuracy if asked is None else _mean(plan, asked, plan.gathered.in_domain_rows)


def _in_domain_value(plan: Plan, one: ModelResponses) -> float | None:
    """The metric on the in-domain rows; None where there are none: what is stated of a model is its accuracy."""
    asked = one.to.get("in-domain")
    if asked is None or plan.metric is None:
        return None
    return _value(plan.metric, plan.task, asked, plan.gathered.in_domain_rows)


def _value(metric: Metric, task: Task, answer: Answer, examples: Sequence[Example]) -> float:
    """A metric that is no mean, over what can be judged."""
    return float(MetricRows.of(metric, task, [answer.predictions], examples).values[0])


def _mean(plan: Plan, answer: Answer, examples: Sequence[Example]) -> float:
    """The mean outcome, over what can be judged."""
    return float(np.nanmean(plan.task.outcomes(answer.predictions, examples)))


def _misled(plan: Plan, one: ModelResponses) -> float | None:
    predictions = population_answers(one).predictions
    if not (are_classes(predictions) and has_labels(plan.task)):
        return None
    return misled_share(predictions, plan.rows.population, plan.task)


def _effects(one: ModelResponses) -> tuple[float, float] | None:
    """The effects of a word hidden behind the token, and behind the other; None where that was not asked.

    None, too, where the model's tokenizer has no such token.
    """
    found = [hiding.effect(answer.attributions) for answer in one.hidden if answer is not None]
    return (found[0], found[1]) if len(found) == 2 else None


def _examples(plan: Plan, answered: Sequence[ModelResponses], factors: Sequence[Factor]) -> tuple[Explanation, ...]:
    """What the models see in the most telling examples that all answered; none where answers have no labels."""
    if not has_labels(plan.task):
        return ()
    rows = plan.rows
    view = View(plan.task, plan.settings, factors, rows.ood.designed, target=plan.target, norm=plan.norm)
    given = {one.model.name: population_answers(one).predictions for one in answered}
    every = np.flatnonzero(np.all([one.state == ANSWERED for one in given.values()], axis=0)).tolist()
    classes = {name: one.part(every) for name, one in given.items() if are_classes(one)}
    shown = telling(classes, [rows.population[n] for n in every], view) if every else []
    return tuple(
        view.explanation(rows.population[n], {one.model.name: population_answers(one).seen(n) for one in answered})
        for n in (every[place] for place in shown)
    )


def _file_notes(plan: Plan) -> Iterator[str]:
    """What was understood of the models' files; of which models, where it does not hold of all."""
    stated, noted = plan.gathered.looked.stated, plan.gathered.looked.shelf.noted
    holds: dict[str, list[str]] = {}
    for one in stated:
        for note in dict.fromkeys((*one.notes, *noted.get(one.source.place, (0, ()))[1])):
            holds.setdefault(type(note)(note.rstrip(".")), []).append(one.source.name)
    for note, names in holds.items():
        whole = f"{note[:1].upper()}{note[1:]}." if len(names) == len(stated) else f"{listed(names)}: {note}."
        yield type(note)(whole)


UNANSWERED = 0.1
"""A model that does not answer more than this part of the rows it was asked about is pointed out."""


def states(plan: Plan, answered: Sequence[ModelResponses]) -> Iterator[str]:
    """What became of answers that were made elsewhere: rows without one, no answer, and one that failed."""
    for one in answered:
        if not one.model.source.precomputed:
            continue
        state = population_answers(one).predictions.state
        counts = {word: int((state == what).sum()) for what, word in STATES.items()}
        told = [counted(count, f"row {one_row}", f"rows {rows}") for (one_row, rows), count in counts.items() if count]
        if told:
            yield f"{one.model.name}: {', '.join(told)}."
        asked = int((state != MISSING).sum())
        silent = int((state == NO_ANSWER).sum())
        if silent > UNANSWERED * asked:
            log.warning("%s gives no answer to %d of %d rows; they count as wrong", one.model.name, silent, asked)


def asked_rows(plan: Plan, one: ModelResponses) -> tuple[int, float]:
    """How many rows a model was asked and is judged on, and the sum of its outcomes on these.

    A row that is not in its file is one that it was not asked. One without an answer is one that it was.
    """
    outcomes = plan.task.outcomes(population_answers(one).predictions, plan.rows.population)
    return int((~np.isnan(outcomes)).sum()), float(np.nansum(outcomes))


def _on_asked_rows(plan: Plan, answered: Sequence[ModelResponses]) -> Iterator[str]:
    """How good each model is on the rows that it was asked and, beside it, on all, where some were not asked all."""
    rows = len(plan.rows.population)
    found = {one.model.name: asked_rows(plan, one) for one in answered if one.model.source.precomputed}
    if not any(
        (population_answers(one).predictions.state == MISSING).any() for one in answered if one.model.source.precomputed
    ):
        return
    each = [
        f"{name} {percent(right / max(asked, 1))} % of {asked:,} ({percent(right / rows)} %)"
        for name, (asked, right) in found.items()
    ]
    all_rows = f"of all {rows:,}, where a row that it was not asked counts as wrong"
    metric = "Accuracy" if plan.task.metric == "ACC" else plan.task.metric
    yield f"{metric} on the rows that each model was asked (and {all_rows}): {listed(each)}."


UNSAID = {NO_ANSWER: "no answer", ERROR: "failed", MISSING: "missing"}
"""State of an answer -> what stands in the place of a label where there is none."""

STATES = {
    MISSING: ("is not in its file, and left out for all models", "are not in its file, and left out for all models"),
    NO_ANSWER: ("has no answer, which counts as wrong", "have no answer, which counts as wrong"),
    ERROR: (
        "failed or was not scored, and is left out for all models",
        "failed or were not scored, and are left out for all models",
    ),
}
"""State of an answer -> what is said of rows in it."""


def _own_truth(plan: Plan) -> tuple[str, ...]:
    """What is to be known of an order that is taken from the rows that models are ranked on."""
    own = plan.rows.truth and len(plan.rows.population) == len(plan.rows.ood.examples)
    return (OWN_TRUTH.format(plan.task.metric if plan.metric is None else plan.metric.name),) if own else ()


def _chance_warnings(plan: Plan, answered: Sequence[ModelResponses]) -> Iterator[str]:
    """What is to be known of the labels that models gave to rows, where nobody knows more of the truth."""
    if not plan.rows.truth and has_labels(plan.task):
        right, given = {}, {}
        for one in answered:
            predictions = population_answers(one).predictions
            outcomes = plan.task.outcomes(predictions, plan.rows.population)[predictions.state == ANSWERED]
            right[one.model.name] = int(np.nansum(outcomes))
            given[one.model.name] = int((~np.isnan(outcomes)).sum())
        yield from worse_than_guessing(right, given, len(plan.task.labels))


def _asked_label(plan: Plan) -> dict[str, str | None]:
    """The label that is attributed, by name, where it is another than what the task has by itself."""
    if not isinstance(plan.settings, Attributing):
        return {}
    label = plan.settings.label
    of_task = settle(Attributing(), plan.task).label
    return {"target": None if label == of_task else plan.task.show(label)}


def _made_from(plan: Plan, collected: RunResponses, machine: Machine) -> Provenance:
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


def _known(answered: Sequence[ModelResponses], part: Callable[[ModelResponses], T | None]) -> dict[str, T]:
    """A part of what was found out about each model, by the model's name, where it is known."""
    values = {one.model.name: part(one) for one in answered}
    return {name: value for name, value in values.items() if value is not None}


BEGINNING = 300
"""Characters of a row's text that are kept with a decision."""


def _predicted(plan: Plan, answered: Sequence[ModelResponses]) -> tuple[RowResult, ...]:
    """What the models answer to the labelled rows; none where nobody knows it, or some rows have no truth."""
    task, rows = plan.task, plan.rows.population
    given = {one.model.name: population_answers(one).predictions for one in answered}
    answers_of = {name: answers for name, one in given.items() if (answers := one.answers()) is not None}
    named = len(answers_of) == len(given) and all(row.labelled for row in rows)
    said = {
        name: [
            UNSAID[state] if answer is None else task.show(answer)
            for state, answer in zip(given[name].state.tolist(), answers, strict=True)
        ]
        for name, answers in answers_of.items()
        if named
    }
    return tuple(
        RowResult(
            row.id,
            task.show(row.target) if named else "",
            {name: answers[n] for name, answers in said.items()} if named else {},
            "\n".join(row.segments)[:BEGINNING],
        )
        for n, row in enumerate(rows)
    )
