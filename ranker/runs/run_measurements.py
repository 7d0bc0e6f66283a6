"""Combine the models' answers into the measurements of a run: the score table, the pool, and notes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from typing import TypeVar

import numpy as np

from factors import BUILTIN, Example, Factor
from ranker.attribution import settings_line
from ranker.attribution.settings import Attributing, Settings, settle
from ranker.errors import Assumption, ModelError, UsageError, listed
from ranker.numbers import counted, percent
from ranker.results.agreement import Agreement
from ranker.results.decision import Decision, LabelResult, RowResult
from ranker.results.evaluation import Evaluation
from ranker.results.explanation import Explanation
from ranker.results.header import Data, Header, Provenance
from ranker.results.ranking import Ranking
from ranker.results.table import ScoreTable
from ranker.runs.collect import ModelResponses, RunResponses, failed_of
from ranker.runs.measured import Measurer, agreements_of, backend_notes, scores_by
from ranker.runs.plan import NEEDS, Backend, Plan
from ranker.runs.pool import (
    answer_context,
    in_domain_outcome,
    mean_outcome,
    pool_of,
    population_answers,
    positions_among,
    small_pool_notes,
    targets_of,
    true_labels,
)
from ranker.runtime.base import Answer
from ranker.runtime.runtime import Runtime
from ranker.scoring.by_metric import MetricRows
from ranker.scoring.diagnostics import (
    below_chance,
    chance_notes,
    constant_models,
    copies,
    misled_share,
    shortcut_avoided,
    voter_notes,
    worse_than_guessing,
)
from ranker.scoring.parts import group_by_parts
from ranker.scoring.score import UNDEFINED, assemble, defined_nowhere
from ranker.scoring.unlabelled import AnswerContext, LabelContext
from ranker.scoring.views import View, pick_informative
from ranker.sources.base import Machine
from ranker.statistics.pool import Pool, Targets
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER, Predictions, Task
from ranker.tasks.classes import are_classes, has_labels, label_names
from ranker.tasks.metrics import F1, Metric
from ranker.tasks.values import has_values

log = logging.getLogger(__name__)

T = TypeVar("T")

VERSIONED = ("rank-models", "torch", "transformers", "numpy")
"""Packages whose versions are recorded in a ranking's provenance."""

NO_PROBABILITIES = "needs each model's prediction on each row, and some files have only outcomes"

OWN_TRUTH = (
    "The true order is taken from these same rows. For models a few points apart it is uncertain, and {} has an "
    "advantage, because it judges by the same rows."
)
"""Caveat for a set without rows beside those that probes are drawn from."""


@dataclass(frozen=True)
class RunMeasurements:
    """Measurements of the models of a run.

    Attributes:
        table: scores of the models that answered.
        header: what they are of, and what is known of rows and models.
        pool: their predictions on all rows, labelled or not; None if some answers are no labels.
        targets: true labels and outcomes of the pool's rows, as far as known.
        families: families of the models, in the order of the table; None if none is known.
        misled: model -> fraction of rows on which the shortcut misleads it; empty without a shortcut, or if it is
            right on the whole population.
        in_domain: model -> mean outcome in the domain that it was trained for, where known.
        examples: explanations of the most telling examples.
        rows: predictions for the labelled rows; empty if the truth is known.
        beside: what a pool says beside the labelled rows; None without one, or if nothing of it can be read.
        by_metric: what the population adds to a metric that is no mean over rows; None for the mean outcome.
        agreement: how far attribution backends agree, each two; empty for one backend.
        of_labels: the labels that rows may have beside each other, on those that all models were judged on.
        worse: models that are right less often than guessing on the labelled rows.
    """

    table: ScoreTable
    header: Header
    pool: Pool | None
    targets: Targets
    families: tuple[str, ...] | None
    misled: Mapping[str, float]
    in_domain: Mapping[str, float]
    examples: tuple[Explanation, ...]
    rows: tuple[RowResult, ...]
    beside: LabelContext | AnswerContext | None
    by_metric: MetricRows | None
    agreement: tuple[Agreement, ...]
    of_labels: tuple[LabelResult, ...]
    worse: tuple[str, ...]


def measure_run(
    plan: Plan, collected: RunResponses, runtime: Runtime = Runtime(), seed: int = 0, probe: int | None = None
) -> RunMeasurements:
    """Combine the models' answers into measurements.

    Args:
        seed: of the draws.
        probe: K; None for all rows of the table.

    Raises:
        ModelError: fewer than two models answered.
    """
    with runtime.open_store() as store:
        return _measure(plan, collected, Measurer(plan, store, runtime), seed, probe)


