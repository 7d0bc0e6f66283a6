"""Time estimate of the work on a model, before it begins: missing examples times the time of a pass here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ranker.attribution.settings import Settings
from ranker.runtime.base import TimeEstimate, WorkItem
from ranker.sources.base import Bill, Predictor, is_billed, is_perturbed, is_timed

SAMPLE = 32
"""Examples on which passes are counted."""


def estimate(
    opened: Callable[[Settings | None], Predictor], missing: Sequence[WorkItem], timed_from: int = 0
) -> TimeEstimate:
    """Count the passes that are left, and time the model on one batch, if it can be timed.

    Args:
        opened: returns the model in the number format of a backend, or of answers.
        missing: the missing work, at least one item.
        timed_from: number of passes from which on the model is timed, which takes passes, too.

    Raises:
        ModelError: the model cannot be loaded or run.
    """
    passes, rate, bill = 0.0, float("nan"), None
    measure_speed: Callable[[], float] | None = None
    most = max(missing, key=lambda order: len(order.examples))
    for order in missing:
        model = opened(order.settings)
        before = passes
        if not is_perturbed(model):
            passes += len(order.examples)
            bill = _add(bill, model, order, len(order.examples))
            continue
        encodings = list(model.encodings(order.examples[:: max(len(order.examples) // SAMPLE, 1)][:SAMPLE]))
        passes_of_each = [
            1 if order.settings is None else order.settings.passes(encoding.segment, encoding.word)
            for encoding in encodings
        ]
        passes += len(order.examples) * float(np.mean(passes_of_each))
        bill = _add(bill, model, order, round(passes - before))
        if order is most and is_timed(model):
            measure_speed = partial(model.speed, sorted(encodings, key=len)[len(encodings) // 2])
    if measure_speed is not None and passes >= timed_from:
        rate = measure_speed()
    counts = [(order.settings, len(order.examples)) for order in missing]
    predict = max((count for settings, count in counts if settings is None), default=0)
    explain = max((count for settings, count in counts if settings is not None), default=0)
    return TimeEstimate(predict, explain, round(passes), rate, bill)


def _add(bill: Bill | None, model: Predictor, order: WorkItem, passes: int) -> Bill | None:
    """Return a bill with that of further work on a model, if it has one."""
    if not is_billed(model):
        return bill
    bill_of_order = model.bill(order.examples, passes)
    return bill_of_order if bill is None else bill + bill_of_order
