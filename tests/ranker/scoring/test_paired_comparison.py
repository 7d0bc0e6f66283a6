"""Two models on the same rows, in a decision: oracles of the statistics in it, and which pairs there are."""

import re

import numpy as np
import pytest
import scipy.stats
from deciding import decide
from test_evaluation import table

from ranker.report import render
from ranker.results.header import Header
from ranker.results.ranking import Ranking
from ranker.scoring.by_metric import MeanRows
from ranker.scoring.paired_comparison import FEW_CLUSTERS, FEW_ROWS, MAX_PAIRED_MODELS, clusters_of, pairs_of, warnings
from ranker.statistics import score_interval
from ranker.statistics.intervals import Z95


def judged(outcomes):
    """A table without truth, of outcomes."""
    return table(np.asarray(outcomes, dtype=float)[:, None], ["ACC"], None)


def compare_pairs(evidence, order, groups, seed, base=None):
    """Compare the models of a table by the mean outcome."""
    rows = MeanRows.of(evidence)
    clusters = clusters_of([group for group, is_judged in zip(groups, rows.judged, strict=True) if is_judged])
    return rows.compare_pairs(
        evidence.models, evidence.outcomes[:, rows.judged], pairs_of([*order], evidence.models, base), seed, clusters
    )


def drawn(models, rows, seed=0, share=0.7):
    """(M, N) outcomes 0 and 1 of models that are about as good."""
    return (np.random.default_rng(seed).random((models, rows)) < share).astype(float)


def blocks(models, groups, size, seed=0):
    """(M, N) outcomes and (N,) groups: the rows of a group are all right or all wrong for a model, but for noise."""
    rng = np.random.default_rng(seed)
    repeated = np.repeat(rng.random((models, groups)) < 0.6, size, axis=1)
    noise = rng.random(repeated.shape) < 0.1
    return (repeated ^ noise).astype(float), [f"g{n // size}" for n in range(groups * size)]


def slow_holm(p):
    """By its definition: tests are taken from the smallest p on, each times the tests that are left."""
    done, greatest = {}, 0.0
    for place, n in enumerate(sorted(range(len(p)), key=lambda n: p[n])):
        greatest = max(greatest, p[n] * (len(p) - place))
        done[n] = min(greatest, 1.0)
    return [done[n] for n in range(len(p))]


def test_two_models_worked_by_hand():
    """Six rows that the first alone has right, one that the second has: McNemar's p is 2 * 8 / 128."""
    first, second = [1] * 8 + [0], [1, 0, 0, 0, 0, 0, 0, 1, 1]
    (comparison,) = compare_pairs(judged([first, second]), [0, 1], [""] * 9, 0)
    assert (comparison.a, comparison.b, comparison.better, comparison.worse, comparison.rows, comparison.clusters) == (
        "m0",
        "m1",
        6,
        1,
        9,
        None,
    )
    assert comparison.difference == pytest.approx(5 / 9)
    differences = np.subtract(first, second)
    assert comparison.se == pytest.approx(differences.std(ddof=1) / 3)
    assert (comparison.low, comparison.high) == score_interval.of_counts(6, 1, 9, Z95)
    assert (comparison.test, comparison.p) == ("mcnemar", pytest.approx(0.125))
    assert comparison.p_corrected == comparison.p
    assert comparison.p_unpaired == pytest.approx(scipy.stats.ttest_ind(first, second, equal_var=False).pvalue)


def test_the_one_that_is_first_in_the_order_is_named_first():
    """In any order of the table, the difference is that of the first named minus the other."""
    outcomes = drawn(4, 40)
    means = outcomes.mean(axis=1)
    order = [2, 0, 3, 1]
    comparisons = compare_pairs(judged(outcomes), order, [""] * 40, 0)
    assert [(comparison.a, comparison.b) for comparison in comparisons] == [
        ("m2", "m0"), ("m2", "m3"), ("m2", "m1"), ("m0", "m3"), ("m0", "m1"), ("m3", "m1")
    ]  # fmt: skip
    for comparison in comparisons:
        assert comparison.difference == pytest.approx(means[int(comparison.a[1:])] - means[int(comparison.b[1:])])


def test_p_of_many_pairs_are_corrected_for_their_number():
    """As Holm did it, test by test."""
    outcomes = np.concatenate([drawn(3, 200, share=0.5), drawn(2, 200, seed=1, share=0.75)])
    comparisons = compare_pairs(judged(outcomes), range(5), [""] * 200, 0)
    assert len(comparisons) == 10
    assert [pair.p_corrected for pair in comparisons] == pytest.approx(
        slow_holm([comparison.p for comparison in comparisons])
    )
    assert any(comparison.p < comparison.p_corrected for comparison in comparisons)


