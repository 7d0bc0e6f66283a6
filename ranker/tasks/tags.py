"""Sequence tagging: a BIO tag for each token, judged by the spans that the tags mark."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Self

import numpy as np

from factors.types import Floats
from ranker.errors import Assumption, UnknownName, check_installed
from ranker.tasks.metrics import ItemF1, Metric, ValueMetric, micro_f1_of
from ranker.tasks.names import spelled
from ranker.tasks.values import ValueAnswers, ValueTask

Tagging = tuple[str, ...]
"""Tags of the tokens of one row."""

Entity = tuple[str, int, int]
"""Type of a span, its first token and its last, from 0."""

OUTSIDE, BEGIN, INSIDE = "O", "B", "I"

SPAN_F1, ROW_F1 = "span-f1", "row-f1"

STRICT = "strict"
"""Mode of `span-f1` in which no span begins with I."""

MODES = ("exact", "partial", "type")
"""Modes of SemEval-2013, task 9, that count spans which `span-f1` takes for wrong."""


class TagAnswers(ValueAnswers):
    """Tags of N rows: `values` has a tuple of tags for each row, or None. See `ValueAnswers`."""

    kind = "tags"


@dataclass(frozen=True)
class TagTask(ValueTask):
    """Sequence tagging, such as the recognition of entities; a `ranker.tasks.base.Task`.

    A row's text has a blank between two tokens. Targets and answers have a tag for each token: O, B-TYPE or I-TYPE
    (B and I alone for spans of a single type). They are read as lists, as JSON lists, or as texts with blanks between
    the tags.

    The outcome of a row is the F1 of its spans: 1 if neither target nor answer has a span. The metric of a set is
    `span-f1`, the F1 of the spans of all rows together. Both count a span as right if its type, its first and its last
    token are right. `span-f1:strict` takes no span that begins with I. `span-f1:exact`, `span-f1:partial` and
    `span-f1:type` also count spans that are right in part (`ModeF1`).

    Example:
        >>> from factors import Example
        >>> task = TagTask("entities")
        >>> row = Example("1", ("Ann saw New York",), task.target_of("B-PER O B-LOC I-LOC"))
        >>> answers = task.predictions([("B-PER", "O", "O", "B-LOC")])
        >>> task.outcomes(answers, [row]).tolist()
        [0.5]

    Attributes:
        span_types: those that models answer with, which people may mark.

    Source: Tjong Kim Sang, De Meulder 2003, "Introduction to the CoNLL-2003 shared task", section 2.4.
    """

    answers = TagAnswers.kind
    metrics = (SPAN_F1, *(f"{SPAN_F1}:{mode}" for mode in (STRICT, *MODES)), ROW_F1)
    outputs = ("the first predicted span (mean log-odds of its tags)",)

    span_types: tuple[str, ...] = field(default=(), compare=False)

    def fitted(self, cells: Iterable[Any], names: Iterable[str]) -> Self:
        """Return the task with the types of spans in answers. See `ValueTask.fitted`.

        Example:
            >>> TagTask("entities").fitted([("B-PER", "O"), ("O", "I-LOC")], ()).span_types
            ('LOC', 'PER')
        """
        tags = {tag for cell in cells if isinstance(cell, tuple) for tag in set(cell)}
        return replace(self, span_types=tuple(sorted({tag[2:] for tag in tags if tag != OUTSIDE})))

    def tokens(self, segments: Sequence[str]) -> tuple[str, ...]:
        """Return the tokens of a row. See `ValueTask.tokens`."""
        return tuple(segments[0].split(" "))

    @property
    def metric(self) -> str:
        """Name of the outcome in tables."""
        return ROW_F1.upper()

    @property
    def hint(self) -> str:
        """The form of tags. See `ValueTask.hint`."""
        return "A tag for each token (O, B-TYPE or I-TYPE), with blanks between"

    def answer_of(self, cell: Any, segments: Sequence[str] = ()) -> Tagging:
        """Return the tags in a cell. See `ranker.tasks.base.Task`."""
        tags = tuple(map(_interned, _tags_in(cell)))  # few tags are many: equal ones are one text
        if not all(map(is_tag, set(tags))):
            wrong = next(tag for tag in tags if not is_tag(tag))
            raise ValueError(f"a tag must be O, B-TYPE or I-TYPE (got {wrong[:50]!r})")
        tokens = segments[0].count(" ") + 1 if segments and segments[0] else len(tags)
        if tokens != len(tags):
            raise ValueError(f"each token needs a tag (got {len(tags)} tags for {tokens} tokens)")
        return tags

    def cell_of(self, target: Tagging) -> str:
        """Return the tags with blanks between, or as a JSON list. See `ranker.tasks.base.Task`."""
        cell = " ".join(target)
        return cell if tuple(cell.split()) == target else json.dumps(target, ensure_ascii=False)

    def outcome(self, answer: Any, target: Any) -> float:
        """Return the F1 of the spans of one row."""
        if answer == target:
            return 1.0
        predicted, true = entities(answer), entities(target)
        return 2 * len(predicted & true) / (len(predicted) + len(true)) if predicted or true else 1.0

    def metric_named(self, name: str) -> Metric | None:
        """Return a metric of all rows together; None for the mean F1 of a row. See `ranker.tasks.base.Task`."""
        name = name.casefold() or SPAN_F1
        if name == ROW_F1:
            return None
        _, _, mode = name.partition(":")
        if name not in self.metrics:
            raise UnknownName(f"metric of {self.name}", name, self.metrics)
        if mode in MODES:
            return ModeF1(name, mode)
        return ItemF1(name, partial(entities, strict=True) if mode == STRICT else entities)

    def show(self, answer: Any, segments: Sequence[str] = ()) -> str:
        """Return the tags; with the texts of the row, the spans by their types and words.

        Example:
            >>> TagTask("entities").show(("B-PER", "O", "B-LOC", "I-LOC"), ("Ann saw New York",))
            'PER Ann, LOC New York'
        """
        if not segments:
            return super().show(answer)
        words = segments[0].split(" ")
        spans = (f"{kind} {' '.join(words[first : last + 1])}".strip() for kind, first, last in _entities(answer))
        return ", ".join(spans) or "no span"

    def notes(self, values: Sequence[Tagging | None]) -> tuple[str, ...]:
        """Return a note that counts the spans that begin with I."""
        count = sum(broken_spans(tags) for tags in values if tags)
        return (Assumption(f"spans that begin with I, not B: {count:,}; `span-f1:strict` takes none"),) if count else ()


@lru_cache(maxsize=1 << 17)
def entities(tags: Tagging, strict: bool = False) -> frozenset[Entity]:
    """Return the spans of one row: B begins a span, and so does an I that follows nothing of its type.

    Args:
        strict: take spans that begin with B alone.

    Example:
        >>> sorted(entities(("B-LOC", "I-LOC", "I-PER", "O", "B", "I")))
        [('', 4, 5), ('LOC', 0, 1), ('PER', 2, 2)]
        >>> sorted(entities(("B-LOC", "I-LOC", "I-PER", "O", "B", "I"), strict=True))
        [('', 4, 5), ('LOC', 0, 1)]

    Source: as conlleval and, of `strict`, seqeval's IOB2 count.
    """
    return frozenset(span for span in _entities(tags) if not strict or tags[span[1]][:1] == BEGIN)


def _entities(tags: Sequence[str]) -> Iterator[Entity]:
    first = last = -1
    kind = ""
    for place, tag in enumerate(tags):
        if tag == OUTSIDE or tag[:1] not in (BEGIN, INSIDE):
            continue
        if first < 0 or place > last + 1 or tag[:1] == BEGIN or tag[2:] != kind:
            if first >= 0:
                yield kind, first, last
            first, kind = place, tag[2:]
        last = place
    if first >= 0:
        yield kind, first, last


def broken_spans(tags: Tagging) -> int:
    """Count the spans that begin with I.

    Example:
        >>> broken_spans(("I-LOC", "I-LOC", "B-PER", "I-PER", "I-LOC"))
        2
    """
    return sum(tags[first][:1] == INSIDE for _, first, _ in entities(tags))


@dataclass(frozen=True)
class ModeF1(ValueMetric):
    """F1 of the spans of all rows in a lenient mode; a `Metric`. Needs nervaluate.

    A span may be right in part: with another type (`exact`), with other ends (`type`), or by half where the ends differ
    and whatever the type (`partial`).

    Example:
        >>> metric = ModeF1("span-f1:exact", "exact")
        >>> rows = metric.statistics([("B-PER", "O")], [("B-LOC", "O")])
        >>> float(metric.value(rows.mean(axis=0)))
        1.0

    Source: Segura-Bedmar, Martinez, Herrero-Zazo 2013, "SemEval-2013 task 9", section 4.
    """

    name: str
    mode: str

    def statistics(self, answers: Sequence[Any], targets: Sequence[Any]) -> Floats:
        """Return (N, 3) right spans, answered spans and spans of the target."""
        evaluate, entity = _nervaluate(self.mode)
        rows = np.zeros((len(targets), 3))
        for row, (answer, target) in enumerate(zip(answers, targets, strict=True)):
            true, predicted = ([entity(*span) for span in sorted(_entities(tags or ()), key=lambda span: span[1:])]
                               for tags in (target, answer))  # fmt: skip
            counts, _ = evaluate(true, predicted, sorted({span.label for span in (*true, *predicted)}))
            rows[row] = counts.correct + counts.partial / 2, counts.actual, counts.possible
        return rows

    def value(self, means: Floats) -> Floats:
        """Return (...) F1 of (..., 3) means; 0 where there are no spans. See `micro_f1_of`."""
        return micro_f1_of(means)


def _nervaluate(mode: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the function of a mode, and the class of its spans."""
    check_installed(f"`metric` {SPAN_F1}:{mode}", "tags", option="metric", value=f"{SPAN_F1}:{mode}")
    from nervaluate.entities import Entity as NervaluateEntity
    from nervaluate.strategies import EntityTypeEvaluation, ExactEvaluation, PartialEvaluation

    strategy = {"exact": ExactEvaluation, "partial": PartialEvaluation, "type": EntityTypeEvaluation}[mode]
    return strategy().evaluate, NervaluateEntity


