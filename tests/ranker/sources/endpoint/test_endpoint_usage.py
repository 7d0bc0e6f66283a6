"""Tokens of a model behind a server: counted by its replies in the journal, without a request."""

from dataclasses import replace

import numpy as np
import pytest
from servers import serving, tokens_of
from test_endpoint_kind import EXAMPLES, MOOD, PLAIN, answers, model_of

from ranker.sources.base import Machine, ResourceCache
from ranker.sources.endpoint import scoring
from ranker.sources.usage import is_metered

WRITING = replace(PLAIN, name="writing", decode=True, max_new_tokens=4)


def cache_in(folder):
    """The cache of a worker whose store lies in a folder."""
    cache = ResourceCache()
    cache.folder = folder
    return cache


def usage_of(tmp_path, prompt=PLAIN, examples=EXAMPLES, options=None, **abilities):
    """The usage of a model after it has answered, and the requests of the answers and of the usage."""
    with serving(**abilities) as server:
        model = model_of(server, prompt, **(options or {}))
        answers(model.open(MOOD, Machine(), cache_in(tmp_path)), EXAMPLES)
        sent = [body for path, body, _ in server.requests if "row" in str(body)]
        count = len(server.requests)
        usage = model.usage(MOOD, examples, Machine(), cache_in(tmp_path))
        assert len(server.requests) == count
    return usage, sent


@pytest.mark.parametrize("abilities", [{}, {"echo": True}])
def test_the_tokens_of_a_row_are_those_of_all_its_requests(tmp_path, abilities):
    """Labels may be scored in either way; requests that find out abilities are of no row."""
    usage, sent = usage_of(tmp_path, **abilities)
    for row, example in enumerate(EXAMPLES):
        prompts = [body["prompt"] for body in sent if example.segments[0] in body["prompt"]]
        assert len(prompts) > 1
        assert usage.amounts[0, row] == sum(len(tokens_of(prompt)) for prompt in prompts)
        assert usage.amounts[1, row] == len(prompts)
    assert np.isnan(usage.amounts[2:]).all()
    assert usage.model == "tiny"


def test_what_is_written_counts_as_output(tmp_path):
    """Output counts up to the limit of the prompt."""
    usage, sent = usage_of(tmp_path, WRITING)
    assert usage.amounts[1].max() <= 4
    assert usage.amounts[0].tolist() == [len(tokens_of(body["prompt"])) for body in sent]


@pytest.mark.parametrize("abilities", [{"usage": False}, {"zeros": True}])
def test_a_server_that_counts_no_tokens_has_no_usage(tmp_path, abilities):
    """None are estimated."""
    assert usage_of(tmp_path, **abilities)[0] is None


def test_only_rows_that_were_asked_and_read_are_known(tmp_path, monkeypatch):
    """Requests of others are in no journal, and not sent; of many rows some are read, evenly spread."""
    new_row = replace(EXAMPLES[0], segments=("A row about nothing.",))
    usage, _ = usage_of(tmp_path, examples=[new_row, EXAMPLES[1]])
    assert np.isnan(usage.amounts[0]).tolist() == [True, False]
    monkeypatch.setattr(scoring, "MOST_READ", 2)
    usage, _ = usage_of(tmp_path)
    assert np.isnan(usage.amounts[0]).tolist() == [False, True, True, False]


def test_the_server_s_own_prices_count(tmp_path):
    """The options of its references name the prices."""
    prices = tmp_path / "prices.toml"
    prices.write_text('currency = "EUR"\n[models.tiny]\nprompt = 1.0\noutput = 2.0\n')
    usage, _ = usage_of(tmp_path, options={"prices": str(prices)})
    assert usage.currency == "EUR"
    assert usage.amounts[3] == pytest.approx((usage.amounts[0] + 2 * usage.amounts[1]) / 1e6)
    with serving() as server:
        assert is_metered(model_of(server))
