"""The answer in words: what was ranked, what was found, how sure it is, and what to do next."""

from __future__ import annotations

import numpy as np

from ranker.errors import listed
from ranker.numbers import LEAST_P, SHARES, Unit, counted, interval, p_value, percent, points, probability
from ranker.report.words import MOST_LABELS, labels, words, words_of
from ranker.results.decision import DecidedModel, Decision
from ranker.results.evaluation import Evaluation, level
from ranker.results.ranking import Ranking
from ranker.results.result import NAMES
from ranker.results.table import ScoreTable

NEXT = (
    "Next: `rank-models --data ROWS --models A B ...` chooses between models of your own; `rank-models explain` "
    "shows what these look at."
)

NEARLY = 0.05
"""Two models are nearly level where a probability of being the better one is this near to 1/2."""


def answer(ranking: Ranking) -> tuple[str, list[str]]:
    """What was found, in a few words; then how sure it is, and what to do next, a sentence each."""
    found = ranking.found
    return evaluated(ranking, found) if isinstance(found, Evaluation) else decided(ranking, found)


def evaluated(ranking: Ranking, found: Evaluation) -> tuple[str, list[str]]:
    """Which method ranks best, by how much over the metric, and which models are truly best."""
    best, advised = found.best, found.advised
    shown, metric = counted(ranking.header.probe, "example"), words_of(ranking).fully
    if best.pairwise_accuracy <= 0.5:
        return f"Shown {shown}, no method does better than a coin", [_truly_best(ranking, found), NEXT]
    equal = [m.name for m in advised if level(best.pairwise_accuracy, m.pairwise_accuracy)]
    random = "random examples" if best.sees_chosen_rows else "the same examples"
    said = [
        f"Shown {shown}, {best.name} puts two of these models in their true order "
        f"{percent(best.pairwise_accuracy)} % of the time (95 % interval {interval(best.ci_low, best.ci_high)})."
    ]
    if len(equal) > 1:
        said.append(f"Equally good: {', '.join(name for name in equal if name != best.name)}.")
    if ranking.header.metric in equal:
        said.append(f"Shown {shown}, no method does better than {metric.removesuffix(',')}.")
    else:
        none = best.difference_low <= 0 <= best.difference_high
        may_be_none = f"; this includes 0: {ranking.header.metric} may do as well" if none else ""
        said.append(
            f"Against {metric} on {random} that is {points(best.difference)} points "
            f"(95 % interval {interval(best.difference_low, best.difference_high, points)}{may_be_none})."
        )
    if len(advised) > 1:
        said.append(
            f"We picked it after seeing the results of {len(advised)} methods, so expect a lower figure on another set."
        )
    said += [_truly_best(ranking, found), NEXT]
    return f"Best method: {best.name}", said


def _truly_best(ranking: Ranking, found: Evaluation) -> str:
    first = [model for model in found.models if model.rank == 1]
    names = ", ".join(model.name for model in first)
    return f"Truly best: {names} ({words_of(ranking).share(first[0].outcome)} on {ranking.header.ood})."


def decided(ranking: Ranking, found: Decision) -> tuple[str, list[str]]:
    """Which model, how sure, who cannot be told apart, and how many more labels would tell."""
    if len(found.models) == 2 and found.versus:
        return between(ranking, found)
    names, of, rows = found.names, words_of(ranking), counted(ranking.header.probe, "row")
    first = [model.name for model in found.models if model.rank == 1]
    put = f"puts {names[0]} first. It" if len(first) == 1 else f"ties {', '.join(first)} in first place. {names[0]}"
    best, near = found.models[0], probability(found.models[0].p_near_best)
    said = [f"{found.method}{_defined(ranking.table, found.method)} {put} {of.on(best.outcome, rows)}."]
    if best.p_near_best is not None:
        said.append(f"With a probability of {near} % it is within {of.unit.point} of the best of these in the domain.")
    together = [", ".join(group) for group in found.groups if len(group) > 1]
    if together:
        said.append(f"Cannot be told apart: {'; nor '.join(together)}.")
    else:
        said.append(f"Every two models are told apart, with a probability of {found.level:.0%} or more.")
    said.append(next_step(ranking, found))
    if len(found.groups) == 1:
        return f"No two models are told apart; {names[0]} is first", said
    return f"{_strength(found)}{_but(found)}", said


def _strength(found: Decision) -> str:
    """What the rows bear: that the first of the order is the one to take, probably so, or one of several."""
    first, tied = found.names[0], found.tied(0)
    if found.against or not tied:
        sure = all(found.better(0, j) for j in range(1, len(found.names)))
        return f"{'First choice' if sure or found.against else 'Probably first'}: {first}"
    return f"Not told apart for first place: {listed([first, *tied], NAMES)}"


def _defined(table: ScoreTable, method: str) -> str:
    """On how many rows a method is defined for all models; "" where that is all of them."""
    places = [place for place, one in enumerate(table.methods) if one.name == method]
    if not places:
        return ""
    count, rows = int(np.isfinite(table.values[:, places[0]]).all(axis=0).sum()), len(table.examples)
    return "" if count == rows else f" (defined on {count:,} of the {counted(rows, 'row')})"


def _but(found: Decision) -> str:
    """What speaks against the first of the order."""
    better = found.against
    return f", but the labels speak for {found.names[better]}" if better else ""


