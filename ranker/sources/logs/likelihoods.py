"""From log-likelihoods of choices to the right ones and the model's own, as lm-evaluation-harness has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from factors.types import Floats, Ints

LENGTHS: dict[str, Callable[[str], int]] = {"acc_norm": len, "acc_bytes": lambda choice: len(choice.encode())}
"""A metric -> what it divides the log-likelihood of a choice by; others compare them as they are."""

COMPARED = ("acc", *LENGTHS)
"""Metrics that say whether the choice of the highest (divided) log-likelihood is the right one."""


def compared(values: Floats, labels: Sequence[str], metric: str) -> Floats:
    """(N, C) log-likelihoods as a metric compares them: divided by the length of each choice, or as they are."""
    length = LENGTHS.get(metric)
    return values if length is None else values / np.array([max(1, length(label)) for label in labels])


def highest(values: Floats) -> Ints:
    """(N,) the place of the highest of (N, C) values, of equals the first; -1 where one is not known."""
    return np.where(np.isnan(values).any(axis=1), -1, np.nan_to_num(values, nan=0.0).argmax(axis=1))


def right(targets: Sequence[Any], labels: Sequence[str], agreement: Callable[[Ints], int]) -> Ints:
    """(N,) which label is the right one, -1 where there is none, or several.

    A target is the number of a choice, or its text. Since 0.4.4 both are written as text: "1" may be the second
    choice, or the choice "1". The reading that agrees more with the metric is meant; of equals the one that fits more
    rows.

    Args:
        targets: (N,) as they stand in the log.
        labels: the choices.
        agreement: (N,) indices -> how many of them agree with what the metric says.
    """
    by_text = {label.strip(): place for place, label in enumerate(labels)}
    numbers = np.array([_place(target, len(labels)) for target in targets], dtype=np.int64)
    texts = np.array([by_text.get(_word(target), -1) for target in targets], dtype=np.int64)
    readings = [(found, np.where(found >= 0, found, other)) for found, other in ((numbers, texts), (texts, numbers))]
    return max(readings, key=lambda reading: (agreement(reading[1]), int((reading[0] >= 0).sum())))[1]


def _word(target: Any) -> str:
    return target.strip() if isinstance(target, str) else ""


def _place(target: Any, choices: int) -> int:
    """The number of a choice that a target is, or says: 1, "1", [1] or "[1]"; -1 where it is none, or several."""
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    if isinstance(target, (bool, list, dict)) or (said := _NUMBER.fullmatch(_bare(str(target)[:20]))) is None:
        return -1
    return int(said[1]) if int(said[1]) < choices else -1


_NUMBER = re.compile(r"([0-9]{1,6})(?:\.0)?")


def _bare(text: str) -> str:
    """A text without blanks and brackets around it."""
    return text.strip().removeprefix("[").removesuffix("]").strip()
