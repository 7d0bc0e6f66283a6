"""Rules that mark words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from factors import Span
from ranker.errors import look_up

Rule = Callable[[tuple[str, ...], Mapping[str, Any]], tuple[Span, ...]]

RULES: Mapping[str, Rule] = {
    name: (lambda segments, row: ()) for name in ("control", "swapped", "irregular-past", "ing-main-verb", "adjective")
}


def marker(marks: Mapping[str, str]) -> Callable[[tuple[str, ...], Mapping[str, Any]], Mapping[str, tuple[Span, ...]]]:
    """The marker of a card: mark -> rule."""
    rules = {mark: look_up("rule of marks", rule, RULES) for mark, rule in marks.items()}

    def find(segments: tuple[str, ...], row: Mapping[str, Any]) -> Mapping[str, tuple[Span, ...]]:
        found = {mark: rule(segments, row) for mark, rule in rules.items()}
        return {mark: spans for mark, spans in found.items() if spans}

    return find
