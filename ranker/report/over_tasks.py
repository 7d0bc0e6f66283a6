"""The same models on several tasks: the answer, its tables and remarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from ranker.numbers import Unit, counted, interval, p_value, points
from ranker.report.answer import equals, spread
from ranker.report.document import Document
from ranker.report.remarks import verdict
from ranker.report.tables import Table, table
from ranker.results.over_tasks import Gap, OverTasks, Part

SURE, PROBABLE = 0.05, 0.2
"""p of a mean over tasks below which a model may be called better, and probably better: its interval leaves out 0, and
the chance that it is the worse one is below 10 %."""

HINT = "Next: `rank-models --models A#TASK B#TASK` shows one task with the rows on which the models differ."


def document(found: OverTasks) -> Document:
    """What was found, before any format."""
    lead, said = answer(found)
    return Document(
        title=found.title,
        tables=tables(found),
        remarks=list(remarks(found)),
        rows=list(_rows(found)),
        content=found.to_dict(),
        lead=lead,
        answer=[said, HINT],
    )


def answer(found: OverTasks) -> tuple[str, str]:
    """Which model is better over the tasks; then how sure that is, and on how many of them."""
    whole, first, second = found.whole, *found.models[:2]
    gap = whole[-1].gap(first, second)
    on = f"on {found.tasks[0].name}" if len(whole) == 1 else f"over {counted(len(found.tasks), 'task')}"
    sure, probable = _strength(found, whole, first, second)
    better = "better" if len(found.models) == 2 else "first"
    lead = f"{better.capitalize() if sure else f'Probably {better}'} {on}: {first}"
    if not sure and not probable:
        lead = f"Not told apart {on}: {first} and {second}"
    values = {mean.model: mean.value for mean in whole[-1].means}
    of, each = found.unit, ", each task counting the same" if len(found.tasks) > 1 else ""
    said = [
        f"{first} has a mean {'outcome' if not whole[-1].metric else whole[-1].metric} of "
        f"{of.value(values[first])}{of.sign}, {second} {of.value(values[second])}{of.sign}{each}.",
        f"The difference is {of.difference(gap.difference)}{of.points} ({spread(gap.low, gap.high, of)}; "
        f"p {equals(gap.p)}).",
    ]
    if len(whole) > 1:
        pooled = whole[0].gap(first, second)
        said.append(
            f"With each of the {counted(whole[0].rows, 'row')} counting the same it is {points(pooled.difference)} "
            f"points ({interval(pooled.low, pooled.high, points)}; p {equals(pooled.p)})."
        )
    return lead, " ".join([*said, *_each(found, first, second)])


def _strength(found: OverTasks, whole: Sequence[Part], first: str, second: str) -> tuple[bool, bool]:
    """Whether the first model may be called better, and probably better: of one task as its decision has it."""
    if len(found.tasks) == 1:
        decision = found.rankings[whole[0].name].decision
        i, j = map(decision.names.index, (first, second))
        return decision.better(i, j), decision.apart(i, j) and decision.p_beats[i][j] > 0.5
    p = whole[-1].gap(first, second).p
    return p is not None and p < SURE, p is not None and p < PROBABLE


def _each(found: OverTasks, first: str, second: str) -> Iterator[str]:
    """On how many of several tasks one model is told from another as the better one."""
    if len(found.tasks) == 1:
        return
    better = {first: 0, second: 0}
    for part in found.tasks:
        decision = found.rankings[part.name].decision
        i, j = map(decision.names.index, (first, second))
        better[first] += decision.better(i, j)
        better[second] += decision.better(j, i)
    neither = len(found.tasks) - sum(better.values())
    yield (
        f"{first} is better on {counted(better[first], 'task')}, {second} on {better[second]}; on {neither} that is "
        "not sure."
    )


def tables(found: OverTasks) -> list[Table]:
    """The tasks, the means over them, and, of more than two models, two at a time."""
    two = ["difference (95 % interval)", "p"] if len(found.models) == 2 else []
    heads = ["rows", *found.models, *two]
    lines = [[*_line(found, part), *_corrected(part, bool(two))] for part in found.tasks]
    made = [table("Tasks", ["task"], [*heads, *(["p (Holm)"] if two else [])], lines)]
    if found.means:
        made.append(table("Means over tasks", ["group"], heads, [_line(found, part) for part in found.means]))
    if len(found.models) > 2:
        gaps = [
            (part_name(found, part), gap.a, gap.b, *_said(gap, found.unit))
            for part in found.means or found.tasks
            for gap in part.gaps
        ]
        made.append(
            table("Two models at a time", ["group", "model", "minus"], ["difference (95 % interval)", "p"], gaps)
        )
    return made


def part_name(found: OverTasks, part: Part) -> str:
    """What a part is called in a table: a task with its metric, where that is not the same for all."""
    if part.over == "task":
        return f"{part.name}, {part.metric}" if len({one.metric for one in found.tasks}) > 1 else part.name
    return f"{part.name}, {part.over}"


def _line(found: OverTasks, part: Part) -> list[str]:
    gaps = part.gaps if len(found.models) == 2 else ()
    means = (found.unit.value(mean.value) for mean in part.means)
    return [
        part_name(found, part),
        f"{part.rows:,}",
        *means,
        *(cell for gap in gaps for cell in _said(gap, found.unit)),
    ]


def _corrected(part: Part, wanted: bool) -> list[str]:
    return [p_value(part.gaps[0].p_corrected)] if wanted else []


def _said(gap: Gap, of: Unit) -> tuple[str, str]:
    return f"{of.difference(gap.difference)} ({interval(gap.low, gap.high, of.difference)})", p_value(gap.p)


def remarks(found: OverTasks) -> Iterator[str]:
    """What is not in the tables, and how they are to be read."""
    if found.gate:
        yield verdict(found.gate)
    for reference, tasks in found.only.items():
        yield f"Only {reference} has {', '.join(tasks)}."
    for task, why in found.failures.items():
        yield f"NOT COMPARED: {task}: {why}"
    if len(found.tasks) > 1:
        yield "p (Holm) is corrected for all tasks and pairs. A difference is that of the first model minus the second."
    if found.means:
        pooled = "Pooled: each row counts the same. Macro: each task does."
        yield pooled if any(part.over == "pooled" for part in found.means) else "Macro: each task counts the same."
        yield "Intervals of means over tasks say what other rows of these tasks would give, and nothing of other tasks."
    if len({part.metric for part in found.tasks}) > 1:
        yield "The tasks have different metrics; a mean over them takes each as an outcome from 0 to 1."
    yield from found.notes


def _rows(found: OverTasks) -> Iterator[dict[str, Any]]:
    """A row for each model and each pair of every part."""
    empty = dict.fromkeys(("model", "value", *(one.name for one in fields(Gap))))
    for part in found.parts:
        of = {"part": part.name, "over": part.over, "metric": part.metric, "tasks": len(part.tasks), "rows": part.rows}
        for mean in part.means:
            yield of | empty | {"model": mean.model, "value": mean.value, "low": mean.low, "high": mean.high}
        for gap in part.gaps:
            yield of | empty | {one.name: getattr(gap, one.name) for one in fields(gap)}
