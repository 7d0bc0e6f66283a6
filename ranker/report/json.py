"""The ranking as JSON: the stable schema for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ranker.report.escapes import visible
from ranker.results.ranking import Ranking


def render(ranking: Ranking) -> str:
    """The ranking as one JSON object, keys in a fixed order; the same ranking gives the same bytes."""
    return written(ranking.to_dict())


def written(content: Mapping[str, Any]) -> str:
    """One JSON object, a key a line; NaN and Infinity, which JSON lacks, are refused.

    Raises:
        ValueError: there is one.
    """
    return visible(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"
