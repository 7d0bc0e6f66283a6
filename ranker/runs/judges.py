"""Read judges' marks of the models' answers, or ask for them, and put them beside people's.

A judge's file is read as a run of its own: it may have every layout that `models` takes, and be a log. People's marks
come the same way, or models' outcomes on labelled rows stand for them. Where no person marked anything, the marks of
the first judge are shown as outcomes, and the order is that of the judges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from factors.types import Example, Floats
from ranker.datasets.pools import check_ids, with_labelled
from ranker.datasets.sets import LabelledDataset
from ranker.errors import UsageError, listed, look_up
from ranker.limits import LIMITS, Limits
from ranker.numbers import SHARES, Unit
from ranker.results.table import ScoreTable
from ranker.runs.asked_judges import (
    ANSWER,
    Answering,
    JudgeMarks,
    ask,
    dry_lines,
    inspect_judge,
    marks_answers,
)
from ranker.runs.collect import collect
from ranker.runs.gather import RunInputs, gather_without_truth
from ranker.runs.inspected import InspectedModels, inspect_models, inspect_references
from ranker.runs.plan import Plan, plan
from ranker.runs.pool import population_answers
from ranker.runs.rows import LabelledRows, RowsFile, UnlabelledRows, as_pool, read_pool_rows
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence
from ranker.scoring.unlabelled import JudgeContext
from ranker.sources.base import ModelInfo, ResourceCache, SourceOptions
from ranker.sources.endpoint.prices import NO_PRICES, Prices
from ranker.sources.logs.options import LogOptions
from ranker.sources.marks import MarkedModel
from ranker.sources.references import Reference
from ranker.sources.suites import Model
from ranker.sources.tables import kind as table_kind
from ranker.sources.tables.base import UNIT
from ranker.sources.tables.keys import MODELS
from ranker.sources.tables.names import NAMED, words
from ranker.sources.tables.options import TableOptions
from ranker.statistics.judges import JudgedMarks
from ranker.tasks.precomputed import PrecomputedTask

ANY_SCALE = (-1e6, 1e6)
"""Ends of a judge's scale as it is read: only differences of its marks count, whatever their unit."""

SMALLEST = 1e-12
"""Least range of a judge's marks that is divided by."""


@dataclass(frozen=True)
class Judges:
    """Judges as a user names them.

    Attributes:
        references: name -> a table or log of marks, or a model that is asked for them.
        prompts: files and names of prompts for those that are asked; () takes the built-in one.
        lower: names of those whose lower marks are better.
        options: of the models that are asked, and limits of reading.
        cache: of what was opened, which may be that of the models.
        trusted: names of those that label rows or write references, and are known to be better than the models.

    Raises:
        UsageError: a name of `lower` or `trusted` is none of a judge.
    """

    references: Mapping[str, str | Path] = field(default_factory=dict)
    prompts: tuple[str, ...] = ()
    lower: Collection[str] = ()
    options: SourceOptions = SourceOptions()
    cache: ResourceCache = field(default_factory=ResourceCache, compare=False, repr=False)
    trusted: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in (*self.lower, *self.trusted):
            look_up("judge", name, self.references)

    @cached_property
    def asked(self) -> Mapping[str, InspectedModels]:
        """Name -> a judge that is asked; a UsageError if none is and prompts are named, or there is no such file."""
        judges = {
            name: inspect_judge(name, str(reference), self.options, self.prompts, self.cache)
            for name, reference in self.references.items()
            if not is_file(name, reference)
        }
        if self.prompts and not judges:
            text = "is for a judge that is asked, and none is: all are files of marks"
            raise UsageError.about("judge_prompt", text, self.prompts[0])
        return judges

    def voters(self, models: InspectedModels, rows: LabelledRows | None) -> tuple[Model, ...]:
        """Return judges that label rows, or write references, and mark no answers: models that are not ranked.

        Raises:
            UsageError: other judges mark answers, or people do, which is not read together; or one of these is trusted.
        """
        voting: list[Model] = []
        for name, reference in self.references.items():
            if name in self.asked:
                voting += [model for model in self.asked[name].unpinned if not marks_answers(model)]
            elif columns := columns_of_rows(RowsFile(Path(reference)), models):
                options = replace(self.options, label_map=None, kinds=[TableOptions(prediction=columns[:1])])
                voting += [model.called(name) for model in inspect_references([str(reference)], options).unpinned]
        if voting and isinstance(rows, RowsFile) and holds_marks(rows, models):
            text = f"says nothing of answers, which people marked: a prompt must have a place for the {ANSWER}"
            raise UsageError.about("judges", f"{voting[0].name} {text}", voting[0].name)
        if voting and len(voting) < len(self.references):
            text = "either mark answers, or label rows and write references; both together are not read"
            raise UsageError.about("judges", text, voting[0].name)
        if self.trusted and not voting:
            text = "marks answers, and its weight is learnt; trusted are judges that label rows or write references"
            raise UsageError.about("trusted", f"{self.trusted[0]} {text}", self.trusted[0])
        return tuple(replace(model, role="trusted") if model.name in self.trusted else model for model in voting)

    def rows(self, models: InspectedModels) -> Sequence[Example]:
        """Return the rows of the first judge with a file, which are a pool; () if all are asked."""
        files = [Path(reference) for name, reference in self.references.items() if name not in self.asked]
        return read_pool_rows(RowsFile(files[0], limits=self.options.limits), models.precomputed) if files else ()

    def marks(self, answering: Answering | None, runtime: Runtime) -> dict[str, JudgeMarks]:
        """Read the marks of each judge, and ask for those that are in no file.

        Raises:
            UsageError: a file holds no marks of two models, or answers are needed and not known.
        """
        marks: dict[str, JudgeMarks] = {}
        for name, reference in self.references.items():
            if name in self.asked:
                marks |= ask(self.asked[name], needed(name, answering), runtime)
            else:
                marks[name] = marks_of(name, reference, self.options.limits, name in self.lower)
        return marks


