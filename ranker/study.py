"""What the models of a suite are asked, and what they score: the part of the flow that runs them, one by one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib import metadata
from typing import TYPE_CHECKING, TypeVar, get_args

import numpy as np

from factors import BUILTIN, Attributions, Example, Factor
from factors.types import Floats, Ints, Norm
from ranker.attribution import hiding, spelled
from ranker.attribution.settings import Attributing, Settings
from ranker.datasets.sets import OODSet
from ranker.errors import ModelError, UsageError
from ranker.progress import Progress, silent
from ranker.results.explanation import Explanation
from ranker.results.ranking import Ranking
from ranker.results.records import Data, Provenance, Quality, RowResult
from ranker.results.table import ScoreTable
from ranker.runtime.base import Request
from ranker.runtime.estimate import Estimate, estimate
from ranker.runtime.executors.serial import survey
from ranker.runtime.guest import Subject
from ranker.scoring.diagnostics import (
    accuracy_of,
    below_chance,
    misled_share,
    quality_of,
    shortcut_avoided,
    worse_than_guessing,
)
from ranker.scoring.score import (
    UNDEFINED,
    ModelScores,
    Target,
    about_one_label,
    applicable,
    assemble,
    defined_nowhere,
    score_model,
)
from ranker.scoring.views import View, telling
from ranker.sources.base import ModelOptions
from ranker.sources.suites import Model, Suite
from ranker.statistics.methods import LABEL_FREE
from ranker.statistics.pool import InDomain, Pool
from ranker.tasks.classes import Task

if TYPE_CHECKING:
    from ranker.runtime.store import Store

log = logging.getLogger(__name__)

T = TypeVar("T")

VERSIONED = ("rank-models", "torch", "transformers", "numpy")
"""The packages whose versions stand in a ranking's provenance."""

OWN_TRUTH = (
    "The true order is that on these very rows. Of models a few points apart it is itself a guess, and favours ACC, "
    "which counts the same rows."
)
"""What to know where a set has no rows beside those that are drawn from."""

NEEDS_IN_DOMAIN = "needs labelled rows: `--in-domain`"
"""Why methods that look at the domain that models were trained for cannot be had without it."""
WORTH_SAYING = 2.0
"""Seconds of work from which on an estimate is shown."""


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


@dataclass(frozen=True)
class Rows:
    """The rows that every model of a suite is asked about.

    Attributes:
        ood: the set.
        population: those of its examples that are attributed.
        truth: the models' accuracies on the whole set are wanted, too.
        pool: rows, labelled or not, that the models are only to predict; the population where there are none.
        places: (K,) where the population stands in the pool; None where there is none.
        explain_pool: these are attributed, too, for the factor designed for the set.
    """

    ood: OODSet
    population: Sequence[Example]
    truth: bool = True
    pool: Sequence[Example] = ()
    places: Ints | None = None
    explain_pool: bool = False


@dataclass(frozen=True)
class Measured:
    """What was found out about one model.

    Attributes:
        content: what identifies the checkpoint.
        rows: its attributions of the population.
        scores: what the factors make of them.
        quality: how good they are.
        accuracy: on the whole set, a fraction; None where the truth is not wanted.
        in_domain: its in-domain accuracy, a fraction; None where that is not known.
        misled: how often the shortcut misleads it, a fraction; None where that is not known.
        probs: (N, C) its probabilities of the pool.
        in_domain_probs: (N, C) those of the in-domain rows.
        pool_factor: (N,) the designed factor of the pool, the higher the better; None where it needs labels.
        hiding: the effect of a word hidden as the backend does, and in the other way; None where that was not asked.
    """

    content: str
    rows: Sequence[Attributions]
    scores: ModelScores
    quality: Quality
    accuracy: float | None
    in_domain: float | None
    misled: float | None
    probs: Sequence[Floats]
    in_domain_probs: Sequence[Floats]
    pool_factor: Floats | None
    hiding: tuple[float, float] | None