def _measure(plan: Plan, collected: RunResponses, measuring: Measurer, seed: int, probe: int | None) -> RunMeasurements:
    ood, answered = plan.ood, collected.answered
    of_metric = _reading_notes(plan)
    in_domain = _by_model(answered, lambda reply: in_domain_outcome(plan, reply))
    labels = label_names(plan.task)
    warnings = tuple(below_chance(in_domain, len(labels))) if labels else ()
    for warning in warnings:
        log.warning(warning)
    if len(answered) < 2:
        raise ModelError(f"nothing to rank: {failed_of(plan.inspected, collected)} failed", option="models")
    truth = _by_model(answered, lambda reply: _truth(plan, reply)) if plan.truth else None
    backends, ungraded = _usable_factors(plan, answered)
    factors = [column for backend in backends for column in backend.columns]
    pairs = [(reply, population_answers(reply)) for reply in answered]
    scores, outcomes = list(scores_by(measuring, answered, backends)), {}
    with measuring.runtime.steps(f"judging {len(answered):,} models' answers", len(answered)) as watch:
        for reply, answer in pairs:
            outcomes[reply.model.name] = plan.task.outcomes(answer.predictions, plan.population)
            watch(f"those of {reply.model.name} are done", 1)
    table = assemble(
        outcomes,
        dict(zip([reply.model.name for reply in answered], scores, strict=True)),
        plan.population,
        factors,
        plan.task.metric,
        truth,
    )
    pool, pool_rows = pool_of(measuring, answered, collected.voters)
    places = None if plan.places is None else positions_among(plan.places, pool_rows, len(plan.pool))
    targets = Targets(table.outcomes, true_labels(plan))
    if pool is not None or (places is not None and len(pool_rows)):
        targets = targets_of(plan, table, pool_rows, places)
    nowhere = defined_nowhere(table)
    failed = list_failed_factors(table, nowhere, factors)
    misled = _by_model(answered, lambda reply: _misled_share(plan, reply))
    families = [reply.model.family for reply in answered]
    without, hits = _unusable_methods(plan, pool), _hits(plan, answered)
    beside: LabelContext | AnswerContext | None = None
    if pool is not None and places is not None:
        labels_of_rows = true_labels(plan)[places >= 0]
        beside = LabelContext(pool, targets, places[places >= 0], labels_of_rows, plan.methods)
    elif plan.places is not None:
        beside = answer_context(measuring, answered, pool_rows, targets, collected.voters)
    header = Header(
        ood=ood.name,
        suite=plan.inspected.name,
        probe=len(table.examples) if probe is None else probe,
        seed=seed,
        metric=plan.task.metric if plan.metric is None else plan.metric.name,
        attribution=",".join(backend.settings.name for backend in plan.backends),
        failures=collected.failures,
        failed_answers=collected.failed_answers,
        copies=collected.copies,
        voters=voter_weights(collected.voters, pool),
        left_out={**plan.left_out, **ungraded, **nowhere, **without},
        failed_factors=failed,
        quality=_by_model(answered, lambda reply: measuring.quality(reply, backends[0])),
        unlabelled=ood.unlabelled,
        notes=(
            *ood.notes,
            *_file_notes(plan),
            *warnings,
            *_own_truth_notes(plan),
            *of_metric,
            *_mean_metric_notes(plan),
            *_small_pool_notes(plan),
            *_positive_label_notes(plan),
            *chance_notes(*hits, len(labels)),
            *_judging_notes(plan, pairs),
            *copies(collected.copies),
            *_voter_notes(plan.task, collected.voters, pool),
            *(constant_models(table.models, pool.answered_labels, labels) if pool is not None and plan.pool else ()),
            *state_notes(table, answered),
            *_asked_rows_notes(plan, table, answered),
            *(note for backend in backends for note in backend_notes(measuring, answered, backend)),
            *(shortcut_avoided(misled) if any(method.kind == "factor" for method in table.methods) else ()),
        ),
        provenance=provenance(plan, collected, measuring.runtime.machine),
    )
    return RunMeasurements(
        table=table,
        header=header,
        pool=pool,
        targets=targets,
        families=tuple(families) if any(families) else None,
        misled=misled,
        in_domain=in_domain
        if plan.metric is None
        else _by_model(answered, lambda reply: _in_domain_value(plan, reply)),
        examples=_examples(plan, answered, backends[0].factors),
        rows=() if plan.truth else _row_results(plan, answered),
        beside=beside,
        by_metric=None if plan.metric is None else _metric_rows(plan, plan.metric, [answer for _, answer in pairs]),
        agreement=tuple(agreements_of(answered, backends, table)),
        of_labels=() if plan.truth else _label_results(plan, table, pairs),
        worse=tuple(worse_than_guessing(*hits, len(labels))),
    )


