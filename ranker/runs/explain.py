"""What models saw in one example of the user's choice."""

from __future__ import annotations

from dataclasses import replace

from factors import BUILTIN
from factors.types import Example
from ranker.attribution import settings_of
from ranker.datasets.sets import OODSet
from ranker.errors import ModelError, UsageError
from ranker.results.explanation import Explanation
from ranker.runs.collect import collect
from ranker.runs.gather import Gathered, Looked, Models, Rows, looked
from ranker.runs.plan import BACKEND, plan
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence
from ranker.scoring.views import View
from ranker.tasks.base import ANSWERED
from ranker.tasks.classes import ClassTask

NOBODY = (
    "`attribution` must be none: the answers of these models lie in files, and nobody can be asked where they come from"
)
"""Why predictions of files are not explained."""

UNANSWERED = "has no answer to it in its file"
"""Why a model says nothing of an example."""


def check_askable(models: Looked, evidence: Evidence) -> None:
    """Refuse to attribute answers that lie in files.

    Args:
        models: whose answers they may be.
        evidence: with the backend of attributions; none that is named is SHAP.

    Raises:
        UsageError: the answers of all models lie in files, and the backend is not "none".
    """
    if (evidence.settings or settings_of(BACKEND)).name != "none" and models.at_hand:
        raise UsageError(NOBODY)


def explain(
    models: Models,
    task: ClassTask,
    example: Example,
    *,
    evidence: Evidence = Evidence(),
    toward: int | None = None,
    designed: str | None = None,
    runtime: Runtime = Runtime(),
) -> Explanation:
    """Ask models what they make of one example, and where they see it.

    Args:
        models: one or more: references, or those that were looked at before.
        task: what they do.
        example: the text. Where it is `UNLABELLED`, factors that need its label have no value.
        evidence: the backend of attributions, SHAP where none is named, and the factors to measure, all that are built
            in where none are. The backend "none" is for predictions and baselines alone.
        toward: the label that positive scores speak for, an index; None takes the one that the backend's scores speak
            for alone, else the one that the shortcut speaks for, else the last.
        designed: the factor that was designed for the example's set, if any.
        runtime: how models are run, and where their answers are kept.

    Raises:
        UsageError: an unknown backend, a target that is no class, or a label that the backend's attributions cannot be
            turned toward.
        ModelError: no model could be run.
        StoreError: the store cannot be read or written.

    Example:
        >>> from ranker import Evidence, explain, load_set, load_suite
        >>> models, rows = load_suite(["hans-sub-mini"]).models[-1:], load_set("hans-sub", limit=10)
        >>> explain(models, rows.task, rows.examples[0], evidence=Evidence("occlusion"))
        'Although the clerks filmed the drivers visited the nurse. / The clerks filmed...': non-entailment
        inoc-4000 non-entailment 99.7 %
        words by occlusion, toward entailment
    """
    backend = evidence.settings or settings_of(BACKEND)
    settings = backend.settled(task.labels, task.shortcut if toward is None else toward)
    only = settings.only_label(len(task.labels))
    if toward is not None and only not in (None, toward):
        raise UsageError(
            f"`toward` {task.labels[toward]}: the scores speak for {task.labels[only]} alone; see `target` of "
            f"`attribution` {settings.name}"
        )
    seen = looked(models)
    check_askable(seen, evidence)
    factors = tuple(BUILTIN.values() if evidence.factors is None else evidence.factors)
    if settings.name == "none":
        factors = tuple(factor for factor in factors if factor.kind == "baseline")
    rows = Rows(OODSet("example", task, (example,), 1, designed), (example,))
    made = plan(Gathered(seen, rows), replace(evidence, attribution=settings, factors=factors))
    collected = collect(replace(made, compares=False), runtime)
    answered = [one for one in collected.answered if one.to["population"].predictions.state[0] == ANSWERED]
    silent = {one.model.name: UNANSWERED for one in collected.answered if one not in answered}
    failures = {**collected.failures, **silent}
    if not answered:
        raise ModelError("; ".join(f"{name}: {reason}" for name, reason in failures.items()))
    metric = [one for one in factors if one.name == task.metric]
    view = View(task, made.settings, [*metric, *made.factors], designed, toward)
    shown = view.explanation(example, {one.model.name: one.to["population"].seen(0) for one in answered})
    return replace(shown, left_out=made.left_out, failures=failures)