def _tags_in(cell: Any) -> list[str]:
    """Return the parts of a cell; a ValueError says that it holds something else."""
    if isinstance(cell, str) and not cell.lstrip().startswith("["):
        return cell.split()
    parts = json.loads(cell) if isinstance(cell, str) else cell
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"tags must be a list of texts (got {str(cell)[:50]!r})")
    return list(parts)


def has_tags(text: Any, cell: Any) -> bool:
    """Return True if a cell holds a tag for each token of a text.

    Example:
        >>> has_tags("Ann ran", "B-PER O"), has_tags(["Ann", "ran"], ["B-PER", "O"]), has_tags("Ann ran", "sports")
        (True, True, False)
    """
    try:
        tags = _tags_in(cell)
    except ValueError:
        return False
    tokens = text if isinstance(text, list) else str(text).split(" ")
    return len(tags) == len(tokens) and all(map(is_tag, tags))


@lru_cache(maxsize=1 << 10)
def _interned(tag: str) -> str:
    return sys.intern(spelled(tag))


@lru_cache(maxsize=1 << 10)
def is_tag(tag: str) -> bool:
    """Return True for O, B-TYPE and I-TYPE, and for B and I alone."""
    return tag in (OUTSIDE, BEGIN, INSIDE) or (tag[:2] in ("B-", "I-") and len(tag) > 2)
