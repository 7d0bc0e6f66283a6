"""Costs in a report: a table, a sentence, columns and a figure, if something is known of them."""

import csv
import dataclasses
import io

import pytest
from test_choice import close_by, document, priced
from test_report_formats import with_found

from ranker import report
from ranker.commands import outputs
from ranker.report.plot import plot
from ranker.report.ranking import answer
from ranker.results.costs import Costs, ModelUsage
from ranker.results.ranking import Ranking

PRICED = priced(close_by(), m0=0.01, m1=0.001)


def of_usage(**usage):
    """The ranking where of each model the same is known."""
    costs = PRICED.decision.costs
    models = [dataclasses.replace(model, usage=ModelUsage(**usage), p_frontier=None) for model in costs.models]
    return with_found(PRICED, costs=Costs(tuple(models)))


def cost_table(ranking):
    """The table of costs; None if there is none."""
    return next((table for table in document(ranking).tables if table.caption == "Costs"), None)


def test_the_table_has_what_is_known(tmp_path):
    """Beside the models' quality, and their difference from the first; a model without a price has an empty cell."""
    table = cost_table(PRICED)
    assert table.head == (
        *("model", "right", "minus first (95 %)", "tokens", "seconds", "price per 1,000 rows, USD", "P(frontier)"),
    )
    assert table.rows[0][3:] == ("110", "0.01", "10", "90.0")
    assert table.rows[1][2:] == ("-0.3 (-1.1 to +0.6)", "110", "0.001", "1", "90.0")
    assert table.rows[2][5:] == ("", "")
    assert "No price is known of m2." in table.help
    assert cost_table(of_usage(seconds=0.5)).head[3:] == ("seconds",)
    assert cost_table(of_usage(prompt_tokens=5.0, output_tokens=1.0)).head[3:] == ("tokens",)
    assert cost_table(close_by()) is None


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "html"])
def test_each_format_for_people_has_the_table(form):
    """And none without costs."""
    assert "P(frontier)" in outputs.render_document(document(PRICED), form, None).replace("\n", " ")
    assert "frontier" not in outputs.render_document(document(close_by()), form, None)


SENTENCES = {
    # what is known -> the sentence on costs
    "a tenth": (
        PRICED,
        "m1 is 0.3 points worse than m0 (-1.1 to +0.6) for a tenth of the price. No price is known of m2.",
    ),
    "a ratio": (
        priced(close_by(), m0=10, m1=7, m2=11),
        "m1 is 0.3 points worse than m0 (-1.1 to +0.6) for 0.7 times the price.",
    ),
    "nothing cheaper is close": (priced(close_by(), m0=1, m1=10, m2=0.1), ""),
    "the first has no price": (priced(close_by(), m1=1, m2=2), "No price is known of m0."),
    "preferred": (
        priced(close_by(), "cheaper:1", m0=10, m1=5, m2=7),
        "m1 is 0.3 points worse than m0 (-1.1 to +0.6) for half the price, and with a probability of >99.9 % within a "
        "point of the best.",
    ),
    "faster": (
        priced(close_by(), "faster:1", m0=10, m1=1, m2=20),
        "m1 is 0.3 points worse than m0 (-1.1 to +0.6) in a tenth of the time, and with a probability of >99.9 % "
        "within a point of the best.",
    ),
    "time alone, and no wish": (of_usage(seconds=1.0), ""),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_answer_names_the_cheapest_model_that_is_close(name):
    """Before the next step, with the interval of the difference and the ratio."""
    ranking, expected = SENTENCES[name]
    without = answer(with_found(ranking, costs=None))[1]
    sentences = answer(ranking)[1]
    assert " ".join(sentences[len(without) - 1 : -1]) == expected


@pytest.mark.more
def test_programs_have_the_numbers(tmp_path):
    """In the columns of the CSV and of `to_rows`, and in a saved run; without costs these columns are not there."""
    rows = list(csv.DictReader(io.StringIO(report.render(PRICED, "csv"))))
    assert [(row["money"], row["currency"], row["p_frontier"]) for row in rows] == [
        ("0.01", "USD", "0.9"),
        ("0.001", "USD", "0.9"),
        ("", "USD", ""),
    ]
    assert PRICED.to_rows()[1]["prompt_tokens"] == 100
    assert "money" not in report.render(close_by(), "csv")
    wished = priced(close_by(), "cheaper:2.5", m0=10, m1=1)
    wished.save(tmp_path / "run.json")
    loaded = Ranking.load(tmp_path / "run.json").decision
    assert (loaded.costs, loaded.choice) == (wished.decision.costs, wished.decision.choice)


def test_the_figure_has_each_model_whose_cost_is_known():
    """By price, or by time where no price is known; without both there is none."""
    drawing = plot(PRICED, "costs")
    assert drawing.title == "Quality against price"
    assert "m0 10 and 90.0 %, on the frontier with 90.0 %; m1 1 and 89.7 %" in drawing.alt
    assert "m2" not in drawing.alt
    seconds = with_found(PRICED, costs=dataclasses.replace(PRICED.decision.costs, by="seconds"))
    assert plot(seconds, "costs").title == "Quality against time"
    free = priced(close_by(), m0=0.0, m1=0.0, m2=0.5)
    assert "m0 0 and" in plot(free, "costs").alt
    assert "[figure: Quality against price]" not in outputs.render_document(document(close_by()), "html", None)
    assert "Quality against price" in outputs.render_document(document(PRICED), "html", None)
