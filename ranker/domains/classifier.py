"""Tell two domains apart by their words: a cross-validated logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from factors.types import Floats
from ranker.domains.statistics import shift
from ranker.domains.words import AlignedWords
from ranker.statistics.correlation import DistanceMeasure

FOLDS = 5

MAX_TEXTS_PER_DOMAIN = 5_000
"""Texts of each domain that the classifier sees, at most; drawn at random, equally many of each."""

LISTED_WORDS = 20
"""Most telling words listed for each domain."""


class DomainClassification(NamedTuple):
    """Outcome of classifying the texts of two domains.

    Attributes:
        auc: P(a new text scores higher than an in-domain one), on held-out texts; 0.5 is chance.
        first, second: the words that mark each domain, the most telling first.
    """

    auc: DistanceMeasure
    first: tuple[str, ...]
    second: tuple[str, ...]


def classify_domains(
    word_pair: AlignedWords, groups: tuple[Sequence[str], Sequence[str]], rng: np.random.Generator
) -> DomainClassification:
    """Fit a classifier on words and measure its AUC on held-out texts.

    TF-IDF, logistic regression with scikit-learn's defaults, and the mean AUC over five folds. Texts of one group stay
    in one fold, so that a copy never gives a text away.

    Args:
        groups: (N,) and (O,) a key that texts of one group share, such as the premise of several hypotheses.
        rng: draws texts and folds.

    Returns:
        The outcome; an empty one if a domain has fewer groups of its own than there are folds.

    Source: Ben-David et al. 2007, "Analysis of representations for domain adaptation" (the classifier); Kifer,
    Ben-David, Gehrke 2004, "Detecting change in data streams".
    """
    from scipy.sparse import vstack

    drawing, folding, resampling = rng.spawn(3)
    size = min(MAX_TEXTS_PER_DOMAIN, *map(len, groups))
    rows = [np.sort(drawing.permutation(len(keys))[:size]) for keys in groups]
    texts: Any = vstack([counts[sample] for counts, sample in zip(word_pair.counts, rows, strict=True)], "csr")
    keys = [domain_keys[row] for domain_keys, sample in zip(groups, rows, strict=True) for row in sample]
    _, group = np.unique(np.array(keys, dtype=object).astype(str), return_inverse=True)
    new = np.repeat([0.0, 1.0], size)
    folds = _balanced(group, new, folding)
    if folds is None or not texts.nnz:
        return DomainClassification(DistanceMeasure("auc", None, None, None), (), ())
    scores = np.empty(2 * size)
    for fold in range(FOLDS):
        inside = folds == fold
        scores[inside] = _model().fit(texts[~inside], new[~inside]).decision_function(texts[inside])
    weights = np.concatenate([*shift.resamples(resampling, 2 * size)])
    weights = np.concatenate([np.ones((1, 2 * size)), weights])
    areas = np.mean(
        [shift.auc(scores[folds == fold], new[folds == fold], weights[:, folds == fold]) for fold in range(FOLDS)],
        axis=0,
    )
    coefficients: Floats = _model().fit(texts, new)[-1].coef_[0]
    order = np.argsort(coefficients, kind="stable")
    return DomainClassification(
        shift.estimate("auc", float(areas[0]), areas[1:], 0.0, 1.0),
        tuple(word_pair.words[n] for n in order[:LISTED_WORDS] if coefficients[n] < 0),
        tuple(word_pair.words[n] for n in order[::-1][:LISTED_WORDS] if coefficients[n] > 0),
    )


def _balanced(group: Any, new: Floats, rng: np.random.Generator) -> Any:
    """Deal shuffled groups of each domain to (S,) folds in turn; return None if a fold lacks a domain."""
    membership = np.zeros(group.max() + 1)
    membership[group[new == 1]] += 2
    membership[group[new == 0]] += 1
    fold = np.empty(len(membership), dtype=np.int64)
    for kind in (1, 2, 3):
        members = rng.permutation(np.flatnonzero(membership == kind))
        fold[members] = np.arange(len(members)) % FOLDS
    folds = fold[group]
    present = {(int(number), bool(label)) for number, label in zip(folds, new, strict=True)}
    return folds if len(present) == 2 * FOLDS else None


def _model() -> Any:
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfTransformer(sublinear_tf=True), LogisticRegression(max_iter=1_000))
