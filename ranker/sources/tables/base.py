"""Records of tables of predictions: hints about a file, answers of its models, and rows.

Axis letters: n rows of the file, N requested rows, C classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from factors.types import Bools, Floats, Frozen, Ints
from ranker.files.columns import Columns as Columns
from ranker.sources.usage import RowUsage
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER

Kind = Literal["labels", "probabilities", "logits", "log-likelihoods", "outcomes", "values"]
"""Type of the cells of a model: labels, scores of all labels, outcomes (how right an answer is), or values that the
task parses (tags, texts, numbers)."""

KINDS: tuple[Kind, ...] = get_args(Kind)

Small = npt.NDArray[np.int8]

UNIT = (0.0, 1.0)
"""Worst and best outcome unless the user names others."""

JOINT = " + "
"""Sign between the columns that tell a row together, in the name of the column that is made of them."""

NONE = -1
"""Code of a cell without a label."""


@dataclass(frozen=True)
class TableHints:
    """Statements of the user about a table, as in `TableOptions`. The rest is inferred, or an error asks for it.

    Attributes:
        prediction: columns, or names of column groups, that hold answers; each is a model.
        id: column of the row ids.
    """

    prediction: tuple[str, ...] = ()
    truth: str = ""
    id: str = ""
    cluster: str = ""
    answers: Kind | Literal[""] = ""
    label_map: Mapping[str, str] = field(default_factory=dict)
    empty_words: tuple[str, ...] | None = None
    scale: tuple[float, float] = UNIT
    lower_is_better: bool = False
    runs: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label_map", Frozen(self.label_map))


@dataclass(frozen=True, eq=False)
class TableAnswerColumn:
    """Answers of one model to N rows.

    Labels are stored as small integers, so that 1,000 models fit into memory; `probs` is computed on access.

    Attributes:
        classes: C; 0 without labels.
        answers: (N,) label codes as small integers, `NONE` for none; or (N, C) probabilities, or (N,) outcomes in
            [0, 1], both nan for none; or (N,) raw cells, None if empty. Read-only.
        state: (N,) `ANSWERED`, `NO_ANSWER`, `ERROR` or `MISSING`, as small integers. Read-only.
        notes: how the cells were read, in sentences.
        usage: what the answers took, row by row; None if the file does not state it.
    """

    name: str
    kind: Kind
    classes: int
    answers: npt.NDArray[Any]
    state: Small
    notes: tuple[str, ...] = ()
    usage: RowUsage | None = None

    def __post_init__(self) -> None:
        for array in (self.answers, self.state):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.state)

    @property
    def probs(self) -> Floats | None:
        """(N, C) probabilities: one-hot for labels, nan without an answer; None for outcomes."""
        if not self.classes:
            return None
        if self.answers.ndim == 2:
            return self.answers
        of_label = np.vstack([np.eye(self.classes), np.full(self.classes, np.nan)])
        probs = of_label[np.where(self.state == ANSWERED, self.answers, NONE)]
        probs.flags.writeable = False
        return probs

    @property
    def outcomes(self) -> Floats | None:
        """(N,) outcomes: 0 for no answer, nan if unknown; None if the column holds no outcomes."""
        return self.answers if self.kind == "outcomes" else None

    @property
    def predicted(self) -> Ints:
        """(N,) label of the highest probability (the first of ties); `NONE` without an answer.

        Raises:
            ValueError: the column holds outcomes only.
        """
        if self.kind == "outcomes":
            raise ValueError(f"{self.name}: outcomes say what was right, and not what was said")
        if self.answers.ndim == 1:
            return self.answers.astype(np.int64)
        highest = np.where(np.isnan(self.answers), -np.inf, self.answers).argmax(axis=1)
        return np.where(self.state == ANSWERED, highest, NONE)

    def correct(self, truth: Ints) -> Floats:
        """Return (N,) how right the answers are by (N,) true labels: 0 for no answer, nan if unknown."""
        judged = (self.state == ANSWERED) | (self.state == NO_ANSWER)
        right = self.answers if self.kind == "outcomes" else (self.predicted == truth).astype(float)
        return np.where(judged, np.where(self.state == NO_ANSWER, 0.0, right), np.nan)

    def part(self, places: Sequence[int] | Ints) -> TableAnswerColumn:
        """Select answers by position; a position of -1 becomes a `MISSING` row."""
        positions = np.asarray(places, dtype=np.int64)
        present = positions >= 0
        empty = {"i": NONE, "O": None}.get(self.answers.dtype.kind, np.nan)
        answers = np.full((len(positions), *self.answers.shape[1:]), empty, self.answers.dtype)
        state = np.full(len(positions), MISSING, np.int8)
        answers[present], state[present] = self.answers[positions[present]], self.state[positions[present]]
        usage = None if self.usage is None else self.usage.at(positions)
        return replace(self, answers=answers, state=state, usage=usage)

    def failed(self, rows: Bools, note: str) -> TableAnswerColumn:
        """Mark (N,) rows, whose cells are empty, as `ERROR`; the note says why."""
        if not rows.any():
            return self
        return replace(self, state=np.where(rows, ERROR, self.state).astype(np.int8), notes=(*self.notes, note))


@dataclass(frozen=True)
class RequestedRows:
    """The N rows whose answers are requested.

    Attributes:
        ids: unique ids, "" for a row without one; None if no row has one, since made-up ids cannot be joined by.
        texts: segments of each row; () if the rows have none.
        places: position of each row in the file, for rows that come from this very file; else None.
        size: N; only needed without ids, texts and places.
        stands: position of each row in its own file, from 0; None if unknown.
        file_size: number of rows of that file, which may exceed N.
        by_order: the user states that rows are matched by their order alone.
        truth: true label of each row as a code of the task, `NONE` for a row without one; () if the answers are no
            labels.
        id_columns: columns that may hold the ids, those of `ids` first -> (N,) cells; empty if there is no doubt.
    """

    ids: tuple[str, ...] | None
    texts: tuple[tuple[str, ...], ...]
    places: tuple[int, ...] | None = None
    size: int = 0
    stands: tuple[int, ...] | None = None
    file_size: int = 0
    by_order: bool = False
    truth: tuple[int, ...] = ()
    id_columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", self.size or len(self.ids or self.texts or self.places or ()))

    def __len__(self) -> int:
        return self.size

    def called(self, place: int) -> str:
        """Name a row in a message by its id, or else its number."""
        name = self.ids[place] if self.ids else ""
        return repr(name[:50]) if name else f"number {place + 1:,}"

    @property
    def segments(self) -> int:
        """Number of texts a row has."""
        return len(self.texts[0]) if self.texts else 0


def states(answered: Bools, otherwise: int = ERROR) -> Small:
    """Return (N,) `ANSWERED` where answered, and another state elsewhere."""
    return np.where(answered, ANSWERED, otherwise).astype(np.int8)


def count(number: int, noun: str, singular: str = "", plural: str = "") -> str:
    """Format a number with the right form of its noun and verb.

    Example:
        >>> count(1, "row", "is", "are"), count(2_000, "row")
        ('1 row is', '2,000 rows')
    """
    words = f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
    return " ".join(filter(None, [words, singular if number == 1 else plural]))


def some(items: Iterable[object], most: int = 3) -> str:
    """List a few of several values in words.

    Example:
        >>> some(["a", "b"]), some(range(5))
        ("'a' and 'b'", '0, 1, 2 and 2 more')
    """
    values = list(items)
    short = [f"{value[:50]} ..." if isinstance(value, str) and len(value) > 50 else value for value in values[:most]]
    words = [repr(value) for value in short]
    if len(values) > most:
        words.append(f"{len(values) - most:,} more")
    return " and ".join([*([", ".join(words[:-1])] if words[1:] else []), *words[-1:]])
