import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from ranker.statistics.patterns import fold
from ranker.statistics.vote import DOMAINS, MetricByLabel, VoteEvidence, believe, draw, draw_values
from ranker.tasks.metrics import metric_named

NONE = np.zeros(0, dtype=np.int64)
S = 40


def drawn(beliefs, metric=None):
    """What is believed of accuracies, or of a metric of labels."""
    judged = None if metric is None else MetricByLabel(metric.by_label(), metric.value)
    return draw(VoteEvidence(beliefs, judged), beliefs.rng(1))


@st.composite
def cases(draw):
    """(M, N) predictions, classes, answered rows and their answers."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    models, rows, classes = draw(st.integers(1, 4)), draw(st.integers(1, 8)), draw(st.integers(2, 3))
    count = draw(st.integers(0, 6))
    return (
        rng.integers(-1, classes, (models, rows)),
        classes,
        rng.integers(rows, size=count),
        rng.integers(classes, size=count),
    )


def right_in_worlds(predicted, classes, rows, labels, noise, belief, sure):
    """(S, N, M) how probable it is, in each world, that each model is right on each row, loop by loop."""
    models, size = predicted.shape
    right = np.zeros((S, size, models))
    for i in range(S):
        for r in range(size):
            odds = np.array(
                [
                    np.exp(
                        belief.worlds.biases[i, c]
                        + sum(belief.worlds.weights[i, m] * sure[m, r] * (predicted[m, r] == c) for m in range(models))
                    )
                    for c in range(classes)
                ]
            )
            for row, label in zip(rows, labels, strict=True):
                if row == r:
                    odds *= (1 - noise) * (np.arange(classes) == label) + noise / classes
            for m in range(models):
                right[i, r, m] = odds[predicted[m, r]] / odds.sum() if predicted[m, r] >= 0 else 0.0
    return right


def with_second_opinion(predicted, classes, rows, labels, noise, belief, right, accuracies):
    """(S, M) accuracies moved to what confusion matrices say of the mean labels where models are trusted, in loops."""
    models, size = predicted.shape
    trusting = ~belief.worlds.apart
    values, apart = accuracies.copy(), np.flatnonzero(belief.worlds.apart)
    if 1 < len(apart) < trusting.sum():
        means = values[apart].mean(axis=0)
        noise_of_means = np.mean([values[apart, m].var(ddof=1) for m in range(models)]) / len(apart)
        shrunk = min(noise_of_means / max(np.var(means), 1e-30), 1)
        for m in range(models):
            values[apart, m] -= shrunk * (means[m] - means.mean())
    if not trusting.any():
        return values
    label_of = found_labels(predicted, classes, rows, labels, noise, belief, trusting)
    confusion = np.full((models, classes, classes + 1), 1 / (classes + 1))
    for m in range(models):
        for r in range(size):
            confusion[m, :, predicted[m, r]] += label_of[r]  # -1 is the last: silence
    confusion /= confusion.sum(axis=2, keepdims=True)
    opinion = np.zeros(models)
    for r in range(size):
        odds = label_of.mean(axis=0).copy()
        for m in range(models):
            odds *= confusion[m, :, predicted[m, r]]
        for row, label in zip(rows, labels, strict=True):
            if row == r:
                odds *= (1 - noise) * (np.arange(classes) == label) + noise / classes
        for m in range(models):
            opinion[m] += odds[predicted[m, r]] / odds.sum() / size if predicted[m, r] >= 0 else 0
    values[trusting] += 1 / (3 + len(set(rows))) * (opinion - accuracies[trusting].mean(axis=0))
    return values


def found_labels(predicted, classes, rows, labels, noise, belief, trusting):
    """(N, C) how probable each label is, over the worlds that trust the models."""
    everyone = np.repeat(np.arange(classes)[:, None], predicted.shape[1], axis=1)  # a model for each label
    size = len(predicted)
    own_predictions = [predicted[m] for m in range(size)]
    of_label = np.zeros((predicted.shape[1], classes))
    for c in range(classes):
        weights = np.concatenate([belief.worlds.weights, np.zeros((S, 1))], axis=1)
        worlds = dataclasses.replace(belief.worlds, weights=weights)
        judged = dataclasses.replace(belief, worlds=worlds)
        sure = np.concatenate([found_strength(belief, predicted), np.ones((1, predicted.shape[1]))])
        right = right_in_worlds(np.stack([*own_predictions, everyone[c]]), classes, rows, labels, noise, judged, sure)
        of_label[:, c] = right[trusting, :, size].mean(axis=0)
    return of_label


def found_strength(belief, predicted):
    """(M, N) how sure the models are of their labels, from the patterns."""
    strength = belief.patterns.strength
    return np.ones(predicted.shape) if strength is None else strength[belief.patterns.pattern_of_row].T


@pytest.mark.more
@settings(max_examples=60)
@given(cases())
def test_accuracies_and_probabilities_are_those_of_the_definition(case):
    """The mean over rows in each world; the share of worlds in which a normal difference is above 0, its variance that
    over rows and of one row more on which models differ."""
    predicted, classes, rows, labels = case
    sure = np.random.default_rng(0).integers(0, 9, size=predicted.shape) / 4
    belief = believe(fold(predicted, classes, strength=sure), rows, labels, 0.1, worlds=S)
    right = right_in_worlds(*case, 0.1, belief, sure)
    accuracies = right.mean(axis=1)
    assert belief.accuracies == pytest.approx(accuracies, abs=1e-5)
    values = with_second_opinion(*case, 0.1, belief, right, accuracies)
    assert belief.values == pytest.approx(values, abs=1e-4)
    assert belief.score == pytest.approx(belief.values.mean(axis=0), abs=1e-8)
    better, size = belief.better, predicted.shape[1]
    for a in range(len(predicted)):
        for b in range(len(predicted)):
            if (predicted[a] == predicted[b]).all():
                assert better[a, b] == 0.5
                continue
            says = (predicted[[a, b]] >= 0).mean()
            differ = says - ((predicted[a] == predicted[b]) & (predicted[a] >= 0)).mean()
            apart = (right[:, :, a] - right[:, :, b]).var(axis=1).mean() + differ / size
            assert belief.difference_variance[a, b] == pytest.approx(apart, abs=1e-4)
            if apart > 1e-4:
                lead = belief.values[:, a] - belief.values[:, b]
                expected = np.clip(norm.cdf(lead / np.sqrt(apart / size)).mean(), 0.5 / S, 1 - 0.5 / S)
                assert better[a, b] == pytest.approx(expected, abs=2e-2)


def test_one_row_tells_little_of_the_domain():
    """Where one row is all of the pool, and it is labelled, the model that is right on it may yet be the worse one."""
    belief = believe(fold(np.array([[0], [1], [0]]), 2), np.array([0]), np.array([0]))
    assert 0.6 < belief.better[0, 1] < norm.cdf(1.0)
    assert belief.better[0, 2] == 0.5


@settings(max_examples=60)
@given(cases())
def test_it_says_what_a_posterior_says(case):
    """Two models' chances sum to 1, those of being best too, and each expected accuracy lies in its interval."""
    predicted, classes, rows, labels = case
    beliefs = believe(fold(predicted, classes), rows, labels, worlds=S)
    draws = drawn(beliefs)
    better, (low, high) = draws.beats(), draws.interval()
    assert draws.score == pytest.approx(beliefs.score, abs=1e-8)
    assert better + better.T == pytest.approx(np.ones_like(better))
    assert draws.best().sum() == pytest.approx(1.0)
    assert draws.values.shape == (DOMAINS * S, len(predicted))
    assert (low <= draws.score + 0.05).all()
    assert (high >= draws.score - 0.05).all()
    assert draws.within(9.0) == pytest.approx(1.0)
    assert draws.within(0.0) <= draws.within(0.1)


