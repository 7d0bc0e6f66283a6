"""Rows of the new domain as the models see them, labelled or not, and what a method is that ranks by them.

Axis letters as in `engine`, and C classes, H in-domain rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics.patterns import ROWS, Patterns, fold

Kind = Literal["baseline", "factor", "combined", "pool", "label-free"]
"""What a method reads: probabilities, attributions, both; a pool and some labels; a pool and none."""

Need = Literal["in_domain", "factor", "labels", "probabilities"]
"""What may be lacking: an attribute of a `Pool`, probabilities, or a true label of a row that is shown."""

RANDOM, CHOSEN = "random", "chosen"
"""How the rows of a draw are picked for a method: any, or those that it asks for, one after the other."""

SUREST = 1e4
"""Odds above which a model is no surer: probabilities of 0 and 1 are labels alone."""

LOUDEST = 16.0
"""The most that a prediction counts in a vote, where 1 is the model's mean."""

TINY = 1e-30
"""Of nothing, no logarithm and no share is taken."""

MANY = 20_000
"""Draws behind whatever cannot be had exactly; their own noise is then below a tenth of what the examples add."""


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
        silence: whether the last of the C classes is silence, which no row has for its label.

    Raises:
        ValueError: no row, one class, or probabilities of another shape.
    """

    probs: Floats
    in_domain: InDomain | None = None
    factor: Floats | None = None
    silence: bool = False

    def __post_init__(self) -> None:
        if self.probs.ndim != 3 or self.probs.shape[1] < 1 or self.probs.shape[2] < 2:
            raise ValueError(f"probs must have the shape (M, N, C), with N >= 1 and C >= 2 (got {self.probs.shape})")

    @cached_property
    def predicted(self) -> Ints:
        """(M, N) the label that each model takes for the most probable."""
        return np.asarray(self.probs.argmax(axis=2))

    @property
    def labels(self) -> int:
        """How many labels a row may have: C, or one less where one of the classes is silence."""
        return int(self.probs.shape[2]) - self.silence

    @property
    def said(self) -> Ints:
        """(M, N) the label that each model takes for the most probable; -1 where it is silent.

        Example:
            >>> Pool(np.array([[[0.1, 0.9, 0.0], [0.0, 0.0, 1.0]]]), silence=True).said.tolist()
            [[1, -1]]
        """
        return np.where(self.predicted < self.labels, self.predicted, -1)

    @cached_property
    def strength(self) -> Floats:
        """(M, N) how sure each model is of the label that it predicts, by its mean over rows.

        That is the logarithm of the odds against the label that it finds the next most probable, of `SUREST` at most.
        Models are not sure on one scale, so each is measured by itself: one that gives labels alone, or is as sure of
        each, has 1 everywhere. No prediction has more than `LOUDEST`.

        Example:
            >>> Pool(np.array([[[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]], [[1, 0], [1, 0], [0, 1]]])).strength.tolist()
            [[0.0, 1.5, 1.5], [1.0, 1.0, 1.0]]
        """
        if not ((self.probs > 0) & (self.probs < 1)).any():
            return np.ones(self.probs.shape[:2])
        two = np.sort(self.probs[:, :, : self.labels], axis=2)[:, :, -2:]
        odds = np.diff(np.log(np.maximum(two, two[:, :, 1:] / SUREST) + TINY), axis=2)[:, :, 0]
        counted = self.said >= 0
        mean = (odds * counted).sum(axis=1, keepdims=True) / np.maximum(counted.sum(axis=1, keepdims=True), 1)
        return np.where(mean > 0, np.minimum(odds / np.maximum(mean, TINY), LOUDEST), 1.0)

    def patterns(self, labelled: Ints | None = None) -> Patterns:
        """The pool folded for a vote: `patterns.fold`. Of a large pool a sample is read, with all labelled rows."""
        if self.probs.shape[1] <= ROWS:
            return self._patterns
        return fold(self.said, self.labels, labelled, strength=self.strength)

    @cached_property
    def _patterns(self) -> Patterns:
        return fold(self.said, self.labels, strength=self.strength)

    @cached_property
    def graded(self) -> bool:
        """Whether every model gives probabilities, and not labels alone."""
        return bool(((self.probs > 0) & (self.probs < 1)).any(axis=(1, 2)).all())

    def part(self, rows: Sequence[int] | Ints) -> Pool:
        """The pool of some of its rows."""
        factor = None if self.factor is None else self.factor[:, rows]
        return replace(self, probs=self.probs[:, rows], factor=factor)

    def ordered(self, models: Sequence[int] | Ints) -> Pool:
        """The pool with its models in another order, or some of them."""
        in_domain = None if self.in_domain is None else replace(self.in_domain, probs=self.in_domain.probs[models])
        factor = None if self.factor is None else self.factor[models]
        return replace(self, probs=self.probs[models], in_domain=in_domain, factor=factor)


@dataclass(frozen=True)
class Targets:
    """What is known of the truth of a pool's rows. A method looks at the rows that it is shown, and at no others.

    Attributes:
        outcomes: (M, N) how good each model's answers are, in [0, 1]; nan where that is not known.
        labels: (N,) the true labels; below 0 where they are not known.
    """

    outcomes: Floats
    labels: Ints

    def part(self, rows: Sequence[int] | Ints) -> Targets:
        """Those of some of the rows."""
        return Targets(self.outcomes[:, rows], self.labels[rows])


class Posterior(Protocol):
    """What labels and pool say of the models' mean outcomes in the domain that the pool is a sample of."""

    @property
    def score(self) -> Floats:
        """(M,) what the models are ranked by."""

    def beats(self) -> Floats:
        """(M, M) P(the model of the row is better than that of the column); 1/2 on the diagonal."""

    def best(self) -> Floats:
        """(M,) P(no other model is better); they sum to 1."""

    def near(self, margin: float) -> Floats:
        """(M,) P(no other model is better by more than the margin)."""

    def interval(self) -> tuple[Floats, Floats]:
        """(M,) lower and (M,) upper ends of the 95 % interval of each mean outcome."""

    def more_labels(self) -> Ints:
        """(M, M) how many more labels would tell two models apart; below 0 where that cannot be said."""


