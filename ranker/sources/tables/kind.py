"""Tables of predictions as a kind of source: a file of one model, or of many with a column or group of columns each."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from factors.types import Example
from ranker.errors import DataError, FileReading, ModelError, Question, UnknownName, UsageError, listed, look_up
from ranker.sources.base import BundledRows, Machine, ModelInfo, Predictor, ResourceCache, Source, SourceOptions
from ranker.sources.options import flags_of, non_defaults
from ranker.sources.references import Reference
from ranker.sources.tables.names import NAMED
from ranker.sources.tables.options import TableOptions
from ranker.tasks.base import ANSWERED, failures_as_wrong
from ranker.tasks.classes import ClassificationTask, ClassProbabilities, has_labels
from ranker.tasks.precomputed import PrecomputedScores, PrecomputedTask

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.sources.tables.base import Columns, TableAnswerColumn, TableHints
    from ranker.sources.tables.join import Joined
    from ranker.sources.tables.reading import ParsedTable
    from ranker.sources.usage import RowUsage
    from ranker.tasks.base import Predictions, Task

ENDINGS = (".csv", ".tsv", ".txt", ".conll", ".bio", ".run", ".qrels", ".jsonl", ".json", ".parquet", ".npy", ".npz")
"""Endings of table file names; text files may be gzipped."""

VALUES = "values"
"""Type of answers that the task parses."""

OUTCOME = "outcome"
"""Name of outcomes whose metric the file does not name."""

Options = TableOptions
"""Options of tables."""

OF_OUTCOMES = {"scale", "lower_is_better"}
"""Options that do not apply to a table of answers whose labels are known."""

LABEL_LISTS = ("labels",)
"""Columns of Parquet whose lists of texts are read beside scores, as pipelines of transformers name them."""

_COLUMNS, _READING, _BUNDLED, _JOINED, _DIGEST = "columns of", "reading of", "rows of", "join of", "digest of"
"""Cache keys of a file's columns, its parsed form, its rows, its answers to requested rows, and its hash."""


