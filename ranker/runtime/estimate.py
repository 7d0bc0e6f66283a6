"""Estimate of the work on a model before it begins, from the work itself on some rows; the cost of finished work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from factors.types import Example
from ranker.attribution.settings import Settings
from ranker.datasets.identity import text_names
from ranker.runtime import shards
from ranker.runtime.base import TimeEstimate, Usage, WorkItem
from ranker.runtime.store import Block, table_of_blocks
from ranker.sources.base import Machine, Predictor, is_billed, is_perturbed

SAMPLE = 32
"""Examples on which passes are counted."""

MEASURED_ROWS, MEASURED_SHARE, MEASURED_SECONDS, GROWTH = 1024, 8, 0.5, 4
"""Most examples on which the speed is measured, as many as are read ahead, and one of how many they are at most, since
they are done twice; seconds that suffice; and the factor by which their number grows until they do."""

Ask = Callable[[Predictor, WorkItem], Iterable[Block]]
"""Function that yields the answers of a model to an item."""


class Meter:
    """Cost of work since the meter was made."""

    def __init__(self, machine: Machine) -> None:
        self._accelerated = machine.device != "cpu"
        self._clock = time.perf_counter if self._accelerated else time.process_time
        self._began = self._clock()

    @property
    def usage(self) -> Usage:
        """The cost up to now, without what was stored."""
        return Usage(self._clock() - self._began, peak_memory(), accelerated=self._accelerated)


def peak_memory() -> int:
    """Return the most bytes of memory that this process has taken; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def estimate(
    opened: Callable[[Settings | None], Predictor],
    ask: Ask,
    missing: Sequence[WorkItem],
    machine: Machine,
    measured_from: int = 0,
) -> TimeEstimate:
    """Count the passes that are left, and measure loading and some of the work.

    Args:
        opened: returns the model in the number format of a backend, or of answers.
        ask: asks it; a model behind a server is not asked.
        measured_from: passes from which on some of the work is measured.
    """
    passes, load, bill = 0.0, 0.0, None
    for order in missing:
        meter, count = Meter(machine), len(order.examples)
        model = opened(order.settings)
        load += meter.usage.seconds
        passes_of_order = float(count)
        if is_perturbed(model) and order.settings is not None:
            settings = order.settings
            encodings = model.encodings(_spread(order.examples, SAMPLE))
            passes_of_each = [settings.passes(encoding.segment, encoding.word) for encoding in encodings]
            passes_of_order = count * float(np.mean(passes_of_each))
        passes += passes_of_order
        if is_billed(model):
            bill_of_order = model.bill(order.examples, round(passes_of_order))
            bill = bill_of_order if bill is None else bill + bill_of_order
    usage = None
    if bill is None and passes >= measured_from:
        usage = Usage(load)
        for order in missing:
            usage += _measure(opened(order.settings), ask, order, machine)
    counts = [(order.settings, len(order.examples)) for order in missing]
    predict = max((count for settings, count in counts if settings is None), default=0)
    explain = max((count for settings, count in counts if settings is not None), default=0)
    return TimeEstimate(predict, explain, round(passes), load, usage, bill)


def _measure(model: Predictor, ask: Ask, order: WorkItem, machine: Machine) -> Usage:
    """Measure the first example, which pays for what is done once, then more and more others; extrapolate to all."""
    first, *remaining = order.examples
    usage = _cost(model, ask, replace(order, examples=[first]), machine)
    if not remaining:
        return usage
    size, most = 1, min(-(-len(remaining) // MEASURED_SHARE), MEASURED_ROWS)
    while True:
        part = _cost(model, ask, replace(order, examples=_spread(remaining, size)), machine)
        if part.seconds >= MEASURED_SECONDS or size == most:
            break
        size = min(GROWTH * size, most)
    share = len(remaining) / size
    return usage + replace(part, seconds=part.seconds * share, stored=round(part.stored * share))


def _cost(model: Predictor, ask: Ask, order: WorkItem, machine: Machine) -> Usage:
    """Return the cost of work, done now."""
    meter = Meter(machine)
    blocks = list(ask(model, order))
    usage = meter.usage
    return replace(usage, stored=len(shards.serialize(table_of_blocks(text_names(order.examples), blocks), "")))


def _spread(examples: Sequence[Example], most: int) -> Sequence[Example]:
    """Return at most so many examples, spread over all."""
    return examples[:: max(len(examples) // most, 1)][:most]
