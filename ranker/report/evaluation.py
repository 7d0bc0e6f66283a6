"""The tables of an evaluation: models, methods, and every pair of models with every method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from ranker.numbers import interval, percent, points, unit
from ranker.report.tables import Table, table
from ranker.report.words import MetricWords
from ranker.results.evaluation import FOLLOWS, Evaluation

NARROW = 6
"""Columns of methods that a terminal has room for."""


def tables(found: Evaluation, metric: str, of: MetricWords) -> Iterator[Table]:
    """All of them, each for the formats that have it; the terminal has the methods without the last columns."""
    by_method, every, curve, by_kind = methods(found, metric), accuracies(found), curves(found), splits(found, of)
    yield replace(by_method, formats=("html",))
    yield models(found, of)
    yield replace(by_method.of(range(NARROW)), formats=("table",))
    yield replace(by_method, formats=("markdown", "latex"))
    yield every
    yield replace(every, formats=("pairs",), help="")
    yield replace(curve, formats=("pairs",), help="Pairwise accuracy with a probe of K examples")
    yield replace(by_kind, formats=("pairs",), help=f"Pairwise accuracy by kind of pair; {by_kind.help[:-1]}")
    if any(method.splits for method in found.methods):
        yield by_kind
    if any(method.curve for method in found.methods):
        yield curve


def models(found: Evaluation, of: MetricWords) -> Table:
    """The models by their true rank."""
    known = ["misled"] if any(model.misled is not None for model in found.models) else []
    rows = [
        [
            *(str(model.rank), model.name, model.family),
            *(of.unit.value(model.in_domain), of.unit.value(model.outcome)),
            *(percent(model.misled) for _ in known),
        ]
        for model in found.models
    ]
    numbers = [f"in-domain {of.what}", f"OOD {of.what}", *known]
    right = of.what if found.metric else "Percent right"
    return table(
        *("Models", ["rank", "model", "family"], numbers, rows),
        help=f"{right}, where the models were trained (in-domain) and on the whole of the new domain (OOD). "
        "misled: percent of the examples on which the shortcut is wrong where a model gives its label.",
    )


def methods(found: Evaluation, metric: str) -> Table:
    """Each method's pairwise accuracy, the best first within its kind.

    The last columns are the standard error that few draws leave, and the interval over models, if there is any.
    """
    more = ["95 % interval over models"] if any(method.models_low is not None for method in found.methods) else []
    drawn = ["standard error of draws"] if any(method.draws for method in found.methods) else []
    kinds = Counter(method.kind for method in found.methods)
    place = list(kinds).index
    rows = [
        [
            *(method.name + (" *" if method.designed else ""), method.kind),
            *(percent(method.pairwise_accuracy), interval(method.ci_low, method.ci_high)),
            *(points(method.difference), interval(method.difference_low, method.difference_high, points)),
            *("" if method.draws_error is None else percent(method.draws_error) for _ in drawn),
            *(interval(method.models_low, method.models_high) for _ in more),
        ]
        for method in sorted(found.methods, key=lambda method: (place(method.kind), -method.pairwise_accuracy))
    ]
    numbers = ["pairwise accuracy", "95 % interval", f"minus {metric}", "95 % interval", *drawn, *more]
    return table(
        *("Methods", ["method", "kind"], numbers, rows),
        sections=kinds.values(),
        help=f"Percent of draws in which two models are put in their true order; minus {metric}: percentage points. "
        "The intervals are over other samples of examples; over models: over other models of this kind.",
    )


def accuracies(found: Evaluation) -> Table:
    """How often each method puts two models in their true order, the better one first."""
    names = [method.name for method in found.methods]
    by_pair: dict[tuple[str, str], dict[str, float]] = {}
    gaps, of = {}, unit(found.metric)
    for pair in found.pairs:
        by_pair.setdefault((pair.a, pair.b), {})[pair.method] = pair.accuracy
        gaps[pair.a, pair.b] = pair.gap
    shown = [
        (a, b, of.value(gaps[a, b]), *(percent(one.get(name)) for name in names)) for (a, b), one in by_pair.items()
    ]
    return table(
        *("Every pair of models with every method", ["better", "worse"], ["gap", *names], shown),
        help="Percent of draws in which the truly better model is put first; 50 is guessing. gap: between their OOD "
        f"{f'{found.metric} values' if found.metric else 'accuracies, in points'}.",
        formats=("html",),
        heat=3,
    )


def curves(found: Evaluation) -> Table:
    """Pairwise accuracy against K."""
    sizes = sorted({size for method in found.methods for size in method.curve})
    shown = [(method.name, *(percent(method.curve.get(size)) for size in sizes)) for method in found.methods]
    numbers = [str(size) for size in sizes]
    return table(
        *("Learning curve in numbers", ["method"], numbers, shown),
        help="A column a K.",
        formats=("html",),
        place="folded",
    )


def splits(found: Evaluation, of: MetricWords) -> Table:
    """Pairwise accuracy over parts of the pairs."""
    near = f"near: OOD {of.whats} less than {of.unit.value(found.near)}{of.unit.points} apart"
    misled = f"; misled: one of the two at least is, on {100 * FOLLOWS:.0f} % of the examples or more"
    known = any(model.misled is not None for model in found.models)
    named = list(dict.fromkeys(kind for method in found.methods for kind in method.splits))
    shown = []
    for method in found.methods:
        row = [method.pairwise_accuracy, *(method.splits.get(kind) for kind in named)]
        shown.append((method.name, *map(percent, row)))
    return table(
        *("By kind of pair", ["method"], ["all", *named], shown),
        help=f"{near}{misled if known else ''}.",
        formats=("html",),
    )
