"""Properties of recorded metrics: the value of a row, its direction, and the aggregate over all rows.

A log states two things of a metric: a number a row, and one number of all rows, its aggregate. They may point in
opposite directions: a row of lm-evaluation-harness's ``perplexity`` holds a log-likelihood, of which more is better;
its aggregate is exp(-mean), of which less is. Models are compared by rows, so the direction is the rows'. The
aggregate is not trusted: it is recomputed from the rows, and has to match the log.

Source: ``lm_eval/api/metrics.py`` of lm-evaluation-harness 0.4.13; ``scorer/_metrics`` of Inspect 0.3.285.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from factors.types import Floats, Ints
from ranker.errors import Assumption
from ranker.tasks.metrics import F1, metric_named

CLOSE = 1e-9
"""Largest deviation of a recomputed aggregate from the recorded one, relative, or absolute below 1."""


@dataclass(frozen=True)
class Aggregate:
    """Function from N rows to one number.

    Attributes:
        compute: (N,) values and (N,) weights -> the number.
        falls: it falls as the values of rows rise, so that better rows make a smaller number.
        holds: content of such a row; "" for the metric's own value.
        scale: lowest and highest possible value of a row, if independent of the task.
    """

    words: str
    compute: Callable[[Floats, Floats], float]
    falls: bool = False
    holds: str = ""
    scale: tuple[float, float] | None = None


def _mean(values: Floats, weights: Floats) -> float:
    return float(values.mean())


def _exp(value: float) -> float:
    return math.exp(value) if value < 709 else math.inf


_LIKELIHOOD = "a log-likelihood"

AGGREGATES: Mapping[str, Aggregate] = {
    "mean": Aggregate("the mean of the rows", _mean),
    "nanmean": Aggregate("the mean of the rows", _mean),
    "median": Aggregate("the upper median of the rows", lambda values, _: float(np.sort(values)[len(values) // 2])),
    "brier_score": Aggregate("the mean of the rows", _mean, holds="a squared distance", scale=(0.0, 2.0)),
    "perplexity": Aggregate(
        "exp of minus the mean of the rows", lambda values, _: _exp(-float(values.mean())), True, _LIKELIHOOD
    ),
    "weighted_perplexity": Aggregate(
        "exp of minus their sum divided by that of the words or bytes",
        lambda values, weights: _exp(-float(values.sum() / weights.sum())),
        True,
        _LIKELIHOOD,
    ),
    "bits_per_byte": Aggregate(
        "minus their sum divided by that of the bytes and by log 2",
        lambda values, weights: -float(values.sum() / weights.sum()) / math.log(2),
        True,
        _LIKELIHOOD,
    ),
    "exp_mean": Aggregate(
        "exp of the mean of the rows",
        lambda values, _: _exp(float(values.mean())),
        holds="a negative log-likelihood of a token",
    ),
}
"""Name of an aggregate -> its definition. Those of lm-evaluation-harness have its names."""

OF_LABELS: Mapping[str, str] = {"f1": F1, "matthews_corrcoef": "mcc"}
"""Aggregate of pairs of labels, (right, predicted) -> the same metric in `ranker.tasks.metrics`."""

WEIGHTED = frozenset({"weighted_perplexity", "bits_per_byte"})
"""Aggregates whose rows are pairs, (log-likelihood, number of words or bytes)."""

SQUARED = "brier_score"
"""Aggregate whose rows are pairs, (right choice, probabilities of all)."""

OF_ALL_ROWS: Mapping[str, str] = {
    **dict.fromkeys(OF_LABELS, "[right, predicted]"),
    **dict.fromkeys(("bleu", "chrf", "chrf++", "ter"), "[reference, prediction]"),
    "acc_all": "[right or not, document]",
}
"""Aggregate that is no function of one number a row -> content of a row."""

METRICS: Mapping[str, tuple[str, bool]] = {
    **dict.fromkeys(("acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match", "likelihood"), ("mean", True)),
    "perplexity": ("perplexity", False),
    **dict.fromkeys(("word_perplexity", "byte_perplexity"), ("weighted_perplexity", False)),
    "bits_per_byte": ("bits_per_byte", False),
    "brier_score": ("brier_score", False),
    "mcc": ("matthews_corrcoef", True),
    **{name: (name, True) for name in ("f1", "bleu", "chrf", "chrf++", "acc_all")},
    "ter": ("ter", False),
}
"""lm-evaluation-harness: metric -> its default aggregate, and whether more of that is better."""

SCORERS: Mapping[str, bool] = {
    **dict.fromkeys(("answer", "choice", "exact", "f1", "includes", "match", "math", "pattern"), True),
    **dict.fromkeys(("model_graded_fact", "model_graded_qa"), True),
    **dict.fromkeys(("perplexity", "target_perplexity"), False),
}
"""Inspect: scorer -> whether more of a sample's score is better; those of perplexity record its negative logarithm."""

SPREADS = frozenset({"stderr", "bootstrap_stderr", "std", "var", "ci"})
"""Inspect: metrics of spread, not of level."""

INSPECT_AGGREGATES: Mapping[str, str] = {"accuracy": "mean", "mean": "mean", "perplexity_per_seq": "exp_mean"}
"""Inspect: metric that is recomputed -> its aggregate."""


