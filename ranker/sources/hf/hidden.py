"""Rows of token ids, some of them hidden.

Ids are hidden, never text: no tokenizer reads a perturbed text, so nothing but what was hidden can change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from factors.types import Bools
from ranker.sources.hf.batching import Row

if TYPE_CHECKING:
    from ranker.sources.hf.classifiers import Classifier


def tokens(classifier: Classifier) -> dict[str, int]:
    """The tokens that others can be hidden behind: "pad", "mask" -> id; those that the tokenizer has."""
    ids = {name: getattr(classifier.tokenizer, f"{name}_token_id", None) for name in ("pad", "mask")}
    return {name: int(token) for name, token in ids.items() if token is not None}


def replaced(row: Row, seen: Bools, token: int) -> list[Row]:
    """Rows in which unseen tokens give way to another.

    Args:
        row: (T,) ids.
        seen: (R, T).
        token: the other's id.

    Example:
        >>> [row.ids.tolist() for row in replaced(Row(np.array([5, 6])), np.array([[True, False]]), 9)]
        [[5, 9]]
    """
    return [Row(ids, row.type_ids) for ids in np.where(seen, row.ids, token)]


def removed(row: Row, seen: Bools) -> list[Row]:
    """Rows without the unseen tokens.

    Example:
        >>> [row.ids.tolist() for row in removed(Row(np.array([5, 6])), np.array([[True, False]]))]
        [[5]]
    """
    types = row.type_ids
    return [Row(row.ids[left], None if types is None else types[left]) for left in seen]
