import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from factors import BUILTIN
from factors.registry import Factor
from ranker.errors import UsageError
from ranker.results.evaluation import MethodResult
from ranker.results.table import ScoreTable
from ranker.scoring import evaluation
from ranker.scoring.evaluation import evaluate
from ranker.statistics import intervals
from ranker.statistics.pool import Pool, Targets


def table(values, methods, truth):
    """A score table of models m0, m1, ... with the built-in methods of these names, or new ones, higher is better.

    The first method is the metric's.
    """
    values = np.asarray(values, dtype=float)
    count = values.shape[2]
    return ScoreTable(
        models=tuple(f"m{m}" for m in range(len(values))),
        methods=tuple(BUILTIN.get(name) or Factor(name, _none, True, "true", "ours") for name in methods),
        examples=tuple(f"e{n}" for n in range(count)),
        values=values.copy(),
        metric=methods[0],
        truth=None if truth is None else np.asarray(truth, dtype=float),
    )


def _none(attributions, example):
    return 0.0


def suite(seed=0, models=5, examples=200):
    """Models of rising accuracy, with all kinds of methods; a factor for which lower is better is turned."""
    rng = np.random.default_rng(seed)
    accuracy = np.linspace(0.55, 0.95, models)
    latent = 2 * accuracy[:, None] - 1 + rng.normal(size=(models, examples)) + rng.normal(size=examples)
    values = np.stack(
        [latent > 0, np.logaddexp(0, -latent), -accuracy[:, None] + rng.normal(size=latent.shape)], axis=1
    )
    return table(values, ["ACC", "NLL", "INDEX-DIFF"], accuracy)


@pytest.mark.parametrize("draws", ["exact", 300])
@settings(max_examples=15)
@given(
    st.lists(st.integers(0, 100), min_size=2, max_size=5).filter(lambda hits: len(set(hits)) > 1), st.integers(1, 12)
)
def test_the_truth_its_negative_and_a_constant(draws, hits, probe):
    """A method that scores the true accuracy is right in all draws, its negative in none, a constant in half."""
    accuracy = np.array(hits) / 100
    truth = np.tile(accuracy[:, None], (1, 12))
    truths = table(np.stack([truth, -truth, 0 * truth], axis=1), ["TRUTH", "NEGATIVE", "CONSTANT"], accuracy)
    evaluation = evaluate(truths, draws=draws, probe=probe, curve=(2, 7))
    by_name = {method.name: method for method in evaluation.methods}
    accuracies = [by_name[name].pairwise_accuracy for name in ("TRUTH", "NEGATIVE", "CONSTANT", "RANDOM")]
    assert accuracies == pytest.approx([1, 0, 0.5, 0.5], abs=1e-12)
    assert by_name["TRUTH"].curve == pytest.approx({2: 1.0, 7: 1.0})
    assert any("CONSTANT ties all models" in note for note in evaluation.notes)


@pytest.mark.more
@settings(max_examples=15)
@given(st.integers(0, 999), st.integers(1, 8), st.randoms(use_true_random=False))
def test_neither_order_nor_other_models_change_a_pair(seed, probe, random):
    """Examples and models in another order, or a model less: every other number of a pair stays, to 1e-9."""
    table_of_suite = suite(seed, models=4, examples=30)
    models, examples = random.sample(range(4), 3), random.sample(range(30), 30)
    part = ScoreTable(
        tuple(table_of_suite.models[m] for m in models),
        table_of_suite.methods,
        tuple(table_of_suite.examples[n] for n in examples),
        table_of_suite.values[models][:, :, examples],
        truth=table_of_suite.truth[models],
    )
    full_accuracies = {(p.a, p.b, p.method): p.accuracy for p in evaluate(table_of_suite, probe=probe, curve=()).pairs}
    for pair in evaluate(part, probe=probe, curve=()).pairs:
        if pair.method != "ACC+TIES":  # drawn
            assert pair.accuracy == pytest.approx(full_accuracies[pair.a, pair.b, pair.method], abs=1e-9)


