"""Features of a factor that need no label, and rules judged on sets that they were not fitted on."""

from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from experiments import trust
from experiments.trust import Case, Features, agreement, correlations, read, stability, verdicts, written
from ranker.errors import UsageError
from ranker.runtime.runtime import Runtime
from ranker.sources.suites import bundled_suites


def case(name, gain, votes=0.0, **changes):
    """Return a designed factor's case on a set, with this gain over an accuracy of 80 %."""
    features = Features(backends=0.5, stability=0.7, votes=votes, distance=0.2, spread=0.1)
    plain = Case(name, f"{name}-mini", "shap", "CONST", True, features, 0.8 + gain, 0.8, 0.85, 0.9)
    return replace(plain, **changes)


def test_stability_is_that_of_drawn_rows():
    """The share of draws of K rows in which two models stand as on all rows, to the error of the draws."""
    rng = np.random.default_rng(0)
    scores = rng.normal([[0.0], [0.2], [0.5]], 1.0, (3, 400))
    means, right = scores.mean(axis=1), []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        rows = rng.integers(0, 400, (20_000, trust.PROBE))
        drawn = (scores[a] - scores[b])[rows].mean(axis=1)
        right.append(np.mean(np.sign(drawn) == np.sign(means[a] - means[b])))
    assert stability(scores) == pytest.approx(np.mean(right), abs=0.01)


def test_agreement_is_that_of_answers():
    """With two labels it is the same, whatever the truth is."""
    rng = np.random.default_rng(0)
    answers = rng.random((5, 30)) < 0.6
    shares = []
    for model in answers:
        agreeing = [
            0.5 if 2 * row.sum() == len(row) else float(answer == (2 * row.sum() > len(row)))
            for answer, row in zip(model, answers.T, strict=True)
        ]
        shares.append(np.mean(agreeing))
    for truth in (rng.random(30) < 0.5, rng.random(30) < 0.9):
        assert agreement(answers == truth).tolist() == pytest.approx(shares)


def test_a_rule_does_not_see_the_set_that_it_is_judged_on(monkeypatch):
    """Each set is decided once, by the cases of all others."""
    calls = []

    def rule(fitted, decided):
        calls.append(({case.set for case in fitted}, {case.set for case in decided}))
        return np.zeros(len(decided), dtype=bool)

    monkeypatch.setattr(trust, "RULES", {"spy": rule})
    verdicts([case("a", 0.1), case("b", 0.1), case("b", 0.2), case("c", 0.0)])
    assert calls == [({"b", "c"}, {"a"}), ({"a", "c"}, {"b"}), ({"a", "b"}, {"c"})]


def test_a_rule_takes_factors_where_its_feature_tells():
    """High votes go with a gain on all sets: the rule takes these alone; a feature without values gains nothing."""
    cases = [case(name, 0.1 if high else -0.1, votes=0.9 if high else 0.1) for name in "abc" for high in (0, 1, 1)]
    judged = {verdict.rule: verdict for verdict in verdicts(cases)}
    assert (judged["votes"].right, judged["votes"].follows) == (1.0, pytest.approx(2 / 3))
    assert judged["votes"].minus_accuracy == pytest.approx(0.2 / 3)
    assert judged["all features"].right == 1.0
    assert (judged["never"].minus_accuracy, judged["never"].right) == (0.0, pytest.approx(1 / 3))
    assert judged["always"].minus_accuracy == judged["spread"].minus_accuracy == pytest.approx(0.1 / 3)
    assert judged["never"].minus_together == pytest.approx(-0.05)
    assert judged["never"].minus_pool_method == pytest.approx(-0.1)
    assert correlations(cases)["votes"] == pytest.approx(1.0)


def test_nothing_is_taken_where_nothing_gains():
    """No value of a feature from which on factors gain in the cases that are fitted."""
    judged = verdicts([case("a", -0.1, votes=0.5), case("b", -0.2, votes=0.9)])
    assert {verdict.rule for verdict in judged if verdict.follows} == {"always"}


def test_the_interval_is_over_sets():
    """Two cases of one set are not two sets."""
    judged = verdicts([case("a", 0.1), case("a", 0.3), case("b", 0.0), case("c", 0.1)])
    always = next(verdict for verdict in judged if verdict.rule == "always")
    half = 1.96 * np.std([0.2, 0.0, 0.1], ddof=1) / np.sqrt(3)
    assert always.minus_accuracy == pytest.approx(0.1)
    assert (always.low, always.high) == (pytest.approx(0.1 - half), pytest.approx(0.1 + half))


def test_one_set_is_refused():
    """There is none to fit a rule on."""
    with pytest.raises(UsageError, match="two sets are needed"):
        verdicts([case("a", 0.1)])


def test_cases_are_read_as_they_were_written():
    """To four digits; a factor that is not designed has no sum with accuracy."""
    cases = [case("a", 0.1), case("b", -0.05, designed=False, together=float("nan"))]
    for first, second in zip(cases, read(written(cases)), strict=True):
        assert (first.set, first.suite, first.attribution, first.factor, first.designed) == (
            second.set, second.suite, second.attribution, second.factor, second.designed
        )  # fmt: skip
        numbers = [
            (*astuple(c.features), c.factor_alone, c.accuracy, c.together, c.pool_method) for c in (first, second)
        ]
        assert numbers[1] == pytest.approx(numbers[0], abs=1e-4, nan_ok=True)


def test_the_page_has_the_table_of_its_cases():
    """docs/results/replication.md shows what the committed cases give."""
    results = Path(__file__).parents[2] / "docs" / "results"
    cases = read((results / "tables" / "trust.csv").read_text(encoding="utf-8"))
    page = (results / "replication.md").read_text(encoding="utf-8")
    assert trust.table([case for case in cases if case.designed]) in page
    assert f"{len({case.suite for case in cases})} suites" in page


@pytest.mark.more
def test_a_suite_is_measured_as_rank_does(monkeypatch):
    """Scores point up where a factor is better lower, and a backend is compared with the other one."""
    from ranker import Evidence, load_set, rank

    rows = replace(load_set("hans-con"), population=24)
    monkeypatch.setattr(trust.sets, "load", lambda name: rows)
    cases = list(trust.cases_of(bundled_suites()["hans-con-mini"], "hans-con-mini", ["occlusion", "ig"], Runtime()))
    by_name = {(case.attribution, case.factor): case for case in cases}
    rankings = [rank("hans-con-mini", rows, evidence=Evidence(name, methods=())) for name in ("occlusion", "ig")]
    for name, sign in (("CONST", 1), ("SUM-DIFF", -1)):
        case = by_name["occlusion", name]
        place = [method.name for method in rankings[0].table.methods].index(name)
        means = [sign * np.nanmean(ranking.table.values[:, place], axis=1) for ranking in rankings]
        assert case.designed == (name == "CONST")
        assert case.features.backends == pytest.approx(spearmanr(*means).statistic)
        assert case.factor_alone == rankings[0].method(name).pairwise_accuracy
        assert case.gain == case.factor_alone - rankings[0].method("ACC").pairwise_accuracy
    assert {case.set for case in cases} == {"hans-con"}
