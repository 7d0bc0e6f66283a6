import numpy as np
import pytest

from factors import BUILTIN
from ranker.statistics import agreement, engine, intervals
from ranker.statistics.agreement import Ranked, measure, pairwise_accuracies

RANKED = Ranked.of([BUILTIN[name] for name in ("ACC", "NLL", "INDEX-DIFF")], "INDEX-DIFF")


def scored(seed=0, models=4, examples=60):
    """(M, F, N) scores of models from good to poor."""
    rng = np.random.default_rng(seed)
    quality = np.linspace(1.2, 0.2, models)[:, None]
    latent = quality + rng.normal(size=(models, examples))
    return np.stack([latent > 0, latent, quality + 2 * rng.normal(size=latent.shape)], axis=1)


def slow(values, draws, name, factor_name):
    """(P,) how often a combined method puts the first of a pair above the second, draw by draw."""
    models = len(values)
    pairs = [(a, b) for a in range(models) for b in range(a + 1, models)]
    won = np.zeros(len(pairs))
    for draw in draws:
        accuracy, factor = (np.array([np.mean(values[m, f, draw]) for m in range(models)]) for f in (0, factor_name))
        if name == "ACC+TIES":
            keys = [(round(a * 1e9), round(b * 1e9)) for a, b in zip(accuracy, factor, strict=True)]
        else:
            standard = [(x - x.mean()) / x.std() if x.std() > 1e-12 else x * 0 for x in (accuracy, factor)]
            keys = [(round(score * 1e9),) for score in standard[0] + standard[1]]
        won += [0.5 if keys[a] == keys[b] else keys[a] > keys[b] for a, b in pairs]
    return won / len(draws)


@pytest.mark.parametrize("name", ["ACC+TIES", "ACC+FACTOR"])
def test_combined_methods_agree_with_loops(name):
    """On the same draws, ACC+TIES and ACC+FACTOR win what a loop over draws and pairs counts."""
    values, decided = scored(), np.ones(6, bool)
    measured, _ = measure(values, RANKED, 7, 150, decided, np.random.default_rng(5))
    draws = engine.draw_probes(np.random.default_rng(5), 60, 7, agreement.MANY)[:150]
    assert measured.beats[:, measured.names.index(name)] == pytest.approx(
        slow(values, draws, name, factor_name=2), abs=1e-12
    )


def test_a_difference_to_acc_is_less_noisy_than_the_method_itself():
    """Combined methods are measured against ACC on the same draws, and so move less from seed to seed."""
    values, decided = scored(), np.ones(6, bool)
    exactly, drawn = [], []
    for seed in range(8):
        measured, _ = measure(values, RANKED, 10, "exact", decided, np.random.default_rng(seed))
        exactly.append(measured.beats[:, measured.names.index("ACC+TIES")].mean())
        draws = engine.draw_probes(np.random.default_rng(seed), 60, 10, agreement.MANY)
        drawn.append(engine.simulate(values[:, :1], draws, decided).beats.mean())
    assert np.std(exactly) < 0.6 * np.std(drawn)
    assert np.std(exactly) < 0.001


def tie_broken(values, draws):
    """(B,) the share of pairs that accuracy puts right on each draw, the last method breaking ties; all at once."""
    accuracy, factor = (values[:, f][:, draws].mean(axis=2) for f in (0, 2))
    first, second = np.triu_indices(len(values), 1)
    lead = np.round(accuracy[first] - accuracy[second], 9)
    return ((1 + np.sign(np.where(lead == 0, factor[first] - factor[second], lead))) / 2).mean(axis=0)


@pytest.mark.more
@pytest.mark.parametrize("count", ["exact", 400])
def test_standard_errors_of_combined_methods_agree_with_resampling(count):
    """Over resampled examples ACC+TIES varies as its influences say, and as draws add where there are few."""
    values, decided = scored(examples=100), np.ones(6, bool)
    measured, _ = measure(values, RANKED, 5, count, decided, np.random.default_rng(1))
    stated = intervals.variance(measured.influence, measured.noise)[measured.names.index("ACC+TIES")]
    rng, draws = np.random.default_rng(2), engine.draw_probes(np.random.default_rng(3), 100, 5, 4_000)
    resampled = [tie_broken(values[:, :, rng.integers(100, size=100)], draws).mean() for _ in range(300)]
    of_draws = 0.0 if count == "exact" else tie_broken(values, draws).var() / count
    assert np.sqrt(stated) == pytest.approx(np.sqrt(np.var(resampled) + of_draws), rel=0.15)