def test_exact_and_drawn_agree():
    """The pairwise accuracies of 20,000 draws are the exact ones, those of combined methods included."""
    exactly, drawn = (evaluate(suite(), draws=draws, curve=(), designed="INDEX-DIFF") for draws in ("exact", 20_000))
    for method, drawn_method in zip(exactly.methods, drawn.methods, strict=True):
        assert method.name == drawn_method.name
        assert method.pairwise_accuracy == pytest.approx(drawn_method.pairwise_accuracy, abs=0.01)
        assert (method.ci_low, method.ci_high) == pytest.approx((drawn_method.ci_low, drawn_method.ci_high), abs=0.012)
        assert (method.difference_low, method.difference_high) == pytest.approx(
            (drawn_method.difference_low, drawn_method.difference_high), abs=0.015
        )


def test_fewer_draws_widen_the_interval():
    """An interval from 100 draws holds the noise of the draws, too."""
    widths = [
        (m := evaluate(suite(), draws=draws, curve=()).method("ACC")).ci_high - m.ci_low for draws in (100, "exact")
    ]
    assert widths[0] > widths[1]


def test_models_stand_in_their_true_order():
    """By mean outcome, best first, whatever the order of the table; equal ones share the better rank."""
    evaluation = evaluate(table(np.zeros((3, 1, 20)), ["ACC"], [0.7, 0.9, 0.7]))
    assert [(model.name, model.rank) for model in evaluation.models] == [("m1", 1), ("m0", 2), ("m2", 2)]
    assert evaluation.tied_pairs == 1
    assert {(pair.a, pair.b) for pair in evaluation.pairs} == {("m1", "m0"), ("m1", "m2")}


def test_what_is_said_of_models_and_pairs_is_of_the_models_named():
    """Expected ranks follow names, not places in the table; a pair's accuracies are those of its models."""
    accuracy = np.array([0.6, 0.9, 0.75])
    table_of_truth = table(np.tile(accuracy[:, None, None], (1, 1, 20)), ["TRUTH"], accuracy)
    evaluation = evaluate(table_of_truth, probe=5, curve=())
    assert [(model.name, model.expected_rank["TRUTH"]) for model in evaluation.models] == [
        ("m1", 1),
        ("m2", 2),
        ("m0", 3),
    ]
    known_accuracy = dict(zip(table_of_truth.models, accuracy.tolist(), strict=True))
    for pair in evaluation.pairs:
        assert (pair.outcome_a, pair.outcome_b) == (known_accuracy[pair.a], known_accuracy[pair.b])
        assert pair.gap == pytest.approx(pair.outcome_a - pair.outcome_b)


@pytest.mark.parametrize("models", [2, 3, 5])
def test_intervals_over_models_are_those_of_their_pairs(models):
    """Those of `intervals.over_models`; of two models there is none."""
    evaluation = evaluate(suite(models=models), probe=5, curve=())
    for method in evaluation.methods:
        if models == 2:
            assert (method.models_low, method.models_high) == (None, None)
            continue
        beats = np.array([pair.accuracy for pair in evaluation.pairs if pair.method == method.name])
        (low,), (high,) = intervals.over_models(beats[:, None], np.ones(len(beats), bool), models)
        assert (method.models_low, method.models_high) == pytest.approx((low, high))


def test_a_curve_goes_up_to_all_examples_and_is_a_half_for_a_coin():
    """K = N is a probe like any other."""
    evaluation = evaluate(suite(examples=20), probe=5, curve=(2, 20, 21))
    assert all(set(method.curve) == {2, 20} for method in evaluation.methods)
    assert set(evaluation.method("RANDOM").curve.values()) == {0.5}


def test_equal_models_are_left_out_of_the_mean():
    """A pair without a true order is counted and does not move the pairwise accuracy."""
    rng = np.random.default_rng(1)
    values = rng.random((3, 1, 40))
    with_tie = evaluate(table(values, ["X"], [0.9, 0.5, 0.5])).method("X").pairwise_accuracy
    pairs = [evaluate(table(values[[0, m]], ["X"], [0.9, 0.5])).method("X").pairwise_accuracy for m in (1, 2)]
    assert with_tie == pytest.approx(np.mean(pairs), abs=1e-9)


def test_adding_a_model_leaves_other_pairs_alone():
    """The accuracy of a pair does not depend on who else is there, except by a method that standardises over models."""
    complete = evaluate(suite(models=5), curve=(), designed="INDEX-DIFF")
    table_of_five = suite(models=5)
    fewer = ScoreTable(
        table_of_five.models[1:],
        table_of_five.methods,
        table_of_five.examples,
        table_of_five.values[1:],
        truth=table_of_five.truth[1:],
    )
    part = evaluate(fewer, curve=(), designed="INDEX-DIFF")
    before = {(p.a, p.b, p.method): p.accuracy for p in complete.pairs}
    for pair in part.pairs:
        if pair.method != "ACC+FACTOR":
            assert pair.accuracy == pytest.approx(before[pair.a, pair.b, pair.method], abs=1e-9)


