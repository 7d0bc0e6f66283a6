"""The same seed gives the same draws on every processor; run as a program, this file is the process that draws.

Kernels of BLAS and of numpy sum and round in other ways on other processors. Which of them a process uses is set by its
environment, so that one machine can stand for several.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ranker.statistics import posterior_samples
from ranker.statistics.acquisition import next_rows
from ranker.statistics.beliefs import believe
from ranker.statistics.patterns import fold

ROOT = Path(__file__).resolve().parents[3]
BLAS = ("Nehalem", "Haswell", "Zen", "SkylakeX")
"""OpenBLAS's kernels for x86-64; those of SkylakeX need AVX-512."""

WITHOUT = {
    "its own": "",
    "no AVX-512": "X86_V4 AVX512_ICL AVX512_SPR",
    "no AVX2": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
}
"""numpy's kernels -> those that it does without."""

SUITES = 200

TOLERANCE = {"draws": 1e-9, "scores": 1e-7}
"""Of scores a rounding of single precision: the labels of a pool's rows, which they are means of, are in it."""


def drawn(seed):
    """What is drawn for a random suite: which proposals were accepted, numbers of the draws, and the next row."""
    rng = np.random.default_rng(seed)
    models, rows, classes, count = (int(rng.integers(*ends)) for ends in ((2, 13), (30, 900), (2, 5), (1, 21)))
    truth = rng.integers(classes, size=rows)
    right = rng.random((models, rows)) < rng.uniform(0.4, 0.95, (models, 1))
    predicted = np.where(right, truth, rng.integers(classes, size=(models, rows)))
    strength = rng.gamma(2, 0.5, (models, rows)) if seed % 2 else None
    known = np.repeat(rng.choice(rows, count, replace=False), rng.integers(1, 6, count))  # some rows again and again
    answers = np.where(rng.random(len(known)) < 0.9, truth[known], rng.integers(classes, size=len(known)))
    decisions = []
    with pytest.MonkeyPatch.context() as patch:
        where, taken = posterior_samples._State.where, posterior_samples._State.select
        patch.setattr(posterior_samples._State, "where", lambda s, yes, to: decisions.append(yes) or where(s, yes, to))
        patch.setattr(posterior_samples._State, "select", lambda s, these: decisions.append(these) or taken(s, these))
        found = believe(fold(predicted, classes, strength=strength), known, answers)
    draws = np.concatenate([found.worlds.weights, found.worlds.biases], axis=1)
    return {
        "decisions": np.concatenate(decisions),
        "draws": draws,
        "scores": found.accuracies,
        "next": next_rows(found, goal="best" if seed % 3 else "order"),
    }


def in_a_process(folder, blas, numpy, seeds):
    """The same, drawn with other kernels."""
    file = folder / f"{blas}-{numpy}.npz".replace(" ", "-")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_CORETYPE": blas}
    environment["NPY_DISABLE_CPU_FEATURES"] = WITHOUT[numpy]
    command = [sys.executable, "-W", "ignore", __file__, str(file), *map(str, seeds)]
    subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    with np.load(file, allow_pickle=False) as found:
        return dict(found)


def kernels(blas):
    """Skip where the processor cannot run them: it dies of them."""
    features = Path("/proc/cpuinfo")
    if not features.exists() or "avx2" not in (flags := features.read_text(encoding="utf-8")):
        pytest.skip("BLAS's kernels are chosen by name on x86-64 with AVX2 alone")
    if blas == "SkylakeX" and "avx512f" not in flags:
        pytest.skip("kernels of SkylakeX need AVX-512, which this processor does not have")


def compare(folder, blas, numpy, seeds):
    """The same proposals are accepted, the draws and the accuracies agree, and the same row is asked for."""
    kernels(blas)
    there = in_a_process(folder, blas, numpy, seeds)
    for seed in seeds:
        here = drawn(seed)
        for name in ("decisions", "next"):
            assert (here[name] == there[f"{seed} {name}"]).all(), f"suite {seed}: {name}"
        for name, tolerance in TOLERANCE.items():
            assert np.abs(here[name] - there[f"{seed} {name}"]).max() < tolerance, f"suite {seed}: {name}"


@pytest.mark.parametrize(("blas", "numpy"), list(zip(BLAS, [*WITHOUT, "no AVX2"], strict=True)))
def test_two_suites_are_drawn_alike_on_every_processor(tmp_path, blas, numpy):
    """With kernels of four makes."""
    compare(tmp_path, blas, numpy, (1, 2))


@pytest.mark.slow
@pytest.mark.parametrize("numpy", WITHOUT)
@pytest.mark.parametrize("blas", BLAS)
def test_suites_are_drawn_alike_on_every_processor(tmp_path, blas, numpy):
    """Two hundred of them, with all kernels."""
    compare(tmp_path, blas, numpy, range(SUITES))


if __name__ == "__main__":
    found = {f"{seed} {name}": value for seed in map(int, sys.argv[2:]) for name, value in drawn(seed).items()}
    np.savez(sys.argv[1], allow_pickle=False, **found)
