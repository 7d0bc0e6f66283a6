"""What models are asked: the words that whoever asks and whoever has it done share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from factors.types import Example
from ranker.attribution.settings import BARE, Settings
from ranker.sources.suites import Model


@dataclass(frozen=True)
class Request:
    """What a model is asked about some examples.

    Attributes:
        label: as progress calls it.
        examples: rows.
        settings: of an attribution backend; bare probabilities are wanted where none is named.
    """

    label: str
    examples: Sequence[Example]
    settings: Settings = BARE


Job: TypeAlias = tuple[Model, Sequence[Request]]
"""A model, and what is asked of it."""
