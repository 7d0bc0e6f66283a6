import json

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.factor_vote import factor_means, main
from benchmarks.labels import pairwise_accuracy
from ranker import Evidence, load_set, rank
from ranker.results.ranking import Ranking
from ranker.statistics.patterns import fold
from ranker.statistics.vote import believe


@pytest.mark.more
def test_a_saved_ranking_is_measured_with_and_without_its_factor(tmp_path):
    """The lines are those of the vote on the same rows; a second run adds none, and the table has their means."""
    saved, out = tmp_path / "hans-con.json", tmp_path / "found.jsonl"
    rows = load_set("hans-con")
    rank("hans-con-mini", rows, evidence=Evidence("occlusion", methods=()), draws=5).save(saved)
    arguments = ["run", str(saved), "-o", str(out), "--replicates", "2"]
    runner = CliRunner()
    assert runner.invoke(main, arguments, catch_exceptions=False).exit_code == 0
    text = out.read_text()
    assert runner.invoke(main, arguments, catch_exceptions=False).exit_code == 0
    assert out.read_text() == text
    lines = [json.loads(line) for line in text.splitlines()]
    assert len(lines) == 2 * 2 * 5

    ranking = Ranking.load(saved)
    const = [method.name for method in ranking.table.methods].index("CONST")
    values = ranking.table.values[:, const]
    assert factor_means(ranking) == pytest.approx(np.nanmean(values, axis=1))
    none = np.zeros(0, dtype=np.int64)
    labels = np.array([{row.id: row.target for row in rows.examples}[row] for row in ranking.table.examples])
    predicted = np.where(ranking.table.outcomes > 0.5, labels, 1 - labels)
    assert len(labels) > 300  # so that a pool is a draw of them
    scores = [believe(fold(predicted, 2, factor=factor), none, none).score for factor in (None, factor_means(ranking))]
    with_factor = [line["pairs"] for line in lines if line["factor"] and line["labels"] == 0]
    assert np.mean(with_factor) == pytest.approx(pairwise_accuracy(scores[1], np.asarray(ranking.table.truth)), abs=0.1)

    table = runner.invoke(main, ["table", str(out)]).output
    change = 100 * (np.mean(with_factor) - np.mean([x["pairs"] for x in lines if not x["factor"] and x["labels"] == 0]))
    assert f": {change:+.1f}," in table
