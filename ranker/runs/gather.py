"""Where models and rows meet, once: what models say of themselves, and the rows that they are asked about."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, cast

from factors import Example
from factors.types import Ints
from ranker.datasets import readers, row_notes, sets
from ranker.datasets.pools import check_alike, with_labelled
from ranker.datasets.readers import Sheet
from ranker.datasets.sets import LabelledDataset, sample
from ranker.errors import Assumption, DataError, UsageError, listed
from ranker.files.columns import Columns
from ranker.limits import LIMITS, Limits
from ranker.runs.task import NamedTask, check_readable, decide_task, mask_empty_words
from ranker.scoring.score import check_probe
from ranker.sources.base import BundledRows, ModelInfo, ResourceCache, Source, SourceOptions
from ranker.sources.suites import Model, Suite, name_models
from ranker.tasks.base import Task
from ranker.tasks.classes import has_labels, label_names, require_labels
from ranker.tasks.precomputed import PrecomputedTask

log = logging.getLogger(__name__)

OWN_ROWS = "their own rows"
"""What the rows of several files are called that have no name in common."""


@dataclass(frozen=True)
class InspectedModels:
    """Models, and what each says of itself: it is asked once, when somebody wants to know; a hub may be far away.

    Attributes:
        named: the models as they were named.
        name: of the suite.
        shelf: what was opened meanwhile; models whose answers are at hand are read from it.
    """

    named: tuple[Model, ...]
    name: str = "models"
    shelf: ResourceCache = field(default_factory=ResourceCache, repr=False)

    @cached_property
    def stated(self) -> tuple[ModelInfo, ...]:
        """(M,) what the models say."""
        return tuple(model.source.inspect(self.shelf) for model in self.named)

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """(M,) the models with their sources pinned."""
        return tuple(replace(model, source=one.source) for model, one in zip(self.named, self.stated, strict=True))

    @property
    def precomputed(self) -> bool:
        """Whether the answers of all models lie in files."""
        return all(one.source.precomputed for one in self.stated)

    @property
    def suite(self) -> Suite:
        """The models as a suite.

        Raises:
            UsageError: they are fewer than two.
        """
        return Suite(self.name, self.models)


Models = InspectedModels | Suite | str | Path | Sequence[str | Path | Source | Model]
"""Models as somebody names them: references, sources, a suite, or what was looked at before."""


def inspect_models(models: Models) -> InspectedModels:
    """Models to be asked what they say of themselves, each once.

    Raises:
        UsageError: as `ranker.sources.suites.load`, but for fewer than two models.
    """
    if isinstance(models, InspectedModels):
        return models
    if isinstance(models, Suite):
        return InspectedModels(models.models, models.name, models.shelf)
    return inspect_references([models] if isinstance(models, (str, Path)) else models)


def inspect_references(
    references: Sequence[str | Path | Source | Model], options: SourceOptions = SourceOptions()
) -> InspectedModels:
    """The same, of one model or more; with what is said of all of them: see `ranker.sources.suites.name_models`."""
    shelf = ResourceCache()
    name, models = name_models(references, options, shelf)
    return InspectedModels(models, name, shelf)


@dataclass(frozen=True)
class NamedDataset:
    """An OOD set by its name: see `ranker.datasets.sets.load`.

    Attributes:
        name: of the set; case does not matter.
        data_dir: where the official file lies; None takes the embedded sample.
        include: folders of sets of one's own.
        limit: how many of its rows are taken for the whole set; None for all.
        population: how many are attributed; None for what its card says.
        limits: how much of the file is read.
    """

    name: str
    data_dir: Path | None = None
    include: tuple[Path, ...] = ()
    limit: int | None = None
    population: int | None = None
    limits: Limits = LIMITS

    def load(self) -> LabelledDataset:
        """The set; it raises what `ranker.datasets.sets.load` does."""
        found = sets.load(self.name, self.data_dir, self.include, self.limit, self.limits)
        return replace(found, population=self.population) if self.population else found


@dataclass(frozen=True)
class RowsFile:
    """A user's own rows, and what is said of them.

    Attributes:
        file: .jsonl, .csv, .tsv or .parquet; or rows in memory (see `readers.sheet`).
        task, columns, like, include, encoding, limits, empty_words: as in `labelled`; without a task `decide_task`
            decides.
    """

    file: Path | Collection[Mapping[str, object]]
    task: Task | str | None = None
    columns: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    like: str | None = None
    include: tuple[str | Path, ...] = ()
    encoding: str = ""
    limits: Limits = LIMITS
    empty_words: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The name of the file, without its ending; "rows" in memory."""
        return self.file.stem if isinstance(self.file, Path) else "rows"

    @property
    def named(self) -> NamedTask:
        """What the user names that tells the task."""
        return NamedTask(self.task, self.like, self.include)

    @cached_property
    def content(self) -> Columns:
        """What the rows hold; a file is read once."""
        return readers.content(self.file, self.columns, self.encoding, self.limits)

    def sheet(self, *required: str) -> Sheet:
        """Read the rows as they are written; there must be a column for each part that is required."""
        return readers.sheet(self.content, self.columns, required, limits=self.limits)

    def with_texts(self) -> Sheet:
        """Read the rows that have a text, with or without labels as they are written."""
        sheet = readers.pool(self.content, self.columns, limits=self.limits)
        if hint := row_notes.swapped(sheet):
            log.warning("%s: %s", sheet.origin, hint)
        return sheet

    def labelled(self, stated: Sequence[ModelInfo] = ()) -> LabelledDataset:
        """Read the rows that have a label, as examples of the task that `decide_task` decides.

        Beside models whose answers all lie in files, rows need no text: they are found by their ids, or their order.

        Args:
            stated: what the models say of themselves.
        """
        precomputed = bool(stated) and all(one.source.precomputed for one in stated)
        whole = self.sheet(*(("label",) if precomputed else ("text", "label")))
        sheet, words = mask_empty_words(whole, self.empty_words, self.named, stated)
        if not any(label is not None for label in readers.raw_labels(sheet)):
            what = f"the column {sheet.layout.label!r} is still empty in all {len(sheet.rows)} rows"
            raise DataError(f"{sheet.origin}: {what}")
        task = decide_task(self.named, sheet, stated)
        ood = sets.from_sheet(self.name, sheet, task, self.named.card, chosen="text" in self.columns)
        return replace(ood, notes=(*words, *ood.notes))

    def unlabelled(self) -> tuple[Example, ...]:
        """Read all rows, without a label."""
        roles = {role: names for role, names in self.columns.items() if role not in ("label", "cluster")}
        return sets.unlabelled(self.content, roles, self.like, self.include, limits=self.limits)


