"""Views of examples as models read them, and the choice of the most informative ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logit

from factors import Factor
from factors.rounding import TIE
from factors.types import SPECIAL, Attributions, Example, Norm
from ranker.attribution.settings import Attributing, Settings
from ranker.results.explanation import Explanation, Reading, Word
from ranker.scoring.diagnostics import within_tolerance
from ranker.scoring.score import UNDEFINED, Target, about_one_label, label_rule, score_model, target_label
from ranker.statistics.engine import none_if_nan
from ranker.tasks.base import Predictions, Task
from ranker.tasks.classes import ClassProbabilities, label_names

NEEDS_LABEL = "needs the true label"

TELLING = 3
"""Most examples of a report."""


@dataclass(frozen=True)
class View:
    """Settings of a view of examples: the label of positive scores, and the factors to measure.

    Attributes:
        task: the labels, or the meaning of other answers.
        settings: of the attributions, complete.
        factors: those to measure.
        designed: the factor that was designed for the set, if any; it need not be among the others.
        toward: the label of positive scores; None for the only one that they can be about, else the shortcut's label,
            else the last.
        target, norm: as in `ranker.scoring.score.score_model`.
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
        """Label of positive scores."""
        outputs = len(self.task.outputs)
        candidates = (self.toward, self.settings.only_label(outputs), getattr(self.task, "shortcut", None))
        return next((label for label in candidates if label is not None), max(outputs - 1, 0))

    @property
    def reader(self) -> Factor | None:
        """Factor whose words are marked: the designed one, where it is measured."""
        return next((factor for factor in self.factors if factor.name == self.designed), None)

    def explanation(self, example: Example, answers: Mapping[str, tuple[Any, Attributions]]) -> Explanation:
        """Return one example as models read it, from model -> its answer and its attributions."""
        truth = self.task.show(example.target, example.segments) if example.labelled else None
        return Explanation(
            example=replace(example, target=truth),
            labels=label_names(self.task),
            toward=self.task.outputs[self.label] if self.task.outputs else "",
            attribution=self.settings.name,
            factors=tuple(self.factors),
            readings=tuple(self.reading(name, *answer, example) for name, answer in answers.items()),
            designed=None if self.reader is None else self.designed,
        )

    def reading(self, model: str, answer: Any, attribution: Attributions, example: Example) -> Reading:
        """Return one model's reading of an example; factors of the true label have no value where it is unknown."""
        labels = label_names(self.task)
        scaled = attribution.normalised(self.norm)
        values, undefined = measure(scaled, example, self.factors, self.task, self.target)
        words = tuple(words_of(scaled.toward(self.label), example, self.read(scaled, example)))
        return Reading(
            name=model,
            predicted=self.task.show(answer, example.segments),
            probabilities=dict(zip(labels, attribution.probs.tolist(), strict=True)) if labels else {},
            within_tolerance=within_tolerance(self.settings, attribution),
            words=words,
            factors={name: none_if_nan(value) for name, value in values.items()},
            undefined=undefined,
            wordless=self.wordless(attribution),
        )

    def wordless(self, attribution: Attributions) -> float | None:
        """Return the log-odds of the explained label with all words hidden, where scores add up to the rest."""
        settings = self.settings
        additive = isinstance(settings, Attributing) and settings.additive and settings.output == "margin"
        if not (additive and label_names(self.task)):
            return None
        scored = attribution.toward(self.label)
        return float(logit(attribution.probs[self.label]) - scored.scores.sum())

    def read(self, attribution: Attributions, example: Example) -> tuple[int, ...]:
        """Return the tokens that the designed factor reads, where the label that it is about is known."""
        if self.reader is None or not (example.labelled or about_one_label(self.reader, self.target)):
            return ()
        return read_by(self.reader, attribution, example, self.task, self.target)


