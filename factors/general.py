"""Factors for any pair of texts: how differently a model treats the two segments (Singhal et al. 2022, section 6.1).

All but FIRST-TOK read words, whose score is the sum of their tokens' scores, so that tokenizers can be compared.
A factor is undefined where a segment has no word that the model saw.
"""

from __future__ import annotations

import numpy as np

from factors.compose import highest, in_segment, mean, scores, shared, shared_words, total
from factors.registry import factor
from factors.types import SPECIAL, Attributions, Example

PAPER = "Singhal et al. 2022, section 6.1"


@factor("MAX-DIFF", higher_is_better=False, explains="shortcut", pair=True, source=PAPER)
def max_diff(attributions: Attributions, example: Example) -> float:
    """max(a1) - max(a2): the largest word attribution in segment 1 minus that in segment 2."""
    first, second = (scores(attributions, in_segment(example, s)) for s in (0, 1))
    return highest(first) - highest(second)


@factor("SUM-DIFF", higher_is_better=False, explains="shortcut", pair=True, source=PAPER)
def sum_diff(attributions: Attributions, example: Example) -> float:
    """sum(a1) - sum(a2): the attribution of segment 1 minus that of segment 2."""
    first, second = (scores(attributions, in_segment(example, s)) for s in (0, 1))
    return total(first) - total(second)


@factor("INDEX-DIFF", higher_is_better=False, explains="shortcut", pair=True, source=PAPER)
def index_diff(attributions: Attributions, example: Example) -> float:
    """The mean over shared words w of (a1(w) - a2(w)): attribution in segment 1 minus attribution in segment 2.

    A word is shared if both segments hold it, whatever its case; punctuation does not count. Where a word occurs more
    than once in a segment, a(w) is the mean over its occurrences. Undefined where nothing is shared.
    """
    first, second = in_segment(example, 0), in_segment(example, 1)
    differences = [
        mean(scores(attributions, same & first)) - mean(scores(attributions, same & second))
        for same in shared_words(example).values()
    ]
    return mean(np.array(differences))


@factor("FIRST-TOK", higher_is_better=False, explains="shortcut", pair=True, source=PAPER)
def first_tok(attributions: Attributions, example: Example) -> float:
    """The attribution of the first separator: the first special token behind a token of segment 1.

    Undefined where the model's input has no separator there.
    """
    text_seen = np.cumsum(attributions.segment == 0) > 0
    separators = np.flatnonzero(text_seen & (attributions.segment == SPECIAL))
    return float(attributions.scores[separators[0]]) if len(separators) else float("nan")


@factor("SHARED-AVG", higher_is_better=False, explains="shortcut", pair=True, source="ours")
def shared_avg(attributions: Attributions, example: Example) -> float:
    """The mean attribution of the shared words, every occurrence in either segment: what overlap alone speaks for.

    A word is shared as in INDEX-DIFF. Undefined where nothing is shared.
    """
    return mean(scores(attributions, shared(example)))


@factor("ABS-SUM-DIFF", higher_is_better=True, explains="predicted", pair=True, source="ours")
def abs_sum_diff(attributions: Attributions, example: Example) -> float:
    """(sum|a1| - sum|a2|) / (sum|a1| + sum|a2|): how much more of all attribution, of either sign, segment 1 has.

    It lies in [-1, 1], and neither the unit of the scores nor, in a binary task, the label changes it. Undefined where
    all scores are 0.
    """
    first, second = (total(abs(scores(attributions, in_segment(example, s)))) for s in (0, 1))
    return (first - second) / (first + second) if first + second else float("nan")
