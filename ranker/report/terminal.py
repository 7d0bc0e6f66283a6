"""The answer on one screen: the models, the methods, and what was left out."""

from __future__ import annotations

import io
from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ranker.ranking import Ranking

WIDTH = 100


def render(ranking: Ranking) -> str:
    """The ranking as plain text, for a terminal of 80 columns or more."""
    console = Console(file=io.StringIO(), width=WIDTH, no_color=True, highlight=False)
    for part in parts(ranking):
        console.print(part)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # the StringIO from above
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def parts(ranking: Ranking) -> Iterator[RenderableType]:
    """The report's pieces, from top to bottom."""
    yield Text(f"{ranking.suite} on {ranking.ood}: {len(ranking.models)} models, K = {ranking.probe}\n", style="bold")
    yield models(ranking)
    yield Text()
    yield methods(ranking)
    yield Text()
    for note in notes(ranking):
        yield Text(f"- {note}")


def models(ranking: Ranking) -> Table:
    """The models by their true rank."""
    table = _table("rank", "model", "family", "OOD accuracy")
    for model in ranking.models:
        table.add_row(str(model.rank), Text(model.name), Text(model.family), percent(model.ood_accuracy))
    return table


def methods(ranking: Ranking) -> Table:
    """Each method's few-shot accuracy, the best first within baselines and factors."""
    table = _table("method", "kind", "few-shot accuracy", "95 % interval", "minus ACC", "95 % interval")
    for kind in dict.fromkeys(method.kind for method in ranking.methods):
        alike = [method for method in ranking.methods if method.kind == kind]
        for method in sorted(alike, key=lambda m: -m.few_shot_accuracy):
            table.add_row(
                Text(method.name + (" *" if method.designed else "")),
                kind,
                percent(method.few_shot_accuracy),
                f"{percent(method.ci_low)} to {percent(method.ci_high)}",
                points(method.vs_acc),
                "" if method.vs_acc is None else f"{points(method.vs_acc_low)} to {points(method.vs_acc_high)}",
            )
        table.add_section()
    return table


def notes(ranking: Ranking) -> Iterator[str]:
    """What a reader of the numbers has to know."""
    decided = len({(pair.a, pair.b) for pair in ranking.pair_results})
    drawn = "all draws there are (exact)" if ranking.draws == "exact" else f"{ranking.draws} draws, seed {ranking.seed}"
    yield (
        f"Few-shot accuracy: how often a method orders two models rightly from {ranking.probe} examples; mean over "
        f"{decided} pairs, {drawn}, from a population of {len(ranking.table.examples)}. A tie counts one half."
    )
    if ranking.tied_pairs:
        yield f"{ranking.tied_pairs} pairs of equal OOD accuracy are left out."
    if any(method.designed for method in ranking.methods):
        yield f"* the factor designed for {ranking.ood}."
    yield f"Attributions: {ranking.attribution}. Intervals: over other samples of examples; minus ACC: paired."
    yield from ranking.notes
    for method in ranking.methods:
        for reason, count in method.dropped.items():
            yield f"{method.name}: {count} examples dropped for all models ({reason})."
    for name, reason in ranking.provenance.get("left_out", {}).items():
        yield f"{name} is not in the table: it {reason}."
    for model, counts in ranking.provenance.get("quality", {}).items():
        if counts["over_tolerance"]:
            yield f"{model}: {counts['over_tolerance']} attributions are over their error tolerance."
        if counts["truncated"]:
            yield f"{model}: {counts['truncated']} examples are longer than its limit, and were cut."
    for model, reason in ranking.failures.items():
        yield f"{model} FAILED: {reason}"


def percent(value: float | None) -> str:
    """A fraction as a percentage with one decimal.

    Example:
        >>> percent(0.9125)
        '91.2'
    """
    return "" if value is None else f"{100 * value:.1f}"


def points(value: float | None) -> str:
    """A difference of two fractions, in percentage points, signed.

    Example:
        >>> points(-0.031)
        '-3.1'
    """
    return "" if value is None else f"{100 * value:+.1f}"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 or column in ("model", "family", "kind") else "right")
    return table