def test_the_order_of_the_table_changes_nothing():
    """Models and examples in another order give the same numbers."""
    table_in_order = suite()
    rng = np.random.default_rng(2)
    models, examples = rng.permutation(5), rng.permutation(200)
    turned = ScoreTable(
        tuple(table_in_order.models[m] for m in models),
        table_in_order.methods,
        tuple(table_in_order.examples[n] for n in examples),
        table_in_order.values[models][:, :, examples],
        truth=table_in_order.truth[models],
    )
    for method, two in zip(evaluate(table_in_order, curve=()).methods, evaluate(turned, curve=()).methods, strict=True):
        noise = 0.01 if method.kind == "combined" else 1e-9
        assert method.pairwise_accuracy == pytest.approx(two.pairwise_accuracy, abs=noise)
        assert method.ci_low == pytest.approx(two.ci_low, abs=2 * noise)


def test_the_seed_matters_only_where_something_is_drawn():
    """Exact numbers have no seed; drawn ones repeat with theirs and change with another."""
    first, again, second = (evaluate(suite(), seed=seed, curve=(2, 10)) for seed in (1, 1, 2))
    assert first.methods == again.methods
    numbers = "pairwise_accuracy", "ci_low", "ci_high", "models_low", "models_high"
    exact, as_exact = ([getattr(evaluated.method("NLL"), name) for name in numbers] for evaluated in (first, second))
    assert exact == pytest.approx(as_exact, abs=1e-12)
    drawn = [evaluate(suite(), seed=seed, draws=50, curve=()).method("NLL").pairwise_accuracy for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]


def test_near_and_far_pairs_and_families_stand_apart(monkeypatch):
    """Each part's accuracy is the mean over its own pairs."""
    monkeypatch.setattr("ranker.scoring.reference.NEAR", 0.15)
    evaluation = evaluate(suite(), families=["a", "a", "b", "b", "b"])
    for method in evaluation.methods:
        pairs = [pair for pair in evaluation.pairs if pair.method == method.name]
        parts = {
            "near": [pair.accuracy for pair in pairs if pair.near],
            "far": [pair.accuracy for pair in pairs if not pair.near],
            "within-family": [pair.accuracy for pair in pairs if pair.same_family],
            "across-family": [pair.accuracy for pair in pairs if not pair.same_family],
        }
        assert method.splits == pytest.approx({name: np.mean(part) for name, part in parts.items()})
    assert len([pair for pair in evaluation.pairs if pair.method == "ACC" and pair.near]) == 4


@pytest.mark.parametrize("accuracies", [[0.9, 0.8], [0.8, 0.7], [0.4, 0.3], [540 / 600, 480 / 600], [0.2, 0.1]])
def test_ten_points_are_not_near(accuracies):
    """However the difference of two fractions is rounded."""
    evaluation = evaluate(table(np.random.default_rng(0).random((2, 1, 30)), ["ACC"], accuracies))
    assert [pair.near for pair in evaluation.pairs if pair.method == "ACC"] == [False]
    assert set(evaluation.method("ACC").splits) == {"far"}


def test_a_method_that_is_right_half_of_the_time_ties_nothing():
    """Two models that are right on as many rows, each on others."""
    hits = np.repeat([[1.0, 0.0], [0.0, 1.0]], 5, axis=1)[:, None]
    evaluation = evaluate(table(hits, ["ACC"], [0.6, 0.5]), probe=3)
    assert evaluation.method("ACC").pairwise_accuracy == pytest.approx(0.5)
    assert not any("ties all models" in note for note in evaluation.notes)


def test_parts_without_a_pair_are_left_out(monkeypatch):
    """One family only: no pair across, and no GUESS."""
    monkeypatch.setattr("ranker.scoring.reference.NEAR", 0.01)
    evaluation = evaluate(suite(), families=["a"] * 5)
    assert set(evaluation.method("ACC").splits) == {"far", "within-family"}
    assert "GUESS" not in [method.name for method in evaluation.methods]


