"""Changes between two runs: models, methods, and settings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from factors.types import Floats
from ranker.errors import UsageError
from ranker.results.changes import MODELS, Changes, MethodChange, ModelChange, SettingChange, Status
from ranker.results.evaluation import MethodResult
from ranker.results.ranking import Ranking
from ranker.results.result import Mode
from ranker.scoring.reference import Truth
from ranker.scoring.score import signed_scores
from ranker.statistics import engine, intervals
from ranker.statistics.agreement import Ranked, influences
from ranker.statistics.methods import COINS
from ranker.statistics.pool import MANY

SETTINGS = ("ood", "suite", "metric", "attribution", "probe", "seed")
"""Fields of a `Header` that numbers depend on."""


def what_changed(before: Ranking, after: Ranking) -> Changes:
    """Compare two runs.

    Raises:
        UsageError: they are of different modes, evaluations on different OOD sets, or by different metrics of which one
            is no mean, so that nothing in them is comparable.

    Example:
        >>> from ranker import Evidence, decide, load_set, load_suite, what_changed
        >>> models, rows = load_suite(["hans-sub-mini"]).models[-3:], load_set("hans-sub", limit=10)
        >>> five, ten = (decide(models, rows, probe=k, evidence=Evidence("none")) for k in (5, 10))
        >>> what_changed(five, ten)
        models on hans-sub: what changed
        2 settings differ
    """
    if before.mode != after.mode:
        text = f"only runs of one mode can be compared (got {_a(before.mode)} and {_a(after.mode)})"
        raise UsageError(text, value=(before.mode, after.mode))
    if before.mode == "evaluation" and before.header.ood != after.header.ood:
        ood = before.header.ood, after.header.ood
        raise UsageError(f"only evaluations on one OOD set can be compared (got {' and '.join(ood)})", value=ood)
    if before.found.metric != after.found.metric:
        metrics = before.header.metric, after.header.metric
        raise UsageError(f"the runs are by different metrics (got {' and '.join(metrics)})", value=metrics)
    settings = tuple(_settings(before, after))
    methods = tuple(_methods(before, after))
    return Changes(
        mode=before.mode,
        ood=(before.header.ood, after.header.ood),
        suite=(before.header.suite, after.header.suite),
        models=tuple(_models(before, after)),
        methods=methods,
        settings=settings,
        notes=tuple(_notes(before, after, methods, settings)),
        metric=after.found.metric,
    )


def difference(before: MethodResult, after: MethodResult, variance: float | None = None) -> tuple[float, float, float]:
    """Return the difference of two pairwise accuracies, and the ends of its 95 % interval.

    d = after - before; low = d - sqrt((after - after.low)^2 + (before.high - before)^2), and high likewise. This
    assumes independent runs. For two that share examples the interval is d -+ 1.96 standard errors of the paired
    difference.

    Args:
        variance: of the paired difference; None for runs that may be independent.

    Source: Zou and Donner (2008), Construction of confidence limits about effect measures.
    """
    a, b = after.pairwise_accuracy, before.pairwise_accuracy
    if variance is not None:
        (start,), (end,) = intervals.of_difference(np.array([a - b]), np.array([variance]))
        return a - b, float(start), float(end)
    low = math.hypot(a - after.ci_low, before.ci_high - b)
    high = math.hypot(after.ci_high - a, b - before.ci_low)
    return a - b, a - b - low, a - b + high


def paired_variances(before: Ranking, after: Ranking) -> dict[str, float]:
    """Return the variance of each method's difference over samples of rows that are the same for both runs.

    Each example's influence on the one pairwise accuracy is subtracted from that on the other, as ACC's influence is
    within one run. The noise of the draws behind combined methods is left in, so their intervals are rather too wide.
    """
    prints = [rows and rows.fingerprint for rows in (run.header.provenance.data for run in (before, after))]
    same = None not in prints and prints[0] == prints[1] and before.table.examples == after.table.examples
    exact = all(run.found.settings.get("draws") == "exact" for run in (before, after))
    if not same or not exact:
        return {}
    old, new = _influences(before), _influences(after)
    changes = {name: (new[name] - old[name])[None] for name in old if name in new}
    return {name: float(intervals.variance(change, np.zeros(1))[0]) for name, change in changes.items()}


def _influences(ranking: Ranking) -> dict[str, Floats]:
    """Return method -> (N,) influence of each example on its pairwise accuracy."""
    table, truth = ranking.table, Truth.of(ranking.table, None)
    probe, rng = ranking.header.probe, np.random.default_rng(ranking.header.seed)
    ranked = Ranked.of(table.methods, next((method.name for method in ranking.found.methods if method.designed), None))
    draws = engine.draw_probes(rng, len(table.examples), probe, MANY)
    by_method, _ = influences(signed_scores(table)[truth.order], ranked, probe, truth.decided, draws)
    coins = dict.fromkeys(COINS, np.zeros(len(table.examples)))
    return coins | dict(zip((*ranked.names, *ranked.derived), by_method, strict=True))


def _a(mode: Mode) -> str:
    return f"an {mode}" if mode == "evaluation" else f"a {mode}"


def _models(before: Ranking, after: Ranking) -> Iterator[ModelChange]:
    sides = [_by_name(ranking) for ranking in (before, after)]
    for name in dict.fromkeys([*sides[1], *after.header.failures, *sides[0], *before.header.failures]):
        (rank, outcome, p_near), (new_rank, new_outcome, new_p_near) = (side.get(name, (None,) * 3) for side in sides)
        yield ModelChange(
            name=name,
            before=_status(name, sides[0], before),
            after=_status(name, sides[1], after),
            rank_before=rank,
            rank_after=new_rank,
            outcome_before=outcome,
            outcome_after=new_outcome,
            p_near_best_before=p_near,
            p_near_best_after=new_p_near,
            reason=after.header.failures.get(name) or before.header.failures.get(name) or "",
        )


def _by_name(ranking: Ranking) -> dict[str, tuple[int, float | None, float | None]]:
    """Return model -> rank, mean outcome, P(near best)."""
    return {model.name: (model.rank, model.outcome, model.p_near_best) for model in ranking.found.models}


def _status(name: str, ranked: Mapping[str, object], ranking: Ranking) -> Status:
    return "ranked" if name in ranked else "failed" if name in ranking.header.failures else "absent"


def _methods(before: Ranking, after: Ranking) -> Iterator[MethodChange]:
    old, new = ({method.name: method for method in ranking.found.methods} for ranking in (before, after))
    variances = paired_variances(before, after)
    for name in dict.fromkeys([*new, *old]):
        was, is_now = (side[name].pairwise_accuracy if name in side else None for side in (old, new))
        if was is None or is_now is None:
            yield MethodChange(name, was, is_now)
        else:
            change, low, high = difference(old[name], new[name], variances.get(name))
            beyond = (low > 0 or high < 0) if same_pairs(before, after) else None
            yield MethodChange(name, was, is_now, change, low, high, beyond, name in variances)


def same_pairs(before: Ranking, after: Ranking) -> bool:
    """Return whether two evaluations have the same models and truth, so that their means are over the same pairs."""
    first, second = ([(model.name, model.outcome) for model in run.found.models] for run in (before, after))
    return sorted(first) == sorted(second)


def _settings(before: Ranking, after: Ranking) -> Iterator[SettingChange]:
    old, new = (_made_with(ranking) for ranking in (before, after))
    for name in dict.fromkeys([*old, *new]):
        new_or_gone = name.startswith(MODELS) and not (name in old and name in new)  # the model's own row shows it
        if old.get(name) != new.get(name) and not new_or_gone:
            yield SettingChange(name, old.get(name), new.get(name))


def _made_with(ranking: Ranking) -> dict[str, object]:
    """Return the settings of a run by name, those of tables under "table.name"."""
    # no number depends on the command, with its names of files
    settings = {name: getattr(ranking.header, name) for name in SETTINGS}
    return (
        settings
        | ranking.found.settings
        | dict(_flat(replace(ranking.header.provenance, command=None, attribution=None, error=None).to_dict()))
    )


def _flat(values: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _notes(
    before: Ranking, after: Ranking, methods: tuple[MethodChange, ...], settings: tuple[SettingChange, ...]
) -> Iterator[str]:
    changed = {setting.name for setting in settings}
    if changed & {"ood", "data.fingerprint"}:
        yield "The rows differ, so changes may come from them."
    if before.mode == "evaluation":
        if not same_pairs(before, after):
            yield "The models, or their true outcomes, differ: pairwise accuracies are means over different pairs."
        if "probe" in changed:
            yield "K differs, and pairwise accuracy depends on it."
        yield from _intervals(methods)


def _intervals(methods: tuple[MethodChange, ...]) -> Iterator[str]:
    """Describe which intervals are paired, and which assume independent runs."""
    apart = [method.name for method in methods if method.paired is False]
    if any(method.paired for method in methods):
        yield "The interval of a change is paired: over other samples of rows, the same for both runs."
    if apart:
        of_some = f"of {', '.join(apart)} " if any(method.paired for method in methods) else ""
        yield (
            f"The interval of a change {of_some}assumes independent runs; if they share examples it is too wide, and "
            "may hide a real change."
        )
