import itertools
import math
from statistics import NormalDist
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.statistics import label_free, methods
from ranker.statistics.pool import InDomain, Pool

NAMES = {method.name: method for method in methods.BUILTIN if method.kind == "label-free"}


def score(name, pool):
    """(M,) what a method gives the models; it is the same for all draws, and looks at no target."""
    estimate = NAMES[name].estimate(pool, None, np.zeros((2, 3), int))
    assert estimate.shape == (len(pool.probs), 2)
    assert (estimate[:, 0] == estimate[:, 1]).all()
    return estimate[:, 0]


def world(seed=0, models=3, rows=40, classes=3, own_rows=30):
    """Random probabilities, in the new domain and in-domain."""
    rng = np.random.default_rng(seed)
    in_domain = InDomain(rng.dirichlet(np.ones(classes), size=(models, own_rows)), rng.integers(classes, size=own_rows))
    probs = rng.dirichlet(np.ones(classes), size=(models, rows))
    return Pool(probs, in_domain, rng.normal(size=(models, rows)))


def test_in_domain_accuracy_is_that():
    """Right rows, counted."""
    pool = world()
    own_in_domain = pool.in_domain
    expected = [
        np.mean([np.argmax(row) == label for row, label in zip(rows, own_in_domain.labels, strict=True)])
        for rows in own_in_domain.probs
    ]
    assert score("ID-ACC", pool) == pytest.approx(expected)


def agreeing(own_rows, rows_here, seed=0, rows=40_000, models=5):
    """Models whose votes are those of a hidden score with noise of their own, in-domain and here.

    The probit of an accuracy, and that of an agreement, are then functions of the noise alone.
    """
    rng = np.random.default_rng(seed)

    def answers(noise):
        truth = rng.normal(size=rows)
        predicted = (truth + noise[:, None] * rng.normal(size=(models, rows)) > 0).astype(int)
        return np.eye(2)[predicted], (truth > 0).astype(int)

    own_probs, labels = answers(own_rows)
    probs, truth = answers(rows_here)
    return Pool(probs, InDomain(own_probs, labels)), (probs.argmax(axis=2) == truth).mean(axis=1)


def test_agreement_on_the_line_finds_accuracies():
    """Where agreements lie on a line, accuracies do, too: found to a point or two, and in their order."""
    noise = np.array([0.3, 0.5, 0.7, 0.9, 1.2])
    pool, truth = agreeing(noise, 1.8 * noise)
    scores = score("ALINE", pool)
    assert scores == pytest.approx(truth, abs=0.04)
    assert np.argsort(scores).tolist() == np.argsort(truth).tolist()
    assert np.abs(scores - truth).max() < np.abs(score("ID-ACC", pool) - truth).max()


def test_agreement_on_the_line_by_plain_loops():
    """The slope by a fit of numpy, and the least squares by their normal equations."""
    pool = world(models=4)
    own_in_domain, normal = pool.in_domain, NormalDist()
    predicted, said_own = pool.probs.argmax(axis=2), own_in_domain.probs.argmax(axis=2)

    def quantile(share, rows):
        return normal.inv_cdf(min(max(share, 0.5 / (rows + 1)), 1 - 0.5 / (rows + 1)))

    pairs = list(itertools.combinations(range(4), 2))
    quantiles_here = [quantile(np.mean(predicted[i] == predicted[j]), 40) for i, j in pairs]
    quantiles_home = [quantile(np.mean(said_own[i] == said_own[j]), 30) for i, j in pairs]
    slope = np.polyfit(quantiles_home, quantiles_here, 1)[0]
    home_accuracies = [quantile(share, 30) for share in own_in_domain.accuracy]
    halves, right = np.zeros((6, 4)), np.zeros(6)
    for row, (i, j) in enumerate(pairs):
        halves[row, [i, j]] = 0.5
        right[row] = quantiles_here[row] + slope * ((home_accuracies[i] + home_accuracies[j]) / 2 - quantiles_home[row])
    solved = np.linalg.solve(halves.T @ halves, halves.T @ right)
    assert score("ALINE", pool) == pytest.approx([normal.cdf(value) for value in solved])


