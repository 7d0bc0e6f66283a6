"""Factors for any pair of texts: how differently a model treats the two segments (Singhal et al. 2022, section 6.1).

All but FIRST-TOK read words, whose score is the sum of their tokens' scores, so that tokenizers can be compared.
"""

from __future__ import annotations

import numpy as np

from factors.registry import factor
from factors.types import SPECIAL, Attributions, Example, Floats

PAPER = "Singhal et al. 2022, section 6.1"


def segment_scores(attributions: Attributions, example: Example, segment: int) -> Floats:
    """The scores of one segment's words that the model saw, in reading order."""
    scores = attributions.word_scores
    inside = np.array([word.segment == segment for word in example.words[: len(scores)]], dtype=bool)
    return scores[inside & ~np.isnan(scores)]


@factor("MAX-DIFF", higher_is_better=False, explains="heuristic", pair=True, source=PAPER)
def max_diff(attributions: Attributions, example: Example) -> float:
    """max(a1) - max(a2): the largest word attribution in segment 1 minus that in segment 2.

    Undefined where a segment has no word that the model saw.
    """
    first, second = (segment_scores(attributions, example, s) for s in (0, 1))
    return float(first.max() - second.max()) if len(first) and len(second) else float("nan")


@factor("SUM-DIFF", higher_is_better=False, explains="heuristic", pair=True, source=PAPER)
def sum_diff(attributions: Attributions, example: Example) -> float:
    """sum(a1) - sum(a2): the attribution of segment 1 minus that of segment 2."""
    return float(segment_scores(attributions, example, 0).sum() - segment_scores(attributions, example, 1).sum())


@factor("INDEX-DIFF", higher_is_better=False, explains="heuristic", pair=True, source=PAPER)
def index_diff(attributions: Attributions, example: Example) -> float:
    """The mean over shared words w of (a1(w) - a2(w)): attribution in segment 1 minus attribution in segment 2.

    A word is shared if both segments hold it, whatever its case; punctuation does not count. Where a word occurs more
    than once in a segment, a(w) is the mean over its occurrences. Undefined where nothing is shared.
    """
    scores = attributions.word_scores
    occurrences: tuple[dict[str, list[float]], dict[str, list[float]]] = ({}, {})
    for word, score in zip(example.words, scores, strict=False):  # words past the model's limit have no score
        text = example.text(word).casefold()
        if text[0].isalnum() and not np.isnan(score):
            occurrences[word.segment].setdefault(text, []).append(float(score))
    first, second = occurrences
    shared = [np.mean(first[text]) - np.mean(second[text]) for text in first if text in second]
    return float(np.mean(shared)) if shared else float("nan")


@factor("FIRST-TOK", higher_is_better=False, explains="heuristic", pair=True, source=PAPER)
def first_tok(attributions: Attributions, example: Example) -> float:
    """The attribution of the first separator: the first special token behind a token of segment 1.

    Undefined where the model's input has no separator there.
    """
    text_seen = np.cumsum(attributions.segment == 0) > 0
    separators = np.flatnonzero(text_seen & (attributions.segment == SPECIAL))
    return float(attributions.scores[separators[0]]) if len(separators) else float("nan")
