import importlib.util
import itertools
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.statistics.draws import Draws
from ranker.statistics.likeness import (
    EFFECT_SDS,
    EVEN_SPREAD,
    FAMILY_ODDS,
    KIN,
    NOISE,
    NOISE_VALUES,
    PLANNED_SDS,
    REFERENCE,
    SHARED,
    SLOPE,
    SLOPE_SD,
    SPREAD_FLOOR,
    TRUSTED,
    WEIGHT_SDS,
    AnchorPosterior,
    Anchors,
    LikenessEvidence,
    choose_rows,
    draw,
    infer_differences,
)

DATA = Path(os.environ.get("RANK_MODELS_DATA") or Path(__file__).parents[4] / "shared" / "data")
PROTOTYPE = DATA.parent / "prototypes" / "anchors.py"
TEXTS = DATA / "texts" / "wmt21_ende.npz"
NONE = np.zeros(0, dtype=np.int64)


@st.composite
def problems(draw, fewest=2):
    """Similarity of a few models' answers, some rows of it even, and outcomes on some rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    models, rows = draw(st.integers(fewest, 5)), draw(st.integers(2, 7))
    similarity = rng.random((models, models, rows))
    similarity[:, :, rng.random(rows) < draw(st.sampled_from([0.0, 0.3]))] = rng.random()
    labelled = rng.choice(rows, draw(st.integers(0, rows)), replace=False)
    return similarity, rng.random((models, len(labelled))), labelled


def relative_agreement(similarity):
    """Relative agreement x and its spread z, by their definitions."""
    models, _, rows = similarity.shape
    x, z = np.zeros(similarity.shape), np.zeros(rows)
    for n in range(rows):
        for k in range(models):
            similarities = [similarity[m, k, n] for m in range(models) if m != k]
            for m in range(models):
                x[m, k, n] = similarity[m, k, n] - np.mean(similarities) if m != k else 0
        z[n] = np.mean([x[m, k, n] ** 2 for m in range(models) for k in range(models)]) ** 0.5
    return x, z


def spreads(z):
    """The spreads that scale rows, and the rows that tell models apart."""
    if z.mean() < 1e-12:
        return np.full(len(z), EVEN_SPREAD), np.ones(len(z), dtype=bool)
    return np.maximum(z, SPREAD_FLOOR * z.mean()), z > SPREAD_FLOOR * z.mean()


def kin_of(similarity):
    """Which models are of one family, by chains of near ones."""
    models = range(len(similarity))
    apart = {
        (a, b): round(1 - (similarity[a, b].mean() + similarity[b, a].mean()) / 2, 12)
        for a in models
        for b in models
        if a != b
    }
    near = KIN * np.median([*apart.values()])
    family = {model: {model} for model in models}
    for (a, b), distance in apart.items():
        if distance < near:
            for model in (joined := family[a] | family[b]):
                family[model] = joined
    return np.array([[float(b in family[a]) for b in models] for a in models])


def signal_covariance(similarity, s, t, kin):
    """(N (M - 1), N (M - 1)) prior covariance of leads over the last model, row by row, and their means; no noise."""
    models, _, rows = similarity.shape
    x, z = relative_agreement(similarity)
    z, _ = spreads(z)
    lead = np.column_stack([np.eye(models - 1), -np.ones(models - 1)])
    shares = [1 / sum(group) for group in kin]
    share = np.array(shares) / np.mean(shares)
    weights = (SLOPE_SD**2 * np.outer(share, share) + s**2 * np.diag(share)) / (models - 1) ** 2
    effects = t**2 * np.where(np.eye(models) == 1, 1, SHARED * kin)
    blocks = [
        [lead @ (x[:, :, i] @ weights @ x[:, :, j].T + z[i] * z[j] * effects) @ lead.T for j in range(rows)]
        for i in range(rows)
    ]
    means = [lead @ x[:, :, n] @ share * SLOPE / (models - 1) for n in range(rows)]
    noise = [z[n] ** 2 * lead @ lead.T for n in range(rows)]
    return np.block(blocks), np.concatenate(means), scipy.linalg.block_diag(*noise)


def noise_variance(similarity, outcomes, labelled):
    """sigma^2, by a loop over uneven labelled rows."""
    z, uneven = spreads(relative_agreement(similarity)[1])
    scaled = [
        (column - column.mean()) / z[row] for row, column in zip(labelled, outcomes.T, strict=True) if uneven[row]
    ]
    middle = np.mean(scaled, axis=0) if len(scaled) > 1 else 0.0
    squares = sum(((values - middle) ** 2).sum() for values in scaled)
    free = (len(scaled) - (len(scaled) > 1)) * (len(similarity) - 1)
    return (squares + NOISE_VALUES * NOISE**2) / (free + NOISE_VALUES)


def conditioned(similarity, outcomes, labelled):
    """A dense Gaussian regression of all rows' leads over the last model, for each s and t."""
    models, _, rows = similarity.shape
    size = models - 1
    _, uneven = spreads(relative_agreement(similarity)[1])
    variance = noise_variance(similarity, outcomes, labelled)
    column_of = {row: k for k, row in enumerate(labelled.tolist())}
    flat_places = [size * row + i for row in column_of if uneven[row] for i in range(size)]
    leads = [
        outcomes[i, column_of[row]] - outcomes[-1, column_of[row]]
        for row in column_of
        if uneven[row]
        for i in range(size)
    ]
    unseen = [size * row + i for row in range(rows) if row not in column_of for i in range(size)]
    mean_of_rest = np.tile(np.eye(size), rows - len(labelled)) / rows
    to_relative = np.linalg.pinv(np.column_stack([np.eye(size), -np.ones(size)]))
    leads_shown = (outcomes[:-1] - outcomes[-1]).sum(axis=1) / rows
    parts = []
    kin = kin_of(similarity)
    priors = [(np.eye(models), 0.0)] + [(kin, np.log(FAMILY_ODDS))] * (len({*map(tuple, kin)}) not in (1, models))
    for (of_family, log_odds), t, s in itertools.product(priors, EFFECT_SDS, WEIGHT_SDS):
        signal, mean, noise = signal_covariance(similarity, s, t, of_family)
        full = signal + variance * noise
        likelihood, gain = 0.0, np.zeros((len(unseen), len(flat_places)))
        if flat_places:
            observed = full[np.ix_(flat_places, flat_places)]
            likelihood = scipy.stats.multivariate_normal(mean[flat_places], observed).logpdf(leads)
            gain = signal[np.ix_(unseen, flat_places)] @ np.linalg.inv(observed)
        conditional = mean[unseen] + gain @ (leads - mean[flat_places])
        covariance = full[np.ix_(unseen, unseen)] - gain @ signal[np.ix_(flat_places, unseen)]
        parts.append(
            (
                conditional,
                likelihood + log_odds,
                to_relative @ (leads_shown + mean_of_rest @ conditional),
                to_relative @ mean_of_rest @ covariance @ mean_of_rest.T @ to_relative.T,
            )
        )
    unlabelled, likelihoods, means, covariances = map(np.array, zip(*parts, strict=True))
    weights = np.exp(likelihoods - likelihoods.max())
    expected = (weights @ unlabelled / weights.sum()).reshape(-1, size) @ to_relative.T
    return weights / weights.sum(), means, covariances, expected


