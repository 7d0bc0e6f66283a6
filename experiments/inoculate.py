"""Make a suite: models alike on in-domain data that differ in a new domain, by mixing a little of it into training.

A model is trained in memory, written to a hidden folder, and renamed when it is complete, so that a killed run goes on
with the training it was at, and nothing half-written passes for a model. Checkpoints are written so, too, as soon as
the training is there; a training that was killed starts again, and leaves those that are complete as they are.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from experiments import plan as plans
from experiments import portable, train
from experiments.plan import Kept, Training, TrainingPlan
from experiments.recipe import Member, Recipe
from ranker import progress
from ranker.datasets.embedded import SUITE
from ranker.datasets.sets import LabelledDataset
from ranker.errors import ModelError, RankModelsError, UsageError
from ranker.runtime.storage import put
from ranker.sources import suites
from ranker.sources.devices import device_named
from ranker.sources.hf.classifiers import Classifier
from ranker.tasks.classes import ClassificationTask, require_labels

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

TRAINING = "training.json"
"""In a model's folder: the key of its training, and what the suite tells about it."""

MEASURED = "measured.json"
"""In a model's folder: fingerprint of rows -> its accuracy on them."""

ARITHMETIC = ("bf16", "portable")
"""The ways to compute that a model's `TRAINING` tells of."""


@dataclass(frozen=True)
class TrainingMachine:
    """TrainingMachine of the training; another machine gives other numbers, if only in the last digits.

    Attributes:
        device: a torch device.
        bf16: train in bfloat16 where that is safe, and measure in it.
        portable: compute with kernels that all x86-64 processors share (see `experiments.portable`).
        console: where progress goes.

    Raises:
        UsageError: portable, but not in float32 on the processor.
    """

    device: str = "cpu"
    bf16: bool = False
    portable: bool = False
    console: Console = field(default_factory=progress.stderr)

    def __post_init__(self) -> None:
        if self.portable and (self.bf16 or self.device != "cpu"):
            raise UsageError(
                "portable training is in float32 on the CPU (`--device cpu`, no `--bf16`)", option="portable"
            )

    @property
    def arithmetic(self) -> dict[str, bool]:
        """Settings that decide the bits of a training beside its key, where they are not the usual ones."""
        return {name: True for name in ARITHMETIC if getattr(self, name)}

    def say(self, line: str) -> None:
        """Tell what was done."""
        self.console.print(line, highlight=False)


def inoculate(
    recipe: Recipe,
    data_dir: Path | None,
    output: Path,
    machine: TrainingMachine | None = None,
    include: Sequence[str | Path] = (),
) -> Path:
    """Train and measure every member of the recipe that is not there yet, and write ``suite.json``.

    Args:
        recipe: what to make.
        data_dir: the folder that the recipe's files are relative to; None where it needs none.
        output: the suite's folder; made if it is not there.
        machine: where training runs; None is this processor.
        include: folders of a user's own sets, whose tasks the recipe may be for.

    Returns:
        The path of the ``suite.json``.

    Raises:
        UsageError: the recipe does not fit the data, the output holds other things, or this process cannot compute
            portably; nothing was trained.
        ModelError: a base cannot be loaded or trained, or its training has diverged.
        RankModelsError: the output cannot be read or written; what was complete before stays.
    """
    machine = machine or TrainingMachine()
    device_named(machine.device)
    if machine.portable:
        portable.hold()
    plan = plans.make(recipe, data_dir, include)
    pairs = list(zip(recipe.members, plan.trainings, strict=True))
    try:
        for member, training in pairs:
            for checkpoint in training.kept:
                check_folder(output / checkpoint.folder)
            base = recipe.bases[member.base]
            if base.path and missing(training, output, machine):
                train.configured(train.resolve(base.path), plan.task, base.labels)
        members = [made for member, training in pairs for made in make_member(plan, member, training, output, machine)]
        content = {"schema_version": suites.SCHEMA_VERSION, "name": recipe.name, "task": recipe.task, "models": members}
        write_json(output / SUITE, content)
    except OSError as error:
        raise RankModelsError.of(output, f"cannot be used: {error.strerror or error}") from error
    return output / SUITE


def make_member(
    plan: TrainingPlan, member: Member, training: Training, output: Path, machine: TrainingMachine
) -> Iterator[dict[str, Any]]:
    """Make one member's entries in ``suite.json``, its checkpoints' first; train and measure what is missing.

    Where there are checkpoints, each entry names the run that it is of.
    """
    trained(training, plan.task, output, machine)
    for checkpoint in training.kept:
        folder = output / checkpoint.folder
        in_domain, *ood = measure(folder, (plan.in_domain, *plan.ood), machine)
        yield {
            "name": checkpoint.folder,
            "path": checkpoint.folder,
            "family": plan.recipe.bases[member.base].family or member.base,
            **({"run": member.name} if training.checkpoints else {}),
            "in_domain_accuracy": in_domain["accuracy"],
            "ood_accuracy": {
                ood_set.name: accuracy_on_set for ood_set, accuracy_on_set in zip(plan.ood, ood, strict=True)
            },
            "training": {**(told(folder, checkpoint.key, machine) or {}), "in_domain_rows": in_domain["rows"]},
        }


