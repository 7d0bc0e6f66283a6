"""Rank models over many sets: a table of values -> models in order, and which of them differ.

The sets of a task are averaged first, then the tasks, as GLUE-X does. Numbers that need all models on all sets use the
complete part of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from factors.rounding import TIE, level
from factors.types import Floats
from ranker.domains.results.over_sets import Difference, Drawn, Leader, Missing, OverSets
from ranker.domains.statistics import leaders
from ranker.domains.values import KINDS, Kind, Values
from ranker.errors import UsageError, listed, look_up
from ranker.numbers import counted
from ranker.results.choice import Choice, choose, choose_by
from ranker.statistics import engine, significance
from ranker.statistics.draws import Draws

MISSING: dict[str, Missing] = {"sets": "sets", "models": "models", "ranks": "ranks"}

MIN_TASKS_FOR_TESTS = 3
"""Tasks below which no test is made: so few say nothing about others."""

MIN_TASKS_FOR_WILCOXON = 6
"""Tasks below which Wilcoxon's p, at least 2^(1 - tasks), cannot fall below 5 %."""

MAX_MODELS_FOR_ALL_PAIRS = 200
"""Models up to which all pairs are compared; above that, each model is compared with the first alone."""

ROPE = 0.01
"""Half the width of the region of practical equivalence: a point, as in P(near best)."""


@dataclass(frozen=True, eq=False)
class TableCounts:
    """The part of a table that counts: its models and sets, and the means over the sets of each task.

    Attributes:
        values: the part of the table that counts.
        left_out: set or model -> why it was dropped.
        tasks: (M, tasks) means over the sets of each task; nan where a model lacks one.
        in_domain: the same of in-domain sets.
    """

    values: Values
    left_out: dict[str, str]
    tasks: Floats
    in_domain: Floats


def rank_over_tasks(values: Values, missing: str, rope: float, rng: np.random.Generator) -> OverSets:
    """Order models over tasks and test which differ.

    Args:
        missing: see `compare`.
        rope: half the width of the region within which two models count as equally good, a fraction.

    Raises:
        UsageError: fewer than two models or no set is left, or there is no such rule.
    """
    rule = look_up("rule for missing cells", missing, MISSING)
    counts = select_complete_part(values, rule)
    drawn, tested = rng.spawn(2)
    means = None if rule == "ranks" else _draw_means(counts, drawn)
    order, leader_records = _leaders(counts, rule, means)
    draws_of = () if leader_records[0].p_first is None else tuple(_draws_of(counts))
    names = counts.values.models
    test = None if rule == "ranks" else leaders.friedman(counts.tasks, names)
    differences = tuple(_differences(counts.tasks[order], [names[index] for index in order], test, rope, tested))
    tasks = {
        task: tuple(counts.values.sets[index].name for index in counts.values.places(task, "ood"))
        for task in counts.values.tasks
    }
    notes = (*values.notes, *_notes(counts, rule, test))
    levels = {level: tuple(counts.values.at_level(level).places_by_name()) for level in counts.values.levels}
    return OverSets(
        leader_records,
        _choose(counts, names, order, means, rope),
        tasks,
        rule,
        rope,
        differences,
        test,
        counts.left_out,
        notes,
        draws_of,
        lower_is_better=values.lower_is_better,
        levels=levels,
    )


def select_complete_part(values: Values, missing: Missing) -> TableCounts:
    """Select the part of a table that counts, by the rule for missing cells.

    Raises:
        UsageError: fewer than two models or no set is left.
    """
    if len(values.models) < 2:
        raise UsageError(f"at least two models are needed (got {len(values.models)})", value=len(values.models))
    lacks = np.isnan(values.values)
    ood = np.array([scored_set.kind == "ood" for scored_set in values.sets])
    wanting = lacks[:, ood].any(axis=1) if missing == "models" else lacks[:, ood].all(axis=1)  # the last are predicted
    models = np.flatnonzero(~wanting)
    sets = np.flatnonzero(~(lacks[models].any(axis=0) if missing == "sets" else lacks[models].all(axis=0)))
    if len(models) < 2 or not ood[sets].any():
        lost = {"models": "fewer than two models have a value on every set"}.get(
            missing, "no set has a value of every model"
        )
        raise UsageError(
            f"{lost}; `missing` says what else to leave out: {', '.join(MISSING)}", option="missing", allowed=MISSING
        )
    complete_sets = tuple(values.sets[index] for index in sets)
    part = Values(
        tuple(values.models[index] for index in models),
        complete_sets,
        values.values[np.ix_(models, sets)],
        values.errors[np.ix_(models, sets)],
        {key: values.outcomes[key][models] for key in complete_sets if key in values.outcomes},
        {key: values.beats[key][np.ix_(models, models)] for key in complete_sets if key in values.beats},
        lower_is_better=values.lower_is_better,
    )
    lost_sets = zip(values.models, lacks[:, ood].sum(axis=1), strict=True)
    lost_models = zip(map(str, values.sets), lacks[models].sum(axis=0), strict=True)
    left_out = {
        name: "in-domain values alone" if count == ood.sum() else f"{counted(int(count), 'set')} missing"
        for name, count in lost_sets
        if name not in part.models
    }
    names = set(map(str, complete_sets))
    left_out |= {name: f"{counted(int(count), 'model')} missing" for name, count in lost_models if name not in names}
    return TableCounts(part, left_out, *_task_means(part))


