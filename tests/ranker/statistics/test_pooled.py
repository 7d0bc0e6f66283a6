from dataclasses import replace

import numpy as np
import pytest

from factors import BUILTIN
from ranker.results.table import ScoreTable
from ranker.scoring.evaluation import evaluate
from ranker.statistics import choice, engine, intervals, pooled, surrogate
from ranker.statistics.methods import LABEL_FREE, RULES
from ranker.statistics.pool import InDomain, Pool


def world(models=4, rows=60, in_domain=False):
    """A score table of ACC and one factor, the pool behind it, and accuracies that differ."""
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
        labels=tuple(labels.tolist()),
        ood_accuracy=np.linspace(0.5, 0.9, models),
    )
    return table, Pool(probs, own)


def test_a_pool_adds_its_methods_to_the_table():
    """SURROGATE, SURROGATE+CHOICE, POOL-FACTOR and what needs no label nor in-domain row, each with a curve."""
    table, pool = world()
    found = evaluate(table, probe=5, pool=replace(pool, factor=-table.values[:, 1]))
    kinds = {method.name: method.kind for method in found.methods}
    assert {kinds[name] for name in ("SURROGATE", *RULES)} == {"pool"}
    free = [one.name for one in LABEL_FREE if one.needs != "in_domain"]
    assert [name for name, kind in kinds.items() if kind == "label-free"] == free
    assert set(found.method("SURROGATE").curve) == {1, 2, 3, 5, 10, 20, 50}
    for name in RULES:
        assert set(found.method(name).curve) == {1, 2, 3, 5, 10, 20}  # no more than half of the rows
    assert len(set(found.method("MAJORITY").curve.values())) == 1


@pytest.mark.parametrize(("rows", "half"), [(20, 10), (21, 11)])
def test_a_half_of_an_odd_number_of_rows_has_the_odd_one(monkeypatch, rows, half):
    """Of 21 rows 11 make a pool, of 20 ten."""
    sizes = []
    monkeypatch.setattr(pooled, "HALVES", 3)
    monkeypatch.setattr(
        Pool, "part", lambda self, rows: sizes.append(len(rows)) or replace(self, probs=self.probs[:, rows])
    )
    table, pool = world(rows=rows)
    evaluate(table, probe=5, pool=pool, curve=())
    assert set(sizes) == {half}


def test_half_of_the_rows_may_be_chosen():
    """K = N / 2 is the most that fits a half; one more leaves the chosen ones out."""
    table, pool = world(rows=20)
    for probe in (5, 10):
        found = evaluate(table, probe=probe, pool=pool, curve=(5, 10, 11, 20))
        assert set(found.method("SURROGATE+CHOICE").curve) == {5, 10}
    names = {method.name for method in evaluate(table, probe=11, pool=pool, curve=()).methods}
    assert "SURROGATE" in names
    assert not names & set(RULES)


def test_in_domain_rows_add_the_methods_that_need_them():
    """ATC, DOC and COT are there with labelled in-domain rows, and only then."""
    table, pool = world(in_domain=True)
    names = {method.name for method in evaluate(table, probe=5, pool=pool).methods}
    assert {"ATC", "DOC", "COT"} <= names


def test_the_noise_of_accuracys_draws_is_in_every_difference_to_it():
    """Shown one draw of one row, ACC may be anything; what no draw changes is no surer of its lead than a coin is."""
    table, pool = world()
    found = evaluate(table, probe=1, draws=1, pool=pool, curve=())
    width = {one.name: one.vs_acc_high - one.vs_acc_low for one in found.methods}
    coin = found.method("RANDOM")
    assert coin.vs_acc_high - coin.vs_acc_low > 0.5
    for name in ("MAJORITY", "DAWID-SKENE", *RULES):
        one = found.method(name)
        cut = one.vs_acc_low == -1 or one.vs_acc_high == 1  # at the ends of what a difference can be
        assert cut or width[name] >= width["RANDOM"]


