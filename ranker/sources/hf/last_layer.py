"""Compute the last layer only for the first token, by which BERT's kind classifies.

In the last layer every token still gives a key and a value, but only one query, one row of attention and one
feed-forward pass an input are computed. That saves 10 of the layer's 12 D^2 multiplications a token: 42 % of a network
of two layers, 14 % of six, 7 % of twelve.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import scaled_dot_product_attention

if TYPE_CHECKING:
    from transformers import PreTrainedModel

BERTS_KIND = ("bert", "camembert", "electra", "roberta", "xlm-roberta")
"""Encoders, by `model_type`, that are built alike and whose classifier reads the first token of the last layer."""


def read_first_token(model: PreTrainedModel) -> None:
    """Make the last layer of a sequence classifier of BERT's kind compute its first token only.

    The logits stay the same. Other kinds of networks are left unchanged, and so are those whose code is not
    transformers' own, and decoders, whose first token sees no other.
    """
    config = model.config
    decoder = any(getattr(config, name, False) for name in ("is_decoder", "add_cross_attention"))
    if config.model_type in BERTS_KIND and not decoder and type(model).__module__.startswith("transformers."):
        attention = model.base_model.encoder.layer[-1].attention  # type: ignore[union-attr, index]
        attention.forward = partial(_first_token, attention)


def _first_token(
    attention: Any, hidden: torch.Tensor, attention_mask: torch.Tensor | None = None, *_: object, **options: object
) -> tuple[torch.Tensor, None]:
    """Self-attention, its projection and its residual for the first token: (R, T, D) hidden states -> (R, 1, D)."""
    layers = attention.self
    first = hidden[:, :1]
    inputs = (layers.query(first), layers.key(hidden), layers.value(hidden))
    query, key, value = (x.unflatten(2, (-1, layers.attention_head_size)).transpose(1, 2) for x in inputs)
    mask = None if attention_mask is None else attention_mask[..., :1, :]
    context = scaled_dot_product_attention(query, key, value, attn_mask=mask).transpose(1, 2).flatten(2)
    return attention.output(context, first), None
