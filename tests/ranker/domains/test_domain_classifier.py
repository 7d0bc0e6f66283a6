import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_score
from sklearn.pipeline import make_pipeline

from ranker.domains import classifier
from ranker.domains.words import align_words, count_words


def texts(rng, size, extra):
    """Texts of six words of ten, with a word of their own in a third of them."""
    return [
        " ".join([*rng.choice([f"w{n}" for n in range(10)], size=6), *([extra] if rng.random() < 0.3 else [])])
        for _ in range(size)
    ]


def test_auc_is_that_of_scikit_learns_cross_validation(monkeypatch):
    """Pipeline, folds and all: the mean of the folds' areas."""
    rng = np.random.default_rng(0)
    first, second = texts(rng, 60, "zeta"), texts(rng, 60, "eta")
    classified = {}
    real = classifier._balanced
    monkeypatch.setattr(classifier, "_balanced", lambda *flags: classified.setdefault("folds", real(*flags)))
    verdict = classifier.classify_domains(align_words(count_words(first), count_words(second)), (first, second), rng)
    model = make_pipeline(CountVectorizer(), TfidfTransformer(sublinear_tf=True), LogisticRegression(max_iter=1_000))
    scores = cross_val_score(
        model, [*first, *second], [0] * 60 + [1] * 60, cv=PredefinedSplit(classified["folds"]), scoring="roc_auc"
    )
    assert verdict.auc.value == pytest.approx(scores.mean(), abs=0.01)
    assert verdict.auc.low < verdict.auc.value < verdict.auc.high
    assert (verdict.first[0], verdict.second[0]) == ("zeta", "eta")
    assert not {*verdict.first} & {*verdict.second}


def test_copies_of_a_text_are_in_one_fold():
    """Each text three times, and no word tells: an AUC of a half, where copies in other folds would give nearly 1."""
    rng = np.random.default_rng(1)
    rows = [[" ".join(f"{rng.integers(10**9)}" for _ in range(5)) for _ in range(40)] * 3 for _ in range(2)]
    verdict = classifier.classify_domains(align_words(*map(count_words, rows)), tuple(rows), rng)
    assert 0.35 < verdict.auc.value < 0.65


def test_too_few_texts_are_not_told_apart():
    """A fold needs texts of both domains."""
    few = ["a b", "c d", "e f"]
    verdict = classifier.classify_domains(
        align_words(count_words(few), count_words(few)), (few, few), np.random.default_rng(0)
    )
    assert verdict.auc.value is None
    assert verdict.first == verdict.second == ()