def _task_means(values: Values) -> tuple[Floats, Floats]:
    """Return (M, tasks) means over the sets of each task, and the same of in-domain sets."""
    ood, in_domain = (np.column_stack([_mean(values, task, kind) for task in values.tasks]) for kind in KINDS.values())
    return ood, in_domain


def _mean(values: Values, task: str, kind: Kind) -> Floats:
    """Return (M,) means over the sets of a task; nan if there are none, or a model lacks one."""
    places = values.places(task, kind)
    return values.values[:, places].mean(axis=1) if places else np.full(len(values.models), np.nan)


def _choose(
    counts: TableCounts, names: Sequence[str], order: Sequence[int], means: Floats | None, rope: float
) -> Choice:
    """Return which model to take on other tasks, by draws of these; none where these are too few."""
    ordered = [names[index] for index in order]
    count = len(counts.values.tasks)
    if means is None or count < MIN_TASKS_FOR_WILCOXON:
        few = f"{ordered[0]} leads on {counted(count, 'task')}, too few to speak for others"
        doubt = few if count < MIN_TASKS_FOR_WILCOXON else ""
        return choose(ordered, None, [None] * len(order), [1.0] * len(order), doubt=doubt)
    return choose_by(Draws(means[order].T), ordered, rope, shares=not counts.values.lower_is_better)


def _leaders(counts: TableCounts, missing: Missing, drawn_means: Floats | None) -> tuple[list[int], tuple[Leader, ...]]:
    """Return the models in order, as indices and as records; `drawn_means` (M, B) are drawn, if they can be."""
    values, in_domain = counts.tasks.mean(axis=1), counts.in_domain.mean(axis=1)  # nan where one task is missing
    levels = counts.values.levels
    decay = np.full(len(values), np.nan)
    before = -in_domain if counts.values.lower_is_better else in_domain
    np.divide(in_domain - values, before, out=decay, where=before > TIE)
    means = {level: [m.mean(axis=1) for m in _task_means(counts.values.at_level(level))] for level in levels}
    ranked = leaders.ranks(counts.tasks)
    mean_ranks = (leaders.impute_ranks(ranked) if missing == "ranks" else ranked).mean(axis=1)
    own_ranks = leaders.ranks(counts.in_domain).mean(axis=1)
    places = _places(-mean_ranks if missing == "ranks" else values)
    order = sorted(range(len(values)), key=lambda index: (places[index], mean_ranks[index]))
    by_decay = _places(-decay)
    low, high, first = (None, None, None) if drawn_means is None else leaders.rank_intervals(drawn_means)
    names, columns = counts.values.models, list(enumerate(counts.values.tasks))
    records = (
        Leader(
            model=names[index],
            rank=places[index],
            value=engine.none_if_nan(values[index]),
            in_domain=engine.none_if_nan(in_domain[index]),
            decay=engine.none_if_nan(decay[index]),
            friedman=float(mean_ranks[index]),
            friedman_in_domain=engine.none_if_nan(own_ranks[index]),
            rank_by_decay=None if np.isnan(decay[index]) else by_decay[index],
            low=None if low is None else int(low[index]),
            high=None if high is None else int(high[index]),
            p_first=None if first is None else float(first[index]),
            tasks={task: engine.none_if_nan(counts.tasks[index, column]) for column, task in columns},
            levels={level: engine.none_if_nan(ood[index]) for level, (ood, _) in means.items()},
            drops={level: engine.none_if_nan(home[index] - ood[index]) for level, (ood, home) in means.items()},
        )
        for index in order
    )
    return order, tuple(records)


def _places(values: Floats) -> list[int]:
    """Rank values, 1 for the highest; ties share a rank, and nan comes last."""
    rounded = np.where(np.isnan(values), -np.inf, level(values))
    return [1 + int((rounded > value).sum()) for value in rounded]


