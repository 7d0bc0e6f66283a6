"""Tasks whose answer is one of a few labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self, TypeGuard

import numpy as np

from factors.types import Example, Floats, Frozen, Ints
from ranker.errors import LabelError, UnknownName, UsageError, find_repeat, listed
from ranker.tasks import metrics
from ranker.tasks.base import ANSWERED, MISSING, NO_ANSWER, Predictions, Task, require_task, states_of
from ranker.tasks.metrics import LabelScore, Metric
from ranker.tasks.names import NameIndex, are_counted, fold, in_scale_order, is_number, number_of, spelled, with_numbers


class LabelledTask:
    """Base class of tasks with one outcome, whose targets are labels."""

    labels: tuple[str, ...]

    def cell_of(self, target: int) -> str:
        """Return the name of a label, from which `target_of` reads it."""
        return self.labels[target]

    def notes(self, values: Sequence[Any]) -> tuple[str, ...]:
        """Return (): how labels were read is told elsewhere. See `ranker.tasks.base.Task`."""
        return ()

    def judged_by(self, name: str) -> Self:
        """Return the task itself, which has one outcome. See `ranker.tasks.base.Task`."""
        return self

    def metric_inputs(self, answers: Predictions, examples: Sequence[Example]) -> tuple[Ints, Ints]:
        """Return (N,) predicted labels, -1 for none, and (N,) true ones: see `ranker.tasks.base.Task`."""
        return predicted_labels(answers), labels_of(examples)


@dataclass(frozen=True)
class ClassificationTask(LabelledTask):
    """Task with a fixed set of labels. Labels that differ in case alone are two labels, and so are "+" and "-".

    Attributes:
        name: "nli", "paraphrase", ...: suites refer to it.
        labels: (C,) in class order; `Example.target` is an index into it. In a binary task class 1 is the positive one.
        aliases: label -> other names of it, in files and in the configurations of checkpoints. Several of a
            checkpoint's labels may be aliases of one label: their probabilities add up.
        shortcut: the label that the shortcut predicts; None where there is none.
        evidence: the label that the right evidence (the marked words) supports; None where it depends on the row.
        ordered: whether the user chose the labels' order, so that numbers can stand for them; else it is alphabetical.
        numbers: the labels that 0, 1, ... stand for in files of answers, as the rows' file states; empty for their
            order.

    Raises:
        ValueError: fewer than two labels, a name that stands for two of them, or an alias of no label.

    Example:
        >>> aliases = {"non-entailment": ("neutral", "contradiction")}
        >>> task = ClassificationTask("nli", ("non-entailment", "entailment"), aliases)
        >>> task.index("Neutral"), task.index("entailment"), task.index("maybe")
        (0, 1, None)
    """

    answers: ClassVar[str] = "classes"

    name: str
    labels: tuple[str, ...]
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shortcut: int | None = None
    evidence: int | None = None
    ordered: bool = True
    numbers: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if len(self.labels) < 2:
            raise ValueError(f"a task needs at least two labels (got {list(self.labels)})")
        for label in self.aliases:
            if label not in self.labels:
                raise UnknownName("label with aliases", label, self.labels)
        folded = {*map(fold, self.labels)}
        aliases = [fold(alias) for names in self.aliases.values() for alias in names]
        twice = find_repeat([*map(spelled, self.labels)]) or find_repeat([*folded, *aliases])
        if twice is not None:
            raise ValueError(f"the label name {twice!r} is given twice")
        object.__setattr__(self, "aliases", Frozen(self.aliases))

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """(C,) labels that 0, 1, ... stand for; () if that is not known.

        Labels in no stated order are counted only if they are two that name the ends of a scale.

        Example:
            >>> [ClassificationTask("own", names, ordered=False).counted for names in (("no", "yes"), ("a", "b"))]
            [('no', 'yes'), ()]
        """
        stated = self.ordered or all(map(is_number, self.labels))
        names = self.numbers or (self.labels if stated else in_scale_order(self.labels))
        return names if are_counted(names) else ()

    @property
    def metric(self) -> str:
        """Name of the mean outcome, the accuracy."""
        return "ACC"

    def outcomes(self, answers: Predictions, examples: Sequence[Example]) -> Floats:
        """Return (N,) 1 where the most probable label is the true one, else 0: see `ranker.tasks.base.Task`.

        Example:
            >>> answers = ClassProbabilities(np.array([[0.2, 0.8], [0.6, 0.4], [0.1, 0.9]]))
            >>> rows = [Example("1", ("a",), 1), Example("2", ("b",), 1), Example("3", ("c",), None)]
            >>> ClassificationTask("mood", ("bad", "good")).outcomes(answers, rows).tolist()
            [1.0, 0.0, nan]
        """
        if not isinstance(answers, ClassProbabilities):
            raise TypeError(f"the task {self.name} judges classes (got {answers.kind})")
        labels = labels_of(examples)
        right = (answers.predicted == labels) & (labels >= 0)
        judged = (labels >= 0) & (answers.state <= NO_ANSWER)
        return np.where(judged, right.astype(np.float64), np.nan)

    def target_of(self, cell: Any, segments: Sequence[str] = ()) -> int:
        """Return the class of a cell, by name, alias or number.

        Raises:
            ValueError: it is no label of the task.

        Example:
            >>> task = ClassificationTask("mood", ("bad", "good"))
            >>> task.target_of("Good"), task.target_of("1"), task.target_of(0)
            (1, 1, 0)
        """
        label, number = self.index(str(cell)), number_of(cell)
        if label is None and number is not None:  # 1.0 is the label "1", if there is one
            label = self.index(str(number))
        if label is None and number is not None and 0 <= number < len(self.counted):
            label = self.index(self.counted[number])
        if label is None:
            labels = with_numbers(self.counted) if self.counted else listed(self.labels)
            raise ValueError(f"a label must be one of {labels} or an alias (got {str(cell)[:50]!r})")
        return label

    def answer_of(self, cell: Any, segments: Sequence[str] = ()) -> int:
        """Return the class of an answer's cell: see `target_of`."""
        return self.target_of(cell)

    def predictions(self, answers: Sequence[int | None], state: Ints | None = None) -> ClassProbabilities:
        """Return answers as probabilities, 1 for the label that was given.

        Example:
            >>> ClassificationTask("mood", ("bad", "good")).predictions([1, None]).probs.tolist()
            [[0.0, 1.0], [nan, nan]]
        """
        rows = [np.full(len(self.labels), np.nan), *np.eye(len(self.labels))]
        probs = np.array([rows[0 if answer is None else answer + 1] for answer in answers])
        return ClassProbabilities(probs.reshape(-1, len(self.labels)), states_of(answers) if state is None else state)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The labels. See `ranker.tasks.base.Task`."""
        return self.labels

    def show(self, answer: int, segments: Sequence[str] = ()) -> str:
        """Return the name of a label."""
        return self.labels[answer]

    def metric_named(self, name: str) -> metrics.Metric | None:
        """Return the metric of that name; None for accuracy, the mean outcome: see `ranker.tasks.base.Task`."""
        if name.casefold() in ("", "acc", "accuracy"):
            return None
        return metrics.metric_named(name, self.labels, self.ordered)

    def identity(self) -> dict[str, Any]:
        """Return the labels, in the order of the probabilities, and their aliases, which identify outputs."""
        return {"labels": [[label, sorted(self.aliases.get(label, ()))] for label in self.labels]}

    def index(self, name: str) -> int | None:
        """Return the class of a label name, or an alias; None if it is no name of this task.

        An exact name goes first. Else case does not matter, and "_", "-" and a blank are the same, where no second
        label could be meant.

        Example:
            >>> task = ClassificationTask("nli", ("non-entailment", "entailment"), {"non-entailment": ("neutral",)})
            >>> task.index("ENTAILMENT"), task.index("non_entailment"), task.index("neutral"), task.index("LABEL_0")
            (1, 0, 0, None)
        >>> task = ClassificationTask("answers", ("yes", "YES", "-", "+"))
        >>> task.index("YES"), task.index("Yes"), task.index("-"), task.index("")
        (1, None, 2, None)
        """
        return self._names.find(name)

    @cached_property
    def _names(self) -> NameIndex:
        return NameIndex((n, i) for i, label in enumerate(self.labels) for n in (label, *self.aliases.get(label, ())))


def has_labels(task: Task) -> TypeGuard[ClassificationTask]:
    """Return whether the answers to a task are labels."""
    return isinstance(task, ClassificationTask)


def are_classes(answers: Predictions) -> TypeGuard[ClassProbabilities]:
    """Return whether answers are probabilities of labels, not scores of judged answers."""
    return isinstance(answers, ClassProbabilities)


def require_labels(task: Task, model: str) -> ClassificationTask:
    """Return the task, for a model that answers with classes."""
    return require_task(task, ClassificationTask, "labels", model)


def metric_by(task: Task, metric: str | LabelScore) -> Metric | None:
    """Return the metric of a name, or of a function of one's own for labels; None for the mean of an outcome.

    Raises:
        UsageError: there is no such metric, or the answers have no labels.
    """
    if not callable(metric):
        return task.metric_named(metric)
    if not label_names(task):
        text = f"{metric.__name__} reads how labels are confused, and answers to {task.name} are none"
        raise UsageError.about("metric", text, metric.__name__)
    return metrics.confusion_metric(metric, label_names(task))


def label_names(task: Task) -> tuple[str, ...]:
    """Return (C,) names of a task's labels; none where answers are of another kind."""
    return getattr(task, "labels", ())


