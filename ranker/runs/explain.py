"""Explain one example: predictions, attributions and factors of several models."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from factors.types import Example
from ranker.attribution import settings_of
from ranker.attribution.settings import Settings, settle
from ranker.datasets import readers, sets
from ranker.datasets.marks import marker
from ranker.datasets.sets import LabelledDataset
from ranker.errors import DataError, ModelError, UnknownName, UsageError
from ranker.results.explanation import Explanation
from ranker.runs.collect import collect
from ranker.runs.gather import RunInputs
from ranker.runs.inspected import InspectedModels, Models, inspect_models
from ranker.runs.plan import BACKEND, applicable_factors, default_factors, plan
from ranker.runs.rows import NamedDataset, RowsFile
from ranker.runs.signatures import checked
from ranker.runs.task import NamedTask, decide_task
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence
from ranker.scoring.views import View
from ranker.tasks.base import ANSWERED, Task
from ranker.tasks.classes import require_labels

log = logging.getLogger(__name__)

NOBODY = (
    "`attribution` must be none: the answers of these models lie in files, and nobody can be asked where they come from"
)
"""Reason why predictions in files are not explained."""

Chosen: TypeAlias = tuple[Task, str | None, Example]
"""Task of an example, the designed factor of its set, and the example."""

UNANSWERED = "has no answer to it in its file"
"""Reason why a model has no explanation."""


def check_askable(models: InspectedModels, evidence: Evidence) -> None:
    """Refuse with a UsageError to attribute answers of models that all lie in files, unless the backend is "none"."""
    if _backend(evidence).name != "none" and models.precomputed:
        raise UsageError(NOBODY, option="attribution")


def _backend(evidence: Evidence) -> Settings:
    """Return the only backend of the evidence, else the default one."""
    backend, *further = evidence.backends or (settings_of(BACKEND),)
    if further:
        names = ",".join(settings.name for settings in (backend, *further))
        raise UsageError.about("attribution", f"must be one backend where one row is explained (got {names})", names)
    return backend


@checked
def explain(
    models: Models,
    example: Example | str | Sequence[str],
    *,
    task: Task | None = None,
    evidence: Evidence = Evidence(),
    toward: int | None = None,
    designed: str | None = None,
    runtime: Runtime = Runtime(),
) -> Explanation:
    """Ask models for their prediction on one example, and the words behind it.

    Args:
        models: one or more: references, or inspected models.
        example: a text, a pair of them, or an example. Without a target, factors that need its label have no value.
        task: their task; None takes the models' own labels.
        evidence: the attribution backend, by default SHAP, and the factors, by default all built-in ones. The backend
            "none" leaves predictions and baselines.
        toward: index of the label that positive scores speak for. None takes the only label of the backend's scores,
            else that of the shortcut, else the last.
        designed: factor designed for the example's set, if any.
        runtime: how models run, and where answers are stored.

    Raises:
        UsageError: an unknown backend, models that share no labels, a target that is no class, or a label that the
            backend's attributions cannot be turned toward.
        ModelError: no model could be run.
        StoreError: the store cannot be read or written.

    Example:
        >>> from ranker import Evidence, explain, load_set, load_suite
        >>> models, rows = load_suite(["hans-sub-mini"]).models[-1:], load_set("hans-sub", limit=10)
        >>> explain(models, rows.examples[0], task=rows.task, evidence=Evidence("occlusion"))
        'Although the clerks filmed the drivers visited the nurse. / The clerks filmed...': non-entailment
        inoc-4000 non-entailment 99.7 %
        words by occlusion, toward entailment
        >>> explain(models, "The nurse ran.", evidence=Evidence("none")).example.segments
        ('The nurse ran.',)
    """
    inspected = inspect_models(models)
    if not isinstance(example, Example):
        texts = (example,) if isinstance(example, str) else tuple(example)
        task, _, example = text_example(texts, NamedTask(task), inspected)
    task = task or decide_task(NamedTask(None), infos=inspected.infos)
    row = LabelledDataset("example", task, (example,), 1, designed)
    inputs = RunInputs(inspected, row, (example,)).with_shortcut(evidence.shortcut)
    task = inputs.task
    backend = _backend(evidence)
    settings = settle(backend, task, toward) if task.outputs else backend
    only = None if toward is None else settings.only_label(len(task.outputs))
    if toward is not None and only not in (None, toward):
        label, attributed = task.outputs[toward], task.outputs[only]
        text = f"{label}: the scores speak for {attributed} alone; see `target` of `attribution` {settings.name}"
        raise UsageError.about("toward", text, label, allowed=(attributed,))
    check_askable(inspected, evidence)
    factors = default_factors(inputs, truth=True) if evidence.factors is None else tuple(evidence.factors)
    if settings.name == "none":
        factors = tuple(factor for factor in factors if factor.kind == "baseline")
    measured = [factor for factor in factors if factor.name != task.metric]
    fitting, left_out = applicable_factors(measured, inputs, evidence.target, settings)
    run_plan = plan(inputs, replace(evidence, attribution=settings, factors=fitting))
    collected = collect(replace(run_plan, compares=False), runtime)
    answered = [reply for reply in collected.answered if reply.answers["population"].predictions.state[0] == ANSWERED]
    silent = {reply.model.name: UNANSWERED for reply in collected.answered if reply not in answered}
    failures = {**collected.failures, **silent}
    if not answered:
        raise ModelError(
            "; ".join(f"{name}: {reason}" for name, reason in failures.items()), place=next(iter(failures))
        )
    metric = [factor for factor in factors if factor.name == task.metric]
    view = View(task, run_plan.settings, [*metric, *run_plan.factors], designed, toward)
    explanation = view.explanation(example, {reply.model.name: reply.answers["population"].at(0) for reply in answered})
    return replace(explanation, left_out={**left_out, **run_plan.left_out}, failures=failures)


def find_example(rows: RowsFile | NamedDataset, identity: str, models: InspectedModels) -> Chosen:
    """Find an example of a set, or of a user's own rows, by id; without ids by row number.

    Raises a UsageError: no row has that id, no task fits (see `decide_task`), or the rows cannot be read.
    """
    ood = rows.load() if isinstance(rows, NamedDataset) else _every_row(rows, models)
    example = next((row for row in ood.examples if row.id == identity), None)
    if example is None:
        first_ids = ", ".join(row.id for row in ood.examples[:3])
        text = f"`id`: {ood.name} has no example {identity!r}; its ids are like {first_ids}"
        raise UsageError(text, option="id", value=identity, place=ood.name)
    return ood.task, ood.designed, example


def _every_row(rows_file: RowsFile, models: InspectedModels) -> LabelledDataset:
    """Read all of a user's own rows, with labels where they can be read."""
    card = rows_file.named_task.card
    sheet = rows_file.with_texts()
    task = decide_task(rows_file.named_task, sheet, models.infos)
    rows: Sequence[Example] = readers.unlabelled(sheet, readers.no_marks if card is None else marker(card.marks))
    judged = (row for row, label in zip(sheet.rows, readers.raw_labels(sheet), strict=True) if label is not None)
    try:
        targets = {row.id: row.target for row in readers.examples(judged, task, sheet.layout, limits=sheet.limits)}
        rows = [replace(row, target=targets.get(row.id)) for row in rows]
    except DataError as error:
        log.warning("the rows are read without labels: %s", error)
    if sheet.layout.label is None:
        log.warning("the rows are read without labels: no column has a usual name for them; name it with `columns`")
    return LabelledDataset(rows_file.name, task, tuple(rows), len(rows), None if card is None else card.designed)


