"""The answer in words: what was ranked, what was found, how sure it is, and what to do next."""

from __future__ import annotations

from ranker.numbers import counted, interval, percent, points, probability
from ranker.report.words import words
from ranker.results.ranking import Ranking
from ranker.results.records import Decision, Evaluation, level
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
    # what sees no label is right or wrong about a suite as a whole, and nothing tells which beforehand
    advised = [method for method in found.methods if method.kind != "label-free"]
    best = max(advised, key=lambda method: method.pairwise_accuracy)
    shown, metric = counted(ranking.header.probe, "example"), words(ranking.header.metric).fully
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
            f"It is the best of {len(advised)} methods after the fact, which flatters it: on another set, expect less."
        )
    said += [_truly_best(ranking, found), NEXT]
    return f"Best method: {best.name}", said


def _truly_best(ranking: Ranking, found: Evaluation) -> str:
    first = [model for model in found.models if model.rank == 1]
    names = ", ".join(model.name for model in first)
    return f"Truly best: {names} ({words(ranking.header.metric).share(first[0].outcome)} on {ranking.header.ood})."


def decided(ranking: Ranking, found: Decision) -> tuple[str, list[str]]:
    """Which model, how sure, who cannot be told apart, and how many more labels would tell."""
    names, best, of = found.names, taken(found), words(ranking.header.metric)
    seen = "labels and pool" if found.reads_pool else "the labels"
    first = [model.name for model in found.models if model.rank == 1]
    put = f"puts {names[0]} first" if len(first) == 1 else f"ties {', '.join(first)} in first place"
    who = "It" if len(first) == 1 else names[best]
    but = f", but by {seen} {names[best]} is better. {names[best]}" if best else f". {who}"
    p_best, rows = [model.p_best for model in found.models], counted(ranking.header.probe, "row")
    said = [
        f"{found.method} {put}{but} {of.on(found.models[best].outcome, rows)}; it is {of.most} in the domain "
        f"with a probability of {probability(p_best[best])} %."
    ]
    likeliest = max(range(len(names)), key=lambda i: p_best[i])
    # P(best) is drawn, P(A > B) is not: noise alone makes no model likelier
    if not level(p_best[likeliest], p_best[best]) and found.p_beats[likeliest][best] > 0.5:
        alone = f"By {of.what} alone"
        by = "By labels and pool together" if found.reads_pool else alone
        said.append(f"{by} {names[likeliest]} is likelier to be, {probability(p_best[likeliest])} %.")
    together = [", ".join(group) for group in found.groups if len(group) > 1]
    if together:
        said.append(f"Cannot be told apart: {'; nor '.join(together)}.")
    else:
        said.append(f"Every two models are told apart, with a probability of {found.level:.0%} or more.")
    said.append(next_step(ranking, found))
    return f"First choice: {names[best]}", said


def taken(found: Decision) -> int:
    """The place in the order of the model to take: the first, unless another is told from it as the better one."""
    better = [i for i, beats in enumerate(found.p_beats) if i and beats[0] >= found.level]
    return max(better, key=lambda i: found.models[i].p_best, default=0)


def next_step(ranking: Ranking, found: Decision) -> str:
    """What to do with a decision: take a model, or label more rows before."""
    names, best = found.names, taken(found)
    rivals = [j for j in range(len(names)) if j != best and not found.apart(best, j)]
    if not rivals:
        return f"Next: take {names[best]}."
    nearest = min(rivals, key=lambda j: found.p_beats[best][j])
    rival = names[nearest] if len(rivals) == 1 else f"{names[nearest]}, the nearest of {len(rivals)} rivals,"
    label = f"Next: take {names[best]}, or label"
    more = found.more_labels[best][nearest]
    if more is None:
        why = untold(ranking.table, found, best, nearest)
        return f"{label} more rows; how many would tell it from {rival} cannot be said: {why}."
    rows = counted(more, "more row")
    return f"{label} about {rows}, which would tell it from {rival} if the two go on to disagree as here."


def untold(table: ScoreTable, found: Decision, i: int, j: int) -> str:
    """Why it cannot be said how many more labels would tell the models at two places of the order apart."""
    if found.reads_pool:
        if abs(found.p_beats[i][j] - 0.5) < NEARLY:
            return "labels and pool put them level, or nearly so"
        return "the pool has too few rows for it; more rows of the domain, labelled or not, would tell"
    won = table.better(found.names[i], found.names[j])
    if not won:
        return words(table.metric).same
    return f"each was {words(table.metric).did} on {counted(won, 'row')} on which the other was not"
