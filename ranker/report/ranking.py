"""Report of a ranking: the answer, its tables, figures and remarks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ranker.numbers import counted, probability, unit
from ranker.report import decision, evaluation, parts
from ranker.report.answer import answer
from ranker.report.document import Document, Origin
from ranker.report.remarks import remarks
from ranker.report.tables import READ, Table, group_numbers, table
from ranker.report.words import words_of
from ranker.results.agreement import Agreement
from ranker.results.decision import Decision
from ranker.results.evaluation import Evaluation
from ranker.results.ranking import Ranking

if TYPE_CHECKING:
    from ranker.report.figures import Drawing
    from ranker.results.explanation import Explanation

PAPER = (
    "Singhal, Forristal, Ye and Durrett (2022), Assessing Out-of-Domain Language Model Performance from Few Examples"
)

METHOD_FIELDS = (
    *("name", "kind", "designed", "pairwise_accuracy", "ci_low", "ci_high", "models_low", "models_high"),
    *("difference", "difference_low", "difference_high", "draws", "draws_error"),
)
"""Fields of `MethodResult` that are columns of the CSV."""


def document(ranking: Ranking) -> Document:
    """Build the document of the ranking."""
    lead, sentences = answer(ranking)
    *statements, to_do = sentences
    return Document(
        title=ranking.title,
        tables=list(tables(ranking)),
        remarks=remarks(ranking),
        rows=list(_rows(ranking)),
        content=ranking.to_dict,
        lead=lead,
        answer=[" ".join(statements), *_comparison(ranking), to_do],
        heading=_heading(ranking),
        first=[*_certainty(ranking.found), to_do] if isinstance(ranking.found, Decision) else (),
        drawn=partial(_drawings, ranking),
        examples=_examples(ranking),
        lists=lambda: {"p_beats": ranking.found.p_beats} if isinstance(ranking.found, Decision) else {},
        origin=Origin(ranking.header.provenance.command, _settings(ranking), citation(ranking)),
    )


def _examples(ranking: Ranking) -> list[Explanation]:
    """Return the explanations, with the models in their order."""
    names = [model.name for model in ranking.found.models]
    return [
        replace(example, readings=tuple(sorted(example.readings, key=lambda reading: names.index(reading.name))))
        for example in ranking.examples
    ]


def _heading(ranking: Ranking) -> str:
    """Return the title of a page: models and rows, with their numbers."""
    header, noun = ranking.header, "labelled row" if isinstance(ranking.found, Decision) else "example"
    by = "by" if isinstance(ranking.found, Decision) else "from"
    models = counted(len(ranking.found.models), "model")
    return f"{header.suite} on {header.ood}: {models}, {by} {counted(ranking.compared, noun)}"


def _certainty(decision: Decision) -> Iterator[str]:
    """Yield the probability that the first model is good enough, where it is known."""
    first = decision.models[0]
    if first.p_near_best is not None:
        point = unit(decision.metric).point
        yield (
            f"Probability that no other model is better than {first.name} by more than {point}: "
            f"{probability(first.p_near_best)} %."
        )


def tables(ranking: Ranking) -> Iterator[Table]:
    """Yield the result, attribution quality and omissions, each table for the formats that show it."""
    outcome = ranking.found
    if isinstance(outcome, Evaluation):
        yield from evaluation.tables(outcome, ranking.header.metric, words_of(ranking))
    else:
        yield from decision.tables(ranking, outcome)
    if ranking.parts:
        yield from parts.tables(ranking.parts, words_of(ranking))
    if ranking.agreement:
        yield agreement(ranking.agreement)
        yield from orders(ranking)
    if any(model.error_median is not None for model in ranking.header.quality.values()):
        yield quality(ranking)
    left_out = list(_left_out(ranking))
    if left_out:
        yield table(
            *("Omissions", ["method", "examples", "reason"], [], left_out),
            help="If a method cannot be computed on an example for one model, the example is left out for all models. "
            "A method that cannot apply is left out entirely.",
            formats=("html",),
            place="end",
        )


def _drawings(ranking: Ranking) -> Sequence[Drawing]:
    from ranker.report import figures  # and matplotlib with it

    return figures.drawings(ranking, figures.OF_A_PAGE)


def _comparison(ranking: Ranking) -> list[str]:
    """Return the sentence on the parts of models, if they differ in two."""
    return [text for text in [parts.comparison(ranking.parts) if ranking.parts else ""] if text]


def _rows(ranking: Ranking) -> Iterator[dict[str, Any]]:
    """Yield a row for each method of an evaluation, or each model of a decision, with the keys of the run."""
    run = {key: getattr(ranking.header, key) for key in ("suite", "ood", "metric", "attribution", "probe")}
    outcome, model_parts = ranking.found, ranking.parts.parts if ranking.parts else ()
    if isinstance(outcome, Evaluation):
        yield from (run | {field: getattr(method, field) for field in METHOD_FIELDS} for method in outcome.methods)
        return
    groups_of = group_numbers(outcome.groups)
    for model in outcome.models:
        # two models that share a group cannot be told apart
        groups = [str(group) for group in groups_of[model.name]]
        numbers = {key: getattr(model, key) for key in ("score", "outcome", "low", "high", "p_best", "p_near_best")}
        place = {"rank": model.rank, "name": model.name, "groups": " ".join(groups), "method": outcome.method}
        levels = {
            f"part_{part.name}": next((level.name for level in part.levels if model.name in level.models), None)
            for part in model_parts
        }
        yield run | place | numbers | levels


def quality(ranking: Ranking) -> Table:
    """Tabulate the backend's own measure of error for each model, and its rows over tolerance or cut."""
    rows = []
    for model, errors_of in ranking.header.quality.items():
        errors = ("" if error is None else f"{error:.2g}" for error in (errors_of.error_median, errors_of.error_high))
        rows.append((model, *errors, f"{errors_of.over_tolerance}", f"{errors_of.truncated}"))
    provenance = ranking.header.provenance
    return table(
        "Attribution quality",
        ["model"],
        ["median error", "95 % are below", "over tolerance", "cut at its limit"],
        rows,
        help=f"Error: {provenance.error or 'unknown'}. Tolerance: {provenance.settings.get('tolerance')}.",
        formats=("html",),
        place="end",
    )


