"""Usage of models' answers: read from their sources after they answered, priced, and averaged over rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from factors.types import Example
from ranker.errors import ModelError, UsageError, listed
from ranker.results.costs import ModelUsage, Preference
from ranker.sources.base import Machine, ResourceCache, Source
from ranker.sources.endpoint.prices import NO_PRICES, Prices
from ranker.sources.faults import model_errors
from ranker.sources.usage import RowUsage, is_metered
from ranker.tasks.base import Task


@dataclass(frozen=True)
class Costing:
    """Part of the cost of models in a run.

    Attributes:
        prefer: wish for the cheapest or fastest of the models that are good enough; None for the best.
    """

    prices: Prices = NO_PRICES
    prefer: Preference | None = None


def usage_of(
    source: Source, task: Task, examples: Sequence[Example], machine: Machine, cache: ResourceCache, folder: Path
) -> RowUsage | None:
    """Return what a source's answers to examples took; None if it does not know, or cannot read it.

    Args:
        source: pinned.
        folder: local folder in which sources keep what they received.
    """
    if not is_metered(source):
        return None
    own_cache = ResourceCache(initial=cache)
    own_cache.folder = folder
    try:
        with model_errors():
            return source.usage(task, examples, machine, own_cache)
    except ModelError:
        return None


def check_metered(sources: Sequence[Source], prefer: Preference | None) -> None:
    """Refuse with a UsageError a preference that no source can meet, before any model is asked."""
    if prefer is not None and not any(map(is_metered, sources)):
        text = "takes what models' answers cost, which logs and servers state, and none of these models"
        raise UsageError.about("prefer", text)


def mean_usages(usages: Mapping[str, RowUsage | None], prices: Prices = NO_PRICES) -> dict[str, ModelUsage]:
    """Return the mean usage of each model of which something is known; prices of the list come before those of a log.

    Prices in another currency than that of the list, or else of the first model with a price, cannot be compared, and
    are left out.
    """
    priced = {name: usage.priced(prices, name) for name, usage in usages.items() if usage is not None}
    currencies = [usage.currency for usage in priced.values() if usage.means["money"][1]]
    chosen = prices.currency if prices.models and prices.currency in currencies else next(iter(currencies), "")
    return {name: _mean(usage, chosen) for name, usage in priced.items()}


def _mean(usage: RowUsage, currency: str) -> ModelUsage:
    means = {name: mean for name, mean in usage.means.items() if name != "money" or usage.currency == currency}
    values = {name: value for name, (value, _) in means.items()}
    counts = {name: count for name, (_, count) in means.items() if count}
    return ModelUsage(**values, currency=currency if values.get("money") is not None else "", rows=counts)


def usage_notes(usages: Mapping[str, RowUsage | None], means: Mapping[str, ModelUsage]) -> Iterator[str]:
    """Yield how usage was measured, and of which models a price is left out, a sentence each."""
    measured = [usage for usage in usages.values() if usage is not None]
    yield from (f"{note}." for note in dict.fromkeys(note for usage in measured for note in usage.notes))
    currency = next((usage.currency for usage in means.values() if usage.money is not None), "")
    left_out = [
        name
        for name, usage in usages.items()
        if usage is not None and usage.means["money"][1] and means[name].money is None
    ]
    if left_out:
        yield f"Their prices are not in {currency}, and left out: {listed(left_out)}."
