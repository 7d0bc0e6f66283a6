"""Bill of requests to servers before they are sent: how many, how long, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ranker.errors import DataError, UnknownName
from ranker.records import read_toml, record

BYTES_A_TOKEN = 4
"""Bytes of English that a token of common vocabularies has, about."""


@dataclass(frozen=True)
class Price:
    """Price of a model.

    Attributes:
        prompt: of a million tokens of prompts.
        output: of a million tokens of answers.
    """

    prompt: float
    output: float


@dataclass(frozen=True)
class Prices:
    """Prices of models, as a TOML file writes them.

    Attributes:
        models: name of a model, as in ``openai:URL#NAME`` -> its `Price`.
        core_hour, gpu_hour: of an hour of a processor core, and of an accelerator; nan where unknown.

    Example:
        >>> Prices("EUR", {"small": Price(0.5, 2.0)}).of("small", prompt=2_000_000, output=500_000)
        2.0
    """

    currency: str = ""
    models: Mapping[str, Price] = field(default_factory=dict)
    core_hour: float = math.nan
    gpu_hour: float = math.nan

    def of(self, model: str, prompt: int, output: int) -> float:
        """Return the price of tokens of prompts and answers; nan for a model without one."""
        price = self.models.get(model)
        return math.nan if price is None else (price.prompt * prompt + price.output * output) / 1e6

    def of_hours(self, seconds: float, accelerated: bool) -> str:
        """Return the price of time on our own machines, as the end of a sentence; "" where it has none.

        Example:
            >>> Prices("EUR", core_hour=0.04).of_hours(5400, accelerated=False)
            ', 0.06 EUR'
        """
        price = self.gpu_hour if accelerated else self.core_hour
        return "" if math.isnan(price) else f", {price * seconds / 3600:,.3g} {self.currency}".rstrip()


NO_PRICES = Prices()


def read_prices(file: str) -> Prices:
    """Read a file of prices, none for ""; raises a DataError if it cannot be read, or has other fields."""
    if not file:
        return NO_PRICES
    try:
        content: dict[str, Any] = dict(read_toml(Path(file), "a list of prices"))
        models = content.pop("models", {})
        if not isinstance(models, Mapping):
            raise ValueError('`models` must be tables: [models."NAME"]')
        priced = {name: record(Price, fields, label=f"the price of {name}") for name, fields in models.items()}
        return record(Prices, content | {"models": priced}, label="the list of prices")
    except (ValueError, UnknownName) as error:
        raise DataError.at(file, error) from error