@pytest.mark.more
@settings(max_examples=80)
@given(problems())
def test_the_posterior_is_that_of_a_dense_regression(problem):
    """Weights, means and covariances agree with conditioning the full covariance of all rows."""
    similarity, outcomes, labelled = problem
    posterior = infer_differences(Anchors(similarity), outcomes, labelled)
    weights, means, covariances, _ = conditioned(similarity, outcomes, labelled)
    assert posterior.weights == pytest.approx(weights, abs=1e-6)
    assert posterior.means == pytest.approx(means, abs=1e-7)
    assert posterior.covariances == pytest.approx(covariances, abs=1e-7)
    assert posterior.score == pytest.approx(weights @ means, abs=1e-6)


@pytest.mark.more
@settings(max_examples=40)
@given(problems())
def test_of_a_domain_the_pool_is_a_sample(problem):
    """To each covariance it adds that over rows of what is expected of them, and of the noise, by the rows."""
    similarity, outcomes, labelled = problem
    models, _, rows = similarity.shape
    anchors = Anchors(similarity)
    of_pool, of_domain = (infer_differences(anchors, outcomes, labelled, domain) for domain in (False, True))
    *_, expected = conditioned(similarity, outcomes, labelled)
    every_row = np.vstack([(outcomes - outcomes.mean(axis=0)).T, expected])
    added = sum(np.outer(row, row) for row in every_row - every_row.mean(axis=0)) / rows / (rows - 1)
    z, _ = spreads(relative_agreement(similarity)[1])
    for row in set(range(rows)) - set(labelled.tolist()):
        added += noise_variance(similarity, outcomes, labelled) * z[row] ** 2 / rows**2 * (np.eye(models) - 1 / models)
    assert of_domain.covariances - of_pool.covariances == pytest.approx(
        np.stack([added] * len(of_pool.weights)), abs=1e-7
    )
    assert of_domain.means.tolist() == of_pool.means.tolist()


