"""Rows of token ids, some of them hidden.

Ids are hidden, never text: no tokenizer reads a perturbed text, so nothing but what was hidden can change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from factors.types import Bools
from ranker.sources.base import Hide
from ranker.sources.hf.batching import TokenRow

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def tokens(tokenizer: PreTrainedTokenizerBase) -> dict[Hide, int]:
    """The tokens that others can be hidden behind, with their ids; those that the tokenizer has."""
    named: tuple[Hide, ...] = ("pad", "mask")
    ids = {name: getattr(tokenizer, f"{name}_token_id", None) for name in named}
    return {name: int(token) for name, token in ids.items() if token is not None}


def rows(row: TokenRow, seen: Bools, token: int | None) -> list[TokenRow]:
    """Rows of one in which unseen tokens give way to another, or are removed.

    Args:
        row: (T,) ids.
        seen: (R, T).
        token: the other's id; None removes them.

    Example:
        >>> row, seen = TokenRow(np.array([5, 6])), np.array([[True, False]])
        >>> rows(row, seen, 9)[0].ids.tolist(), rows(row, seen, None)[0].ids.tolist()
        ([5, 9], [5])
    """
    if token is not None:
        return [TokenRow(ids, row.type_ids) for ids in np.where(seen, row.ids, token)]
    types = row.type_ids
    return [TokenRow(row.ids[left], None if types is None else types[left]) for left in seen]
