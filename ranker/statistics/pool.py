"""Rows of the new domain with the models' predictions, labelled or not, and methods that rank by them.

Axis letters as in `engine`, and C classes, H in-domain rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from factors.types import Bools, Floats, Ints
from ranker.statistics.draws import Draws
from ranker.statistics.patterns import ROWS, Patterns, fold
from ranker.statistics.vote import MetricByLabel

Kind = Literal["baseline", "factor", "combined", "pool", "label-free"]
"""Input of a method: probabilities, attributions, both; a pool and some labels; a pool and none."""

Need = Literal["in_domain", "factor", "labels", "probabilities"]
"""Requirements of a method: an attribute of a `Pool`, probabilities, or true labels of the rows that it sees."""

RANDOM, CHOSEN = "random", "chosen"
"""Choice of the rows of a draw for a method: random ones, or those that it asks for, one after the other."""

SUREST = 1e4
"""Largest odds of a prediction: probabilities of 0 and 1 are labels alone."""

LOUDEST = 16.0
"""Largest strength of a prediction, where 1 is the model's mean."""

TINY = 1e-30
"""Floor that avoids division by zero and the logarithm of zero."""

MANY = 20_000
"""Draws behind numbers that have no exact value; their noise is below a tenth of the examples'."""


@dataclass(frozen=True)
class InDomain:
    """Labelled rows of the domain that the models were trained for.

    Attributes:
        probs: (M, H, C) each model's probabilities.
        labels: (H,) their true labels.
    """

    probs: Floats
    labels: Ints

    @property
    def accuracy(self) -> Floats:
        """(M,) share of the rows that each model has right."""
        return np.asarray((self.probs.argmax(axis=2) == self.labels).mean(axis=1))


@dataclass(frozen=True)
class Voters:
    """Predictions of models that only vote, on the rows of a pool.

    Attributes:
        probs: (V, N, C) each one's probabilities.
        trusted: (V,) whether it is known to be better than the models that are ranked.
    """

    probs: Floats
    trusted: Bools


@dataclass(frozen=True)
class Pool:
    """Predictions of the models on rows of a domain; no labels of these rows are needed.

    Attributes:
        probs: (M, N, C) each model's probabilities.
        in_domain: labelled in-domain rows, for the methods that need some; None where there are none.
        in_domain_accuracy: (M,) of each model, nan where unknown; None where all are.
        factor: (M, N) scores by the factor designed for the domain, higher is better, nan where undefined, if it is
            about one label on every row and so needs no true one; else None.
        silence: whether the last of the C classes is silence, which is no row's label.
        voters: models that vote beside them, and are not ranked; None without.

    Raises:
        ValueError: no row, one class, or probabilities of another shape.
    """

    probs: Floats
    in_domain: InDomain | None = None
    factor: Floats | None = None
    silence: bool = False
    in_domain_accuracy: Floats | None = None
    voters: Voters | None = None

    def __post_init__(self) -> None:
        if self.probs.ndim != 3 or self.probs.shape[1] < 1 or self.probs.shape[2] < 2:
            raise ValueError(f"probs must have the shape (M, N, C), with N >= 1 and C >= 2 (got {self.probs.shape})")

    @cached_property
    def predicted(self) -> Ints:
        """(M, N) most probable label by each model."""
        return np.asarray(self.probs.argmax(axis=2))

    @property
    def labels(self) -> int:
        """Number of labels that a row may have: C, or one less where one of the classes is silence."""
        return int(self.probs.shape[2]) - self.silence

    @property
    def answered_labels(self) -> Ints:
        """(M, N) most probable label by each model; -1 where it is silent.

        Example:
            >>> Pool(np.array([[[0.1, 0.9, 0.0], [0.0, 0.0, 1.0]]]), silence=True).answered_labels.tolist()
            [[1, -1]]
        """
        return np.where(self.predicted < self.labels, self.predicted, -1)

    @cached_property
    def strength(self) -> Floats:
        """(M, N) log odds of each prediction, relative to the model's mean over rows.

        The odds are those against the second most probable label, at most `SUREST`. Models have different scales of
        confidence, so each is measured by itself: one that gives labels alone, or is equally sure of each, has 1
        everywhere. No prediction has more than `LOUDEST`.

        Example:
            >>> probs = np.array([[[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]], [[1, 0], [1, 0], [0, 1]]])
            >>> Pool(probs).strength.round(9).tolist()
            [[0.0, 1.5, 1.5], [1.0, 1.0, 1.0]]
        """
        if not ((self.probs > 0) & (self.probs < 1)).any():
            return np.ones(self.probs.shape[:2])
        two = np.sort(self.probs[:, :, : self.labels], axis=2)[:, :, -2:]
        odds = np.diff(np.log(np.maximum(two, two[:, :, 1:] / SUREST) + TINY), axis=2)[:, :, 0]
        counted = self.answered_labels >= 0
        mean = (odds * counted).sum(axis=1, keepdims=True) / np.maximum(counted.sum(axis=1, keepdims=True), 1)
        return np.where(mean > 0, np.minimum(odds / np.maximum(mean, TINY), LOUDEST), 1.0)

    def patterns(self, labelled: Ints | None = None) -> Patterns:
        """Return the pool folded for a vote: `patterns.fold`. A large pool is sampled, with all labelled rows."""
        if self.probs.shape[1] <= ROWS:
            return self._patterns
        return self._fold(labelled)

    @cached_property
    def _patterns(self) -> Patterns:
        return self._fold()

    def _fold(self, labelled: Ints | None = None) -> Patterns:
        everyone, accuracy, trusted = self, self.in_domain_accuracy, None
        if self.voters is not None:
            everyone = replace(self, probs=np.concatenate([self.probs, self.voters.probs]))
            trusted = self.voters.trusted
            if accuracy is not None:
                accuracy = np.concatenate([accuracy, np.full(len(trusted), np.nan)])
        return fold(
            everyone.answered_labels,
            self.labels,
            labelled,
            strength=everyone.strength,
            in_domain=accuracy,
            trusted=trusted,
        )

    @cached_property
    def says(self) -> Floats:
        """(V,) weight in the vote of each model that only votes: see `patterns.says`; 0 where it has no say."""
        patterns = self.patterns()
        say = np.zeros(len(self.probs) + (0 if self.voters is None else len(self.voters.trusted)))
        say[patterns.origins] = patterns.say
        return say[len(self.probs) :]

    @cached_property
    def graded(self) -> bool:
        """True if every model gives probabilities, not labels alone."""
        return bool(((self.probs > 0) & (self.probs < 1)).any(axis=(1, 2)).all())

    def part(self, rows: Sequence[int] | Ints) -> Pool:
        """Return the pool of some of its rows."""
        factor = None if self.factor is None else self.factor[:, rows]
        voters = None if self.voters is None else replace(self.voters, probs=self.voters.probs[:, rows])
        return replace(self, probs=self.probs[:, rows], factor=factor, voters=voters)

    def ordered(self, models: Sequence[int] | Ints) -> Pool:
        """Return the pool with its models in another order, or with some of them."""
        in_domain = None if self.in_domain is None else replace(self.in_domain, probs=self.in_domain.probs[models])
        factor = None if self.factor is None else self.factor[models]
        accuracy = None if self.in_domain_accuracy is None else self.in_domain_accuracy[models]
        return replace(self, probs=self.probs[models], in_domain=in_domain, factor=factor, in_domain_accuracy=accuracy)


