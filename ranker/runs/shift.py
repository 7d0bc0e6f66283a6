"""How far domains are from each other: sets read, split, and measured."""

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
from ranker.domains.drops import with_models
from ranker.domains.select import SETS, SIMILAR, Candidate, chosen
from ranker.domains.shift import Domain, measured
from ranker.errors import DataError, UsageError, listed, look_up
from ranker.files.columns import Columns, Row
from ranker.limits import LIMITS, Limits
from ranker.results.shift import Shift
from ranker.runs.gather import Models, inspect_models
from ranker.runs.over_sets import over_sets
from ranker.runs.task import NamedTask, decide_task, mask_empty_words
from ranker.runtime.runtime import Runtime
from ranker.tasks.classes import ClassificationTask, has_labels, require_labels
from ranker.tasks.empty import is_blank

log = logging.getLogger(__name__)

Texts: TypeAlias = LabelledDataset | str | Path | Collection[Mapping[str, object]]
"""A set of texts as somebody names it: read already, a file, or rows in memory (see `readers.sheet`)."""


@dataclass(frozen=True)
class ReadOptions:
    """How files of texts are read.

    Attributes:
        columns: "text" and "label" -> columns, where their names are unusual; "summary" -> the one of the summary of a
            text, which has none otherwise.
        encoding: of files that are not UTF-8 and do not say what they are.
        limits: how much of them is read.
        empty_words: labels that are nothing; None for N/A and the like, where no label is called so.
    """

    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    encoding: str = ""
    limits: Limits = LIMITS
    empty_words: tuple[str, ...] | None = None


@dataclass(frozen=True)
class SentenceEncoding:
    """An encoder of sentences, and which vectors of it are taken: see `ranker.sources.hf.sentences`.

    Attributes:
        path: a directory, or a hub id.
        layer: whose output; None for the last.
        pooling: "mean" or "cls".
    """

    path: str | Path
    layer: int | None = None
    pooling: str = "mean"


@dataclass(frozen=True)
class Selecting:
    """How sets to test on are chosen: see `ranker.domains.select`.

    Attributes:
        sources: set -> where its texts come from; every set has one.
        similar: the cosine with the in-domain set from which on a set is too like it.
        sets: how many are chosen, at most.
        keep: sets that are not left out for being like it.
    """

    sources: Mapping[str, str]
    similar: float = SIMILAR
    sets: int = SETS
    keep: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShiftRequest:
    """All that `shift` is asked.

    Attributes:
        texts, by, topics, models, task, seed, runtime: see `shift`.
        reading: how files are read.
        selecting: how sets to test on are chosen; None where they are not.
        encoding: the encoder of sentences; None for words alone.
    """

    texts: Sequence[Texts]
    by: str | None = None
    topics: int | None = None
    models: Models | None = None
    task: ClassificationTask | str | None = None
    reading: ReadOptions = ReadOptions()
    selecting: Selecting | None = None
    encoding: SentenceEncoding | None = None
    seed: int = 0
    runtime: Runtime = Runtime()


def shift(
    *texts: Texts,
    by: str | None = None,
    topics: int | None = None,
    models: Models | None = None,
    task: ClassificationTask | str | None = None,
    sources: Mapping[str, str] | None = None,
    similar: float = SIMILAR,
    sets: int = SETS,
    keep: Sequence[str] = (),
    encoder: str | Path | None = None,
    layer: int | None = None,
    pooling: str = "mean",
    columns: Mapping[str, Sequence[str]] | None = None,
    seed: int = 0,
    runtime: Runtime = Runtime(),
) -> Shift:
    """Measure how far new domains are from the one that models were trained for.

    Args:
        texts: the in-domain set first, then the new ones: files, names of OOD sets, sets, or rows in memory. They need
            no labels. With `by` or `topics` one set, whose parts are compared, or two, of which the second is split.
        by: the column that says which part a row belongs to. Of one set the part of its first row is in-domain.
        topics: how many topics to split by. Of one set the largest topic is in-domain.
        models: models that are asked about all rows: what they lose in each new domain that has labels, whether the
            measures go with it, and from what they predict the labels of those that have none.
        task: what these do, or its name; None takes the one that the labels and the models fit. Labels that it counts
            as one are one, with or without models.
        sources: set -> where its texts come from. Sets to test on are then chosen as BOSS does, by what `models` lose.
        similar: for that the cosine with the in-domain set from which on a set is too like it.
        sets: how many are chosen, at most.
        keep: sets that are not left out for being like it.
        encoder: an encoder of sentences, a directory or a hub id; cosine and MMD^2 are measured by its vectors, too.
        layer: whose output is taken, from 0, the embeddings; None for the last.
        pooling: how the vectors of tokens become one: "mean", or "cls" for the first token.
        columns: "text" and "label" -> columns, where their names are unusual; "summary" -> the one of the summary of a
            text, whose measures are then told of each set.
        seed: of draws and resamples.
        runtime: how models are run; its progress is told of each pair of sets, too.

    Returns:
        Every two sets: how far they are from each other, by several measures, and in a word.

    Raises:
        UsageError: fewer than two sets, or more than 20; a task or a source that there is not.
        DataError: a file cannot be read, has no texts, or labels that are none of the task's.
        ModelError: no model could be asked.

    Example:
        >>> from ranker import load_set, shift
        >>> found = shift(load_set("hans-sub"), load_set("hans-con"))
        >>> found.pair("hans-sub", "hans-con").verdict
        'far'
    """
    selecting = None if sources is None else Selecting(sources, similar, sets, tuple(keep))
    encoding = None if encoder is None else SentenceEncoding(encoder, layer, pooling)
    reading = ReadOptions(columns or {})
    return answer_request(ShiftRequest(texts, by, topics, models, task, reading, selecting, encoding, seed, runtime))


