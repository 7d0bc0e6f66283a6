import dataclasses

import numpy as np
import pytest
from deciding import decide
from refusals import refuses
from test_report_formats import toy

from ranker.domains.compare import compare
from ranker.domains.report import over_sets as report
from ranker.errors import DataError
from ranker.results.header import Header
from ranker.results.ranking import Ranking
from ranker.results.table import ScoreTable
from ranker.statistics import rows as rows_
from ranker.statistics.draws import mean_of
from ranker.statistics.rows import RowEvidence

MODELS = ("bert", "lstm", "gpt")


def run_on(name, outcomes, models=MODELS):
    """The decision that rows of such outcomes lead to."""
    size = outcomes.shape[1]
    acc = toy().table.methods[0]
    table = ScoreTable(models, (acc,), tuple(f"e{n}" for n in range(size)), outcomes[:, None, :].astype(float))
    return Ranking(Header(ood=name, suite="models", probe=size, seed=0), decide(table), table)


def rows(accuracies, size, seed):
    """Right or wrong, by chance."""
    return np.random.default_rng(seed).random((len(accuracies), size)) < np.array(accuracies)[:, None]


@pytest.fixture(scope="module")
def runs():
    """Three sets of ten labelled rows, and one of which 60 are labelled."""
    saved_runs = [run_on(f"set-{index}", rows((0.9, 0.75, 0.5), 10, index)) for index in range(3)]
    return [*saved_runs, run_on("large", rows((0.9, 0.75, 0.5), 60, 9))]


@pytest.mark.more
def test_values_and_rows_are_those_of_the_runs(runs):
    """Means over labelled rows, each set a task; the intervals of ranks are over rows, too."""
    comparison = compare(runs)
    assert list(comparison.tasks) == ["set-0", "set-1", "set-2", "large"]
    for model_on_average in comparison.models:
        for run in runs:
            (model,) = (m for m in run.found.models if m.name == model_on_average.model)
            assert model_on_average.tasks[run.header.ood] == pytest.approx(model.outcome)
    assert comparison.trends == ()


@pytest.mark.more
def test_the_best_on_average_is_that_of_draws_of_each_set(runs):
    """The probabilities are those of means of independent draws."""
    by_rows = compare(runs).on_average
    assert by_rows.labels == {"set-0": 10, "set-1": 10, "set-2": 10, "large": 60}
    rng = np.random.default_rng(5)
    means = mean_of([rows_.draw(RowEvidence.of_means(run.table.outcomes), rng) for run in runs]).values
    first = np.bincount(means.argmax(axis=1), minlength=3) / len(means)
    assert [by_rows.p_best[name] for name in MODELS] == pytest.approx(first, abs=0.015)
    assert sum(by_rows.p_best.values()) == pytest.approx(1)
    assert (by_rows.first, by_rows.second) == ("bert", "lstm")


@pytest.mark.more
def test_the_set_with_few_labels_needs_more(runs):
    """Not the one of which 60 rows are labelled."""
    by_rows = compare(
        [run_on("few", rows((0.9, 0.8, 0.5), 10, 1)), run_on("many", rows((0.9, 0.8, 0.5), 80, 4))]
    ).on_average
    assert sum(by_rows.next_labels.values()) == 10
    assert by_rows.next_labels["few"] > by_rows.next_labels["many"]
    certain = compare([run_on(f"s{index}", rows((0.99, 0.2, 0.1), 40, index)) for index in (1, 2)]).on_average
    assert certain.groups[0] == ("bert",)


@pytest.mark.more
def test_a_decision_with_a_pool_is_drawn_from_its_intervals(runs):
    """The means and the order that its intervals and probabilities say."""
    pooled = [dataclasses.replace(run, found=dataclasses.replace(run.found, kind="pool", versus=())) for run in runs]
    first, second = compare(runs).on_average, compare(pooled).on_average
    for name in MODELS:
        assert second.p_best[name] == pytest.approx(first.p_best[name], abs=0.12)


def test_what_is_no_decision_has_no_such_part(runs):
    """Evaluations, tables, and decisions between other models."""
    other_run = run_on("other", rows((0.9, 0.5, 0.4), 10, 7), ("bert", "lstm", "new"))
    assert (
        compare([toy(), dataclasses.replace(toy(), header=dataclasses.replace(toy().header, ood="x"))]).on_average
        is None
    )
    comparison = compare([runs[0], other_run], missing="ranks")
    assert comparison.on_average is None
    with refuses(DataError, value="bert", place="run 2 of set-0"):
        compare([runs[0], runs[0]])


@pytest.mark.more
def test_the_report_says_who_is_best_on_average(runs):
    """In a sentence, and as a table."""
    document = report.document(compare(runs))
    assert any("is the best on average with a probability of" in line for line in document.answer)
    (table,) = (table_shown for table_shown in document.tables if table_shown.caption == "Best on average")
    assert [row[0] for row in table.rows] == list(compare(runs).names)
