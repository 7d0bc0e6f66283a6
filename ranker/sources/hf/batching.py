"""Many small requests -> few full forward passes: the one batching layer of probabilities and all backends.

Requests of many examples are read ahead (a window), exact duplicates among their rows are computed once, and rows are
packed by a budget of tokens. A batch holds rows of one length only. So nothing is ever padded: no value depends on a
row's neighbours, no architecture's own habits of padding (sides, position ids, masks) matter, and attention needs no
mask. When memory runs out the budget is halved, and the work goes on. Memory stays flat however many requests come.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import torch

from factors.types import Floats, Ints
from ranker.errors import ModelError

if TYPE_CHECKING:
    from ranker.progress import Advance

log = logging.getLogger(__name__)

T = TypeVar("T")
S = TypeVar("S")

OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "cublas_status_alloc_failed")
"""What errors say, in lower case, where memory ran out: of most devices, of CPUs, of CUDA's matrix products."""

WINDOW = 64
"""Batches that are read ahead: enough to find rows of one length and duplicates, few enough to hold and to lose."""
MOST = 1024
"""Requests that are read ahead at most: what an interruption can cost where batches are large."""


class Row(NamedTuple):
    """One input of a model.

    Attributes:
        ids: (T,) token ids.
        type_ids: (T,) segment ids, for models that take them.
    """

    ids: Ints
    type_ids: Ints | None = None


class Batch(NamedTuple):
    """R rows of one length T, as tensors.

    Attributes:
        ids: (R, T) token ids.
        type_ids: (R, T) segment ids, for models that take them.
    """

    ids: torch.Tensor
    type_ids: torch.Tensor | None


def stack(rows: Sequence[Row], device: torch.device | str = "cpu") -> Batch:
    """Rows of one length, as a batch.

    Example:
        >>> stack([Row(np.array([5, 6])), Row(np.array([7, 8]))]).ids.tolist()
        [[5, 6], [7, 8]]
    """
    ids = torch.from_numpy(np.stack([row.ids for row in rows])).to(device)
    types = [row.type_ids for row in rows if row.type_ids is not None]
    return Batch(ids, torch.from_numpy(np.stack(types)).to(device) if types else None)


def forward(
    network: Callable[[Batch], torch.Tensor],
    requests: Iterable[tuple[S, Sequence[Row]]],
    token_budget: int,
    device: torch.device | str = "cpu",
    advance: Advance = lambda done: None,
) -> Iterator[tuple[S, Floats]]:
    """Answer requests in order, each with the logits of its rows.

    Args:
        network: a batch of R rows -> (R, C) logits.
        requests: what the caller wants back with the answer, and one row or more. They are read lazily, a window
            ahead.
        token_budget: the most tokens a batch. It changes speed and memory, no value.
        device: where the network is.
        advance: told after each batch how many more requests have all of their rows.

    Yields:
        What came with the request, and (R, C) float64 logits of its R rows.

    Raises:
        ModelError: a row has no token, or memory is too small for a single row.
    """

    def tokens(request: tuple[S, Sequence[Row]]) -> int:
        return sum(len(row.ids) for row in request[1])

    for window in windows(requests, tokens, WINDOW * token_budget, MOST):
        rows, places = distinct([wanted for _, wanted in window])
        logits, token_budget = _logits(network, rows, token_budget, device, telling(advance, places))
        for (state, _), place in zip(window, places, strict=True):
            yield state, logits[place]


def distinct(requests: Iterable[Sequence[Row]]) -> tuple[list[Row], list[list[int]]]:
    """The distinct rows of requests, and where among them each request's rows are.

    Example:
        >>> a, b = Row(np.array([5, 6])), Row(np.array([7]))
        >>> rows, places = distinct([[a, b], [a]])
        >>> len(rows), places
        (2, [[0, 1], [0]])
    """
    rows: list[Row] = []
    known: dict[tuple[bytes, bytes], int] = {}
    places: list[list[int]] = []
    for wanted in requests:
        places.append([])
        for row in wanted:
            content = (row.ids.tobytes(), b"" if row.type_ids is None else row.type_ids.tobytes())
            place = known.setdefault(content, len(rows))
            if place == len(rows):
                rows.append(row)
            places[-1].append(place)
    return rows, places


