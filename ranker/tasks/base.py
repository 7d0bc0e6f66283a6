"""Tasks and answers, of whatever kind: answers are columns, a row for each example, and a task judges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from factors.types import Example, Floats, Ints
from ranker.tasks.metrics import Metric

ANSWERED, NO_ANSWER, ERROR, MISSING = range(4)
"""The states of an answer: given; asked for and not given (an abstention, what cannot be read); not given because
something failed; never asked for. What was asked for and not answered is wrong; of the last two nothing is known."""


def states_of(answers: Sequence[Any]) -> Ints:
    """(N,) The states of answers that were all asked for: `NO_ANSWER` where there is None.

    Example:
        >>> states_of(["a", None]).tolist()
        [0, 1]
    """
    return np.array([NO_ANSWER if answer is None else ANSWERED for answer in answers], dtype=np.int64)


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

    def answers(self) -> Sequence[Any] | None:
        """The answers row by row, as `Task.show` takes them; None for a row without one. None where none was kept."""
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
    """What the models are asked, what cells of files say of it, and how good an answer is.

    Nothing else is known of a task where models and rows of any kind meet. What belongs to labels alone (their names,
    the one that the shortcut speaks for) is `ranker.tasks.classes.ClassificationTask`'s, and of no other task.

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

    def target_of(self, cell: Any) -> Any:
        """What is right for a row, as a cell of its file says it: `Example.target`, which hashes.

        Raises:
            ValueError: the cell says nothing of the kind.
        """

    def answer_of(self, cell: Any) -> Any:
        """What a model answers to a row, as a cell of its file says it.

        Raises:
            ValueError: it cannot be read as an answer.
        """

    def predictions(self, answers: Sequence[Any], state: Ints | None = None) -> Predictions:
        """Answers as `answer_of` gives them, None for a row without one.

        Args:
            answers: (N,) one of each row.
            state: (N,) their states; None where all were asked for.
        """
        ...

    def show(self, answer: Any) -> str:
        """An answer, or a target, as reports write it."""
        ...

    def metric_named(self, name: str) -> Metric | None:
        """The metric of that name; "" names the task's own. None where that is the mean outcome.

        Raises:
            UsageError: there is no such metric of these answers.
        """

    def metric_inputs(self, answers: Predictions, examples: Sequence[Example]) -> tuple[Any, Any]:
        """N answers and N targets as `Metric.statistics` takes them; all of them can be judged.

        Raises:
            LabelError: the answers do not say what the metrics of the task are of.
        """
        ...

    def outcomes(self, answers: Predictions, examples: Sequence[Example]) -> Floats:
        """(N,) how good the answers are, in [0, 1].

        An answer that was asked for and not given is 0; nan is where there is nothing to judge: an answer that is
        missing or failed, or an example whose truth is not known.

        Raises:
            TypeError: the answers are of a kind that the task does not judge.
        """

    def identity(self) -> Mapping[str, Any]:
        """What of it can change a model's answers, as plain JSON: its part of the store's key."""
