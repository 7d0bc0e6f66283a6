"""Baselines of the attribution factors: ranking methods that read a model's probabilities only.

Each is shown the attributions turned toward the label that it declares, so ``probs[target]`` is "the probability of
the predicted (true, shortcut's) label".
"""

from __future__ import annotations

import math
import sys

from factors.registry import factor
from factors.types import Attributions, Example

PAPER = "Singhal et al. 2022, section 3"


@factor("ACC", higher_is_better=True, explains="predicted", kind="baseline", source=PAPER)
def accuracy(attributions: Attributions, example: Example) -> float:
    """1 if the prediction is right, else 0; its mean over the probe is the accuracy baseline."""
    return float(attributions.predicted == example.target)


@factor("CONF", higher_is_better=True, explains="predicted", kind="baseline", source=PAPER)
def confidence(attributions: Attributions, example: Example) -> float:
    """The probability of the predicted label."""
    return float(attributions.probs[attributions.target])


@factor("CONF-GT", higher_is_better=True, explains="true", kind="baseline", source=PAPER)
def confidence_in_truth(attributions: Attributions, example: Example) -> float:
    """The probability of the true label."""
    return float(attributions.probs[attributions.target])


@factor("NLL", higher_is_better=False, explains="true", kind="baseline", source="ours")
def negative_log_likelihood(attributions: Attributions, example: Example) -> float:
    """Minus the natural log of the true label's probability, in nats; a probability of 0 counts as the least float."""
    return -math.log(max(float(attributions.probs[attributions.target]), sys.float_info.min))


@factor("CONF-H", higher_is_better=False, explains="shortcut", kind="baseline", source="ours")
def confidence_in_shortcut(attributions: Attributions, example: Example) -> float:
    """The probability of the shortcut's label: a control that needs no label and no attribution.

    A factor that does not beat it adds nothing to what the probabilities already say.
    """
    return float(attributions.probs[attributions.target])
