"""Where models and rows meet, once: what models say of themselves, and the rows that they are asked about."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, cast

from factors import Example
from factors.types import Ints
from ranker.datasets import sets
from ranker.datasets.mapping import Said, differing
from ranker.datasets.pools import check_alike, with_labelled
from ranker.datasets.sets import OODSet, sample
from ranker.errors import ModelError, UsageError, listed
from ranker.limits import LIMITS, Limits
from ranker.scoring.score import check_probe
from ranker.sources.base import Brought, Shelf, Source, SourceOptions, Stated
from ranker.sources.suites import Model, Suite, named
from ranker.tasks.base import Task
from ranker.tasks.classes import ClassTask, fold, of_classes
from ranker.tasks.given import GivenTask

log = logging.getLogger(__name__)

OWN = "own labels"
"""The name of a task that is made of the models' own labels."""

OWN_ROWS = "their own rows"
"""What the rows of several files are called that have no name in common."""


@dataclass(frozen=True)
class Looked:
    """Models, and what each says of itself: it is asked once, when somebody wants to know; a hub may be far away.

    Attributes:
        named: the models as they were named.
        name: of the suite.
        shelf: what was opened meanwhile; models whose answers are at hand are read from it.
    """

    named: tuple[Model, ...]
    name: str = "models"
    shelf: Shelf = field(default_factory=Shelf, repr=False)

    @cached_property
    def stated(self) -> tuple[Stated, ...]:
        """(M,) what the models say."""
        return tuple(model.source.look(self.shelf) for model in self.named)

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """(M,) the models with their sources pinned."""
        return tuple(replace(model, source=one.source) for model, one in zip(self.named, self.stated, strict=True))

    @property
    def at_hand(self) -> bool:
        """Whether the answers of all models lie in files."""
        return all(one.source.at_hand for one in self.stated)

    @property
    def suite(self) -> Suite:
        """The models as a suite.

        Raises:
            UsageError: they are fewer than two.
        """
        return Suite(self.name, self.models)


Models = Looked | Suite | str | Path | Sequence[str | Path | Source | Model]
"""Models as somebody names them: references, sources, a suite, or what was looked at before."""


def looked(models: Models) -> Looked:
    """Models to be asked what they say of themselves, each once.

    Raises:
        UsageError: as `ranker.sources.suites.load`, but for fewer than two models.
    """
    if isinstance(models, Looked):
        return models
    if isinstance(models, Suite):
        return Looked(models.models, models.name, models.shelf)
    return look([models] if isinstance(models, (str, Path)) else models)


def look(references: Sequence[str | Path | Source | Model], options: SourceOptions = SourceOptions()) -> Looked:
    """The same, of one model or more; with what is said of all of them: see `ranker.sources.suites.named`."""
    shelf = Shelf()
    name, models = named(references, options, shelf)
    return Looked(models, name, shelf)


@dataclass(frozen=True)
class Named:
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

    def load(self) -> OODSet:
        """The set; it raises what `ranker.datasets.sets.load` does."""
        found = sets.load(self.name, self.data_dir, self.include, self.limit, self.limits)
        return replace(found, population=self.population) if self.population else found


@dataclass(frozen=True)
class Own:
    """A file of rows of one's own: see `ranker.datasets.sets.labelled` and `unlabelled`.

    Attributes:
        file: .jsonl, .csv, .tsv or .parquet.
        task: the name of a known task; None takes the one whose labels the rows have.
        columns: "text", "label" and "id" -> columns, where their names are unusual; "cluster" -> the one that says
            which rows belong together.
        like: an OOD set whose task, marks and designed factor hold for these rows, too.
        include: folders of sets of one's own.
        encoding: of a file that is not UTF-8 and does not say what it is, such as cp1252.
        limits: how much of the file is read.
    """

    file: Path
    task: str | None = None
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    like: str | None = None
    include: tuple[Path, ...] = ()
    encoding: str = ""
    limits: Limits = LIMITS

    def labelled(self, own: ClassTask | None = None, free: bool = False, said: Said = Said()) -> OODSet:
        """The rows that have a label; judged by the models' own labels if no task is named, else see `sets.task_of`."""
        return sets.labelled(
            self.file, self.task, self.columns, self.like, self.include, own, free, said, self.encoding, self.limits
        )

    def judged_by(self, task: ClassTask) -> OODSet:
        """The rows that have a label of this task."""
        return sets.labelled(
            self.file, task, self.columns, include=self.include, encoding=self.encoding, limits=self.limits
        )

    def unlabelled(self) -> tuple[Example, ...]:
        """All rows, without a label."""
        roles = {role: names for role, names in self.columns.items() if role not in ("label", "cluster")}
        return sets.unlabelled(self.file, roles, self.like, self.include, self.encoding, self.limits)


LabelledRows: TypeAlias = OODSet | Own | str | Path | Collection[Mapping[str, object]]
"""Labelled rows as somebody names them: read already, a file, or rows in memory (see `readers.sheet`)."""

