import numpy as np
import pytest
import sklearn.metrics

from benchmarks.metric_intervals import METRICS, SEED, SIZES, WORLDS, Held, of_labels, of_numbers
from ranker.tasks.metrics import metric_named

WANTED = {30: (0.92, 0.98), 100: (0.93, 0.97), 1_000: (0.94, 0.96)}


@pytest.mark.slow
@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("title", ["2 labels", "3 labels"])
def test_intervals_hold_the_truth(title, name, rows):
    """In 2,000 samples with a seed that was fixed beforehand, those of docs/STATISTICS.md."""
    rng = np.random.default_rng([SEED, [*WORLDS].index(title), METRICS.index(name), rows])
    intervals = of_labels(WORLDS[title], name, rows, 2_000, rng)
    low, high = WANTED[rows]
    assert low <= intervals.value.inside <= high
    assert intervals.difference.inside >= low
    assert max(intervals.difference.above, intervals.difference.below) <= 0.035
    assert intervals.rejected <= 0.065


@pytest.mark.parametrize("title", WORLDS)
def test_the_truth_of_a_world_is_that_of_many_rows(title):
    """Both models' macro-F1 and MCC on 200,000 rows, by scikit-learn."""
    world = WORLDS[title]
    answers, labels = world.drawn(200_000, np.random.default_rng(0))
    for answer in answers:
        macro = sklearn.metrics.f1_score(labels, answer, average="macro")
        assert world.truth(metric_named("macro-f1", world.labels)) == pytest.approx(macro, abs=0.01)
        mcc = sklearn.metrics.matthews_corrcoef(labels, answer)
        assert world.truth(metric_named("mcc", world.labels)) == pytest.approx(mcc, abs=0.01)


def test_coverage_is_counted():
    """An interval holds the truth, lies above it or below it, or there is none."""
    held = Held.of(np.array([[0.1, 0.4], [0.3, 0.5], [0.0, 0.1], [np.nan, np.nan]]), 0.2)
    assert (held.inside, held.above, held.below, held.none) == (0.25, 0.25, 0.25, 0.25)
    assert held.width == pytest.approx(0.2)
    assert "no interval 25.0%" in str(held)


def test_both_parts_of_the_report_work():
    """A few repeats of labels and of numbers."""
    rng = np.random.default_rng(0)
    assert of_labels(WORLDS["3 labels"], "mcc", 30, 3, rng).value.none == 0
    first, second = of_numbers("pearson", 10, 3, rng)
    assert first.none == 0
    assert str(second) == "none"
