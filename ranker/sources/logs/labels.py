"""Labels of answers, where the answers to all rows are of a few kinds: a set of choices, or of right answers."""

from __future__ import annotations

import math
import string
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from factors.types import Floats, Ints

MOST_LABELS = 20
"""Right answers of more kinds than this are no labels."""

_MARKS = str.maketrans("", "", string.punctuation)

READINGS: dict[str, Callable[[str], str]] = {
    "to the letter": lambda text: text,
    "but for blanks around it": lambda text: text.strip(),
    "but for case and blanks around it": lambda text: text.strip().casefold(),
    "but for case, punctuation and blanks": lambda text: " ".join(text.casefold().translate(_MARKS).split()),
}
"""How an answer is compared with the right one, the strictest first; the programs' tasks have one of these each."""


class Labelled(NamedTuple):
    """N rows in C labels: see the fields of `ranker.sources.logs.base.TaskLog`."""

    labels: tuple[str, ...]
    truth: Ints
    answers: Ints
    scores: Floats | None


class Written(NamedTuple):
    """An answer in words.

    Attributes:
        row: which row it is to.
        text: the answer as it was compared with the right one.
        value: what the log says of it; nan where that is nothing.
    """

    row: int
    text: str
    value: float


def unlabelled(rows: int) -> Labelled:
    """Rows that share no labels."""
    return Labelled((), np.full(rows, -1), np.full(rows, -1), None)


def shared(choices: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The choices, where they are the same on all rows and differ from each other; () otherwise.

    Example:
        >>> shared([("no", "yes"), ("no", "yes")]), shared([("Paris", "Rome"), ("one", "two")])
        (('no', 'yes'), ())
    """
    first = choices[0] if choices else ()
    same = len(first) > 1 and len(set(first)) == len(first) and all(choice == first for choice in choices)
    return first if same else ()


def few(targets: Sequence[str]) -> tuple[str, ...]:
    """The right answers to all rows in alphabetical order, if they are of a few kinds, each of two rows or more.

    Example:
        >>> few(["yes", "no", "no", "yes "]), few(["Paris", "Rome"])
        (('no', 'yes'), ())
    """
    counts = Counter(target.strip() for target in targets)
    closed = 2 <= len(counts) <= MOST_LABELS and min(counts.values()) > 1 and "" not in counts
    return tuple(sorted(counts)) if closed else ()


def in_words(
    labels: Sequence[str], targets: Sequence[str], answers: Sequence[Written], metric: str
) -> tuple[Labelled, tuple[str, ...]]:
    """Rows whose answers are words, in labels, and what is to be known of that.

    An answer has a label where the metric says no more than whether it is the right one: on every row it is 1 where
    the answer is the target and 0 where it is not, by one way of comparing them. An answer that is none of the labels
    is then wrong, and counts as none.

    Args:
        labels: the labels; where there are none no row has one.
        targets: (N,) the right answers, "" where that is not known.
        answers: those of the model, several to a row with several epochs.
        metric: what the values are called.
    """
    none = unlabelled(len(targets))
    if not labels:
        return none, ()
    wrong = {how: _otherwise(read, targets, answers) for how, read in READINGS.items()}
    how = min(wrong, key=lambda reading: wrong[reading])  # of equals the strictest
    if wrong[how]:
        count = f"{wrong[how]} of {len(answers)} answers"
        note = f"Answers have no labels: of {count} {metric} says something else than whether it is the target."
        return none, (note,)
    read = READINGS[how]
    places = {read(label): place for place, label in enumerate(labels)}
    if len(places) < len(labels):
        return none, (f"Answers have no labels: {metric} takes some of the targets for one, {how}.",)
    truth = np.array([places.get(read(target), -1) for target in targets], dtype=np.int64)
    said = most_frequent(len(targets), [(one.row, places.get(read(one.text), -1)) for one in answers])
    note = f"Answers have labels: {metric} says of each whether it is the target, {how}."
    return Labelled(tuple(labels), truth, said, None), (note,)


def most_frequent(rows: int, said: Iterable[tuple[int, int]]) -> Ints:
    """(N,) the label that was given most often to each row, of equals the first; -1 where none was.

    Args:
        rows: N.
        said: (row, label) of each answer, -1 for one that is no label.

    Example:
        >>> most_frequent(3, [(0, 1), (0, 0), (0, 0), (1, -1), (1, 1)]).tolist()
        [0, 1, -1]
    """
    counts: dict[int, Counter[int]] = {}
    for row, label in said:
        if label >= 0:
            counts.setdefault(row, Counter())[label] += 1
    found = np.full(rows, -1)
    for row, given in counts.items():
        found[row] = given.most_common(1)[0][0]
    return found


def _otherwise(read: Callable[[str], str], targets: Sequence[str], answers: Sequence[Written]) -> int:
    """Of how many answers the metric says something else than whether they are the target."""
    known = [one for one in answers if targets[one.row] and not math.isnan(one.value)]
    return sum((read(one.text) == read(targets[one.row])) != one.value for one in known)
