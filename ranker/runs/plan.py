"""Settle what models are asked, and which methods can be had, before any model is loaded."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from factors import BUILTIN, Factor
from factors.types import Example, Ints, Norm
from ranker.attribution import hiding, settings_of
from ranker.attribution.settings import Settings, settle
from ranker.datasets.identity import Texts
from ranker.errors import UsageError, listed
from ranker.numbers import counted
from ranker.runs.gather import RunInputs
from ranker.runs.inspected import InspectedModels
from ranker.runtime.base import Request
from ranker.scoring.decision import resolve_method
from ranker.scoring.score import JUDGED, UNDECLARED, Evidence, Target, about_one_label, applicable
from ranker.scoring.unlabelled import OF_ANSWERS
from ranker.sources.base import ModelInfo
from ranker.sources.logs.options import value_for_task
from ranker.sources.suites import Model
from ranker.statistics import methods
from ranker.statistics.pool import PoolMethod
from ranker.tasks.base import Task
from ranker.tasks.classes import label_names, metric_by
from ranker.tasks.metrics import LabelScore, Metric
from ranker.tasks.precomputed import is_recorded
from ranker.tasks.values import has_values

log = logging.getLogger(__name__)

BACKEND = "shap"
"""Default attribution backend of a run in which a factor reads attributions."""

UNREAD = "reads attributions, and there are none"

NEEDS = {
    "in_domain": "needs labelled rows: `in_domain`",
    "labels": "needs the true labels of rows, and some are not known",
    "probabilities": "needs probabilities, and some answers are labels alone",
    "factor": "needs a factor that is designed for these rows, and about one label on all of them",
}
"""Need of a method -> why the method is left out without it."""


@dataclass(frozen=True)
class Backend:
    """Attribution backend of a run.

    Attributes:
        factors: factors that the rows have the data for.
        further: True if it stands beside another one; its columns are then named with it.
    """

    settings: Settings
    factors: tuple[Factor, ...] = ()
    further: bool = False

    @property
    def question(self) -> str:
        """Name of the question that has its attributions as answers: see `Plan.questions`."""
        return f"attributions by {self.settings.name}" if self.further else "population"

    @property
    def columns(self) -> tuple[Factor, ...]:
        """The factors by the names of their columns.

        Example:
            >>> [factor.name for factor in Backend(settings_of("lime"), (BUILTIN["INDEX-DIFF"],), True).columns]
            ['INDEX-DIFF@LIME']
        """
        return tuple(by_backend(factor, self.settings) if self.further else factor for factor in self.factors)


@dataclass(frozen=True, kw_only=True)
class Plan(RunInputs):
    """Inputs of a run, the requests to its models, and the methods that rank by the answers.

    Attributes:
        backends: attribution backends, one or more; baselines are among the factors of the first, and the answers that
            models are ranked by come with its attributions.
        methods: usable methods that see a pool.
        left_out: method -> why it is left out.
        target, norm: see `Evidence`.
        method: method of a decision; None for its default.
        metric: metric by which models are compared, if it is no mean over rows; None for the mean outcome.
        compares: True if models are also asked whether the token that hides words has an effect of its own, since a
            factor of attributions ranks them.
    """

    backends: tuple[Backend, ...]
    methods: tuple[PoolMethod, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    target: Target = "declared"
    norm: Norm = "raw"
    method: str | None = None
    metric: Metric | None = None
    compares: bool = True

    @property
    def settings(self) -> Settings:
        """Settings of the first backend."""
        return self.backends[0].settings

    @property
    def factors(self) -> tuple[Factor, ...]:
        """All columns of the table but the metric's."""
        return tuple(column for backend in self.backends for column in backend.columns)

    @property
    def designed_factor(self) -> Factor | None:
        """Factor designed for the set, if it is about one label on all rows."""
        designed = self.ood.designed
        fits = (factor for factor in self.factors if factor.name == designed and about_one_label(factor, self.target))
        return next(fits, None)

    @property
    def explains_pool(self) -> bool:
        """True if the pool is attributed, too: the decision goes by the designed factor on it."""
        chosen = next((method for method in self.methods if method.name == self.method), None)
        return chosen is not None and "factor" in chosen.needs

    @property
    def cost(self) -> str:
        """Forward passes that attributions for the factors take, in a sentence; "" if no factor reads any."""
        models = [model for model in self.inspected.ranked if not model.source.precomputed]
        costs = []
        for backend in self.backends if models else ():
            names = [column.name for column in backend.columns if column.kind == "factor"]
            if names and backend.settings.function:
                explains_pool = self.explains_pool and backend is self.backends[0]
                rows = self.pool if explains_pool else self.population
                passes = sum(len(models) * backend.settings.passes(*_words(row)) for row in rows)
                verb, of_rows = "reads" if len(names) == 1 else "read", f"attributions of {counted(len(rows), 'row')}"
                costs.append(f"{listed(names)} {verb} {of_rows}: {backend.settings.name} takes about {passes:,}")
        if not costs:
            return ""
        return (
            f"{'; '.join(costs)} forward passes of {counted(len(models), 'model')}, by the number of words, where "
            "nothing is stored"
        )

    @cached_property
    def hidden_word_requests(self) -> list[Request]:
        """Requests about hidden words; a model that cannot answer them skips them."""
        examples = Texts(hiding.sample_examples(self.population))
        behind = (settings for backend in self.backends for settings in hiding.occlusion_settings(backend.settings))
        return [Request(examples, settings, optional=True) for settings in dict.fromkeys(behind) if self.compares]

    def questions(self, model: Model) -> dict[str, Request]:
        """Return the requests to a model, by name.

        Attributions of labels come with the labels' probabilities, which are the answers. Other answers are requested
        besides.

        Returns:
            in-domain: the in-domain rows, if any.
            set: all rows of the set, if the true order is needed and the suite does not state it.
            population: the rows that are attributed. Files of answers skip it if the pool has these rows, since a file
                may identify rows by their order alone, which is that of the pool.
            attributions: these rows, where answers are no labels.
            attributions by NAME: the same rows, of each further backend.
            pool: the rows of the pool, if any.
            votes: the rows that a model votes on that is not ranked, and is asked nothing else.
        """
        if model.votes_only:
            return {"votes": Request(self._voted)}
        skip_set = not self.truth or (self.metric is None and self.ood.fingerprint in model.ood_accuracy)
        skipped = {"set": skip_set, "population": self.places is not None and model.source.precomputed}
        return {
            name: request
            for name, request in self._requests.items()
            if request.examples and not skipped.get(name, False)
        }

    @cached_property
    def _voted(self) -> Texts:
        return Texts(self.pool or self.population)

    @cached_property
    def _requests(self) -> dict[str, Request]:
        """All possible requests by name; models share the examples."""
        settings = self.settings
        attributed_by = None if settings.name == "none" else settings
        apart = attributed_by is not None and len(self.task.outputs) == 1
        return {
            "in-domain": Request(Texts(self.in_domain_rows)),
            "set": Request(Texts(self.ood.examples)),
            "population": Request(Texts(self.population), None if apart else attributed_by),
            "attributions": Request(Texts(self.population if apart else ()), attributed_by),
            **{backend.question: Request(Texts(self.population), backend.settings) for backend in self.backends[1:]},
            "pool": Request(Texts(self.pool), attributed_by if self.explains_pool else None),
        }

    @cached_property
    def request_matrix(self) -> list[tuple[Request, ...]]:
        """(M,) All requests to each model."""
        return [
            (*self.questions(model).values(), *(() if model.votes_only else self.hidden_word_requests))
            for model in self.inspected.models
        ]


