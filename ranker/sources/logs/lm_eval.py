"""Logs of lm-evaluation-harness, 0.4.0 to today: one task a file, a row for each document and filter.

A `ranker.sources.logs.formats.LogFormat`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from factors.types import Floats, Ints
from ranker.errors import Absence, DataError, listed
from ranker.files.archive import ZIP
from ranker.files.text import read_start
from ranker.limits import Limits
from ranker.sources.logs import files
from ranker.sources.logs.base import (
    MAX_LABEL_DISAGREEMENT,
    FoundLog,
    TaskLog,
    missing_name_error,
    name_of,
    number_repeats,
    several_names_error,
)
from ranker.sources.logs.labels import (
    COMPARED,
    RowLabels,
    WrittenAnswer,
    argmax_rows,
    closed_targets,
    label_written_answers,
    no_labels,
    normalize_lengths,
    resolve_targets,
    shared_choices,
)
from ranker.sources.logs.lm_eval_rows import LogRow, rows_of
from ranker.sources.logs.measures import METRICS, OF_ALL_ROWS, MetricInfo, check_label_metric, infer_metric
from ranker.sources.logs.options import LogOptions
from ranker.sources.logs.results import Results, ResultsFiles, results_of, task_and_time
from ranker.sources.usage import QUANTITIES, RowUsage
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER
from ranker.tasks.metrics import is_metric
from ranker.tasks.text_scores import is_text_metric

name, program = "lm-eval", "lm-evaluation-harness"
about = "lm-evaluation-harness with log_samples: samples_TASK_TIME.jsonl, beside results_TIME.json"
file_pattern = "samples_*"
endings: tuple[str, ...] = (".jsonl",)
options = frozenset({"filter"})
by_text = names_models = False

ACC = "acc"
"""Metric of a row that tells whether its label is right."""

UNFILTERED = "none"
"""Name in results of the filter that leaves answers as they are."""

_ROW = re.compile(rb'\{\s*"doc_id"\s*:')


def claims(path: Path, start: bytes, limits: Limits) -> bool:
    """Return True if the first row is one of the program's, in whatever order its keys are."""
    bare = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(ZIP):
        return False
    if _ROW.match(bare.removeprefix(b"[").lstrip()):
        return True
    if bare.startswith(b"["):
        return b'"doc"' in bare and b'resps"' in bare
    return bare.startswith(b"{") and _is_row(read_start(path, limits.log_line).split(b"\n", 1)[0], path, limits)


def _is_row(line: bytes, path: Path, limits: Limits) -> bool:
    if b'"doc"' not in line or b'resps"' not in line:
        return False
    try:
        content = files.parse(line, path, files.Budget(limits))
    except DataError:
        return False
    return isinstance(content, dict) and "doc" in content


def find(folder: Path, names: Sequence[str], limits: Limits) -> tuple[list[FoundLog], list[str]]:
    """List logs; one without results beside it, in a folder of one model, is of that model."""
    logs, beside = [], ResultsFiles(folder, limits)
    for file in names:
        path = folder / file
        results = results_of(path, beside)
        logs.append(FoundLog(path, name, results.model, results.task, task_and_time(path)[1], results.arguments))
    models = {log.model for log in logs} - {""}
    return [replace(log, model=log.model or min(models)) if len(models) == 1 else log for log in logs], []


def groups(folder: Path, logs: Sequence[FoundLog], limits: Limits) -> Mapping[str, tuple[str, ...]]:
    """Return group of tasks -> its tasks."""
    return ResultsFiles(folder, limits).groups({log.time for log in logs})


def trouble(log: FoundLog, limits: Limits) -> str:
    """Return why a log is incomplete: it has fewer rows than the results state."""
    docs = {row.doc for row in rows_of(log.path, "", limits)}
    rows = results_of(log.path, limits=limits).rows
    return f"it holds {len(docs)} of {rows} rows" if rows is not None and rows > len(docs) else ""


