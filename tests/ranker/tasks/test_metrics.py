from functools import partial

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from ranker.errors import UnknownName, UsageError
from ranker.tasks.metrics import METRICS, metric_named

NAMES = ("zero", "one", "two", "three")
NUMBERS = ("pearson", "spearman", "mae")


def sklearn_value(name, answers, targets, weights):
    """The same metric by scikit-learn; an answer that was not given is one label more, which no row has."""
    classes = len(NAMES)
    answers = np.where(answers < 0, classes, answers)
    occur = sorted({*answers.tolist(), *targets.tolist()} - {classes})
    f1 = partial(sklearn.metrics.f1_score, targets, answers, labels=occur, sample_weight=weights, zero_division=0)
    if name == "accuracy":
        return sklearn.metrics.accuracy_score(targets, answers, sample_weight=weights)
    if name.startswith("f1:"):
        place = NAMES.index(name[3:])
        return sklearn.metrics.f1_score(
            targets, answers, labels=[place], average="macro", sample_weight=weights, zero_division=0
        )
    if name.endswith("-f1"):
        return f1(average=name.removesuffix("-f1"))
    if name == "mcc":
        return sklearn.metrics.matthews_corrcoef(targets, answers, sample_weight=weights)
    if name == "kappa":
        return sklearn.metrics.cohen_kappa_score(targets, answers, sample_weight=weights, replace_undefined_by=0.0)
    # its own balanced accuracy warns of labels that no row has, and leaves them out
    true = sorted(set(targets.tolist()))
    return sklearn.metrics.recall_score(targets, answers, labels=true, average="macro", sample_weight=weights)


OF_LABELS = [*(name for name in METRICS if name not in ("f1", *NUMBERS)), "f1:two"]


@st.composite
def tables(draw):
    """Answers, -1 among them, targets and weights of some rows; few labels often, so that some do not occur."""
    rows = draw(st.integers(1, 30))
    labels = st.integers(0, draw(st.integers(0, 3)))
    answers = draw(
        st.lists(st.one_of(labels, st.just(-1)) if draw(st.booleans()) else labels, min_size=rows, max_size=rows)
    )
    targets = draw(st.lists(labels, min_size=rows, max_size=rows))
    weights = draw(st.lists(st.floats(0.01, 10), min_size=rows, max_size=rows))
    return np.array(answers), np.array(targets), np.array(weights)


@pytest.mark.few(1)
@pytest.mark.filterwarnings("ignore:A single label was found", "ignore:`y1`, `y2` and `labels` have only")
@pytest.mark.parametrize("name", OF_LABELS)
@given(table=tables())
@settings(max_examples=40)
def test_a_metric_of_labels_is_that_of_scikit_learn(name, table):
    """With weights and without, with labels that do not occur, with answers that were not given."""
    answers, targets, weights = table
    metric = metric_named(name, NAMES)
    rows = metric.statistics(answers, targets)
    for row_weights in (np.ones(len(answers)), weights):
        value = metric.value(np.average(rows, axis=0, weights=row_weights))
        assert value == pytest.approx(sklearn_value(name, answers, targets, row_weights), abs=1e-9)
        assert metric.range[0] <= value <= metric.range[1] + 1e-12


def test_f1_is_of_the_positive_label():
    """The second of two, as in scikit-learn."""
    answers, targets = np.array([0, 1, 1, 0, 1]), np.array([0, 1, 0, 1, 1])
    metric = metric_named("f1", ("no", "yes"))
    rows = metric.statistics(answers, targets)
    assert metric.value(rows.mean(axis=0)) == pytest.approx(sklearn.metrics.f1_score(targets, answers))


