"""Logs of Inspect, 0.3.41 to today: one task a file, ``.eval`` or ``.json``, a sample for each row and epoch.

A `ranker.sources.logs.formats.LogFormat`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from factors.types import Floats, Ints
from ranker.errors import Absence, DataError, listed
from ranker.files.archive import ZIP
from ranker.limits import Limits
from ranker.sources.logs.base import (
    MAX_LABEL_DISAGREEMENT,
    FoundLog,
    TaskLog,
    canonical,
    each_log,
    hashed,
    missing_name_error,
    several_names_error,
)
from ranker.sources.logs.epochs import MEAN, NAMES, reducer_named
from ranker.sources.logs.inspect_samples import InspectHeader, Mark, Sample, choices_named, header_of, samples_of
from ranker.sources.logs.labels import (
    RowLabels,
    WrittenAnswer,
    closed_targets,
    label_written_answers,
    most_frequent,
    no_labels,
)
from ranker.sources.logs.measures import AGGREGATES, INSPECT_AGGREGATES, SCORERS, SPREADS, MetricInfo
from ranker.sources.logs.options import LogOptions
from ranker.sources.usage import RowUsage, mean_usage
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER
from ranker.tasks.metrics import is_metric
from ranker.tasks.text_scores import is_text_metric

name, program = "inspect", "Inspect"
about = "Inspect: NAME.eval, or NAME.json if its log format is json"
file_pattern = "*.eval"
endings: tuple[str, ...] = (".eval", ".json")
options = frozenset({"scorer", "reducer"})
by_text = names_models = True


_STAMP = re.compile(r"\A\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d")


def claims(path: Path, start: bytes, limits: Limits) -> bool:
    """Return True for an archive that ends in .eval, and for JSON with the parts of a log."""
    if start.startswith(ZIP):
        return path.name.removesuffix(".gz").endswith(".eval")
    bare = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    return bare.startswith(b"{") and b'"eval"' in bare and (b'"status"' in bare or b'"plan"' in bare)


def find(folder: Path, names: Sequence[str], limits: Limits) -> tuple[list[FoundLog], list[str]]:
    """List logs, and errors of those that cannot be read."""

    def of_file(path: Path) -> FoundLog:
        header, stamp = header_of(path, limits), _STAMP.match(path.name)
        time = header.created or (stamp[0] if stamp else "")
        return FoundLog(path, name, header.model, header.task, time, header.arguments)

    return each_log(folder, names, of_file)


def groups(folder: Path, logs: Sequence[FoundLog], limits: Limits) -> Mapping[str, tuple[str, ...]]:
    """Return {}: tasks are in no group."""
    return {}


def trouble(log: FoundLog, limits: Limits) -> str:
    """Return why a log is incomplete: cut off, or of a run that did not end."""
    header, samples = samples_of(log.path, limits=limits)
    rows = len({sample.key for sample in samples})
    if header.planned is not None and header.planned > rows:
        return f"it holds {rows} of {header.planned} samples"
    return "" if header.complete else "its run did not end well"


def read(path: Path, choice: LogOptions, limits: Limits) -> TaskLog:
    """Read one log.

    Args:
        path: a file ``*.eval`` or ``*.json``, or either as gzip. The log of a killed run is read as far as it goes.
    """
    header, samples = samples_of(path, choice.cluster, limits)
    choice = choice.for_task(header.task)
    candidate, candidates = _candidate(path, samples, choice)
    rows = _rows(samples)
    firsts = [row[0] for row in rows]
    values = [np.array([_value(sample, candidate) for sample in row]) for row in rows]
    infinite = [row[0].key for row, scores in zip(rows, values, strict=True) if np.isinf(scores).any()]
    if infinite:
        reason = f"a score of the sample {infinite[0]!r} is infinite, or too large a number"
        raise DataError.at(path, reason, value=infinite[0])
    counts = np.array([int((~np.isnan(scores)).sum()) for scores in values], dtype=np.int64)
    epochs = max(header.epochs, max(sample.epoch for sample in samples) if len(samples) > len(rows) else 1)
    clusters, unclustered = _clusters(header, candidate[0], firsts, choice.cluster)
    labelled, about = _row_labels(rows, candidate)
    reducer, reduce, of_epochs = _reducer(header, choice, epochs)
    outcomes = np.array([reduce(scores) for scores in values])
    recorded = np.array([reduce(np.array([_value(sample, candidate, void=True) for sample in row])) for row in rows])
    measure = _measure(header, candidate, reducer, [sample for row in rows for sample in row], recorded)
    return TaskLog(
        program=name,
        version=header.version,
        task=header.task,
        model=header.model,
        metric=_metric_name(candidate, reducer if epochs > 1 else MEAN),
        candidates=candidates,
        measure=measure,
        keys=tuple(sample.key for sample in firsts),
        numbered=all(0 < sample.position <= max(header.size, len(rows)) for sample in firsts),
        responses=tuple(_written(row, candidate) for row in rows),
        references=tuple(list(sample.right) for sample in firsts),
        texts=tuple(sample.text for sample in firsts),
        target_hashes=tuple(sample.target_hash for sample in firsts),
        prompt_hashes=tuple(
            hashed(header.setup + sample.prompt_hash) if header.setup and sample.prompt_hash else ""
            for sample in firsts
        ),
        outcomes=outcomes,
        epochs=epochs,
        state=np.array(
            [_state(row, candidate, value) for row, value in zip(rows, outcomes, strict=True)], dtype=np.int64
        ),
        **labelled._asdict(),
        clusters=clusters,
        notes=(
            *header.notes,
            *of_epochs,
            *_notes(header, rows, counts, epochs),
            *measure.notes,
            *unclustered,
            *about,
        ),
        usage=_usage(header, rows),
    )


def _usage(header: InspectHeader, rows: Sequence[Sequence[Sample]]) -> RowUsage | None:
    """Return what a row took, the mean over its epochs; None if nothing is logged."""
    amounts = np.array([mean_usage([sample.usage for sample in row]) for row in rows]).T
    return None if np.isnan(amounts).all() else RowUsage(amounts, header.model, "USD")


def _candidate(path: Path, samples: Sequence[Sample], choice: LogOptions) -> tuple[tuple[str, str], tuple[str, ...]]:
    """Return the (scorer, part) to read, and the names of all usable ones."""
    wrong: dict[tuple[str, str], Mark] = {}
    scored: dict[tuple[str, str], bool] = {}
    for sample in samples:
        for key, mark in sample.marks.items():
            if mark.value is None:
                wrong.setdefault(key, mark)
            scored[key] = scored.get(key, False) or not (mark.value is None or math.isnan(mark.value))
    scorers = [key for key, usable in scored.items() if usable and key not in wrong]
    names = tuple(map(_name, scorers))
    meant = [key for key in scorers if _is_requested(key, choice)]
    if not meant and (is_metric(choice.metric) or is_text_metric(choice.metric)):  # not the log's own
        meant = [key for key in scorers if _is_requested(key, replace(choice, metric=""))]
    odd = next((key for key in wrong if _is_requested(key, choice)), None)
    if not meant and odd:
        raise DataError.at(
            path,
            f"the scores of {_name(odd)!r} are no numbers (got {wrong[odd].raw})",
            option="scorer",
            value=wrong[odd].raw,
        )
    if not scorers:
        raise DataError.of(path, "has no sample with a score", option="scorer")
    if not meant:
        requested = ".".join(filter(None, (choice.scorer, choice.metric)))
        raise missing_name_error(path, "scorer", requested, names)
    if len(meant) > 1:
        raise several_names_error(path, "scores", map(_name, meant), "scorer")
    return meant[0], names


def _name(key: tuple[str, str]) -> str:
    return ".".join(filter(None, key))


def _is_requested(key: tuple[str, str], choice: LogOptions) -> bool:
    """Return True if the caller chose this scorer, or part of its value."""
    scorer, part = key
    return choice.scorer in ("", scorer, _name(key)) and choice.metric in ("", part or scorer, scorer, _name(key))


def _rows(samples: Sequence[Sample]) -> list[list[Sample]]:
    """Group samples by row, each sorted by epoch; rows in the order of the log."""
    rows: dict[str, list[Sample]] = {}
    for sample in samples:
        rows.setdefault(sample.key, []).append(sample)
    return [sorted(row, key=lambda sample: sample.epoch) for row in rows.values()]


def _written(row: Sequence[Sample], candidate: tuple[str, str]) -> str:
    """Return the answer that was scored in the first epoch that did not fail, else all that the model wrote."""
    sample = next((sample for sample in row if not sample.failed), row[0])
    mark = sample.marks.get(candidate)
    return (mark.answer if mark is not None else "") or sample.completion


def _value(sample: Sample, candidate: tuple[str, str], void: bool = False) -> float:
    """Return the score of a sample; nan without one. That of a sample that failed counts only if `void`."""
    mark = sample.marks.get(candidate) or (sample.void.get(candidate) if void else None)
    return math.nan if mark is None or mark.value is None else mark.value


def _reducer(
    header: InspectHeader, choice: LogOptions, epochs: int
) -> tuple[str, Callable[[Floats], float], tuple[str, ...]]:
    """Return the name and function of the reducer of epochs, with notes."""
    name = choice.reducer or (MEAN if epochs == 1 else next(iter(header.reducers), MEAN))
    reduce = reducer_named(name)
    if reduce is None:
        raise DataError(
            f"no reducer of epochs is called {name!r}; there are {listed(NAMES)}",
            option="reducer",
            value=name,
            allowed=NAMES,
        )
    if epochs == 1 and not choice.reducer:
        return name, reduce, ()
    log_has = listed(header.reducers) or f"{MEAN} by default"
    return name, reduce, (f"Each row is the {name} of {epochs} epochs (the log has {log_has}).",)


def _metric_name(candidate: tuple[str, str], reduced_by: str) -> str:
    """Name a scorer, or a part of its value, followed by the reducer unless that is the mean."""
    name = candidate[1] or candidate[0]
    return name if reduced_by == MEAN else f"{name}[{reduced_by}]"


_LETTERS = frozenset(canonical(value) for value in ("C", "I", "P", "N", True, False))


def _measure(
    header: InspectHeader, candidate: tuple[str, str], reduced_by: str, samples: Sequence[Sample], outcomes: Floats
) -> MetricInfo:
    """Describe the score, and check the recorded aggregate against these rows."""
    marks = [sample.marks[candidate] for sample in samples if candidate in sample.marks]
    letters = all(mark.raw in _LETTERS for mark in marks if mark.value is not None and not math.isnan(mark.value))
    up = True if letters else None if candidate[1] else SCORERS.get(candidate[0])
    scored = outcomes[~np.isnan(outcomes)]
    metrics = header.recorded.get((*candidate, reduced_by)) or header.recorded.get((*candidate, ""), {})
    if reduced_by != next(iter(header.reducers), MEAN) and not header.recorded.get((*candidate, reduced_by)):
        metrics = {}
    numbers = {name.rpartition("/")[2]: value for name, value in metrics.items() if not math.isnan(value)}
    metric = next((name for name in numbers if name in INSPECT_AGGREGATES), None)
    fallback = next((name for name in numbers if name not in SPREADS), None)
    called = _metric_name(candidate, reduced_by)
    if metric is None or not len(scored):
        return MetricInfo(called, up, up is not None, "", None if fallback is None else numbers[fallback])
    aggregate = INSPECT_AGGREGATES[metric]
    value = AGGREGATES[aggregate].compute(scored, np.ones(len(scored)))
    return MetricInfo(called, up, up is not None, aggregate, numbers[metric], value)


def _state(row: Sequence[Sample], candidate: tuple[str, str], outcome: float) -> int:
    marks = [sample.marks[candidate] for sample in row if not math.isnan(_value(sample, candidate))]
    if not marks or math.isnan(outcome):
        return ERROR
    return NO_ANSWER if all(mark.silent for mark in marks) else ANSWERED


def _clusters(
    header: InspectHeader, scorer: str, firsts: Sequence[Sample], requested: str
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the groups of dependent rows, and notes."""
    name = requested or header.clusters.get(scorer)
    if name is None:
        return None, ()
    lacking = sum(name not in sample.groups for sample in firsts)
    if lacking:
        return None, (f"Rows are not clustered by {name}, as the log asks: {lacking} of them have no such field.",)
    return tuple(sample.groups[name] for sample in firsts), ()


