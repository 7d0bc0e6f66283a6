"""Report of models over many sets: the answer, its tables, figures and remarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ranker.domains.report import trends
from ranker.domains.report.correlations import correlations
from ranker.domains.report.trends import MAX_MODEL_ROWS, MAX_SET_COLUMNS
from ranker.domains.results.over_sets import OnAverage, OverSets
from ranker.errors import listed
from ranker.numbers import counted, p_value, percent, points, probability
from ranker.report.answer import equals
from ranker.report.document import Document
from ranker.report.tables import Table, letters, table
from ranker.results.result import NAMES

if TYPE_CHECKING:
    from ranker.report.figures import Drawing


def document(board: OverSets) -> Document:
    """Build the document of the comparison."""
    return Document(
        title=board.title,
        tables=list(tables(board)),
        remarks=list(remarks(board)),
        rows=board.to_rows(),
        content=board.to_dict,
        lead=board.choice.text,
        answer=answer(board),
        drawn=partial(_drawings, board),
    )


def _drawings(board: OverSets) -> Sequence[Drawing]:
    from ranker.domains.report.sets_figures import drawings  # and matplotlib with it

    return drawings(board)


def answer(board: OverSets) -> list[str]:
    """Answer how sure the first place is, which models share it, and what the trends are."""
    first = board.models[0]
    by = (
        f"{'lowest' if board.lower_is_better else 'highest'} mean, {percent(first.value)} %"
        if board.missing != "ranks"
        else f"best mean rank, {first.friedman:.2f}"
    )
    clauses = [f"{first.model} has the {by}"]
    if first.p_first is not None:
        clauses.append(f"and is first in {probability(first.p_first)} % of draws of {' and '.join(board.draws_of)}")
    lines = [f"{', '.join(clauses)}."]
    if board.test is not None:
        differ = "do not differ" if board.test.p >= 0.05 else "differ"
        lines[0] += f" By Friedman's test the models {differ} (p {equals(board.test.p)})."
        tied = [name for name in board.tied if name != first.model]
        lines[0] += f" Nemenyi's test does not tell {listed(tied, NAMES)} from the first." if tied else ""
    if board.on_average is not None:
        lines.append(_labels(board.on_average))
    if board.trends:
        lines.append(trends.answer(board.trends))
    return lines


def _labels(average: OnAverage) -> str:
    """Answer which model is best on average by a few labels, and which sets the next labels go to."""
    first, second = average.first, average.second
    sure = f"{first} is the best on average with a probability of {probability(average.p_best[first])} %."
    if not any({first, second} <= {*group} for group in average.groups):
        return f"{sure} It is told from {second}."
    needs = sorted(average.next_labels.items(), key=lambda need: -need[1])
    shares = [f"{count:,} of {name}" for name, count in needs if count]
    total = counted(sum(average.next_labels.values()), "label")
    return f"{sure} The next {total} would best tell it from {second} as: {listed(shares, NAMES)}."


def tables(board: OverSets) -> Iterator[Table]:
    """Yield the order, the tasks, the first against the others, and the trends."""
    yield order(board)
    yield by_rank(board)
    if board.on_average is not None:
        yield on_average(board, board.on_average)
    if 1 < len(board.tasks) <= MAX_SET_COLUMNS:
        yield by_task(board)
    if board.levels:
        yield from by_level(board)
    if any(pair.wilcoxon is not None or pair.nemenyi is not None for pair in board.differences):
        yield against_first(board)
    if board.trends:
        yield from trends.tables(board)
    yield from correlations(sorted(board.correlations, key=lambda fit: fit.outcome == "drop"))


def order(board: OverSets) -> Table:
    """Tabulate each model's means and decay, and the interval of its rank."""
    rows = (
        (
            *(str(model.rank), model.model, percent(model.value), percent(model.in_domain), percent(model.decay)),
            *("" if model.low is None else f"{model.low} to {model.high}", probability(model.p_first)),
        )
        for model in board.models
    )
    optional = ["in-domain", "decay", "rank, 95 %", "P(first)"]
    return table("Models", ["rank", "model"], ["OOD", *optional], rows).without_empty(*optional)


