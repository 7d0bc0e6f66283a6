"""Posterior of a metric of all rows together, from few references and the likeness of answers, such as corpus BLEU.

The metric is a function of means of statistics. Some follow from answers alone, as their length, and are known on the
whole pool. Some follow from targets alone, as the reference's length; their mean is that of the labelled rows. The
others are *matches*, which answer and target give together: ANCHORS (`ranker.statistics.likeness`) tells how far the
models are apart in each of them, and the labelled rows tell the level.

In each draw the labelled rows have weights Dirichlet(1, ..., 1) for all levels together. Differences are normal, with
the mean and covariance of ANCHORS' mixture, and the same standard normals for all matches: one word more that is right
is also a sequence of words that is right. Drawn apart from each other they would be too bold (docs/results/anchors.md).

Axis letters as in `ranker.statistics.likeness`: M models, N rows, K labelled rows, S draws; k statistics.

Source: the weights, Rubin 1981, "The Bayesian bootstrap".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics.draws import Draws, kinds_of, sample_count
from ranker.statistics.likeness import Anchors, infer_differences

LEAST = 1e-6
"""Least mean of a match that is drawn: its logarithm may be taken."""


@dataclass(frozen=True, eq=False)
class Matches:
    """Statistics of answers on a pool, and of a few labelled rows.

    Attributes:
        alike: (M, A, N, k) statistics of each model's answers, were those of another model the truth; then of answers
            that are not ranked.
        labelled: (M, K, k) statistics on the labelled rows.
        rows: (K,) these rows, each once; one or more.
        matched: places of the statistics that answer and target give together.
        of_targets: places of those that targets give alone.
        value: (..., k) means of statistics -> (...) values, higher is better.
        families: (M,) names of the models' families; counts of matches have no distance by which to find them.
        trusted: as in `ranker.statistics.likeness.Anchors`.
    """

    alike: Floats
    labelled: Floats
    rows: Ints
    matched: tuple[int, ...]
    of_targets: tuple[int, ...]
    value: Callable[[Floats], Floats]
    families: tuple[str, ...]
    trusted: tuple[bool, ...] = ()

    @property
    def of_models(self) -> Matches:
        """The same without answers that are not ranked."""
        return replace(self, alike=self.alike[:, : len(self.alike)], trusted=())


def draw(evidence: Matches, rng: np.random.Generator, samples: int = 0) -> Draws:
    """Draw models' values of the metric in the domain that the pool is a random sample of.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> right = rng.random((3, 40)) < [[0.9], [0.7], [0.4]]
        >>> answers = np.where(right, 0, rng.integers(1, 5, (3, 40)))
        >>> alike = (answers[:, None] == answers).astype(float)[..., None]
        >>> known, of_first = right[:, :5, None] * 1.0, lambda means: means[..., 0]
        >>> evidence = Matches(alike, known, np.arange(5), (0,), (), of_first, ("a", "b", "c"))
        >>> draw(evidence, rng).order.tolist()
        [0, 1, 2]
    """
    models = len(evidence.alike)
    samples = samples or sample_count(models)
    weights = rng.dirichlet(np.ones(len(evidence.rows)), samples)
    normals = rng.standard_normal((samples, models))
    diagonal = np.arange(models)
    means = np.repeat(evidence.alike[diagonal, diagonal].mean(axis=1)[None], samples, axis=0)
    for place in evidence.of_targets:
        means[..., place] = (weights @ evidence.labelled[0, :, place])[:, None]
    for place in evidence.matched:
        alike, labelled = evidence.alike[..., place], evidence.labelled[..., place]
        unit = max(float(alike.max()), 1.0)
        anchors = Anchors(alike / unit, evidence.families, evidence.trusted)
        differences = infer_differences(anchors, labelled / unit, evidence.rows, domain=True)
        sizes, axes = np.linalg.eigh(differences.covariance)
        leads = differences.score + normals @ (axes * np.sqrt(np.maximum(sizes, 0))) @ axes.T
        means[..., place] = np.maximum((weights @ labelled.mean(axis=0))[:, None] + unit * leads, LEAST)
    answers = [evidence.alike.reshape(models, -1), evidence.labelled.reshape(models, -1)]
    return Draws(evidence.value(means), int(rng.integers(2**32)), kinds_of(np.concatenate(answers, axis=1)))
