"""Other ways to pick rows whose labels tell which model is best, from their papers, to be compared with.

ModelPicker: Karimi et al. 2021, "Online active model selection for pre-trained classifiers"; for a pool, as here:
Okanovic et al. 2025, "All models are wrong, some are useful: model selection with limited labels", section 3. One model
is taken for the best; on each row the best is wrong with probability ERROR, and any other is right by chance. The next
row is the one whose label leaves the least entropy over which model that is, each label taken to be as probable.

CODA: Kay et al. 2025, "Consensus-driven active model selection", section 4. Each row of a model's confusion matrix has
a Dirichlet prior: a diagonal one, and a share of what the consensus of the models says of it. The next row is the one
whose label is expected to lower the entropy of P(best) most. P(best) is by label: the chance that a model's recall is
the greatest, averaged over labels by how frequent they are.

Select-LLM: Durmazkeser et al. 2026, "Large language model selection with limited annotations", arXiv 2605.24981. Each
model is the best with a probability that grows with the sum of its outcomes, p_m ~ exp(sum of outcomes / TEMPERATURE).
The next row is the one on which two answers, each of a model drawn from p, are expected to be least alike. We had the
abstract, and others' account of equations 5 and 7 for labels, where likeness is equality; that the rule is the same for
other likenesses, and the temperature, are ours.

LLM Selector: Durmazkeser et al. 2025, "Active model selection for large language models", arXiv 2510.09418. An answer
is worse than a baseline's, as good, or better; with what probability each is true of the best model are two parameters.
The next row is the one that is expected to tell most of which model is the best, by the opinion of weak judges. We had
the abstract and others' account of it, so for labels this is as we read it: of two answers the right one is better, the
judges are the models' own answers, and the baseline and the parameters are ours.

LURE: Kossen et al. 2021, "Active testing: sample-efficient model evaluation", equations 5 and 6. Rows are drawn, each
with a probability in proportion to the loss that is expected of all models if a model's answer is the truth; the losses
on them are weighted so that their mean is unbiased (Farquhar et al. 2021). Rows on which all models answer alike are
drawn last: there the loss of all models is the same, so the differences between models stay unbiased.

ModelPicker, CODA and LLM Selector look at predicted labels alone, the others at likenesses (M, M, N) of answers, as in
`ranker.statistics.likeness`. Axis letters as in `ranker.statistics.engine`, and G points of a grid.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import betaln

from factors.types import Floats, Ints

ERROR = 0.46
"""How often the best model is wrong: the middle of what the papers tuned it to by set."""

DIAGONAL, CONSENSUS, STRENGTH = 2.0, 0.1, 0.01
"""CODA's constants: the strength of the prior, the consensus' share of it, and what one label adds."""

TEMPERATURE = 1.0
"""Of Select-LLM."""

WORSE, EQUAL = 0.2, 0.3
"""How often the best model's answer is worse than the baseline's, and as good: LLM Selector's parameters."""

GRID = 256
"""Points of CODA's integrals."""

TINY = 1e-30
"""The least probability that has a logarithm."""


class Picker(ABC):
    """A method that picks rows one after the other, and scores the models by their labels."""

    labelled: list[int]

    @property
    @abstractmethod
    def score(self) -> Floats:
        """(M,) what the method ranks by."""

    @abstractmethod
    def next(self) -> int:
        """Return the next row."""

    def best(self) -> int:
        """Return the model that is estimated to be best."""
        return int(self.score.argmax())


@dataclass
class ModelPicker(Picker):
    """State: predicted (M, N), classes C; the labelled rows, right predictions of each model, and log-likelihoods."""

    predicted: Ints
    classes: int
    right: Floats = field(init=False)
    logarithms: Floats = field(init=False)
    labelled: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.right = np.zeros(len(self.predicted))
        self.logarithms = np.zeros(len(self.predicted))

    @property
    def probabilities(self) -> Floats:
        """(M,) that a model is the best."""
        return _shares(self.logarithms)

    @property
    def score(self) -> Floats:
        """(M,) how often each model was right."""
        return self.right

    def next(self) -> int:
        """Return the next row: the first of the best, among those on which the models differ if there are any."""
        left = np.zeros(self.predicted.shape[1])
        for label in range(self.classes):
            after = _shares(self.logarithms[:, None] + self.evidence(label))
            left += entropy(after) * self.chance(label)
        left[(self.predicted == self.predicted[0]).all(axis=0)] = np.inf
        left[self.labelled] = np.nan
        return int(np.nanargmin(left))

    def chance(self, label: int) -> Floats:
        """Return (N,) how probable a label is taken to be on each row."""
        return np.full(self.predicted.shape[1], 1 / self.classes)

    def evidence(self, label: int) -> Floats:
        """Return (M, N) the log-likelihood of a label on each row, were the model the best."""
        return np.asarray((self.predicted == label) * np.log((1 - ERROR) / ERROR))

    def tell(self, row: int, label: int) -> None:
        """Take in the label of a row."""
        self.labelled.append(row)
        self.right = self.right + (self.predicted[:, row] == label)
        self.logarithms = self.logarithms + self.evidence(label)[:, row]


