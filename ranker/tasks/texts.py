"""Generated text and extractive question answering: texts, judged by one reference or several."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from factors.types import Floats
from ranker.errors import Assumption, UnknownName, UsageError
from ranker.tasks.base import Predictions
from ranker.tasks.metrics import MatchedStatistics, Metric
from ranker.tasks.text_scores import (
    BLEU,
    EMBEDDED,
    FEW_LOST,
    LETTER,
    MATCHED_BLEU,
    MOST_LOST,
    OWN,
    READINGS,
    SCORES,
    SECONDS_A_PAIR,
    SECONDS_A_TEXT,
    BagScore,
    CorpusBleu,
    EmbeddingScore,
    Score,
    checked,
    normalise,
)
from ranker.tasks.values import ValueAnswers, ValueTask

References = tuple[str, ...]
"""Correct texts of one row; none where the right answer is that there is no answer."""

BLOCK = 256
"""Rows whose texts are embedded together."""


class TextAnswers(ValueAnswers):
    """Texts of N rows: `values` has a text for each row, or None. See `ValueAnswers`."""

    kind = "texts"


@dataclass(frozen=True)
class TextTask(ValueTask):
    """Generation of text: summaries, translations, descriptions; a `ranker.tasks.base.Task`.

    The outcome of a row is the score of its text against the reference that it is nearest to; it is 0 for an empty
    text. `SCORES` lists the scores. `bleu` alone is a metric of all rows together.

    Attributes:
        score: name of the outcome; or a function of one's own, (answer, reference) -> score in [0, 1].

    Example:
        >>> from factors import Example
        >>> task = TextTask("summaries").judged_by("rouge-l")
        >>> row = Example("1", ("A long story.",), ("The dog sat.", "A dog was sitting."))
        >>> task.outcomes(task.predictions(["The dog sat there."]), [row]).round(3).tolist()
        [0.857]
    """

    answers = TextAnswers.kind
    metrics: ClassVar[tuple[str, ...]] = (*SCORES, BLEU)

    score: str | Score = "rouge-l"

    @property
    def metric(self) -> str:
        """Name of the outcome in tables."""
        return (self.score if isinstance(self.score, str) else self.score.__name__).upper()

    def judged_by(self, name: str) -> Self:
        """Return the task with another outcome. See `ranker.tasks.base.Task`."""
        name = name.casefold()
        return replace(self, score=name) if name in self.metrics and name != BLEU else self

    def metric_named(self, name: str) -> Metric | None:
        """Return the metric of all rows together; None for the mean of an outcome. See `ranker.tasks.base.Task`."""
        name = name.casefold()
        if name == BLEU and BLEU in self.metrics:
            return CorpusBleu()
        if name not in ("", *self.metrics):
            raise UnknownName(f"metric of {self.name}", name, self.metrics)
        return None

    def answer_of(self, cell: Any, segments: Sequence[str] = ()) -> str:
        """Return the text in a cell; a list of one text is that text. See `ranker.tasks.base.Task`."""
        if isinstance(cell, list) and len(cell) == 1:
            cell = cell[0]
        if isinstance(cell, (list, dict)):
            raise ValueError(f"an answer must be one text (got {str(cell)[:50]!r})")
        return str(cell)

    def target_of(self, cell: Any, segments: Sequence[str] = ()) -> References:
        """Return the references in a cell: a text, a list of texts, or SQuAD's ``{"text": [...]}``."""
        if isinstance(cell, str):
            cell = _parsed(cell)
        if isinstance(cell, dict) and "text" in cell:
            cell = cell["text"]
        texts = cell if isinstance(cell, list) else [cell]
        texts = [text["text"] if isinstance(text, dict) and "text" in text else text for text in texts]
        if not all(isinstance(text, (str, int, float)) for text in texts):
            raise ValueError(f"a reference must be a text, or a list of texts (got {str(cell)[:50]!r})")
        references = tuple(dict.fromkeys(text for text in map(str, texts) if text.strip()))
        if not references:
            raise ValueError("a row needs a reference")
        return references

    @property
    def hint(self) -> str:
        """A text. See `ValueTask.hint`."""
        return "A correct text"

    def cell_of(self, target: References) -> str:
        """Return a text as it is, where `target_of` so reads it, else a JSON list. See `ranker.tasks.base.Task`."""
        if len(target) == 1 and _parsed(target[0]) == target[0]:
            return target[0]
        return json.dumps(target, ensure_ascii=False)

    def as_target(self, answer: str | None) -> References | None:
        """Return an answer as the only reference; None for no answer, or an empty one."""
        return (answer,) if answer is not None and answer.strip() else None

    def show(self, answer: Any, segments: Sequence[str] = ()) -> str:
        """Return a text; several references with bars between them."""
        return " | ".join(answer) if isinstance(answer, tuple) else str(answer)

    def outcome(self, answer: str, target: References) -> float:
        """Return the score of a text against the nearest reference."""
        score = SCORES[self.score] if isinstance(self.score, str) else partial(checked, self.score)
        return max(score(answer, reference) for reference in target) if answer.strip() else 0.0

    def seconds_to_compare(self, models: int, anchors: int) -> float:
        """Return about how long a row takes. See `ValueTask.seconds_to_compare`, and docs/results/anchors.md."""
        if isinstance(self.score, EmbeddingScore):
            return models * SECONDS_A_TEXT + models * anchors * SECONDS_A_PAIR[EMBEDDED]
        return models * anchors * SECONDS_A_PAIR.get(str(self.score), SECONDS_A_PAIR[OWN])

    def matched(self, metric: Metric) -> MatchedStatistics | None:
        """Return that of BLEU. See `ValueTask.matched`."""
        return MATCHED_BLEU if metric.name == BLEU else None

    def likeness(self, answers: Sequence[Predictions], anchors: Sequence[Predictions]) -> Floats:
        """Return (M, A, N) likeness; counted parts are compared for all answers to a row at once. See `ValueTask`."""
        score = SCORES.get(self.score) if isinstance(self.score, str) else None
        if not isinstance(score, BagScore):
            return super().likeness(answers, anchors)
        alike = np.zeros((len(answers), len(anchors), len(answers[0])))
        for row, (texts, references) in enumerate(zip(_by_rows(answers), _by_rows(anchors), strict=True)):
            if texts and references:
                pairs = score.compare([*texts.values()], [*references.values()])
                alike[np.ix_([*texts], [*references], [row])] = pairs[..., None]
        return alike

    def reading_notes(self, targets: Sequence[Any], metric: str = "") -> tuple[str, ...]:
        """Return a note on the letters that a metric loses. See `ValueTask.reading_notes`.

        Example:
            >>> TextTask("news").reading_notes([("Lit caf\u00e9, \u043a\u043e\u0442",)])
            ("rouge-l reads the letters a to z and digits alone: 40 % of the references' letters are others, ...",)
        """
        name = (metric or (self.score if isinstance(self.score, str) else "")).casefold()
        reading = READINGS.get(name)
        texts = {text for target in targets if target for text in target}
        letters = ["".join(LETTER.findall(text)) for text in texts]
        total = sum(map(len, letters))
        if reading is None or not total:
            return ()
        lost = [len(reading.lost.findall(of_text)) for of_text in letters]
        most = sum(number > MOST_LOST * len(of_text) for number, of_text in zip(lost, letters, strict=True))
        if sum(lost) <= FEW_LOST * total and not most:
            return ()
        advice = "`metric=exact-match` compares them whole" if "chrf" not in self.metrics else "`metric=chrf` reads any"
        share = f"{100 * sum(lost) / total:.0f} % of the references' letters are {reading.kind}"
        text = f"{name} {reading.rule}: {share}, and most of them in {most:,} of {len(texts):,} texts; {advice}"
        if reading.drops and (sum(lost) > MOST_LOST * total or most > MOST_LOST * len(texts)):
            raise UsageError(text, option="metric", value=name)
        return (Assumption(text),)

    def judge(self, answers: Sequence[Any], targets: Sequence[Any]) -> Floats:
        """Return (N,) outcomes. See `ValueTask.judge`."""
        if not isinstance(self.score, EmbeddingScore):
            return super().judge(answers, targets)
        outcomes = []
        for start in range(0, len(answers), BLOCK):
            block = answers[start : start + BLOCK], targets[start : start + BLOCK]
            pairs = [(answer, target) for answer, target in zip(*block, strict=True) if answer and target]
            self.score.embed([text for answer, target in pairs for text in (answer, *target)])
            outcomes.append(super().judge(*block))
        return np.concatenate([np.zeros(0), *outcomes])


