"""What a recorded metric holds in each row, which way is better there, and what a program makes of all rows.

A log states two things of a metric: a number a row, and one number of all rows, its aggregate. They may point in
opposite directions: a row of lm-evaluation-harness's ``perplexity`` holds a log-likelihood, of which more is better;
its aggregate is exp(-mean), of which less is. Models are compared by rows, so the direction is the rows'. Which
aggregate is meant is never taken on trust: it is recomputed from the rows, and has to be what the log records.

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
"""How far a recomputed aggregate may be from the recorded one, as a part of it, or by itself below 1."""


@dataclass(frozen=True)
class Aggregate:
    """How a program makes one number of N rows.

    Attributes:
        words: how, in words.
        compute: (N,) values and (N,) weights -> the number.
        falls: it falls where the values of rows rise, so that better rows make a smaller number.
        holds: what such a row holds; "" for the metric's own value.
        scale: the lowest and the highest that a row can hold, where these are no matter of the task.
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
"""Name of an aggregate -> how it is made. Those of lm-evaluation-harness have its names."""

OF_LABELS: Mapping[str, str] = {"f1": F1, "matthews_corrcoef": "mcc"}
"""Aggregates of pairs of labels, (right, predicted) -> the metric that is the same: see `ranker.tasks.metrics`."""

WEIGHTED = frozenset({"weighted_perplexity", "bits_per_byte"})
"""Aggregates whose rows are pairs, (log-likelihood, number of words or bytes)."""

SQUARED = "brier_score"
"""The aggregate whose rows are pairs, (right choice, probabilities of all)."""

OF_ALL_ROWS: Mapping[str, str] = {
    "f1": "[right, predicted]",
    "matthews_corrcoef": "[right, predicted]",
    "bleu": "[reference, prediction]",
    "chrf": "[reference, prediction]",
    "chrf++": "[reference, prediction]",
    "ter": "[reference, prediction]",
    "acc_all": "[right or not, document]",
}
"""Aggregates that are no function of one number a row -> what a row holds."""

METRICS: Mapping[str, tuple[str, bool]] = {
    "acc": ("mean", True),
    "acc_norm": ("mean", True),
    "acc_bytes": ("mean", True),
    "acc_mutual_info": ("mean", True),
    "exact_match": ("mean", True),
    "likelihood": ("mean", True),
    "perplexity": ("perplexity", False),
    "word_perplexity": ("weighted_perplexity", False),
    "byte_perplexity": ("weighted_perplexity", False),
    "bits_per_byte": ("bits_per_byte", False),
    "brier_score": ("brier_score", False),
    "f1": ("f1", True),
    "mcc": ("matthews_corrcoef", True),
    "bleu": ("bleu", True),
    "chrf": ("chrf", True),
    "chrf++": ("chrf++", True),
    "ter": ("ter", False),
    "acc_all": ("acc_all", True),
}
"""lm-evaluation-harness: metric -> its aggregate, and whether more of that is better, where a task says no other."""

SCORERS: Mapping[str, bool] = {
    **dict.fromkeys(("answer", "choice", "exact", "f1", "includes", "match", "math", "pattern"), True),
    **dict.fromkeys(("model_graded_fact", "model_graded_qa"), True),
    **dict.fromkeys(("perplexity", "target_perplexity"), False),
}
"""Inspect: scorer -> whether more of a sample's score is better; those of perplexity record its negative logarithm."""

SPREADS = frozenset({"stderr", "bootstrap_stderr", "std", "var", "ci"})
"""Inspect: metrics that say how far scores are apart, and not how high they are."""

INSPECT_AGGREGATES: Mapping[str, str] = {"accuracy": "mean", "mean": "mean", "perplexity_per_seq": "exp_mean"}
"""Inspect: metric that is recomputed -> its aggregate."""