def test_guess_is_half_right_whoever_is_preferred():
    """Across architectures GUESS stands in the table at 50 %, with the range of its picks in a note."""
    one_method = table(np.random.default_rng(0).random((3, 1, 30)), ["ACC"], [0.9, 0.8, 0.7])
    evaluation = evaluate(one_method, families=["a", "b", "c"])
    assert evaluation.method("GUESS").pairwise_accuracy == pytest.approx(0.5)
    assert any("16.7 to 83.3 % of the pairs" in note for note in evaluation.notes)


def test_the_learning_curve_rises_with_the_probe():
    """More examples rank better, and the curve passes through the reported accuracy at K."""
    evaluation = evaluate(suite(models=4, examples=100), designed="INDEX-DIFF", probe=5)
    for name in ("ACC", "NLL", "ACC+TIES", "ACC+FACTOR"):
        curve = evaluation.method(name).curve
        assert list(curve) == [1, 2, 3, 5, 10, 20, 50]
        assert sorted(curve.values()) == list(curve.values())
        assert curve[5] == pytest.approx(evaluation.method(name).pairwise_accuracy, abs=0.01)
    assert set(evaluate(suite(examples=12)).method("ACC").curve) == {1, 2, 3, 5, 10}


def test_ties_of_accuracy_are_broken_by_the_declared_factor():
    """ACC+TIES with a perfect tie breaker is right wherever ACC is, and wherever it ties."""
    rng = np.random.default_rng(3)
    accuracy = np.array([0.8, 0.7])
    hits = (rng.random((2, 100)) < accuracy[:, None]).astype(float)
    perfect = np.tile(-accuracy[:, None], (1, 100))
    tied = table(np.stack([hits, perfect], axis=1), ["ACC", "INDEX-DIFF"], accuracy)
    evaluation = evaluate(tied, designed="INDEX-DIFF", draws=5_000)
    difference = hits[0] - hits[1]
    drawn = difference[np.random.default_rng(4).integers(100, size=(100_000, 10))].sum(axis=1)
    assert evaluation.method("ACC+TIES").pairwise_accuracy == pytest.approx((drawn > -0.5).mean(), abs=0.02)
    assert evaluation.method("ACC+TIES").kind == "combined"
    assert evaluation.method("INDEX-DIFF").designed


def test_without_a_declared_factor_the_loss_breaks_ties():
    """ACC+TIES falls back to NLL, and there is no ACC+FACTOR; without a loss there is neither."""
    names = [method.name for method in evaluate(suite(), curve=()).methods]
    assert "ACC+TIES" in names
    assert "ACC+FACTOR" not in names
    bare = evaluate(table(np.random.default_rng(0).random((2, 1, 20)), ["X"], [0.6, 0.7]), curve=())
    assert [method.name for method in bare.methods] == ["X", "RANDOM"]
    assert (bare.method("X").difference, bare.method("RANDOM").difference) == (
        0,
        0.5 - bare.method("X").pairwise_accuracy,
    )


def test_the_difference_to_accuracy_is_of_the_reported_numbers():
    """`difference` is one pairwise accuracy minus the other, and its interval holds it."""
    evaluation = evaluate(suite(), designed="INDEX-DIFF", curve=())
    for method in evaluation.methods:
        assert method.difference == pytest.approx(method.pairwise_accuracy - evaluation.method("ACC").pairwise_accuracy)
        assert method.difference_low <= method.difference <= method.difference_high
    assert (evaluation.method("ACC").difference_low, evaluation.method("ACC").difference_high) == (0, 0)


def test_pairs_without_an_exact_probability_are_drawn_and_counted():
    """Scores on two scales that no grid resolves: the numbers are those of draws, and a note says so."""
    rng = np.random.default_rng(5)
    values = np.stack([rng.integers(0, 2, (2, 300)) + 1e-7 * rng.normal(size=(2, 300))], axis=1)
    evaluation = evaluate(table(values, ["X"], [0.9, 0.8]), curve=())
    drawn = evaluate(table(values, ["X"], [0.9, 0.8]), draws=20_000, curve=())
    assert evaluation.method("X").pairwise_accuracy == drawn.method("X").pairwise_accuracy
    assert any("of 1 pairs X 1." in note for note in evaluation.notes)