def _label_results(
    plan: Plan, table: ScoreTable, answers: Sequence[tuple[ModelResponses, Answer]]
) -> tuple[LabelResult, ...]:
    """Return how well models tell each label on the rows that all were judged on; () where a row has no set of them."""
    if not has_values(plan.task):
        return ()
    places, examples = np.flatnonzero(np.isfinite(table.outcomes).all(axis=0)), plan.population
    targets = [examples[place].target for place in places.tolist()]
    of_models = {
        reply.model.name: plan.task.by_label(answer.predictions.part(places).answers() or (), targets)
        for reply, answer in answers
    }
    counts = {label: rows for of_model in of_models.values() for label, (rows, _) in of_model.items()}
    return tuple(
        LabelResult(label, rows, {name: of_model[label][1] for name, of_model in of_models.items()})
        for label, rows in sorted(counts.items(), key=lambda label_count: -label_count[1])
    )


def _metric_rows(plan: Plan, metric: Metric, answers: Sequence[Answer]) -> MetricRows:
    """Return the statistics of the rows; a UsageError where the metric is undefined on them and there is no pool."""
    population = plan.population
    rows = MetricRows.of(metric, plan.task, [answer.predictions for answer in answers], population)
    if not plan.pool and not rows.defined:
        judged = f"{metric.name} says nothing on these {rows.judged.sum():,} rows, which have too few different labels"
        raise UsageError.about("metric", f"{judged}; add rows with others, or leave it out", metric.name)
    return rows


def _reading_notes(plan: Plan) -> tuple[str, ...]:
    """Say how much of the references the metric cannot read; refuse one that cannot read most."""
    if not has_values(plan.task):
        return ()
    metric = "" if plan.metric is None else plan.metric.name
    return plan.task.reading_notes([row.target for row in plan.population], metric)


def _judging_notes(plan: Plan, answers: Sequence[tuple[ModelResponses, Answer]]) -> tuple[str, ...]:
    """Say what the targets do not judge of the models' answers."""
    if not has_values(plan.task):
        return ()
    by_model = {reply.model.name: answer.predictions.answers() or () for reply, answer in answers}
    return plan.task.judging_notes(by_model, [row.target for row in plan.population])


def _voter_notes(task: Task, voting: Sequence[ModelResponses], pool: Pool | None) -> Iterator[str]:
    """Say which models only vote, and how much say each has."""
    names = [reply.model.name for reply in voting]
    if pool is not None:
        yield from voter_notes(voter_weights(voting, pool))
    elif voting and has_values(task):
        yield f"The answers of {listed(names)} are read as references that may be wrong."
    elif voting:
        yield f"Nobody votes, though {listed(names)} might: a vote {NO_PROBABILITIES}."


def voter_weights(voting: Sequence[ModelResponses], pool: Pool | None) -> dict[str, float]:
    """Return the weight of each model that only votes; none without a pool."""
    return {} if pool is None else dict(zip((reply.model.name for reply in voting), pool.says.tolist(), strict=True))


def _mean_metric_notes(plan: Plan) -> Iterator[str]:
    """Say that a pool is read by the mean outcome, where the task's default metric is none."""
    default = plan.task.metric_named("")
    if plan.pool and default is not None and default.by_label() is None:
        yield f"Beside a pool models are compared by {plan.task.metric}, a mean over rows; {default.name} is none."


def _small_pool_notes(plan: Plan) -> Iterator[str]:
    """Say how much a larger pool is worth, if labels and a pool decide."""
    names = [method.name for method in plan.methods if method.decides]
    if names and has_labels(plan.task) and plan.method in (None, *names):
        yield from small_pool_notes(len(plan.pool), plan.inspected)


