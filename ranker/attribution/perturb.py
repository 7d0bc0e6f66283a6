"""Shared steps of SHAP, LIME and occlusion: masks of tokens from words, and the explained value of each answer."""

from __future__ import annotations

import numpy as np
import torch

from factors.types import SPECIAL, Bools, Floats, Ints, Output
from ranker.attribution.output import explained_output


def token_masks(word_masks: Bools, word: Ints) -> Bools:
    """Return (R, T) tokens that are seen, from (R, W) words that are and the (T,) word of each; others always are."""
    inside = word != SPECIAL
    masks = np.ones((len(word_masks), len(word)), bool)
    masks[:, inside] = word_masks[:, np.unique(word[inside], return_inverse=True)[1]]
    return masks


def share_among_tokens(scores: Floats, word: Ints) -> Floats:
    """Return (T,) scores of tokens from (W,) scores of the words with tokens; those of a word add up to its score."""
    inside = word != SPECIAL
    _, place, pieces = np.unique(word[inside], return_inverse=True, return_counts=True)
    of_tokens = np.zeros(len(word))
    of_tokens[inside] = (scores / pieces)[place]
    return of_tokens


def explained_values(logits: Floats, target: int, output: Output) -> Floats:
    """Return (R,) explained outputs of (R, C) logits, in float64."""
    return np.asarray(explained_output(torch.from_numpy(logits), target, output).numpy())
