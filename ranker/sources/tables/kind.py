"""Tables of predictions as a kind of source: a file of one model, or of many, a column or a group of columns each."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from factors.types import Example, Floats
from ranker.errors import DataError, ModelError, Question, UnknownName, UsageError, listed, look_up
from ranker.sources.base import BundledRows, Machine, ModelInfo, Predictor, ResourceCache, Source, SourceOptions
from ranker.sources.options import non_defaults
from ranker.sources.references import Reference
from ranker.sources.tables.options import TableOptions
from ranker.tasks.base import ERROR, NO_ANSWER
from ranker.tasks.classes import ClassificationTask, ClassProbabilities, has_labels
from ranker.tasks.precomputed import PrecomputedScores, PrecomputedTask

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.sources.tables.base import Columns, TableAnswerColumn, TableHints
    from ranker.sources.tables.join import Joined
    from ranker.sources.tables.reading import ParsedTable
    from ranker.tasks.base import Predictions, Task

ENDINGS = (".csv", ".tsv", ".txt", ".jsonl", ".json", ".parquet", ".npy", ".npz")
"""How the names of tables end; those of text may be gzipped."""

OUTCOME = "outcome"
"""What outcomes are called whose metric the file does not name."""

Options = TableOptions
"""What may be said of tables."""

OF_OUTCOMES = {"scale", "lower_is_better"}
"""The options that say nothing of a table of answers whose labels are known."""

_COLUMNS, _READING, _BROUGHT = "columns of", "reading of", "rows of"
"""Where on a shelf a file's content is, what it says by itself, and its rows."""

_JOINED, _DIGEST = "join of", "digest of"
"""Where its answers to the rows that are asked about are, and its hash."""


