"""Options of logs."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ranker.sources.options import AnswerOptions, Heading, option


@dataclass(frozen=True)
class LogOptions(AnswerOptions):
    """Options of all logs of a run.

    Attributes:
        metric: recorded metric to rank by; of several tasks by name: "acc,sst2=f1". Of Inspect also a scorer, as below.
        filter: of lm-evaluation-harness: the filter; of several tasks as above.
        scorer: of Inspect: the scorer, or a part of its value, "scorer.part".
        reducer: of Inspect: reducer of the epochs of a row; "" for the log's own.
        runs: treatment of several runs of a model: "newest", "mean" or "each"; "" for the newest if all have the same
            arguments.
        cluster: field of a log's rows, or column of a table, that groups dependent rows.
        scale: worst and best of a recorded metric, or of outcomes; None for 0 and 1.
        lower_is_better: less of these is better; refused if more of a log's metric is certain to be better.
        errors: an answer that failed or was not scored counts as "wrong", or its row is "left-out".

    Raises:
        UsageError: the worst of a scale is not below its best, or an unknown word for runs or errors.

    Example:
        >>> from ranker import LogOptions, SourceOptions
        >>> SourceOptions(kinds=[LogOptions(metric="acc", cluster="doc")]).of(LogOptions).metric
        'acc'
    """

    metric: str = option(
        "",
        "Metric to compare models by: see `rank-models ls metrics`. Texts also have bertscore:ENCODER, and FILE.py has "
        "a function of your own. Logs have the recorded one, several tasks acc,sst2=f1.  [default: accuracy, or the "
        "first of the task]",
        metavar="NAME",
        of_run=True,
        heading=Heading.COMMON,
    )
    filter: str = option(
        "",
        "Filter whose answers to use, in logs of lm-evaluation-harness. For several tasks as in --metric.",
        metavar="NAME",
    )
    scorer: str = option("", "Scorer to use, in logs of Inspect.", metavar="NAME")
    reducer: str = option(
        "",
        "Reducer of the epochs of a row, in logs of Inspect: mean, median, mode, majority, max, at_least_K, "
        "pass_at_K or pass_k_K.  [default: the log's own]",
        metavar="NAME",
    )

    def for_task(self, task: str) -> LogOptions:
        """Return the options with the metric and the filter of one task."""
        return replace(self, metric=value_for_task(self.metric, task), filter=value_for_task(self.filter, task))


OF_TASK = re.compile(r"\A(?:(?P<task>[^=(]+)=)?(?P<value>.*)")
"""A value, maybe after the name of the task that it is for."""


def value_for_task(option: str, task: str) -> str:
    """Return the value of a per-task option for one task; "" if it has none.

    Example:
        >>> [value_for_task("acc,sst2=f1", task) for task in ("sst2", "rte")], value_for_task("sst2=f1", "rte")
        (['f1', 'acc'], '')
        >>> value_for_task("map(rel=2)", "ranking")
        'map(rel=2)'
    """
    parts = [OF_TASK.fullmatch(part.strip()) for part in option.split(",")]
    if not any(part and part["task"] for part in parts):
        return option
    values = {part["task"] or "": part["value"] for part in reversed(parts) if part}
    return values.get(task) or values.get("", "")