def _row_labels(rows: Sequence[Sequence[Sample]], candidate: tuple[str, str]) -> tuple[RowLabels, tuple[str, ...]]:
    """Return the labels of the rows, from shared choices or from written answers, with notes."""
    offered = {sample.choices for row in rows for sample in row}
    if offered == {()}:
        return _target_labels(rows, candidate)
    first = next(iter(offered))
    if len(first) < 2 or any(len(set(choices)) < len(choices) or set(choices) != set(first) for choices in offered):
        return no_labels(len(rows)), ()
    labels = first if len(offered) == 1 else tuple(sorted(first))
    truth, answers, wrong = np.full(len(rows), -1), [], 0
    for number, row in enumerate(rows):
        right = row[0].right
        truth[number] = labels.index(right[0]) if len(right) == 1 else -1
        for sample in row:
            mark = sample.marks.get(candidate)
            picked = choices_named(mark.answer, sample.choices) if mark and mark.answer else ()
            if mark and len(picked) == 1:
                answers.append((number, labels.index(picked[0])))
                wrong += mark.value in (0, 1) and len(sample.right) == 1 and (picked == sample.right) != mark.value
    if wrong > MAX_LABEL_DISAGREEMENT * sum(map(len, rows)):
        note = f"Labels are left out: in {wrong} samples the answer tells something else than the score."
        return no_labels(len(rows)), (note,)
    return RowLabels(labels, truth, most_frequent(len(rows), answers), None), ()


