from dataclasses import replace

import numpy as np
import pytest

from factors import BUILTIN
from factors.rounding import level
from ranker.results.table import ScoreTable
from ranker.scoring.evaluation import evaluate
from ranker.statistics import engine, intervals, pooled
from ranker.statistics.agreement import MethodAgreement
from ranker.statistics.methods import BUILTIN as BUILTIN_METHODS
from ranker.statistics.pool import InDomain, Pool, PoolMethod, Targets
from ranker.statistics.pooled import Halves, Population

FEW = 24
"""Draws of the methods here that are shown random rows: to draw is slow, and few are enough to compare."""

METHODS = tuple(replace(m, draws=FEW) if m.kind == "pool" else m for m in BUILTIN_METHODS)
NAMED = {method.name: method for method in METHODS}
FREE = [method for method in METHODS if method.kind == "label-free"]


def shares(pool, targets, rows):
    """(M, B) how often a model is right on the rows that are shown."""
    return targets.outcomes[:, rows].mean(axis=2)


def split_rows(pool, targets, count):
    """(K,) the rows on which the models are divided most."""
    return np.argsort(np.abs(pool.predicted.mean(axis=0) - 0.5), kind="stable")[:count]


SPLIT = PoolMethod("MEAN+SPLIT", "pool", shares, frozenset({"labels"}), pick=split_rows, draws=FEW)
ASKING = [NAMED["SURROGATE+LABEL"], SPLIT]
SURROGATES = [NAMED["SURROGATE"], NAMED["SURROGATE+LABEL"]]


