"""Logs of Inspect, 0.3.41 to today: one task a file, ``.eval`` or ``.json``, a sample for each row and epoch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from factors.types import Floats, Ints
from ranker.errors import Assumption, DataError, listed
from ranker.sources.logs.base import MOST_WRONG, LogSelection, TaskLog, canonical, hashed, of_those
from ranker.sources.logs.epochs import MEAN, NAMES, reducer
from ranker.sources.logs.inspect_samples import InspectHeader, Mark, Sample, chosen, samples_of
from ranker.sources.logs.labels import Labelled, Written, few, in_words, most_frequent, unlabelled
from ranker.sources.logs.measures import AGGREGATES, INSPECT_AGGREGATES, SCORERS, SPREADS, MetricInfo
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER
from ranker.tasks.metrics import is_metric

PROGRAM = "inspect"


def read_inspect_log(path: Path, choice: LogSelection = LogSelection()) -> TaskLog:
    """One log.

    Args:
        path: a file ``*.eval`` or ``*.json``, or either as gzip. What a killed run wrote is read as far as it goes.
        choice: the scorer, where the log has several, or the part of its value, and what rows belong together.

    Raises:
        DataError: it is no such log, or broken, or answers a row twice, or what is asked for is not in it.
    """
    header, samples = samples_of(path, choice.cluster, choice.limits)
    candidate, candidates = _candidate(path, samples, choice)
    rows = _rows(samples)
    firsts = [row[0] for row in rows]
    values = [np.array([_value(sample, candidate) for sample in row]) for row in rows]
    _check_finite(path, rows, values)
    counts = np.array([int((~np.isnan(found)).sum()) for found in values], dtype=np.int64)
    epochs = max(header.epochs, max(sample.epoch for sample in samples) if len(samples) > len(rows) else 1)
    cluster, clusters, unclustered = _clusters(header, candidate[0], firsts, choice.cluster)
    labelled, about = _labelled(rows, candidate)
    name, reduce, of_epochs = _reducer(header, choice, epochs)
    outcomes = np.array([reduce(found) for found in values])
    measure = _measure(header, candidate, name, [sample for row in rows for sample in row], outcomes)
    return TaskLog(
        program=PROGRAM,
        version=header.version,
        task=header.task,
        model=header.model,
        metric=_called(candidate, name if epochs > 1 else MEAN),
        scorer=candidate[0],
        candidates=candidates,
        measure=measure,
        keys=tuple(sample.key for sample in firsts),
        numbered=all(0 < sample.position <= max(header.size, len(rows)) for sample in firsts),
        texts=tuple(sample.text for sample in firsts),
        target_hashes=tuple(sample.target_hash for sample in firsts),
        prompt_hashes=tuple(_asked(header, sample) for sample in firsts),
        outcomes=outcomes,
        counts=counts,
        epochs=epochs,
        state=np.array(
            [_state(row, candidate, value) for row, value in zip(rows, outcomes, strict=True)], dtype=np.int64
        ),
        **labelled._asdict(),
        cluster=cluster,
        clusters=clusters,
        notes=(
            *header.notes,
            *of_epochs,
            *_counted(header, counts, epochs),
            *_limited(samples),
            *measure.notes,
            *unclustered,
            *about,
        ),
    )


def _candidate(path: Path, samples: Sequence[Sample], choice: LogSelection) -> tuple[tuple[str, str], tuple[str, ...]]:
    """(scorer, part) that is read, and the names of all that could be.

    Raises:
        DataError: there is none, none of that name, or no clear one.
    """
    wrong: dict[tuple[str, str], Mark] = {}
    scored: dict[tuple[str, str], bool] = {}
    for sample in samples:
        for key, mark in sample.marks.items():
            if mark.value is None:
                wrong.setdefault(key, mark)
            scored[key] = scored.get(key, False) or not (mark.value is None or math.isnan(mark.value))
    found = [key for key, usable in scored.items() if usable and key not in wrong]
    names = tuple(map(_name, found))
    meant = [key for key in found if _is_meant(key, choice)]
    if not meant and is_metric(choice.metric or ""):  # that of the labels is meant
        meant = [key for key in found if _is_meant(key, replace(choice, metric=None))]
    odd = next((key for key in wrong if _is_meant(key, choice)), None)
    if not meant and odd:
        raise DataError(f"{path}: the scores of {_name(odd)!r} are no numbers (got {wrong[odd].written})")
    if not found:
        raise DataError(f"{path} has no sample with a score")
    if not meant:
        asked = ".".join(filter(None, (choice.scorer, choice.metric)))
        raise of_those(path, "scorer", asked, names)
    if len(meant) > 1:
        raise DataError(f"{path} has several scores, {listed(map(_name, meant))}; say which with `scorer`")
    return meant[0], names


def _name(key: tuple[str, str]) -> str:
    return ".".join(filter(None, key))


def _is_meant(key: tuple[str, str], choice: LogSelection) -> bool:
    """Whether a scorer, or a part of its value, is what was asked for."""
    scorer, part = key
    return choice.scorer in (None, scorer, _name(key)) and choice.metric in (None, part or scorer, scorer, _name(key))


def _rows(samples: Sequence[Sample]) -> list[list[Sample]]:
    """The samples of each row, by epoch; rows in the order of the log."""
    rows: dict[str, list[Sample]] = {}
    for sample in samples:
        rows.setdefault(sample.key, []).append(sample)
    return [sorted(row, key=lambda sample: sample.epoch) for row in rows.values()]


def _asked(header: InspectHeader, sample: Sample) -> str:
    """A hash of what the model was given, and how; "" where one of the two is not known."""
    return hashed(header.setup + sample.prompt_hash) if header.setup and sample.prompt_hash else ""


def _value(sample: Sample, candidate: tuple[str, str]) -> float:
    mark = sample.marks.get(candidate)
    return math.nan if mark is None or mark.value is None else mark.value


def _check_finite(path: Path, rows: Sequence[Sequence[Sample]], values: Sequence[Floats]) -> None:
    for row, found in zip(rows, values, strict=True):
        if np.isinf(found).any():
            raise DataError(f"{path}: a score of the sample {row[0].key!r} is infinite, or too large a number")


def _reducer(
    header: InspectHeader, choice: LogSelection, epochs: int
) -> tuple[str, Callable[[Floats], float], tuple[str, ...]]:
    """What the epochs of a row are reduced to: its name, how, and what is to be known of it.

    Raises:
        DataError: the one that is asked for is none.
    """
    mean = reducer(MEAN)
    assert mean is not None  # it is in the table
    logged = next(iter(header.reducers), MEAN)
    name = choice.reducer or logged
    reduce = reducer(name)
    if reduce is None and choice.reducer:
        raise DataError(f"no reducer of epochs is called {name!r}; there are {listed(NAMES)}")
    if epochs == 1 and not choice.reducer:
        return MEAN, mean, ()
    if reduce is None:
        note = f"The log reduces its {epochs} epochs by {name}, which is not known here: their mean is meant."
        return MEAN, mean, (Assumption(note),)
    log_has = listed(header.reducers) or f"{MEAN} by default"
    return name, reduce, (f"Each row is the {name} of {epochs} epochs (the log has {log_has}).",)


def _called(candidate: tuple[str, str], reduced_by: str) -> str:
    """The name of a scorer, or of a part of its value, with the reducer of its epochs where that is not the mean."""
    name = candidate[1] or candidate[0]
    return name if reduced_by == MEAN else f"{name}[{reduced_by}]"


_LETTERS = frozenset(canonical(value) for value in ("C", "I", "P", "N", True, False))


def _measure(
    header: InspectHeader, candidate: tuple[str, str], reduced_by: str, samples: Sequence[Sample], outcomes: Floats
) -> MetricInfo:
    """What a score is, and whether the recorded number is that of these rows."""
    marks = [sample.marks[candidate] for sample in samples if candidate in sample.marks]
    letters = all(mark.written in _LETTERS for mark in marks if mark.value is not None and not math.isnan(mark.value))
    up = True if letters else None if candidate[1] else SCORERS.get(candidate[0])
    known = outcomes[~np.isnan(outcomes)]
    metrics = header.recorded.get((*candidate, reduced_by)) or header.recorded.get((*candidate, ""), {})
    if reduced_by != next(iter(header.reducers), MEAN) and not header.recorded.get((*candidate, reduced_by)):
        metrics = {}
    named = {name.rpartition("/")[2]: value for name, value in metrics.items() if not math.isnan(value)}
    metric = next((name for name in named if name in INSPECT_AGGREGATES), None)
    other = next((name for name in named if name not in SPREADS), None)
    called = _called(candidate, reduced_by)
    if metric is None or not len(known):
        return MetricInfo(called, up, up is not None, "", None if other is None else named[other])
    aggregate = INSPECT_AGGREGATES[metric]
    value = AGGREGATES[aggregate].compute(known, np.ones(len(known)))
    return MetricInfo(called, up, up is not None, aggregate, named[metric], value)


def _state(row: Sequence[Sample], candidate: tuple[str, str], outcome: float) -> int:
    known = [sample.marks[candidate] for sample in row if not math.isnan(_value(sample, candidate))]
    if not known or math.isnan(outcome):
        return ERROR
    return NO_ANSWER if all(mark.silent for mark in known) else ANSWERED


def _clusters(
    header: InspectHeader, scorer: str, firsts: Sequence[Sample], asked: str | None
) -> tuple[str, tuple[str, ...] | None, tuple[str, ...]]:
    """The field that says what rows belong together, its values, and what is to be known of that."""
    name = asked or header.clusters.get(scorer)
    if name is None:
        return "", None, ()
    lacking = sum(name not in sample.groups for sample in firsts)
    if lacking:
        return "", None, (f"Rows are not clustered by {name}, as the log asks: {lacking} of them have no such field.",)
    return name, tuple(sample.groups[name] for sample in firsts), ()


def _labelled(rows: Sequence[Sequence[Sample]], candidate: tuple[str, str]) -> tuple[Labelled, tuple[str, ...]]:
    """The labels of the rows, and what is to be known of that: of the same choices, or of what was written."""
    offered = {sample.choices for row in rows for sample in row}
    if offered == {()}:
        return _in_words(rows, candidate)
    first = next(iter(offered))
    if len(first) < 2 or any(len(set(choices)) < len(choices) or set(choices) != set(first) for choices in offered):
        return unlabelled(len(rows)), ()
    labels = first if len(offered) == 1 else tuple(sorted(first))
    truth, said, wrong = np.full(len(rows), -1), [], 0
    for at, row in enumerate(rows):
        right = row[0].right
        truth[at] = labels.index(right[0]) if len(right) == 1 else -1
        for sample in row:
            mark = sample.marks.get(candidate)
            named = chosen(mark.answer, sample.choices) if mark and mark.answer else ()
            if mark and len(named) == 1:
                said.append((at, labels.index(named[0])))
                wrong += mark.value in (0, 1) and len(sample.right) == 1 and (named == sample.right) != mark.value
    if wrong > MOST_WRONG * sum(map(len, rows)):
        note = f"Labels are left out: in {wrong} samples the answer tells something else than the score."
        return unlabelled(len(rows)), (note,)
    return Labelled(labels, truth, most_frequent(len(rows), said), None), ()


def _in_words(rows: Sequence[Sequence[Sample]], candidate: tuple[str, str]) -> tuple[Labelled, tuple[str, ...]]:
    """The labels of what was written: the right answers, where these are few, and each row has one."""
    targets = [row[0].right[0] if len(row[0].right) == 1 else "" for row in rows]
    answers = [
        Written(at, sample.marks[candidate].answer, _value(sample, candidate))
        for at, row in enumerate(rows)
        for sample in row
        if candidate in sample.marks
    ]
    wrong, right = ([bool(one.text.strip()) for one in answers if one.value == value] for value in (0, 1))
    if few(targets) and wrong and not any(wrong) and any(right):  # a pattern of several groups is logged so
        note = "Answers have no labels: the log records those alone that are right."
        return unlabelled(len(rows)), (note,)
    return in_words(few(targets), targets, answers, _name(candidate))


def _limited(samples: Sequence[Sample]) -> Iterator[str]:
    """How many samples a limit ended, and which."""
    counts = Counter(sample.limit for sample in samples if sample.limit)
    if counts:
        each = listed(f"{name} {count}" for name, count in sorted(counts.items()))
        one, count = "sample" if len(samples) == 1 else "samples", sum(counts.values())
        yield f"A limit ended {count} of {len(samples)} {one} ({each}); what they scored counts."


def _counted(header: InspectHeader, counts: Ints, epochs: int) -> Iterator[str]:
    """What is to be known of the number of rows, and of epochs."""
    if header.planned is not None and header.planned > len(counts):
        yield f"The log is partial: it holds {len(counts)} of the {header.planned} samples that were to be run."
    fewer = int(((counts > 0) & (counts < epochs)).sum())
    if fewer:
        yield f"{fewer} of {len(counts)} rows have a score in some of {epochs} epochs only, and are made of these."
