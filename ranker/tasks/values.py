"""Base classes of tasks whose answer is one value a row: a text, a number, a tuple of tags."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeGuard

import numpy as np

from factors.types import Bools, Example, Floats, Ints
from ranker.errors import UsageError
from ranker.tasks.base import ANSWERED, NO_ANSWER, Predictions, Task, answer_class, states_of
from ranker.tasks.metrics import MatchedStatistics, Metric

SECONDS_A_PAIR = 5e-5
"""Time to compare two answers, where a task states no other."""


@dataclass(frozen=True, eq=False)
class ValueAnswers:
    """Answers of one value a row; a `ranker.tasks.base.Predictions`. A kind of answers adds its name.

    Attributes:
        values: (N,) the answers, which JSON can write; lists come back as tuples. None without an answer.
        state: (N,) the states of the answers; if left out, all were requested. Read-only.

    Raises:
        ValueError: the lengths differ, or an answer that was given is None.

    Example:
        >>> from ranker import ValueAnswers
        >>> class Tags(ValueAnswers):
        ...     kind = "tags"
        >>> two = Tags([("B", "O"), None])
        >>> two.state.tolist(), Tags.of_columns(two.columns()).values
        ([0, 1], (('B', 'O'), None))
    """

    kind: ClassVar[str]

    values: tuple[Any, ...]
    state: Ints = None  # type: ignore[assignment]  # filled in below

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if self.state is None:
            object.__setattr__(self, "state", states_of(self.values))
        if self.state.shape != (len(self.values),):
            raise ValueError(f"state must have the shape ({len(self.values)},) (got {self.state.shape})")
        if any(state == ANSWERED and value is None for state, value in zip(self.state, self.values, strict=True)):
            raise ValueError("an answer that was given must not be None")
        self.state.flags.writeable = False

    def __len__(self) -> int:
        return len(self.values)

    def part(self, places: Sequence[int] | Ints) -> Self:
        """Return some of the answers, in any order."""
        indices = np.asarray(places, dtype=np.int64)
        return type(self)(tuple(self.values[place] for place in indices.tolist()), self.state[indices])

    def answers(self) -> Sequence[Any]:
        """Return (N,) answers: `values`."""
        return self.values

    def columns(self) -> Mapping[str, Any]:
        """Return the answers by the name of their column: see `of_columns`."""
        import pyarrow as pa

        texts = list(map(json.dumps, self.values))  # one type for all blocks in a store, whatever they hold
        return {"state": self.state, "values": pa.array(texts, pa.string())}

    def probabilities(self) -> None:
        """Return None: such answers have no labels."""

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any]) -> Self:
        """Return the answers of `columns`."""
        values = map(json.loads, columns["values"].to_pylist())
        return cls(tuple(map(_tuples, values)), columns["state"])

    @classmethod
    def joined(cls, blocks: Sequence[Self]) -> Self:
        """Join several blocks of answers."""
        values = tuple(value for block in blocks for value in block.values)
        return cls(values, np.concatenate([block.state for block in blocks]))


@dataclass(frozen=True)
class ValueTask:
    """Base class of tasks whose answers are `ValueAnswers`; a `ranker.tasks.base.Task`.

    A task adds `answers`, the name of its kind; `metric`, the name of an outcome; `answer_of` and `outcome`;
    `judged_by`, where it has several outcomes; `metric_named`, where a metric is no mean of outcomes; and `outputs`,
    where words can be attributed a number of an answer.

    Example:
        >>> from factors import Example
        >>> from ranker import ValueAnswers, ValueTask
        >>> class Yards(ValueTask):
        ...     answers, metric = "numbers", "WITHIN-1"
        ...     def answer_of(self, cell, segments=()): return float(cell)
        ...     def outcome(self, answer, target): return float(abs(answer - target) <= 1)
        >>> class Numbers(ValueAnswers):
        ...     kind = "numbers"
        >>> rows = [Example("1", ("a",), 3.0), Example("2", ("b",), 3.0), Example("3", ("c",))]
        >>> Yards("yards").outcomes(Numbers([2.5, None, 1.0]), rows).tolist()
        [1.0, 0.0, nan]
    """

    answers: ClassVar[str]
    outputs: ClassVar[tuple[str, ...]] = ()
    quotes: ClassVar[bool] = False
    """Whether a correct answer is a part of the row's texts."""
    graded: ClassVar[bool] = False
    """Whether people grade `parts` of models' answers, instead of typing a correct one."""
    label_metric: ClassVar[str] = ""
    """Metric of a labelling session that names none; "" for the outcome."""
    empty_lists: ClassVar[bool] = False
    """Whether an empty list is an answer; else it is none."""
    options: ClassVar[tuple[str, ...]] = ()
    """Options of `named` that it reads."""

    metrics: ClassVar[tuple[str, ...]] = ()
    """Names of its metrics, the usual one first."""

    name: str

    @classmethod
    def named(cls, name: str, **stated: Any) -> Self:
        """Make the task that a user names.

        Raises:
            UsageError: the task needs an option that is not stated.
        """
        return cls(name, **stated)

    def fitted(self, cells: Iterable[Any], names: Iterable[str]) -> Self:
        """Return the task with what the cells of labels, and the names of checkpoints' outputs, tell of it."""
        return self

    @property
    def boxes(self) -> tuple[str, ...]:
        """Labels of which people tick any number; () where they answer otherwise."""
        return ()

    @property
    def span_types(self) -> tuple[str, ...]:
        """Types of the spans that people mark among `tokens`."""
        return ()

    def tokens(self, segments: Sequence[str]) -> tuple[str, ...]:
        """Return the tokens of a row's texts of which each has a tag; () where answers are given otherwise."""
        return ()

    @property
    def metric(self) -> str:
        """Name of the outcome in tables."""
        raise NotImplementedError

    @property
    def hint(self) -> str:
        """Form of a correct answer that a person types."""
        return "The correct answer"

    def answer_of(self, cell: Any, segments: Sequence[str] = ()) -> Any:
        """Return a model's answer from a cell, or raise a ValueError. See `ranker.tasks.base.Task`."""
        raise NotImplementedError

    def outcome(self, answer: Any, target: Any) -> float:
        """Return the score of an answer, in [0, 1]; neither argument is None."""
        raise NotImplementedError

    def outcome_of_none(self, target: Any) -> float:
        """Return the score of a requested answer that was not given."""
        return 0.0

    def target_of(self, cell: Any, segments: Sequence[str] = ()) -> Any:
        """Return the correct answer from a cell, read as an answer."""
        return self.answer_of(cell, segments)

    def cell_of(self, target: Any) -> str:
        """Return a target as a cell: texts with blanks between the parts of a tuple. See `ranker.tasks.base.Task`."""
        return " ".join(map(str, target)) if isinstance(target, tuple) else str(target)

    def as_target(self, answer: Any) -> Any:
        """Return an answer as the target that it would be, were it right; None for one that none can be like."""
        return answer

    def parts(self, answers: Sequence[Any], seed: int) -> tuple[str, ...]:
        """Return what people grade of the models' answers to a row, in random order; () where they type an answer."""
        return ()

    def similarity(self, answers: Predictions, anchors: Predictions) -> Floats:
        """Return (N,) outcomes of the answers, were those of another model the truth; 0 where it gave none.

        Example:
            >>> from ranker.tasks.texts import TextTask
            >>> task = TextTask("summaries")
            >>> task.similarity(task.predictions(["A dog.", "A cat."]), task.predictions(["A dog.", None])).tolist()
            [1.0, 0.0]
        """
        targets = [self.as_target(anchor) for anchor in anchors.answers() or ()]
        return np.nan_to_num(self.judge(answers.answers() or (), targets))

    def seconds_to_compare(self, models: int, anchors: int) -> float:
        """Return about how long it takes to compare the answers of models to a row with others: a rule, no clock."""
        return models * anchors * SECONDS_A_PAIR

    def likeness(self, answers: Sequence[Predictions], anchors: Sequence[Predictions]) -> Floats:
        """Return (M, A, N) `similarity` of each of M models' answers to N rows to each of A others."""
        return np.array([[self.similarity(of_model, anchor) for anchor in anchors] for of_model in answers])

    def matched(self, metric: Metric) -> MatchedStatistics | None:
        """Return how the likeness of answers tells a metric of all rows together; None where it does not."""
        return None

    def judge(self, answers: Sequence[Any], targets: Sequence[Any]) -> Floats:
        """Return (N,) outcomes of answers, None where none was given; nan where the target is None, as unknown."""
        outcomes = np.full(len(answers), np.nan)
        for row, (answer, target) in enumerate(zip(answers, targets, strict=True)):
            if target is not None:
                outcomes[row] = self.outcome_of_none(target) if answer is None else self.outcome(answer, target)
        return outcomes

    def notes(self, values: Sequence[Any]) -> tuple[str, ...]:
        """Return notes on answers, or targets, that were read: see `ranker.tasks.base.Task`."""
        return ()

    def reading_notes(self, targets: Sequence[Any], metric: str = "") -> tuple[str, ...]:
        """Return notes on what a metric cannot read of targets; () where it reads all.

        Args:
            targets: of rows, None for a row without one.
            metric: of all rows together; "" for the outcome.

        Raises:
            UsageError: it can read less than half of them.
        """
        return ()

    def by_label(self, answers: Sequence[Any], targets: Sequence[Any]) -> dict[str, tuple[int, float]]:
        """Return label -> number of rows with it, and the F1 of answers; {} where answers hold no labels.

        Args:
            answers: (N,) None for none.
        """
        return {}

    def indicators(self, sets: Sequence[Any]) -> Bools | None:
        """Return (N, L) whether a row has each label; None where answers are no sets of labels.

        Args:
            sets: (N,) answers or targets; None for none.
        """
        return None

    def judging_notes(self, answers: Mapping[str, Sequence[Any]], targets: Sequence[Any]) -> tuple[str, ...]:
        """Return notes on what targets do not say of answers; () where they say all.

        Args:
            answers: model -> (N,) its answers, None for none.
            targets: (N,) of the rows, None for a row without one.
        """
        return ()

    def judged_by(self, name: str) -> Self:
        """Return the task itself, which has one outcome. See `ranker.tasks.base.Task`."""
        return self

    def predictions(self, answers: Sequence[Any], state: Ints | None = None) -> Predictions:
        """Return answers from values of `answer_of`, None for a row without one: see `ranker.tasks.base.Task`."""
        return answer_class(self.answers)(answers, state)  # type: ignore[call-arg]  # a kind of `ValueAnswers`

    def show(self, answer: Any, segments: Sequence[str] = ()) -> str:
        """Return an answer as text; the parts of a tuple with blanks between them."""
        return ValueTask.cell_of(self, answer)

    def metric_named(self, name: str) -> Metric | None:
        """Return None for the mean outcome, the only metric: see `ranker.tasks.base.Task`."""
        if name.casefold() not in ("", self.metric.casefold()):
            raise UsageError.about(
                "metric", f"{name} is none of {self.name}, which has {self.metric} alone", name, allowed=[self.metric]
            )
        return None

    def metric_inputs(self, answers: Predictions, examples: Sequence[Example]) -> tuple[Any, Any]:
        """Return N answers and N targets: see `ranker.tasks.base.Task`."""
        return answers.answers(), [example.target for example in examples]

    def outcomes(self, answers: Predictions, examples: Sequence[Example]) -> Floats:
        """Return (N,) outcomes of the answers: see `ranker.tasks.base.Task`."""
        if answers.kind != self.answers:
            raise TypeError(f"the task {self.name} judges {self.answers} (got {answers.kind})")
        states = answers.state.tolist()
        values = [None if state else answer for answer, state in zip(answers.answers() or (), states, strict=True)]
        targets = [
            example.target if state <= NO_ANSWER else None for example, state in zip(examples, states, strict=True)
        ]
        return self.judge(values, targets)

    def identity(self) -> Mapping[str, Any]:
        """Return the name of the task."""
        return {"task": self.name}


def has_values(task: Task) -> TypeGuard[ValueTask]:
    """Return whether the answers to a task are values that only the task can compare, such as texts."""
    return isinstance(task, ValueTask)


def _tuples(value: Any) -> Any:
    """Return a value with tuples for lists, so that it hashes."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