def _words(row: Example) -> tuple[Ints, Ints]:
    """Return the segment and the number of each word of a row."""
    segments = np.array([word.segment for word in row.words], dtype=np.int64)
    return segments, np.arange(len(segments))


def plan(
    inputs: RunInputs,
    evidence: Evidence = Evidence(),
    method: str | None = None,
    metric: str | LabelScore | None = None,
) -> Plan:
    """Settle what models are asked, limited to what some method reads.

    Args:
        metric: metric that compares models, see `metric_of`; None for that of the set, or in the options of logs.

    Raises:
        UsageError: the attributed label does not exist; the method does not exist or cannot be had on these rows; a
            named factor of a decision needs the label of a shortcut; the answers cannot have the metric, or there is a
            pool beside it.
    """
    metric = metric or inputs.ood.metric or None
    inputs = inputs.judged_by("" if callable(metric) else metric or "").with_shortcut(evidence.shortcut)
    task = inputs.task
    factors = tuple(BUILTIN.values() if evidence.factors is None else evidence.factors)
    pooled = evidence.methods if evidence.methods is not None else methods.DEFAULT if inputs.truth else methods.BUILTIN
    if has_values(task):
        pooled = ()  # methods of labels have nothing to read
    if method is not None:
        deciding = (
            OF_ANSWERS
            if has_values(task)
            else [pooled_method.name for pooled_method in pooled if pooled_method.decides]
        )
        columns = [by_backend(factor, settings) for settings in evidence.backends[1:] for factor in factors]
        method = method_named(method, inputs, (*factors, *columns), deciding)
    if metric is None:  # models are inspected only now: an unknown method is refused before
        metric = next((info.metric for info in inputs.inspected.infos if info.metric), None)
        inputs = inputs.judged_by(metric or "")
    task, by = inputs.task, metric_of(metric, inputs)
    chosen = (
        default_factors(inputs, inputs.truth, (method or "").partition("@")[0]) if evidence.factors is None else factors
    )
    chosen = tuple(factor for factor in chosen if factor.name != task.metric)  # always in the table
    first, *more_settings = evidence.backends or (backend(chosen, inputs, evidence),)
    if first.name != "none" and not task.outputs:
        predicate = f"must be none: answers to {task.name} are no labels, tags or spans"
        raise UsageError.about("attribution", predicate, first.name, allowed=("none",))
    settings = settle(first, task)
    fitting, left_out = applicable_factors(chosen, inputs, evidence.target, settings)
    if evidence.factors is not None and not inputs.truth:
        check_shortcut(chosen, left_out, task, inputs.inspected)
    if settings.name == "none" and any(factor.kind == "factor" for factor in fitting):  # requested by name
        left_out |= {factor.name: UNREAD for factor in chosen if factor.kind == "factor"}
        fitting = [factor for factor in fitting if factor.kind != "factor"]
    further, reasons = further_backends(
        [settle(settings, task) for settings in more_settings], fitting, inputs, evidence.target
    )
    backends, left_out = (Backend(settings, tuple(fitting)), *further), left_out | reasons
    ranks = inputs.truth or any(factor.name in (inputs.ood.designed, method) for factor in fitting)
    draft = Plan(
        **vars(inputs),
        backends=backends,
        left_out=left_out,
        target=evidence.target,
        norm=evidence.norm,
        method=method,
        metric=by,
        compares=ranks,
    )
    if inputs.truth or inputs.pool:
        unusable = {pool_method.name: reason for pool_method in pooled if (reason := _missing_need(pool_method, draft))}
        usable = tuple(pool_method for pool_method in pooled if pool_method.name not in unusable)
        were_chosen = inputs.truth or not {*methods.BUILTIN} <= {*pooled}  # a decision without a choice may use all
        draft = replace(draft, methods=usable, left_out=left_out | (unusable if were_chosen else {}))
        left_out |= unusable
    check_method(method, left_out)
    return draft


