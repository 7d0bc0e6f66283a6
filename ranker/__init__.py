"""Obtain, store, resample, report: from checkpoints and examples to a ranking.

>>> from ranker import Evidence, decide, rank  # and Ranking, what both give
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranker.results.ranking import Ranking
    from ranker.runs.decide import decide
    from ranker.runs.rank import rank
    from ranker.scoring.score import Evidence

__all__ = ["Evidence", "Ranking", "decide", "rank"]

_HOME = {
    "rank": "ranker.runs.rank",
    "decide": "ranker.runs.decide",
    "Ranking": "ranker.results.ranking",
    "Evidence": "ranker.scoring.score",
}


def __dir__() -> list[str]:
    """What one starts with; the modules are imported by their names."""
    return __all__


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: `rank-models --help` asks for nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
