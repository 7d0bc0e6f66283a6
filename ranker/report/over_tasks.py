"""Report of the same models on several tasks: the answer, its tables and remarks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from ranker.numbers import Unit, counted, interval, p_value, points
from ranker.report import gate
from ranker.report.answer import equals, spread
from ranker.report.document import Check, Document
from ranker.report.tables import Table, table
from ranker.results.over_tasks import Gap, OverTasks, Part

HINT = "Next: `rank-models --models A#TASK B#TASK` shows one task with the rows on which the models differ."


def document(board: OverTasks) -> Document:
    """Build the document of the comparison."""
    lead, sentences = answer(board)
    return Document(
        title=board.title,
        tables=tables(board),
        remarks=list(remarks(board)),
        rows=list(_rows(board)),
        content=board.to_dict,
        lead=lead,
        answer=[sentences, HINT],
        verdict=board.gate.headline if board.gate else "",
        checks=list(checks(board)),
    )


def checks(board: OverTasks) -> Iterator[Check]:
    """Yield the checks of a gate, and an error for each task that was not compared."""
    if board.gate:
        yield from gate.checks(board.gate, board.rankings)
    for task, reason in board.failures.items():
        yield Check(task, "the models are compared", "error", f"NOT COMPARED: {reason}")


def answer(board: OverTasks) -> tuple[str, str]:
    """Answer which model is better over the tasks; then how sure that is, and on how many of them."""
    means, first, second = board.whole, *board.models[:2]
    gap = means[-1].gap(first, second)
    values = {mean.model: mean.value for mean in means[-1].means}
    unit, weighting = board.unit, ", each task counting the same" if len(board.tasks) > 1 else ""
    sentences = [
        f"{first} has a mean {'outcome' if not means[-1].metric else means[-1].metric} of "
        f"{unit.value(values[first])}{unit.sign}, {second} {unit.value(values[second])}{unit.sign}{weighting}.",
        f"The difference is {unit.difference(gap.difference)}{unit.points} ({spread(gap.low, gap.high, unit)}; "
        f"p {equals(gap.p)}).",
    ]
    if len(means) > 1:
        pooled = means[0].gap(first, second)
        sentences.append(
            f"With each of the {counted(means[0].rows, 'row')} counting the same it is {points(pooled.difference)} "
            f"points ({interval(pooled.low, pooled.high, points)}; p {equals(pooled.p)})."
        )
    return board.choice.text, " ".join([*sentences, *_each(board, first, second)])


def _each(board: OverTasks, first: str, second: str) -> Iterator[str]:
    """Count the tasks on which one model is told from another as the better one."""
    if len(board.tasks) == 1:
        return
    better = {first: 0, second: 0}
    for part in board.tasks:
        decision = board.rankings[part.name].decision
        i, j = map(decision.names.index, (first, second))
        better[first] += decision.better(i, j)
        better[second] += decision.better(j, i)
    neither = len(board.tasks) - sum(better.values())
    yield (
        f"{first} is better on {counted(better[first], 'task')}, {second} on {better[second]}; "
        f"{counted(neither, 'task is', 'tasks are')} undecided."
    )


def tables(board: OverTasks) -> list[Table]:
    """Return a gate's models and rows, the tasks, the means over them, and, for more than two models, every two."""
    two = ["difference (95 % interval)", "p"] if len(board.models) == 2 else []
    heads = ["rows", *board.models, *two]
    lines = [[*_line(board, part), *([p_value(part.gaps[0].p_corrected)] if two else [])] for part in board.tasks]
    parts = [*gate.tables(board.gate, board.rankings)] if board.gate else []
    parts.append(table("Tasks", ["task"], [*heads, *(["p (Holm)"] if two else [])], lines))
    if board.means:
        parts.append(table("Means over tasks", ["group"], heads, [_line(board, part) for part in board.means]))
    if len(board.models) > 2:
        gaps = [
            (part_name(board, part), gap.a, gap.b, *_gap_cells(gap, board.unit))
            for part in board.means or board.tasks
            for gap in part.gaps
        ]
        parts.append(
            table("Two models at a time", ["group", "model", "minus"], ["difference (95 % interval)", "p"], gaps)
        )
    return parts


def part_name(board: OverTasks, part: Part) -> str:
    """Return a part's name in a table: a task with its metric if the tasks differ in it."""
    if part.over == "task":
        return f"{part.name}, {part.metric}" if len({task.metric for task in board.tasks}) > 1 else part.name
    return f"{part.name}, {part.over}"


def _line(board: OverTasks, part: Part) -> list[str]:
    gaps = part.gaps if len(board.models) == 2 else ()
    means = (board.unit.value(mean.value) for mean in part.means)
    return [
        part_name(board, part),
        f"{part.rows:,}",
        *means,
        *(cell for gap in gaps for cell in _gap_cells(gap, board.unit)),
    ]


def _gap_cells(gap: Gap, unit: Unit) -> tuple[str, str]:
    return f"{unit.difference(gap.difference)} ({interval(gap.low, gap.high, unit.difference)})", p_value(gap.p)


def remarks(board: OverTasks) -> Iterator[str]:
    """Yield omissions, and how to read the tables."""
    for reference, tasks in board.only.items():
        yield f"Only {reference} has {', '.join(tasks)}."
    for task, reason in board.failures.items():
        yield f"NOT COMPARED: {task}: {reason}"
    if len(board.tasks) > 1:
        yield "p (Holm) is corrected for all tasks and pairs. A difference is that of the first model minus the second."
    if board.means:
        pooled = "Pooled: each row counts the same. Macro: each task counts the same."
        yield pooled if any(part.over == "pooled" for part in board.means) else "Macro: each task counts the same."
        yield "Intervals of means over tasks are over other rows of these tasks, not over other tasks."
    if len({part.metric for part in board.tasks}) > 1:
        yield "The tasks have different metrics; a mean over them takes each as an outcome from 0 to 1."
    yield from board.notes


def _rows(board: OverTasks) -> Iterator[dict[str, Any]]:
    """Yield a row for each model and each pair of every part."""
    empty = dict.fromkeys(("model", "value", *(field.name for field in fields(Gap))))
    for part in board.parts:
        head: dict[str, Any] = {"part": part.name, "over": part.over, "metric": part.metric}
        head |= {"tasks": len(part.tasks), "rows": part.rows}
        for mean in part.means:
            yield head | empty | {"model": mean.model, "value": mean.value, "low": mean.low, "high": mean.high}
        for gap in part.gaps:
            yield head | empty | {field.name: getattr(gap, field.name) for field in fields(gap)}