@pytest.mark.more
@settings(max_examples=200)
@given(problems(fewest=3))
def test_the_next_row_leaves_least_variance(problem):
    """Of all rows, by conditioning on each: the sum of variances of the differences from the mean model is least."""
    similarity, _, labelled = problem
    models, _, rows = similarity.shape
    open_ = [row for row in range(rows) if row not in labelled]
    signal, _, noise = signal_covariance(similarity, *PLANNED_SDS, np.eye(models))
    full, size = signal + NOISE**2 * noise, models - 1
    _, uneven = spreads(relative_agreement(similarity)[1])
    to_relative = np.linalg.pinv(np.column_stack([np.eye(size), -np.ones(size)]))
    mean = to_relative @ np.tile(np.eye(size), rows) / rows

    def left(chosen):
        flat_places = [size * row + i for row in chosen if uneven[row] for i in range(size)]
        gain = signal[:, flat_places] @ np.linalg.inv(full[np.ix_(flat_places, flat_places)])
        return np.trace(mean @ (signal - gain @ signal[flat_places]) @ mean.T)

    chosen = choose_rows(Anchors(similarity), 1, labelled)
    assert len(chosen) == min(len(open_), 1)
    for row in chosen:
        assert left([*labelled, row]) <= min(left([*labelled, other_row]) for other_row in open_) + 1e-9


def test_a_batch_is_what_is_chosen_row_by_row():
    """No outcome moves the choice, and rows that are labelled or closed are left out."""
    anchors = Anchors(np.random.default_rng(0).random((4, 4, 12)))
    batch = choose_rows(anchors, 5, closed=[3]).tolist()
    single = []
    for _ in range(5):
        single += choose_rows(anchors, 1, single, [3]).tolist()
    assert batch == single
    assert len({*batch, 3}) == 6
    assert sorted(choose_rows(anchors, 20, batch, [3]).tolist()) == sorted({*range(12)} - {*batch, 3})


def test_even_rows_are_chosen_last_and_tell_nothing():
    """Where all answers are alike, equal outcomes are no sign that models are equally good."""
    similarity = np.random.default_rng(1).random((4, 4, 200))
    similarity[:, :, ::2] = 1.0
    anchors = Anchors(similarity)
    assert (choose_rows(anchors, 100) % 2 == 1).all()
    outcomes = np.random.default_rng(2).random((4, 3))
    posterior = infer_differences(anchors, outcomes, [1, 3, 5])
    beside = infer_differences(anchors, np.column_stack([outcomes, np.ones((4, 3))]), [1, 3, 5, 0, 2, 4])
    assert beside.weights == pytest.approx(posterior.weights, abs=1e-12)
    assert beside.score == pytest.approx(posterior.score, abs=0.01)


