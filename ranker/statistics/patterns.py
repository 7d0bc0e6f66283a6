"""Rows of a pool grouped by the models' predictions, and the answers to some of these rows.

Rows on which every model predicts the same, and is as sure of it, are alike for a vote of the models. They form one
*pattern*. Axis letters as in `pool`, and U patterns, A answers, R kinds of labelled rows.
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
"""Most rows of a pool that are read. A larger pool is sampled, always alike, with all labelled rows."""

CONSTANT = 200
"""Rows after which a model that predicts one label on all of them counts as constant: another label is then predicted
on less than 1.5 % of a domain, with 95 % confidence. On fewer rows it may be one that follows a shortcut."""

STEP, ALIKE = 0.25, 4
"""Step of rounded strengths, so that the last digits of a probability change nothing, and 1 in these steps."""


@dataclass(frozen=True)
class Patterns:
    """Distinct rows of a pool, as the models' predictions show them.

    Attributes:
        predicted: (U, M) the label that each model predicts; -1 where it predicts none.
        counts: (U,) rows of the pool with each pattern.
        pattern_of_row: (N,) the pattern of each row; -1 for rows of a large pool that are not read.
        classes: C, the labels that a row may have.
        places: (M,) where each model stands in an order that no listing of the models changes.
        strength: (U, M) weight of each prediction, 1 on average, in single precision; None where all count alike.
        in_domain: (M,) in-domain accuracies, nan where unknown; None where all are.
    """

    predicted: Ints
    counts: Ints
    pattern_of_row: Ints
    classes: int
    places: Ints
    strength: Floats | None = None
    in_domain: Floats | None = None

    def ballots(self, chosen: Ints) -> tuple[Ints, Floats | None]:
        """Return the predictions on some of the patterns, and their strengths."""
        return self.predicted[chosen], None if self.strength is None else self.strength[chosen]

    @property
    def models(self) -> int:
        """M."""
        return int(self.predicted.shape[1])

    @cached_property
    def alike(self) -> Floats:
        """(M, M) share of rows on which two models predict the same label."""
        return np.asarray(_alike(self.predicted.T, self.classes, self.counts) / self.counts.sum())

    @cached_property
    def agreements(self) -> Floats:
        """(M, M) agreement of two models, corrected for chance: 0 for models that guess."""
        return np.asarray(np.round((self.classes * self.alike - 1) / (self.classes - 1), 9))

    @property
    def agreement(self) -> Floats:
        """(M,) each model's mean agreement with the others; of one model alone, 0."""
        total = self.agreements.sum(axis=1) - np.diagonal(self.agreements)
        return np.asarray(np.round(total / max(self.models - 1, 1), 9))

    @property
    def varied(self) -> Ints:
        """Models that may predict more than one label: not those that predict one on at least `CONSTANT` rows."""
        differing = (self.predicted != self.predicted[0]).any(axis=0)
        return np.flatnonzero(differing | (self.counts.sum() < CONSTANT))

    @cached_property
    def usual(self) -> Floats:
        """(M, C) mean vote of each model for each label, over rows."""
        places = np.where(self.predicted < 0, self.classes, self.predicted) + (self.classes + 1) * np.arange(
            self.models
        )
        weights = self.counts[:, None] * (np.ones(self.predicted.shape) if self.strength is None else self.strength)
        total = np.bincount(places.ravel(), weights.ravel(), self.models * (self.classes + 1))
        return np.asarray(np.round(total.reshape(self.models, -1)[:, :-1] / self.counts.sum(), 9))

    def seed(self, readings: Readings) -> int:
        """Return a number that depends on the pool and the answers, but not on their order."""
        digest = self._digest.copy()
        for part in (readings.pattern, readings.likelihood, readings.counts, np.array([self.classes])):
            digest.update(np.ascontiguousarray(part).data)
        return int.from_bytes(digest.digest(), "little")

    @cached_property
    def _digest(self) -> hashlib.blake2b:
        """Hash of the pool."""
        digest = hashlib.blake2b(digest_size=16)
        order = np.argsort(self.places)
        strength = () if self.strength is None else (self.strength[:, order],)
        for part in (self.predicted[:, order], self.counts, *strength):
            digest.update(np.ascontiguousarray(part).data)
        return digest


