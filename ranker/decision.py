"""Which of several models to take, from K labelled rows of a domain and no known truth.

The models are put in order by a ranking method. How sure that order is, is a question about accuracy, and the evidence
is who was right on which row. The model of it is a Bayesian bootstrap with a prior:

    the domain is a mix of row types; a type says which of the M models are right on it. Before any row is seen, the mix
    is a Dirichlet process whose base measure gives all 2^M types the same mass, 4 c rows in all. Each labelled row adds
    the mass of one row to its type.

Since parts of a Dirichlet are Beta, the share of their disagreements that model a wins from b is, with n_ab the rows
that a had right and b wrong, Beta(n_ab + c, n_ba + c), and

    P(a is more accurate than b) = P(that share > 1/2).

Rows on which the two agree say nothing about it. How large c is, says how one-sided disagreements are between models of
this kind: a small c expects one of two models to win nearly all of them, as among steps of one training, a large c that
both win as many. It is not set but learnt from these very rows: each c of `PRIORS` weighs as much as it makes the
disagreements of all pairs likely (beta-binomial, to the power 2 / M, since pairs that share a model are not
independent). No truth is used.

P(best) has no closed form and is drawn from the same model, with a seed. Two models that disagreed on no row, or as
often one way as the other, get 1/2, also where the method has an order for them: how much the method then knows cannot
be told without the truth. The interval of a model's accuracy is its own: Beta(r + 1, K - r + 1) with r of K rows right.

Sources: Ferguson 1973, "A Bayesian analysis of some nonparametric problems"; Rubin 1981, "The Bayesian bootstrap";
Varin, Reid, Firth 2011 (powers of pairwise likelihoods); Sethuraman 1994 (the draws). Axis letters as in
`ranker.engine`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ranker import combined, engine
from ranker.engine import TIE, Bools, Floats, Ints
from ranker.errors import UnknownName, UsageError
from ranker.evaluation import check, turned
from ranker.ranking import Decision, ModelResult, Ranking
from ranker.score import ScoreTable

PRIORS = 2.0 ** np.arange(-5, 3)
"""The c that are weighed against each other: 1/32 (one wins nearly all) to 4 (both win about as many)."""

LEVEL = 0.9
"""The probability at which two models count as told apart."""

SAMPLES = 20_000
"""Draws behind P(best): off by less than 0.01."""

CHUNK = 500
"""Of these at once: memory is 2 * 8 bytes * CHUNK * STICKS * M, 26 MB at 50 models."""

STICKS = 64
"""Row types drawn from the prior in each of them; what is left beyond is at most (16/17)^64 = 2 % of it."""


def decide(
    table: ScoreTable,
    *,
    probe: int | None = None,
    method: str | None = None,
    designed: str | None = None,
    seed: int = 0,
    level: float = LEVEL,
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
    shown = _shown(table, size)
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
    better = more_accurate(right)
    low, high = intervals_of_accuracy(right)
    return {
        "accuracy": tuple(right.mean(axis=1).tolist()),
        "low": tuple(low.tolist()),
        "high": tuple(high.tolist()),
        "p_best": tuple(best(right, np.random.default_rng(seed)).tolist()),
        "p_beats": tuple(map(tuple, better.tolist())),
        "groups": tuple(tuple(names[m] for m in group) for group in groups(better, level)),
        "more_labels": _labels_to_go(right, better, level),
    }


def weigh(right: Bools) -> Floats:
    """Weigh the priors by how one-sided the disagreements of these models are.

    Args:
        right: (M, K) which model was right on which row.

    Returns:
        (8,) the weight of each c of `PRIORS`; they sum to 1.

    Example:
        >>> nested = np.tril(np.ones((4, 4), dtype=bool))  # each model is right wherever the one before it is
        >>> float(weigh(nested) @ PRIORS) < float(weigh(np.eye(4, dtype=bool)) @ PRIORS)
        True
    """
    from scipy.special import betaln

    wins = _wins(right)
    above = np.triu_indices(len(right), 1)
    won, lost = wins[above][:, None], wins.T[above][:, None]
    likelihood = (betaln(won + PRIORS, lost + PRIORS) - betaln(PRIORS, PRIORS)).sum(axis=0) * 2 / len(right)
    weights = np.exp(likelihood - likelihood.max())
    return np.asarray(weights / weights.sum())


def more_accurate(right: Bools) -> Floats:
    """Find how probable it is, for each two models, that the one is more accurate in the domain than the other.

    Args:
        right: (M, K) which model was right on which row.

    Returns:
        (M, M) P(the model of the row is more accurate than that of the column); 1/2 on the diagonal.

    Example:
        >>> more_accurate(np.array([[True, True, True], [True, False, False]])).round(2).tolist()
        [[0.5, 0.93], [0.07, 0.5]]
    """
    from scipy.special import betainc

    wins = _wins(right)[..., None]
    better = betainc(wins.swapaxes(0, 1) + PRIORS, wins + PRIORS, 0.5) @ weigh(right)
    return np.asarray(np.round(better, 12))  # so that rounding does not put one of two equals first


def best(right: Bools, rng: np.random.Generator, samples: int = SAMPLES) -> Floats:
    """Find how probable it is, for each model, that none is more accurate in the domain.

    Args:
        right: (M, K) which model was right on which row.
        rng: the only source of randomness.
        samples: how many to draw, a multiple of `CHUNK`.

    Returns:
        (M,) probabilities; they sum to 1.
    """
    models, size = right.shape
    weights = weigh(right)
    count = np.zeros(models)
    for _ in range(samples // CHUNK):
        mass = 4 * rng.choice(PRIORS, size=(CHUNK, 1), p=weights)
        seen = rng.standard_exponential((CHUNK, size))
        broken = rng.beta(1.0, mass, (CHUNK, STICKS))
        left = np.cumprod(np.column_stack([np.ones(CHUNK), 1 - broken[:, :-1]]), axis=1)
        types = rng.integers(2, size=(CHUNK, STICKS, models)).astype(np.float64)
        unseen = np.matmul((rng.standard_gamma(mass) * broken * left)[:, None], types)[:, 0]
        accuracy = seen @ right.T + unseen  # up to a factor that all models share
        # models that are right on the same of all these rows share the first place
        first = accuracy == accuracy.max(axis=1, keepdims=True)
        count += (first / first.sum(axis=1, keepdims=True)).sum(axis=0)
    return np.asarray(count / samples)


def intervals_of_accuracy(right: Bools) -> tuple[Floats, Floats]:
    """Find where a model's accuracy in the domain is, with 95 % probability.

    Args:
        right: (M, K) which model was right on which row.

    Returns:
        (M,) lower and (M,) upper ends, quantiles of Beta(r + 1, K - r + 1).
    """
    from scipy.special import betaincinv

    hits, misses = right.sum(axis=1) + 1, (~right).sum(axis=1) + 1
    return np.asarray(betaincinv(hits, misses, 0.025)), np.asarray(betaincinv(hits, misses, 0.975))


def groups(better: Floats, level: float = LEVEL) -> list[range]:
    """Find the longest runs of the order within which no two models can be told apart.

    Args:
        better: (M, M) probabilities, the models in order: see `more_accurate`.
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


