"""The answer in words: what was ranked, what was found, how sure it is, and what to do next."""

from __future__ import annotations

from ranker.numbers import counted, interval, percent, points, probability
from ranker.results.ranking import Ranking
from ranker.results.records import Decision, level

NEXT = (
    "Next: `rank-models --data ROWS --models A B ...` chooses between models of your own; `rank-models explain` "
    "shows what these look at."
)

NEARLY = 0.05
"""Two models are nearly level where a probability of being the better one is this near to 1/2."""


def title(ranking: Ranking) -> str:
    """What was ranked on what, in a line."""
    return f"{ranking.suite} on {ranking.ood}: {len(ranking.models)} models, K = {ranking.probe}"


def answer(ranking: Ranking) -> tuple[str, list[str]]:
    """What was found, in a few words; then how sure it is, and what to do next, a sentence each."""
    return evaluated(ranking) if ranking.decision is None else decided(ranking, ranking.decision)


def evaluated(ranking: Ranking) -> tuple[str, list[str]]:
    """Which method ranks best, by how much over ACC, and which models are truly best."""
    if not ranking.methods:
        return "No method could be measured.", []
    # what sees no label is right or wrong about a suite as a whole, and nothing tells which beforehand
    advised = [method for method in ranking.methods if method.kind != "label-free"]
    best = max(advised, key=lambda method: method.few_shot_accuracy)
    shown = counted(ranking.probe, "example")
    if best.few_shot_accuracy <= 0.5:
        return f"Shown {shown}, no method does better than a coin", [_truly_best(ranking), NEXT]
    equal = [m.name for m in advised if level(best.few_shot_accuracy, m.few_shot_accuracy)]
    random = "random examples" if best.sees_chosen_rows else "the same examples"
    said = [
        f"Shown {shown}, {best.name} puts two of these models in their true order "
        f"{percent(best.few_shot_accuracy)} % of the time (95 % interval {interval(best.ci_low, best.ci_high)})."
    ]
    if len(equal) > 1:
        said.append(f"Equally good: {', '.join(name for name in equal if name != best.name)}.")
    if "ACC" in equal:
        said.append(f"Shown {shown}, no method does better than accuracy, ACC.")
    elif best.vs_acc is not None and best.vs_acc_low is not None and best.vs_acc_high is not None:
        may_be_none = "; this includes 0: ACC may do as well" if best.vs_acc_low <= 0 <= best.vs_acc_high else ""
        said.append(
            f"Against accuracy on {random}, ACC, that is {points(best.vs_acc)} points "
            f"(95 % interval {interval(best.vs_acc_low, best.vs_acc_high, points)}{may_be_none})."
        )
    if len(advised) > 1:
        said.append(
            f"It is the best of {len(advised)} methods after the fact, which flatters it: on another set, expect less."
        )
    said += [_truly_best(ranking), NEXT]
    return f"Best method: {best.name}", said


def _truly_best(ranking: Ranking) -> str:
    first = [model for model in ranking.models if model.rank == 1]
    names = ", ".join(model.name for model in first)
    return f"Truly best: {names} ({percent(first[0].ood_accuracy)} % right on {ranking.ood})."


def decided(ranking: Ranking, found: Decision) -> tuple[str, list[str]]:
    """Which model, how sure, who cannot be told apart, and how many more labels would tell."""
    names, best = found.models, taken(found)
    seen = "labels and pool" if found.reads_pool else "the labels"
    first = [model.name for model in ranking.models if model.rank == 1]
    put = f"puts {names[0]} first" if len(first) == 1 else f"ties {', '.join(first)} in first place"
    who = "It" if len(first) == 1 else names[best]
    but = f", but by {seen} {names[best]} is better. {names[best]}" if best else f". {who}"
    said = [
        f"{found.method} {put}{but} was right on {percent(found.accuracy[best])} % of the "
        f"{counted(ranking.probe, 'row')}; it is the most accurate in the domain with a probability of "
        f"{probability(found.p_best[best])} %."
    ]
    likeliest = max(range(len(names)), key=lambda i: found.p_best[i])
    # P(best) is drawn, P(A > B) is not: noise alone makes no model likelier
    if not level(found.p_best[likeliest], found.p_best[best]) and found.p_beats[likeliest][best] > 0.5:
        by = "By labels and pool together" if found.reads_pool else "By accuracy alone"
        said.append(f"{by} {names[likeliest]} is likelier to be, {probability(found.p_best[likeliest])} %.")
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
    return max(better, key=lambda i: found.p_best[i], default=0)


def next_step(ranking: Ranking, found: Decision) -> str:
    """What to do with a decision: take a model, or label more rows before."""
    names, best = found.models, taken(found)
    rivals = [j for j in range(len(names)) if j != best and not found.apart(best, j)]
    if not rivals:
        return f"Next: take {names[best]}."
    nearest = min(rivals, key=lambda j: found.p_beats[best][j])
    rival = names[nearest] if len(rivals) == 1 else f"{names[nearest]}, the nearest of {len(rivals)} rivals,"
    label = f"Next: take {names[best]}, or label"
    more = found.more_labels[best][nearest]
    if more is None:
        why = untold(ranking, names[best], names[nearest])
        return f"{label} more rows; how many would tell it from {rival} cannot be said: {why}."
    rows = counted(more, "more row")
    return f"{label} about {rows}, which would tell it from {rival} if the two go on to disagree as here."


def untold(ranking: Ranking, a: str, b: str) -> str:
    """Why it cannot be said how many more labels would tell two models apart."""
    found = ranking.decision
    if found is not None and found.reads_pool:
        if abs(found.p_beats[found.models.index(a)][found.models.index(b)] - 0.5) < NEARLY:
            return "labels and pool put them level, or nearly so"
        return "the pool has too few rows for it; more rows of the domain, labelled or not, would tell"
    table = ranking.table
    right = table.values[:, [method.name for method in table.methods].index("ACC")] > 0.5
    first, second = (right[table.models.index(name)] for name in (a, b))
    won = int((first & ~second).sum())
    if not won:
        return "they were right on the same rows"
    return f"each was right on {counted(won, 'row')} on which the other was not"
