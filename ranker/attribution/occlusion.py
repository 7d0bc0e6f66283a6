"""Occlusion: what the explained output loses when one word is hidden, and all others are seen.

    score_w = f(x) - f(x without w)

One forward pass a word, and one for the example: a tenth of SHAP's, or less. What two words do only together (either
alone is enough, or both are needed) is not shared out between them, so the scores add up to nothing.

Source: Zeiler and Fergus 2014, "Visualizing and Understanding Convolutional Networks", section 4.2; Li, Monroe and
Jurafsky 2016, "Understanding Neural Networks through Representation Erasure".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from factors.types import Attributions, Bools, Example
from ranker.attribution import perturb
from ranker.attribution.settings import OcclusionSettings
from ranker.sources.base import E, Perturbed
from ranker.tasks.classes import softmax

if TYPE_CHECKING:
    from ranker.progress import Advance


def attribute(
    model: Perturbed[E],
    examples: Sequence[Example],
    settings: OcclusionSettings,
    advance: Advance = lambda done: None,
) -> Iterator[Attributions]:
    """What hiding each word does to the output; the tokens of a word share its score equally.

    Tokens of no word are always seen, and score 0.

    Args:
        model: is asked with tokens hidden.
        examples: any number of them.
        settings: see there.
        advance: told how many more examples are done.

    Yields:
        One row for each example, in order; ``effort`` is the number of passes.

    Raises:
        ModelError: the model cannot be run.
    """

    def request(encoding: E) -> tuple[E, E, Bools]:
        shown = np.concatenate([np.ones((1, encoding.words), bool), ~np.eye(encoding.words, dtype=bool)])
        return encoding, encoding, perturb.of_tokens(shown, encoding)

    for e, logits in model.answers(map(request, model.encodings(examples)), settings.hide, advance):
        values = perturb.values(logits, settings.label, settings.output)
        scores = perturb.spread(values[0] - values[1:], e)
        yield settings.attributed(e, softmax(logits[:1])[0], scores, effort=len(values))
