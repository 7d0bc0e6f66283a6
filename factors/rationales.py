"""Factors that compare a model's top words with the words that people named as their reason.

A row has a mark for each annotator, "rationale", "rationale-2" and so on; a value is the mean over those who named a
word. A model's words are ordered by their scores toward the true label, of equals the earlier first. Words that it did
not see come last, and are never top words. Each factor is undefined where all scores are 0, and where nobody named a
word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from factors.compose import marked, mean
from factors.registry import factor
from factors.rounding import level
from factors.types import Attributions, Bools, Example, Floats

RATIONALE = "rationale"
"""Mark of the first annotator's words."""

SHARE = 0.2
"""Share of a text's words that are a model's top words."""

MATCH = 0.5
"""Overlap from which on two spans are the same: shared words as a fraction of the words in either."""

GLUE_X = "GLUE-X (Yang et al. 2023), section 3.4 and appendix D"
ERASER = "ERASER (DeYoung et al. 2020), section 5"

Words = tuple[int, ...]


def mark_of(annotator: int) -> str:
    """Return the mark of an annotator, counted from 0.

    Example:
        >>> mark_of(0), mark_of(1)
        ('rationale', 'rationale-2')
    """
    return f"{RATIONALE}-{annotator + 1}" if annotator else RATIONALE


@factor("RATIONALE-P", higher_is_better=True, explains="true", mark=RATIONALE, on_request=True, source=GLUE_X)
def rationale_precision(attributions: Attributions, example: Example) -> float:
    """The share of the model's top words that people named: |top & named| / |top|."""
    return _over_annotators(attributions, example, lambda top, human: (top & human).sum() / top.sum())


@factor("RATIONALE-R", higher_is_better=True, explains="true", mark=RATIONALE, on_request=True, source=GLUE_X)
def rationale_recall(attributions: Attributions, example: Example) -> float:
    """The share of the words that people named among the model's top words: |top & named| / |named|."""
    return _over_annotators(attributions, example, lambda top, human: (top & human).sum() / human.sum())


@factor("RATIONALE-F1", higher_is_better=True, explains="true", mark=RATIONALE, on_request=True, source=GLUE_X)
def rationale_f1(attributions: Attributions, example: Example) -> float:
    """The harmonic mean of precision and recall: 2 |top & named| / (|top| + |named|)."""
    return _over_annotators(attributions, example, _f1)


@factor("RATIONALE-TOKEN-F1", higher_is_better=True, explains="true", mark=RATIONALE, on_request=True, source=ERASER)
def token_f1(attributions: Attributions, example: Example) -> float:
    """The same F1 with as many top words as the annotator named, so that it is also precision and recall."""
    values = _word_scores(attributions, example)
    return mean(np.array([_f1(_highest(values, human.sum()), human) for human, _ in _annotations(values, example)]))


@factor("RATIONALE-IOU-F1", higher_is_better=True, explains="true", mark=RATIONALE, on_request=True, source=ERASER)
def iou_f1(attributions: Attributions, example: Example) -> float:
    """The F1 of spans: those of as many top words as the annotator named, and the annotator's.

    A model's span is a run of neighbouring top words. Two spans match if they share at least half of the words that
    either has. Precision is the share of the model's spans with a match, recall the share of the annotator's.
    """
    values = _word_scores(attributions, example)
    pairs = [(_runs(_highest(values, human.sum()), example), spans) for human, spans in _annotations(values, example)]
    return mean(np.array([_span_f1(*pair) for pair in pairs]))


@factor("RATIONALE-AUPRC", higher_is_better=True, explains="true", mark=RATIONALE, on_request=True, source=ERASER)
def auprc(attributions: Attributions, example: Example) -> float:
    """The area below precision as a function of recall, over all numbers of top words, by the trapezoidal rule."""
    values = _word_scores(attributions, example)
    return mean(np.array([_area(values, human) for human, _ in _annotations(values, example)]))


@factor("COMPREHENSIVENESS", higher_is_better=True, explains="predicted", on_request=True, erases=True, source=ERASER)
def comprehensiveness(attributions: Attributions, example: Example) -> float:
    """p(x) - p(x without the top words) of the predicted label: how far the prediction needs these words.

    The top words are those of the predicted label.
    """
    return _drop(attributions, 0)


@factor("SUFFICIENCY", higher_is_better=False, explains="predicted", on_request=True, erases=True, source=ERASER)
def sufficiency(attributions: Attributions, example: Example) -> float:
    """p(x) - p(the top words alone) of the predicted label: how far these words fall short of the prediction.

    The top words are those of the predicted label.
    """
    return _drop(attributions, 1)


