"""What the models of a suite are asked, and what of it can be had: the plan of a run, before any model is loaded."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from factors import BUILTIN, Factor
from factors.types import Norm
from ranker.attribution import hiding, settings_of
from ranker.attribution.settings import Settings, settle
from ranker.datasets.identity import Texts
from ranker.errors import UsageError
from ranker.runs.gather import Gathered, RunRows
from ranker.runtime.base import Request
from ranker.scoring.decision import resolve_method
from ranker.scoring.score import Evidence, Target, about_one_label, applicable
from ranker.sources.base import ModelInfo
from ranker.sources.logs.kind import value_for_task
from ranker.sources.suites import Model, Suite
from ranker.statistics import methods
from ranker.statistics.pool import PoolMethod
from ranker.tasks.base import Task
from ranker.tasks.classes import has_labels
from ranker.tasks.metrics import Metric
from ranker.tasks.precomputed import is_recorded

log = logging.getLogger(__name__)

BACKEND = "shap"
"""The backend that is taken where a factor reads attributions and none is named."""

UNREAD = "reads attributions, and there are none"

JUDGED = "reads probabilities of labels, and these answers have none"

NEEDS = {
    "in_domain": "needs labelled rows: `in_domain`",
    "labels": "needs the true labels of rows, and some are not known",
    "probabilities": "needs probabilities, and some answers are labels alone",
    "factor": "needs a factor that is designed for these rows, and about one label on all of them",
}
"""What is lacking -> why methods that need it cannot be had."""


@dataclass(frozen=True)
class Plan:
    """What models are asked, and by what they are to be ranked.

    Attributes:
        gathered: the models, and the rows.
        settings: of the attribution backend, settled for the task.
        factors: those that the rows have what they need for.
        methods: those that see a pool, and can be had.
        left_out: method -> why it cannot be had.
        target, norm: see `Evidence`.
        method: what a decision goes by; None for what it takes by itself.
        metric: a metric that is no mean over rows, by which models are compared; None for the mean outcome.
        compares: models are asked, too, whether the token that hides words speaks for itself.
    """

    gathered: Gathered
    settings: Settings
    factors: tuple[Factor, ...] = ()
    methods: tuple[PoolMethod, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    target: Target = "declared"
    norm: Norm = "raw"
    method: str | None = None
    metric: Metric | None = None
    compares: bool = True

    @property
    def rows(self) -> RunRows:
        """What the models are asked about."""
        return self.gathered.rows

    @property
    def task(self) -> Task:
        """The task of the rows."""
        return self.rows.ood.task

    @property
    def suite(self) -> Suite:
        """The models, two or more."""
        return self.gathered.looked.suite

    @property
    def about_all(self) -> Factor | None:
        """The factor designed for the set, if it needs no label to be turned."""
        designed = self.rows.ood.designed
        found = (one for one in self.factors if one.name == designed and about_one_label(one, self.target))
        return next(found, None)

    @property
    def explains_pool(self) -> bool:
        """Whether the rows of the pool are attributed, too: for a decision that goes by the designed factor on them."""
        chosen = next((one for one in self.methods if one.name == self.method), None)
        return chosen is not None and "factor" in chosen.needs

    @cached_property
    def hidden(self) -> list[Request]:
        """What each model is asked about hidden words, if it can be asked that."""
        some = Texts(hiding.enough(self.rows.population))
        return [Request(some, one, optional=True) for one in hiding.compared(self.settings) if self.compares]

    def questions(self, model: Model) -> dict[str, Request]:
        """What a model is asked.

        Returns:
            in-domain: the in-domain rows, if there are any.
            set: all rows of the set, where the truth is wanted and the suite does not state it.
            population: the rows that are attributed; not of answers that lie in files, where the pool has these rows:
                a file may tell rows by their order alone, which is that of the pool.
            pool: the rows of the pool, if there are any.
        """
        stated = not self.rows.truth or (self.metric is None and self.rows.ood.fingerprint in model.ood_accuracy)
        without = {"set": stated, "population": self.rows.places is not None and model.source.precomputed}
        return {
            name: request
            for name, request in self._requests.items()
            if request.examples and not without.get(name, False)
        }

    @cached_property
    def _requests(self) -> dict[str, Request]:
        """All that a model may be asked; the examples are the same for all models."""
        rows, own = self.rows, self.settings
        explained = None if own.name == "none" else own
        return {
            "in-domain": Request(Texts(self.gathered.in_domain_rows)),
            "set": Request(Texts(rows.ood.examples)),
            "population": Request(Texts(rows.population), explained),
            "pool": Request(Texts(rows.pool), explained if self.explains_pool else None),
        }

    @cached_property
    def asked(self) -> list[tuple[Request, ...]]:
        """(M,) all that each model is asked."""
        return [(*self.questions(model).values(), *self.hidden) for model in self.gathered.looked.models]


def plan(
    gathered: Gathered, evidence: Evidence = Evidence(), method: str | None = None, metric: str | None = None
) -> Plan:
    """Settle what models are asked: nothing that no method reads.

    Args:
        gathered: the models, and the rows.
        evidence: what they are to be ranked by.
        method: what a decision is to go by; None for what it takes by itself.
        metric: what models are compared by, see `metric_of`; None for what the options of logs name.

    Raises:
        UnknownName: there is no such metric.
        UsageError: a label to attribute that there is not; a method that is not there, or that these rows cannot have;
            a metric that these answers cannot have, or a pool beside it.
    """
    rows, task = gathered.rows, gathered.rows.ood.task
    known = tuple(BUILTIN.values() if evidence.factors is None else evidence.factors)
    pooled = evidence.methods if evidence.methods is not None else methods.DEFAULT if rows.truth else methods.BUILTIN
    if method is not None:
        method = method_named(method, rows, known, pooled)
    by = metric_of(metric or next((one.metric for one in gathered.looked.stated if one.metric), None), rows)
    chosen = (
        factors_for_decision(known, rows.ood.designed, method) if evidence.factors is None and not rows.truth else known
    )
    chosen = tuple(one for one in chosen if one.name != task.metric)  # which is always there
    settings = evidence.settings or backend(chosen, gathered, evidence.target)
    if settings.name != "none" and not has_labels(task):
        raise UsageError(
            f"`attribution` must be none: answers to {task.name} are judged by {task.metric}, and no labels"
        )
    settings = settle(settings, task)
    kept, left_out = applicable_factors(chosen, rows, evidence.target, settings)
    if settings.name == "none" and any(one.kind == "factor" for one in kept):  # which somebody has asked for
        left_out |= {one.name: UNREAD for one in chosen if one.kind == "factor"}
        kept = [one for one in kept if one.kind != "factor"]
    made = Plan(gathered, settings, tuple(kept), (), left_out, evidence.target, evidence.norm, method, by)
    if rows.truth or rows.pool:
        without = {one.name: why for one in pooled if (why := _lacks(one, made))}
        usable = tuple(one for one in pooled if one.name not in without)
        made = replace(made, methods=usable, left_out=left_out | (without if rows.truth else {}))
        left_out |= without
    check_method(method, left_out)
    return made


def metric_of(name: str | None, rows: RunRows) -> Metric | None:
    """Make the metric that somebody named; None where that is the mean outcome: accuracy, or what a log records.

    Args:
        name: as `ranker.tasks.metrics.metric_named` takes it, or the name of what a log records.
        rows: what models are asked about.

    Raises:
        UnknownName: there is no such metric.
        UsageError: the answers have no labels, or not such ones, or a pool is read, too.
    """
    task = rows.ood.task
    made = task.metric_named(value_for_task(name or "", task.name))
    if made is None:
        return None
    if rows.truth and not made.higher_is_better:
        raise UsageError(f"`metric` {made.name} is for a decision: less of it is better")
    if rows.pool:
        raise UsageError(f"`metric` {made.name} is for labelled rows alone, and a pool is read, too")
    return made


def is_recorded_by(name: str, stated: Iterable[ModelInfo]) -> bool:
    """Say whether a metric that somebody named is one that the logs among some models record.

    Args:
        name: as the options of logs have it: of several tasks, "acc,sst2=f1".
        stated: what the models say of themselves.
    """
    recorded = [one.rows.task.metric for one in stated if one.rows is not None]
    return "=" in name or any(is_recorded(name, metric) for metric in recorded)


def _lacks(method: PoolMethod, made: Plan) -> str | None:
    """Why a method cannot be had of these rows, as far as that is known before models are asked; None if it can."""
    if made.metric is not None:
        return f"estimates accuracies, and models are compared by {made.metric.name}"
    unlabelled = any(not example.labelled for example in made.rows.population)
    missing = {
        "in_domain": made.gathered.in_domain is None,
        "factor": made.about_all is None,
        "labels": unlabelled,
        "probabilities": False,  # which answers show
    }
    return next((NEEDS[need] for need in sorted(method.needs) if missing[need]), None)


def applicable_factors(
    factors: Sequence[Factor], rows: RunRows, target: Target, settings: Settings
) -> tuple[list[Factor], dict[str, str]]:
    """The factors that rows have what they need for, and why the others are left out."""
    task = rows.ood.task
    if not has_labels(task):
        return [], {one.name: JUDGED for one in factors}
    only = settings.only_label(len(task.labels))
    return applicable(factors, rows.population, task, rows.ood.designed, target, only)


def backend(factors: Sequence[Factor], gathered: Gathered, target: Target) -> Settings:
    """The attribution backend of a run that names none: `BACKEND` where a factor reads attributions, else none.

    Answers that lie in a file cannot be attributed; nobody is left out for that who did not ask for attributions.

    Raises:
        UsageError: it cannot be set so.
    """
    task, settings = gathered.rows.ood.task, settings_of(BACKEND)
    if not has_labels(task) or any(model.source.precomputed for model in gathered.looked.models):
        return settings_of("none")
    reading = [factor for factor in factors if factor.kind == "factor"]
    kept, _ = applicable_factors(reading, gathered.rows, target, settle(settings, task))
    return settings if kept else settings_of("none")


def factors_for_decision(factors: Iterable[Factor], designed: str | None, method: str | None) -> tuple[Factor, ...]:
    """The factors that a decision needs: baselines, the one designed for the set, and the one that it goes by.

    Baselines need no attributions; of the others nobody knows on rows of one's own what they are worth.

    Example:
        >>> [one.name for one in factors_for_decision(BUILTIN.values(), None, None)]
        ['ACC', 'CONF', 'CONF-GT', 'NLL', 'CONF-H']
    """
    return tuple(one for one in factors if one.kind == "baseline" or one.name in (designed, method))


def method_named(method: str, rows: RunRows, factors: Sequence[Factor], pooled: Sequence[PoolMethod]) -> str:
    """The method of a decision by the name that somebody wrote (see `ranker.scoring.decision.resolve_method`).

    Raises:
        UnknownName: there is none of that name.
        UsageError: it needs a pool.
    """
    deciding = [one.name for one in pooled if one.decides]
    if method.upper() in deciding and not rows.pool:
        raise UsageError(f"`method`: {method.upper()} needs rows without labels: `pool`")
    names = dict.fromkeys([rows.ood.task.metric, *(factor.name for factor in factors)])
    return resolve_method(method, list(names), rows.ood.designed, deciding if rows.pool else ())


def check_method(method: str | None, left_out: Mapping[str, str]) -> None:
    """Refuse a method that there is a reason against.

    Raises:
        UsageError: so there is.
    """
    if method is not None and method in left_out:
        raise UsageError(f"`method`: {method} cannot order these models: {left_out[method]}")
