"""Names of labels: which of them mean the same, and the numbers that stand for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ranker.errors import listed


class NameIndex:
    """Numbers by name: by the exact name, else by the only one that differs in no more than `fold` leaves out.

    Args:
        names: a name, and the number that it stands for.

    Example:
        >>> names = NameIndex([("Yes", 0), ("no", 1), ("NO", 2)])
        >>> names.find(" Yes "), names.find("yes"), names.find("NO"), names.find("No")
        (0, 0, 2, None)
    """

    def __init__(self, names: Iterable[tuple[str, int]]) -> None:
        self.exact: dict[str, int] = {}
        folded: dict[str, set[int]] = {}
        for name, number in names:
            self.exact[name.strip()] = number
            folded.setdefault(fold(name), set()).add(number)
        self.folded = {name: next(iter(numbers)) for name, numbers in folded.items() if len(numbers) == 1}

    def find(self, name: str) -> int | None:
        """The number of a name; None where there is none, or where several could be meant."""
        name = name.strip()
        return self.exact[name] if name in self.exact else self.folded.get(fold(name))


def fold(name: str) -> str:
    """A label name without the differences that do not matter: case, "_" or a blank for "-", the "+" of a number.

    A name of nothing but such signs stays as it is.

    Example:
        >>> fold("Non_Entailment"), fold("+1"), fold("-1.5"), fold("-"), fold("_")
        ('non-entailment', '1', '-1.5', '-', '_')
    """
    name = name.strip()
    if _SIGNED.fullmatch(name):
        return name.removeprefix("+")
    return "-".join(name.casefold().replace("_", " ").replace("-", " ").split()) or name


_SIGNED = re.compile(r"[-+][0-9]+(\.[0-9]+)?")


def with_numbers(labels: Sequence[str]) -> str:
    """List labels with their numbers.

    Example:
        >>> with_numbers(["non-entailment", "entailment"])
        'non-entailment (0), entailment (1)'
    """
    return listed(f"{name} ({i})" for i, name in enumerate(labels))


def number_of(value: Any) -> int | None:
    """The whole number that a cell of labels is, or says; None where it is another thing.

    Example:
        >>> [number_of(cell) for cell in ("1", "1.0", "True", 0.5, "01", "entailment")]
        [1, 1, 1, None, None, None]
    """
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, int):
        return int(value)
    text = str(value).strip()
    said = _NUMBER.fullmatch(text)
    return int(said[1]) if said else _TRUTHS.get(text.casefold())


_NUMBER = re.compile(r"(0|[1-9][0-9]{0,5})(\.0)?")
_TRUTHS = {"false": 0, "true": 1}  # as data frames write them
