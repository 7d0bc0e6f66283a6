import numpy as np
import pytest

from ranker.domains.results.shift import DomainSummary, Pair, Shift
from ranker.domains.runs.over_sets import add_model_scores
from ranker.statistics.correlation import DistanceMeasure, pearson, spearman


def found(cosines):
    """An in-domain set, and new ones with one measure each."""
    names = ["home", *(f"new {n}" for n in range(len(cosines)))]
    pairs = [
        Pair("home", name, (DistanceMeasure("cosine", value, None, None),), None, "far", "", "", (), ())
        for name, value in zip(names[1:], cosines, strict=True)
    ]
    return Shift(tuple(DomainSummary(name, 100, 5.0, 5.0) for name in names), tuple(pairs), 0)


def outcomes(right, count=100):
    """So many right answers."""
    return np.repeat([1.0, 0.0], [right, count - right])


def test_drops_and_correlations_are_those_of_plain_numbers():
    """Of two models the mean drop, against the cosine."""
    cosines, first, second = [0.9, 0.7, 0.4, 0.2], [85, 80, 60, 65], [70, 75, 50, 40]
    answers = {"home": {"a": outcomes(90), "b": outcomes(80)}}
    for n, (a, b) in enumerate(zip(first, second, strict=True)):
        answers[f"new {n}"] = {"a": outcomes(a), "b": outcomes(b)}
    scored = add_model_scores(found(cosines), answers, "ACC", {})
    drops = [0.85 - (a + b) / 200 for a, b in zip(first, second, strict=True)]
    assert [scored.drop(f"new {n}") for n in range(4)] == pytest.approx(drops)
    (correlation,) = scored.correlations
    assert (correlation.measure, correlation.sets) == ("cosine", 4)
    assert correlation.pearson == pytest.approx(pearson(np.array(cosines), np.array(drops)).value)
    assert correlation.spearman == pytest.approx(spearman(np.array(cosines), np.array(drops)).value)
    assert correlation.pearson < -0.8
    assert "over 4 sets. Below 8 sets they say almost nothing" in scored.notes[-1]
    score = scored.score("home", "a")
    assert (score.value, score.rows) == (pytest.approx(0.9), 100)
    assert score.low < 0.9 < score.high


def test_two_sets_have_no_correlation():
    """Nor have sets without labels."""
    unknown = np.full(100, np.nan)
    answers = {name: {"a": outcomes(50)} for name in ("home", "new 0", "new 1")}
    assert add_model_scores(found([0.1, 0.2]), answers, "ACC", {}).correlations == ()
    four = {name: {"a": outcomes(50 + n)} for n, name in enumerate(("home", "new 0", "new 1", "new 2"))}
    assert add_model_scores(found([0.1, 0.1, 0.1]), four, "ACC", {}).correlations == (), (
        "a measure that is always the same"
    )
    answers |= {"new 2": {"a": unknown}}
    scored = add_model_scores(found([0.1, 0.2, 0.3]), answers, "ACC", {})
    assert scored.correlations == ()
    assert scored.score("new 2", "a") is None
    assert scored.drop("new 2") is None


def test_eight_sets_are_not_warned_of():
    """The warning is for fewer."""
    answers = {name: {"a": outcomes(50 + n)} for n, name in enumerate(["home", *(f"new {n}" for n in range(8))])}
    scored = add_model_scores(found([0.1 * n for n in range(8)]), answers, "ACC", {})
    assert scored.notes == ()
    assert scored.correlations[0].pearson == pytest.approx(-1)
