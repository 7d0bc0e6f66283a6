"""The figures of models over many sets: ranks with intervals, critical differences, and trends."""

from __future__ import annotations

import re

import numpy as np
from matplotlib.ticker import MaxNLocator, PercentFormatter

from ranker.errors import listed
from ranker.numbers import counted, percent
from ranker.report.figures import BLUE, INK, SOFT, VERMILION, Drawing, empty, lines, short, styled
from ranker.report.trends import TYPES, joint_interval, set_name
from ranker.results.over_sets import OverSets, Trend
from ranker.results.result import NAMES

MOST = 40
"""Models that a figure of ranks has room for."""


def drawings(found: OverSets) -> list[Drawing]:
    """The figures that there is something for."""
    with styled():
        drawn = [ranks(found), critical_difference(found), *map(trend, found.trends)]
    return [one for one in drawn if one is not None]


def ranks(found: OverSets) -> Drawing | None:
    """Where each model may stand; None where no intervals are known."""
    models = [(one, one.low, one.high) for one in found.models if one.low is not None and one.high is not None][:MOST]
    if len(models) < 2:
        return None
    ends = [(one.model, low, high, one.rank) for one, low, high in models]
    figure, axes = lines(ends, "rank by the mean over tasks", 16, right=16, top=8)
    axes.set_xlim(0.5, len(found.models) + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    said = (f"{one.model} {one.rank}, {low} to {high}" for one, low, high in models)
    return Drawing(
        "ranks",
        "Where each model may stand",
        "The point: its rank by the mean over tasks; the line: 95 % of draws of tasks, and of rows where these are "
        "known.",
        f"Ranks of {counted(len(models), 'model')} with intervals: {'; '.join(said)}.",
        figure,
    )


def critical_difference(found: OverSets) -> Drawing | None:
    """Demsar's diagram: mean ranks, and bars over models that are not told apart; None without a test."""
    if found.test is None or len(found.models) > MOST:
        return None
    order = sorted(found.models, key=lambda one: one.friedman)
    mean, count = {one.model: one.friedman for one in order}, len(order)
    bars, half = len(found.test.groups), (count + 1) // 2
    figure, axes = empty(11 * half + 9 * bars + 70, left=100, right=100, bottom=6, top=30)
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
    reach = min(found.test.critical_difference, count - 1)
    axes.plot([1, 1 + reach], [24, 24], color=VERMILION, linewidth=1.6, clip_on=False)
    axes.text(1 + reach / 2, 26, f"CD {found.test.critical_difference:.2f}", ha="center", va="bottom", fontsize=8)
    for place, group in enumerate(found.test.groups):
        ends, height = [mean[group[0]], mean[group[-1]]], -9 * (place + 1) + 2
        axes.plot([ends[0] - 0.05, ends[1] + 0.05], [height] * 2, color=BLUE, linewidth=2.6, clip_on=False)
    for place, one in enumerate(order):
        left = place < half
        height = -(9 * bars + 11 * ((place if left else count - 1 - place) + 1))
        edge = 1 if left else count
        axes.plot([one.friedman] * 2 + [edge], [0, height, height], color=SOFT, linewidth=0.7, clip_on=False)
        text = f"{short(one.model, 17)} " if left else f" {short(one.model, 17)}"
        axes.text(edge, height, text, ha="right" if left else "left", va="center", fontsize=8)
    groups = "; ".join(listed(list(group), NAMES) for group in found.test.groups)
    return Drawing(
        "critical-difference",
        "Who differs from whom",
        "Models at their mean ranks over the tasks, the best at the left. Nemenyi's test does not tell models apart "
        "that share a bar: their mean ranks are less than the critical difference (CD) apart.",
        f"Mean ranks of {counted(count, 'model')}. Not told apart: {groups or 'none'}.",
        figure,
    )


def trend(one: Trend) -> Drawing | None:
    """Models by in-domain value and value on a set, with what was fitted; None where nothing was."""
    if not one.points:
        return None
    figure, axes = empty(280, left=42, right=16, bottom=36, top=10)
    known = [(point.x, point.y) for point in one.points if point.y is not None]
    x, y = (np.array(values) for values in zip(*known, strict=True))
    line = np.array([[point.x, point.expected, point.low, point.high] for point in one.points])
    axes.fill_between(line[:, 0], line[:, 2], line[:, 3], color=BLUE, alpha=0.12, linewidth=0)
    axes.plot(line[:, 0], line[:, 1], color=BLUE, linewidth=1.6)
    axes.scatter(x, y, 18, INK, alpha=0.7, linewidths=0, zorder=3)
    new = np.array([(point.x, point.expected) for point in one.points if point.y is None]).reshape(-1, 2)
    axes.scatter(new[:, 0], new[:, 1], 24, facecolors="none", edgecolors=VERMILION, zorder=3)
    low, high = min(x.min(), y.min()), max(x.max(), y.max())
    axes.plot([low, high], [low, high], color=SOFT, linewidth=0.8, linestyle=":", zorder=1)
    axes.set(xlabel="in-domain, %", ylabel=f"{short(one.set)}, %")
    for limit, axis, values in ((axes.set_xlim, axes.xaxis, line[:, :1]), (axes.set_ylim, axes.yaxis, line[:, 2:])):
        ends = np.r_[values.ravel(), y] if axis is axes.yaxis else values
        room = 0.04 * float(np.ptp(ends))
        limit(ends.min() - room, ends.max() + room)
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(PercentFormatter(1.0, symbol=""))
    name = TYPES[one.type] if one.type else "cannot be told"
    meet = f" They meet at {percent(one.joint)} % (95 % interval: {joint_interval(one)})."
    joint = "" if one.joint is None else meet
    return Drawing(
        f"trend-{_as_name(one)}",
        f"{one.set}: {name}",
        "A point a model. The line is the trend, the band holds 95 % of new models; hollow points are predicted. "
        "Dotted: as good as in-domain.",
        f"{counted(len(x), 'model')} by in-domain value and value on {one.set}; the trend is {name}.{joint}",
        figure,
    )


def _as_name(one: Trend) -> str:
    """Task and set, as a file's name and an id may have them."""
    return re.sub(r"[^a-z0-9]+", "-", set_name(one).casefold()).strip("-") or "set"
