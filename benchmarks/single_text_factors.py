"""Four factors for single texts, declared in docs/results/single-texts.md before any of them was measured."""

from __future__ import annotations

import numpy as np

from factors import Attributions, Example, factor
from factors.compose import scores
from factors.types import Bools

LIST = (
    "a an the this that these those some any each every all both another such "
    "i you he she it we they me him her us them my your his its our their myself yourself itself "
    "what which who whom whose how why where when there here "
    "am is are was were be been being has have had do does did can could will would shall should may might must "
    "to at through around by up down with about from of out over into on in off for after before between under as "
    "and or but if unless whether because although though while until since than then so too also just"
)
STOP = frozenset(LIST.split())
"""Closed classes of English words. Negations are left out: they carry a label."""


def _stops(example: Example) -> Bools:
    """(W,) the stop words and punctuation marks."""
    words = [example.text(word).casefold() for word in example.words]
    return np.array([word in STOP or not word[0].isalnum() for word in words], dtype=bool)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


@factor("STOP-SHARE", higher_is_better=False, explains="predicted")
def stop_share(attributions: Attributions, example: Example) -> float:
    """Sum of |a(w)| over stop words and punctuation, divided by that over all words."""
    everything = np.ones(len(example.words), dtype=bool)
    parts = (np.nansum(abs(scores(attributions, chosen))) for chosen in (_stops(example), everything))
    return _share(*map(float, parts))


@factor("CONCENTRATION", higher_is_better=True, explains="predicted")
def concentration(attributions: Attributions, example: Example) -> float:
    """Sum of p(w)^2, with p(w) = |a(w)| divided by its sum over all words."""
    sizes = abs(attributions.word_scores)
    return _share(float(np.nansum(sizes**2)), float(np.nansum(sizes)) ** 2)


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
    content = scores(attributions, ~_stops(example))
    return _share(float(np.nansum(content)), float(np.nansum(abs(attributions.word_scores))))