def world(models=4, rows=60, in_domain=False):
    """A score table of ACC and one factor, the pool behind it, what is known of its rows, and truths that differ."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=rows)
    logits = np.linspace(0.3, 2, models)[:, None] * (2 * labels - 1) + rng.normal(size=(models, rows))
    positive = 1 / (1 + np.exp(-logits))
    probs = np.stack([1 - positive, positive], axis=2)
    own_in_domain = InDomain(rng.dirichlet([1, 1], size=(models, 20)), rng.integers(2, size=20)) if in_domain else None
    outcomes = (probs.argmax(axis=2) == labels).astype(float)
    factor = replace(BUILTIN["SUM-DIFF"], name="OURS")
    table = ScoreTable(
        models=tuple(f"m{m}" for m in range(models)),
        methods=(BUILTIN["ACC"], factor),
        examples=tuple(map(str, range(rows))),
        values=np.stack([outcomes, rng.normal(size=(models, rows))], axis=1),
        truth=np.linspace(0.5, 0.9, models),
    )
    return table, Pool(probs, own_in_domain), Targets(outcomes, labels)


def measured(table, pool, targets, methods=METHODS, **options):
    """An evaluation with all methods that come with the product."""
    return evaluate(table, **{"probe": 5, **options}, pool=pool, targets=targets, methods=methods)


@pytest.fixture(scope="module")
def plain():
    """An evaluation of that world by all methods that its pool allows, without curves."""
    return measured(*world(), curve=())


@pytest.mark.more
def test_a_pool_adds_its_methods_to_the_table():
    """SURROGATE, SURROGATE+LABEL, POOL-FACTOR and what needs no label nor in-domain row, each with a curve."""
    table, pool, targets = world()
    with_factor = replace(pool, factor=-table.values[:, 1])
    measurements = measured(table, with_factor, targets, [*METHODS, SPLIT])
    kinds = {method.name: method.kind for method in measurements.methods}
    chosen = [method.name for method in ASKING]
    assert {kinds[name] for name in ("SURROGATE", *chosen)} == {"pool"}
    free = [method.name for method in FREE if "in_domain" not in method.needs]
    assert [name for name, kind in kinds.items() if kind == "label-free"] == free
    assert set(measurements.method("SURROGATE").curve) == {1, 2, 3, 5, 10, 20, 50}
    for method in ASKING:
        assert set(measurements.method(method.name).curve) == {1, 2, 3, 5, 10, 20}  # no more than half of the rows
        assert measurements.method(method.name).rule == "chosen"
        assert measurements.method(method.name).sees_chosen_rows
    assert [method.name for method in measurements.methods if method.sees_chosen_rows] == chosen
    assert {measurements.method(name).rule for name in free} == {""}
    assert len(set(measurements.method("MAJORITY").curve.values())) == 1


@pytest.mark.more
@pytest.mark.parametrize(("rows", "half"), [(20, 10), (21, 11)])
def test_a_half_of_an_odd_number_of_rows_has_the_odd_one(monkeypatch, rows, half):
    """Of 21 rows 11 make a pool, of 20 ten."""
    sizes = []
    monkeypatch.setattr(pooled, "HALVES", 3)
    monkeypatch.setattr(
        Pool, "part", lambda self, rows: sizes.append(len(rows)) or replace(self, probs=self.probs[:, rows])
    )
    measured(*world(rows=rows), curve=())
    assert set(sizes) == {half}


@pytest.mark.slow
def test_half_of_the_rows_may_be_chosen():
    """K = N / 2 is the most that fits a half; one more leaves the chosen ones out."""
    inputs = world(rows=20)
    for probe in (5, 10):
        measurements = measured(*inputs, probe=probe, curve=(5, 10, 11, 20))
        assert set(measurements.method("SURROGATE+LABEL").curve) == {5, 10}
    names = {method.name for method in measured(*inputs, [*METHODS, SPLIT], probe=11, curve=()).methods}
    assert "SURROGATE" in names
    assert not names & {method.name for method in ASKING}


@pytest.mark.more
def test_in_domain_rows_add_the_methods_that_need_them(plain):
    """ATC, DOC and COT are there with labelled in-domain rows, and only then."""
    in_domain_names = {"ATC", "DOC", "COT"}
    assert in_domain_names <= {method.name for method in measured(*world(in_domain=True), curve=()).methods}
    assert not in_domain_names & {method.name for method in plain.methods}


@pytest.mark.more
def test_by_default_few_are_shown():
    """The surrogate, random and chosen, and one that sees no label; the rest come where they are asked for."""
    default = [method for method in METHODS if method.default]
    names = [method.name for method in default]
    assert names == ["SURROGATE", "SURROGATE+LABEL", "DAWID-SKENE"]
    kinds = {method.name: method.kind for method in measured(*world(), default, curve=()).methods}
    assert [name for name, kind in kinds.items() if kind in ("pool", "label-free")] == names


@pytest.mark.more
def test_the_noise_of_accuracys_draws_is_in_every_difference_to_it():
    """Shown one draw of one row, ACC may be anything; what no draw changes is no surer of its lead than a coin is."""
    measurements = measured(*world(), [*METHODS, SPLIT], probe=1, draws=1, curve=())
    width = {method.name: method.difference_high - method.difference_low for method in measurements.methods}
    coin = measurements.method("RANDOM")
    assert coin.difference_high - coin.difference_low > 0.5
    for name in ("MAJORITY", "DAWID-SKENE", *(method.name for method in ASKING)):
        method = measurements.method(name)
        cut = method.difference_low == -1 or method.difference_high == 1  # at the ends of what a difference can be
        assert cut or width[name] >= width["RANDOM"]


def test_without_a_pool_or_methods_nothing_is_added():
    """The methods of a table alone are those of before."""
    table, pool, targets = world()
    for inputs in ((None, targets, METHODS), (pool, None, METHODS), (pool, targets, ())):
        names = {method.name for method in measured(table, *inputs, curve=()).methods}
        assert names == {"ACC", "OURS", "RANDOM"}


def test_methods_of_ones_own_are_measured_as_those_of_the_product_are():
    """One that is shown the labels of draws, one of chosen rows, one of none: each is asked for what it declares."""
    table, pool, targets = world()

    def votes(pool, targets, rows):
        return np.repeat(agreement(pool).mean(axis=1)[:, None], len(rows), axis=1)

    own_methods = [
        PoolMethod("MEAN", "pool", shares),
        SPLIT,
        PoolMethod("VOTES", "label-free", votes, warning="goes with the crowd"),
    ]
    measurements = measured(table, pool, targets, own_methods, curve=(5,))
    assert {
        method.name: method.kind
        for method in measurements.methods
        if method.name in {mine.name for mine in own_methods}
    } == {mine.name: mine.kind for mine in own_methods}
    mean, metric = (
        measurements.method("MEAN"),
        measurements.method("ACC"),
    )  # the mean of the same outcomes on the same rows
    assert mean.pairwise_accuracy == pytest.approx(metric.pairwise_accuracy)
    assert mean.curve == pytest.approx(metric.curve)
    assert (mean.difference, mean.difference_low, mean.difference_high) == pytest.approx((0, 0, 0))
    right = [agreement(pool).mean(axis=1)[a] > agreement(pool).mean(axis=1)[b] for a in range(4) for b in range(a)]
    assert measurements.method("VOTES").pairwise_accuracy == pytest.approx(np.mean(right))
    assert "No method without labels is safe. VOTES: goes with the crowd." in measurements.notes


@pytest.mark.more
def test_other_outcomes_than_right_or_wrong_are_ranked_by():
    """Scores between 0 and 1 are a metric like any other, and the notes call it by its name."""
    table, pool, targets = world()
    outcomes = np.clip(table.outcomes * 0.5 + np.random.default_rng(3).random(table.outcomes.shape) / 2, 0, 1)
    judge = replace(BUILTIN["ACC"], name="JUDGE")
    values = np.stack([outcomes, table.values[:, 1]], axis=1)
    judged = replace(table, methods=(judge, table.methods[1]), metric="JUDGE", values=values)
    measurements = measured(judged, pool, Targets(outcomes, targets.labels), SURROGATES, curve=(5, 10))
    assert measurements.methods[0].name == "JUDGE"
    assert any(note.startswith("5 labels: JUDGE ") for note in measurements.notes)
    assert measurements.method("SURROGATE").difference == pytest.approx(
        measurements.method("SURROGATE").pairwise_accuracy - measurements.method("JUDGE").pairwise_accuracy
    )


@pytest.mark.more
@pytest.mark.parametrize(
    ("noise", "probe", "rows", "curve", "needs"),
    [
        (0.3, 5, 60, (1, 2, 3, 5, 10), " ACC needs more than 10 labels "),
        (0.3, 5, 60, (1, 2, 3, 5, 10, 50), " ACC needs 11 to 50 labels "),
        (0.5, 5, 60, (5, 10, 11, 29), " ACC needs 11 labels "),
        (0.7, 5, 60, (10, 50), ""),
        (0.0, 11, 20, (1, 2, 3, 5, 10), " ACC needs more than 11 labels "),
    ],
)
def test_what_labels_are_worth_is_said(monkeypatch, noise, probe, rows, curve, needs):
    """What ACC, SURROGATE and chosen rows reach with K labels, and from how many on ACC's curve is as good."""
    for number in ("HALVES", "FEWER_HALVES"):  # which intervals alone depend on
        monkeypatch.setattr(pooled, number, 4)
    table, pool, targets = world(rows=rows)
    blurred = np.random.default_rng(1).dirichlet([1, 1], size=pool.probs.shape[:2])
    noisy = Pool((1 - noise) * pool.probs + noise * blurred)
    measurements = measured(table, noisy, targets, SURROGATES, probe=probe, curve=curve)
    reached = {method.name: f"{100 * method.pairwise_accuracy:.1f} %" for method in measurements.methods}
    text = f"{probe} {'label' if probe == 1 else 'labels'}: ACC {reached['ACC']}, SURROGATE {reached['SURROGATE']}"
    if rows == 60:
        text += f", and {reached['SURROGATE+LABEL']} if `rank-models label` asks for them"
    text += f".{needs}to reach the {reached['SURROGATE']} of SURROGATE." if needs else "."
    assert [note for note in measurements.notes if " ACC " in note] == [text]


