"""The whole flow, from models and examples to a ranking."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import metadata
from typing import TYPE_CHECKING, Literal

import numpy as np

from factors import BUILTIN, Factor
from ranker.backends import SETTINGS, Settings
from ranker.errors import ModelError, UsageError, look_up
from ranker.measure import Advance, ModelOptions, Subject
from ranker.ood import OODSet, sample
from ranker.ranking import Ranking, evaluate
from ranker.score import ModelScores, Target, applicable, assemble, score_model
from ranker.suites import Model, Suite

if TYPE_CHECKING:
    from ranker.store import Store

log = logging.getLogger(__name__)

Progress = Callable[[str, int], AbstractContextManager[Advance]]
"""Opens a stage (label, number of examples); gives the function that is told of examples done."""


def silent(label: str, total: int) -> AbstractContextManager[Advance]:
    """No progress."""
    return nullcontext(lambda done: None)


def rank(
    suite: Suite,
    ood: OODSet,
    *,
    probe: int = 10,
    draws: int | Literal["exact"] = 500,
    seed: int = 0,
    attribution: str = "ig",
    settings: Settings | None = None,
    factors: Sequence[Factor] = tuple(BUILTIN.values()),
    target: Target = "declared",
    options: ModelOptions = ModelOptions(),
    store: Store | None = None,
    progress: Progress = silent,
) -> Ranking:
    """Rank a suite on an OOD set, and say how often each method would have ranked it rightly from a small probe.

    Args:
        suite: the models.
        ood: the labelled examples; a seeded sample of them, the population, is attributed.
        probe: K, how many labelled examples a practitioner would have.
        draws: B, how many probes are drawn.
        seed: of the draws. The population does not depend on it.
        attribution: a backend's name, or "none" for the baselines alone.
        settings: of the backend; its defaults where None.
        factors: what to measure.
        target: "declared", or one label rule for all attribution factors.
        options: how models are loaded and run.
        store: where attributions are kept.
        progress: opens a stage for each model.

    Returns:
        The ranking; models that failed are listed in it with their reasons.

    Raises:
        UsageError: K does not fit the population, or an unknown backend.
        ModelError: fewer than two models could be measured.
        StoreError: the store cannot be read or written.
    """
    settings = settings or look_up("attribution backend", attribution, SETTINGS)()
    population = sample(ood, ood.population)
    if not 1 <= probe <= len(population):
        raise UsageError(f"`--probe` must be between 1 and {len(population)}, the size of {ood.name} (got {probe})")
    if attribution == "none":
        factors = [factor for factor in factors if factor.kind == "baseline"]
    kept, left_out = applicable(factors, population, ood.task)
    scores: dict[str, ModelScores] = {}
    accuracy: dict[str, float] = {}
    failures: dict[str, str] = {}
    for model in suite.models:
        subject = Subject(model, ood.task, options, store)
        try:
            with progress(f"{model.name}: accuracy", len(ood.examples)) as advance:
                accuracy[model.name] = ood_accuracy(subject, ood, advance)
            with progress(f"{model.name}: {attribution}", len(population)) as advance:
                rows = subject.rows(population, attribution, settings, advance)
            scores[model.name] = score_model(rows, population, kept, ood.task, target)
        except ModelError as error:
            failures[model.name] = str(error)
            log.error("%s is left out: %s", model.name, error)
    if len(scores) < 2:
        raise ModelError(f"nothing to rank: {len(failures)} of {len(suite.models)} models failed, first {failures}")
