from dataclasses import replace

import numpy as np
import pytest

from factors import BUILTIN
from ranker.results.table import ScoreTable
from ranker.scoring.evaluation import evaluate
from ranker.statistics import choice, engine, intervals, pooled, surrogate
from ranker.statistics.methods import BUILTIN as METHODS
from ranker.statistics.methods import DEFAULT
from ranker.statistics.pool import InDomain, Pool, PoolMethod, Targets
from ranker.statistics.pooled import Halves

NAMED = {one.name: one for one in METHODS}
FREE = [one for one in METHODS if one.kind == "label-free"]
CHOICE = NAMED["SURROGATE+CHOICE"]
RULES = [
    CHOICE,
    *(replace(CHOICE, name=rule.upper(), rule=rule) for rule in ("facility", "disagreement")),
]


def world(models=4, rows=60, in_domain=False):
    """A score table of ACC and one factor, the pool behind it, what is known of its rows, and truths that differ."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=rows)
    logits = np.linspace(0.3, 2, models)[:, None] * (2 * labels - 1) + rng.normal(size=(models, rows))
    positive = 1 / (1 + np.exp(-logits))
    probs = np.stack([1 - positive, positive], axis=2)
    own = InDomain(rng.dirichlet([1, 1], size=(models, 20)), rng.integers(2, size=20)) if in_domain else None
    outcomes = (probs.argmax(axis=2) == labels).astype(float)
    factor = replace(BUILTIN["SUM-DIFF"], name="OURS")
    table = ScoreTable(
        models=tuple(f"m{m}" for m in range(models)),
        methods=(BUILTIN["ACC"], factor),
        examples=tuple(map(str, range(rows))),
        values=np.stack([outcomes, rng.normal(size=(models, rows))], axis=1),
        truth=np.linspace(0.5, 0.9, models),
    )
    return table, Pool(probs, own), Targets(outcomes, labels)


def measured(table, pool, targets, methods=METHODS, **given):
    """An evaluation with all methods that come with the product."""
    return evaluate(table, **{"probe": 5, **given}, pool=pool, targets=targets, methods=methods)


def test_a_pool_adds_its_methods_to_the_table():
    """SURROGATE, SURROGATE+CHOICE, POOL-FACTOR and what needs no label nor in-domain row, each with a curve."""
    table, pool, targets = world()
    seen = replace(pool, factor=-table.values[:, 1])
    found = measured(table, seen, targets, [*METHODS, *RULES[1:]])
    kinds = {method.name: method.kind for method in found.methods}
    chosen = [one.name for one in RULES]
    assert {kinds[name] for name in ("SURROGATE", *chosen)} == {"pool"}
    free = [one.name for one in FREE if "in_domain" not in one.needs]
    assert [name for name, kind in kinds.items() if kind == "label-free"] == free
    assert set(found.method("SURROGATE").curve) == {1, 2, 3, 5, 10, 20, 50}
    for one in RULES:
        assert set(found.method(one.name).curve) == {1, 2, 3, 5, 10, 20}  # no more than half of the rows
        assert found.method(one.name).rule == one.rule
        assert found.method(one.name).sees_chosen_rows
    assert [one.name for one in found.methods if one.sees_chosen_rows] == chosen
    assert {found.method(name).rule for name in free} == {""}
    assert len(set(found.method("MAJORITY").curve.values())) == 1


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


def test_half_of_the_rows_may_be_chosen():
    """K = N / 2 is the most that fits a half; one more leaves the chosen ones out."""
    given = world(rows=20)
    for probe in (5, 10):
        found = measured(*given, probe=probe, curve=(5, 10, 11, 20))
        assert set(found.method("SURROGATE+CHOICE").curve) == {5, 10}
    names = {method.name for method in measured(*given, [*METHODS, *RULES[1:]], probe=11, curve=()).methods}
    assert "SURROGATE" in names
    assert not names & {one.name for one in RULES}


def test_in_domain_rows_add_the_methods_that_need_them():
    """ATC, DOC and COT are there with labelled in-domain rows, and only then."""
    some = {"ATC", "DOC", "COT"}
    assert some <= {method.name for method in measured(*world(in_domain=True), curve=()).methods}
    assert not some & {method.name for method in measured(*world(), curve=()).methods}


def test_by_default_few_are_shown():
    """The surrogate, random and chosen, and one that sees no label; the rest come where they are asked for."""
    names = [one.name for one in DEFAULT]
    assert names == ["SURROGATE", "SURROGATE+CHOICE", "DAWID-SKENE"]
    kinds = {one.name: one.kind for one in measured(*world(), DEFAULT, curve=()).methods}
    assert [name for name, kind in kinds.items() if kind in ("pool", "label-free")] == names


def test_the_noise_of_accuracys_draws_is_in_every_difference_to_it():
    """Shown one draw of one row, ACC may be anything; what no draw changes is no surer of its lead than a coin is."""
    found = measured(*world(), [*METHODS, *RULES[1:]], probe=1, draws=1, curve=())
    width = {one.name: one.difference_high - one.difference_low for one in found.methods}
    coin = found.method("RANDOM")
    assert coin.difference_high - coin.difference_low > 0.5
    for name in ("MAJORITY", "DAWID-SKENE", *(one.name for one in RULES)):
        one = found.method(name)
        cut = one.difference_low == -1 or one.difference_high == 1  # at the ends of what a difference can be
        assert cut or width[name] >= width["RANDOM"]


def test_without_a_pool_or_methods_nothing_is_added():
    """The methods of a table alone are those of before."""
    table, pool, targets = world()
    for given in ((None, targets, METHODS), (pool, None, METHODS), (pool, targets, ())):
        names = {method.name for method in measured(table, *given, curve=()).methods}
        assert names == {"ACC", "OURS", "RANDOM"}


def test_methods_of_ones_own_are_measured_as_those_of_the_product_are():
    """One that is shown the labels of draws, one of chosen rows, one of none: each is asked for what it declares."""
    table, pool, targets = world()

    def shown(pool, targets, rows):
        return targets.outcomes[:, rows].mean(axis=2)

    def votes(pool, targets, rows):
        return np.repeat(pool.agreement.mean(axis=1)[:, None], len(rows), axis=1)

    own = [
        PoolMethod("MEAN", "pool", shown),
        PoolMethod("MEAN+RARE", "pool", shown, rule="disagreement"),
        PoolMethod("VOTES", "label-free", votes, rule="", warning="goes with the crowd"),
    ]
    found = measured(table, pool, targets, own, curve=(5,))
    assert {one.name: one.kind for one in found.methods if one.name in {mine.name for mine in own}} == {
        mine.name: mine.kind for mine in own
    }
    mean, metric = found.method("MEAN"), found.method("ACC")  # the mean of the same outcomes on the same rows
    assert mean.pairwise_accuracy == pytest.approx(metric.pairwise_accuracy)
    assert mean.curve == pytest.approx(metric.curve)
    assert (mean.difference, mean.difference_low, mean.difference_high) == pytest.approx((0, 0, 0))
    right = [pool.agreement.mean(axis=1)[a] > pool.agreement.mean(axis=1)[b] for a in range(4) for b in range(a)]
    assert found.method("VOTES").pairwise_accuracy == pytest.approx(np.mean(right))
    assert "None of the methods that see no label is safe. VOTES: goes with the crowd." in found.notes


def test_other_outcomes_than_right_or_wrong_are_ranked_by():
    """Scores between 0 and 1 are a metric like any other, and the notes call it by its name."""
    table, pool, targets = world()
    outcomes = np.clip(table.outcomes * 0.5 + np.random.default_rng(3).random(table.outcomes.shape) / 2, 0, 1)
    judge = replace(BUILTIN["ACC"], name="JUDGE")
    values = np.stack([outcomes, table.values[:, 1]], axis=1)
    made = replace(table, methods=(judge, table.methods[1]), metric="JUDGE", values=values)
    found = measured(made, pool, Targets(outcomes, targets.labels), curve=(5, 10))
    assert found.methods[0].name == "JUDGE"
    assert any(note.startswith("5 labels: JUDGE ") for note in found.notes)
    assert found.method("SURROGATE").difference == pytest.approx(
        found.method("SURROGATE").pairwise_accuracy - found.method("JUDGE").pairwise_accuracy
    )


@pytest.mark.parametrize(
    ("noise", "probe", "rows", "needs"),
    [
        (0.0, 5, 60, " ACC needs more than 50 labels."),
        (0.5, 5, 60, " ACC needs 6 to 10 labels."),
        (0.5, 1, 60, " ACC needs 3 labels."),
        (0.7, 5, 60, ""),
        (0.0, 11, 20, " ACC needs more than 11 labels."),
    ],
)
def test_what_labels_are_worth_is_said(noise, probe, rows, needs):
    """What ACC, SURROGATE and chosen rows reach with K labels, and from how many on ACC's curve is as good."""
    table, pool, targets = world(rows=rows)
    blurred = np.random.default_rng(1).dirichlet([1, 1], size=pool.probs.shape[:2])
    curve = (1, 2, 3, 5, 10) if rows == 20 else (1, 2, 3, 5, 10, 50)
    found = measured(table, Pool((1 - noise) * pool.probs + noise * blurred), targets, probe=probe, curve=curve)
    reached = {method.name: f"{100 * method.pairwise_accuracy:.1f} %" for method in found.methods}
    said = f"{probe} {'label' if probe == 1 else 'labels'}: ACC {reached['ACC']}, SURROGATE {reached['SURROGATE']}"
    if rows == 60:
        said += f", and {reached['SURROGATE+CHOICE']} if `rank-models choose` picks them"
    said += f". For the {reached['SURROGATE']} of SURROGATE{needs}" if needs else "."
    assert [note for note in found.notes if " ACC " in note] == [said]