@pytest.mark.more
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_correlations_are_those_of_scipy(seed, rounded):
    """Of real numbers and of numbers with ties; and weighted, of Pearson, that of weighted moments."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(3, 10, (2, 25))
    y = y + x
    if rounded:
        x, y = np.round(x / 10), np.round(y / 10)
    for name, oracle in (("pearson", scipy.stats.pearsonr), ("spearman", scipy.stats.spearmanr)):
        metric = metric_named(name)
        rows = metric.statistics(x, y)
        assert metric.value(rows.mean(axis=0)) == pytest.approx(oracle(x, y).statistic, abs=1e-9)
    weights = rng.standard_gamma(1, 25)
    rows = metric_named("pearson").statistics(x, y)
    covariance = np.cov(x, y, aweights=weights)
    expected = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert metric_named("pearson").value(np.average(rows, axis=0, weights=weights)) == pytest.approx(expected, abs=1e-9)
    rows = metric_named("mae").statistics(x, y)
    expected = sklearn.metrics.mean_absolute_error(y, x, sample_weight=weights)
    assert metric_named("mae").value(np.average(rows, axis=0, weights=weights)) == pytest.approx(expected)


@pytest.mark.parametrize("name", OF_LABELS)
def test_an_answer_not_given_is_wrong(name):
    """No answer is never better than a right one, and no metric of labels is 1 with it."""
    metric = metric_named(name, NAMES)
    targets = np.array([0, 1, 2, 3, 2, 2])
    answers = np.where(np.arange(6) == 2, -1, targets)
    right, silent = (metric.value(metric.statistics(cells, targets).mean(axis=0)) for cells in (targets, answers))
    assert silent < right == pytest.approx(1.0)


@pytest.mark.parametrize("name", [*OF_LABELS, "mae", "pearson", "spearman"])
def test_a_row_without_a_truth_has_no_statistics(name):
    """Such rows are nan, and the others are what they are without them."""
    metric = metric_named(name, NAMES, ordered=True)
    answers, targets = np.array([0, 1, 3, 2, 0]), np.array([0, -1, 2, 2, -1])
    rows = metric.statistics(answers, targets)
    assert np.isnan(rows).all(axis=1).tolist() == [False, True, False, False, True]
    labelled = targets >= 0
    np.testing.assert_array_equal(rows[labelled], metric.statistics(answers[labelled], targets[labelled]))


@pytest.mark.parametrize("name", [*OF_LABELS, "pearson", "spearman"])
def test_nothing_over_nothing_is_0(name):
    """One label answered everywhere, where rows have another; and means of no row."""
    metric = metric_named(name, NAMES, ordered=True)
    rows = metric.statistics(np.array([1, 1, 1]), np.array([0, 0, 0]))
    assert metric.value(rows.mean(axis=0)) == 0
    assert metric.value(np.zeros((2, rows.shape[1]))).tolist() == [0, 0]


@pytest.mark.parametrize("name", ["mcc", "kappa", "pearson", "spearman"])
def test_answers_that_are_all_the_same_have_no_correlation(name):
    """Also where weights leave a rounding error of their spread."""
    metric = metric_named(name, NAMES, ordered=True)
    targets = np.array([0, 1, 2, 3, 2, 2, 1])
    rows = metric.statistics(np.full(7, 2), targets)
    drawn = np.random.default_rng(0).dirichlet(np.ones(7), 500) @ rows
    np.testing.assert_allclose(metric.value(drawn), 0, atol=1e-12)


def test_labels_that_are_numbers_stand_for_these():
    """Else, where somebody put them in order, for their places."""
    answers, targets = np.array([0, 1, 2]), np.array([2, 1, 1])
    errors = [
        metric_named("mae", labels, ordered=True).statistics(answers, targets)[:, 0].tolist()
        for labels in (("1", "2", "10"), ("low", "middle", "high"))
    ]
    assert errors == [[9.0, 0.0, 8.0], [2.0, 0.0, 1.0]]


@pytest.mark.parametrize(("name", "labels", "error", "option", "value"), [
    ("macrof1", NAMES, UnknownName, "", "macrof1"), ("f1:tow", NAMES, UnknownName, "", "tow"),
    ("f1:Yes", ("yes", "YES"), UnknownName, "", "Yes"), ("f1", NAMES, UsageError, "metric", "f1"),
    ("f1", (), UsageError, "metric", "f1"), ("mcc", (), UsageError, "metric", "mcc"),
    ("mae", ("bad", "good"), UsageError, "metric", "mae"), ("mae", ("1", "nan"), UsageError, "metric", "mae"),
])  # fmt: skip
def test_what_cannot_be_is_refused(name, labels, error, option, value):
    """An unknown name, and a metric that these labels do not have."""
    with refuses(error, option=option, value=value):
        metric_named(name, labels)


def test_numbers_refuse_answers_that_were_not_given():
    """No number stands for them."""
    metric = metric_named("mae", NAMES, ordered=True)
    with refuses(UsageError, option="metric", value="mae"):
        metric.statistics(np.array([-1, 1, -1]), np.array([0, 1, -1]))
    with refuses(UsageError, option="metric", value="pearson"):
        metric_named("pearson").statistics(np.array([np.nan]), np.array([1.0]))


def test_a_correlation_takes_answers_on_another_scale():
    """As far as its digits go; farther off they are refused, and a constant has none."""
    rng = np.random.default_rng(0)
    metric, targets = metric_named("pearson"), rng.normal(size=50)
    answers = targets + rng.normal(size=50)
    expected = scipy.stats.pearsonr(answers, targets).statistic
    for moved in (1e-3 * answers + 5, 1e6 * answers, answers + 5_000):
        correlation = metric.value(metric.statistics(moved, targets).mean(axis=0))
        assert correlation == pytest.approx(expected, abs=1e-7)
    with refuses(UsageError, option="metric"):
        metric.statistics(answers + 50_000, targets)
    assert metric.value(metric.statistics(np.full(50, 50_000.1), targets).mean(axis=0)) == 0


def test_numbers_of_two_models_can_be_exchanged_row_by_row():
    """A row's statistics are those of its answer, whichever model gave it."""
    rng = np.random.default_rng(0)
    metric, targets = metric_named("pearson"), rng.normal(size=50)
    answers = targets + rng.normal(size=(2, 50))
    first, second = (metric.statistics(numbers, targets) for numbers in answers)
    exchanged = metric.statistics(np.where(np.arange(50) < 20, answers[1], answers[0]), targets)
    np.testing.assert_allclose(exchanged, np.concatenate([second[:20], first[20:]]))


