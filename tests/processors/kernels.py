"""Environments in which a process computes as on another processor; run as a program, the tests in each of them.

Kernels of BLAS, of numpy and of torch sum and round in other ways on other processors. Which of them a process uses is
set by its environment when it starts, so that one machine can stand for several. `noise` stands for all others: see
`noise/sitecustomize.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

ROOT = Path(__file__).resolve().parents[2]
SETTING = "RANK_MODELS_PROCESSOR"
"""Environment variable that names the setting of a process."""

NOISE = "noise"
KERNELS = {
    "SkylakeX": ("X86_V4", "no", "avx512"),
    "Haswell": ("X86_V3", "X86_V4|AVX512.*", "avx2"),
    "Nehalem": ("X86_V2", ".*", "default"),
}
"""OpenBLAS's kernels -> the level that they need, numpy's that the same processors lack, and torch's that they have."""

ROOMS = (
    "tests/processors",
    "tests/test_frozen.py",
    "tests/factors",
    *(f"tests/ranker/{room}" for room in ("attribution", "domains", "labelling", "scoring", "statistics", "tasks")),
    "tests/ranker/report/test_parts_report.py",
    "factors",
    *(f"ranker/{room}" for room in ("attribution", "domains", "labelling", "scoring", "statistics", "tasks")),
)
"""Where floating-point numbers are computed."""

LEFT_OUT = ("tests/ranker/statistics/test_processors.py",)
"""Tests that start processes with other kernels by themselves."""

SIMULATIONS = ("_cover", "calibrated", "wrongly", "keep_their_word", "no_bias", "hold_the_truth")
"""Words in the names of tests of many samples: rounding changes no coverage, and they take half of the time."""


def disabled(setting: str) -> list[str]:
    """Return numpy's kernels, by the names that `np.show_runtime` gives, that processors of a setting lack."""
    return [name for name in __cpu_dispatch__ if re.fullmatch(KERNELS[setting][1], name)]


def missing(setting: str) -> str:
    """Return the reason why this processor cannot stand for those of a setting; "" if it can."""
    level = KERNELS[setting][0] if setting in KERNELS else ""
    if level and not __cpu_features__.get(level):
        return f"its kernels need {level}, which this processor does not have"
    return ""


def environment(setting: str) -> dict[str, str]:
    """Return the environment of a process that computes as a setting says."""
    folder = Path(__file__).parent
    path = [*([folder / NOISE] if setting == NOISE else []), ROOT, folder]
    variables = {**os.environ, SETTING: setting, "OMP_NUM_THREADS": "1"}
    variables["PYTHONPATH"] = os.pathsep.join(map(str, path))
    if setting in KERNELS:
        variables |= {"OPENBLAS_CORETYPE": setting, "ATEN_CPU_CAPABILITY": KERNELS[setting][2]}
        variables["NPY_DISABLE_CPU_FEATURES"] = " ".join(disabled(setting))
    return variables


def main(names: list[str]) -> int:
    """Run the tests in each setting; return 1 if any failed."""
    failed = []
    for setting in names or [*KERNELS, NOISE]:
        if reason := missing(setting):
            print(f"== {setting}: skipped, {reason}", flush=True)
            continue
        print(f"== {setting}", flush=True)
        start = time.monotonic()
        options = ["--quiet", "--numprocesses", "2", "--dist", "worksteal", "-m", "not slow and not soak"]
        options += ["-k", " and ".join(f"not ({words})" for words in SIMULATIONS)]
        options += ["--hypothesis-profile", "ci"]  # no deadlines: noise takes time
        left_out = [f"--ignore={file}" for file in LEFT_OUT]
        command = [sys.executable, "-m", "pytest", *options, *left_out, *ROOMS]
        if subprocess.run(command, cwd=ROOT, env=environment(setting)).returncode:
            failed.append(setting)
        print(f"== {setting}: {time.monotonic() - start:.0f} s", flush=True)
    print(f"== failed: {', '.join(failed) or 'none'}", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
