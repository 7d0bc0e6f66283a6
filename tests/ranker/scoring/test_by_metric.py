import numpy as np
import pytest
import scipy.stats
import sklearn.metrics
from deciding import decide
from refusals import refuses
from test_evaluation import table

from factors import Example
from ranker import load_set
from ranker.errors import UsageError
from ranker.runs.gather import RunInputs
from ranker.runs.plan import metric_of
from ranker.scoring.by_metric import MetricRows
from ranker.scoring.unlabelled import LabelContext
from ranker.statistics import engine, methods, vote
from ranker.statistics.paired import Estimate, combine_intervals
from ranker.statistics.pool import Pool, Targets
from ranker.statistics.vote import VoteEvidence, believe
from ranker.tasks.base import MISSING, NO_ANSWER
from ranker.tasks.classes import ClassificationTask, ClassProbabilities
from ranker.tasks.metrics import metric_named

LABELS = ("a", "b", "c")
TASK = ClassificationTask("three", LABELS)


def answered(models=3, rows=60, seed=0, right=(0.9, 0.7, 0.5)):
    """(M, N) answers, and (M, N) labels."""
    rng = np.random.default_rng(seed)
    targets = rng.choice(3, rows, p=[0.6, 0.3, 0.1])
    hit = rng.random((models, rows)) < np.array(right)[:models, None]
    return np.where(hit, targets, rng.integers(3, size=(models, rows))), np.tile(targets, (models, 1))


def rows_of(name, answers, targets):
    """What rows add to a metric; where a target is -1, the model's answer is missing."""
    truth = targets.max(axis=0).tolist()
    examples = [Example(str(n), ("a text",), None if label < 0 else label) for n, label in enumerate(truth)]
    responses = [
        ClassProbabilities(np.where(answer[:, None] < 0, np.nan, np.arange(len(LABELS)) == answer[:, None]), state)
        for answer, state in zip(
            answers, np.where(targets < 0, MISSING, np.where(answers < 0, NO_ANSWER, 0)), strict=True
        )
    ]
    return MetricRows.of(metric_named(name, LABELS, ordered=True), TASK, responses, examples)


def decided(name, answers, targets, **options):
    """A decision by that metric, and its rows."""
    outcomes = np.where(targets < 0, np.nan, answers == targets)
    rows = rows_of(name, answers, targets)
    return decide(table(outcomes[:, None], ["ACC"], None), by_metric=rows, **options), rows


def test_a_decision_is_by_the_metric():
    """Order, values, intervals and probabilities; values are those of scikit-learn."""
    answers, targets = answered(rows=150)
    decision, _ = decided("macro-f1", answers, targets)
    expected = [sklearn.metrics.f1_score(targets[0], answer, average="macro") for answer in answers]
    assert (decision.method, decision.names) == ("macro-f1", ("m0", "m1", "m2"))
    assert [model.outcome for model in decision.models] == pytest.approx(expected)
    for model in decision.models:
        assert model.low < model.outcome < model.high
        assert model.score == model.scores["macro-f1"] == model.outcome
    assert decision.p_beats[0][2] > 0.95
    assert sum(model.p_best for model in decision.models) == pytest.approx(1)
    assert decision.better(0, 2)
    assert decision.forecast is not None
    assert [model.expected for model in decision.models] == pytest.approx(expected)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["mcc", "macro-f1", "balanced-accuracy"])
def test_models_that_answer_alike_are_no_sure_choice(name):
    """Of ten rows, P(near best) is that of accuracies, within 0.1, and neither model is as good as the other."""
    targets = np.tile([0, 1, 2, 0, 1, 2, 0, 1, 2, 0], (2, 1))
    answers = np.where(np.arange(10) == 4, 2, targets)
    plain = decide(table((answers == targets).astype(float)[:, None], ["ACC"], None))
    decision, _ = decided(name, answers, targets)
    near = [model.p_near_best for model in decision.models]
    assert near == pytest.approx([model.p_near_best for model in plain.models], abs=0.1)
    assert near[0] == pytest.approx(near[1], abs=1e-12)
    assert decision.models[1].p_equal < 0.5
    assert (decision.p_beats[0][1], decision.models[0].p_best, decision.models[1].p_best) == (0.5, 0.5, 0.5)
    assert decision.forecast is not None


def test_numbers_that_are_alike_leave_p_near_best_unknown():
    """Any row that was missed may change a correlation by any amount; a note says so."""
    targets = np.tile([0, 1, 2, 0, 1, 2, 0, 1, 2, 0], (2, 1))
    decision, _ = decided("spearman", np.where(np.arange(10) == 4, 2, targets), targets)
    assert [model.p_near_best for model in decision.models] == [None, None]
    assert (decision.models[1].p_equal, decision.forecast) == (0.0, None)
    assert any(note.startswith("P(near best) is unknown: the models are level") for note in decision.notes)


