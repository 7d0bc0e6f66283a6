"""What models saw in one example: each word's score toward one label, the predictions, and every factor's value.

`explain` asks models about an example of the user's choice; `telling` picks the examples that a report shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from factors import BUILTIN, Factor
from factors.types import SPECIAL, Attributions, Example, Norm, Span
from ranker import records
from ranker.backends import Settings, settings_of
from ranker.errors import ModelError, UsageError
from ranker.score import Target, about_one_label, applicable, label_rule, score_model, target_label

if TYPE_CHECKING:
    from ranker.cards import Task
    from ranker.measure import Subject

SCHEMA_VERSION = 1

NEEDS_LABEL = "needs the true label"

TELLING = 3
"""How many examples a report shows."""


@dataclass(frozen=True)
class Word:
    """A word of the example, or a special token of the model's input.

    Attributes:
        text: as it stands in the example; a special token as the tokenizer writes it.
        segment: the segment that it stands in; a special token, behind or, the first ones, before.
        span: its characters; None for a special token.
        score: the sum of its tokens' attributions toward the explained label; nan if the model did not see it.
        marks: the marks that touch it.
        read: the factor designed for the set reads it: its value depends on the word's score.
    """

    text: str
    segment: int
    span: Span | None
    score: float
    marks: tuple[str, ...] = ()
    read: bool = False


@dataclass(frozen=True)
class Reading:
    """What one model made of the example.

    Attributes:
        model: its name.
        probs: (C,) the probability of each label.
        words: in the order of the model's input.
        values: factor -> its value, nan where it is undefined; each about the label that it declares.
        undefined: factor -> why it has no value, if it says so.
        within_tolerance: the attribution's own measure of error is small enough.
    """

    model: str
    probs: tuple[float, ...]
    words: tuple[Word, ...]
    values: Mapping[str, float]
    undefined: Mapping[str, str]
    within_tolerance: bool

    @property
    def predicted(self) -> int:
        """The label of the highest probability; of equals, the first."""
        return int(np.argmax(self.probs))

    @property
    def strongest(self) -> float:
        """The largest magnitude among the scores; 0 where there are none."""
        return max((abs(word.score) for word in self.words if not np.isnan(word.score)), default=0.0)


@dataclass(frozen=True)
class Explanation:
    """One example as several models read it.

    Attributes:
        example: the text, with its marks.
        labels: (C,) the task's labels by name.
        label: the true one; None where it is not known.
        toward: the label that positive scores speak for.
        attribution: the backend that the scores come from.
        factors: what was measured.
        readings: one for each model that could be run.
        left_out: factor -> why it cannot be measured on this example.
        failures: model -> why it could not be run.
        designed: the factor that was designed for the example's set, if it was measured.
    """

    example: Example
    labels: tuple[str, ...]
    label: int | None
    toward: int
    attribution: str
    factors: tuple[Factor, ...]
    readings: tuple[Reading, ...]
    left_out: Mapping[str, str]
    failures: Mapping[str, str]
    designed: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON, keys in a fixed order; nan is None."""
        return {
            "schema_version": SCHEMA_VERSION,
            "example": {
                "id": self.example.id,
                "segments": list(self.example.segments),
                "label": None if self.label is None else self.labels[self.label],
                "marks": {
                    name: [[span.segment, span.start, span.end] for span in spans]
                    for name, spans in self.example.marks.items()
                },
            },
            "labels": list(self.labels),
            "designed": self.designed,
            "toward": self.labels[self.toward],
            "attribution": self.attribution,
            "models": [
                {
                    "name": reading.model,
                    "predicted": self.labels[reading.predicted],
                    "probabilities": dict(zip(self.labels, reading.probs, strict=True)),
                    "within_tolerance": reading.within_tolerance,
                    "words": [
                        {
                            "text": word.text,
                            "segment": word.segment,
                            "span": None if word.span is None else [word.span.start, word.span.end],
                            "score": _number(word.score),
                            "marks": list(word.marks),
                            "read": word.read,
                        }
                        for word in reading.words
                    ],
                    "factors": {name: _number(value) for name, value in reading.values.items()},
                    "undefined": dict(reading.undefined),
                }
                for reading in self.readings
            ],
            "factors": [
                {"name": factor.name, "explains": factor.explains, "higher_is_better": factor.higher_is_better}
                for factor in self.factors
            ],
            "left_out": dict(self.left_out),
            "failures": dict(self.failures),
        }

    @classmethod
    def from_dict(cls, content: Any) -> Explanation:
        """What `to_dict` made; factors come back with their declarations, not their functions.

        Raises:
            KeyError, ValueError: something is not there, or is not what it should be.
        """
        whole = records.table(content, "examples")
        labels = records.typed(whole["labels"], tuple[str, ...], "labels")
        given = records.table(whole["example"], "example")
        label = None if given["label"] is None else labels.index(given["label"])
        marks = {
            name: tuple(Span(*records.typed(span, tuple[int, ...], name)) for span in spans)
            for name, spans in records.table(given["marks"], "marks").items()
        }
        segments = records.typed(given["segments"], tuple[str, ...], "segments")
        return cls(
            example=Example(records.typed(given["id"], str, "id"), segments, label or 0, marks),
            labels=labels,
            label=label,
            toward=labels.index(whole["toward"]),
            attribution=records.typed(whole["attribution"], str, "attribution"),
            factors=tuple(_declared(records.table(factor, "factors")) for factor in whole["factors"]),
            readings=tuple(_reading(records.table(model, "models"), labels) for model in whole["models"]),
            left_out=records.typed(whole["left_out"], Mapping[str, str], "left_out"),
            failures=records.typed(whole["failures"], Mapping[str, str], "failures"),
            designed=records.typed(whole["designed"], str | None, "designed"),
        )