def test_the_curve_passes_through_what_is_measured():
    """A point of the learning curve at K is the pairwise accuracy at K."""
    values, decided = scored(), np.array([True, True, True, True, True, False])
    measured, _ = measure(values, RANKED, 5, "exact", decided, np.random.default_rng(0))
    point = pairwise_accuracies(values, RANKED, 5, decided, np.random.default_rng(1))
    for f, name in enumerate(measured.names):
        assert point[name] == pytest.approx(
            measured.beats[decided, f].mean(), abs=0.012 if name in RANKED.mixed else 1e-12
        )


def test_coins_stand_between_the_baselines_and_the_combined_methods():
    """RANDOM is 1/2 on every pair, has no influence, and differs from ACC by ACC's own noise."""
    measured, _ = measure(scored(), RANKED, 5, 200, np.ones(6, bool), np.random.default_rng(0))
    with_coins = measured.with_coins(["RANDOM"])
    assert with_coins.names == ("ACC", "NLL", "INDEX-DIFF", "RANDOM", "ACC+TIES", "ACC+FACTOR")
    assert with_coins.kinds == ("baseline", "baseline", "factor", "baseline", "combined", "combined")
    assert (with_coins.beats[:, 3] == 0.5).all()
    assert (with_coins.influence[3] == 0).all()
    assert with_coins.noise_of_difference[3] == measured.noise[0]


def test_pairs_that_no_grid_resolves_are_drawn_and_counted(monkeypatch):
    """Where the exact probability cannot be had, that of the draws stands, for those pairs only."""
    monkeypatch.setattr(agreement.exact, "probabilities", lambda values, size, worth: half_known)
    values, decided = scored(), np.ones(6, bool)
    half_known = np.full((6, 3), 0.75)
    half_known[:2, 1] = np.nan
    measured, drawn = measure(values, RANKED, 5, "exact", decided, np.random.default_rng(0))
    assert drawn == {"NLL": 2}
    draws = engine.draw_probes(np.random.default_rng(0), 60, 5, agreement.MANY)
    assert np.array_equal(measured.beats[:2, 1], engine.simulate(values[:, 1:2], draws, decided).beats[:2, 0])
    assert (measured.beats[2:, 1] == 0.75).all()


@pytest.mark.more
def test_the_noise_of_few_draws_is_not_understated():
    """Averaged over seeds, the noise stated for two or three draws is the variance of the estimates."""
    values, decided, ranked = scored(), np.ones(6, bool), Ranked(("ACC", "NLL"), ("baseline", "baseline"), {})
    probabilities = agreement.exact.probabilities(values[:, :2], 5).mean(axis=0)
    for count in (2, 3):
        samples = [
            measure(values[:, :2], ranked, 5, count, decided, np.random.default_rng(seed))[0] for seed in range(200)
        ]
        expected = np.mean([(sample.beats.mean(axis=0) - probabilities) ** 2 for sample in samples], axis=0)
        assert np.mean([sample.noise for sample in samples], axis=0) == pytest.approx(expected, rel=0.25)


def test_one_draw_shows_nothing_of_its_noise():
    """One draw tells nothing of a method's noise, nor of that of its difference to ACC; ACC's own is zero."""
    measured, _ = measure(scored(), RANKED, 5, 1, np.ones(6, bool), np.random.default_rng(0))
    assert np.isinf(measured.noise).all()
    assert measured.noise_of_difference[0] == 0
    assert np.isinf(measured.noise_of_difference[1:3]).all()
    low, high = intervals.of_pairwise_accuracy(
        measured.beats.mean(axis=0), intervals.variance(measured.influence, measured.noise)
    )
    assert low.max() == pytest.approx(0)
    assert high.min() == pytest.approx(1)