@pytest.mark.more
@settings(max_examples=60)
@given(cases(), st.integers(0, 2**32 - 1))
def test_the_order_of_labels_and_models_changes_nothing(case, seed):
    """To the last bit for labels; models that are listed in another order have the same numbers, to rounding."""
    predicted, classes, rows, labels = case
    rng = np.random.default_rng(seed)
    order, models = rng.permutation(len(rows)), rng.permutation(len(predicted))
    belief = believe(fold(predicted, classes), rows, labels, worlds=S)
    again = believe(fold(predicted, classes), rows[order], labels[order], worlds=S)
    assert (again.accuracies == belief.accuracies).all()
    assert (again.better == belief.better).all()
    assert (drawn(again).best() == drawn(belief).best()).all()
    for home in (None, rng.choice([0.5, 0.7, np.nan], len(predicted))):
        belief, moved = (
            believe(fold(predicted[listed], classes, in_domain=None if home is None else home[listed]), rows, labels)
            for listed in (np.arange(len(predicted)), models)
        )
        assert moved.score == pytest.approx(belief.score[models], abs=1e-5)
        assert moved.better == pytest.approx(belief.better[np.ix_(models, models)], abs=1e-3)


def test_accuracy_at_home_counts_until_labels_say_otherwise():
    """Of models that err alone on as many rows, the best at home leads before a label, and ten of its errors put it
    last."""
    truth = np.random.default_rng(0).integers(2, size=300)
    predicted = np.where(np.arange(300) // 30 == np.arange(4)[:, None], 1 - truth, truth)
    home = np.array([0.9, 0.75, 0.75, 0.75])
    ahead, behind = fold(predicted, 2, in_domain=home), fold(predicted, 2, in_domain=-home)
    assert believe(ahead, NONE, NONE).score.argmax() == 0
    assert believe(behind, NONE, NONE).score.argmin() == 0
    rows = np.flatnonzero(predicted[0] != truth)[:10]
    assert believe(ahead, rows, truth[rows]).score.argmin() == 0


def test_only_differences_at_home_count():
    """Accuracies that are all higher say the same, and equal ones, or one alone, leave all models level."""
    predicted = np.random.default_rng(0).integers(3, size=(3, 50))
    home = np.array([0.5, 0.625, 0.75])
    first, second = (believe(fold(predicted, 3, in_domain=in_domain), NONE, NONE) for in_domain in (home, home + 0.25))
    assert (first.score == second.score).all()
    level = [
        believe(fold(predicted, 3, in_domain=np.array(in_domain)), NONE, NONE).score
        for in_domain in ([0.5] * 3, [0.75, np.nan, np.nan])
    ]
    assert (level[0] == level[1]).all()


def test_another_row_of_the_same_pattern_says_the_same():
    """Rows on which every model predicts the same are interchangeable, and so are their labels."""
    predicted = np.array([[0, 1, 1, 1, 0], [0, 0, 0, 1, 1]])
    first = believe(fold(predicted, 2), np.array([1, 3]), np.array([1, 1]), worlds=S)
    second = believe(fold(predicted, 2), np.array([3, 2]), np.array([1, 1]), worlds=S)
    assert (first.accuracies == second.accuracies).all()


def test_two_equal_models_are_level():
    """Each is as good as the other in every world, they share what they win, and a third is told apart from both."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(2, size=(2, 60))
    rows = np.flatnonzero(first != second)[:8]
    belief = believe(fold(np.stack([first, second, first]), 2), rows, first[rows])
    assert belief.better[0, 2] == 0.5
    assert belief.score[0] == pytest.approx(belief.score[2], abs=1e-9)
    assert drawn(belief).best()[0] == drawn(belief).best()[2]
    assert drawn(belief).best()[0] > 0.4
    assert belief.better[0, 1] == pytest.approx(belief.better[2, 1], abs=1e-9)
    assert belief.better[0, 1] > 0.9
    assert drawn(belief).within(0.0) > 0.9


def test_one_model_is_the_best():
    """There is nobody to lose to, and its accuracy is what its labels say."""
    belief = believe(fold(np.zeros((1, 50), dtype=int), 2), np.arange(20), np.array([0] * 15 + [1] * 5))
    assert (belief.better.tolist(), drawn(belief).best().tolist(), drawn(belief).within(0.0)) == ([[0.5]], [1.0], 1.0)
    assert 0.6 < belief.score[0] < 0.85


def test_one_row_is_a_pool():
    """With its label, the model that has it right leads, and hardly can be sure of it."""
    belief = believe(fold(np.array([[0], [1]]), 2), np.array([0]), np.array([1]))
    assert 0.5 < belief.better[1, 0] <= 1 - 0.5 / 500
    assert belief.score[1] > belief.score[0]


def test_a_pool_whose_rows_are_all_labelled_is_counted():
    """Nothing is left to a vote: accuracies are the shares of right answers, but for the noise of labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=40)
    predicted = np.where(rng.random((3, 40)) < [[0.9], [0.6], [0.3]], labels, rng.integers(3, size=(3, 40)))
    exact = believe(fold(predicted, 3), np.arange(40), labels, label_noise=0.0)
    assert exact.accuracies == pytest.approx(np.tile((predicted == labels).mean(axis=1), (500, 1)), abs=1e-5)
    noisy = believe(fold(predicted, 3), np.arange(40), labels, label_noise=0.02)
    assert noisy.score == pytest.approx((predicted == labels).mean(axis=1), abs=0.03)