def pick_informative(answers: Sequence[Predictions], examples: Sequence[Example], view: View) -> list[int]:
    """Return the places of the examples on which models differ most.

    These are those that the most pairs of models answer differently; of equals, the first in the order of `examples`.
    Where the designed factor reads a mark, only examples with it count.

    Args:
        answers: (M,) of the models, each (N,) answers.
    """
    numbers: dict[Any, int] = {}
    codes = np.array(
        [[numbers.setdefault(answer, len(numbers)) for answer in of_model.answers() or ()] for of_model in answers]
    )  # (M, N)
    alike = np.sum([(codes == of_model).sum(axis=0) for of_model in codes], axis=0)  # (N,) pairs of models that agree
    mark = None if view.reader is None else view.reader.mark
    usable = [n for n, example in enumerate(examples) if mark is None or mark in example.marks]
    return sorted(usable, key=lambda n: alike[n])[:TELLING]


def read_by(
    factor: Factor, attribution: Attributions, example: Example, task: Task, target: Target = "declared"
) -> tuple[int, ...]:
    """Return the tokens that a factor reads: those where a very different score gives it another value.

    This needs no declaration, so it holds for a user's own factor, too.
    """
    try:
        attribution = attribution.toward(target_label(label_rule(factor, target), attribution.predicted, example, task))
        value = factor.of(attribution, example)
        far = 2 * abs(attribution.scores).max(initial=0) + 1  # beyond every other score, so that a maximum sees it
        steps = far * np.eye(len(attribution.tokens))
        moved = ([replace(attribution, scores=attribution.scores + sign * step) for sign in (1, -1)] for step in steps)
        return tuple(
            t for t, rows in enumerate(moved) if any(_differ(factor.of(changed, example), value) for changed in rows)
        )
    except (Exception, SystemExit):  # a user's own factor may raise anything
        return ()


def _differ(a: float, b: float) -> bool:
    return not (math.isclose(a, b, rel_tol=TIE, abs_tol=TIE) or (np.isnan(a) and np.isnan(b)))


def measure(
    attribution: Attributions,
    example: Example,
    factors: Sequence[Factor],
    task: Task,
    target: Target = "declared",
) -> tuple[dict[str, float], dict[str, str]]:
    """Compute every factor's value on one example, nan where undefined, and the reasons, if there are any.

    Where the true label is unknown, a factor has a value if it is the same under every label.
    """
    labels = [example.target] if example.labelled else range(len(task.outputs))
    answers = ClassProbabilities.of_outputs(attribution.probs[None])
    runs = [
        score_model(answers, [attribution], [replace(example, target=label)], factors, task, target) for label in labels
    ]
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


def words_of(attribution: Attributions, example: Example, read_tokens: Sequence[int] = ()) -> list[Word]:
    """Return the words of an example with the scores of an attribution, and the special tokens among them.

    Where a token covers several words, as one [UNK] does neighbouring emoji, its first word has its score, and the
    others have 0. Words beyond the last token have none, since the model did not see them; nor has any word where the
    answer has nothing to attribute.

    Args:
        read_tokens: the tokens that the designed factor reads: see `read_by`.
    """
    looked_at = {int(attribution.word[t]) for t in read_tokens}
    scores = np.full(len(example.words), np.nan)
    scores[: len(attribution.word_scores)] = attribution.word_scores
    for w, span in enumerate(example.words):
        reach = attribution.offsets[attribution.segment == span.segment, 1].max(initial=0)
        if np.isnan(scores[w]) and span.start < reach and not attribution.undefined:
            scores[w] = 0.0
    behind = np.maximum.accumulate(attribution.segment) if len(attribution.segment) else attribution.segment
    special = [
        (
            int(behind[t]),
            Word(
                attribution.tokens[t],
                max(int(behind[t]), 0),
                None,
                none_if_nan(attribution.scores[t]),
                read=t in read_tokens,
            ),
        )
        for t in np.flatnonzero(attribution.segment == SPECIAL)
    ]
    words = [word for before, word in special if before == SPECIAL]
    for segment in range(len(example.segments)):
        for w, (span, score) in enumerate(zip(example.words, scores.tolist(), strict=True)):
            if span.segment == segment:
                marks = (name for name, spans in example.marks.items() if any(span.overlaps(mark) for mark in spans))
                text, place = example.text(span), (span.start, span.end)
                words.append(Word(text, segment, place, none_if_nan(score), tuple(marks), w in looked_at))
        words += [word for before, word in special if before == segment]
    return words
