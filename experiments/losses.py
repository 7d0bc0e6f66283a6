"""Losses of a training: functions of logits and labels, each the mean over a batch, in nats.

B examples a batch, C classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.nn.functional import cross_entropy

LossOf = Callable[[torch.Tensor, torch.Tensor, Sequence[int]], torch.Tensor]
"""Of (B, C) logits, (B,) labels and the batch's rows in the training data: the mean loss."""


def plain(logits: torch.Tensor, labels: torch.Tensor, rows: Sequence[int]) -> torch.Tensor:
    """Cross entropy."""
    return cross_entropy(logits, labels)


def focal(logits: torch.Tensor, labels: torch.Tensor, gamma: float) -> torch.Tensor:
    """Focal loss: the mean of ``-(1 - p)^gamma log p``, with p the probability of the true label.

    What is right already counts little; gamma 0 is cross entropy.

    Source: Lin, Goyal, Girshick, He and Dollár (2017), Focal Loss for Dense Object Detection, section 3.2, alpha 1.

    Example:
        >>> logits, labels = torch.tensor([[0.0, 0.0]]), torch.tensor([1])
        >>> round(focal(logits, labels, gamma=2.0).item(), 4)  # (1/2)^2 log 2
        0.1733
    """
    log_p = -cross_entropy(logits, labels, reduction="none")
    wrong = (1 - log_p.exp()).clamp_min(1e-12)  # a power of less than 1 has no gradient at 0
    return (-(wrong**gamma) * log_p).mean()


def smoothed(logits: torch.Tensor, labels: torch.Tensor, smoothing: float) -> torch.Tensor:
    """Cross entropy with labels of which a share is spread evenly over all classes.

    Source: Szegedy, Vanhoucke, Ioffe, Shlens and Wojna (2016), Rethinking the Inception Architecture, section 7.

    Example:
        >>> logits, labels = torch.tensor([[0.0, 2.0]]), torch.tensor([1])
        >>> round(smoothed(logits, labels, 0.1).item(), 4)  # 0.1269 + 0.05 * 2
        0.2269
    """
    return cross_entropy(logits, labels, label_smoothing=smoothing)


def product_of_experts(logits: torch.Tensor, labels: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Cross entropy of the normalised product of the model's probabilities and those of a biased one.

    Where the biased one knows the answer, little is left to learn; it is fixed, and not part of what is saved.

    Args:
        logits: (B, C) of the model.
        labels: (B,).
        bias: (B, C) log probabilities of the biased model.

    Source: Clark, Yatskar and Zettlemoyer (2019), Don't Take the Easy Way Out, section 3.2 (bias product); He, Zha and
    Wang (2019), Unlearn Dataset Bias in Natural Language Inference by Fitting the Residual.

    Example:
        >>> logits, labels = torch.tensor([[0.0, 0.0]]), torch.tensor([1])
        >>> sure = torch.tensor([[0.1, 0.9]]).log()
        >>> round(product_of_experts(logits, labels, sure).item(), 4)  # -log 0.9
        0.1054
    """
    return cross_entropy(logits + bias, labels)