def metric_of(name: str | LabelScore | None, inputs: RunInputs) -> Metric | None:
    """Resolve a metric by name, or by its function; None if it is the mean outcome: accuracy, or what a log records."""
    task = inputs.ood.task
    resolved = metric_by(task, name if callable(name) else value_for_task(name or "", task.name))
    if resolved is None or (inputs.pool and not name and has_values(task) and resolved.by_label() is None):
        return None  # a pool tells of means, and of what labels give
    if inputs.truth and not resolved.higher_is_better:
        raise UsageError.about("metric", f"{resolved.name} is for a decision: less of it is better", resolved.name)
    is_told = resolved.by_label() is not None or (has_values(task) and task.matched(resolved) is not None)
    if inputs.pool and not is_told:
        predicate = f"{resolved.name} is for labelled rows alone, and a pool is read, too"
        raise UsageError.about("metric", predicate, resolved.name)
    return resolved


def is_recorded_by(name: str, infos: Iterable[ModelInfo]) -> bool:
    """Return True if the logs among the models record a metric of this name; for several tasks it is "acc,sst2=f1"."""
    recorded = [info.rows.task.metric for info in infos if info.rows is not None]
    return "=" in name or any(is_recorded(name, metric) for metric in recorded)


def _missing_need(method: PoolMethod, run_plan: Plan) -> str | None:
    """Return why a method cannot be had on these rows, as far as known before models are asked; None if it can."""
    if run_plan.metric is not None and (run_plan.truth or method.belief is None):
        return f"estimates accuracies, and models are compared by {run_plan.metric.name}"
    unlabelled = any(not example.labelled for example in run_plan.population)
    missing = {
        "in_domain": run_plan.in_domain is None,
        "factor": run_plan.designed_factor is None,
        "labels": unlabelled,
        "probabilities": False,  # known once models answered
    }
    return next((NEEDS[need] for need in sorted(method.needs) if missing[need]), None)