def _draw_means(counts: TableCounts, rng: np.random.Generator) -> Floats | None:
    """Draw (M, B) means over the tasks; None if there is nothing to draw."""
    values = counts.values
    places = [(index, task) for task, name in enumerate(values.tasks) for index in values.places(name, "ood")]
    sets, tasks = (np.array(indices) for indices in zip(*places, strict=True))
    outcomes, beats = (
        [of_sets.get(values.sets[index]) for index in sets] for of_sets in (values.outcomes, values.beats)
    )
    errors = values.errors[:, sets]
    few = len(values.tasks) < MIN_TASKS_FOR_TESTS
    if few and not np.isfinite(errors).any() and not any(rows is not None for rows in outcomes):
        return None
    return leaders.resample_means(values.values[:, sets], errors, outcomes, beats, tasks, rng)


def _draws_of(counts: TableCounts) -> Iterator[Drawn]:
    """List what the draws resample: tasks if there are several, and rows if errors or outcomes are known."""
    values = counts.values
    if len(values.tasks) > 1:
        yield "tasks"
    sets = [index for task in values.tasks for index in values.places(task, "ood")]
    rows = np.isfinite(values.errors[:, sets])
    rows[:, [values.sets[index] in values.outcomes for index in sets]] = True
    if rows.any():
        yield "rows" if rows.all() else "some rows"


def _differences(
    tasks: Floats, names: Sequence[str], test: leaders.Friedman | None, rope: float, rng: np.random.Generator
) -> Iterator[Difference]:
    """Compare every two models, in order, over the tasks that both have; with very many, each with the first."""
    pairs = engine.pairs(len(names))
    pairs = pairs if len(names) <= MAX_MODELS_FOR_ALL_PAIRS else pairs[pairs[:, 0] == 0]
    apart = tasks[pairs[:, 0]] - tasks[pairs[:, 1]]
    shared = ~np.isnan(apart)
    enough = shared.sum(axis=1) >= MIN_TASKS_FOR_TESTS
    mean_ranks = leaders.ranks(tasks).mean(axis=1)
    nemenyi = None if test is None else leaders.nemenyi(mean_ranks[pairs[:, 0]] - mean_ranks[pairs[:, 1]], *tasks.shape)
    signs, weights = rng.spawn(2)
    p = np.array([leaders.signed_rank(row[complete], signs) for row, complete in zip(apart, shared, strict=True)])
    holm = np.full(len(p), np.nan)
    holm[enough] = significance.holm(p[enough])
    probable = np.full((len(p), 3), np.nan)
    for count in np.unique(shared[enough].sum(axis=1)):
        same_count = enough & (shared.sum(axis=1) == count)
        complete = apart[same_count][shared[same_count]].reshape(-1, count)
        probable[same_count] = np.column_stack(leaders.bayesian_signed_rank(complete, rope, weights))
    for index, (a, b) in enumerate(pairs):
        if not shared[index].any():
            continue
        figures = [None, None, None, None, None] if not enough[index] else [p[index], holm[index], *probable[index]]
        yield Difference(
            names[a],
            names[b],
            float(apart[index][shared[index]].mean()),
            int(shared[index].sum()),
            None if nemenyi is None else float(nemenyi[index]),
            *(None if figure is None else float(figure) for figure in figures),
        )


def _notes(counts: TableCounts, missing: Missing, test: leaders.Friedman | None) -> Iterator[str]:
    """Yield the notes that a reader of the numbers needs."""
    count = len(counts.values.tasks)
    if counts.left_out:
        yield f"Left out: {listed(f'{name} ({reason})' for name, reason in counts.left_out.items())}."
    if missing == "ranks" and np.isnan(counts.tasks).any():
        yield "A model without a value on a task has the middle rank there; such ranks have no test and no interval."
    if count < MIN_TASKS_FOR_TESTS:
        yield f"{counted(count, 'task is', 'tasks are')} too few to tell who leads on others: no test is made."
    elif count < MIN_TASKS_FOR_WILCOXON:
        least = f"{2.0 ** (1 - count):.3g}"
        yield (
            f"With {count} tasks Wilcoxon's p is at least {least}: it can tell no two models apart; and intervals of "
            "ranks are too narrow."
        )
    if count >= MIN_TASKS_FOR_TESTS and test is None and missing != "ranks":
        yield "Friedman's test needs three models that are not tied on every task."
    for number, scored_set in enumerate(counts.values.sets):
        column = counts.values.values[:, number]
        if np.ptp(column[~np.isnan(column)]) <= TIE:
            kind = "OOD" if scored_set.kind == "ood" else scored_set.kind
            yield f"{scored_set}: all models have the same value, so the {kind} set says nothing of their order."
    if np.isnan(counts.in_domain).all():
        return
    without = [task for number, task in enumerate(counts.values.tasks) if np.isnan(counts.in_domain[:, number]).all()]
    if without:
        yield f"No in-domain values, so no mean of them and no decay: {listed(without)}."
