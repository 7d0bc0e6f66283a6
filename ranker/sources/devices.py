"""Where a network is computed, and in which number format: what users name, as torch knows it."""

from __future__ import annotations

import torch

from ranker.errors import UsageError, first_line

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def device_named(name: str) -> torch.device:
    """The device of a name.

    Raises:
        UsageError: torch has none of that name here.
    """
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = first_line(error)
        raise UsageError(f"`device` must be one that torch can use here (got {name!r}): {reason}") from error
    return device


def resolve(dtype: str, device: str = "cpu") -> str:
    """A number format by its name: "auto" is bfloat16 where the device has units for it, else float32.

    In bfloat16 are the matrix products, which take most of the time; norms, sums and embeddings stay in float32, as
    they do in training with mixed precision. Scores move by about one part in a hundred, so it is never taken unasked.

    Raises:
        UsageError: no such format, or no such device.
    """
    if dtype == "auto":
        return "bfloat16" if _has_bfloat16(device_named(device)) else "float32"
    if dtype not in DTYPES:
        raise UsageError(f"`dtype` must be one of auto, {', '.join(DTYPES)} (got {dtype!r})")
    return dtype


def _has_bfloat16(device: torch.device) -> bool:
    """Say whether a device has units for products in bfloat16, so that they are faster than in float32.

    A processor that has the instructions of AVX-512 for it, and no such units (AMX), takes half as long again; one that
    has neither emulates it, many times slower.
    """
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and bool(torch.cpu.get_capabilities().get("amx_bf16", False))
