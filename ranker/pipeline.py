"""The whole flow, from models and examples to a ranking."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from factors import BUILTIN, Example, Factor
from factors.types import Norm
from ranker.attribution import settings_of
from ranker.attribution.settings import Settings
from ranker.datasets.pools import check_alike, with_labelled
from ranker.datasets.sets import OODSet, labelled, load, sample, unlabelled
from ranker.errors import ModelError, UsageError
from ranker.progress import Progress, silent
from ranker.runtime.estimate import minutes
from ranker.runtime.guest import Subject
from ranker.runtime.store import store_of
from ranker.scoring.score import Target, check_probe
from ranker.sources.base import ModelOptions
from ranker.sources.suites import Suite, fetched, suite_of
from ranker.stated import check_numbers, own_task
from ranker.statistics.methods import LABEL_FREE, POOL_FACTOR, SURROGATE
from ranker.study import Rows, Study

if TYPE_CHECKING:
    from ranker.results.ranking import Ranking
    from ranker.runtime.store import Store

log = logging.getLogger(__name__)


def rank(
    models: Suite | str | Path | Sequence[str | Path],
    examples: OODSet | str,
    *,
    probe: int = 10,
    draws: int | Literal["exact"] = "exact",
    seed: int = 0,
    attribution: str | Settings = "shap",
    factors: Sequence[Factor] = tuple(BUILTIN.values()),
    target: Target = "declared",
    norm: Norm = "raw",
    in_domain: OODSet | None = None,
    options: ModelOptions = ModelOptions(),
    store: Store | str | Path | None = None,
    progress: Progress = silent,
) -> Ranking:
    """Rank models on an OOD set, and say how often each method would have ranked them rightly from a small probe.

    Args:
        models: a suite, or what `ranker.sources.suites.load` makes one of: directories, hub ids, a suite.json.
        examples: the OOD set, or the name of an embedded one; the population, a sample of it, is attributed. The
            official data, or a few rows of it for a quick try: `ranker.datasets.sets.load(name, data_dir, limit=40)`.
        probe: K, how many labelled examples a practitioner would have.
        draws: B, how many probes are drawn, or "exact".
        seed: of the draws; the population does not depend on it.
        attribution: a backend, with its settings or as it comes ("shap", "ig:steps=50", `IGSettings(steps=50)`, see
            `ranker.attribution.settings_of`); "none" for the baselines alone.
        factors: what to measure.
        target: "declared", or one label rule for all attribution factors.
        norm: what an example's attributions are divided by before the factors see them.
        in_domain: labelled rows of the domain that the models were trained for; one that does worse than chance there
            is noted, since its labels are probably mapped wrongly.
        options: how models are loaded and run.
        store: where attributions are kept: a `Store`, or its folder or URL; None keeps nothing.
        progress: opens a stage of the work on one model.

    Returns:
        The ranking. Models that failed are listed in it with their reasons.

    Raises:
        UsageError: K does not fit the population, an unknown backend, or models that do not differ.
        ModelError: fewer than two models could be measured.
        StoreError: the store cannot be read or written.

    Example:
        >>> ranking = rank("hans-sub-mini", "hans-sub", attribution="none")
        >>> ranking.models[0].name, ranking.method("RANDOM").few_shot_accuracy
        ('inoc-4000', 0.5)
    """
    from ranker.scoring.evaluation import evaluate

    if draws != "exact" and not (isinstance(draws, int) and draws > 0):
        raise UsageError(f"`--draws` must be a number of at least 1, or `exact` (got {draws!r})")
    study = study_of_set(
        models,
        examples,
        probe=probe,
        attribution=attribution,
        factors=factors,
        target=target,
        norm=norm,
        in_domain=in_domain,
        options=options,
        store=store,
        progress=progress,
    )
    scored = study.scored()
    ranking = evaluate(
        scored.table,
        probe=probe,
        draws=draws,
        seed=seed,
        ood=study.rows.ood.name,
        suite=study.suite.name,
        families=scored.families,
        misled=scored.misled,
        designed=study.rows.ood.designed,
        pool=scored.pool,
    )
    return scored.completed(ranking)


def decide(
    models: Suite | str | Path | Sequence[str | Path],
    examples: OODSet | str | Path,
    *,
    pool: Sequence[Example] | str | Path = (),
    probe: int | None = None,
    method: str | None = None,
    seed: int = 0,
    attribution: str | Settings = "shap",
    factors: Sequence[Factor] = tuple(BUILTIN.values()),
    target: Target = "declared",
    norm: Norm = "raw",
    in_domain: OODSet | None = None,
    options: ModelOptions = ModelOptions(),
    store: Store | str | Path | None = None,
    progress: Progress = silent,
) -> Ranking:
    """Order models by a few labelled examples where nobody knows the truth, and say what of that order they support.

    Args:
        models, attribution, factors, target, norm, in_domain, options, store, progress: as in `rank`.
        examples: the labelled rows (see `ranker.datasets.sets.labelled`); or their file, judged by the models' own
            labels if it has no others.
        pool: rows of the same domain without labels (see `ranker.datasets.sets.unlabelled`), or their file; labelled
            rows may be among them.
        probe: K, how many of the labelled ones to use; None for all.
        method: what to order by; None for SURROGATE with a pool, and without one for ACC, its ties broken by the factor
            designed for the set.
        seed: of the draws behind P(best).

    Returns:
        The ranking, with a `Decision`.

    Raises:
        UsageError: K does not fit the rows, an unknown backend or method, or labels that are numbers which the models
            count otherwise.
        ModelError: fewer than two models could be measured.
        StoreError: the store cannot be read or written.
    """
    from ranker.scoring import decision

    study = study_of_decision(
        models,
        examples,
        pool=pool,
        probe=probe,
        method=method,
        attribution=attribution,
        factors=factors,
        target=target,
        norm=norm,
        in_domain=in_domain,
        options=options,
        store=store,
        progress=progress,
    )
    scored = study.scored()
    if method is not None:
        method = method_named(method, study.rows.ood, study.rows.pool, factors)
        check_method(method, scored.left_out.get(method))
    ranking = decision.decide(
        scored.table,
        pool=scored.pool if study.rows.pool else None,
        places=study.rows.places,
        method=method,
        designed=study.rows.ood.designed,
        seed=seed,
        ood=study.rows.ood.name,
        suite=study.suite.name,
        families=scored.families,
    )
    return scored.completed(ranking)


def study_of_set(
    models: Suite | str | Path | Sequence[str | Path],
    examples: OODSet | str,
    *,
    probe: int = 10,
    attribution: str | Settings = "shap",
    factors: Sequence[Factor] = tuple(BUILTIN.values()),
    target: Target = "declared",
    norm: Norm = "raw",
    in_domain: OODSet | None = None,
    options: ModelOptions = ModelOptions(),
    store: Store | str | Path | None = None,
    progress: Progress = silent,
) -> Study:
    """What `rank` asks of models, checked before any is asked; the arguments are its own.

    Raises:
        UsageError: as `rank`.
    """
    suite = suite_of(models)
    ood = examples if isinstance(examples, OODSet) else load(examples)
    rows = Rows(ood, sample(ood, ood.population))
    check_probe(probe, len(rows.population), f"the rows of {ood.name} that are explained")
    settings, kept = settings_of(attribution), store_of(store)
    suite = fetched(suite, allow_pickle=options.allow_pickle)
    check_numbers([in_domain] if in_domain else [], suite.models, options)
    return Study(suite, rows, settings, tuple(factors), target, norm, in_domain, options, kept, progress)


def study_of_decision(
    models: Suite | str | Path | Sequence[str | Path],
    examples: OODSet | str | Path,
    *,
    pool: Sequence[Example] | str | Path = (),
    probe: int | None = None,
    method: str | None = None,
    attribution: str | Settings = "shap",
    factors: Sequence[Factor] = tuple(BUILTIN.values()),
    target: Target = "declared",
    norm: Norm = "raw",
    in_domain: OODSet | None = None,
    options: ModelOptions = ModelOptions(),
    store: Store | str | Path | None = None,
    progress: Progress = silent,
) -> Study:
    """What `decide` asks of models, checked before any is asked; the arguments are its own.

    Raises:
        UsageError: as `decide`, and for a method that these rows cannot have, as far as that is known by now.
    """
    suite = suite_of(models)
    if not isinstance(examples, OODSet):
        suite = fetched(suite, allow_pickle=options.allow_pickle)
        examples = labelled(examples, own=own_task(suite.models, options))
    if isinstance(pool, (str, Path)):
        pool = unlabelled(pool)
    if probe is not None:
        check_probe(probe, len(examples.examples), "the labelled rows")
    if method is not None:
        method = method_named(method, examples, pool, factors)
    everything, places = with_labelled(pool, examples.examples)
    check_alike(everything)
    if pool and len(everything) > len(pool):
        log.warning("%d of the labelled rows are not in the pool; they are added to it", len(everything) - len(pool))
    rows = Rows(
        examples,
        examples.examples[:probe],
        truth=False,
        pool=tuple(everything) if pool else (),
        places=places[:probe] if pool else None,
        explain_pool=method == POOL_FACTOR,
    )
    settings, kept = settings_of(attribution), store_of(store)
    suite = fetched(suite, allow_pickle=options.allow_pickle)
    check_numbers([examples, *([in_domain] if in_domain else [])], suite.models, options)
    study = Study(suite, rows, settings, tuple(factors), target, norm, in_domain, options, kept, progress)
    if method is not None:
        check_method(method, study.lacks(method))
    return study


def method_named(method: str, examples: OODSet, pool: Sequence[Example], factors: Sequence[Factor]) -> str:
    """The method of a decision by the name that somebody wrote (see `ranker.scoring.decision.named`).

    Raises:
        UnknownName: there is none of that name.
        UsageError: it needs a pool.
    """
    from ranker.scoring import decision

    pooled = (SURROGATE, *(one.name for one in LABEL_FREE))
    if method.upper() in pooled and not pool:
        raise UsageError(f"`--method`: {method.upper()} needs rows without labels: `--pool`")
    return decision.named(method, [factor.name for factor in factors], examples.designed, pooled if pool else ())


def check_method(method: str, why_not: str | None) -> None:
    """Refuse a method that there is a reason against.

    Raises:
        UsageError: so there is.
    """
    if why_not is not None:
        raise UsageError(f"`--method`: {method} cannot order these models: {why_not}")


def plan(study: Study) -> Iterator[str]:
    """Say what a run would do, a line for each model: how much is not known yet, and how long it would take.

    A model of which anything is missing is loaded, and its speed is measured on a few rows.

    Args:
        study: what the models would be asked: see `study_of_set` and `study_of_decision`.
    """
    rows, suite = study.rows, study.suite
    explained = {one.segments for one in (*rows.population, *(rows.pool if rows.explain_pool else ()))}
    predicted = rows.ood.examples if rows.truth else rows.population
    every = {one.segments for one in (*predicted, *rows.pool, *study.in_domain_rows)}
    size = f"{len(suite.models)} models, {len(every)} rows, {len(explained)} to explain with {study.settings.name}"
    yield f"{suite.name} on {rows.ood.name}: {size}"
    seconds = 0.0
    for model in suite.models:
        try:
            todo = study.todo(Subject(model, study.task, study.options, study.store))
        except ModelError as error:
            yield f"{model.name}: cannot be run: {error}"
            continue
        seconds += todo.seconds
        yield f"{model.name}: {todo}"
    yield f"in all at least {minutes(seconds)}"