def answer_request(question: ShiftRequest) -> Shift:
    """What comes of a question; see `shift` for errors."""
    of = compare_sets(question)
    _check(question, of.domains)
    named = NamedTask(question.task or of.task)
    models = None if question.models is None else inspect_models(question.models)
    decided = named.lookup() if models is None else decide_task(named, of.sheet, models.stated)
    task = None if decided is None else require_labels(decided, "`shift`")
    given, said = (of.domains, "") if question.encoding is None else _encoded(of.domains, question.encoding, question)
    done = None if models is None or task is None else over_sets(given, models, task, question.runtime)
    if task is not None:
        given = [one.called(task) for one in given]
    found = measured(given, question.seed, question.runtime.progress, said)
    if done is not None and task is not None:
        true = done.true if (done.true >= 0).any() else None
        found = with_models(found, done.answers, task.metric, task.labels, true, done.failures)
    return found if question.selecting is None else _selected(found, question.selecting)


def _encoded(given: Sequence[Domain], of: SentenceEncoding, question: ShiftRequest) -> tuple[list[Domain], str]:
    """The sets with the vectors of an encoder, and what these are in words."""
    from ranker.sources.hf.sentences import Encoder  # and torch with it

    encoder = Encoder.load(of.path, of.layer, of.pooling, question.runtime.machine, question.reading.limits)
    with question.runtime.progress("sentences", sum(len(domain.examples) for domain in given)) as advance:
        return [
            replace(domain, vectors=encoder.vectors(domain.texts, advance)) for domain in given
        ], encoder.description


def _check(question: ShiftRequest, given: Sequence[Domain]) -> None:
    """Refuse sets to be chosen without what they are chosen by.

    Raises:
        UsageError: no models, or a set without a source, or a name that no set has.
    """
    of = question.selecting
    if of is None:
        return
    names = {domain.name: domain.name for domain in given}
    if question.models is None:
        raise UsageError("sets are chosen by what models lose on them: `models` is needed")
    for name in (*of.sources, *of.keep):
        look_up("set", name, names)
    if without := [name for name in names if name not in of.sources]:
        raise UsageError(f"every set needs a source, where its texts come from; {listed(without)} has none")


def _selected(found: Shift, of: Selecting) -> Shift:
    """The sets to test on, and why.

    Raises:
        UsageError: a set has no labels, or no centroid.
    """
    candidates = []
    for pair in found.new:
        cosine, drop = pair.measure(found.closeness).value, found.drop(pair.b)
        if cosine is None or drop is None:
            what = "no direction" if cosine is None else "no score"
            raise UsageError(f"{pair.b} cannot be chosen or left out: it has {what} to compare")
        candidates.append(Candidate(pair.b, of.sources[pair.b], cosine, drop))
    return replace(found, choices=chosen(of.sources[found.first], candidates, of.similar, of.sets, of.keep))


@dataclass(frozen=True)
class ComparedSets:
    """The sets that are compared.

    Attributes:
        domains: the sets, whose names differ; the in-domain one first.
        sheet: the rows of the first file that has labels; None where none has.
        task: of the first OOD set; None where there is none.
    """

    domains: tuple[Domain, ...]
    sheet: Sheet | None
    task: ClassificationTask | None


