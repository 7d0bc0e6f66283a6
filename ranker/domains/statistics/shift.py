"""Distances between two samples, with intervals.

A sample is vectors of texts, or counts of words, or labels; the first is in-domain, the second new. Every measure is a
`DistanceMeasure`: its value, and value -+ 1.96 standard deviations over resampled texts, cut at the ends of its range.
(Percentiles of resampled values are not used: a resample has fewer words and further centroids than the sample.)

Axis letters here: N texts in-domain, O new ones, D dimensions, V words, C classes, R resamples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from factors.rounding import TIE
from factors.types import Bools, Floats, Ints
from ranker.statistics.correlation import DistanceMeasure
from ranker.statistics.engine import none_if_nan
from ranker.statistics.intervals import Z95

RESAMPLES = 200
"""Resamples behind an interval, and permutations behind a p-value: the least p is 1 / 201."""

BLOCK = 2**22
"""Most numbers in memory at once: 32 MB."""

PAIRS = 10_000
"""Pairs of vectors behind the median distance."""


def estimate(
    name: str, value: float, resampled: Floats, least: float = -np.inf, most: float = np.inf
) -> DistanceMeasure:
    """Return a value with its interval: value -+ 1.96 standard deviations of resampled values, cut at both ends.

    Args:
        value: of the samples themselves; nan where it is not defined.
        resampled: (R,) of resamples; those that are nan are left out.
        least, most: the range of the measure.

    Example:
        >>> measure = estimate("share", 0.9, np.array([0.8, 1.0]), most=1.0)
        >>> round(measure.low, 3), measure.high
        (0.623, 1.0)
    """
    values = resampled[~np.isnan(resampled)]
    half = Z95 * float(values.std(ddof=1)) if len(values) > 1 else np.nan
    low, high = np.maximum(value - half, least), np.minimum(value + half, most)
    return DistanceMeasure(name, none_if_nan(value), none_if_nan(low), none_if_nan(high))


def resamples(
    rng: np.random.Generator, size: int, count: int = RESAMPLES, at_once: int | None = None
) -> Iterator[Floats]:
    """Draw resamples with replacement, a block at a time: the count of each of N texts in each.

    Args:
        size: N.
        count: R.
        at_once: r; None for as many as `BLOCK` numbers hold, and at least 1.

    Yields:
        (r, N) counts that sum to N a row.

    Example:
        >>> [block.sum(axis=1).tolist() for block in resamples(np.random.default_rng(0), 5, 2)]
        [[5.0, 5.0]]
    """
    step = at_once or max(1, BLOCK // size)
    for start in range(0, count, step):
        rows = min(step, count - start)
        drawn = rng.integers(size, size=(rows, size)) + size * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * size).reshape(rows, size).astype(np.float64)


def resampled_sums(rng: np.random.Generator, values: Any, count: int = RESAMPLES) -> Floats:
    """Return (R, D) sums over resampled rows of (N, D) values, dense or a sparse matrix of scipy."""
    return np.concatenate([np.asarray(block @ values) for block in resamples(rng, values.shape[0], count)])


def cosine(first: Floats, second: Floats) -> Floats:
    """Return (...) cosines of the angles between (..., D) vectors; nan where one of them is 0.

    Example:
        >>> cosine(np.array([1.0, 0.0]), np.array([1.0, 1.0])).round(3).tolist()
        0.707
    """
    norms = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)
    return np.asarray((first * second).sum(axis=-1) / np.where(norms > 0, norms, np.nan))


def centroid_cosine(first: Floats, second: Floats, rng: np.random.Generator) -> DistanceMeasure:
    """Measure the cosine of the centroids of two sets of sentence vectors, from -1 to 1.

    The centroid of a small set is off by chance, so its cosine is rather too low: two halves of 20 texts are nearer
    than they look.

    Args:
        first, second: (N, D) and (O, D) vectors.

    Example:
        >>> a, b = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 1.0], [2.0, 2.0]])
        >>> round(centroid_cosine(a, b, np.random.default_rng(0)).value, 3)
        1.0

    Source: Yuan et al. 2023, "Revisiting out-of-distribution robustness in NLP" (BOSS), section 2.3.
    """
    value = float(cosine(first.mean(axis=0), second.mean(axis=0)))
    drawn = cosine(
        *(resampled_sums(child, values) for child, values in zip(rng.spawn(2), (first, second), strict=True))
    )
    return estimate("cosine", value, drawn, -1.0, 1.0)


class Mmd(NamedTuple):
    """Squared maximum mean discrepancy of two samples.

    Attributes:
        squared: MMD^2, unbiased: about 0 where nothing differs, and below it half of the time.
        p: the share of permutations that are as far apart; one-sided.
        bandwidth: sigma of the kernel.
        size, draws: vectors of each sample in a draw, and the number of draws.
    """

    squared: DistanceMeasure
    p: float
    bandwidth: float
    size: int
    draws: int


def median_distance(vectors: Floats, rng: np.random.Generator, pairs: int = PAIRS) -> float:
    """Return the median distance of random pairs of vectors; that of the unequal ones, where most are equal.

    Args:
        vectors: (N, D), at least two.
        rng: draws the pairs.
        pairs: how many; where there are no more, all are taken.

    Returns:
        The distance; 0.0 where all vectors are equal.

    Example:
        >>> median_distance(np.array([[0.0], [1.0], [5.0]]), np.random.default_rng(0))
        4.0
    """
    size = len(vectors)
    if size * (size - 1) // 2 <= pairs:
        first, second = np.triu_indices(size, 1)
    else:
        first = rng.integers(size, size=pairs)
        second = (first + rng.integers(1, size, size=pairs)) % size
    distances = np.linalg.norm(vectors[first] - vectors[second], axis=1)
    middle = float(np.median(distances))
    if middle > TIE:
        return middle
    positive = distances[distances > TIE]
    return float(np.median(positive)) if len(positive) else 0.0


def mmd(
    first: Floats,
    second: Floats,
    rng: np.random.Generator,
    size: int = 500,
    draws: int = 5,
    count: int = RESAMPLES,
) -> Mmd:
    """Measure MMD^2 with a Gaussian kernel, from equally many vectors of both samples, averaged over draws.

        MMD^2 = sum_{i != j} k(x_i, x_j) / (n (n - 1)) + sum_{i != j} k(y_i, y_j) / (n (n - 1))
                - 2 sum_{i, j} k(x_i, y_j) / n^2,     k(x, y) = exp(-|x - y|^2 / (2 sigma^2))

    sigma is the median distance of two vectors of both samples together. No vector is in two draws, so that the draws
    are independent, and a permutation of the pooled vectors of each draw, all draws averaged, is a draw from the null:
    the p is exact, whatever the number of draws. Intervals are over resampled vectors of each draw; a pair of one
    vector with itself never counts. At MMD^2 = 0 they are too wide.

    Memory is a block of rows of one draw's kernel matrix, however many vectors there are.

    Args:
        first, second: (N, D) and (O, D) vectors.
        rng: of draws, permutations and resamples.
        size: vectors of each sample a draw, at most.
        count: permutations, and resamples.

    Raises:
        ValueError: fewer than two vectors in a sample.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> near, far = rng.normal(size=(200, 3)), rng.normal(1.0, size=(200, 3))
        >>> mmd(near[:100], near[100:], rng).p > 0.05, mmd(near, far, rng).p < 0.01
        (True, True)

    Source: Gretton et al. 2012, "A kernel two-sample test", equation 3 and section 8 (the median); Yang et al. 2023,
    "GLUE-X", appendix C.2.
    """
    available = min(len(first), len(second))
    if available < 2:
        raise ValueError(f"each sample must have two vectors or more (got {len(first)} and {len(second)})")
    draws = max(1, min(draws, -(-available // size)))
    size = min(size, available // draws)
    picking, spreading, permuting, *sampling = rng.spawn(5)
    parts = [picking.permutation(len(sample))[: draws * size].reshape(draws, size) for sample in (first, second)]
    vectors = [np.concatenate([first[x], second[y]]) for x, y in zip(*parts, strict=True)]
    bandwidth = median_distance(np.concatenate(vectors), spreading)
    labels = np.repeat([1.0, 0.0], size)
    of_draws = []
    for pooled in vectors:
        shuffled = permuting.permuted(np.tile(labels, (count, 1)), axis=1)
        drawn = [np.concatenate([*resamples(child, size, count)]) for child in sampling]
        none = np.zeros_like(drawn[0])
        inside = np.concatenate([labels[None], shuffled, np.concatenate([drawn[0], none], axis=1)])
        new = np.concatenate([1 - labels[None], 1 - shuffled, np.concatenate([none, drawn[1]], axis=1)])
        of_draws.append(weighted_mmd(pooled, inside.T, new.T, bandwidth))
    values = np.mean(of_draws, axis=0)
    value, null, drawn_values = float(values[0]), values[1 : count + 1], values[count + 1 :]
    p = float((1 + (null >= value - TIE).sum()) / (count + 1))
    return Mmd(estimate("mmd", value, drawn_values), p, bandwidth, size, draws)


def weighted_mmd(vectors: Floats, inside: Floats, new: Floats, bandwidth: float) -> Floats:
    """Return (W,) unbiased MMD^2 of weighted vectors, for several weightings at once; a vector never meets itself.

    It is nan where all the weight of a sample is on one vector.

    Args:
        vectors: (S, D) of both samples.
        inside, new: (S, W) counts of each in the in-domain and in the new sample; 0 in one of them.
        bandwidth: sigma; 0 takes all vectors for equal.
    """
    size = len(vectors)
    norms = (vectors**2).sum(axis=1)
    sums = [np.empty_like(inside), np.empty_like(new)]
    step = max(1, BLOCK // size)
    for start in range(0, size, step):
        rows = slice(start, min(start + step, size))
        squared = np.maximum(norms[rows, None] + norms - 2 * (vectors[rows] @ vectors.T), 0.0)
        kernel = np.exp(-squared / (2 * bandwidth**2)) if bandwidth > 0 else np.ones_like(squared)
        kernel[np.arange(len(squared)), np.arange(rows.start, rows.stop)] = 0.0
        sums[0][rows], sums[1][rows] = kernel @ inside, kernel @ new
    pairs = [weights.sum(axis=0) ** 2 - (weights**2).sum(axis=0) for weights in (inside, new)]
    same = [
        (weights * summed).sum(axis=0) / np.where(count > 0, count, np.nan)
        for weights, summed, count in zip((inside, new), sums, pairs, strict=True)
    ]
    across = (inside * sums[1]).sum(axis=0) / (inside.sum(axis=0) * new.sum(axis=0))
    return np.asarray(same[0] + same[1] - 2 * across)


def total_variation(first: Ints, second: Ints, rng: np.random.Generator) -> DistanceMeasure:
    """Measure the distance of label frequencies, half the sum of |p_c - q_c|: 0 the same, 1 none in common.

    It is never negative, so two halves of one file have a small one.

    Args:
        first, second: (C,) counts of the labels.

    Example:
        >>> total_variation(np.array([50, 50]), np.array([80, 20]), np.random.default_rng(0)).value.__round__(3)
        0.3
    """
    shares = [counts / counts.sum() for counts in (first, second)]
    drawn = [
        child.multinomial(counts.sum(), share, size=RESAMPLES) / counts.sum()
        for child, counts, share in zip(rng.spawn(2), (first, second), shares, strict=True)
    ]
    distance = float(np.abs(shares[0] - shares[1]).sum() / 2)
    return estimate("label_shift", distance, np.abs(drawn[0] - drawn[1]).sum(axis=1) / 2, 0, 1)


def word_overlap(first: Any, second: Any, rng: np.random.Generator) -> DistanceMeasure:
    """Measure the share of the new set's distinct words that are in-domain, too.

    More texts have more words, so compare equally many texts of each.

    Args:
        first, second: (N, V) and (O, V) counts of each word in each text; sparse matrices of scipy.

    Source: Yang et al. 2023, "GLUE-X", appendix C.1, which shows it and gives no formula; this is ours.
    """
    return _of_words("word_overlap", first, second, rng, share_of_words)


def vocabulary_overlap(first: Any, second: Any, rng: np.random.Generator, most: int = 10_000) -> DistanceMeasure:
    """Measure the share of words that two vocabularies share, each the most frequent words of a set.

    |A and B| / min(|A|, |B|); of equally frequent words the first columns are taken.

    Args:
        first, second: (N, V) and (O, V) counts as above, without the stop words.
        most: words of a vocabulary.

    Source: Yuan et al. 2025, "DomainSum", section 3.3, which gives no denominator; with full vocabularies it is 10,000.
    """
    return _of_words("vocabulary_overlap", first, second, rng, lambda a, b: share_in_common(a, b, most))


def _of_words(
    name: str, first: Any, second: Any, rng: np.random.Generator, measure: Callable[[Floats, Floats], float]
) -> DistanceMeasure:
    at_once = max(1, BLOCK // max(first.shape[0], *second.shape))
    blocks = [
        resamples(child, x.shape[0], at_once=at_once) for child, x in zip(rng.spawn(2), (first, second), strict=True)
    ]
    drawn = [measure(a, b) for x, y in zip(*blocks, strict=True) for a, b in zip(x @ first, y @ second, strict=True)]
    counts = [np.asarray(texts.sum(axis=0)).ravel() for texts in (first, second)]
    return estimate(name, measure(counts[0], counts[1]), np.array(drawn), 0.0, 1.0)


def share_of_words(first: Floats, second: Floats) -> float:
    """Return the share of the second (V,) counts' words that the first has, too; nan where the second has none.

    Example:
        >>> round(share_of_words(np.array([3, 1, 0]), np.array([1, 0, 2])), 9)
        0.5
    """
    new = second > 0
    return float((first[new] > 0).mean()) if new.any() else np.nan


def share_in_common(first: Floats, second: Floats, most: int) -> float:
    """Return |A and B| / min(|A|, |B|) of the most frequent words of two (V,) counts; nan where one has none.

    Example:
        >>> round(share_in_common(np.array([3, 1, 0, 2]), np.array([1, 0, 2, 1]), most=2), 9)
        0.5
    """
    vocabularies = [_most(counts, most) for counts in (first, second)]
    least = min(vocabulary.sum() for vocabulary in vocabularies)
    return float((vocabularies[0] & vocabularies[1]).sum() / least) if least else np.nan


def _most(counts: Floats, most: int) -> Bools:
    """Return (V,) whether each word is among the most frequent; of equal ones the first."""
    if np.count_nonzero(counts) <= most:
        return np.asarray(counts > 0)
    last = np.partition(counts, -most)[-most]
    chosen = np.asarray(counts > last)
    chosen[np.flatnonzero(counts == last)[: most - chosen.sum()]] = True
    return chosen


def auc(scores: Floats, new: Floats, weights: Floats) -> Floats:
    """Return P(a new text has a higher score than an in-domain one); an equal score counts half.

    Args:
        scores: (S,) of texts of both sets.
        new: (S,) 1 for a new text, 0 for an in-domain one.
        weights: (W, S) counts of each text.

    Returns:
        (W,) areas under the ROC curve; nan where only texts of one set count.

    Example:
        >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0.0, 0.0, 1.0, 1.0]), np.ones((1, 4))).round(9).tolist()
        [0.875]

    Source: Hanley and McNeil 1982, "The meaning and use of the area under a receiver operating characteristic curve".
    """
    _, place = np.unique(scores, return_inverse=True)
    levels = int(place.max()) + 1
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(levels))
    ones, zeros = (np.add.reduceat((weights * kind)[:, order], starts, axis=1) for kind in (new, 1 - new))
    below = np.cumsum(zeros, axis=1) - zeros / 2
    all_of_them = ones.sum(axis=1) * zeros.sum(axis=1)
    return np.asarray((ones * below).sum(axis=1) / np.where(all_of_them > 0, all_of_them, np.nan))


def ratio_of_means(first: Floats | Ints, second: Floats | Ints, rng: np.random.Generator) -> DistanceMeasure:
    """Measure the mean of the new numbers as a multiple of that of the in-domain ones; nan where this is 0.

    Args:
        first, second: (N,) and (O,) numbers of at least 0, such as lengths.

    Example:
        >>> round(ratio_of_means(np.array([10.0, 20.0]), np.array([30.0, 15.0]), np.random.default_rng(0)).value, 9)
        1.5
    """
    drawn = [
        resampled_sums(child, values) / len(values) for child, values in zip(rng.spawn(2), (first, second), strict=True)
    ]
    ratios = drawn[1] / np.where(drawn[0] > 0, drawn[0], np.nan)
    value = float(second.mean() / first.mean()) if first.any() else np.nan
    return estimate("length_ratio", value, ratios, 0.0)


def share(name: str, holds: Bools) -> DistanceMeasure:
    """Measure the share of texts for which something holds, with Wilson's interval.

    Args:
        holds: (O,) whether it holds for each text.

    Example:
        >>> measure = share("repeated", np.array([True] + [False] * 99))
        >>> round(measure.value, 9), round(measure.low, 3), round(measure.high, 3)
        (0.01, 0.002, 0.054)

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference".
    """
    size, value = len(holds), float(holds.mean())
    pull = Z95**2 / size
    middle, half = value + pull / 2, np.sqrt(pull * (value * (1 - value) + pull / 4))
    return DistanceMeasure(name, value, float((middle - half) / (1 + pull)), float((middle + half) / (1 + pull)))
