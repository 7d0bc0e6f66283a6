from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.metrics import roc_auc_score

from ranker.domains.statistics import shift

SMALL = st.floats(-3, 3, width=32).map(lambda x: round(x, 3))


def kernel(x, y, sigma):
    """The Gaussian kernel, as it is written."""
    return np.exp(-sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / (2 * sigma**2))


def plain_mmd(first, second, sigma):
    """Equation 1 of GLUE-X, loop by loop."""
    n, m = len(first), len(second)
    same = sum(kernel(first[i], first[j], sigma) for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    new = sum(kernel(second[i], second[j], sigma) for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
    return same + new - 2 * sum(kernel(x, y, sigma) for x in first for y in second) / (n * m)


def weighted_plainly(vectors, inside, new, sigma):
    """The same of weighted vectors, by repeating each; a pair of one vector with itself is left out."""
    pairs = [(i, j) for i in range(len(vectors)) for j in range(len(vectors)) if i != j]
    k = {(i, j): kernel(vectors[i], vectors[j], sigma) for i, j in pairs}
    parts = []
    for a, b in ((inside, inside), (new, new), (inside, new)):
        weights = {(i, j): a[i] * b[j] for i, j in pairs}
        parts.append(sum(weights[pair] * k[pair] for pair in pairs) / sum(weights.values()))
    return parts[0] + parts[1] - 2 * parts[2]


@given(hnp.arrays(float, (8, 2), elements=SMALL), st.floats(0.5, 3))
def test_mmd_is_the_plain_double_loop(vectors, sigma):
    """Weights of 0 and 1 give equation 1 of GLUE-X."""
    inside = np.repeat([1.0, 0.0], [5, 3])
    weighted_mmd = shift.weighted_mmd(vectors, inside[:, None], 1 - inside[:, None], sigma)
    assert weighted_mmd[0] == pytest.approx(plain_mmd(vectors[:5], vectors[5:], sigma), abs=1e-10)


def test_weights_count_a_vector_several_times():
    """A resample is the same sum over pairs of different vectors, each as often as both were drawn."""
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(9, 3))
    inside, new = np.array([2, 0, 1, 1, 1, 0, 0, 0, 0.0]), np.array([0, 0, 0, 0, 0, 3, 0, 1, 1.0])
    weighted_mmd = shift.weighted_mmd(vectors, inside[:, None], new[:, None], 1.3)
    assert weighted_mmd[0] == pytest.approx(weighted_plainly(vectors, inside, new, 1.3), abs=1e-12)


def test_blocks_change_no_number(monkeypatch):
    """The kernel matrix is made a few rows at a time, or at once."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(60, 4)), rng.normal(0.3, size=(50, 4))
    full_mmd = shift.mmd(a, b, np.random.default_rng(0), size=20, draws=2, count=30)
    monkeypatch.setattr(shift, "BLOCK", 7 * 40)
    part = shift.mmd(a, b, np.random.default_rng(0), size=20, draws=2, count=30)
    assert part.squared.value == pytest.approx(full_mmd.squared.value, abs=1e-12)
    assert part.p == full_mmd.p


def test_all_rows_of_one_draw_give_equation_one():
    """One draw of all vectors, with the median distance of all pairs."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(12, 3)), rng.normal(0.5, size=(12, 3))
    mmd = shift.mmd(a, b, rng)
    pooled = np.concatenate([a, b])
    median = np.median([np.linalg.norm(x - y) for i, x in enumerate(pooled) for y in pooled[:i]])
    assert (mmd.size, mmd.draws) == (12, 1)
    assert mmd.bandwidth == pytest.approx(median)
    assert mmd.squared.value == pytest.approx(plain_mmd(a, b, median), abs=1e-12)
    assert mmd.squared.low < mmd.squared.value < mmd.squared.high


def test_draws_share_no_vector():
    """1,200 vectors are three draws of 400 of each; 4,000 are five of 500."""
    rng = np.random.default_rng(4)
    few = shift.mmd(rng.normal(size=(1_200, 1)), rng.normal(size=(1_300, 1)), rng, count=2)
    many = shift.mmd(rng.normal(size=(4_000, 1)), rng.normal(size=(4_000, 1)), rng, count=2)
    assert (few.size, few.draws, many.size, many.draws) == (400, 3, 500, 5)


def test_the_p_of_a_permutation_test_is_that_of_all_permutations():
    """With three vectors of each there are 20 ways to part them; the drawn share comes near."""
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(6, 2)) + np.repeat([[0.0], [0.8]], 3, axis=0)
    sigma = shift.median_distance(vectors, rng)
    observed = plain_mmd(vectors[:3], vectors[3:], sigma)
    plain_values = [plain_mmd(vectors[list(o[:3])], vectors[list(o[3:])], sigma) for o in permutations(range(6))]
    exact = np.mean([value >= observed - 1e-9 for value in plain_values])
    mmd = shift.mmd(vectors[:3], vectors[3:], rng, count=4_000)
    assert mmd.p == pytest.approx(exact, abs=0.03)


