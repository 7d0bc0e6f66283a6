"""Read votes: which of two models' answers to a row is better.

Layouts, told apart by their columns:

- `model_a`, `model_b`, `winner`, an id of the row and, where several people voted, who did: a table of one's own, and
  the files of MT-bench and the arena (winner by side, by name, `tie`, `tie (bothbad)`, or 0, 0.5 and 1 for the first);
- `model_a`, `model_b` and `winner_model_a`, `winner_model_b`, `winner_tie`: the arena's file with a column for each;
- `generator_1`, `generator_2`, `preference` (1 the first, 2 the second): AlpacaEval's annotations.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from factors.types import Floats, Ints
from ranker.datasets import readers
from ranker.datasets.sheets import SESSION_COLUMNS, csv_table
from ranker.errors import Assumption, DataError, listed
from ranker.files.columns import Columns
from ranker.limits import LIMITS, Limits
from ranker.numbers import counted

IDS = ("id", "item", "question_id", "prompt_id", "example_id", "instruction", "prompt", "question", "input", "text")
"""Columns that say which row was voted on, the first that there is."""

TEXTS = ("instruction", "prompt", "question", "input", "text")
"""Columns that hold the row's text, the first that there is."""

FURTHER = ("turn", "dataset")
"""Columns that tell rows of one id apart."""

RATERS = ("rater", "judge", "annotator", "rater_id", "annotator_id", "user", "worker_id")
"""Columns that say who voted, the first that there is."""

ANSWERS = (("answer_a", "answer_b"), ("output_1", "output_2"), ("response_a", "response_b"))
"""Columns that hold the two answers, the first pair that there is."""

VERDICTS = ("winner", "winner_model_a", "winner_model_b", "winner_tie", "preference")
"""Columns that say which answer is better, of all layouts."""

FIRST = frozenset({"model_a", "a", "first", "left", "1", "1.0", "model_1", "answer_a", "true"})
SECOND = frozenset({"model_b", "b", "second", "right", "0", "0.0", "2", "model_2", "answer_b", "false"})
TIE = frozenset({"tie", "tie (bothbad)", "both", "both bad", "bothbad", "neither", "equal", "draw", "0.5", ".5"})
"""Words for a winner, in lower case."""