def agreement(pairs: Sequence[Agreement]) -> Table:
    """Tabulate how far attribution backends agree, on words and on models by each factor."""
    factors = list(dict.fromkeys(name for pair in pairs for name in pair.models))
    return table(
        "Agreement of attributions",
        ["backends"],
        ["words", *factors],
        (
            (f"{pair.a}, {pair.b}", *map(_correlation, (pair.words, *(pair.models.get(name) for name in factors))))
            for pair in pairs
        ),
        help="Rank correlations (Spearman's rho): of the scores of a row's words, averaged over rows and models; and "
        "of the models' mean values by a factor.",
    )


def orders(ranking: Ranking) -> Iterator[Table]:
    """Tabulate the models' places by each backend, a table for each factor; only pages have all of an evaluation."""
    columns: dict[str, dict[str, str]] = {}
    signs = {factor.name: 1 if factor.higher_is_better else -1 for factor in ranking.table.factors}
    for column in signs:
        name, _, backend = column.partition("@")
        columns.setdefault(name, {})[backend.casefold() or ranking.agreement[0].a] = column
    methods = ranking.found.methods if isinstance(ranking.found, Evaluation) else ()
    in_text = [method.name for method in methods if method.designed] or columns
    for name, by in columns.items():
        places = [_places(ranking, column, signs[column]) for column in by.values()]
        if len(by) > 1:
            yield table(
                f"Places by {name}",
                ["model"],
                [f"{name} by {backend}" for backend in by],
                ((model.name, *(places_by[model.name] for places_by in places)) for model in ranking.found.models),
                help=f"The models' places by their mean value of {name}, from the attributions of each backend.",
                formats=READ if name in in_text else ("html",),
            )


def _places(ranking: Ranking, column: str, sign: int) -> dict[str, str]:
    """Return the place of each model by its mean value in a column; "" without one. Equal models share a place."""
    values = {model.name: model.scores.get(column) for model in ranking.found.models}
    signed = {name: round(sign * value, 12) for name, value in values.items() if value is not None}
    ordered = sorted(signed.values(), reverse=True)
    return {name: f"{1 + ordered.index(signed[name])}" if name in signed else "" for name in values}


def _correlation(rho: float | None) -> str:
    return "" if rho is None else f"{rho:.2f}"


def _left_out(ranking: Ranking) -> Iterator[tuple[str, str, str]]:
    for method in ranking.table.methods:
        for reason, count in ranking.table.dropped.get(method.name, {}).items():
            yield method.name, f"{count}", reason
    for name, reason in ranking.header.left_out.items():
        yield name, "all", reason


def citation(ranking: Ranking) -> str:
    """Return the program, in the version of the run, and the paper of its method."""
    version = ranking.header.provenance.versions.get("rank-models")
    return f"{' '.join(filter(None, ('rank-models', version)))}; the method: {PAPER}."


def _settings(ranking: Ranking) -> str:
    header = {key: getattr(ranking.header, key) for key in ("suite", "ood", "metric", "attribution", "probe", "seed")}
    draws = {} if isinstance(ranking.found, Decision) else {"draws": ranking.found.draws}
    provenance = replace(ranking.header.provenance, command=None)
    return json.dumps({"mode": ranking.mode} | header | draws | provenance.to_dict(), indent=2, ensure_ascii=False)
