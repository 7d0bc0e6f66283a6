"""Characters that a reader's program obeys instead of showing them: in every format they are shown as escapes."""

from __future__ import annotations

import re

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Controls but for tabs and line ends, and what turns the direction of writing."""


def visible(text: str) -> str:
    r"""The text with controls, and marks that turn the direction of writing, as JSON escapes them.

    Example:
        >>> print(visible("a\x1b[31mb\u202ec"))
        a\u001b[31mb\u202ec
    """
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
