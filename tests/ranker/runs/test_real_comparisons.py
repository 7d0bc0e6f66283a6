"""Two logs of the real programs, compared the public way: every figure agrees with one computed apart from us."""

import json
import os
from pathlib import Path

import pytest

from ranker import decide
from ranker.sources import suites
from ranker.sources.base import SourceOptions
from ranker.sources.logs.options import LogOptions
from ranker.statistics.significance import mcnemar

_DATA = os.environ.get("RANK_MODELS_DATA")
LOGS = (Path(_DATA) if _DATA else Path(__file__).parents[4] / "shared" / "data") / "logs"
EXPECTED = LOGS / "expected.json"
PAIRS = json.loads(EXPECTED.read_text())["pairs"] if EXPECTED.is_file() else []
pytestmark = pytest.mark.skipif(not PAIRS, reason="the folder of the real logs is not there")

TOLERANCE = {"rel": 0, "abs": 1e-9}


def options(pair):
    """Read the options of both logs."""
    if "scorer" in pair:
        return SourceOptions(kinds=[LogOptions(scorer=pair["scorer"], metric=pair["part"] or "")])
    occurrence = (pair["filter"] or "").removeprefix("occurrence ").partition(" ")[0]
    return SourceOptions(kinds=[LogOptions(metric=pair["metric"], filter=occurrence, cluster=pair["cluster"] or "")])


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{n}" for n in range(len(PAIRS))])
def test_a_comparison_says_what_was_computed_apart(pair):
    """The difference, its standard errors, by cluster and plain, flips, p, and both means."""
    suite = suites.load([str(LOGS / pair[side]) for side in "ab"], options(pair))
    decision = decide(suite).decision
    (versus,) = decision.versus
    first = suite.models[0].name
    turned = -1 if versus.a != first else 1  # the better one is named first
    assert turned * versus.difference == pytest.approx(pair["difference"], **TOLERANCE)
    assert versus.se == pytest.approx(pair["se_clusters"], **TOLERANCE)
    assert versus.se_rows == pytest.approx(pair["se_rows"], **TOLERANCE)
    assert (versus.rows, versus.clusters or versus.rows) == (pair["n"], pair["clusters"])
    means = {model.name: model.outcome for model in decision.models}
    assert means[first] == pytest.approx(pair["mean_a"], **TOLERANCE)
    assert means[suite.models[1].name] == pytest.approx(pair["mean_b"], **TOLERANCE)
    if pair["mcnemar_exact_p"] is not None:
        assert (versus.better, versus.worse)[::turned] == (pair["a_only"], pair["b_only"])
        assert (versus.test == "mcnemar") == (pair["cluster"] is None)
        assert float(mcnemar(versus.better, versus.worse)) == pytest.approx(pair["mcnemar_exact_p"], **TOLERANCE)
    if versus.test == "mcnemar":
        assert versus.p == pytest.approx(pair["mcnemar_exact_p"], **TOLERANCE)