UnlabelledRows: TypeAlias = Sequence[Example] | Own | str | Path | Collection[Mapping[str, object]]
"""Rows without labels as somebody names them: read already, a file, or rows in memory (see `readers.sheet`)."""


def unlabelled(rows: UnlabelledRows) -> Sequence[Example]:
    """The rows without labels; it raises what `ranker.datasets.sets.unlabelled` does."""
    if isinstance(rows, Own):
        return rows.unlabelled()
    if isinstance(rows, (str, Path)):
        return sets.unlabelled(rows)
    read = [row for row in rows if isinstance(row, Example)]
    return read if len(read) == len(rows) else sets.unlabelled(cast(Collection[Mapping[str, object]], rows))


@dataclass(frozen=True)
class Rows:
    """The rows that every model of a suite is asked about.

    Attributes:
        ood: the set.
        population: those of its examples that are attributed.
        truth: the models' outcomes on the whole set are wanted, too.
        pool: rows, labelled or not, that the models are only to predict; the population where there are none.
        places: (K,) where the population stands in the pool; None where there is none.
    """

    ood: OODSet
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

    looked: Looked
    rows: Rows
    in_domain: OODSet | None = None

    @property
    def in_domain_rows(self) -> Sequence[Example]:
        """The in-domain rows; none where there are none."""
        return () if self.in_domain is None else self.in_domain.examples


