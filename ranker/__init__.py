"""Obtain, store, resample, report: from checkpoints and examples to a ranking.

>>> from ranker import rank  # and Ranking, what it gives
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranker.pipeline import rank
    from ranker.ranking import Ranking

__all__ = ["Ranking", "rank"]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: `rank-models --help` asks for nothing."""
    if name == "rank":
        from ranker.pipeline import rank

        return rank
    if name == "Ranking":
        from ranker.ranking import Ranking

        return Ranking
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
