"""The direction of a row's numbers, and recorded numbers that follow from the rows or do not."""

import json
import math

import numpy as np
import pytest
from logmaking import choice_row, eval_log, header, lm_log, results, sample, written_row
from refusals import refuses

from ranker import decide, over_tasks
from ranker.errors import DataError, ModelError, UnknownName
from ranker.sources.base import SourceOptions
from ranker.sources.logs.measures import AGGREGATES, METRICS, OF_ALL_ROWS, infer_metric
from ranker.sources.logs.options import LogOptions
from ranker.sources.logs.reading import read_log
from ranker.sources.suites import load

GOOD, BAD = [-1.0, -2.0, -3.0, -2.0] * 5, [-4.0, -2.5, -6.0, -5.0] * 5


def likelihood_log(folder, values, metric="perplexity", recorded=None, higher=False, **config):
    """A log of such a task, with the results beside it."""
    filtered = [[str(value), "False"] for value in values]
    rows = [written_row(n, {"q": n}, "x", "x", filtered[n], **{metric: value}) for n, value in enumerate(values)]
    path = lm_log(folder, rows)
    recorded = math.exp(-np.mean(values)) if recorded is None else recorded
    results(folder, higher={metric: higher}, results={"small": {f"{metric},none": recorded}}, **config)
    return path


def test_every_metric_of_the_harness_has_an_aggregate():
    """One that is computed, or one of pairs that no number a row tells."""
    assert {name for name, _ in METRICS.values()} <= {*AGGREGATES, *OF_ALL_ROWS}
    assert not {*AGGREGATES} & {*OF_ALL_ROWS}


@pytest.mark.parametrize("metric", ["perplexity", "ppl_of_mine"])
def test_rows_of_perplexity_hold_log_likelihoods_of_which_more_is_better(tmp_path, metric):
    """Whatever the metric is called: exp(-mean) is what is recorded, and its direction is not the rows'."""
    logs = [likelihood_log(tmp_path / name, values, metric) for name, values in (("good", GOOD), ("bad", BAD))]
    ranking = decide(load(logs, SourceOptions(kinds=[LogOptions(scale=(-10, 0))])))
    assert {model.name: round(model.outcome, 12) for model in ranking.decision.models} == {"good": 0.8, "bad": 0.5625}
    assert ranking.decision.models[0].name == "good"
    assert any("less is better" not in note and "more is better" in note for note in ranking.notes)
    assert any("scaled from -10, the worst, to 0, the best" in note for note in ranking.notes)


def test_the_recorded_number_says_what_a_row_holds(tmp_path):
    """A perplexity that is averaged over rows is one of each row, of which less is better."""
    path = likelihood_log(tmp_path, [3.0, 5.0, 8.0], recorded=16 / 3)
    assert read_log(path).measure.higher_is_better is False
    assert read_log(path).measure.aggregate == "mean"


def test_a_number_that_rows_do_not_tell_is_said_beside_theirs(tmp_path):
    """With both; and where no direction follows, that more is taken for better."""
    path = likelihood_log(tmp_path, [0.0, 0.5, 1.0], "mine", recorded=0.75, higher=True)
    (note,) = read_log(path).notes
    assert note.startswith("The log records mine 0.75, and 0.5 follows from its rows")
    results(tmp_path, results={"small": {"mine,none": 0.5}})
    assert read_log(path).notes == ("More of mine is assumed to be better; if not, use `lower_is_better`.",)
    results(tmp_path, config={"metric_list": [{"metric": "mine", "aggregation": "def mine(items): ..."}]})
    assert read_log(path).measure.recomputed is None


def test_lower_is_better_counts_where_nobody_knows_better(tmp_path):
    """Rows that are better the higher refuse it, and a note says so where a task's author says otherwise."""
    values = {"a": [0.1] * 9, "b": [0.7] * 9}
    logs = [likelihood_log(tmp_path / name, row, "loss", np.mean(row), True) for name, row in values.items()]
    ranking = decide(load(logs, SourceOptions(kinds=[LogOptions(lower_is_better=True)])))
    assert [model.name for model in ranking.decision.models] == ["a", "b"]
    assert any("but `lower_is_better` overrides it." in note for note in ranking.notes)
    logs = [likelihood_log(tmp_path / name, GOOD) for name in ("c", "d")]
    with pytest.raises(ModelError, match="`range`"):
        decide(load(logs))
    with pytest.raises(ModelError, match="`lower_is_better`"):
        decide(load(logs, SourceOptions(kinds=[LogOptions(lower_is_better=True, scale=(-10, 0))])))


def test_pairs_of_a_rolling_likelihood_come_to_the_likelihood(tmp_path):
    """Word and byte perplexity, and bits a byte, are recomputed; models are compared by the likelihood of each text."""
    pairs = [(-20.0, 5, 24), (-33.5, 7, 40), (-8.25, 2, 9)]
    rows = [
        written_row(n, {"q": n}, "x", "x", ["-1", "False"])
        | {"metrics": ["word_perplexity", "byte_perplexity", "bits_per_byte"]}
        | {"word_perplexity": [ll, words], "byte_perplexity": [ll, size], "bits_per_byte": [ll, size]}
        for n, (ll, words, size) in enumerate(pairs)
    ]
    path = lm_log(tmp_path, rows)
    total, words, size = (sum(column) for column in zip(*pairs, strict=True))
    recorded = {
        "word_perplexity,none": math.exp(-total / words),
        "byte_perplexity,none": math.exp(-total / size),
        "bits_per_byte,none": -total / size / math.log(2),
    }
    higher = dict.fromkeys(("word_perplexity", "byte_perplexity", "bits_per_byte"), False)
    results(tmp_path, higher=higher, results={"small": recorded})
    for name in recorded:
        log = read_log(path, LogOptions(metric=name.partition(",")[0]))
        assert log.measure.agrees
        assert log.measure.higher_is_better is True
        assert log.outcomes.tolist() == [ll for ll, _, _ in pairs]
    assert read_log(path).metric == "word_perplexity"


