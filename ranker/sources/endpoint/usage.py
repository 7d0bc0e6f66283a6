"""Tokens of a model behind a server, as its replies in the journal count them; nothing is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from factors.types import Example
from ranker.sources.endpoint.abilities import CountingEndpoint
from ranker.sources.endpoint.client import NotKept, RowError
from ranker.sources.endpoint.prices import read_prices
from ranker.sources.endpoint.scoring import ServerScorer, ServerWriter
from ranker.sources.usage import QUANTITIES, RowUsage

MOST_ROWS = 500
"""Rows whose replies are read again, at most: more would say no more of the mean, and take longer."""


def kept_usage(model: ServerScorer | ServerWriter, examples: Sequence[Example]) -> RowUsage | None:
    """Return the tokens of all requests for each example, by the replies that are kept; None if none counts any.

    Args:
        model: opened with a client that sends nothing.
        examples: of more than `MOST_ROWS` some are read, evenly spread.
    """
    endpoint = CountingEndpoint(**vars(model.endpoint))
    counting = replace(model, endpoint=endpoint)
    amounts = np.full((len(QUANTITIES), len(examples)), np.nan)
    for row in np.unique(np.linspace(0, len(examples) - 1, min(MOST_ROWS, len(examples))).round().astype(int)):
        endpoint.replies.clear()
        try:
            counting.ask_row(examples[row].segments)
        except (NotKept, RowError):
            continue
        if all(reply.prompt_tokens > 0 and reply.output_tokens >= 0 for reply in endpoint.replies):
            amounts[0, row] = sum(reply.prompt_tokens for reply in endpoint.replies)
            amounts[1, row] = sum(reply.output_tokens for reply in endpoint.replies)
    if np.isnan(amounts).all():
        return None
    return RowUsage(amounts, endpoint.model).priced(read_prices(model.prices))
