import itertools
import re

from ranker.domains.report import shift as report
from ranker.domains.results.shift import DomainSummary, Pair, Score, Shift
from ranker.report import write
from ranker.statistics.correlation import DistanceMeasure

SETS = ["home", *(f"hans-constituent-{n}" for n in range(19))]
MODELS = [f"minilm-of-7000-rows-{n}" for n in range(9)]


def found():
    """Twenty sets, as many as may be compared, and nine models, all with long names and numbers that differ."""
    numbers = itertools.count()
    pairs = [
        Pair(a, b, (DistanceMeasure("cosine", next(numbers) / 1000, None, None),), None, "far", "", "", (), ())
        for a, b in itertools.combinations(SETS, 2)
    ]
    scores = [Score(name, model, 300, next(numbers) / 1000, 0.0, 1.0) for name in SETS for model in MODELS]
    return Shift(
        tuple(DomainSummary(name, 300, 20.0, 18.0) for name in SETS), tuple(pairs), 0, metric="ACC",
        scores=tuple(scores),
    )  # fmt: skip


def test_eighty_columns_are_enough_for_twenty_sets():
    """No line is wider, no number is broken, and every piece of a table has the names of its rows."""
    text = write(report.document(found()), "table")
    assert max(map(len, text.splitlines())) <= 80
    for table in report.tables(found()):
        for row in table.rows:
            for cell, numeric in zip(row, table.numeric, strict=True):
                assert not numeric or not cell or re.search(rf"(^| ){re.escape(cell)}( |$)", text, re.M), cell
    for number, name in enumerate(SETS, 1):
        assert len(re.findall(rf"^{number} {name} .*\d\.\d{{3}}", text, re.M)) > 1, "the matrix is in pieces"


def test_sets_are_the_rows_of_what_models_score():
    """Each with the drop beside it, which is none in-domain."""
    (of_models,) = [table for table in report.tables(found()) if table.caption.startswith("The models")]
    assert of_models.head == ("set", *MODELS, "mean drop")
    assert [row[0] for row in of_models.rows] == SETS
    assert of_models.rows[0][-1] == ""
    assert of_models.rows[1][-1] == "-0.9"
