"""Tokens, seconds and money that results of promptfoo state."""

import json

import numpy as np
import pytest
from tables_made import understood

from ranker.sources.base import Machine, ResourceCache
from ranker.sources.tables.kind import TableModel


def trial(test, name="openai:a", latency=250, cost=0.002, tokens=None, **fields):
    """A test, in the layout of version 0.118 of promptfoo."""
    response = {"output": "yes", "cached": False, "tokenUsage": tokens or {"prompt": 30, "completion": 4, "total": 34}}
    return {
        "testIdx": test, "promptIdx": 0, "provider": {"id": name, "label": ""}, "vars": {"q": f"Question {test}?"},
        "success": True, "score": 1, "failureReason": 0, "latencyMs": latency, "cost": cost, "response": response,
        **fields,
    }  # fmt: skip


def results(*trials):
    """The file of these tests."""
    return {"evalId": "e", "results": {"version": 3, "results": trials}}


def usage_of(tmp_path, *trials, **hints):
    """The usage of the first model."""
    return understood(tmp_path / "a.json", results(*trials), task=None, **hints).models[0].usage


def test_a_test_has_its_tokens_seconds_and_money(tmp_path):
    """The time is written in milliseconds, the money in US dollars."""
    usage = usage_of(tmp_path, trial(0), trial(1, latency=500, cost=0.004))
    assert usage.amounts.T.tolist() == [[30, 4, 0.25, 0.002], [30, 4, 0.5, 0.004]]
    assert usage.currency == "USD"


NO = np.nan
UNKNOWN = {
    # what a test states -> what is known of it
    "tokens beside the response": (
        {"response": {"output": "yes"}, "tokenUsage": {"prompt": 3, "completion": 1}},
        [3, 1, 0.25, 0.002],
    ),
    "an answer from a cache": ({"response": {"output": "yes", "cached": True}, "cost": 0, "latencyMs": 1}, [NO] * 4),
    "a total alone": ({"response": {"output": "y", "tokenUsage": {"total": 9, "cached": 9}}}, [NO, NO, 0.25, 0.002]),
    "no number": ({"latencyMs": "250", "cost": None, "response": None}, [NO] * 4),
    "below zero": ({"latencyMs": -5, "cost": -1}, [30, 4, NO, NO]),
    "a failed call": ({"failureReason": 2, "error": "429", "response": None, "score": 0}, [NO, NO, 0.25, 0.002]),
}


@pytest.mark.parametrize("form", UNKNOWN)
def test_what_is_not_stated_is_unknown(tmp_path, form):
    """An answer from a cache took nothing then, which says nothing of what an answer takes."""
    fields, expected = UNKNOWN[form]
    usage = usage_of(tmp_path, trial(0, **fields), trial(1))
    assert usage.amounts[:, 0] == pytest.approx(expected, nan_ok=True)
    assert usage.amounts[:, 1].tolist() == [30, 4, 0.25, 0.002]


def test_columns_of_usage_are_no_answers(tmp_path):
    """Each provider has its own; outcomes are read as without them, and so are results that state nothing."""
    trials = [trial(n, name, cost=cost) for n in (0, 1) for name, cost in (("openai:a", 1.0), ("openai:b", 0.5))]
    parsed = understood(tmp_path / "a.json", results(*trials), task=None)
    assert [(model.name, model.usage.amounts[3].tolist()) for model in parsed.models] == [
        ("openai:a", [1, 1]),
        ("openai:b", [0.5, 0.5]),
    ]
    bare = [{key: test[key] for key in ("testIdx", "promptIdx", "provider", "vars", "score")} for test in trials]
    without = understood(tmp_path / "b.json", results(*bare), task=None)
    assert [model.usage for model in without.models] == [None, None]
    for model, same in zip(parsed.models, without.models, strict=True):
        assert (model.outcomes.tolist(), model.notes) == (same.outcomes.tolist(), same.notes)


def test_runs_of_a_test_are_averaged(tmp_path):
    """Over those that know what they took."""
    trials = [trial(0, cost=1.0), trial(0, cost=3.0), trial(1, cost=2.0), trial(1, cost=None)]
    assert usage_of(tmp_path, *trials, runs="mean").amounts[3].tolist() == [2, 2]


def test_a_table_as_a_model_has_the_usage_of_the_rows_asked(tmp_path):
    """In their order."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(results(trial(0, cost=1.0), trial(1, cost=2.0))))
    source, cache = TableModel("openai:a", str(path)), ResourceCache()
    rows = source.inspect(cache).rows
    usage = source.usage(rows.task, rows.examples[::-1], Machine(), cache)
    assert usage.amounts[3].tolist() == [2, 1]
