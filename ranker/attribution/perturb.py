"""Shared steps of backends: masks of tokens from words, and the number of each answer that is attributed."""

from __future__ import annotations

import numpy as np
import torch

from factors.types import SPECIAL, Bools, Floats, Ints, Output


def token_masks(word_masks: Bools, word: Ints) -> Bools:
    """Return (R, T) tokens that are seen, from (R, W) words that are and the (T,) word of each; others always are.

    Example:
        >>> import numpy as np
        >>> from ranker import token_masks
        >>> token_masks(np.array([[True, False]]), np.array([-1, 0, 1, 1])).tolist()  # -1: a token of no word
        [[True, True, False, False]]
    """
    inside = word != SPECIAL
    masks = np.ones((len(word_masks), len(word)), bool)
    masks[:, inside] = word_masks[:, np.unique(word[inside], return_inverse=True)[1]]
    return masks


def share_among_tokens(scores: Floats, word: Ints) -> Floats:
    """Return (T,) scores of tokens from (W,) scores of the words with tokens; those of a word add up to its score.

    Example:
        >>> import numpy as np
        >>> from ranker import share_among_tokens
        >>> share_among_tokens(np.array([0.5, 1.0]), np.array([-1, 0, 1, 1])).tolist()
        [0.0, 0.5, 0.5, 0.5]
    """
    inside = word != SPECIAL
    _, place, pieces = np.unique(word[inside], return_inverse=True, return_counts=True)
    of_tokens = np.zeros(len(word))
    of_tokens[inside] = (scores / pieces)[place]
    return of_tokens


def explained_values(logits: Floats, target: int, output: Output) -> Floats:
    """Return (R,) explained outputs of (R, C) logits, in float64.

    Example:
        >>> import numpy as np
        >>> from ranker import explained_values
        >>> explained_values(np.array([[0.0, 2.0]]), 1, "margin").tolist()
        [2.0]
    """
    return np.asarray(explained_output(torch.from_numpy(logits), target, output).numpy())


def explained_output(logits: torch.Tensor, target: int, output: Output = "margin") -> torch.Tensor:
    """Return the number of each row that is attributed to its tokens.

    A single output is that number itself. Of several it is

    - margin: log(p / (1 - p)) of the target's probability p; for two classes z_target - z_other.
    - logit: z_target.
    - probability: p.

    Args:
        logits: (R, C).

    Returns:
        (R,).

    Example:
        >>> explained_output(torch.tensor([[1.0, 3.0]]), 1).tolist()
        [2.0]
    """
    if output == "logit" or logits.shape[1] == 1:
        return logits[:, target]
    if output == "probability":
        return logits.softmax(dim=1)[:, target]
    other_classes = [i for i in range(logits.shape[1]) if i != target]
    return logits[:, target] - logits[:, other_classes].logsumexp(dim=1)