def _positive_label_notes(plan: Plan) -> Iterator[str]:
    """Say which label F1 is about, if no label was named."""
    labels = label_names(plan.task)
    if plan.metric is not None and plan.metric.name == F1 and len(labels) == 2:
        first, positive = labels
        yield Assumption(f"f1 is that of {positive}, the second label; f1:{first} is that of the other.")


def _usable_factors(plan: Plan, answered: Sequence[ModelResponses]) -> tuple[tuple[Backend, ...], dict[str, str]]:
    """Return the backends with usable factors, and why others are left out: labels alone have no confidence."""
    first, *further = plan.backends
    baselines = [factor for factor in first.factors if factor.kind == "baseline"]
    hard = [
        reply.model.name
        for reply in answered
        if reply.model.source.precomputed and _labels_alone(population_answers(reply).predictions)
    ]
    if not hard:
        return plan.backends, {}
    others_text = f" and of {counted(len(hard) - 1, 'other')}" if len(hard) > 1 else ""
    reason = f"needs probabilities, and the answers of {hard[0]}{others_text} are labels alone"
    graded = tuple(factor for factor in first.factors if factor not in baselines)
    return (replace(first, factors=graded), *further), {baseline.name: reason for baseline in baselines}


def _labels_alone(predictions: Predictions) -> bool:
    """Return True if every probability is 0 or 1."""
    return are_classes(predictions) and not ((predictions.probs > 0) & (predictions.probs < 1)).any()


def _unusable_methods(plan: Plan, pool: Pool | None) -> dict[str, str]:
    """Return the pool methods that these answers cannot have, with reasons; for a decision, only the chosen method."""
    wanted = [method for method in plan.methods if plan.truth or method.name == plan.method]
    if pool is None:
        return {method.name: NO_PROBABILITIES for method in wanted}
    return {
        method.name: NEEDS["probabilities"] for method in wanted if "probabilities" in method.needs and not pool.graded
    }


def assemble_ranking(plan: Plan, measurements: RunMeasurements, outcome: Evaluation | Decision) -> Ranking:
    """Put the result of a run together with its header, its scores, and the parts of its models."""
    table = measurements.table
    parts = group_by_parts(
        outcome,
        table,
        plan.inspected.parts,
        seed=measurements.header.seed,
        groups=[example.group for example in plan.population],
        by_metric=measurements.by_metric,
    )
    return Ranking(measurements.header, outcome, table, measurements.examples, parts, measurements.agreement)


def _truth(plan: Plan, reply: ModelResponses) -> float:
    """Return a model's mean outcome, or metric, on the whole set: stated by its suite, else measured."""
    ood = plan.ood
    if plan.metric is not None:
        return _value(plan.metric, plan.task, reply.answers["set"], ood.examples)
    stated_value = reply.model.ood_accuracy.get(ood.fingerprint)
    return mean_outcome(plan.task, reply.answers["set"], ood.examples) if stated_value is None else stated_value


def _in_domain_value(plan: Plan, reply: ModelResponses) -> float | None:
    """Return the metric on the in-domain rows; None without rows, since a suite states accuracies only."""
    answer = reply.answers.get("in-domain")
    if answer is None or plan.metric is None:
        return None
    return _value(plan.metric, plan.task, answer, plan.in_domain_rows)


def _value(metric: Metric, task: Task, answer: Answer, examples: Sequence[Example]) -> float:
    """Compute a metric that is no mean, over judged rows."""
    return float(MetricRows.of(metric, task, [answer.predictions], examples).values[0])


def _misled_share(plan: Plan, reply: ModelResponses) -> float | None:
    predictions = population_answers(reply).predictions
    if not (are_classes(predictions) and has_labels(plan.task)):
        return None
    return misled_share(predictions, plan.population, plan.task)


def _examples(plan: Plan, answered: Sequence[ModelResponses], factors: Sequence[Factor]) -> tuple[Explanation, ...]:
    """Explain the most telling examples that all answered; none if answers are no labels and nothing is attributed."""
    if not has_labels(plan.task) and not isinstance(plan.settings, Attributing):
        return ()
    view = View(plan.task, plan.settings, factors, plan.ood.designed, target=plan.target, norm=plan.norm)
    answers_of = {reply.model.name: population_answers(reply).predictions for reply in answered}
    places = np.flatnonzero(
        np.all([predictions.state == ANSWERED for predictions in answers_of.values()], axis=0)
    ).tolist()
    answers = [part for predictions in answers_of.values() if (part := predictions.part(places)).answers() is not None]
    chosen = pick_informative(answers, [plan.population[n] for n in places], view) if places and answers else []
    return tuple(
        view.explanation(plan.population[n], {reply.model.name: population_answers(reply).at(n) for reply in answered})
        for n in (places[place] for place in chosen)
    )


