"""The time that work takes on a processor or on a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def timed(work: Callable[[], Result], device: str = "cpu") -> tuple[Result, float]:
    """Return what some work returns, and its processor seconds; on another device the seconds until it is finished."""
    if device == "cpu":
        start = time.process_time()
        return work(), time.process_time() - start
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    returned = work()
    torch.cuda.synchronize()
    return returned, time.perf_counter() - start


def seconds(work: Callable[[], object], device: str = "cpu") -> float:
    """Return the time of some work alone."""
    return timed(work, device)[1]