def compare_sets(question: ShiftRequest) -> ComparedSets:
    """Read the sets that are to be compared, and split the last, if so wanted.

    Raises:
        UsageError, DataError: as `shift`.
    """
    texts, by, topics = question.texts, question.by, question.topics
    if by is not None and topics is not None:
        raise UsageError("`by` and `topics` both split a set: give one of them")
    split = by is not None or topics is not None
    if split and not 1 <= len(texts) <= 2:
        name, where = "topics" if by is None else "by", "name it alone, or after the in-domain one"
        raise UsageError(f"`{name}` splits one set: {where} (got {len(texts)})")
    if not split and not 2 <= len(texts) <= parts.MOST:
        raise UsageError(
            f"two sets or more are needed, up to {parts.MOST}: in-domain rows, and new ones (got {len(texts)})"
        )
    read = [_read(one, question.reading, question.task) for one in texts]
    readers.check_named(question.reading.columns, [one.columns for one in read if one.columns is not None])
    found = [one.domain for one in read]
    if topics is not None:
        found[-1:] = parts.by_topic(found[-1], topics, np.random.default_rng(question.seed))
    elif by is not None:
        found[-1:] = parts.by_value(found[-1], _column(by, read[-1]))
    sheet = next((one.sheet for one in read if one.sheet is not None and one.domain.frequencies), None)
    return ComparedSets(tuple(_named(found)), sheet, next((one.task for one in read if one.task is not None), None))


class _SetWithRows(NamedTuple):
    """A set, with the rows that it was read from, or its task."""

    domain: Domain
    sheet: Sheet | None = None
    task: ClassificationTask | None = None
    columns: Columns | None = None


def _read(source: Texts, reading: ReadOptions, task_named: ClassificationTask | str | None) -> _SetWithRows:
    """A set from wherever it is."""
    if isinstance(source, str) and not Path(source).exists() and source.casefold() in map(str.casefold, sets.cards(())):
        source = sets.load(source)
    if isinstance(source, LabelledDataset):
        task = source.task if has_labels(source.task) else None
        labels = [None if task is None or not row.labelled else task.show(row.target) for row in source.examples]
        return _SetWithRows(Domain(source.name, source.examples, labels, limits=reading.limits), None, task)
    columns = {role: names for role, names in reading.columns.items() if role != "summary"}
    read = Path(source) if isinstance(source, str) else source
    content = readers.content(read, columns, reading.encoding, reading.limits)
    sheet, words = mask_empty_words(
        readers.pool(content, columns, limits=reading.limits), reading.empty_words, NamedTask(task_named)
    )
    for note in words:
        log.warning("%s: %s", sheet.origin, note)
    sheet = sheet._replace(layout=replace(sheet.layout, id=None))  # nothing is looked up by it
    summaries = [_summary(row, one) for one in reading.columns.get("summary", ()) for row in sheet.rows]
    name, rows, labels = _stem(sheet.origin), readers.unlabelled(sheet), readers.raw_labels(sheet)
    return _SetWithRows(Domain(name, rows, labels, summaries=summaries, limits=reading.limits), sheet, columns=content)


def _summary(row: Row, column: str) -> str:
    """The summary of a row.

    Raises:
        DataError: there is none.
    """
    found = row.cells.get(column)
    if not isinstance(found, str) or is_blank(found):
        raise DataError(f"{row.place}: the column {column!r} must hold a summary (columns: {listed(row.cells)})")
    return found


def _stem(origin: str) -> str:
    """What a set is called: the name of its file, without endings."""
    return Path(origin).name.split(".")[0] or origin


def _column(by: str, read: _SetWithRows) -> list[str | None]:
    """(N,) what rows have in a column; None for nothing."""
    sheet = read.sheet
    if sheet is None:
        raise UsageError(f"`by`: {read.domain.name} is no file whose columns are known")
    known = list(dict.fromkeys(column for row in sheet.rows for column in row.cells))
    if by not in known:
        raise UsageError(f"`by`: {read.domain.name} has no column {by!r} (columns: {listed(known)})")
    cells: list[Any] = [row.cells.get(by) for row in sheet.rows]
    return [None if is_blank(cell) else str(cell).strip() for cell in cells]


def _named(found: Sequence[Domain]) -> list[Domain]:
    """The sets with names that differ: those of a name that several have are numbered.

    Raises:
        UsageError: one has the name that a number would make.
    """
    many = Counter(one.name for one in found)
    seen: Counter[str] = Counter()
    named = []
    for one in found:
        seen[one.name] += 1
        named.append(replace(one, name=f"{one.name} {seen[one.name]}") if many[one.name] > 1 else one)
    twice = [name for name, count in Counter(one.name for one in named).items() if count > 1]
    if twice:
        raise UsageError(f"two sets would have the name {twice[0]!r}: call a file otherwise")
    return named
