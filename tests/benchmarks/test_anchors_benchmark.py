import numpy as np
import pytest

from benchmarks.anchors import METHODS, SIZES, drawn, interval, judged_methods, normal, paired, save, tables
from factors.types import Example
from ranker.tasks.texts import TextTask


def test_silence_agrees_with_nothing(tmp_path):
    """Of classes, likeness is the same label on a row, and two models without an answer are not alike."""
    predictions = np.array([[0, 1, -1, 1], [0, 0, -1, 1], [1, 0, 0, 1]])
    np.savez(tmp_path / "toy.npz", predictions=predictions, labels=np.array([0, 1, 0, 1]))
    world = drawn(tmp_path / "toy.npz", 0, 3, 4)
    assert sorted(world.anchors.mean_agreement) == pytest.approx([3 / 8, 3 / 8, 4 / 8])
    assert sorted(world.outcomes.mean(axis=1)) == pytest.approx(sorted(world.truth))


def test_a_suite_of_the_best_is_drawn_from_these(tmp_path):
    """Outcomes and similarity keep their models and rows together, and every method is judged at each size."""
    rng = np.random.default_rng(0)
    outcomes = np.sort(rng.random((6, 80)), axis=0)
    np.savez(tmp_path / "toy.npz", Y=outcomes, S=np.stack([outcomes] * 6, axis=1))
    world = drawn(tmp_path / "toy.npz", 1, 3, 60, best=4)
    assert np.isin(world.truth, outcomes[2:].mean(axis=1)).all()
    assert (world.anchors.similarity[:, 0] == world.outcomes).all()
    judged = judged_methods(world)
    assert {*judged} == {*METHODS}
    assert judged["ANCHORS, random rows"][0]["pairs"] == 1.0


def test_a_normal_posterior_is_that_of_a_paired_difference():
    """Phi of the mean difference over its standard error."""
    assert normal(np.array([[0.5, 0.7, 0.9], [0.4, 0.7, 0.5]]))[0, 1] == pytest.approx(0.9172410706512649)


def test_marks_are_the_truth_of_what_is_saved(tmp_path):
    """Outcomes and likeness are the task's own, and the true order is that of the mean marks."""
    task, rows = TextTask("text").judged_by("exact-match"), [Example(str(n), ("",), ("yes",)) for n in range(2)]
    answers = {"a": task.predictions(["yes", "yes"]), "b": task.predictions(["yes", "no"])}
    assert save(tmp_path / "toy.npz", task, rows, answers, np.array([[0.0, 0.2], [0.6, 0.8]])).tolist() == [
        [1, 1],
        [1, 0],
    ]
    world = drawn(tmp_path / "toy.npz", 0, 2, 2)
    assert sorted(world.truth) == pytest.approx([0.1, 0.7])
    assert world.outcomes.mean(axis=1)[world.truth.argmax()] == 0.5
    assert world.anchors.mean_agreement.tolist() == [0.5, 0.5]


def test_an_interval_has_the_spread_of_sets_and_of_replicates():
    """Two-level resampling of a normal world has the standard error of its mean; paired differences have their own."""
    rng = np.random.default_rng(1)
    figures = [mean + rng.normal(size=20) for mean in rng.normal(size=30)]
    means = np.array([of_set.mean() for of_set in figures])
    error = np.sqrt((means.var() + np.mean([of_set.var() / 20 for of_set in figures])) / 30)
    low, high = interval(figures)
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.06)
    assert (low + high) / 2 == pytest.approx(means.mean(), abs=0.05)
    assert interval(paired([of_set + 0.5 for of_set in figures], figures)) == pytest.approx((0.5, 0.5))


def test_the_tables_have_each_method_at_each_size(tmp_path):
    """The first table has a line for each method, and a cell for each number of rows."""
    outcomes = np.random.default_rng(0).random((3, 60))
    np.savez(tmp_path / "toy.npz", Y=outcomes, S=np.stack([outcomes] * 3, axis=1))
    measured = {"toy": [judged_methods(drawn(tmp_path / "toy.npz", 0, 3, 60))]}
    lines = list(tables(measured))[1].splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {name}" for name in METHODS]
    assert {line.count(" / ") for line in lines[2:]} == {2 * len(SIZES)}
