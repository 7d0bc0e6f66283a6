"""How long the work on a model will take, before it begins: what is missing, times what a pass takes here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from factors.types import Example
from ranker.attribution.settings import Settings
from ranker.runtime.base import Request
from ranker.runtime.guest import Subject

if TYPE_CHECKING:
    pass

SAMPLE = 32
"""Examples that passes are counted on."""


@dataclass(frozen=True)
class Estimate:
    """What one model has still to do.

    Attributes:
        predict: examples whose probabilities are not known.
        explain: examples whose attributions are not known; of several backends the one that lacks most.
        passes: forward passes for all of that; on the way back one counts as two.
        rate: passes a second, measured; nan where there is nothing to do.
    """

    predict: int
    explain: int
    passes: int
    rate: float

    @property
    def seconds(self) -> float:
        """How long the passes alone will take; 0 where there are none. Small models spend as much between them."""
        return self.passes / self.rate if self.passes else 0.0

    def __str__(self) -> str:
        """The estimate in a line."""
        if not self.passes:
            return "all is known"
        work = f"{self.predict:,} rows to predict, {self.explain:,} to explain"
        return f"{work}: {self.passes:,} forward passes at {self.rate:,.0f} a second, at least {minutes(self.seconds)}"


def estimate(subject: Subject, questions: Iterable[Request]) -> Estimate:
    """Count what the store lacks of the answers, and time the model on one batch if it lacks anything.

    Rows that several questions ask of one backend are counted once.

    Args:
        subject: the model.
        questions: all that it is asked.

    Raises:
        ModelError: the model cannot be loaded or run; StoreError: the store cannot be read.
    """
    asked: dict[Settings | None, dict[tuple[str, ...], Example]] = {}
    for question in questions:
        asked.setdefault(question.settings, {}).update({one.segments: one for one in question.examples})
    rows = {settings: tuple(examples.values()) for settings, examples in asked.items()}
    missing = {settings: subject.missing(examples, settings) for settings, examples in rows.items()}
    most = max(missing, key=lambda settings: missing[settings])
    if not missing[most]:
        return Estimate(0, 0, 0, float("nan"))
    classifier = subject.classifier(most)
    encodings = {
        settings: classifier.encode(examples[:: max(len(examples) // SAMPLE, 1)][:SAMPLE])
        for settings, examples in rows.items()
        if missing[settings]
    }
    passes = sum(
        missing[settings]
        * float(np.mean([1 if settings is None else settings.passes(one.segment, one.word) for one in some]))
        for settings, some in encodings.items()
    )
    typical = sorted(encodings[most], key=len)[len(encodings[most]) // 2]
    explain = max((count for settings, count in missing.items() if settings is not None), default=0)
    return Estimate(missing.get(None, 0), explain, round(passes), classifier.speed(typical))


def minutes(seconds: float) -> str:
    """A duration in the unit that suits it.

    Example:
        >>> minutes(90), minutes(7), minutes(9000)
        ('1.5 min', '7 s', '2.5 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
