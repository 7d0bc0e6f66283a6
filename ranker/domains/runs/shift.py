"""Measure how far domains are from each other: read sets, split them, compare them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ranker.datasets import readers, sets
from ranker.datasets.readers import Sheet
from ranker.datasets.sets import LabelledDataset
from ranker.domains import parts
from ranker.domains.results.shift import Shift
from ranker.domains.runs.over_sets import add_model_scores, over_sets
from ranker.domains.shift import Domain, measure_shift
from ranker.errors import Assumption, DataError, UsageError, check_installed, listed
from ranker.files.columns import Columns, Row
from ranker.limits import LIMITS, Limits
from ranker.runs.inspected import Models, inspect_models
from ranker.runs.signatures import checked
from ranker.runs.task import NamedTask, decide_task, mask_empty_words
from ranker.runtime.runtime import Runtime
from ranker.tasks.classes import ClassificationTask, has_labels, require_labels
from ranker.tasks.empty import is_blank

log = logging.getLogger(__name__)

Texts: TypeAlias = LabelledDataset | str | Path | Collection[Mapping[str, object]]
"""A set of texts as a user names it: a dataset, a file, or rows in memory (see `readers.sheet`)."""


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading files of texts.

    Attributes:
        columns: "text" and "label" -> columns with unusual names; "summary" -> the column of the text's summary, if
            any.
        encoding: encoding of files that are not UTF-8 and do not declare it.
        limits: size limits of the files.
        empty_words: labels that mean nothing; None for N/A and the like, unless a label has that name.
    """

    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    encoding: str = ""
    limits: Limits = LIMITS
    empty_words: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ShiftRequest:
    """Inputs and settings of `shift`.

    Attributes:
        texts, by, topics, models, task, encoder, layer, pooling, seed, runtime: see `shift`.
        reading: how files are read.
    """

    texts: Sequence[Texts]
    by: str | None = None
    topics: int | None = None
    models: Models | None = None
    task: ClassificationTask | str | None = None
    reading: ReadOptions = ReadOptions()
    encoder: str | Path | None = None
    layer: int | None = None
    pooling: str = "mean"
    seed: int = 0
    runtime: Runtime = Runtime()


@checked
def shift(
    *texts: Texts,
    by: str | None = None,
    topics: int | None = None,
    models: Models | None = None,
    task: ClassificationTask | str | None = None,
    encoder: str | Path | None = None,
    layer: int | None = None,
    pooling: str = "mean",
    columns: Mapping[str, Sequence[str]] | None = None,
    seed: int = 0,
    runtime: Runtime = Runtime(),
) -> Shift:
    """Measure how far new domains are from the one that models were trained for.

    Args:
        texts: the in-domain set, then the new ones: files, names of OOD sets, datasets, or rows in memory. Labels are
            not needed. With `by` or `topics` one set, whose parts are compared, or two, of which the second is split.
        by: column that splits rows into parts. If one set is split, the part of its first row is in-domain.
        topics: number of topics to split by. If one set is split, its largest topic is in-domain.
        models: models to run on all rows. They show the loss in each new domain with labels, and whether the measures
            go with it.
        task: task of the models, or its name; None takes the one that the labels and the models fit. Labels that the
            task counts as one are one, with or without models.
        encoder: sentence encoder, a directory or a hub id; cosine and MMD^2 are also measured by its vectors.
        layer: layer of the vectors, from 0, the embeddings; None for the last.
        pooling: how token vectors become one: "mean", or "cls" for the first token.
        columns: "text" and "label" -> columns with unusual names; "summary" -> the column of the text's summary, which
            adds measures of summaries to each set.
        seed: seed of draws and resamples.
        runtime: how models run; its progress also covers each pair of sets.

    Returns:
        The distances between every two sets by several measures, with a verdict.

    Raises:
        UsageError: fewer than two sets, or more than 20; an unknown task.
        DataError: a file cannot be read, has no texts, or has labels outside the task.
        ModelError: no model could be asked.

    Example:
        >>> from ranker import load_set, shift
        >>> found = shift(load_set("hans-sub"), load_set("hans-con"))
        >>> found.pair("hans-sub", "hans-con").verdict
        'far'
    """
    reading = ReadOptions(columns or {})
    return answer_request(
        ShiftRequest(texts, by, topics, models, task, reading, encoder, layer, pooling, seed, runtime)
    )


