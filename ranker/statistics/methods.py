"""Methods that rank beside the columns of a score table, a complete entry for each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics import label_free, vote
from ranker.statistics.acquisition import next_rows
from ranker.statistics.draws import Draws
from ranker.statistics.pool import Need, Pool, PoolMethod, Targets
from ranker.statistics.vote import MetricByLabel, VoteEvidence, believe

COINS = ("RANDOM", "GUESS")
"""Methods that are right half of the time for every K."""


DRAWS = 100
"""Draws of labels for SURROGATE in an evaluation: each takes 3 to 20 ms."""


def _belief(pool: Pool, rows: Ints, labels: Ints, metric: MetricByLabel | None) -> Draws:
    beliefs = believe(pool.patterns(rows), rows, labels)
    return vote.draw(VoteEvidence(beliefs, metric), beliefs.rng(1))


def _estimates(pool: Pool, targets: Targets, rows: Ints) -> Floats:
    patterns = pool.patterns(np.unique(rows))
    return np.stack([believe(patterns, draw, targets.labels[draw]).score for draw in rows], axis=1)


def _pick_rows(pool: Pool, targets: Targets, count: int) -> Ints:
    patterns, rows = pool.patterns(), np.zeros(0, dtype=np.int64)
    for _ in range(count):
        rows = np.append(rows, next_rows(believe(patterns, rows, targets.labels[rows])))
    return rows


def _free(
    name: str,
    score: Callable[[Pool], Floats],
    warning: str,
    source: str,
    *needs: Need,
    default: bool = False,
) -> PoolMethod:
    """Return a method without labels from (pool) -> (M,) scores, the same for every draw."""

    def estimate(pool: Pool, targets: Targets, rows: Ints) -> Floats:
        return np.repeat(score(pool)[:, None], len(rows), axis=1)

    return PoolMethod(name, "label-free", estimate, frozenset(needs), warning=warning, source=source, default=default)


BUILTIN: tuple[PoolMethod, ...] = (
    PoolMethod(
        "SURROGATE",
        "pool",
        _estimates,
        frozenset({"labels"}),
        belief=_belief,
        draws=DRAWS,
        source="a vote of the models, drawn by sequential Monte Carlo: ours",
        default=True,
    ),
    PoolMethod(
        "SURROGATE+LABEL",
        "pool",
        _estimates,
        frozenset({"labels"}),
        pick=_pick_rows,
        draws=DRAWS,
        source="expected loss after one more answer, Raiffa and Schlaifer 1961; of an order: ours",
        default=True,
    ),
    _free(
        "POOL-FACTOR",
        label_free.pool_factor,
        "the factor may fail on these models",
        "Singhal et al. 2022, section 4.3; over a pool: ours",
        "factor",
    ),
    _free(
        "AVG-CONF",
        label_free.average_confidence,
        "a model that is sure of a wrong shortcut looks best",
        "Hendrycks and Gimpel 2017",
        "probabilities",
    ),
    _free(
        "ATC",
        label_free.thresholded_confidence,
        "confidence must mean the same here as in-domain",
        "Garg et al. 2022, section 4",
        "in_domain",
        "probabilities",
    ),
    _free(
        "DOC",
        label_free.difference_of_confidences,
        "a model may lose accuracy and stay confident",
        "Guillory et al. 2021, section 3",
        "in_domain",
        "probabilities",
    ),
    _free(
        "ID-ACC",
        label_free.in_domain_accuracy,
        "the best in-domain may rely most on a shortcut",
        "Miller et al. 2021",
        "in_domain",
    ),
    _free(
        "ALINE",
        label_free.agreement_on_the_line,
        "agreement of models must imply accuracy here",
        "Baek et al. 2022, section 5 (ALine-D)",
        "in_domain",
    ),
    _free(
        "MAJORITY",
        label_free.majority,
        "if most models share a wrong shortcut, the best is an outlier",
        "Jiang et al. 2022 (two models); votes of many: ours",
    ),
    _free(
        "COT",
        label_free.transport,
        "labels must be as frequent here as in-domain",
        "Lu et al. 2023, section 3",
        "in_domain",
        "probabilities",
    ),
    _free(
        "MANO",
        label_free.matrix_norm,
        "it measures confidence, as AVG-CONF does",
        "Xie et al. 2024, section 3, the softmax branch: logits are not kept",
        "probabilities",
    ),
    _free(
        "DAWID-SKENE",
        label_free.dawid_skene,
        "errors that models share count as agreement",
        "Dawid and Skene 1979",
        default=True,
    ),
)
"""Built-in methods."""

DEFAULT = tuple(method for method in BUILTIN if method.default)
"""Methods of a run that names none."""