def crowd(share, last):
    """(6, 200) the predictions of six models that say what one of them says on such shares of the rows."""
    rng = np.random.default_rng(0)
    first = rng.integers(2, size=200)
    return np.stack([first, *(np.where(rng.random(200) < p, first, 1 - first) for p in [share] * 4 + [last])])


def test_without_a_label_agreement_decides():
    """Models that agree are expected to be better than one that agrees less, and nothing is sure."""
    belief = believe(fold(crowd(0.9, 0.75), 2), NONE, NONE)
    assert belief.score[5] < min(belief.score[:5])
    assert 0.55 < belief.better[0, 5] < 0.99


def test_noise_between_worlds_that_trust_no_model_is_shrunk_and_their_mean_stays():
    """Before a label they say nothing of the models, so there only noise tells these apart."""
    found = believe(fold(crowd(0.9, 0.75), 2), NONE, NONE)
    apart = found.worlds.apart
    before, after = found.accuracies[apart].mean(axis=0), found.values[apart].mean(axis=0)
    assert after.mean() == pytest.approx(before.mean())
    assert np.ptp(after) < 0.1 * np.ptp(before)


@pytest.mark.parametrize("shares", [(0.97, 0.5), (0.7, 0.6)])
def test_where_models_agree_too_unevenly_or_too_rarely_nothing_is_believed_before_labels_speak(shares):
    """Five that say nearly the same may share a shortcut: they are as likely to be the worse ones."""
    belief = believe(fold(crowd(*shares), 2), NONE, NONE)
    assert 0.45 < belief.better[0, 5] < 0.55