def _file_notes(plan: Plan) -> Iterator[str]:
    """Return the notes on the models' files; a note that does not hold for all names its models."""
    infos, noted = plan.inspected.infos, plan.inspected.cache.noted
    names_of: dict[str, list[str]] = {}
    for info in infos:
        for note in dict.fromkeys((*info.notes, *noted.get(info.source.place, (0, ()))[1])):
            names_of.setdefault(type(note)(note.rstrip(".")), []).append(info.source.name)
    for note, names in names_of.items():
        sentence = f"{note[:1].upper()}{note[1:]}." if len(names) == len(infos) else f"{listed(names)}: {note}."
        yield type(note)(sentence)


MAX_UNANSWERED_SHARE = 0.1
"""Largest share of asked rows that a model may leave unanswered without a warning."""


def state_notes(table: ScoreTable, answered: Sequence[ModelResponses]) -> Iterator[str]:
    """Describe rows without a usable answer: missing in a file, failed, no answer unless that was right.

    Rows that failed are dropped, so the sentence is an `Assumption`.
    """
    for reply in answered:
        right = table.outcomes[table.models.index(reply.model.name)] == 1
        given = population_answers(reply).predictions.state
        state = np.where(right & (given == NO_ANSWER), ANSWERED, given)
        counts = {phrases: int((state == code).sum()) for code, phrases in STATE_PHRASES.items()}
        parts = [
            counted(count, f"row {single}", f"rows {plural}") for (single, plural), count in counts.items() if count
        ]
        failed = int((state == ERROR).sum())
        if parts:
            sentence = f"{reply.model.name}: {', '.join(parts)}."
            yield Assumption(sentence) if failed else sentence
        size = int((state != MISSING).sum())
        silent = int((state == NO_ANSWER).sum())
        if silent > MAX_UNANSWERED_SHARE * size:
            log.warning("%s gives no answer to %d of %d rows; they count as wrong", reply.model.name, silent, size)
        if failed:
            text = "%s failed or was not scored on %d of %d rows; they are left out for all models"
            log.warning(text, reply.model.name, failed, size)


def _asked_rows_notes(plan: Plan, table: ScoreTable, answered: Sequence[ModelResponses]) -> Iterator[str]:
    """Report each model's accuracy on the rows it was asked, beside that on all rows, if some were not asked all."""
    of_files = [reply for reply in answered if reply.model.source.precomputed]
    if not any((population_answers(reply).predictions.state == MISSING).any() for reply in of_files):
        return
    rows = len(plan.population)
    outcomes = {reply.model.name: table.outcomes[table.models.index(reply.model.name)] for reply in of_files}
    sums = {name: (int((~np.isnan(values)).sum()), float(np.nansum(values))) for name, values in outcomes.items()}
    accuracies = [
        f"{name} {percent(right / max(count, 1))} % of {count:,} ({percent(right / rows)} %)"
        for name, (count, right) in sums.items()
    ]
    all_rows = f"of all {rows:,}, where a row that it was not asked counts as wrong"
    metric = "Accuracy" if plan.task.metric == "ACC" else plan.task.metric
    yield f"{metric} on the rows that each model was asked (and {all_rows}): {listed(accuracies)}."


ANSWER_PLACEHOLDERS = {NO_ANSWER: "no answer", ERROR: "failed", MISSING: "missing"}
"""State of an answer -> text in place of a label."""

STATE_PHRASES = {
    MISSING: ("is not in its file, and left out for all models", "are not in its file, and left out for all models"),
    NO_ANSWER: ("has no answer, which counts as wrong", "have no answer, which counts as wrong"),
    ERROR: (
        "failed or was not scored, and is left out for all models",
        "failed or were not scored, and are left out for all models",
    ),
}
"""State of an answer -> (singular, plural) phrase about rows in that state."""


def _own_truth_notes(plan: Plan) -> tuple[str, ...]:
    """Return the caveat for a true order that is taken from the ranked rows themselves."""
    same_rows = plan.truth and len(plan.population) == len(plan.ood.examples)
    return (OWN_TRUTH.format(plan.task.metric if plan.metric is None else plan.metric.name),) if same_rows else ()


