"""What SHAP, LIME and occlusion share: rows of token ids, some of them hidden, and the value explained of each row.

Ids are hidden, never text: no tokenizer reads a perturbed text, so nothing but what was hidden can change.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from factors.types import SPECIAL, Bools, Floats, Output
from ranker.attribution.output import explained
from ranker.attribution.settings import LIMESettings, OcclusionSettings, Settings
from ranker.errors import ModelError
from ranker.sources.hf.align import Encoding
from ranker.sources.hf.batching import Row
from ranker.sources.hf.hidden import removed, replaced, tokens

if TYPE_CHECKING:
    from ranker.sources.hf.classifiers import Classifier


TOKENLESS = "`ig:baseline=zero` or `occlusion:hide=remove`"
"""What can be asked of a model that has no token to hide words behind."""


def token_id(classifier: Classifier, settings: Settings) -> int:
    """The id of the token that settings hide words behind.

    Raises:
        ModelError: the tokenizer has none; the message names settings that this model can be run with.
    """
    wanted = getattr(settings, settings.hides)
    ids = tokens(classifier)
    if wanted not in ids:
        others = [f"`{settings.name}:{settings.hides}={name}`" for name in ids]
        instead = next(iter(others), TOKENLESS)
        raise ModelError(
            f"{classifier.name} has no {wanted} token to hide words behind; set `--attribution` to {instead}"
        )
    return ids[wanted]


def hiding(classifier: Classifier, settings: LIMESettings | OcclusionSettings) -> Callable[[Row, Bools], list[Row]]:
    """Gives the function that makes rows of one in which the unseen tokens are replaced, or removed.

    Raises:
        ModelError: the tokenizer has no such token.
    """
    return removed if settings.hide == "remove" else partial(replaced, token=token_id(classifier, settings))


def of_tokens(shown: Bools, encoding: Encoding) -> Bools:
    """(R, W) words that are seen -> (R, T) tokens that are; special ones always are."""
    inside = encoding.word != SPECIAL
    seen = np.ones((len(shown), len(encoding)), bool)
    seen[:, inside] = shown[:, np.unique(encoding.word[inside], return_inverse=True)[1]]
    return seen


def spread(scores: Floats, encoding: Encoding) -> Floats:
    """(W,) scores of the words that have tokens, in order -> (T,) of the tokens; those of a word add up to its own."""
    inside = encoding.word != SPECIAL
    _, place, pieces = np.unique(encoding.word[inside], return_inverse=True, return_counts=True)
    of_tokens = np.zeros(len(encoding))
    of_tokens[inside] = (scores / pieces)[place]
    return of_tokens


def values(logits: Floats, target: int, output: Output) -> Floats:
    """(R, C) logits -> (R,) the explained output of each row, in float64."""
    return np.asarray(explained(torch.from_numpy(logits), target, output).numpy())
