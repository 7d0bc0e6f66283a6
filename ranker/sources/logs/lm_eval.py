"""Logs of lm-evaluation-harness, 0.4.0 to today: one task a file, a row for each document and filter."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from factors.types import Floats, Ints
from ranker.errors import DataError, listed
from ranker.sources.logs.base import MOST_WRONG, LogSelection, TaskLog, name_of, numbered, of_those
from ranker.sources.logs.labels import Labelled, Written, few, in_words, shared, unlabelled
from ranker.sources.logs.likelihoods import COMPARED, compared, highest, right
from ranker.sources.logs.lm_eval_rows import LogRow, rows_of
from ranker.sources.logs.measures import METRICS, OF_ALL_ROWS, MetricInfo, measured, of_labels
from ranker.sources.logs.results import Results, results_of
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER
from ranker.tasks.metrics import is_metric

PROGRAM = "lm-eval"

ACC = "acc"
"""The metric of a row that says whether its label is the right one."""

UNFILTERED = "none"
"""The filter of answers that are read as they are, where results name it."""


def read_lm_eval_log(path: Path, choice: LogSelection = LogSelection()) -> TaskLog:
    """One log.

    Args:
        path: a file ``samples_*.jsonl``, one of versions before 0.4.3, or either as gzip.
        choice: the metric and the filter, where the log has several, and what rows belong together.

    Raises:
        DataError: it is no such log, or broken, or answers a row twice, or what is asked for is not in it.
    """
    results = results_of(path, limits=choice.limits)
    rows, filters, notes = _by_filter(path, _read(path, choice, results), results)
    name, kept = _filter(path, rows, filters, choice.filter)
    kept, asked, of_all = _of_labels(kept, choice.metric, name, results)
    choices = _choices(kept, results)
    metric, candidates, why = _metric(path, kept, choices, asked)
    measure = _measure(path, kept, metric, name, results)
    outcomes, state = _outcomes(kept, metric, measure.higher_is_better)
    labelled, about = _labelled(kept, choices, results, metric, outcomes)
    keys = numbered(row.doc for row in kept)
    notes = (*notes, *of_all, *why, *measure.notes, *about, *_counted(keys, results), *results.notes)
    return TaskLog(
        program=PROGRAM,
        version=results.version,
        task=results.task,
        model=results.model,
        metric=metric,
        scorer=name,
        candidates=candidates,
        measure=measure,
        keys=keys,
        numbered=False,
        texts=tuple(row.text for row in kept),
        target_hashes=tuple(row.target_hash for row in kept),
        prompt_hashes=tuple(row.prompt for row in kept),
        outcomes=outcomes,
        counts=np.where(np.isnan(outcomes), 0, 1),
        epochs=1,
        state=state,
        **labelled._asdict(),
        cluster=choice.cluster or "",
        clusters=tuple(row.cluster for row in kept) if choice.cluster else None,
        notes=notes,
    )


def _read(path: Path, choice: LogSelection, results: Results) -> tuple[LogRow, ...]:
    return tuple(rows_of(path, choice.cluster, choice.limits, results.aggregates))


def _by_filter(
    path: Path, rows: Sequence[LogRow], results: Results
) -> tuple[dict[str, list[LogRow]], bool, tuple[str, ...]]:
    """Filter -> its rows, whether the log names its filters, and what is to be known of that.

    Raises:
        DataError: a row is answered twice.
    """
    named = all(row.filter is not None for row in rows)
    if not named and any(row.filter is not None for row in rows):
        raise DataError(f"{path}: some of its rows name a filter, and some do not; are these two logs in one?")
    found: dict[str, list[LogRow]] = {}
    first: dict[tuple[str, str, str], list[LogRow]] = {}
    for row in rows:
        before = first.setdefault((row.filter or "", row.doc, row.doc_id), [])
        if before and row.doc_id and (named or row.likelihoods or row.said != before[0].said):
            raise DataError(f"{path}, line {row.number}: answers the row of line {before[0].number} a second time")
        name = row.filter if row.filter is not None else str(len(before) + 1 if row.doc_id else 1)
        before.append(row)
        found.setdefault(name, []).append(row)
    if named:
        return found, True, ()
    if len(found) == 1:
        return {"": found["1"]}, False, ()
    odd = next((same for same in first.values() if len(same) != len(found)), None)
    if odd:
        raise DataError(
            f"{path}, line {odd[0].number}: answered {len(odd)} times, and other rows {len(found)} times; "
            "the log names no filters, so that it must hold each row once for each"
        )
    if len(set(results.filters)) == len(results.filters) == len(found):
        return dict(zip(results.filters, found.values(), strict=True)), False, ()
    return found, False, ("The log names no filters: 1 is the first answer to each row, 2 the second.",)


def _filter(path: Path, rows: Mapping[str, list[LogRow]], named: bool, asked: str | None) -> tuple[str, list[LogRow]]:
    names = list(rows)
    if asked is None and len(names) > 1:
        raise DataError(f"{path} has several filters, {listed(names)}; say which with `filter`")
    if asked is None:
        return names[0], rows[names[0]]
    if asked == UNFILTERED and names == [""]:  # as results call it
        asked = ""
    if asked not in rows and not named and asked.isdecimal() and 0 < int(asked[:9]) <= len(names):
        asked = names[int(asked) - 1]
    if asked not in rows:
        raise of_those(path, "filter", asked, [name or "one without a name" for name in names])
    return asked, rows[asked]


def _choices(rows: Sequence[LogRow], results: Results) -> list[tuple[str, ...]]:
    """The choices of each row without what stands before them in a prompt; () where a row has none."""
    offered = [row.choices for row in rows]
    before = results.delimiter
    if before is None:
        before = " " if all(text.startswith(" ") for texts in offered for text in texts) else ""
    bare = {texts: tuple(name_of(text.removeprefix(before)) for text in texts) for texts in set(offered)}
    known = len(results.choices) or -1
    return [results.choices if len(row.likelihoods) == known else bare[row.choices] for row in rows]


def _of_labels(
    rows: list[LogRow], asked: str | None, filter: str, results: Results
) -> tuple[list[LogRow], str | None, tuple[str, ...]]:
    """Find what to read of each row for a metric of all labels together, such as f1: whether each is the right one.

    Returns:
        The rows, the metric to read of each, and what is to be known of it; what was asked for, where that is recorded
        as a number a row, or where nobody computes it from labels.
    """
    if asked is None or any(row.values.get(asked) is not None for row in rows):
        return rows, asked, ()
    if all(asked in row.pairs for row in rows):
        pairs = np.array([row.pairs[asked] for row in rows])
        right = [
            row if row.values.get(ACC) is not None else replace(row, values={**row.values, ACC: float(first == second)})
            for row, (first, second) in zip(rows, pairs.tolist(), strict=True)
        ]
        aggregate = results.aggregates.get(asked) or METRICS[asked][0]
        recorded = results.recorded.get(f"{asked},{filter or UNFILTERED}")
        return right, ACC, of_labels(asked, aggregate, pairs, recorded)
    if is_metric(asked) and asked.casefold() != "accuracy" and not any(asked in row.values for row in rows):
        known = all(row.values.get(ACC) is not None for row in rows)
        return rows, ACC if known else None, (f"The log records no {asked}; its labels are read.",)
    return rows, asked, ()


def _metric(
    path: Path, rows: Sequence[LogRow], choices: Sequence[tuple[str, ...]], asked: str | None
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The metric that is read, those that could be, and why it is this one.

    Raises:
        DataError: there is none, none of that name, or no clear one.
    """
    names = dict.fromkeys(name for row in rows for name in row.values)
    no_number = {name for row in rows for name, value in row.values.items() if value is None}
    scored = {name for row in rows for name, value in row.values.items() if value is not None and not math.isnan(value)}
    every = tuple(name for name in names if name in scored - no_number)
    paired = {name for row in rows for name in row.weights}
    found = tuple(name for name in every if name not in paired) or every
    if asked is not None:
        if asked in no_number:
            raise DataError(f"{path}: {_no_number(asked)}; it has {listed(every) or 'none'}")
        if asked not in every:
            raise of_those(path, "metric", asked, every)
        return asked, found, ()
    if not found and no_number:
        raise DataError(f"{path}: {'; '.join(map(_no_number, sorted(no_number)))}; no metric of it is")
    if not found:
        raise DataError(f"{path} has no metric with a number a row; were its answers not scored (predict_only)?")
    if len(found) == 1:
        return found[0], found, ()
    if {"acc", "acc_norm"} <= set(found):
        differ = any(len(set(map(len, texts))) > 1 for texts in set(choices))
        metric, other = ("acc_norm", "acc") if differ else ("acc", "acc_norm")
        why = "differ in length" if differ else "are all of one length"
        return metric, found, (f"Of its metrics {metric} is read, not {other}: the choices of a row {why}.",)
    if paired.issuperset(found) and all(
        row.values.get(name) == row.values.get(found[0]) for row in rows for name in found
    ):
        return found[0], found, (f"The rows hold the same for {listed(found)}.",)
    raise DataError(f"{path} has several metrics, {listed(found)}; say which with `metric`")


