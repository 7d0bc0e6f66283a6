"""What models saw in one example: each word's score toward one label, the predictions, and every factor's value.

`explain` asks models about an example of the user's choice; `telling` picks the examples that a report shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from factors import BUILTIN, Factor
from factors.types import SPECIAL, Attributions, Example, Norm
from ranker.attribution import settings_of
from ranker.attribution.settings import Settings
from ranker.errors import ModelError, UsageError
from ranker.progress import silent
from ranker.results.explanation import Explanation, Reading, Word
from ranker.runtime.base import Request
from ranker.runtime.executors.serial import survey
from ranker.score import UNDEFINED, Target, about_one_label, applicable, label_rule, score_model, target_label
from ranker.sources.base import ModelOptions
from ranker.tasks.classes import Task

if TYPE_CHECKING:
    from ranker.runtime.store import Store
    from ranker.sources.suites import Model

NEEDS_LABEL = "needs the true label"

TELLING = 3
"""How many examples a report shows."""


@dataclass(frozen=True)
class View:
    """How examples are shown: toward which label, and what is measured on them.

    Attributes:
        task: the labels.
        settings: of the attributions, settled.
        factors: what is measured.
        designed: the factor that was designed for the set, if any; it need not be among the others.
        toward: the label that positive scores are to speak for; None for the one that they speak for alone, else the
            one that the heuristic predicts, else the last.
        target, norm: as in `ranker.score.score_model`.
    """

    task: Task
    settings: Settings
    factors: Sequence[Factor]
    designed: str | None = None
    toward: int | None = None
    target: Target = "declared"
    norm: Norm = "raw"

    @property
    def label(self) -> int:
        """The label that positive scores speak for."""
        last = len(self.task.labels) - 1
        asked = (self.toward, self.settings.only_label(len(self.task.labels)), self.task.heuristic)
        return next((label for label in asked if label is not None), last)

    @property
    def reader(self) -> Factor | None:
        """The factor whose words are told: the designed one, where it is measured."""
        return next((factor for factor in self.factors if factor.name == self.designed), None)

    def explanation(self, example: Example, rows: Mapping[str, Attributions]) -> Explanation:
        """One example as models read it: model -> its attributions."""
        return Explanation(
            example=example,
            labels=self.task.labels,
            toward=self.label,
            attribution=self.settings.name,
            factors=tuple(self.factors),
            readings=tuple(self.reading(name, row, example) for name, row in rows.items()),
            designed=None if self.reader is None else self.designed,
        )

    def reading(self, model: str, row: Attributions, example: Example) -> Reading:
        """What one model made of an example; what needs the true label has no value where that is not known."""
        scaled = row.normalised(self.norm)
        values, undefined = measure(scaled, example, self.factors, self.task, self.target)
        words = tuple(words_of(scaled.toward(self.label), example, self.read(scaled, example)))
        return Reading(model, tuple(row.probs.tolist()), words, values, undefined, self.settings.accepts(row))

    def read(self, row: Attributions, example: Example) -> tuple[int, ...]:
        """The tokens that the designed factor reads, where it is known which label it is about."""
        if self.reader is None or not (example.labelled or about_one_label(self.reader, self.target)):
            return ()
        return read_by(self.reader, row, example, self.task, self.target)


def explain(
    models: Sequence[Model],
    task: Task,
    example: Example,
    *,
    attribution: str | Settings = "shap",
    factors: Sequence[Factor] = tuple(BUILTIN.values()),
    toward: int | None = None,
    designed: str | None = None,
    options: ModelOptions = ModelOptions(),
    store: Store | None = None,
) -> Explanation:
    """Ask models what they make of one example, and where they see it.

    Args:
        models: one or more.
        task: what they do.
        example: the text. Where it is `UNLABELLED`, factors that need its label have no value.
        attribution: a backend, or its settings (`ranker.attribution.settings_of`); "none" for predictions and baselines
            alone.
        factors: what to measure.
        toward: the label that positive scores speak for; None leaves it to `View`.
        designed: the factor that was designed for the example's set, if any.
        options: how models are loaded and run.
        store: where rows are remembered; None computes everything anew.

    Raises:
        UsageError: an unknown backend, a target that is no class, or a label that the backend's attributions cannot be
            turned toward.
        ModelError: no model could be run.
        StoreError: the store cannot be read or written.
    """
    settings = settings_of(attribution).settled(task.labels, task.heuristic if toward is None else toward)
    only = settings.only_label(len(task.labels))
    if toward is not None and only not in (None, toward):
        raise UsageError(
            f"`--toward` {task.labels[toward]}: the scores speak for {task.labels[only]} alone; see `target` of "
            f"`--attribution {settings.name}`"
        )
    if settings.name == "none":
        factors = [factor for factor in factors if factor.kind == "baseline"]
    kept, left_out = applicable(factors, [example], task, designed, only_label=only)
    asked = Request(settings.name, [example], settings)
    jobs = [(model, [asked]) for model in models]
    rows, failures = survey(jobs, lambda subject: subject.rows([example], settings)[0], task, options, store, silent)
    if not rows:
        raise ModelError("; ".join(f"{name}: {reason}" for name, reason in failures.items()))
    shown = View(task, settings, kept, designed, toward).explanation(example, rows)
    return replace(shown, left_out=left_out, failures=failures)


def telling(
    rows: Mapping[str, Sequence[Attributions]], examples: Sequence[Example], view: View
) -> Iterator[Explanation]:
    """The examples that tell most about how models differ, as each of them reads them.

    Those that the most pairs of models predict differently; of equals, the first in the order of `examples`. Where the
    designed factor reads a mark, only examples that have it.

    Args:
        rows: model -> its (N,) attributions.
        examples: (N,) the population.
        view: how they are shown.
    """
    predicted = np.array([[row.predicted for row in model] for model in rows.values()])  # (M, N)
    votes = np.stack([np.sum(predicted == label, axis=0) for label in range(len(view.task.labels))])  # (C, N)
    alike = np.sum(votes**2, axis=0)  # (N,) pairs of models of one mind
    mark = None if view.reader is None else view.reader.mark
    usable = [n for n, example in enumerate(examples) if mark is None or mark in example.marks]
    for n in sorted(usable, key=lambda n: alike[n])[:TELLING]:
        yield view.explanation(examples[n], {name: model[n] for name, model in rows.items()})


def read_by(
    factor: Factor, row: Attributions, example: Example, task: Task, target: Target = "declared"
) -> tuple[int, ...]:
    """The tokens that a factor reads: those whose score, if it were quite another, would give it another value.

    Nothing has to be declared for it, so that it holds for a user's own factor, too.
    """
    if not len(row.tokens):
        return ()
    try:
        row = row.toward(target_label(label_rule(factor, target), row, example, task))
        value = factor.score(row, example)
        far = 2 * abs(row.scores).max() + 1  # beyond every other score, so that a maximum sees it
        steps = far * np.eye(len(row.tokens))
        moved = ([replace(row, scores=row.scores + sign * step) for sign in (1, -1)] for step in steps)
        return tuple(
            t for t, rows in enumerate(moved) if any(_differ(factor.score(other, example), value) for other in rows)
        )
    except (Exception, SystemExit):  # a user's own factor may raise anything
        return ()


def _differ(a: float, b: float) -> bool:
    return a != b and not (np.isnan(a) and np.isnan(b))


def measure(
    row: Attributions,
    example: Example,
    factors: Sequence[Factor],
    task: Task,
    target: Target = "declared",
) -> tuple[dict[str, float], dict[str, str]]:
    """Every factor's value on one row, nan where it is undefined, and why it is, where there is something to say.

    Where the true label is not known, a factor has a value if it is the same under every label.
    """
    labels = [example.label] if example.labelled else range(len(task.labels))
    runs = [score_model([row], [replace(example, label=label)], factors, task, target) for label in labels]
    table = np.stack([run.values[:, 0] for run in runs])  # (labels, F)
    settled = np.all((table == table[0]) | (np.isnan(table) & np.isnan(table[0])), axis=0)
    values, undefined = {}, {}
    for f, factor in enumerate(factors):
        values[factor.name] = float(table[0, f]) if settled[f] else float("nan")
        reasons = [reason for run in runs for reason in run.undefined.get(factor.name, ())]
        if not settled[f]:
            undefined[factor.name] = NEEDS_LABEL
        elif reasons and reasons[0] != UNDEFINED:
            undefined[factor.name] = reasons[0]
    return values, undefined


def words_of(row: Attributions, example: Example, read: Sequence[int] = ()) -> list[Word]:
    """The words of an example with the scores of a row, and the special tokens where they stand among them.

    Args:
        row: the attributions.
        example: the text.
        read: the tokens that the designed factor reads: see `read_by`.
    """
    looked_at = {int(row.word[t]) for t in read}
    scores = np.full(len(example.words), np.nan)
    scores[: len(row.word_scores)] = row.word_scores
    behind = np.maximum.accumulate(row.segment) if len(row.segment) else row.segment
    special = [
        (int(behind[t]), Word(row.tokens[t], max(int(behind[t]), 0), None, float(row.scores[t]), read=t in read))
        for t in np.flatnonzero(row.segment == SPECIAL)
    ]
    words = [word for before, word in special if before == SPECIAL]
    for segment in range(len(example.segments)):
        for w, (span, score) in enumerate(zip(example.words, scores.tolist(), strict=True)):
            if span.segment == segment:
                marks = (name for name, spans in example.marks.items() if any(span.overlaps(mark) for mark in spans))
                words.append(Word(example.text(span), segment, span, score, tuple(marks), w in looked_at))
        words += [word for before, word in special if before == segment]
    return words
