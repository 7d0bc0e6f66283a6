import ast
import os
import re
import subprocess
import sys

import kernels
import numpy as np
import pytest
import threadpoolctl
import torch

from ranker.statistics.draws import Draws

SETTING = os.environ.get(kernels.SETTING, "")


@pytest.mark.skipif(SETTING not in kernels.KERNELS, reason="for the processes of `make processors`")
def test_this_process_has_the_kernels_of_its_setting(capsys):
    """OpenBLAS of numpy and of scipy, numpy's own loops and torch compute with those that the setting names."""
    libraries = [library for library in threadpoolctl.threadpool_info() if library["internal_api"] == "openblas"]
    assert [library["architecture"] for library in libraries] == [SETTING] * 2
    np.show_runtime()
    instructions, lacking = (
        ast.literal_eval(re.search(rf"'{name}': (\[.*?\])", capsys_out, re.DOTALL)[1])
        for capsys_out in [capsys.readouterr().out]
        for name in ("found", "not_found")
    )
    assert {*kernels.disabled(SETTING)} <= {*lacking}
    assert SETTING == "Nehalem" or kernels.KERNELS[SETTING][0] in instructions
    assert torch.backends.cpu.get_cpu_capability() == kernels.KERNELS[SETTING][2].upper()


@pytest.mark.skipif(SETTING != kernels.NOISE, reason="for the process of `make processors` with noise")
def test_this_process_has_noise():
    """The sums of modules under test are off, each by another rounding."""
    draws = np.full((2, 1), 0.1) * np.arange(1, 10)  # whose means are exact
    assert len(set((Draws(draws).expected - draws[0]).tolist())) > 3


PLANTED = """
import numpy as np

def is_one(tenths):
    return np.sum(tenths) == 1, sum(tenths) == 1, tenths.mean() == 0.1, tenths @ np.full(10, 1.0) == 1
"""
"""A module of the packages under test that compares sums for equality."""

PROGRAM = """
import numpy as np
from factors import is_one
from sitecustomize import noisy
results = [is_one(np.full(size, 0.1)) for size in (10,) * 2] + [is_one(np.r_[np.full(10, 0.1)])]
print(len(set(results)), all(results[0]))
print(repr(noisy(np.arange(4), "sum")), noisy(np.arange(4.0), "sum"), noisy(np.arange(4) > 1, "sum"))
print(0 < abs(noisy(np, "sum", [0.1, 0.2, 0.3, -0.6])) < 1e-15)
"""


def test_noise_is_seen(tmp_path):
    """A planted equality of sums does not hold, and always in the same way; whole numbers are as they are."""
    (tmp_path / "factors.py").write_text(PLANTED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=kernels.environment(kernels.NOISE), capture_output=True,
        text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["1", "False", "np.int64(6)", "6.0", "2", "True"]


def test_kernels_that_a_processor_lacks_are_named(monkeypatch):
    """All of numpy's are without a level; a processor that lacks the level of a setting cannot stand for it."""
    monkeypatch.setitem(kernels.__cpu_features__, "X86_V4", False)
    assert kernels.missing("SkylakeX") == "its kernels need X86_V4, which this processor does not have"
    assert kernels.missing(kernels.NOISE) == ""
    assert kernels.disabled("SkylakeX") == []
    assert kernels.disabled("Nehalem") == kernels.__cpu_dispatch__
    assert "X86_V3" not in kernels.disabled("Haswell")