def test_each_method_without_labels_is_told_of_with_its_trap():
    """Those in the table, and no others; without a pool nothing is said."""
    given = world()
    (note,) = (note for note in measured(*given, curve=()).notes if "see no label" in note)
    assert {one.name for one in FREE if f"{one.name}: {one.warning}" in note} == {
        one.name for one in FREE if one.needs <= {"probabilities"}
    }
    for without in ((given[0], None, None), (*given, [NAMED["SURROGATE"]])):
        assert not any("see no label" in note for note in measured(*without, curve=()).notes)


def test_other_methods_do_not_change_beside_a_pool():
    """What the table's methods reach is the same with a pool as without."""
    table, pool, targets = world()
    with_pool, without = measured(table, pool, targets), evaluate(table, probe=5)
    assert with_pool.method("ACC").pairwise_accuracy == without.method("ACC").pairwise_accuracy
    assert with_pool.method("OURS").pairwise_accuracy == without.method("OURS").pairwise_accuracy


def test_surrogate_reaches_what_counting_draws_says():
    """Its pairwise accuracy is the share of drawn probes that put a pair right, a tie counting one half."""
    table, pool, targets = world()
    found = measured(table, pool, targets)
    draws = np.random.default_rng(7).integers(60, size=(4000, 5))
    scores = surrogate.estimates(pool, targets.labels, draws)
    first, second = np.triu_indices(4, 1)
    better = np.where((table.truth[first] > table.truth[second])[:, None], 1, -1)
    share = ((1 + np.sign(scores[first] - scores[second]) * better) / 2).mean()
    assert found.method("SURROGATE").pairwise_accuracy == pytest.approx(share, abs=0.01)


