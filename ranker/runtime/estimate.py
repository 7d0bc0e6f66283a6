"""How long the work on a model will take, before it begins: what is missing, times what a pass takes here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ranker.attribution.settings import Settings
from ranker.runtime.base import TimeEstimate, WorkItem
from ranker.sources.base import Predictor, is_perturbed, is_timed

SAMPLE = 32
"""Examples that passes are counted on."""


def estimate(opened: Callable[[Settings | None], Predictor], missing: Sequence[WorkItem]) -> TimeEstimate:
    """Count the passes that are left, and time the model on one batch, if it can be timed.

    Args:
        opened: gives the model in the number format of a backend, or of answers.
        missing: what is not known, one order at least.

    Raises:
        ModelError: the model cannot be loaded or run.
    """
    passes, rate = 0.0, float("nan")
    most = max(missing, key=lambda order: len(order.examples))
    for order in missing:
        model = opened(order.settings)
        if not is_perturbed(model):
            passes += len(order.examples)
            continue
        some = list(model.encodings(order.examples[:: max(len(order.examples) // SAMPLE, 1)][:SAMPLE]))
        each = [1 if order.settings is None else order.settings.passes(one.segment, one.word) for one in some]
        passes += len(order.examples) * float(np.mean(each))
        if order is most and is_timed(model):
            rate = model.speed(sorted(some, key=len)[len(some) // 2])
    counts = [(order.settings, len(order.examples)) for order in missing]
    predict = max((count for settings, count in counts if settings is None), default=0)
    explain = max((count for settings, count in counts if settings is not None), default=0)
    return TimeEstimate(predict, explain, round(passes), rate)