def test_p_is_uniform_where_nothing_differs():
    """Also of several draws, averaged: 5 % of samples from one distribution have a p of 5 % at most."""
    rng = np.random.default_rng(6)
    ps = [
        shift.mmd(rng.normal(size=(30, 2)), rng.normal(size=(30, 2)), rng, size=10, draws=3, count=99).p
        for _ in range(400)
    ]
    assert 0.03 <= np.mean(np.array(ps) <= 0.05) <= 0.075
    assert np.mean(np.array(ps) <= 0.5) == pytest.approx(0.5, abs=0.07)


@pytest.mark.more
def test_the_interval_of_mmd_holds_the_truth():
    """Of two normal distributions one apart, whose MMD^2 a large sample gives."""
    rng = np.random.default_rng(7)
    plain = shift.mmd(rng.normal(size=(4_000, 1)), rng.normal(1, size=(4_000, 1)), rng, size=4_000, count=2)
    truth = plain.squared.value
    estimates = [
        shift.mmd(rng.normal(size=(80, 1)), rng.normal(1, size=(80, 1)), rng, count=60).squared for _ in range(150)
    ]
    assert np.mean([estimate.low <= truth <= estimate.high for estimate in estimates]) >= 0.9
    assert np.mean([estimate.value for estimate in estimates]) == pytest.approx(truth, abs=0.02)


def test_equal_vectors_are_not_apart():
    """All vectors equal: the bandwidth is 0, and so is the distance."""
    same = np.ones((5, 2))
    mmd = shift.mmd(same, same, np.random.default_rng(0))
    assert (mmd.bandwidth, mmd.squared.value, mmd.p) == (0.0, 0.0, 1.0)


def test_a_resample_of_one_vector_says_nothing():
    """Two vectors, of which one is drawn twice: it is in no pair, and the interval is that of the others."""
    mmd = shift.mmd(np.array([[0.0], [1.0]]), np.array([[1.0], [3.0]]), np.random.default_rng(0))
    assert np.isfinite([mmd.squared.value, mmd.squared.low, mmd.squared.high]).all()


def test_one_vector_is_no_sample():
    """A pair of two different ones is needed."""
    with pytest.raises(ValueError, match="two vectors or more"):
        shift.mmd(np.ones((1, 2)), np.ones((5, 2)), np.random.default_rng(0))


def test_the_median_is_that_of_the_unequal_where_most_are_equal():
    """Else the kernel would tell nothing apart."""
    vectors = np.array([[0.0]] * 6 + [[2.0]])
    assert shift.median_distance(vectors, np.random.default_rng(0)) == 2.0


def test_drawn_pairs_give_about_the_median_of_all():
    """Of 300 vectors there are 44,850 pairs, more than are looked at."""
    rng = np.random.default_rng(8)
    vectors = rng.normal(size=(300, 3))
    distances = np.linalg.norm(vectors[:, None] - vectors, axis=-1)[np.triu_indices(300, 1)]
    assert shift.median_distance(vectors, rng) == pytest.approx(np.median(distances), rel=0.03)


def test_resamples_have_as_many_texts(monkeypatch):
    """Each a draw with replacement, in blocks or not."""
    rng = np.random.default_rng(9)
    monkeypatch.setattr(shift, "BLOCK", 20)
    blocks = list(shift.resamples(rng, 10, 7))
    assert [len(block) for block in blocks] == [2, 2, 2, 1]
    assert {float(row.sum()) for block in blocks for row in block} == {10.0}