@dataclass(frozen=True)
class PoolMethod:
    """A method that ranks models by their answers to all rows of a pool, and the labels of some of them or of none.

    Attributes:
        name: as it stands in tables, one word: "SURROGATE".
        kind: "pool" sees labels of some rows, "label-free" sees none.
        estimate: (pool, targets, rows (B, K)) -> (M, B) scores, higher is better. It looks at the targets of a draw's
            rows alone, and gives each model the same whatever the order of the models.
        needs: what must be known of the pool, and of the rows that it is shown.
        posterior: (pool, rows (K,), the label given to each (K,)) -> how sure the ranking is, where a row may stand
            several times with other labels; None where nobody knows, and a decision then says what the labels alone
            tell.
        of_parts: (pool, rows of each part) -> (parts, M) what `estimate` gives on each part of a pool, no row shown,
            where it is faster to have them all at once; None where it is not.
        pick: (pool, targets, K) -> (K,) the rows that it asks for, one after the other, each after it was told the
            target of the one before; fewer where no more can be of use. None where it is shown any rows, or none.
        draws: an evaluation shows it so many draws at most, B; fewer for each point of a learning curve, and for how
            sure that is.
        warning: what to know before it is believed, a clause that goes on from its name.
        source: the paper and section that it comes from, or "ours".
        default: it is shown where nobody says which methods are.

    Raises:
        ValueError: a name that cannot be asked for, or fewer than two draws, which show no spread.

    Example:
        >>> def votes(pool, targets, rows):
        ...     agreed = (pool.predicted == np.median(pool.predicted, axis=0)).mean(axis=1)
        ...     return np.repeat(agreed[:, None], len(rows), axis=1)
        >>> PoolMethod("VOTES", "label-free", votes).name
        'VOTES'
    """

    name: str
    kind: Literal["pool", "label-free"]
    estimate: Callable[[Pool, Targets, Ints], Floats]
    needs: frozenset[Need] = frozenset()
    posterior: Callable[[Pool, Ints, Ints], Posterior] | None = None
    of_parts: Callable[[Pool, Sequence[Ints]], Floats] | None = None
    pick: Callable[[Pool, Targets, int], Ints] | None = None
    draws: int = MANY
    warning: str = ""
    source: str = "ours"
    default: bool = False

    def __post_init__(self) -> None:
        if not self.name or set(self.name) & set(", \n\t") or self.name.endswith(".py"):
            raise ValueError(f"a method's name must be one word without a comma (got {self.name!r})")
        if self.draws < 2:
            raise ValueError(f"a method must be shown at least two draws (got {self.draws})")

    @property
    def rule(self) -> str:
        """How the rows of a draw are picked for it; "" where it reads all unlabelled rows and no draw."""
        if self.kind == "label-free":
            return ""
        return RANDOM if self.pick is None else CHOSEN

    @property
    def drawn(self) -> bool:
        """Whether it is shown the labels of random rows."""
        return self.rule == RANDOM

    @property
    def decides(self) -> bool:
        """Whether a decision can go by it: it takes the rows that are labelled, whichever these are."""
        return self.kind == "label-free" or self.drawn


def possible(methods: Iterable[PoolMethod], pool: Pool, labels: Ints) -> list[PoolMethod]:
    """The methods that can be had of a pool.

    Args:
        methods: those that there are.
        pool: what the models make of the rows.
        labels: of the rows that may be shown; below 0 where they are not known.
    """
    lacking = {
        "in_domain": pool.in_domain is None,
        "factor": pool.factor is None,
        "labels": bool((labels < 0).any()),
        "probabilities": not pool.graded,
    }
    return [one for one in methods if not any(lacking[need] for need in one.needs)]