def _by_rows(answers: Sequence[Predictions]) -> Iterator[dict[int, str]]:
    """Yield the texts of each row that are not blank, by the places of their models."""
    for row in zip(*(of_model.answers() or () for of_model in answers), strict=True):
        yield {place: text for place, text in enumerate(row) if text is not None and text.strip()}


def _parsed(cell: str) -> Any:
    """Return the JSON list or object in a cell; a text that is none, though it may begin with a bracket, as it is."""
    if cell.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError, RecursionError):
            return json.loads(cell)
    return cell


@dataclass(frozen=True)
class SpanTask(TextTask):
    """Extractive question answering; a `ranker.tasks.base.Task`.

    Answers are texts from the passage. The outcome is the token F1, or the exact match, against the nearest reference,
    after SQuAD's normalisation (`normalise`). A row without a reference has no answer in its passage: an empty answer
    is right there, and any other one is wrong.

    Example:
        >>> from factors import Example
        >>> task = SpanTask("questions")
        >>> rows = [Example("1", ("Who ran?", "A dog ran."), ("a dog",)), Example("2", ("Who sat?", "A dog ran."), ())]
        >>> task.outcomes(task.predictions(["dog", None]), rows).tolist()
        [1.0, 1.0]

    Source: Rajpurkar, Jia, Liang 2018, "Know what you don't know: unanswerable questions for SQuAD".
    """

    metrics = ("token-f1", "exact-match")
    quotes = True
    outputs = ("the predicted span (log-probability)",)

    score: str | Score = "token-f1"

    @property
    def hint(self) -> str:
        """A part of the passage. See `ValueTask.hint`."""
        return "A part of the passage, as it stands there; [] if it has no answer"

    def target_of(self, cell: Any, segments: Sequence[str] = ()) -> References:
        """Return the references in a cell; () for an empty list, where the passage has no answer."""
        texts = cell.get("text") if isinstance(cell, dict) else cell
        if texts == [] or texts == "[]":
            return ()
        references = super().target_of(cell)
        if strange := [text for text in references if segments and not any(text in part for part in segments)]:
            raise ValueError(f"an answer must be a part of its passage (got {strange[0][:50]!r})")
        return references

    def outcome(self, answer: str, target: References) -> float:
        """Return the score of an answer against the nearest reference; without references only "" is right.

        References of articles and punctuation alone do not count.
        """
        references = tuple(filter(normalise, target))
        return super().outcome(answer, references) if references else float(not normalise(answer))

    def show(self, answer: Any, segments: Sequence[str] = ()) -> str:
        """Return a text, or several; with the texts of the row, words for an empty one."""
        return super().show(answer) or ("no answer" if segments else "")

    def outcome_of_none(self, target: References) -> float:
        """Return 1 where there is no answer."""
        return float(not any(map(normalise, target)))

    def likeness(self, answers: Sequence[Predictions], anchors: Sequence[Predictions]) -> Floats:
        """Return (M, A, N) likeness, pair by pair, since empty answers may be right. See `ValueTask.likeness`."""
        return ValueTask.likeness(self, answers, anchors)

    def as_target(self, answer: str | None) -> References:
        """Return an answer as the only reference; () for none, which says that there is no answer."""
        return (answer,) if answer is not None and normalise(answer) else ()
