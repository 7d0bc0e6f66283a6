"""What models saw in one example of the user's choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from factors import BUILTIN, Factor
from factors.types import Attributions, Example
from ranker.attribution import settings_of
from ranker.attribution.settings import Settings
from ranker.errors import ModelError, UsageError
from ranker.results.explanation import Explanation
from ranker.runs.gather import Models, looked
from ranker.runs.survey import survey
from ranker.runtime.base import Answer, Request
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import applicable
from ranker.scoring.views import View
from ranker.sources.suites import Model
from ranker.tasks.classes import Task


def explain(
    models: Models,
    task: Task,
    example: Example,
    *,
    attribution: str | Settings = "shap",
    factors: Sequence[Factor] = tuple(BUILTIN.values()),
    toward: int | None = None,
    designed: str | None = None,
    runtime: Runtime = Runtime(),
) -> Explanation:
    """Ask models what they make of one example, and where they see it.

    Args:
        models: one or more: references, or those that were looked at before.
        task: what they do.
        example: the text. Where it is `UNLABELLED`, factors that need its label have no value.
        attribution: a backend, or its settings (`ranker.attribution.settings_of`); "none" for predictions and baselines
            alone.
        factors: what to measure.
        toward: the label that positive scores speak for; None leaves it to `View`.
        designed: the factor that was designed for the example's set, if any.
        runtime: how models are run, and where their answers are kept.

    Raises:
        UsageError: an unknown backend, a target that is no class, or a label that the backend's attributions cannot be
            turned toward.
        ModelError: no model could be run.
        StoreError: the store cannot be read or written.
    """
    settings = settings_of(attribution).settled(task.labels, task.shortcut if toward is None else toward)
    only = settings.only_label(len(task.labels))
    if toward is not None and only not in (None, toward):
        raise UsageError(
            f"`--toward` {task.labels[toward]}: the scores speak for {task.labels[only]} alone; see `target` of "
            f"`--attribution {settings.name}`"
        )
    if settings.name == "none":
        factors = [factor for factor in factors if factor.kind == "baseline"]
    kept, left_out = applicable(factors, [example], task, designed, only_label=only)
    found = looked(models)
    asked = Request([example], None if settings.name == "none" else settings)

    def use(_model: Model, _content: str, answers: Sequence[Answer | None]) -> Attributions:
        return next(one.seen(0) for one in answers if one)

    rows, failures = survey(found, task, [[asked]] * len(found.models), runtime, use)
    if not rows:
        raise ModelError("; ".join(f"{name}: {reason}" for name, reason in failures.items()))
    shown = View(task, settings, kept, designed, toward).explanation(example, rows)
    return replace(shown, left_out=left_out, failures=failures)
