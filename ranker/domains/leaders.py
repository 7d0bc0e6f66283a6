"""Who leads over many sets: a table of values -> models in order, and who differs from whom.

The sets of a task are averaged first, then the tasks, as GLUE-X does. Every number that needs all models on all sets is
of those that are complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from factors.types import Floats, Ints
from ranker.domains.values import KINDS, Kind, Values
from ranker.errors import UsageError, listed, look_up
from ranker.numbers import counted
from ranker.results.over_sets import Difference, Drawn, Leader, Missing, OverSets
from ranker.statistics import engine, leaders, significance

MISSING: dict[str, Missing] = {"sets": "sets", "models": "models", "ranks": "ranks"}

FEW = 3
"""Fewer tasks say nothing of who leads on others."""

FEW_FOR_P = 6
"""With fewer tasks Wilcoxon's p cannot be below 5 %: it is at least 2^(1 - tasks)."""

MANY = 200
"""Models of which every two are compared; of more, each with the first."""

ROPE = 0.01
"""Half the width of the region of practical equivalence: a point, as in P(near best)."""

SPOKEN: dict[Kind, str] = {"ood": "OOD", "in-domain": "in-domain"}


@dataclass(frozen=True, eq=False)
class TableCounts:
    """What counts of a table: its models and sets, and the means over the sets of each task.

    Attributes:
        values: the part of the table that counts.
        left_out: set or model -> why it does not.
        tasks: (M, tasks) means over the sets of each task; nan where a model lacks one.
        in_domain: the same of in-domain sets.
    """

    values: Values
    left_out: dict[str, str]
    tasks: Floats
    in_domain: Floats


def lead(values: Values, missing: str, rope: float, rng: np.random.Generator) -> OverSets:
    """Put models in order over tasks, and say which differ.

    Args:
        values: what they scored.
        missing: see `compare`.
        rope: half the width of the region within which two models count as equally good, a fraction.
        rng: the only source of randomness.

    Raises:
        UsageError: fewer than two models or no set is left, or there is no such rule.
    """
    rule = look_up("rule for missing cells", missing, MISSING)
    known = counting(values, rule)
    drawn, tested = rng.spawn(2)
    order, found = _leaders(known, rule, drawn)
    draws_of = () if found[0].p_first is None else tuple(_draws_of(known))
    names = known.values.models
    test = None if rule == "ranks" else leaders.friedman(known.tasks, names)
    differences = tuple(_differences(known.tasks[order], [names[at] for at in order], test, rope, tested))
    tasks = {
        task: tuple(known.values.sets[at].name for at in known.values.places(task, "ood"))
        for task in known.values.tasks
    }
    notes = (*values.notes, *_notes(known, rule, test))
    return OverSets(found, tasks, rule, rope, differences, test, known.left_out, notes, draws_of)


def counting(values: Values, missing: Missing) -> TableCounts:
    """The part of a table that counts, by the rule for missing cells.

    Raises:
        UsageError: fewer than two models or no set is left.
    """
    lacks = np.isnan(values.values)
    ood = np.array([one.kind == "ood" for one in values.sets])
    wanting = lacks[:, ood].any(axis=1) if missing == "models" else lacks[:, ood].all(axis=1)  # the last are predicted
    models = np.flatnonzero(~wanting)
    sets = np.flatnonzero(~(lacks[models].any(axis=0) if missing == "sets" else lacks[models].all(axis=0)))
    if len(models) < 2 or not ood[sets].any():
        lost = {"models": "fewer than two models have a value on every set"}.get(
            missing, "no set has a value of every model"
        )
        raise UsageError(f"{lost}; `missing` says what else to leave out: {', '.join(MISSING)}")
    kept = tuple(values.sets[at] for at in sets)
    part = Values(
        tuple(values.models[at] for at in models),
        kept,
        values.values[np.ix_(models, sets)],
        values.errors[np.ix_(models, sets)],
        {one: values.outcomes[one][models] for one in kept if one in values.outcomes},
    )
    lost_sets = zip(values.models, lacks[:, ood].sum(axis=1), strict=True)
    lost_models = zip(map(str, values.sets), lacks[models].sum(axis=0), strict=True)
    left_out = {
        name: "in-domain values alone" if count == ood.sum() else f"{counted(int(count), 'set')} missing"
        for name, count in lost_sets
        if name not in part.models
    }
    known = set(map(str, kept))
    left_out |= {name: f"{counted(int(count), 'model')} missing" for name, count in lost_models if name not in known}
    tasks, in_domain = (np.column_stack([_mean(part, task, kind) for task in part.tasks]) for kind in KINDS.values())
    return TableCounts(part, left_out, tasks, in_domain)


def _mean(values: Values, task: str, kind: Kind) -> Floats:
    """(M,) mean over the sets of a task; nan where it has none, or a model lacks one."""
    places = values.places(task, kind)
    return values.values[:, places].mean(axis=1) if places else np.full(len(values.models), np.nan)


