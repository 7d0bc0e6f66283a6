"""`rank-models run` on several tasks at once: folders of logs, matched by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from ranker.commands import arguments, outputs, stderr
from ranker.commands.program import name_flags, refuse, say
from ranker.errors import look_up
from ranker.report import GENERAL, over_tasks
from ranker.results.ranking import Ranking
from ranker.runs.over_tasks import MatchedTasks, decide_each
from ranker.runs.plan import Plan
from ranker.scoring.gate import of_tasks
from ranker.sources.base import ResourceCache


def check(values: Mapping[str, Any], format_name: str) -> None:
    """Refuse options for one task, and output over existing files."""
    look_up("format of several tasks", format_name, GENERAL)
    refuse(values, ["plots"], "takes one task: name it, `--models A#TASK B#TASK`")
    outputs.check({**values, "save": None})
    if values["save"] is not None:
        outputs.check_path(values["save"], "save", force=values["force"], folder=True)


def run(values: Mapping[str, Any], tasks: MatchedTasks, format_name: str) -> None:
    """Decide each task, and report them together; `--save` names a folder, with a file per task.

    Raises:
        SystemExit: 1, a task could not be decided; 3, so with `--not-worse-than`, or its check fails on some task.
    """
    check(values, format_name)
    first = arguments.run_request(_with_models(values, tasks.references_to(tasks.shared[0])), stderr.bars(values))

    def ask(models: Sequence[str], cache: ResourceCache) -> tuple[Plan, Ranking]:
        task_request = replace(first, models=arguments.suite(_with_models(values, models), None, cache))
        run_plan = task_request.plan()
        ranking = task_request.answer(run_plan)
        stderr.check_strict(values, (*ranking.header.notes, *ranking.found.notes))
        return run_plan, outputs.name_flags_in_ranking(ranking).made_by(click.get_current_context().obj)

    if values["dry_run"]:
        say(f"nothing to compute: all answers are in files (tasks: {len(tasks.shared)})")
        return
    with outputs.failing_check(first.base):
        outcome = decide_each(tasks, ask)
    outcome = replace(outcome, failures={task: name_flags(reason) for task, reason in outcome.failures.items()})
    if first.base is not None:
        models = next(
            ranking for task, ranking in outcome.rankings.items() if task not in outcome.failures
        ).table.models
        gate = of_tasks(outcome, tasks.tasks_of(models), first.base, *arguments.gate(values))
        outcome = replace(outcome, gate=gate)
    if values["save"] is not None:
        outputs.save_each(outcome.rankings, values["save"])
    outputs.write_document(over_tasks.document(outcome), format_name, values["output"])
    outputs.report_failures(outcome.failures)
    if outcome.gate is not None:
        outputs.enforce_gate(outcome.gate)
    if outcome.failures:
        raise SystemExit(1)


def _with_models(values: Mapping[str, Any], models: Sequence[str]) -> dict[str, Any]:
    """Return the command line with other models."""
    return {**values, "models": models, "more_models": ()}