def telling(advance: Advance, places: Sequence[Sequence[int]]) -> Callable[[Sequence[int]], None]:
    """Gives the function to call with rows that are done; it tells how many more requests have all of theirs.

    Args:
        advance: is told.
        places: the rows that each request wants.

    Example:
        >>> done = telling(print, [[0, 1], [1, 1], [0]])
        >>> done([1])
        1
        >>> done([0])
        2
    """
    wanted_by: dict[int, list[int]] = defaultdict(list)
    for request, place in enumerate(places):
        for row in set(place):
            wanted_by[row].append(request)
    lacks = [len(set(place)) for place in places]

    def done(rows: Sequence[int]) -> None:
        completed = 0
        for request in (request for row in rows for request in wanted_by[row]):
            lacks[request] -= 1
            completed += not lacks[request]
        advance(completed)

    return done


def _logits(
    network: Callable[[Batch], torch.Tensor],
    rows: Sequence[Row],
    budget: int,
    device: torch.device | str,
    done: Callable[[Sequence[int]], object],
) -> tuple[Floats, int]:
    """(R, C) logits of R rows, and the budget that was in force at the end."""
    logits: dict[int, Floats] = {}

    def run(batch: Sequence[int]) -> None:
        with torch.inference_mode():
            values = network(stack([rows[i] for i in batch], device))
        logits.update(zip(batch, values.double().cpu().numpy(), strict=True))
        done(batch)

    budget = in_batches([len(row.ids) for row in rows], budget, run)
    return np.stack([logits[i] for i in range(len(rows))]), budget


def windows(items: Iterable[T], cost: Callable[[T], int], limit: int, most: int) -> Iterator[list[T]]:
    """Cut a stream into lists whose costs add up to ``limit`` or just over it, of ``most`` items at most.

    Example:
        >>> list(windows([3, 3, 5, 1, 1, 1], int, 6, 2))
        [[3, 3], [5, 1], [1, 1]]
    """
    window: list[T] = []
    total = 0
    for item in items:
        window.append(item)
        total += cost(item)
        if total >= limit or len(window) == most:
            yield window
            window, total = [], 0
    if window:
        yield window


def pack(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Indices of rows, in batches of one length each within the budget, the longest first.

    A row that is longer than the budget is a batch of its own.

    Args:
        lengths: of the rows, in tokens.
        budget: the most tokens a batch.

    Example:
        >>> list(pack([3, 9, 3, 3], 6))
        [[1], [0, 2], [3]]
    """
    of_length: dict[int, list[int]] = defaultdict(list)
    for i, length in enumerate(lengths):
        of_length[length].append(i)
    # the longest come first, so that memory runs out at the start or not at all
    for length in sorted(of_length, reverse=True):
        alike, size = of_length[length], max(1, budget // length)
        yield from (alike[start : start + size] for start in range(0, len(alike), size))


def in_batches(lengths: Sequence[int], budget: int, run: Callable[[list[int]], None]) -> int:
    """Run all rows, packed; when memory runs out the budget is halved, and the rest goes on.

    Args:
        lengths: of the rows, in tokens.
        budget: the most tokens a batch.
        run: does a batch of indices.

    Returns:
        The budget that was in force at the end.

    Raises:
        ModelError: a row has no token, or memory is too small for the smallest batch there is.
    """
    if 0 in lengths:
        raise ModelError(
            "a text has no token, or none is left once its words are removed; leave out empty texts, and hide words "
            "behind a token (`hide=pad` or `hide=mask`)"
        )
    left = list(range(len(lengths)))
    while left:
        batches = [[left[i] for i in batch] for batch in pack([lengths[i] for i in left], budget)]
        left = []
        for done, batch in enumerate(batches):
            try:
                run(batch)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                size = lengths[batch[0]]
                if budget < size:
                    raise ModelError(f"memory is too small for one row of {size} tokens") from error
                # what failed may have been smaller than the budget; half of that is tried, not half of the budget
                budget = min(budget, len(batch) * size) // 2
                log.warning("out of memory: going on with at most %d tokens a batch", budget)
                left = [i for rest in batches[done:] for i in rest]
                break
    return budget


def is_out_of_memory(error: BaseException) -> bool:
    """Say whether an error means that memory ran out, on any device; torch has no one class for it."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    said = str(error).casefold()
    return any(form in said for form in OUT_OF_MEMORY)
