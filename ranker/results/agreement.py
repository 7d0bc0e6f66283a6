"""Agreement of two attribution backends, on words and on models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ranker.records import Gain


@dataclass(frozen=True)
class Agreement:
    """Agreement of two attribution backends, as Spearman's rank correlations.

    Attributes:
        a, b: the backends.
        words: correlation of the words' scores on one row, averaged over rows and models; None if no row has three
            words.
        models: factor -> correlation of the models' mean values by the factor; None for fewer than three models, or
            where all have one value.
    """

    a: str
    b: str
    words: Gain | None
    models: Mapping[str, Gain | None] = field(default_factory=dict)