ALPACA = {"1": 1.0, "1.0": 1.0, "2": 0.0, "2.0": 0.0, "0": 0.5, "0.0": 0.5, "1.5": 0.5}
"""AlpacaEval's preference -> vote for the first."""


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes, one for each place.

    Attributes:
        models: (M,) names.
        rows: (N,) ids, as text.
        raters: (R,) who voted; ("",) if the file does not say.
        first, second: (V,) models; the first stood on the first side.
        row, rater: (V,) of each vote.
        value: (V,) 1 for the first, 0 for the second, 1/2 for a tie.
        longer: (V,) characters that the first answer has more; nan if the file has no answers.
    """

    origin: str
    models: tuple[str, ...]
    rows: tuple[str, ...]
    raters: tuple[str, ...]
    first: Ints
    second: Ints
    row: Ints
    rater: Ints
    value: Floats
    longer: Floats
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.value)


def read_votes(file: Path | Sequence[Mapping[str, object]], limits: Limits = LIMITS) -> Votes:
    """Read a file of votes.

    Args:
        file: .csv, .tsv, .jsonl, .json or .parquet; or rows in memory.

    Raises:
        DataError: it has no such columns, no vote, a winner that is no side, or a model against itself, with the line.
    """
    columns = readers.content(file, limits=limits)
    cells = {name.casefold(): _texts(columns, name) for name in columns.cells}
    pair, winners, described = _winners(columns, cells)
    places = [n for n in range(columns.size) if winners[n] is not None]
    if not places:
        raise DataError.at(columns.origin, "no vote: the winner of every row is empty")
    sides = [[cells[name][n] for n in places] for name in pair]
    for n, a, b in zip(places, *sides, strict=True):
        if a is None or b is None or a == b:
            problem = f"{a!r} stands against itself" if a and a == b else "a model is missing"
            raise DataError.at(columns.place(n), problem, value=a)
    ids = _ids(cells, columns.size)
    _check_texts(columns, cells, ids)
    by = next((name for name in RATERS if name in cells), "")
    voters = [(cells[by][n] or "" if by else "") for n in places]
    models = tuple(dict.fromkeys(name for pair_of in zip(*sides, strict=True) for name in pair_of if name))
    rows, raters = tuple(dict.fromkeys(ids[n] for n in places)), tuple(dict.fromkeys(voters))
    empty = columns.size - len(places)
    left_out = [f"Left out, for want of a winner: {counted(empty, 'row')}."] if empty else []
    return Votes(
        columns.origin,
        models,
        rows,
        raters,
        _codes(sides[0], models),
        _codes(sides[1], models),
        _codes([ids[n] for n in places], rows),
        _codes(voters, raters),
        np.array([winners[n] for n in places], dtype=float),
        _longer(cells, places),
        (
            f"Votes: {described}.",
            *([f"{by!r} says who voted."] if by else []),
            *left_out,
            *_unread_notes(columns, {*pair, by}),
        ),
    )


def _unread_notes(columns: Columns, used: Collection[str]) -> Iterator[str]:
    """Name the columns that are not read, of which `used` are; those of a session's file are all known."""
    names = [*columns.cells, *columns.unread]
    present = {name.casefold() for name in names}
    read_names = {
        *used,
        *VERDICTS,
        *FURTHER,
        *(next((name for name in group if name in present), "") for group in (IDS, TEXTS)),
    }
    read_names |= {*next((pair for pair in ANSWERS if {*pair} <= present), ())}
    unread = [name for name in names if name.casefold() not in read_names]
    if unread and not present >= SESSION_COLUMNS:
        hint = "" if present & {*RATERS} else f" A column {RATERS[0]!r} would say who voted."
        yield Assumption(f"Unread columns: {listed(unread)}.{hint}")


def _winners(
    columns: Columns, cells: Mapping[str, Sequence[str | None]]
) -> tuple[tuple[str, str], list[float | None], str]:
    """Return the columns of the two models, the vote of each row for the first, and how it was read."""
    pair = ("model_a", "model_b")
    one_hot = ("winner_model_a", "winner_model_b", "winner_tie")
    if {*pair, "winner"} <= {*cells}:
        values = [_winner(columns, cells, n) for n in range(columns.size)]
        return pair, values, "'winner' says which of 'model_a' and 'model_b' is better"
    if {*pair, *one_hot} <= {*cells}:
        shares = [[float(cells[name][n] or 0) for name in one_hot] for n in range(columns.size)]
        winners = [a + tie / 2 if a + b + tie == 1 else None for a, b, tie in shares]
        return pair, winners, "'winner_model_a', 'winner_model_b' and 'winner_tie' say who won"
    if {"generator_1", "generator_2", "preference"} <= {*cells}:
        preferences = cells["preference"]
        unread = next((n for n, cell in enumerate(preferences) if cell and cell not in ALPACA), None)
        if unread is not None:
            text = f"a preference must be 1, 2, or 0 or 1.5 for a tie (got {preferences[unread]!r})"
            raise DataError.at(columns.place(unread), text, value=preferences[unread])
        winners = [None if cell is None else ALPACA[cell] for cell in preferences]
        return ("generator_1", "generator_2"), winners, "'preference' says which of two generators is better"
    names = listed(map(repr, columns.cells))
    text = f"no votes: 'model_a', 'model_b' and 'winner' are needed, or AlpacaEval's columns (columns: {names})"
    raise DataError.at(columns.origin, text)


