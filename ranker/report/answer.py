"""The answer in words: what was ranked, what was found, how sure it is, and what to do next."""

from __future__ import annotations

from ranker.ranking import Decision, Ranking
from ranker.report.numbers import percent, points


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
    equal = [m.name for m in advised if best.few_shot_accuracy - m.few_shot_accuracy < 1e-12]
    said = [
        f"Shown {ranking.probe} examples, {best.name} puts two of these models in their true order "
        f"{percent(best.few_shot_accuracy)} % of the time (95 % interval {_interval(best.ci_low, best.ci_high)})."
    ]
    if len(equal) > 1:
        said.append(f"Equally good: {', '.join(equal[1:])}.")
    if "ACC" in equal:
        said.append("No method does better than accuracy on the same examples, ACC.")
    elif best.vs_acc is not None and best.vs_acc_low is not None and best.vs_acc_high is not None:
        may_be_none = "; this includes 0: ACC may do as well" if best.vs_acc_low <= 0 <= best.vs_acc_high else ""
        said.append(
            f"Against accuracy on the same examples, ACC, that is {points(best.vs_acc)} points "
            f"(95 % interval {points(best.vs_acc_low)} to {points(best.vs_acc_high)}{may_be_none})."
        )
    if len(advised) > 1:
        said.append(
            f"It is the best of {len(advised)} methods after the fact, which flatters it: on another set, expect less."
        )
    first = [model for model in ranking.models if model.rank == 1]
    said.append(
        f"Truly best: {', '.join(model.name for model in first)} "
        f"({percent(first[0].ood_accuracy)} % right on {ranking.ood})."
    )
    said.append(
        "Next: `rank-models --data ROWS --models A B ...` chooses between models of your own; `rank-models explain` "
        "shows what these look at."
    )
    return f"Best method: {best.name}", said


def decided(ranking: Ranking, found: Decision) -> tuple[str, list[str]]:
    """Which model, how sure, who cannot be told apart, and how many more labels would tell."""
    names = found.models
    said = [
        f"{found.method} puts {names[0]} first. It was right on {percent(found.accuracy[0])} % of the "
        f"{ranking.probe} rows; it is the most accurate in the domain with a probability of "
        f"{percent(found.p_best[0])} %."
    ]
    likeliest = _likeliest(found)
    if found.p_best[likeliest] > found.p_best[0] + 1e-12:
        said.append(f"By accuracy alone {names[likeliest]} is likelier to be, {percent(found.p_best[likeliest])} %.")
    alike = [", ".join(group) for group in found.groups if len(group) > 1]
    if alike:
        said.append(f"Cannot be told apart: {'; nor '.join(alike)}.")
    else:
        said.append(f"Every two models are told apart, with a probability of {found.level:.0%} or more.")
    said.append(next_step(found))
    return f"First choice: {names[0]}", said


def next_step(found: Decision) -> str:
    """What to do with a decision: take the first model, or label more rows before; or believe the labels instead."""
    first, *others = found.models
    likeliest = _likeliest(found)
    if likeliest and any(beats[0] >= found.level for beats in found.p_beats):
        return f"Next: take {found.models[likeliest]}; the labels tell it from {first}, whatever {found.method} says."
    more = found.more_labels[0][1] if others else 0
    if more == 0:
        return f"Next: take {first}."
    if more is None:
        return f"Next: take {first}, or label more rows; how many would tell it from {others[0]} is not known."
    return (
        f"Next: take {first}, or label about {more:,} more rows, which would tell it from {others[0]} if the two go on "
        "to disagree as here."
    )


def _likeliest(found: Decision) -> int:
    """The place of the model that is most probably the best, going by the labels."""
    return max(range(len(found.models)), key=lambda i: found.p_best[i])


def _interval(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}"