@pytest.mark.more
def test_metrics_are_said_for_tasks(tmp_path):
    """By their names, beside one for the others; a task that is not there is a line."""
    for name in "ab":
        for task in ("one", "two"):
            rows = [written_row(n, {"q": n}, "x", "x", "x", em=1.0, f1=(n % 3) / 2) for n in range(6)]
            lm_log(tmp_path / name, rows, task)
    folders = [tmp_path / name for name in "ab"]
    rankings = over_tasks(folders, SourceOptions(kinds=[LogOptions(metric="em, two=f1")]))
    assert {task: ranking.header.metric for task, ranking in rankings.rankings.items()} == {"one": "em", "two": "f1"}
    with refuses(UnknownName, value="tow"):
        over_tasks(folders, SourceOptions(kinds=[LogOptions(metric="em,tow=f1")]))
    with pytest.raises(ModelError, match="`metric`"):
        over_tasks(folders, SourceOptions(kinds=[LogOptions(filter="one=none")]))


def test_a_brier_score_is_that_of_the_likelihoods(tmp_path):
    """The log has its probabilities with eight digits; less is better, from 0 to 2."""
    likelihoods = [(-1.25, -2.5), (-3.125, -0.75)]
    rows = [
        choice_row(n, {"q": n}, str(n), pair, acc=1.0, brier_score=[n, "[0.777 0.223]"])
        for n, pair in enumerate(likelihoods)
    ]
    probs = [np.exp(pair) / np.exp(pair).sum() for pair in likelihoods]
    expected = [float(((p - np.eye(2)[n]) ** 2).sum()) for n, p in enumerate(probs)]
    path = lm_log(tmp_path, rows)
    recorded = {"small": {"brier_score,none": float(np.mean(expected))}}
    results(tmp_path, higher={"acc": True, "brier_score": False}, results=recorded)
    log = read_log(path, LogOptions(metric="brier_score"))
    np.testing.assert_allclose(log.outcomes, expected, rtol=1e-12)
    assert log.measure.agrees
    assert (log.measure.higher_is_better, log.measure.certain, log.measure.scale) == (False, True, (0, 2))
    assert read_log(path).metric == "acc"


@pytest.mark.parametrize(
    "pair", [[2, "[0.5 0.5]"], [0, "[nan 0.5]"], [0, "..."], [0.5, "[1 0]"], [0, 1, 2], [None, []]]
)
def test_pairs_that_come_to_nothing_are_no_number(tmp_path, pair):
    """No choice of that number, no probabilities, or no pair."""
    rows = [written_row(0, {"q": 0}, "x", "x", "x", brier_score=pair)]
    path = lm_log(tmp_path, rows)
    with refuses(DataError, option="metric", value="brier_score", place=path):
        read_log(path, LogOptions(metric="brier_score"))


@pytest.mark.parametrize(
    ("scorer", "values", "metric", "recorded", "better"),
    [
        ("match", ["C", "I", "P"], "accuracy", 0.5, True),
        ("mine", [True, False, True], "accuracy", 2 / 3, True),
        ("mine", [0.25, 0.5], "mean", 0.375, None),
        ("perplexity", [1.5, 2.5], "perplexity_per_seq", math.exp(2), False),
    ],
)
def test_scores_of_inspect_are_recomputed(tmp_path, scorer, values, metric, recorded, better):
    """And what is right or wrong is better the higher, whoever the scorer is."""
    samples = [sample(f"s{n}", value, scorer=scorer) for n, value in enumerate(values)]
    scores = [{"name": scorer, "scorer": scorer, "metrics": {metric: {"name": metric, "value": recorded}}}]
    path = eval_log(tmp_path / "a.eval", samples, header(scorer=scorer, results={"scores": scores}))
    measure = read_log(path).measure
    assert measure.agrees
    assert measure.higher_is_better is better
    scores[0]["metrics"][metric]["value"] = recorded + 0.01
    path = eval_log(tmp_path / "b.eval", samples, header(scorer=scorer, results={"scores": scores}))
    assert any("follows from its rows" in note for note in read_log(path).notes)


def test_a_metric_of_inspect_that_is_not_known_is_said_not_to_be_recomputed(tmp_path):
    """Standard errors and the like are none."""
    metrics = {"stderr": {"value": 0.1}, "mine": {"value": 0.25}}
    scores = [{"name": "match", "scorer": "match", "metrics": metrics}]
    path = eval_log(tmp_path / "a.eval", [sample("a", "C")], header(results={"scores": scores}))
    assert read_log(path).notes == ("The log records match 0.25, which cannot be recomputed from its rows.",)
    del metrics["mine"]
    path = eval_log(tmp_path / "b.eval", [sample("a", "C")], header(results={"scores": scores}))
    assert read_log(path).notes == ()


def test_too_large_a_number_is_infinite_and_no_error():
    """Of exp(-mean)."""
    measure = infer_metric("perplexity", np.array([-5000.0]), np.ones(1), None, None, None)
    assert measure.recomputed == math.inf
    assert json.dumps(measure.higher_is_better) == "true"