def test_of_very_many_models_each_is_compared_with_the_first_and_with_one_that_is_named():
    """So that neither time nor the correction grows with the square of their number."""
    size = MAX_PAIRED_MODELS + 5
    evidence = judged(drawn(size, 30))
    order = list(range(size))[::-1]
    first, base = f"m{order[0]}", "m7"
    comparisons = compare_pairs(evidence, order, [""] * 30, 0)
    assert [(comparison.a, comparison.b) for comparison in comparisons] == [(first, f"m{n}") for n in order[1:]]
    comparisons = compare_pairs(evidence, order, [""] * 30, 0, base)
    assert {name for pair in comparisons for name in (pair.a, pair.b)} == {f"m{n}" for n in range(size)}
    assert sum(base in (comparison.a, comparison.b) for comparison in comparisons) == size - 1
    assert len(comparisons) == 2 * (size - 1) - 1
    assert (
        len(compare_pairs(judged(drawn(MAX_PAIRED_MODELS, 5)), range(MAX_PAIRED_MODELS), [""] * 5, 0, "m3"))
        == MAX_PAIRED_MODELS * (MAX_PAIRED_MODELS - 1) / 2
    )


def test_a_row_that_is_not_judged_for_some_model_counts_for_none():
    """As everywhere in the decision; so all pairs are of the same rows, and the clusters are those of these."""
    outcomes = drawn(3, 20)
    groups = [f"g{n // 4}" for n in range(20)]
    holes = outcomes.copy()
    holes[1, 4:8] = np.nan
    judged_rows = [n for n in range(20) if not 4 <= n < 8]
    comparisons = compare_pairs(judged(holes), range(3), groups, 0)
    assert comparisons == compare_pairs(judged(outcomes[:, judged_rows]), range(3), [groups[n] for n in judged_rows], 0)
    assert {(comparison.rows, comparison.clusters) for comparison in comparisons} == {(16, 4)}


