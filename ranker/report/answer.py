"""The answer in words: what was ranked, the result, its certainty, and the next step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ranker.errors import listed
from ranker.numbers import LEAST_P, SHARES, Unit, counted, interval, p_value, percent, points, probability
from ranker.report.decision import first_caveat
from ranker.report.words import words_of
from ranker.results.decision import DecidedModel, Decision, have_one_label
from ranker.results.evaluation import Evaluation, equal_up_to_rounding
from ranker.results.ranking import Ranking
from ranker.results.result import NAMES
from ranker.results.table import ScoreTable

NEXT = (
    "Next: `rank-models --data ROWS --models A B ...` chooses between your own models; `rank-models explain` shows "
    "what they look at."
)

WIDE = 50
"""Ratio of the ends of a range of labels from which on it says nothing."""

LABELS = 10
"""Labels to give before the next look where no number is known."""


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
    """Answer which model is best, how sure that is, which cannot be told apart, and how many labels would tell.

    Whatever makes the answer worthless comes before it.
    """
    decision = ranking.decision
    two = len(decision.models) == 2 and decision.versus
    lead, sentences = (two_model_answer if two else _order_answer)(ranking, decision)
    return f"{first_caveat(ranking, decision)}{lead}", sentences


def _order_answer(ranking: Ranking, decision: Decision) -> tuple[str, list[str]]:
    names, terms, rows = decision.names, words_of(ranking), counted(ranking.compared, "row")
    first = [model.name for model in decision.models if model.rank == 1]
    put, whose = (f"puts {names[0]} first", "Its")
    if len(first) > 1:
        put, whose = f"ties {', '.join(first)} in first place", f"{names[0]}'s"
    best, method = decision.models[0], decision.method
    sentences = [f"{method}{_defined(ranking.table, method)} {put}. {whose} {terms.outcome_on(best.outcome, rows)}."]
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
    if tied := decision.tied(0):
        sentences.append(f"Not told from {names[0]}: {listed(tied, NAMES)}.")
    else:
        level = probability(decision.level, 0)
        sentences.append(f"{names[0]} is told from every other model with a probability of {level} % or more.")
    sentences.append(next_step(ranking, decision))
    if len(decision.groups) == 1:
        return f"No two models are told apart; {names[0]} is first", sentences
    return f"{_strength(decision)}{_but(decision)}", sentences


def _strength(decision: Decision) -> str:
    """Return the claim that the rows support: the first is best, probably best, or one of several."""
    first, tied = decision.names[0], decision.tied(0)
    if decision.against or not tied:
        sure = all(decision.better(0, j) for j in range(1, len(decision.names)))
        return f"{'First choice' if sure or decision.against else 'Probably first'}: {first}"
    return f"Not told apart for first place: {listed([first, *tied], NAMES)}"


def _defined(table: ScoreTable, method: str) -> str:
    """Return on how many rows a method is defined for all models; "" if that is all of them."""
    places = [place for place, column in enumerate(table.methods) if column.name == method]
    if not places:
        return ""
    count, rows = int(np.isfinite(table.values[:, places[0]]).all(axis=0).sum()), len(table.examples)
    return "" if count == rows else f" (defined on {count:,} of the {counted(rows, 'row')})"


def _but(decision: Decision) -> str:
    """Return the objection to the first of the order: labels that favour another model."""
    better = decision.against
    return f", but the labels speak for {decision.names[better]}" if better else ""


def two_model_answer(ranking: Ranking, decision: Decision) -> tuple[str, list[str]]:
    """Answer how two models differ on the same rows, how sure that is, and what an unpaired test would say."""
    metric, pair, unit = ranking.header.metric, decision.versus[0], words_of(ranking).unit
    first, second = decision.models
    if pair.better == pair.worse == 0 and not (decision.metric and pair.difference):
        return "Nothing to tell apart", [
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
    i, j = (1, 0) if decision.against else (0, 1)
    lead = f"{'Better' if decision.better(i, j) else 'Probably better'}: {decision.names[i]}"
    if not decision.apart(0, 1):
        lead = f"Not told apart: {pair.a} and {pair.b}"
    return lead, [*sentences, next_step(ranking, decision)]


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


def next_step(ranking: Ranking, decision: Decision) -> str:
    """Advise one thing, by P(near best): to take the first of the order, or to label more rows before."""
    first, better, unit = decision.models[0], decision.against, words_of(ranking).unit
    if not decision.confirmed:
        return "Next: mark ten rows yourself, drawn at random (--data): judges alone may be wrong."
    if better:
        evidence, rival = "labels and pool" if decision.reads_pool else "the labels", decision.names[better]
        return (
            f"Next: look at the rows on which {first.name} and {rival} differ. {decision.method} puts {first.name} "
            f"first, but by {evidence} {rival} is better with a probability of "
            f"{probability(decision.p_beats[better][0])} %."
        )
    near, forecast = first.p_near_best or 0.0, decision.forecast
    if near >= decision.level:
        sure = f"with a probability of {probability(decision.level, 0)} % or more"
        return f"Next: take {first.name}: no other model is better by more than {unit.point}, {sure}."
    if forecast is None:
        reason = f"{decision.method} gives no forecast"
        if have_one_label(decision.rows):
            reason = "all labels are alike so far"
        elif first.p_near_best is None:
            reason = "no row tells two models apart so far"
        return f"Next: label more rows. How many cannot be said: {reason}."
    goal = f"{probability(forecast.goal, 0)} % sure which model is within {unit.point} of the best"
    if forecast.low is None:
        remedy = "a larger pool" if decision.reads_pool else "rows without labels (--pool)"
        return (
            f"Next: take {first.name}. With {forecast.most:,} more labels it would hardly be {goal}; {remedy} would "
            "help more."
        )
    if forecast.high is None and forecast.low < forecast.most / WIDE:
        return f"Next: label {counted(LABELS, 'more row')} and ask again. How many it takes cannot be said yet."
    enough = f"{forecast.low:,} or more" if forecast.high is None else _ends(forecast.low, forecast.high)
    sure = "nine" if forecast.high is None else "eight"
    return f"Next: label more rows. In {sure} of ten cases it takes {enough} until it is {goal}."


def _ends(low: int, high: int) -> str:
    return f"{low:,} to {high:,}" if low < high else f"{low:,}"