@dataclass(frozen=True)
class TableModel:
    """One model of a table: a `Source`.

    Attributes:
        name: as shown in reports.
        column: the model's name in the file; "" if the file holds one model.
        options: of the run's references.
        doubt: why the file may hold more models; "" if their number is known.
        readings: ways to read the file, if that is the doubt.
    """

    name: str
    path: str
    column: str = ""
    options: SourceOptions = SourceOptions()
    family: str = ""
    doubt: str = field(default="", compare=False)
    readings: tuple[FileReading, ...] = field(default=(), compare=False)

    precomputed = True

    @property
    def place(self) -> str:
        """File, and model in it."""
        return f"{self.path}#{self.column}" if self.column else self.path

    @property
    def file(self) -> str:
        """Absolute path of the file."""
        return os.path.abspath(self.path)

    @property
    def table_options(self) -> TableOptions:
        """Options of tables."""
        return self.options.of(TableOptions)

    @property
    def shares(self) -> str:
        """Path of the file: its models share one parsed form."""
        return self.path

    def inspect(self, cache: ResourceCache) -> ModelInfo:
        """Read the labels in the file, and its rows if it has the truth. See `Source.inspect`."""
        from ranker.sources.tables.given import has_mapped_names

        pinned = replace(self, path=os.path.abspath(self.path))
        try:
            columns = pinned.columns(cache)
        except Question:
            raise
        except (DataError, UsageError) as error:
            return ModelInfo(pinned, trouble=str(error))
        contents = [f"{columns.size:,} rows; columns: {listed(columns.cells)}"]
        try:
            reading = pinned.reading(cache)
        except (DataError, UsageError) as error:
            unused = self.options.of_others(TableOptions)
            return ModelInfo(pinned, unclear=str(error), readings=error.readings, unused=unused, contents=(*contents,))
        judged = all(model.kind == "outcomes" for model in reading.models)
        rows = pinned.bundled_rows(reading, cache)
        model = pinned.model(reading)
        if rows is None and reading.task is not None:
            contents += _answer_counts(model, reading.task)
        idle = frozenset() if judged else non_defaults(self.table_options).keys() & OF_OUTCOMES
        unused = self.options.of_others(TableOptions) | idle
        if self.options.label_map and not has_mapped_names(columns, self.options.label_map):
            unused |= {"label_map"}
        return ModelInfo(
            pinned,
            () if judged or reading.task is None else reading.task.labels,
            unused=unused,
            rows=rows,
            notes=(*reading.notes, *model.notes),
            contents=tuple(contents),
        )

    def identity(self, task: Task, machine: Machine, cache: ResourceCache) -> Mapping[str, Any]:
        """Return the hash of the file, and the model in it. See `Source.identity`."""
        if (_DIGEST, self.path) not in cache:
            try:
                with open(self.path, "rb") as file:
                    cache[_DIGEST, self.path] = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                raise ModelError.unreadable(self.path, error) from error
        content = cache[_DIGEST, self.path]
        return {"content": f"{content}#{self.column}" if self.column else content}

    def open(self, task: Task, machine: Machine, cache: ResourceCache) -> Predictor:
        """Return the predictor that reads the answers. See `Source.open`."""
        return TableAnswers(self, task, cache)

    def usage(self, task: Task, examples: Sequence[Example], machine: Machine, cache: ResourceCache) -> RowUsage | None:
        """Return what the file states of the answers to examples. See `ranker.sources.usage.Metered`."""
        return self.model(self.joined(task, examples, cache)).usage

    def columns(self, cache: ResourceCache) -> Columns:
        """Parse the file, once for all its models."""
        from ranker.files.programs import ANSWER
        from ranker.files.reader import read_columns
        from ranker.sources.tables.keys import join_ids

        path, encoding, limits = Path(self.path), self.table_options.encoding, self.options.limits
        ids = self.table_options.id_column
        key = (_COLUMNS, self.file, ids)
        # of values, answers may be lists; Parquet reads only those that are named
        lists = (*NAMED, *self.table_options.prediction) if self.options.values else LABEL_LISTS

        def parse() -> Columns:
            return join_ids(read_columns(path, encoding, limits, lists, plain_column=ANSWER), ids)

        return cast("Columns", _compute_once(cache, key, parse))

    def reading(self, cache: ResourceCache) -> ParsedTable:
        """Parse the answers without requested rows, once for all models; raises again what it raised the first time."""
        from ranker.sources.tables.previews import of_table, with_previews

        key = (_READING, self.file, self.options)

        def parsed() -> ParsedTable:
            with with_previews(lambda options: of_table(self.answering(options)._parse(cache))):
                return self._parse(cache)

        reading = _compute_once(cache, key, parsed)
        return cast("ParsedTable", reading)

    def _parse(self, cache: ResourceCache) -> ParsedTable:
        from ranker.datasets.readers import layout_task
        from ranker.sources.tables.reading import parse_predictions
        from ranker.sources.tables.values import collect_values

        columns, hints = self.columns(cache), table_hints(self.options)
        of_values = hints.answers == VALUES or (not hints.answers and layout_task(columns))
        return (collect_values if of_values else parse_predictions)(columns, hints=hints, name=stem(self.path))

    def answering(self, options: Mapping[str, Any]) -> TableModel:
        """Return the model with options of a reading in place of its own."""
        of_tables = {name: value for name, value in options.items() if name in flags_of(TableOptions)}
        kinds = [record for record in self.options.kinds if type(record) is not TableOptions]
        label_map = options.get("label_map", self.options.label_map)
        changed = replace(self.options, label_map=label_map, kinds=[*kinds, replace(self.table_options, **of_tables)])
        return replace(self, options=changed)

    def bundled_rows(self, reading: ParsedTable, cache: ResourceCache) -> BundledRows | None:
        """Return the rows of the file if it has the truth, or outcomes; they are shared by all its models."""
        key, scale = (_BUNDLED, self.path, self.options), self.table_options.scale
        of_marks = None if scale == (0.0, 1.0) or self.table_options.lower_is_better else scale
        return cast("BundledRows | None", _compute_once(cache, key, lambda: _bundle_rows(reading, of_marks)))

    def joined(self, task: Task, examples: Sequence[Example], cache: ResourceCache) -> Joined:
        """Join the file's answers to examples, once for all its models."""
        from ranker.sources.tables.previews import of_models, with_previews

        key = (_JOINED, self.path, self.options, id(examples))  # the cache keeps examples, so their id stays unique
        if key not in cache:

            def preview(options: Mapping[str, Any]) -> list[str]:
                joined = self.answering(options)._join(task, examples, cache, options.get("columns", ""))
                labels = task.labels if has_labels(task) else ()
                truths = ("" if row.target is None else task.show(row.target) for row in examples)
                return of_models(joined.models, [row.id for row in examples], labels, truths)

            with with_previews(preview):
                cache[key] = examples, self._join(task, examples, cache)
        return cast("Joined", cache[key][1])

    def _join(self, task: Task, examples: Sequence[Example], cache: ResourceCache, ids: str = "") -> Joined:
        """Join the file's answers to examples, whose column `ids` holds their ids if it is named."""
        from ranker.sources.tables.base import NONE, RequestedRows
        from ranker.sources.tables.entries import with_ids
        from ranker.sources.tables.join import join
        from ranker.sources.tables.reading import parse_predictions
        from ranker.sources.tables.values import collect_values

        width = max((len(example.segments) for example in examples), default=1)
        texts = tuple(e.segments if any(e.segments) else ("",) * width for e in examples)  # a pool may have some
        example_ids = tuple("" if example.numbered_in else example.id for example in examples)
        from_this_file = all(example.numbered_in == self.file for example in examples)
        id_columns = _id_columns(examples)
        rows = RequestedRows(
            id_columns[ids] if ids else example_ids if any(example_ids) else None,
            texts if any(map(any, texts)) else (),
            tuple(int(example.id) - 1 for example in examples) if from_this_file else None,
            len(examples),
            *_file_positions(examples),
            self.table_options.by_order,
            tuple(NONE if row.target is None else row.target for row in examples) if has_labels(task) else (),
            {} if ids else id_columns,
        )
        hints = table_hints(self.options)
        columns, name = self.columns(cache), stem(self.path)
        rows = with_ids(columns, rows)
        if has_labels(task) or task.answers == PrecomputedScores.kind:
            reading = parse_predictions(columns, task if has_labels(task) else None, hints, rows, name)
        else:
            reading = collect_values(columns, hints, rows, name)
        joined = join(reading, rows)
        return replace(joined, notes=(*reading.notes, *joined.notes))

    def model(self, answers: ParsedTable | Joined) -> TableAnswerColumn:
        """Select this model among those of the file.

        Raises:
            UsageError: the file has no such model, or several and none is named.
        """
        from ranker.sources.tables.base import some

        models, by_name = answers.models, answers.by_name
        if self.column:
            return look_up(f"model in {self.path}", self.column, by_name)
        if len(models) > 1:
            several = f"{self.path} holds {len(models)} models: {some(by_name)}; name one, {self.path}#{models[0].name}"
            text, allowed = self.doubt or several, by_name
            raise UsageError(text, option="models", allowed=allowed, place=self.path, readings=self.readings)
        return models[0]


