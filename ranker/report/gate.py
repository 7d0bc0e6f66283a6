"""The check of CI in a report: each model held to the base, and the rows that it lost and won."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ranker.report.decision import Flip, flip_places, flips_at
from ranker.report.document import Check, CheckState
from ranker.report.tables import MANY_MODELS, Table, cut, table
from ranker.results.gate import Gate, HeldModel
from ranker.results.ranking import Ranking

MAX_ROWS = MAX_LISTED = 5
"""Rows that a model lost, and rows that it won, that are listed, at most; models, or tasks, with such a list."""

MAX_CHARACTERS = 60
"""Characters shown of an answer."""

FORMATS = ("table", "markdown", "html")
"""Formats that list rows; a paper needs none."""


def tables(gate: Gate, rankings: Mapping[str, Ranking]) -> Iterator[Table]:
    """Yield the models held to the base, if there are several, and the first rows that each lost and won.

    Args:
        rankings: task -> its decision; "" for a single one.
    """
    several = any(held.task for held in gate.held)
    if len(gate.held) > 1:
        yield _held_models(gate)
    names = [*dict.fromkeys(held.model for held in gate.held)]
    rows = [
        (
            *(held.task, held.model if len(names) > 1 else ""),
            *(flip.id, "lost" if flip.worse else "won"),
            *(cut(text, MAX_CHARACTERS) for text in (*flip.answers, flip.label)),
        )
        for held in _failing_first(gate)[:MAX_LISTED]
        for flip in lost_and_won(gate, held, rankings)
    ]
    if rows:
        first_lists = f" The first {MAX_LISTED} of {len(gate.held):,} comparisons, those that fail before the others."
        answers = [f"{gate.base} says", f"{names[0]} says" if len(names) == 1 else "it says", "true label"]
        yield table(
            *(f"Rows lost and won against {gate.base}", ["task", "model", "row", "result", *answers], [], rows),
            help=f"The first {MAX_ROWS} rows of each.{first_lists if len(gate.held) > MAX_LISTED else ''}",
            formats=FORMATS if several or len(names) > 1 else FORMATS[:-1],  # a page lists all rows of two models
        ).without_empty("task", "model")


def _held_models(gate: Gate) -> Table:
    rows = [
        (
            *(held.task, held.model, "passed" if held.passes else "not passed"),
            *("" if count is None else f"{count:,}" for count in (held.lost, held.won)),
            held.why,
        )
        for held in _failing_first(gate)
    ]
    caption = f"No worse than {gate.base}?"
    if len(rows) > MANY_MODELS:
        caption = f"{caption} The first {MANY_MODELS} of {len(rows):,}"
    texts = ["task", "model", "check"]
    return table(caption, texts, ["lost", "won"], rows[:MANY_MODELS], last=["bound"]).without_empty("task")


def _failing_first(gate: Gate) -> list[HeldModel]:
    return sorted(gate.held, key=lambda held: held.passes)


def lost_and_won(gate: Gate, held: HeldModel, rankings: Mapping[str, Ranking]) -> list[Flip]:
    """Return the first rows on which a model did worse than the base, and the first on which it did better."""
    ranking = rankings[held.task]
    worse, better = flip_places(ranking.table, gate.base, held.model)
    return flips_at(ranking, gate.base, held.model, [*worse[:MAX_ROWS], *better[:MAX_ROWS]])


def checks(gate: Gate, rankings: Mapping[str, Ranking]) -> Iterator[Check]:
    """Yield a check for each model on each task, with its rows, and one for gaps of the comparison."""
    for held in gate.held:
        rows = () if held.passes else lost_and_won(gate, held, rankings)
        yield Check(
            held.task,
            f"{held.model} is no worse than {gate.base}",
            "passed" if held.passes else "failed",
            held.reason,
            tuple(_line(gate.base, held.model, flip) for flip in rows),
        )
    state: CheckState = "passed" if not gate.absent else "allowed" if gate.allow_absent else "failed"
    yield Check("", "nothing is absent", state, "; ".join(gate.absent))


def _line(base: str, model: str, flip: Flip) -> str:
    """Describe a row in a line."""
    first, second, label = (cut(text, MAX_CHARACTERS) for text in (*flip.answers, flip.label))
    verb, true = "lost" if flip.worse else "won", f"; true label {label}" if label else ""
    return f"{verb} {flip.id}: {base} said {first}, {model} said {second}{true}"
