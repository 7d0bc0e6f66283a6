"""Bits that all x86-64 processors share: training amplifies what their fastest kernels round differently."""

from __future__ import annotations

import os
from types import MappingProxyType

from ranker.errors import UsageError

KERNELS = MappingProxyType(
    {
        "ATEN_CPU_CAPABILITY": "avx2",  # torch's own
        "MKL_CBWR": "COMPATIBLE",  # MKL's, which has others for AMD than for Intel
        "ONEDNN_MAX_CPU_ISA": "AVX2",  # oneDNN's, which computes gelu
        "OMP_NUM_THREADS": "1",  # of this process, and of those that it starts
    }
)
"""Environment variable -> the kernels that it holds a library to. A library reads its own when it first computes."""


def hold() -> None:
    """Hold this process to one thread and to kernels that round in the same way on every processor with AVX2.

    A suite of small models takes twice as long with them, one of large models longer. Source: Intel's guide to oneMKL,
    "Conditional Numerical Reproducibility": `COMPATIBLE` is the one branch that processors of other makes share.

    Raises:
        UsageError: the processor has no AVX2, or this process has computed something with other kernels before.
    """
    os.environ.update(KERNELS)
    import torch

    if torch.backends.cpu.get_cpu_capability() != "AVX2":
        kernels = torch.backends.cpu.get_cpu_capability()
        text = "portable training needs an x86-64 processor with AVX2, and a process of its own: torch computes with"
        raise UsageError(f"{text} {kernels}", option="portable", value=kernels)
    torch.set_num_threads(1)
