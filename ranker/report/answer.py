"""The answer in words: what was ranked, the result, its certainty, and the next step."""

from __future__ import annotations

import numpy as np

from ranker.errors import listed
from ranker.numbers import LEAST_P, SHARES, Unit, counted, interval, p_value, percent, points, probability
from ranker.report.words import MOST_LABELS, labels, words, words_of
from ranker.results.decision import DecidedModel, Decision
from ranker.results.evaluation import Evaluation, equal_up_to_rounding
from ranker.results.ranking import Ranking
from ranker.results.result import NAMES
from ranker.results.table import ScoreTable

NEXT = (
    "Next: `rank-models --data ROWS --models A B ...` chooses between your own models; `rank-models explain` shows "
    "what they look at."
)

LEVEL_MARGIN = 0.05
"""Distance from 1/2 up to which a probability of being better counts as nearly level."""


def answer(ranking: Ranking) -> tuple[str, list[str]]:
    """Return the answer in a few words, then its certainty and the next step, a sentence each."""
    outcome, copies = ranking.found, ranking.header.copies
    lead, sentences = (
        evaluation_answer(ranking, outcome) if isinstance(outcome, Evaluation) else decision_answer(ranking, outcome)
    )
    same = "; ".join(f"{name} is {first}" for name, first in copies.items())
    return f"{lead} (the same model twice: {same})" if copies else lead, sentences


def evaluation_answer(ranking: Ranking, evaluation: Evaluation) -> tuple[str, list[str]]:
    """Answer which method ranks best, by how much over the metric, and which models are truly best."""
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
    sentences += [_truly_best(ranking, evaluation), NEXT]
    return f"Best method: {best.name}", sentences


def _truly_best(ranking: Ranking, evaluation: Evaluation) -> str:
    first = [model for model in evaluation.models if model.rank == 1]
    names = ", ".join(model.name for model in first)
    return f"Truly best: {names} ({words_of(ranking).outcome_text(first[0].outcome)} on {ranking.header.ood})."


def decision_answer(ranking: Ranking, decision: Decision) -> tuple[str, list[str]]:
    """Answer which model is best, how sure that is, which cannot be told apart, and how many labels would tell."""
    if len(decision.models) == 2 and decision.versus:
        return two_model_answer(ranking, decision)
    names, terms, rows = decision.names, words_of(ranking), counted(ranking.header.probe, "row")
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
    together = [", ".join(group) for group in decision.groups if len(group) > 1]
    if together:
        sentences.append(f"Cannot be told apart: {'; nor '.join(together)}.")
    else:
        sentences.append(f"All pairs of models are told apart, with a probability of {decision.level:.0%} or more.")
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
    """Advise to take the first of the order, or to label more rows before.

    A model that is told from no other one is not recommended, since the labels do not support it.
    """
    names, better = decision.names, decision.against
    if better:
        evidence = "labels and pool" if decision.reads_pool else "the labels"
        return (
            f"Next: look at the rows on which {names[0]} and {names[better]} differ. {decision.method} puts {names[0]} "
            f"first, but by {evidence} {names[better]} is better with a probability of "
            f"{probability(decision.p_beats[better][0])} %."
        )
    rivals = [j for j in range(1, len(names)) if not decision.apart(0, j)]
    if not rivals:
        unsure = [j for j in range(1, len(names)) if not decision.better(0, j)]
        if not unsure:
            return f"Next: take {names[0]}."
        least = probability(min(decision.p_beats[0][j] for j in unsure))
        return f"Next: label more rows, or take {names[0]} if a probability of {least} % is enough."
    nearest = min(rivals, key=lambda j: decision.p_beats[0][j])
    rival = names[nearest] if len(rivals) == 1 else f"{names[nearest]}, the nearest of {len(rivals)} rivals,"
    label = "Next: label" if len(rivals) == len(names) - 1 else f"Next: take {names[0]}, or label"
    count = decision.more_labels[0][nearest]
    if count is None:
        reason = unknown_count_reason(ranking.table, decision, 0, nearest)
        return f"{label} more rows. The number that would tell it from {rival} is unknown: {reason}."
    if count > MOST_LABELS:
        remedy = "a larger pool" if decision.reads_pool else "a pool of rows without labels"
        return (
            f"Next: treat {names[0]} and {names[nearest]} as equal: it would take {labels(count)} to tell them apart. "
            f"More labels would help less than {remedy} or other models."
        )
    return f"{label} {labels(count)}, which would tell it from {rival} if the two keep disagreeing at this rate."


def unknown_count_reason(table: ScoreTable, decision: Decision, i: int, j: int) -> str:
    """Explain why the number of labels that would tell two models apart is unknown."""
    if decision.metric:
        return f"it can be estimated for means only, and {decision.metric} is not a mean"
    if decision.reads_pool:
        if abs(decision.p_beats[i][j] - 0.5) < LEVEL_MARGIN:
            return "labels and pool rate them about equal"
        return "the pool is too small; more rows of the domain, labelled or not, would help"
    won = table.better(decision.names[i], decision.names[j])
    if not won:
        return words(table.metric).same
    return f"each was {words(table.metric).did} on {counted(won, 'row')} where the other was not"
