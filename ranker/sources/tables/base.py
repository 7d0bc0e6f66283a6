"""The records of tables of predictions: columns as a file holds them, what is said of them, and answers.

Axis letters: n rows of the file, N rows that are asked about, C classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from factors.types import Bools, Floats, Frozen, Ints
from ranker.files.columns import Columns as Columns
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER
from ranker.tasks.classes import ClassProbabilities

Kind = Literal["labels", "probabilities", "logits", "log-likelihoods", "outcomes"]
"""What the cells of a model say: a label, scores of all labels, or how right the answer was."""

KINDS: tuple[Kind, ...] = get_args(Kind)

Small = npt.NDArray[np.int8]

Held = Kind | Literal["values"]
"""The same, and cells that a task reads."""

UNIT = (0.0, 1.0)
"""The worst and the best outcome, where nobody says otherwise."""

NONE = -1
"""The number of a cell of labels that holds none."""


@dataclass(frozen=True)
class TableHints:
    """What somebody says of a table. What is not said is found out, or asked for in the message of an error.

    Attributes:
        prediction: the columns, or groups of columns by their name, that hold answers; each is a model.
        truth: the column of the true labels; "" where it is not said.
        id: the column of the rows' ids.
        text: the columns of the rows' texts, in order.
        cluster: the column that says which rows belong together.
        answers: what the cells of the models are; "" where they show it.
        label_map: other names of labels, and numbers, -> labels of the task.
        empty_words: the words that are nothing, as they are written; None where nobody says it.
        scale: the worst and the best outcome.
        lower_is_better: less of an outcome is better.
        runs: of several runs of a model: "mean" or "each"; "" where nobody says it.
    """

    prediction: tuple[str, ...] = ()
    truth: str = ""
    id: str = ""
    text: tuple[str, ...] = ()
    cluster: str = ""
    answers: Kind | Literal[""] = ""
    label_map: Mapping[str, str] = field(default_factory=dict)
    empty_words: tuple[str, ...] | None = None
    scale: tuple[float, float] = UNIT
    lower_is_better: bool = False
    runs: str = ""

    def __post_init__(self) -> None:
        if self.answers not in ("", *KINDS):
            raise ValueError(f"`answers` must be one of {', '.join(KINDS)} (got {self.answers!r})")
        object.__setattr__(self, "label_map", Frozen(self.label_map))


@dataclass(frozen=True, eq=False)
class TableAnswerColumn:
    """What one model answers to N rows.

    Labels are kept as small numbers, so that 1,000 models fit into memory; `probs` is made when it is asked for.

    Attributes:
        name: of the model.
        kind: what the cells said.
        classes: C; 0 where there are no labels.
        given: (N,) small whole numbers, the labels, `NONE` where there is none; or (N, C) probabilities, or (N,)
            outcomes in [0, 1], both nan where there are none; or (N,) cells of values, None where empty. Read-only.
        state: (N,) `ANSWERED`, `NO_ANSWER`, `ERROR` or `MISSING`, as small whole numbers. Read-only.
        hard: labels were given, or probabilities that are all 0 or 1.
        notes: what was understood, in sentences.
    """

    name: str
    kind: Held
    classes: int
    given: npt.NDArray[Any]
    state: Small
    hard: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for array in (self.given, self.state):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.state)

    @cached_property
    def probs(self) -> Floats | None:
        """(N, C) the probabilities, one-hot where labels were given, nan without an answer; None of outcomes."""
        if not self.classes:
            return None
        if self.given.ndim == 2:
            return self.given
        answered = self.state == ANSWERED
        probs = np.full((len(self), self.classes), np.nan)
        probs[answered] = np.eye(self.classes)[self.given[answered]]
        probs.flags.writeable = False
        return probs

    @property
    def outcomes(self) -> Floats | None:
        """(N,) outcomes, 0 where there is no answer and nan where nothing is known; None where it is known what was
        said."""
        return self.given if self.kind == "outcomes" else None

    @property
    def predicted(self) -> Ints:
        """(N,) the label of the highest probability, of equals the first; `NONE` where there is no answer.

        Raises:
            ValueError: only outcomes are known.
        """
        if self.kind == "outcomes":
            raise ValueError(f"{self.name}: outcomes say what was right, and not what was said")
        if self.given.ndim == 1:
            return self.given.astype(np.int64)
        found = np.where(np.isnan(self.given), -np.inf, self.given).argmax(axis=1)
        return np.where(self.state == ANSWERED, found, NONE)

    def correct(self, truth: Ints) -> Floats:
        """(N,) how right the answers are: no answer is 0, nan where nothing is known.

        Args:
            truth: (N,) the true labels; not looked at where outcomes were given.
        """
        known = (self.state == ANSWERED) | (self.state == NO_ANSWER)
        right = self.given if self.kind == "outcomes" else (self.predicted == truth).astype(float)
        return np.where(known, np.where(self.state == NO_ANSWER, 0.0, right), np.nan)

    def part(self, places: Sequence[int] | Ints) -> TableAnswerColumn:
        """Some of the answers, in another order; a place of -1 is a row that was never asked about."""
        at = np.asarray(places, dtype=np.int64)
        there = at >= 0
        empty = {"i": NONE, "O": None}.get(self.given.dtype.kind, np.nan)
        given = np.full((len(at), *self.given.shape[1:]), empty, self.given.dtype)
        state = np.full(len(at), MISSING, np.int8)
        given[there], state[there] = self.given[at[there]], self.state[at[there]]
        return replace(self, given=given, state=state)

    def to_classes(self) -> ClassProbabilities:
        """The same as the answers of any other source.

        Raises:
            ValueError: only outcomes are known.
        """
        if self.probs is None:
            raise ValueError(f"{self.name}: outcomes say what was right, and not what was said")
        return ClassProbabilities(self.probs.copy(), self.state.astype(np.int64))


@dataclass(frozen=True, eq=False)
class BundledTableRows:
    """The rows that a file brings itself.

    Attributes:
        ids: (n,) as they stand there; None where no column holds them.
        texts: (n,) of each row, as many as there are columns of texts.
        truth: (n,) the true labels, `NONE` where a row has none.
        clusters: (n,) which rows belong together; None where that is not said.
        labels: (C,) the names of the labels.
    """

    ids: tuple[str, ...] | None
    texts: tuple[tuple[str, ...], ...]
    truth: Ints
    clusters: tuple[str, ...] | None
    labels: tuple[str, ...]


@dataclass(frozen=True)
class RequestedRows:
    """The N rows that are asked about.

    Attributes:
        ids: each once, "" for a row that has none; None where none of them has one: nobody makes up ids to join by.
        texts: the segments of each; () where the rows have none.
        places: where in the file each stands, for rows that come from this very file; None for others.
        size: N; it need not be said where ids, texts or places are.
        stands: the number of each among the rows of its own file, from 0; None where that is not known.
        of: how many rows that file has; some of them may not be asked about.
    """

    ids: tuple[str, ...] | None
    texts: tuple[tuple[str, ...], ...]
    places: tuple[int, ...] | None = None
    size: int = 0
    stands: tuple[int, ...] | None = None
    of: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", self.size or len(self.ids or self.texts or self.places or ()))

    def __len__(self) -> int:
        return self.size

    def called(self, place: int) -> str:
        """A row in a message: its id, or its number."""
        name = self.ids[place] if self.ids else ""
        return repr(name[:50]) if name else f"number {place + 1:,}"

    @property
    def segments(self) -> int:
        """How many texts a row has."""
        return len(self.texts[0]) if self.texts else 0


def states(answered: Bools, otherwise: int = ERROR) -> Small:
    """(N,) `ANSWERED`, and another state elsewhere."""
    return np.where(answered, ANSWERED, otherwise).astype(np.int8)


def count(number: int, noun: str, one: str = "", more: str = "") -> str:
    """How many there are, with the right form of the noun and of a verb.

    Example:
        >>> count(1, "row", "is", "are"), count(2_000, "row")
        ('1 row is', '2,000 rows')
    """
    said = f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
    return " ".join(filter(None, [said, one if number == 1 else more]))


def some(items: Iterable[object], most: int = 3) -> str:
    """A few of several things, in words.

    Example:
        >>> some(["a", "b"]), some(range(5))
        ("'a' and 'b'", '0, 1, 2 and 2 more')
    """
    every = list(items)
    said = [repr(item if not isinstance(item, str) or len(item) <= 50 else f"{item[:50]} ...") for item in every[:most]]
    if len(every) > most:
        said.append(f"{len(every) - most:,} more")
    return " and ".join([*([", ".join(said[:-1])] if said[1:] else []), *said[-1:]])
