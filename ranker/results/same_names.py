"""Names in one part of a saved result that another part must have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def same(subject: str, names: Iterable[Any], expected: Iterable[Any], whose: str) -> None:
    """Raise a ValueError if names differ, whatever their order.

    Example:
        >>> same("`models`", ["a", "b"], ["a"], "the table")
        Traceback (most recent call last):
        ValueError: `models` must be those of the table (one side alone has 'b')
    """
    if odd := set(names) ^ set(expected):
        raise ValueError(f"{subject} must be those of {whose} (one side alone has {min(map(str, odd))!r})")


def within(subject: str, names: Iterable[str], expected: Iterable[str], part: str) -> None:
    """Raise a ValueError if names are not among the expected ones.

    Example:
        >>> within("`examples` are some that", ["r1", "r9"], ["r1"], "the table")
        Traceback (most recent call last):
        ValueError: `examples` are some that are not in the table: 'r9'
    """
    if odd := set(names) - set(expected):
        raise ValueError(f"{subject} are not in {part}: {min(odd)!r}")
