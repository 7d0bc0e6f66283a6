"""Figures of models over many sets: ranks with intervals, critical differences, trends, and measures of sets."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from matplotlib.ticker import MaxNLocator, PercentFormatter

from ranker.domains.report.radar import radar
from ranker.domains.report.trends import TYPES, joint_interval, set_name
from ranker.domains.results.over_sets import OverSets, Trend
from ranker.errors import listed
from ranker.numbers import counted, percent
from ranker.report.figures import BLUE, INK, SOFT, VERMILION, Drawing, empty_axes, figure_style, lines, shorten
from ranker.results.result import NAMES

MAX_RANKED_MODELS = 40
"""Models that fit in a figure of ranks."""


def drawings(board: OverSets) -> list[Drawing]:
    """Draw the figures for which there is content."""
    with figure_style():
        drawn = [ranks(board), critical_difference(board), *map(trend, board.trends), *radars(board)]
    return [drawing for drawing in drawn if drawing is not None]


def radars(board: OverSets) -> Iterator[Drawing | None]:
    """Plot the measures of the sets of each level, or of all sets if there are no levels."""
    names = tuple(dict.fromkeys(name for numbers in board.measures.values() for name in numbers))
    for level, sets in (board.levels or {"": names}).items():
        title = f"Measures of sets: {level}" if level else "Measures of sets"
        yield radar(f"measures-{_as_name(level)}", title, board.measures, [name for name in sets if name in names])


def ranks(board: OverSets) -> Drawing | None:
    """Plot the interval of each model's rank; None if no intervals are known."""
    models = [(m, m.low, m.high) for m in board.models if m.low is not None and m.high is not None][:MAX_RANKED_MODELS]
    if len(models) < 2:
        return None
    ends = [(leader.model, low, high, leader.rank) for leader, low, high in models]
    figure, axes = lines(ends, "rank by the mean over tasks", 16, right=16, top=8)
    axes.set_xlim(0.5, len(board.models) + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    texts = (f"{leader.model} {leader.rank}, {low} to {high}" for leader, low, high in models)
    return Drawing(
        "ranks",
        "Ranks with intervals",
        "The point: its rank by the mean over tasks; the line: 95 % of draws of tasks, and of rows where these are "
        "known.",
        f"Ranks of {counted(len(models), 'model')} with intervals: {'; '.join(texts)}.",
        figure,
    )


def critical_difference(board: OverSets) -> Drawing | None:
    """Draw Demsar's diagram: mean ranks, and bars over models that are not told apart; None without a test."""
    if board.test is None or len(board.models) > MAX_RANKED_MODELS:
        return None
    order = sorted(board.models, key=lambda leader: leader.friedman)
    mean, count = {leader.model: leader.friedman for leader in order}, len(order)
    bars, half = len(board.test.groups), (count + 1) // 2
    figure, axes = empty_axes(11 * half + 9 * bars + 70, left=100, right=100, bottom=6, top=30)
    axes.set(xlim=(1, count), ylim=(-(bars * 9 + 11 * half + 16), 34))
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_yticks([])
    axes.tick_params(axis="x", top=False, bottom=False, labelbottom=False)
    axes.set_xticks([])
    axes.plot([1, count], [0, 0], color=INK, linewidth=0.8, clip_on=False)
    for tick in range(1, count + 1, 1 if count <= 12 else 2):
        axes.plot([tick, tick], [0, 3], color=INK, linewidth=0.8, clip_on=False)
        axes.text(tick, 5, str(tick), ha="center", va="bottom", fontsize=7)
    reach = min(board.test.critical_difference, count - 1)
    axes.plot([1, 1 + reach], [24, 24], color=VERMILION, linewidth=1.6, clip_on=False)
    axes.text(1 + reach / 2, 26, f"CD {board.test.critical_difference:.2f}", ha="center", va="bottom", fontsize=8)
    for place, group in enumerate(board.test.groups):
        ends, height = [mean[group[0]], mean[group[-1]]], -9 * (place + 1) + 2
        axes.plot([ends[0] - 0.05, ends[1] + 0.05], [height] * 2, color=BLUE, linewidth=2.6, clip_on=False)
    for place, leader in enumerate(order):
        left = place < half
        height = -(9 * bars + 11 * ((place if left else count - 1 - place) + 1))
        edge = 1 if left else count
        axes.plot([leader.friedman] * 2 + [edge], [0, height, height], color=SOFT, linewidth=0.7, clip_on=False)
        text = f"{shorten(leader.model, 17)} " if left else f" {shorten(leader.model, 17)}"
        axes.text(edge, height, text, ha="right" if left else "left", va="center", fontsize=8)
    groups = "; ".join(listed(list(group), NAMES) for group in board.test.groups)
    return Drawing(
        "critical-difference",
        "Critical differences",
        "Models at their mean ranks over the tasks, the best at the left. Nemenyi's test does not tell models on one "
        "bar apart: their mean ranks differ by less than the critical difference (CD).",
        f"Mean ranks of {counted(count, 'model')}. Not told apart: {groups or 'none'}.",
        figure,
    )


def trend(fit: Trend) -> Drawing | None:
    """Plot models by in-domain value and value on a set, with the fit; None without a fit."""
    if not fit.points:
        return None
    figure, axes = empty_axes(280, left=42, right=16, bottom=36, top=10)
    measured = [(point.x, point.y) for point in fit.points if point.y is not None]
    x, y = (np.array(values) for values in zip(*measured, strict=True))
    line = np.array([[point.x, point.expected, point.low, point.high] for point in fit.points])
    axes.fill_between(line[:, 0], line[:, 2], line[:, 3], color=BLUE, alpha=0.12, linewidth=0)
    axes.plot(line[:, 0], line[:, 1], color=BLUE, linewidth=1.6)
    axes.scatter(x, y, 18, INK, alpha=0.7, linewidths=0, zorder=3)
    new = np.array([(point.x, point.expected) for point in fit.points if point.y is None]).reshape(-1, 2)
    axes.scatter(new[:, 0], new[:, 1], 24, facecolors="none", edgecolors=VERMILION, zorder=3)
    low, high = min(x.min(), y.min()), max(x.max(), y.max())
    axes.plot([low, high], [low, high], color=SOFT, linewidth=0.8, linestyle=":", zorder=1)
    axes.set(xlabel="in-domain, %", ylabel=f"{shorten(fit.set)}, %")
    for limit, axis, values in ((axes.set_xlim, axes.xaxis, line[:, :1]), (axes.set_ylim, axes.yaxis, line[:, 2:])):
        ends = np.r_[values.ravel(), y] if axis is axes.yaxis else values
        room = 0.04 * float(np.ptp(ends))
        limit(ends.min() - room, ends.max() + room)
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(PercentFormatter(1.0, symbol=""))
    name = TYPES[fit.type] if fit.type else "cannot be told"
    meet = f" They meet at {percent(fit.joint)} % (95 % interval: {joint_interval(fit)})."
    joint = "" if fit.joint is None else meet
    return Drawing(
        f"trend-{_as_name(set_name(fit))}",
        f"{fit.set}: {name}",
        "A point for each model. The line is the trend, the band holds 95 % of new models; hollow points are "
        "predicted. Dotted: as good as in-domain.",
        f"{counted(len(x), 'model')} by in-domain value and value on {fit.set}; the trend is {name}.{joint}",
        figure,
    )


def _as_name(text: str) -> str:
    """Return a name in a form fit for a file name or an id."""
    return re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-") or "set"