@dataclass(frozen=True)
class TableAnswers:
    """Answers of one model of a table: a `Predictor`."""

    source: TableModel
    task: Task
    cache: ResourceCache

    @property
    def name(self) -> str:
        """Name of the model in messages."""
        return self.source.name

    def predict(self, examples: Sequence[Example], advance: Advance) -> Iterator[Predictions]:
        """Yield the answers to examples; see `Predictor.predict`."""
        try:
            joined = self.source.joined(self.task, examples, self.cache)
            answers = self.source.model(joined)
            predictions, notes = self._predictions(answers, examples)
            if self.source.table_options.errors == "wrong":
                predictions, of_errors = failures_as_wrong(predictions)
                notes = (*notes, *of_errors)
        except Question:
            raise
        except (DataError, UsageError) as error:
            raise ModelError.like(error) from error
        if len(examples) >= self.cache.noted.get(self.source.place, (0, ()))[0]:
            self.cache.noted[self.source.place] = len(examples), (*answers.notes, *joined.notes, *notes)
        yield predictions
        advance(len(examples))

    def _predictions(
        self, answers: TableAnswerColumn, examples: Sequence[Example]
    ) -> tuple[Predictions, tuple[str, ...]]:
        """Convert answers to the task's record, with notes."""
        from ranker.sources.tables.values import read_values

        state = answers.state.astype(np.int64)
        if answers.kind == "values":
            return read_values(self.task, answers, state, examples)
        if not has_labels(self.task):
            if answers.outcomes is None:
                raise ModelError.of(answers.name, "says what was said, and its file not how good that was")
            return PrecomputedScores(np.where(state == ANSWERED, answers.outcomes, np.nan), state), ()
        if answers.outcomes is not None:
            need = "`prediction` names its column of answers; files of outcomes alone are ranked without `data`"
            raise ModelError.of(self.name, f"says what was right, and not what was said; {need}")
        assert answers.probs is not None  # these are no outcomes
        return ClassProbabilities(answers.probs, state), ()


def _compute_once(cache: ResourceCache, key: Hashable, compute: Callable[[], object]) -> object:
    """Compute a value once a run; an error is stored and raised again."""
    if key not in cache:
        try:
            cache[key] = compute()
        except (DataError, UsageError) as error:
            cache[key] = error
    if isinstance(cache[key], Exception):
        raise cache[key]
    return cache[key]


