"""When to trust a factor: what is seen without labels, and whether that tells if the factor beats accuracy.

Each case is a factor by one backend on one suite. Its features need no label; its gain over accuracy is known, since
the truth of the suite is. A rule is fitted on the cases of all sets but one, and judged on those of the set left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from factors.types import Bools, Floats
from ranker import Ranking, rank
from ranker.datasets import sets
from ranker.errors import UsageError
from ranker.report import csv
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence
from ranker.sources import suites

PROBE = 10
"""K: labelled rows of a draw."""

POOL_METHOD = "SURROGATE"
"""The pool method that factors are compared with."""

RIDGE = 1.0
"""Penalty on the weights of standardised features, in cases: with few sets, a fit without one follows noise."""


@dataclass(frozen=True)
class Features:
    """What is seen of a factor without labels.

    Attributes:
        backends: mean rank correlation of the models' mean scores with those by the other backends.
        stability: mean over pairs of models of P(K rows order them as all rows do).
        votes: rank correlation of the models' mean scores with how often they agree with the majority of all models.
        distance: mean over pairs of models of the share of rows that they answer differently.
        spread: standard deviation of the mean scores over models, in standard deviations of a model's scores over rows.
    """

    backends: float
    stability: float
    votes: float
    distance: float
    spread: float


@dataclass(frozen=True)
class Case:
    """A factor by one backend on one suite.

    Attributes:
        set: OOD set.
        suite: its models, with the number of the training.
        attribution: backend.
        factor: name.
        designed: the set names the factor.
        features: what is seen without labels.
        factor_alone, accuracy, together, pool_method: pairwise accuracy of the factor, of ACC, of ACC+FACTOR (nan for
            a factor that is not designed) and of the pool method, fractions, from K rows.
    """

    set: str
    suite: str
    attribution: str
    factor: str
    designed: bool
    features: Features
    factor_alone: float
    accuracy: float
    together: float
    pool_method: float

    @property
    def gain(self) -> float:
        """Pairwise accuracy of the factor less that of ACC."""
        return self.factor_alone - self.accuracy


@dataclass(frozen=True)
class Verdict:
    """Result of following a rule on the sets that it was not fitted on. Shares and accuracies are fractions.

    Attributes:
        rule: its name.
        cases: their number.
        follows: share of them in which the rule takes the factor, and not accuracy.
        right: share of them in which the better of the two was taken.
        pairwise: mean pairwise accuracy of what was taken.
        minus_accuracy, minus_together, minus_pool_method: that less the mean of ACC, of ACC+FACTOR where it is known,
            and of the pool method.
        low, high: 95 % interval of `minus_accuracy` over sets; nan for a single set.
    """

    rule: str
    cases: int
    follows: float
    right: float
    pairwise: float
    minus_accuracy: float
    low: float
    high: float
    minus_together: float
    minus_pool_method: float


def cases_of(suite: Path, name: str, attributions: Sequence[str], runtime: Runtime) -> Iterator[Case]:
    """Yield the cases of a suite on the sets that it is made for.

    Args:
        suite: folder with a suite.json; it starts with the name of the set.
        name: of the suite in the cases, with the number of its training.
        attributions: backends, at least two.
        runtime: how models run, and where answers are stored.
    """
    models = suites.load([str(suite)])
    cards = [card for card in sets.cards() if suite.name.startswith(f"{card}-") and sets.cards()[card].designed]
    for set_name in cards:
        rows = sets.load(set_name)
        ask = partial(rank, models, rows, probe=PROBE, runtime=runtime)
        rankings = {backend: ask(evidence=Evidence(backend, methods=())) for backend in attributions}
        pooled = ask(evidence=Evidence("none")).method(POOL_METHOD).pairwise_accuracy
        for backend, ranking in rankings.items():
            rivals = [rival for key, rival in rankings.items() if key != backend]
            for method in ranking.table.factors:
                if method.kind != "factor":
                    continue
                measured = ranking.method(method.name)
                together = ranking.method("ACC+FACTOR").pairwise_accuracy if measured.designed else np.nan
                yield Case(
                    *(set_name, name, backend, method.name, measured.designed),
                    features_of(method.name, ranking, rivals),
                    *(measured.pairwise_accuracy, ranking.method("ACC").pairwise_accuracy, together, pooled),
                )


def scores_of(name: str, ranking: Ranking) -> Floats:
    """Return (M, N) scores of a factor, the better the higher, on the rows where all models have one."""
    methods = [method.name for method in ranking.table.methods]
    place = methods.index(name)
    values = ranking.table.values[:, place]
    scores = values[:, np.isfinite(values).all(axis=0)]
    return scores if ranking.table.methods[place].higher_is_better else -scores


def features_of(name: str, ranking: Ranking, rivals: Sequence[Ranking]) -> Features:
    """Return what is seen of a factor without labels.

    Args:
        name: of the factor.
        ranking: with its scores.
        rivals: the same by other backends.
    """
    scores = scores_of(name, ranking)
    means = scores.mean(axis=1)
    outcomes = ranking.table.outcomes[:, np.isfinite(ranking.table.outcomes).all(axis=0)] > 0.5
    return Features(
        backends=float(np.mean([rank_correlation(means, scores_of(name, rival).mean(axis=1)) for rival in rivals])),
        stability=stability(scores),
        votes=rank_correlation(means, agreement(outcomes)),
        distance=float(np.mean([(a != b).mean() for a, b in combinations(outcomes, 2)])),
        spread=float(means.std() / scores.std(axis=1).mean()) if scores.std() else 0.0,
    )


def rank_correlation(a: Floats, b: Floats) -> float:
    """Return Spearman's correlation of (M,) values; 0 where either is constant."""
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic) if np.ptp(a) and np.ptp(b) else 0.0