def test_rows_of_one_deviant_model_are_chosen_last():
    """In a large pool, those of whose spread a single model makes up most; a small pool has no such half."""
    rng = np.random.default_rng(3)
    similarity = 0.5 + 0.1 * rng.random((5, 5, 120))
    similarity[0, :, :60] -= 0.5
    assert (choose_rows(Anchors(similarity), 60) >= 60).all()
    assert (choose_rows(Anchors(similarity[:, :, 40:80]), 20) < 20).any()


@settings(max_examples=60)
@given(problems(), st.integers(0, 2**32 - 1))
def test_the_order_of_models_and_rows_does_not_matter(problem, seed):
    """Everything moves with its model, and the chosen rows with their rows."""
    similarity, outcomes, labelled = problem
    rng = np.random.default_rng(seed)
    models, rows = rng.permutation(len(similarity)), rng.permutation(similarity.shape[2])
    moved = Anchors(similarity[np.ix_(models, models, rows)])
    anchors = Anchors(similarity)
    posterior = infer_differences(anchors, outcomes, labelled)
    moved_ones = infer_differences(moved, outcomes[models], np.argsort(rows)[labelled])
    assert moved_ones.score == pytest.approx(posterior.score[models], abs=1e-9)
    assert moved_ones.beats() == pytest.approx(posterior.beats()[np.ix_(models, models)], abs=1e-7)
    deviations = [np.diagonal(differences.covariances, axis1=1, axis2=2) for differences in (moved_ones, posterior)]
    assert deviations[0] == pytest.approx(deviations[1][:, models], abs=1e-7)
    assert moved.mean_agreement == pytest.approx(anchors.mean_agreement[models], abs=1e-12)
    if (anchors.spread != EVEN_SPREAD).any():  # else all rows are equally useful
        count = int(anchors.uneven.sum())
        assert rows[choose_rows(moved, count)].tolist() == choose_rows(anchors, count).tolist()


@settings(max_examples=40)
@given(problems(), st.floats(-1, 1))
def test_a_constant_on_a_row_and_the_diagonal_do_not_matter(problem, constant):
    """Only differences between models on a row are read, and no answer is compared with itself."""
    similarity, outcomes, labelled = problem
    posterior = infer_differences(Anchors(similarity), outcomes, labelled)
    shifted, undefined = outcomes + constant * np.arange(1, len(labelled) + 1), similarity.copy()
    undefined[np.arange(len(similarity)), np.arange(len(similarity))] = np.nan
    other_differences = infer_differences(Anchors(undefined), shifted, labelled)
    assert other_differences.beats() == pytest.approx(posterior.beats(), abs=1e-7)
    assert Anchors(undefined).mean_agreement.tolist() == Anchors(similarity).mean_agreement.tolist()