def read(path: Path, choice: LogOptions, limits: Limits) -> TaskLog:
    """Read one log.

    Args:
        path: a file ``samples_*.jsonl``, one of versions before 0.4.3, or either as gzip.
    """
    results = results_of(path, limits=limits)
    choice = choice.for_task(results.task)
    rows, filters, notes = _group_by_filter(path, [*rows_of(path, choice.cluster, limits, results.aggregates)], results)
    filter_name, selected = _select_filter(path, rows, filters, choice.filter)
    selected, requested, of_all = _label_metric_rows(selected, choice.metric, filter_name, results)
    choices = _choices(selected, results)
    metric, candidates, reasons = _metric(path, selected, choices, requested)
    measure = _measure(path, selected, metric, filter_name, results)
    outcomes, state = _outcomes(selected, metric, measure.higher_is_better)
    labelled, about = _row_labels(selected, choices, results, metric, outcomes)
    keys = number_repeats(row.doc for row in selected)
    notes = (*notes, *of_all, *reasons, *measure.notes, *about, *_count_notes(keys, results), *results.notes)
    return TaskLog(
        program=name,
        version=results.version,
        task=results.task,
        model=results.model,
        metric=metric,
        candidates=candidates,
        measure=measure,
        keys=keys,
        responses=tuple(row.answer for row in selected),
        references=tuple(row.target for row in selected),
        texts=tuple(row.text for row in selected),
        target_hashes=tuple(row.target_hash for row in selected),
        prompt_hashes=tuple(row.prompt for row in selected),
        outcomes=outcomes,
        state=state,
        **labelled._asdict(),
        clusters=tuple(row.cluster for row in selected) if choice.cluster else None,
        notes=notes,
        usage=_usage(results, len(keys)),
    )


def _usage(results: Results, rows: int) -> RowUsage | None:
    """Return the time of a row: that of the whole run, shared evenly; None if it is not stated."""
    if results.seconds is None or not results.run_rows:
        return None
    amounts = np.full((len(QUANTITIES), rows), np.nan)
    amounts[QUANTITIES.index("seconds")] = results.seconds / results.run_rows
    note = "lm-evaluation-harness logs no time of a row: seconds are the whole run's, with loading, over its rows"
    return RowUsage(amounts, results.model, notes=(note,))


def _group_by_filter(
    path: Path, rows: Sequence[LogRow], results: Results
) -> tuple[dict[str, list[LogRow]], bool, tuple[str, ...]]:
    """Map each filter to its rows; also return whether the log names its filters, and notes."""
    names_filters = all(row.filter is not None for row in rows)
    if not names_filters and any(row.filter is not None for row in rows):
        raise DataError.at(
            path, "some of its rows name a filter, and some do not; are these two logs in one?", option="filter"
        )
    by_filter: dict[str, list[LogRow]] = {}
    first: dict[tuple[str, str, str], list[LogRow]] = {}
    for row in rows:
        before = first.setdefault((row.filter or "", row.doc, row.doc_id), [])
        if before and row.doc_id and (names_filters or row.likelihoods or row.response_hash != before[0].response_hash):
            raise DataError.at(
                f"{path}, line {row.number}", f"answers the row of line {before[0].number} a second time"
            )
        name = row.filter if row.filter is not None else str(len(before) + 1 if row.doc_id else 1)
        before.append(row)
        by_filter.setdefault(name, []).append(row)
    if names_filters:
        return by_filter, True, ()
    if len(by_filter) == 1:
        return {"": by_filter["1"]}, False, ()
    odd = next((same for same in first.values() if len(same) != len(by_filter)), None)
    if odd:
        raise DataError.at(
            f"{path}, line {odd[0].number}",
            f"answered {len(odd)} times, and other rows {len(by_filter)} times; "
            "the log names no filters, so that it must hold each row once for each",
        )
    if len(set(results.filters)) == len(results.filters) == len(by_filter):
        return dict(zip(results.filters, by_filter.values(), strict=True)), False, ()
    return by_filter, False, ("The log names no filters: 1 is the first answer to each row, 2 the second.",)


def _select_filter(
    path: Path, rows: Mapping[str, list[LogRow]], names_filters: bool, requested: str
) -> tuple[str, list[LogRow]]:
    names = list(rows)
    if not requested and len(names) > 1:
        raise several_names_error(path, "filters", names, "filter")
    if not requested or (requested == UNFILTERED and names == [""]):  # the name in results
        return names[0], rows[names[0]]
    if requested not in rows and not names_filters and requested.isdecimal() and 0 < int(requested[:9]) <= len(names):
        requested = names[int(requested) - 1]
    if requested not in rows:
        raise missing_name_error(path, "filter", requested, [name or "one without a name" for name in names])
    return requested, rows[requested]


