"""Which of several models to take, from K labelled rows of a domain and no known truth.

The models are put in order by a ranking method. How sure that order is, is a question about accuracy, which
`ranker.posterior` answers from who was right on which row. Where the method has an order for two models and the rows
have none (they disagreed on no row, or as often one way as the other), the probability stays 1/2: how much the method
then knows cannot be told without the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ranker import combined, engine, posterior
from ranker.engine import TIE, Bools, Floats
from ranker.errors import UnknownName, UsageError
from ranker.ranking import Decision, ModelResult, Ranking
from ranker.score import ScoreTable, averages, check, turned


def decide(
    table: ScoreTable,
    *,
    probe: int | None = None,
    method: str | None = None,
    designed: str | None = None,
    seed: int = 0,
    level: float = posterior.LEVEL,
    ood: str = "",
    suite: str = "",
    attribution: str = "none",
    families: Sequence[str] | None = None,
    failures: Mapping[str, str] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Ranking:
    """Put models whose truth is not known in order, and say what of that order these rows support.

    Args:
        table: the scores on the labelled rows, ACC among them.
        probe: K, how many of the rows to use, the first ones; None for all.
        method: what to order by; None for ACC+TIES, else ACC.
        designed: the factor declared for the domain, which then breaks the ties.
        seed: of the draws behind P(best).
        level: the probability at which two models count as told apart, above 1/2.
        ood, suite, attribution: names, kept in the result.
        families: (M,) each model's architecture, in the order of the table.
        failures, provenance: kept in the result.

    Raises:
        UsageError: fewer than two models, K above the number of rows, no ACC, or an unknown method.
    """
    size = len(table.examples) if probe is None else probe
    check(table, size, "the labelled rows")
    method, score, right = _order(table, size, method, designed)
    order = np.argsort(-score, kind="stable")
    shown = averages(table, size)
    decision = Decision(
        method=method,
        models=tuple(table.models[m] for m in order),
        scores=tuple(shown[m].get("ACC" if method == combined.TIES else method) for m in order),
        **_conclusions(right[order], [table.models[m] for m in order], seed, level),
        level=level,
    )
    return Ranking(
        mode="decision",
        ood=ood,
        suite=suite,
        attribution=attribution,
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
        failures=dict(failures or {}),
        notes=tuple(_notes(table.labels[:size], score, decision)),
        provenance=dict(provenance or {}),
    )


def _order(table: ScoreTable, size: int, method: str | None, designed: str | None) -> tuple[str, Floats, Bools]:
    """The method to order by, the (M,) scores it gives, and the (M, K) rows that each model has right."""
    names = [factor.name for factor in table.methods]
    if "ACC" not in names:
        raise UsageError(f"a decision needs ACC among the methods (got {', '.join(names)})")
    mixed = combined.names(names, designed)
    method = method or (combined.TIES if combined.TIES in mixed else "ACC")
    if method not in (*names, *mixed):
        raise UnknownName("method", method, [*names, *mixed])
    values = turned(table)[:, :, :size]
    means = engine.means(values, np.arange(size)[None])
    acc = names.index("ACC")
    if method in mixed:
        score = combined.scores(method, means[:, acc], means[:, names.index(mixed[method])])
    else:
        score = means[:, names.index(method)]
    return method, score[:, 0], values[:, acc] > 0.5


def _conclusions(right: Bools, names: Sequence[str], seed: int, level: float) -> dict[str, Any]:
    """What the rows say, model by model and pair by pair, as fields of a `Decision`; models in the predicted order."""
    better = posterior.more_accurate(right)
    low, high = posterior.intervals_of_accuracy(right)
    return {
        "accuracy": tuple(right.mean(axis=1).tolist()),
        "low": tuple(low.tolist()),
        "high": tuple(high.tolist()),
        "p_best": tuple(posterior.best(right, np.random.default_rng(seed)).tolist()),
        "p_beats": tuple(map(tuple, better.tolist())),
        "groups": tuple(tuple(names[m] for m in group) for group in groups(better, level)),
        "more_labels": _labels_to_go(right, better, level),
    }


def groups(better: Floats, level: float = posterior.LEVEL) -> list[range]:
    """Find the longest runs of the order within which no two models can be told apart.

    Args:
        better: (M, M) probabilities, the models in order: see `ranker.posterior.more_accurate`.
        level: below which two models count as not told apart.

    Returns:
        The runs, as positions in the order; they may overlap, and a model that stands alone is one of its own.

    Example:
        >>> groups(np.array([[0.5, 0.7, 0.95], [0.3, 0.5, 0.8], [0.05, 0.2, 0.5]]))
        [range(0, 2), range(1, 3)]
    """
    apart = np.maximum(better, 1 - better) >= level
    runs: list[range] = []
    for start in range(len(better)):
        stop = start + 1
        while stop < len(better) and not apart[start:stop, stop].any():
            stop += 1
        if not runs or stop > runs[-1].stop:
            runs.append(range(start, stop))
    return runs


def _labels_to_go(right: Bools, better: Floats, level: float) -> tuple[tuple[int | None, ...], ...]:
    """(M, M) how many more labels each pair needs: 0 where it is told apart, None where no number would do."""
    wins = posterior.wins(right)
    numbers = posterior.more_labels(wins, wins.T, right.shape[1], level)
    numbers[np.maximum(better, 1 - better) >= level] = 0
    np.fill_diagonal(numbers, 0)
    return tuple(tuple(None if n < 0 else n for n in row) for row in numbers.tolist())


def _notes(labels: tuple[int, ...], score: Floats, found: Decision) -> list[str]:
    """What a reader of the decision has to know."""
    notes = []
    if len(found.groups) == 1:
        notes.append(f"No two models can be told apart with these {len(labels)} labels.")
    if np.ptp(score) <= TIE:
        notes.append(f"{found.method} ties all models; their order is that in which they were given.")
    against = [
        (found.models[j], found.models[i])
        for i in range(len(found.models))
        for j in range(i + 1, len(found.models))
        if found.p_beats[i][j] < 0.5
    ]
    if against:
        b, a = against[0]
        more = f", and {len(against) - 1} more pairs like this" if len(against) > 1 else ""
        notes.append(f"{found.method} puts {a} above {b}, though {b} was right where {a} was not more often{more}.")
    if len(set(labels)) == 1:
        notes.append("All rows have the same label; a model that always says it looks perfect.")
    return notes
