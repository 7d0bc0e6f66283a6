"""Batch many small requests into few full forward passes, for probabilities and all backends.

Requests of many examples are read ahead (a window), duplicate rows among them are computed once, and rows are packed
by a budget of tokens (`ranker.sources.packing`). A batch holds rows of one length only, so nothing is padded: no value
depends on a row's neighbours, no architecture's habits of padding (sides, position ids, masks) matter, and attention
needs no mask. Where a pass costs more than its tokens, on GPUs, rows of other lengths join them behind a mask, if the
network is seen to give them the outputs that they have alone. Memory stays flat however many requests come.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
import torch

from factors.types import Bools, Ints
from ranker.sources.packing import WINDOW, run_in_batches, windows

if TYPE_CHECKING:
    from ranker.progress import Advance

S = TypeVar("S")

MAX_REQUESTS_AHEAD = 1024
"""Most requests that are read ahead: it bounds what an interruption can lose if batches are large."""


class InputRow(Protocol):
    """One input of a model."""

    @property
    def size(self) -> int:
        """Tokens that it costs; rows of one size, or of about one, are run together."""

    @property
    def content(self) -> Hashable:
        """Everything that its output depends on."""


R = TypeVar("R", bound=InputRow)


class TokenRow(NamedTuple):
    """One input of a model that reads tokens.

    Attributes:
        ids: (T,) token ids.
        type_ids: (T,) segment ids, for models that take them.
        frame: (T,) ids by which the network finds positions and the place that its head reads, for rows that are run
            from embeddings; None for rows that are run from their ids.
    """

    ids: Ints
    type_ids: Ints | None = None
    frame: Ints | None = None

    @property
    def size(self) -> int:
        """T."""
        return len(self.ids)

    def part(self, tokens: Bools | Ints) -> TokenRow:
        """Return some of the tokens, by a mask or by their places."""
        return TokenRow(self.ids[tokens], *(None if values is None else values[tokens] for values in self[1:]))

    def hidden(self, visible: Bools, token: int | None) -> list[TokenRow]:
        """Return R copies in which tokens that are not (R, T) visible are substituted by another; None removes them.

        Ids are hidden, never text: no tokenizer reads a perturbed text, so nothing but what was hidden can change.

        Example:
            >>> row, visible = TokenRow(np.array([5, 6])), np.array([[True, False]])
            >>> row.hidden(visible, 9)[0].ids.tolist(), row.hidden(visible, None)[0].ids.tolist()
            ([5, 9], [5])
        """
        if token is None:
            return [self.part(left) for left in visible]
        return [self._replace(ids=ids) for ids in np.where(visible, self.ids, token)]

    @property
    def content(self) -> tuple[bytes, ...]:
        """Ids, segment ids and frame."""
        return tuple(b"" if array is None else array.tobytes() for array in self)


class Batch(NamedTuple):
    """R rows as tensors, of the length T of the longest.

    Attributes:
        ids: (R, T) token ids.
        type_ids: (R, T) segment ids, for models that take them.
        frame: (R, T) see `TokenRow`.
        mask: (R, T) 1 for the row's tokens, 0 for padding after them; None without padding.
    """

    ids: torch.Tensor
    type_ids: torch.Tensor | None
    frame: torch.Tensor | None = None
    mask: torch.Tensor | None = None

    @property
    def masked(self) -> dict[str, torch.Tensor]:
        """The network's argument for the mask; none without padding."""
        return {} if self.mask is None else {"attention_mask": self.mask}

    def part(self, rows: torch.Tensor) -> Batch:
        """Return some of the rows."""
        return Batch(self.ids[rows], *(None if values is None else values[rows] for values in self[1:]))


