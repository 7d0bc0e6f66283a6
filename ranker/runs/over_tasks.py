"""Models that were asked several tasks: the tasks are matched, and each is decided for itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ranker.errors import RankModelsError, UsageError, listed, look_up
from ranker.numbers import counted
from ranker.results.over_tasks import OverTasks
from ranker.results.ranking import Ranking
from ranker.runs.decide import decided
from ranker.runs.gather import without_truth
from ranker.runs.plan import Plan, plan
from ranker.runtime.runtime import Runtime
from ranker.scoring.over_tasks import TaskOutcomes, parts, task_outcomes
from ranker.scoring.paired_comparison import FEW_CLUSTERS, FEW_ROWS
from ranker.scoring.score import Evidence
from ranker.sources import kinds, suites
from ranker.sources.base import ResourceCache, SourceOptions
from ranker.sources.logs.options import LogOptions
from ranker.sources.references import parse


@dataclass(frozen=True)
class MatchedTasks:
    """References to places with answers to several tasks.

    Attributes:
        references: as they were written.
        shared: the tasks that all models were asked.
        only: reference -> its other tasks.
        asked: of each reference, model -> the tasks that it was asked.
        groups: group of tasks -> the tasks in it.
        shelf: what was opened meanwhile.
    """

    references: tuple[str, ...]
    shared: tuple[str, ...]
    only: Mapping[str, tuple[str, ...]]
    asked: tuple[Mapping[str, tuple[str, ...]], ...]
    groups: Mapping[str, tuple[str, ...]]
    shelf: ResourceCache = field(compare=False, repr=False)

    def of(self, task: str) -> list[str]:
        """References to the models' answers to one task."""
        return [f"{reference}#{task}" for reference in self.references]

    def tasks_of(self, models: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Model -> the tasks that it was asked.

        Args:
            models: names, in the order of the references; one that was renamed is told by its place.
        """
        found: dict[str, tuple[str, ...]] = {}
        rest = [*models]
        for of in self.asked:
            here, rest = rest[: len(of)], rest[len(of) :]
            found |= {name if name in here else here[n]: tasks for n, (name, tasks) in enumerate(of.items())}
        return found


def match_tasks(references: Sequence[str | Path], options: SourceOptions) -> MatchedTasks | None:
    """Match the tasks of several places; None where all have a single task, or one is a file, or names its task.

    Args:
        references: the places.
        options: what is said of all of them.

    Raises:
        UsageError: no task was asked of all models, or there is more than `options.limits` let us look at.
    """
    texts, shelf = tuple(map(str, references)), ResourceCache()
    found = [kinds.tasks(parse(text, kinds.known_kinds(shelf)), options, shelf) for text in texts]
    several = any(len({task for tasks in one.by_model.values() for task in tasks}) > 1 for one in found)
    if not several or not all(one.by_model for one in found):
        return None
    asked = [set(tasks) for one in found for tasks in one.by_model.values()]
    every = dict.fromkeys(task for one in found for tasks in one.by_model.values() for task in tasks)
    shared = tuple(task for task in every if all(task in tasks for tasks in asked))
    if not shared:
        has = [f"{model} has {listed(tasks)}" for one in found for model, tasks in one.by_model.items()]
        raise UsageError(f"no task was asked of all models: {'; '.join(has)}; name one, {texts[0]}#{next(iter(every))}")
    logs = options.of(LogOptions)
    for said in (logs.metric, logs.filter):
        if "=" in said:
            for name in [one.rpartition("=")[0].strip() for one in said.split(",")]:
                _ = name and look_up("task", name, every)
    of = [dict.fromkeys(task for tasks in one.by_model.values() for task in tasks) for one in found]
    only = {
        text: rest
        for text, tasks in zip(texts, of, strict=True)
        if (rest := tuple(t for t in tasks if t not in shared))
    }
    groups = {name: tasks for one in found for name, tasks in one.groups.items()}
    return MatchedTasks(texts, shared, only, tuple(one.by_model for one in found), groups, shelf)


def over_tasks(
    references: Sequence[str | Path],
    options: SourceOptions = SourceOptions(),
    *,
    seed: int = 0,
    metric: str | None = None,
    evidence: Evidence = Evidence(),
    runtime: Runtime = Runtime(),
) -> OverTasks:
    """Compare models on every task that all of them were asked.

    Args:
        references: folders of logs with several tasks each.
        options: what is said of all logs.
        seed, metric, evidence, runtime: as in `ranker.decide`.

    Returns:
        The decision on each task, and the means over groups of tasks and over all.

    Raises:
        UsageError: a reference has no tasks to match, or no task was asked of all models.
        RankModelsError: no task can be decided: why the first cannot.

    Example:
        >>> import json
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from ranker import over_tasks
        >>> def write_log(folder, task, right):
        ...     Path(folder).mkdir(exist_ok=True)
        ...     row = {"doc": {}, "target": "", "filtered_resps": ["yes"], "metrics": ["acc"]}
        ...     rows = [row | {"doc_id": n, "doc": {"q": n}, "acc": acc} for n, acc in enumerate(right)]
        ...     file = Path(folder, f"samples_{task}_2026-01-01T00-00-00.jsonl")
        ...     _ = file.write_text("\\n".join(map(json.dumps, rows)))
        >>> with TemporaryDirectory() as folder:
        ...     for task in ("sst2", "rte"):
        ...         write_log(f"{folder}/a", task, [1, 1, 1, 0] * 5)
        ...         write_log(f"{folder}/b", task, [1, 0, 1, 0] * 5)
        ...     over_tasks([f"{folder}/a", f"{folder}/b"])
        2 models on 2 tasks
        a is 25.0 points above b, p 0.005

    Source: Miller 2024, "Adding error bars to evals"; of the means see `ranker.statistics.paired`.
    """
    found = match_tasks(references, options)
    if found is None:
        raise UsageError("`references` must be folders of logs that hold several tasks each, or name `#TASK` of none")

    def ask(models: Sequence[str], shelf: ResourceCache) -> tuple[Plan, Ranking]:
        made = plan(without_truth(suites.load(models, options, shelf)), evidence, metric=metric)
        return made, decided(made, seed, runtime)

    return decide_each(found, ask)


def decide_each(found: MatchedTasks, ask: Callable[[Sequence[str], ResourceCache], tuple[Plan, Ranking]]) -> OverTasks:
    """Decide each task for itself, and put them together; a task that cannot be decided is listed with the reason.

    Args:
        found: the tasks.
        ask: what is made of references to one task's answers; the shelf holds what was opened to find them.

    Raises:
        RankModelsError: no task can be decided: why the first cannot.
    """
    made: dict[str, TaskOutcomes] = {}
    failures: dict[str, str] = {}
    first = None
    for task in found.shared:
        try:
            asked, ranking = ask(found.of(task), ResourceCache(initial=found.shelf))
        except RankModelsError as error:
            failures[task], first = str(error), first or error
            continue
        made[task] = task_outcomes(ranking, [example.group for example in asked.rows.population])
        if ranking.header.failures:
            failures[task] = "; ".join(f"{model}: {why}" for model, why in ranking.header.failures.items())
    whole = {task: one for task, one in made.items() if task not in failures}
    if not whole:
        raise first or RankModelsError(f"no task can be decided; {next(iter(failures.items()))}")
    names, found_parts = parts(whole, found.groups)
    rankings = {task: one.ranking for task, one in made.items()}
    return OverTasks(names, found_parts, rankings, found.only, failures, tuple(_notes(found, whole, rankings)))


def _notes(found: MatchedTasks, whole: Mapping[str, TaskOutcomes], rankings: Mapping[str, Ranking]) -> Iterator[str]:
    """Groups that are not all there, tasks with few rows, and what is said of tasks, once for all of which it holds."""
    for group, tasks in found.groups.items():
        there = sum(task in whole for task in tasks)
        if 0 < there < len(tasks):
            yield f"{group}: {there} of its {counted(len(tasks), 'task')} {'is' if there == 1 else 'are'} in its means."
    few = [task for task, one in whole.items() if one.outcomes.shape[1] < FEW_ROWS]
    if few:
        yield f"Fewer than {FEW_ROWS} rows, on which small differences are mostly not seen: {listed(few)}."
    few = [task for task, one in whole.items() if one.clusters is not None and len(set(one.clusters)) < FEW_CLUSTERS]
    if few:
        yield f"Fewer than {FEW_CLUSTERS} clusters of rows, on which only large differences are seen: {listed(few)}."
    said: dict[str, list[str]] = {}
    for task, ranking in rankings.items():
        for note in ranking.header.notes:
            said.setdefault(note, []).append(task)
    for note, of in said.items():
        yield note if len(of) == len(rankings) else f"{listed(of)}: {note}"
