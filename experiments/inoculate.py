"""Make a suite: models alike on in-domain data that differ in a new domain, by mixing a little of it into training.

Everything that can be wrong with a recipe is found before the first training step. A member is trained in a hidden
folder and renamed when it is complete, so that a killed run goes on with the member it was at.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from experiments import sources, train
from experiments.recipe import Base, Member, Recipe, Stage
from factors import Example
from ranker import ood, progress, suites
from ranker.errors import RankModelsError, UsageError, look_up

if TYPE_CHECKING:
    from ranker.ood import OODSet, Task

SHARED = ".shared"
"""The folder of the models after the shared stage; it may be deleted once the suite is complete."""

TRAINING = "training.json"
"""In a model's folder: the key of its training, and what is told about it in the suite."""

MEASURED = "measured.json"
"""In a model's folder: fingerprint of rows -> its accuracy on them."""


@dataclass(frozen=True)
class Plan:
    """What one recipe comes to, with every row drawn, before anything is trained.

    Attributes:
        recipe: what is made.
        task: the labels.
        measured: the OOD sets, all of their rows.
        in_domain_test: the rows that in-domain accuracy is measured on.
        texts: what a new tokenizer is learnt from.
        shared: the rows of the shared stage; empty where there is none.
        rows: member -> the rows of its own stage.
    """

    recipe: Recipe
    task: Task
    measured: tuple[OODSet, ...]
    in_domain_test: tuple[Example, ...]
    texts: tuple[str, ...]
    shared: tuple[Example, ...]
    rows: Mapping[str, tuple[Example, ...]]


@dataclass(frozen=True)
class Machine:
    """Where training runs; another machine gives other numbers, if only in the last digits.

    Attributes:
        device: a torch device.
        bf16: compute in bfloat16 where that is safe.
        console: where progress goes.
    """

    device: str = "cpu"
    bf16: bool = False
    console: Console = progress.stderr()


def inoculate(recipe: Recipe, data_dir: Path | None, output: Path, machine: Machine | None = None) -> Path:
    """Train and measure every member of the recipe that is not there yet, and write ``suite.json``.

    Args:
        recipe: what to make.
        data_dir: the folder that the recipe's files are relative to; None where it needs none.
        output: the suite's folder; made if it is not there.
        machine: where training runs; None is this processor.

    Returns:
        The path of the ``suite.json``.

    Raises:
        UsageError: the recipe does not fit the data; nothing was trained.
        ModelError: a base cannot be loaded or trained.
        RankModelsError: the output cannot be written; what was complete before stays.
    """
    machine = machine or Machine()
    plan = make_plan(recipe, data_dir)
    try:
        entries = [make_member(plan, member, output, machine) for member in recipe.members]
        content = {"schema_version": suites.SCHEMA_VERSION, "name": recipe.name, "task": recipe.task, "models": entries}
        write_json(output / suites.FILE, content)
    except OSError as error:
        raise RankModelsError(f"{output} cannot be written: {error.strerror or error}") from error
    return output / suites.FILE


def make_plan(recipe: Recipe, data_dir: Path | None) -> Plan:
    """Read all data and draw every row.

    A row that is measured on is never trained on: it is dropped from the sources before anything is drawn.

    Raises:
        UsageError: data is missing or malformed, or a source has too few rows.
    """
    task = look_up("task", recipe.task, ood.tasks())
    measured = tuple(ood.load(name, data_dir) for name in recipe.ood)
    for one in measured:
        if one.task.name != task.name:
            raise UsageError(f"{one.name} is an OOD set of the task {one.task.name}, not of {task.name}")
    read = {name: sources.read(source, name, task, data_dir, recipe.seed) for name, source in recipe.sources.items()}
    test = tuple(example for name in recipe.in_domain_test for example in read[name])
    held_out = {example.segments for rows in (test, *(known.examples for known in measured)) for example in rows}
    pools = {name: [row for row in rows if row.segments not in held_out] for name, rows in read.items()}
    pools[""] = [row for name in recipe.in_domain for row in pools[name]]
    shared = recipe.shared and draw(recipe.shared, pools, recipe.seed, "the shared stage")
    trained_on = ["", *sorted({name for member in recipe.members for name in member.stage.mix})]
    return Plan(
        recipe=recipe,
        task=task,
        measured=measured,
        in_domain_test=test,
        texts=tuple(text for name in trained_on for row in pools[name] for text in row.segments),
        shared=tuple(shared or ()),
        rows={m.name: tuple(draw(m.stage, pools, m.seed, f"the member {m.name}")) for m in recipe.members},
    )


def draw(stage: Stage, pools: Mapping[str, Sequence[Example]], seed: int, who: str) -> list[Example]:
    """The rows of one stage, each source's share drawn without replacement.

    Args:
        stage: how many rows, and which share of them from which source.
        pools: source -> rows; "" holds the in-domain rows.
        seed: of the draw.
        who: whose stage it is, for messages.

    Raises:
        UsageError: a source has too few rows.
    """
    total = len(pools[""]) if stage.rows is None else stage.rows
    counts = {name: round(share * total) for name, share in stage.mix.items()}
    counts[""] = total - sum(counts.values())
    rng = np.random.default_rng(seed)
    drawn: list[Example] = []
    for name, count in counts.items():
        if count > len(pools[name]):
            source = f"source {name!r}" if name else "in-domain data"
            raise UsageError(f"{who} needs {count} rows of the {source}, which has {len(pools[name])}")
        drawn += [pools[name][i] for i in rng.choice(len(pools[name]), count, replace=False)]
    return drawn