def text_example(texts: Sequence[str], named_task: NamedTask, models: InspectedModels) -> Chosen:
    """Make an example of a user's own text, or pair of texts, whose label is not known.

    Raises a UsageError: a wrong number of texts for the set, or no task (see `decide_task`).
    """
    card = named_task.card
    layouts = [] if card is None else [layout.text for layout in card.layouts]
    counts = {1, 2} if not layouts or sets.OWN.text in layouts else set(map(len, layouts))
    if len(texts) not in counts:
        of_set = "" if card is None else f" for {card.name}"
        times = " or ".join(map(str, sorted(counts)))
        raise UsageError.about(
            "text", f"must be given {times} times{of_set} (got {len(texts)})", len(texts), allowed=sorted(counts)
        )
    task = decide_task(named_task, infos=models.infos)
    marks = readers.no_marks if card is None else marker(card.marks)
    try:
        example = Example("text", tuple(texts), None, marks(tuple(texts), {}))
    except ValueError as error:  # undecodable bytes of the command line
        raise UsageError(f"`text`: {error}", option="text") from error
    return task, None if card is None else card.designed, example


def label_index(name: str, task: Task) -> int:
    """Return the index of a label, by name or alias. Raises `UnknownName`, or a LabelError where answers are none."""
    label_task = require_labels(task, name)
    index = label_task.index(name)
    if index is None:
        raise UnknownName(f"label of {task.name}", name, label_task.labels)
    return index
