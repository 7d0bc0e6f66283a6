"""Rows of the new domain as the models see them, labelled or not: who says what, and how alike the models are.

Axis letters as in `engine`, and C classes, H in-domain rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from factors.types import Floats, Ints


@dataclass(frozen=True)
class InDomain:
    """Labelled rows of the domain that the models were trained for.

    Attributes:
        probs: (M, H, C) what each model makes of them.
        labels: (H,) their true labels.
    """

    probs: Floats
    labels: Ints

    @property
    def accuracy(self) -> Floats:
        """(M,) share of the rows that each model is right on."""
        return np.asarray((self.probs.argmax(axis=2) == self.labels).mean(axis=1))


@dataclass(frozen=True)
class Pool:
    """What the models make of rows of a domain; of none of these a label is needed.

    Attributes:
        probs: (M, N, C) each model's probabilities.
        in_domain: labelled in-domain rows, for the methods that need some; None where there are none.
        factor: (M, N) scores by the factor designed for the domain, higher is better, nan where undefined, if it is
            about one label on every row and so needs no true one; else None.

    Raises:
        ValueError: no row, one class, or probabilities of another shape.
    """

    probs: Floats
    in_domain: InDomain | None = None
    factor: Floats | None = None

    def __post_init__(self) -> None:
        if self.probs.ndim != 3 or self.probs.shape[1] < 1 or self.probs.shape[2] < 2:
            raise ValueError(f"probs must have the shape (M, N, C), with N >= 1 and C >= 2 (got {self.probs.shape})")

    @cached_property
    def predicted(self) -> Ints:
        """(M, N) the label that each model takes for the most probable."""
        return np.asarray(self.probs.argmax(axis=2))

    @cached_property
    def agreement(self) -> Floats:
        """(M, M) share of the rows on which two models predict the same."""
        return np.stack([(self.predicted == one).mean(axis=1) for one in self.predicted])

    def part(self, rows: Sequence[int] | Ints) -> Pool:
        """The pool of some of its rows."""
        return Pool(self.probs[:, rows], self.in_domain, None if self.factor is None else self.factor[:, rows])

    def ordered(self, models: Sequence[int] | Ints) -> Pool:
        """The pool with its models in another order, or some of them."""
        in_domain = None if self.in_domain is None else replace(self.in_domain, probs=self.in_domain.probs[models])
        return Pool(self.probs[models], in_domain, None if self.factor is None else self.factor[models])
