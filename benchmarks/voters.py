"""Models of a set that vote beside a suite of it and are not ranked: good, weak and hostile ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from factors.types import Floats, Ints

VOTERS = (
    "none", "random", "best", "one-best", "strongest", "weak", "one-weak", "weakest", "constant", "copy", "reversed"
)  # fmt: skip
"""Models of a set that vote beside a suite: twelve others, three or one of the best eighth, or the best one, four or
one of the worst eighth, or the worst one, one that predicts the most frequent label, a model of the suite again, and
one of the best with each label taken for the next."""


def voters_of(
    kind: str, predicted: Ints, labels: Ints, classes: int, truth: Floats, suite: Ints, seed: Sequence[int]
) -> Ints:
    """Return (V, N) predictions of voters, from those of all models of a set and the labels of the same rows."""
    rng, outside = np.random.default_rng(seed), np.setdiff1d(np.arange(len(predicted)), suite)
    order = outside[np.argsort(-truth[outside], kind="stable")]
    best, worst = order[: max(len(predicted) // 8, 3)], order[-max(len(predicted) // 8, 4) :]
    chosen: Mapping[str, Callable[[], Ints]] = {
        "random": lambda: rng.choice(outside, min(12, len(outside)), replace=False),
        "best": lambda: rng.choice(best, 3, replace=False),
        "one-best": lambda: rng.choice(best, 1),
        "strongest": lambda: order[:1],
        "weakest": lambda: order[-1:],
        "weak": lambda: rng.choice(worst, 4, replace=False),
        "one-weak": lambda: rng.choice(worst, 1),
        "copy": lambda: rng.choice(suite, 1),
        "reversed": lambda: rng.choice(best, 1),
    }
    if kind == "constant":
        return np.full((1, len(labels)), np.bincount(labels).argmax())
    votes = predicted[chosen[kind]() if kind in chosen else []]
    return (votes + 1) % classes if kind == "reversed" else votes