def erasures(attributions: Attributions, example: Example) -> tuple[Example, Example]:
    """Return an example without the top words of the predicted label, and with these words alone.

    Example:
        >>> from factors.check import words_as_tokens
        >>> example = Example("a", ("It was a really good film.",), 1)
        >>> without, alone = erasures(words_as_tokens(example, [0, 0, 0, 2, 3, 0, 0]), example)
        >>> without.segments, alone.segments
        (('It was a film.',), ('really good',))
    """
    top = top_words(attributions.toward(attributions.predicted), example)
    return _only(example, ~top), _only(example, top)


def _only(example: Example, chosen: Bools) -> Example:
    """Return an example without its other words, and without the blanks and signs that these leave."""
    letters = [list(text) for text in example.segments]
    for word, stays in zip(example.words, chosen.tolist(), strict=True):
        if not stays:
            letters[word.segment][word.start : word.end] = [""] * (word.end - word.start)
    return Example(example.id, tuple(" ".join("".join(text).split()) for text in letters))


def _drop(attributions: Attributions, erasure: int) -> float:
    """Return the loss of probability of the label by an erasure; nan where the model was not asked."""
    if not len(attributions.erased):
        return float("nan")
    return float(attributions.probs[attributions.target] - attributions.erased[erasure, attributions.target])


def top_words(attributions: Attributions, example: Example) -> Bools:
    """Return (W,) the model's top words: a fifth of all words, rounded up.

    Example:
        >>> from factors.check import words_as_tokens
        >>> example = Example("a", ("It was not a good film",), 1)
        >>> top_words(words_as_tokens(example, [0.0, 0.1, -2.0, 0.0, 3.0, 0.5]), example).tolist()
        [False, False, False, False, True, True]
    """
    return _highest(_word_scores(attributions, example), math.ceil(SHARE * len(example.words)))


def _over_annotators(attributions: Attributions, example: Example, measure: Callable[[Bools, Bools], float]) -> float:
    """Return the mean of a measure of the top words and the words that each annotator named."""
    top = top_words(attributions, example)
    annotations = _annotations(_word_scores(attributions, example), example)
    return mean(np.array([measure(top, human) for human, _ in annotations]))


def _annotations(values: Floats, example: Example) -> Iterator[tuple[Bools, list[Words]]]:
    """Yield each annotator's words, (W,), and spans as words; nothing where no word has a score but 0."""
    for mark in example.marks if np.nan_to_num(values).any() else ():
        if mark == RATIONALE or mark.startswith(f"{RATIONALE}-"):
            human = marked(example, mark)
            touched = [np.flatnonzero([word.overlaps(span) for word in example.words]) for span in example.marks[mark]]
            if human.any():
                yield human, [tuple(words.tolist()) for words in touched if len(words)]


def _word_scores(attributions: Attributions, example: Example) -> Floats:
    """Return (W,) scores of all words; nan for one that the model did not see."""
    values = np.full(len(example.words), np.nan)
    values[: len(attributions.word_scores)] = attributions.word_scores
    return level(values, np.nanmax(np.abs(values), initial=0.0))


def _highest(values: Floats, count: int) -> Bools:
    """Return (W,) the words of the highest values, as far as they have some."""
    chosen = np.zeros(len(values), dtype=bool)
    chosen[np.argsort(-values, kind="stable")[:count]] = True
    return np.asarray(chosen & ~np.isnan(values))


def _f1(top: Bools, human: Bools) -> float:
    return float(2 * (top & human).sum() / (top.sum() + human.sum()))


def _runs(chosen: Bools, example: Example) -> list[Words]:
    """Return the runs of neighbouring words, in one segment each."""
    runs: list[Words] = []
    for w in np.flatnonzero(chosen).tolist():
        joins = runs and runs[-1][-1] == w - 1 and example.words[w].segment == example.words[w - 1].segment
        runs[-1:] = [(*runs[-1], w)] if joins else [*runs[-1:], (w,)]
    return runs


def _span_f1(predicted: list[Words], reference: list[Words]) -> float:
    """Return the F1 of spans that match."""
    match = np.array([[len({*a} & {*b}) >= MATCH * len({*a} | {*b}) for b in reference] for a in predicted])
    precision, recall = match.any(axis=1).mean(), match.any(axis=0).mean()
    return float(2 * precision * recall / (precision + recall)) if match.any() else 0.0


def _area(values: Floats, human: Bools) -> float:
    """Return the area below the curve of precision and recall, from no word, precision 1, to all."""
    filled = np.where(np.isnan(values), np.nanmin(values) - 1, values)
    order = np.argsort(-filled, kind="stable")
    last_of_equals = np.flatnonzero(np.append(np.diff(filled[order]) != 0, True))
    hits = np.cumsum(human[order])[last_of_equals]
    precision, recall = np.append(1, hits / (last_of_equals + 1)), np.append(0, hits / human.sum())
    return float(((precision[1:] + precision[:-1]) / 2 * np.diff(recall)).sum())
