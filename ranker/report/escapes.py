"""Characters that a reader's program obeys instead of showing; every format shows them as escapes."""

from __future__ import annotations

import re

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Controls except tabs and line ends, and marks that turn the direction of writing."""


def visible(text: str) -> str:
    r"""Replace controls, and marks that turn the direction of writing, by JSON escapes.

    Example:
        >>> print(visible("a\x1b[31mb\u202ec"))
        a\u001b[31mb\u202ec
    """
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