def test_centroids_are_those_of_the_plain_means():
    """And the interval is near the one of a large sample's formula."""
    rng = np.random.default_rng(10)
    a, b = rng.normal([2, 0, 1], 1, size=(400, 3)), rng.normal([1, 1, 0], 1, size=(300, 3))
    centroid_cosine = shift.centroid_cosine(a, b, rng)
    x, y = a.mean(axis=0), b.mean(axis=0)
    assert centroid_cosine.value == pytest.approx(x @ y / np.sqrt(x @ x * (y @ y)))
    drawn = [
        shift.cosine(
            rng.normal([2, 0, 1], 1, size=(400, 3)).mean(axis=0), rng.normal([1, 1, 0], 1, size=(300, 3)).mean(axis=0)
        )
        for _ in range(500)
    ]
    assert centroid_cosine.high - centroid_cosine.value == pytest.approx(1.96 * np.std(drawn), rel=0.25)


def test_a_centroid_of_zero_has_no_angle():
    """Undefined, and no 0."""
    assert np.isnan(shift.cosine(np.zeros(3), np.ones(3)))


def test_total_variation_by_hand():
    """5 of 10 against 2 of 10 in the first label, 5 against 4 and 0 against 4 in the others."""
    total_variation = shift.total_variation(np.array([5, 5, 0]), np.array([2, 4, 4]), np.random.default_rng(0))
    assert total_variation.value == pytest.approx((0.3 + 0.1 + 0.4) / 2)
    assert 0 <= total_variation.low < total_variation.value < total_variation.high <= 1


def test_overlaps_by_hand():
    """Of words a b c d: in-domain a a b, new a c c d; without a limit one of two, with one the most frequent alone."""
    first = sparse.csr_array(np.array([[1, 1, 0, 0], [1, 0, 0, 0]]))
    second = sparse.csr_array(np.array([[1, 0, 1, 0], [0, 0, 1, 1]]))
    rng = np.random.default_rng(0)
    assert shift.word_overlap(first, second, rng).value == pytest.approx(1 / 3)
    assert shift.vocabulary_overlap(first, second, rng).value == pytest.approx(1 / 2)
    assert shift.vocabulary_overlap(first, second, rng, most=1).value == 0.0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12), st.integers(1, 12))
def test_vocabularies_are_those_of_a_sorted_list(counts, most):
    """The most frequent words; of equal ones the first columns, and none that is never there."""
    tops = []
    for column in zip(*counts, strict=True):
        order = sorted(range(len(column)), key=lambda word: (-column[word], word))
        tops.append({word for word in order[:most] if column[word] > 0})
    share = shift.share_in_common(*(np.array(column, float) for column in zip(*counts, strict=True)), most)
    if not all(tops):
        assert np.isnan(share)
    else:
        assert share == pytest.approx(len(tops[0] & tops[1]) / min(map(len, tops)))


def test_blocks_of_words_change_no_overlap(monkeypatch):
    """Resamples of a few at a time give the same interval."""
    rng = np.random.default_rng(13)
    first, second = (sparse.csr_array(rng.integers(0, 2, size=(40, 30))) for _ in range(2))
    full_word_overlap = shift.word_overlap(first, second, np.random.default_rng(0))
    monkeypatch.setattr(shift, "BLOCK", 100)
    assert shift.word_overlap(first, second, np.random.default_rng(0)) == full_word_overlap


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.integers(0, 3)), min_size=4, max_size=30))
def test_auc_is_the_share_of_pairs(rows):
    """Of an in-domain and a new text, loop by loop; a tie counts half, and a weight is a repetition."""
    scores, new, weights = (np.array(column, float) for column in zip(*rows, strict=True))
    pairs = [
        (weights[i] * weights[j], (scores[i] > scores[j]) + (scores[i] == scores[j]) / 2)
        for i in range(len(rows))
        for j in range(len(rows))
        if new[i] and not new[j]
    ]
    total = sum(weight for weight, _ in pairs)
    area = shift.auc(scores, new, weights[None])[0]
    if total == 0:
        assert np.isnan(area)
    else:
        assert area == pytest.approx(sum(weight * right for weight, right in pairs) / total)


def test_auc_is_that_of_scikit_learn():
    """With weights."""
    rng = np.random.default_rng(11)
    scores, new, weights = rng.normal(size=50).round(1), rng.integers(2, size=50).astype(float), rng.random((3, 50))
    expected = [roc_auc_score(new, scores, sample_weight=row) for row in weights]
    assert shift.auc(scores, new, weights) == pytest.approx(expected)
