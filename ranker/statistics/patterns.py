"""Rows of a pool grouped by the models' predictions, and the answers to some of these rows.

Rows on which every model predicts the same, and is as sure of it, are alike for a vote of the models. They form one
*pattern*. Some models only vote: they come last, and are not ranked. Axis letters as in `pool`, and U patterns, A
answers, R kinds of labelled rows, V models of which the first M are ranked.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from factors.types import Bools, Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ROWS = 20_000
"""Most rows of a pool that are read. A larger pool is sampled, always alike, with all labelled rows."""

CONSTANT = 200
"""Rows after which a model that predicts one label on all of them counts as constant: another label is then predicted
on less than 1.5 % of a domain, with 95 % confidence. On fewer rows it may be one that follows a shortcut."""

TINY = 1e-9
"""Floor that avoids division by zero."""

LEAST_SPREAD = 0.05
"""Floor of the standard deviation of the ranked models' mean kappas: less is noise on some hundred rows."""

TRUSTED = 2.0
"""Weight in the vote of a model that is known to be better than those that are ranked."""

STEP, ALIKE = 0.25, 4
"""Step of rounded strengths, so that the last digits of a probability change nothing, and 1 in these steps."""


@dataclass(frozen=True)
class Patterns:
    """Distinct rows of a pool, as the models' predictions show them.

    Attributes:
        predicted: (U, V) the label that each model predicts; -1 where it predicts none.
        counts: (U,) rows of the pool with each pattern.
        pattern_of_row: (N,) the pattern of each row; -1 for rows of a large pool that are not read.
        classes: C, the labels that a row may have.
        places: (V,) where each model stands in an order that no listing of the models changes.
        models: M, the first, which are ranked.
        say: (V,) part of its weight in the vote that the pool leaves to each model. See `says`.
        origins: (V,) places of the models among those that were given, of which some had no say.
        strength: (U, V) weight of each prediction, 1 on average, in single precision; None where all count alike.
        in_domain: (V,) in-domain accuracies, nan where unknown; None where all are.
    """

    predicted: Ints
    counts: Ints
    pattern_of_row: Ints
    classes: int
    places: Ints
    models: int
    say: Floats
    origins: Ints
    strength: Floats | None = None
    in_domain: Floats | None = None

    def ballots(self, chosen: Ints) -> tuple[Ints, Floats | None]:
        """Return the predictions on some of the patterns, and their strengths."""
        return self.predicted[chosen], None if self.strength is None else self.strength[chosen]

    @property
    def voters(self) -> int:
        """V."""
        return int(self.predicted.shape[1])

    @cached_property
    def alike(self) -> Floats:
        """(V, V) share of rows on which two models predict the same label."""
        return np.asarray(_alike(self.predicted.T, self.classes, self.counts) / self.counts.sum())

    @cached_property
    def agreements(self) -> Floats:
        """(V, V) agreement of two models, corrected for chance: 0 for models that guess."""
        return np.asarray(np.round((self.classes * self.alike - 1) / (self.classes - 1), 9))

    @property
    def agreement(self) -> Floats:
        """(V,) each model's mean agreement with the others, as far as these have a say; of one model alone, 0."""
        total = (self.agreements * self.say).sum(axis=1) - np.diagonal(self.agreements) * self.say
        return np.asarray(np.round(total / np.maximum(self.say.sum() - self.say, 1), 9))

    @property
    def varied(self) -> Ints:
        """Ranked models that may predict more than one label: not those that predict one on `CONSTANT` rows or more."""
        predicted = self.predicted[:, : self.models]
        differing = (predicted != predicted[0]).any(axis=0)
        return np.flatnonzero(differing | (self.counts.sum() < CONSTANT))

    @cached_property
    def usual(self) -> Floats:
        """(V, C) mean vote of each model for each label, over rows."""
        places = np.where(self.predicted < 0, self.classes, self.predicted) + (self.classes + 1) * np.arange(
            self.voters
        )
        weights = self.counts[:, None] * (np.ones(self.predicted.shape) if self.strength is None else self.strength)
        total = np.bincount(places.ravel(), weights.ravel(), self.voters * (self.classes + 1))
        return np.asarray(np.round(total.reshape(self.voters, -1)[:, :-1] / self.counts.sum(), 9))

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
        unranked = () if self.voters == self.models else (np.array([self.models]),)
        for part in (self.predicted[:, order], self.counts, *strength, *unranked):
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
    strength: Floats | None = None,
    in_domain: Floats | None = None,
    trusted: Bools | None = None,
) -> Patterns:
    """Group the rows of a pool into patterns, without the models that have no say.

    The order of the models affects only the columns of `predicted`. The order of rows has no effect where all are read,
    unless two models predict each label equally often and agree with the others alike.

    Args:
        predicted: (V, N) the label that each model predicts on each row; below 0 where it predicts none.
        labelled: rows that are read in any case, beside `ROWS` others.
        strength: (V, N) weight of each prediction, 1 on average; None where all count alike. See `Pool.strength`.
        in_domain: (V,) in-domain accuracies, nan where unknown; None where all are.
        trusted: of the last models, which only vote, whether each is known to be better; None where all are ranked.

    Raises:
        ValueError: no model, no row, or a label that is none of the classes.

    Example:
        >>> fold(np.array([[0, 1, 1, 0], [0, 0, 0, 0]]), 2).counts.tolist()
        [2, 2]
    """
    if predicted.ndim != 2 or not predicted.size:
        raise ValueError(f"predicted must have the shape (V, N), with V >= 1 and N >= 1 (got {predicted.shape})")
    if predicted.max() >= classes:
        raise ValueError(f"predicted must be labels below {classes} (got {predicted.max()})")
    small = np.maximum(predicted, -1).astype(np.int16)
    rows_read = _read(small.shape[1], np.zeros(0, dtype=np.int64) if labelled is None else labelled)
    small = small[:, rows_read]
    steps = np.full(small.shape, ALIKE, dtype=np.int16)
    if strength is not None:
        steps[small >= 0] = np.rint(strength[:, rows_read] / STEP)[small >= 0]
    ranked = len(small) if trusted is None else len(small) - len(trusted)
    say = says(small, classes, ranked)
    if trusted is not None:
        say[ranked:] = np.where(trusted, TRUSTED, say[ranked:])
    origins = np.flatnonzero(say)
    small, steps, say = small[origins], steps[origins], say[origins]
    in_domain = None if in_domain is None else in_domain[origins]
    order = _order(small, steps, classes, in_domain, ranked)
    alike = bool((steps == ALIKE).all())
    columns = small[order] if alike else np.concatenate([small[order], steps[order]])
    kinds, pattern, counts = np.unique(columns.T, axis=0, return_inverse=True, return_counts=True)
    places = np.argsort(order)
    pattern_of_row = np.full(predicted.shape[1], -1)
    pattern_of_row[rows_read] = pattern.reshape(-1)
    counted: Floats | None = None if alike else np.asarray(kinds[:, len(small) :][:, places] * STEP, dtype=np.float32)
    of_models = kinds[:, places].astype(np.int64)
    return Patterns(of_models, counts, pattern_of_row, classes, places, ranked, say, origins, counted, in_domain)


