"""Metrics of a set of answers, including those that are no mean over rows (F1, MCC, kappa, correlations).

Every metric here is a function of means. A row adds k numbers, its statistics; their means over the rows, weighted or
not, give the value. Accuracy is the mean of one statistic, 1 for a right answer. F1 is a function of three means for
each label: the shares of rows where both label and answer, the answer, and the label are it. So any weights of rows
give a value, as draws of rows and of weights need (`ranker.statistics.resampling`).

Axis letters: N rows, C labels, k statistics, R kinds of rows.

    labels of answers and rows  -> `of_labels`: counts (N, 3 C) of right answers, of answers and of labels
    numbers                     -> `of_numbers`: moments (N, 5), or sizes of errors (N, 1)

Sources: the pair of a function of a row and one of a set: lighteval, `SampleLevelMetric` and `CorpusLevelMetric`;
torchmetrics, `update` and `compute`. Functions of means and their bootstrap: Hall 1992, "The bootstrap and Edgeworth
expansion", section 2.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from factors.types import Floats, Ints
from ranker.errors import UnknownName, UsageError, look_up
from ranker.tasks.names import NameIndex

NO_SPREAD = 1e-12
"""Shares and variances (of numbers in their standard deviations) up to this are 0 but for rounding."""

FARTHEST = 1e4
"""Most standard deviations of answers from the targets on average: a correlation is then off by 1e-7 at most."""

SHARE = (0.0, 1.0)
CORRELATION = (-1.0, 1.0)

LabelScore = Callable[[Floats], float]
"""(C, C + 1) shares of rows with each true label and each answer, the last column for none -> a value, in [0, 1] unless
the function has a `range`; higher is better unless its `lower_is_better` is true."""

Values = Callable[[Floats], Floats]
"""(..., k) means of statistics -> (...) values."""


class MatchedStatistics(NamedTuple):
    """Statistics by which the likeness of answers tells a metric of all rows together.

    Attributes:
        matched: places of the statistics that answer and target give together; the others follow from one of them.
        of_targets: places of those that targets give alone.
        seconds: about how long the statistics of a pair take.
    """

    matched: tuple[int, ...]
    of_targets: tuple[int, ...]
    seconds: float


class Metric(Protocol):
    """Metric of a set of answers."""

    @property
    def name(self) -> str:
        """Name of the metric: "macro-f1", "f1:yes"."""

    @property
    def higher_is_better(self) -> bool:
        """True if higher values are better."""

    @property
    def range(self) -> tuple[float, float]:
        """Least and greatest value."""

    def statistics(self, answers: Any, targets: Any) -> Floats:
        """Return (N, k) statistics of the rows; a row of nan where there is nothing to judge."""

    def value(self, means: Floats) -> Floats:
        """Return (...) values of (..., k) means of statistics, for any weights of rows."""

    def unseen(self, targets: Any) -> Floats | None:
        """Return (2, R, k) statistics of R kinds of rows that may be missing: answered rightly, and wrongly.

        It is None where a wrong answer can be wrong by any amount.
        """

    def by_label(self) -> Floats | None:
        """Return (C + 1, C, k) statistics of a row with each answer (the last: none) and each label.

        It is None where a row's statistics are not known from these two.
        """


@dataclass(frozen=True)
class LabelMetric:
    """Metric of labels; a `Metric`.

    A requested answer that was not given (-1) is wrong, and counts for none of the labels, like an extra label that no
    row has.

    Attributes:
        of_row: (N,) answers, (N,) targets and C -> (N, k) statistics.
        of_means: (..., k) means of statistics -> (...) values.

    Example:
        >>> metric = metric_named("macro-f1", ("no", "yes"))
        >>> answers, targets = np.array([0, 1, 1, -1]), np.array([0, 1, 0, 1])
        >>> rows = metric.statistics(answers, targets)
        >>> halves = np.average(rows, axis=0, weights=[1, 1, 0, 0])
        >>> round(float(metric.value(rows.mean(axis=0))), 2), round(float(metric.value(halves)), 9)
        (0.58, 1.0)
    """

    name: str
    labels: int
    of_row: Callable[[Ints, Ints, int], Floats]
    of_means: Values
    range: tuple[float, float] = SHARE
    higher_is_better: bool = True

    def statistics(self, answers: Ints, targets: Ints) -> Floats:
        """Compute (N, k) statistics of the rows, nan where there is nothing to judge.

        Args:
            answers: (N,) the predicted labels, from 0 to C - 1; -1 for a requested answer that was not given.
            targets: (N,) the true labels; -1 where there is nothing to judge: the truth is unknown, or the answer is
                missing or failed.

        Raises:
            ValueError: shapes do not agree, or a label is none of the C.
        """
        _check_shapes(answers, targets)
        _check_labels(answers, self.labels)
        _check_labels(targets, self.labels)
        rows = self.of_row(answers, targets, self.labels)
        rows[targets < 0] = np.nan
        return rows

    def value(self, means: Floats) -> Floats:
        """Return (...) values of (..., k) means of statistics."""
        return self.of_means(means)

    def unseen(self, targets: Ints) -> Floats:
        """Return (2, R, k) a row of each label that occurs, answered rightly, and by each other label or none."""
        occurring = np.unique(targets[targets >= 0])
        label, wrong = (grid.ravel() for grid in np.meshgrid(occurring, np.append(occurring, -1), indexing="ij"))
        label, wrong = label[label != wrong], wrong[label != wrong]
        return np.stack([self.of_row(answer, label, self.labels) for answer in (label, wrong)])

    def by_label(self) -> Floats:
        """Return (C + 1, C, k) statistics of a row with each answer (the last: none) and each label."""
        answers = np.append(np.arange(self.labels), -1)
        rows = self.statistics(np.repeat(answers, self.labels), np.tile(np.arange(self.labels), len(answers)))
        return rows.reshape(len(answers), self.labels, -1)


@dataclass(frozen=True, kw_only=True)
class ValueMetric:
    """Base class of metrics of values that are no labels, and that can be wrong in any number of ways."""

    range: tuple[float, float] = SHARE
    higher_is_better: bool = True

    def unseen(self, targets: Any) -> Floats | None:
        """Return None. See `Metric`."""
        return None

    def by_label(self) -> Floats | None:
        """Return None. See `Metric`."""
        return None


@dataclass(frozen=True)
class ItemF1(ValueMetric):
    """F1 of the items of answers and targets, such as spans, over all rows together (micro-averaged); a `Metric`.

    An item is right where the target of the same row has it, too. An answer that was not given has none.

    Attributes:
        items: an answer, or a target -> the set of its items.

    Source: Tjong Kim Sang, De Meulder 2003, "Introduction to the CoNLL-2003 shared task", section 2.4, of named spans.

    Example:
        >>> metric = ItemF1("letter-f1", set)
        >>> rows = metric.statistics(["ab", None], ["ac", "a"])
        >>> rows.tolist(), round(float(metric.value(rows.mean(axis=0))), 2)
        ([[1.0, 2.0, 2.0], [0.0, 0.0, 1.0]], 0.4)
    """

    name: str
    items: Callable[[Any], Set[Any]]

    def statistics(self, answers: Sequence[Any], targets: Sequence[Any]) -> Floats:
        """Return (N, 3) numbers of right items, of answered items and of the target's items."""
        rows = []
        for answer, target in zip(answers, targets, strict=True):
            predicted, true = set() if answer is None else self.items(answer), self.items(target)
            rows.append((len(predicted & true), len(predicted), len(true)))
        return np.array(rows, dtype=np.float64).reshape(len(rows), 3)

    def value(self, means: Floats) -> Floats:
        """Return (...) F1 of (..., 3) means; 0 where there are no items. See `micro_f1_of`."""
        return micro_f1_of(means)