def stack(rows: Sequence[TokenRow], device: torch.device | str = "cpu", pad: int = 0) -> Batch:
    """Stack rows into a batch.

    Example:
        >>> stack([TokenRow(np.array([5, 6])), TokenRow(np.array([7, 8]))]).ids.tolist()
        [[5, 6], [7, 8]]
        >>> batch = stack([TokenRow(np.array([5, 6])), TokenRow(np.array([7]))], pad=9)
        >>> batch.ids.tolist(), batch.mask.tolist()
        ([[5, 6], [7, 9]], [[1, 1], [1, 0]])
    """
    longest = max(row.size for row in rows)

    def stacked(arrays: Iterable[Ints | None], fill: int) -> torch.Tensor | None:
        present = [array if len(array) == longest else np.pad(array, (0, longest - len(array)), constant_values=fill)
                   for array in arrays if array is not None]  # fmt: skip
        return torch.from_numpy(np.stack(present)).to(device) if present else None

    ids, type_ids, frame = (stacked(arrays, fill) for arrays, fill in zip(zip(*rows, strict=True), (pad, 0, pad),
                                                                         strict=True))  # fmt: skip
    padded = any(row.size < longest for row in rows)
    mask = stacked([np.ones(row.size, np.int64) for row in rows], 0) if padded else None
    assert ids is not None
    return Batch(ids, type_ids, frame, mask)


def run_rows(
    run: Callable[[Sequence[R]], Iterable[Any]],
    requests: Iterable[tuple[S, Sequence[R]]],
    token_budget: int,
    advance: Advance,
    padding: int = 0,
    window: int | None = None,
) -> Iterator[tuple[S, list[Any]]]:
    """Answer requests in order, each with the outputs of its rows.

    Args:
        run: rows of a batch -> the output of each.
        requests: (state, rows): any object that is returned with the answer, and one row or more. They are read lazily,
            a window ahead.
        token_budget: most tokens a batch. It changes speed and memory, no value.
        advance: called after each batch with the number of newly completed requests.
        padding: see `ranker.sources.packing.pack`; with 0 the rows of a batch are of one size.
        window: most tokens that are read ahead; None for `WINDOW` batches.

    Yields:
        The state of a request, and the output of each of its rows.
    """

    def tokens(request: tuple[S, Sequence[R]]) -> int:
        return sum(row.size for row in request[1])

    for ahead in windows(requests, tokens, window or WINDOW * token_budget, MAX_REQUESTS_AHEAD):
        rows, places = distinct_rows([wanted for _, wanted in ahead])
        outputs, token_budget = _outputs(run, rows, token_budget, padding, completion_counter(advance, places))
        for (state, _), wanted in zip(ahead, places, strict=True):
            yield state, [outputs[place] for place in wanted]


def distinct_rows(requests: Iterable[Sequence[R]]) -> tuple[list[R], list[list[int]]]:
    """Return the distinct rows of requests, and the indices of each request's rows among them.

    Example:
        >>> a, b = TokenRow(np.array([5, 6])), TokenRow(np.array([7]))
        >>> rows, places = distinct_rows([[a, b], [a]])
        >>> len(rows), places
        (2, [[0, 1], [0]])
    """
    rows: list[R] = []
    indices: dict[Hashable, int] = {}
    places: list[list[int]] = []
    for wanted in requests:
        places.append([])
        for row in wanted:
            place = indices.setdefault(row.content, len(rows))
            if place == len(rows):
                rows.append(row)
            places[-1].append(place)
    return rows, places


def completion_counter(advance: Advance, places: Sequence[Sequence[int]]) -> Callable[[Sequence[int]], None]:
    """Return a function of finished rows that reports the number of newly completed requests.

    Example:
        >>> done = completion_counter(print, [[0, 1], [1, 1], [0]])
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


def _outputs(
    run: Callable[[Sequence[R]], Iterable[Any]],
    rows: Sequence[R],
    budget: int,
    padding: int,
    done: Callable[[Sequence[int]], object],
) -> tuple[dict[int, Any], int]:
    """Return row index -> its output, and the final token budget."""
    outputs: dict[int, Any] = {}

    def run_batch(batch: Sequence[int]) -> None:
        with torch.inference_mode():
            values = run([rows[i] for i in batch])
        outputs.update(zip(batch, values, strict=True))
        done(batch)

    budget = run_in_batches([row.size for row in rows], budget, run_batch, padding)
    return outputs, budget
