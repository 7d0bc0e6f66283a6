"""No attribution: bare probabilities, for what needs no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from factors.types import Attributions, Example

if TYPE_CHECKING:
    from ranker.attribution.settings import Settings
    from ranker.progress import Advance
    from ranker.sources.hf.classifiers import Classifier


def attribute(
    classifier: Classifier, examples: Sequence[Example], settings: Settings, advance: Advance
) -> Iterator[Attributions]:
    """The probabilities of examples, as attributions without tokens."""
    from ranker.tasks.classes import softmax

    requests = ((None, [classifier.row(encoding)]) for encoding in classifier.encodings(examples))
    for _, logits in classifier.logits(requests, advance):
        yield Attributions(softmax(logits)[0], target=len(classifier.groups) - 1)