def with_truth(
    models: Models, examples: OODSet | Named | str, probe: int, in_domain: OODSet | Own | None = None
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
    named = Named(examples) if isinstance(examples, str) else examples
    ood = named.load() if isinstance(named, Named) else named
    rows = Rows(ood, sample(ood, ood.population), truth=True)
    check_probe(probe, len(rows.population), f"the rows of {ood.name} that are explained")
    return _met(looked(models), rows, in_domain)


def without_truth(
    models: Models,
    examples: LabelledRows | None = None,
    pool: UnlabelledRows = (),
    probe: int | None = None,
    in_domain: OODSet | Own | None = None,
) -> Gathered:
    """Models, and a few labelled rows of a domain whose truth is not known.

    Args:
        models, in_domain: as for `with_truth`.
        examples: the labelled rows; judged by the models' own labels if they have no others. None takes the rows that
            the models' own files bring.
        pool: rows of the same domain without labels; labelled rows may be among them.
        probe: K, how many of the labelled ones to use; None for all.

    Raises:
        UsageError: K does not fit the rows, rows of one text beside rows of two, clusters of rows beside a pool, or
            labels that are numbers which the models count otherwise.
        ModelError: no model can be read, whose labels the rows should be judged by.
    """
    seen, pool = looked(models), unlabelled(pool)
    if examples is None:
        examples, own_pool = brought(seen)
        pool = pool or own_pool
    if isinstance(examples, (str, Path)):
        examples = Own(Path(examples))
    if isinstance(examples, Own):
        asked = not (examples.task or examples.like)
        examples = examples.labelled(agreed(seen) if asked else None, seen.at_hand, said(seen) if asked else Said())
    elif not isinstance(examples, OODSet):
        examples = sets.labelled(examples, own=agreed(seen), free=seen.at_hand, said=said(seen))
    if probe is not None:
        check_probe(probe, len(examples.examples), "the labelled rows")
    if pool and any(row.group for row in examples.examples):
        raise UsageError("`cluster` is for labelled rows alone, without `pool`")
    everything, places = with_labelled(pool, examples.examples)
    check_alike(everything)
    if pool and len(everything) > len(pool):
        log.warning("%d of the labelled rows are not in the pool; they are added to it", len(everything) - len(pool))
    rows = Rows(
        examples,
        examples.examples[:probe],
        pool=tuple(everything) if pool else (),
        places=places[:probe] if pool else None,
    )
    return _met(seen, rows, in_domain)


def brought(seen: Looked) -> tuple[OODSet, tuple[Example, ...]]:
    """The rows that the models' own files bring: those whose truth is known, and all, where there are others.

    A row is the same in all files where its id is. Rows stand in the order of the first file that has them.

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
    rows: dict[str, Example] = {}
    checks: dict[str, str] = {}
    for name, one in found:
        if (one.task.metric, type(one.task)) != (of_first.task.metric, type(of_first.task)):
            raise UsageError(
                f"{first} is judged by {of_first.task.metric} and {name} by {one.task.metric}; name one with `metric`"
            )
        for example, check in zip(one.examples, one.checks or ("",) * len(one.examples), strict=True):
            known = rows.setdefault(example.id, example)
            if check != checks.setdefault(example.id, check) or _another(known, example):
                raise UsageError(f"{first} and {name} differ on the right answer to the row {example.id[:50]!r}")
    _check_labels([(name, one.task) for name, one in found])
    task = _agreed_task([one.task for _, one in found])
    every = tuple(rows.values())
    judged = every if not isinstance(task, ClassTask) else tuple(row for row in every if row.label >= 0)
    origin = ", ".join(dict.fromkeys(one.source.place.partition("#")[0] for one in seen.stated if one.rows is not None))
    name = task.name if len({one.task.name for _, one in found}) == 1 else OWN_ROWS
    notes = tuple(_asked_otherwise(found))
    ood = OODSet(name, task, judged, len(judged), origin=origin, notes=notes)
    return ood, every if len(judged) < len(every) else ()


def _asked_otherwise(found: Sequence[tuple[str, Brought]]) -> Iterator[str]:
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
            "of shots, solver or arguments of the task): it may not be the models alone that differ."
        )


def _another(known: Example, example: Example) -> bool:
    """Whether two files give one row different labels, both of which are known."""
    return known.label != example.label and min(known.label, example.label) >= 0


def _check_labels(found: Sequence[tuple[str, Task]]) -> None:
    """Refuse files whose own labels differ: what a number of theirs means is then not the same.

    Raises:
        UsageError: they do.
    """
    first, of_first = found[0]
    for name, task in found:
        if isinstance(task, ClassTask) and task.labels != of_first.labels:
            theirs = f"{first} has the labels {listed(of_first.labels)} and {name} {listed(task.labels)}"
            raise UsageError(f"{theirs}; put the rows into a file of their own: `data`")


def _agreed_task(tasks: Sequence[Task]) -> Task:
    """The task of several files: the first; answers that were judged have labels only where all name the same."""
    first = tasks[0]
    if isinstance(first, GivenTask) and any(one.labels != first.labels for one in tasks):
        return GivenTask(first.name, first.metric)
    return first


def _met(seen: Looked, rows: Rows, in_domain: OODSet | Own | None) -> Gathered:
    """Models and rows together, once they are two or more and their labels are known to be the same."""
    _ = Suite(seen.name, seen.named)
    if isinstance(in_domain, Own):
        in_domain = in_domain.judged_by(of_classes(rows.ood.task, "`in_domain`"))
    numbered = [*([] if rows.truth else [rows.ood]), *([in_domain] if in_domain else [])]
    if any(one.numbers for one in numbered):
        check_numbers(numbered, seen.stated)
    return Gathered(seen, rows, in_domain)


def agreed(seen: Looked) -> ClassTask | None:
    """The task of the models' own labels; None where they name none that all share.

    Raises:
        ModelError: no model can be read.
    """
    check_readable(seen.stated)
    return own_task(seen.stated)


def own_task(stated: Iterable[Stated]) -> ClassTask | None:
    """The task that models do by their own account: its labels are those that they name.

    Args:
        stated: what the models say; one that names no labels, or cannot be read, has no say.

    Returns:
        The task, with the labels in the order of the first; None where none names any, or two name others.

    Example:
        >>> own_task(looked("paws-mini").stated).labels
        ('non-paraphrase', 'paraphrase')
    """
    said = [one.labels for one in stated if one.labels]
    named = [labels for labels in said if not all(name.isdecimal() for name in labels)] or said  # numbers name nothing
    if not named or any({*map(fold, labels)} != {*map(fold, named[0])} for labels in named):
        return None
    labels = {fold(name): name for name in named[0]}
    return ClassTask(OWN, tuple(labels.values())) if len(labels) > 1 else None


def said(seen: Looked) -> Said:
    """What the models say of their labels, for messages: see `Said`."""
    outputs = next((one.outputs for one in seen.stated if one.outputs), ())
    differ = "" if own_task(seen.stated) else differing({one.source.name: one.labels for one in seen.stated})
    return Said(outputs, differ)


def check_readable(stated: Iterable[Stated]) -> None:
    """Refuse models of which none can be read: what is wrong with them is not to be said of the rows' labels.

    Raises:
        ModelError: what is wrong with the first.
    """
    troubles = [one.trouble for one in stated]
    if troubles and all(troubles):
        raise ModelError(troubles[0])


def unused(stated: Sequence[Stated], option: str) -> bool:
    """Say whether an option says nothing of any model, as a label map does whose labels are misspelt.

    A model that cannot be read leaves that open.
    """
    return bool(stated) and all(option in one.unused for one in stated)


def check_numbers(sets: Iterable[OODSet], stated: Iterable[Stated]) -> None:
    """Refuse labels that are bare numbers where a model counts its labels otherwise than they were read.

    Raises:
        UsageError: it does; what the rows mean, nobody but their author knows.
    """
    counted = [rows for rows in sets if rows.numbers]
    for one in stated if counted else ():
        names = dict(enumerate(one.labels))
        for rows in counted:
            task, both = (
                of_classes(rows.task, one.source.name),
                {n: (label, names[n]) for n, label in rows.numbers.items() if n in names},
            )
            if any(task.index(name) not in (None, label) for label, name in both.values()):
                here = listed(f"{n} is {task.labels[label]}" for n, (label, _) in both.items())
                there = listed(f"{n} is {name}" for n, (_, name) in both.items())
                raise UsageError(
                    f"the labels of {rows.origin} are numbers: in the task {task.name} {here}, and to "
                    f"{one.source.name} {there}; write names instead"
                )
