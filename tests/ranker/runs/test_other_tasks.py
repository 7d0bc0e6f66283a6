"""Whole runs of a task that nobody here knows: rows and files of answers whose cells only the task can read."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sklearn.metrics
from columns import write_columns
from refusals import refuses
from tag_guest import Tagger, TagTask, spans, tags_of

from factors import Example
from ranker import Evidence, decide
from ranker.errors import DataError, UsageError
from ranker.report.decision import MAX_LISTED_ROWS, graded_rows
from ranker.runs.rows import RowsFile, labelled

pytestmark = pytest.mark.usefixtures("registered_tags")

TASK = TagTask("tags")
TEXTS = [f"{a} {b} {c}" for a in ("ann", "bob", "cat") for b in ("ate", "bit", "saw") for c in ("apples", "bats", "it")]


def tags(rng, wrong):
    """Tags of three words for each text, some of them other than B where a word begins with a or b."""
    true = [["B" if word[0] in "ab" else "O" for word in text.split()] for text in TEXTS]
    return [" ".join("BO"[tag == "B"] if rng.random() < wrong else tag for tag in row) for row in true]


@pytest.fixture
def files(tmp_path):
    """Rows with tags, and two models' answers to them, in another order; the second is worse."""
    rng, ids = random.Random(0), [f"r{n}" for n in range(len(TEXTS))]
    right = tags(rng, 0)
    predictions = {"good": tags(rng, 0.05), "poor": tags(rng, 0.3)}
    paths = [
        write_columns(tmp_path / f"{name}.csv", id=ids[::-1], prediction=predicted[::-1])
        for name, predicted in predictions.items()
    ]
    return write_columns(tmp_path / "rows.csv", id=ids, text=TEXTS, label=right), paths, right, predictions


def f1(predictions, right):
    """F1 of spans, by scikit-learn."""
    items = [(row, text) for row in range(len(right)) for text in ("0 1", "1 2", "2 3")]
    table = [[f"{a} {b}" for a, b in spans(tuple(options.split()))] for options in (*predictions, *right)]
    predicted, true = ([(span in table[row + start]) for row, span in items] for start in (0, len(right)))
    return sklearn.metrics.f1_score(true, predicted)


def test_files_of_answers_are_compared_by_the_metric_of_the_task(files):
    """Values, order and the answers beside the rows; the default metric is no mean."""
    rows, paths, right, file = files
    decision = decide(paths, RowsFile(Path(rows), TASK)).decision
    assert (decision.metric, decision.names) == ("span-f1", ("good", "poor"))
    assert [model.outcome for model in decision.models] == pytest.approx(
        [f1(file[name], right) for name in decision.names]
    )
    assert decision.versus[0].rows == len(TEXTS)
    assert [(row.label, row.predicted["poor"]) for row in decision.rows] == list(zip(right, file["poor"], strict=True))
    assert np.all([model.low <= model.outcome <= model.high for model in decision.models])


def test_rows_on_which_outcomes_differ_most_are_listed_first(files):
    """With texts, references, answers and outcomes, for any number of models; of many rows, the first ones."""
    rows, paths, right, file = files
    ranking = decide([*paths, Tagger("a")], RowsFile(Path(rows), TASK))
    listed = graded_rows(ranking).rows
    first, second = (file[name] for name in ("good", "poor"))
    outcomes = {text: (first[n] == right[n], second[n] == right[n]) for n, text in enumerate(TEXTS)}
    number = next(n for n, text in enumerate(TEXTS) if outcomes[text] == (True, False))
    cells = next(row for row in listed if row[1] == TEXTS[number])
    assert {right[number], f"✓ {first[number]}", f"✗ {second[number]}"} <= set(cells)
    spreads = [len({cell[0] for cell in row[3:]}) for row in listed]
    assert spreads == sorted(spreads, reverse=True)
    many = replace(ranking, found=replace(ranking.decision, rows=ranking.decision.rows * 10))
    assert len(graded_rows(many).rows) == MAX_LISTED_ROWS
    assert f"The first {MAX_LISTED_ROWS} of {10 * len(TEXTS)} rows." in graded_rows(many).help


def test_models_that_are_asked_are_compared_as_well(files):
    """Beside files: none of them has labels."""
    rows, paths, right, _ = files
    decision = decide([*paths, Tagger("a"), Tagger("b")], RowsFile(Path(rows), TASK)).decision
    examples = labelled(rows, TASK).examples
    expected = f1([" ".join(tags_of("a", row)) for row in examples], right)
    assert next(model.outcome for model in decision.models if model.name == "a") == pytest.approx(expected)


def test_the_mean_outcome_and_a_metric_that_is_none(files):
    """Exact matches are counted; of labels alone there is no F1 here."""
    rows, paths, _, _ = files
    with refuses(UsageError, option="metric", value="mcc"):
        decide(paths, RowsFile(Path(rows), TASK), metric="mcc")
    with refuses(UsageError, option="attribution", value="lime", allowed=("none",)):
        decide(paths, RowsFile(Path(rows), TASK), evidence=Evidence("lime"))


def test_cells_that_are_no_answers_are_counted(files, tmp_path):
    """As no answer, with a note; a file of hardly anything else is refused."""
    rows, paths, _, file = files
    ids = [f"r{n}" for n in range(len(TEXTS))]
    subset = write_columns(tmp_path / "some.csv", id=ids, prediction=["PER", *file["good"][1:]])
    ranking = decide([subset, paths[1]], RowsFile(Path(rows), TASK))
    assert any(
        "1 cell is no answer to tags (of 27; the first 'PER': a tag must be B, I or O)" in n for n in ranking.notes
    )
    none = write_columns(tmp_path / "none.csv", id=ids, prediction=["PER"] * len(ids))
    ranking = decide([*paths, none], RowsFile(Path(rows), TASK))
    assert ranking.header.failures["none"].startswith("27 cells are no answers to tags (of 27; the first 'PER'")


def test_rows_whose_cells_are_no_targets_are_refused(tmp_path):
    """With the line, as a label that is none."""
    rows = write_columns(tmp_path / "rows.csv", id="ab", text=["a b", "c d"], label=["B O", "X O"])
    with refuses(DataError, place=f"{rows}, line 3"):
        labelled(rows, TASK)


def test_a_target_hashes_and_repeated_rows_count(tmp_path):
    """Targets are tuples of tags, and a row that repeats another stays, since metrics of all rows count it."""
    rows = write_columns(tmp_path / "rows.csv", id="abc", text=["a b", "a b", "a b"], label=["B O", "B O", "O O"])
    dataset = labelled(rows, TASK)
    assert [row.target for row in dataset.examples] == [("B", "O"), ("B", "O"), ("O", "O")]
    assert isinstance(dataset.examples[0], Example)