def test_all_methods_with_drawn_pairs_share_one_note():
    """One sentence says it for every method, with the number of pairs of each."""
    rng = np.random.default_rng(5)
    fine = rng.integers(0, 2, (3, 300)) + 1e-7 * rng.normal(size=(3, 300))
    fine[1] += rng.normal(size=300)  # this model's pairs have no such structure
    three_methods = table(np.stack([fine, rng.normal(size=(3, 300)), fine], axis=1), ["X", "Y", "Z"], [0.9, 0.8, 0.7])
    notes = [note for note in evaluate(three_methods, curve=()).notes if "draws" in note]
    assert notes == ["From 20000 draws, as no grid is fine enough to be exact: of 3 pairs X 1, Z 1."]


def test_holes_are_counted_and_a_method_without_examples_is_a_coin():
    """A nan removes the example for all models; a method that is nowhere defined ties everything."""
    holed = suite()
    values = holed.values.copy()
    values[:, 2] = np.nan
    evaluation = evaluate(table(values, ["ACC", "NLL", "INDEX-DIFF"], holed.truth), curve=())
    assert evaluation.method("INDEX-DIFF").pairwise_accuracy == pytest.approx(0.5)
    assert evaluation.models[0].scores["INDEX-DIFF"] is None
    assert any("INDEX-DIFF is defined on no example" in note for note in evaluation.notes)


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("draws", ["exact", 1_000])
def test_large_scores_tie_where_they_are_equal(unit, draws):
    """A score in another unit is the same score: sums that are equal but for rounding are a tie, however large."""
    thirds = np.array([[1, 2, 4], [4, 1, 2]]) / 3 + np.array([0.1, 0.2, 0.7])
    pair = [
        evaluate(table(scale * thirds[:, None], ["OURS"], [0.9, 0.5]), probe=3, draws=draws, curve=())
        for scale in (1.0, unit)
    ]
    assert pair[0].method("OURS").pairwise_accuracy == pytest.approx(pair[1].method("OURS").pairwise_accuracy)


@pytest.mark.parametrize(("examples", "remark"), [(59, True), (60, False)])
def test_few_examples_are_said_to_be_few(examples, remark):
    """Intervals were seen to be too narrow there."""
    notes = evaluate(suite(examples=examples), curve=()).notes
    assert (f"{examples} examples are few: intervals over other examples are rather too narrow." in notes) == remark


def test_labels_of_a_single_class_are_allowed_and_said():
    """All examples of one label are ranked on, with a warning; labels that nobody knows are not the same."""
    one_label = table(np.eye(4)[:, None], ["X"], [0.6, 0.7, 0.8, 0.9])
    for labels, is_noted in (([1, 1, 1, 1], True), ([1, 1, 1, 0], False), ([-1, -1, -1, -1], False)):
        for pool in (None, Pool(np.full((4, 4, 2), 0.5))):
            evaluation = evaluate(one_label, probe=4, pool=pool, targets=Targets(one_label.outcomes, np.array(labels)))
            assert any("same label" in note for note in evaluation.notes) == is_noted
    assert not any("same label" in note for note in evaluate(one_label, probe=4).notes)


@pytest.mark.parametrize("probe", [0, 201])
def test_a_probe_that_does_not_fit(probe):
    """K is a number of the examples there are."""
    with refuses(UsageError, option="probe", value=probe, allowed=(1, 200)):
        evaluate(suite(), probe=probe)


def test_models_that_cannot_be_ordered():
    """One model, and models that are all equally good, have no order to find."""
    with refuses(UsageError, option="models", value=1):
        evaluate(table(np.zeros((1, 1, 20)), ["ACC"], [0.7]))
    with refuses(UsageError, option="models", value=None):
        evaluate(table(np.zeros((2, 1, 20)), ["ACC"], [0.7, 0.7]))


def test_fewer_labels_that_did_better_by_chance_are_not_what_a_pool_is_worth():
    """A curve may fall; only more labels than there are can be needed."""
    alone = MethodResult("ACC", "baseline", 0.8, *[0.0] * 7, curve={5: 0.95, 10: 0.8, 20: 0.9})
    (note,) = evaluation._label_worth_note([alone, MethodResult("SURROGATE", "pool", 0.9, *[0.0] * 7)], 10)
    assert note.endswith(". ACC needs 11 to 20 labels to reach the 90.0 % of SURROGATE.")