@dataclass(frozen=True)
class NumberMetric(ValueMetric):
    """Metric of numbers, or of labels that stand for numbers; a `Metric`.

    No number stands for a requested answer that was not given, so such answers are refused.

    Attributes:
        of_row: (n,) answers and (n,) targets that are numbers -> (n, k) statistics.
        of_means: (..., k) means of statistics -> (...) values.
        numbers: (C,) the labels' numbers; none where answers and targets are numbers themselves.

    Example:
        >>> metric = metric_named("mae", ("1", "2", "5"))
        >>> rows = metric.statistics(np.array([0, 1, 2]), np.array([0, 2, 1]))
        >>> float(metric.value(rows.mean(axis=0)))
        2.0
    """

    name: str
    of_row: Callable[[Floats, Floats], Floats]
    of_means: Values
    numbers: tuple[float, ...] = ()

    def statistics(self, answers: Ints | Floats, targets: Ints | Floats) -> Floats:
        """Compute (N, k) statistics of the rows, nan where there is nothing to judge.

        Args:
            answers: (N,) numbers, nan for a requested answer that was not given; or labels, and -1.
            targets: (N,) numbers, nan where there is nothing to judge; or labels, and -1.

        Raises:
            ValueError: shapes do not agree, or a number is infinite.
            UsageError: answers were not given, or (of a correlation) are farther than `FARTHEST` from the targets.
        """
        _check_shapes(answers, targets)
        predicted, true = self._as_numbers(answers), self._as_numbers(targets)
        judged = ~np.isnan(true)
        if silent := int(np.isnan(predicted[judged]).sum()):
            raise UsageError.about(
                "metric",
                f"{self.name} has no number for an answer that was not given ({silent:,} of {judged.sum():,} "
                "rows); leave these rows out, or name a metric of labels",
                self.name,
            )
        judged_rows = self.of_row(predicted[judged], true[judged])
        rows = np.full((len(true), judged_rows.shape[1]), np.nan)
        rows[judged] = judged_rows
        return rows

    def value(self, means: Floats) -> Floats:
        """Return (...) values of (..., k) means of statistics."""
        return self.of_means(means)

    def _as_numbers(self, values: Ints | Floats) -> Floats:
        """Return (N,) numbers; nan for -1."""
        if self.numbers:
            _check_labels(values, len(self.numbers))
            return np.array([*self.numbers, np.nan])[values]
        if np.isinf(values).any():
            raise ValueError("a number must be finite")
        return np.asarray(values, dtype=np.float64)


