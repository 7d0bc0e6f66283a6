"""Rows of the new domain as the models see them, labelled or not, and what a method is that ranks by them.

Axis letters as in `engine`, and C classes, H in-domain rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Literal, Protocol

import numpy as np

from factors.types import Floats, Ints

Kind = Literal["baseline", "factor", "combined", "pool", "label-free"]
"""What a method reads: probabilities, attributions, both; a pool and some labels; a pool and none."""

Need = Literal["in_domain", "factor", "labels", "probabilities"]
"""What may be lacking: an attribute of a `Pool`, probabilities, or a true label of a row that is shown."""

RANDOM = "random"
"""The rule of a method that is shown any rows."""


@cache
def corners(classes: int) -> Floats:
    """(C, C - 1) the points t_c of the labels: equally far from the centre and from each other; read-only.

    The rows of Helmert's matrix but the first, each a direction in which label c differs from those before it.

    Example:
        >>> corners(2).round(3).tolist()
        [[1.0], [-1.0]]
        >>> (corners(3) @ corners(3).T).round(3).tolist()
        [[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]]
    """
    number = np.arange(1, classes)
    rows = np.tri(classes - 1, classes) - number[:, None] * np.eye(classes - 1, classes, k=1)
    found = (rows / np.sqrt(number * (number + 1))[:, None]).T / np.sqrt(1 - 1 / classes)
    found.flags.writeable = False
    return np.asarray(found)


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
    def graded(self) -> bool:
        """Whether every model gives probabilities, and not labels alone."""
        return bool(((self.probs > 0) & (self.probs < 1)).any(axis=(1, 2)).all())

    @cached_property
    def agreement(self) -> Floats:
        """(M, M) share of the rows on which two models predict the same."""
        return np.stack([(self.predicted == one).mean(axis=1) for one in self.predicted])

    @cached_property
    def votes(self) -> Floats:
        """(N, C - 1, M) where each model stands on each row, as a point between the `corners`, all over sqrt(M)."""
        models, _, classes = self.probs.shape
        points = (self.probs - 1 / classes) @ corners(classes)
        return np.ascontiguousarray(points.transpose(1, 2, 0) / np.sqrt(models))

    @cached_property
    def gains(self) -> Floats:
        """(M, M) what the weight of the column's model adds to (accuracy - 1 / C) / (1 - 1 / C) of the row's model.

        The weights are those of `votes` in SURROGATE's vote for the label of a row.
        """
        said = corners(self.probs.shape[2])[self.predicted]  # (M, N, C - 1)
        models, rows, _ = said.shape
        return np.asarray(said.reshape(models, -1) @ self.votes.reshape(-1, models) / rows)

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

    def best(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """(M,) P(no other model is better), which sum to 1; (M,) P(none is better by more than `posterior.NEAR`)."""

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
        posterior: (pool, targets, rows (K,)) -> how sure the ranking is; None where nobody knows, and a decision then
            says what the labels alone tell.
        of_parts: (pool, rows of each part) -> (parts, M) what `estimate` gives on each part of a pool, no row shown,
            where it is faster to have them all at once; None where it is not.
        rule: how the rows of a draw are picked for it: `RANDOM`, or a name in `statistics.choice.RULES`; "" where it
            reads all unlabelled rows and no draw.
        warning: what to know before it is believed, a clause that goes on from its name.
        source: the paper and section that it comes from, or "ours".
        default: it is shown where nobody says which methods are.

    Raises:
        ValueError: a name that cannot be asked for.

    Example:
        >>> def votes(pool, targets, rows):
        ...     return np.repeat(pool.agreement.mean(axis=1)[:, None], len(rows), axis=1)
        >>> PoolMethod("VOTES", "label-free", votes, rule="").name
        'VOTES'
    """

    name: str
    kind: Literal["pool", "label-free"]
    estimate: Callable[[Pool, Targets, Ints], Floats]
    needs: frozenset[Need] = frozenset()
    posterior: Callable[[Pool, Targets, Ints], Posterior] | None = None
    of_parts: Callable[[Pool, Sequence[Ints]], Floats] | None = None
    rule: str = RANDOM
    warning: str = ""
    source: str = "ours"
    default: bool = False

    def __post_init__(self) -> None:
        if not self.name or set(self.name) & set(", \n\t") or self.name.endswith(".py"):
            raise ValueError(f"a method's name must be one word without a comma (got {self.name!r})")

    @property
    def drawn(self) -> bool:
        """Whether it is shown the labels of random rows."""
        return self.kind == "pool" and self.rule == RANDOM

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
