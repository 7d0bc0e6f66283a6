"""Overlap of summaries with their documents: the eight measures of DomainSum, of one pair, and their means over pairs.

G_n is the list of n-grams with repeats, U_n their set; every share is the
mean over n = 1, 2, 3.

Source: Yuan and Zhang 2025, "DomainSum", section 3.2.1; fragments: Grusky, Naaman, Artzi 2018, "Newsroom", figure 4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from factors.types import Floats
from ranker.domains.statistics.shift import estimate, resampled_sums
from ranker.statistics.correlation import DistanceMeasure

MEASURES = (
    "document_length",
    "summary_length",
    "compression",
    "density",
    "document_diversity",
    "summary_diversity",
    "coverage",
    "abstractiveness",
)
"""Lengths in tokens; compression and density as multiples; the others are shares, from 0 to 1."""

SIZES = (1, 2, 3)


def measures(document: Sequence[Hashable], summary: Sequence[Hashable]) -> Floats:
    """Return (8,) measures of one document and its summary, as `MEASURES` names them.

    - compression: |D| / |S|
    - density: sum over fragments of their length squared / |S|; fragments are the longest stretches of S that stand in
      D, from left to right
    - diversity: |U_n| / |G_n|, of the document and of the summary
    - coverage: the n-grams of S that stand in D, each at most as often as there / |G_n(S)|
    - abstractiveness: the n-grams of S that do not stand in D at all / |G_n(S)|

    A size n for which a text is too short is left out of its mean; all are nan where one of the texts has no token.

    Example:
        >>> values = dict(zip(MEASURES, measures([1, 2, 3, 4, 5, 6], [2, 3, 7]).round(3).tolist()))
        >>> values["density"], values["coverage"], values["abstractiveness"], values["compression"]
        (1.333, 0.389, 0.611, 2.0)
    """
    if not document or not summary:
        return np.full(len(MEASURES), np.nan)
    diversity: list[list[float]] = [[], []]
    coverage, novel = [], []
    for n in SIZES:
        counts = [Counter(_grams(tokens, n)) for tokens in (document, summary)]
        for shares, grams in zip(diversity, counts, strict=True):
            if grams:
                shares.append(len(grams) / grams.total())
        in_document, in_summary = counts
        if in_summary:
            coverage.append((in_summary & in_document).total() / in_summary.total())
            new = sum(count for gram, count in in_summary.items() if gram not in in_document)
            novel.append(new / in_summary.total())
    density = sum(length**2 for length in fragments(document, summary)) / len(summary)
    shares = [float(np.mean(sizes)) for sizes in (*diversity, coverage, novel)]
    return np.array([len(document), len(summary), len(document) / len(summary), density, *shares])


def fragments(document: Sequence[Hashable], summary: Sequence[Hashable]) -> list[int]:
    """Return the lengths of the stretches that a summary takes from its document, greedily the longest at each place.

    Example:
        >>> fragments([1, 2, 3, 1, 2, 9], [1, 2, 9, 5, 3])
        [3, 1]
    """
    places: dict[Hashable, list[int]] = {}
    for place, token in enumerate(document):
        places.setdefault(token, []).append(place)
    lengths, start = [], 0
    while start < len(summary):
        longest = max(
            (_common(document, position, summary, start) for position in places.get(summary[start], ())), default=0
        )
        if longest:
            lengths.append(longest)
        start += max(longest, 1)
    return lengths


def means(
    pairs: Iterable[tuple[Sequence[Hashable], Sequence[Hashable]]], rng: np.random.Generator
) -> tuple[DistanceMeasure, ...]:
    """Return the mean of each of `MEASURES` over documents with their summaries; pairs without a token are left out."""
    values = np.array([measures(document, summary) for document, summary in pairs]).reshape(-1, len(MEASURES))
    values = values[~np.isnan(values).any(axis=1)]
    if not len(values):
        return ()
    drawn = resampled_sums(rng, values) / len(values)
    return tuple(
        estimate(name, float(values[:, n].mean()), drawn[:, n], 0.0, 1.0 if n > 3 else np.inf)
        for n, name in enumerate(MEASURES)
    )


def _grams(tokens: Sequence[Hashable], size: int) -> Iterable[tuple[Hashable, ...]]:
    return zip(*(tokens[shift:] for shift in range(size)), strict=False)


def _common(first: Sequence[Hashable], offset: int, second: Sequence[Hashable], start: int) -> int:
    """Count the tokens that are alike from two places on."""
    most = min(len(first) - offset, len(second) - start)
    return next((n for n in range(most) if first[offset + n] != second[start + n]), most)
