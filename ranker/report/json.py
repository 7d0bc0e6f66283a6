"""A result as JSON, in a stable schema for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ranker.report.document import Document
from ranker.report.escapes import visible


def write(document: Document) -> str:
    """Write everything as one JSON object, keys in a fixed order; equal results give equal bytes."""
    return to_json(document.content())


def to_json(content: Mapping[str, Any]) -> str:
    """Write one JSON object, a key a line; NaN and Infinity, which JSON lacks, are refused.

    Raises:
        ValueError: the content has NaN or Infinity.
    """
    return visible(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"
