"""Compare models on several tasks: match the tasks, and decide each on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ranker.errors import RankModelsError, UsageError, listed, look_up
from ranker.numbers import counted
from ranker.results.over_tasks import OverTasks
from ranker.results.ranking import Ranking
from ranker.runs.decide import decide_plan
from ranker.runs.gather import gather_without_truth
from ranker.runs.plan import Plan, plan
from ranker.runs.signatures import checked
from ranker.runtime.runtime import Runtime
from ranker.scoring.over_tasks import TaskOutcomes, parts, task_outcomes
from ranker.scoring.paired_comparison import FEW_CLUSTERS, FEW_ROWS
from ranker.scoring.score import Evidence
from ranker.sources import kinds, suites
from ranker.sources.base import ResourceCache, SourceOptions
from ranker.sources.logs.options import LogOptions
from ranker.sources.references import parse
from ranker.tasks.metrics import LabelScore


@dataclass(frozen=True)
class MatchedTasks:
    """References to places with answers to several tasks.

    Attributes:
        shared: tasks of all models.
        only: reference -> its other tasks.
        tasks_by_model: for each reference, model -> its tasks.
        groups: group of tasks -> the tasks in it.
    """

    references: tuple[str, ...]
    shared: tuple[str, ...]
    only: Mapping[str, tuple[str, ...]]
    tasks_by_model: tuple[Mapping[str, tuple[str, ...]], ...]
    groups: Mapping[str, tuple[str, ...]]
    cache: ResourceCache = field(compare=False, repr=False)

    def references_to(self, task: str) -> list[str]:
        """Return references to the models' answers to one task."""
        return [f"{reference}#{task}" for reference in self.references]

    def tasks_of(self, models: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return model -> its tasks; models are in the order of the references, by which renamed ones are found."""
        renamed: dict[str, tuple[str, ...]] = {}
        remaining = [*models]
        for by_name in self.tasks_by_model:
            names, remaining = remaining[: len(by_name)], remaining[len(by_name) :]
            renamed |= {name if name in names else names[n]: tasks for n, (name, tasks) in enumerate(by_name.items())}
        return renamed


def match_tasks(references: Sequence[str | Path], options: SourceOptions) -> MatchedTasks | None:
    """Match the tasks of several places; None if all have a single task, or one is a file, or names its task.

    Raises:
        UsageError: the models share no task, or there is more to look at than `options.limits` allow.
    """
    texts, cache = tuple(map(str, references)), ResourceCache()
    places = [kinds.tasks(parse(text, kinds.known_kinds(cache)), options, cache) for text in texts]
    several = any(len({task for tasks in place.by_model.values() for task in tasks}) > 1 for place in places)
    if not several or not all(place.by_model for place in places):
        return None
    task_sets = [set(tasks) for place in places for tasks in place.by_model.values()]
    union = dict.fromkeys(task for place in places for tasks in place.by_model.values() for task in tasks)
    shared = tuple(task for task in union if all(task in tasks for tasks in task_sets))
    if not shared:
        lists = [f"{model} has {listed(tasks)}" for place in places for model, tasks in place.by_model.items()]
        text = f"no task was asked of all models: {'; '.join(lists)}; name one, {texts[0]}#{next(iter(union))}"
        raise UsageError(text, option="models", allowed=union)
    logs = options.of(LogOptions)
    for option in (logs.metric, logs.filter):
        if "=" in option:
            for name in [part.rpartition("=")[0].strip() for part in option.split(",")]:
                _ = name and look_up("task", name, union)
    place_tasks = [dict.fromkeys(task for tasks in place.by_model.values() for task in tasks) for place in places]
    only = {
        text: other_tasks
        for text, tasks in zip(texts, place_tasks, strict=True)
        if (other_tasks := tuple(t for t in tasks if t not in shared))
    }
    groups = {name: tasks for place in places for name, tasks in place.groups.items()}
    return MatchedTasks(texts, shared, only, tuple(place.by_model for place in places), groups, cache)


@checked
def over_tasks(
    references: Sequence[str | Path],
    options: SourceOptions = SourceOptions(),
    *,
    seed: int = 0,
    metric: str | LabelScore | None = None,
    evidence: Evidence = Evidence(),
    runtime: Runtime = Runtime(),
) -> OverTasks:
    """Compare models on every task that all of them were asked.

    Args:
        references: folders of logs with several tasks each.
        options: options for all logs.
        seed, metric, evidence, runtime: as in `ranker.decide`.

    Returns:
        The decision on each task, and the means over groups of tasks and over all.

    Raises:
        UsageError: a reference has no tasks to match, or the models share no task.
        RankModelsError: no task can be decided; the message is that of the first.

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
        2 models on 2 tasks: Take a
        a is 25.0 points above b, p 0.005

    Source: Miller 2024, "Adding error bars to evals"; of the means see `ranker.statistics.paired`.
    """
    match = match_tasks(references, options)
    if match is None:
        predicate = "must be folders of logs that hold several tasks each, or name `#TASK` of none"
        raise UsageError.about("references", predicate, tuple(references))

    def ask(models: Sequence[str], cache: ResourceCache) -> tuple[Plan, Ranking]:
        run_plan = plan(gather_without_truth(suites.load(models, options, cache)), evidence, metric=metric)
        return run_plan, decide_plan(run_plan, seed, runtime)

    return decide_each(match, ask)


def decide_each(match: MatchedTasks, ask: Callable[[Sequence[str], ResourceCache], tuple[Plan, Ranking]]) -> OverTasks:
    """Decide each task on its own, and combine them; tasks that cannot be decided are listed with the reason."""

    def ask_task(task: str) -> tuple[Ranking, Sequence[str]]:
        run_plan, ranking = ask(match.references_to(task), ResourceCache(initial=match.cache))
        return ranking, [example.group for example in run_plan.population]

    outcomes, failures, complete = decide_all(match.shared, ask_task, "task")
    names, outcome_parts = parts(complete, match.groups)
    rankings = {task: task_result.ranking for task, task_result in outcomes.items()}
    return OverTasks(names, outcome_parts, rankings, match.only, failures, tuple(_notes(match, complete, rankings)))


def decide_all(
    names: Sequence[str], ask: Callable[[str], tuple[Ranking, Sequence[str]]], noun: str
) -> tuple[dict[str, TaskOutcomes], dict[str, str], dict[str, TaskOutcomes]]:
    """Return the decisions on tasks or parts, why some lack models or all, and the decisions with all models.

    `ask` returns the ranking on one, and the cluster of each row.

    Raises:
        RankModelsError: none can be decided; the message is that of the first.
    """
    outcomes: dict[str, TaskOutcomes] = {}
    failures: dict[str, str] = {}
    first = None
    for name in names:
        try:
            ranking, clusters = ask(name)
        except RankModelsError as error:
            failures[name], first = str(error), first or error
            continue
        outcomes[name] = task_outcomes(ranking, clusters)
        if ranking.header.failures:
            failures[name] = "; ".join(f"{model}: {reason}" for model, reason in ranking.header.failures.items())
    complete = {name: outcome for name, outcome in outcomes.items() if name not in failures}
    if not complete:
        raise first or RankModelsError(f"no {noun} can be decided; {next(iter(failures.items()))}")
    return outcomes, failures, complete


def _notes(match: MatchedTasks, complete: Mapping[str, TaskOutcomes], rankings: Mapping[str, Ranking]) -> Iterator[str]:
    """List incomplete groups, tasks with few rows or clusters, and the notes of tasks, each note once."""
    for group, tasks in match.groups.items():
        done = sum(task in complete for task in tasks)
        if 0 < done < len(tasks):
            yield f"{group}: {done} of its {counted(len(tasks), 'task')} {'is' if done == 1 else 'are'} in its means."
    few = [task for task, outcomes in complete.items() if outcomes.outcomes.shape[1] < FEW_ROWS]
    if few:
        yield f"Fewer than {FEW_ROWS} rows, too few to detect small differences: {listed(few)}."
    few = [
        task
        for task, outcomes in complete.items()
        if outcomes.clusters is not None and len(set(outcomes.clusters)) < FEW_CLUSTERS
    ]
    if few:
        yield f"Fewer than {FEW_CLUSTERS} clusters of rows, too few to detect any but large differences: {listed(few)}."
    tasks_of_note: dict[str, list[str]] = {}
    for task, ranking in rankings.items():
        for note in ranking.header.notes:
            tasks_of_note.setdefault(note, []).append(task)
    for note, note_tasks in tasks_of_note.items():
        yield note if len(note_tasks) == len(rankings) else f"{listed(note_tasks)}: {note}"