def needed(name: str, answering: Answering | None = None) -> Answering:
    """Return models whose answers a judge reads; a UsageError if they are not known."""
    if answering is None:
        text = f"{name} reads rows and answers: name the rows with `pool`, and models that answer them with `models`"
        raise UsageError.about("judges", text, name)
    return answering


def is_file(name: str, reference: str | Path) -> bool:
    """Return True if what a judge says is in a file or log, False if it is a model; a UsageError for neither."""
    try:
        (first, *_) = inspect_references([str(reference)]).unpinned
    except UsageError as error:
        reason = str(error).removeprefix("`models`: ")
        raise UsageError(f"`judges`: {name}: {reason}", option="judges", value=str(reference)) from error
    return first.source.precomputed


def marks_of(name: str, reference: str | Path, limits: Limits = LIMITS, lower_is_better: bool = False) -> JudgeMarks:
    """Read a judge's marks as outcomes of models; a UsageError if there are none of two models."""
    kinds = [TableOptions(answers="outcomes", scale=ANY_SCALE), LogOptions(scale=ANY_SCALE)]
    inspected = inspect_references([reference], SourceOptions(kinds=kinds, limits=limits))
    try:
        own_plan = plan(gather_without_truth(inspected), Evidence("none", factors=()))
    except UsageError as error:
        raise UsageError(f"`judges`: {name}: {error}", option="judges", value=str(reference)) from error
    examples, (low, high) = own_plan.population, ANY_SCALE
    outcomes = {
        reply.model.name: own_plan.task.outcomes(population_answers(reply).predictions, examples)
        for reply in collect(own_plan, Runtime(store=None)).answered
    }
    sign = -1 if lower_is_better else 1
    values = {model: sign * (low + (high - low) * of_model) for model, of_model in outcomes.items()}
    return JudgeMarks(tuple(example.id for example in examples), values)


