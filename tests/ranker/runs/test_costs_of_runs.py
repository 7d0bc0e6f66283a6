"""Runs that know what answers cost: sources, prices and preferences together."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

from ranker import decide
from ranker.errors import UsageError
from ranker.results.costs import ModelUsage
from ranker.runs.usage import mean_usages, usage_notes
from ranker.sources.endpoint.prices import Price, Prices
from ranker.sources.usage import RowUsage

sys.path += [str(Path(__file__).parents[1] / "sources" / name) for name in ("endpoint", "logs")]
from logmaking import choice_row, lm_log, results
from servers import serving

NONE = math.nan
PRICES = Prices("EUR", {"priced": Price(1.0, 4.0)})
PROMPT = 'template = "{text} It was "\n[verbalizers]\npositive = ["good"]\nnegative = ["bad"]\n'


def usage(prompt=NONE, output=NONE, seconds=NONE, money=NONE, currency="", **options):
    """The usage of two rows, of which nothing is known of the second."""
    amounts = np.array([[value, NONE] for value in (prompt, output, seconds, money)])
    return RowUsage(amounts, currency=currency, **options)


def test_means_are_over_the_rows_that_know_it():
    """Each quantity on its own; a model of which nothing is known has no usage."""
    means = mean_usages({"priced": usage(100, 5), "timed": usage(seconds=2.0), "unknown": None}, PRICES)
    counts = {"prompt_tokens": 1, "output_tokens": 1, "money": 1}
    assert means == {
        "priced": ModelUsage(100, 5, None, pytest.approx(1.2e-4), "EUR", counts),
        "timed": ModelUsage(seconds=2.0, rows={"seconds": 1}),
    }


def test_prices_in_two_currencies_are_not_compared():
    """The list's currency counts, else the first model's; the others are left out with a note."""
    usages = {"priced": usage(100, 5, money=1.0, currency="USD"), "logged": usage(money=2.0, currency="USD")}
    means = mean_usages(usages, PRICES)
    assert (means["priced"].currency, means["logged"].money, means["logged"].currency) == ("EUR", None, "")
    assert [*usage_notes(usages, means)] == ["Their prices are not in EUR, and left out: logged."]
    alone = mean_usages(usages)
    assert [model.money for model in alone.values()] == [1, 2]
    assert [*usage_notes(usages, alone)] == []
    first = mean_usages({"a": usage(money=1.0, currency="USD"), "b": usage(money=1.0, currency="EUR")})
    assert (first["a"].money, first["b"].money) == (1, None)


def test_how_seconds_were_measured_is_noted_once():
    """For readers of the table of costs."""
    usages = {name: usage(seconds=1.0, notes=("seconds are shared",)) for name in "ab"}
    assert [*usage_notes(usages, mean_usages(usages))] == ["seconds are shared."]


def lm_logs(folder, *names):
    """Logs of lm-evaluation-harness whose runs state their time."""
    for index, name in enumerate(names):
        rows = [choice_row(n, {"q": n}, 0, [-1, -2], acc=float(n > index)) for n in range(40)]
        lm_log(folder / name, rows)
        counts = {"n-samples": {"small": {"original": 40, "effective": 40}}}
        results(folder / name, higher={"acc": True}, total_evaluation_time_seconds=f"{20 * (index + 1)}.0", **counts)
    return [folder / name for name in names]


@pytest.mark.more
def test_logs_of_lm_eval_have_seconds_and_no_price(tmp_path):
    """So they can be told by time alone, and the table says how that was measured."""
    logs = lm_logs(tmp_path, "a", "b")
    costs = decide(logs).decision.costs
    assert [model.usage.seconds for model in costs.models] == [0.5, 1.0]
    assert (costs.by, costs.prefer) == ("seconds", None)
    assert costs.notes[0].startswith("lm-evaluation-harness logs no time of a row")
    with refuses(UsageError, option="prefer"):
        decide(logs, prefer="cheaper:1")
    assert decide(logs, prefer="faster:10").decision.choice.text == "Take a: the fastest within 10.0 points of the best"


def test_models_of_which_nothing_can_be_known_are_refused_before_they_are_asked(tmp_path):
    """Checkpoints state neither tokens nor prices."""
    rows = [{"text": "The poet slept.", "label": "entailment"}] * 2
    with refuses(UsageError, option="prefer"):
        decide("hans-sub-mini", rows, prefer="cheaper:1")
    assert decide(lm_logs(tmp_path, "a", "b"), prices=None).decision.costs is not None


WRONG = [
    # options -> the option that the line names
    (("--prefer", "dearer:1"), "--prefer"),
    (("--prefer", "cheaper:1"), "--prefer"),
    (("--prefer", "cheaper:1", "--prices", "none.toml"), "none.toml"),
    (("--prefer", "cheaper:1", "--ood", "hans-sub"), "--prefer"),
]


@pytest.mark.parametrize(("options", "expected"), WRONG)
def test_a_wrong_preference_is_a_line(tmp_path, monkeypatch, rank_models, options, expected):
    """The line names the option, or the file, and the status is 2."""
    monkeypatch.chdir(tmp_path)
    lm_logs(tmp_path, "a", "b")
    models = () if "--ood" in options else ("--models", "a", "b")
    status, out, err = rank_models("run", *models, *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert expected in err


def test_several_tasks_have_no_cheapest_model(tmp_path, monkeypatch, rank_models):
    """One is to be named."""
    monkeypatch.chdir(tmp_path)
    for name in lm_logs(tmp_path, "a", "b"):
        lm_log(name, [choice_row(n, {"q": n}, 0, [-1, -2], acc=1.0) for n in range(4)], "other")
    status, _, err = rank_models("run", "--models", "a", "b", "--prefer", "faster:1")
    assert (status, "`--prefer` is for one task at a time" in err) == (2, True)


@pytest.mark.more
@pytest.mark.parametrize("isolated", ["--no-isolate", "--isolate"])
def test_servers_have_a_price_by_the_tokens_that_they_counted(tmp_path, monkeypatch, rank_models, isolated):
    """Also where workers asked; a second run, from the store, says the same without a request."""
    monkeypatch.chdir(tmp_path)
    rows = [{"text": f"A row about number {n}.", "label": ("positive", "negative")[n % 2]} for n in range(12)]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("short.toml").write_text(PROMPT)
    Path("long.toml").write_text(PROMPT.replace("It was", "All in all, I should say that it was"))
    Path("prices.toml").write_text('currency = "USD"\n[models.tiny]\nprompt = 1.0\noutput = 2.0\n')
    with serving() as server:
        words = ["run", "--data", "rows.jsonl", "--store", "store", "--format", "json", isolated]
        words += ["--models", f"openai:{server.url}#tiny", "--prompts", "short.toml", "--prompts", "long.toml"]
        words += ["--prices", "prices.toml"]
        status, out, err = rank_models(*words)
        assert status == 0, err
        count = len(server.requests)
        again = json.loads(rank_models(*words)[1])
        assert len(server.requests) == count
    costs = json.loads(out)["decision"]["costs"]
    by_name = {model["name"]: model["usage"] for model in costs["models"]}
    assert by_name["tiny/long"]["money"] > by_name["tiny/short"]["money"] > 0
    for used in by_name.values():
        tokens = used["prompt_tokens"] + 2 * used["output_tokens"]
        assert used["money"] == pytest.approx(tokens / 1e6)
        assert used["rows"] == {"prompt_tokens": 12, "output_tokens": 12, "money": 12}
    assert again["decision"]["costs"] == costs
