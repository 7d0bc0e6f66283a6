"""How well words tell two domains apart: a logistic regression, cross-validated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from factors.types import Floats
from ranker.domains.words import Both
from ranker.statistics import shift
from ranker.statistics.shift import DistanceMeasure

FOLDS = 5

MOST = 5_000
"""Texts of each domain, at most, drawn at random; as many of each."""

TELLING = 20
"""Words that are listed of each domain."""


class DomainClassification(NamedTuple):
    """What a classifier makes of two domains.

    Attributes:
        auc: P(it takes a new text rather for new than an in-domain one), on texts that it was not fitted on; 0.5 where
            it cannot tell.
        first, second: the words that give each domain away, the most telling first.
    """

    auc: DistanceMeasure
    first: tuple[str, ...]
    second: tuple[str, ...]


UNTOLD = DomainClassification(DistanceMeasure("auc", None, None, None), (), ())


def classify_domains(
    of: Both, groups: tuple[Sequence[str], Sequence[str]], rng: np.random.Generator
) -> DomainClassification:
    """Fit a classifier of words, and see how well it does on texts that it has not seen.

    TF-IDF, logistic regression with scikit-learn's own settings, and the mean AUC over five folds. Texts of one group
    are in one fold, so that no text is told by its copy.

    Args:
        of: the two domains.
        groups: (N,) and (O,) what texts that belong together share, such as the premise of several hypotheses.
        rng: draws texts and folds.

    Returns:
        What it tells; nothing where one of the domains has fewer groups of its own than there are folds.

    Source: Ben-David et al. 2007, "Analysis of representations for domain adaptation" (the classifier); Kifer,
    Ben-David, Gehrke 2004, "Detecting change in data streams".
    """
    from scipy.sparse import vstack

    drawing, folding, resampling = rng.spawn(3)
    size = min(MOST, *map(len, groups))
    rows = [np.sort(drawing.permutation(len(one))[:size]) for one in groups]
    texts: Any = vstack([counts[at] for counts, at in zip(of.counts, rows, strict=True)], "csr")
    named = [one[place] for one, at in zip(groups, rows, strict=True) for place in at]
    _, group = np.unique(np.array(named, dtype=object).astype(str), return_inverse=True)
    new = np.repeat([0.0, 1.0], size)
    folds = _balanced(group, new, folding)
    if folds is None or not texts.nnz:
        return UNTOLD
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
        tuple(of.words[n] for n in order[:TELLING] if coefficients[n] < 0),
        tuple(of.words[n] for n in order[::-1][:TELLING] if coefficients[n] > 0),
    )


def _balanced(group: Any, new: Floats, rng: np.random.Generator) -> Any:
    """(S,) the fold of each text: groups of one domain are dealt out in turn, in a random order.

    None where a fold would lack one of the domains.
    """
    own = np.zeros(group.max() + 1)
    own[group[new == 1]] += 2
    own[group[new == 0]] += 1
    fold = np.empty(len(own), dtype=np.int64)
    for kind in (1, 2, 3):
        members = rng.permutation(np.flatnonzero(own == kind))
        fold[members] = np.arange(len(members)) % FOLDS
    found = fold[group]
    there = {(int(one), bool(label)) for one, label in zip(found, new, strict=True)}
    return found if len(there) == 2 * FOLDS else None


def _model() -> Any:
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfTransformer(sublinear_tf=True), LogisticRegression(max_iter=1_000))
