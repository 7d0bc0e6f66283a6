"""Models over many sets: the answer, its tables, figures and remarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ranker.errors import listed
from ranker.numbers import counted, p_value, percent, points, probability
from ranker.report import trends
from ranker.report.answer import equals
from ranker.report.document import Document
from ranker.report.tables import Table, letters, table
from ranker.report.trends import LONGEST, WIDEST
from ranker.results.over_sets import OnAverage, OverSets
from ranker.results.result import NAMES

if TYPE_CHECKING:
    from ranker.report.figures import Drawing


def document(found: OverSets) -> Document:
    """What was found, before any format."""
    return Document(
        title=found.title,
        tables=list(tables(found)),
        remarks=list(remarks(found)),
        rows=found.to_rows(),
        content=found.to_dict(),
        lead=f"First: {found.models[0].model}",
        answer=answer(found),
        drawn=partial(_drawings, found),
    )


def _drawings(found: OverSets) -> Sequence[Drawing]:
    from ranker.report.sets_figures import drawings  # and matplotlib with it

    return drawings(found)


def answer(found: OverSets) -> list[str]:
    """How sure it is who leads, who is not told from the first, and what in-domain values say."""
    first = found.models[0]
    by = (
        f"highest mean, {percent(first.value)} %"
        if found.missing != "ranks"
        else f"best mean rank, {first.friedman:.2f}"
    )
    said = [f"{first.model} has the {by}"]
    if first.p_first is not None:
        said.append(f"and is first in {probability(first.p_first)} % of draws of {' and '.join(found.draws_of)}")
    lines = [f"{', '.join(said)}."]
    if found.test is not None:
        differ = "do not differ" if found.test.p_f >= 0.05 else "differ"
        lines[0] += f" By Friedman's test the models {differ} (p {equals(found.test.p_f)})."
        others = [name for name in found.tied if name != first.model]
        lines[0] += f" Nemenyi's test does not tell {listed(others, NAMES)} from the first." if others else ""
    if found.on_average is not None:
        lines.append(_labels(found.on_average))
    if found.trends:
        lines.append(trends.answer(found.trends))
    return lines


def _labels(known: OnAverage) -> str:
    """Who is best on average by a few labels, and which set needs more."""
    sure = f"{known.first} is the best on average with a probability of {probability(known.p_best[known.first])} %."
    if known.more_labels is None:
        return f"{sure} How many labels would tell it from {known.second} cannot be said."
    needed = [f"{count:,} of {name}" for name, count in sorted(known.more_labels.items(), key=lambda x: -x[1]) if count]
    if not needed:
        return f"{sure} It is told from {known.second}."
    return f"{sure} About these more labels would tell it from {known.second}: {listed(needed, NAMES)}."


def tables(found: OverSets) -> Iterator[Table]:
    """The order, the tasks, the first against the others, trends, and what they say of each model."""
    yield order(found)
    yield by_rank(found)
    if found.on_average is not None:
        yield on_average(found, found.on_average)
    if 1 < len(found.tasks) <= WIDEST:
        yield by_task(found)
    if any(one.wilcoxon is not None or one.nemenyi is not None for one in found.differences):
        yield against_first(found)
    if found.trends:
        yield from trends.tables(found)


def order(found: OverSets) -> Table:
    """Each model's means and decay, and where it may stand."""
    known = any(one.in_domain is not None for one in found.models)
    drawn = any(one.low is not None for one in found.models)
    rows = (
        (
            *(str(one.rank), one.model, percent(one.value)),
            *((percent(one.in_domain), percent(one.decay)) if known else ()),
            *(("" if one.low is None else f"{one.low} to {one.high}", probability(one.p_first)) if drawn else ()),
        )
        for one in found.models
    )
    numbers = ["OOD", *(["in-domain", "decay"] if known else []), *(["rank, 95 %", "P(first)"] if drawn else [])]
    return table("Models", ["rank", "model"], numbers, rows)


def by_rank(found: OverSets) -> Table:
    """Each model's mean ranks over the tasks, and its rank by decay."""
    known = any(one.friedman_in_domain is not None for one in found.models)
    rows = (
        (
            *(one.model, f"{one.friedman:.2f}"),
            *(("" if one.friedman_in_domain is None else f"{one.friedman_in_domain:.2f}",) if known else ()),
            *(("" if one.rank_by_decay is None else str(one.rank_by_decay),) if known else ()),
        )
        for one in found.models
    )
    return table("Ranks", ["model"], ["mean rank", *(["in-domain", "by decay"] if known else [])], rows)


def on_average(found: OverSets, known: OnAverage) -> Table:
    """How probable each model is the best on average, and which others are not told from it."""
    rows = []
    for i, name in enumerate(found.names):
        beats = ("" if i == j else probability(p) for j, p in enumerate(known.p_beats[i][:WIDEST]))
        rows.append(
            (
                name,
                letters(name, known.groups),
                probability(known.p_best[name]),
                probability(known.p_near_best[name]),
                *beats,
            )
        )
    others = [f"> {i + 1}" for i in range(min(len(found.names), WIDEST))]
    return table("Best on average", ["model", "tied"], ["P(best)", "P(near best)", *others], rows)


def by_task(found: OverSets) -> Table:
    """Each model's value on each task."""
    rows = ((one.model, *(percent(one.tasks[task]) for task in found.tasks)) for one in found.models)
    return table("Values by task", ["model"], list(found.tasks), rows)


def against_first(found: OverSets) -> Table:
    """How far the first model is from each other, and whether that is told from nothing."""
    first = found.models[0].model
    rows = [
        (
            one.b,
            points(one.difference),
            p_value(one.nemenyi),
            p_value(one.wilcoxon),
            p_value(one.holm),
            *(probability(p) for p in (one.p_better, one.p_same, one.p_worse)),
        )
        for one in found.differences
        if one.a == first
    ]
    numbers = ["points", "p Nemenyi", "p Wilcoxon", "p Holm", "P(better)", "P(same)", "P(worse)"]
    return table(f"{first} against", ["model"], numbers, rows[:LONGEST])


def remarks(found: OverSets) -> Iterator[str]:
    """What a reader of the tables has to know, a sentence each."""
    yield from found.notes
    if found.test is not None:
        yield (
            f"Mean ranks that are less than {found.test.critical_difference:.2f} apart are not told from each other "
            "(Nemenyi, 5 %)."
        )
    if any(one.p_same is not None for one in found.differences):
        yield f"P(same): no more than {found.rope:g} apart, by the Bayesian signed-rank test over tasks."
    if len(found.models) > LONGEST + 1:
        yield f"{counted(len(found.models) - LONGEST - 1, 'model')} more against the first: in the JSON."
    if len(found.tasks) > WIDEST:
        yield f"Values on {counted(len(found.tasks), 'task')}: in the CSV."
    yield from trends.remarks(found.trends)
