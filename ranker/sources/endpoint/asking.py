"""Many rows at a time: threads ask, and their results come in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ranker.sources.endpoint.client import Client

A = TypeVar("A")
B = TypeVar("B")

AHEAD = 4
"""Rows that wait for each thread, so that none waits for the first row of all."""

BEAT_EVERY = 0.5
"""Seconds between two signs of life while nothing is done."""


def in_order(
    client: Client, ask: Callable[[A], B], rows: Iterable[A], beat: Callable[[], None] = lambda: None
) -> Iterator[B]:
    """Ask about rows side by side, and yield the results in order.

    Where one raises, or the caller stops, no further request is sent, and those in flight are waited for: their replies
    are kept.

    Args:
        ask: row -> result; it runs in several threads.
        rows: read a little ahead.
        beat: called now and then in this thread.
    """
    count = client.server.options.concurrency
    waiting: deque[Future[B]] = deque()
    stream = iter(rows)
    threads = ThreadPoolExecutor(count)
    try:
        while True:
            waiting.extend(threads.submit(ask, row) for row in islice(stream, count * AHEAD - len(waiting)))
            if not waiting:
                return
            while not wait([waiting[0]], BEAT_EVERY).done:
                beat()
            beat()
            yield waiting.popleft().result()
    finally:
        client.stopping.set()
        threads.shutdown(cancel_futures=True)
        client.stopping.clear()