@dataclass(frozen=True)
class JudgedRun:
    """Inputs of a run beside judges, before any is asked.

    Attributes:
        people: models with people's marks or labels; None if there are none.
        rows: labelled rows of these models; None if their own files have them.
        answering: models whose answers judges read; None if they are not known.
        runtime: how judges are asked.
    """

    judges: Judges
    people: InspectedModels | None
    rows: LabelledDataset | None
    answering: Answering | None
    runtime: Runtime = Runtime()

    @property
    def tells(self) -> bool:
        """True if something stands beside people's marks: judges, or answers that may be alike."""
        return bool(self.judges.references) or self.answering is not None

    @cached_property
    def marks(self) -> Mapping[str, JudgeMarks]:
        """Marks of the judges, read or asked for once; errors are those of `Judges.marks`."""
        return self.judges.marks(self.answering, self.runtime)

    @property
    def failed(self) -> dict[str, int]:
        """Judge, or model whose answers they read -> its answers that failed, if there are any."""
        of_models = {} if self.answering is None else self.answering.failed(self.runtime)
        return of_models | {name: of_judge.failed for name, of_judge in self.marks.items() if of_judge.failed}

    def beside(self, table: ScoreTable, unit: Unit = SHARES) -> tuple[JudgeContext, tuple[str, ...]]:
        """Put judges' marks beside people's scores: first the rows that people marked, then all others.

        Args:
            table: people's scores; those of the first judge, if people marked nothing.
            unit: of people's marks.

        Returns:
            The marks, with how alike the models' answers are where people marked some, and why that is not known.

        Raises:
            UsageError: a judge marked no answer of a model, or no row that people marked; or answers cannot be
                compared, and no judge says anything else of them.
        """
        judges, names = self.marks, tuple(self.marks)
        alike, notes = self._likeness(table)
        rows_beside = [*(marks.rows for marks in judges.values()), *([alike.rows] if alike else [])]
        ids = list(dict.fromkeys([*table.examples, *chain.from_iterable(rows_beside)]))
        for name, marks in judges.items():
            check_marked(name, marks, table.models)
            if not {*marks.rows} & {*table.examples}:
                raise UsageError(f"`judges`: {name} marked no row that people marked", option="judges", value=name)
        people = aligned(dict(zip(table.models, table.outcomes, strict=True)), table.models, table.examples, ids)
        of_each = [aligned(marks.values, table.models, marks.rows, ids) for marks in judges.values()]
        of_judges = np.array(of_each).reshape(len(judges), *people.shape)
        if self.people is None:  # whose scores are the first judge's
            spread = float(np.sqrt(np.nanmean((people - np.nanmean(people, axis=0)) ** 2)))
            all_marks = JudgedMarks(np.full(people.shape, np.nan), of_judges, spread)
        else:
            likeness = None if alike is None else aligned(alike.values, table.models, alike.rows, ids)
            all_marks = JudgedMarks(people, of_judges, likeness=likeness)
        return JudgeContext(tuple(table.models), names, all_marks, unit), notes

    def _likeness(self, table: ScoreTable) -> tuple[JudgeMarks | None, tuple[str, ...]]:
        """Return how alike answers are to the rows that people marked and some others, or a note if that fails."""
        if self.answering is None or self.people is None:
            return None, ()
        try:
            return self.answering.likeness(frozenset(table.examples), self.runtime), ()
        except UsageError as error:  # a package is missing, or a text is of another script
            if not self.judges.references:
                raise
            reason = str(error).removeprefix("`metric` ")
            return None, (f"How alike answers are is not read: {reason}.",)

    def gather(self, probe: int | None = None) -> RunInputs:
        """Gather the rows that people marked; those of the first judge if they marked none."""
        if self.people is not None and self.rows is None:
            check_scale(self.people)
        if self.people is not None and self.answering is not None and not self.judges.references:
            self.answering.check_comparable()
        people = self.people or marked_models(*next(iter(self.marks.items())), self.answering)
        return gather_without_truth(people, self.rows, probe=probe)

    @property
    def infos(self) -> tuple[ModelInfo, ...]:
        """Descriptions of models that answer, and of judges that are asked."""
        answering = () if self.answering is None else self.answering.models.infos
        return (*answering, *(info for judge in self.judges.asked.values() for info in judge.infos))

    def dry_lines(self, prices: Prices = NO_PRICES) -> Iterator[str]:
        """Describe what asking would cost, and send nothing; errors are those of `Judges.marks`."""
        if not self.judges.asked:
            yield "no judge is asked: what they say is in files"
        if self.answering is not None:
            yield from self.answering.dry_lines(self.runtime, prices)
        for name, judge in self.judges.asked.items():
            yield from dry_lines(judge, needed(name, self.answering), self.runtime, prices)


def with_judges(
    models: InspectedModels | None,
    rows: LabelledRows | None,
    pool: UnlabelledRows,
    judges: Judges,
    runtime: Runtime = Runtime(),
) -> tuple[InspectedModels | None, UnlabelledRows, JudgedRun | None]:
    """Return models with the judges that vote beside them, and their pool; else what judges mark: see `judged_run`."""
    if models is not None and (voting := judges.voters(models, rows)):
        return inspect_models(models, voters=voting), pool or judges.rows(models), None
    return models, pool, judged_run(models, rows, pool, judges, runtime)


def judged_run(
    models: InspectedModels | None,
    rows: LabelledRows | None,
    pool: UnlabelledRows,
    judges: Judges,
    runtime: Runtime = Runtime(),
) -> JudgedRun:
    """Tell people's marks from answers that judges are to read.

    Args:
        models: with people's marks, or answers; None if there are only judges.
        rows: labelled rows, or a table of people's marks of the models' answers; None for what models' files bring.
        pool: rows that models answer and judges mark; () if these are not asked.

    Raises:
        UsageError: people marked other models than those that answer.
    """
    by_id = models is not None and models.precomputed
    everyone = tuple(read_pool_rows(as_pool(pool), by_id)) if pool else ()
    if isinstance(rows, RowsFile) and isinstance(rows.file, Path) and holds_marks(rows, models):
        options = SourceOptions(kinds=[TableOptions(answers="outcomes", scale=rows.scale or UNIT)], limits=rows.limits)
        people: InspectedModels | None = inspect_references([rows.file], options)
        rows = None
        assert people is not None
        names = [model.name for model in (models or people).unpinned]
        if strange := [model.name for model in people.unpinned if model.name not in names]:
            text = f"has marks of {listed(strange)}, which are none of the models: {listed(names)}"
            raise UsageError.about("data", text, strange[0])
    else:
        people = None if rows is None and everyone else models
        if people is None and models is not None and any(map(brings_marks, models.infos)):
            raise UsageError.about("pool", "is for models whose answers are marked, and these are marks; leave it out")
    if models is None or not everyone:
        return JudgedRun(judges, people, _read(rows, models), None, runtime)
    labelled = _read(rows, models)
    if labelled is not None:
        check_ids(everyone, labelled.examples)
        joined, places = with_labelled(everyone, labelled.examples)
        for place, row in zip(places.tolist(), labelled.examples, strict=True):
            joined[place] = row
        everyone = tuple(joined)
    return JudgedRun(judges, people, labelled, Answering(models, everyone), runtime)


