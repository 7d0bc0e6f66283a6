"""Reductions of the epochs of a row, by each of Inspect's names."""

import itertools

import numpy as np
import pytest
from logmaking import eval_log, header, sample
from refusals import refuses

from ranker import decide
from ranker.errors import DataError
from ranker.sources.logs.epochs import reducer_named
from ranker.sources.logs.options import LogOptions
from ranker.sources.logs.reading import read_log

NAN = float("nan")


@pytest.mark.parametrize(("name", "expected"), [
    ("mean", 0.625), ("median", 0.75), ("mode", 1.0), ("majority", NAN), ("max", 1.0), ("at_least_2", 1.0),
    ("at_least_3", 0.0), ("pass_at_1", 0.5), ("pass_at_2", 5 / 6), ("pass_k_2", 1 / 6), ("pass_at_5", NAN),
])  # fmt: skip
def test_epochs_are_reduced_as_inspect_does(tmp_path, name, expected):
    """Over those that have a score: by hand; the name stands in the metric, and what the log has beside it."""
    values = [1.0, 0.0, 0.5, 1.0, NAN]
    samples = [sample("a", value, epoch, scorer="match") for epoch, value in enumerate(values, 1)]
    log = read_log(eval_log(tmp_path / "a.eval", samples, header(epochs=5)), LogOptions(reducer=name))
    assert log.outcomes.tolist() == pytest.approx([expected], nan_ok=True)
    assert log.metric == ("match" if name == "mean" else f"match[{name}]")
    assert f"Each row is the {name} of 5 epochs (the log has mean by default)." in log.notes


@pytest.mark.parametrize("k", [1, 2, 3])
def test_pass_at_k_is_the_share_of_draws_with_a_right_one(k):
    """Draws are all of k of the epochs; pass_k is the share in which all are right."""
    for values in itertools.product([0.0, 1.0], repeat=4):
        draws = [[values[n] for n in drawn] for drawn in itertools.combinations(range(4), k)]
        scores = np.array(values)
        assert reducer_named(f"pass_at_{k}")(scores) == pytest.approx(np.mean([any(draw) for draw in draws]))
        assert reducer_named(f"pass_k_{k}")(scores) == pytest.approx(np.mean([all(draw) for draw in draws]))


def test_the_reducer_of_the_log_counts(tmp_path):
    """Of several the first; the recorded number is that of the same one."""
    samples = [sample(row, value, epoch) for row in "ab" for epoch, value in enumerate("IC", 1)]
    scores = [
        {"name": "match", "scorer": "match", "reducer": name, "metrics": {"accuracy": {"value": value}}}
        for name, value in (("max", 1.0), ("mean", 0.5))
    ]
    log_header = header(epochs=2, results={"scores": scores})
    log_header["eval"]["config"]["epochs_reducer"] = ["max", "mean"]
    path = eval_log(tmp_path / "a.eval", samples, log_header)
    log, second = read_log(path), read_log(path, LogOptions(reducer="mean"))
    assert (log.metric, log.outcomes.tolist(), log.measure.recorded) == ("match[max]", [1, 1], 1.0)
    assert (second.metric, second.outcomes.tolist(), second.measure.recorded) == ("match", [0.5, 0.5], 0.5)
    assert log.notes == ("Each row is the max of 2 epochs (the log has max, mean).",)
    second = eval_log(tmp_path / "b.eval", samples, log_header)
    assert decide([path, second]).header.metric == "match[max]"


def test_a_reducer_that_is_not_known_is_refused(tmp_path):
    """The log's own like one that is asked for, with the list; of one epoch nothing is reduced."""
    log_header = header(epochs=2)
    log_header["eval"]["config"]["epochs_reducer"] = ["best_of_mine"]
    path = eval_log(tmp_path / "a.eval", [sample("a", value, epoch) for epoch, value in enumerate("IC", 1)], log_header)
    for reducer, refused_name in (("", "best_of_mine"), ("best", "best")):
        with refuses(DataError, option="reducer", value=refused_name):
            read_log(path, LogOptions(reducer=reducer))
    assert read_log(path, LogOptions(reducer="mean")).outcomes.tolist() == [0.5]
    log_header["eval"]["config"]["epochs"] = 1
    assert read_log(eval_log(tmp_path / "b.eval", [sample("a", "C")], log_header)).outcomes.tolist() == [1]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"limit": {"type": "token", "limit": 5}}, "A limit ended 1 of 2 samples (token 1); their scores count."),
        (
            {"output": {"choices": [{"message": {"content": "y"}, "stop_reason": "max_tokens"}], "completion": "y"}},
            "A limit ended 1 of 2 samples (max_tokens 1); their scores count.",
        ),
    ],
)
def test_samples_that_hit_a_limit_are_counted(tmp_path, fields, expected):
    """A limit of the sample, or of what a model may write."""
    log = read_log(eval_log(tmp_path / "a.eval", [sample("a", "C"), sample("b", "I", **fields)]))
    assert log.notes == (expected,)


def test_shuffled_choices_are_known_by_their_texts(tmp_path):
    """Another letter may be the same answer, and the same letter another one."""

    def log(name, choices, target):
        return read_log(eval_log(tmp_path / name, [sample("a", "C", choices=choices, target=target)]))

    first, second = log("a.eval", ["red", "blue", "green"], "A"), log("b.eval", ["blue", "green", "red"], "C")
    assert first.target_hashes == second.target_hashes
    assert first.target_hashes != log("c.eval", ["blue", "green", "red"], "A").target_hashes
