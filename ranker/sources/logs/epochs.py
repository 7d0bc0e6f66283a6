"""Reducers of the epochs of a row, by Inspect's names.

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
"""Default reducer of a log that names none."""

RIGHT = 1.0
"""Least score of an epoch that counts as right."""


def _majority(values: Floats, epochs: int) -> float:
    value, count = Counter(values.tolist()).most_common(1)[0]
    return float(value) if 2 * count > epochs else math.nan


def _pass_at(values: Floats, k: int) -> float:
    return 1 - math.comb(int((values < RIGHT).sum()), k) / math.comb(len(values), k) if len(values) >= k else math.nan


def _pass_k(values: Floats, k: int) -> float:
    return math.comb(int((values >= RIGHT).sum()), k) / math.comb(len(values), k) if len(values) >= k else math.nan


REDUCERS: Mapping[str, Callable[[Floats, int], float]] = {
    MEAN: lambda values, epochs: float(values.mean()),
    "median": lambda values, epochs: float(np.median(values)),
    "mode": lambda values, epochs: float(Counter(values.tolist()).most_common(1)[0][0]),
    "majority": _majority,
    "max": lambda values, epochs: float(values.max()),
}
"""Reducer -> function of the recorded scores and the number of epochs."""

OF_K: Mapping[str, Callable[[Floats, int], float]] = {
    "at_least": lambda values, k: float((values >= RIGHT).sum() >= k),
    "pass_at": _pass_at,
    "pass_k": _pass_k,
}
"""Reducer with a number k after its name, `pass_at_2` -> function of the recorded scores and k."""

NAMES = (*REDUCERS, *(f"{name}_K" for name in OF_K))
"""Names of reducers, for messages."""


def reducer_named(name: str) -> Callable[[Floats], float] | None:
    """Return the function from (E,) scores of one row's epochs, nan for none, to one number, nan for none.

    Example:
        >>> scores = np.array([1.0, 0.0, np.nan])
        >>> [reducer_named(name)(scores) for name in ("mean", "max", "at_least_2", "pass_at_2", "pass_k_1")]
        [0.5, 1.0, 0.0, 1.0, 0.5]
        >>> reducer_named("collect") is None
        True
    """
    stem, _, number = name.rpartition("_")
    numbered = number.isdecimal() and number.isascii() and 0 < len(number) < 6 and number[0] != "0"
    reduce = REDUCERS.get(name) or (OF_K.get(stem) if numbered else None)
    if reduce is None:
        return None

    def reduce_known(values: Floats) -> float:
        scores = values[~np.isnan(values)]
        k = len(values) if name in REDUCERS else int(number)
        return reduce(scores, k) if len(scores) else math.nan

    return reduce_known
