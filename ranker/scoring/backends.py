"""Agreement of attribution backends that read the same rows of the same models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from factors.types import Attributions, Floats
from ranker.results.agreement import Agreement
from ranker.results.table import ScoreTable
from ranker.scoring.score import averages
from ranker.statistics.correlation import spearman


def agreements(
    attributions: Mapping[str, Sequence[Attributions]], factors: Mapping[str, Mapping[str, str]], table: ScoreTable
) -> Iterator[Agreement]:
    """Compare each two backends.

    Args:
        attributions: backend -> of each model and row, in one order.
        factors: backend -> factor -> the name of its column, read from this backend's attributions.
        table: scores of the models.
    """
    means = averages(table)
    for a, b in combinations(attributions, 2):
        rows = (_of_words(*pair) for pair in zip(attributions[a], attributions[b], strict=True))
        correlations = [correlation for correlation in rows if correlation is not None]
        yield Agreement(
            a,
            b,
            float(np.mean(correlations)) if correlations else None,
            {
                name: _rank_correlation(*(_values(means, factors[backend][name]) for backend in (a, b)))
                for name in factors[a]
                if name in factors[b]
            },
        )


def _values(means: Sequence[Mapping[str, float | None]], column: str) -> Floats:
    """Return (M,) the models' mean values by a factor; nan where there is none."""
    return np.array([mean.get(column) for mean in means], dtype=np.float64)


def _of_words(a: Attributions, b: Attributions) -> float | None:
    """Return the rank correlation of the words' scores toward one label; None if they are about two of three."""
    if a.target != b.target and len(a.probs) > 2:
        return None
    words = min(len(a.word_scores), len(b.word_scores))
    return _rank_correlation(a.word_scores[:words], b.toward(a.target).word_scores[:words])


def _rank_correlation(first: Floats, second: Floats) -> float | None:
    """Return Spearman's rho where both are defined; None for fewer than three, or where one is the same for all."""
    defined = ~(np.isnan(first) | np.isnan(second))
    return spearman(first[defined], second[defined]).value