def agreement(outcomes: Bools) -> Floats:
    """Return (M,) shares of rows on which a model answers as the majority of the models does.

    Args:
        outcomes: (M, N) whether an answer is right. There are two labels, so two models that are both right or both
            wrong gave the same answer: the truth is not used.

    Example:
        >>> agreement(np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=bool)).round(2).tolist()
        [0.67, 1.0, 0.67]
    """
    share = outcomes.mean(axis=0)
    majority = share > 0.5
    return np.asarray(np.where(share == 0.5, 0.5, outcomes == majority).mean(axis=1))


def stability(scores: Floats) -> float:
    """Return the mean over pairs of P(K rows order two models as all rows do), by a normal distribution.

    Args:
        scores: (M, N) of the models on the same rows.

    Example:
        >>> stability(np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])), stability(np.zeros((2, 3)))
        (1.0, 0.5)
    """
    from scipy.special import ndtr

    differences = np.array([a - b for a, b in combinations(scores, 2)])
    errors = differences.std(axis=1) / np.sqrt(PROBE)
    apart = np.abs(differences.mean(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(ndtr(np.where(apart > 0, apart / errors, 0.0)).mean())


Rule = Callable[[Sequence[Case], Sequence[Case]], Bools]
"""(cases that it is fitted on, cases to decide) -> for each of these, whether the factor is to be taken."""


def by_threshold(feature: str, fitted: Sequence[Case], decided: Sequence[Case]) -> Bools:
    """Take a factor from a value of one feature on: the value that gains most in the cases that are fitted."""
    values = np.array([getattr(case.features, feature) for case in fitted])
    gains = np.array([case.gain for case in fitted])
    order = np.argsort(-values, kind="stable")
    total = np.cumsum(gains[order])
    best = int(total.argmax())
    threshold = values[order[best]] if total[best] > 0 else np.inf
    return np.array([getattr(case.features, feature) >= threshold for case in decided])


def by_regression(fitted: Sequence[Case], decided: Sequence[Case]) -> Bools:
    """Take a factor where a ridge regression of the gain on all features expects one."""
    train, test = (np.array([astuple(case.features) for case in cases]) for cases in (fitted, decided))
    mean, sd = train.mean(axis=0), np.maximum(train.std(axis=0), 1e-9)
    gains = np.array([case.gain for case in fitted])
    x = (train - mean) / sd
    weights = np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ (gains - gains.mean()))
    return np.asarray((test - mean) / sd @ weights + gains.mean() > 0)


RULES: Mapping[str, Rule] = {
    "never": lambda fitted, decided: np.zeros(len(decided), dtype=bool),
    "always": lambda fitted, decided: np.ones(len(decided), dtype=bool),
    **{feature.name: partial(by_threshold, feature.name) for feature in fields(Features)},
    "all features": by_regression,
}


def verdicts(cases: Sequence[Case]) -> list[Verdict]:
    """Judge each rule on each set by the cases of the other sets.

    Raises:
        UsageError: the cases are of a single set.
    """
    names = list(dict.fromkeys(case.set for case in cases))
    if len(names) < 2:
        raise UsageError(f"a rule is judged on a set that it was not fitted on: two sets are needed (got {names[0]})")
    return [_verdict(rule, cases, names) for rule in RULES]


def _verdict(rule: str, cases: Sequence[Case], names: Sequence[str]) -> Verdict:
    decided, takes = [], []
    for name in names:
        left_out = [case for case in cases if case.set == name]
        decided += left_out
        takes += RULES[rule]([case for case in cases if case.set != name], left_out).tolist()
    selected = np.array(
        [case.factor_alone if take else case.accuracy for case, take in zip(decided, takes, strict=True)]
    )
    accuracy, pooled = (np.array([getattr(case, name) for case in decided]) for name in ("accuracy", "pool_method"))
    together = np.array([case.together for case in decided])
    better = np.array([case.gain > 0 for case in decided]) == np.array(takes)
    by_set = np.array([(selected - accuracy)[[case.set == name for case in decided]].mean() for name in names])
    half = 1.96 * by_set.std(ddof=1) / np.sqrt(len(names))
    summed = np.isfinite(together)
    return Verdict(
        *(rule, len(decided), float(np.mean(takes)), float(better.mean()), float(selected.mean())),
        *(float(by_set.mean()), float(by_set.mean() - half), float(by_set.mean() + half)),
        float((selected - together)[summed].mean()) if summed.any() else np.nan,
        float((selected - pooled).mean()),
    )


def correlations(cases: Sequence[Case]) -> dict[str, float]:
    """Return each feature's rank correlation with the gain over all cases."""
    gains = np.array([case.gain for case in cases])
    return {
        feature.name: rank_correlation(np.array([getattr(case.features, feature.name) for case in cases]), gains)
        for feature in fields(Features)
    }


def table(cases: Sequence[Case]) -> str:
    """Return the verdicts as a table in Markdown, in percent and points."""
    lines = [
        f"| rule | takes the factor, % | right, % | minus ACC (95 %) | minus ACC+FACTOR | minus {POOL_METHOD} |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for verdict in verdicts(cases):
        gain, low, high = (100 * value for value in (verdict.minus_accuracy, verdict.low, verdict.high))
        beside = f"{100 * verdict.minus_together:+.1f} | {100 * verdict.minus_pool_method:+.1f}"
        shares = f"{100 * verdict.follows:.0f} | {100 * verdict.right:.0f}"
        lines.append(f"| {verdict.rule} | {shares} | {gain:+.1f} ({low:+.1f} to {high:+.1f}) | {beside} |")
    return "\n".join(lines)


def written(cases: Sequence[Case]) -> str:
    """Return cases as CSV, features in columns of their own; numbers have four digits."""
    rows = []
    for case in cases:
        cells = {field.name: getattr(case, field.name) for field in fields(case)}
        features = cells.pop("features")
        rows.append({k: round(v, 4) if isinstance(v, float) else v for k, v in {**cells, **vars(features)}.items()})
    return csv.to_csv(rows)


def read(text: str) -> list[Case]:
    """Read cases as they were written."""
    import csv as tables

    cases = []
    for row in tables.DictReader(text.splitlines()):
        features = Features(**{field.name: float(row[field.name]) for field in fields(Features)})
        alone, accuracy, together, pool_method = (
            float(row[name]) for name in ("factor_alone", "accuracy", "together", "pool_method")
        )
        names = row["set"], row["suite"], row["attribution"], row["factor"]
        cases.append(Case(*names, row["designed"] == "True", features, alone, accuracy, together, pool_method))
    return cases
