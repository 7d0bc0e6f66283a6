"""What may be said of logs."""

from __future__ import annotations

from dataclasses import dataclass

from ranker.sources.options import AnswerOptions, option


@dataclass(frozen=True)
class LogOptions(AnswerOptions):
    """What is said of all logs of a run.

    Attributes:
        metric: the recorded metric to rank on; of several tasks by name: "acc,sst2=f1".
        filter: of lm-evaluation-harness: which filter's answers; of several tasks as above.
        scorer: of Inspect: which scorer.
        reducer: of Inspect: what the epochs of a row are reduced to; "" for what the log has.
        runs: of several runs of a model: "newest", "mean" or "each"; "" for the newest where all were made alike.
        cluster: the field of a log's rows, or column of a table, that says which rows belong together.
        scale: what is worst and best of a recorded metric, or of outcomes; None for 0 and 1.
        lower_is_better: less of these is better; refused of a log's metric of which more is better by what it is.
        errors: an answer that failed or was not scored counts as "wrong", or its row is "left-out".

    Raises:
        UsageError: a scale whose worst is not below its best, or a word for runs or errors that is none.

    Example:
        >>> from ranker import LogOptions, SourceOptions
        >>> SourceOptions(kinds=[LogOptions(metric="acc", cluster="doc")]).of(LogOptions).metric
        'acc'
    """

    metric: str = option(
        "",
        "What to compare models by. Of logs: the recorded metric; of several tasks acc,sst2=f1 says it. Of answers "
        "with labels, too: macro-f1, micro-f1, weighted-f1, f1, f1:LABEL, mcc, kappa, balanced-accuracy; of labels "
        "that are numbers or in order pearson, spearman, mae.  [default: accuracy]",
        metavar="NAME",
        of_run=True,
    )
    filter: str = option(
        "",
        "Of logs of lm-evaluation-harness: which filter's answers; of several tasks as above.",
        metavar="NAME",
    )
    scorer: str = option("", "Of logs of Inspect: which scorer.", metavar="NAME")
    reducer: str = option(
        "",
        "Of logs of Inspect: what the epochs of a row are reduced to: mean, median, mode, majority, max, "
        "at_least_K, pass_at_K or pass_k_K.  [default: the log's own]",
        metavar="NAME",
    )
