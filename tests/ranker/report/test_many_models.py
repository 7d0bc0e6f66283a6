"""Reports of many models: what they list, what they leave to programs, and the probabilities of places."""

import csv
import io

import pyarrow as pa
import pytest
from pyarrow import parquet
from test_evaluation import suite
from test_report_formats import decided

from ranker import report
from ranker.report import figures
from ranker.report.decision import places
from ranker.report.ranking import answer, document
from ranker.report.tables import MANY_MODELS, MAX_PAIRED_MODELS

MODELS = 120


@pytest.fixture(scope="module")
def ranking():
    """120 models on 60 labelled rows."""
    return decided(suite(models=MODELS, examples=60))


@pytest.fixture(scope="module")
def tables(ranking):
    """The tables of a format, by the name of the format."""
    full_document = document(ranking)
    return {name: {table.caption: table for table in full_document.tables_for(name)} for name in report.TEXTS}


@pytest.mark.more
def test_a_page_lists_all_models_and_other_texts_the_first(tables):
    """The caption says how many there are, and where all are."""
    assert len(tables["html"]["Order"].rows) == MODELS
    (first,) = (table for caption, table in tables["table"].items() if caption.startswith("Order: "))
    assert first.caption == "Order: the first 50 of 120 models (csv, parquet, json, html: all)"
    assert [row[1] for row in first.rows] == [row[1] for row in tables["html"]["Order"].rows[:MANY_MODELS]]


def test_the_best_is_among_the_first_with_the_sum_of_their_probabilities(ranking):
    """P(best) adds up, since one model is the best; the numbers never fall."""
    rows, best = places(ranking.decision).rows, [model.p_best for model in ranking.decision.models]
    assert [count for count, _ in rows] == ["1", "2", "5", "10", "20", "50", "100"]
    for count, row in rows:
        assert float(row.strip("<>")) == pytest.approx(100 * sum(best[: int(count)]), abs=0.1)


def test_ties_of_many_groups_are_spans_of_ranks(ranking, tables):
    """There are more groups than letters: each model names the first and the last rank that it is not told from."""
    decision = ranking.decision
    assert len(decision.groups) > 52
    for i, row in enumerate(tables["html"]["Order"].rows):
        ranks = [
            model.rank
            for model, beats in zip(decision.models, decision.p_beats[i], strict=True)
            if max(beats, 1 - beats) < decision.level
        ]
        assert row[-1] == f"{min(ranks)}-{max(ranks)}"


def test_the_answer_names_few_models(ranking):
    """Sentences and remarks do not grow with the pairs."""
    assert len(" ".join(answer(ranking)[1])) < 1_500
    assert sum(map(len, document(ranking).remarks)) < 20_000


def test_a_program_reads_every_pair_and_group_from_parquet(ranking):
    """The columns of the CSV, each of one type, and a list for each model."""
    columns = parquet.read_table(pa.BufferReader(report.render(ranking, "parquet"))).to_pydict()
    decision = ranking.decision
    assert columns["name"] == list(decision.names)
    assert columns["p_best"] == [model.p_best for model in decision.models]
    assert columns["p_beats"] == [list(row) for row in decision.p_beats]
    rows = list(csv.DictReader(io.StringIO(report.render(ranking, "csv"))))
    assert [row["groups"] for row in rows] == columns["groups"]
    for row in rows:
        shared = {name for number in row["groups"].split() for name in decision.groups[int(number) - 1]}
        i = decision.names.index(row["name"])
        assert shared == {decision.names[i], *decision.tied(i)}


def test_a_page_of_many_models_is_small_and_has_a_search(ranking):
    """The page grows with the models, not with their pairs; figures show the first 25."""
    page = report.render(ranking, "html")
    assert len(page) < 400_000
    assert 'search.type = "search"' in page
    (drawing,) = figures.drawings(ranking, (figures.intervals,))
    assert len(drawing.figure.axes[0].get_yticks()) == MAX_PAIRED_MODELS
