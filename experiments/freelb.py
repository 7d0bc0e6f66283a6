"""FreeLB: each batch is seen several times, its word embeddings pushed a little further against the model each time.

The gradients of all passes are averaged, at the price of one pass each. Dropout is drawn anew in every pass, where the
original keeps it for a batch.

Source: Zhu, Cheng, Gan, Sun, Goldstein and Liu (2020), FreeLB: Enhanced Adversarial Training for Natural Language
Understanding, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import torch

from experiments.recipe import Perturb

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SMALLEST = 1e-12
"""A gradient shorter than this has no direction."""


def backward(
    model: PreTrainedModel,
    batch: Mapping[str, torch.Tensor],
    loss_of: Callable[[torch.Tensor], torch.Tensor],
    perturb: Perturb,
) -> float:
    """Add the mean gradient over the perturbed passes to the weights', and give the mean loss in nats.

    Args:
        model: a sequence classifier.
        batch: its inputs, of B rows and T tokens, as the tokenizer pads them.
        loss_of: of (B, outputs) logits.
        how: number and length of the steps, at least one; B perturbations of (T, hidden) each have that length.
    """
    embed = model.get_input_embeddings()
    ids = batch["input_ids"]
    inputs = {name: value for name, value in batch.items() if name != "input_ids"}
    real = batch["attention_mask"][:, :, None].float()
    words = embed(ids).detach()
    size = (real.sum(dim=(1, 2)) * words.shape[-1]).sqrt()[:, None, None]
    push = real * perturb.start * (2 * torch.rand_like(words) - 1) / size
    total = 0.0
    for _ in range(perturb.steps):
        push.requires_grad_()
        loss = loss_of(model(inputs_embeds=embed(ids) + push, **inputs).logits) / perturb.steps
        loss.backward()  # type: ignore[no-untyped-call]
        total += loss.item()
        assert push.grad is not None
        slope = real * push.grad
        push = push.detach() + perturb.step_size * slope / _length(slope).clamp_min(SMALLEST)
        if perturb.radius:
            push = push * (perturb.radius / _length(push).clamp_min(SMALLEST)).clamp_max(1)
    return total


def _length(rows: torch.Tensor) -> torch.Tensor:
    """Return (B, 1, 1) Euclidean length of each (T, hidden)."""
    length: torch.Tensor = rows.flatten(1).norm(dim=1)
    return length[:, None, None]