@pytest.mark.parametrize(
    ("metric", "answers", "targets"),
    [
        (metric_named("mcc", NAMES), [0, 4], [0, 1]),
        (metric_named("mcc", NAMES), [0, 1], [0, -2]),
        (metric_named("mae", NAMES, ordered=True), [0, 4], [0, 1]),
        (metric_named("mae"), [0.0, np.inf], [0.0, 1.0]),
        (metric_named("mae"), [0.0], [0.0, 1.0]),
        (metric_named("mcc", NAMES), [0], [0, 1]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(metric, answers, targets):
    """Shapes, and labels that there are not."""
    with pytest.raises(ValueError, match=r"must"):
        metric.statistics(np.array(answers), np.array(targets))


def test_rows_that_may_have_been_missed_are_of_the_labels_that_occur():
    """Each label, answered rightly, and by every other one and by none."""
    metric = metric_named("accuracy", NAMES)
    right, wrong = metric.unseen(np.array([0, 2, 2, -1]))
    assert right.ravel().tolist() == [1.0] * 4
    assert wrong.ravel().tolist() == [0.0] * 4
    right, wrong = metric_named("mcc", NAMES).unseen(np.array([2, 2]))
    assert right.tolist() == [[0, 0, 1, 0] * 3]
    assert wrong.tolist() == [[0] * 8 + [0, 0, 1, 0]]
    assert metric_named("mae").unseen(np.array([1.0])) is None


@pytest.mark.parametrize("seed", range(5))
def test_metrics_are_those_of_torchmetrics(seed):
    """A second implementation, without weights and where every answer was given."""
    import torch
    from torchmetrics.functional import classification, regression

    rng = np.random.default_rng(seed)
    targets = rng.integers(4, size=60)
    answers = np.where(rng.random(60) < 0.6, targets, rng.integers(4, size=60))
    labels = torch.tensor(answers), torch.tensor(targets)
    reals = torch.tensor(answers, dtype=torch.float64), torch.tensor(targets, dtype=torch.float64)
    expected = {
        "accuracy": classification.multiclass_accuracy(*labels, 4, average="micro"),
        "macro-f1": classification.multiclass_f1_score(*labels, 4, average="macro"),
        "micro-f1": classification.multiclass_f1_score(*labels, 4, average="micro"),
        "weighted-f1": classification.multiclass_f1_score(*labels, 4, average="weighted"),
        "f1:two": classification.multiclass_f1_score(*labels, 4, average="none")[2],
        "balanced-accuracy": classification.multiclass_accuracy(*labels, 4, average="macro"),
        "mcc": classification.multiclass_matthews_corrcoef(*labels, 4),
        "kappa": classification.multiclass_cohen_kappa(*labels, 4),
        "pearson": regression.pearson_corrcoef(*reals),
        "spearman": regression.spearman_corrcoef(*reals),
        "mae": regression.mean_absolute_error(*reals),
    }
    assert set(expected) == {*OF_LABELS, *NUMBERS}
    for name, value in expected.items():
        metric = metric_named(name, NAMES, ordered=True)
        assert metric.value(metric.statistics(answers, targets).mean(axis=0)) == pytest.approx(float(value), abs=1e-6)
