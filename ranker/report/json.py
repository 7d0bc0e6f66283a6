"""A result as JSON: the stable schema for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ranker.report.document import Document
from ranker.report.escapes import visible


def write(document: Document) -> str:
    """All of it as one JSON object, keys in a fixed order; the same result gives the same bytes."""
    return dumped(document.content)


def dumped(content: Mapping[str, Any]) -> str:
    """One JSON object, a key a line; NaN and Infinity, which JSON lacks, are refused.

    Raises:
        ValueError: there is one.
    """
    return visible(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"
