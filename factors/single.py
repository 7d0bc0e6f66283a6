"""Factors for single texts of any task: the place of a model's evidence in a text, and its concentration.

They read words, whose score is the sum of their tokens' scores, and are shares of all attribution, so they have no
unit. Each is undefined where all scores are 0.

Names, formulas and directions were declared before anything was measured: docs/results/single-texts.md.
"""

from __future__ import annotations

import numpy as np

from factors.compose import total
from factors.registry import factor
from factors.types import Attributions, Bools, Example, Floats

_CLOSED = (
    "a an the this that these those some any each every all both another such "
    "i you he she it we they me him her us them my your his its our their myself yourself itself "
    "what which who whom whose how why where when there here "
    "am is are was were be been being has have had do does did can could will would shall should may might must "
    "to at through around by up down with about from of out over into on in off for after before between under as "
    "and or but if unless whether because although though while until since than then so too also just"
)
STOP_WORDS = frozenset(_CLOSED.split())
"""Closed classes of English words, in lower case. Negations are left out, since they carry a label."""


@factor("STOP-SHARE", higher_is_better=False, explains="predicted", single=True, source="ours")
def stop_share(attributions: Attributions, example: Example) -> float:
    """The share of stop words and punctuation in all attribution: how much of it is on words that say little.

    sum |a(w)| over these words / sum |a(w)| over all words. It lies in [0, 1], and is 0 for a text without such
    words. Undefined where all scores are 0.
    """
    return _over(abs(_shares(attributions)), stop_words(example))


@factor("CONCENTRATION", higher_is_better=True, explains="predicted", single=True, source="ours")
def concentration(attributions: Attributions, example: Example) -> float:
    """The sum of p(w)^2 over all words, p(w) = |a(w)| / sum |a|: on how few words a prediction rests.

    It is 1 where one word has all, and 1 / W where W words have the same. Undefined where all scores are 0.
    """
    return total(_shares(attributions) ** 2)


@factor("CONTENT-TRUE", higher_is_better=True, explains="true", single=True, source="ours")
def content_true(attributions: Attributions, example: Example) -> float:
    """How far words with a content speak for the true label, as a share of all attribution.

    sum a(w) over all words but stop words and punctuation / sum |a(w)| over all words. It lies in [-1, 1], and is 0
    for a text of stop words alone. Undefined where all scores are 0.
    """
    return _over(_shares(attributions), ~stop_words(example))


def stop_words(example: Example) -> Bools:
    """Return (W,) the stop words, in any case, and the punctuation marks.

    Example:
        >>> stop_words(Example("a", ("This is not good.",), 0)).tolist()
        [True, True, False, False, True]
    """
    texts = (example.text(word).casefold() for word in example.words)
    return np.array([text in STOP_WORDS or not text[0].isalnum() for text in texts], dtype=bool)


def _shares(attributions: Attributions) -> Floats:
    """Return (W',) a(w) / sum |a|; nan where all scores are 0, and for a word that the model did not see."""
    word_scores = attributions.word_scores
    return np.asarray(word_scores / (np.nansum(abs(word_scores)) or np.nan))


def _over(shares: Floats, chosen: Bools) -> float:
    """Return the chosen words' sum, 0 for no words; nan where no word has a share."""
    return total(shares * chosen[: len(shares)])
