"""Choosing between models by a few labelled rows, where nobody knows the truth."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from factors import BUILTIN, Example, Factor
from factors.types import Norm
from ranker.attribution.settings import Settings
from ranker.datasets.pools import check_alike, with_labelled
from ranker.datasets.sets import OODSet, labelled, unlabelled
from ranker.errors import UsageError
from ranker.runs.gather import Models, check_numbers, looked, own_task
from ranker.runs.plan import Rows, Study, backend
from ranker.runs.scored import scored
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Target, check_probe
from ranker.statistics.methods import LABEL_FREE, POOL_FACTOR, SURROGATE

if TYPE_CHECKING:
    from ranker.results.ranking import Ranking

log = logging.getLogger(__name__)


def decide(
    models: Models,
    examples: OODSet | str | Path,
    *,
    pool: Sequence[Example] | str | Path = (),
    probe: int | None = None,
    method: str | None = None,
    seed: int = 0,
    attribution: str | Settings | None = None,
    factors: Sequence[Factor] | None = None,
    target: Target = "declared",
    norm: Norm = "raw",
    in_domain: OODSet | None = None,
    runtime: Runtime = Runtime(),
) -> Ranking:
    """Order models by a few labelled examples where nobody knows the truth, and say what of that order they support.

    Args:
        models, attribution, target, norm, in_domain, runtime: as in `rank`.
        factors: what to measure; None for what a decision needs (see `needed`).
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
        runtime=runtime,
    )
    found = scored(study)
    if method is not None:
        method = method_named(method, study.rows.ood, study.rows.pool, study.factors)
        check_method(method, found.left_out.get(method))
    ranking = decision.decide(
        found.table,
        pool=found.pool if study.rows.pool else None,
        places=study.rows.places,
        method=method,
        designed=study.rows.ood.designed,
        seed=seed,
        ood=study.rows.ood.name,
        suite=study.suite.name,
        families=found.families,
    )
    return found.completed(ranking)


def study_of_decision(
    models: Models,
    examples: OODSet | str | Path,
    *,
    pool: Sequence[Example] | str | Path = (),
    probe: int | None = None,
    method: str | None = None,
    attribution: str | Settings | None = None,
    factors: Sequence[Factor] | None = None,
    target: Target = "declared",
    norm: Norm = "raw",
    in_domain: OODSet | None = None,
    runtime: Runtime = Runtime(),
) -> Study:
    """What `decide` asks of models, checked before any is asked; the arguments are its own.

    Raises:
        UsageError: as `decide`, and for a method that these rows cannot have, as far as that is known by now.
    """
    if not isinstance(examples, OODSet):
        models = looked(models)
        examples = labelled(examples, own=own_task(models.stated))
    if isinstance(pool, (str, Path)):
        pool = unlabelled(pool)
    if probe is not None:
        check_probe(probe, len(examples.examples), "the labelled rows")
    known = tuple(BUILTIN.values() if factors is None else factors)
    if method is not None:
        method = method_named(method, examples, pool, known)
    chosen = known if factors is not None else needed(known, examples.designed, method)
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
    settings = backend(attribution, chosen, rows, target)
    found = looked(models)  # when all else is right: a hub may have to be asked
    check_numbers([examples, *([in_domain] if in_domain else [])], found.stated)
    study = Study(found, rows, settings, chosen, target, norm, in_domain, runtime)
    if method is not None:
        check_method(method, study.lacks(method))
    return study


def needed(factors: Iterable[Factor], designed: str | None, method: str | None) -> tuple[Factor, ...]:
    """The factors that a decision needs: baselines, the one designed for the set, and the one that it goes by.

    Baselines need no attributions; of the others nobody knows on rows of one's own what they are worth.

    Example:
        >>> [one.name for one in needed(BUILTIN.values(), None, None)]
        ['ACC', 'CONF', 'CONF-GT', 'NLL', 'CONF-H']
    """
    return tuple(one for one in factors if one.kind == "baseline" or one.name in (designed, method))


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
