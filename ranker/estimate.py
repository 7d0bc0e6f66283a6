"""How long the work on a model will take, before it begins: what is missing, times what a pass takes here."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from factors.types import Example
from ranker.backends import Settings
from ranker.measure import Subject

if TYPE_CHECKING:
    from ranker.align import Encoding
    from ranker.classifiers import Classifier

SAMPLE = 32
"""Examples that passes are counted on."""


@dataclass(frozen=True)
class Estimate:
    """What one model has still to do.

    Attributes:
        predict: examples whose probabilities are not known.
        explain: examples whose attributions are not known.
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


def estimate(
    subject: Subject, examples: Sequence[Example], population: Sequence[Example], settings: Settings
) -> Estimate:
    """Count what the store lacks, and time the model on one batch if it lacks anything.

    Args:
        subject: the model.
        examples: those whose probabilities are wanted.
        population: those whose attributions are wanted.
        settings: of the backend.

    Raises:
        ModelError: the model cannot be loaded or run; StoreError: the store cannot be read.
    """
    predict = subject.missing(examples) if examples else 0
    explain = subject.missing(population, settings)
    if not predict and not explain:
        return Estimate(0, 0, 0, float("nan"))
    every = max(len(population) // SAMPLE, 1)
    classifier = subject.classifier(settings)
    encodings = sorted(classifier.encode(population[::every][:SAMPLE]), key=len)
    passes = float(np.mean([settings.passes(encoding.segment, encoding.word) for encoding in encodings]))
    rate = speed(classifier, encodings[len(encodings) // 2])
    return Estimate(predict, explain, predict + round(explain * passes), rate)


def speed(classifier: Classifier, encoding: Encoding) -> float:
    """Rows like this one that the network takes a second, in a full batch or the largest that memory has room for."""
    import torch

    from ranker.batching import in_batches, stack

    count = max(classifier.token_budget // max(len(encoding), 1), 1)
    seconds = []

    def run(rows: list[int]) -> None:
        batch = stack([classifier.row(encoding)] * len(rows), classifier.device)
        with torch.inference_mode():
            classifier.network(batch).cpu()  # the first pass sets things up
            began = time.perf_counter()
            classifier.network(batch).cpu()
        seconds.append(time.perf_counter() - began)

    in_batches([len(encoding)] * count, classifier.token_budget, run)
    return count / sum(seconds)


def minutes(seconds: float) -> str:
    """A duration in the unit that suits it.

    Example:
        >>> minutes(90), minutes(7), minutes(9000)
        ('1.5 min', '7 s', '2.5 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