@pytest.mark.parametrize("seed", range(4))
def test_no_single_answer_rules_a_model_out(seed):
    """A model that is nearly always right may still be the best, whichever of twelve answers is given by mistake."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=200)
    predicted = np.where(rng.random((4, 200)) < [[0.98], [0.8], [0.7], [0.6]], labels, 1 - labels)
    rows = np.flatnonzero((predicted[0] == labels) & (predicted[1:] != labels).any(axis=0))[:12]
    for wrong in range(12):
        answers = np.where(np.arange(12) == wrong, 1 - labels[rows], labels[rows])
        assert drawn(believe(fold(predicted, 2), rows, answers)).best()[0] > 0.4


def test_the_outlook_parts_what_answers_lower_from_what_they_do_not():
    """Spread between worlds is open, that of the pool as a sample lasts; an answer counts as for the pair."""
    rng = np.random.default_rng(1)
    labels = rng.integers(2, size=200)
    predicted = np.where(rng.random((2, 200)) < [[0.9], [0.6]], labels, 1 - labels)
    beliefs = believe(fold(predicted, 2), np.arange(10), labels[:10])
    now = beliefs.outlook()
    assert now.mean == pytest.approx(beliefs.values.mean(axis=0))
    assert now.reducible == pytest.approx(np.cov(beliefs.values.T, bias=True))
    assert now.lasting == pytest.approx(beliefs.covariance / 200)
    assert now.most == 190
    assert now.gain == pytest.approx(beliefs.precision_gain(beliefs.unanswered[beliefs.candidates])[1][0, 1])


def test_the_expected_fall_of_a_variance_is_that_of_the_definition():
    """The variance of the expected difference over answers and rows, row by row."""
    rng = np.random.default_rng(0)
    belief = believe(fold(rng.integers(2, size=(3, 12)), 2), np.array([0, 5]), np.array([1, 0]), 0.05, worlds=S)
    lead = belief.accuracies[:, 0] - belief.accuracies[:, 1]
    falls = []
    for row in set(range(12)) - {0, 5}:
        (place,) = np.flatnonzero(belief.candidates == belief.patterns.pattern_of_row[row])
        chances = belief.answers[:, :, place].astype(float)
        falls.append(sum(worlds.mean() * (worlds @ lead / worlds.sum() - lead.mean()) ** 2 for worlds in chances))
    assert belief.variance_reduction(belief.unanswered[belief.candidates])[0, 1] == pytest.approx(
        np.mean(falls), rel=1e-4
    )


@settings(max_examples=30)
@given(cases())
def test_draws_of_a_metric_are_those_of_the_definition(case):
    """Weighted means over rows of the statistics of each answer and label, each label as probable as in its world."""
    predicted, classes, rows, labels = case
    metric = metric_named("macro-f1", tuple("abc"[:classes]))
    beliefs = believe(fold(predicted, classes), rows, labels, 0.1, worlds=S)
    by_label = MetricByLabel(metric.by_label(), metric.value)
    kinds = list(beliefs.label_shares(by_label))
    values = draw_values(kinds, by_label, np.random.default_rng(1))
    rng, sums, total = np.random.default_rng(1), np.zeros((S, len(predicted), 3 * classes)), np.zeros(S)
    for predictions, counts, probable in kinds:
        weights = rng.standard_gamma(counts, (S, len(counts)))
        total += weights.sum(axis=1)
        for world in range(S):
            for row in range(len(counts)):
                for label in range(classes):
                    answers = predictions[row]
                    statistics = metric.statistics(answers, np.full(len(answers), label))
                    sums[world] += weights[world, row] * probable[label, world, row] * statistics
    np.testing.assert_allclose(values, metric.value(sums / total[:, None, None]), atol=1e-6)


@pytest.mark.more
@settings(max_examples=20)
@given(cases())
def test_expected_accuracy_is_that_of_the_vote(case):
    """Over many draws of weights a world's accuracy is its own, the mean over rows."""
    predicted, classes, rows, labels = case
    beliefs = believe(fold(predicted, classes), rows, labels, 0.1, worlds=S)
    accuracy = metric_named("accuracy", tuple("abc"[:classes]))
    by_label = MetricByLabel(accuracy.by_label(), accuracy.value)
    kinds = list(beliefs.label_shares(by_label))
    mean = np.mean([draw_values(kinds, by_label, np.random.default_rng(seed)) for seed in range(200)], axis=0)
    right = right_in_worlds(*case, 0.1, beliefs, np.ones(predicted.shape))
    np.testing.assert_allclose(mean, right.mean(axis=1), atol=0.15)  # a mean of 200 draws, of up to 8 rows
    assert drawn(beliefs, accuracy).values.shape == (S, len(predicted))