@dataclass(frozen=True)
class Study:
    """A suite of models, and what is asked of each: see `rank` for the fields that are not told of here.

    Attributes:
        suite: the models.
        rows: what they are asked about.
        settings: of the attribution backend; settled for the rows' task as soon as the study is there.

    Raises:
        UsageError: a target, a norm or a label to attribute that there is not.
    """

    suite: Suite
    rows: Rows
    settings: Settings
    factors: tuple[Factor, ...] = ()
    target: Target = "declared"
    norm: Norm = "raw"
    in_domain: OODSet | None = None
    options: ModelOptions = ModelOptions()
    store: Store | None = None
    progress: Progress = silent

    def __post_init__(self) -> None:
        for option, value, kind in (("--target", self.target, Target), ("--normalise", self.norm, Norm)):
            if value not in get_args(kind):
                raise UsageError(f"`{option}` must be one of {', '.join(get_args(kind))} (got {value!r})")
        object.__setattr__(self, "settings", self.settings.settled(self.task.labels, self.task.heuristic))

    @property
    def task(self) -> Task:
        """The task of the rows."""
        return self.rows.ood.task

    @property
    def in_domain_rows(self) -> Sequence[Example]:
        """The labelled rows of the domain that the models were trained for; none where there are none."""
        return () if self.in_domain is None else self.in_domain.examples

    @cached_property
    def measurable(self) -> tuple[Sequence[Factor], Mapping[str, str]]:
        """The factors that the rows have what they need for, and why the others are left out."""
        reading = [factor for factor in self.factors if factor.kind == "factor" and self.settings.name == "none"]
        unread = {factor.name: "reads attributions, and there are none" for factor in reading}
        kept, left_out = applicable(
            [factor for factor in self.factors if factor not in reading],
            self.rows.population,
            self.task,
            self.rows.ood.designed,
            self.target,
            self.settings.only_label(len(self.task.labels)),
        )
        left_out = unread | left_out
        if self.rows.truth and self.in_domain is None:
            left_out |= {one.name: NEEDS_IN_DOMAIN for one in LABEL_FREE if one.needs == "in_domain"}
        return kept, left_out

    def lacks(self, method: str) -> str | None:
        """Why a method cannot be had of these rows, as far as that is known before models are asked; None if it can."""
        factors, left_out = self.measurable
        needs = {one.name: one.needs for one in LABEL_FREE}.get(method)
        if needs == "in_domain" and self.in_domain is None:
            return NEEDS_IN_DOMAIN
        if needs == "factor" and not self.about_all(factors):
            return "needs a factor that is designed for these rows, and about one label on all of them"
        return left_out.get(method)

    def about_all(self, factors: Sequence[Factor]) -> list[Factor]:
        """The factor designed for the set, if it needs no label to be turned."""
        return [one for one in factors if one.name == self.rows.ood.designed and about_one_label(one, self.target)]

    @cached_property
    def hidden(self) -> list[Request]:
        """What each model is asked about hidden words."""
        some = hiding.enough(self.rows.population)
        return [Request(f"words behind [{one.hide.upper()}]", some, one) for one in hiding.compared(self.settings)]

    def scored(self) -> Scored:
        """Ask every model, and put together what they score.

        Raises:
            ModelError: fewer than two models could be measured.
            StoreError: the store cannot be read or written.
        """
        jobs = [(model, [*self.questions(model).values(), *self.hidden]) for model in self.suite.models]
        return self.together(*survey(jobs, self.ask, self.task, self.options, self.store, self.progress))

    def ask(self, subject: Subject) -> Measured:
        """Ask a model its `questions`, and measure what it answers."""
        self.announce(subject)
        asked = self.questions(subject.model)
        return self.measure(subject, {name: subject.answer(one, self.progress) for name, one in asked.items()})

    def questions(self, model: Model) -> dict[str, Request]:
        """What a model is asked.

        Returns:
            in-domain: the in-domain rows, if there are any.
            set: all rows of the set, where the truth is wanted and the suite does not state it.
            population: the rows that are attributed.
            pool: the rows of the pool, if there are any.
        """
        rows, own = self.rows, self.settings
        of_set = unknown(model, rows.ood) if rows.truth else ()
        every = {
            "in-domain": Request("in-domain rows", self.in_domain_rows),
            "set": Request(f"accuracy on {rows.ood.name}", of_set),
            "population": Request(own.name, rows.population, own),
            "pool": Request(f"{own.name} of the pool", rows.pool, own)
            if rows.explain_pool
            else Request("the pool", rows.pool),
        }
        return {name: question for name, question in every.items() if question.examples}

    def todo(self, subject: Subject) -> Estimate:
        """What is not known yet of a model, and how long it takes to find out.

        Raises:
            ModelError: the model cannot be loaded or run; StoreError: the store cannot be read.
        """
        return estimate(subject, [*self.questions(subject.model).values(), *self.hidden])

    def announce(self, subject: Subject) -> None:
        """Log how long a model will take."""
        if log.isEnabledFor(logging.INFO):
            todo = self.todo(subject)
            level = logging.INFO if todo.seconds >= WORTH_SAYING else logging.DEBUG
            log.log(level, "%s: %s", subject.model.name, todo)

    def measure(self, subject: Subject, answers: Mapping[str, Sequence[Attributions]]) -> Measured:
        """What a model's answers to its `questions`, by their names, say of it."""
        rows, model, own = self.rows, subject.model, answers["population"]
        of_pool, of_domain = answers.get("pool", own), answers.get("in-domain", [])
        accuracy = model.ood_accuracy.get(rows.ood.fingerprint) if rows.truth else None
        if rows.truth and accuracy is None:
            accuracy = accuracy_of(answers["set"], rows.ood.examples)
        factors, _ = self.measurable
        return Measured(
            content=subject.content,
            rows=own,
            scores=score_model(own, rows.population, factors, self.task, self.target, self.norm),
            quality=quality_of(own, rows.population, self.settings),
            accuracy=accuracy,
            in_domain=accuracy_of(of_domain, self.in_domain_rows) if of_domain else model.in_domain_accuracy,
            misled=misled_share(own, rows.population, self.task),
            probs=[row.probs for row in of_pool],
            in_domain_probs=[row.probs for row in of_domain],
            pool_factor=self.pool_factor(of_pool),
            hiding=effects(subject, self.hidden, self.progress),
        )

    def pool_factor(self, of_pool: Sequence[Attributions]) -> Floats | None:
        """(N,) the designed factor of the pool's rows; None where it needs labels, or they have no attributions."""
        rows, (factors, _) = self.rows, self.measurable
        free = self.about_all(factors)
        if not free or (rows.pool and not rows.explain_pool):
            return None
        scored = score_model(of_pool, rows.pool or rows.population, free, self.task, self.target, self.norm)
        return np.asarray(scored.values[0] if free[0].higher_is_better else -scored.values[0])

    def together(self, measured: Mapping[str, Measured], failures: Mapping[str, str]) -> Scored:
        """Put together what was found out about the models.

        Raises:
            ModelError: that are fewer than two.
        """
        rows, ood, (factors, left_out) = self.rows, self.rows.ood, self.measurable
        in_domain = known(measured, lambda one: one.in_domain)
        warnings = tuple(below_chance(in_domain, len(self.task.labels)))
        for warning in warnings:
            log.warning(warning)
        if len(measured) < 2:
            raise ModelError(f"nothing to rank: {len(failures)} of {len(self.suite.models)} models failed")
        families = {model.name: model.family for model in self.suite.models}
        pool_factor = known(measured, lambda one: one.pool_factor)
        answers = known(measured, lambda one: one.rows)
        table = assemble(
            known(measured, lambda one: one.scores),
            rows.population,
            factors,
            known(measured, lambda one: one.accuracy) or None,
        )
        nowhere = defined_nowhere(table)
        view = View(self.task, self.settings, factors, ood.designed, target=self.target, norm=self.norm)
        return Scored(
            table=table,
            pool=Pool(
                np.array([one.probs for one in measured.values()]),
                in_domain_of([one.in_domain_probs for one in measured.values()], self.in_domain),
                np.array(list(pool_factor.values())) if pool_factor else None,
            ),
            families=tuple(families[name] for name in measured) if any(families.values()) else None,
            misled=known(measured, lambda one: one.misled),
            in_domain=in_domain,
            notes=(
                *ood.notes,
                *warnings,
                *self.own_truth(),
                *self.here(answers),
                *hiding.speaks(known(measured, lambda one: one.hiding), self.settings),
            ),
            failures=failures,
            left_out={**left_out, **nowhere},
            failed_factors=failing(table, nowhere, factors),
            quality=known(measured, lambda one: one.quality),
            attribution=self.settings.name,
            examples=tuple(telling(answers, rows.population, view)),
            rows=() if rows.truth else predicted(answers, rows.population, self.task),
            provenance=self.made_from(known(measured, lambda one: one.content)),
        )

    def own_truth(self) -> tuple[str, ...]:
        """What is to be known of an order that is taken from the rows that models are ranked on."""
        return (OWN_TRUTH,) if self.rows.truth and len(self.rows.population) == len(self.rows.ood.examples) else ()

    def here(self, answers: Mapping[str, Sequence[Attributions]]) -> Iterator[str]:
        """What is to be known of the models' answers to labelled rows, where nobody knows more of the truth."""
        if not self.rows.truth:
            rows = self.rows.population
            right = {name: round(accuracy_of(own, rows) * len(rows)) for name, own in answers.items()}
            yield from worse_than_guessing(right, len(rows), len(self.task.labels))

    @property
    def asked_label(self) -> dict[str, str | None]:
        """The label that is attributed, by name, where it is another than what the task has by itself."""
        if not isinstance(self.settings, Attributing):
            return {}
        labels, label = self.task.labels, self.settings.label
        of_task = Attributing().settled(labels, self.task.heuristic).label
        return {"target": None if label == of_task else labels[label]}

    def made_from(self, models: Mapping[str, str]) -> Provenance:
        """What the numbers are made from; of the models, what identifies them."""
        ood = self.rows.ood
        return Provenance(
            data=Data(ood.origin, len(ood.examples), ood.fingerprint),
            population=len(self.rows.population),
            attribution=spelled(self.settings.name, asdict(self.settings) | self.asked_label),
            error=self.settings.measure or None,
            settings=asdict(self.settings) | self.asked_label,
            target=self.target,
            norm=self.norm,
            dtype=self.options.dtype_of(self.settings.bfloat16),
            versions={name: metadata.version(name) for name in (*VERSIONED, *self.settings.libraries)},
            models=models,
        )


