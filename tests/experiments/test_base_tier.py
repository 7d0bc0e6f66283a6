"""docs/results/tables-base.md shows what the saved rankings of the base tier give."""

from pathlib import Path

import numpy as np
import pytest

from experiments import published, tables
from experiments.tables import Run
from ranker.results.ranking import Ranking
from ranker.scoring.evaluation import evaluate

KNOWN = published.load()
BASE = KNOWN.tiers["base"]
PAGE = (tables.REPOSITORY / "docs" / "results" / "tables-base.md").read_text(encoding="utf-8")
FILES = sorted((tables.REPOSITORY / BASE.saved).glob("*.json"))


def shown(value):
    """A number of a table; empty where there is none."""
    return "" if value is None else f"{value:.1f}"


@pytest.mark.parametrize("number", ["1", "2", "5", "6"])
def test_the_page_has_the_tables_of_its_rankings(number):
    """Of the sets that have saved rankings, each number beside the published one."""
    exhibit = KNOWN.tables[number]
    cells = tables.cells(exhibit, tables.rankings(exhibit, BASE, Run()))
    by_place = {(cell.row, cell.column): cell for cell in cells}
    ranked = [name for name in exhibit.sets if any(cell.here is not None for cell in cells if cell.column == name)]
    for row in dict.fromkeys(cell.row for cell in cells):
        in_row = [by_place.get((row, name)) for name in ranked]
        if any(cell is not None and cell.here is not None for cell in in_row):
            numbers = [
                shown(value) for cell in in_row for value in ((cell.here, cell.published) if cell else (None, None))
            ]
            assert f"| {row} | {' | '.join(numbers)} |" in PAGE


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_saved_ranking_is_what_its_scores_give(file):
    """Pairwise accuracies by the scores in the file, and truth by the accuracies of the models, computed again."""
    ranking = Ranking.load(file)
    again = evaluate(ranking.table, designed=next(m.name for m in ranking.evaluation.methods if m.designed))
    for method in again.methods:
        if method.kind in ("baseline", "factor"):
            assert method.pairwise_accuracy == pytest.approx(ranking.method(method.name).pairwise_accuracy), method.name
    assert np.array(ranking.table.truth) == pytest.approx([model.outcome for model in in_order(ranking)])
    assert file.stem == f"{ranking.header.ood}-{ranking.header.attribution}"


def in_order(ranking):
    """The evaluated models, in the order of the table."""
    models = {model.name: model for model in ranking.evaluation.models}
    return [models[name] for name in ranking.table.models]


def test_saved_rankings_are_small_and_name_no_machine():
    """Five megabytes in all, and no place on the machine that made them."""
    assert FILES
    assert sum(file.stat().st_size for file in FILES) < 5_000_000
    for file in FILES:
        assert Path(Ranking.load(file).header.provenance.data.origin).parts[0] == "DATA"
