"""Models that vote and are not ranked: what the pool leaves them, and what they bring."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from ranker.statistics.acquisition import next_rows
from ranker.statistics.patterns import LEAST_SPREAD, TRUSTED, fold, says
from ranker.statistics.pool import Pool, Voters
from ranker.statistics.vote import believe

NONE = np.zeros(0, dtype=np.int64)


def some_models(accuracies, rows=300, classes=3, seed=0):
    """Predictions with such shares right, errors each model's own, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=rows)
    wrong = (truth + rng.integers(1, classes, (len(accuracies), rows))) % classes
    return np.where(rng.random((len(accuracies), rows)) < np.array(accuracies)[:, None], truth, wrong), truth


def voting(predicted, voters, classes=3, trusted=False):
    """The pool of models and voters."""
    return fold(np.concatenate([predicted, voters]), classes, trusted=np.full(len(voters), trusted))


@pytest.mark.more
@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(2, 4), st.integers(1, 3))
def test_the_say_of_a_voter_is_its_kappa_beside_that_of_the_models(seed, classes, models, voters):
    """By scikit-learn's kappa, pair by pair; models that are ranked keep all of their weight."""
    rng = np.random.default_rng(seed)
    skill = rng.uniform(0.3, 0.95, models + voters)
    predicted, _ = some_models(skill, 60, classes, seed)
    kappas = [[cohen_kappa_score(a, b) for b in predicted[:models]] for a in predicted]
    usual = [np.mean([kappas[a][b] for b in range(models) if a != b]) for a in range(models)]
    spread = max(np.std(usual), LEAST_SPREAD)
    least = max(np.mean(usual) - spread / 2, 0)
    lent = [np.clip((np.mean(row) - least) / spread, 0, 1) for row in kappas[models:]]
    assert says(predicted, classes, models) == pytest.approx([1.0] * models + lent, abs=1e-6)


EVERYONE, TRUTH = some_models([0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.75])
MODELS, VOTERS = EVERYONE[:4], EVERYONE[4:]
HARMLESS = {
    "one label": np.full((1, 300), 2),
    "a copy of a model": MODELS[[2]],
    "a contradiction": (MODELS[[3]] + 1) % 3,
    "silence": np.full((1, 300), -1),
}


@pytest.mark.parametrize("voters", HARMLESS.values(), ids=HARMLESS)
def test_a_voter_that_says_nothing_changes_no_bit(voters):
    """It is left out of the vote, so that orders, probabilities and the next row are those without it."""
    rows = np.arange(6)
    belief, alone = (believe(patterns, rows, TRUTH[rows]) for patterns in (voting(MODELS, voters), fold(MODELS, 3)))
    assert (belief.values == alone.values).all()
    assert (belief.better == alone.better).all()
    assert (next_rows(belief, 2) == next_rows(alone, 2)).all()


def test_the_same_voter_twice_votes_once():
    """Two names for one model count once."""
    once, twice = (believe(voting(MODELS, np.repeat(VOTERS[:1], n, axis=0)), NONE, NONE) for n in (1, 2))
    assert once.patterns.voters == 5
    assert (once.values == twice.values).all()


def test_coins_have_hardly_a_say():
    """A model that guesses agrees by chance."""
    guesses = np.random.default_rng(5).integers(3, size=(4, 300))
    assert says(np.concatenate([MODELS, guesses]), 3, 4)[4:].max() < 0.01


def test_good_voters_order_models_before_a_label():
    """Ten suites of near models: with three better voters more pairs are in their true order."""
    right = {0: [], 3: []}
    for seed in range(10):
        skill = np.random.default_rng(seed).uniform(0.55, 0.75, 6)
        predicted, truth = some_models([*skill, 0.9, 0.9, 0.9], seed=seed)
        accuracy = (predicted[:6] == truth).mean(axis=1)
        for voters, wins in right.items():
            score = believe(voting(predicted[:6], predicted[6 : 6 + voters]), NONE, NONE).score
            pairs = [(a, b) for a in range(6) for b in range(6) if accuracy[a] > accuracy[b]]
            wins += [score[a] > score[b] for a, b in pairs]
    assert np.mean(right[3]) > np.mean(right[0]) + 0.05


def test_weak_voters_that_err_alike_cost_no_pair():
    """Ten suites: everyone is right on four rows of five, and four voters share most of their errors on the rest."""
    shares = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        predicted, truth = some_models([*rng.uniform(0.4, 0.8, 8), *[0.1] * 5], seed=seed)
        weak = np.where(rng.random((4, 300)) < 0.9, predicted[8], predicted[9:])
        easy = rng.random(300) < 0.8
        models, voters = (np.where(easy, truth, answers) for answers in (predicted[:8], weak))
        accuracy = (models == truth).mean(axis=1)
        better = accuracy[:, None] > accuracy
        scores = [believe(patterns, NONE, NONE).score for patterns in (fold(models, 3), voting(models, voters))]
        shares.append([(score[:, None] > score)[better].mean() for score in scores])
    alone, beside = np.mean(shares, axis=0)
    assert beside > alone - 0.005


def test_voters_are_not_ranked_in_any_order():
    """Only the models have values, and no listing of models or voters changes them."""
    belief = believe(voting(MODELS, VOTERS), np.arange(5), TRUTH[:5])
    assert belief.patterns.voters == 7
    assert belief.values.shape[1] == len(belief.better) == 4
    moved = believe(voting(MODELS[[2, 0, 3, 1]], VOTERS[[1, 2, 0]]), np.arange(5), TRUTH[:5])
    assert moved.score == pytest.approx(belief.score[[2, 0, 3, 1]], abs=1e-6)


def test_labels_overrule_a_trusted_voter():
    """It weighs twice as much as a model at first; thirty labels that it has wrong leave it less than a model has."""
    wrong = (TRUTH[None] + 1) % 3
    patterns = voting(MODELS, wrong, trusted=True)
    assert patterns.say.tolist() == [1, 1, 1, 1, TRUSTED]
    before, after = (believe(patterns, rows, TRUTH[rows]).worlds.weights.mean(axis=0) for rows in (NONE, np.arange(30)))
    assert before[4] > before[:4].max()
    assert after[4] < after[:4].min()


def test_a_pool_knows_how_much_its_voters_say():
    """In their order, 0 for one without a say, though it is left out of the patterns."""
    of_voters = np.eye(3)[np.concatenate([np.zeros((1, 300), int), VOTERS[:1]])]
    pool = Pool(np.eye(3)[MODELS], voters=Voters(of_voters, np.zeros(2, dtype=bool)))
    assert pool.says.tolist() == [0.0, pool.patterns().say[4]]
    assert pool.part(range(50)).voters.probs.shape == (2, 50, 3)