@dataclass
class LLMSelector(ModelPicker):
    """State: that of ModelPicker."""

    @cached_property
    def baseline(self) -> int:
        """The model that agrees with the others most."""
        return int((self.predicted[:, None] == self.predicted).sum(axis=(1, 2)).argmax())

    def chance(self, label: int) -> Floats:
        """Return (N,) shares of the models that predict a label."""
        return np.asarray((self.predicted == label).mean(axis=0))

    def evidence(self, label: int) -> Floats:
        """Return (M, N) the log-likelihood of the comparison with the baseline, were the model the best."""
        right = (self.predicted == label).astype(np.int64)
        return np.asarray(np.log([WORSE, EQUAL, 1 - WORSE - EQUAL])[1 + right - right[self.baseline]])


@dataclass
class CODA(Picker):
    """State: predicted (M, N), classes C; counts (M, C, C) of each true and predicted label."""

    predicted: Ints
    classes: int
    counts: Floats = field(init=False)
    labelled: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        size = self.classes
        consensus = self.votes.sum(axis=0).argmax(axis=1)
        confused = np.einsum("nc,mnj->mcj", np.eye(size)[consensus], self.votes)
        confused /= np.maximum(confused.sum(axis=2, keepdims=True), 1e-6)
        diagonal = np.full((size, size), 1 / (size - 1))
        np.fill_diagonal(diagonal, 1.0)
        self.counts = DIAGONAL * (diagonal + CONSENSUS * confused)

    @cached_property
    def votes(self) -> Floats:
        """(M, N, C) 1 for the predicted label."""
        return np.eye(self.classes)[self.predicted]

    @property
    def labels(self) -> Floats:
        """(N, C) how probable each label of a row is."""
        votes = np.einsum("mcj,mnj->nc", self.counts, self.votes)
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    @property
    def frequency(self) -> Floats:
        """(C,) how frequent each label is."""
        totals = self.labels.sum(axis=0)
        return np.asarray(totals / totals.sum())

    @property
    def recall(self) -> tuple[Floats, Floats]:
        """(M, C) twice: the two numbers of the Beta distribution of each model's recall of each label."""
        right = np.diagonal(self.counts, axis1=1, axis2=2)
        return right, self.counts.sum(axis=2) - right

    @property
    def score(self) -> Floats:
        """(M,) the expected accuracy, which the paper does not rank by, but could."""
        right, wrong = self.recall
        return np.asarray(right / (right + wrong) @ self.frequency)

    def probabilities(self) -> Floats:
        """Return (M,) probabilities that a model is the best."""
        density, below = _beta(*self.recall)
        return np.asarray(_greatest(density.transpose(1, 0, 2), below.transpose(1, 0, 2)).T @ self.frequency)

    def best(self) -> int:
        """Return the model that is estimated to be best."""
        return int(self.probabilities().argmax())

    def next(self) -> int:
        """Return the next row: the first of the best, among those on which the models differ if there are any."""
        open_ = np.setdiff1d(np.arange(self.predicted.shape[1]), self.labelled)
        differ = open_[(self.predicted[:, open_] != self.predicted[0, open_]).any(axis=0)]
        rows = differ if len(differ) else open_
        return int(rows[self.gains(rows).argmax()])

    def gains(self, rows: Ints) -> Floats:
        """Return (R,) expected reductions of the entropy of P(best) by the label of a row, in bits."""
        distinct, first, back = np.unique(self.predicted[:, rows], axis=1, return_index=True, return_inverse=True)
        right, wrong = self.recall
        now = _beta(right, wrong)
        beliefs = [_beta(right, wrong + 1), _beta(right + 1, wrong)]  # had the model been wrong on the label, and right
        frequency, labels = self.frequency, self.labels[rows[first]]
        greatest = _greatest(*(densities.transpose(1, 0, 2) for densities in now))  # (C, M)
        before = frequency @ greatest
        left = np.zeros(distinct.shape[1])
        for label in range(self.classes):
            hit = (distinct == label).T[:, :, None]  # (R, M, 1)
            density, below = (np.where(hit, beliefs[1][k][:, label], beliefs[0][k][:, label]) for k in (0, 1))
            after = before + frequency[label] * (_greatest(density, below) - greatest[label])
            left += labels[:, label] * entropy(after.T)
        return np.asarray((entropy(before) - left)[back.ravel()])

    def tell(self, row: int, label: int) -> None:
        """Take in the label of a row."""
        self.labelled.append(row)
        self.counts[:, label] += STRENGTH * self.votes[:, row]


