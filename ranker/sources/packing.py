"""Cut streams into windows, and pack rows into batches, for all code that runs a network.

A batch holds rows of one length only, so nothing is padded, unless the caller allows it. When memory runs out, the
budget is halved and the work goes on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import torch

from ranker.errors import ModelError

log = logging.getLogger(__name__)

T = TypeVar("T")

OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "cublas_status_alloc_failed")
"""Texts of out-of-memory errors, in lower case: of most devices, of CPUs, of CUDA's matrix products."""

WINDOW = 64
"""Batches that are read ahead: enough to find rows of one length and duplicates, few enough to hold and to lose."""


SECONDS = 4.0
"""Age at which a block of answers is given away."""


def windows(items: Iterable[T], cost: Callable[[T], int], limit: int, most: int) -> Iterator[list[T]]:
    """Cut a stream into lists whose costs add up to ``limit`` or just over it, of ``most`` items at most.

    Example:
        >>> list(windows([3, 3, 5, 1, 1, 1], int, 6, 2))
        [[3, 3], [5, 1], [1, 1]]
    """
    window: list[T] = []
    total = 0
    for request in items:
        window.append(request)
        total += cost(request)
        if total >= limit or len(window) == most:
            yield window
            window, total = [], 0
    if window:
        yield window


def in_blocks(
    items: Iterable[T], most: int, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
) -> Iterator[list[T]]:
    """Cut a stream into lists of so many items at most, each given away when its first item is some seconds old.

    Example:
        >>> list(in_blocks(range(5), 2))
        [[0, 1], [2, 3], [4]]
    """
    block: list[T] = []
    began = clock()
    for element in items:
        block.append(element)
        if len(block) == most or clock() - began >= seconds:
            yield block
            block, began = [], clock()
    if block:
        yield block


def pack(lengths: Sequence[int], budget: int, padding: int = 0) -> Iterator[list[int]]:
    """Yield indices of rows, in batches within the budget, the longest first.

    A row that is longer than the budget is a batch of its own.

    Args:
        lengths: of the rows, in tokens.
        budget: most tokens a batch.
        padding: most tokens by which a batch grows if each of its rows is as much longer as its shortest one must be;
            with 0 a batch holds rows of one length.

    Example:
        >>> list(pack([3, 9, 3, 3], 6))
        [[1], [0, 2], [3]]
        >>> list(pack([4, 9, 3, 3], 12, padding=3))
        [[1], [0, 2, 3]]
    """
    batch: list[int] = []
    # the longest come first, so that memory runs out at the start or not at all
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch:
            longest, count = lengths[batch[0]], len(batch) + 1
            if count * longest > budget or count * (longest - lengths[i]) > padding:
                yield batch
                batch = []
        batch.append(i)
    if batch:
        yield batch


def run_in_batches(lengths: Sequence[int], budget: int, run: Callable[[list[int]], None], padding: int = 0) -> int:
    """Run all rows in packed batches; when memory runs out, the budget, which is returned, is halved.

    Args:
        lengths, budget, padding: see `pack`.
        run: runs a batch of indices.

    Raises:
        ModelError: a row has no token, or memory is too small for the smallest batch.
    """
    if 0 in lengths:
        raise ModelError(
            "a text has no token, or none is left once its words are removed; leave out empty texts, and hide words "
            "behind a token (`hide=pad` or `hide=mask`; of SHAP `baseline=pad` or `baseline=mask`)",
            option="hide",
        )
    left = list(range(len(lengths)))
    while left:
        batches = [[left[i] for i in batch] for batch in pack([lengths[i] for i in left], budget, padding)]
        left = []
        for done, batch in enumerate(batches):
            try:
                run(batch)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                size = lengths[batch[0]]
                if budget < size:
                    text = f"memory is too small for one row of {size} tokens"
                    raise ModelError(text, value=size) from error
                # a failed batch may be smaller than the budget: halve its size, not the budget
                budget = min(budget, len(batch) * size) // 2
                log.warning("out of memory: going on with at most %d tokens a batch", budget)
                left = [i for batch_left in batches[done:] for i in batch_left]
                break
    return budget


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if an error means that memory ran out, on any device; torch has no single class for it."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    message = str(error).casefold()
    return any(form in message for form in OUT_OF_MEMORY)
