"""Occlusion: loss of the explained output when one word is hidden, and all others are seen.

    score_w = f(x) - f(x without w)

It takes one forward pass a word, and one for the example: a tenth of SHAP's, or less. Joint effects of two words
(either alone is enough, or both are needed) are not divided between them, so the scores have no meaningful sum.

Source: Zeiler and Fergus 2014, "Visualizing and Understanding Convolutional Networks", section 4.2; Li, Monroe and
Jurafsky 2016, "Understanding Neural Networks through Representation Erasure".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from factors.types import Attributions, Bools, Example
from ranker.attribution import perturb
from ranker.attribution.settings import OcclusionSettings, Units
from ranker.progress import Advance
from ranker.sources.base import E, Perturbed
from ranker.tasks.classes import softmax


def attribute(
    model: Perturbed[E], examples: Sequence[Example], settings: OcclusionSettings, advance: Advance
) -> Iterator[Attributions]:
    """Compute the effect of hiding each word on the output; the tokens of a word share its score equally.

    Tokens of no word are always seen, and score 0; separators only where the settings do not hide them.

    The rest is as of `ranker.attribution.attribute`; ``effort`` is the number of passes.
    """

    def request(encoding: E) -> tuple[tuple[E, Units], E, Bools]:
        units = settings.units(encoding)
        masks = np.concatenate([np.ones((1, units.words), bool), ~np.eye(units.words, dtype=bool)])
        return (encoding, units), encoding, perturb.token_masks(masks, units.word)

    for (e, units), logits in model.answers(map(request, model.encodings(examples)), settings.hide, advance):
        values = perturb.explained_values(logits, settings.label, settings.output)
        scores = perturb.share_among_tokens(values[0] - values[1:], units.word)
        yield settings.attributed(e, softmax(logits[:1])[0], scores, effort=len(values))