def answer_request(question: ShiftRequest) -> Shift:
    """Measure the distances that a request asks for; see `shift` for errors."""
    check_installed("`shift`", "shift")
    if question.encoder is not None:
        check_installed("`encoder`", "models", option="encoder")
    compared = compare_sets(question)
    named_task = NamedTask(question.task or compared.task)
    models = None if question.models is None else inspect_models(question.models)
    decided = named_task.lookup() if models is None else decide_task(named_task, compared.sheet, models.infos)
    task = None if decided is None else require_labels(decided, "`shift`")
    domains, encoder_text = _encode_domains(compared.domains, question)
    scored = None if models is None or task is None else over_sets(domains, models, task, question.runtime)
    if task is not None:
        domains = [domain.with_task_labels(task) for domain in domains]
    with question.runtime.progress("domains", len(domains) * (len(domains) - 1) // 2) as advance:
        distances = measure_shift(domains, question.seed, encoder_text, advance)
    distances = replace(distances, notes=(*compared.notes, *distances.notes))
    if scored is not None and task is not None:
        outcomes, failures = scored
        distances = add_model_scores(distances, outcomes, task.metric, failures)
    return distances


def _encode_domains(domains: Sequence[Domain], question: ShiftRequest) -> tuple[Sequence[Domain], str]:
    """Return the sets with an encoder's vectors, and a description of these; without one as they are, and ""."""
    if question.encoder is None:
        return domains, ""
    from ranker.sources.hf.sentences import Encoder  # imports torch

    limits, runtime = question.reading.limits, question.runtime
    encoder = Encoder.load(question.encoder, question.layer, question.pooling, runtime.machine, limits)
    with runtime.progress("sentences", sum(len(domain.examples) for domain in domains)) as advance:
        encoded = [replace(domain, vectors=encoder.vectors(domain.texts, advance)) for domain in domains]
    return encoded, encoder.description


@dataclass(frozen=True)
class ComparedSets:
    """Sets that are compared.

    Attributes:
        domains: the sets under different names, the in-domain one first.
        sheet: rows of the first file with labels; None if none has any.
        task: task of the first OOD set; None if there is none.
        notes: how many rows are in no set.
    """

    domains: tuple[Domain, ...]
    sheet: Sheet | None
    task: ClassificationTask | None
    notes: tuple[str, ...] = ()


def compare_sets(question: ShiftRequest) -> ComparedSets:
    """Read the sets to compare, and split the last if asked to; errors are those of `shift`."""
    texts, by, topics = question.texts, question.by, question.topics
    if by is not None and topics is not None:
        raise UsageError.about("by", "and `topics` both split a set: give one of them", by)
    split = by is not None or topics is not None
    if split and not 1 <= len(texts) <= 2:
        name, advice = "topics" if by is None else "by", "name it alone, or after the in-domain one"
        raise UsageError.about(name, f"splits one set: {advice} (got {len(texts)})", len(texts))
    if not split and not 2 <= len(texts) <= parts.MAX_SETS:
        text = f"two sets or more are needed, up to {parts.MAX_SETS}: in-domain rows, and new ones (got {len(texts)})"
        raise UsageError(text, value=len(texts), allowed=(2, parts.MAX_SETS))
    sources = [_read(text, question.reading, question.task) for text in texts]
    readers.check_named(question.reading.columns, [source.columns for source in sources if source.columns is not None])
    domains = [source.domain for source in sources]
    notes: tuple[str, ...] = ()
    if topics is not None:
        domains[-1:] = parts.by_topic(domains[-1], topics, np.random.default_rng(question.seed))
    elif by is not None:
        values = _column_values(by, sources[-1])
        domains[-1:] = parts.by_value(domains[-1], values)
        if blank := values.count(None):
            rows = f"{blank:,} of {len(values):,} rows of {sources[-1].domain.name}"
            notes = (Assumption(f"{rows} have no {by!r}, and are in no set."),)
    sheet = next((source.sheet for source in sources if source.sheet is not None and source.domain.frequencies), None)
    task = next((source.task for source in sources if source.task is not None), None)
    return ComparedSets(tuple(_number_names(domains)), sheet, task, notes)


class _SetWithRows(NamedTuple):
    """A set, and the rows it was read from, or its task."""

    domain: Domain
    sheet: Sheet | None = None
    task: ClassificationTask | None = None
    columns: Columns | None = None


def _read(source: Texts, reading: ReadOptions, task_named: ClassificationTask | str | None) -> _SetWithRows:
    """Read a set from a dataset, a file, or the name of an OOD set."""
    if isinstance(source, str) and not Path(source).exists() and source.casefold() in map(str.casefold, sets.cards(())):
        source = sets.load(source)
    if isinstance(source, LabelledDataset):
        task = source.task if has_labels(source.task) else None
        labels = [None if task is None or not row.labelled else task.show(row.target) for row in source.examples]
        return _SetWithRows(Domain(source.name, source.examples, labels, limits=reading.limits), None, task)
    columns = {role: names for role, names in reading.columns.items() if role != "summary"}
    location = Path(source) if isinstance(source, str) else source
    content = readers.content(location, columns, reading.encoding, reading.limits)
    sheet, words = mask_empty_words(
        readers.read_pool_rows(content, columns, limits=reading.limits), reading.empty_words, NamedTask(task_named)
    )
    for note in words:
        log.warning("%s: %s", sheet.origin, note)
    sheet = sheet._replace(layout=replace(sheet.layout, id=None))  # nothing needs the ids
    summaries = [_summary(row, column) for column in reading.columns.get("summary", ()) for row in sheet.rows]
    name, rows, labels = _stem(sheet.origin), readers.unlabelled(sheet), readers.raw_labels(sheet)
    return _SetWithRows(Domain(name, rows, labels, summaries=summaries, limits=reading.limits), sheet, columns=content)


def _summary(row: Row, column: str) -> str:
    """Return the summary of a row."""
    summary = row.cells.get(column)
    if not isinstance(summary, str) or is_blank(summary):
        predicate = f"must hold a summary (columns: {listed(row.cells)})"
        raise DataError.of_column(column, predicate, summary, place=row.place)
    return summary


def _stem(origin: str) -> str:
    """Return the name of a set: that of its file, without endings."""
    return Path(origin).name.split(".")[0] or origin


def _column_values(by: str, source: _SetWithRows) -> list[str | None]:
    """(N,) Values of the rows in a column; None if blank."""
    sheet = source.sheet
    if sheet is None:
        text = f"`by`: {source.domain.name} is no file whose columns are known"
        raise UsageError(text, option="by", value=by, place=source.domain.name)
    names = list(dict.fromkeys(column for row in sheet.rows for column in row.cells))
    if by not in names:
        text = f"`by`: {source.domain.name} has no column {by!r} (columns: {listed(names)})"
        raise UsageError(text, option="by", value=by, allowed=names, place=source.domain.name)
    cells: list[Any] = [row.cells.get(by) for row in sheet.rows]
    return [None if is_blank(cell) else str(cell).strip() for cell in cells]


def _number_names(domains: Sequence[Domain]) -> list[Domain]:
    """Number the sets that share a name."""
    totals = Counter(domain.name for domain in domains)
    counts: Counter[str] = Counter()
    numbered = []
    for domain in domains:
        counts[domain.name] += 1
        numbered.append(
            replace(domain, name=f"{domain.name} {counts[domain.name]}") if totals[domain.name] > 1 else domain
        )
    twice = [name for name, count in Counter(domain.name for domain in numbered).items() if count > 1]
    if twice:
        raise UsageError(f"two sets would have the name {twice[0]!r}: call a file otherwise", value=twice[0])
    return numbered
