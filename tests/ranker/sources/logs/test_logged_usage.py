"""Tokens, seconds and money that logs state, row by row."""

import math

import numpy as np
import pytest
from logmaking import choice_row, eval_log, header, json_log, lm_log, results, sample

from ranker.sources.base import Machine, ResourceCache
from ranker.sources.endpoint.prices import Price, Prices
from ranker.sources.logs.kind import LogModel
from ranker.sources.logs.reading import read_log
from ranker.sources.logs.runs import average_runs
from ranker.sources.usage import RowUsage, is_metered

NONE = math.nan


def used(prompt=87, answer=6, model="org/model", **fields):
    """The fields of a sample of Inspect that say what it took, in the layout of version 0.3.285."""
    counts = {"input_tokens": prompt, "output_tokens": answer, "total_tokens": prompt + answer} | fields
    return {"model_usage": {model: counts}, "total_time": 8.7, "working_time": 8.5, "role_usage": {}}


def logged(tmp_path, *samples, epochs=1):
    """The usage of a log of these samples."""
    return read_log(eval_log(tmp_path / "a.eval", samples, header(epochs=epochs))).usage


def amounts(usage):
    """The four quantities of each row."""
    return usage.amounts.T.tolist()


def test_a_sample_has_tokens_and_the_time_without_waiting(tmp_path):
    """And the model has the name by which a list of prices may name it."""
    usage = logged(tmp_path, sample("a", "C", **used()), sample("b", "I", **used(13, 2, total_cost=0.25)))
    assert amounts(usage)[0][:3] == [87, 6, 8.5]
    assert amounts(usage)[1] == [13, 2, 8.5, 0.25]
    assert (usage.model, usage.currency) == ("org/model", "USD")
    as_json = read_log(json_log(tmp_path / "b.json", [sample("a", "C", **used())]))
    assert amounts(as_json.usage)[0][:3] == [87, 6, 8.5]


OLDER = {
    # what a sample states -> its tokens and seconds
    "only the output's usage": (
        {"output": {"completion": "x", "usage": {"input_tokens": 5, "output_tokens": 2}}},
        [5, 2, NONE],
    ),
    "no time without waiting": ({**used(), "working_time": None}, [87, 6, 8.7]),
    "tokens from a cache": (used(10, 6, total_tokens=96, input_tokens_cache_read=80), [90, 6, 8.5]),
    "another model that grades": (
        {**used(), "model_usage": {"judge": {"input_tokens": 900, "output_tokens": 90}, **used()["model_usage"]}},
        [87, 6, 8.5],
    ),
    "two other models": (
        {**used(), "model_usage": {"x": {"input_tokens": 9}, "y": {"input_tokens": 8}}},
        [NONE, NONE, 8.5],
    ),
    "what is no number": (
        {"model_usage": {"org/model": {"input_tokens": "87", "output_tokens": -1}}, "total_time": True},
        [NONE, NONE, NONE],
    ),
}


@pytest.mark.parametrize("form", OLDER)
def test_what_is_not_stated_is_unknown(tmp_path, form):
    """Nothing is guessed, and a judge's tokens are not the model's."""
    fields, expected = OLDER[form]
    first, _ = amounts(logged(tmp_path, sample("a", "C", **fields), sample("b", "C", **used())))
    assert first[:3] == pytest.approx(expected, nan_ok=True)


def test_a_log_that_states_nothing_has_no_usage(tmp_path):
    """As those of the first versions."""
    assert logged(tmp_path, sample("a", "C")) is None


def test_epochs_and_runs_are_averaged_where_they_are_known(tmp_path):
    """A row costs what one answer to it costs."""
    samples = [sample("a", "C", 1, **used(10, 2)), sample("a", "C", 2, **used(30, 4)), sample("a", "C", 3)]
    usage = logged(tmp_path, *samples, epochs=3)
    assert amounts(usage)[0][:3] == [20, 3, 8.5]
    second = read_log(eval_log(tmp_path / "b.eval", [sample("a", "C", **used(60, 1)), sample("b", "C")]))
    once = read_log(eval_log(tmp_path / "a.eval", samples, header(epochs=3)))
    mean = average_runs([once, second], ["a", "b"])
    assert amounts(mean.usage)[0][:3] == [40, 2, 8.5]
    assert np.isnan(mean.usage.amounts[:, 1]).all()


def test_the_time_of_a_run_of_lm_eval_is_shared_by_its_rows(tmp_path):
    """All that it records is a time as text, and the rows are those of all tasks of the run."""
    rows = [choice_row(n, {"q": n}, 0, [-1, -2], acc=1.0) for n in range(2)]
    path = lm_log(tmp_path, rows)
    counts = {"small": {"original": 9, "effective": 2}, "other": {"original": 6, "effective": 6}}
    stated = {"total_evaluation_time_seconds": "370.8", "n-samples": counts}
    results(tmp_path, higher={"acc": True}, **stated)
    usage = read_log(path).usage
    assert amounts(usage)[0][2] == pytest.approx(370.8 / 8)
    assert "over its rows" in usage.notes[0]
    for wrong in ({"total_evaluation_time_seconds": "soon"}, {"n-samples": {"small": 2}}, {"n-samples": []}):
        results(tmp_path, higher={"acc": True}, **{**stated, **wrong})
        assert read_log(path).usage is None


def test_a_log_as_a_model_has_the_usage_of_the_rows_asked(tmp_path):
    """In their order; a row that is not in it is unknown."""
    path = eval_log(tmp_path / "a.eval", [sample("a", "C", **used(1, 1)), sample("b", "C", **used(2, 2))])
    source, cache = LogModel("a", str(path)), ResourceCache()
    rows = source.inspect(cache).rows
    usage = source.usage(rows.task, rows.examples[::-1], Machine(), cache)
    assert (usage.amounts[0].tolist(), is_metered(source)) == ([2, 1], True)


def test_prices_come_before_the_log_s_own():
    """By the name of the report, or of the log; a model that is not in the list keeps what its log states."""
    usage = RowUsage(np.array([[1e6, 2e6], [1e6, NONE], [1, 1], [7, 7]]), "org/gpt", "USD")
    prices = Prices("EUR", {"org/gpt": Price(1.0, 4.0), "mine": Price(2.0, 0.0)})
    assert usage.priced(prices).amounts[3].tolist() == pytest.approx([5, NONE], nan_ok=True)
    assert usage.priced(prices).currency == "EUR"
    assert usage.priced(prices, "mine").amounts[3].tolist() == pytest.approx([2, NONE], nan_ok=True)
    assert usage.priced(Prices("EUR", {"gpt": Price(1, 1)})) is usage
    assert usage.means["money"] == (7, 2)
