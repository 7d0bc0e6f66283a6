"""Explained output: the number of each answer that is attributed."""

from __future__ import annotations

import torch

from factors.types import Output


def explained_output(logits: torch.Tensor, target: int, output: Output = "margin") -> torch.Tensor:
    """Return the number of each row that is attributed to its tokens.

    A single output is that number itself. Of several it is

    - margin: log(p / (1 - p)) of the target's probability p; for two classes z_target - z_other.
    - logit: z_target.
    - probability: p.

    Args:
        logits: (R, C).
        target: the class.
        output: which of the three.

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
