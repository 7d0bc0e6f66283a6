"""Tensors of a file that do not fit: those of a checkpoint that its network leaves, and those of an adapter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranker.errors import ModelError, listed

if TYPE_CHECKING:
    import torch
    from peft import PeftModel
    from transformers import PreTrainedModel

COMPUTED = ("position_ids", "token_type_ids", "inv_freq", "masked_bias")
"""Last parts of the names of buffers that networks once saved, and now compute."""

PRETRAINING_HEADS = (
    "cls.",
    "decoder.bias",
    "decoder.weight",
    "discriminator_predictions.",
    "final_logits_bias",
    "generator_lm_head.",
    "generator_predictions.",
    "lm_head.",
    "lm_loss.",
    "lm_predictions.",
    "mask_predictions.",
    "pred_layer.",
    "predictions.",
    "sop_classifier.",
    "vocab_layer_norm.",
    "vocab_projector.",
    "vocab_transform.",
)
"""Beginnings of the names of tensors that serve pre-training only, such as predicting hidden words."""

WRAPPERS = {
    "_orig_mod": "torch.compile",
    "_fsdp_wrapped_module": "FSDP",
    "module": "DataParallel",
}
"""Parts of names that a wrapper of the network adds -> the wrapper."""

WHOLE = ("I", "U", "BOOL")
"""Beginnings of the names of safetensors' types of whole numbers and truth values."""

SHOWN = 3
"""Most names of tensors in a note."""

IN_BASE = "base_model.model."
"""Prefix of PEFT for the names of the base's modules."""


def check_floats(path: Path, folder: str | Path) -> None:
    """Raise a ModelError for weights of whole numbers, which transformers would convert; networks have fractions.

    Buffers, such as `position_ids`, may hold whole numbers.
    """
    from safetensors import safe_open

    for file in sorted(Path(folder).glob("*.safetensors")):
        with safe_open(file, "pt") as weights:
            for name in weights.keys():  # noqa: SIM118  # it is no mapping
                kind = weights.get_slice(name).get_dtype()
                if name.rpartition(".")[2] in ("weight", "bias") and kind.startswith(WHOLE):
                    raise ModelError.of(
                        path, f"holds whole numbers ({kind}) in {name}, and weights are fractions; is it quantized?"
                    )


def unused_tensors(model: PreTrainedModel, unexpected: Iterable[str]) -> list[str]:
    """List the tensors that a network does not take and that were probably trained to be part of it.

    Left out are tensors that no answer depends on: buffers that networks compute (`COMPUTED`), heads of pre-training
    (`PRETRAINING_HEADS`), and a pooler if the network has none.

    Args:
        unexpected: names in its file that it does not take, as transformers reports them.
    """
    pools = any(name.rpartition(".")[2] == "pooler" for name, _ in model.named_modules())
    return sorted(
        name
        for name in unexpected
        if name.rpartition(".")[2] not in COMPUTED
        and not name.startswith(PRETRAINING_HEADS)
        and (pools or "pooler" not in name.split("."))
    )


def unused_note(unused: list[str]) -> str:
    """Describe the unused tensors of a checkpoint in a sentence.

    Example:
        >>> unused_note(["encoder.layer.1.weight"])
        '1 tensor of its weights is not used, since its config.json has no place for it (encoder.layer.1.weight)'
    """
    are, pronoun = ("tensor of its weights is", "it") if len(unused) == 1 else ("tensors of its weights are", "them")
    reason = f"since its config.json has no place for {pronoun} ({listed(unused, SHOWN)})"
    return f"{len(unused):,} {are} not used, {reason}"


def check_adapter(path: Path, adapted: PeftModel, weights: Mapping[str, torch.Tensor]) -> None:
    """Refuse an adapter that does not fit its base: every tensor must be used, and every weight of it loaded.

    PEFT loads what fits and skips the rest, so an adapter of which nothing fits answers as its base does. A tensor that
    PEFT would save of this very network fits, even if it is not read: adapters with biases hold the head's twice.

    Args:
        path: the adapter's folder, for messages.
        adapted: the base with the adapter built into it.
        weights: tensors in the adapter's file, by name.

    Raises:
        ModelError: a tensor fits nothing, or is not in the file.
    """
    from peft import get_peft_model_state_dict, set_peft_model_state_dict

    report: Any = set_peft_model_state_dict(adapted, dict(weights))  # again, for its report on the names
    expected = get_peft_model_state_dict(adapted, save_embedding_layers=False)  # otherwise it asks the hub
    strange = [name for name in map(_name_in_file, report.unexpected_keys) if name not in expected]
    lacking = [name for name in map(_name_in_file, report.missing_keys) if name in expected and name not in weights]
    if strange:
        base = adapted.get_base_model()
        raise misfit_error(path, base, strange, len(weights), lacking)  # type: ignore[arg-type]
    if lacking:
        raise ModelError.of(path, f"has no weights for {min(lacking)}; it must hold a saved adapter, whole")


def lost_head_error(
    path: Path, base: PreTrainedModel, weights: Mapping[str, torch.Tensor], wanted: str, task_type: str
) -> ModelError:
    """Return the error of an adapter that lacks a tensor of a module that PEFT saves whole, such as its head.

    Args:
        weights: tensors in the adapter's file, by name.
        wanted: name of the tensor that PEFT looked for.
    """
    parts = {name for name, _ in base.named_children()}
    strange = [name for name in weights if name.removeprefix(IN_BASE).partition(".")[0] not in parts]
    if strange:
        return misfit_error(path, base, strange, len(weights), [wanted])
    head = wanted.removeprefix(IN_BASE).partition(".")[0]
    return ModelError.of(
        path,
        f"holds no weights of its classification head ({head}), so that the head would be random, "
        f'or its base\'s; save the adapter with task_type="{task_type}" and modules_to_save=["{head}"]',
    )


def misfit_error(path: Path, base: PreTrainedModel, strange: list[str], total: int, lacking: list[str]) -> ModelError:
    """Return the error of an adapter with tensors that do not fit its base, with a likely reason."""
    first = min(strange)
    instead = f", where the base expects {min(lacking)}" if lacking else ""
    parts = first.removeprefix(IN_BASE).split(".")
    wrapper = next((WRAPPERS[part] for part in parts if part in WRAPPERS), None)
    backbone = base.base_model_prefix
    inside = {name for name, _ in getattr(base, backbone, base).named_children()}
    if wrapper is not None:
        reason = f"; it was probably saved from a network wrapped by {wrapper}: save it from the network inside"
    elif backbone and parts[0] in inside and parts[0] not in dict(base.named_children()):
        reason = f"; it was probably saved from the backbone alone ({backbone}): save it from the network with its head"
    else:
        reason = "; it was probably trained on another base"
    return ModelError.at(path, f"{len(strange)} of the adapter's {total} tensors fit nothing in its base: "
                      f"it has {first}{instead}{reason}")  # fmt: skip


def _name_in_file(name: str) -> str:
    """Remove the adapter's own name, which PEFT inserts, from the name of a tensor."""
    return name.replace(".modules_to_save.default.", ".").replace(".default.", ".").removesuffix(".default")