def test_the_mean_over_the_pool_ranks_as_the_whole_population_does():
    """POOL-FACTOR is right on the pairs that the factor's mean over all rows puts right."""
    table, pool, targets = world()
    found = measured(table, replace(pool, factor=-table.values[:, 1]), targets).method("POOL-FACTOR")
    means = -table.values[:, 1].mean(axis=1)  # SUM-DIFF: lower is better
    pairs = [(a, b) for a in range(4) for b in range(a)]
    right = sum(means[a] > means[b] for a, b in pairs)  # later models are better
    assert found.pairwise_accuracy == pytest.approx(right / len(pairs))


def pairwise_accuracy(scores):
    """The share of pairs that scores put right, later models being the better ones; a tie is one half."""
    right = [(1 + np.sign(scores[b] - scores[a])) / 2 for b in range(len(scores)) for a in range(b)]
    return np.mean(right)


@pytest.fixture
def halves():
    """Three pools of half of the rows, where fifty would be drawn."""
    return Halves([np.arange(30), np.arange(30, 60), np.arange(0, 60, 2)], ())


def test_chosen_rows_are_those_that_choose_gives(halves):
    """In each half the rows that a rule picks, labelled, order the models; the mean and the variance over halves."""
    table, pool, targets = world()
    labels, order = targets.labels, np.argsort(-table.truth)
    best_first = pool.ordered(order), Targets(targets.outcomes[order], labels)
    found, curve = pooled.chosen(RULES, *best_first, 5, [10], np.ones(6, dtype=bool), halves)
    assert found.names == tuple(one.name for one in RULES)
    for size in (5, 10):
        for one, beats, noise in zip(RULES, found.beats.mean(axis=0), found.noise, strict=True):
            reached = []
            for half in halves.rows:
                part = pool.part(half)
                places = choice.choose(part, size, rule=one.rule)
                reached.append(pairwise_accuracy(surrogate.estimates(part, labels[half], places[None])[:, 0]))
            assert curve[size][one.name] == pytest.approx(np.mean(reached))
            if size == 5:
                assert (beats, noise) == pytest.approx((np.mean(reached), np.var(reached)))


