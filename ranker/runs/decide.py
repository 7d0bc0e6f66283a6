"""Choose between models by a few labelled rows, if the true order is not known."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ranker.datasets.sets import LabelledDataset
from ranker.errors import UsageError, look_up
from ranker.numbers import unit
from ranker.results.costs import Preference
from ranker.results.ranking import Ranking
from ranker.runs.collect import collect
from ranker.runs.gather import gather_without_truth
from ranker.runs.inspected import Models, inspect_models
from ranker.runs.judges import JudgedRun, Judges, check_judges, with_judges
from ranker.runs.plan import Plan, check_method, plan
from ranker.runs.rows import LabelledRows, RowsFile, UnlabelledRows, with_columns
from ranker.runs.run_measurements import assemble_ranking, measure_run
from ranker.runs.signatures import checked
from ranker.runs.usage import Costing, check_metered, mean_usages, usage_notes
from ranker.runtime.runtime import Runtime
from ranker.scoring import decision as deciding
from ranker.scoring.by_metric import MeanRows
from ranker.scoring.score import Evidence
from ranker.scoring.unlabelled import UnlabelledContext
from ranker.sources.endpoint.prices import read_prices
from ranker.tasks.metrics import LabelScore
from ranker.tasks.precomputed import scale_of

log = logging.getLogger(__name__)


@checked
def decide(
    models: Models,
    examples: LabelledRows | None = None,
    *,
    pool: UnlabelledRows = (),
    probe: int | None = None,
    method: str | None = None,
    metric: str | LabelScore | None = None,
    seed: int = 0,
    evidence: Evidence = Evidence(),
    in_domain: LabelledDataset | RowsFile | None = None,
    base: str | None = None,
    pool_from_unlabelled: bool = False,
    label_map: Mapping[str, str] | None = None,
    voters: Models = (),
    judges: Judges | Mapping[str, str | Path] | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    prices: str | Path | None = None,
    prefer: str | None = None,
    runtime: Runtime = Runtime(),
) -> Ranking:
    """Order models by a few labelled examples, and say how much of that order they support.

    Args:
        models, evidence, in_domain, runtime: as in `rank`.
        examples: labelled rows (see `ranker.labelled`), their file, or rows in memory, judged by the models' own labels
            if they have no others. None takes the rows in the models' own files, such as logs and tables with the
                truth.
        pool: rows of the same domain without labels (see `ranker.unlabelled`), their file, or rows in memory; labelled
            rows may be among them.
        probe: K, the number of labelled rows to use; None for all.
        method: method of the order; None for SURROGATE with a pool, else ACC with ties broken by the factor designed
            for the set.
        metric: metric that compares models on class labels: "macro-f1", "mcc" and others of
            `ranker.tasks.metrics.METRICS`, or "f1:LABEL". None for the mean outcome, which is the accuracy for classes.
        seed: seed of the draws behind P(best).
        base: model that each other one is compared with, whatever their number.
        pool_from_unlabelled: take rows without a true label, in the file of the labelled ones, as the pool.
        label_map: output of the models -> the rows' label that it means, for models that are references.
        voters: models that vote on the rows of the pool and are not ranked; with a `role` of "trusted" they are known
            to be better.
        judges: name -> a table or log with a judge's marks of the models' answers, on any scale, or a language model
            that marks their answers to the rows of `pool`. People's marks are the outcomes of the models' own files, a
            table as `examples`, or what labelled rows say of the answers.
        columns: part of a row ("text", "label", "id", "cluster") -> its column in the files, or columns.
        prices: TOML file with prices of models, for those whose logs or servers state tokens.
        prefer: "cheaper:POINTS" takes the cheapest model that is within so many points of the best, "faster:POINTS" the
            fastest. None takes the best.

    Returns:
        The ranking, which holds a `Decision`.

    Raises:
        UnknownName: there is no such metric.
        UsageError: K does not fit the rows, the answers cannot have the metric, there is no such base, backend or
            method, labels are numbers that the models count otherwise, or the cheapest model is preferred and no price
            is known.
        DataError: the prices cannot be read.
        ModelError: fewer than two models could be asked.
        StoreError: the store cannot be read or written.

    Example:
        >>> from ranker import Evidence, decide, load_set, load_suite
        >>> models = load_suite(["hans-sub-mini"]).models[-3:]
        >>> decide(models, load_set("hans-sub", limit=10), evidence=Evidence("none"))
        models on hans-sub: 3 models, K = 10
        Cannot say yet: inoc-4000 leads
        first by ACC+TIES: inoc-4000; P(within a point of the best) 62.1 %
    """
    cost = Costing(read_prices(str(prices or "")), None if prefer is None else Preference.parse(prefer))
    rows, unlabelled_rows = with_columns(examples, columns), with_columns(pool, columns)
    inspected, beside = inspect_models(models, label_map, voters), None
    all_judges = judges if isinstance(judges, Judges) else Judges(judges or {}, cache=inspected.cache)
    if all_judges.references:
        judged_models, unlabelled_rows, beside = with_judges(inspected, rows, unlabelled_rows, all_judges, runtime)
        inspected = judged_models or inspected
    if beside is not None:
        inputs = beside.gather(probe)
    else:
        inputs = gather_without_truth(inspected, rows, unlabelled_rows, probe, in_domain, pool_from_unlabelled)
    return decide_plan(plan(inputs, evidence, method, metric), seed, runtime, base, beside, cost)


def decide_plan(
    run_plan: Plan,
    seed: int,
    runtime: Runtime,
    base: str | None = None,
    judges: JudgedRun | None = None,
    cost: Costing = Costing(),
) -> Ranking:
    """Carry out a plan on labelled rows; see `decide` for arguments and errors."""
    check_metered([model.source for model in run_plan.inspected.ranked], cost.prefer)
    if judges is not None:
        check_judges(run_plan)
    if base is not None:
        look_up("model", base, {model.name: model for model in run_plan.inspected.models})
    if run_plan.cost:
        log.info(run_plan.cost)
    collected = collect(run_plan, runtime)
    base = None if base is None or base in collected.failures else collected.copies.get(base, base)
    measurements = measure_run(run_plan, collected, runtime, seed)
    table, header = measurements.table, measurements.header
    check_method(run_plan.method, header.left_out)
    scale = scale_of(run_plan.task)
    beside: UnlabelledContext | None = measurements.beside
    if judges is not None and judges.tells:
        beside, notes = judges.beside(table, unit("", scale))
        failed = {**header.failed_answers, **judges.failed}
        header = replace(header, notes=(*header.notes, *notes), failed_answers=failed)
    if beside is not None and not beside.unlabelled and len(run_plan.pool) > len(run_plan.population):
        text = "no row of the pool without a label has an answer of every model; do their files hold these rows?"
        raise UsageError(text, option="pool")
    usages = {reply.model.name: reply.usage for reply in collected.answered}
    means = mean_usages(usages, cost.prices)
    with runtime.steps(f"comparing {len(table.models):,} models", len(deciding.STEPS)) as watch:
        decision = deciding.decide(
            table,
            measurements.by_metric or MeanRows.of(table),
            method=run_plan.method,
            designed=run_plan.ood.designed,
            seed=seed,
            families=measurements.families,
            misled=measurements.misled,
            in_domain=measurements.in_domain,
            beside=beside,
            rows=measurements.rows,
            groups=[example.group for example in run_plan.population],
            precomputed=run_plan.inspected.precomputed,
            base=base,
            scale=scale,
            picked=run_plan.ood.picked,
            usage=means,
            usage_notes=[*usage_notes(usages, means)],
            prefer=cost.prefer,
            watch=watch,
        )
    decision = replace(decision, labels=measurements.of_labels, worse=measurements.worse)
    return assemble_ranking(run_plan, replace(measurements, header=header), decision)