def test_of_two_models_only_outcomes_tell():
    """Each agrees with the other alike, so any similarity gives the same; without outcomes both are equal."""
    rng = np.random.default_rng(4)
    outcomes = np.array([[0.5, 0.6, 0.9], [0.4, 0.6, 0.3]])
    first, second = (Anchors(rng.random((2, 2, 9))) for _ in range(2))
    assert (
        infer_differences(first, outcomes, range(3)).beats() == infer_differences(second, outcomes, range(3)).beats()
    ).all()
    assert 0.6 < infer_differences(first, outcomes, range(3)).beats()[0, 1] < 0.99
    assert infer_differences(first, np.zeros((2, 0)), NONE).beats().tolist() == [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize("level", [0.0, 0.3, 1.0])
def test_equal_similarity_leaves_outcomes_alone(level):
    """Without outcomes all models are equal, and one row makes its best model the likeliest, by no more than 90 %."""
    anchors = Anchors(np.full((4, 4, 20), level))
    untold = infer_differences(anchors, np.zeros((4, 0)), NONE)
    assert untold.score.tolist() == [0] * 4
    assert (untold.beats() == 0.5).all()
    posterior = infer_differences(anchors, np.array([[0.2], [0.4], [0.1], [0.3]]), [7])
    assert np.argsort(-posterior.score).tolist() == [1, 3, 0, 2]
    assert 0.5 < posterior.beats()[1, 2] < 0.9
    assert np.isfinite(posterior.drawn(np.random.default_rng(0), 100)).all()
    assert choose_rows(anchors, 2, [0]).tolist() == [1, 2]


def test_all_rows_labelled_leave_nothing_open():
    """Differences are those of the outcomes, models that are equal are near each other, and intervals are points."""
    rng = np.random.default_rng(5)
    outcomes = rng.random((4, 6)) / 2
    outcomes[0] += 0.5
    outcomes[1] = outcomes[0, ::-1]
    posterior = infer_differences(Anchors(rng.random((4, 4, 6))), outcomes, range(6))
    truth = outcomes.mean(axis=1) - outcomes.mean()
    assert posterior.score == pytest.approx(truth, abs=1e-9)
    assert posterior.beats() == pytest.approx((1 + np.sign(np.round(truth[:, None] - truth, 9))) / 2)
    belief = Draws(posterior.drawn(rng, 100))
    assert np.array(belief.interval()) == pytest.approx(np.array([truth, truth]), abs=1e-5)
    assert belief.near(1e-6) == pytest.approx([1, 1, 0, 0])


def test_all_rows_labelled_leave_a_domain_open():
    """P(A > B) is then that of a paired difference with a normal mean."""
    rng = np.random.default_rng(14)
    outcomes = rng.random((3, 6))
    better = infer_differences(Anchors(rng.random((3, 3, 6))), outcomes, range(6), domain=True).beats()
    apart = outcomes[0] - outcomes[2]
    assert better[0, 2] == pytest.approx(scipy.stats.norm.cdf(apart.mean() / scipy.stats.sem(apart)), abs=1e-9)


@pytest.fixture
def posterior():
    """What five rows tell of six models."""
    rng = np.random.default_rng(6)
    outcomes = rng.random((6, 5)) + np.linspace(0, 0.5, 6)[:, None]
    return infer_differences(Anchors(rng.random((6, 6, 40))), outcomes, range(5))


def test_probabilities_are_shares_of_draws(posterior):
    """Of 200,000 draws: P(A > B) to .3 points."""
    drawn = posterior.drawn(np.random.default_rng(7), 200_000)
    better = posterior.beats()
    assert (better + better.T == 1).all()
    assert 0.02 < better[0, 5] < 0.3  # nothing is settled
    shares = (drawn[:, :, None] > drawn[:, None]).mean(axis=0)
    apart = ~np.eye(6, dtype=bool)
    assert np.abs(better - shares)[apart].max() < 0.003


def test_draws_have_the_mixtures_mean_and_covariance():
    """As the law of total covariance has them, and draws sum to 0 over models."""
    rng = np.random.default_rng(9)
    halves = rng.standard_normal((2, 3, 3))
    centring = np.eye(3) - 1 / 3
    covariances = centring @ halves @ halves.transpose(0, 2, 1) @ centring
    mixture = AnchorPosterior(np.array([0.3, 0.7]), np.array([[1.0, 0.0, -1.0], [0.0, 0.0, 0.0]]), covariances)
    drawn = mixture.drawn(rng, 200_000)
    between = mixture.means - mixture.score
    total = np.tensordot(mixture.weights, covariances + between[:, :, None] * between[:, None], axes=1)
    assert drawn.mean(axis=0) == pytest.approx(mixture.score, abs=0.02)
    assert np.cov(drawn.T) == pytest.approx(total, abs=0.05)
    assert drawn.sum(axis=1) == pytest.approx(0, abs=1e-6)


def test_a_belief_has_the_level_of_the_outcomes(posterior):
    """Likeness tells how far models are apart; the labelled rows alone, if they are random, where they are."""
    rng = np.random.default_rng(6)
    outcomes = rng.random((6, 5)) / 2 + np.linspace(0, 0.5, 6)[:, None]
    anchors, rows = Anchors(rng.random((6, 6, 40))), np.arange(5)
    apart = infer_differences(anchors, outcomes, rows, domain=True)
    chosen = draw(LikenessEvidence(anchors, outcomes, rows, random=False), np.random.default_rng(0))
    random = draw(LikenessEvidence(anchors, outcomes, rows), np.random.default_rng(0))
    assert chosen.score == pytest.approx(apart.score, abs=1e-8)
    assert random.score - random.score.mean() == pytest.approx(apart.score, abs=1e-8)
    assert random.score.mean() == pytest.approx(outcomes.mean(), abs=0.05)
    for belief in (chosen, random):
        assert (belief.beats() == apart.beats()).all()
        low, high = belief.interval()
        assert ((low < belief.expected) & (belief.expected < high)).all()
    untold = draw(LikenessEvidence(anchors, outcomes[:, :0], NONE), np.random.default_rng(0))
    assert untold.expected.sum() == pytest.approx(0, abs=1e-8)


def test_models_with_the_same_answers_have_the_same_of_everything():
    """Where their outcomes are the same, too."""
    rng = np.random.default_rng(3)
    answers, truth = rng.integers(3, size=(3, 30))[[0, 1, 0, 2]], rng.integers(3, size=30)
    anchors, rows = Anchors((answers[:, None] == answers).astype(float)), np.arange(6)
    outcomes = (answers[:, :6] == truth[:6]).astype(float)
    draws = draw(LikenessEvidence(anchors, outcomes, rows), np.random.default_rng(0))
    assert draws.beats()[0, 2] == 0.5
    for answer in (draws.best(), draws.near(), draws.expected):
        assert answer[0] == answer[2] != answer[1]


@pytest.mark.more
def test_probabilities_and_intervals_keep_their_word(monkeypatch):
    """In worlds of the prior where sigma is known, pairs are right and intervals hold the truth as often as stated."""
    monkeypatch.setattr("ranker.statistics.likeness.NOISE_VALUES", 1e6)
    rng = np.random.default_rng(10)
    stated, right, inside = [], [], []
    for _ in range(400):
        similarity = rng.random((5, 5, 40))
        anchors, s, t = Anchors(similarity), rng.choice(WEIGHT_SDS), rng.choice(EFFECT_SDS)
        weights = (SLOPE + SLOPE_SD * rng.standard_normal() + s * rng.standard_normal(5)) / 4
        effects = t * rng.standard_normal(5)[:, None] + NOISE * rng.standard_normal((5, 40))
        outcomes = np.einsum("mkn,k->mn", anchors.relative, weights) + anchors.spread * (effects - effects.mean(axis=0))
        posterior = infer_differences(anchors, outcomes[:, :4], range(4))
        truth, better = outcomes.mean(axis=1), posterior.beats()
        likelier = better > 0.5
        stated.append(better[likelier])
        right.append((truth[:, None] > truth)[likelier])
        low, high = Draws(posterior.drawn(rng, 4_000)).interval()
        inside.append((low <= truth - truth.mean()) & (truth - truth.mean() <= high))
    stated, right = np.concatenate(stated), np.concatenate(right)
    middle = (stated > 0.7) & (stated < 0.9)
    assert middle.sum() > 500
    assert right[middle].mean() == pytest.approx(stated[middle].mean(), abs=0.03)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.015)


