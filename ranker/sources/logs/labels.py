"""Labels of answers that are of a few kinds: one set of choices, or of right answers, on all rows.

They are written in words, or the choices of the highest log-likelihood.
"""

from __future__ import annotations

import math
import string
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from factors.types import Floats, Ints

MAX_TARGET_LABELS = 20
"""Most distinct right answers that count as labels; more are free text."""

_MARKS = str.maketrans("", "", string.punctuation)

READINGS: dict[str, Callable[[str], str]] = {
    "exactly": lambda text: text,
    "ignoring blanks around it": lambda text: text.strip(),
    "ignoring case and blanks around it": lambda text: text.strip().casefold(),
    "ignoring case, punctuation and blanks": lambda text: " ".join(text.casefold().translate(_MARKS).split()),
}
"""Ways to compare an answer with the right one, the strictest first; each of the programs' tasks uses one."""


class RowLabels(NamedTuple):
    """N rows in C labels: see the fields of `ranker.sources.logs.base.TaskLog`."""

    labels: tuple[str, ...]
    truth: Ints
    answers: Ints
    scores: Floats | None


class WrittenAnswer(NamedTuple):
    """An answer in words.

    Attributes:
        text: the answer as it was compared with the right one.
        value: its recorded score; nan for none.
    """

    row: int
    text: str
    value: float


def no_labels(rows: int) -> RowLabels:
    """Return the record of rows that share no labels."""
    return RowLabels((), np.full(rows, -1), np.full(rows, -1), None)


def shared_choices(choices: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the choices if they are the same on all rows and distinct; else ().

    Example:
        >>> shared_choices([("no", "yes"), ("no", "yes")]), shared_choices([("Paris", "Rome"), ("one", "two")])
        (('no', 'yes'), ())
    """
    first = choices[0] if choices else ()
    same = len(first) > 1 and len(set(first)) == len(first) and all(choice == first for choice in choices)
    return first if same else ()


def closed_targets(targets: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct right answers, sorted, if they are few and each occurs on two rows or more; else ().

    Example:
        >>> closed_targets(["yes", "no", "no", "yes "]), closed_targets(["Paris", "Rome"])
        (('no', 'yes'), ())
    """
    counts = Counter(target.strip() for target in targets)
    closed = 2 <= len(counts) <= MAX_TARGET_LABELS and min(counts.values()) > 1 and "" not in counts
    return tuple(sorted(counts)) if closed else ()


def label_written_answers(
    labels: Sequence[str], targets: Sequence[str], answers: Sequence[WrittenAnswer], metric: str
) -> tuple[RowLabels, tuple[str, ...]]:
    """Convert answers in words to labels, with notes.

    An answer has a label if the metric only tells whether it is the right one: by one way of comparing them, it is 1 on
    every row where the answer is the target and 0 where it is not. An answer that is none of the labels is then wrong,
    and counts as no answer.

    Args:
        labels: the labels; if empty no row has one.
        targets: (N,) the right answers, "" if unknown.
        answers: of the model, several for a row with several epochs.
    """
    none = no_labels(len(targets))
    if not labels:
        return none, ()
    wrong = {reading: _count_disagreements(normalize, targets, answers) for reading, normalize in READINGS.items()}
    strictest = min(wrong, key=lambda reading: wrong[reading])  # ties go to the strictest
    if wrong[strictest]:
        count = f"{wrong[strictest]} of {len(answers)} answers"
        note = f"Answers have no labels: {metric} disagrees with a comparison to the target on {count}."
        return none, (note,)
    normalize = READINGS[strictest]
    places = {normalize(label): place for place, label in enumerate(labels)}
    if len(places) < len(labels):
        return none, (f"Answers have no labels: {metric} takes some of the targets for one, {strictest}.",)
    truth = np.array([places.get(normalize(target), -1) for target in targets], dtype=np.int64)
    labelled = [(answer.row, places.get(normalize(answer.text), -1)) for answer in answers]
    note = f"Answers have labels: {metric} says whether each is the target, {strictest}."
    return RowLabels(tuple(labels), truth, most_frequent(len(targets), labelled), None), (note,)


def most_frequent(rows: int, answers: Iterable[tuple[int, int]]) -> Ints:
    """Return (N,) the most frequent label of each row, the first of ties; -1 for none.

    Args:
        answers: (row, label) of each answer, -1 if it is no label.

    Example:
        >>> most_frequent(3, [(0, 1), (0, 0), (0, 0), (1, -1), (1, 1)]).tolist()
        [0, 1, -1]
    """
    counts: dict[int, Counter[int]] = {}
    for row, label in answers:
        if label >= 0:
            counts.setdefault(row, Counter())[label] += 1
    frequent = np.full(rows, -1)
    for row, label_counts in counts.items():
        frequent[row] = label_counts.most_common(1)[0][0]
    return frequent


def _count_disagreements(
    normalize: Callable[[str], str], targets: Sequence[str], answers: Sequence[WrittenAnswer]
) -> int:
    """Count the answers on which the metric contradicts a comparison with the target."""
    judged = [answer for answer in answers if targets[answer.row] and not math.isnan(answer.value)]
    return sum((normalize(answer.text) == normalize(targets[answer.row])) != answer.value for answer in judged)


LENGTHS: dict[str, Callable[[str], int]] = {"acc_norm": len, "acc_bytes": lambda choice: len(choice.encode())}
"""Metric -> length by which it divides the log-likelihood of a choice; other metrics do not divide."""

COMPARED = ("acc", *LENGTHS)
"""Metrics that tell whether the choice of the highest (divided) log-likelihood is right."""


def normalize_lengths(values: Floats, labels: Sequence[str], metric: str) -> Floats:
    """Divide (N, C) log-likelihoods by the length of each choice if the metric does."""
    length = LENGTHS.get(metric)
    return values if length is None else values / np.array([max(1, length(label)) for label in labels])


def argmax_rows(values: Floats) -> Ints:
    """Return (N,) the index of the highest of (N, C) values, the first of ties; -1 if one is nan."""
    return np.where(np.isnan(values).any(axis=1), -1, np.nan_to_num(values, nan=0.0).argmax(axis=1))


def resolve_targets(targets: Sequence[Any], labels: Sequence[str], agreement: Callable[[Ints], int]) -> Ints:
    """Return (N,) the index of the right label, -1 for none or several.

    A target is the number of a choice, or its text. Since 0.4.4 both are written as text: "1" may be the second
    choice, or the choice "1". The reading that agrees more with the metric wins; of ties the one that fits more rows.

    Args:
        targets: (N,) as written in the log.
        agreement: (N,) indices -> number that agrees with the metric.
    """
    by_text = {label.strip(): place for place, label in enumerate(labels)}
    numbers = np.array([_place(target, len(labels)) for target in targets], dtype=np.int64)
    texts = np.array(
        [by_text.get(target.strip(), -1) if isinstance(target, str) else -1 for target in targets], dtype=np.int64
    )
    readings = [(first, np.where(first >= 0, first, second)) for first, second in ((numbers, texts), (texts, numbers))]
    return max(readings, key=lambda reading: (agreement(reading[1]), int((reading[0] >= 0).sum())))[1]


def _place(target: Any, choices: int) -> int:
    """Parse the number of a choice: 1, "1", [1] or "[1]"; -1 for none or several."""
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    digits = str(target).strip().removeprefix("[").removesuffix("]").strip().removesuffix(".0")
    if isinstance(target, (bool, list, dict)) or len(digits) > 6 or not (digits.isascii() and digits.isdigit()):
        return -1
    return int(digits) if int(digits) < choices else -1