def _hits(plan: Plan, answered: Sequence[ModelResponses]) -> tuple[dict[str, int], dict[str, int]]:
    """Return of each model how many labelled rows it has right, of how many; ({}, {}) if the truth is known."""
    right, counts = dict[str, int](), dict[str, int]()
    if not plan.truth and has_labels(plan.task):
        for reply in answered:
            predictions = population_answers(reply).predictions
            outcomes = plan.task.outcomes(predictions, plan.population)[predictions.state == ANSWERED]
            right[reply.model.name] = int(np.nansum(outcomes))
            counts[reply.model.name] = int((~np.isnan(outcomes)).sum())
    return right, counts


def _attributed_label(settings: Settings, task: Task) -> dict[str, str | None]:
    """Return the attributed label by name, or None if it is the task's default."""
    if not isinstance(settings, Attributing):
        return {}
    of_task = settle(Attributing(), task).label
    return {"target": None if settings.label == of_task else task.show(settings.label)}


def provenance(plan: Plan, collected: RunResponses, machine: Machine) -> Provenance:
    """Record the rows, settings, versions and models that the numbers come from."""
    ood, backends = plan.ood, [backend.settings for backend in plan.backends]
    values = [asdict(settings) | _attributed_label(settings, plan.task) for settings in backends]
    lines = (settings_line(*pair) for pair in zip([settings.name for settings in backends], values, strict=True))
    libraries = dict.fromkeys(name for settings in backends for name in settings.libraries)
    return Provenance(
        data=Data(ood.origin, len(ood.examples), ood.fingerprint),
        population=len(plan.population),
        attribution=",".join(lines),
        error=plan.settings.measure or None,
        settings=values[0],
        target=plan.target,
        norm=plan.norm,
        dtype=machine.settled(all(settings.bfloat16 for settings in backends)).dtype,
        versions=_installed_versions([*VERSIONED, *libraries]),
        models={reply.model.name: reply.content for reply in (*collected.answered, *collected.voters)},
    )


def _installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of packages, of those that are installed."""
    versions = {}
    for name in packages:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def list_failed_factors(table: ScoreTable, nowhere: Mapping[str, str], factors: Sequence[Factor]) -> tuple[str, ...]:
    """List the user's own factors that raise on every example. Log these, and those that are defined on none."""
    ours = {factor.score for factor in BUILTIN.values()}
    names = [factor.name for factor in factors if factor.name in nowhere and factor.score not in ours]
    failed = tuple(name for name in names if UNDEFINED not in table.dropped[name])
    for name in names:
        level = logging.ERROR if name in failed else logging.WARNING
        log.log(level, "%s is not in the table: it %s", name, nowhere[name])
    return failed


def _by_model(answered: Sequence[ModelResponses], part: Callable[[ModelResponses], T | None]) -> dict[str, T]:
    """Map each model's name to a part of its reply, where that is not None."""
    values = {reply.model.name: part(reply) for reply in answered}
    return {name: value for name, value in values.items() if value is not None}


MAX_TEXT_CHARACTERS = 300
"""Limit on the text of a row that is saved with a decision."""


def _row_results(plan: Plan, answered: Sequence[ModelResponses]) -> tuple[RowResult, ...]:
    """Return predictions for the labelled rows; without labels if a model has none, or a row has no true label."""
    task, rows = plan.task, plan.population
    predictions_of = {reply.model.name: population_answers(reply).predictions for reply in answered}
    answers_by_name = {
        name: answers for name, predictions in predictions_of.items() if (answers := predictions.answers()) is not None
    }
    complete = len(answers_by_name) == len(predictions_of) and all(row.labelled for row in rows)
    labels = [task.show(row.target, row.segments) if complete else "" for row in rows]
    texts = {
        name: [
            ANSWER_PLACEHOLDERS[state]
            if answer is None
            else (label if answer == row.target else task.show(answer, row.segments))  # most need not be shown anew
            for state, answer, row, label in zip(
                predictions_of[name].state.tolist(), answers, rows, labels, strict=True
            )
        ]
        for name, answers in answers_by_name.items()
        if complete
    }
    return tuple(
        RowResult(
            row.id,
            labels[n],
            {name: answers[n] for name, answers in texts.items()} if complete else {},
            "\n".join(row.segments)[:MAX_TEXT_CHARACTERS],
        )
        for n, row in enumerate(rows)
    )