def check_columns(*files: object, absent: str = "") -> None:
    """Refuse columns that a user names for several files, and that none of them has; see `readers.check_named`.

    Raises:
        UsageError: one is in none.
    """
    own = [file for file in files if isinstance(file, RowsFile) and file.columns]
    for file in own:
        readers.check_named(file.columns, [each.content for each in own], absent)


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

    Rows whose label is blank are left out, and so are those that repeat another, label and all: the notes say how many.

    Args:
        data: a ``.jsonl``, ``.csv``, ``.tsv`` or ``.parquet`` file, or rows in memory: mappings, a `datasets.Dataset`,
            a data frame.
        task: the labels, or the name of a known task; None takes the known task whose labels the rows have.
        columns: "text", "label" and "id" -> columns, where their names are unusual; "cluster" -> the one that says
            which rows belong together.
        like: an OOD set whose task, marks and designed factor hold for these rows, too.
        include: folders of a user's own sets.
        encoding: of a file that is not UTF-8 and does not say what it is, such as cp1252.
        limits: how much of the file is read.
        empty_words: labels that are nothing, as they are written; () for none but the empty cell; None for N/A and the
            like, where no label is called so.

    Raises:
        UsageError: no such set or task, or no task whose labels fit, or several.
        DataError: the file cannot be read, with the line, or holds no row with a label.

    Example:
        >>> from ranker import ClassificationTask
        >>> rows = [{"text": "Lovely.", "label": "good"}, {"text": "Dull.", "label": "bad"}]
        >>> [row.target for row in labelled(rows, ClassificationTask("sentiment", ("bad", "good"))).examples]
        [1, 0]
    """
    file = Path(data) if isinstance(data, str) else data
    words = None if empty_words is None else tuple(empty_words)
    return RowsFile(file, task, columns or {}, like, tuple(include), encoding, limits, words).labelled()


LabelledRows: TypeAlias = LabelledDataset | RowsFile | str | Path | Collection[Mapping[str, object]]
"""Labelled rows as somebody names them: read already, a file, or rows in memory (see `readers.sheet`)."""

UnlabelledRows: TypeAlias = Sequence[Example] | RowsFile | str | Path | Collection[Mapping[str, object]]
"""Rows without labels as somebody names them: read already, a file, or rows in memory (see `readers.sheet`)."""


def unlabelled(rows: UnlabelledRows) -> Sequence[Example]:
    """The rows without labels; it raises what `ranker.datasets.sets.unlabelled` does."""
    if isinstance(rows, RowsFile):
        return rows.unlabelled()
    if isinstance(rows, (str, Path)):
        return sets.unlabelled(rows)
    read = [row for row in rows if isinstance(row, Example)]
    return read if len(read) == len(rows) else sets.unlabelled(cast(Collection[Mapping[str, object]], rows))


@dataclass(frozen=True)
class RunRows:
    """The rows that every model of a suite is asked about.

    Attributes:
        ood: the set.
        population: those of its examples that are attributed.
        truth: the models' outcomes on the whole set are wanted, too.
        pool: rows, labelled or not, that the models are only to predict; the population where there are none.
        places: (K,) where the population stands in the pool; None where there is none.
    """

    ood: LabelledDataset
    population: Sequence[Example]
    truth: bool = False
    pool: Sequence[Example] = ()
    places: Ints | None = None


@dataclass(frozen=True)
class Gathered:
    """Models, and the rows that they are asked about.

    Attributes:
        looked: the models, and what they say of themselves.
        rows: what they are asked about.
        in_domain: labelled rows of the domain that the models were trained for; None where there are none.
    """

    looked: InspectedModels
    rows: RunRows
    in_domain: LabelledDataset | None = None

    @property
    def in_domain_rows(self) -> Sequence[Example]:
        """The in-domain rows; none where there are none."""
        return () if self.in_domain is None else self.in_domain.examples


def with_truth(
    models: Models,
    examples: LabelledDataset | NamedDataset | str,
    probe: int,
    in_domain: LabelledDataset | RowsFile | None = None,
) -> Gathered:
    """Models and a set whose truth is known.

    Args:
        models: as somebody names them.
        examples: the set, or its name.
        probe: K, which has to fit.
        in_domain: labelled rows of the domain that the models were trained for.

    Raises:
        UsageError: K does not fit the population, a reference or a set that is not there, rows that cannot be read.
    """
    named = NamedDataset(examples) if isinstance(examples, str) else examples
    ood = named.load() if isinstance(named, NamedDataset) else named
    rows = RunRows(ood, sample(ood, ood.population), truth=True)
    check_probe(probe, len(rows.population), f"the rows of {ood.name} that are explained")
    return _met(inspect_models(models), rows, in_domain)


def without_truth(
    models: Models,
    examples: LabelledRows | None = None,
    pool: UnlabelledRows = (),
    probe: int | None = None,
    in_domain: LabelledDataset | RowsFile | None = None,
    pool_from_unlabelled: bool = False,
) -> Gathered:
    """Models, and a few labelled rows of a domain whose truth is not known.

    Args:
        models, in_domain: as for `with_truth`.
        examples: the labelled rows, of the task that `decide_task` decides. None takes the rows that the models' own
            files bring.
        pool: rows of the same domain without labels; labelled rows may be among them.
        probe: K, how many of the labelled ones to use; None for all.
        pool_from_unlabelled: rows of the same files that have no true label are the pool, where none is named; else
            they are left out.

    Raises:
        UsageError: K does not fit the rows, rows of one text beside rows of two, clusters of rows beside a pool, or
            labels that are numbers which the models count otherwise.
        ModelError: no model can be read, whose labels the rows should be judged by.
    """
    check_columns(examples, pool, in_domain)
    seen, pool = inspect_models(models), unlabelled(pool)
    if examples is None:
        examples, own_pool = bundled_rows(seen, pool_from_unlabelled and not pool)
        pool = pool or own_pool
    whole = (
        unlabelled(examples) if pool_from_unlabelled and not pool and not isinstance(examples, LabelledDataset) else ()
    )
    if not isinstance(examples, (LabelledDataset, RowsFile)):
        examples = RowsFile(Path(examples) if isinstance(examples, str) else examples)
    if isinstance(examples, RowsFile):
        examples = examples.labelled(seen.stated)
    if {row.segments for row in whole} - {row.segments for row in examples.examples}:
        pool = whole
    if probe is not None:
        check_probe(probe, len(examples.examples), "the labelled rows")
    if pool and any(row.group for row in examples.examples):
        raise UsageError("`cluster` is for labelled rows alone, without `pool`")
    everything, places = with_labelled(pool, examples.examples)
    check_alike(everything)
    if pool and len(everything) > len(pool):
        log.warning("%d of the labelled rows are not in the pool; they are added to it", len(everything) - len(pool))
    rows = RunRows(
        examples,
        examples.examples[:probe],
        pool=tuple(everything) if pool else (),
        places=places[:probe] if pool else None,
    )
    return _met(seen, rows, in_domain)


def bundled_rows(
    seen: InspectedModels, pool_from_unlabelled: bool = False
) -> tuple[LabelledDataset, tuple[Example, ...]]:
    """The rows that the models' own files bring: those whose truth is known, and all, if others are to be the pool.

    A row is the same in all files where its id is; without ids, where its texts are, or its place. Rows stand in the
    order of the first file that has them.

    Raises:
        UsageError: no file brings rows, or they are judged by different metrics, or differ on the right answer to one.
    """
    bringing = {id(one.rows): (one.source.name, one.rows) for one in seen.stated if one.rows is not None}
    found = list(bringing.values())  # the models of one file bring the same
    if not found:
        check_readable(seen.stated)
        why = next((f" ({one.unclear})" for one in seen.stated if one.unclear), "")
        raise UsageError(f"`data` or `ood` is needed: no model brings rows of its own whose truth is known{why}")
    first, of_first = found[0]
    rows: dict[Hashable, Example] = {}
    checks: dict[Hashable, str] = {}
    tasks: dict[Hashable, Task] = {}
    _check_questions(found)
    keys_of = _row_keys(found)
    for name, one in found:
        if (one.task.metric, type(one.task)) != (of_first.task.metric, type(of_first.task)):
            raise UsageError(
                f"{first} is judged by {of_first.task.metric} and {name} by {one.task.metric}; name one with `metric`"
                + (" or `reducer`" if "[" in of_first.task.metric + one.task.metric else "")
            )
        every_check = one.checks or ("",) * len(one.examples)
        for key, example, check in zip(keys_of(one.examples), one.examples, every_check, strict=True):
            if example.numbered_in and key not in rows and one is not of_first:  # its number is another row's, too
                example = replace(example, id=str(len(rows) + 1))
            known, of_known = rows.setdefault(key, example), tasks.setdefault(key, one.task)
            if check != checks.setdefault(key, check) or _another(of_known, known, one.task, example):
                raise UsageError(f"{first} and {name} differ on the right answer to the row {known.id[:50]!r}")
    _check_labels([(name, one.task) for name, one in found])
    task = _agreed_task([one.task for _, one in found])
    every = tuple(rows.values())
    judged = every if not has_labels(task) else tuple(row for row in every if row.labelled)
    origin = ", ".join(dict.fromkeys(one.source.place.partition("#")[0] for one in seen.stated if one.rows is not None))
    name = task.name if len({one.task.name for _, one in found}) == 1 else OWN_ROWS
    notes = [*_other_questions(found), *_asked_otherwise(found)]
    without = len(every) - len(judged)
    if without and not pool_from_unlabelled:
        has, are, them = ("has", "is", "it") if without == 1 else ("have", "are", "them")
        of = f"{without:,} of {len(every):,} rows {has} no true label, and {are} left out"
        notes.append(Assumption(f"{of}; `pool_from_unlabelled` takes {them} as the pool."))
    ood = LabelledDataset(name, task, judged, len(judged), origin=origin, notes=tuple(notes))
    return ood, every if without and pool_from_unlabelled else ()


def _row_keys(found: Sequence[tuple[str, BundledRows]]) -> Callable[[Sequence[Example]], Iterator[Hashable]]:
    """What rows of several files are known by: their ids, else their texts, where a file has no ids, else their places.

    Raises:
        UsageError: only places are left, and the files have different numbers of rows.
    """
    if not any(row.numbered_in for _, one in found for row in one.examples):
        return lambda rows: (row.id for row in rows)
    if all(any(row.segments) for _, one in found for row in one.examples):
        return _text_keys
    sizes = {name: len(one.examples) for name, one in found}
    if len({*sizes.values()}) > 1:
        each = listed(f"{name} has {size:,} rows" for name, size in sizes.items())
        raise UsageError(f"which rows are the same cannot be told without ids or texts: {each}")
    return lambda rows: iter(range(len(rows)))


def _text_keys(rows: Sequence[Example]) -> Iterator[Hashable]:
    """The texts of each row, and how many rows before it have the same."""
    seen: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        seen[row.segments] += 1
        yield row.segments, seen[row.segments]


def _asked_otherwise(found: Sequence[tuple[str, BundledRows]]) -> Iterator[str]:
    """Which files say that rows were asked by another prompt than in the first file that has them."""
    first: dict[str, tuple[str, str]] = {}
    alike: dict[tuple[str, int, int], list[str]] = {}
    for name, one in found:
        known = [(row.id, prompt) for row, prompt in zip(one.examples, one.prompts, strict=False) if prompt]
        asked = [(prompt, *first.setdefault(row, (prompt, name))) for row, prompt in known]
        others = [owner for prompt, before, owner in asked if prompt != before]
        if others:
            alike.setdefault((listed(dict.fromkeys(others)), len(others), len(known)), []).append(name)
    for (of, count, rows), names in alike.items():
        yield (
            f"{listed(names)}: {count} of {rows} rows were asked otherwise than in {of} (another prompt, number "
            "of shots, order of choices, solver or arguments of the task): it may not be the models alone that differ."
        )


def _differing_questions(found: Sequence[tuple[str, BundledRows]]) -> Iterator[tuple[str, BundledRows, str, list[str]]]:
    """(file, its rows, the first file, ids) of files that ask something else under ids that another file has."""
    first: dict[str, tuple[str, str]] = {}
    for name, one in found:
        asked = [(row.id, question) for row, question in zip(one.examples, one.questions, strict=False) if question]
        ids = [row for row, question in asked if first.setdefault(row, (question, name))[0] != question]
        if ids:
            yield name, one, first[ids[0]][1], ids


def _check_questions(found: Sequence[tuple[str, BundledRows]]) -> None:
    """Refuse files whose ids are positions, and that ask other things under them.

    Raises:
        UsageError: they do.
    """
    for name, one, owner, ids in _differing_questions(found):
        if one.numbered:
            more = f", and under {len(ids) - 1:,} more" if ids[1:] else ""
            raise UsageError(
                f"{owner} and {name} ask different questions under the id {ids[0][:50]!r}{more}: their ids are mere "
                "positions, in data of another order or of other rows"
            )


def _other_questions(found: Sequence[tuple[str, BundledRows]]) -> Iterator[str]:
    """Which files ask something else under the ids of another one."""
    for name, one, owner, ids in _differing_questions(found):
        of = f"{len(ids):,} of {len(one.examples):,} rows ask another question than in {owner}, under the same ids"
        yield Assumption(f"{name}: {of}: if these are other rows, nothing follows.")


def _another(of_known: Task, known: Example, task: Task, example: Example) -> bool:
    """Whether two files say that other things are right for one row; labels may stand in another order."""
    if not (known.labelled and example.labelled):
        return False
    if {*label_names(of_known)} == {*label_names(task)}:
        return of_known.show(known.target) != task.show(example.target)
    return bool(known.target != example.target)


def _check_labels(found: Sequence[tuple[str, Task]]) -> None:
    """Refuse files whose own labels differ: what a number of theirs means is then not the same.

    Raises:
        UsageError: they do.
    """
    first, of_first = found[0]
    for name, task in found:
        if has_labels(task) and task.labels != label_names(of_first):
            theirs = f"{first} has the labels {listed(label_names(of_first))} and {name} {listed(task.labels)}"
            raise UsageError(f"{theirs}; put the rows into a file of their own: `data`")


def _agreed_task(tasks: Sequence[Task]) -> Task:
    """The task of several files: the first; answers that were judged have labels only where all name the same."""
    first = tasks[0]
    if not has_labels(first) and any(label_names(one) != label_names(first) for one in tasks):
        return PrecomputedTask(first.name, first.metric)
    return first


def _met(seen: InspectedModels, rows: RunRows, in_domain: LabelledDataset | RowsFile | None) -> Gathered:
    """Models and rows together, once they are two or more and their labels are known to be the same."""
    _ = Suite(seen.name, seen.named)
    if isinstance(in_domain, RowsFile):
        in_domain = replace(in_domain, task=rows.ood.task, like=None).labelled()
    numbered = [*([] if rows.truth else [rows.ood]), *([in_domain] if in_domain else [])]
    if any(one.numbers for one in numbered):
        check_numbers(numbered, seen.stated)
    return Gathered(seen, rows, in_domain)


def unread(stated: Sequence[ModelInfo]) -> frozenset[str]:
    """The options that say nothing of any model, as a label map does whose labels are misspelt.

    A model that cannot be read leaves that open.
    """
    return frozenset.intersection(*(one.unused for one in stated)) if stated else frozenset()


def check_numbers(sets: Iterable[LabelledDataset], stated: Iterable[ModelInfo]) -> None:
    """Refuse labels that are bare numbers where a model counts its labels otherwise than they were read.

    Raises:
        UsageError: it does; what the rows mean, nobody but their author knows.
    """
    counted = [rows for rows in sets if rows.numbers]
    for one in stated if counted else ():
        names = dict(enumerate(one.labels))
        for rows in counted:
            task, both = (
                require_labels(rows.task, one.source.name),
                {n: (label, names[n]) for n, label in rows.numbers.items() if n in names},
            )
            if any(task.index(name) not in (None, label) for label, name in both.values()):
                here = listed(f"{n} is {task.labels[label]}" for n, (label, _) in both.items())
                there = listed(f"{n} is {name}" for n, (_, name) in both.items())
                raise UsageError(
                    f"the labels of {rows.origin} are numbers: in the task {task.name} {here}, and to "
                    f"{one.source.name} {there}; write names instead"
                )
