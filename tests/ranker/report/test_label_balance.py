"""Answers from labels that are all alike, or nearly, and tables of skewed labels."""

import csv

import pytest
from test_report_formats import MODELS, toy_decision, with_found

from ranker import decide, report
from ranker.report.ranking import document
from ranker.results.decision import RowResult


def labelled(yes, no, wrong=("yes", "no")):
    """A decision from so many rows of two labels: the first model is right on all, the others give one label."""
    predicted = {label: dict(zip(MODELS, (label, *wrong), strict=True)) for label in ("yes", "no")}
    names = ["yes"] * yes + ["no"] * no
    return with_found(
        toy_decision(), rows=tuple(RowResult(f"e{n}", name, predicted[name]) for n, name in enumerate(names))
    )


@pytest.mark.parametrize(
    ("yes", "no", "first"),
    [
        (12, 0, "All 12 labels are yes: only the recall of yes is measured. "),
        (1, 11, "11 of 12 labels are no: it is mostly the recall of no that is measured. "),
        (18, 2, "18 of 20 labels are yes: it is mostly the recall of yes that is measured. "),
        (27, 3, ""),
        (8, 2, ""),
        (2, 0, ""),
    ],
)
def test_labels_that_are_nearly_all_alike_come_before_the_answer(yes, no, first):
    """From three rows on, where at most two rows, and a tenth of them, have another label."""
    alike = "" if yes and no else ", and all labels are alike"
    assert document(labelled(yes, no)).lead == f"{first}{document(toy_decision()).lead}{alike}"


def test_recall_of_outcomes_that_are_no_labels_is_not_spoken_of():
    """Marks of answers are not."""
    ranking = labelled(12, 0)
    assert "recall" in document(ranking).lead
    unlabelled = tuple(RowResult(row.id, "", {}) for row in ranking.found.rows)
    assert "recall" not in document(with_found(ranking, rows=unlabelled)).lead


def test_a_terminal_shows_accuracy_by_label_where_labels_are_skewed():
    """Of nine and three rows, a model that always gives one label is right on half of them, balanced."""
    text = report.render(labelled(9, 3), "table")
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if "balanced accuracy" in line)
    assert [line.split()[1:] for line in lines[start + 1 : start + 4]] == [
        ["9", "3", "100.0"],
        ["9", "0", "50.0"],
        ["0", "3", "50.0"],
    ]
    assert start < next(n for n, line in enumerate(lines) if "P(row > column)" in line)
    assert "balanced" not in report.render(labelled(8, 3), "table")
    assert "balanced" not in report.render(labelled(12, 0), "table")


@pytest.mark.parametrize("metric", [None, "balanced-accuracy"])
def test_rows_that_a_model_was_not_asked_count_nowhere(tmp_path, metric):
    """The sentence, the title and the numbers by label are of the rows that all models were judged on."""
    labels = ["no"] * 36 + ["yes"] * 4
    wrong, counts = {"a": {0, 1}, "b": {0, 2, 3, 4, 5}, "c": {*range(9), 36}}, {"a": 40, "b": 40, "c": 38}
    for model in wrong:
        with (tmp_path / f"{model}.csv").open("w", newline="") as file:
            predictions = [
                (n, "yes" if (label == "yes") != (n in wrong[model]) else "no") for n, label in enumerate(labels)
            ]
            csv.writer(file).writerows([("id", "answer"), *predictions[: counts[model]]])
    rows = [{"id": str(n), "label": label} for n, label in enumerate(labels)]
    ranking = decide([str(tmp_path / f"{model}.csv") for model in wrong], rows, metric=metric)
    text = " ".join(report.render(ranking, "table").split())
    assert ranking.title.endswith("3 models, K = 38")
    assert "on the 38 rows is" in text
    assert "40 rows is" not in text
    assert "no, 36 rows yes, 2 rows balanced accuracy a 34 2 97.2 b 31 2 93.1 c 27 1 62.5" in text
    balanced = [0.972, 0.931, 0.625] if metric else [36 / 38, 33 / 38, 28 / 38]
    assert [model.outcome for model in ranking.decision.models] == pytest.approx(balanced, abs=0.001)
