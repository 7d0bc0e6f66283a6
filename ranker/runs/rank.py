"""Ranking models on a set whose truth is known: how good each method would have been."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from factors import BUILTIN, Factor
from factors.types import Norm
from ranker.attribution.settings import Settings
from ranker.datasets.sets import OODSet, load, sample
from ranker.errors import UsageError
from ranker.runs.gather import Models, check_numbers, looked
from ranker.runs.plan import Rows, Study, backend
from ranker.runs.scored import scored
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Target, check_probe

if TYPE_CHECKING:
    from ranker.results.ranking import Ranking

log = logging.getLogger(__name__)


def rank(
    models: Models,
    examples: OODSet | str,
    *,
    probe: int = 10,
    draws: int | Literal["exact"] = "exact",
    seed: int = 0,
    attribution: str | Settings | None = None,
    factors: Sequence[Factor] | None = None,
    target: Target = "declared",
    norm: Norm = "raw",
    in_domain: OODSet | None = None,
    runtime: Runtime = Runtime(),
) -> Ranking:
    """Rank models on an OOD set, and say how often each method would have ranked them rightly from a small probe.

    Args:
        models: a suite, or what `ranker.sources.suites.load` makes one of: directories, hub ids, a suite.json; or those
            that were looked at before.
        examples: the OOD set, or the name of an embedded one; the population, a sample of it, is attributed. The
            official data, or a few rows of it for a quick try: `ranker.datasets.sets.load(name, data_dir, limit=40)`.
        probe: K, how many labelled examples a practitioner would have.
        draws: B, how many probes are drawn, or "exact".
        seed: of the draws; the population does not depend on it.
        attribution: a backend, with its settings or as it comes ("shap", "ig:steps=50", `IGSettings(steps=50)`, see
            `ranker.attribution.settings_of`); "none" for the baselines alone. None is SHAP where a factor reads
            attributions of these rows, and no attribution where none does.
        factors: what to measure; None for all that are built in.
        target: "declared", or one label rule for all attribution factors.
        norm: what an example's attributions are divided by before the factors see them.
        in_domain: labelled rows of the domain that the models were trained for; one that does worse than chance there
            is noted, since its labels are probably mapped wrongly.
        runtime: how models are run, and where their answers are kept.

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
        runtime=runtime,
    )
    found = scored(study)
    ranking = evaluate(
        found.table,
        probe=probe,
        draws=draws,
        seed=seed,
        ood=study.rows.ood.name,
        suite=study.suite.name,
        families=found.families,
        misled=found.misled,
        designed=study.rows.ood.designed,
        pool=found.pool,
    )
    return found.completed(ranking)


def study_of_set(
    models: Models,
    examples: OODSet | str,
    *,
    probe: int = 10,
    attribution: str | Settings | None = None,
    factors: Sequence[Factor] | None = None,
    target: Target = "declared",
    norm: Norm = "raw",
    in_domain: OODSet | None = None,
    runtime: Runtime = Runtime(),
) -> Study:
    """What `rank` asks of models, checked before any is asked; the arguments are its own.

    Raises:
        UsageError: as `rank`.
    """
    ood = examples if isinstance(examples, OODSet) else load(examples)
    rows = Rows(ood, sample(ood, ood.population))
    check_probe(probe, len(rows.population), f"the rows of {ood.name} that are explained")
    chosen = tuple(BUILTIN.values() if factors is None else factors)
    settings = backend(attribution, chosen, rows, target)
    found = looked(models)  # when all else is right: a hub may have to be asked
    check_numbers([in_domain] if in_domain else [], found.stated)
    return Study(found, rows, settings, chosen, target, norm, in_domain, runtime)