def says(predicted: npt.NDArray[np.integer[Any]], classes: int, models: int) -> Floats:
    """Return (V,) parts of its weight in the vote that a pool leaves to each model: 1 to those that are ranked.

    A model that is not ranked is weak where it agrees with the ranked ones less than most of them do with each other.
    With its mean Cohen's kappa t with them, and the mean a and standard deviation d of their own, its part is

        (t - max(a - d / 2, 0)) / d, from 0 to 1.

    So it has no say where it guesses, contradicts them or predicts one label, nor where it repeats another.

    Args:
        predicted: (V, N) predicted labels; below 0 for none.
        models: M, the first, which are ranked.

    Example:
        >>> ranked = [[0, 1, 1, 0, 1, 0], [0, 1, 1, 0, 0, 1]]
        >>> others = [[0, 1, 1, 0, 1, 1], [1, 0, 0, 1, 0, 1], [0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 1, 0]]
        >>> says(np.array(ranked + others), 2, 2).tolist()
        [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    """
    say = np.ones(len(predicted))
    if len(predicted) > models:
        rows = predicted.shape[1]
        shares = np.stack([(predicted == label).sum(axis=1) for label in range(classes)], axis=1) / rows
        chance = shares @ shares[:models].T
        kappas = (_alike(predicted, classes, np.ones(rows))[:, :models] / rows - chance) / np.maximum(1 - chance, TINY)
        total = kappas.sum(axis=1)
        usual = (total[:models] - np.diagonal(kappas)) / max(models - 1, 1)
        spread = max(float(usual.std()), LEAST_SPREAD)
        least = max(float(usual.mean()) - spread / 2, 0.0)
        lent = np.clip((total[models:] / models - least) / spread, 0.0, 1.0)
        first = np.unique(predicted, axis=0, return_index=True)[1]
        say[models:] = np.where(np.isin(np.arange(models, len(say)), first), np.round(lent, 9), 0.0)
    return say