def _read(rows: LabelledRows | None, models: InspectedModels | None) -> LabelledDataset | None:
    if rows is None or isinstance(rows, LabelledDataset):
        return rows
    file = rows if isinstance(rows, RowsFile) else RowsFile(Path(rows) if isinstance(rows, str) else rows)
    return file.labelled(() if models is None else models.infos)


def holds_marks(rows: RowsFile, models: InspectedModels | None) -> bool:
    """Return True if a file has marks of models' answers: a column that names the model, one for each, or a log."""
    if not table_kind.claims(Reference(str(rows.file)), SourceOptions()):
        return True
    columns = {*rows.content.cells}
    if any(column.casefold() in MODELS for column in columns):
        return True
    return models is not None and len(columns & {model.name for model in models.unpinned}) > 1


def columns_of_rows(rows: RowsFile, models: InspectedModels) -> tuple[str, ...]:
    """Return the columns of labels, references or answers in a judge's file; () if it has marks of models."""
    return () if holds_marks(rows, models) else tuple(name for name in rows.content.cells if words(name) & NAMED)


def brings_marks(info: ModelInfo) -> bool:
    """Return True if a model's own file has outcomes, which may be people's marks."""
    return info.rows is not None and isinstance(info.rows.task, PrecomputedTask)


def check_scale(people: InspectedModels) -> None:
    """Refuse with a UsageError tables of numbers that are marks on another scale than they were read by."""
    if not people.precomputed or any(info.rows is not None for info in people.infos):
        return
    options = SourceOptions(kinds=[TableOptions(answers="outcomes", scale=ANY_SCALE)])
    files = dict.fromkeys(info.source.place.partition("#")[0] for info in people.infos)
    try:
        are_marks = all(map(brings_marks, inspect_references([*files], options).infos))
    except UsageError:
        are_marks = False
    if are_marks:
        text = "must be the scale of people's marks, the worst and the best, such as `range 1 5`"
        raise UsageError.about("range", text, place=listed(Path(file).name for file in files))


def marked_models(judge: str, marks: JudgeMarks, answering: Answering | None = None) -> InspectedModels:
    """Return models by the marks of one judge, from 0, its worst, to 1, its best: those that answer, if known."""
    names = [*marks.values] if answering is None else [model.name for model in answering.models.unpinned]
    check_marked(judge, marks, names)
    all_marks = np.array([marks.values[model] for model in names])
    low, high = np.nanmin(all_marks), np.nanmax(all_marks)
    shares = (all_marks - low) / max(high - low, SMALLEST)
    by_row = [
        {row: share for row, share in zip(marks.rows, of_model, strict=True) if share == share}  # nan is no mark
        for of_model in shares.tolist()
    ]
    scale = float(low), float(high)
    sources = [
        MarkedModel(name, judge, of_model, marks.rows, scale) for name, of_model in zip(names, by_row, strict=True)
    ]
    return InspectedModels(tuple(map(Model, sources)))


def check_judges(run_plan: Plan) -> None:
    """Refuse with a UsageError a metric that judges' marks are not read beside: one that is no mean."""
    if run_plan.metric is not None:
        raise UsageError.about(
            "judges", f"tell means of rows, and {run_plan.metric.name} is none", run_plan.metric.name
        )


def check_marked(judge: str, marks: JudgeMarks, models: Sequence[str]) -> None:
    """Refuse a judge that marked no answer of a model."""
    if missing := [model for model in models if model not in marks.values]:
        text = f"marked no answer of {listed(missing)}; it marked those of {listed(marks.values)}"
        raise UsageError(f"`judges`: {judge} {text}", option="judges", value=judge)


def aligned(values: Mapping[str, Floats], models: Sequence[str], rows: Sequence[str], ids: Sequence[str]) -> Floats:
    """Return (M, N) values of models on all rows, nan where there is none."""
    places = {row: place for place, row in enumerate(ids)}
    aligned = np.full((len(models), len(ids)), np.nan)
    aligned[:, [places[row] for row in rows]] = [values[model] for model in models]
    return aligned