def more_labels(wins: Ints, losses: Ints, size: int, level: float = LEVEL) -> Ints:
    """Find how many more labels would tell two models apart, if they go on to disagree as they did.

    With n more rows the lead is normal with mean (K + n) delta and variance n (d - delta^2), where d is the share of
    rows on which the two disagree and delta the lead of the better one as a share of all. Under c = 1, the uniform
    prior, and a normal approximation, they are told apart where the lead reaches z (D + 2) / sqrt(D + 3) after D
    disagreements. The answer is the n for which that happens with the probability `level`.

    Args:
        wins, losses: any shape, rows that one model had right and the other wrong, and the other way round.
        size: K.
        level: the probability at which two models count as told apart, and that with which it is to happen.

    Returns:
        The numbers, at least 1; -1 where the two disagree as often either way, so that no number would do.

    Example:
        >>> more_labels(np.array([2, 3, 1]), np.array([0, 2, 1]), 10)
        array([ 17, 312,  -1])
    """
    from scipy.special import ndtri

    z = float(ndtri(level))
    lead = np.abs(wins - losses) / size
    disagree = (wins + losses) / size

    def enough(more: Floats) -> Bools:
        seen = (size + more) * disagree
        safe = (size + more) * lead - z * np.sqrt(more * (disagree - lead**2))
        return np.asarray(safe >= z * (seen + 2) / np.sqrt(seen + 3))

    possible = lead > 0
    high = np.ones(lead.shape)
    while (short := possible & ~enough(high)).any():
        high[short] *= 2
    low = np.floor(high / 2)
    while ((high - low) > 1).any():
        middle = np.floor((low + high) / 2)
        reached = enough(middle)
        high, low = np.where(reached, middle, high), np.where(reached, low, middle)
    return np.asarray(np.where(possible, high, -1), dtype=np.int64)


def _wins(right: Bools) -> Ints:
    """(M, M) rows that the model of the row had right and that of the column wrong."""
    hits = right.astype(np.int64)
    return np.asarray(hits @ (1 - hits).T)


def _labels_to_go(right: Bools, better: Floats, level: float) -> tuple[tuple[int | None, ...], ...]:
    wins = _wins(right)
    numbers = more_labels(wins, wins.T, right.shape[1], level)
    numbers[np.maximum(better, 1 - better) >= level] = 0
    np.fill_diagonal(numbers, 0)
    return tuple(tuple(None if n < 0 else n for n in row) for row in numbers.tolist())


def _shown(table: ScoreTable, size: int) -> list[dict[str, float | None]]:
    """Of each model, its mean score on the rows by each method, in the method's own unit; None where undefined."""
    values = table.values[:, :, :size]
    usable = engine.defined(values)
    return [
        {
            factor.name: float(values[m, f, usable[f]].mean()) if usable[f].any() else None
            for f, factor in enumerate(table.methods)
        }
        for m in range(len(table.models))
    ]


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
