"""Rows of a pool folded by what the models predict on them, and what was answered to some of these rows.

Two rows on which every model predicts the same, and is as sure of it, tell a vote of the models the same. Such rows are
one *pattern*. Axis letters as in `pool`, and U patterns, A answers, R kinds of labelled rows.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from factors.types import Floats, Ints

ROWS = 20_000
"""Rows of a pool that are read. Of a larger pool it is a random sample, always the same, with all labelled rows."""


STEP, ALIKE = 0.25, 4
"""Strengths are told apart in steps of this, so that the last digits of a probability change nothing; 1 is four."""


@dataclass(frozen=True)
class Patterns:
    """The distinct rows of a pool, as the models' predictions show them.

    Attributes:
        said: (U, M) the label that each model predicts; -1 where it predicts none.
        counts: (U,) how many rows of the pool are of each pattern.
        of: (N,) the pattern of each row; -1 for rows of a large pool that are not read.
        classes: C, the labels that a row may have.
        places: (M,) where each model stands in an order that no listing of the models changes.
        strength: (U, M) how much each prediction counts, 1 on average, in single precision; None where all count alike.
    """

    said: Ints
    counts: Ints
    of: Ints
    classes: int
    places: Ints
    strength: Floats | None = None

    def ballots(self, these: Ints) -> tuple[Ints, Floats | None]:
        """What the models predict on some of the patterns, and how much that counts: of `said` and `strength`."""
        return self.said[these], None if self.strength is None else self.strength[these]

    @property
    def models(self) -> int:
        """M."""
        return int(self.said.shape[1])

    @cached_property
    def alike(self) -> Floats:
        """(M, M) the share of rows on which two models predict the same label."""
        return np.asarray(_alike(self.said.T, self.classes, self.counts) / self.counts.sum())

    @cached_property
    def agreements(self) -> Floats:
        """(M, M) how often two models predict the same, corrected for chance: 0 for models that guess."""
        return np.asarray(np.round((self.classes * self.alike - 1) / (self.classes - 1), 9))

    @property
    def agreement(self) -> Floats:
        """(M,) each model's mean agreement with the others; of one model alone, 0."""
        others = self.agreements.sum(axis=1) - np.diagonal(self.agreements)
        return np.asarray(np.round(others / max(self.models - 1, 1), 9))

    @cached_property
    def usual(self) -> Floats:
        """(M, C) how much each label gets from each model, on average over rows."""
        places = np.where(self.said < 0, self.classes, self.said) + (self.classes + 1) * np.arange(self.models)
        given = self.counts[:, None] * (np.ones(self.said.shape) if self.strength is None else self.strength)
        total = np.bincount(places.ravel(), given.ravel(), self.models * (self.classes + 1))
        return np.asarray(np.round(total.reshape(self.models, -1)[:, :-1] / self.counts.sum(), 9))

    def seed(self, readings: Readings) -> int:
        """A number that depends on the pool and on what was answered, and on no order in which they are listed."""
        digest = self._digest.copy()
        for part in (readings.pattern, readings.likelihood, readings.counts, np.array([self.classes])):
            digest.update(np.ascontiguousarray(part).data)
        return int.from_bytes(digest.digest(), "little")

    @cached_property
    def _digest(self) -> hashlib.blake2b:
        """Of the pool."""
        digest = hashlib.blake2b(digest_size=16)
        order = np.argsort(self.places)
        strength = () if self.strength is None else (self.strength[:, order],)
        for part in (self.said[:, order], self.counts, *strength):
            digest.update(np.ascontiguousarray(part).data)
        return digest


@dataclass(frozen=True)
class Readings:
    """What was answered to rows of a pool. Rows of one pattern with the same answers are of one kind.

    Attributes:
        pattern: (R,) the pattern of each kind of labelled rows.
        likelihood: (R, C) how likely the answers to such a row are under each true label, up to a factor.
        counts: (R,) how many rows are of that kind.
        rows: the rows of the pool that were answered, sorted.
    """

    pattern: Ints
    likelihood: Floats
    counts: Ints
    rows: Ints


