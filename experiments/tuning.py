"""Choice of the trained weights: all, the head alone, first the head and then all, or low-rank updates.

The head is what stands behind the encoder (transformers' ``base_model``); a pooler counts as encoder.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from experiments.recipe import Tune
from ranker.errors import UsageError

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def phases(tune: Tune | None, steps: int) -> list[tuple[str, int]]:
    """Stage of a training: its weights and steps, with an optimiser and a schedule of its own.

    Source: of the head and then everything, Kumar, Raghunathan, Jones, Ma and Liang (2022), Fine-Tuning can Distort
    Pretrained Features and Underperform Out-of-Distribution.

    Example:
        >>> phases(None, 10), phases(Tune("head-then-all", head_share=0.3), 10)
        ([('all', 10)], [('head', 3), ('all', 7)])
    """
    if tune is None:
        return [("all", steps)]
    if tune.weights == "head-then-all":
        head = round(tune.head_share * steps)
        return [(weights, count) for weights, count in (("head", head), ("all", steps - head)) if count]
    return [(tune.weights, steps)]


@contextmanager
def trainable(model: PreTrainedModel, weights: str, tune: Tune | None) -> Iterator[None]:
    """Let only some weights be trained for a while.

    Args:
        model: a sequence classifier.
        weights: "all", "head" or "lora".
        tune: rank and alpha of "lora".

    Raises:
        UsageError: peft is not installed, and "lora" needs it.
    """
    if weights == "all":
        yield
        return
    encoder = list(model.base_model.parameters())
    for parameter in encoder:
        parameter.requires_grad = False
    if weights == "head":
        yield
    else:
        with low_rank(model, tune or Tune("lora")):
            yield
    for parameter in encoder:
        parameter.requires_grad = True


@contextmanager
def low_rank(model: PreTrainedModel, tune: Tune) -> Iterator[None]:
    """Give every linear layer of the encoder a low-rank update for a while, and add it to the weights at the end.

    Source: Hu, Shen, Wallis, Allen-Zhu, Li, Wang, Wang and Chen (2022), LoRA: Low-Rank Adaptation of Large Language
    Models, section 4.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        text = '`weights = "lora"` needs peft; install it with `pip install "rank-models[peft]"`'
        raise UsageError(text, option="weights", value="lora") from error
    encoder = f"{model.base_model_prefix}."
    layers = [name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)]
    head = [parameter for parameter in model.parameters() if parameter.requires_grad]
    targets = [name for name in layers if name.startswith(encoder)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # between peft and transformers, about no doing of ours
        adapted = get_peft_model(model, LoraConfig(r=tune.rank, lora_alpha=tune.alpha, target_modules=targets))
    for parameter in head:  # peft freezes it
        parameter.requires_grad = True
    yield
    adapted.merge_and_unload()
