"""What models are asked, and what they answer: the words that whoever asks and whoever has it done share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from factors.types import Attributions, Example
from ranker.attribution.settings import Settings
from ranker.sources.suites import Model
from ranker.tasks.classes import Classes


@dataclass(frozen=True)
class Request:
    """What a model is asked about some examples.

    Attributes:
        label: as progress calls it.
        examples: the examples.
        settings: of an attribution backend; None where answers alone are wanted.
    """

    label: str
    examples: Sequence[Example]
    settings: Settings | None = None


@dataclass(frozen=True)
class Answer:
    """What a model makes of N examples.

    Attributes:
        predictions: its answers.
        attributions: (N,) what it looked at; empty where that was not asked.
    """

    predictions: Classes
    attributions: Sequence[Attributions] = ()

    def seen(self, at: int) -> Attributions:
        """What a factor sees of one example; without tokens where nothing was attributed."""
        if self.attributions:
            return self.attributions[at]
        probs = self.predictions.probs[at]
        return Attributions(probs, target=len(probs) - 1)


Job: TypeAlias = tuple[Model, Sequence[Request]]
"""A model, and what is asked of it."""