def test_many_labels_and_models_read_fewer_worlds(monkeypatch):
    """The table of answers and labels in each world stays within its budget; the values keep their order."""
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=200)
    predicted = np.where(rng.random((3, 200)) < np.array([[0.9], [0.7], [0.4]]), truth, rng.integers(4, size=(3, 200)))
    metric, rows = metric_named("macro-f1", tuple("abcd")), np.arange(20)
    beliefs = believe(fold(predicted, 4), rows, truth[rows])
    drawn_in_full = drawn(beliefs, metric)
    monkeypatch.setattr("ranker.statistics.vote.METRIC_CELLS", 3 * 5 * 4 * 50)
    fewer = drawn(beliefs, metric)
    assert (len(drawn_in_full.values), len(fewer.values)) == (500, 50)
    assert fewer.expected == pytest.approx(drawn_in_full.expected, abs=0.03)
    assert drawn_in_full.leader == fewer.leader == 0


def test_the_outlook_of_a_metric_parts_its_spread_as_that_of_accuracies():
    """Labels add to it as they add to what is known of accuracies."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=300)
    predicted = np.where(rng.random((4, 300)) < np.array([[0.9], [0.8], [0.7], [0.5]]), truth, 1 - truth)
    beliefs = believe(fold(predicted, 2), np.arange(10), truth[:10])
    draws, plain = drawn(beliefs, metric_named("mcc", ("no", "yes"))), drawn(beliefs)
    outlook, of_accuracy = draws.outlook, plain.outlook
    assert outlook.mean == pytest.approx(draws.expected)
    assert outlook.reducible + outlook.lasting == pytest.approx(np.cov(draws.values.T, bias=True))
    shares = [np.trace(o.lasting) / np.trace(o.lasting + o.reducible) for o in (outlook, of_accuracy)]
    assert shares[0] == pytest.approx(shares[1])
    assert (outlook.gain, outlook.most) == (of_accuracy.gain, of_accuracy.most)


def test_draws_of_accuracies_have_the_covariance_of_worlds_and_rows():
    """And the mean of the worlds exactly; a part of them is asked for by its number."""
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=120)
    predicted = np.where(rng.random((3, 120)) < np.array([[0.9], [0.7], [0.6]]), truth, 1 - truth)
    beliefs = believe(fold(predicted, 2), np.arange(8), truth[:8])
    draws = draw(VoteEvidence(beliefs), np.random.default_rng(0), 40_000)
    assert draws.values.shape == (40_000, 3)
    assert draws.expected == pytest.approx(beliefs.values.mean(axis=0), abs=1e-9)
    total = np.cov(beliefs.values.T, bias=True) + beliefs.covariance / 120
    assert np.cov(draws.values.T) == pytest.approx(total, rel=0.05, abs=2e-5)
    assert draw(VoteEvidence(beliefs), np.random.default_rng(0), 70).values.shape == (70, 3)
