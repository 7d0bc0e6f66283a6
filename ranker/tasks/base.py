"""What every kind of answer has in common: answers are columns, a row for each example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

from factors.types import Ints

ANSWERED, NO_ANSWER, ERROR, MISSING = range(4)
"""The states of an answer: given; asked for and not given (an abstention, what cannot be read); not given because
something failed; never asked for. What was asked for and not answered is wrong; of the last two nothing is known."""


class Predictions(Protocol):
    """What a model answers to N examples: answer n is to example n of the request.

    Attributes:
        kind: of the answers: "classes", ...
        state: (N,) `ANSWERED`, `NO_ANSWER`, `ERROR` or `MISSING`.
    """

    kind: ClassVar[str]
    state: Ints

    def __len__(self) -> int: ...

    def part(self, places: Sequence[int] | Ints) -> Self:
        """Some of the answers, in another order."""
        ...

    def columns(self) -> Mapping[str, Any]:
        """The answers as arrays whose first axis is N, by name: as they are kept."""
        ...
