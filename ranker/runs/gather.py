"""Inspect models, read rows, and check once that they fit together: the inputs of a run."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import TypeAlias, TypeVar, cast

from factors import Example
from factors.types import Ints
from ranker.datasets import readers, row_notes, sets
from ranker.datasets.pools import check_text_counts, sample_pool, with_labelled
from ranker.datasets.readers import Sheet
from ranker.datasets.sets import LabelledDataset, sample
from ranker.errors import Assumption, DataError, UnknownName, UsageError, listed
from ranker.files.buckets import local_path
from ranker.files.columns import Columns
from ranker.files.draws import Draw
from ranker.limits import LIMITS, Limits
from ranker.runs.task import NamedTask, check_readable, decide_task, mask_empty_words
from ranker.scoring.score import check_probe
from ranker.sources.base import BundledRows, ModelInfo, ResourceCache, Source, SourceOptions
from ranker.sources.logs.kind import value_for_task
from ranker.sources.suites import Model, Suite, name_models
from ranker.statistics.patterns import ROWS as POOL_ROWS
from ranker.tasks.base import Task
from ranker.tasks.classes import has_labels, label_names, require_labels
from ranker.tasks.precomputed import PrecomputedScores, PrecomputedTask

log = logging.getLogger(__name__)

OWN_ROWS = "their own rows"
"""Name of a dataset made of the rows of several files that share no name."""


@dataclass(frozen=True)
class InspectedModels:
    """Models, and what each says of itself, which is read on first use, since a hub may be far away.

    Attributes:
        unpinned: the models as they were named.
        name: name of the suite.
        shelf: cache of what was opened; precomputed answers are read from it.
    """

    unpinned: tuple[Model, ...]
    name: str = "models"
    shelf: ResourceCache = field(default_factory=ResourceCache, repr=False)

    @cached_property
    def infos(self) -> tuple[ModelInfo, ...]:
        """(M,) What each model says of itself."""
        return tuple(model.source.inspect(self.shelf) for model in self.unpinned)

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """(M,) The models with their sources pinned."""
        return tuple(replace(model, source=info.source) for model, info in zip(self.unpinned, self.infos, strict=True))

    @property
    def parts(self) -> Mapping[str, Mapping[str, str]]:
        """Model -> what it is made of, of those that say so."""
        return {info.source.name: info.parts for info in self.infos if info.parts}

    @property
    def precomputed(self) -> bool:
        """True if the answers of all models lie in files."""
        return all(info.source.precomputed for info in self.infos)

    @property
    def suite(self) -> Suite:
        """The models as a suite; a UsageError if there are fewer than two."""
        return Suite(self.name, self.models)


Models = InspectedModels | Suite | str | Path | Sequence[str | Path | Source | Model]
"""Models as a user names them: references, sources, a suite, or models that are inspected already."""


def inspect_models(models: Models, label_map: Mapping[str, str] | None = None) -> InspectedModels:
    """Prepare models for inspection, each once.

    Args:
        models: the models.
        label_map: meaning of the outputs of models that are named by references.

    Raises:
        UsageError: as `inspect_references`, or a label map for models that were loaded already.
    """
    if label_map and isinstance(models, (InspectedModels, Suite)):
        predicate = "is for references; load the suite with it: `load_suite(references, SourceOptions(label_map=...))`"
        raise UsageError.about("label_map", predicate)
    if isinstance(models, InspectedModels):
        return models
    if isinstance(models, Suite):
        return InspectedModels(models.models, models.name, models.shelf)
    references = [models] if isinstance(models, (str, Path)) else models
    return inspect_references(references, SourceOptions(label_map=label_map))


def inspect_references(
    references: Sequence[str | Path | Source | Model], options: SourceOptions = SourceOptions()
) -> InspectedModels:
    """Prepare models for inspection from references, with options for all: see `ranker.sources.suites.name_models`."""
    shelf = ResourceCache()
    name, models = name_models(references, options, shelf)
    return InspectedModels(models, name, shelf)


@dataclass(frozen=True)
class NamedDataset:
    """Name of an OOD set, and how it is read: see `ranker.datasets.sets.load`.

    Attributes:
        name: name of the set, in any case.
        data_dir: folder of the official file; None takes the embedded sample.
        include: folders with the user's own sets.
        limit: number of rows that stand for the whole set; None for all.
        population: number of rows that are attributed; None for the number on the set's card.
        limits: size limits of the file.
    """

    name: str
    data_dir: Path | None = None
    include: tuple[Path, ...] = ()
    limit: int | None = None
    population: int | None = None
    limits: Limits = LIMITS

    def load(self) -> LabelledDataset:
        """Load the set; errors are those of `ranker.datasets.sets.load`."""
        dataset = sets.load(self.name, self.data_dir, self.include, self.limit, self.limits)
        return replace(dataset, population=self.population) if self.population else dataset


@dataclass(frozen=True)
class RowsFile:
    """A user's own rows, and the options that say how to read them.

    Attributes:
        file: .jsonl, .csv, .tsv or .parquet; or rows in memory (see `readers.read_sheet`).
        task, columns, like, include, encoding, limits, empty_words: as in `labelled`; without a task `decide_task`
            decides.
        scale: worst and best number, where the task's answers are numbers; None if not stated.
        draw: the rows that are read of a file of any size; None reads all.
    """

    file: Path | Collection[Mapping[str, object]]
    task: Task | str | None = None
    columns: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    like: str | None = None
    include: tuple[str | Path, ...] = ()
    encoding: str = ""
    limits: Limits = LIMITS
    empty_words: tuple[str, ...] | None = None
    scale: tuple[float, float] | None = None
    draw: Draw | None = None

    @property
    def name(self) -> str:
        """Name of the file without its ending; "rows" in memory."""
        return self.file.stem if isinstance(self.file, Path) else "rows"

    @property
    def named_task(self) -> NamedTask:
        """The options that name the task."""
        return NamedTask(self.task, self.like, self.include, scale=self.scale)

    @cached_property
    def content(self) -> Columns:
        """Columns of the rows; a file is read once."""
        return readers.content(self.file, self.columns, self.encoding, self.limits, self.draw)

    def as_pool(self, texts: Iterable[tuple[str, ...]] = (), *, keep_labels: bool = False) -> RowsFile:
        """Return the same file as a pool, of which a bounded number of rows is drawn.

        Args:
            texts: texts of labelled rows; the first row with each is read in any case.
            keep_labels: read the rows that have a label in any case, too.
        """
        columns = self.columns.get("label", ())
        label_columns = (columns,) if isinstance(columns, str) else tuple(columns)
        labels = label_columns or tuple(name for group in readers.USUAL["label"] for name in group)
        filled = tuple(name.casefold() for name in labels) if keep_labels else ()
        return replace(self, draw=Draw(POOL_ROWS, frozenset(texts), filled))

    def texts(self) -> Iterator[tuple[str, ...]]:
        """Yield the texts of each row that has some."""
        if not self.content.size:
            return
        sheet = self.sheet()
        for row in sheet.rows:
            cells = [row.cells.get(column) for column in sheet.layout.text]
            texts = [text for cell in cells for text in (cell if isinstance(cell, list) else (cell,))]
            strings = tuple(text for text in texts if isinstance(text, str))
            if texts and len(strings) == len(texts):
                yield strings

    @property
    def draw_note(self) -> str:
        """Sentence that says how many rows were drawn of how many; "" where all were read."""
        return draw_note(self.content.size, self.content.total) if self.content.total else ""

    def sheet(self, *required: str) -> Sheet:
        """Read the rows as written; each part in `required` must have a column."""
        return readers.read_sheet(self.content, self.columns, required, limits=self.limits)

    def with_texts(self) -> Sheet:
        """Read the rows that have a text; labels stay as written."""
        sheet = readers.read_pool_rows(self.content, self.columns, limits=self.limits)
        if hint := row_notes.swapped_columns_note(sheet):
            log.warning("%s: %s", sheet.origin, hint)
        return sheet

    def labelled(self, infos: Sequence[ModelInfo] = ()) -> LabelledDataset:
        """Read the labelled rows as examples of the task that `decide_task` decides.

        Rows need no text if all models are files of answers: ids or the order identify them.

        Args:
            infos: what the models say of themselves.
        """
        precomputed = bool(infos) and all(info.source.precomputed for info in infos)
        raw_sheet = self.sheet(*(("label",) if precomputed else ("text", "label")))
        sheet, words = mask_empty_words(raw_sheet, self.empty_words, self.named_task, infos)
        if not any(label is not None for label in readers.raw_labels(sheet)):
            problem = f"the column {sheet.layout.label!r} is still empty in all {len(sheet.rows)} rows"
            raise DataError.at(sheet.origin, problem, option=sheet.layout.label or "")
        task = decide_task(self.named_task, sheet, infos)
        ood = sets.from_sheet(self.name, sheet, task, self.named_task.card, chosen="text" in self.columns)
        return replace(ood, notes=(*words, *ood.notes))

    def unlabelled(self) -> tuple[Example, ...]:
        """Read all rows, without labels."""
        roles = {role: names for role, names in self.columns.items() if role not in ("label", "cluster")}
        return sets.unlabelled(self.content, roles, self.like, self.include, limits=self.limits)


def check_columns(*files: object, absent: str = "") -> None:
    """Refuse named columns that none of several files has; see `readers.check_named`.

    Raises:
        UsageError: no file has the column.
    """
    with_columns = [file for file in files if isinstance(file, RowsFile) and file.columns]
    for file in with_columns:
        readers.check_named(file.columns, [each_file.content for each_file in with_columns], absent)


def labelled(
    data: str | Path | Collection[Mapping[str, object]],
    task: str | Task | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    like: str | None = None,
    include: Iterable[str | Path] = (),
    encoding: str = "",
    limits: Limits = LIMITS,
    empty_words: Iterable[str] | None = None,
) -> LabelledDataset:
    """Read a user's own labelled rows; all of them are the population.

    Rows with a blank label are left out, and so are exact repeats, label included. The notes say how many.

    Args:
        data: a ``.jsonl``, ``.csv``, ``.tsv`` or ``.parquet`` file, or rows in memory: mappings, a `datasets.Dataset`,
            a data frame.
        task: the labels, or the name of a known task; None takes the known task that the rows' labels fit.
        columns: "text", "label" and "id" -> columns with unusual names; "cluster" -> the column that says which rows
            belong together; "rationale" -> columns of the words that people named, one for each annotator.
        like: an OOD set whose task, marks and designed factor also hold for these rows.
        include: folders of a user's own sets.
        encoding: encoding of a file that is not UTF-8 and does not declare it, such as cp1252.
        limits: size limits of the file.
        empty_words: labels that mean nothing, as written; () if only the empty cell does; None for N/A and the like,
            unless a label has that name.

    Raises:
        UsageError: no such set or task, or the labels fit no task, or several.
        DataError: the file cannot be read, with the line, or has no row with a label.

    Example:
        >>> from ranker import ClassificationTask
        >>> rows = [{"text": "Lovely.", "label": "good"}, {"text": "Dull.", "label": "bad"}]
        >>> [row.target for row in labelled(rows, ClassificationTask("sentiment", ("bad", "good"))).examples]
        [1, 0]
    """
    file = local_path(data, "data", limits.file) if isinstance(data, str) else data
    words = None if empty_words is None else tuple(empty_words)
    return RowsFile(file, task, columns or {}, like, tuple(include), encoding, limits, words).labelled()


LabelledRows: TypeAlias = LabelledDataset | RowsFile | str | Path | Collection[Mapping[str, object]]
"""Labelled rows as a user names them: a dataset, a file, or rows in memory (see `readers.read_sheet`)."""

R = TypeVar("R")
UnlabelledRows: TypeAlias = Sequence[Example] | RowsFile | str | Path | Collection[Mapping[str, object]]
"""Rows without labels as a user names them: examples, a file, or rows in memory (see `readers.read_sheet`)."""


def with_columns(rows: R, columns: Mapping[str, str | Sequence[str]] | None) -> R | RowsFile:
    """Return a file of rows, or rows in memory, with the names of its columns; no rows stay none.

    Raises:
        UsageError: the rows were read already.
    """
    if not columns or rows is None or (isinstance(rows, Sequence) and not rows):
        return rows
    if isinstance(rows, (RowsFile, LabelledDataset)) or (
        not isinstance(rows, (str, Path)) and any(isinstance(row, Example) for row in cast(Iterable[object], rows))
    ):
        raise UsageError.about("columns", "is for a file of rows, or rows in memory, that are still to be read")
    file = Path(rows) if isinstance(rows, (str, Path)) else cast(Collection[Mapping[str, object]], rows)
    return RowsFile(file, columns=columns)


def as_pool(rows: UnlabelledRows, texts: Iterable[tuple[str, ...]] = ()) -> Sequence[Example] | RowsFile:
    """Return rows without labels as examples, or as a file of which a bounded number of rows is drawn.

    Args:
        rows: the rows.
        texts: of labelled rows, which are read in any case.
    """
    if isinstance(rows, RowsFile):
        return rows.as_pool(texts)
    if isinstance(rows, (str, Path)):
        return RowsFile(local_path(rows, "pool", LIMITS.pool)).as_pool(texts)
    if isinstance(rows, Sequence) and all(isinstance(row, Example) for row in rows):
        return cast(Sequence[Example], rows)
    return RowsFile(cast(Collection[Mapping[str, object]], rows)).as_pool(texts)


def _texts_of(examples: LabelledDataset | RowsFile | None) -> Iterator[tuple[str, ...]]:
    """Yield the texts of labelled rows."""
    if isinstance(examples, RowsFile):
        yield from examples.texts()
    elif examples is not None:
        yield from (row.segments for row in examples.examples)


def draw_note(drawn: int, size: int) -> str:
    """Say how many rows of a pool were drawn."""
    return f"{drawn:,} of the {size:,} rows of the pool are read, drawn at random (seed 0)."


def read_pool_rows(pool: Sequence[Example] | RowsFile) -> Sequence[Example]:
    """Read the rows of a pool; errors are those of `ranker.datasets.sets.unlabelled`."""
    return pool.unlabelled() if isinstance(pool, RowsFile) else pool


@dataclass(frozen=True)
class RunRows:
    """Rows that every model of a run is asked about.

    Attributes:
        ood: the dataset.
        population: the rows of it that are attributed.
        truth: True if the models are also asked about the whole set, which gives their true order.
        pool: rows, labelled or not, that models only predict; () takes the population.
        places: (K,) positions of the population in the pool; None without a pool.
    """

    ood: LabelledDataset
    population: Sequence[Example]
    truth: bool = False
    pool: Sequence[Example] = ()
    places: Ints | None = None


@dataclass(frozen=True)
class RunInputs:
    """Models, and the rows that they are asked about.

    Attributes:
        inspected: the models, with what they say of themselves.
        rows: the rows.
        in_domain: labelled rows of the domain that the models were trained for; None if there are none.
    """

    inspected: InspectedModels
    rows: RunRows
    in_domain: LabelledDataset | None = None

    @property
    def in_domain_rows(self) -> Sequence[Example]:
        """In-domain rows; () if there are none."""
        return () if self.in_domain is None else self.in_domain.examples

    def judged_by(self, metric: str) -> RunInputs:
        """Return the same with the outcome of that name: see `ranker.tasks.base.Task.judged_by`."""
        ood, in_domain = self.rows.ood, self.in_domain
        task = ood.task.judged_by(value_for_task(metric, ood.task.name))
        if task is ood.task:
            return self
        in_domain = None if in_domain is None else replace(in_domain, task=in_domain.task.judged_by(metric))
        return replace(self, rows=replace(self.rows, ood=replace(ood, task=task)), in_domain=in_domain)

    def with_shortcut(self, label: str | None) -> RunInputs:
        """Return the same with a label that a shortcut points to; None for that of the task.

        Raises:
            UnknownName: the task has no such label; LabelError: its answers are no labels.
        """
        if label is None:
            return self
        ood = self.rows.ood
        task = require_labels(ood.task, ood.name)
        index = task.index(label)
        if index is None:
            raise UnknownName(f"label of {task.name}", label, task.labels)
        note = f"The shortcut points to {task.show(index)}, as declared."
        ood = replace(ood, task=replace(task, shortcut=index), notes=(*ood.notes, note))
        return replace(self, rows=replace(self.rows, ood=ood))


def gather_with_truth(
    models: Models,
    examples: LabelledDataset | NamedDataset | str,
    probe: int,
    in_domain: LabelledDataset | RowsFile | None = None,
) -> RunInputs:
    """Gather models and a set whose true labels are known.

    Args:
        models: the models.
        examples: the set, or its name.
        probe: K.
        in_domain: labelled rows of the domain that the models were trained for.

    Raises:
        UsageError: K does not fit the population, there is no such reference or set, or rows cannot be read.
    """
    dataset = NamedDataset(examples) if isinstance(examples, str) else examples
    ood = dataset.load() if isinstance(dataset, NamedDataset) else dataset
    rows = RunRows(ood, sample(ood, ood.population), truth=True)
    check_probe(probe, len(rows.population), f"the rows of {ood.name} that are explained")
    return _join_inputs(inspect_models(models), rows, in_domain)


def gather_without_truth(
    models: Models,
    examples: LabelledRows | None = None,
    pool: UnlabelledRows = (),
    probe: int | None = None,
    in_domain: LabelledDataset | RowsFile | None = None,
    pool_from_unlabelled: bool = False,
) -> RunInputs:
    """Gather models and a few labelled rows of a domain whose true order is not known.

    Args:
        models, in_domain: as for `gather_with_truth`.
        examples: the labelled rows, of the task that `decide_task` decides. None takes the rows in the models' own
            files.
        pool: rows of the same domain without labels; labelled rows may be among them.
        probe: K, the number of labelled rows to use; None for all.
        pool_from_unlabelled: use rows of the same files without a true label as the pool, if none is named; else they
            are left out.

    Raises:
        UsageError: K does not fit the rows, single texts are mixed with pairs, rows have clusters beside a pool, or
            labels are numbers that the models count otherwise.
        ModelError: the models' labels are needed, and no model can be read.
    """
    if not isinstance(examples, (LabelledDataset, RowsFile, NoneType)):
        examples = RowsFile(local_path(examples, "data", LIMITS.file) if isinstance(examples, str) else examples)
    pool_file = as_pool(pool, _texts_of(examples))
    check_columns(examples, pool_file, in_domain)
    inspected, pool = inspect_models(models), read_pool_rows(pool_file)
    if examples is None:
        examples, own_pool = bundled_rows(inspected, pool_from_unlabelled and not pool)
        pool = pool or own_pool
    all_rows = (
        examples.unlabelled() if pool_from_unlabelled and not pool and not isinstance(examples, LabelledDataset) else ()
    )
    if isinstance(examples, RowsFile):
        examples = examples.labelled(inspected.infos)
    if {row.segments for row in all_rows} - {row.segments for row in examples.examples}:
        pool = all_rows
    if probe is not None:
        check_probe(probe, len(examples.examples), "the labelled rows")
    if pool and any(row.group for row in examples.examples):
        raise UsageError.about("cluster", "is for labelled rows alone, without `pool`")
    everything, places = with_labelled(pool, examples.examples)
    check_text_counts(everything)
    if pool and len(everything) > len(pool):
        log.warning("%d of the labelled rows are not in the pool; they are added to it", len(everything) - len(pool))
    note = pool_file.draw_note if isinstance(pool_file, RowsFile) else ""
    if pool and len(everything) > POOL_ROWS + len(examples.examples):
        size = len(everything)
        everything, places = sample_pool(everything, places, POOL_ROWS)
        note = draw_note(len(everything), size)
    if note:
        examples = replace(examples, notes=(*examples.notes, note))
    rows = RunRows(
        examples,
        examples.examples[:probe],
        pool=tuple(everything) if pool else (),
        places=places[:probe] if pool else None,
    )
    return _join_inputs(inspected, rows, in_domain)


def bundled_rows(
    inspected: InspectedModels, pool_from_unlabelled: bool = False
) -> tuple[LabelledDataset, tuple[Example, ...]]:
    """Read the rows in the models' own files: those with a true label, and all if the others are to be the pool.

    Files share a row if it has the same id; without ids the same texts, else the same position. Rows keep the order of
    the first file that has them.

    Raises:
        UsageError: no file has rows, or files have different metrics, or different right answers to a row.
    """
    by_bundle = {id(info.rows): (info.source.name, info.rows) for info in inspected.infos if info.rows is not None}
    bundles = list(by_bundle.values())  # models of one file share its rows
    if not bundles:
        check_readable(inspected.infos)
        reason = next((f" ({info.unclear})" for info in inspected.infos if info.unclear), "")
        column = ", or `truth=COLUMN`," if any(info.source.precomputed for info in inspected.infos) else ""
        predicate = f"or `ood`{column} is needed: no model brings rows of its own whose truth is known{reason}"
        raise UsageError.about("data", predicate)
    first_name, first = bundles[0]
    rows: dict[Hashable, Example] = {}
    checks: dict[Hashable, str] = {}
    tasks: dict[Hashable, Task] = {}
    _check_questions(bundles)
    keys_of = _row_keys(bundles)
    for name, bundle in bundles:
        if (bundle.task.metric, type(bundle.task)) != (first.task.metric, type(first.task)):
            metrics = first.task.metric, bundle.task.metric
            text = f"{first_name} is judged by {metrics[0]} and {name} by {metrics[1]}; name one with `metric`"
            reducer = " or `reducer`" if "[" in "".join(metrics) else ""
            raise UsageError(text + reducer, option="metric", allowed=metrics, place=name)
        bundle_checks = bundle.checks or ("",) * len(bundle.examples)
        for key, example, check in zip(keys_of(bundle.examples), bundle.examples, bundle_checks, strict=True):
            if example.numbered_in and key not in rows and bundle is not first:  # another row has its number
                example = replace(example, id=str(len(rows) + 1))
            earlier, first_task = rows.setdefault(key, example), tasks.setdefault(key, bundle.task)
            if check != checks.setdefault(key, check) or _answers_differ(first_task, earlier, bundle.task, example):
                text = f"{first_name} and {name} differ on the right answer to the row {earlier.id[:50]!r}"
                raise UsageError(text, value=earlier.id, place=name)
    _check_labels([(name, bundle.task) for name, bundle in bundles])
    task = _agreed_task([bundle.task for _, bundle in bundles])
    all_examples = tuple(rows.values())
    scored = task.answers == PrecomputedScores.kind  # by the program that wrote them, so that no target is needed
    judged = all_examples if scored else tuple(row for row in all_examples if row.labelled)
    origin = ", ".join(
        dict.fromkeys(info.source.place.partition("#")[0] for info in inspected.infos if info.rows is not None)
    )
    name = task.name if len({bundle.task.name for _, bundle in bundles}) == 1 else OWN_ROWS
    notes = [*_question_notes(bundles), *_prompt_notes(bundles)]
    unjudged = len(all_examples) - len(judged)
    if unjudged and not pool_from_unlabelled:
        has, are, pronoun = ("has", "is", "it") if unjudged == 1 else ("have", "are", "them")
        left_out = f"{unjudged:,} of {len(all_examples):,} rows {has} no true label, and {are} left out"
        notes.append(Assumption(f"{left_out}; `pool_from_unlabelled` takes {pronoun} as the pool."))
    ood = LabelledDataset(name, task, judged, len(judged), origin=origin, notes=tuple(notes))
    return ood, all_examples if unjudged and pool_from_unlabelled else ()


def _row_keys(bundles: Sequence[tuple[str, BundledRows]]) -> Callable[[Sequence[Example]], Iterator[Hashable]]:
    """Choose the key that identifies rows across files: id, else texts if a file has no ids, else position."""
    if not any(row.numbered_in for _, bundle in bundles for row in bundle.examples):
        return lambda rows: (row.id for row in rows)
    if all(any(row.segments) for _, bundle in bundles for row in bundle.examples):
        return _text_keys
    sizes = {name: len(bundle.examples) for name, bundle in bundles}
    if len({*sizes.values()}) > 1:
        sizes_text = listed(f"{name} has {size:,} rows" for name, size in sizes.items())
        raise UsageError(f"which rows are the same cannot be told without ids or texts: {sizes_text}", option="id")
    return lambda rows: iter(range(len(rows)))


def _text_keys(rows: Sequence[Example]) -> Iterator[Hashable]:
    """Yield the texts of each row, and the number of rows so far with the same texts."""
    counts: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        counts[row.segments] += 1
        yield row.segments, counts[row.segments]


def _prompt_notes(bundles: Sequence[tuple[str, BundledRows]]) -> Iterator[str]:
    """Name the files with rows whose prompt differs from that in the first file that has them."""
    first: dict[str, tuple[str, str]] = {}
    alike: dict[tuple[str, int, int], list[str]] = {}
    for name, bundle in bundles:
        prompts = [(row.id, prompt) for row, prompt in zip(bundle.examples, bundle.prompts, strict=False) if prompt]
        owner_prompts = [(prompt, *first.setdefault(row, (prompt, name))) for row, prompt in prompts]
        owners = [owner for prompt, before, owner in owner_prompts if prompt != before]
        if owners:
            alike.setdefault((listed(dict.fromkeys(owners)), len(owners), len(prompts)), []).append(name)
    for (owner_names, count, rows), names in alike.items():
        yield (
            f"{listed(names)}: {count} of {rows} rows were asked in another way than in {owner_names} (prompt, number "
            "of shots, order of choices, solver or arguments of the task), so more than the models may differ."
        )


def _differing_questions(
    bundles: Sequence[tuple[str, BundledRows]],
) -> Iterator[tuple[str, BundledRows, str, list[str]]]:
    """Yield (file, its rows, first file, ids) for files with another question under an id that an earlier file has."""
    first: dict[str, tuple[str, str]] = {}
    for name, bundle in bundles:
        questions = [
            (row.id, question) for row, question in zip(bundle.examples, bundle.questions, strict=False) if question
        ]
        ids = [row for row, question in questions if first.setdefault(row, (question, name))[0] != question]
        if ids:
            yield name, bundle, first[ids[0]][1], ids


def _check_questions(bundles: Sequence[tuple[str, BundledRows]]) -> None:
    """Refuse files whose ids are positions, with different questions under one id."""
    for name, bundle, owner, ids in _differing_questions(bundles):
        if bundle.numbered:
            others_text = f", and under {len(ids) - 1:,} more" if ids[1:] else ""
            text = (
                f"{owner} and {name} ask different questions under the id {ids[0][:50]!r}{others_text}: their ids are "
                "mere positions, in data of another order or of other rows"
            )
            raise UsageError(text, value=ids[0], place=name)


def _question_notes(bundles: Sequence[tuple[str, BundledRows]]) -> Iterator[str]:
    """Name the files with another question under the ids of an earlier file."""
    for name, bundle, owner, ids in _differing_questions(bundles):
        differing = (
            f"{len(ids):,} of {len(bundle.examples):,} rows ask another question than in {owner}, under the same ids"
        )
        yield Assumption(f"{name}: {differing}: if these are other rows, the comparison means nothing.")


def _answers_differ(first_task: Task, first_example: Example, task: Task, example: Example) -> bool:
    """Return True if two files give different right answers to a row; labels are compared by name, in any order."""
    if not (first_example.labelled and example.labelled):
        return False
    if {*label_names(first_task)} == {*label_names(task)}:
        return first_task.show(first_example.target) != task.show(example.target)
    return bool(first_example.target != example.target)


def _check_labels(named_tasks: Sequence[tuple[str, Task]]) -> None:
    """Refuse files with different labels, since the same number would mean different things."""
    first_name, first_task = named_tasks[0]
    for name, task in named_tasks:
        if has_labels(task) and task.labels != label_names(first_task):
            both_labels = (
                f"{first_name} has the labels {listed(label_names(first_task))} and {name} {listed(task.labels)}"
            )
            raise UsageError(f"{both_labels}; put the rows into a file of their own: `data`", option="data", place=name)


def _agreed_task(tasks: Sequence[Task]) -> Task:
    """Return the task of several files: the first; judged answers keep labels only if all files name the same."""
    first = tasks[0]
    if not has_labels(first) and any(label_names(later) != label_names(first) for later in tasks):
        return PrecomputedTask(first.name, first.metric)
    return first


def _join_inputs(inspected: InspectedModels, rows: RunRows, in_domain: LabelledDataset | RowsFile | None) -> RunInputs:
    """Join models and rows, after checking that there are two models or more and that numeric labels agree."""
    _ = Suite(inspected.name, inspected.unpinned)
    if isinstance(in_domain, RowsFile):
        in_domain = replace(in_domain, task=rows.ood.task, like=None).labelled()
    datasets = [*([] if rows.truth else [rows.ood]), *([in_domain] if in_domain else [])]
    if any(dataset.numbers for dataset in datasets):
        check_numbers(datasets, inspected.infos)
    return RunInputs(inspected, rows, in_domain)


def unread_options(infos: Sequence[ModelInfo]) -> frozenset[str]:
    """Return the options that no model reads, such as a label map with misspelt labels.

    A model that cannot be read may read any of them.
    """
    return frozenset.intersection(*(info.unused for info in infos)) if infos else frozenset()


def check_numbers(datasets: Iterable[LabelledDataset], infos: Iterable[ModelInfo]) -> None:
    """Refuse numeric labels that a model counts in another order than the rows' task.

    Raises:
        UsageError: it does; only the author of the rows knows what they mean.
    """
    numbered = [rows for rows in datasets if rows.numbers]
    for info in infos if numbered else ():
        names = dict(enumerate(info.labels))
        for rows in numbered:
            task, names_by_number = (
                require_labels(rows.task, info.source.name),
                {n: (label, names[n]) for n, label in rows.numbers.items() if n in names},
            )
            if any(task.index(name) not in (None, label) for label, name in names_by_number.values()):
                in_rows = listed(f"{n} is {task.labels[label]}" for n, (label, _) in names_by_number.items())
                in_model = listed(f"{n} is {name}" for n, (_, name) in names_by_number.items())
                text = (
                    f"the labels of {rows.origin} are numbers: in the task {task.name} {in_rows}, and to "
                    f"{info.source.name} {in_model}; write names instead"
                )
                raise UsageError(text, place=rows.origin)
