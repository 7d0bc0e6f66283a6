"""Ranking models on a set whose truth is known: how good each method would have been."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Literal

from ranker.datasets.sets import LabelledDataset
from ranker.errors import UsageError
from ranker.results.ranking import Ranking
from ranker.runs.collect import collect
from ranker.runs.estimates import kept_methods
from ranker.runs.gather import Models, NamedDataset, RowsFile, with_truth
from ranker.runs.plan import Plan, plan
from ranker.runs.run_measurements import header, measure_run
from ranker.runtime.runtime import Runtime
from ranker.scoring.evaluation import STEPS, evaluate
from ranker.scoring.score import Evidence


def rank(
    models: Models,
    examples: LabelledDataset | NamedDataset | str,
    *,
    probe: int = 10,
    draws: int | Literal["exact"] = "exact",
    seed: int = 0,
    metric: str | None = None,
    evidence: Evidence = Evidence(),
    in_domain: LabelledDataset | RowsFile | None = None,
    runtime: Runtime = Runtime(),
) -> Ranking:
    """Rank models on an OOD set, and say how often each method would have ranked them rightly from a small probe.

    Args:
        models: a suite, or what `ranker.load_suite` makes one of: directories, hub ids, a suite.json, files of answers;
            or those that were looked at before.
        examples: the OOD set, or the name of an embedded one; the population, a sample of it, is attributed. The
            official data, or a few rows of it for a quick try: `ranker.load_set(name, data_dir, limit=40)`.
        probe: K, how many labelled examples a practitioner would have.
        draws: B, how many probes are drawn, or "exact".
        seed: of the draws; the population does not depend on it.
        metric: what the models' true order is by: "macro-f1", "mcc" and others of `ranker.tasks.metrics.METRICS` of
            which more is better. None for the mean outcome, which of classes is the accuracy.
        evidence: what they are ranked by: the backend of attributions, factors, methods.
        in_domain: labelled rows (see `ranker.labelled`) of the domain that the models were trained for; one that does
            worse than chance there is noted, since its labels are probably mapped wrongly.
        runtime: how models are run, and where their answers are kept.

    Returns:
        The ranking, which holds an `Evaluation`. Models that failed are listed in it with their reasons.

    Raises:
        UnknownName: there is no such metric.
        UsageError: K does not fit the population, an unknown backend, models that do not differ, or a metric that these
            rows cannot have.
        ModelError: fewer than two models could be asked.
        StoreError: the store cannot be read or written.

    Example:
        >>> ranking = rank("hans-sub-mini", "hans-sub", evidence=Evidence("none"))
        >>> ranking.found.models[0].name, ranking.method("RANDOM").pairwise_accuracy
        ('inoc-4000', 0.5)
    """
    check_draws(draws)
    made = plan(with_truth(models, examples, probe, in_domain), evidence, metric=metric)
    return evaluated(made, probe, draws, seed, runtime)


def check_draws(draws: int | str) -> None:
    """Refuse a number of draws that cannot be.

    Raises:
        UsageError: so it is.
    """
    if draws != "exact" and not (isinstance(draws, int) and draws > 0):
        raise UsageError(f"`draws` must be a number of at least 1, or `exact` (got {draws!r})")


def evaluated(made: Plan, probe: int, draws: int | Literal["exact"], seed: int, runtime: Runtime) -> Ranking:
    """What comes of a plan on a set whose truth is known; see `rank` for arguments and errors."""
    collected = collect(made, runtime)
    found = measure_run(made, collected, runtime)
    with (
        nullcontext() if runtime.store is None else runtime.kept() as store,
        kept_methods(found.methods, found.pool, store) as methods,
        runtime.steps(f"methods on {len(found.table.models):,} models", len(STEPS)) as watch,
    ):
        evaluation = evaluate(
            found.table,
            probe=probe,
            draws=draws,
            seed=seed,
            families=found.families,
            misled=found.misled,
            in_domain=found.in_domain,
            designed=made.rows.ood.designed,
            methods=methods,
            pool=found.pool,
            targets=found.targets,
            by_metric=found.by_metric,
            watch=watch,
        )
    of = header(made, collected, found, seed, probe, runtime.machine)
    return Ranking(of, evaluation, found.table, found.examples)
