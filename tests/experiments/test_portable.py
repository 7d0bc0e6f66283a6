import os
import platform
import subprocess
import sys

import pytest
import torch
from refusals import refuses

from experiments import __main__ as program
from experiments import portable
from ranker.errors import UsageError

STEPS = """
from experiments import portable

portable.hold()

import hashlib
import numpy as np
from experiments import recipe, train
from experiments.generate import SOURCES
from ranker.datasets import sets

rows = SOURCES["nli"](np.random.default_rng(0), 400)
texts = [text for row in rows for text in row.segments]
read = recipe.load("hans-sub-across-mini")
for name, base in read.bases.items():
    model, tokenizer = train.build(base, sets.tasks()[read.task].labels, texts, seed=0)
    train.train(model, tokenizer, rows, recipe.Stage(steps=4, batch_size=32, learning_rate=1e-3), seed=0)
    print(name, hashlib.sha256(b"".join(w.detach().numpy().tobytes() for w in model.parameters())).hexdigest()[:16])
"""
"""Four steps of each architecture of the embedded suites, and a digest of the weights."""

DIGESTS = {
    "bert": "358bfbac67872565",
    "roberta": "736a5db5a88a8bd3",
    "electra": "18879cc70825c228",
    "deberta": "eafe107838af572e",
}
"""The same on Intel's Emerald Rapids, and on AMD's EPYC (Rome) as QEMU emulates it."""


@pytest.mark.more
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="kernels of x86-64 processors")
def test_weights_are_the_same_on_every_processor():
    """To the last bit, whatever the processor that runs this; docs/suites.md says on which others it was run."""
    done = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert dict(line.split() for line in done.stdout.splitlines()) == DIGESTS


@pytest.fixture
def released(monkeypatch):
    """Undo what `hold` changes in this process."""
    threads = torch.get_num_threads()
    for name in portable.KERNELS:
        monkeypatch.setenv(name, os.environ.get(name, ""))
    yield
    torch.set_num_threads(threads)


def test_other_kernels_are_refused(released, monkeypatch):
    """Kernels are refused if torch has chosen its own, or the processor has none that others share."""
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    with refuses(UsageError, option="portable", value="AVX512"):
        portable.hold()


@pytest.mark.parametrize("precision", ["--bf16", "--device=cuda"])
def test_only_single_precision_on_the_processor_is_portable(capsys, tmp_path, precision):
    """Other kernels would compute."""
    with pytest.raises(SystemExit) as ended:
        program.main(["inoculate", "hans-sub-mini", "--portable", precision, "-o", str(tmp_path / "out")])
    assert ended.value.code == 2
    assert "portable training is in float32 on the CPU" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
