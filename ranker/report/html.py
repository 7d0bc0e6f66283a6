"""The report to look at: one HTML file that needs nothing else, the answer first.

What is shown is worked out here; `template.html` says how it looks. All text goes through Jinja2's escaping, and the
page's own policy lets nothing run but its one script, and nothing be loaded.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from ranker.ranking import Decision, MethodResult, Ranking
from ranker.report import pairs, terminal
from ranker.report.content import Grid, grid, remarks, title
from ranker.report.terminal import percent, points

WIDTH, HEIGHT = 390, 250
LEFT, RIGHT, TOP, BOTTOM = 30, 110, 10, 34
"""Of the learning curve, in units of the drawing: its size, and the margins around its lines."""

LABEL = 13
"""Height of a line's name."""

LONGEST = 16
"""Characters of a name that fit beside its line."""


@dataclass(frozen=True)
class Shown:
    """A table of the page.

    Attributes:
        grid: its text.
        heat: cells from this column on are fractions that are coloured; None: none are.
        help: what its numbers are, a sentence or two.
        folded: it is shown on demand.
    """

    grid: Grid
    heat: int | None = None
    help: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Line:
    """A method's learning curve, in the units of the drawing.

    Attributes:
        name: of the method.
        colour: 0 for a line in the background, else the number of its colour.
        points: "x,y x,y ..."
        y: where its name stands.
    """

    name: str
    colour: int
    points: str
    y: float


@dataclass(frozen=True)
class Curve:
    """The drawing of all learning curves: (position, text) of ticks, and the lines."""

    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    lines: tuple[Line, ...]


def render(ranking: Ranking) -> str:
    """The ranking as one HTML page."""
    found = ranking.decision
    lead, answer = evaluated(ranking) if found is None else decided(ranking, found)
    return _template().render(
        title=title(ranking),
        lead=lead,
        answer=answer,
        tables=list(_evaluation_tables(ranking) if found is None else _decision_tables(found)),
        curve=curve(ranking.methods),
        size=(WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM),
        longest=LONGEST,
        remarks=remarks(ranking),
        provenance=_provenance(ranking),
    )


@cache
def _template() -> Template:
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"heat": heat, "sha256": _sha256}
    return environment.get_template("template.html")


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


# ---- the answer


def evaluated(ranking: Ranking) -> tuple[str, list[str]]:
    """Which method ranks best, by how much over ACC, and which models are truly best."""
    if not ranking.methods:
        return "No method could be measured.", []
    best = max(ranking.methods, key=lambda method: method.few_shot_accuracy)
    equal = [m.name for m in ranking.methods if best.few_shot_accuracy - m.few_shot_accuracy < 1e-12]
    answer = [
        f"Shown {ranking.probe} examples, {best.name} puts two of these models in their true order "
        f"{percent(best.few_shot_accuracy)} % of the time (95 % interval {_interval(best.ci_low, best.ci_high)})."
    ]
    if len(equal) > 1:
        answer.append(f"Equally good: {', '.join(equal[1:])}.")
    if "ACC" in equal:
        answer.append("No method does better than accuracy on the same examples, ACC.")
    elif best.vs_acc is not None and best.vs_acc_low is not None and best.vs_acc_high is not None:
        may_be_none = "; this includes 0: ACC may do as well" if best.vs_acc_low <= 0 <= best.vs_acc_high else ""
        answer.append(
            f"Against accuracy on the same examples, ACC, that is {points(best.vs_acc)} points "
            f"(95 % interval {points(best.vs_acc_low)} to {points(best.vs_acc_high)}{may_be_none})."
        )
    if len(ranking.methods) > 1:
        answer.append(
            f"It is the best of {len(ranking.methods)} methods after the fact, which flatters it: on another set, "
            "expect less."
        )
    first = [model for model in ranking.models if model.rank == 1]
    answer.append(
        f"Truly best: {', '.join(model.name for model in first)} "
        f"({percent(first[0].ood_accuracy)} % right on {ranking.ood})."
    )
    return f"Best method: {best.name}", answer


def decided(ranking: Ranking, found: Decision) -> tuple[str, list[str]]:
    """Which model, how sure, who cannot be told apart, and how many more labels would tell."""
    names = found.models
    answer = [
        f"{found.method} puts {names[0]} first. It was right on {percent(found.accuracy[0])} % of the "
        f"{ranking.probe} rows; it is the most accurate in the domain with a probability of "
        f"{percent(found.p_best[0])} %."
    ]
    likeliest = max(range(len(names)), key=lambda i: found.p_best[i])
    if found.p_best[likeliest] > found.p_best[0] + 1e-12:
        answer.append(f"By accuracy alone {names[likeliest]} is likelier to be, {percent(found.p_best[likeliest])} %.")
    alike = [", ".join(group) for group in found.groups if len(group) > 1]
    if alike:
        answer.append(f"Cannot be told apart: {'; nor '.join(alike)}.")
    else:
        answer.append(f"Every two models are told apart, with a probability of {found.level:.0%} or more.")
    if len(names) > 1:
        more = found.more_labels[0][1]
        if more is None:
            answer.append(f"How many more labels would tell {names[0]} from {names[1]} is not known.")
        elif more:
            answer.append(
                f"About {more:,} more labels would tell {names[0]} from {names[1]}, if they disagree as here."
            )
    return f"First choice: {names[0]}", answer