def _target_labels(rows: Sequence[Sequence[Sample]], candidate: tuple[str, str]) -> tuple[RowLabels, tuple[str, ...]]:
    """Return the labels of written answers: the right answers, if these are few and each row has one."""
    targets = [row[0].right[0] if len(row[0].right) == 1 else "" for row in rows]
    answers = [
        WrittenAnswer(number, sample.marks[candidate].answer, _value(sample, candidate))
        for number, row in enumerate(rows)
        for sample in row
        if candidate in sample.marks
    ]
    wrong, right = ([bool(answer.text.strip()) for answer in answers if answer.value == value] for value in (0, 1))
    if (
        closed_targets(targets) and wrong and not any(wrong) and any(right)
    ):  # Inspect logs patterns of several groups so
        note = "Answers have no labels: the log records only the right ones."
        return no_labels(len(rows)), (note,)
    return label_written_answers(closed_targets(targets), targets, answers, _name(candidate))


def _notes(header: InspectHeader, rows: Sequence[Sequence[Sample]], counts: Ints, epochs: int) -> Iterator[str]:
    """Count missing rows and epochs, failures, samples run again or scored anew, and those that a limit ended."""
    samples = [sample for row in rows for sample in row]
    if header.planned is not None and header.planned > len(rows):
        yield Absence(f"The log is partial: it holds {len(rows)} of the {header.planned} samples that were to be run.")
    if fewer := int(((counts > 0) & (counts < epochs)).sum()):
        yield f"{fewer} of {len(rows)} rows have scores in only some of {epochs} epochs, and use these."
    noun = "sample" if len(samples) == 1 else "samples"
    size = f"{len(samples):,} {noun}"
    if failed := Counter(sample.failed for sample in samples if sample.failed):
        states = listed(f"{name} {count:,}" for name, count in sorted(failed.items()))
        yield f"Failed or invalid: {failed.total():,} of {size} ({states}); they have no score."
    if partly := sum(0 < sum(bool(sample.failed) for sample in row) < len(row) for row in rows):
        yield Absence(f"Failed or invalid in some epochs: {partly:,} of {len(rows):,} rows; the others count.")
    if retried := sum(sample.retried for sample in samples):
        yield f"Run again after an error: {retried:,} of {size}; the last run counts."
    if edited := sum(sample.edited for sample in samples):
        yield f"Scored anew after the run: {edited:,} of {size}; the new scores count."
    if limited := Counter(sample.limit for sample in samples if sample.limit):
        by_limit = listed(f"{name} {count}" for name, count in sorted(limited.items()))
        yield f"A limit ended {limited.total()} of {len(samples)} {noun} ({by_limit}); their scores count."
