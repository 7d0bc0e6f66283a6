"""The answer on one screen: the models, the methods, and what was left out."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import pairwise
from string import ascii_letters

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ranker.backends import spelled
from ranker.numbers import counted, interval, percent, points, probability
from ranker.ranking import Ranking
from ranker.report.answer import answer, title, untold
from ranker.results import Decision
from ranker.statistics.pooled import RULES

WIDTH = 80

WIDE = Console(width=10_000, force_terminal=False, force_jupyter=False).options
"""Room for any table as wide as it would like to be."""

NAMES = ("model", "family", "kind", "tied", "better", "worse", "true label", "wrong")
"""Columns of names, beside the first."""

MATRIX = 10
"""The most models whose pairs are shown."""


def render(ranking: Ranking, columns: int = WIDTH) -> str:
    """The ranking as plain text: sentences are wrapped at so many columns, tables are made for a terminal of 80."""
    return written(parts(ranking), columns=columns)


def written(parts: Iterable[RenderableType], width: int = WIDTH, columns: int | None = None) -> str:
    """Plain text, whatever the environment says of colours; blanks at the ends of lines are cut.

    Args:
        parts: from top to bottom. Names are folded where a table is too wide, numbers are not.
        width: of tables, in characters.
        columns: where sentences are wrapped, if that is before the width.
    """
    console = Console(
        file=io.StringIO(), width=width, force_terminal=False, force_jupyter=False, no_color=True, highlight=False
    )
    show(parts, console, columns)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # the StringIO from above
    return "\n".join(plain(line).rstrip() for line in text.split("\n"))


def show(parts: Iterable[RenderableType], console: Console, columns: int | None = None) -> None:
    """Print the parts, from top to bottom, on a console of any width; sentences are wrapped at so many columns."""
    for part in parts:
        if isinstance(part, Table) and Measurement.get(console, WIDE, part).maximum > console.width:
            _squeeze(part)
        console.print(part, width=columns if isinstance(part, Text) else None)


def _squeeze(shown: Table) -> None:
    """Make columns of numbers as narrow as their numbers, with their names on several lines; names get what is left."""
    for column in shown.columns:
        if column.justify == "right":
            words = [*str(column.header).split(), *map(str, column.cells)]
            column.width = max(map(len, words))


def plain(line: str) -> str:
    """The line without what a terminal would obey instead of showing it: escapes, other controls, turned directions.

    Example:
        >>> plain("a\\x1b[31mb")
        'a\\ufffd[31mb'
    """
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in line)


def parts(ranking: Ranking) -> Iterator[RenderableType]:
    """The report's pieces, from top to bottom."""
    yield Text(title(ranking) + "\n", style="bold")
    lead, sentences = answer(ranking)
    *found, to_do = sentences or [""]
    yield Text("\n".join([lead, " ".join(found), to_do]) + "\n")
    if ranking.decision is None:
        yield models(ranking)
        yield Text()
        yield methods(ranking)
    else:
        yield order(ranking, ranking.decision)
        if len(ranking.models) <= MATRIX:
            yield Text()
            yield matrix(ranking.decision)
    yield Text()
    for remark in remarks(ranking):
        yield Text(f"- {remark}")


def remarks(ranking: Ranking) -> list[str]:
    """What a reader of the numbers has to know, and what is not in them, a sentence each."""
    first = notes(ranking) if ranking.decision is None else decision_notes(ranking, ranking.decision)
    return [*first, *ranking.notes, *losses(ranking)]


def order(ranking: Ranking, decision: Decision) -> Table:
    """The models in the predicted order; models that share a letter cannot be told apart."""
    shown = table("rank", "model", "tied", decision.method, "right", "95 % interval", "P(best)")
    groups = decision.groups
    for i, (name, model) in enumerate(zip(decision.models, ranking.models, strict=True)):
        letters = [letter for letter, group in zip(ascii_letters, groups, strict=False) if name in group]
        score = decision.scores[i]
        shown.add_row(
            str(model.rank),
            Text(name),
            "".join(letters),
            "" if score is None else f"{score:.3g}",
            percent(decision.accuracy[i]),
            interval(decision.low[i], decision.high[i]),
            probability(decision.p_best[i]),
        )
    return shown


def matrix(decision: Decision) -> Table:
    """P(the model of the row is more accurate than that of the column)."""
    shown = table("P(row > column)", *(str(i + 1) for i in range(len(decision.models))))
    for i, name in enumerate(decision.models):
        shown.add_row(
            Text(f"{i + 1} {name}"), *("" if i == j else probability(p) for j, p in enumerate(decision.p_beats[i]))
        )
    return shown


def decision_notes(ranking: Ranking, decision: Decision) -> Iterator[str]:
    """What a reader of a decision has to know."""
    yield (
        "right: share of the rows; interval, P(best) and P(row > column): accuracy in the domain, as far as these rows "
        f"tell. Models that share a letter are told apart with less than {decision.level:.0%} probability."
    )
    reasons = []
    for i, (a, b) in enumerate(pairwise(decision.models)):
        more = decision.more_labels[i][i + 1]
        if more:
            yield f"{a} or {b}: about {counted(more, 'more label')} would tell, if they go on to disagree as here."
        if more is None:
            reasons.append((f"{a} or {b}", untold(ranking, a, b)))
    for why, pairs in by_reason(reasons, "; ").items():
        yield f"{pairs}: how many more labels would tell cannot be said: {why}."


