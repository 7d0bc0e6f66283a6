"""What the models of a suite are asked, and what of it can be had: the plan of a run, before any model is loaded."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

from factors import Example, Factor
from factors.types import Ints, Norm
from ranker.attribution import hiding, settings_of
from ranker.attribution.settings import Settings
from ranker.datasets.identity import Texts
from ranker.datasets.sets import OODSet
from ranker.errors import UsageError
from ranker.numbers import minutes
from ranker.runs.gather import Looked
from ranker.runs.survey import carried_out
from ranker.runtime.base import Request
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Target, about_one_label, applicable
from ranker.sources.suites import Model, Suite
from ranker.statistics.methods import LABEL_FREE
from ranker.tasks.classes import Task

log = logging.getLogger(__name__)

DEFAULT = "shap"
"""The backend that is taken where a factor reads attributions and none is named."""

UNREAD = "reads attributions, and there are none"

NEEDS_IN_DOMAIN = "needs labelled rows: `--in-domain`"
"""Why methods that look at the domain that models were trained for cannot be had without it."""


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


def fitting(
    factors: Sequence[Factor], rows: Rows, target: Target, settings: Settings
) -> tuple[list[Factor], dict[str, str]]:
    """The factors that rows have what they need for, and why the others are left out."""
    only = settings.only_label(len(rows.ood.task.labels))
    return applicable(factors, rows.population, rows.ood.task, rows.ood.designed, target, only)


def backend(attribution: str | Settings | None, factors: Sequence[Factor], rows: Rows, target: Target) -> Settings:
    """The attribution backend of a run: the one that is asked for, else `DEFAULT` where a factor reads attributions.

    Raises:
        UsageError: there is no such backend, or it cannot be set so.
    """
    if attribution is not None:
        return settings_of(attribution)
    task, settings = rows.ood.task, settings_of(DEFAULT)
    reading = [factor for factor in factors if factor.kind == "factor"]
    kept, _ = fitting(reading, rows, target, settings.settled(task.labels, task.shortcut))
    return settings if kept else settings_of("none")


@dataclass(frozen=True)
class Study:
    """A suite of models, and what is asked of each: see `rank` for the fields that are not told of here.

    Attributes:
        looked: the models.
        rows: what they are asked about.
        settings: of the attribution backend; settled for the rows' task as soon as the study is there.

    Raises:
        UsageError: a target, a norm or a label to attribute that there is not; fewer than two models.
    """

    looked: Looked
    rows: Rows
    settings: Settings
    factors: tuple[Factor, ...] = ()
    target: Target = "declared"
    norm: Norm = "raw"
    in_domain: OODSet | None = None
    runtime: Runtime = Runtime()

    def __post_init__(self) -> None:
        for option, value, kind in (("--target", self.target, Target), ("--normalise", self.norm, Norm)):
            if value not in get_args(kind):
                raise UsageError(f"`{option}` must be one of {', '.join(get_args(kind))} (got {value!r})")
        _ = self.suite
        object.__setattr__(self, "settings", self.settings.settled(self.task.labels, self.task.shortcut))

    @cached_property
    def suite(self) -> Suite:
        """The models."""
        return self.looked.suite

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
        kept, left_out = fitting(self.factors, self.rows, self.target, self.settings)
        reading = [factor for factor in kept if factor.kind == "factor"]
        if reading and self.settings.name == "none":  # which somebody has asked for
            unread = {factor.name: UNREAD for factor in self.factors if factor.kind == "factor"}
            kept, left_out = [factor for factor in kept if factor not in reading], left_out | unread
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
        """What each model is asked about hidden words, if it can be asked that."""
        some = Texts(hiding.enough(self.rows.population))
        return [Request(some, one, optional=True) for one in hiding.compared(self.settings)]

    def questions(self, model: Model) -> dict[str, Request]:
        """What a model is asked.

        Returns:
            in-domain: the in-domain rows, if there are any.
            set: all rows of the set, where the truth is wanted and the suite does not state it.
            population: the rows that are attributed.
            pool: the rows of the pool, if there are any.
        """
        stated = not self.rows.truth or self.rows.ood.fingerprint in model.ood_accuracy
        return {
            name: request
            for name, request in self._requests.items()
            if request.examples and not (name == "set" and stated)
        }

    @cached_property
    def _requests(self) -> dict[str, Request]:
        """All that a model may be asked; the examples are the same for all models."""
        rows, own = self.rows, self.settings
        explained = None if own.name == "none" else own
        return {
            "in-domain": Request(Texts(self.in_domain_rows)),
            "set": Request(Texts(rows.ood.examples)),
            "population": Request(Texts(rows.population), explained),
            "pool": Request(Texts(rows.pool), explained if rows.explain_pool else None),
        }

    @cached_property
    def asked(self) -> list[tuple[Request, ...]]:
        """(M,) all that each model is asked."""
        return [(*self.questions(model).values(), *self.hidden) for model in self.looked.models]


def foretold(study: Study) -> Iterator[str]:
    """Say what a run would do, a line for each model: how much is not known yet, and how long it would take.

    A model of which anything is missing is loaded, and its speed is measured on a few rows.

    Args:
        study: what the models would be asked: see `rank.study_of_set` and `decide.study_of_decision`.
    """
    rows, suite = study.rows, study.suite
    explained = {one.segments for one in (*rows.population, *(rows.pool if rows.explain_pool else ()))}
    predicted = rows.ood.examples if rows.truth else rows.population
    every = {one.segments for one in (*predicted, *rows.pool, *study.in_domain_rows)}
    attributed = f", {len(explained)} to explain with {study.settings.name}" if study.settings.function else ""
    size = f"{len(suite.models)} models, {len(every)} rows{attributed}"
    yield f"{suite.name} on {rows.ood.name}: {size}"
    seconds = 0.0
    with study.runtime.kept() as store:
        ended = dict(carried_out(study.looked, study.task, study.asked, study.runtime, store, dry=True))
    for number, model in enumerate(suite.models):
        done = ended[number]
        if done.failure:
            yield f"{model.name}: cannot be run: {done.failure}"
            continue
        seconds += done.estimate.seconds if done.estimate else 0.0
        yield f"{model.name}: {done.estimate or 'all is known'}"
    yield f"in all at least {minutes(seconds)}"
