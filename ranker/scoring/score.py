"""Score table: factors applied to the models' answers and attributions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from factors import BUILTIN
from factors.registry import Factor, number
from factors.types import Attributions, Example, Floats, Norm
from ranker.attribution import backends_of
from ranker.attribution.settings import Settings
from ranker.errors import UsageError, choice_error, range_error
from ranker.results.explanation import not_saved
from ranker.results.table import ScoreTable
from ranker.statistics import engine
from ranker.statistics.pool import PoolMethod

if TYPE_CHECKING:
    from ranker.tasks.base import Task
    from ranker.tasks.classes import ClassProbabilities

Target = Literal["declared", "shortcut", "evidence", "true", "predicted"]
"""Label that a factor's attributions are about: as the factor declares it, or one rule for all factors."""

FIXED = ("shortcut", "evidence")
"""Rules by which a factor is about one label on all rows: that which the task declares."""

UNJUDGED = "there is nothing to judge for some model"
"""Reason why an example has no outcome: an answer to it is missing or failed."""

SILENT = "some model gives no answer"
UNATTRIBUTED = "some model's answer has no span to attribute"
"""Reasons why a factor has no value: there is no answer, or it has nothing that words can be attributed."""

JUDGED = "reads probabilities of labels, and these answers have none"
"""Reason why baselines are left out where answers are no labels."""

UNDECLARED = "is about the {}'s label; this task declares none"
"""Reason why a factor of a label that the task declares is left out, without it."""

UNDEFINED = "undefined"
"""Reason why a factor has no value where it returns nan or infinity, and raises nothing."""


@dataclass(frozen=True)
class Evidence:
    """Methods that rank the models, beside the metric; None leaves the choice to the question that is asked.

    Attributes:
        attribution: a backend, with or without settings ("shap", "ig:steps=50", `IGSettings(steps=50)`), or several
            side by side ("shap,lime,ig"), see `ranker.attribution.backends_of`; "none" for baselines alone. None is
            SHAP where a factor reads attributions of these rows, and no attribution where none does.
        factors: factors to measure. None: all built-in ones where methods are evaluated; in a decision baselines, the
            factor designed for the set, and the one that orders the models.
        methods: those that see a pool. None: the short list of `statistics.methods.DEFAULT` where methods are
            evaluated, and all built-in ones where a decision uses one of them.
        target: "declared", or one label rule for all attribution factors.
        norm: divisor of an example's attributions before the factors see them.
        shortcut: the label that a shortcut points to; None for that of the task, if it has one.

    Raises:
        UsageError: an unknown backend, target or norm, or two factors or methods of one name.

    Example:
        >>> Evidence("ig:steps=50").backends[0].name
        'ig'
    """

    attribution: str | Settings | Sequence[str | Settings] | None = None
    factors: Sequence[Factor] | None = None
    methods: Sequence[PoolMethod] | None = None
    target: Target = "declared"
    norm: Norm = "raw"
    shortcut: str | None = None

    def __post_init__(self) -> None:
        for name, value, kind in (("target", self.target, Target), ("norm", self.norm, Norm)):
            if value not in get_args(kind):
                raise choice_error(name, value, get_args(kind))
        methods: list[Factor | PoolMethod] = [*(self.factors or ()), *(self.methods or ())]
        names = Counter(method.name.casefold() for method in methods)
        if twice := [name for name, count in names.items() if count > 1]:
            repeat = twice[0].upper()
            raise UsageError(f"two methods are named {repeat}; name one of them otherwise", value=repeat)
        _ = self.backends

    @property
    def backends(self) -> tuple[Settings, ...]:
        """Settings of the backends; () where none is named."""
        return () if self.attribution is None else backends_of(self.attribution)


@dataclass(frozen=True)
class ModelScores:
    """One model's part of the table.

    Attributes:
        values: (F, N) one scalar per (method, example), nan where undefined.
        undefined: method -> reason -> indices of the examples without a value.
    """

    values: Floats
    undefined: Mapping[str, Mapping[str, frozenset[int]]]

    @classmethod
    def joined(cls, parts: Sequence[ModelScores]) -> ModelScores:
        """Join the columns of several parts on the same examples."""
        undefined = {name: reasons for part in parts for name, reasons in part.undefined.items()}
        return cls(np.concatenate([part.values for part in parts]), undefined)


