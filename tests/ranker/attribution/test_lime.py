"""LIME: against the library's own regression, its samples, and as a backend."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from factors import Example
from ranker.attribution import SETTINGS, attribute
from ranker.attribution.lime import fit, samples, seed_of
from ranker.attribution.settings import LEAST_RIDGE, LIMESettings
from ranker.errors import ModelError
from ranker.sources import suites
from ranker.sources.hf.classifiers import Classifier

QUICK = LIMESettings(samples=60)


def lime_base(width):
    """The library's regression, with its text explainer's kernel."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from lime.lime_base import LimeBase

    return LimeBase(lambda d: np.sqrt(np.exp(-(d**2) / width**2)), random_state=0)


def by_lime(masks, values, width=25.0):
    """The library's coefficients and R2 on given samples, with every word in."""
    from scipy.sparse import csr_matrix
    from sklearn.metrics import pairwise_distances

    points = masks.astype(float)
    # as lime's text explainer measures it
    distances = pairwise_distances(csr_matrix(points), csr_matrix(points[:1]), metric="cosine").ravel() * 100
    _, coefficients, r2, _ = lime_base(width).explain_instance_with_data(
        points, values[:, None], distances, 0, points.shape[1], feature_selection="none"
    )
    return np.array([value for _, value in sorted(coefficients)]), r2


# of a narrower kernel no sample but the whole text has weight, and R2 is that of rounding
@given(st.integers(1, 12), st.integers(2, 200), st.floats(10, 100), st.integers(0, 1000))
@settings(max_examples=15)
def test_the_regression_is_limes(words, count, width, seed):
    """On the same samples and answers, lime's own class finds the same coefficients and R2."""
    rng = np.random.default_rng(seed)
    masks = samples(words, count, rng)
    values = masks @ rng.normal(size=words) + rng.normal(size=count)
    coefficients, r2 = fit(masks, values, width, 1.0)
    expected, expected_r2 = by_lime(masks, values, width)
    assert coefficients == pytest.approx(expected, abs=1e-6)
    assert r2 == pytest.approx(expected_r2, abs=1e-6)


def test_answers_that_follow_the_words_are_explained_fully():
    """Coefficients are those of linear answers but for the penalty, and R2 is near 1."""
    weights = np.array([2.0, -1.0, 0.0, 0.5])
    masks = samples(4, 2000, np.random.default_rng(0))
    coefficients, r2 = fit(masks, masks @ weights + 3, 25.0, 1e-9)
    assert coefficients == pytest.approx(weights, abs=1e-6)
    assert r2 == pytest.approx(1)


def test_the_least_ridge_is_enough():
    """Fewer samples than words, words that always go together, and many of both: the system is solved all the same."""
    for words, count in ((3, 2), (300, 2), (300, 200), (2, 5000)):
        masks = np.repeat(samples(words, count, np.random.default_rng(0)), 2, axis=1)
        coefficients, _ = fit(masks, np.random.default_rng(1).normal(size=len(masks)), 25.0, LEAST_RIDGE)
        assert coefficients[::2] == pytest.approx(coefficients[1::2], abs=1e-4 * abs(coefficients).max())


def test_answers_that_never_change_have_no_scores():
    """A constant is explained without any word."""
    masks = samples(3, 50, np.random.default_rng(0))
    coefficients, r2 = fit(masks, np.full(50, 0.7), 25.0, 1.0)
    assert coefficients == pytest.approx([0, 0, 0], abs=1e-12)
    assert r2 == 1


def test_samples_hide_as_many_words_as_limes():
    """The first sample hides nothing, the others any number from one to all, and any word, with equal chance."""
    masks = samples(5, 20_001, np.random.default_rng(0))
    assert masks[0].all()
    hidden = (~masks[1:]).sum(axis=1)
    assert np.bincount(hidden, minlength=6)[1:] / 20_000 == pytest.approx(np.full(5, 0.2), abs=0.015)
    assert (hidden > 0).all()
    assert (~masks[1:]).mean(axis=0) == pytest.approx(np.full(5, 0.6), abs=0.015)


