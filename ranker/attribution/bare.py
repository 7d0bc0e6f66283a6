"""No attribution: bare probabilities, for what needs no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from factors.types import Attributions, Example
from ranker.sources.base import E, Perturbed

if TYPE_CHECKING:
    from ranker.attribution.settings import Settings
    from ranker.progress import Advance


def attribute(
    model: Perturbed[E], examples: Sequence[Example], settings: Settings, advance: Advance
) -> Iterator[Attributions]:
    """The probabilities of examples, as attributions without tokens."""
    from ranker.tasks.classes import softmax

    requests = ((None, encoding, np.ones((1, len(encoding)), bool)) for encoding in model.encodings(examples))
    for _, logits in model.answers(requests, "remove", advance):  # nothing is hidden, so that any way will do
        yield Attributions(softmax(logits)[0], target=model.classes - 1)