def test_what_needs_no_label_is_that_of_the_whole_pool_and_varies_as_over_halves(halves):
    """The accuracy is of all rows, the variance of the halves."""
    table, pool, targets = world()
    order, methods = np.argsort(-table.truth), [one for one in FREE if one.needs <= {"probabilities"}]
    best_first = pool.ordered(order), Targets(targets.outcomes[order], targets.labels)
    found, always = pooled.label_free(methods, *best_first, np.ones(6, dtype=bool), halves)
    assert found.names == tuple(one.name for one in methods)
    assert len(methods) > 3
    for name, beats, noise in zip(found.names, found.beats.mean(axis=0), found.noise, strict=True):
        nothing = targets, np.zeros((1, 0), int)
        whole, *parts = (
            pairwise_accuracy(NAMED[name].estimate(one, *nothing)[:, 0]) for one in (pool, *map(pool.part, halves.rows))
        )
        assert (always[name], beats, noise) == pytest.approx((whole, whole, np.var(parts)))


def populations(rng, count, models=5, rows=200):
    """Pools of one domain, and their labels: models of which each row is hard for all alike, and for each by itself."""
    for _ in range(count):
        labels = rng.integers(2, size=rows)
        sure = np.linspace(1.6, 0.4, models)[:, None] + 1.5 * rng.normal(size=rows) + rng.normal(size=(models, rows))
        positive = 1 / (1 + np.exp(-sure * (2 * labels - 1)))
        yield Pool(np.stack([1 - positive, positive], axis=2)), labels


def test_surrogates_variance_is_that_over_populations():
    """Its pairwise accuracy, and its lead over ACC, vary from one population to the next as halves of one say."""
    decided, means, said = np.ones(10, dtype=bool), [], []
    rng = np.random.default_rng(0)
    for pool, labels in populations(rng, 40):
        draws = rng.integers(200, size=(1_000, 10))
        outcomes = (pool.predicted == labels)[:, None].astype(float)
        scores = np.stack([surrogate.estimates(pool, labels, draws), engine.means(outcomes, draws)[:, 0]], axis=1)
        ours, acc = engine.compare_pairs(scores).mean(axis=(0, 2)) / 2
        means.append((ours, ours - acc))
        known = Targets((pool.predicted == labels).astype(float), labels)
        said.append(pooled.variances(NAMED["SURROGATE"], pool, known, decided, Halves.of(200, 10, rng)))
    ratio = np.sqrt(np.mean(said, axis=0)) / np.std(means, axis=0)
    assert ((ratio > 0.8) & (ratio < 1.5)).all(), ratio


def test_the_interval_of_surrogate_is_that_of_its_variances():
    """In a report it is as wide as `variances` says, of the difference to ACC, too."""
    [(pool, labels)] = populations(np.random.default_rng(2), 1)
    outcomes = (pool.predicted == labels).astype(float)[:, None]
    table = replace(world(5, 200)[0], methods=(BUILTIN["ACC"],), values=outcomes)
    targets, surrogates = Targets(outcomes[:, 0], labels), NAMED["SURROGATE"]
    found = measured(replace(table, truth=np.linspace(0.9, 0.5, 5)), pool, targets, probe=10, curve=())
    own, lead = pooled.variances(
        surrogates, pool, targets, np.ones(10, dtype=bool), Halves.of(200, 10, np.random.default_rng(1))
    )
    shown = found.method("SURROGATE")
    (low,), (high,) = intervals.of_pairwise_accuracy(np.array([shown.pairwise_accuracy]), np.array([own]))
    assert shown.ci_high - shown.ci_low == pytest.approx(high - low, rel=0.3)
    assert shown.difference_high - shown.difference_low == pytest.approx(2 * intervals.Z95 * np.sqrt(lead), rel=0.3)


def test_each_rule_is_that_of_its_name(monkeypatch):
    """What a method is shown are the rows of its own rule, and of no other."""
    _, pool, targets = world(rows=30)
    asked = []
    choose = pooled.choice.choose
    monkeypatch.setattr(pooled.choice, "choose", lambda *given, rule: asked.append(rule) or choose(*given, rule=rule))
    pooled.chosen(RULES, pool, targets, 5, [], np.ones(6, dtype=bool), Halves.of(30, 5, np.random.default_rng(0)))
    assert set(asked) == {"variance-reduction", "facility", "disagreement"}
    assert [one.rule for one in RULES] == asked[:3]


def test_undefined_scores_leave_the_mean_over_the_pool():
    """An example that a factor cannot be computed on for one model leaves its mean for all."""
    _, pool, targets = world(models=2, rows=4)
    values = np.array([[1.0, 1.0, 1.0, np.nan], [0.0, 0.0, 0.0, 99.0]])
    seen = replace(pool, factor=values)
    halves = Halves.of(4, 1, np.random.default_rng(0))
    found, _ = pooled.label_free([NAMED["POOL-FACTOR"]], seen, targets, np.ones(1, dtype=bool), halves)
    assert found.names == ("POOL-FACTOR",)
    assert found.beats.tolist() == [[1.0]]