def test_the_metric_may_say_otherwise_than_accuracy():
    """A model that never says the rare labels is right more often, and has the lower macro-F1."""
    rng, targets = np.random.default_rng(1), np.repeat([0, 1, 2], [160, 20, 20])
    fair = np.where(rng.random(200) < 0.6, targets, rng.integers(3, size=200))
    answers, targets = np.stack([np.zeros(200, dtype=np.int64), fair]), np.tile(targets, (2, 1))
    plain = decide(table((answers == targets).astype(float)[:, None], ["ACC"], None))
    decision, _ = decided("macro-f1", answers, targets)
    assert (plain.names[0], decision.names[0]) == ("m0", "m1")
    assert decision.better(0, 1)


def test_of_a_metric_of_which_less_is_better_the_least_is_first():
    """Its values and intervals are in its own unit, differences say how much better the first is."""
    answers, targets = answered()
    decision, rows = decided("mae", answers, targets)
    assert decision.names == ("m0", "m1", "m2")
    assert [model.outcome for model in decision.models] == pytest.approx(np.abs(answers - targets).mean(axis=1))
    assert decision.models[0].low < decision.models[0].outcome < decision.models[0].high
    assert decision.versus[0].difference == pytest.approx(rows.values[1] - rows.values[0])
    assert decision.versus[0].low < decision.versus[0].difference < decision.versus[0].high


def test_of_accuracies_it_says_what_a_decision_says():
    """The same order, probabilities to the noise of draws, and p; intervals of Clopper and Pearson."""
    answers, targets = answered(rows=40)
    plain = decide(table((answers == targets).astype(float)[:, None], ["ACC"], None))
    decision, _ = decided("accuracy", answers, targets)
    assert decision.names == plain.names
    np.testing.assert_allclose(decision.p_beats, plain.p_beats, atol=0.02)
    for mine, other_versu in zip(decision.versus, plain.versus, strict=True):
        assert (mine.a, mine.b, mine.better, mine.worse, mine.rows) == (
            other_versu.a,
            other_versu.b,
            other_versu.better,
            other_versu.worse,
            other_versu.rows,
        )
        assert (mine.difference, mine.p, mine.p_corrected) == pytest.approx(
            (other_versu.difference, other_versu.p, other_versu.p_corrected)
        )
        assert (mine.low, mine.high) == pytest.approx((other_versu.low, other_versu.high), abs=0.03)
    for model in decision.models:
        expected = scipy.stats.binomtest(round(model.outcome * 40), 40).proportion_ci(method="exact")
        assert (model.low, model.high) == pytest.approx((expected.low, expected.high), abs=0.015)


def test_rows_of_a_cluster_have_one_weight():
    """Rows that are there three times tell no more; the differences are as sure as of those that are there once."""
    answers, targets = answered(rows=40)
    once, _ = decided("macro-f1", answers, targets)
    groups = [f"g{n}" for n in range(40)] * 3
    again, _ = decided("macro-f1", np.tile(answers, 3), np.tile(targets, 3), groups=groups)
    np.testing.assert_allclose(once.p_beats, again.p_beats, atol=0.01)
    assert [pair.clusters for pair in again.versus] == [40, 40, 40]
    assert [pair.p for pair in again.versus] == pytest.approx([pair.p for pair in once.versus])


def test_two_models_that_answer_alike_have_an_interval_only_where_a_miss_is_bounded():
    """Of labels it has a width; of numbers there is none, so that nothing can be shown by it."""
    answers, targets = answered(models=2, right=(0.8, 0.8))
    alike = answers[[0, 0]]
    pair = decided("macro-f1", alike, targets)[0].versus[0]
    assert pair.low < -0.01 < 0.01 < pair.high
    assert (pair.p, pair.difference) == pytest.approx((1, 0), abs=1e-12)
    decision, _ = decided("mae", alike, targets)
    assert (decision.versus[0].low, decision.versus[0].high) == (None, None)
    assert not decision.better(0, 1)


def test_a_row_that_one_model_was_not_judged_on_counts_for_none():
    """As in a table of outcomes."""
    answers, targets = answered()
    targets = targets.copy()
    targets[1, :10] = -1
    decision, rows = decided("mcc", answers, targets)
    without_row, _ = decided("mcc", answers[:, 10:], targets[:, 10:])
    assert rows.judged.sum() == 50
    assert decision.versus == without_row.versus
    with refuses(UsageError, option="models"):
        rows_of("mcc", answers, np.full_like(targets, -1))


