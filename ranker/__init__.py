"""Obtain, store, resample, report: from checkpoints and examples to a ranking.

>>> from ranker import decide, rank  # and Ranking, what both give
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranker.pipeline import decide, rank
    from ranker.results.ranking import Ranking

__all__ = ["Ranking", "decide", "rank"]

_HOME = {"rank": "ranker.pipeline", "decide": "ranker.pipeline", "Ranking": "ranker.results.ranking"}


def __dir__() -> list[str]:
    """What one starts with; the modules are imported by their names."""
    return __all__


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: `rank-models --help` asks for nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
