import numpy as np
import pytest

from benchmarks.anchors import METHODS, drawn, judged_methods, normal


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
    outcomes = np.sort(rng.random((6, 40)), axis=0)
    np.savez(tmp_path / "toy.npz", Y=outcomes, S=np.stack([outcomes] * 6, axis=1))
    world = drawn(tmp_path / "toy.npz", 1, 3, 30, best=4)
    assert np.isin(world.truth, outcomes[2:].mean(axis=1)).all()
    assert (world.anchors.similarity[:, 0] == world.outcomes).all()
    judged = judged_methods(world)
    assert {*judged} == {*METHODS}
    assert judged["ANCHORS, random rows"][0]["pairs"] == 1.0


def test_a_normal_posterior_is_that_of_a_paired_difference():
    """Phi of the mean difference over its standard error."""
    assert normal(np.array([[0.5, 0.7, 0.9], [0.4, 0.7, 0.5]]))[0, 1] == pytest.approx(0.9172410706512649)
