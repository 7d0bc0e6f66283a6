"""What the epochs of a row are reduced to, by the names that Inspect has for it.

Source: ``scorer/_reducer/reducer.py`` of Inspect 0.3.285; pass_at: Chen et al. 2021, "Evaluating Large Language Models
Trained on Code", section 2.1; pass_k: Yao et al. 2024, "tau-bench", section 3.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from factors.types import Floats

MEAN = "mean"
"""The reducer where a log names none."""

RIGHT = 1.0
"""What an epoch must score at least to count as right."""


def _mode(values: Floats, epochs: int) -> float:
    return float(Counter(values.tolist()).most_common(1)[0][0])


def _majority(values: Floats, epochs: int) -> float:
    value, count = Counter(values.tolist()).most_common(1)[0]
    return float(value) if 2 * count > epochs else math.nan


def _at_least(values: Floats, k: int) -> float:
    return float((values >= RIGHT).sum() >= k)


def _pass_at(values: Floats, k: int) -> float:
    return 1 - math.comb(int((values < RIGHT).sum()), k) / math.comb(len(values), k) if len(values) >= k else math.nan


def _pass_k(values: Floats, k: int) -> float:
    return math.comb(int((values >= RIGHT).sum()), k) / math.comb(len(values), k) if len(values) >= k else math.nan


REDUCERS: Mapping[str, Callable[[Floats, int], float]] = {
    MEAN: lambda values, epochs: float(values.mean()),
    "median": lambda values, epochs: float(np.median(values)),
    "mode": _mode,
    "majority": _majority,
    "max": lambda values, epochs: float(values.max()),
}
"""Reducer -> of the scores that there are, and the number of epochs, what they are reduced to."""

OF_K: Mapping[str, Callable[[Floats, int], float]] = {"at_least": _at_least, "pass_at": _pass_at, "pass_k": _pass_k}
"""The same of those that have a number k behind their name, `pass_at_2`; they are given k."""

NAMES = (*REDUCERS, *(f"{name}_K" for name in OF_K))
"""How reducers are written."""


def reducer(name: str) -> Callable[[Floats], float] | None:
    """(E,) scores of the epochs of one row, nan where one has none -> one number, nan where there is none.

    Args:
        name: as Inspect has it; of another one None comes back.

    Example:
        >>> scores = np.array([1.0, 0.0, np.nan])
        >>> [reducer(name)(scores) for name in ("mean", "max", "at_least_2", "pass_at_2", "pass_k_1")]
        [0.5, 1.0, 0.0, 1.0, 0.5]
        >>> reducer("collect") is None
        True
    """
    stem, _, number = name.rpartition("_")
    numbered = number.isdecimal() and number.isascii() and 0 < len(number) < 6 and number[0] != "0"
    reduce = REDUCERS.get(name) or (OF_K.get(stem) if numbered else None)
    if reduce is None:
        return None

    def of(values: Floats) -> float:
        known = values[~np.isnan(values)]
        k = len(values) if name in REDUCERS else int(number)
        return reduce(known, k) if len(known) else math.nan

    return of
