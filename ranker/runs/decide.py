"""Choosing between models by a few labelled rows, where nobody knows the truth."""

from __future__ import annotations

from ranker.datasets.sets import LabelledDataset
from ranker.errors import look_up
from ranker.results.ranking import Ranking
from ranker.runs.collect import collect
from ranker.runs.gather import LabelledRows, Models, RowsFile, UnlabelledRows, without_truth
from ranker.runs.plan import Plan, check_method, plan
from ranker.runs.run_measurements import RunMeasurements, header, measure_run
from ranker.runtime.runtime import Runtime
from ranker.scoring import decision as deciding
from ranker.scoring.decision import UnlabelledContext
from ranker.scoring.score import Evidence


def decide(
    models: Models,
    examples: LabelledRows | None = None,
    *,
    pool: UnlabelledRows = (),
    probe: int | None = None,
    method: str | None = None,
    metric: str | None = None,
    seed: int = 0,
    evidence: Evidence = Evidence(),
    in_domain: LabelledDataset | RowsFile | None = None,
    base: str | None = None,
    pool_from_unlabelled: bool = False,
    runtime: Runtime = Runtime(),
) -> Ranking:
    """Order models by a few labelled examples where nobody knows the truth, and say what of that order they support.

    Args:
        models, evidence, in_domain, runtime: as in `rank`.
        examples: the labelled rows (see `ranker.labelled`); or their file, or rows in memory, judged by
            the models' own labels if they have no others. None takes the rows that the models' own files bring, as logs
            and tables with the truth do.
        pool: rows of the same domain without labels (see `ranker.unlabelled`), their file, or rows in memory; labelled
            rows may be among them.
        probe: K, how many of the labelled ones to use; None for all.
        method: what to order by; None for SURROGATE with a pool, and without one for ACC, its ties broken by the factor
            designed for the set.
        metric: what to compare models by, where rows have class labels: "macro-f1", "mcc" and others of
            `ranker.tasks.metrics.METRICS`, or "f1:LABEL". None for the mean outcome, which of classes is the accuracy.
        seed: of the draws behind P(best).
        base: a model that each other one is compared with, however many they are.
        pool_from_unlabelled: take rows without a true label, in the file of the labelled ones, as the pool.

    Returns:
        The ranking, which holds a `Decision`.

    Raises:
        UnknownName: there is no such metric.
        UsageError: K does not fit the rows, a metric that these answers cannot have, a base, backend or method that
            there is not, or labels that are numbers which the models count otherwise.
        ModelError: fewer than two models could be asked.
        StoreError: the store cannot be read or written.

    Example:
        >>> from ranker import Evidence, decide, load_set, load_suite
        >>> models = load_suite(["hans-sub-mini"]).models[-3:]
        >>> decide(models, load_set("hans-sub", limit=10), evidence=Evidence("none"))
        models on hans-sub: 3 models, K = 10
        first: inoc-4000; P(within a point of the best) 65.6 %, by ACC+TIES
        cannot be told from it: inoc-1600, inoc-800
    """
    gathered = without_truth(models, examples, pool, probe, in_domain, pool_from_unlabelled)
    made = plan(gathered, evidence, method, metric)
    return decided(made, seed, runtime, base)


def decided(made: Plan, seed: int, runtime: Runtime, base: str | None = None) -> Ranking:
    """What comes of a plan on labelled rows; see `decide` for arguments and errors."""
    if base is not None:
        look_up("model", base, {model.name: model for model in made.suite.models})
    collected = collect(made, runtime)
    found = measure_run(made, collected, runtime)
    check_method(made.method, found.left_out)
    with runtime.steps(f"comparing {len(found.table.models):,} models", len(deciding.STEPS)) as watch:
        decision = deciding.decide(
            found.table,
            method=made.method,
            designed=made.rows.ood.designed,
            seed=seed,
            families=found.families,
            misled=found.misled,
            in_domain=found.in_domain,
            beside=_beside(found),
            rows=found.rows,
            groups=[example.group for example in made.rows.population],
            kept=made.gathered.looked.precomputed,
            base=base,
            by_metric=found.by_metric,
            watch=watch,
        )
    of = header(made, collected, found, seed, len(found.table.examples), runtime.machine)
    return Ranking(of, decision, found.table, found.examples)


def _beside(found: RunMeasurements) -> UnlabelledContext | None:
    """The rows without a label, where there are any and the models say something of them."""
    if found.places is None or found.pool is None:
        return None
    return UnlabelledContext(found.pool, found.targets, found.places, found.labels, found.methods)