def make_member(plan: Plan, member: Member, output: Path, machine: Machine) -> dict[str, Any]:
    """One member's entry in ``suite.json``, trained and measured unless that is done already."""
    recipe = plan.recipe
    base = recipe.bases[member.base]
    before = key_of(base, plan.texts if base.architecture else ())
    if recipe.shared:
        before = key_of(before, recipe.shared, recipe.seed, plan.shared)
    shared = output / SHARED / member.base

    def begin() -> train.Start:
        if recipe.shared is None:
            return start(base, plan, member.seed)
        if training_of(shared, before) is None:
            first = start(base, plan, recipe.seed)
            fit(first, plan.shared, recipe.shared, recipe.seed, shared, before, f"{member.base}, shared stage", machine)
        return train.load(str(shared), plan.task.labels, member.seed)

    folder = output / member.name
    rows = plan.rows[member.name]
    key = key_of(before, member.stage, member.seed, rows)
    if training_of(folder, key) is None:
        fit(begin(), rows, member.stage, member.seed, folder, key, member.name, machine)
    known = measure(folder, plan, machine, member.name)
    in_domain = known[ood.fingerprint(plan.in_domain_test, plan.task)]
    return {
        "name": member.name,
        "path": member.name,
        "family": base.family or member.base,
        "in_domain_accuracy": in_domain["accuracy"],
        "ood_accuracy": {one.name: {**known[one.fingerprint], "fingerprint": one.fingerprint} for one in plan.measured},
        "training": {**(training_of(folder, key) or {}), "in_domain_rows": in_domain["rows"]},
    }


def start(base: Base, plan: Plan, seed: int) -> train.Start:
    """An untrained classifier for the plan's labels."""
    if base.architecture:
        return train.build(base, plan.task.labels, plan.texts, seed)
    return train.load(train.resolve(base.path or ""), plan.task.labels, seed)


def fit(
    begin: train.Start,
    rows: Sequence[Example],
    stage: Stage,
    seed: int,
    folder: Path,
    key: str,
    label: str,
    machine: Machine,
) -> None:
    """Train in a hidden folder, then take the place of whatever ``folder`` was."""
    model, tokenizer = begin
    steps = train.number_of_steps(len(rows), stage)
    began = time.monotonic()
    with progress.bar(machine.console, f"training {label}", steps * stage.batch_size) as advance:
        losses = train.train(
            model, tokenizer, rows, stage, seed=seed, device=machine.device, bf16=machine.bf16, advance=advance
        )
    seconds = time.monotonic() - began
    tail = losses[-max(1, len(losses) // 10) :]
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    train.save(model, tokenizer, partial)
    training = {
        "key": key,
        "seed": seed,
        "rows": dict(Counter(row.id.rpartition("-")[0] for row in rows)),
        "steps": len(losses),
        "loss": round(float(np.mean(tail)), 4) if tail else None,
        "seconds": round(seconds, 1),
    }
    write_json(partial / TRAINING, training)
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(partial, folder)
    machine.console.print(f"{label}: {len(losses)} steps in {seconds:.0f} s, loss {training['loss']}", highlight=False)


def measure(folder: Path, plan: Plan, machine: Machine, label: str) -> dict[str, dict[str, Any]]:
    """Accuracy of a trained model, by the fingerprint of the rows; what was measured before is not measured again."""
    from ranker.classifiers import Classifier

    memo = folder / MEASURED
    known: dict[str, dict[str, Any]] = json.loads(memo.read_text(encoding="utf-8")) if memo.exists() else {}
    wanted = {ood.fingerprint(plan.in_domain_test, plan.task): ("in-domain", plan.in_domain_test)}
    wanted |= {one.fingerprint: (one.name, one.examples) for one in plan.measured}
    missing = {fingerprint: rows for fingerprint, rows in wanted.items() if fingerprint not in known}
    if missing:
        classifier = Classifier.load(str(folder), plan.task, device=machine.device)
        for fingerprint, (name, examples) in missing.items():
            right = classifier.probabilities(examples).argmax(axis=1) == [example.label for example in examples]
            known[fingerprint] = {"accuracy": round(float(right.mean()), 6), "rows": len(examples)}
            write_json(memo, known)
            machine.console.print(f"{label}: {name} {right.mean():.3f} ({len(examples):,} rows)", highlight=False)
    return known


def training_of(folder: Path, key: str) -> dict[str, Any] | None:
    """What is written about a complete training of that key; None if there is none."""
    try:
        training: dict[str, Any] = json.loads((folder / TRAINING).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return {name: value for name, value in training.items() if name != "key"} if training["key"] == key else None


def key_of(*parts: Any) -> str:
    """A digest of everything that decides a model's weights on one machine."""

    def plain(value: Any) -> dict[str, Any]:
        return {f.name: getattr(value, f.name) for f in fields(value)} if is_dataclass(value) else dict(value)

    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=plain).encode()).hexdigest()


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file so that it is there completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    os.replace(partial, path)
