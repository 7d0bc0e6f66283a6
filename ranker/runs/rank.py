"""Rank models on a set whose truth is known, and measure how good each method would have been."""

from __future__ import annotations

from typing import Literal

from ranker.datasets.sets import LabelledDataset
from ranker.errors import UsageError
from ranker.results.ranking import Ranking
from ranker.runs.collect import collect
from ranker.runs.estimates import cache_methods
from ranker.runs.gather import gather_with_truth
from ranker.runs.inspected import Models, inspect_models
from ranker.runs.plan import Plan, plan
from ranker.runs.rows import NamedDataset, RowsFile
from ranker.runs.run_measurements import assemble_ranking, measure_run
from ranker.runs.signatures import checked
from ranker.runtime.runtime import Runtime
from ranker.scoring.evaluation import STEPS, evaluate
from ranker.scoring.score import Evidence
from ranker.tasks.metrics import LabelScore


@checked
def rank(
    models: Models,
    examples: LabelledDataset | NamedDataset | str,
    *,
    probe: int = 10,
    draws: int | Literal["exact"] = "exact",
    seed: int = 0,
    metric: str | LabelScore | None = None,
    evidence: Evidence = Evidence(),
    in_domain: LabelledDataset | RowsFile | None = None,
    voters: Models = (),
    runtime: Runtime = Runtime(),
) -> Ranking:
    """Rank models on an OOD set, and measure how often each method would have ranked them rightly from a small probe.

    Args:
        models: a suite, or what `ranker.load_suite` makes one of: directories, hub ids, a suite.json, files of answers;
            or inspected models.
        examples: the OOD set, or the name of an embedded one; its population, a sample, is attributed. For the official
            data, or a few rows for a quick try: `ranker.load_set(name, data_dir, limit=40)`.
        probe: K, the number of labelled examples that a practitioner would have.
        draws: B, the number of drawn probes, or "exact".
        seed: seed of the draws; the population does not depend on it.
        metric: metric of the models' true order: "macro-f1", "mcc" and others of `ranker.tasks.metrics.METRICS` of
            which more is better. None for the mean outcome, which is the accuracy for classes.
        evidence: attribution backend, factors and methods.
        in_domain: labelled rows (see `ranker.labelled`) of the domain that the models were trained for. A model below
            chance there is noted, since its labels are probably mapped wrongly.
        voters: models that vote, for methods that read a pool, and are not ranked.
        runtime: how models run, and where answers are stored.

    Returns:
        The ranking, which holds an `Evaluation`. It lists models that failed, with reasons.

    Raises:
        UnknownName: there is no such metric.
        UsageError: K does not fit the population, an unknown backend, models that do not differ, or a metric that these
            rows cannot have.
        ModelError: fewer than two models could be asked.
        StoreError: the store cannot be read or written.

    Example:
        >>> ranking = rank("hans-sub-mini", "hans-sub", evidence=Evidence("none", methods=()))
        >>> ranking.found.models[0].name, ranking.method("RANDOM").pairwise_accuracy
        ('inoc-4000', 0.5)
    """
    check_draws(draws)
    inspected = inspect_models(models, voters=voters)
    run_plan = plan(gather_with_truth(inspected, examples, probe, in_domain), evidence, metric=metric)
    return evaluate_plan(run_plan, probe, draws, seed, runtime)


def check_draws(draws: int | str) -> None:
    """Refuse an invalid number of draws."""
    if draws != "exact" and not (isinstance(draws, int) and draws > 0):
        raise UsageError.about("draws", f"must be a number of at least 1, or `exact` (got {draws!r})", draws)


def evaluate_plan(run_plan: Plan, probe: int, draws: int | Literal["exact"], seed: int, runtime: Runtime) -> Ranking:
    """Carry out a plan on a set whose truth is known; see `rank` for arguments and errors."""
    collected = collect(run_plan, runtime)
    measurements = measure_run(run_plan, collected, runtime, seed, probe)
    with (
        runtime.open_store() as store,
        cache_methods(run_plan.methods, measurements.pool, store) as methods,
        runtime.steps(f"methods on {len(measurements.table.models):,} models", len(STEPS)) as watch,
    ):
        evaluation = evaluate(
            measurements.table,
            probe=probe,
            draws=draws,
            seed=seed,
            families=measurements.families,
            misled=measurements.misled,
            in_domain=measurements.in_domain,
            designed=run_plan.ood.designed,
            methods=methods,
            pool=measurements.pool,
            targets=measurements.targets,
            by_metric=measurements.by_metric,
            watch=watch,
        )
    return assemble_ranking(run_plan, measurements, evaluation)