@dataclass(frozen=True)
class MetricInfo:
    """Properties of a metric in the rows of one log.

    Attributes:
        higher_is_better: more of a row's value is better; None if not stated.
        certain: the direction follows from the metric; else it is what a task's author wrote, if anything.
        aggregate: of all rows, a name of `AGGREGATES`; "" if unknown.
        recorded: the aggregate in the log; None if it has none.
        recomputed: the aggregate of the rows; None if it cannot be computed.
    """

    metric: str
    higher_is_better: bool | None = None
    certain: bool = False
    aggregate: str = ""
    recorded: float | None = None
    recomputed: float | None = None

    @property
    def agrees(self) -> bool:
        """True if the recorded number is the recomputed one."""
        if self.recorded is None or self.recomputed is None:
            return False
        difference = abs(self.recorded - self.recomputed)
        return self.recorded == self.recomputed or difference <= CLOSE * max(1.0, abs(self.recorded))

    @property
    def holds(self) -> str:
        """Content of a row; "" for the metric's own value."""
        return AGGREGATES[self.aggregate].holds if self.aggregate in AGGREGATES else ""

    @property
    def scale(self) -> tuple[float, float] | None:
        """Lowest and highest possible value of a row; None if it depends on the task."""
        return AGGREGATES[self.aggregate].scale if self.aggregate in AGGREGATES else None

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes in sentences; none on a mean that matches the log."""
        aggregate = AGGREGATES.get(self.aggregate, AGGREGATES["mean"])
        notes = []
        if self.agrees and (aggregate.holds or aggregate.words != AGGREGATES["mean"].words):
            way = {True: ", of which more is better", False: ", of which less is better", None: ""}
            holds = f"a row holds {aggregate.holds or 'a number'}{way[self.higher_is_better]}"
            notes.append(
                f"{self.metric}: {holds}; the log's {self.metric}, {self.recorded:,.6g}, is {aggregate.words}."
            )
        elif self.recorded is not None and self.recomputed is None:
            notes.append(
                Assumption(
                    f"The log records {self.metric} {self.recorded:,.6g}, which cannot be recomputed from its rows."
                )
            )
        elif self.recorded is not None and not self.agrees:
            numbers = f"{self.recorded:,.6g}, and {self.recomputed:,.6g} follows from its rows ({aggregate.words})"
            notes.append(Assumption(f"The log records {self.metric} {numbers}: it lacks a part of the data behind it."))
        if self.higher_is_better is None:
            notes.append(Assumption(f"More of {self.metric} is assumed to be better; if not, use `lower_is_better`."))
        return tuple(notes)


def check_label_metric(metric: str, aggregate: str, pairs: Ints, recorded: float | None) -> tuple[str, ...]:
    """Check the recorded aggregate against the rows' pairs of labels, and say so in sentences.

    Args:
        aggregate: one of `OF_LABELS`.
        pairs: (N, 2) right and predicted label of each row.
        recorded: the aggregate; None if the log has none.

    Example:
        >>> pairs = np.array([[1, 1], [1, 0], [0, 0], [0, 0]])
        >>> check_label_metric("mcc", "matthews_corrcoef", pairs, 0.5773502691896258)
        ("The log's mcc, 0.57735, is that of the labels of its rows.",)
    """
    if recorded is None:
        return ()
    labels = tuple(map(str, range(max(2, int(pairs.max()) + 1))))
    if aggregate == F1 and len(labels) > 2:
        no_one = f"which no one of its {len(labels)} labels tells"
        return (Assumption(f"The log records {metric} {recorded:,.6g}, {no_one}."),)
    labels_metric = metric_named(OF_LABELS[aggregate], labels)
    value = float(labels_metric.value(labels_metric.statistics(pairs[:, 1], pairs[:, 0]).mean(axis=0)))
    if MetricInfo(metric, recorded=recorded, recomputed=value).agrees:
        return (f"The log's {metric}, {recorded:,.6g}, is that of the labels of its rows.",)
    numbers = f"{recorded:,.6g}, and {value:,.6g} follows from the labels of its rows"
    return (Assumption(f"The log records {metric} {numbers}: it lacks a part of the data behind it."),)


def infer_metric(
    metric: str,
    values: Floats,
    weights: Floats,
    stated: str | None,
    higher: bool | None,
    recorded: float | None,
) -> MetricInfo:
    """Infer the properties of a metric of lm-evaluation-harness in the rows of a log.

    The aggregate is the one that gives the recorded number: the stated one, else another. A direction that the log
    states is the aggregate's; the rows' is the opposite if the aggregate falls as rows rise.

    Args:
        values: (N,) values of the rows, nan for none.
        weights: (N,) weights of the rows; 1 for none.
        stated: the aggregate of the task or the table of metrics; None if not stated.
        higher: whether more of the aggregate is better; None if not stated.
        recorded: the aggregate in the log; None if it has none.

    Example:
        >>> import numpy as np
        >>> info = infer_metric("perplexity", np.array([-2.0, -4.0]), np.ones(2), "perplexity", False, math.exp(3))
        >>> info.higher_is_better, info.agrees
        (True, True)
    """
    present = ~np.isnan(values)
    usual, usually_higher = METRICS.get(metric, ("", None))
    first = stated or usual or "mean"
    tried = dict.fromkeys(name for name in (first, "mean", "perplexity", "median") if name in AGGREGATES)
    tried = tried if present.any() else {}
    computed = {name: AGGREGATES[name].compute(values[present], weights[present]) for name in tried}
    metrics = {name: MetricInfo(metric, None, False, name, recorded, value) for name, value in computed.items()}
    name = next((name for name, info in metrics.items() if info.agrees), first)
    up = usually_higher if higher is None and name == usual else higher
    falls = name in AGGREGATES and AGGREGATES[name].falls
    certain = name == usual and up == usually_higher
    return MetricInfo(metric, up if up is None else up != falls, certain, name, recorded, computed.get(name))