def fold(
    predicted: Ints,
    classes: int,
    labelled: Ints | None = None,
    most: int = ROWS,
    strength: Floats | None = None,
) -> Patterns:
    """Fold a pool into patterns.

    Args:
        predicted: (M, N) the label that each model predicts on each row; below 0 where it predicts none.
        classes: C.
        labelled: rows that are read in any case.
        most: how many rows are read, beside these.
        strength: (M, N) how much each prediction counts, 1 on average; None where all count alike. See `Pool.strength`.

    Returns:
        The patterns. The order of the models decides nothing but the columns of `said`. The order of rows decides
        nothing where all are read, unless two models predict each label equally often and agree with the others alike.

    Raises:
        ValueError: no model, no row, or a label that is none of the classes.

    Example:
        >>> fold(np.array([[0, 1, 1, 0], [0, 0, 0, 0]]), 2).counts.tolist()
        [2, 2]
    """
    if predicted.ndim != 2 or not predicted.size:
        raise ValueError(f"predicted must have the shape (M, N), with M >= 1 and N >= 1 (got {predicted.shape})")
    if predicted.max() >= classes:
        raise ValueError(f"predicted must be labels below {classes} (got {predicted.max()})")
    small = np.maximum(predicted, -1).astype(np.int16)
    read = _read(small.shape[1], np.zeros(0, dtype=np.int64) if labelled is None else labelled, most)
    small = small[:, read]
    steps = np.full(small.shape, ALIKE, dtype=np.int16)
    if strength is not None:
        steps[small >= 0] = np.rint(strength[:, read] / STEP)[small >= 0]
    order = _order(small, steps, classes)
    alike = bool((steps == ALIKE).all())
    columns = small[order] if alike else np.concatenate([small[order], steps[order]])
    kinds, at, counts = np.unique(columns.T, axis=0, return_inverse=True, return_counts=True)
    places = np.argsort(order)
    of = np.full(predicted.shape[1], -1)
    of[read] = at.reshape(-1)
    said, found = kinds[:, places], kinds[:, len(small) :]
    counted: Floats | None = None if alike else np.asarray(found[:, places] * STEP, dtype=np.float32)
    return Patterns(said.astype(np.int64), counts, of, classes, places, counted)


def _read(rows: int, labelled: Ints, most: int) -> Ints:
    """The rows that are read: all, or a sample that holds the labelled ones."""
    if rows <= most:
        return np.arange(rows)
    sample = np.random.default_rng(0).choice(rows, most, replace=False)
    return np.union1d(sample, labelled)


def _order(predicted: npt.NDArray[np.int16], steps: npt.NDArray[np.int16], classes: int) -> Ints:
    """(M,) the models, sorted by what they predict, and how sure they are of it."""
    often = np.stack([(predicted == c).sum(axis=1) for c in range(classes)], axis=1)
    alike = np.sort(_alike(predicted, classes, np.ones(predicted.shape[1])), axis=1)
    keys = [
        (*a.tolist(), *b.tolist(), one.tobytes(), sure.tobytes())
        for a, b, one, sure in zip(often, alike, predicted, steps, strict=True)
    ]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__))


def _alike(predicted: npt.NDArray[np.integer[Any]], classes: int, counts: Floats | Ints) -> Floats:
    """(M, M) how many rows two models give the same label."""
    total = np.zeros((len(predicted), len(predicted)))
    for label in range(classes):
        given = (predicted == label).astype(np.float32)
        total += (given * counts.astype(np.float32)) @ given.T
    return total


def gather_answers(patterns: Patterns, rows: Ints, labels: Ints, label_noise: float = 0.0) -> Readings:
    """Gather what was answered: a row that was answered several times has several noisy readings of one label.

    An answer is the true label with probability 1 - e + e / C and each other one with e / C, e the label noise.

    Args:
        patterns: of the pool.
        rows: (A,) the row of the pool that each answer is about, in any order.
        labels: (A,) the answers.
        label_noise: e, from 0 to 1.

    Returns:
        The answers, sorted by pattern and then by label.

    Raises:
        ValueError: a row that is not read, an answer that is none of the classes, or, without noise, two answers to
            one row that contradict each other.

    Example:
        >>> pool = fold(np.array([[0, 1, 1, 0], [0, 0, 0, 0]]), 2)
        >>> gather_answers(pool, np.array([1, 2]), np.array([1, 1])).counts.tolist()
        [2]
    """
    if not 0 <= label_noise <= 1:
        raise ValueError(f"label_noise must be between 0 and 1 (got {label_noise})")
    if len(labels) and not 0 <= labels.min() <= labels.max() < patterns.classes:
        raise ValueError(f"labels must be between 0 and {patterns.classes - 1} (got {labels.min()} to {labels.max()})")
    distinct, at = np.unique(rows, return_inverse=True)
    tally = np.zeros((len(distinct), patterns.classes), dtype=np.int64)
    np.add.at(tally, (at.reshape(-1), labels), 1)
    kinds = np.column_stack([patterns.of[distinct], -tally])
    if (kinds[:, 0] < 0).any():
        raise ValueError("every answer must be about a row that is read")
    kinds, counts = np.unique(kinds, axis=0, return_counts=True)
    given = -kinds[:, 1:]
    wrong = label_noise / patterns.classes
    others = given.sum(axis=1, keepdims=True) - given
    likelihood = _powers(1 - label_noise + wrong, given) * _powers(wrong, others)
    if (likelihood.sum(axis=1) == 0).any():
        raise ValueError("without label_noise, all answers to one row must be the same")
    return Readings(kinds[:, 0], likelihood / likelihood.max(axis=1, keepdims=True, initial=0.0), counts, distinct)


def _powers(base: float, exponents: Ints) -> Floats:
    """By multiplication, which rounds alike on every processor; `**` does not, and `seed` hashes every bit."""
    return np.asarray(np.cumprod([1.0, *[base] * int(exponents.max(initial=0))])[exponents])