@pytest.mark.parametrize("hide", ["pad", "remove"])
def test_scores_are_limes_on_the_rows_that_the_model_saw(trained, hans, hide, monkeypatch):
    """Ids are hidden as said, and lime's regression on the answers to those very rows gives each word's score."""
    example = hans.examples[0]
    encoding = trained.encode([example])[0]
    answered = {}
    network = Classifier.network

    def spy(self, batch):
        logits = network(self, batch)
        answered.update(zip(map(tuple, batch.ids.tolist()), (logits[:, 1] - logits[:, 0]).tolist(), strict=True))
        return logits

    monkeypatch.setattr(Classifier, "network", spy)
    (row,) = attribute(trained, [example], replace(QUICK, hide=hide))

    masks = samples(len(example.words), 60, np.random.default_rng(seed_of(0, trained.seed, example)))
    values = []
    for mask in masks:
        unseen = {word for word, visible in enumerate(mask) if not visible}
        ids = [
            trained.tokenizer.pad_token_id if word in unseen else token
            for token, word in zip(encoding.ids.tolist(), encoding.word.tolist(), strict=True)
            if not (hide == "remove" and word in unseen)
        ]
        values.append(answered[tuple(ids)])
    expected, r2 = by_lime(masks, np.array(values))
    assert row.word_scores == pytest.approx(expected, abs=1e-5)
    assert row.residual == pytest.approx(1 - r2, abs=1e-5)


def test_the_pieces_of_a_word_add_up_to_it(trained):
    """A word's coefficient is shared equally by its tokens; special tokens have none."""
    example = Example("a", ("The blimpization of doctors ran.", "Doctors ran."), 0)
    (row,) = attribute(trained, [example], QUICK)
    pieces = [row.scores[row.word == word] for word in range(len(example.words))]
    assert max(map(len, pieces)) > 2
    assert all(np.ptp(scores) == 0 for scores in pieces)
    assert row.word_scores == pytest.approx([scores.sum() for scores in pieces])
    assert (row.scores[row.word < 0] == 0).all()


def test_a_repeated_word_has_a_score_at_each_place(trained):
    """Words are told apart by where they stand, also across the segments."""
    (row,) = attribute(trained, [Example("a", ("The poets ran.", "The poets ran."), 0)], QUICK)
    assert len(np.unique(row.word_scores)) == 8


@pytest.mark.more
def test_scores_do_not_depend_on_what_is_computed_beside_them(trained, hans):
    """One example alone, or at another place with another batch size, has the same samples and the same scores."""
    examples = list(hans.examples[:4])
    together = list(attribute(trained, examples, QUICK))
    for example, row in list(zip(examples, together, strict=True))[::-1]:
        (alone,) = attribute(replace(trained, token_budget=50), [example], QUICK)
        assert alone.scores == pytest.approx(row.scores, abs=1e-6)


def test_samples_are_drawn_anew_for_every_seed_model_and_text(trained, hans):
    """The seed of an example's samples is another for another run's seed, model or text, and for nothing else."""
    first, second = hans.examples[:2]
    seeds = {seed_of(0, "a", first), seed_of(1, "a", first), seed_of(0, "b", first), seed_of(0, "a", second)}
    assert len(seeds) == 4
    assert seed_of(0, "a", first) == seed_of(0, "a", replace(first, id="renamed", target=1 - first.target))
    rows = [next(attribute(trained, [first], replace(QUICK, seed=seed))) for seed in (0, 0, 1)]
    assert (rows[0].scores == rows[1].scores).all()
    assert not np.allclose(rows[0].scores, rows[2].scores)


def test_a_model_is_known_by_its_weights(hans):
    """The seed is the same in both dtypes, and another one for other weights."""
    paths = [model.source.path for model in suites.load(["hans-sub-mini"]).models[:2]]
    prints = [Classifier.load(path, hans.task).seed for path in paths]
    assert prints[0] != prints[1]
    assert Classifier.load(paths[0], hans.task, dtype="bfloat16").seed == prints[0]


def test_the_gate_is_the_share_of_variance(trained, hans):
    """The residual is 1 - R2, between 0 and 1, and an example passes where it is within the tolerance."""
    (row,) = attribute(trained, hans.examples[:1], QUICK)
    assert 0 < row.residual < 1
    assert row.effort == 60
    assert LIMESettings(tolerance=row.residual).accepts(row)
    assert not LIMESettings(tolerance=row.residual - 1e-9).accepts(row)


@pytest.mark.parametrize("segments", [("", ""), ("Ran", ""), ("", "Ran"), ("Ran",)])
def test_empty_segments_have_scores_too(trained, segments):
    """A pair may have an empty half, or be empty, which lime itself refuses."""
    (row,) = attribute(trained, [Example("a", segments, 0)], replace(QUICK, hide="remove"))
    assert len(row.scores) == len(row.tokens)
    assert (row.scores != 0).any() == any(segments)


def test_a_model_without_the_token_is_refused(trained):
    """There is nothing to hide words behind."""
    with refuses(ModelError, option="attribution", value="lime"):
        list(attribute(replace(trained, tokenizer=SimpleNamespace(pad_token_id=None)), [], "lime"))


def test_lime_is_in_the_table():
    """The backend is found by its name."""
    assert SETTINGS["lime"] is LIMESettings