def metric_named(name: str, labels: Sequence[str] = (), ordered: bool = False) -> Metric:
    """Return the metric of a name.

    `f1:LABEL` is the F1 of one label, and `f1` that of the positive one of two. `pearson`, `spearman` and `mae` read
    labels that are numbers as these, and ordered labels as 0, 1, 2 ...

    Args:
        name: one of `METRICS`, in any case, or `f1:LABEL`.
        labels: (C,) the task's, in its order; none where answers are numbers.
        ordered: whether the user gave the labels this order.

    Raises:
        UnknownName: there is no such metric, or no such label.

    Example:
        >>> metric_named("MCC", ("no", "yes")).name, metric_named("f1:no", ("no", "yes")).name
        ('mcc', 'f1:no')
        >>> metric_named("f1", ("a", "b", "c"))
        Traceback (most recent call last):
        ranker.errors.UsageError: `metric` f1 is of one label, and there are 3: name it, as in f1:a, or take macro-f1
    """
    kind, colon, label = name.partition(":")
    if colon and kind.casefold() == F1:
        index = NameIndex((name, n) for n, name in enumerate(labels)).find(label)
        if index is None:
            raise UnknownName("label", label, labels)
        return _f1_of(labels, index, f"{F1}:{labels[index]}")
    name = look_up("metric", name, dict(zip(METRICS, METRICS, strict=True)))
    if name in OF_NUMBERS:
        return replace(OF_NUMBERS[name], numbers=_numbers(name, labels, ordered))
    if not labels:
        raise UsageError.about("metric", f"{name} is of labels, and these answers are none", name)
    if name != F1:
        return LabelMetric(name, len(labels), *OF_LABELS[name])
    if len(labels) != 2:
        text = f"{F1} is of one label, and there are {len(labels)}: name it, as in {F1}:{labels[0]}, or take macro-f1"
        raise UsageError.about("metric", text, F1)
    return _f1_of(labels, 1, F1)