def _choices(rows: Sequence[LogRow], results: Results) -> list[tuple[str, ...]]:
    """Return the choices of each row without the delimiter before them; () if a row has none."""
    offered = [row.choices for row in rows]
    before = results.delimiter
    if before is None:
        before = " " if all(text.startswith(" ") for texts in offered for text in texts) else ""
    bare = {texts: tuple(name_of(text.removeprefix(before)) for text in texts) for texts in set(offered)}
    size = len(results.choices) or -1
    return [results.choices if len(row.likelihoods) == size else bare[row.choices] for row in rows]


def _label_metric_rows(
    rows: list[LogRow], metric: str, filter: str, results: Results
) -> tuple[list[LogRow], str, tuple[str, ...]]:
    """Replace a metric of all labels, such as f1, by accuracy a row, and note the check; leave others as they are."""
    if not metric or _is_recorded(metric, rows):
        return rows, metric, ()
    if all(metric in row.pairs for row in rows):
        pairs = np.array([row.pairs[metric] for row in rows])
        right = [
            row if row.values.get(ACC) is not None else replace(row, values={**row.values, ACC: float(first == second)})
            for row, (first, second) in zip(rows, pairs.tolist(), strict=True)
        ]
        aggregate = results.aggregates.get(metric) or METRICS[metric][0]
        recorded = results.recorded.get(f"{metric},{filter or UNFILTERED}")
        return right, ACC, check_label_metric(metric, aggregate, pairs, recorded)
    if is_metric(metric) and metric.casefold() != "accuracy" and not any(metric in row.values for row in rows):
        has_labels = all(row.values.get(ACC) is not None for row in rows)
        return rows, ACC if has_labels else "", (f"The log records no {metric}; its labels are read.",)
    return rows, metric, ()


def _is_recorded(metric: str, rows: Sequence[LogRow]) -> bool:
    """Return whether a row has a number for a metric."""
    return any(row.values.get(metric) is not None for row in rows)


