"""Usage of answers, row by row: tokens, seconds and money, as a log or a server states them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np

from factors.types import Example, Floats, Ints
from ranker.sources.base import Machine, ResourceCache, Source
from ranker.sources.endpoint.prices import Prices

if TYPE_CHECKING:
    from ranker.tasks.base import Task

QUANTITIES = ("prompt_tokens", "output_tokens", "seconds", "money")
"""What is known of a row, in the order of `RowUsage.amounts`."""

MONEY = QUANTITIES.index("money")


@dataclass(frozen=True, eq=False)
class RowUsage:
    """Usage of one model on N rows.

    Attributes:
        amounts: (4, N) the `QUANTITIES` of each row; nan where unknown. Read-only.
        model: name of the model in its log or at its server, by which a list of prices may name it.
        notes: how the quantities were measured, a sentence each.

    Raises:
        ValueError: the shape is another.

    Example:
        >>> from ranker.sources.endpoint.prices import Price
        >>> usage = RowUsage(np.array([[10, 12], [1, 2], [0.5, np.nan], [np.nan, np.nan]]), "gpt")
        >>> usage.means["seconds"], usage.means["money"]
        ((0.5, 1), (None, 0))
        >>> usage.priced(Prices("USD", {"gpt": Price(1.0, 4.0)})).amounts[3].tolist()
        [1.4e-05, 2e-05]
    """

    amounts: Floats
    model: str = ""
    currency: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.amounts.ndim != 2 or len(self.amounts) != len(QUANTITIES):
            raise ValueError(f"amounts must have the shape ({len(QUANTITIES)}, N) (got {self.amounts.shape})")
        self.amounts.flags.writeable = False

    @property
    def means(self) -> dict[str, tuple[float | None, int]]:
        """Quantity -> its mean over the rows on which it is known, None for none, and their number."""
        counts = (~np.isnan(self.amounts)).sum(axis=1).tolist()
        sums = np.nansum(self.amounts, axis=1).tolist()
        return {
            name: (total / count if count else None, count)
            for name, total, count in zip(QUANTITIES, sums, counts, strict=True)
        }

    def at(self, rows: Ints) -> RowUsage:
        """Return the usage of some rows, by their positions; -1 for an unknown row."""
        padded = np.hstack([self.amounts, np.full((len(QUANTITIES), 1), np.nan)])
        return replace(self, amounts=padded[:, rows])

    def priced(self, prices: Prices, *names: str) -> RowUsage:
        """Return the same with the money by a list of prices, if that names the model; else unchanged.

        Args:
            names: other names of the model, which come before its own.
        """
        price = next((prices.models[name] for name in (*names, self.model) if name in prices.models), None)
        if price is None:
            return self
        amounts = self.amounts.copy()
        amounts[MONEY] = (price.prompt * amounts[0] + price.output * amounts[1]) / 1e6
        return replace(self, amounts=amounts, currency=prices.currency)


class Metered(Source, Protocol):
    """A source that knows what its answers take."""

    def usage(self, task: Task, examples: Sequence[Example], machine: Machine, cache: ResourceCache) -> RowUsage | None:
        """Return what the answers to examples took, after they were given; None if nothing is known of it."""


def is_metered(source: Source) -> TypeGuard[Metered]:
    """Return True if a source knows what its answers take."""
    return hasattr(type(source), "usage")


def amount(value: Any) -> float:
    """Return a quantity that a file states; nan for what is none, such as a text or a number below 0.

    Example:
        >>> amount(3), amount("3"), amount(-1), amount(None)
        (3.0, nan, nan, nan)
    """
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        return math.nan
    return float(value)


def mean_over(usages: Sequence[RowUsage | None]) -> RowUsage | None:
    """Return the mean of several runs on the same rows, of each quantity over those that know it; None if none does."""
    stated = [usage for usage in usages if usage is not None]
    if not stated:
        return None
    amounts = np.stack([usage.amounts for usage in stated])
    counts = (~np.isnan(amounts)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return replace(stated[0], amounts=np.asarray(np.nansum(amounts, axis=0) / np.where(counts, counts, np.nan)))


def mean_usage(samples: Iterable[Sequence[float]]) -> tuple[float, ...]:
    """Return the mean of each quantity over the samples of a row in which it is known.

    Example:
        >>> mean_usage([(10, 1, 0.5, math.nan), (20, 3, math.nan, math.nan)])
        (15.0, 2.0, 0.5, nan)
    """
    columns = [[value for value in column if not math.isnan(value)] for column in zip(*samples, strict=True)]
    return tuple(math.fsum(column) / len(column) if column else math.nan for column in columns)
