"""Factors designed for one kind of OOD set: they read the words that its rules mark (Singhal et al. 2022, 5 and 6.1).

They read words, whose score is the sum of their tokens' scores. An example without a marked word that the model saw
is undefined.
"""

from __future__ import annotations

from factors.compose import around, in_segment, marked, mean, scores, strongest, total
from factors.registry import factor
from factors.types import Attributions, Example

MSGS = "Singhal et al. 2022, section 5"
PAIRS = "Singhal et al. 2022, section 6.1"


@factor("CONST", higher_is_better=True, explains="true", mark="control", source=PAIRS)
def const(attributions: Attributions, example: Example) -> float:
    """The sum over the premise's control words ("unless", "because", ...), which decide what follows from it."""
    return total(scores(attributions, marked(example, "control") & in_segment(example, 0)))


@factor("SWAP-AVG", higher_is_better=False, explains="shortcut", mark="swapped", source=PAIRS)
def swap_avg(attributions: Attributions, example: Example) -> float:
    """The mean over all swapped words, those of both segments."""
    return mean(scores(attributions, marked(example, "swapped")))


@factor("SWAP-MAX-DIFF", higher_is_better=False, explains="shortcut", pair=True, mark="swapped", source=PAIRS)
def swap_max_diff(attributions: Attributions, example: Example) -> float:
    """The strongest swapped word of segment 1 minus that of segment 2: largest in magnitude, taken with its sign."""
    swapped = marked(example, "swapped")
    first, second = (scores(attributions, swapped & in_segment(example, s)) for s in (0, 1))
    return strongest(first) - strongest(second)


@factor("IRREG", higher_is_better=True, explains="evidence", mark="feature", designed_only=True, source=MSGS)
def irreg(attributions: Attributions, example: Example) -> float:
    """The sum over the irregular past verb and the words next to it."""
    return _around_feature(attributions, example)


@factor("VERB", higher_is_better=True, explains="evidence", mark="feature", designed_only=True, source=MSGS)
def verb(attributions: Attributions, example: Example) -> float:
    """The sum over the main verb in -ing and the words next to it."""
    return _around_feature(attributions, example)


@factor("ADJ", higher_is_better=True, explains="evidence", mark="feature", designed_only=True, source=MSGS)
def adj(attributions: Attributions, example: Example) -> float:
    """The sum over the adjective and the words next to it."""
    return _around_feature(attributions, example)


def _around_feature(attributions: Attributions, example: Example) -> float:
    """sum(a[i-1 .. i+1]), i the feature-critical word; of several, each word near one counts once."""
    return total(scores(attributions, around(example, marked(example, "feature"))))