def test_outcomes_overrule_agreement():
    """Models that err alike lead before there are outcomes, and fall behind with forty."""
    rng = np.random.default_rng(11)
    truth, habit = rng.integers(5, size=(2, 300))
    own_answers = rng.integers(5, size=(6, 300))
    alike = rng.random((6, 300)) < np.array([0.8, 0.8, 0.8, 0, 0, 0])[:, None]
    answers = np.where(alike, habit, np.where(rng.random((6, 300)) < 0.6, truth, own_answers))
    anchors, outcomes = Anchors((answers[:, None] == answers).astype(float)), (answers == truth).astype(float)
    assert infer_differences(anchors, outcomes[:, :0], NONE).beats()[:3, 3:].min() > 0.6
    rows = rng.choice(300, 40, replace=False)
    assert infer_differences(anchors, outcomes[:, rows], rows).beats()[:3, 3:].max() < 0.1


def test_a_missing_answer_supports_no_other():
    """Where it counts as 0 in its row and column, no model is nearer to it, and it loses agreement."""
    similarity = np.random.default_rng(12).random((3, 3, 4)) + 0.5
    anchors_of_copy = Anchors(similarity.copy())
    similarity[1, :, 2] = similarity[:, 1, 2] = 0.0
    anchors = Anchors(similarity)
    assert (anchors.relative[:, 1, 2] == 0).all()
    assert anchors.mean_agreement[1] < anchors_of_copy.mean_agreement[1]
    assert anchors.mean_agreement[0] == pytest.approx(np.mean([similarity[0, k, n] for k in (1, 2) for n in range(4)]))