def test_without_a_pool_or_without_accuracy_nothing_is_added():
    """The methods of a table alone are those of before."""
    table, pool = world()
    alone = {method.name for method in evaluate(table, probe=5).methods}
    assert not alone & {"SURROGATE", "MAJORITY"}
    without = replace(table, methods=table.methods[1:], values=table.values[:, 1:])
    assert not {method.name for method in evaluate(without, probe=5, pool=pool).methods} & {"SURROGATE", "MAJORITY"}


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
    table, pool = world(rows=rows)
    blurred = np.random.default_rng(1).dirichlet([1, 1], size=pool.probs.shape[:2])
    curve = (1, 2, 3, 5, 10) if rows == 20 else (1, 2, 3, 5, 10, 50)
    found = evaluate(table, probe=probe, pool=Pool((1 - noise) * pool.probs + noise * blurred), curve=curve)
    reached = {method.name: f"{100 * method.few_shot_accuracy:.1f} %" for method in found.methods}
    said = f"{probe} {'label' if probe == 1 else 'labels'}: ACC {reached['ACC']}, SURROGATE {reached['SURROGATE']}"
    if rows == 60:
        said += f", and {reached['SURROGATE+CHOICE']} if `rank-models choose` picks them"
    said += f". For the {reached['SURROGATE']} of SURROGATE{needs}" if needs else "."
    assert [note for note in found.notes if " ACC " in note] == [said]


def test_each_method_without_labels_is_told_of_with_its_trap():
    """Those in the table, and no others; without a pool nothing is said."""
    table, pool = world()
    (note,) = (note for note in evaluate(table, probe=5, pool=pool).notes if "see no label" in note)
    assert {one.name for one in LABEL_FREE if f"{one.name}: {one.trap}" in note} == {
        one.name for one in LABEL_FREE if not one.needs
    }
    assert not any("see no label" in note for note in evaluate(table, probe=5).notes)


def test_other_methods_do_not_change_beside_a_pool():
    """What the table's methods reach is the same with a pool as without."""
    table, pool = world()
    with_pool, without = evaluate(table, probe=5, pool=pool), evaluate(table, probe=5)
    assert with_pool.method("ACC").few_shot_accuracy == without.method("ACC").few_shot_accuracy
    assert with_pool.method("OURS").few_shot_accuracy == without.method("OURS").few_shot_accuracy


def test_surrogate_reaches_what_counting_draws_says():
    """Its pairwise accuracy is the share of drawn probes that put a pair right, a tie counting one half."""
    table, pool = world()
    found = evaluate(table, probe=5, pool=pool)
    draws = np.random.default_rng(7).integers(60, size=(4000, 5))
    scores = surrogate.estimates(pool, np.array(table.labels), draws)
    first, second = np.triu_indices(4, 1)
    better = np.where((table.ood_accuracy[first] > table.ood_accuracy[second])[:, None], 1, -1)
    share = ((1 + np.sign(scores[first] - scores[second]) * better) / 2).mean()
    assert found.method("SURROGATE").few_shot_accuracy == pytest.approx(share, abs=0.01)


def test_the_mean_over_the_pool_ranks_as_the_whole_population_does():
    """POOL-FACTOR is right on the pairs that the factor's mean over all rows puts right."""
    table, pool = world()
    found = evaluate(table, probe=5, pool=replace(pool, factor=-table.values[:, 1])).method("POOL-FACTOR")
    means = -table.values[:, 1].mean(axis=1)  # SUM-DIFF: lower is better
    pairs = [(a, b) for a in range(4) for b in range(a)]
    right = sum(means[a] > means[b] for a, b in pairs)  # later models are better
    assert found.few_shot_accuracy == pytest.approx(right / len(pairs))


def pairwise_accuracy(scores):
    """The share of pairs that scores put right, later models being the better ones; a tie is one half."""
    right = [(1 + np.sign(scores[b] - scores[a])) / 2 for b in range(len(scores)) for a in range(b)]
    return np.mean(right)


@pytest.fixture
def halves(monkeypatch):
    """Three pools of half of the rows, where fifty would be drawn."""
    given = [np.arange(30), np.arange(30, 60), np.arange(0, 60, 2)]
    monkeypatch.setattr(pooled, "_halves", lambda pool, rng: given)
    return given


