"""What one log says of one task, whichever program wrote it: a record of arrays, and what reading one may cost.

Logs are data from strangers. Every reader keeps to `ranker.limits`; what goes beyond is refused in one line.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from factors.types import Floats, Ints
from ranker.errors import DataError, listed
from ranker.limits import LIMITS, Limits
from ranker.sources.logs.measures import MetricInfo
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER

MAX_TEXT = 100_000
"""Characters of a row's text that are kept to be shown; what follows is cut off."""

DEPTH = "as deep as Python's own JSON reader goes, about a thousand"
"""How deep JSON may be nested: this is the reader's own limit, which it keeps itself."""

MOST_WRONG = 0.01
"""Labels are left out where they tell something else than the metric on more than this part of the rows."""


@dataclass(frozen=True)
class LogSelection:
    """What a caller asks of logs; None leaves it to what the log says.

    Attributes:
        metric: which recorded value is read of each row; of an Inspect log "scorer" or "scorer.part" may stand here.
        filter: lm-evaluation-harness: which of several ways to read an answer.
        scorer: Inspect: which scorer, "scorer" or "scorer.part".
        reducer: Inspect: what the epochs of a row are reduced to: see `epochs.REDUCERS`.
        cluster: which field of a row (lm-evaluation-harness: of ``doc``; Inspect: of ``metadata``) says what rows
            belong together.
        limits: how much is read.
    """

    metric: str | None = None
    filter: str | None = None
    scorer: str | None = None
    reducer: str | None = None
    cluster: str | None = None
    limits: Limits = LIMITS


@dataclass(frozen=True, eq=False)
class TaskLog:
    """What one log says of one task. Arrays are read-only; row n of one is row n of all.

    Attributes:
        program: what wrote it: "lm-eval" or "inspect".
        version: of that program; "" where the log does not say.
        task: its name in that program.
        model: its name in that program; "" where the log does not say.
        metric: the recorded value that the outcomes are; with the reducer behind it where epochs are not averaged.
        scorer: lm-evaluation-harness: the filter; Inspect: the scorer.
        candidates: all recorded values that could have been chosen, with the one that was. lm-evaluation-harness:
            metrics; Inspect: "scorer" or "scorer.part".
        measure: what the metric is: which way is better in a row, and whether the number that the log records of all
            rows is that of these.
        keys: (N,) what a row is known by in every log of the task. A text that stands in the data several times has
            "#2", "#3" after its key, in order of occurrence.
        numbered: the keys may be mere positions: then the texts of two logs must agree.
        texts: (N,) what a row says, for people and to compare; "" where that is not known.
        target_hashes: (N,) of the right answer; where two logs differ, they do not ask the same. "" is not known.
        prompt_hashes: (N,) of what the model was given; where two logs differ, the prompts do. "" is not known.
        outcomes: (N,) float64 the metric of each row, reduced over the epochs that have one; nan: not known.
        counts: (N,) int64 of how many epochs an outcome is made.
        epochs: how many were planned.
        state: (N,) `ANSWERED`, `NO_ANSWER` (asked for, not given: wrong) or `ERROR` (failed, or not scored). A row
            that is `MISSING` is in no log; joining logs finds it.
        labels: (C,) the choices, where they are the same on all rows; () otherwise.
        truth: (N,) index into labels of the right choice; -1: not known, or several.
        answers: (N,) index into labels of the model's choice; -1: none of them. With several epochs the most frequent.
        scores: (N, C) log-likelihoods of the labels as the metric compares them, or None. They are no
            log-probabilities: made into such by softmax they are not calibrated. nan where there are none.
        cluster: the field that the clusters come from; "" where there are none.
        clusters: (N,) which rows belong together, or None.
        notes: what a reader of results has to know, in sentences.

    Raises:
        ValueError: shapes do not agree, a key occurs twice, or an outcome is infinite.
    """

    program: str
    version: str
    task: str
    model: str
    metric: str
    scorer: str
    candidates: tuple[str, ...]
    measure: MetricInfo
    keys: tuple[str, ...]
    numbered: bool
    texts: tuple[str, ...]
    target_hashes: tuple[str, ...]
    prompt_hashes: tuple[str, ...]
    outcomes: Floats
    counts: Ints
    epochs: int
    state: Ints
    labels: tuple[str, ...]
    truth: Ints
    answers: Ints
    scores: Floats | None
    cluster: str
    clusters: tuple[str, ...] | None
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        rows = len(self.keys)
        for name in _COLUMNS:
            column = getattr(self, name)
            if column is not None and len(column) != rows:
                raise ValueError(f"{name} must have {rows} rows (got {len(column)})")
        if self.scores is not None and self.scores.shape[1:] != (len(self.labels),):
            raise ValueError(f"scores must have a column for each of {len(self.labels)} labels")
        if len(set(self.keys)) < rows:
            raise ValueError(f"the key {Counter(self.keys).most_common(1)[0][0]!r} occurs twice")
        if np.isinf(self.outcomes).any():
            raise ValueError("an outcome is infinite")
        for array in (self.outcomes, self.counts, self.state, self.truth, self.answers, self.scores):
            if array is not None:
                array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def tally(self) -> Mapping[str, int]:
        """How many rows are in each state, by its name."""
        names = {ANSWERED: "answered", NO_ANSWER: "no answer", ERROR: "error or unscored", MISSING: "missing"}
        return {name: int((self.state == state).sum()) for state, name in names.items()}


_COLUMNS = (
    *("texts", "target_hashes", "prompt_hashes", "outcomes", "counts"),
    *("state", "truth", "answers", "scores", "clusters"),
)


def number(value: Any) -> float | None:
    """What a recorded value counts as: nan where it says that there is none, None where it is no single number.

    Numbers may be written as text, as NumPy's are.

    Example:
        >>> number(True), number("0.5"), number(None), number([1, 0])
        (1.0, 0.5, nan, None)
    """
    if value is None:
        return math.nan
    if isinstance(value, str):
        value = {"true": 1.0, "false": 0.0}.get(value.strip().casefold(), value)
    if not isinstance(value, (bool, int, float, str)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except ValueError:
        return None


def plain(text: str) -> str:
    r"""A text that can be written down: half a surrogate pair, which JSON can say, becomes a question mark.

    Example:
        >>> plain("a\ud800")
        'a?'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def shown(text: str) -> str:
    """A row's text as it is kept."""
    return plain(text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…")


def name_of(value: Any) -> str:
    """A value as a name: a text as it is, anything else as JSON."""
    return plain(value) if isinstance(value, str) else str(value) if type(value) is int else canonical(value)


def canonical(value: Any) -> str:
    """JSON of a value, always the same."""
    return _CANONICAL.encode(value)


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=True)


def hashed(text: str) -> str:
    """The sha256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def numbered(keys: Iterable[str]) -> tuple[str, ...]:
    """Keys that tell repeated ones apart, by their order.

    Example:
        >>> numbered(["a", "b", "a"])
        ('a', 'b', 'a#2')
    """
    seen: Counter[str] = Counter()
    found = []
    for key in keys:
        seen[key] += 1
        found.append(key if seen[key] == 1 else f"{key}#{seen[key]}")
    return tuple(found)


def of_those(place: object, what: str, name: str, known: Sequence[str]) -> DataError:
    """The complaint that a log has nothing of a name."""
    return DataError(f"{place} has no {what} {name!r}; it has {listed(known) or 'none'}")
