"""Tasks and answers of any kind: answers are columns, a row for each example, and a task scores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module, metadata
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast

import numpy as np

from factors.types import Example, Floats, Ints
from ranker.errors import LabelError, UsageError, look_up
from ranker.tasks.metrics import Metric

T = TypeVar("T")
P = TypeVar("P", bound="Predictions")

ANSWERED, NO_ANSWER, ERROR, MISSING = range(4)
"""States of an answer: given; requested and not given (an abstention, an unreadable one); failed; never requested. A
requested answer that was not given is wrong; the last two are unknown."""


def states_of(answers: Sequence[Any]) -> Ints:
    """Return (N,) states of answers that were all requested: `NO_ANSWER` for None.

    Example:
        >>> states_of(["a", None]).tolist()
        [0, 1]
    """
    return np.array([NO_ANSWER if answer is None else ANSWERED for answer in answers], dtype=np.int64)


def require_task(task: Task, kind: type[T], answers: str, model: str) -> T:
    """Return the task of a model that answers to tasks of one kind.

    Args:
        kind: class of the model's tasks.
        answers: of the model, for the message.

    Raises:
        LabelError: the task is of another kind.
    """
    if isinstance(task, kind):
        return task
    judged = f"answers to {task.name} are judged by {task.metric}"
    raise LabelError.of(model, f"is for answers that are {answers}, and {judged}")


class Predictions(Protocol):
    """Answers of a model to N examples: answer n is to example n of the request.

    Attributes:
        kind: of the answers, by which `answer_class` finds their class: "classes", ...
    """

    kind: ClassVar[str]

    @property
    def state(self) -> Ints:
        """(N,) `ANSWERED`, `NO_ANSWER`, `ERROR` or `MISSING`."""

    def __len__(self) -> int: ...

    def part(self, places: Sequence[int] | Ints) -> Self:
        """Return some of the answers, in any order."""

    def answers(self) -> Sequence[Any] | None:
        """Return the answers row by row, for `Task.show`, None for a row without one; None if they are not stored."""

    def columns(self) -> Mapping[str, Any]:
        """Return the answers by name, for storage: arrays of numbers whose first axis is N, or pyarrow's own, (N,)."""

    def probabilities(self) -> Floats | None:
        """Return (N, C) probabilities of the labels, nan without an answer; None where answers have none."""

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any]) -> Self:
        """Return the answers of `columns`; raises a KeyError, TypeError or ValueError for those of other answers."""

    @classmethod
    def joined(cls, blocks: Sequence[Self]) -> Self:
        """Join several blocks of answers."""


def failures_as_wrong(answers: P) -> tuple[P, tuple[str, ...]]:
    """Return answers of which those that failed count as wrong, and a note on how many these are; none without."""
    failed = int((answers.state == ERROR).sum())
    if not failed:
        return answers, ()
    state = np.where(answers.state == ERROR, NO_ANSWER, answers.state)
    counts = (
        f"{failed:,} answers failed or were not scored, and count"
        if failed > 1
        else "1 answer failed or was not scored, and counts"
    )
    return type(answers).of_columns({**answers.columns(), "state": state}), (f"{counts} as wrong by `errors`",)


class Task(Protocol):
    """Task of the models: the meaning of cells of files, and the scores of answers.

    Code for models and rows of any kind uses only this. `ranker.tasks.classes.ClassificationTask` adds the properties
    of labels (their names, the shortcut's label).
    """

    answers: ClassVar[str]

    @property
    def name(self) -> str:
        """Name of the task, by which suites and rows refer to it."""

    @property
    def metric(self) -> str:
        """Name of an outcome, and of its column in tables: one word: "ACC", "EXACT-MATCH"."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the numbers of an answer that words can be attributed: the labels. Where answers are no labels, one
        number of the model's own answer, or () for none. The name states the rule, and is in the key of the store.
        """

    def target_of(self, cell: Any, segments: Sequence[str] = ()) -> Any:
        """Return the correct answer of a row from a cell of its file: `Example.target`, which hashes.

        Args:
            segments: the texts of the row; () where they are not known.

        Raises:
            ValueError: the cell holds no target.
        """

    def cell_of(self, target: Any) -> str:
        """Return a target as the cell of a file, from which `target_of` reads it."""

    def answer_of(self, cell: Any, segments: Sequence[str] = ()) -> Any:
        """Return a model's answer to a row from a cell of its file, or raise a ValueError; see `target_of`."""

    def predictions(self, answers: Sequence[Any], state: Ints | None = None) -> Predictions:
        """Return answers from values of `answer_of`, None for a row without one.

        Args:
            answers: (N,) one of each row.
            state: (N,) their states; None where all were requested.
        """

    def notes(self, values: Sequence[Any]) -> tuple[str, ...]:
        """Return notes on answers, or targets, that were read from a file: None for a row without one."""

    def show(self, answer: Any, segments: Sequence[str] = ()) -> str:
        """Return an answer, or a target, as text for reports.

        Args:
            segments: the texts of the row, from which parts of the answer may be quoted.
        """

    def judged_by(self, name: str) -> Self:
        """Return the task with the outcome of that name; itself where that is a metric of all rows together, or ""."""

    def metric_named(self, name: str) -> Metric | None:
        """Return the metric of that name, or the task's own for ""; None where that is the mean of an outcome.

        Raises:
            UsageError: there is no such metric of these answers.
        """

    def metric_inputs(self, answers: Predictions, examples: Sequence[Example]) -> tuple[Any, Any]:
        """Return N answers and N targets for `Metric.statistics`; raises a LabelError if the answers lack them."""

    def outcomes(self, answers: Predictions, examples: Sequence[Example]) -> Floats:
        """Return (N,) scores of the answers, in [0, 1].

        A requested answer that was not given is 0; a missing or failed answer, and an example without a known truth,
        is nan.

        Raises:
            TypeError: the task does not score answers of this kind.
        """

    def identity(self) -> Mapping[str, Any]:
        """Return its part of the store's key, as plain JSON: all of it that affects a model's answers."""


ANSWERS = {
    "classes": "ranker.tasks.classes:ClassProbabilities",
    "scores": "ranker.tasks.precomputed:PrecomputedScores",
    "tags": "ranker.tasks.tags:TagAnswers",
    "texts": "ranker.tasks.texts:TextAnswers",
    "numbers": "ranker.tasks.numbers:NumberAnswers",
    "rankings": "ranker.tasks.rankings:RankingAnswers",
    "label-sets": "ranker.tasks.label_sets:LabelSetAnswers",
}
"""Built-in kinds of answers: kind -> class."""

ANSWERS_GROUP = "rank_models.answers"
"""Entry point group of packages with kinds of answers: the name of an entry point is its kind."""


def answer_class(kind: str) -> type[Predictions]:
    """Find the class of a kind of answers.

    Raises:
        UsageError: a package gives another object than the class of that kind.

    Example:
        >>> answer_class("classes").__name__
        'ClassProbabilities'
    """
    place = ANSWERS.get(kind, "")
    if not place:
        added = {entry.name: entry.value for entry in metadata.entry_points(group=ANSWERS_GROUP)}
        place = look_up("kind of answers", kind, ANSWERS | added)
    module, _, name = place.partition(":")
    loaded = getattr(import_module(module), name, None)
    if getattr(loaded, "kind", None) != kind or not hasattr(loaded, "of_columns"):
        raise UsageError.at(place, f"it must be the class of the answers called {kind!r}", value=kind)
    return cast("type[Predictions]", loaded)