@dataclass
class SelectLLM(Picker):
    """State: similarity (M, M, N), as in `ranker.statistics.likeness`; the sums of outcomes."""

    similarity: Floats
    temperature: float = TEMPERATURE
    total: Floats = field(init=False)
    labelled: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.total = np.zeros(len(self.similarity))

    @cached_property
    def alike(self) -> Floats:
        """(M, M, N) similarity, and 1 of an answer with itself."""
        return np.where(np.eye(len(self.similarity), dtype=bool)[:, :, None], 1.0, self.similarity)

    @property
    def probabilities(self) -> Floats:
        """(M,) that a model is the best."""
        return _shares(self.total / self.temperature)

    @property
    def score(self) -> Floats:
        """(M,) sums of outcomes."""
        return self.total

    def next(self) -> int:
        """Return the next row: the first of those on which answers are least alike."""
        expected = np.einsum("m,k,mkn->n", self.probabilities, self.probabilities, self.alike, optimize=True)
        expected[self.labelled] = np.nan
        return int(np.nanargmin(expected))

    def tell(self, row: int, outcomes: Floats) -> None:
        """Take in the (M,) outcomes of a row."""
        self.labelled.append(row)
        self.total = self.total + outcomes


@dataclass
class LURE(Picker):
    """State: similarity (M, M, N); the labelled rows, with the losses on them and the probabilities to draw them."""

    similarity: Floats
    rng: np.random.Generator
    labelled: list[int] = field(default_factory=list)
    losses: list[Floats] = field(default_factory=list)
    drawn: list[float] = field(default_factory=list)

    @cached_property
    def expected_loss(self) -> Floats:
        """(N,) sums over models of the loss, were the answer of a random model the truth."""
        models = len(self.similarity)
        off_diagonal = ~np.eye(models, dtype=bool)
        return np.asarray((1 - self.similarity[off_diagonal]).sum(axis=0) / models)

    @property
    def chances(self) -> Floats:
        """(N,) probabilities that a row is the next: equal ones where no loss is expected any more."""
        open_ = np.ones(self.similarity.shape[2])
        open_[self.labelled] = 0
        weights = self.expected_loss * open_
        weights = weights if weights.sum() > TINY else open_
        return np.asarray(weights / weights.sum())

    @property
    def score(self) -> Floats:
        """(M,) estimates of the mean outcome: 1 less the weighted mean loss."""
        rows, size = self.similarity.shape[2], len(self.losses)
        left = rows - np.arange(1, size + 1)
        weights = 1 + (rows - size) / np.maximum(left, 1) * (1 / ((left + 1) * np.array(self.drawn)) - 1)
        return np.asarray(1 - weights @ np.array(self.losses) / size)

    def next(self) -> int:
        """Draw the next row."""
        return int(self.rng.choice(self.similarity.shape[2], p=self.chances))

    def tell(self, row: int, outcomes: Floats) -> None:
        """Take in the (M,) outcomes of a row."""
        self.drawn.append(float(self.chances[row]))
        self.labelled.append(row)
        self.losses.append(1 - outcomes)


def entropy(probabilities: Floats) -> Floats:
    """Return the entropy of (M, ...) distributions, in bits.

    Example:
        >>> float(entropy(np.array([0.5, 0.5])))
        1.0
    """
    clipped = np.maximum(probabilities, 1e-12)
    return np.asarray(-(clipped * np.log2(clipped)).sum(axis=0))


def _shares(logarithms: Floats) -> Floats:
    shares = np.exp(logarithms - logarithms.max(axis=0))
    return np.asarray(shares / shares.sum(axis=0))


def _beta(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return (..., G) densities of Beta distributions on a grid, and their integrals up to each point."""
    x = np.linspace(1e-6, 1 - 1e-6, GRID)
    alpha, beta = first[..., None], second[..., None]
    density = np.exp((alpha - 1) * np.log(x) + (beta - 1) * np.log1p(-x) - betaln(alpha, beta))
    steps = (density[..., 1:] + density[..., :-1]) / 2 * (x[1] - x[0])
    return density, np.concatenate([np.zeros_like(steps[..., :1]), np.cumsum(steps, axis=-1)], axis=-1)


def _greatest(density: Floats, below: Floats) -> Floats:
    """Return (..., M) probabilities that each of M independent numbers (..., M, G) is the greatest."""
    logarithms = np.log(np.maximum(below, TINY))
    other_models = np.exp(np.clip(logarithms.sum(axis=-2, keepdims=True) - logarithms, -80, 80))
    chances = np.trapezoid(density * other_models, dx=1 / GRID, axis=-1)
    return np.asarray(chances / np.maximum(chances.sum(axis=-1, keepdims=True), TINY))
