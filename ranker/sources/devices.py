"""Torch devices and number formats by the names that users give."""

from __future__ import annotations

import torch

from ranker.errors import UsageError, choice_error, first_line

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def device_named(name: str) -> torch.device:
    """Return the device of a name; raises a UsageError if torch has no such device here."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = first_line(error)
        raise UsageError.about(
            "device", f"must be one that torch can use here (got {name!r}): {reason}", name
        ) from error
    return device


def resolve(dtype: str, device: str = "cpu") -> str:
    """Return the name of a number format: "auto" is bfloat16 if the device has units for it, else float32.

    In bfloat16 are the matrix products, which take most of the time; norms, sums and embeddings stay in float32, as in
    training with mixed precision. Scores move by about one part in a hundred, so it is never used unasked.

    Raises:
        UsageError: no such format, or no such device.
    """
    if dtype == "auto":
        return "bfloat16" if _has_bfloat16(device_named(device)) else "float32"
    if dtype not in DTYPES:
        raise choice_error("dtype", dtype, ("auto", *DTYPES))
    return dtype


def _has_bfloat16(device: torch.device) -> bool:
    """Return True if a device has units for products in bfloat16, so that they are faster than in float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and bool(torch.cpu.get_capabilities().get("amx_bf16", False))
