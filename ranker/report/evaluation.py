"""Tables of an evaluation: models, methods, and every pair of models with every method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ranker.numbers import interval, percent, points, unit
from ranker.report.tables import Table, table
from ranker.report.words import MISLED, MetricWords, words_of
from ranker.results.evaluation import FOLLOWS, Evaluation
from ranker.results.ranking import Ranking

TERMINAL_COLUMNS = 6
"""Columns of methods that fit on a terminal."""


METHOD_FIELDS = (
    *("name", "kind", "designed", "pairwise_accuracy", "ci_low", "ci_high", "models_low", "models_high"),
    *("difference", "difference_low", "difference_high", "draws", "draws_error"),
)
"""Fields of `MethodResult` that are columns of the CSV."""


def rows(ranking: Ranking) -> Iterator[dict[str, Any]]:
    """Yield a row for each method."""
    for method in ranking.evaluation.methods:
        yield {field: getattr(method, field) for field in METHOD_FIELDS}


def tables(ranking: Ranking) -> Iterator[Table]:
    """Yield all tables for the formats that show them; the terminal has the methods without the last columns."""
    evaluation, metric, terms = ranking.evaluation, ranking.header.metric, words_of(ranking)
    by_method, all_pairs = methods(evaluation, metric), accuracies(evaluation)
    curve, by_kind = curves(evaluation), splits(evaluation, terms)
    yield replace(by_method, formats=("html",))
    yield models(evaluation, terms)
    yield replace(by_method.select_columns(range(TERMINAL_COLUMNS)), formats=("table",))
    yield replace(by_method, formats=("markdown", "latex"))
    yield all_pairs
    yield replace(all_pairs, formats=("pairs",), help="")
    yield replace(curve, formats=("pairs",), help="Pairwise accuracy with a probe of K examples")
    yield replace(by_kind, formats=("pairs",), help=f"Pairwise accuracy by kind of pair; {by_kind.help[:-1]}")
    if any(method.splits for method in evaluation.methods):
        yield by_kind
    if any(method.curve for method in evaluation.methods):
        yield curve


def models(evaluation: Evaluation, terms: MetricWords) -> Table:
    """Tabulate the models by their true rank."""
    rows = [
        [
            *(str(model.rank), model.name, model.family),
            *(terms.unit.value(model.in_domain), terms.unit.value(model.outcome), percent(model.misled)),
        ]
        for model in evaluation.models
    ]
    numbers = [f"in-domain {terms.what}", f"OOD {terms.what}", "misled"]
    right = terms.what if evaluation.metric else "Percent right"
    return table(
        *("Models", ["rank", "model", "family"], numbers, rows),
        help=f"{right} in-domain, and on all rows of the new domain (OOD). {MISLED}.",
    ).without_empty("misled")


def methods(evaluation: Evaluation, metric: str) -> Table:
    """Tabulate each method's pairwise accuracy, the best first within its kind.

    The last columns, if any, are the standard error of few draws and the interval over models.
    """
    optional = ["standard error of draws", "95 % interval over models"]
    kinds = Counter(method.kind for method in evaluation.methods)
    place = list(kinds).index
    rows = [
        [
            *(method.name + (" *" if method.designed else ""), method.kind),
            *(percent(method.pairwise_accuracy), interval(method.ci_low, method.ci_high)),
            *(points(method.difference), interval(method.difference_low, method.difference_high, points)),
            *(percent(method.draws_error), interval(method.models_low, method.models_high)),
        ]
        for method in sorted(evaluation.methods, key=lambda method: (place(method.kind), -method.pairwise_accuracy))
    ]
    numbers = ["pairwise accuracy", "95 % interval", f"minus {metric}", "95 % interval", *optional]
    return table(
        *("Methods", ["method", "kind"], numbers, rows),
        sections=kinds.values(),
        help=f"Percent of draws that put two models in their true order; minus {metric}: percentage points. "
        "The intervals are over other samples of examples; over models: over other models of this kind.",
    ).without_empty(*optional)


def accuracies(evaluation: Evaluation) -> Table:
    """Tabulate how often each method puts two models in their true order, the better one first."""
    names = [method.name for method in evaluation.methods]
    by_pair: dict[tuple[str, str], dict[str, float]] = {}
    gaps, value = {}, unit(evaluation.metric).value
    for pair in evaluation.pairs:
        by_pair.setdefault((pair.a, pair.b), {})[pair.method] = pair.accuracy
        gaps[pair.a, pair.b] = pair.gap
    rows = [
        (a, b, value(gaps[a, b]), *(percent(by_method.get(name)) for name in names))
        for (a, b), by_method in by_pair.items()
    ]
    return table(
        *("Every pair of models with every method", ["better", "worse"], ["gap", *names], rows),
        help="Percent of draws that put the truly better model first; 50 is guessing. gap: between their OOD "
        f"{f'{evaluation.metric} values' if evaluation.metric else 'accuracies, in points'}.",
        formats=("html",),
        heat=3,
    )


def curves(evaluation: Evaluation) -> Table:
    """Tabulate pairwise accuracy against K."""
    sizes = sorted({size for method in evaluation.methods for size in method.curve})
    rows = [(method.name, *(percent(method.curve.get(size)) for size in sizes)) for method in evaluation.methods]
    numbers = [str(size) for size in sizes]
    return table(
        *("Learning curve in numbers", ["method"], numbers, rows),
        help="A column for each K.",
        formats=("html",),
        place="folded",
    )


def splits(evaluation: Evaluation, terms: MetricWords) -> Table:
    """Tabulate pairwise accuracy over parts of the pairs."""
    near = f"near: OOD {terms.whats} less than {terms.unit.value(evaluation.near)}{terms.unit.points} apart"
    misled = f"; misled: at least one of the two is, on {100 * FOLLOWS:.0f} % of the examples or more"
    has_misled = any(model.misled is not None for model in evaluation.models)
    kinds = list(dict.fromkeys(kind for method in evaluation.methods for kind in method.splits))
    rows = []
    for method in evaluation.methods:
        row = [method.pairwise_accuracy, *(method.splits.get(kind) for kind in kinds)]
        rows.append((method.name, *map(percent, row)))
    return table(
        *("By kind of pair", ["method"], ["all", *kinds], rows),
        help=f"{near}{misled if has_misled else ''}.",
        formats=("html",),
    )
