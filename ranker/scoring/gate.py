"""Whether models are shown to be no worse than one of them: by what decisions say, and by what they lack."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ranker.errors import UsageError, listed, look_up
from ranker.numbers import counted, unit
from ranker.results.decision import Decision
from ranker.results.gate import Gate, HeldModel
from ranker.results.over_tasks import OverTasks
from ranker.results.ranking import Ranking
from ranker.statistics.paired import not_worse

MARGIN = 0.02
"""How much worse is no worse where nobody says: two points, which some hundred rows can show. At 0 a model that never
differs from the base would never pass, since a row that nobody saw may be lost."""

PARTIAL = "The log is partial"
"""What a note says of a run that was cut short."""


def of_decision(ranking: Ranking, base: str, margin: float = MARGIN, allow_absent: bool = False) -> Gate:
    """Hold every other model of a decision to one.

    Args:
        ranking: a decision on labelled rows alone.
        base: a model that each other one was compared with.
        margin: how much worse is no worse: a fraction, or in the unit of a metric that is no mean.
        allow_absent: rows without an outcome, and partial logs, may be.

    Raises:
        UnknownName: there is no such model.
        UsageError: a pool was read, too: the files of the models brought one.

    Example:
        >>> from ranker import Evidence, decide, load_set, load_suite
        >>> models = load_suite(["hans-sub-mini"]).models[-3:]
        >>> ranking = decide(models, load_set("hans-sub"), evidence=Evidence("none"))
        >>> of_decision(ranking, "inoc-800", margin=0.05).in_words
        'no worse than inoc-800 by more than 5.0 points: ...'
    """
    found = ranking.decision
    gate = _judged(base, margin, _held(found, base, margin), _absent(ranking), allow_absent)
    return replace(gate, metric=found.metric)


def of_tasks(
    found: OverTasks,
    asked: Mapping[str, Sequence[str]],
    base: str,
    margin: float = MARGIN,
    allow_absent: bool = False,
) -> Gate:
    """Hold every other model to one on every task.

    Args:
        found: the decisions.
        asked: model -> the tasks that it was asked, of which the others may not have been asked all.
        base, margin, allow_absent: as in `of_decision`.

    Raises:
        UnknownName, UsageError: as in `of_decision`.
    """
    tasks = found.rankings.items()
    held = [one for task, ranking in tasks for one in _held(ranking.decision, base, margin, task)]
    absent = [*_absent_tasks(asked, base), *(f"{what} ({task})" for task, one in tasks for what in _absent(one))]
    return _judged(base, margin, held, absent, allow_absent)


def _judged(base: str, margin: float, held: Iterable[HeldModel], absent: Iterable[str], allow_absent: bool) -> Gate:
    models, lacking = tuple(held), tuple(absent)
    passes = all(one.passes for one in models) and (allow_absent or not lacking)
    return Gate(base, margin, models, lacking, allow_absent, passes)


def _held(decision: Decision, base: str, margin: float, task: str = "") -> Iterator[HeldModel]:
    """Each other model, with the lower end of the interval of its difference to the base."""
    look_up("model", base, dict.fromkeys(decision.names))
    if not decision.versus:
        raise UsageError("`not_worse_than` is for labelled rows alone, and the models' files bring others, too")
    for name in decision.names:
        if name != base:
            low, _ = decision.interval(name, base)
            passes = low is not None and not_worse(low, margin)
            yield HeldModel(name, task, low, passes, _why(low, passes, decision.metric))


def _why(low: float | None, passes: bool, metric: str) -> str:
    of = unit(metric)
    if low is None:
        return "too few rows tell the two apart" if metric else "one row or cluster shows nothing"
    if low > 0:
        return f"at least {of.value(low)}{of.points} better"
    return f"{'at most' if passes else 'may be'} {of.value(-low)}{of.points} worse"


def _absent(ranking: Ranking) -> Iterator[str]:
    """Rows on which a model has no outcome, so that none was compared there, and logs that are partial."""
    for model, outcomes in zip(ranking.table.models, ranking.table.outcomes, strict=True):
        if count := int(np.isnan(outcomes).sum()):
            yield f"{model} has no outcome on {count:,} of {counted(len(outcomes), 'row')}"
    yield from (note.rstrip(".") for note in ranking.header.notes if PARTIAL in note)


def _absent_tasks(asked: Mapping[str, Sequence[str]], base: str) -> Iterator[str]:
    """The tasks that the base was asked, and another model was not.

    Example:
        >>> list(_absent_tasks({"a": ["nli", "qa"], "b": ["nli", "sst2"]}, "a"))
        ['b was not asked qa']
    """
    for model, tasks in asked.items():
        if rest := [task for task in asked[base] if task not in tasks]:
            yield f"{model} was not asked {listed(rest)}"