@dataclass(frozen=True)
class MetricInfo:
    """What a metric is in the rows of one log.

    Attributes:
        metric: its name in the log.
        higher_is_better: whether more of what a row holds is better; None where nobody says.
        certain: the direction follows from what the metric is. Else it is what a task's author wrote, if anything.
        aggregate: what the program makes of all rows, a name of `AGGREGATES`; "" where that is not known.
        recorded: that number, as the log has it; None where it has none.
        recomputed: the same from the rows; None where it cannot be.
    """

    metric: str
    higher_is_better: bool | None = None
    certain: bool = False
    aggregate: str = ""
    recorded: float | None = None
    recomputed: float | None = None

    @property
    def agrees(self) -> bool:
        """Whether the recorded number is the recomputed one."""
        if self.recorded is None or self.recomputed is None:
            return False
        if self.recorded == self.recomputed:
            return True
        return abs(self.recorded - self.recomputed) <= CLOSE * max(1.0, abs(self.recorded))

    @property
    def holds(self) -> str:
        """What a row holds; "" for the metric's own value."""
        return AGGREGATES[self.aggregate].holds if self.aggregate in AGGREGATES else ""

    @property
    def scale(self) -> tuple[float, float] | None:
        """The lowest and the highest that a row can hold; None where that is a matter of the task."""
        return AGGREGATES[self.aggregate].scale if self.aggregate in AGGREGATES else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of it, in sentences; nothing of a mean that is the recorded one."""
        found = AGGREGATES.get(self.aggregate, AGGREGATES["mean"])
        said = []
        if self.agrees and (found.holds or found.words != AGGREGATES["mean"].words):
            way = {True: ", of which more is better", False: ", of which less is better", None: ""}
            holds = f"a row holds {found.holds or 'a number'}{way[self.higher_is_better]}"
            said.append(f"{self.metric}: {holds}; the log's {self.metric}, {self.recorded:,.6g}, is {found.words}.")
        elif self.recorded is not None and self.recomputed is None:
            said.append(Assumption(f"The log records {self.metric} {self.recorded:,.6g}, which no row tells."))
        elif self.recorded is not None and not self.agrees:
            both = f"{self.recorded:,.6g}, and {self.recomputed:,.6g} follows from its rows ({found.words})"
            said.append(
                Assumption(f"The log records {self.metric} {both}: it does not hold all that this was made of.")
            )
        if self.higher_is_better is None:
            said.append(Assumption(f"More of {self.metric} is taken for better; `lower_is_better` says otherwise."))
        return tuple(said)


def of_labels(metric: str, aggregate: str, pairs: Ints, recorded: float | None) -> tuple[str, ...]:
    """Say whether the number that a log records of all rows follows from their pairs of labels, in sentences.

    Args:
        metric: its name in the log.
        aggregate: one of `OF_LABELS`.
        pairs: (N, 2) the right label of each row, and the predicted one.
        recorded: the number of all rows; None where the log has none.

    Example:
        >>> pairs = np.array([[1, 1], [1, 0], [0, 0], [0, 0]])
        >>> of_labels("mcc", "matthews_corrcoef", pairs, 0.5773502691896258)
        ("The log's mcc, 0.57735, is that of the labels of its rows.",)
    """
    if recorded is None:
        return ()
    labels = tuple(map(str, range(max(2, int(pairs.max()) + 1))))
    if aggregate == F1 and len(labels) > 2:
        no_one = f"which no one of its {len(labels)} labels tells"
        return (Assumption(f"The log records {metric} {recorded:,.6g}, {no_one}."),)
    found = metric_named(OF_LABELS[aggregate], labels)
    value = float(found.value(found.statistics(pairs[:, 1], pairs[:, 0]).mean(axis=0)))
    if MetricInfo(metric, recorded=recorded, recomputed=value).agrees:
        return (f"The log's {metric}, {recorded:,.6g}, is that of the labels of its rows.",)
    both = f"{recorded:,.6g}, and {value:,.6g} follows from the labels of its rows"
    return (Assumption(f"The log records {metric} {both}: it does not hold all that this was made of."),)


def measured(
    metric: str,
    values: Floats,
    weights: Floats,
    stated: str | None,
    higher: bool | None,
    recorded: float | None,
) -> MetricInfo:
    """What a metric of lm-evaluation-harness is in the rows of a log.

    The aggregate is the one that gives the recorded number: that which is stated, else another. A direction that the
    log states is the aggregate's; the rows' is the opposite one where the aggregate falls as rows rise.

    Args:
        metric: its name.
        values: (N,) what the rows hold, nan where one has none.
        weights: (N,) what they are weighted by; 1 where they are not.
        stated: the aggregate, as the task or the table of metrics has it; None where nobody states it.
        higher: whether more of the aggregate is better; None where the log does not say.
        recorded: the number of all rows; None where the log has none.

    Example:
        >>> import numpy as np
        >>> found = measured("perplexity", np.array([-2.0, -4.0]), np.ones(2), "perplexity", False, math.exp(3))
        >>> found.higher_is_better, found.agrees
        (True, True)
    """
    known = ~np.isnan(values)
    usual, usually_higher = METRICS.get(metric, ("", None))
    first = stated or usual or "mean"
    tried = dict.fromkeys(name for name in (first, "mean", "perplexity", "median") if name in AGGREGATES)
    made = {name: AGGREGATES[name].compute(values[known], weights[known]) for name in tried} if known.any() else {}
    found = {name: MetricInfo(metric, None, False, name, recorded, value) for name, value in made.items()}
    name = next((name for name, one in found.items() if one.agrees), first)
    up = usually_higher if higher is None and name == usual else higher
    falls = name in AGGREGATES and AGGREGATES[name].falls
    certain = name == usual and up == usually_higher
    return MetricInfo(metric, up if up is None else up != falls, certain, name, recorded, made.get(name))