@pytest.mark.more
def test_each_method_without_labels_is_told_of_with_its_trap(plain):
    """Those in the table, and no others; without a pool nothing is said."""
    inputs = world()
    (note,) = (note for note in plain.notes if "without labels is safe" in note)
    assert {method.name for method in FREE if f"{method.name}: {method.warning}" in note} == {
        method.name for method in FREE if method.needs <= {"probabilities"}
    }
    for without in ((inputs[0], None, None), (*inputs, [NAMED["SURROGATE"]])):
        assert not any("without labels is safe" in note for note in measured(*without, curve=()).notes)


def test_other_methods_do_not_change_beside_a_pool(plain):
    """What the table's methods reach is the same with a pool as without."""
    without = evaluate(world()[0], probe=5, curve=())
    for name in ("ACC", "OURS"):
        assert plain.method(name).pairwise_accuracy == pytest.approx(without.method(name).pairwise_accuracy)


@pytest.mark.slow
def test_surrogate_reaches_what_counting_draws_says():
    """Its pairwise accuracy is the share of drawn probes that put a pair right, a tie counting one half."""
    table, pool, targets = world()
    measurements = measured(table, pool, targets, [replace(NAMED["SURROGATE"], draws=200)], curve=())
    draws = np.random.default_rng(7).integers(60, size=(200, 5))
    scores = NAMED["SURROGATE"].estimate(pool, targets, draws)
    first, second = np.triu_indices(4, 1)
    better = np.where((table.truth[first] > table.truth[second])[:, None], 1, -1)
    share = ((1 + np.sign(scores[first] - scores[second]) * better) / 2).mean()
    assert measurements.method("SURROGATE").pairwise_accuracy == pytest.approx(share, abs=0.03)