def by_rank(board: OverSets) -> Table:
    """Tabulate each model's mean ranks over the tasks, and its rank by decay."""
    rows = (
        (
            *(model.model, f"{model.friedman:.2f}"),
            "" if model.friedman_in_domain is None else f"{model.friedman_in_domain:.2f}",
            "" if model.rank_by_decay is None else str(model.rank_by_decay),
        )
        for model in board.models
    )
    optional = ["in-domain", "by decay"]
    return table("Ranks", ["model"], ["mean rank", *optional], rows).without_empty(*optional)


def on_average(board: OverSets, average: OnAverage) -> Table:
    """Tabulate P(best on average) of each model, and the others not told from it."""
    rows, tied = [], letters(average.groups)
    for i, name in enumerate(board.names):
        beats = ("" if i == j else probability(p) for j, p in enumerate(average.p_beats[i][:MAX_SET_COLUMNS]))
        near = probability(average.p_best[name]), probability(average.p_near_best[name])
        rows.append((name, tied.get(name, ""), *near, *beats))
    ranks = [f"> {i + 1}" for i in range(min(len(board.names), MAX_SET_COLUMNS))]
    return table("Best on average", ["model", "tied"], ["P(best)", "P(near best)", *ranks], rows)


def by_task(board: OverSets) -> Table:
    """Tabulate each model's value on each task."""
    rows = ((model.model, *(percent(model.tasks[task]) for task in board.tasks)) for model in board.models)
    return table("Values by task", ["model"], list(board.tasks), rows)


def by_level(board: OverSets) -> Iterator[Table]:
    """Tabulate each model's mean value at each level, and what it loses there."""
    rows = ((model.model, *map(percent, model.levels.values())) for model in board.models)
    yield table("Values by level", ["model / value"], list(board.levels), rows)
    if any(drop is not None for model in board.models for drop in model.drops.values()):
        rows = ((model.model, *(points(drop) for drop in model.drops.values())) for model in board.models)
        yield table("Drops by level, points", ["model / drop"], list(board.levels), rows)


def against_first(board: OverSets) -> Table:
    """Tabulate the difference between the first model and each other, with its tests."""
    first = board.models[0].model
    rows = [
        (
            pair.b,
            points(pair.difference),
            p_value(pair.nemenyi),
            p_value(pair.wilcoxon),
            p_value(pair.holm),
            *(probability(p) for p in (pair.p_better, pair.p_same, pair.p_worse)),
        )
        for pair in board.differences
        if pair.a == first
    ]
    numbers = ["points", "p Nemenyi", "p Wilcoxon", "p Holm", "P(better)", "P(same)", "P(worse)"]
    return table(f"{first} against", ["model"], numbers, rows[:MAX_MODEL_ROWS])


def remarks(board: OverSets) -> Iterator[str]:
    """Yield the remarks for a reader of the tables, a sentence each."""
    yield from board.notes
    if board.test is not None:
        yield (
            f"Mean ranks that are less than {board.test.critical_difference:.2f} apart are not told from each other "
            "(Nemenyi, 5 %)."
        )
    if any(difference.p_same is not None for difference in board.differences):
        yield f"P(same): no more than {board.rope:g} apart, by the Bayesian signed-rank test over tasks."
    if board.lower_is_better:
        yield (
            "Lower values are better: differences and robustness below 0 favour a model, and types of trends are those "
            "of the negated values."
        )
    if len(board.models) > MAX_MODEL_ROWS + 1:
        yield f"The JSON has {counted(len(board.models) - MAX_MODEL_ROWS - 1, 'more model')} against the first."
    if len(board.tasks) > MAX_SET_COLUMNS:
        yield f"The CSV has the values on all {counted(len(board.tasks), 'task')}."
    yield from trends.remarks(board.trends)