def confusion_metric(score: LabelScore, labels: Sequence[str]) -> LabelMetric:
    """Return the metric of a function of one's own: of the confusion matrix, in shares of rows.

    Example:
        >>> def worst_recall(confusion):
        ...     recalls = confusion.diagonal() / confusion.sum(axis=1).clip(1e-12)
        ...     return recalls.min()
        >>> metric = confusion_metric(worst_recall, ("no", "yes"))
        >>> rows = metric.statistics(np.array([0, 1, 1, -1]), np.array([0, 1, 0, 1]))
        >>> metric.name, float(metric.value(rows.mean(axis=0)))
        ('worst_recall', 0.5)
    """
    low, high = getattr(score, "range", SHARE)
    better = not getattr(score, "lower_is_better", False)
    of_means = partial(_of_confusion, score=score, labels=len(labels), bounds=(low, high))
    return LabelMetric(score.__name__, len(labels), _confused, of_means, (low, high), better)


def _confused(answers: Ints, targets: Ints, labels: int) -> Floats:
    """Return (N, C (C + 1)) in which cell of the confusion matrix each row is."""
    cells = np.where(targets < 0, 0, targets) * (labels + 1) + np.where(answers < 0, labels, answers)
    return np.asarray(cells[:, None] == np.arange(labels * (labels + 1)), dtype=np.float64)


def _of_confusion(means: Floats, score: LabelScore, labels: int, bounds: tuple[float, float]) -> Floats:
    """Return (...) values of (..., C (C + 1)) means; the function sees one matrix at a time."""
    matrices = np.asarray(means).reshape(-1, labels, labels + 1)
    values = np.array([float(score(matrix)) for matrix in matrices])
    if wrong := [value for value in values.tolist() if not bounds[0] - 1e-9 <= value <= bounds[1] + 1e-9]:
        text = (
            f"{score.__name__} gives {wrong[0]:g}, and must lie between {bounds[0]:g} and {bounds[1]:g} (its `range`)"
        )
        raise UsageError.about("metric", text, wrong[0])
    return values.reshape(np.shape(means)[:-1])


def is_metric(name: str) -> bool:
    """Return whether `metric_named` has a metric of such a name, for some labels.

    Example:
        >>> is_metric("MCC"), is_metric("f1:yes"), is_metric("exact_match")
        (True, True, False)
    """
    return name.casefold() in METRICS or name.casefold().startswith(f"{F1}:")


def macro_f1_of(means: Floats) -> Floats:
    """Return the mean F1 of the labels that occur, as a label or as an answer, on a row with a weight above 0.

    F1 of label c is 2 t_c / (p_c + l_c): t_c the share of rows where label and answer are c, p_c where the answer is,
    l_c where the label is. A label that occurs as neither does not count.

    Args:
        means: (..., 3 C) t, p and l.

    Example:
        >>> macro_f1_of(np.array([[2, 1, 0, 3, 1, 0, 2, 2, 0]]) / 4).round(3).tolist()
        [0.733]

    Source: Yang 1999, "An evaluation of statistical approaches to text categorization"; which of two definitions:
    Opitz and Burst 2019, "Macro F1 and macro F1".
    """
    right, predicted, true = _parts(means)
    occurs = predicted + true > 0
    return _ratio(_ratio(2 * right, predicted + true).sum(axis=-1), occurs.sum(axis=-1).astype(np.float64))


def micro_f1_of(means: Floats) -> Floats:
    """Return F1 of all labels together, 2 sum t / (sum p + sum l); accuracy, where every row has an answer.

    Example:
        >>> micro_f1_of(np.array([1, 1, 1, 1, 2, 2]) / 4)  # two of four rows have no answer, two are right
        array(0.66666667)
    """
    right, predicted, true = (part.sum(axis=-1) for part in _parts(means))
    return _ratio(2 * right, predicted + true)


def weighted_f1_of(means: Floats) -> Floats:
    """Return the mean of the labels' F1, each weighed by the number of rows with the label."""
    right, predicted, true = _parts(means)
    return _ratio((_ratio(2 * right, predicted + true) * true).sum(axis=-1), true.sum(axis=-1))


