"""The answer in words: what was ranked, the result, its certainty, and the next step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ranker.errors import listed
from ranker.numbers import LEAST_P, SHARES, Unit, counted, interval, p_value, percent, points, probability
from ranker.report.costs import cost_sentences
from ranker.report.decision import first_caveat
from ranker.report.next_step import next_step
from ranker.report.words import words_of
from ranker.results.decision import DecidedModel, Decision
from ranker.results.evaluation import Evaluation, equal_up_to_rounding
from ranker.results.ranking import Ranking
from ranker.results.result import NAMES
from ranker.results.table import ScoreTable

NEXT = (
    "Next: `rank-models --data ROWS --models A B ...` chooses between your own models; `rank-models explain` shows "
    "what they look at."
)


def evaluation_answer(ranking: Ranking) -> tuple[str, list[str]]:
    """Answer which method ranks best, by how much over the metric, and which models are truly best."""
    evaluation = ranking.evaluation
    best, advised = evaluation.best, evaluation.advised
    count, metric = counted(ranking.header.probe, "example"), words_of(ranking).fully
    if best.pairwise_accuracy <= 0.5:
        return f"From {count}, no method beats chance", [_truly_best(ranking, evaluation), NEXT]
    equal = [m.name for m in advised if equal_up_to_rounding(best.pairwise_accuracy, m.pairwise_accuracy)]
    random = "random examples" if best.sees_chosen_rows else "the same examples"
    sentences = [
        f"From {count}, {best.name} puts two of these models in their true order "
        f"{percent(best.pairwise_accuracy)} % of the time (95 % interval {interval(best.ci_low, best.ci_high)})."
    ]
    if len(equal) > 1:
        sentences.append(f"Equally good: {', '.join(name for name in equal if name != best.name)}.")
    if ranking.header.metric in equal:
        sentences.append(f"From {count}, no method beats {metric.removesuffix(',')}.")
    else:
        none = best.difference_low <= 0 <= best.difference_high
        may_be_none = f"; this includes 0: {ranking.header.metric} may do as well" if none else ""
        sentences.append(
            f"That is {points(best.difference)} points compared with {metric} on {random} "
            f"(95 % interval {interval(best.difference_low, best.difference_high, points)}{may_be_none})."
        )
    if len(advised) > 1:
        sentences.append(
            f"We picked it after seeing the results of {len(advised)} methods, so expect a lower figure on another set."
        )
    sentences += [*_designed(ranking, evaluation), _truly_best(ranking, evaluation), NEXT]
    return f"Best method: {best.name}", sentences


def _designed(ranking: Ranking, evaluation: Evaluation) -> Iterator[str]:
    """Yield how far the factor designed for the set is from the metric, unless it is the best method."""
    for method in evaluation.methods:
        if method.designed and method != evaluation.best:
            ends = interval(method.difference_low, method.difference_high, points)
            yield (
                f"{method.name}, the factor designed for {ranking.header.ood}, has {percent(method.pairwise_accuracy)} "
                f"%: {points(method.difference)} points compared with {ranking.header.metric} ({ends})."
            )


def _truly_best(ranking: Ranking, evaluation: Evaluation) -> str:
    first = [model for model in evaluation.models if model.rank == 1]
    names = ", ".join(model.name for model in first)
    return f"Truly best: {names} ({words_of(ranking).outcome_text(first[0].outcome)} on {ranking.header.ood})."


def decision_answer(ranking: Ranking) -> tuple[str, list[str]]:
    """Answer what to take; then how sure that is, and the next step.

    Whatever makes the answer worthless comes before it.
    """
    decision = ranking.decision
    two = len(decision.models) == 2 and decision.versus
    sentences = (two_model_answer if two else _order_answer)(ranking, decision)
    *statements, to_do = sentences
    costs = cost_sentences(decision, words_of(ranking).unit)
    return f"{first_caveat(ranking, decision)}{decision.choice.text}", [*statements, *costs, to_do]


def _order_answer(ranking: Ranking, decision: Decision) -> list[str]:
    names, terms, rows = decision.names, words_of(ranking), counted(ranking.compared, "row")
    first = [model.name for model in decision.models if model.rank == 1]
    put, whose = (f"puts {names[0]} first", "Its")
    if len(first) > 1:
        put, whose = f"ties {', '.join(first)} in first place", f"{names[0]}'s"
    best, method = decision.models[0], decision.method
    outcome = "" if decision.picked else f" {whose} {terms.outcome_on(best.outcome, rows)}."
    sentences = [f"{method}{_defined(ranking.table, method)} {put}.{outcome}"]
    if best.p_near_best is not None:
        sentences.append(
            f"The probability that no other model is better by more than {terms.unit.point} in the domain is "
            f"{probability(best.p_near_best)} %."
        )
    sentences += [
        f"{model.name} is as good: within {terms.unit.point} of {names[0]} with a probability of "
        f"{probability(model.p_equal)} %."
        for model in decision.models[1 : NAMES + 1]
        if model.p_equal >= decision.level
    ]
    if not (tied := decision.tied(0)):
        level = probability(decision.level, 0)
        sentences.append(f"{names[0]} is told from every other model with a probability of {level} % or more.")
    elif decision.choice.verb == "none":
        sentences.append(f"Not told from {names[0]}: {listed(tied, NAMES)}.")
    return [*sentences, next_step(ranking, decision)]


def _defined(table: ScoreTable, method: str) -> str:
    """Return on how many rows a method is defined for all models; "" if that is all of them."""
    places = [place for place, column in enumerate(table.methods) if column.name == method]
    if not places:
        return ""
    count, rows = int(np.isfinite(table.values[:, places[0]]).all(axis=0).sum()), len(table.examples)
    return "" if count == rows else f" (defined on {count:,} of the {counted(rows, 'row')})"


def two_model_answer(ranking: Ranking, decision: Decision) -> list[str]:
    """Answer how two models differ on the same rows, how sure that is, and what an unpaired test would say."""
    metric, pair, unit = ranking.header.metric, decision.versus[0], words_of(ranking).unit
    first, second = decision.models
    if pair.better == pair.worse == 0 and not (decision.metric and pair.difference):
        return [
            f"{pair.a} and {pair.b} did equally well on each of the {counted(pair.rows, 'row')}: p = 1.",
            next_step(ranking, decision),
        ]
    metric_name = "accuracy" if metric == "ACC" else metric
    clusters = "" if pair.clusters is None else f" in {counted(pair.clusters, 'cluster')}"
    sentences = [
        f"{first.name} has {metric_name} {_with_ends(first, unit)}, {second.name} {_with_ends(second, unit)}, on the "
        f"same {counted(pair.rows, 'row')}{clusters}.",
        f"The difference is {unit.difference(pair.difference)}{unit.points} ({spread(pair.low, pair.high, unit)}; "
        f"p {equals(pair.p)} by {TESTS[pair.test]}); {pair.a} is better in the domain with a probability of "
        f"{probability(decision.p_beats[0][1])} %.",
        f"{pair.a} did better on {counted(pair.better, 'row')}, {pair.b} on {pair.worse:,}.",
    ]
    if pair.p_unpaired is not None:
        sentences.append(
            f"An unpaired test, which ignores that the rows are the same, gives p {equals(pair.p_unpaired)}."
        )
    if pair.detectable is not None and pair.detectable > 1:
        sentences.append("These rows are too few to detect even the largest difference in four of five cases.")
    elif pair.detectable is not None:
        least = percent(pair.detectable)
        sentences.append(f"These rows detect a true difference of {least} points or more in four of five cases.")
    return [*sentences, next_step(ranking, decision)]


def _with_ends(model: DecidedModel, unit: Unit) -> str:
    """Return a model's value, with its interval if there is one."""
    ends = interval(model.low, model.high, unit.value)
    return f"{unit.value(model.outcome)}{unit.sign}{f' ({ends})' if ends else ''}"


def spread(low: float | None, high: float | None, unit: Unit = SHARES) -> str:
    """Return the interval of a difference for a sentence.

    Example:
        >>> spread(-0.031, 0.0), spread(None, None)
        ('95 % interval -3.1 to +0.0', 'no interval: one row or cluster shows no spread')
    """
    if ends := interval(low, high, unit.difference):
        return f"95 % interval {ends}"
    reason = "one row or cluster shows no spread" if unit is SHARES else "too few rows tell the two apart"
    return f"no interval: {reason}"


TESTS = {
    "mcnemar": "McNemar's exact test",
    "sign-flip": "a sign-flip test",
    "sign-flip-drawn": "a sign-flip test of signs drawn at random",
}
"""Test behind a p-value -> its name in a sentence."""


def equals(p: float | None) -> str:
    """Return a p-value for a sentence.

    Example:
        >>> equals(0.0312), equals(2e-7), equals(None)
        ('= 0.031', '<0.0001', 'is unknown')
    """
    return "is unknown" if p is None else p_value(p) if p < LEAST_P else f"= {p_value(p)}"
