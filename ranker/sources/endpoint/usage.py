"""Tokens of a model behind a server, as its replies in the journal count them; nothing is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from factors.types import Example
from ranker.sources.endpoint.abilities import Endpoint, Prompted
from ranker.sources.endpoint.client import NotKept, RowError
from ranker.sources.endpoint.prices import read_prices
from ranker.sources.endpoint.replies import Reply
from ranker.sources.endpoint.scoring import ServerScorer, ServerWriter
from ranker.sources.usage import QUANTITIES, RowUsage

MOST_ROWS = 500
"""Rows whose replies are read again, at most: more would say no more of the mean, and take longer."""


@dataclass(frozen=True)
class CountingEndpoint(Endpoint):
    """An endpoint that keeps the replies to a row.

    Attributes:
        replies: since they were last cleared.
    """

    replies: list[Reply] = field(default_factory=list)

    def ask(self, prompt: Prompted, limit: int, **parameters: Any) -> Reply:
        """Return the reply to a prompt, and keep it."""
        self.replies.append(super().ask(prompt, limit, **parameters))
        return self.replies[-1]


def kept_usage(model: ServerScorer | ServerWriter, examples: Sequence[Example]) -> RowUsage | None:
    """Return the tokens of all requests for each example, by the replies that are kept; None if none counts any.

    Args:
        model: opened with a client that sends nothing.
        examples: of more than `MOST_ROWS` some are read, evenly spread.
    """
    endpoint = CountingEndpoint(**vars(model.endpoint))
    counting = replace(model, endpoint=endpoint)
    ask: Callable[[Any], object] = counting.scores if isinstance(counting, ServerScorer) else counting.write
    amounts = np.full((len(QUANTITIES), len(examples)), np.nan)
    for row in np.unique(np.linspace(0, len(examples) - 1, min(MOST_ROWS, len(examples))).round().astype(int)):
        endpoint.replies.clear()
        try:
            ask(examples[row].segments)
        except (NotKept, RowError):
            continue
        if all(reply.prompt_tokens > 0 and reply.output_tokens >= 0 for reply in endpoint.replies):
            amounts[0, row] = sum(reply.prompt_tokens for reply in endpoint.replies)
            amounts[1, row] = sum(reply.output_tokens for reply in endpoint.replies)
    if np.isnan(amounts).all():
        return None
    return RowUsage(amounts, endpoint.model).priced(read_prices(model.prices))