def f1_of(means: Floats, label: int) -> Floats:
    """Return F1 of one label; 0 where no row has it as label or answer.

    Source: van Rijsbergen 1979, "Information retrieval", chapter 7.
    """
    right, predicted, true = (part[..., label] for part in _parts(means))
    return _ratio(2 * right, predicted + true)


def balanced_accuracy_of(means: Floats) -> Floats:
    """Return the mean recall, t_c / l_c, of the labels of rows with a weight above 0.

    Source: Brodersen, Ong, Stephan, Buhmann 2010, "The balanced accuracy and its posterior distribution".
    """
    right, _, true = _parts(means)
    return _ratio(_ratio(right, true).sum(axis=-1), (true > 0).sum(axis=-1).astype(np.float64))


def mcc_of(means: Floats) -> Floats:
    """Return Matthews' correlation of labels and answers, for any number of labels; 0 where either are all the same.

    (t - sum p_c l_c) / sqrt((1 - sum p_c^2) (1 - sum l_c^2)), t the share of right answers; p has one part more, the
    rows without an answer.

    Source: Matthews 1975, "Comparison of the predicted and observed secondary structure of T4 phage lysozyme"; of many
    labels: Gorodkin 2004, "Comparing two K-category assignments by a K-category correlation coefficient".
    """
    right, predicted, true = _parts(means)
    rows = true.sum(axis=-1)
    silent = rows - predicted.sum(axis=-1)
    spread_given = rows**2 - (predicted**2).sum(axis=-1) - silent**2
    spread_true = rows**2 - (true**2).sum(axis=-1)
    together = right.sum(axis=-1) * rows - (predicted * true).sum(axis=-1)
    return _over_spreads(together, spread_given, spread_true)


def kappa_of(means: Floats) -> Floats:
    """Return Cohen's kappa, (t - e) / (1 - e), e = sum p_c l_c the agreement by chance; 0 where e is 1.

    Source: Cohen 1960, "A coefficient of agreement for nominal scales".
    """
    right, predicted, true = _parts(means)
    chance = (predicted * true).sum(axis=-1)
    room = true.sum(axis=-1) ** 2 - chance
    return _ratio(right.sum(axis=-1) * true.sum(axis=-1) - chance, np.where(room > NO_SPREAD, room, 0.0))


F1 = "f1"


def _f1_of(labels: Sequence[str], index: int, name: str) -> LabelMetric:
    return LabelMetric(name, len(labels), _counts, partial(f1_of, label=index))


def _numbers(name: str, labels: Sequence[str], ordered: bool) -> tuple[float, ...]:
    """Return (C,) numbers of labels; none for no labels."""
    try:
        numbers = tuple(map(float, labels))
    except ValueError:
        numbers = (math.nan,)
    if all(map(math.isfinite, numbers)):
        return numbers
    if not ordered:
        raise UsageError.about("metric", f"{name} is of numbers, and the labels are no numbers and have no order", name)
    return tuple(map(float, range(len(labels))))


def _check_shapes(answers: Ints | Floats, targets: Ints | Floats) -> None:
    if answers.ndim != 1 or answers.shape != targets.shape:
        raise ValueError(f"answers and targets must have the shape (N,) (got {answers.shape} and {targets.shape})")


def _check_labels(array: Ints | Floats, labels: int) -> None:
    if len(array) and (array.min() < -1 or array.max() >= labels):
        raise ValueError(f"a label must be from -1 to {labels - 1} (got {array.min()} to {array.max()})")


def _right(answers: Ints, targets: Ints, labels: int) -> Floats:
    """Return (N, 1) whether the answer is right."""
    return np.asarray(answers == targets, dtype=np.float64)[:, None]


def _counts(answers: Ints, targets: Ints, labels: int) -> Floats:
    """Return (N, 3 C) for each label whether answer and target, the answer, and the target are it."""
    predicted, true = (array[:, None] == np.arange(labels) for array in (answers, targets))
    return np.concatenate([predicted & true, predicted, true], axis=1, dtype=np.float64)


