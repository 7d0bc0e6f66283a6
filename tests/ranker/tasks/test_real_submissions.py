"""The real submissions to the shared task of WNUT-17, which are not part of the project: the numbers of its paper."""

import os
from pathlib import Path

import pytest

from ranker import decide
from ranker.runs.inspected import inspect_references
from ranker.runs.rows import RowsFile
from ranker.sources.base import SourceOptions
from ranker.sources.tables.options import TableOptions

_DATA = os.environ.get("RANK_MODELS_DATA")
WNUT = (Path(_DATA) if _DATA else Path(__file__).parents[4] / "shared" / "data") / "wnut17"
pytestmark = pytest.mark.skipif(not WNUT.is_dir(), reason="the folder of WNUT-17 is not there")

PUBLISHED = {"spinningbytes": 40.78, "sjtu_adapt": 40.42, "mic-cis": 37.06}
"""F1 of entities in percent: Derczynski et al. 2017, "Results of the WNUT2017 shared task", table 5."""


def test_three_submissions_have_their_published_f1():
    """From their files; one of them had changed 827 texts, so that order is stated."""
    options = SourceOptions(kinds=[TableOptions(answers="values", by_order=True)])
    files = [str(WNUT / "submissions" / f"{name}.txt.gz") for name in PUBLISHED]
    ranking = decide(inspect_references(files, options), RowsFile(WNUT / "test.conll.gz", "tags"))
    assert {model.name: round(100 * model.outcome, 2) for model in ranking.decision.models} == PUBLISHED
    assert any("as stated; 827 texts differ" in note for note in ranking.notes)