def _read(rows: int, labelled: Ints) -> Ints:
    """Return the rows that are read: all, or a sample with the labelled ones."""
    if rows <= ROWS + len(labelled):  # a pool that is read as a sample of so many, and its labelled rows
        return np.arange(rows)
    sample = np.random.default_rng(0).choice(rows, ROWS, replace=False)
    return np.union1d(sample, labelled)


def _order(
    predicted: npt.NDArray[np.int16], steps: npt.NDArray[np.int16], classes: int, in_domain: Floats | None, ranked: int
) -> Ints:
    """Return (V,) the models, sorted by their predictions, how sure they are of them, and their accuracy in-domain."""
    often = np.stack([(predicted == c).sum(axis=1) for c in range(classes)], axis=1)
    alike = np.sort(_alike(predicted, classes, np.ones(predicted.shape[1])), axis=1)
    unranked = np.arange(len(predicted)) >= ranked
    accuracies = np.zeros(len(predicted)) if in_domain is None else np.nan_to_num(in_domain, nan=-1)
    keys = [
        (votes_only, *a.tolist(), *b.tolist(), labels.tobytes(), sure.tobytes(), accuracy)
        for votes_only, a, b, labels, sure, accuracy in zip(
            unranked, often, alike, predicted, steps, accuracies, strict=True
        )
    ]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__))


def _alike(predicted: npt.NDArray[np.integer[Any]], classes: int, counts: Floats | Ints) -> Floats:
    """Return (M, M) counts of rows on which two models predict the same label."""
    total = np.zeros((len(predicted), len(predicted)))
    for label in range(classes):
        has_label = (predicted == label).astype(np.float32)
        total += (has_label * counts.astype(np.float32)) @ has_label.T
    return total


def answers_given(predictions: Ints, classes: int) -> csr_array:
    """Return (u, (C + 1) V) 1 where a model has an answer to a row, the last of which is silence; V columns an answer.

    Example:
        >>> answers_given(np.array([[0, 1], [1, -1]]), 2).toarray().astype(int).tolist()
        [[1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1]]
    """
    from scipy.sparse import csr_array

    rows, voters = predictions.shape
    places = np.where(predictions < 0, classes, predictions) * voters + np.arange(voters)
    ends = np.arange(0, places.size + 1, voters)
    return csr_array((np.ones(places.size), places.ravel(), ends), (rows, (classes + 1) * voters))


def gather_answers(patterns: Patterns, rows: Ints, labels: Ints, label_noise: float = 0.0) -> Readings:
    """Gather (A,) answers, sorted by pattern and label: several to one row are noisy readings of one label.

    An answer is the true label with probability 1 - e + e / C and each other one with e / C, e the label noise.

    Args:
        rows: (A,) the row of the pool that each answer is about, in any order.

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