def _parts(means: Floats) -> tuple[Floats, Floats, Floats]:
    """Return (..., C) shares of right answers, of answers and of labels."""
    right, predicted, true = np.split(np.asarray(means), 3, axis=-1)
    return right, predicted, true


def _moments(answers: Floats, targets: Floats) -> Floats:
    """Return (N, 5) x, y, xy, xx, yy of answers and targets, in standard deviations of the targets from their mean."""
    # the unit is the same for all models, so that their answers to a row can be exchanged
    if not len(targets):
        return np.zeros((0, 5))
    x, y = ((numbers - targets.mean()) / (targets.std() or 1.0) for numbers in (answers, targets))
    if np.ptp(x) > 0 and abs(x.mean()) > FARTHEST * x.std():
        raise UsageError.about(
            "metric", "of numbers: the answers vary too little for how far they are from the targets"
        )
    return np.stack([x, y, x * y, x * x, y * y], axis=1)


def _rank_moments(answers: Floats, targets: Floats) -> Floats:
    """Return `_moments` of their ranks."""
    from scipy.stats import rankdata  # scipy takes longer to import than everything else here takes to run

    return _moments(np.asarray(rankdata(answers)), np.asarray(rankdata(targets)))


def _errors(answers: Floats, targets: Floats) -> Floats:
    """Return (N, 1) distances between answers and targets."""
    return np.abs(answers - targets)[:, None]


def _correlation(means: Floats) -> Floats:
    """Return (...) correlations of (..., 5) moments."""
    x, y, xy, xx, yy = np.moveaxis(np.asarray(means), -1, 0)
    together, first, second = xy - x * y, xx - x * x, yy - y * y
    return _over_spreads(together, np.where(first > NO_SPREAD * xx, first, 0.0), second)


def _over_spreads(together: Floats, first: Floats, second: Floats) -> Floats:
    """Return a covariance over the root of two variances; 0 where either is 0."""
    spread = (first > NO_SPREAD) & (second > NO_SPREAD)
    root = np.sqrt(np.where(spread, first, 0.0)) * np.sqrt(np.where(spread, second, 0.0))
    return np.clip(_ratio(together, root), -1.0, 1.0)


def _first(means: Floats) -> Floats:
    """Return (...) the one mean."""
    return np.asarray(means)[..., 0]


def _ratio(part: Floats, total: Floats) -> Floats:
    """Return part / total; 0 where the total is 0."""
    return np.asarray(np.divide(part, total, out=np.zeros(np.shape(total)), where=total > 0))


OF_LABELS: dict[str, tuple[Callable[[Ints, Ints, int], Floats], Values, tuple[float, float]]] = {
    "accuracy": (_right, _first, SHARE),
    "macro-f1": (_counts, macro_f1_of, SHARE),
    "micro-f1": (_counts, micro_f1_of, SHARE),
    "weighted-f1": (_counts, weighted_f1_of, SHARE),
    "balanced-accuracy": (_counts, balanced_accuracy_of, SHARE),
    "mcc": (_counts, mcc_of, CORRELATION),
    "kappa": (_counts, kappa_of, CORRELATION),
}
"""Metrics of all labels by name: `of_row`, `of_means` and `range` of `LabelMetric`."""

OF_NUMBERS = {
    metric.name: metric
    for metric in (
        NumberMetric("pearson", _moments, _correlation, range=CORRELATION),
        NumberMetric("spearman", _rank_moments, _correlation, range=CORRELATION),
        NumberMetric("mae", _errors, _first, range=(0.0, math.inf), higher_is_better=False),
    )
}
"""Metrics of numbers by name: two correlations, 0 where either side has no spread, and the mean distance.

Equal numbers share a mean rank. Ranks are within the whole set: a draw of some of its rows, or of weights, keeps them,
and its value is the correlation of these ranks, not of new ones.

Sources: Pearson 1895, "Note on regression and inheritance in the case of two parents"; Spearman 1904, "The proof and
measurement of association between two things".
"""

METRICS = ("accuracy", F1, *(name for name in OF_LABELS if name != "accuracy"), *OF_NUMBERS)
"""Names of metrics, beside `f1:LABEL`."""
