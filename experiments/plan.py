"""Plan of a recipe on one machine's data: every training with its rows drawn, before anything is trained.

Everything that can be wrong with a recipe or its data is found here, before the first training step.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments import eda, sources
from experiments.recipe import Base, Member, Recipe, Stage, at_step
from experiments.train import number_of_steps
from factors import Example
from ranker.datasets import sets
from ranker.datasets.sets import LabelledDataset
from ranker.errors import UsageError, look_up
from ranker.sources.hf.checkpoints import locate
from ranker.sources.hf.files import content_hash
from ranker.tasks.classes import ClassificationTask

SHARED = ".shared"
"""The folder of the models after the shared stage; it may be deleted once the suite is complete."""

WAYS = ("shots", "augment", "loss", "perturb", "tune", "labels")
"""Fields of a stage and of a base that decide nothing where they are None."""

IN_DOMAIN = ""
"""The pool of all in-domain rows; no source of a recipe has an empty name."""


class Kept(NamedTuple):
    """Model that a training leaves: its folder relative to the suite's, its step, and its key."""

    folder: str
    step: int
    key: str


@dataclass(frozen=True)
class Training:
    """One training: where it starts from, and everything that decides where it ends.

    Attributes:
        folder: of the finished model, relative to the suite's.
        stage: how long and how fast.
        seed: of new weights, the order of batches and dropout.
        rows: what is trained on.
        start: a base, or the training that goes before.
        texts: what a new tokenizer is learnt from; empty where the start has one.
        checkpoints: steps after which it is kept, too; they decide nothing of where it ends.
    """

    folder: str
    stage: Stage
    seed: int
    rows: tuple[Example, ...]
    start: Base | Training
    texts: tuple[str, ...] = ()
    checkpoints: tuple[int, ...] = ()

    @property
    def steps(self) -> int:
        """Number of steps."""
        return number_of_steps(len(self.rows), self.stage)

    @property
    def kept(self) -> tuple[Kept, ...]:
        """Outputs of a training, in the order of the steps; the last one is the finished model."""
        within = [Kept(at_step(self.folder, step), step, f"{self.key} {step}") for step in self.checkpoints]
        return (*within, Kept(self.folder, self.steps, self.key))

    @cached_property
    def key(self) -> str:
        """A digest of everything that decides the weights on one machine; the folder does not.

        A checkpoint in a directory is known by its content, wherever it lies.
        """
        start = self.start.key if isinstance(self.start, Training) else self.start
        if isinstance(start, Base) and start.path and Path(start.path).is_dir():
            start = replace(start, path=content_hash(locate(start.path)))
        content = json.dumps([start, self.texts, self.stage, self.seed, self.rows], sort_keys=True, default=_plain)
        return hashlib.sha256(content.encode()).hexdigest()


@dataclass(frozen=True)
class TrainingPlan:
    """Plan of one recipe.

    Attributes:
        recipe: what is made.
        task: the labels.
        in_domain: the held-out rows that in-domain accuracy is measured on.
        ood: the OOD sets, all of their rows.
        trainings: the training that makes each member, in the order of the members.
    """

    recipe: Recipe
    task: ClassificationTask
    in_domain: LabelledDataset
    ood: tuple[LabelledDataset, ...]
    trainings: tuple[Training, ...]


def make(recipe: Recipe, data_dir: Path | None, include: Sequence[str | Path] = ()) -> TrainingPlan:
    """Read all data and draw every row.

    A row that is measured on is never trained on: it is dropped from the sources before anything is drawn.

    Args:
        recipe: what is made.
        data_dir: what its files are relative to; None where it needs none.
        include: folders of a user's own sets, whose tasks a recipe may be for.

    Raises:
        UsageError: data is missing or malformed, or does not fit the recipe.
    """
    task = look_up("task", recipe.task, sets.tasks(include))
    measured = tuple(sets.load(name, data_dir, include) for name in recipe.ood)
    for ood_set in measured:
        if ood_set.task.name != task.name:
            predicate = f"is an OOD set of the task {ood_set.task.name}, not of {task.name}"
            raise UsageError.of(ood_set.name, predicate, option="task", value=task.name)
    rows_of_source = {
        name: sources.read(source, name, task, data_dir, recipe.seed) for name, source in recipe.sources.items()
    }
    held_out = tuple(row for name in recipe.in_domain_test for row in rows_of_source[name])
    reserved = {row.segments for rows in (held_out, *(ood_set.examples for ood_set in measured)) for row in rows}
    pools = {name: [row for row in rows if row.segments not in reserved] for name, rows in rows_of_source.items()}
    pools[IN_DOMAIN] = [row for name in recipe.in_domain for row in pools[name]]
    return TrainingPlan(
        recipe=recipe,
        task=task,
        in_domain=LabelledDataset("in-domain", task, held_out, population=len(held_out)),
        ood=measured,
        trainings=_trainings(recipe, pools, len(task.labels)),
    )