def score_model(
    answers: ClassProbabilities,
    attributions: Sequence[Attributions],
    examples: Sequence[Example],
    factors: Sequence[Factor],
    task: Task,
    target: Target = "declared",
    norm: Norm = "raw",
    watch: Callable[[str], object] = lambda name: None,
) -> ModelScores:
    """Apply every factor to one model's attributions on every example.

    A factor that raises on an example leaves a nan there and its message as the reason, so the run goes on.

    Args:
        answers: (N,) of the model, in the order of the examples; or its outputs, see `ClassProbabilities.of_outputs`.
        attributions: (N,) of the model; empty where nothing was attributed, and then no factor reads any.
        task: declares the labels of the shortcut and of the evidence.
        target: "declared", or one rule that overrides what every attribution factor declares.
        norm: what each example's attributions are divided by before the factors see them.
        watch: is told the name of each factor before it is applied to a row.
    """
    values = np.full((len(factors), len(examples)), np.nan)
    undefined: dict[str, dict[str, set[int]]] = {}
    if not factors:
        return ModelScores(values, {})
    attributed = attributions and any(factor.kind == "factor" for factor in factors)
    seen_of: Sequence[Attributions | None] = attributions if attributed else [None] * len(examples)
    rows = zip(answers.predicted.tolist(), examples, seen_of, strict=True)
    for n, (predicted, example, row) in enumerate(rows):
        if predicted < 0:
            for factor in factors:
                reason = SILENT if row is None else UNATTRIBUTED
                undefined.setdefault(factor.name, {}).setdefault(reason, set()).add(n)
            continue
        probabilities = Attributions(answers.probs[n], predicted)  # baselines read these, of any label
        attribution = probabilities if row is None else row.normalised(norm)
        toward: dict[str, Callable[[int], Attributions]] = {
            "baseline": probabilities.toward,
            "factor": cache(attribution.toward),  # factors of one label share its word scores
        }
        for f, factor in enumerate(factors):
            reason = UNDEFINED
            watch(factor.name)
            try:
                label = target_label(label_rule(factor, target), predicted, example, task)
                values[f, n] = number(factor.of(toward[factor.kind](label), example))
            except (Exception, SystemExit) as error:  # a user's own factor may raise anything
                reason = f"{type(error).__name__}: {error}"
            if not np.isfinite(values[f, n]):
                values[f, n] = np.nan
                undefined.setdefault(factor.name, {}).setdefault(reason, set()).add(n)
    frozen = {
        name: {reason: frozenset(rows) for reason, rows in reasons.items()} for name, reasons in undefined.items()
    }
    return ModelScores(values, frozen)


def column_of(metric: str) -> Factor:
    """Return the declaration of a metric's own column; its values are outcomes, higher is better, and come from the
    task.
    """
    builtin = BUILTIN.get(metric)
    if builtin and builtin.kind == "baseline" and builtin.higher_is_better:
        return builtin
    return Factor(metric, not_saved, True, "true", "", "baseline")


def assemble(
    outcomes: Mapping[str, Floats],
    scores: Mapping[str, ModelScores],
    examples: Sequence[Example],
    factors: Sequence[Factor],
    metric: str = "ACC",
    truth: Mapping[str, float] | None = None,
) -> ScoreTable:
    """Assemble the models' scores into one table, in the given order, without factors that are defined on no example.

    Args:
        outcomes: model -> (N,) scores of its answers: the first column.
        scores: model -> its scores, all of the same factors and examples.
        truth: model -> mean outcome on the whole OOD set, a fraction, where known.
    """
    lost: dict[str, dict[str, set[int]]] = {}
    for part in scores.values():
        for name, reasons in part.undefined.items():
            for reason, rows in reasons.items():
                lost.setdefault(name, {}).setdefault(reason, set()).update(rows)
    judged = np.stack(list(outcomes.values()))
    if unjudged := int((~engine.defined_for_all(judged[:, None])[0]).sum()):
        lost[metric] = {UNJUDGED: set(range(unjudged))}
    values = np.stack([part.values for part in scores.values()])
    somewhere = np.asarray(engine.defined_for_all(values).any(axis=1))
    defined_factors = tuple(factor for factor, usable in zip(factors, somewhere, strict=True) if usable)
    return ScoreTable(
        models=tuple(scores),
        methods=(column_of(metric), *defined_factors),
        examples=tuple(example.id for example in examples),
        values=np.concatenate([judged[:, None], values[:, somewhere]], axis=1),
        metric=metric,
        truth=None if truth is None else np.array([truth[name] for name in scores]),
        dropped={
            name: {reason_text: len(rows) for reason_text, rows in reasons.items()} for name, reasons in lost.items()
        },
    )


def defined_nowhere(table: ScoreTable) -> dict[str, str]:
    """Return the reason why each method defined on no example for all models is not in the table.

    Example:
        >>> dropped = {"MINE": {"IndexError: index 5 is out of bounds": 2, "undefined": 10}}
        >>> defined_nowhere(ScoreTable(("m",), (column_of("ACC"),), (), np.zeros((1, 1, 0)), dropped=dropped))
        {'MINE': 'is defined on no example; the first of 2 reasons: IndexError: index 5 is out of bounds'}
    """
    held = {method.name for method in table.methods}
    return {name: _nowhere(list(reasons)) for name, reasons in table.dropped.items() if name not in held}


def _nowhere(reasons: Sequence[str]) -> str:
    if reasons == [UNDEFINED]:
        return "is defined on no example"
    among = "" if len(reasons) == 1 else f"the first of {len(reasons)} reasons: "
    return f"is defined on no example; {among}{reasons[0]}"


