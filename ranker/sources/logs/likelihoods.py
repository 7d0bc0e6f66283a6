"""Right choices and the model's choices from the log-likelihoods of lm-evaluation-harness."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from factors.types import Floats, Ints

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
    number = None if isinstance(target, (bool, list, dict)) else _NUMBER.fullmatch(str(target)[:20])
    return int(number[1]) if number and int(number[1]) < choices else -1


_NUMBER = re.compile(r"\s*\[?\s*([0-9]{1,6})(?:\.0)?\s*\]?\s*")