def _declared(given: Mapping[str, Any]) -> Factor:
    return records.record(Factor, {**given, "score": not_saved, "source": ""}, "factors")


def _reading(whole: Mapping[str, Any], labels: tuple[str, ...]) -> Reading:
    probabilities = records.typed(whole["probabilities"], Mapping[str, float], "probabilities")
    values = records.typed(whole["factors"], Mapping[str, float | None], "factors")
    return Reading(
        model=records.typed(whole["name"], str, "name"),
        probs=tuple(probabilities[label] for label in labels),
        words=tuple(_word(records.table(word, "words")) for word in whole["words"]),
        values={name: np.nan if value is None else value for name, value in values.items()},
        undefined=records.typed(whole["undefined"], Mapping[str, str], "undefined"),
        within_tolerance=records.typed(whole["within_tolerance"], bool, "within_tolerance"),
    )


def _word(given: Mapping[str, Any]) -> Word:
    segment, characters = given["segment"], records.typed(given["span"], tuple[int, ...] | None, "span")
    span = None if characters is None else Span(segment, *characters)
    score = np.nan if given["score"] is None else given["score"]
    return replace(records.record(Word, {**given, "span": None, "score": 0.0}, "words"), span=span, score=float(score))


def not_saved(attributions: object, example: object) -> float:
    """Stands in for a factor's function: a file holds its declaration and its scores, no code."""
    raise NotImplementedError("a saved ranking holds a factor's scores, not its function")


def explain(
    subjects: Sequence[Subject],
    example: Example,
    *,
    attribution: str = "shap",
    settings: Settings | None = None,
    factors: Sequence[Factor] = tuple(BUILTIN.values()),
    toward: int | None = None,
    labelled: bool = True,
    designed: str | None = None,
) -> Explanation:
    """Ask models what they make of one example, and where they see it.

    Args:
        subjects: the models, all of one task.
        example: the text.
        attribution: a backend's name, or "none" for predictions and baselines alone.
        settings: of that backend; its defaults where None.
        factors: what to measure.
        toward: the label that positive scores speak for; None takes the one that the heuristic predicts, where the
            task names none the last one, and where the scores speak for one alone that.
        labelled: the example's label is its true one; otherwise it is not looked at, and factors that need it have no
            value.
        designed: the factor that was designed for the example's set, if any.

    Raises:
        UsageError: an unknown backend, or a label that the backend's attributions cannot be turned toward.
        ModelError: no model could be run.
        StoreError: the store cannot be read or written.
    """
    task = subjects[0].task
    settings = settings_of(attribution, settings)
    only = settings.only_label(len(task.labels))
    if toward is None:
        toward = shown_label(task, only)
    elif only not in (None, toward):
        raise UsageError(
            f"`--toward` {task.labels[toward]}: the scores speak for {task.labels[only]} alone; see `target` of "
            f"`--attribution {attribution}`"
        )
    if attribution == "none":
        factors = [factor for factor in factors if factor.kind == "baseline"]
    kept, left_out = applicable(factors, [example], task, designed, only_label=only)
    reads = _designed(kept, designed)
    readings, failures = [], {}
    for subject in subjects:
        try:
            (row,) = subject.rows([example], attribution, settings)
        except ModelError as error:
            failures[subject.model.name] = str(error)
            continue
        values, undefined = measure(row, example, kept, task, labelled)
        read = read_by(reads, row, example, task) if labelled or (reads and about_one_label(reads, "declared")) else ()
        words = tuple(words_of(row.toward(toward), example, read))
        probs = tuple(row.probs.tolist())
        readings.append(Reading(subject.model.name, probs, words, values, undefined, settings.accepts(row)))
    if not readings:
        raise ModelError("; ".join(f"{name}: {reason}" for name, reason in failures.items()))
    label = example.label if labelled else None
    return Explanation(
        *(example, task.labels, label, toward, attribution, tuple(kept), tuple(readings), left_out, failures),
        designed=None if reads is None else designed,
    )