def test_probes_rank_by_the_metric_in_the_true_order():
    """The share of the decided pairs that draws put right, beside scikit-learn."""
    answers, targets = answered(rows=80)
    rows = rows_of("macro-f1", answers, targets)
    draws, order = engine.draw_probes(np.random.default_rng(0), 80, 10, 50), np.argsort(-rows.values)
    simulated = rows.simulate(draws, np.ones(3, dtype=bool), order)
    points = []
    for draw in draws:
        f1 = [
            sklearn.metrics.f1_score(targets[0, draw], answers[m, draw], average="macro", zero_division=0)
            for m in order
        ]
        points.append(np.mean([(np.sign(round(f1[a] - f1[b], 12)) + 1) / 2 for a, b in engine.pairs(3)]))
    np.testing.assert_allclose(simulated.pairwise_accuracy[0], points)


def test_a_metric_that_labels_do_not_give_reads_no_pool():
    """A correlation depends on ranks or numbers; it is refused in one line, not left out."""
    rows = load_set("hans-sub", limit=4)
    with refuses(UsageError, option="metric", value="spearman"):
        metric_of("spearman", RunInputs(None, rows, rows.examples, pool=rows.examples))


def test_a_pool_is_judged_by_the_metric():
    """A model that always gives the label of four rows of five is ahead by accuracy, and behind by macro-F1."""
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 300, p=[0.8, 0.1, 0.1])
    right = rng.random((3, 300)) < np.array([[0.75], [0.7], [0.0]])
    answers = np.where(right, truth, rng.integers(3, size=(3, 300)))
    answers[2] = 0
    pool = Pool(np.eye(3)[answers])
    judged_places = np.arange(20)
    few_targets = Targets((answers == truth)[:, :20].astype(float), truth[:20])
    context = LabelContext(pool, few_targets, judged_places, truth[:20], methods.BUILTIN)
    by_f1, rows = decided("macro-f1", answers[:, :20], np.tile(truth[:20], (3, 1)), beside=context)
    beliefs = believe(pool.patterns(), judged_places, truth[:20])
    judged = vote.draw(VoteEvidence(beliefs, rows.of_labels), beliefs.rng(1))
    assert (by_f1.method, by_f1.metric, by_f1.versus) == ("SURROGATE", "macro-f1", ())
    assert by_f1.names[2] == "m2"
    for model in by_f1.models:
        m = int(model.name[1])
        assert [model.expected, model.score] == pytest.approx([judged.expected[m]] * 2, abs=1e-8)
        assert (model.low, model.high) == tuple(end[m] for end in judged.interval())
        assert model.outcome == pytest.approx(rows.values[m])
    values = [sklearn.metrics.f1_score(truth, of_model, average="macro") for of_model in answers]
    assert abs(by_f1.models[2].expected - values[2]) < 0.05
    assert by_f1.models[2].outcome < 0.5 < (answers[2] == truth).mean()
    assert any("the macro-f1 on them is no estimate of macro-f1" in note for note in by_f1.notes)


@pytest.mark.slow
def test_intervals_of_means_over_tasks_hold_the_difference():
    """In 95 of 100 simulations of three tasks, but for three standard errors; each task counts the same."""
    rates, weights = ((0.9, 0.8), (0.7, 0.65), (0.6, 0.6)), np.full(3, 1 / 3)
    true = [rows_of("macro-f1", *answered(2, 100_000, 99, right)).values for right in rates]
    difference = float(np.mean([first - second for first, second in true]))
    held = 0
    for seed in range(400):
        tasks = []
        for number, right in enumerate(rates):
            answers, targets = answered(2, 60, 1000 * number + seed, right)
            rows = rows_of("macro-f1", answers, targets)
            (pair,) = rows.compare_pairs(("a", "b"), (answers == targets).astype(float), [(0, 1)], seed)
            tasks.append(Estimate(pair.difference, np.nan, np.nan, pair.low, pair.high))
        mean = combine_intervals(tasks, weights)
        held += mean.low <= difference <= mean.high
    assert held / 400 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400)


@pytest.mark.parametrize(
    ("name", "defined"),
    [("mcc", False), ("kappa", False), ("pearson", False), ("spearman", False), ("mae", True), ("macro-f1", True),
     ("balanced-accuracy", True)],
)  # fmt: skip
def test_some_metrics_say_nothing_of_rows_of_one_label(name, defined):
    """Even right answers leave them at 0; with a second label all are defined."""
    answers, targets = answered()
    assert rows_of(name, answers, np.zeros_like(targets)).defined is defined
    assert rows_of(name, answers, targets).defined
