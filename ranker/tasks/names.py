"""Names of labels: equivalent ones, and the numbers that stand for them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from ranker.errors import listed


class NameIndex:
    """Index of numbers by name: by the exact name (see `spelled`), else by the only one that is equal after `fold`.

    Args:
        names: pairs of a name and its number.

    Example:
        >>> names = NameIndex([("Yes", 0), ("no", 1), ("NO", 2)])
        >>> names.find(" Yes "), names.find("yes"), names.find("NO"), names.find("No")
        (0, 0, 2, None)
    """

    def __init__(self, names: Iterable[tuple[str, int]]) -> None:
        self.exact: dict[str, int] = {}
        folded: dict[str, set[int]] = {}
        for name, number in names:
            self.exact[spelled(name)] = number
            folded.setdefault(fold(name), set()).add(number)
        self.folded = {name: next(iter(numbers)) for name, numbers in folded.items() if len(numbers) == 1}

    def find(self, name: str) -> int | None:
        """Return the number of a name; None where there is none, or several."""
        name = spelled(name)
        return self.exact[name] if name in self.exact else self.folded.get(fold(name))


def spelled(name: str) -> str:
    """Return a label name without blanks around it, each letter with its accents as one character (Unicode's NFC).

    Example:
        >>> len("cafe\N{COMBINING ACUTE ACCENT} "), len(spelled("cafe\N{COMBINING ACUTE ACCENT} "))
        (6, 4)
    """
    return unicodedata.normalize("NFC", name.strip())


def fold(name: str) -> str:
    """Return a label name without differences that do not matter: case, "_" or a blank for "-", a number's "+".

    A name of such signs alone stays as it is.

    Example:
        >>> fold("Non_Entailment"), fold("+1"), fold("-1.5"), fold("-"), fold("_")
        ('non-entailment', '1', '-1.5', '-', '_')
    """
    name = spelled(name)
    if _SIGNED.fullmatch(name):
        return name.removeprefix("+")
    return "-".join(name.casefold().replace("_", " ").replace("-", " ").split()) or name


_SIGNED = re.compile(r"[-+][0-9]+(\.[0-9]+)?")


POLES = {
    -1: frozenset(("negative", "neg", "bad", "poor", "terrible", "unfavorable", "against", "no", "n", "false", "-1")),
    0: frozenset(("neutral", "neu", "mixed", "none", "neither", "0")),
    1: frozenset(("positive", "pos", "good", "great", "excellent", "favorable", "for", "yes", "y", "true", "1")),
}
"""End of a scale -> the labels that name it."""


def pole_of(name: str) -> int | None:
    """Return the end of a scale that a label names: -1, 0 for its middle, 1; None for other names.

    Example:
        >>> [pole_of(name) for name in ("Bad", "neutral", "yes", "spam")]
        [-1, 0, 1, None]
    """
    return next((end for end, names in POLES.items() if fold(name) in names), None)


def in_scale_order(labels: Sequence[str]) -> tuple[str, ...]:
    """Return two labels that name the ends of a scale, the negative one first; () for other labels.

    Example:
        >>> in_scale_order(["yes", "no"]), in_scale_order(["fake", "real"])
        (('no', 'yes'), ())
    """
    ends = {pole_of(label): label for label in labels}
    return (ends[-1], ends[1]) if len(labels) == 2 and ends.keys() == {-1, 1} else ()


def with_numbers(labels: Sequence[str]) -> str:
    """List labels with their numbers, if numbers can stand for them.

    Example:
        >>> with_numbers(["non-entailment", "entailment"]), with_numbers(["1", "2"])
        ('non-entailment (0), entailment (1)', '1, 2')
    """
    return listed(f"{name} ({i})" for i, name in enumerate(labels)) if are_counted(labels) else listed(labels)


def number_of(value: Any) -> int | None:
    """Return the whole number of a cell of labels; None for other cells.

    Example:
        >>> [number_of(cell) for cell in ("1", "1.0", "True", 0.5, "01", "entailment")]
        [1, 1, 1, None, None, None]
    """
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, int):
        return int(value)
    text = str(value).strip()
    match = _NUMBER.fullmatch(text)
    return int(match[1]) if match else _TRUTHS.get(text.casefold())


def are_counted(labels: Sequence[str]) -> bool:
    """Return True if 0, 1, ... can stand for labels in their order: no label is a number, or each is its own.

    Any number counts here, since the number 1 is not the second of the labels 01 and 02, or -1 and +1.

    Example:
        >>> [are_counted(labels) for labels in (("bad", "good"), ("False", "True"), ("1", "2"), ("False", "N/A"))]
        [True, True, False, False]
        >>> [are_counted(labels) for labels in (("01", "02"), ("00", "01"), ("-1", "+1"))]
        [False, True, False]
    """
    numbers = [float(label) if is_number(label) else number_of(label) for label in labels]
    return all(number is None for number in numbers) or numbers == [*range(len(labels))]


def is_number(name: str) -> bool:
    """Return True if a label's name is a number, as in "01", "-1" or "2.0"."""
    return _DECIMAL.fullmatch(name.strip()) is not None


_DECIMAL = re.compile(r"[-+]?[0-9]{1,6}(\.[0-9]{1,6})?")
_NUMBER = re.compile(r"(0|[1-9][0-9]{0,5})(\.0)?")
_TRUTHS = {"false": 0, "true": 1}  # as data frames write them
