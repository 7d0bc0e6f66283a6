"""Texts that a reader's program obeys instead of showing; every format shows them as escapes."""

from __future__ import annotations

import re

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Controls except tabs and line ends, and marks that turn the direction of writing."""

_COMMANDS = re.compile(r"(?m)^([^\S\n]*):(?=:)|#(?=#\w*\[)")
"""Beginnings of commands to a CI log: `::name` at the start of a line, and `##[name]` or `##vso[name]` anywhere."""


def visible(text: str) -> str:
    r"""Replace controls, and marks that turn the direction of writing, by JSON escapes.

    Example:
        >>> print(visible("a\x1b[31mb\u202ec"))
        a\u001b[31mb\u202ec
    """
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def inert(text: str) -> str:
    r"""Replace the first sign of what a CI service would run, if it read the text in a log.

    Example:
        >>> print(inert("::stop-commands::x, a::b, ##[error]y"))
        \u003a:stop-commands::x, a::b, \u0023#[error]y
    """
    return _COMMANDS.sub(lambda match: rf"{match[1] or ''}\u{ord(match[0][-1]):04x}", text)