def target_label(explains: str, predicted: int, example: Example, task: Task) -> int:
    """Return the label that a factor is about, on one row.

    Raises:
        ValueError: the task declares no such label.
    """
    label: int | None = {"true": example.target, "predicted": predicted}.get(explains, _fixed_label(explains, task))
    if label is None:
        raise ValueError(f"task {task.name} declares no label of its {explains}")
    return label


def applicable(
    factors: Sequence[Factor],
    examples: Sequence[Example],
    task: Task,
    designed: str | None = None,
    target: Target = "declared",
    only_label: int | None = None,
) -> tuple[list[Factor], dict[str, str]]:
    """Split factors into those that can be measured on this data, and the others with a reason.

    Args:
        designed: the factor that was designed for this data, if any.
        only_label: the one label that the attributions speak for; None where they can be turned.
    """
    own_answer = len(task.outputs) == 1
    pairs = any(len(example.segments) == 2 for example in examples)
    marks = {mark for example in examples for mark in example.marks}
    measurable, left_out = [], {}
    for factor in factors:
        if factor.pair and not pairs:
            left_out[factor.name] = "these examples have one segment, it compares two"
        elif factor.single and pairs:
            left_out[factor.name] = "these examples have two segments, it is about single texts"
        elif factor.mark is not None and factor.mark not in marks:
            left_out[factor.name] = f"no example has the mark {factor.mark!r}"
        elif own_answer and (factor.kind == "baseline" or factor.erases):
            left_out[factor.name] = JUDGED
        elif own_answer and (rule := label_rule(factor, target)) != "predicted":
            left_out[factor.name] = _no_label(rule)
        elif (rule := label_rule(factor, target)) in FIXED and _fixed_label(rule, task) is None:
            left_out[factor.name] = UNDECLARED.format(rule)
        elif factor.kind == "factor" and only_label not in (None, about := _fixed_label(rule, task)):
            left_out[factor.name] = _other_label(task.outputs, about, only_label)
        elif factor.designed_only and factor.name != designed:
            left_out[factor.name] = f"is for sets that it was designed for; this one's is {designed or 'none'}"
        else:
            measurable.append(factor)
    return measurable, left_out


def label_rule(factor: Factor, target: Target) -> str:
    """Return the rule for a factor's label: its own, or that of the run, which baselines do not follow."""
    return factor.explains if target == "declared" or factor.kind == "baseline" else target


def about_one_label(factor: Factor, target: Target) -> bool:
    """Return whether a factor is about the same label on every row, so that it needs no true one."""
    return label_rule(factor, target) in FIXED


def _fixed_label(rule: str, task: Task) -> int | None:
    """Return the label that a rule is about on every row; None where it depends on the row, or the task has none."""
    return getattr(task, rule, None) if rule in FIXED else None


def _no_label(rule: str) -> str:
    """Return the reason why a factor of a label cannot be measured where answers are no labels."""
    label = "true label" if rule == "true" else f"{rule}'s label"
    return f"is about the {label}, and attributions are of each model's own answer: `target` can be `predicted`"


def _other_label(labels: Sequence[str], about: int | None, only: int) -> str:
    """Return the reason why a factor cannot be measured where the attributions are about one label only."""
    attributed = f"what is attributed is {labels[only]}"
    if about is None:
        return f"is about another label on each row, and {attributed}"
    return f"is about {labels[about]}, and {attributed}: see the setting `target={labels[about]}` of `attribution`"


def check(table: ScoreTable, probe: int) -> None:
    """Refuse a K that does not fit the examples, and a single model.

    Raises:
        UsageError: either.
    """
    if len(table.models) < 2:
        text = f"a ranking needs at least two models (got {len(table.models)}); name more with `models`"
        raise UsageError(text, option="models", value=len(table.models))
    check_probe(probe, len(table.examples), "the number of examples")


def check_probe(probe: int, most: int, noun: str) -> None:
    """Refuse a K that does not fit the examples.

    Raises:
        UsageError: K does not fit.
    """
    if not 1 <= probe <= most:
        raise range_error("probe", probe, 1, most, noun)


def signed_scores(table: ScoreTable) -> Floats:
    """Return (M, F, N) scores, signed so that higher is better, in a unit of each method in which none is above 1.

    The unit is a power of two, which changes no digit. So `TIE` is above the rounding errors of equal means,
    however large scores are.
    """
    signs = np.array([1.0 if method.higher_is_better else -1.0 for method in table.methods])
    largest = np.nanmax(np.abs(table.values), axis=(0, 2), initial=1.0)
    return np.asarray(table.values * (signs * 2.0 ** -np.ceil(np.log2(largest)))[:, None])


def averages(table: ScoreTable) -> list[dict[str, float | None]]:
    """Return (M,) method -> mean score in its own unit, over examples defined for all models; None without one."""
    usable = engine.defined_for_all(table.values)
    return [
        {
            method.name: float(table.values[m, f, usable[f]].mean()) if usable[f].any() else None
            for f, method in enumerate(table.methods)
        }
        for m in range(len(table.models))
    ]