def between(ranking: Ranking, found: Decision) -> tuple[str, list[str]]:
    """Two models on the same rows: how far apart, how sure, on which rows, and what an unpaired test had said."""
    metric, pair, how = ranking.header.metric, found.versus[0], words_of(ranking).unit
    first, second = found.models
    if pair.better == pair.worse == 0 and not (found.metric and pair.difference):
        return "Nothing to tell apart", [
            f"{pair.a} and {pair.b} did equally well on each of the {counted(pair.rows, 'row')}: p = 1.",
            next_step(ranking, found),
        ]
    what = "accuracy" if metric == "ACC" else metric
    of = "" if pair.clusters is None else f" in {counted(pair.clusters, 'cluster')}"
    said = [
        f"{first.name} has {what} {_with_ends(first, how)}, {second.name} {_with_ends(second, how)}, on the same "
        f"{counted(pair.rows, 'row')}{of}.",
        f"The difference is {how.difference(pair.difference)}{how.points} ({spread(pair.low, pair.high, how)}; "
        f"p {equals(pair.p)} by {TESTS[pair.test]}); {pair.a} is the better one in the domain with a probability of "
        f"{probability(found.p_beats[0][1])} %.",
        f"{pair.a} did better on {counted(pair.better, 'row')}, {pair.b} on {pair.worse:,}.",
    ]
    if pair.p_unpaired is not None:
        said.append(
            f"An unpaired test, which ignores that the rows are the same, would say p {equals(pair.p_unpaired)}."
        )
    if pair.detectable is not None and pair.detectable > 1:
        said.append("With so few rows not even the largest difference is found in four of five cases.")
    elif pair.detectable is not None:
        least = percent(pair.detectable)
        said.append(f"With these rows a true difference of {least} points or more is found in four of five cases.")
    i, j = (1, 0) if found.against else (0, 1)
    lead = f"{'Better' if found.better(i, j) else 'Probably better'}: {found.names[i]}"
    if not found.apart(0, 1):
        lead = f"Not told apart: {pair.a} and {pair.b}"
    return lead, [*said, next_step(ranking, found)]


def _with_ends(model: DecidedModel, how: Unit) -> str:
    """A model's value, and its interval where there is one."""
    ends = interval(model.low, model.high, how.value)
    return f"{how.value(model.outcome)}{how.sign}{f' ({ends})' if ends else ''}"


def spread(low: float | None, high: float | None, how: Unit = SHARES) -> str:
    """The interval of a difference in a sentence.

    Example:
        >>> spread(-0.031, 0.0), spread(None, None)
        ('95 % interval -3.1 to +0.0', 'no interval: one row or cluster shows no spread')
    """
    if said := interval(low, high, how.difference):
        return f"95 % interval {said}"
    return (
        f"no interval: {'one row or cluster shows no spread' if how is SHARES else 'too few rows tell the two apart'}"
    )


TESTS = {
    "mcnemar": "McNemar's exact test",
    "sign-flip": "a sign-flip test",
    "sign-flip-drawn": "a sign-flip test of signs drawn at random",
}
"""Where a p comes from, in words."""


def equals(p: float | None) -> str:
    """A p-value in a sentence.

    Example:
        >>> equals(0.0312), equals(2e-7), equals(None)
        ('= 0.031', '<0.0001', 'is unknown')
    """
    return "is unknown" if p is None else p_value(p) if p < LEAST_P else f"= {p_value(p)}"


def next_step(ranking: Ranking, found: Decision) -> str:
    """What to do with a decision: take the first of the order, or label more rows before.

    No model is to be taken that is told from no other one: the labels do not bear it.
    """
    names, better = found.names, found.against
    if better:
        seen = "labels and pool" if found.reads_pool else "the labels"
        return (
            f"Next: look at the rows on which {names[0]} and {names[better]} differ: {found.method} puts {names[0]} "
            f"first, and by {seen} {names[better]} is better with a probability of "
            f"{probability(found.p_beats[better][0])} %."
        )
    rivals = [j for j in range(1, len(names)) if not found.apart(0, j)]
    if not rivals:
        unsure = [j for j in range(1, len(names)) if not found.better(0, j)]
        if not unsure:
            return f"Next: take {names[0]}."
        least = probability(min(found.p_beats[0][j] for j in unsure))
        return f"Next: label more rows, or take {names[0]} where a probability of {least} % is enough."
    nearest = min(rivals, key=lambda j: found.p_beats[0][j])
    rival = names[nearest] if len(rivals) == 1 else f"{names[nearest]}, the nearest of {len(rivals)} rivals,"
    label = "Next: label" if len(rivals) == len(names) - 1 else f"Next: take {names[0]}, or label"
    more = found.more_labels[0][nearest]
    if more is None:
        why = untold(ranking.table, found, 0, nearest)
        return f"{label} more rows. How many would tell it from {rival} is not known: {why}."
    if more > MOST_LABELS:
        other = "a larger pool" if found.reads_pool else "a pool of rows without labels"
        return (
            f"Next: treat {names[0]} and {names[nearest]} as equal: it would take {labels(more)} to tell them apart. "
            f"More than labels, {other} or other models would help."
        )
    return f"{label} {labels(more)}, which would tell it from {rival} if the two go on to disagree as here."


def untold(table: ScoreTable, found: Decision, i: int, j: int) -> str:
    """Why it cannot be said how many more labels would tell the models at two places of the order apart."""
    if found.metric:
        return f"that is said of means, and {found.metric} is none"
    if found.reads_pool:
        if abs(found.p_beats[i][j] - 0.5) < NEARLY:
            return "labels and pool put them level, or nearly so"
        return "the pool has too few rows for it; more rows of the domain, labelled or not, would tell"
    won = table.better(found.names[i], found.names[j])
    if not won:
        return words(table.metric).same
    return f"each was {words(table.metric).did} on {counted(won, 'row')} on which the other was not"