def test_clusters_of_one_row_are_rows_on_their_own():
    """Standard errors, intervals and the test of differences are the same; so is the rest of the decision, but for the
    interval of one model, which for clusters is the one that is robust to them."""
    outcomes = drawn(3, 60)
    alone, none = (decide(judged(outcomes), groups=groups) for groups in ([f"{n}" for n in range(60)], ()))
    for versus, versus_other in zip(alone.versus, none.versus, strict=True):
        assert (versus.clusters, versus_other.clusters) == (60, None)
        assert versus.se == pytest.approx(versus_other.se)
        assert (versus.test, versus.p) == (versus_other.test, versus_other.p)
    assert alone.p_beats == none.p_beats
    assert alone.forecast == none.forecast
    assert [model.p_best for model in alone.models] == [model.p_best for model in none.models]
    for versus, versus_other in zip(alone.models, none.models, strict=True):
        assert (versus.low, versus.high) == pytest.approx((versus_other.low, versus_other.high), abs=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_as_sure_as_drawing_whole_clusters_says(monkeypatch, seed):
    """Against a bootstrap by brute force: P(better) by the least prior, the standard error of a difference, and the
    intervals."""
    monkeypatch.setattr("ranker.statistics.posterior.PRIORS", np.ones(1))
    outcomes, groups = blocks(3, 60, 5, seed)
    ranking = decide(judged(outcomes), groups=groups)
    numbers = np.array([int(group[1:]) for group in groups])
    sums = np.array([[row_outcomes[numbers == g].sum() for g in range(60)] for row_outcomes in outcomes])
    sizes = np.bincount(numbers)
    rng = np.random.default_rng(seed)
    picked = rng.integers(60, size=(20_000, 60))
    means = sums[:, picked].sum(axis=2) / sizes[picked].sum(axis=1)
    place = {f"m{m}": means[m] for m in range(3)}
    for i, a in enumerate(ranking.names):
        for j, b in enumerate(ranking.names):
            if i < j:
                won = (place[a] > place[b]).mean() + 0.5 * (place[a] == place[b]).mean()
                assert ranking.p_beats[i][j] == pytest.approx(won, abs=0.04)
    for versus in ranking.versus:
        assert versus.se == pytest.approx((place[versus.a] - place[versus.b]).std(), rel=0.05)
        low, high = np.quantile(place[versus.a] - place[versus.b], [0.025, 0.975])
        assert (versus.low, versus.high) == pytest.approx((low, high), abs=0.02)
    for model in ranking.models:
        low, high = np.quantile(place[model.name], [0.025, 0.975])
        assert (model.low, model.high) == pytest.approx((low, high), abs=0.025)


def test_rows_that_belong_together_make_a_decision_less_sure():
    """Here they are nearly copies of each other: five of them are worth about one."""
    outcomes, groups = blocks(2, 40, 5, seed=1)
    together, apart = decide(judged(outcomes), groups=groups), decide(judged(outcomes))
    assert together.names == apart.names
    assert together.versus[0].difference == apart.versus[0].difference
    assert 1.5 < together.versus[0].se / apart.versus[0].se < 2.5
    assert abs(together.p_beats[0][1] - 0.5) < abs(apart.p_beats[0][1] - 0.5)
    for wide, narrow in zip(together.models, apart.models, strict=True):
        assert wide.high - wide.low > narrow.high - narrow.low
    assert together.versus[0].test.startswith("sign-flip")


def test_one_cluster_shows_no_spread():
    """Nothing is said of how sure it is, and reports say so; nothing ends in a traceback."""
    decision = decide(judged(drawn(2, 6)), groups=["a"] * 6)
    versus = decision.versus[0]
    assert (versus.se, versus.low, versus.high, versus.p_unpaired, versus.detectable, versus.clusters) == (
        None,
    ) * 5 + (1,)
    assert all(model.high - model.low > 0.8 for model in decision.models)
    ranking = Ranking(Header("own", "two", 6, 0), decision, judged(drawn(2, 6)))
    for name in ("table", "html", "pairs", "json", "csv", "markdown"):
        assert not re.search(r"\bnan\b", render(ranking, name), re.IGNORECASE), name
        assert "95 % interval ;" not in " ".join(render(ranking, name).split()), name
    assert "(no interval: one row or cluster shows no spread; p = 1.000" in " ".join(render(ranking, "table").split())


def test_a_difference_that_cannot_be_is_not_said_to_be_found():
    """Two rows would show no difference at all; more than 100 points nobody can be apart."""
    table = judged(np.array([[1.0, 0.0], [0.0, 1.0]]))
    ranking = decide(table)
    assert ranking.versus[0].detectable > 1
    text = " ".join(render(Ranking(Header("own", "two", 2, 0), ranking, table), "table").split())
    assert "These rows are too few to detect even the largest difference in four of five cases." in text
    assert "points or more is found" not in text
    assert list(warnings(ranking.versus, precomputed=True)) == ["2 rows are few: differences would mostly be missed."]


def test_two_equal_models_are_nothing_to_tell_apart():
    """P is 1, whatever test would have been asked."""
    row = drawn(1, 50)[0]
    ranking = decide(judged([row, row]))
    versus = ranking.versus[0]
    assert (versus.difference, versus.better, versus.worse, versus.p, versus.p_corrected, versus.detectable) == (
        0,
        0,
        0,
        1,
        1,
        None,
    )
    assert ranking.groups == (("m0", "m1"),)


def test_few_rows_and_few_clusters_are_pointed_out():
    """Rows only where answers were made elsewhere, and so more of them could have been."""
    few, many = (compare_pairs(judged(drawn(2, size)), range(2), [""] * size, 0) for size in (FEW_ROWS - 1, FEW_ROWS))
    (warning,) = warnings(few, precomputed=True)
    assert warning.startswith(f"{FEW_ROWS - 1} rows are few: a true difference below ")
    assert list(warnings(few, precomputed=False)) == list(warnings(many, precomputed=True)) == []
    outcomes, groups = blocks(2, FEW_CLUSTERS - 1, 5)
    (warning,) = warnings(compare_pairs(judged(outcomes), range(2), groups, 0), precomputed=False)
    assert warning.startswith(f"{FEW_CLUSTERS - 1} clusters of rows are few")
    row = drawn(1, 20)[0]
    assert list(warnings(compare_pairs(judged([row, row]), range(2), [""] * 20, 0), precomputed=True)) == [
        "20 rows are few."
    ]


def test_groups_become_numbers():
    """In order of their first row; where no row has one, rows are independent."""
    assert clusters_of(["b", "a", "b", ""]).tolist() == [0, 1, 0, 2]
    assert clusters_of(["", ""]) is None
    assert clusters_of([]) is None
