"""The same seed gives the same draws on every processor; run as a program, this file is the process that draws.

`kernels` names the processors that a process may stand for.
"""

from __future__ import annotations

import subprocess
import sys

import kernels
import numpy as np
import pytest

from ranker.statistics import posterior_samples
from ranker.statistics.acquisition import next_rows
from ranker.statistics.patterns import fold
from ranker.statistics.vote import believe

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
    rows_known = np.repeat(
        rng.choice(rows, count, replace=False), rng.integers(1, 6, count)
    )  # some rows again and again
    answers = np.where(
        rng.random(len(rows_known)) < 0.9, truth[rows_known], rng.integers(classes, size=len(rows_known))
    )
    decisions = []
    with pytest.MonkeyPatch.context() as patch:
        plain, select = posterior_samples._State.where, posterior_samples._State.select
        patch.setattr(posterior_samples._State, "where", lambda s, yes, to: decisions.append(yes) or plain(s, yes, to))
        patch.setattr(posterior_samples._State, "select", lambda s, yes: decisions.append(yes) or select(s, yes))
        beliefs = believe(fold(predicted, classes, strength=strength), rows_known, answers)
    draws = np.concatenate([beliefs.worlds.weights, beliefs.worlds.biases], axis=1)
    return {
        "decisions": np.concatenate(decisions),
        "draws": draws,
        "scores": beliefs.accuracies,
        "next": next_rows(beliefs, goal="best" if seed % 3 else "order"),
    }


def in_a_process(folder, setting, seeds):
    """The same, drawn with the kernels of another processor."""
    file = folder / f"{setting}.npz"
    command = [sys.executable, "-W", "ignore", __file__, str(file), *map(str, seeds)]
    subprocess.run(command, env=kernels.environment(setting), check=True, capture_output=True, text=True)
    with np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def compare(folder, setting, seeds):
    """The same proposals are accepted, the draws and the accuracies agree, and the same row is asked for."""
    if reason := kernels.missing(setting):
        pytest.skip(reason)
    other_draws = in_a_process(folder, setting, seeds)
    for seed in seeds:
        own_draws = drawn(seed)
        for name in ("decisions", "next"):
            assert (own_draws[name] == other_draws[f"{seed} {name}"]).all(), f"suite {seed}: {name}"
        for name, tolerance in TOLERANCE.items():
            assert np.abs(own_draws[name] - other_draws[f"{seed} {name}"]).max() < tolerance, f"suite {seed}: {name}"


@pytest.mark.few(1)
@pytest.mark.parametrize("setting", kernels.KERNELS)
def test_two_suites_are_drawn_alike_on_every_processor(tmp_path, setting):
    """With kernels of three generations."""
    compare(tmp_path, setting, (1, 2))


@pytest.mark.slow
@pytest.mark.parametrize("setting", kernels.KERNELS)
def test_suites_are_drawn_alike_on_every_processor(tmp_path, setting):
    """Two hundred of them, with all kernels."""
    compare(tmp_path, setting, range(SUITES))


if __name__ == "__main__":
    values = {f"{seed} {name}": value for seed in map(int, sys.argv[2:]) for name, value in drawn(seed).items()}
    np.savez(sys.argv[1], allow_pickle=False, **values)