@dataclass(frozen=True)
class Readings:
    """Answers to rows of a pool. Rows of one pattern with the same answers are of one kind.

    Attributes:
        pattern: (R,) the pattern of each kind of labelled rows.
        likelihood: (R, C) likelihood of the answers to such a row under each true label, up to a factor.
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
    in_domain: Floats | None = None,
) -> Patterns:
    """Group the rows of a pool into patterns.

    Args:
        predicted: (M, N) the label that each model predicts on each row; below 0 where it predicts none.
        classes: C.
        labelled: rows that are read in any case.
        most: how many rows are read, beside these.
        strength: (M, N) weight of each prediction, 1 on average; None where all count alike. See `Pool.strength`.
        in_domain: (M,) in-domain accuracies, nan where unknown; None where all are.

    Returns:
        The patterns. The order of the models affects only the columns of `predicted`. The order of rows has no effect
        where all are read, unless two models predict each label equally often and agree with the others alike.

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
    rows_read = _read(small.shape[1], np.zeros(0, dtype=np.int64) if labelled is None else labelled, most)
    small = small[:, rows_read]
    steps = np.full(small.shape, ALIKE, dtype=np.int16)
    if strength is not None:
        steps[small >= 0] = np.rint(strength[:, rows_read] / STEP)[small >= 0]
    order = _order(small, steps, classes, in_domain)
    alike = bool((steps == ALIKE).all())
    columns = small[order] if alike else np.concatenate([small[order], steps[order]])
    kinds, pattern, counts = np.unique(columns.T, axis=0, return_inverse=True, return_counts=True)
    places = np.argsort(order)
    pattern_of_row = np.full(predicted.shape[1], -1)
    pattern_of_row[rows_read] = pattern.reshape(-1)
    counted: Floats | None = None if alike else np.asarray(kinds[:, len(small) :][:, places] * STEP, dtype=np.float32)
    return Patterns(kinds[:, places].astype(np.int64), counts, pattern_of_row, classes, places, counted, in_domain)


def _read(rows: int, labelled: Ints, most: int) -> Ints:
    """Return the rows that are read: all, or a sample with the labelled ones."""
    if rows <= most + len(labelled):  # a pool that is read as a sample of so many, and its labelled rows
        return np.arange(rows)
    sample = np.random.default_rng(0).choice(rows, most, replace=False)
    return np.union1d(sample, labelled)


def _order(
    predicted: npt.NDArray[np.int16], steps: npt.NDArray[np.int16], classes: int, in_domain: Floats | None
) -> Ints:
    """Return (M,) the models, sorted by their predictions, how sure they are of them, and their accuracy in-domain."""
    often = np.stack([(predicted == c).sum(axis=1) for c in range(classes)], axis=1)
    alike = np.sort(_alike(predicted, classes, np.ones(predicted.shape[1])), axis=1)
    accuracies = np.zeros(len(predicted)) if in_domain is None else np.nan_to_num(in_domain, nan=-1)
    keys = [
        (*a.tolist(), *b.tolist(), labels.tobytes(), sure.tobytes(), accuracy)
        for a, b, labels, sure, accuracy in zip(often, alike, predicted, steps, accuracies, strict=True)
    ]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__))


def _alike(predicted: npt.NDArray[np.integer[Any]], classes: int, counts: Floats | Ints) -> Floats:
    """Return (M, M) counts of rows on which two models predict the same label."""
    total = np.zeros((len(predicted), len(predicted)))
    for label in range(classes):
        has_label = (predicted == label).astype(np.float32)
        total += (has_label * counts.astype(np.float32)) @ has_label.T
    return total


def gather_answers(patterns: Patterns, rows: Ints, labels: Ints, label_noise: float = 0.0) -> Readings:
    """Gather the answers: a row with several answers has several noisy readings of one label.

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
    distinct, places = np.unique(rows, return_inverse=True)
    tally = np.zeros((len(distinct), patterns.classes), dtype=np.int64)
    np.add.at(tally, (places.reshape(-1), labels), 1)
    kinds = np.column_stack([patterns.pattern_of_row[distinct], -tally])
    if (kinds[:, 0] < 0).any():
        raise ValueError("every answer must be about a row that is read")
    kinds, counts = np.unique(kinds, axis=0, return_counts=True)
    counts_of_labels = -kinds[:, 1:]
    wrong = label_noise / patterns.classes
    counts_of_others = counts_of_labels.sum(axis=1, keepdims=True) - counts_of_labels
    likelihood = _powers(1 - label_noise + wrong, counts_of_labels) * _powers(wrong, counts_of_others)
    if (likelihood.sum(axis=1) == 0).any():
        raise ValueError("without label_noise, all answers to one row must be the same")
    return Readings(kinds[:, 0], likelihood / likelihood.max(axis=1, keepdims=True, initial=0.0), counts, distinct)


def _powers(base: float, exponents: Ints) -> Floats:
    """Compute powers by multiplication, which rounds alike on every processor, unlike `**`: `seed` hashes every bit."""
    return np.asarray(np.cumprod([1.0, *[base] * int(exponents.max(initial=0))])[exponents])