@pytest.mark.slow
def test_many_models_are_put_right_as_often_as_in_many_draws():
    """Where nearly all draws put nearly all pairs right, no error of the few draws is added to that."""
    rng = np.random.default_rng(0)
    labels, right = rng.integers(2, size=600), rng.random((30, 600)) < np.linspace(0.9, 0.55, 30)[:, None]
    predicted = np.where(right, labels, 1 - labels)
    population = Population(
        Pool(np.stack([1 - predicted, predicted], axis=2).astype(float)),
        Targets(right.astype(float), labels),
        np.ones(435, dtype=bool),
        Halves.draw(600, 10, rng),
    )
    draws = rng.integers(600, size=(20_000, 10))
    metric, influence, noise = np.full((435, 1), 0.7), np.zeros((1, 600)), np.zeros(1)
    metric[:, 0] = engine.simulate(right[:, None].astype(float), draws, population.decided).beats[:, 0]
    agreement = MethodAgreement(("ACC",), ("baseline",), metric, influence, noise, noise)
    few = replace(NAMED["SURROGATE"], draws=30)
    measured_few, _ = pooled.measure_random_labels([few], population, 10, agreement, {}, np.random.default_rng(1))
    _, error = measured_few.sampled["SURROGATE"]
    scores = few.estimate(population.pool, population.targets, draws[:200])
    reached = [pairwise_accuracy(column[::-1]) for column in scores.T]
    assert measured_few.beats.mean() == pytest.approx(
        np.mean(reached), abs=4 * np.hypot(error, np.std(reached) / 200**0.5)
    )
    assert error < 0.005


def test_the_mean_over_the_pool_ranks_as_the_whole_population_does():
    """POOL-FACTOR is right on the pairs that the factor's mean over all rows puts right."""
    table, pool, targets = world()
    with_factor = replace(pool, factor=-table.values[:, 1])
    method = measured(table, with_factor, targets, [NAMED["POOL-FACTOR"]], curve=()).method("POOL-FACTOR")
    means = -table.values[:, 1].mean(axis=1)  # SUM-DIFF: lower is better
    pairs = [(a, b) for a in range(4) for b in range(a)]
    right = sum(means[a] > means[b] for a, b in pairs)  # later models are better
    assert method.pairwise_accuracy == pytest.approx(right / len(pairs))


def agreement(pool):
    """(M, N) the share of models that say what a model says."""
    return (pool.predicted[:, None] == pool.predicted).mean(axis=1)


def pairwise_accuracy(scores):
    """The share of pairs that scores put right, later models being the better ones; a tie is one half."""
    scores = level(scores)
    right = [(1 + np.sign(scores[b] - scores[a])) / 2 for b in range(len(scores)) for a in range(b)]
    return np.mean(right)


@pytest.fixture
def halves():
    """Three pools of half of the rows, where fifty would be drawn."""
    return Halves([np.arange(30), np.arange(30, 60), np.arange(0, 60, 2)], ())


