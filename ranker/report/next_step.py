"""The next step of a decision, in a sentence or two: to take a model, or what would help most before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ranker.errors import listed
from ranker.numbers import Unit, counted, probability
from ranker.report.decision import answers_are_labels
from ranker.report.words import words_of
from ranker.results.choice import Choice
from ranker.results.decision import Decision, have_one_label
from ranker.results.ranking import Ranking
from ranker.results.result import NAMES

WIDE = 50
"""Ratio of the ends of a range of labels from which on it says nothing."""

LABELS = 10
"""Labels to give before the next look where no number is known."""

MAX_ROWS = 100
"""Labelled rows up to which rows without labels are advised: beside 50 they were measured to tell much."""


@dataclass(frozen=True)
class Worth:
    """Pairs of models in their true order by ten rows, in percent, as measured on real sets.

    Attributes:
        sets: their number, in words.
        answers: name of the answers that the rows have.
        alone: random rows without a pool.
        pool: the same with a pool of 300 rows.
        picked: rows that `label` picked from it.
    """

    sets: str
    answers: str
    alone: int
    pool: int
    picked: int


OF_LABELS = Worth("eleven", "labels", 67, 79, 84)
"""docs/results/labels.md, "Unrelated models"."""

OF_ANSWERS = Worth("nine", "references", 75, 83, 86)
"""docs/results/anchors.md."""

BY_MARKS, WITH_JUDGES = 87, 92
"""Pairs of models in their true order by ten marked rows, and with judges' marks of all: docs/results/judges.md."""


def next_step(ranking: Ranking, decision: Decision) -> str:
    """Advise one thing: what the choice says, or what would help most where there is none yet."""
    first, unit = decision.models[0], words_of(ranking).unit
    if decision.choice.verb != "none":
        losses = {model.name: model.shortfall or 0.0 for model in decision.models}
        return f"Next: {to_take(decision.choice, losses, unit)}"
    if not decision.confirmed:
        return "Next: mark ten rows yourself, drawn at random (--data): judges alone may be wrong."
    if first.name in decision.worse:
        return f"Next: look at rows that {first.name} has wrong. Their labels may be swapped, or of another column."
    if rival := decision.against:
        evidence, name = "labels and pool" if decision.reads_pool else "the labels", decision.names[rival]
        return (
            f"Next: look at the rows on which {first.name} and {name} differ. {decision.method} puts {first.name} "
            f"first, but by {evidence} {name} is better with a probability of "
            f"{probability(decision.p_beats[rival][0])} %."
        )
    if decision.scale and not decision.judges and ranking.compared <= MAX_ROWS:
        return (
            "Next: add a language model's marks of these rows and of others (--judge NAME=FILE). On four sets, ten "
            f"rows marked by people put {BY_MARKS} % of the pairs of models in their true order; with judges it was "
            f"{WITH_JUDGES} %."
        )
    of_labels = answers_are_labels(ranking)
    worth = OF_LABELS if of_labels else OF_ANSWERS
    readable = any(row.predicted for row in decision.rows) and (of_labels or not decision.metric)
    if readable and ranking.compared <= MAX_ROWS and decision.versus and decision.versus[0].clusters is None:
        own_rows = ranking.header.unlabelled if not decision.judges else 0
        rows = f"rows without {worth.answers} (--pool)"
        if own_rows:
            rows = f"the {counted(own_rows, 'row')} of your own without {worth.answers} (--pool-from-unlabelled)"
        return (
            f"Next: add {rows}. On {worth.sets} sets, ten {worth.answers} alone put "
            f"{worth.alone} % of the pairs of models in their true order; with a pool it was {worth.pool} %, and "
            f"{worth.picked} % where `rank-models label` picked the ten."
        )
    return f"Next: {_labelling(ranking, decision, worth, unit)}"


def to_take(choice: Choice, losses: Mapping[str, float], unit: Unit) -> str:
    """Say what to take, and what is expected to be lost by it.

    Args:
        choice: one that takes a model.
        losses: model -> what is expected to be lost by taking it.
        unit: of these.
    """
    chosen = choice.models if choice.verb == "any" else choice.models[:1]
    lost = f"{unit.difference(max(losses[name] for name in chosen)).lstrip('+')}{unit.points}"
    if choice.verb == "take":
        return f"take {chosen[0]}. It is expected to be {lost} below the best model."
    return f"take the cheapest of {listed(chosen, NAMES)}. Each is expected to be at most {lost} below the best model."


def _labelling(ranking: Ranking, decision: Decision, worth: Worth, unit: Unit) -> str:
    """Advise to label more rows, how many, and who picks them."""
    forecast = decision.forecast
    if forecast is None:
        reason = f"{decision.method} gives no forecast"
        if have_one_label(decision.rows):
            reason = "all labels are alike so far"
        elif decision.models[0].p_near_best is None:
            reason = "no row tells two models apart so far"
        return f"label more rows. How many cannot be said: {reason}."
    goal = f"{probability(forecast.goal, 0)} % sure which model is within {unit.point} of the best"
    picked = ""
    if decision.reads_pool:
        picked = (
            f" `rank-models label` picks those that tell most: on {worth.sets} sets, ten of them put {worth.picked} % "
            f"of the pairs in their true order, ten random ones {worth.pool} %."
        )
    if forecast.low is None:
        larger = "a larger pool" if decision.reads_pool else "labels of other rows"
        hardly = f" With {forecast.most:,} more labels of these it would hardly be {goal}." if forecast.most else ""
        return f"get {larger}.{hardly}"
    if forecast.high is None and forecast.low < forecast.most / WIDE:
        return f"label {counted(LABELS, 'more row')} and ask again. How many it takes cannot be said yet.{picked}"
    enough = f"{forecast.low:,} or more" if forecast.high is None else _ends(forecast.low, forecast.high)
    sure = "nine" if forecast.high is None else "eight"
    return f"label more rows. In {sure} of ten cases it takes {enough} until it is {goal}.{picked}"


def _ends(low: int, high: int) -> str:
    return f"{low:,} to {high:,}" if low < high else f"{low:,}"