def _metric(
    path: Path, rows: Sequence[LogRow], choices: Sequence[tuple[str, ...]], requested: str
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the metric to read, the candidates, and the reason for the choice."""
    has_texts = any(row.answer for row in rows)
    if requested and has_texts and is_text_metric(requested) and not _is_recorded(requested, rows):
        return "", (), (f"The log records no {requested}; its texts are judged by it.",)
    names = dict.fromkeys(name for row in rows for name in row.values)
    no_number = {name for row in rows for name, value in row.values.items() if value is None}
    scored = {name for row in rows for name, value in row.values.items() if value is not None and not math.isnan(value)}
    usable = tuple(name for name in names if name in scored - no_number)
    paired = {name for row in rows for name in row.weights}
    candidates = tuple(name for name in usable if name not in paired) or usable
    if requested:
        if requested in no_number:
            raise DataError.at(
                path,
                f"{_no_number(requested)}; it has {listed(usable) or 'none'}",
                option="metric",
                value=requested,
                allowed=usable,
            )
        if requested not in usable:
            raise missing_name_error(path, "metric", requested, usable)
        return requested, candidates, ()
    if not candidates and no_number:
        raise DataError.at(
            path, f"{'; '.join(map(_no_number, sorted(no_number)))}; no metric of it is", option="metric"
        )
    if not candidates:
        raise DataError.of(
            path, "has no metric with a number a row; were its answers not scored (predict_only)?", option="metric"
        )
    if len(candidates) == 1:
        return candidates[0], candidates, ()
    if {"acc", "acc_norm"} <= set(candidates):
        differ = any(len(set(map(len, texts))) > 1 for texts in set(choices))
        metric, unread = ("acc_norm", "acc") if differ else ("acc", "acc_norm")
        reason = "differ in length" if differ else "are all of one length"
        return metric, candidates, (f"Of its metrics {metric} is read, not {unread}: the choices of a row {reason}.",)
    same = all(row.values.get(name) == row.values.get(candidates[0]) for row in rows for name in candidates)
    if same and paired.issuperset(candidates):
        return candidates[0], candidates, (f"The rows hold the same for {listed(candidates)}.",)
    raise several_names_error(path, "metrics", candidates, "metric")


def _no_number(metric: str) -> str:
    """Describe why models cannot be compared by a metric row by row."""
    pair = OF_ALL_ROWS.get(METRICS.get(metric, (metric, True))[0])
    return f"its {metric!r} is not one number a row" + (f", but one of all rows, of their pairs {pair}" if pair else "")


def _measure(path: Path, rows: Sequence[LogRow], metric: str, filter: str, results: Results) -> MetricInfo:
    """Describe the metric, and check the recorded aggregate against these rows."""
    values = np.array([_value(row, metric) for row in rows], dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise DataError.at(
            f"{path}, line {rows[infinite[0]].number}",
            f"its {metric!r} is infinite, or too large a number",
            option=metric,
        )
    weights = np.array([row.weights.get(metric, 1.0) for row in rows])
    recorded = results.recorded.get(f"{metric},{filter or UNFILTERED}")
    return infer_metric(metric, values, weights, results.aggregates.get(metric), results.higher.get(metric), recorded)


def _outcomes(rows: Sequence[LogRow], metric: str, higher: bool | None) -> tuple[Floats, Ints]:
    """Return (N,) the metric, and (N,) the state of each row."""
    values = np.array([_value(row, metric) for row in rows], dtype=np.float64)
    silent = np.array([row.silent for row in rows], dtype=bool)
    if higher is not False:  # on an unanswerable question no answer is right
        values[silent & np.isnan(values)] = 0.0
        silent &= values <= 0
    state = np.where(silent, NO_ANSWER, ANSWERED)
    state[np.isnan(values)] = ERROR
    return values, state


def _value(row: LogRow, metric: str) -> float:
    value = row.values.get(metric)
    return math.nan if value is None else value


def _row_labels(
    rows: Sequence[LogRow], choices: Sequence[tuple[str, ...]], results: Results, metric: str, outcomes: Floats
) -> tuple[RowLabels, tuple[str, ...]]:
    """Return the labels of the rows, from shared choices or from written answers, with notes."""
    if not any(row.likelihoods for row in rows):
        return _target_labels(rows, results, metric, outcomes)
    labels = shared_choices(choices)
    if not labels or any(len(row.likelihoods) not in (0, len(labels)) for row in rows):
        return no_labels(len(rows)), ()
    empty = (math.nan,) * len(labels)
    values = np.array([row.likelihoods or empty for row in rows], dtype=np.float64)
    scores = normalize_lengths(values, labels, metric)
    answers = argmax_rows(scores)
    told_by = metric if metric in COMPARED else "acc"
    chosen = argmax_rows(normalize_lengths(values, labels, told_by))
    recorded = np.array([_value(row, told_by) for row in rows])
    truth = resolve_targets(
        [row.target for row in rows],
        labels,
        lambda found: int(((found == chosen) == recorded)[(found >= 0) & (chosen >= 0)].sum()),
    )
    wrong = 0
    if metric in COMPARED:
        judged = (truth >= 0) & (answers >= 0) & ~np.isnan(outcomes)
        wrong = int(((answers == truth) != outcomes)[judged].sum())
    if wrong > MAX_LABEL_DISAGREEMENT * len(rows):
        return no_labels(len(rows)), (f"Labels are left out: on {wrong} rows they disagree with {metric}.",)
    notes = [f"On {wrong} rows the label disagrees with {metric}."] if wrong else []
    notes.append("Probabilities from the log-likelihoods of choices are not calibrated.")
    scores[~np.isfinite(scores).all(axis=1)] = math.nan
    return RowLabels(labels, truth, answers, scores), tuple(notes)


def _target_labels(
    rows: Sequence[LogRow], results: Results, metric: str, outcomes: Floats
) -> tuple[RowLabels, tuple[str, ...]]:
    """Return the labels of written answers: the choices of the task, or the right answers if these are few."""
    labels = shared_choices([results.choices])
    texts = [name_of(row.target) for row in rows]
    if labels:
        places = resolve_targets([row.target for row in rows], labels, lambda found: 0)
        texts = [labels[place] if place >= 0 else "" for place in places]
    answers = [
        WrittenAnswer(n, row.answer, value) for n, (row, value) in enumerate(zip(rows, outcomes.tolist(), strict=True))
    ]
    return label_written_answers(labels or closed_targets(texts), texts, answers, metric)


def _count_notes(keys: Sequence[str], results: Results) -> Iterator[str]:
    """Report repeated and missing rows."""
    repeated = sum("#" in key for key in keys)
    if repeated:
        yield f"{repeated} rows repeat the question of an earlier row; they are matched by order."
    if results.rows is not None and results.rows > len(keys):
        yield Absence(f"The log is partial: it holds {len(keys)} of the {results.rows} rows that were run.")
