"""SHAP: Owen values down a tree of words and their pieces, from answers with some of them hidden.

    phi_t = sum_e weights_te f(row_e),    sum_t phi_t = f(x) - f(everything hidden)

f is the explained output, row_e the example with the tokens hidden that the walk's mask e does not see. The rows are
known before the first answer (`ranker.attribution.trees`), so those of many examples go to the model together, each
once. The values add up for any f, even a random one: a gap shows an error of the walk, and says nothing about f.

Source: Lundberg and Lee 2017, "A Unified Approach to Interpreting Model Predictions"; Owen 1977, "Values of games with
a priori unions".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from factors.types import SPECIAL, Attributions, Bools, Example
from ranker.attribution import perturb
from ranker.attribution.settings import SHAPSettings
from ranker.attribution.trees import Walk, walk
from ranker.progress import Advance
from ranker.sources.base import E, Perturbed
from ranker.tasks.classes import softmax


def attribute(
    model: Perturbed[E], examples: Sequence[Example], settings: SHAPSettings, advance: Advance
) -> Iterator[Attributions]:
    """Compute Owen values of examples' tokens; those of no segment score 0, unless the settings hide separators.

    The rest is as of `ranker.attribution.attribute`; ``residual`` is the additivity gap, ``effort`` the evaluations.
    """

    def request(encoding: E) -> tuple[tuple[E, Bools, Walk], E, Bools]:
        units = settings.units(encoding)
        steps, inside = walk(settings.tree_of(*units), settings.max_evaluations), units.segment != SPECIAL
        masks = np.ones((len(steps.masks), len(encoding)), bool)
        masks[:, inside] = steps.masks
        return (encoding, inside, steps), encoding, masks

    requests = map(request, model.encodings(examples))
    for (e, inside, steps), logits in model.answers(requests, settings.baseline, advance):
        values = perturb.explained_values(logits, settings.label, settings.output)
        scores = np.zeros(len(e))
        scores[inside] = steps.weights @ values
        gap = abs(float(scores.sum() - (values[0] - values[1]))) if len(values) > 1 else 0.0
        yield settings.attributed(e, softmax(logits[:1])[0], scores, residual=gap, effort=len(values))
