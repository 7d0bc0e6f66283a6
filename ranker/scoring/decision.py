"""Which of several models to take, from K labelled rows of a domain and no known truth.

The models are put in order by a ranking method. How sure that order is, is a question about accuracy, which
`statistics.posterior` answers from who was right on which row. Where the method has an order for two models and the
rows have none (they disagreed on no row, or as often one way as the other), the probability stays 1/2: how much the
method then knows cannot be told without the truth.

With a pool of unlabelled rows the models are put in order by SURROGATE, and how sure that is, `statistics.surrogate`
says from labels and pool together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factors.types import Bools, Floats, Ints
from ranker.errors import UsageError, look_up
from ranker.numbers import counted
from ranker.results.ranking import Ranking
from ranker.results.records import Decision, ModelResult
from ranker.results.table import ScoreTable
from ranker.scoring.score import averages, check, turned
from ranker.statistics import combined, engine, posterior, surrogate
from ranker.statistics.engine import TIE
from ranker.statistics.methods import SURROGATE, possible
from ranker.statistics.pool import Pool
from ranker.statistics.posterior import LEVEL


def decide(
    table: ScoreTable,
    *,
    method: str | None = None,
    designed: str | None = None,
    seed: int = 0,
    ood: str = "",
    suite: str = "",
    families: Sequence[str] | None = None,
    pool: Pool | None = None,
    places: Ints | None = None,
) -> Ranking:
    """Put models whose truth is not known in order, and say what of that order these rows support.

    Args:
        table: the scores on the labelled rows, ACC among them.
        method: what to order by; None for SURROGATE with a pool, without one for ACC+TIES, else ACC.
        designed: the factor declared for the domain, which then breaks the ties.
        seed: of the draws behind P(best).
        ood, suite: names, kept in the result.
        families: (M,) each model's architecture, in the order of the table.
        pool: what the models make of rows of the domain, the labelled ones among them; None where there are no others.
        places: (K,) where the table's examples stand in the pool.

    Raises:
        UsageError: fewer than two models, no rows, no ACC, or an unknown method.
    """
    size = len(table.examples)
    check(table, size, "the labelled rows")
    labels = np.array(table.labels, dtype=np.int64)
    known = None if pool is None or places is None else surrogate.posterior(pool, places, labels)
    method, score, right = _order(table, method, designed, pool, known)
    order = np.argsort(-np.round(score, 12), kind="stable")
    shown = averages(table)
    if method not in (combined.TIES, *shown[0]):
        shown = [{**row, method: float(value)} for row, value in zip(shown, score, strict=True)]
    by = [row.get("ACC" if method == combined.TIES else method) for row in shown]
    decision = _decided(method, table.models, by, right, order, known if method == SURROGATE else None, seed)
    return Ranking(
        mode="decision",
        ood=ood,
        suite=suite,
        probe=size,
        draws="exact",
        seed=seed,
        table=table,
        models=tuple(
            ModelResult(
                name=table.models[m],
                family="" if families is None else families[m],
                ood_accuracy=None,
                rank=1 + int((score > score[m] + TIE).sum()),
                scores=shown[m],
            )
            for m in order
        ),
        decision=decision,
        notes=tuple(_notes(table.labels, score[order], decision, posterior.wins(right[order]), pool, places)),
    )


def named(method: str, names: Sequence[str], designed: str | None, pooled: Sequence[str] = ()) -> str:
    """The method of a name that somebody wrote; case does not matter.

    Args:
        method: the name.
        names: of the factors and baselines that are measured.
        designed: the factor declared for the domain.
        pooled: the methods that read a pool, where there is one.

    Raises:
        UnknownName: it is none of these, and no combination of them.

    Example:
        >>> named("acc+ties", ["ACC", "NLL"], None)
        'ACC+TIES'
    """
    return look_up("method", method, {name: name for name in (*names, *combined.names(names, designed), *pooled)})


def _order(
    table: ScoreTable,
    method: str | None,
    designed: str | None,
    pool: Pool | None,
    known: surrogate.Posterior | None,
) -> tuple[str, Floats, Bools]:
    """The method to order by, the (M,) scores it gives, and the (M, K) rows that each model has right."""
    names = [factor.name for factor in table.methods]
    if "ACC" not in names:
        got = ", ".join(names) or "none that apply to these rows"
        raise UsageError(f"a decision needs ACC among the methods, those of `--factors` (got {got})")
    mixed = combined.names(names, designed)
    free = {} if pool is None else {one.name: one.score for one in possible(pool)}
    default = SURROGATE if known else combined.TIES if combined.TIES in mixed else "ACC"
    method = named(method or default, names, designed, [SURROGATE, *free] if known else [])
    values = turned(table)
    means = engine.means(values, np.arange(values.shape[2])[None])
    acc = names.index("ACC")
    right = values[:, acc] > 0.5
    if known and method == SURROGATE:
        return method, known.score, right
    if pool is not None and method in free:
        return method, free[method](pool), right
    if method in mixed:
        return method, combined.scores(method, means[:, acc], means[:, names.index(mixed[method])])[:, 0], right
    return method, means[:, names.index(method), 0], right


def _decided(
    method: str,
    models: Sequence[str],
    by: Sequence[float | None],
    right: Bools,
    order: Ints,
    known: surrogate.Posterior | None,
    seed: int,
) -> Decision:
    """What the rows say, model by model and pair by pair.

    Args:
        method: what the models are put in order by.
        models: (M,) names.
        by: (M,) the score of each that is shown; None where the method has none.
        right: (M, K) which model was right on which row.
        order: (M,) the models in the predicted order.
        known: what labels and pool tell, if they are what the order was made by.
        seed: of the draws behind P(best).
    """
    rng = np.random.default_rng(seed)
    if known:
        better, best, (low, high), more = known.beats(), known.best(rng), known.interval(), known.more_labels()
    else:
        better, best = posterior.more_accurate(right), posterior.best(right[order], rng)[np.argsort(order)]
        (low, high), wins = posterior.intervals_of_accuracy(right), posterior.wins(right)
        more = posterior.more_labels(wins, wins.T, right.shape[1], posterior.weigh(right))
    more[np.maximum(better, 1 - better) >= LEVEL] = 0
    np.fill_diagonal(more, 0)
    better = better[np.ix_(order, order)]
    return Decision(
        method=method,
        models=tuple(models[m] for m in order),
        scores=tuple(by[m] for m in order),
        accuracy=tuple(right[order].mean(axis=1).tolist()),
        low=tuple(low[order].tolist()),
        high=tuple(high[order].tolist()),
        p_best=tuple(best[order].tolist()),
        p_beats=tuple(map(tuple, better.tolist())),
        more_labels=tuple(tuple(None if n < 0 else n for n in row) for row in more[np.ix_(order, order)].tolist()),
        level=LEVEL,
    )


def _notes(
    labels: tuple[int, ...], score: Floats, found: Decision, won: Ints, pool: Pool | None, places: Ints | None
) -> list[str]:
    """What a reader of the decision has to know.

    Args:
        labels: (K,) those of the rows.
        score: (M,) what the models were put in order by, in that order.
        found: the decision.
        won: (M, M) rows that the model of the row had right and that of the column wrong, the models in order.
        pool: what the models make of rows of the domain, if there is one.
        places: (K,) where they stand in the pool; None for each in a place of its own.
    """
    notes = []
    if pool is not None:
        # labelled rows of one text stand in one place
        labelled = len(labels) if places is None else len(set(places.tolist()))
        notes += [
            f"Read without a label: {counted(pool.probs.shape[1] - labelled, 'more row')} of the pool.",
            "Accuracy on rows that were chosen (`rank-models choose`) ranks the models and does not estimate their "
            "accuracy; that on rows drawn at random does.",
            *(f"{one.name} sees no label, and {one.trap}." for one in possible(pool) if one.name == found.method),
        ]
    if found.method == SURROGATE:
        notes.append(f"{found.method} draws accuracies to chance: the order and the probabilities mean more than them.")
    if len(found.groups) == 1:
        these = "this one label" if len(labels) == 1 else f"these {len(labels)} labels"
        notes.append(f"No two models can be told apart with {these}.")
    if np.ptp(score) <= TIE:
        notes.append(f"{found.method} ties all models; their order is that in which they were given.")
    # counted, not taken from `p_beats`: with a pool these are no statement about the labels alone
    above = score[:, None] > score + TIE
    against = [(found.models[j], found.models[i]) for i, j in np.argwhere(above & (won < won.T)).tolist()]
    if against:
        b, a = against[0]
        others = len(against) - 1
        more = f", and {counted(others, 'more pair')} like this" if others else ""
        notes.append(f"{found.method} puts {a} above {b}, though {b} was right where {a} was not more often{more}.")
    if len(set(labels)) == 1:
        notes.append("All rows have the same label; a model that always says it looks perfect.")
    return notes