def _file_positions(examples: Sequence[Example]) -> tuple[tuple[int, ...] | None, int]:
    """Return the positions of examples in their file and its number of rows; None if they are not from one file."""
    sizes = {example.stands[1] for example in examples}
    places = tuple(example.stands[0] - 1 for example in examples)
    complete = len(sizes) == 1 and min(sizes) > 0 and len({*places}) == len(places)
    return (places, min(sizes)) if complete else (None, 0)


def _id_columns(examples: Sequence[Example]) -> Mapping[str, tuple[str, ...]]:
    """Return the cells of columns that may hold the ids of examples; {} if not all have these columns."""
    names = next((tuple(example.id_columns) for example in examples), ())
    if any(tuple(example.id_columns) != names for example in examples):
        return {}
    return {name: tuple(example.id_columns[name] for example in examples) for name in names}


def table_hints(options: SourceOptions) -> TableHints:
    """Convert the options of a run to the hints of its tables."""
    from ranker.sources.tables.base import JOINT, UNIT, TableHints

    table_options = options.of(TableOptions)
    return TableHints(
        prediction=table_options.prediction,
        truth=table_options.truth,
        id=JOINT.join(table_options.id_column),
        cluster=table_options.cluster,
        answers=cast("Any", table_options.answers or (VALUES if options.values else "")),
        label_map=options.label_map or {},
        empty_words=table_options.empty_words,
        scale=table_options.scale or UNIT,
        lower_is_better=table_options.lower_is_better,
        runs=table_options.runs,
    )


def _answer_counts(model: TableAnswerColumn, task: ClassificationTask) -> Iterator[str]:
    """Count a model's answers by label, unless they are outcomes."""
    if model.kind != "outcomes":
        labels, counts = np.unique(model.predicted, return_counts=True)
        ordered = sorted(zip(-counts, labels.tolist(), strict=True))
        names = [f"{task.labels[label] if label >= 0 else 'no answer'} {-count:,}" for count, label in ordered]
        yield f"answers: {listed(names)}"


def _bundle_rows(reading: ParsedTable, scale: tuple[float, float] | None) -> BundledRows | None:
    """Convert the rows of a table that has the truth, or outcomes, with the ends of a scale of marks."""
    if reading.truth is None:
        return None
    name = stem(reading.origin)
    judged = all(model.kind == "outcomes" for model in reading.models)
    task: Task = PrecomputedTask(name, OUTCOME, scale=scale)
    if reading.task is not None and not judged:
        task = replace(reading.task, name=name)
    size, file = reading.size, "" if reading.ids else os.path.abspath(reading.origin)
    groups, ids = reading.clusters or ("",) * size, reading.ids or map(str, range(1, size + 1))
    texts = (reading.texts[segment] for segment in sorted(reading.texts))
    rows: Iterable[tuple[str, ...]] = zip(*texts, strict=True) if reading.texts else (("",),) * size
    examples = [
        Example(key, segments[:2], None if label < 0 else label, group=group, numbered_in=file)
        for key, segments, label, group in zip(ids, rows, reading.truth.tolist(), groups, strict=True)
    ]
    return BundledRows(task, tuple(examples))


def stem(path: str) -> str:
    """Strip the endings of a file name.

    Example:
        >>> stem("runs/gpt.jsonl.gz"), stem("wide.csv")
        ('gpt', 'wide')
    """
    name = Path(path).name.removesuffix(".gz")
    return Path(name).stem if Path(name).suffix in ENDINGS else name


def claims(reference: Reference, options: SourceOptions) -> bool:
    """Return True if a reference is a file with the ending of a table."""
    name = os.path.basename(reference.place).removesuffix(".gz")
    return name.endswith(ENDINGS) and os.path.isfile(reference.place)


def sources(reference: Reference, options: SourceOptions, cache: ResourceCache) -> list[TableModel]:
    """List the models of a table: that of `#PART`, or all. An unreadable file is one model, which fails later.

    Raises:
        UsageError: the file has no model of that name.
    """
    path = reference.place
    table_model = TableModel(stem(path), path, reference.part, options)
    if reference.part:
        table_model = replace(table_model, name=reference.part)
    try:
        reading = table_model.reading(cache)
    except (DataError, UnknownName) as error:
        return [replace(table_model, doubt=str(error), readings=error.readings)]
    if reference.part:
        table_model.model(reading)
        return [table_model]
    if len(reading.models) == 1:
        answer = "`prediction` names columns of answers, and `answers` says what they hold"
        return [replace(table_model, doubt=f"{path}: {reading.doubt}; {answer}" if reading.doubt else "")]
    return [TableModel(model.name, path, model.name, options) for model in reading.models]


if TYPE_CHECKING:
    _can: type[Source] = TableModel  # checked by mypy
