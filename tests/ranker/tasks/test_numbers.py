"""Numbers on a scale, and their correlations, against scikit-learn and scipy."""

import numpy as np
import pytest
from refusals import refuses
from scipy import stats
from sklearn.metrics import mean_absolute_error, mean_squared_error

from factors import Example
from ranker import decide
from ranker.errors import DataError, UsageError
from ranker.runs.rows import RowsFile, labelled
from ranker.tasks.numbers import NumberTask

TASK = NumberTask("number", 0, 5)


def test_outcomes_and_metrics_are_those_of_scikit_learn_and_scipy():
    """In shares of the scale; correlations in no unit."""
    rng = np.random.default_rng(0)
    true, numbers = rng.uniform(0, 5, 200), rng.uniform(0, 5, 200)
    rows = [Example(str(n), ("a",), float(number)) for n, number in enumerate(true)]
    answers = TASK.predictions(numbers.tolist())
    assert TASK.outcomes(answers, rows).mean() == pytest.approx(1 - mean_absolute_error(true, numbers) / 5)
    squared = TASK.judged_by("1-MSE").outcomes(answers, rows).mean()
    assert squared == pytest.approx(1 - mean_squared_error(true, numbers) / 25)
    for name, theirs in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        metric = TASK.metric_named(name)
        correlation = metric.value(metric.statistics(*TASK.metric_inputs(answers, rows)).mean(axis=0))
        assert float(correlation) == pytest.approx(theirs(true, numbers)[0], abs=1e-9)


@pytest.mark.parametrize("cell", ["x", "6", -0.1, float("nan"), True, None, "inf"])
def test_what_is_no_number_of_the_scale_is_refused(cell):
    """Also truth values, which Python counts as numbers."""
    with pytest.raises(ValueError, match="a number from 0 to 5 is needed"):
        TASK.answer_of(cell)


def test_a_task_of_numbers_needs_its_scale(tmp_path):
    """A scale is stated, never guessed from the cells."""
    path = tmp_path / "rows.csv"
    path.write_text("text,label\na,1\n")
    with refuses(UsageError, option="scale"):
        RowsFile(path, "number").labelled()
    for low, high in ((5, 5), (1, 0), (0, float("inf"))):
        with refuses(UsageError, option="range", value=(low, high)):
            NumberTask("number", low, high)


def test_files_of_numbers_are_compared_and_cells_outside_the_scale_counted(tmp_path):
    """Answers outside the scale are none; in the rows themselves such a cell is an error."""
    rows = tmp_path / "rows.csv"
    rows.write_text("id,text,label\na,one,1\nb,two,2.5\nc,three,4\nd,four,3\n")
    (tmp_path / "good.csv").write_text("id,prediction\na,1\nb,2.5\nc,4\nd,2\n")
    (tmp_path / "poor.csv").write_text("id,prediction\na,7\nb,2.5\nc,0\nd,3\n")
    models = [str(tmp_path / "good.csv"), str(tmp_path / "poor.csv")]
    ranking = decide(models, RowsFile(rows, "number", scale=(0, 5)))
    assert ranking.header.metric == "1-MAE"
    assert {model.name: model.outcome for model in ranking.decision.models} == pytest.approx(
        {"good": 0.95, "poor": 0.55}
    )
    assert any("1 cell is no answer to number" in note for note in ranking.notes)
    rows.write_text("id,text,label\na,one,6\n")
    with refuses(DataError, option="label", value="6", place=f"{rows}, line 2"):
        labelled(rows, TASK)


def test_predictions_that_hardly_differ_are_named():
    """A model whose answers spread by less than a quarter of the labels; none with few rows, or where all spread."""
    task, labels = NumberTask("marks", 1, 5), [1.0, 5.0, 2.0, 4.0, 3.0, None]
    answers = {"flat": [3.0, 3.1, 3.0, 3.1, 3.0, 3.1], "wide": [1.0, 4.0, 2.0, 5.0, 3.0, None]}
    (note,) = task.judging_notes(answers, labels)
    opening = "flat answers with nearly the same number on all rows (standard deviation 0.05, the labels' 1.41)"
    assert note.startswith(opening)
    assert task.judging_notes({name: of_model[:4] for name, of_model in answers.items()}, labels[:4]) == ()
    assert task.judging_notes({"wide": answers["wide"]}, labels) == ()