def models(ranking: Ranking) -> Table:
    """The models by their true rank."""
    known = any(model.misled is not None for model in ranking.models)
    shown = table("rank", "model", "family", "in-domain accuracy", "OOD accuracy", *(["misled"] if known else []))
    for model in ranking.models:
        shares = [model.in_domain_accuracy, model.ood_accuracy, *([model.misled] if known else [])]
        shown.add_row(str(model.rank), Text(model.name), Text(model.family), *map(percent, shares))
    return shown


def methods(ranking: Ranking, over_models: bool = False) -> Table:
    """Each method's few-shot accuracy, the best first within baselines and factors.

    Args:
        ranking: the evaluation.
        over_models: the interval over models, too, if there is any.
    """
    over_models = over_models and any(method.models_low is not None for method in ranking.methods)
    more = ["95 % interval over models"] if over_models else []
    shown = table("method", "kind", "few-shot accuracy", "95 % interval", "minus ACC", "95 % interval", *more)
    for kind in dict.fromkeys(method.kind for method in ranking.methods):
        alike = [method for method in ranking.methods if method.kind == kind]
        for method in sorted(alike, key=lambda m: -m.few_shot_accuracy):
            shown.add_row(
                Text(method.name + (" *" if method.designed else "")),
                kind,
                percent(method.few_shot_accuracy),
                interval(method.ci_low, method.ci_high),
                points(method.vs_acc),
                interval(method.vs_acc_low, method.vs_acc_high, points),
                *([interval(method.models_low, method.models_high)] if over_models else []),
            )
        shown.add_section()
    return shown


def notes(ranking: Ranking) -> Iterator[str]:
    """What a reader of the numbers has to know."""
    decided = len({(pair.a, pair.b) for pair in ranking.pair_results})
    exact = ranking.draws == "exact"
    drawn = "all draws there are (exact)" if exact else f"{counted(int(ranking.draws), 'draw')}, seed {ranking.seed}"
    apart = any(method.kind == "label-free" or method.name in RULES for method in ranking.methods)
    but = ", but for methods that see no label or chosen rows" if apart else ""
    yield (
        f"Few-shot accuracy: how often a method orders two models rightly from {counted(ranking.probe, 'example')}; "
        f"mean over {counted(decided, 'pair')}, {drawn}, from a population of {len(ranking.table.examples)}. A tie "
        "counts one half."
    )
    if ranking.tied_pairs:
        tied = counted(ranking.tied_pairs, "pair of equal OOD accuracy is", "pairs of equal OOD accuracy are")
        yield f"{tied} left out."
    if any(model.misled is not None for model in ranking.models):
        yield "misled: of the examples on which the shortcut is wrong, those on which a model gives its label."
    if any(method.designed for method in ranking.methods):
        yield f"* the factor designed for {ranking.ood}."
    yield f"Attributions: {attributed(ranking)}. Intervals: over other samples of examples; minus ACC: paired{but}."


def attributed(ranking: Ranking) -> str:
    """What words were scored by: the backend, with settings and number format where they are not the defaults."""
    backend, dtype = spelled(ranking.attribution, ranking.provenance.settings), ranking.provenance.dtype
    return backend if dtype in (None, "float32") else f"{backend} in {dtype}"


def losses(ranking: Ranking) -> Iterator[str]:
    """What is not in the numbers: examples, factors, models."""
    for method in ranking.methods:
        for reason, count in method.dropped.items():
            yield f"{method.name}: {counted(count, 'example')} dropped for all models ({reason})."
    for reason, names in by_reason(ranking.left_out.items()).items():
        yield f"Not in the table: {names} ({reason})."
    for model, found in ranking.quality.items():
        if found.over_tolerance:
            yield f"{model}: {counted(found.over_tolerance, 'attribution')} over the error tolerance."
        if found.truncated:
            yield f"{model}: {counted(found.truncated, 'example')} cut, being longer than its limit."
    for model, reason in ranking.failures.items():
        yield f"{model} FAILED: {reason}"


def by_reason(pairs: Iterable[tuple[str, str]], between: str = ", ") -> dict[str, str]:
    """Reason -> the names that it holds for, with something between them.

    Example:
        >>> by_reason([("CONF-H", "no label"), ("ARG", "no verb"), ("OVERLAP", "no label")])
        {'no label': 'CONF-H, OVERLAP', 'no verb': 'ARG'}
    """
    names: dict[str, list[str]] = {}
    for name, reason in pairs:
        names.setdefault(reason, []).append(name)
    return {reason: between.join(held) for reason, held in names.items()}


def table(*columns: str) -> Table:
    """An empty table without lines: names to the left, numbers to the right."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for i, column in enumerate(columns):
        # as text: a label or a factor's name may look like rich's markup
        shown.add_column(Text(column), justify="left" if i == 0 or column in NAMES else "right", overflow="fold")
    return shown