@dataclass(frozen=True)
class Targets:
    """Known outcomes and labels of a pool's rows. A method reads those of the rows that it is shown, and no others.

    Attributes:
        outcomes: (M, N) scores of each model's answers, in [0, 1]; nan where unknown.
        labels: (N,) the true labels; below 0 where unknown.
    """

    outcomes: Floats
    labels: Ints

    def part(self, rows: Sequence[int] | Ints) -> Targets:
        """Return the targets of some of the rows."""
        return Targets(self.outcomes[:, rows], self.labels[rows])


Infer = Callable[[Pool, Ints, Ints, MetricByLabel | None], Draws]
"""A pool, (K,) labelled rows, (K,) labels of theirs, and a metric or None for accuracy -> the belief in the models. A
row may occur several times."""


@dataclass(frozen=True)
class PoolMethod:
    """Method that ranks models by their answers to all rows of a pool, and the labels of some rows or of none.

    Attributes:
        name: as it stands in tables, one word: "SURROGATE".
        kind: "pool" sees labels of some rows, "label-free" sees none.
        estimate: (pool, targets, rows (B, K)) -> (M, B) scores, higher is better. It reads the targets of a draw's rows
            alone, and does not depend on the order of the models.
        needs: requirements on the pool, and on the rows that it is shown.
        belief: infers what is believed; None where that is unknown, and a decision then goes by the labels alone.
        pick: (pool, targets, K) -> (K,) the rows that it asks for, one after the other, each after it saw the target
            of the one before; fewer where more are of no use. None where it is shown random rows, or none.
        draws: most draws in an evaluation, B; fewer for each point of a learning curve, and for intervals.
        warning: its main caveat, a clause that continues its name.
        source: its paper and section, or "ours".
        default: whether a run that names no methods shows it.

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
    belief: Infer | None = None
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
        """Choice of the rows of a draw for it; "" where it reads all unlabelled rows and no draw."""
        if self.kind == "label-free":
            return ""
        return RANDOM if self.pick is None else CHOSEN

    @property
    def drawn(self) -> bool:
        """True if it is shown the labels of random rows."""
        return self.rule == RANDOM

    @property
    def decides(self) -> bool:
        """True if a decision can use it: it takes any labelled rows."""
        return self.kind == "label-free" or self.drawn


def possible(methods: Iterable[PoolMethod], pool: Pool, labels: Ints) -> list[PoolMethod]:
    """Return the methods whose needs a pool meets, where rows with these labels, below 0 if unknown, may be shown."""
    lacking = {
        "in_domain": pool.in_domain is None,
        "factor": pool.factor is None,
        "labels": bool((labels < 0).any()),
        "probabilities": not pool.graded,
    }
    return [method for method in methods if not any(lacking[need] for need in method.needs)]
