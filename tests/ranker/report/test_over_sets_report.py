"""Models over many sets, as a report says it: golden pages, and the sentences of what cannot be told."""

import numpy as np
import pytest
from goldens import check_golden

from ranker.domains.compare import compare
from ranker.domains.report import over_sets
from ranker.domains.report.sets_figures import drawings
from ranker.report import write

FORMATS = ("table", "markdown", "latex", "html")
"""The others hold raw numbers, whose last digits are the machine's."""


def rows(models=9, sets=3, noise=0.01, seed=0, slope=1.2):
    """Models on a line, in-domain and on several sets of two tasks."""
    rng = np.random.default_rng(seed)
    for m in range(models):
        yield {"model": f"model_{m}", "set": "home", "kind": "in-domain", "value": round(0.6 + 0.035 * m, 4), "n": 900}
        for s in range(sets):
            value = 0.35 + slope * 0.035 * m - 0.05 * s + rng.normal(0, noise)
            yield {"model": f"model_{m}", "set": f"set {s}", "kind": "ood", "value": round(value, 4), "n": 400}


def written(comparison, name):
    """The report in a format, without figures."""
    return write(over_sets.document(comparison), name)


@pytest.mark.parametrize("name", FORMATS)
def test_golden_report(name):
    """The report is the one that was read and kept."""
    comparison = compare([*rows(), {"model": "new", "set": "home", "kind": "in-domain", "value": 0.9}])
    check_golden("over-sets", name, written(comparison, name))


def test_no_trend_and_no_test_leave_their_tables_out():
    """Two models on two sets have an order, and nothing else."""
    document = over_sets.document(compare([row for row in rows(2, 2) if row["kind"] == "ood"]))
    assert [table.caption for table in document.tables] == ["Models", "Ranks", "Values by task"]
    assert drawings(compare([{**row, "n": None} for row in rows(2, 2)])) == []


def test_ranks_lead_where_they_are_imputed():
    """The answer names the mean rank, and no mean is shown where there is none."""
    comparison = compare([*rows(4), {"model": "late", "set": "set 0", "kind": "ood", "value": 0.9}], missing="ranks")
    document = over_sets.document(comparison)
    assert document.answer[0].startswith(f"{comparison.names[0]} has the best mean rank, ")
    assert any(row[1] == "late" and row[2] == "" for row in document.tables[0].rows)


def test_what_cannot_be_told_is_said_with_its_reason():
    """Of five models no type; the answer and a remark say so."""
    document = over_sets.document(compare(list(rows(5))))
    assert "Against in-domain values: no trend is certain." in document.answer
    assert "set 0: the type cannot be told: 5 models have both values, and 6 are needed." in list(document.remarks)


@pytest.mark.parametrize(
    ("n", "remark_part"),
    [
        ({}, "% of draws of tasks."),
        ({0, 1, 2}, "% of draws of tasks and rows."),
        ({1}, "% of draws of tasks and some rows."),
    ],
)
def test_draws_of_rows_are_said_of_rows_that_are_drawn(n, remark_part):
    """A table without `n` and `se` has draws of tasks alone."""
    cells = [row for row in rows() if row["kind"] == "ood"]
    document = over_sets.document(compare([{**row, "n": 400 if int(row["set"][-1]) in n else None} for row in cells]))
    assert remark_part in document.answer[0]


def joined(noise, joint=0.7, seed=0):
    """Twelve models on a V, and one that has an in-domain value alone."""
    rng = np.random.default_rng(seed)
    for m, x in enumerate(np.linspace(0.54, 0.92, 12)):
        y = 0.5 + (-0.8 if x < joint else 1.5) * (x - joint) + rng.normal(0, noise)
        yield {"model": f"m{m}", "set": "home", "kind": "in-domain", "value": x}
        yield {"model": f"m{m}", "set": "far", "kind": "ood", "value": y}
    yield {"model": "low", "set": "home", "kind": "in-domain", "value": 0.4}


@pytest.mark.parametrize(
    ("axes", "joint", "noise", "seed", "cell", "remark"),
    [
        ("plain", 0.7, 0.005, 0, "67.8 to 71.3", ""),
        ("plain", 0.6, 0.02, 0, "54.0 to 67.8", "the lines may meet as early as at the first model, "),
        ("probit", 0.6, 0.02, 1, "57.5 to 92.0", "the lines may meet as late as at the last model, "),
        ("plain", 0.6, 0.04, 0, "cannot be told", "where the lines meet cannot be told: "),
    ],
)
def test_the_interval_of_a_joint_is_shown_with_its_limits(axes, joint, noise, seed, cell, remark):
    """In the table, and in the words of the figure; with a remark where it ends with the models, or there is none."""
    comparison = compare(list(joined(noise, joint, seed)), axes=axes)
    document = over_sets.document(comparison)
    (table,) = [trend_table for trend_table in document.tables if trend_table.caption.startswith("Trends")]
    assert comparison.trends[0].shape == "joined"
    assert table.rows[0][6] == cell
    assert f" They meet at {table.rows[0][5]} % (95 % interval: {cell})." in drawings(comparison)[-1].alt
    remarks = [line for line in document.remarks if line.startswith("far: ") and "the lines m" in line]
    assert [line.startswith(f"far: {remark}") for line in remarks] == ([True] if remark else [])


@pytest.mark.more
def test_many_models_and_tasks_are_cut_and_said():
    """50 models against the first, and 14 tasks."""
    document = over_sets.document(compare([row for row in rows(50, 14, slope=0.2) if row["kind"] == "ood"]))
    captions = [table.caption for table in document.tables]
    assert "Values by task" not in captions
    assert len(document.tables[captions.index(next(c for c in captions if c.endswith(" against")))].rows) == 40
    assert "The JSON has 9 more models against the first." in list(document.remarks)
    assert "The CSV has the values on all 14 tasks." in list(document.remarks)


def test_each_figure_says_in_words_what_it_shows():
    """Names are unique, and each has a title, a help and what can be seen."""
    drawn = drawings(compare(list(rows())))
    assert [d.name for d in drawn] == ["ranks", "critical-difference", "trend-set-0", "trend-set-1", "trend-set-2"]
    assert all(drawing.title and drawing.help.endswith(".") and drawing.alt.endswith(".") for drawing in drawn)
    assert "model_8 1, 1 to 2; " in drawn[0].alt
    assert "the trend is a rising line." in drawn[3].alt