def _leaders(known: TableCounts, missing: Missing, rng: np.random.Generator) -> tuple[list[int], tuple[Leader, ...]]:
    """The models in order, as indices and as records."""
    values, own = known.tasks.mean(axis=1), known.in_domain.mean(axis=1)  # nan where one task is missing
    decay = np.full(len(values), np.nan)
    np.divide(own - values, own, out=decay, where=own > significance.TIE)
    ranked = leaders.ranks(known.tasks)
    mean_ranks = (leaders.imputed(ranked) if missing == "ranks" else ranked).mean(axis=1)
    own_ranks = leaders.ranks(known.in_domain).mean(axis=1)
    places = _places(-mean_ranks if missing == "ranks" else values)
    order = sorted(range(len(values)), key=lambda at: (places[at], mean_ranks[at]))
    by_decay = _places(-decay)
    intervals = None if missing == "ranks" else _intervals(known, rng)
    low, high, first = intervals or (None, None, None)
    names = known.values.models
    found = (
        Leader(
            model=names[at],
            rank=places[at],
            value=engine.none_if_nan(values[at]),
            in_domain=engine.none_if_nan(own[at]),
            decay=engine.none_if_nan(decay[at]),
            friedman=float(mean_ranks[at]),
            friedman_in_domain=engine.none_if_nan(own_ranks[at]),
            rank_by_decay=None if np.isnan(decay[at]) else by_decay[at],
            low=None if low is None else int(low[at]),
            high=None if high is None else int(high[at]),
            p_first=None if first is None else float(first[at]),
            tasks={task: engine.none_if_nan(known.tasks[at, column]) for column, task in enumerate(known.values.tasks)},
        )
        for at in order
    )
    return order, tuple(found)


def _places(values: Floats) -> list[int]:
    """1 for the highest value; equal ones have the same place, and what is nan has the last."""
    rounded = np.round(np.where(np.isnan(values), -np.inf, values), 12)
    return [1 + int((rounded > one).sum()) for one in rounded]


def _intervals(known: TableCounts, rng: np.random.Generator) -> tuple[Ints, Ints, Floats] | None:
    """Ends of the intervals of ranks, and how often each model is first; None where there is nothing to draw."""
    values = known.values
    places = [(at, task) for task, name in enumerate(values.tasks) for at in values.places(name, "ood")]
    sets, tasks = (np.array(one) for one in zip(*places, strict=True))
    outcomes = [values.outcomes.get(values.sets[at]) for at in sets]
    errors = values.errors[:, sets]
    if len(values.tasks) < FEW and not np.isfinite(errors).any() and not any(one is not None for one in outcomes):
        return None
    return leaders.rank_intervals(leaders.resampled(values.values[:, sets], errors, outcomes, tasks, rng))


def _draws_of(known: TableCounts) -> Iterator[Drawn]:
    """List what draws take anew: tasks where there are several, and rows where errors or outcomes are known of them."""
    values = known.values
    if len(values.tasks) > 1:
        yield "tasks"
    sets = [at for task in values.tasks for at in values.places(task, "ood")]
    rows = np.isfinite(values.errors[:, sets])
    rows[:, [values.sets[at] in values.outcomes for at in sets]] = True
    if rows.any():
        yield "rows" if rows.all() else "some rows"


def _differences(
    tasks: Floats, names: Sequence[str], test: leaders.Friedman | None, rope: float, rng: np.random.Generator
) -> Iterator[Difference]:
    """Every two models, in order, over the tasks that both have; of very many each with the first."""
    pairs = engine.pairs(len(names))
    pairs = pairs if len(names) <= MANY else pairs[pairs[:, 0] == 0]
    apart = tasks[pairs[:, 0]] - tasks[pairs[:, 1]]
    both = ~np.isnan(apart)
    enough = both.sum(axis=1) >= FEW
    mean_ranks = leaders.ranks(tasks).mean(axis=1)
    nemenyi = None if test is None else leaders.nemenyi(mean_ranks[pairs[:, 0]] - mean_ranks[pairs[:, 1]], *tasks.shape)
    signs, weights = rng.spawn(2)
    p = np.array([leaders.signed_rank(one[known], signs) for one, known in zip(apart, both, strict=True)])
    holm = np.full(len(p), np.nan)
    holm[enough] = significance.holm(p[enough])
    probable = np.full((len(p), 3), np.nan)
    for count in np.unique(both[enough].sum(axis=1)):
        some = enough & (both.sum(axis=1) == count)
        of_some = apart[some][both[some]].reshape(-1, count)
        probable[some] = np.column_stack(leaders.bayesian_signed_rank(of_some, rope, weights))
    for at, (a, b) in enumerate(pairs):
        if not both[at].any():
            continue
        told = [None, None, None, None, None] if not enough[at] else [p[at], holm[at], *probable[at]]
        yield Difference(
            names[a],
            names[b],
            float(apart[at][both[at]].mean()),
            int(both[at].sum()),
            None if nemenyi is None else float(nemenyi[at]),
            *(None if one is None else float(one) for one in told),
        )


def _notes(known: TableCounts, missing: Missing, test: leaders.Friedman | None) -> Iterator[str]:
    """What a reader of the numbers has to know."""
    count = len(known.values.tasks)
    if known.left_out:
        yield f"Left out: {listed(f'{name} ({why})' for name, why in known.left_out.items())}."
    if missing == "ranks" and np.isnan(known.tasks).any():
        yield "A model without a value on a task has the middle rank there; such ranks have no test and no interval."
    if count < FEW:
        yield f"{counted(count, 'task is', 'tasks are')} too few to tell who leads on others: no test is made."
    elif count < FEW_FOR_P:
        least = f"{2.0 ** (1 - count):.3g}"
        yield (
            f"With {count} tasks Wilcoxon's p is at least {least}: it can tell no two models apart; and intervals of "
            "ranks are too narrow."
        )
    if count >= FEW and test is None and missing != "ranks":
        yield "Friedman's test needs three models that are not tied on every task."
    for at, one in enumerate(known.values.sets):
        column = known.values.values[:, at]
        if np.ptp(column[~np.isnan(column)]) <= significance.TIE:
            yield f"{one}: all models have the same value, so the {SPOKEN[one.kind]} set says nothing of their order."
    if np.isnan(known.in_domain).all():
        return
    without = [task for at, task in enumerate(known.values.tasks) if np.isnan(known.in_domain[:, at]).all()]
    if without:
        yield f"No in-domain values, so no mean of them and no decay: {listed(without)}."