def test_chosen_rows_are_those_that_choose_gives(halves):
    """In each half the rows that a rule picks, labelled, order the models; the mean and the variance over halves."""
    table, pool = world()
    labels = np.array(table.labels)
    best_first = pool.ordered(np.argsort(-table.ood_accuracy))
    found, curve = pooled.chosen(best_first, labels, 5, [10], np.ones(6, dtype=bool), np.random.default_rng(0))
    assert found.names == ("SURROGATE+CHOICE", "SURROGATE+FACILITY", "SURROGATE+DISAGREE")
    for size in (5, 10):
        for name, beats, noise in zip(found.names, found.beats.mean(axis=0), found.noise, strict=True):
            reached = []
            for half in halves:
                part = pool.part(half)
                places = choice.choose(part, size, rule=RULES[name])
                reached.append(pairwise_accuracy(surrogate.estimates(part, labels[half], places[None])[:, 0]))
            assert curve[size][name] == pytest.approx(np.mean(reached))
            if size == 5:
                assert (beats, noise) == pytest.approx((np.mean(reached), np.var(reached)))


def test_what_needs_no_label_is_that_of_the_whole_pool_and_varies_as_over_halves(halves):
    """The accuracy is of all rows, the variance of the halves."""
    table, pool = world()
    best_first = pool.ordered(np.argsort(-table.ood_accuracy))
    found, always = pooled.label_free(best_first, np.ones(6, dtype=bool), np.random.default_rng(0))
    for name, beats, noise in zip(found.names, found.beats.mean(axis=0), found.noise, strict=True):
        method = next(one for one in LABEL_FREE if one.name == name)
        whole, *parts = (pairwise_accuracy(method.score(one)) for one in (pool, *map(pool.part, halves)))
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
        said.append(pooled.variances(pool, labels, 10, decided, rng))
    ratio = np.sqrt(np.mean(said, axis=0)) / np.std(means, axis=0)
    assert ((ratio > 0.8) & (ratio < 1.5)).all(), ratio


def test_the_interval_of_surrogate_is_that_of_its_variances():
    """In a report it is as wide as `variances` says, of the difference to ACC, too."""
    [(pool, labels)] = populations(np.random.default_rng(2), 1)
    outcomes = (pool.predicted == labels).astype(float)[:, None]
    table = replace(world(5, 200)[0], methods=(BUILTIN["ACC"],), values=outcomes, labels=tuple(labels.tolist()))
    found = evaluate(replace(table, ood_accuracy=np.linspace(0.9, 0.5, 5)), probe=10, pool=pool, curve=())
    own, lead = pooled.variances(pool, labels, 10, np.ones(10, dtype=bool), np.random.default_rng(1))
    shown = found.method("SURROGATE")
    (low,), (high,) = intervals.of_pairwise_accuracy(np.array([shown.few_shot_accuracy]), np.array([own]))
    assert shown.ci_high - shown.ci_low == pytest.approx(high - low, rel=0.3)
    assert shown.vs_acc_high - shown.vs_acc_low == pytest.approx(2 * intervals.Z95 * np.sqrt(lead), rel=0.3)


def test_each_rule_is_that_of_its_name(monkeypatch):
    """What a method is shown are the rows of its own rule, and of no other."""
    table, pool = world(rows=30)
    asked = []
    choose = pooled.choice.choose
    monkeypatch.setattr(pooled.choice, "choose", lambda *given, rule: asked.append(rule) or choose(*given, rule=rule))
    pooled.chosen(pool, np.array(table.labels), 5, [], np.ones(6, dtype=bool), np.random.default_rng(0))
    assert set(asked) == {"variance-reduction", "facility", "disagreement"}
    assert list(RULES.values()) == asked[:3]


def test_undefined_scores_leave_the_mean_over_the_pool():
    """An example that a factor cannot be computed on for one model leaves its mean for all."""
    _, pool = world(models=2, rows=4)
    values = np.array([[1.0, 1.0, 1.0, np.nan], [0.0, 0.0, 0.0, 99.0]])
    found, _ = pooled.label_free(replace(pool, factor=values), np.ones(1, dtype=bool), np.random.default_rng(0))
    assert found.beats[:, found.names.index("POOL-FACTOR")].tolist() == [1.0]
