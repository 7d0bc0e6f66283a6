"""Non-inferiority gate: tests that models are no worse than a base model, and checks for missing rows and tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ranker.errors import Absence, UsageError, listed, look_up
from ranker.numbers import counted, unit
from ranker.results.decision import Decision
from ranker.results.gate import Gate, HeldModel, passes
from ranker.results.over_tasks import OverTasks
from ranker.results.ranking import Ranking
from ranker.statistics.paired import not_worse

MARGIN = 0.02
"""Default margin: two points, which some hundred rows can show. At 0 a model that never differs from the base would
never pass, since it may lose an unseen row."""


def of_decision(ranking: Ranking, base: str, margin: float = MARGIN, allow_absent: bool = False) -> Gate:
    """Compare every other model of a decision with a base model.

    Args:
        ranking: a decision on labelled rows alone.
        base: a model that each other one was compared with.
        margin: the difference that counts as no worse: a fraction, or in the unit of a metric that is no mean.

    Raises:
        UsageError: a pool was read, too: the files of the models brought one.

    Example:
        >>> from ranker import Evidence, decide, load_set, load_suite
        >>> models = load_suite(["hans-sub-mini"]).models[-3:]
        >>> ranking = decide(models, load_set("hans-sub"), evidence=Evidence("none"))
        >>> of_decision(ranking, "inoc-800", margin=0.05).in_words
        'no worse than inoc-800 by more than 5.0 points: ...'
    """
    decision, failures, answers = ranking.decision, ranking.header.failures, ranking.header.failed_answers
    held = () if base in failures else _held_models(decision, base, margin)
    failed = [f"{model} failed" for model in failures]
    failed += [f"{counted(count, 'answer')} of {model} failed" for model, count in answers.items()]
    gate = _make_gate(base, margin, held, _missing_rows(ranking), allow_absent, failed)
    return replace(gate, metric=decision.metric)


def of_tasks(
    over_tasks: OverTasks,
    asked_tasks: Mapping[str, Sequence[str]],
    base: str,
    margin: float = MARGIN,
    allow_absent: bool = False,
) -> Gate:
    """Compare every other model with a base model on every task.

    Args:
        asked_tasks: model -> the tasks that it was asked, of which the others may lack some.

    Raises:
        UnknownName, UsageError: as in `of_decision`.
    """
    tasks = [(task, ranking) for task, ranking in over_tasks.rankings.items() if task not in over_tasks.failures]
    held = [model for task, ranking in tasks for model in _held_models(ranking.decision, base, margin, task)]
    absent = [
        *_absent_tasks(asked_tasks, base),
        *(f"{gap} ({task})" for task, ranking in tasks for gap in _missing_rows(ranking)),
    ]
    failed = [f"{task} was not compared" for task in over_tasks.failures]
    return _make_gate(base, margin, held, absent, allow_absent, failed)


def _make_gate(
    base: str,
    margin: float,
    held: Iterable[HeldModel],
    absent: Iterable[str],
    allow_absent: bool,
    failed: Sequence[str],
) -> Gate:
    models, lacking = tuple(held), tuple(absent)
    verdict = passes(models, lacking, allow_absent, failed)
    return Gate(base, margin, models, lacking, allow_absent, verdict, failed=tuple(failed))


def _held_models(decision: Decision, base: str, margin: float, task: str = "") -> Iterator[HeldModel]:
    """Yield each other model, with the lower end of the interval of its difference to the base."""
    look_up("model", base, dict.fromkeys(decision.names))
    if not decision.versus:
        predicate = "is for labelled rows alone, and the models' files bring others, too"
        raise UsageError.about("not_worse_than", predicate, base)
    for name in decision.names:
        if name != base:
            pair = decision.pair(name, base)
            low, lost, won = (None, None, None) if pair is None else (pair.low, pair.worse, pair.better)
            no_worse = low is not None and not_worse(low, margin)
            yield HeldModel(name, task, low, no_worse, _why(low, no_worse, decision.metric), lost, won)


def _why(low: float | None, passes: bool, metric: str) -> str:
    metric_unit = unit(metric)
    if low is None:
        return "too few rows tell the two apart" if metric else "one row or cluster shows nothing"
    if low > 0:
        return f"at least {metric_unit.value(low)}{metric_unit.points} better"
    return f"{'at most' if passes else 'may be'} {metric_unit.value(-low)}{metric_unit.points} worse"


def _missing_rows(ranking: Ranking) -> Iterator[str]:
    """Describe rows on which a model has no outcome, so that none was compared there, and logs with gaps."""
    for model, outcomes in zip(ranking.table.models, ranking.table.outcomes, strict=True):
        if count := int(np.isnan(outcomes).sum()):
            yield f"{model} has no outcome on {count:,} of {counted(len(outcomes), 'row')}"
    yield from (note.rstrip(".") for note in ranking.header.notes if isinstance(note, Absence))


def _absent_tasks(asked_tasks: Mapping[str, Sequence[str]], base: str) -> Iterator[str]:
    """Describe the tasks that the base was asked, and another model was not."""
    for model, tasks in asked_tasks.items():
        if missing := [task for task in asked_tasks[base] if task not in tasks]:
            yield f"{model} was not asked {listed(missing)}"
