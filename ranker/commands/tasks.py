"""`rank-models run` on several tasks at once: folders of logs, matched by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from ranker.commands import arguments, outputs, stderr
from ranker.commands.program import say, spoken
from ranker.errors import UsageError, look_up
from ranker.report import GENERAL, over_tasks
from ranker.results.ranking import Ranking
from ranker.runs.over_tasks import MatchedTasks, decide_each
from ranker.runs.plan import Plan
from ranker.scoring.gate import of_tasks
from ranker.sources.base import ResourceCache


def check(given: Mapping[str, Any], format_name: str) -> None:
    """Refuse what takes one task, and what would be written over.

    Raises:
        UsageError: `--plots`, a format without means over tasks, or a path that cannot be written.
    """
    look_up("format of several tasks", format_name, GENERAL)
    if given["plots"] is not None:
        raise UsageError("`--plots` takes one task: name it, `--models A#TASK B#TASK`")
    outputs.check({**given, "save": None})
    if given["save"] is not None:
        outputs.check_path(given["save"], "`--save`", force=given["force"], folder=True)


def run(given: Mapping[str, Any], tasks: MatchedTasks, format_name: str) -> None:
    """Decide each task, and report them together; `--save` names a folder, for a file each.

    Args:
        given: what click read.
        tasks: those that all models were asked.
        format_name: of the report.

    Raises:
        SystemExit: 1, a task could not be decided; 3, what `--not-worse-than` asks for does not hold on every task.
    """
    check(given, format_name)
    first = arguments.wanted(_of(given, tasks.of(tasks.shared[0])), stderr.bars(given))

    def asked(models: Sequence[str], shelf: ResourceCache) -> tuple[Plan, Ranking]:
        wanted = replace(first, models=arguments.suite(_of(given, models), None, shelf))
        made = wanted.plan()
        ranking = wanted.answer(made)
        stderr.check_strict(given, (*ranking.header.notes, *ranking.found.notes))
        return made, outputs.in_words_of_the_command(ranking).made_by(click.get_current_context().obj)

    if given["dry_run"]:
        say(f"nothing to compute: all answers are at hand (tasks: {len(tasks.shared)})")
        return
    found = decide_each(tasks, asked)
    found = replace(found, failures={task: spoken(why) for task, why in found.failures.items()})
    gate = None
    if first.base is not None and not found.failures:
        models = next(iter(found.rankings.values())).table.models
        gate = of_tasks(found, tasks.tasks_of(models), first.base, *arguments.gate(given))
        found = replace(found, gate=gate)
    if given["save"] is not None:
        outputs.save_each(found.rankings, given["save"])
    outputs.write(outputs.rendered(over_tasks.document(found), format_name, given["output"]), given["output"])
    if found.failures:
        raise SystemExit(1)
    if gate is not None:
        outputs.hold(gate)


def _of(given: Mapping[str, Any], models: Sequence[str]) -> dict[str, Any]:
    """The command line with other models."""
    return {**given, "models": models, "more_models": ()}
