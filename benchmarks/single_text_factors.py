"""Those of the factors declared in docs/results/single-texts.md that are not in the product."""

from __future__ import annotations

import numpy as np

from factors import Attributions, Example, factor
from factors.compose import scores
from factors.single import stop_words


def _share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


@factor("HALVES", higher_is_better=True, explains="predicted")
def halves(attributions: Attributions, example: Example) -> float:
    """(sum a / sum |a|) of the first half of the words, times the same of the second; of an odd number the second has
    one more."""
    seen = attributions.word_scores
    shares = [
        _share(float(np.nansum(part)), float(np.nansum(abs(part))))
        for part in (seen[: len(seen) // 2], seen[len(seen) // 2 :])
    ]
    return shares[0] * shares[1]


@factor("CONTENT-TRUE", higher_is_better=True, explains="true")
def content_true(attributions: Attributions, example: Example) -> float:
    """Sum of a(w) toward the true label over all words but stop words and punctuation, divided by the sum of |a(w)|
    over all words."""
    content = scores(attributions, ~stop_words(example))
    return _share(float(np.nansum(content)), float(np.nansum(abs(attributions.word_scores))))
