"""What every kind of answer has in common: answers are columns, a row for each example, and a task judges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

from factors.types import Example, Floats, Ints

ANSWERED, NO_ANSWER, ERROR, MISSING = range(4)
"""The states of an answer: given; asked for and not given (an abstention, what cannot be read); not given because
something failed; never asked for. What was asked for and not answered is wrong; of the last two nothing is known."""


class Predictions(Protocol):
    """What a model answers to N examples: answer n is to example n of the request.

    Attributes:
        kind: of the answers, by which `ranker.tasks.answers` knows their class: "classes", ...
    """

    kind: ClassVar[str]

    @property
    def state(self) -> Ints:
        """(N,) `ANSWERED`, `NO_ANSWER`, `ERROR` or `MISSING`."""

    def __len__(self) -> int: ...

    def part(self, places: Sequence[int] | Ints) -> Self:
        """Some of the answers, in another order."""
        ...

    def columns(self) -> Mapping[str, Any]:
        """The answers by name, as they are kept: arrays of numbers whose first axis is N, or pyarrow's own, (N,)."""
        ...

    def probabilities(self) -> Floats | None:
        """(N, C) of the labels, nan where there is no answer; None where answers have none."""
        ...

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any]) -> Self:
        """The inverse of `columns`.

        Raises:
            KeyError, TypeError, ValueError: they are not those of such answers.
        """
        ...

    @classmethod
    def joined(cls, blocks: Sequence[Self]) -> Self:
        """Several blocks of answers as one."""
        ...


class Task(Protocol):
    """What the models are asked, and how good an answer is. A task may add attributes of its own.

    Attributes:
        answers: the kind of the answers that it judges.
    """

    answers: ClassVar[str]

    @property
    def name(self) -> str:
        """Suites and rows say which task they are for."""

    @property
    def metric(self) -> str:
        """What an outcome is, the name of its column in tables: one word: "ACC", "EXACT-MATCH"."""

    @property
    def labels(self) -> tuple[str, ...]:
        """(C,) the names of the answers where they are classes, in their order; else none."""

    @property
    def shortcut(self) -> int | None:
        """The label that the shortcut speaks for; None where there is no such label."""

    @property
    def evidence(self) -> int | None:
        """The label that the right evidence speaks for; None where it depends on the row."""

    def outcomes(self, answers: Predictions, examples: Sequence[Example]) -> Floats:
        """(N,) how good the answers are, in [0, 1].

        An answer that was asked for and not given is 0; nan is where there is nothing to judge: an answer that is
        missing or failed, or an example whose truth is not known.

        Raises:
            TypeError: the answers are of a kind that the task does not judge.
        """

    def identity(self) -> Mapping[str, Any]:
        """What of it can change a model's answers, as plain JSON: its part of the store's key."""