def _interval(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}"


# ---- tables


def _evaluation_tables(ranking: Ranking) -> Iterator[Shown]:
    yield Shown(
        grid("Methods", terminal.methods(ranking)),
        help="Percent of draws in which two models are put in their true order; minus ACC: percentage points.",
    )
    yield Shown(
        grid("Models", terminal.models(ranking)),
        help="Percent right, where the models were trained (in-domain) and on the whole of the new domain (OOD).",
    )
    yield Shown(
        grid("Every pair of models with every method", pairs.accuracies(ranking)),
        heat=3,
        help="Percent of draws in which the truly better model is put first; 50 is guessing. gap: between their OOD "
        "accuracies, in points.",
    )
    if any(method.splits for method in ranking.methods):
        yield Shown(
            grid("By kind of pair", pairs.splits(ranking)),
            help=f"near: OOD accuracies less than {percent(ranking.near)} points apart.",
        )
    if any(method.curve for method in ranking.methods):
        yield Shown(grid("Learning curve in numbers", pairs.curves(ranking)), help="A column a K.", folded=True)


def _decision_tables(found: Decision) -> Iterator[Shown]:
    yield Shown(
        grid("Order", terminal.order(found)),
        help="Models that share a letter cannot be told apart. right: percent of the rows; the interval, and P(best), "
        "are about accuracy in the domain.",
    )
    yield Shown(
        grid("How sure is the order of two models?", terminal.matrix(found)),
        heat=1,
        help="Percent probability that the model of the row is more accurate in the domain than that of the column; "
        "50 is no idea.",
    )
    yield Shown(
        grid("Two by two", pairs.decided(found)), help="more labels: how many would tell the two apart.", folded=True
    )


def heat(cell: str) -> int | None:
    """The shade of a percentage, 0 (always wrong) to 10 (always right), 5 none; None where there is no number.

    Example:
        >>> heat("91.2"), heat("50.0"), heat("")
        (9, 5, None)
    """
    return round(float(cell) / 10) if cell else None


def _provenance(ranking: Ranking) -> str:
    settings = {key: getattr(ranking, key) for key in ("mode", "suite", "ood", "attribution", "probe", "draws", "seed")}
    return json.dumps(settings | dict(ranking.provenance), indent=2, ensure_ascii=False)


# ---- the learning curve


def curve(methods: tuple[MethodResult, ...]) -> Curve | None:
    """Few-shot accuracy against K, on a logarithmic axis; None where it was not measured at two sizes.

    ACC, RANDOM, the best method and the designed factor have a colour and their name; the others are grey.
    """
    sizes = sorted({size for method in methods for size in method.curve})
    if len(sizes) < 2:
        return None
    low = min(math.floor(10 * value) / 10 for method in methods for value in method.curve.values())
    low = min(low, 0.9)  # a scale has an extent

    def x(size: int) -> float:
        share = math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0])
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        return round(TOP + (1 - value) / (1 - low) * (HEIGHT - TOP - BOTTOM), 1)

    names = _told_apart(methods)
    drawn = sorted(methods, key=lambda method: (method.name in names, method.name))  # colours over grey
    ends = {method.name: y(method.curve[max(method.curve)]) for method in drawn if method.curve}
    places = _apart([(ends[name], name) for name in names if name in ends])
    lines = (
        Line(
            name=method.name,
            colour=names.index(method.name) + 1 if method.name in names else 0,
            points=" ".join(f"{x(size)},{y(value)}" for size, value in sorted(method.curve.items())),
            y=places.get(method.name, 0.0),
        )
        for method in drawn
        if method.curve
    )
    step = 0.1 if low >= 0.4 else 0.2
    values = [1 - i * step for i in range(math.floor((1 - low) / step + 1e-9) + 1)]
    return Curve(
        x_ticks=tuple((x(size), str(size)) for size in sizes),
        y_ticks=tuple((y(value), f"{100 * value:.0f}") for value in values),
        lines=tuple(lines),
    )


def _told_apart(methods: tuple[MethodResult, ...]) -> list[str]:
    """The methods that have a colour: at most five."""
    best = max(methods, key=lambda method: method.few_shot_accuracy).name
    known = {method.name for method in methods}
    designed = [method.name for method in methods if method.designed]
    wanted = dict.fromkeys(["ACC", "RANDOM", best, *designed])
    return [name for name in wanted if name in known][:5]


def _apart(places: list[tuple[float, str]]) -> dict[str, float]:
    """Heights of names, each at its line's end or as little below as keeps them from lying on each other."""
    found: dict[str, float] = {}
    last = -math.inf
    for y, name in sorted(places):
        last = max(y, last + LABEL)
        found[name] = round(last, 1)
    return found