@dataclass(frozen=True)
class TableModel:
    """One model of a table: a `Source`.

    Attributes:
        name: as it stands in tables.
        path: the file.
        column: the model's name in the file; "" where the file is of one.
        options: what is said of the run's references.
        family: "" where it is not known.
        doubt: why it is not known how many models the file holds; "" where it is.
    """

    name: str
    path: str
    column: str = ""
    options: SourceOptions = SourceOptions()
    family: str = ""
    doubt: str = field(default="", compare=False)

    @property
    def place(self) -> str:
        """The file, and which model of it."""
        return f"{self.path}#{self.column}" if self.column else self.path

    @property
    def file(self) -> str:
        """The file, however its path was written."""
        return os.path.abspath(self.path)

    @property
    def table_options(self) -> TableOptions:
        """What is said of tables."""
        return self.options.of(TableOptions)

    @property
    def shares(self) -> str:
        """Models of one file are read from one parsing of it."""
        return self.path

    @property
    def precomputed(self) -> bool:
        """The answers lie in the file."""
        return True

    def inspect(self, shelf: ResourceCache) -> ModelInfo:
        """The labels in the file, and its rows where it has the truth. See `Source.inspect`."""
        pinned = replace(self, path=os.path.abspath(self.path))
        try:
            columns = pinned.columns(shelf)
        except (DataError, UsageError) as error:
            return ModelInfo(pinned, trouble=str(error))
        try:
            reading = pinned.reading(shelf)
        except (DataError, UsageError) as error:
            unused = self.options.of_others(TableOptions)
            return ModelInfo(pinned, unclear=str(error), unused=unused, contents=(_contents(columns),))
        judged = all(model.kind == "outcomes" for model in reading.models)
        rows = pinned.brought(reading, shelf)
        model = pinned.model(reading)
        notes, contents = (*reading.notes, *model.notes), [_contents(columns)]
        if rows is None and reading.task is not None:
            contents += _answers(model, reading.task)
        idle = frozenset() if judged else non_defaults(self.table_options).keys() & OF_OUTCOMES
        unused = self.options.of_others(TableOptions) | idle
        return ModelInfo(
            pinned,
            () if judged or reading.task is None else reading.task.labels,
            unused=unused,
            rows=rows,
            notes=notes,
            contents=tuple(contents),
        )

    def identity(self, task: Task, machine: Machine, shelf: ResourceCache) -> Mapping[str, Any]:
        """The hash of the file, and which model of it. See `Source.identity`."""
        if (_DIGEST, self.path) not in shelf:
            try:
                with open(self.path, "rb") as file:
                    shelf[_DIGEST, self.path] = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                raise ModelError(f"{self.path} cannot be read: {error.strerror}") from error
        content = shelf[_DIGEST, self.path]
        return {"content": f"{content}#{self.column}" if self.column else content}

    def open(self, task: Task, machine: Machine, shelf: ResourceCache) -> Predictor:
        """What gives its answers. See `Source.open`."""
        return TableAnswers(self, task, shelf)

    def columns(self, shelf: ResourceCache) -> Columns:
        """What the file holds; it is parsed once for all its models."""
        from ranker.files.reader import read_columns

        path, encoding, limits = Path(self.path), self.table_options.encoding, self.options.limits
        key = (_COLUMNS, self.file)
        return cast("Columns", _once(shelf, key, lambda: read_columns(path, encoding, limits)))

    def reading(self, shelf: ResourceCache) -> ParsedTable:
        """What the file says by itself, or why that is not known; it is looked at once for all its models."""
        from ranker.sources.tables.reading import parse_predictions

        said, name = table_hints(self.options), stem(self.path)
        key = (_READING, self.file, self.options)
        return cast(
            "ParsedTable", _once(shelf, key, lambda: parse_predictions(self.columns(shelf), said=said, name=name))
        )

    def brought(self, reading: ParsedTable, shelf: ResourceCache) -> BundledRows | None:
        """The rows of the file, where it has the truth, or outcomes; they are the same for all its models."""
        key = (_BROUGHT, self.path, self.options)
        if key not in shelf:
            shelf[key] = None if reading.own is None else _brought(reading)
        return cast("BundledRows | None", shelf[key])

    def joined(self, task: Task, examples: Sequence[Example], shelf: ResourceCache) -> Joined:
        """The answers of the file's models to examples; they are joined once for all models."""
        from ranker.sources.tables.base import RequestedRows
        from ranker.sources.tables.join import join
        from ranker.sources.tables.reading import parse_predictions
        from ranker.sources.tables.values import collect_values

        key = (_JOINED, self.path, self.options, id(examples))  # which stay the same while the shelf has them
        if key not in shelf:
            texts = tuple(example.segments for example in examples)
            ids = tuple("" if example.numbered_in else example.id for example in examples)
            here = all(example.numbered_in == self.file for example in examples)
            rows = RequestedRows(
                ids if any(ids) else None,
                texts if any(map(any, texts)) else (),
                tuple(int(example.id) - 1 for example in examples) if here else None,
                len(examples),
                *_standing(examples),
            )
            said = table_hints(self.options)
            columns, name = self.columns(shelf), stem(self.path)
            if has_labels(task) or task.answers == PrecomputedScores.kind:
                reading = parse_predictions(columns, task if has_labels(task) else None, said, rows, name)
            else:
                reading = collect_values(columns, said, rows, name)
            shelf[key] = examples, join(reading, rows)
        return cast("Joined", shelf[key][1])

    def model(self, found: ParsedTable | Joined) -> TableAnswerColumn:
        """This model among those of the file.

        Raises:
            UsageError: the file has no such model, or several, of which none is named.
        """
        from ranker.sources.tables.base import some

        models, known = found.models, found.by_name
        if self.column:
            return look_up(f"model in {self.path}", self.column, known)
        if len(models) > 1:
            raise UsageError(
                self.doubt
                or f"{self.path} holds {len(models)} models: {some(known)}; name one, {self.path}#{models[0].name}"
            )
        return models[0]


@dataclass(frozen=True)
class TableAnswers:
    """The answers of one model of a table: a `Predictor`."""

    source: TableModel
    task: Task
    shelf: ResourceCache

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.source.name

    def predict(self, examples: Sequence[Example], advance: Advance) -> Iterator[Predictions]:
        """Its answers to examples; see `Predictor.predict`."""
        try:
            joined = self.source.joined(self.task, examples, self.shelf)
            found = self.source.model(joined)
            predictions, notes = self._predictions(found)
        except Question:
            raise
        except (DataError, UsageError) as error:
            raise ModelError(str(error)) from error
        if len(examples) >= self.shelf.noted.get(self.source.place, (0, ()))[0]:
            self.shelf.noted[self.source.place] = len(examples), (*found.notes, *joined.notes, *notes)
        yield predictions
        advance(len(examples))

    def _predictions(self, found: TableAnswerColumn) -> tuple[Predictions, tuple[str, ...]]:
        """Answers as the task takes them, and what is to be known of them."""
        from ranker.sources.tables.values import read_values

        state = found.state.astype(np.int64)
        if self.source.table_options.errors == "wrong":
            state[state == ERROR] = NO_ANSWER
        if found.kind == "values":
            return read_values(self.task, found, state)
        if not has_labels(self.task):
            return PrecomputedScores(_values(found), state), ()
        if found.outcomes is not None:
            raise ModelError(f"{self.name} says what was right, and not what was said")
        return ClassProbabilities(found.to_classes().probs, state), ()