def test_two_models_have_no_line():
    """They keep their in-domain order; and models that agree everywhere have finite estimates."""
    pool = world(models=2)
    assert np.argsort(score("ALINE", pool)).tolist() == np.argsort(score("ID-ACC", pool), kind="stable").tolist()
    same = np.repeat(pool.probs[:1], 3, axis=0)
    alike = Pool(same, InDomain(np.repeat(pool.in_domain.probs[:1], 3, axis=0), pool.in_domain.labels))
    assert np.isfinite(score("ALINE", alike)).all()


def test_average_confidence_is_the_mean_of_the_greatest_probabilities():
    """Row by row."""
    pool = world()
    expected = [sum(max(row) for row in model) / 40 for model in pool.probs.tolist()]
    assert score("AVG-CONF", pool) == pytest.approx(expected)


def test_difference_of_confidences_takes_what_confidence_lost_off_accuracy():
    """Accuracy in-domain, less confidence in-domain, plus confidence in the new domain."""
    pool = world()
    for m, estimate in enumerate(score("DOC", pool)):
        outcomes = [
            int(np.argmax(row)) == label
            for row, label in zip(pool.in_domain.probs[m], pool.in_domain.labels, strict=True)
        ]
        lost = pool.in_domain.probs[m].max(axis=1).mean() - pool.probs[m].max(axis=1).mean()
        assert estimate == pytest.approx(np.mean(outcomes) - lost)


def test_the_threshold_is_exceeded_confidence_as_often_as_predictions_are_right():
    """As many in-domain rows are above the threshold as are right; the share above it elsewhere is the estimate."""
    pool = world()
    for m, estimate in enumerate(score("ATC", pool)):
        confidence = sorted(pool.in_domain.probs[m].max(axis=1))
        right = round(30 * pool.in_domain.accuracy[m])
        threshold = confidence[30 - right]
        assert sum(value >= threshold for value in confidence) == right
        assert estimate == pytest.approx(sum(value >= threshold for value in pool.probs[m].max(axis=1)) / 40)


def test_the_threshold_of_models_that_are_all_right_or_all_wrong():
    """Always right in-domain is expected to be so elsewhere, where it is as sure; always wrong never is."""
    sure = np.array([[[0.9, 0.1], [0.8, 0.2]]])
    right, wrong = InDomain(sure, np.array([0, 0])), InDomain(sure, np.array([1, 1]))
    assert score("ATC", Pool(sure, right)) == pytest.approx([1.0])
    assert score("ATC", Pool(sure, wrong)).tolist() == [0.0]


