"""Everything that docs/PERFORMANCE.md says of GPUs, measured again in under eight minutes.

    python -m benchmarks.gpu DATA MODEL -o gpu.md
    python -m benchmarks.gpu DATA MODEL -o cpu.md --device cpu --share 0.02

DATA is the folder of the real files (see docs/data.md), MODEL that of a language model (SmolLM2-135M), and MiniLM and
lm-evaluation-harness are installed. Each part is a process with a limit of its own, so that one that fails or takes
long costs no other; what a part printed until then is kept.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
import torch

from benchmarks.attributions import checkpoint
from benchmarks.clock import timed
from benchmarks.labels import line, table
from factors.types import Example, Floats
from ranker.commands.options import PATH
from ranker.datasets import sets
from ranker.sources.hf.classifiers import Classifier
from ranker.tasks.classes import require_labels

LIMIT = 470
"""Seconds of all parts."""

ROWS, BATCH = 2000, 64
"""Pairs of the part `predictions`, and rows of a padded batch of transformers."""

MODELS = ("mini", "minilm", "roberta")
"""Encoders of the part `predictions`: see `benchmarks.attributions.checkpoint`."""


def parts(real_files: Path, folder: Path, device: str, share: float) -> dict[str, tuple[list[str], int]]:
    """Return part -> its module with arguments, and the seconds that it may take.

    Args:
        real_files, folder, device: see `main`.
        share: of the rows.
    """

    def some(rows: int) -> str:
        return str(max(2, round(share * rows)))

    on, lm = ["--device", device], [str(real_files), str(folder)]
    ours = ["benchmarks.attributions", *on, "--models"]
    harness = ["--rows", some(600), "--most", some(600), "--tried", some(128), "--batch", "64", "--batch", "128"]
    return {
        "encoders' predictions": (["benchmarks.gpu", "predictions", *on, "--rows", some(ROWS)], 60),
        "integrated gradients": (
            [*ours, "minilm", "roberta", "--methods", "ig", "--examples", some(48), "--repeats", "3"], 90
        ),
        "SHAP and LIME": (
            [*ours, "minilm", "--methods", "shap", "lime", "--examples", some(8), "--repeats", "1"], 110
        ),
        "labels by prompts": (["benchmarks.llms", "harness", *lm, *on, *harness, "--shots", "0", "--shots", "4"], 90),
        "written answers": (
            ["benchmarks.llms", "writing", *lm, *on, "--rows", some(256), "--batch", "64", "--batch", "128"], 90
        ),
        "attributions of a language model": (["benchmarks.llms", "attributions", *lm, *on, "--rows", some(10)], 60),
    }  # fmt: skip


@click.group()
def main() -> None:
    """Measure on a GPU."""


@main.command()
@click.argument("real_files", metavar="DATA", type=PATH)
@click.argument("folder", metavar="MODEL", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="File that each part is added to as it ends.")
@click.option("--device", default="cuda", show_default=True)
@click.option("--share", default=1.0, show_default=True, help="Of the rows, to try the program out.")
def run(real_files: Path, folder: Path, output: Path, device: str, share: float) -> None:
    """Run all parts."""
    end = time.monotonic() + LIMIT
    with output.open("w", encoding="utf-8") as file:
        for name, (arguments, limit) in parts(real_files, folder, device, share).items():
            start = time.monotonic()
            command = [sys.executable, "-m", *arguments]
            try:
                ran = subprocess.run(
                    command, capture_output=True, text=True, timeout=max(1, min(limit, end - start)), check=False
                )
                printed, trouble = ran.stdout, f"{ran.stderr}\nexit status {ran.returncode}" if ran.returncode else ""
            except subprocess.TimeoutExpired as error:
                printed, trouble = (error.stdout or b"").decode(), f"not finished within {error.timeout:.0f} s"
            spent = time.monotonic() - start
            file.write(f"## {name}, {spent:.0f} s\n\n{printed}\n{trouble}\n".replace("\n\n\n", "\n\n"))
            file.flush()
            click.echo(f"{name}: {spent:.0f} s {trouble[-200:]}")


@main.command()
@click.option("--device", default="cuda", show_default=True)
@click.option("--rows", default=ROWS, show_default=True)
def predictions(device: str, rows: int) -> None:
    """Rows a second of classifiers, beside padded batches of transformers with the same encodings."""
    ood_set = sets.load("hans-sub")
    examples = [replace(row, id=f"{row.id}-{turn}") for turn in range(1 + rows // len(ood_set.examples))
                for row in ood_set.examples][:rows]  # fmt: skip
    click.echo(table(["model", "padded batch, rows/s", "here, rows/s", "ratio", "largest difference"], []))
    with tempfile.TemporaryDirectory() as scratch:
        for name in MODELS:
            folder = checkpoint(name, Path(scratch))
            classifier = Classifier.load(folder, require_labels(ood_set.task, name), device=device)
            ways: list[Callable[[], Floats]] = [
                partial(padded, classifier, examples), partial(classifier.probabilities, examples)
            ]  # fmt: skip
            for way in ways:
                way()  # what is done once, at the first call, is not counted
            (theirs, slow), (ours, fast) = (timed(way, device) for way in ways)
            cells = [
                f"{rows / slow:.0f}",
                f"{rows / fast:.0f}",
                f"{slow / fast:.2f}",
                f"{abs(theirs - ours).max():.0e}",
            ]
            click.echo(line([name, *cells]))


def padded(classifier: Classifier, examples: Sequence[Example]) -> Floats:
    """Return (N, C) probabilities, by batches that the tokenizer pads, in the order of the rows."""
    logits = []
    for first in range(0, len(examples), BATCH):
        texts = [list(texts) for texts in zip(*(row.segments for row in examples[first : first + BATCH]), strict=True)]
        inputs = classifier.tokenizer(*texts, padding=True, return_tensors="pt").to(classifier.device)
        with torch.inference_mode():
            logits.append(classifier.run_head(inputs.pop("token_type_ids", None), **inputs).double())
    return torch.cat(logits).softmax(dim=1).cpu().numpy()


if __name__ == "__main__":
    main()