def applicable_factors(
    factors: Sequence[Factor], inputs: RunInputs, target: Target, settings: Settings
) -> tuple[list[Factor], dict[str, str]]:
    """Return the factors that the rows have the data for, and why the others are left out."""
    task = inputs.ood.task
    if not task.outputs:
        return [], {factor.name: JUDGED for factor in factors}
    only = settings.only_label(len(task.outputs))
    return applicable(factors, inputs.population, task, inputs.ood.designed, target, only)


def backend(factors: Sequence[Factor], inputs: RunInputs, evidence: Evidence) -> Settings:
    """Return the default attribution backend: `BACKEND` if a factor reads attributions, else none.

    None also if some answers lie in files, which cannot be attributed, or are asked of a server without a budget: their
    models are kept, and attribution is skipped. Answers that are no labels are attributed only for named factors.
    """
    task, settings = inputs.task, settings_of(BACKEND)
    infos, unasked = inputs.inspected.infos, evidence.factors is None and not label_names(task)
    if not task.outputs or unasked or any(info.source.precomputed or not info.attributable for info in infos):
        return settings_of("none")
    reading = [factor for factor in factors if factor.kind == "factor"]
    usable, _ = applicable_factors(reading, inputs, evidence.target, settle(settings, task))
    return settings if usable else settings_of("none")


def further_backends(
    all_settings: Iterable[Settings], factors: Iterable[Factor], inputs: RunInputs, target: Target
) -> tuple[list[Backend], dict[str, str]]:
    """Return the backends beside the first, and why they lack some of its factors.

    Erasures are of the top words by the first backend alone.
    """
    backends, left_out = [], dict[str, str]()
    reading = [factor for factor in factors if factor.kind == "factor" and not factor.erases]
    for settings in all_settings:
        fitting, reasons = applicable_factors(reading, inputs, target, settings)
        backends.append(Backend(settings, tuple(fitting), further=True))
        left_out |= {
            by_backend(factor, settings).name: reasons[factor.name] for factor in reading if factor.name in reasons
        }
    return backends, left_out


def by_backend(factor: Factor, settings: Settings) -> Factor:
    """Return a factor as it is named where it reads the attributions of a further backend."""
    return replace(factor, name=f"{factor.name}@{settings.name.upper()}")


def default_factors(inputs: RunInputs, truth: bool, method: str | None = None) -> tuple[Factor, ...]:
    """Return the factors that are measured where none are named: all built-in ones where the truth is known.

    A decision has baselines, which need no attributions, the factor designed for the set, and the chosen one. How well
    other factors rank on a user's own rows is not known. Those on request are measured where a row has their mark.

    Example:
        >>> from ranker import load_set
        >>> [factor.name for factor in default_factors(RunInputs(None, load_set("paws", limit=1), ()), truth=False)]
        ['ACC', 'CONF', 'CONF-GT', 'NLL', 'CONF-H', 'SWAP-AVG']
    """
    marks = {mark for example in inputs.population for mark in example.marks}
    return tuple(
        factor
        for factor in BUILTIN.values()
        if (factor.mark in marks if factor.on_request else truth or factor.kind == "baseline")
        or factor.name in (inputs.ood.designed, method)
    )


def method_named(method: str, inputs: RunInputs, factors: Sequence[Factor], deciding: Sequence[str]) -> str:
    """Resolve the method of a decision by the name that the user typed, as `resolve_method` does."""
    if method.upper() in deciding and not inputs.pool:
        name = method.upper()
        raise UsageError(f"`method`: {name} needs rows without labels: `pool`", option="method", value=name)
    names = dict.fromkeys([inputs.ood.task.metric, *(factor.name for factor in factors)])
    return resolve_method(method, list(names), inputs.ood.designed, deciding if inputs.pool else ())


def check_shortcut(
    factors: Iterable[Factor], left_out: Mapping[str, str], task: Task, inspected: InspectedModels
) -> None:
    """Refuse factors of a decision that are left out for want of the label of a shortcut."""
    without = [factor for factor in factors if left_out.get(factor.name) == UNDECLARED.format("shortcut")]
    names = [factor.name for factor in without if factor.kind == "factor" or factor.name not in BUILTIN]
    if names and not inspected.precomputed:
        needs = "explains" if len(names) == 1 else "explain"
        text = f"`factors`: {listed(names)} {needs} the label that a shortcut points to; name it: `shortcut`"
        raise UsageError(text, option="shortcut", value=names[0], allowed=label_names(task))


def check_method(method: str | None, left_out: Mapping[str, str]) -> None:
    """Refuse with a UsageError a method that is left out."""
    if method is not None and method in left_out:
        text = f"`method`: {method} cannot order these models: {left_out[method]}"
        raise UsageError(text, option="method", value=method)