def test_transport_is_the_best_assignment_of_labels_to_rows():
    """Of all ways to give out labels as frequent as in-domain, the one with the most probability, by trying all."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(2), size=(2, 6))
    pool = Pool(probs, InDomain(probs[:, :3], np.array([1, 0, 1])))
    labels = (0, 0, 1, 1, 1, 1)  # a third and two thirds, as in-domain
    for m, estimate in enumerate(score("COT", pool)):
        ways = {sum(probs[m, row, label] for row, label in enumerate(way)) for way in itertools.permutations(labels)}
        assert estimate == pytest.approx(max(ways) / 6)


def test_the_matrix_norm_sums_fourth_powers():
    """(mean over rows and classes of p^4)^(1/4)."""
    pool = world()
    for m, estimate in enumerate(score("MANO", pool)):
        assert estimate == pytest.approx((sum(p**4 for row in pool.probs[m].tolist() for p in row) / 120) ** 0.25)


def test_a_majority_counts_the_model_itself_and_shares_ties():
    """Of three models, two that agree are the majority; of two that differ, each is half of it."""
    first, second = [0.9, 0.1], [0.2, 0.8]
    three = Pool(np.array([[first, second], [first, first], [second, first]]))
    assert score("MAJORITY", three) == pytest.approx([0.5, 1.0, 0.5])
    assert score("MAJORITY", Pool(np.array([[first], [second]]))) == pytest.approx([0.5, 0.5])


def test_dawid_and_skene_find_the_accuracy_of_independent_models():
    """Where models err independently, each one's accuracy is found without a label, to two points."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=5000)
    accuracy = np.array([0.9, 0.8, 0.75, 0.7, 0.6])
    predicted = np.where(rng.random((5, 5000)) < accuracy[:, None], labels, 1 - labels)
    scores = score("DAWID-SKENE", Pool(np.eye(2)[predicted] * 0.98 + 0.01))
    assert scores == pytest.approx((predicted == labels).mean(axis=1), abs=0.02)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_dawid_and_skene_by_the_formula(seed, classes):
    """Rounds of EM, a row, a model and a label at a time; few, since rounding decides where labels are symmetric."""
    pool = Pool(np.random.default_rng(seed).dirichlet(np.ones(classes), size=(3, 8)))
    labels, rows, models = range(classes), range(8), range(3)
    predictions = pool.predicted.tolist()
    truth = [[sum(predictions[m][n] == y for m in models) / 3 for y in labels] for n in rows]
    for _ in range(8):
        often = [[[0.1 + sum(truth[n][y] for n in rows if predictions[m][n] == c) for c in labels] for y in labels]
                 for m in models]  # fmt: skip
        share = [sum(truth[n][y] for n in rows) / 8 + 1e-12 for y in labels]
        likely = [
            [share[y] * math.prod(often[m][y][predictions[m][n]] / sum(often[m][y]) for m in models) for y in labels]
            for n in rows
        ]
        truth = [[value / sum(row) for value in row] for row in likely]
    expected = [sum(truth[n][predictions[m][n]] for n in rows) / 8 for m in models]
    with mock.patch.object(label_free, "ITERATIONS", 8):
        assert score("DAWID-SKENE", pool).tolist() == pytest.approx(expected, abs=1e-9)


def test_dawid_and_skene_believe_models_that_err_together():
    """The trap: three copies of one bad model are believed, and two good ones are put below them."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=2000)
    bad = np.where(rng.random(2000) < 0.55, labels, 1 - labels)
    predicted = np.stack([bad, bad, bad, *np.where(rng.random((2, 2000)) < 0.9, labels, 1 - labels)])
    scores = score("DAWID-SKENE", Pool(np.eye(2)[predicted] * 0.98 + 0.01))
    assert scores[:3].min() > scores[3:].max()


def test_a_factor_is_averaged_over_the_rows_that_all_models_have():
    """Rows on which it is undefined for any of them count for none; where no row is left, all tie."""
    pool = Pool(np.full((2, 3, 2), 0.5), factor=np.array([[1.0, 2.0, 5.0], [0.0, 4.0, np.nan]]))
    assert label_free.pool_factor(pool).tolist() == [1.5, 2.0]
    assert label_free.pool_factor(Pool(pool.probs[:, :1], factor=np.array([[3.0], [5.0]]))).tolist() == [3.0, 5.0]
    assert label_free.pool_factor(Pool(pool.probs, factor=np.full((2, 3), np.nan))).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", [name.name for name in NAMES.values() if "in_domain" in name.needs])
def test_what_needs_in_domain_rows_says_so(name):
    """Without these rows there is an error, and no number."""
    with pytest.raises(ValueError, match="in-domain rows"):
        score(name, Pool(world().probs))


@pytest.mark.parametrize("name", NAMES)
def test_permuted_rows_and_models_change_nothing(name):
    """Scores follow their models, and no row's place matters."""
    pool = world(rows=41)
    rows, models = np.random.default_rng(1).permutation(41), [2, 0, 1]
    expected = score(name, pool)[models]
    assert score(name, pool.ordered(models).part(rows)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_source_and_says_when_it_fails(name):
    """A year stands in the source, and the warning is a clause that ends no sentence."""
    assert any(word.strip(",").isdigit() for word in NAMES[name].source.replace("(", " ").split())
    assert NAMES[name].warning
    assert not NAMES[name].warning.endswith(".")
