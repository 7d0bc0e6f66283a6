"""Hide tokens in rows of token ids.

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


def substitute_tokens(tokenizer: PreTrainedTokenizerBase) -> dict[Hide, int]:
    """Return the tokens that others can be hidden behind, with their ids, as far as the tokenizer has them."""
    names: tuple[Hide, ...] = ("pad", "mask")
    ids = {name: getattr(tokenizer, f"{name}_token_id", None) for name in names}
    return {name: int(token) for name, token in ids.items() if token is not None}


def hide_tokens(row: TokenRow, visible: Bools, token: int | None) -> list[TokenRow]:
    """Return copies of a row in which invisible tokens are substituted, or removed.

    Args:
        row: (T,) ids.
        visible: (R, T).
        token: id of the substitute; None removes tokens.

    Example:
        >>> row, visible = TokenRow(np.array([5, 6])), np.array([[True, False]])
        >>> hide_tokens(row, visible, 9)[0].ids.tolist(), hide_tokens(row, visible, None)[0].ids.tolist()
        ([5, 9], [5])
    """
    if token is not None:
        return [row._replace(ids=ids) for ids in np.where(visible, row.ids, token)]
    return [row.part(left) for left in visible]