SOUND = np.ones((3, 3, 4))


@pytest.mark.parametrize(
    ("similarity", "outcomes", "rows", "message"),
    [
        (np.ones((3, 2, 4)), np.ones((3, 1)), [0], r"shape \(M, A, N\)"),
        (np.ones((1, 1, 4)), np.ones((1, 1)), [0], r"M >= 2"),
        (np.ones((3, 3, 0)), np.ones((3, 0)), [], r"N >= 1"),
        (np.where(np.arange(4) == 2, np.nan, SOUND), np.ones((3, 1)), [0], "that of a missing answer is 0"),
        (SOUND, np.ones((3, 2)), [0], r"of the shape \(3, 1\) \(got \(3, 2\)\)"),
        (SOUND, np.full((3, 1), np.nan), [0], "outcomes must be finite"),
        (SOUND, np.ones((3, 2)), [1, 1], r"from 0 to 3 \(got \[1, 1\]\)"),
        (SOUND, np.ones((3, 1)), [4], "different rows of the pool"),
        (SOUND, np.ones((3, 1)), [-1], "different rows of the pool"),
    ],
)
def test_what_cannot_be_compared_is_refused(similarity, outcomes, rows, message):
    """One line says what is wrong with the arrays."""
    with pytest.raises(ValueError, match=message):
        infer_differences(Anchors(similarity), outcomes, rows)


def test_a_reference_that_is_trusted_weighs_more():
    """Before outcomes by the difference of the prior means, shared among those of one kind; outcomes overrule it."""
    rng = np.random.default_rng(22)
    similarity = rng.random((4, 7, 30))
    none, two = Anchors(similarity), Anchors(similarity, trusted=(True, False, True))
    untold = [infer_differences(anchors, np.zeros((4, 0)), NONE) for anchors in (none, two)]
    x = similarity[:, 4:].mean(axis=2) - similarity[:, 4:].mean(axis=(0, 2))
    trusted = x @ [TRUSTED / 2, REFERENCE, TRUSTED / 2] - x.sum(axis=1) * REFERENCE / 3
    assert untold[1].score - untold[0].score == pytest.approx(trusted, abs=1e-9)
    outcomes = np.repeat([[0.9], [0.6], [0.3], [0.0]], 30, axis=1) + 0.05 * rng.random((4, 30))
    scores = [infer_differences(anchors, outcomes[:, :20], range(20)).score for anchors in (none, two)]
    assert scores[1] == pytest.approx(scores[0], abs=0.02)
    assert np.argsort(-scores[1]).tolist() == [0, 1, 2, 3]


