"""A metric of all rows together from matches: its parts, its calibration, and copies of a model."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from ranker.statistics.likeness import Anchors, infer_differences
from ranker.statistics.matches import Matches, draw

PLACES = ((0,), (2,))
"""Of matches, and of what targets give."""

EACH = tuple("abcdef")
"""Families of one model each."""


def f1(means):
    """F1 of matches, answered and true items, by their means."""
    right, answered, true = np.moveaxis(means, -1, 0)
    return 2 * right / np.maximum(answered + true, 1e-12)


def answered_sets(rng, models=6, rows=200, items=12):
    """Statistics of sets that models answer with, by each other's and by the truth: matches, answered, true."""
    truth = rng.random((rows, items)) < 0.4
    wrong = rng.uniform(0.05, 0.35, models)
    answers = truth ^ (rng.random((models, rows, items)) < wrong[:, None, None])
    anchors = np.concatenate([answers, truth[None]])
    common = (answers[:, None] & anchors).sum(axis=3)
    sizes = np.broadcast_to(answers.sum(axis=2)[:, None], common.shape)
    true = np.broadcast_to(anchors.sum(axis=2), common.shape)
    statistics = np.stack([common, sizes, true], axis=3).astype(float)
    return statistics[:, :models], statistics[:, models]


def evidence_of(rng, size, rows=200, **shape):
    """Evidence of the first rows, which are random, and the metric's true values on all rows."""
    alike, by_truth = answered_sets(rng, rows=rows, **shape)
    labelled = np.arange(size)
    return Matches(alike, by_truth[:, :size], labelled, *PLACES, f1, EACH), f1(by_truth.mean(axis=1))


def test_a_mean_of_one_match_is_that_of_likeness():
    """Where the value is the matches' mean: the differences of ANCHORS, and the level of the labelled rows."""
    evidence, _ = evidence_of(np.random.default_rng(1), 8)
    value = Matches(evidence.alike, evidence.labelled, evidence.rows, *PLACES, lambda means: means[..., 0], EACH)
    belief = draw(value, np.random.default_rng(2), 200_000)
    unit = evidence.alike[..., 0].max()
    anchors = Anchors(evidence.alike[..., 0] / unit)
    differences = infer_differences(anchors, evidence.labelled[..., 0] / unit, evidence.rows, domain=True)
    assert belief.expected - belief.expected.mean() == pytest.approx(unit * differences.score, abs=0.02)
    assert belief.expected.mean() == pytest.approx(evidence.labelled[..., 0].mean(), abs=0.02)
    spread = np.sqrt(np.diag(differences.covariance))
    centred = belief.values - belief.values.mean(axis=1)[:, None]
    assert centred.std(axis=0) == pytest.approx(unit * spread, rel=0.03)


def test_what_answers_give_is_known_and_what_targets_give_is_estimated():
    """The first is the mean over the pool in each draw; the second has the mean of the labelled rows."""
    evidence, _ = evidence_of(np.random.default_rng(3), 6)
    for place, expected in ((1, evidence.alike[:, 0, :, 1].mean(axis=1)), (2, evidence.labelled[0, :, 2].mean())):
        of_place = Matches(*evidence_fields(evidence), lambda means, place=place: means[..., place], EACH)
        values = draw(of_place, np.random.default_rng(4), 50_000).values
        assert values.mean(axis=0) == pytest.approx(np.broadcast_to(expected, 6), abs=0.02)
        assert (np.ptp(values, axis=0) == 0).all() == (place == 1)


def test_matches_may_be_counted_in_any_unit():
    """Ten times the matches and items have the same F1, and so the same draws, even of two models: both agree alike."""
    evidence, _ = evidence_of(np.random.default_rng(3), 8, models=2)
    evidence = replace(evidence, families=EACH[:2])
    larger = replace(evidence, alike=10 * evidence.alike, labelled=10 * evidence.labelled)
    values = [draw(counted, np.random.default_rng(4)).values for counted in (evidence, larger)]
    assert values[1] == pytest.approx(values[0], abs=1e-9)


def evidence_fields(evidence):
    """Everything but the value and the families."""
    return evidence.alike, evidence.labelled, evidence.rows, evidence.matched, evidence.of_targets


def test_all_rows_labelled_give_the_metric():
    """Drawn values lie about those of the metric on all rows, in its order."""
    evidence, truth = evidence_of(np.random.default_rng(5), 200)
    belief = draw(evidence, np.random.default_rng(6))
    assert belief.expected == pytest.approx(truth, abs=0.01)
    assert belief.order.tolist() == np.argsort(-truth).tolist()


def test_copies_of_a_model_are_told_apart_by_nothing():
    """P = 1/2 between them, wherever they stand."""
    evidence, _ = evidence_of(np.random.default_rng(7), 5)
    twice = [0, 1, 2, 3, 4, 5, 2]
    alike = evidence.alike[np.ix_(twice, twice)]
    belief = draw(
        Matches(alike, evidence.labelled[twice], evidence.rows, *PLACES, f1, (*EACH, "c")), np.random.default_rng(8)
    )
    assert belief.beats()[2, 6] == 0.5
    assert belief.expected[2] == belief.expected[6]


@pytest.mark.more
def test_pairs_are_calibrated():
    """Over 150 simulated pools and five labelled rows: of pairs given 60 to 75, 75 to 90 and 90 to 97 %, as many."""
    claimed, by_rows = [], []
    for seed in range(150):
        evidence, truth = evidence_of(np.random.default_rng([9, seed]), 5)
        first, second = np.nonzero(truth[:, None] > truth)
        claimed.append(draw(evidence, np.random.default_rng(0), 2_000).beats()[first, second])
        of_rows = f1(evidence.labelled.mean(axis=1))
        by_rows.append((of_rows[first] > of_rows[second]).mean())
    chances = np.concatenate(claimed)
    stated = np.maximum(chances, 1 - chances)
    for low, high in ((0.6, 0.75), (0.75, 0.9), (0.9, 0.97)):
        inside = (stated >= low) & (stated < high)
        interval = scipy.stats.binomtest(int((chances[inside] > 0.5).sum()), int(inside.sum())).proportion_ci(0.99)
        assert interval.high > low
    assert np.mean([(of_suite > 0.5).mean() for of_suite in claimed]) > np.mean(by_rows)


def test_a_trusted_reference_decides_where_labels_tell_little():
    """The nearest to a trusted answer that is not ranked goes first; without it, the models' likeness decides."""
    rng = np.random.default_rng(10)
    alike, by_truth = answered_sets(rng, models=5)
    fourth = np.argmin(f1(alike[:4, 4].mean(axis=1)))  # of the models, the one least like the fifth answer
    beside = alike[:4].copy()
    beside[fourth, 4, :, 0] = alike[:4, :, :, 0].max()
    evidence = Matches(beside, by_truth[:4, :1], np.arange(1), *PLACES, f1, EACH[:4], trusted=(True,))
    trusted, alone = (draw(part, np.random.default_rng(11)) for part in (evidence, evidence.of_models))
    assert trusted.order[0] == fourth
    assert trusted.beats()[fourth].sum() > alone.beats()[fourth].sum() + 0.2