def shown_label(task: Task, only: int | None) -> int:
    """The label that scores are shown toward: the only one that they speak for, else the heuristic's, else the last."""
    if only is not None:
        return only
    return len(task.labels) - 1 if task.heuristic is None else task.heuristic


def telling(
    rows: Mapping[str, Sequence[Attributions]],
    examples: Sequence[Example],
    factors: Sequence[Factor],
    task: Task,
    settings: Settings,
    *,
    attribution: str,
    designed: str | None = None,
    target: Target = "declared",
    norm: Norm = "raw",
    count: int = TELLING,
) -> Iterator[Explanation]:
    """The examples that tell most about how models differ, as each of them reads them.

    Those that the most pairs of models predict differently; of equals, the first in the order of `examples`. Where the
    designed factor reads a mark, only examples that have it.

    Args:
        rows: model -> its (N,) attributions.
        examples: (N,) the population.
        factors: what was measured on it.
        task, settings, attribution: of the run.
        designed: the factor that was designed for the set, if any.
        target, norm: as in `ranker.score.score_model`.
        count: how many examples.
    """
    factor = _designed(factors, designed)
    predicted = np.array([[row.predicted for row in model] for model in rows.values()])  # (M, N)
    votes = np.stack([np.sum(predicted == label, axis=0) for label in range(len(task.labels))])  # (C, N)
    alike = np.sum(votes**2, axis=0)  # (N,) pairs of models of one mind
    mark = None if factor is None else factor.mark
    toward = shown_label(task, settings.only_label(len(task.labels)))
    usable = [n for n, example in enumerate(examples) if mark is None or mark in example.marks]
    for n in sorted(usable, key=lambda n: alike[n])[:count]:
        example, readings = examples[n], []
        for name, model in rows.items():
            row = model[n].normalised(norm)
            values, undefined = measure(row, example, factors, task, target=target)
            words = words_of(row.toward(toward), example, read_by(factor, row, example, task, target))
            readings.append(
                Reading(name, tuple(row.probs.tolist()), tuple(words), values, undefined, settings.accepts(model[n]))
            )
        about = (example, task.labels, example.label if example.label >= 0 else None, toward, attribution)
        yield Explanation(*about, tuple(factors), tuple(readings), {}, {}, None if factor is None else designed)


def _designed(factors: Sequence[Factor], name: str | None) -> Factor | None:
    return next((factor for factor in factors if factor.name == name), None)


def read_by(
    factor: Factor | None, row: Attributions, example: Example, task: Task, target: Target = "declared"
) -> tuple[int, ...]:
    """The tokens that a factor reads: those whose score, if it were quite another, would give it another value.

    Nothing has to be declared for it, so that it holds for a user's own factor, too.
    """
    if factor is None or not len(row.tokens):
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
    except Exception:  # a user's own factor may raise anything
        return ()


def _differ(a: float, b: float) -> bool:
    return a != b and not (np.isnan(a) and np.isnan(b))


def measure(
    row: Attributions,
    example: Example,
    factors: Sequence[Factor],
    task: Task,
    labelled: bool = True,
    target: Target = "declared",
) -> tuple[dict[str, float], dict[str, str]]:
    """Every factor's value on one row, nan where it is undefined, and why it is, where there is something to say.

    Where the true label is not known, a factor has a value if it is the same under every label.
    """
    labels = [example.label] if labelled else range(len(task.labels))
    runs = [score_model([row], [replace(example, label=label)], factors, task, target) for label in labels]
    table = np.stack([run.values[:, 0] for run in runs])  # (labels, F)
    settled = np.all((table == table[0]) | (np.isnan(table) & np.isnan(table[0])), axis=0)
    values, undefined = {}, {}
    for f, factor in enumerate(factors):
        values[factor.name] = float(table[0, f]) if settled[f] else float("nan")
        reasons = [reason for run in runs for reason in run.undefined.get(factor.name, ())]
        if not settled[f]:
            undefined[factor.name] = NEEDS_LABEL
        elif reasons and reasons[0] != "undefined":
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


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