def draw(
    stage: Stage, pools: Mapping[str, Sequence[Example]], classes: int, seed: int, member_name: str
) -> tuple[Example, ...]:
    """Return the rows of one stage, each source's share drawn without replacement; sources may hold the same row.

    Args:
        stage: how many rows, and which share of them from which source.
        pools: source -> rows, and `IN_DOMAIN` -> all in-domain rows.
        classes: C, of the task.
        seed: of the draw.
        who: whose stage it is, for messages.

    Raises:
        UsageError: a source has too few rows, or all in-domain rows are wanted and there are none.
    """
    total = len(pools[IN_DOMAIN]) if stage.rows is None else stage.rows
    if stage.rows is None and not total:
        predicate = "takes every row of the in-domain data, and none is left beside those measured on"
        raise UsageError.of(member_name, predicate, option="rows")
    left, counts = total, {}
    for name, share in stage.mix.items():
        counts[name] = min(round(share * total), left)  # halves that are rounded up may add up to a row too many
        left -= counts[name]
    counts[IN_DOMAIN] = left
    rng = np.random.default_rng(seed)
    drawn: list[Example] = []
    for name, count in counts.items():
        pool = pools[name]
        if count > len(pool):
            source = "in-domain data" if name == IN_DOMAIN else f"source {name!r}"
            predicate = f"needs {count} rows of the {source}, which has {len(pool)}"
            raise UsageError.of(member_name, predicate, option="rows", value=count, allowed=(0, len(pool)))
        drawn += [pool[i] for i in rng.choice(len(pool), count, replace=False)]
    if stage.shots is not None:
        drawn = few(drawn, stage.shots, classes, rng, member_name)
    if stage.augment is not None:
        drawn = eda.augmented(drawn, stage.augment, rng)
    return tuple(drawn)


def few(rows: Sequence[Example], shots: int, classes: int, rng: np.random.Generator, member_name: str) -> list[Example]:
    """So many rows of each of C labels, drawn without replacement, in the order they had.

    Raises:
        UsageError: a label has fewer.

    Example:
        >>> rows = [Example(str(i), ("A dog ran.",), int(i > 2)) for i in range(6)]
        >>> [row.target for row in few(rows, 2, 2, np.random.default_rng(0), "it")]
        [0, 0, 1, 1]
    """
    fewest = np.bincount([row.target for row in rows], minlength=classes).min()
    if fewest < shots:
        predicate = f"needs {shots} rows of each label, and of one there are {fewest}"
        raise UsageError.of(member_name, predicate, option="shots", value=shots, allowed=(1, fewest))
    return sources.of_each_label(rows, shots, rng)


def _trainings(recipe: Recipe, pools: Mapping[str, Sequence[Example]], classes: int) -> tuple[Training, ...]:
    """Return the members' trainings; those of one base continue one shared training, where there is a shared stage."""
    stages = [member.stage for member in recipe.members] + ([recipe.shared] if recipe.shared else [])
    trained_on = [IN_DOMAIN, *sorted({name for stage in stages for name in stage.mix})]
    corpus = tuple(text for name in trained_on for row in pools[name] for text in row.segments)
    shared: dict[str, Training] = {}
    if recipe.shared:
        rows = draw(recipe.shared, pools, classes, recipe.seed, "the shared stage")
        for name, base in recipe.bases.items():
            texts = corpus if base.architecture else ()
            shared[name] = Training(f"{SHARED}/{name}", recipe.shared, recipe.seed, rows, base, texts)

    def training(member: Member) -> Training:
        base = recipe.bases[member.base]
        start = shared.get(member.base, base)
        texts = corpus if base.architecture and start is base else ()
        rows = draw(member.stage, pools, classes, member.seed, f"the member {member.name}")
        planned = Training(member.name, member.stage, member.seed, rows, start, texts, member.checkpoints)
        if member.checkpoints and member.checkpoints[-1] >= planned.steps:
            last = member.checkpoints[-1]
            predicate = (
                f"cannot be kept after step {last}: `checkpoints` are within its training, which has {planned.steps} "
                "steps"
            )
            raise UsageError.of(f"the member {member.name}", predicate, option="checkpoints", value=last)
        return planned

    return tuple(training(member) for member in recipe.members)


def _plain(value: Any) -> dict[str, Any]:
    """Return a record as JSON, without ways that are left out, and of a row only what affects a weight."""
    if isinstance(value, Example):
        # the names stand in the keys of finished suites: tests/experiments/test_embedded_suites.py
        return {"id": value.id, "segments": value.segments, "label": value.target, "marks": value.marks}
    if not is_dataclass(value):
        return dict(value)
    content = {f.name: getattr(value, f.name) for f in fields(value)}
    return {name: entry for name, entry in content.items() if entry is not None or name not in WAYS}