def _no_number(metric: str) -> str:
    """Why models cannot be compared by a metric row by row."""
    what = OF_ALL_ROWS.get(METRICS.get(metric, (metric, True))[0])
    return f"its {metric!r} is not one number a row" + (f", but one of all rows, of their pairs {what}" if what else "")


def _measure(path: Path, rows: Sequence[LogRow], metric: str, filter: str, results: Results) -> MetricInfo:
    """What the metric is, and whether the recorded number is that of these rows.

    Raises:
        DataError: a value is infinite.
    """
    values = np.array([_value(row, metric) for row in rows], dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise DataError(f"{path}, line {rows[infinite[0]].number}: its {metric!r} is infinite, or too large a number")
    weights = np.array([row.weights.get(metric, 1.0) for row in rows])
    recorded = results.recorded.get(f"{metric},{filter or UNFILTERED}")
    return measured(metric, values, weights, results.aggregates.get(metric), results.higher.get(metric), recorded)


def _outcomes(rows: Sequence[LogRow], metric: str, higher: bool | None) -> tuple[Floats, Ints]:
    """(N,) the metric, and (N,) the state of each row."""
    values = np.array([_value(row, metric) for row in rows], dtype=np.float64)
    silent = np.array([row.silent for row in rows], dtype=bool)
    if higher is not False:  # a row that asks what has no answer is right without one
        values[silent & np.isnan(values)] = 0.0
        silent &= values <= 0
    state = np.where(silent, NO_ANSWER, ANSWERED)
    state[np.isnan(values)] = ERROR
    return values, state


def _value(row: LogRow, metric: str) -> float:
    value = row.values.get(metric)
    return math.nan if value is None else value


def _labelled(
    rows: Sequence[LogRow], choices: Sequence[tuple[str, ...]], results: Results, metric: str, outcomes: Floats
) -> tuple[Labelled, tuple[str, ...]]:
    """The labels of the rows, and what is to be known of that: of the same choices, or of what was written."""
    if not any(row.likelihoods for row in rows):
        return _in_words(rows, results, metric, outcomes)
    labels = shared(choices)
    if not labels or any(len(row.likelihoods) not in (0, len(labels)) for row in rows):
        return unlabelled(len(rows)), ()
    empty = (math.nan,) * len(labels)
    values = np.array([row.likelihoods or empty for row in rows], dtype=np.float64)
    scores = compared(values, labels, metric)
    answers = highest(scores)
    told_by = metric if metric in COMPARED else "acc"
    chosen, recorded = highest(compared(values, labels, told_by)), np.array([_value(row, told_by) for row in rows])
    truth = right(
        [row.target for row in rows],
        labels,
        lambda found: int(((found == chosen) == recorded)[(found >= 0) & (chosen >= 0)].sum()),
    )
    wrong = 0
    if metric in COMPARED:
        told = (truth >= 0) & (answers >= 0) & ~np.isnan(outcomes)
        wrong = int(((answers == truth) != outcomes)[told].sum())
    if wrong > MOST_WRONG * len(rows):
        return unlabelled(len(rows)), (f"Labels are left out: on {wrong} rows they tell something else than {metric}.",)
    notes = [f"On {wrong} rows the label tells something else than {metric}."] if wrong else []
    notes.append("Log-likelihoods of choices are no log-probabilities: made into such they are not calibrated.")
    scores[~np.isfinite(scores).all(axis=1)] = math.nan
    return Labelled(labels, truth, answers, scores), tuple(notes)


def _in_words(
    rows: Sequence[LogRow], results: Results, metric: str, outcomes: Floats
) -> tuple[Labelled, tuple[str, ...]]:
    """The labels of what was written: the choices of the task, or the right answers, where these are few."""
    labels = shared([results.choices])
    texts = [name_of(row.target) for row in rows]
    if labels:
        places = right([row.target for row in rows], labels, lambda found: 0)
        texts = [labels[place] if place >= 0 else "" for place in places]
    answers = [
        Written(n, row.answer, value) for n, (row, value) in enumerate(zip(rows, outcomes.tolist(), strict=True))
    ]
    return in_words(labels or few(texts), texts, answers, metric)


def _counted(keys: Sequence[str], results: Results) -> Iterator[str]:
    """What is to be known of the number of rows."""
    repeated = sum("#" in key for key in keys)
    if repeated:
        yield f"{repeated} rows ask what an earlier row asks; they are told apart by their order."
    if results.rows is not None and results.rows > len(keys):
        yield f"The log is partial: it holds {len(keys)} of the {results.rows} rows that were run."