def effects(subject: Subject, asked: Sequence[Request], progress: Progress) -> tuple[float, float] | None:
    """The effects of a word hidden behind the token, and behind the other; None where that was not asked.

    None, too, where the model's tokenizer has no such token.
    """
    try:
        behind = [hiding.effect(subject.answer(question, progress)) for question in asked]
    except ModelError:
        return None
    return (behind[0], behind[1]) if behind else None


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


def known(measured: Mapping[str, Measured], part: Callable[[Measured], T | None]) -> dict[str, T]:
    """A part of what was found out about each model, by the model's name, where it is known.

    Args:
        measured: model -> what was found out.
        part: takes the part.
    """
    values = {name: part(one) for name, one in measured.items()}
    return {name: value for name, value in values.items() if value is not None}


def predicted(
    answers: Mapping[str, Sequence[Attributions]], examples: Sequence[Example], task: Task
) -> tuple[RowResult, ...]:
    """What the models take examples for.

    Args:
        answers: model -> (N,) what it makes of them.
        examples: (N,) the examples.
        task: names the labels.
    """
    given = {name: [task.labels[row.predicted] for row in rows] for name, rows in answers.items()}
    return tuple(
        RowResult(example.id, task.labels[example.label], {name: labels[n] for name, labels in given.items()})
        for n, example in enumerate(examples)
    )


def unknown(model: Model, ood: OODSet) -> Sequence[Example]:
    """The examples that have to be predicted for a model's accuracy on a set: none where its suite states it."""
    return () if ood.fingerprint in model.ood_accuracy else ood.examples


def in_domain_of(probs: Sequence[Sequence[Floats]], in_domain: OODSet | None) -> InDomain | None:
    """The in-domain rows as the models see them; None where there are none."""
    if in_domain is None:
        return None
    return InDomain(np.array(probs), np.array([example.label for example in in_domain.examples]))
