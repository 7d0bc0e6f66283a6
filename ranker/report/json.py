"""The ranking as JSON: the stable schema for programs."""

from __future__ import annotations

import json

from ranker.ranking import Ranking


def render(ranking: Ranking) -> str:
    """The ranking as one JSON object, keys in a fixed order; the same ranking gives the same bytes."""
    return json.dumps(ranking.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