def labels_of(examples: Sequence[Example]) -> Ints:
    """Return (N,) true labels of examples; -1 where unknown.

    Example:
        >>> labels_of([Example("1", ("a",), 1), Example("2", ("b",))]).tolist()
        [1, -1]
    """
    return np.array([-1 if example.target is None else example.target for example in examples], dtype=np.int64)


def predicted_labels(answers: Predictions) -> Ints:
    """Return (N,) most probable labels, of equals the first, -1 for none; raises a LabelError without labels."""
    probs = answers.probabilities()
    if probs is None:
        raise LabelError("the answers say how good they are, and not which label they give")
    valid = (answers.state == ANSWERED) & ~np.isnan(probs).any(axis=1)
    return np.where(valid, probs.argmax(axis=1), -1)


def given_labels(answers: Predictions) -> list[int | None]:
    """Return the predicted labels, row by row; None where there is no answer."""
    return [None if label < 0 else label for label in predicted_labels(answers).tolist()]


def softmax(logits: Floats) -> Floats:
    """Return (R, C) probabilities of (R, C) logits."""
    with np.errstate(over="ignore"):  # finite ones that are too far apart: a probability of 0
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class ClassProbabilities:
    """Probabilities of the classes for N examples; a `ranker.tasks.base.Predictions`.

    Attributes:
        probs: (N, C) in the order of the task's labels; a row of nan where there is no answer. Read-only.
        state: (N,) the states of the answers; all are given if it is left out. Read-only.

    Raises:
        ValueError: the shapes do not agree, a state is none, or an answer has numbers that are not finite.

    Example:
        >>> two = ClassProbabilities(np.array([[0.2, 0.8], [0.6, 0.4]]))
        >>> two.predicted.tolist(), len(two.part([1])), two.state.tolist()
        ([1, 0], 1, [0, 0])
    """

    kind: ClassVar[str] = "classes"

    probs: Floats
    state: Ints = None  # type: ignore[assignment]  # filled in below

    def __post_init__(self) -> None:
        if self.state is None:
            object.__setattr__(self, "state", np.full(len(self.probs), ANSWERED))
        if self.probs.ndim != 2 or self.state.shape != self.probs.shape[:1]:
            shapes = f"{self.probs.shape} and {self.state.shape}"
            raise ValueError(f"probs and state must have the shapes (N, C) and (N,) (got {shapes})")
        wrong = self.state[(self.state < ANSWERED) | (self.state > MISSING)]
        if len(wrong):
            raise ValueError(f"a state must be between {ANSWERED} and {MISSING} (got {wrong[0]})")
        if not (np.isfinite(self.probs).all(axis=1) | (self.state != ANSWERED)).all():
            raise ValueError("the model gives numbers that are not finite")
        for array in (self.probs, self.state):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.probs)

    @classmethod
    def of_outputs(cls, probs: Floats) -> Self:
        """Return answers from (N, C) probabilities of attributions, nan where an answer has nothing to attribute."""
        return cls(probs, np.where(np.isnan(probs).any(axis=1), NO_ANSWER, ANSWERED))

    @cached_property
    def predicted(self) -> Ints:
        """(N,) the label of the highest probability; of equals, the first; -1 where there is no answer."""
        return predicted_labels(self)

    def part(self, places: Sequence[int] | Ints) -> Self:
        """Return some of the answers, in any order."""
        indices = np.asarray(places, dtype=np.int64)
        return type(self)(self.probs[indices], self.state[indices])

    def answers(self) -> list[int | None]:
        """Return the predicted labels; None where there is no answer."""
        return given_labels(self)

    def columns(self) -> dict[str, np.ndarray]:
        """Return the answers by the name of their column: see `of_columns`."""
        return {"state": self.state, "probs": self.probs}

    def probabilities(self) -> Floats:
        """Return (N, C) probabilities: `probs`."""
        return self.probs

    @classmethod
    def of_columns(cls, columns: Mapping[str, np.ndarray]) -> Self:
        """Return the answers of `columns`."""
        return cls(columns["probs"], columns["state"])

    @classmethod
    def joined(cls, blocks: Sequence[Self]) -> Self:
        """Join several blocks of answers.

        Example:
            >>> first, second = ClassProbabilities(np.array([[0.2, 0.8]])), ClassProbabilities(np.eye(2))
            >>> len(ClassProbabilities.joined([first, second]))
            3
        """
        if len(blocks) == 1:
            return blocks[0]
        return cls(np.concatenate([block.probs for block in blocks]), np.concatenate([block.state for block in blocks]))