def _winner(columns: Columns, cells: Mapping[str, Sequence[str | None]], n: int) -> float | None:
    """Return the vote of a row for its first model; None if its winner is empty."""
    cell, a, b = cells["winner"][n], cells["model_a"][n], cells["model_b"][n]
    if cell is None:
        return None
    if cell in (a, b):
        return float(cell == a)
    word = cell.strip().casefold()
    for words, value in ((FIRST, 1.0), (SECOND, 0.0), (TIE, 0.5)):
        if word in words:
            return value
    text = f"a winner must be model_a, model_b, tie, or the name of {a} or {b} (got {cell[:50]!r})"
    raise DataError.at(columns.place(n), text, value=cell)


def _ids(cells: Mapping[str, Sequence[str | None]], size: int) -> list[str]:
    """Return which row each vote is about; its line, where no column says so."""
    columns_of_id = [name for name in IDS if name in cells][:1]
    if not columns_of_id:
        return [str(n + 1) for n in range(size)]
    columns_of_id += [name for name in FURTHER if name in cells]
    return [" / ".join(cells[name][n] or "" for name in columns_of_id) for n in range(size)]


def _longer(cells: Mapping[str, Sequence[str | None]], places: Sequence[int]) -> Floats:
    """Return characters that the first answers have more; nan where one is missing."""
    pair = next((pair for pair in ANSWERS if {*pair} <= {*cells}), None)
    if pair is None:
        return np.full(len(places), np.nan)
    first, second = (
        np.array([np.nan if cells[name][n] is None else len(cells[name][n] or "") for n in places]) for name in pair
    )
    return np.asarray(first - second)


def _check_texts(columns: Columns, cells: Mapping[str, Sequence[str | None]], ids: Sequence[str]) -> None:
    """Refuse an id with two texts."""
    texts: dict[str, str] = {}
    name = next((name for name in TEXTS if name in cells), "")
    for n, text in enumerate(cells[name] if name else ()):
        if text is not None and texts.setdefault(ids[n], text) != text:
            raise DataError.at(columns.place(n), f"the id {ids[n][:50]!r} has another text above", value=ids[n])


def _texts(columns: Columns, name: str) -> list[str | None]:
    """Return the cells of a column as texts."""
    return [None if cell is None else str(cell) for cell in columns.cells[name].to_pylist()]


def _codes(cells: Sequence[Any], names: Sequence[str]) -> Ints:
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[cell] for cell in cells], dtype=np.int64)


def of_raters(votes: Votes, keep: Callable[[str], bool]) -> Votes:
    """Return the votes of some raters."""
    chosen = np.array([keep(votes.raters[rater]) for rater in votes.rater.tolist()])
    arrays = {name: getattr(votes, name)[chosen] for name in ("first", "second", "row", "rater", "value", "longer")}
    return replace(votes, **arrays)


WINNERS = {1.0: "model_a", 0.0: "model_b", 0.5: "tie"}
"""Vote for the first -> its winner in a file."""


def _lines(votes: Votes, row: str, rater: str) -> Iterator[dict[str, str]]:
    """Yield the cells of each vote; `row` and `rater` are their columns of these."""
    arrays = (votes.row, votes.first, votes.second, votes.value, votes.rater)
    for n, first, second, value, voter in zip(*(array.tolist() for array in arrays), strict=True):
        by = {rater: votes.raters[voter]} if votes.raters[voter] else {}
        pair = {"model_a": votes.models[first], "model_b": votes.models[second]}
        yield {row: votes.rows[n], **pair, "winner": WINNERS[value], **by}


def to_table(votes: Votes) -> str:
    """Write votes as a table: id, model_a, model_b, winner, and who voted if that is known.

    Example:
        >>> votes = read_votes([{"id": 7, "model_a": "x", "model_b": "y", "winner": "y"}])
        >>> print(to_table(votes), end="")
        id,model_a,model_b,winner
        7,x,y,model_b
    """
    names = ("id", "model_a", "model_b", "winner", *(["rater"] if any(votes.raters) else []))
    return csv_table(names, [*_lines(votes, "id", "rater")])


def to_arena(votes: Votes) -> str:
    """Write votes as JSON lines in the arena's layout."""
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in _lines(votes, "question_id", "judge"))


EXPORTS = {"votes": to_table, "arena": to_arena}