def _once(shelf: ResourceCache, key: Hashable, found: Callable[[], object]) -> object:
    """What is worked out once a run, or why it cannot be."""
    if key not in shelf:
        try:
            shelf[key] = found()
        except (DataError, UsageError) as error:
            shelf[key] = error
    if isinstance(shelf[key], Exception):
        raise shelf[key]
    return shelf[key]


def _standing(examples: Sequence[Example]) -> tuple[tuple[int, ...] | None, int]:
    """The places of examples in their file, and how many rows it has; None where they are not of one file of rows."""
    sizes = {example.stands[1] for example in examples}
    places = tuple(example.stands[0] - 1 for example in examples)
    whole = len(sizes) == 1 and min(sizes) > 0 and len({*places}) == len(places)
    return (places, min(sizes)) if whole else (None, 0)


def _values(found: TableAnswerColumn) -> Floats:
    if found.outcomes is None:
        raise ModelError(f"{found.name} says what was said, and its file not how good that was")
    return np.where(found.state == 0, found.outcomes, np.nan)


def table_hints(options: SourceOptions) -> TableHints:
    """What options say of tables."""
    from ranker.sources.tables.base import UNIT, TableHints

    of = options.of(TableOptions)
    return TableHints(
        prediction=of.prediction,
        truth=of.truth,
        cluster=of.cluster,
        answers=cast("Any", of.answers),
        label_map=options.label_map or {},
        empty_words=of.empty_words,
        scale=of.scale or UNIT,
        lower_is_better=of.lower_is_better,
        runs=of.runs,
    )


def _contents(columns: Columns) -> str:
    """How many rows a file has, and which columns."""
    return f"{columns.size:,} rows; columns: {listed(columns.cells)}"


def _answers(model: TableAnswerColumn, task: ClassificationTask) -> Iterator[str]:
    """What a model answers, label by label, where its file does not say how good that is."""
    if model.kind != "outcomes":
        labels, counts = np.unique(model.predicted, return_counts=True)
        found = sorted(zip(-counts, labels.tolist(), strict=True))
        names = [f"{task.labels[label] if label >= 0 else 'no answer'} {-count:,}" for count, label in found]
        yield f"answers: {listed(names)}"


def _brought(reading: ParsedTable) -> BundledRows:
    """The rows of a table that has the truth, or outcomes."""
    own = reading.own
    assert own is not None  # the caller looked
    name = stem(reading.origin)
    judged = all(model.kind == "outcomes" for model in reading.models)
    task: Task = PrecomputedTask(name, OUTCOME) if reading.task is None or judged else replace(reading.task, name=name)
    size, file = len(own.truth), "" if own.ids else os.path.abspath(reading.origin)
    groups, ids = own.clusters or ("",) * size, own.ids or map(str, range(1, size + 1))
    examples = [
        Example(key, texts[:2] or ("",), None if label < 0 else label, group=group, numbered_in=file)
        for key, texts, label, group in zip(ids, own.texts, own.truth.tolist(), groups, strict=True)
    ]
    return BundledRows(task, tuple(examples))


def stem(path: str) -> str:
    """A file's name without its endings.

    Example:
        >>> stem("runs/gpt.jsonl.gz"), stem("wide.csv")
        ('gpt', 'wide')
    """
    name = Path(path).name.removesuffix(".gz")
    return Path(name).stem if Path(name).suffix in ENDINGS else name


def claims(reference: Reference, options: SourceOptions) -> bool:
    """Whether a reference is a file whose name ends like a table's."""
    name = os.path.basename(reference.place).removesuffix(".gz")
    return name.endswith(ENDINGS) and os.path.isfile(reference.place)


def sources(reference: Reference, options: SourceOptions, shelf: ResourceCache) -> list[TableModel]:
    """The models of a table: that of `#PART`, or all. A file that cannot be read is one, which says so later.

    Raises:
        UsageError: the file has no model of that name.
    """
    path = reference.place
    one = TableModel(stem(path), path, reference.part, options)
    if reference.part:
        one = replace(one, name=reference.part)
    try:
        reading = one.reading(shelf)
    except (DataError, UnknownName) as error:
        return [replace(one, doubt=str(error))]
    if reference.part:
        one.model(reading)
        return [one]
    if len(reading.models) == 1:
        return [one]
    return [TableModel(model.name, path, model.name, options) for model in reading.models]


if TYPE_CHECKING:
    _can: type[Source] = TableModel  # checked by mypy
