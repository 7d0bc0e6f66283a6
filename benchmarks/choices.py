"""Verbs on top of reports, and how often each is right: "Take X", "X or Y", or "Cannot say yet".

    python -m benchmarks.choices measure matrices/*.npz texts/*.npz judges/*.npz -o choices.jsonl
    python -m benchmarks.choices tables choices.jsonl

Files are those of `benchmarks.sequential` (labels), of `benchmarks.anchors` (answers that are compared) and of
`benchmarks.judges`. For each replicate a suite of eight models and a pool of 300 rows are drawn; K rows are random, or
picked as `label` picks them. Truth is the mean outcome on all rows of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks import anchors, sequential
from benchmarks.anchors import AnswerWorld
from benchmarks.judges import worlds
from benchmarks.labels import table
from benchmarks.sequential import World
from factors.types import Floats
from ranker.commands.options import PATH
from ranker.numbers import percent
from ranker.results.choice import LOST, LOST_IN_SESSION, choose
from ranker.statistics import likeness, rows, vote
from ranker.statistics.acquisition import next_rows
from ranker.statistics.draws import NEAR, Draws
from ranker.statistics.judges import JudgedMarks
from ranker.statistics.judges import draw as draw_marks
from ranker.statistics.likeness import LikenessEvidence
from ranker.statistics.rows import RowEvidence
from ranker.statistics.vote import VoteEvidence, believe

SIZES = (3, 5, 10, 20, 50)
ASKED = (5, 10, 20)
MARKED = (3, 5, 10, 20)
MODELS, POOL, SAMPLES = 8, 300, 4_000

LABELS, LABELS_POOL, LABELS_PICKED = "labels", "labels and a pool", "labels that `label` picked"
REFERENCES, REFERENCES_POOL = "references", "references and a pool"
REFERENCES_PICKED, MARKS_JUDGES = "references that `label` picked", "marks and judges"


@dataclass(frozen=True)
class Said:
    """One belief and the truth, (M,) each in the order of the models.

    Attributes:
        kind: what was known.
        labels: K.
        near: P(within a point of the best) of the leader.
        shortfall: what is expected to be lost by each.
        beats: P(the leader is better than each).
        equal: P(each is within a point of the leader).
        lost: what is lost by each.
    """

    kind: str
    labels: int
    near: float
    shortfall: list[float]
    beats: list[float]
    equal: list[float]
    lost: list[float]


def said(kind: str, labels: int, belief: Draws, truth: Floats) -> Said:
    """Return what a belief says, and the truth."""
    order, leader = belief.order, belief.leader
    return Said(
        kind,
        labels,
        near=belief.within(),
        shortfall=belief.shortfall()[order].tolist(),
        beats=belief.beats()[leader][order].tolist(),
        equal=belief.equal(leader)[order].tolist(),
        lost=(truth.max() - truth[order]).tolist(),
    )


def of_labels(world: World) -> Iterator[Said]:
    """Yield what is believed of a suite by labels, and by labels and a pool."""
    for size in SIZES:
        random = world.shuffled[:size]
        evidence = RowEvidence.of_means(world.outcomes[:, random])
        yield said(LABELS, size, rows.draw(evidence, np.random.default_rng(size), SAMPLES), world.truth)
        beliefs = believe(world.patterns, random, world.labels[random])
        yield said(LABELS_POOL, size, vote.draw(VoteEvidence(beliefs), beliefs.rng(1)), world.truth)
    picked = np.zeros(0, dtype=np.int64)
    for size in range(max(ASKED) + 1):
        beliefs = believe(world.patterns, picked, world.labels[picked])
        if size in ASKED:
            yield said(LABELS_PICKED, size, vote.draw(VoteEvidence(beliefs), beliefs.rng(1)), world.truth)
        picked = np.append(picked, next_rows(beliefs, goal="best"))


def of_answers(world: AnswerWorld) -> Iterator[Said]:
    """Yield the same of answers that are compared."""
    for size in SIZES:
        outcomes = world.outcomes[:, world.shuffled[:size]]
        belief = rows.draw(RowEvidence.of_means(outcomes), np.random.default_rng(size), SAMPLES)
        yield said(REFERENCES, size, belief, world.truth)
        for kind, places in ((REFERENCES_POOL, world.shuffled[:size]), (REFERENCES_PICKED, world.chosen[:size])):
            evidence = LikenessEvidence(world.anchors, world.outcomes[:, places], places, kind == REFERENCES_POOL)
            yield said(kind, size, likeness.draw(evidence, np.random.default_rng(0)), world.truth)


def of_marks(people: Floats, judges: Floats) -> Iterator[Said]:
    """Yield the same of (M, N) people's marks of the first K rows, and (J, M, N) judges' of all."""
    for size in MARKED:
        counted = np.where(np.arange(people.shape[1]) < size, people, np.nan)
        belief = draw_marks(JudgedMarks(counted, judges), np.random.default_rng(0), SAMPLES)
        yield said(MARKS_JUDGES, size, belief, people.mean(axis=1))


@click.group()
def main() -> None:
    """Measure choices."""


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("--replicates", default=30, show_default=True)
@click.option("-o", "output", type=PATH, required=True)
def measure(files: Sequence[Path], replicates: int, output: Path) -> None:
    """Write what is believed of suites, a line each."""
    with output.open("a", encoding="utf-8") as lines:
        for file in files:
            with np.load(file) as arrays:
                by_labels, by_answers, by_marks = ("predictions" in arrays, "S" in arrays, "H" in arrays)
            for people, judges, _ in worlds(file, replicates, MODELS) if by_marks else ():
                lines.writelines(f"{json.dumps(vars(belief))}\n" for belief in of_marks(people, judges))
            for replicate in range(replicates if by_labels or by_answers else 0):
                beliefs = (
                    of_labels(sequential.drawn(file, replicate, MODELS, POOL))
                    if by_labels
                    else of_answers(anchors.drawn(file, replicate, MODELS, POOL))
                )
                lines.writelines(f"{json.dumps(vars(belief))}\n" for belief in beliefs)
            click.echo(file.stem, err=True)


def verdicts(beliefs: Sequence[Said], lost: float) -> Iterator[tuple[str, list[float]]]:
    """Yield each verb with what is lost by the models that it names."""
    for belief in beliefs:
        names = [str(place) for place in range(len(belief.lost))]
        choice = choose(names, belief.near, belief.shortfall, belief.beats, belief.equal, lost=lost)
        chosen = choice.models if choice.verb == "any" else choice.models[:1]
        yield choice.verb, [belief.lost[int(name)] for name in chosen]


def cells(said_of: Sequence[bool], losses: Sequence[float]) -> list[str]:
    """Return how often something is said, how many of the models are within a point, and what they lose."""
    near = np.asarray(losses) <= NEAR + 1e-9
    return (
        [percent(float(np.mean(said_of))), percent(float(near.mean())), f"{100 * np.mean(losses):.2f}"]
        if losses
        else ["0.0", "", ""]
    )


@main.command()
@click.argument("file", type=PATH)
@click.option("--lost", type=float, help="What may be lost, a fraction.  [default: as the tool has it]")
def tables(file: Path, lost: float | None) -> None:
    """Print how often each verb is said, and what comes of it."""
    lines_read = [Said(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
    lines: list[list[Any]] = []
    for kind in dict.fromkeys(belief.kind for belief in lines_read):
        beliefs = [belief for belief in lines_read if belief.kind == kind]
        limit = lost or (LOST_IN_SESSION if kind in (REFERENCES_PICKED, MARKS_JUDGES) else LOST)
        verbs = [*verdicts(beliefs, limit)]
        lines.append([kind])
        for verb in ("take", "any"):
            losses = [loss for said_verb, of_models in verbs if said_verb == verb for loss in of_models]
            lines[-1] += cells([said_verb == verb for said_verb, _ in verbs], losses)
    head = [f"{verb}{ends}" for verb in ("take", "any") for ends in (", %", ": within a point, %", ": lost")]
    click.echo(table(["known", *head], lines))


if __name__ == "__main__":
    main()