def best_first(table, pool, targets, halves):
    """The population, its models in their true order."""
    order = np.argsort(-table.truth)
    ordered = pool.ordered(order), Targets(targets.outcomes[order], targets.labels)
    return Population(*ordered, np.ones(len(order) * (len(order) - 1) // 2, dtype=bool), halves)


@pytest.mark.more
def test_chosen_rows_are_those_that_a_method_asks_for(halves):
    """In each half the rows that it asks for, labelled, order the models; the mean and the variance over halves."""
    table, pool, targets = world()
    chosen, curve = pooled.measure_chosen_rows(ASKING, best_first(table, pool, targets, halves), 5, [10])
    assert chosen.names == tuple(method.name for method in ASKING)
    for size in (5, 10):
        for method, beats, noise in zip(ASKING, chosen.beats.mean(axis=0), chosen.noise, strict=True):
            reached = []
            for half in halves.rows:
                part, targets_of_half = pool.part(half), targets.part(half)
                places = method.pick(part, targets_of_half, size)
                reached.append(pairwise_accuracy(method.estimate(part, targets_of_half, places[None])[:, 0]))
            assert curve[size][method.name] == pytest.approx(np.mean(reached))
            if size == 5:
                wider = (4.302652729696142 / intervals.Z95) ** 2  # the 97.5 % quantile of Student's t, two degrees
                assert (beats, noise) == pytest.approx((np.mean(reached), wider * np.var(reached, ddof=1)))
                assert chosen.sampled[method.name] == (3, pytest.approx(np.std(reached, ddof=1) / np.sqrt(3)))


def test_what_needs_no_label_is_that_of_the_whole_pool_and_varies_as_over_halves(halves):
    """The accuracy is of all rows, the variance of the halves."""
    table, pool, targets = world()
    methods = [method for method in FREE if method.needs <= {"probabilities"}]
    outcome, always = pooled.unsupervised_accuracy(methods, best_first(table, pool, targets, halves))
    assert outcome.names == tuple(method.name for method in methods)
    assert len(methods) > 3
    for name, beats, noise in zip(outcome.names, outcome.beats.mean(axis=0), outcome.noise, strict=True):
        nothing = targets, np.zeros((1, 0), int)
        of_all, *parts = (
            pairwise_accuracy(NAMED[name].estimate(part, *nothing)[:, 0])
            for part in (pool, *map(pool.part, halves.rows))
        )
        assert (always[name], beats, noise) == pytest.approx((of_all, of_all, np.var(parts)))


def populations(rng, count, models=5, rows=200):
    """Pools of one domain, and their labels: models of which each row is hard for all alike, and for each by itself."""
    for _ in range(count):
        labels = rng.integers(2, size=rows)
        sure = np.linspace(1.6, 0.4, models)[:, None] + 1.5 * rng.normal(size=rows) + rng.normal(size=(models, rows))
        positive = 1 / (1 + np.exp(-sure * (2 * labels - 1)))
        yield Pool(np.stack([1 - positive, positive], axis=2)), labels


@pytest.mark.more
def test_the_variance_is_that_over_populations():
    """A pairwise accuracy, and its lead over ACC, vary from one population to the next as halves of one say."""
    decided, means, stated = np.ones(10, dtype=bool), [], []
    rng = np.random.default_rng(0)

    def blended(pool, targets, rows):  # what labels say of a model, and what the crowd does
        return shares(pool, targets, rows) + 2 * agreement(pool).mean(axis=1)[:, None]

    method = PoolMethod("BLENDED", "pool", blended)
    for pool, labels in populations(rng, 60):
        draws, targets = rng.integers(200, size=(1_000, 10)), Targets((pool.predicted == labels).astype(float), labels)
        scores = np.stack([blended(pool, targets, draws), engine.means(targets.outcomes[:, None], draws)[:, 0]], axis=1)
        ours, acc = engine.compare_pairs(scores).mean(axis=(0, 2)) / 2
        means.append((ours, ours - acc))
        stated.append(
            pooled.population_variances(method, Population(pool, targets, decided, Halves.draw(200, 10, rng)))
        )
    ratio = np.sqrt(np.mean(stated, axis=0)) / np.std(means, axis=0)
    assert ((ratio > 0.8) & (ratio < 1.5)).all(), ratio


@pytest.mark.slow
def test_the_interval_is_that_of_the_variances():
    """In a report it is as wide as `population_variances` and the draws say, of the difference to ACC, too."""
    [(pool, labels)] = populations(np.random.default_rng(2), 1)
    outcomes = (pool.predicted == labels).astype(float)[:, None]
    table = replace(world(5, 200)[0], methods=(BUILTIN["ACC"],), values=outcomes)
    targets, method = Targets(outcomes[:, 0], labels), replace(NAMED["SURROGATE"], draws=100)
    measurements = measured(replace(table, truth=np.linspace(0.9, 0.5, 5)), pool, targets, [method], probe=10, curve=())
    _, _, of_halves, _ = np.random.default_rng(0).spawn(4)
    population = Population(pool, targets, np.ones(10, dtype=bool), Halves.draw(200, 10, of_halves))
    variances, _ = pooled.population_variances(method, population)
    method_shown = measurements.method("SURROGATE")
    assert method_shown.draws == 100
    assert 0 < method_shown.draws_error < 0.05
    (low,), (high,) = intervals.of_pairwise_accuracy(
        np.array([method_shown.pairwise_accuracy]), np.array([variances + method_shown.draws_error**2])
    )
    assert (method_shown.ci_low, method_shown.ci_high) == pytest.approx((low, high), abs=0.005)


def test_a_method_that_follows_the_metric_has_the_noise_of_its_draws():
    """That of the table's other methods adds nothing."""
    _, pool, targets = world()
    population = Population(pool, targets, np.ones(6, dtype=bool), Halves.draw(60, 3, np.random.default_rng(0)))
    follower = PoolMethod("MEAN", "pool", shares, draws=40)

    def noise_with(*noise):
        of_table = np.full((6, 2), 0.7), np.zeros((2, 60)), np.array(noise), np.array(noise)
        metric = MethodAgreement(("ACC", "OURS"), ("baseline", "factor"), *of_table)
        measured_follower, _ = pooled.measure_random_labels(
            [follower], population, 3, metric, {}, np.random.default_rng(1)
        )
        return measured_follower.noise[0]

    assert noise_with(0.01, 0.5) - noise_with(0.0, 0.5) == pytest.approx(0.01)


@pytest.mark.more
def test_the_standard_error_of_draws_is_that_of_other_seeds():
    """What few draws leave open is how far apart other draws of the same rows are."""
    table, pool, targets = world()
    method = PoolMethod("MEAN", "pool", shares, draws=40)
    measured_methods = [
        measured(table, pool, targets, [method], probe=3, curve=(), seed=seed).method("MEAN") for seed in range(60)
    ]
    # the mean of the same outcomes on the same rows is ACC, whatever the draws
    assert [measured_method.draws_error for measured_method in measured_methods] == pytest.approx([0.0] * 60, abs=1e-12)
    blurred = replace(method, estimate=lambda *flags: shares(*flags) + 0.1 * agreement(flags[0]).mean(axis=1)[:, None])
    measured_methods = [
        measured(table, pool, targets, [blurred], probe=3, curve=(), seed=seed).method("MEAN") for seed in range(60)
    ]
    spread = np.std([measured_method.pairwise_accuracy for measured_method in measured_methods])
    stated_error = np.mean([measured_method.draws_error for measured_method in measured_methods])
    assert (
        0.7 < spread / stated_error < 1.15
    )  # where a pair cannot be more often right than always, it is said to be too wide


def test_undefined_scores_leave_the_mean_over_the_pool():
    """An example that a factor cannot be computed on for one model leaves its mean for all."""
    _, pool, targets = world(models=2, rows=4)
    values = np.array([[1.0, 1.0, 1.0, np.nan], [0.0, 0.0, 0.0, 99.0]])
    with_holes = replace(pool, factor=values)
    population = Population(with_holes, targets, np.ones(1, dtype=bool), Halves.draw(4, 1, np.random.default_rng(0)))
    outcome, _ = pooled.unsupervised_accuracy([NAMED["POOL-FACTOR"]], population)
    assert outcome.names == ("POOL-FACTOR",)
    assert outcome.beats.tolist() == [[1.0]]


@pytest.mark.more
def test_large_pools_are_measured_by_less(monkeypatch):
    """Fewer draws are taken, but of quick methods, and rows are asked from a part of each half; both are said."""
    inputs = world()
    monkeypatch.setattr(pooled, "MAX_CELLS", 4 * 60 * 8)
    monkeypatch.setattr(pooled, "MIN_DRAWS", 5)
    monkeypatch.setattr(pooled, "POOL_ROWS", 10)
    sizes = []

    def picked(pool, targets, count):
        sizes.append(pool.probs.shape[1])
        return split_rows(pool, targets, count)

    quick = PoolMethod("MEAN", "pool", shares, frozenset({"labels"}))
    measurements = measured(*inputs, [NAMED["SURROGATE"], quick, replace(SPLIT, pick=picked)], curve=())
    assert measurements.method("SURROGATE").draws == 8
    assert measurements.method("MEAN").draws is None
    assert set(sizes) == {10}  # every third of thirty
    assert measurements.method("MEAN+SPLIT").draws == 8
    monkeypatch.setattr(pooled, "MAX_CELLS", 1)
    assert measured(*inputs, [NAMED["SURROGATE"]], curve=()).method("SURROGATE").draws == 5