def simulated_family(rng):
    """Answers of six models of one kind and of four others to 200 questions; errors of the six are correlated .7."""
    ability = np.concatenate([rng.uniform(0.3, 0.6) + rng.normal(0, 0.06, 6), rng.uniform(0.35, 0.75, 4)])
    noise = rng.normal(size=(10, 200))
    noise[:6] = np.sqrt(0.7) * rng.normal(size=200) + np.sqrt(0.3) * noise[:6]
    right = noise < scipy.stats.norm.ppf(ability)[:, None]
    wrong = rng.integers(1, 7, (10, 200))
    wrong[:6] = np.where(rng.random((6, 200)) < 0.9, rng.integers(1, 7, 200), wrong[:6])
    answers = np.where(right, 0, wrong)
    return (answers[:, None] == answers).astype(float), right.astype(float)


def test_a_family_does_not_outvote_others():
    """Simulated: by families the log loss of pairs falls, and what is given 75 to 90 % is right in 65 % at least."""
    chosen_by = {(): [], tuple("abcdefghij"): []}
    for seed in range(60):
        similarity, outcomes = simulated_family(np.random.default_rng([21, seed]))
        truth = outcomes.mean(axis=1)
        first, second = np.nonzero(truth[:, None] > truth)
        for declared, of_prior in chosen_by.items():
            anchors = Anchors(similarity, declared)
            of_prior.extend(infer_differences(anchors, outcomes[:, :3], range(3)).beats()[first, second])
    with_families, each_own = map(np.array, chosen_by.values())
    assert -np.log(with_families).mean() < -np.log(each_own).mean() - 0.05
    stated = np.maximum(with_families, 1 - with_families)
    assert (with_families[(stated >= 0.75) & (stated < 0.9)] > 0.5).mean() > 0.65


def test_families_are_declared_or_found():
    """Chains of near answers are a family where none is declared; one family alone changes nothing."""
    near = 1 - np.abs(np.subtract.outer([0.0, 0.1, 0.2, 0.9], [0.0, 0.1, 0.2, 0.9]))[:, :, None]
    assert Anchors(near).families.tolist() == [0, 0, 0, 1]
    assert Anchors(near, ("a", "b", "b", "a")).families.tolist() == [0, 1, 1, 0]
    outcomes = np.array([[0.4], [0.5], [0.1], [0.2]])
    one_family, each_own = (
        infer_differences(Anchors(near, declared), outcomes, [0]) for declared in (tuple("aaaa"), tuple("abcd"))
    )
    assert one_family.beats().tolist() == each_own.beats().tolist()


@pytest.mark.skipif(
    not (PROTOTYPE.is_file() and TEXTS.is_file()), reason=f"needs {PROTOTYPE.name} and texts of ../shared"
)
@pytest.mark.parametrize("size", [2, 3, 10])
def test_it_agrees_with_the_prototype(monkeypatch, size):
    """On real texts, with random rows and chosen ones: means, P(A > B), and the rows, where sigma has no prior."""
    spec = importlib.util.spec_from_file_location("prototype", PROTOTYPE)
    prototype = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(prototype)
    monkeypatch.setattr("ranker.statistics.likeness.NOISE_VALUES", 1e-9)
    with np.load(TEXTS) as arrays:
        similarity, outcomes = arrays["S"].astype(float), arrays["Y"].astype(float)
    rng = np.random.default_rng(13)
    for _ in range(5):
        suite, pool = rng.choice(len(outcomes), 8, replace=False), rng.choice(outcomes.shape[1], 300, replace=False)
        slow, anchors = (
            prototype.Anchors(similarity[np.ix_(suite, suite, pool)]),
            Anchors(similarity[np.ix_(suite, suite, pool)], tuple("abcdefgh")),  # the prototype knows no families
        )
        chosen = choose_rows(anchors, size)
        assert chosen.tolist() == slow.choose(size).tolist()
        for rows in (rng.choice(300, size, replace=False), chosen):
            posterior = infer_differences(anchors, outcomes[np.ix_(suite, pool[rows])], rows)
            means, better = prototype.better(slow.fit(outcomes[np.ix_(suite, pool[rows])], rows))
            assert posterior.score == pytest.approx(means - means.mean(), abs=1e-7)
            assert posterior.beats() == pytest.approx(better, abs=1e-6)
