"""What SHAP, LIME and occlusion share: words told from tokens, and the value explained of each answer."""

from __future__ import annotations

import numpy as np
import torch

from factors.types import SPECIAL, Bools, Floats, Output
from ranker.attribution.output import explained
from ranker.sources.base import Encoding


def of_tokens(shown: Bools, encoding: Encoding) -> Bools:
    """(R, W) words that are seen -> (R, T) tokens that are; those of no word always are."""
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