def trained(training: Training, task: ClassificationTask, output: Path, machine: TrainingMachine) -> Path:
    """Return the folder of the finished model, after training it and the one it starts from if outputs are missing."""
    folder, wanted = (
        output / training.folder,
        {checkpoint.step: checkpoint for checkpoint in missing(training, output, machine)},
    )
    if not wanted:
        return folder
    (output / SUITE).unlink(missing_ok=True)  # it tells the accuracies of a model that is about to be replaced
    model, tokenizer = started(training, task, output, machine)
    steps, began = training.steps, time.monotonic()

    def keep(losses: Sequence[float]) -> None:
        """Write the model as it is, where it is wanted after so many steps."""
        checkpoint = wanted.get(len(losses))
        if checkpoint is None:
            return
        seconds = time.monotonic() - began
        if not train.finite(model):
            text = "the training diverged; try a lower `learning_rate`"
            raise ModelError.at(checkpoint.folder, text, option="learning_rate")
        about = {
            "key": checkpoint.key,
            "seed": training.seed,
            "rows": dict(Counter(row.id.rpartition("-")[0] for row in training.rows)),
            "steps": checkpoint.step,
            "loss": round(float(np.mean(losses[-max(1, checkpoint.step // 10) :])), 4) if losses else None,
            "seconds": round(seconds, 1),
            **machine.arithmetic,
        }
        write_model(output / checkpoint.folder, model, tokenizer, about)
        machine.say(f"{checkpoint.folder}: {checkpoint.step} steps in {seconds:.0f} s, loss {about['loss']}")

    with progress.bar(machine.console, f"training {training.folder}", steps * training.stage.batch_size) as advance:
        losses = train.train(
            model,
            tokenizer,
            training.rows,
            training.stage,
            seed=training.seed,
            groups=train.outputs(model.config.id2label or {}, task, training.folder),
            device=machine.device,
            bf16=machine.bf16,
            advance=advance,
            after=lambda losses: keep(losses) if len(losses) < steps else None,  # low-rank updates are merged first
        )
    keep(losses)
    return folder


def started(training: Training, task: ClassificationTask, output: Path, machine: TrainingMachine) -> train.Start:
    """Return the model and the tokenizer that a training starts from."""
    start = training.start
    if isinstance(start, Training):
        return train.load(str(trained(start, task, output, machine)), task, training.seed)
    if start.architecture:
        return train.build(start, task.labels, training.texts, training.seed)
    return train.load(train.resolve(start.path or ""), task, training.seed, start.labels)


def missing(training: Training, output: Path, machine: TrainingMachine) -> list[Kept]:
    """Return the outputs of a training that are missing."""
    return [
        checkpoint for checkpoint in training.kept if told(output / checkpoint.folder, checkpoint.key, machine) is None
    ]


def write_model(
    folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, about: dict[str, Any]
) -> None:
    """Write a model so that it is there completely, with what is told about it, or not at all."""
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    train.save(model, tokenizer, partial)
    write_json(partial / TRAINING, about)
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(partial, folder)


def told(folder: Path, key: str, machine: TrainingMachine) -> dict[str, Any] | None:
    """Return the record of a finished training of that key, in the machine's arithmetic; None without one.

    None if there is no such model in that folder.
    """
    about = read_json(folder / TRAINING)
    arithmetic = {name: True for name in ARITHMETIC if about.get(name)}
    if about.get("key") != key or arithmetic != machine.arithmetic or not any(folder.glob("*.safetensors")):
        return None
    return {name: value for name, value in about.items() if name != "key"}


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something else than a model of a suite, which would be deleted.

    Raises:
        UsageError: so it does.
    """
    if folder.exists() and not (folder / TRAINING).exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError.of(folder, "is no model of a suite, and would be written over; move it, or set another `-o`")


def measure(folder: Path, measured: tuple[LabelledDataset, ...], machine: TrainingMachine) -> list[dict[str, Any]]:
    """Return a finished model's accuracy on each of the sets, by the ranker; stored ones are reused."""
    memo = folder / MEASURED
    stored: dict[str, dict[str, Any]] = read_json(memo)
    missing = [ood_set for ood_set in measured if ood_set.fingerprint not in stored]
    if missing:
        task, dtype = require_labels(measured[0].task, folder.name), "bfloat16" if machine.bf16 else "float32"
        classifier = Classifier.load(folder, task, device=machine.device, dtype=dtype)
        for ood_set in missing:
            with progress.bar(
                machine.console, f"measuring {folder.name} on {ood_set.name}", len(ood_set.examples)
            ) as advance:
                predicted = classifier.probabilities(ood_set.examples, advance).argmax(axis=1)
            right = float(np.mean(predicted == [example.target for example in ood_set.examples]))
            stored[ood_set.fingerprint] = {
                "accuracy": round(right, 6),
                "rows": len(ood_set.examples),
                "fingerprint": ood_set.fingerprint,
            }
            write_json(memo, stored)
            machine.say(f"{folder.name}: {ood_set.name} {right:.3f} ({len(ood_set.examples):,} rows)")
    return [stored[ood_set.fingerprint] for ood_set in measured]


def read_json(path: Path) -> dict[str, Any]:
    """Read a file of results; empty where it is missing or damaged, so that its content is computed again."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file so that it is there completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path, (json.dumps(content, indent=2, allow_nan=False) + "\n").encode())
