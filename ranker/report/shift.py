"""How far domains are from each other: the answer, its tables and remarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ranker.numbers import interval, p_value, percent, points, signed
from ranker.report.document import Document
from ranker.report.tables import Table, table
from ranker.report.words import words
from ranker.results.shift import Shift

if TYPE_CHECKING:
    from ranker.report.figures import Drawing

MEASURES = {
    "cosine": "cosine of centroids, words",
    "mmd": "MMD^2, words",
    "encoder_cosine": "cosine of centroids, encoder",
    "encoder_mmd": "MMD^2, encoder",
    "auc": "AUC of a classifier",
    "word_overlap": "word overlap",
    "vocabulary_overlap": "vocabulary overlap",
    "length_ratio": "length, times",
    "label_shift": "shift of labels",
    "repeated": "texts that repeat one",
    "nearly_repeated": "texts that nearly do",
}
"""Measure -> what a table calls it."""

PERCENT = (
    *("auc", "word_overlap", "vocabulary_overlap", "label_shift", "repeated", "nearly_repeated"),
    *("document_diversity", "summary_diversity", "coverage", "abstractiveness"),
)
"""Those that are shares, and shown in percent."""

SUMMARY = {"cosine": "cosine", "mmd": "MMD^2", "auc": "AUC %", "word_overlap": "words %", "label_shift": "labels %"}
"""Those of the first table -> the heads of their columns."""

READING = (
    "near: as two halves of one set that comes with the product; far: as two sets of one task; other: as sets of two "
    "tasks. The nearest of these pairs by MMD^2 of words decides."
)


def document(found: Shift) -> Document:
    """What was found, before any format."""
    return Document(
        title=found.title,
        tables=tables(found),
        remarks=list(_remarks(found)),
        rows=found.to_rows(),
        content=found.to_dict(),
        answer=list(_answer(found)),
        drawn=partial(_drawings, found),
    )


def _drawings(found: Shift) -> Sequence[Drawing]:
    from ranker.report.shift_figures import drawings  # and matplotlib with it

    return drawings(found)


def _answer(found: Shift) -> Iterator[str]:
    """A sentence for each new domain, and for the sets that were chosen."""
    for pair in found.new:
        yield f"{pair.b}: {pair.verdict}. {pair.reason}"
    if found.choices:
        names = [one.name for one in found.choices if one.chosen]
        yield f"To test on: {', '.join(names) or 'none of the sets'}."


def _remarks(found: Shift) -> Iterator[str]:
    """What a reader of the tables has to know."""
    yield READING
    if found.encoder:
        yield f"Vectors of the encoder: {found.encoder}."
    yield from found.notes
    for model, why in found.failures.items():
        yield f"NOT ASKED: {model}: {why}"
    if found.scores:
        yield "A drop is the in-domain mean outcome minus that on the set, averaged over the models, in points."
    if found.estimated:
        yield (
            "Labels from predictions are right where texts of one label are alike in both domains. A model that is "
            "worse in the new domain looks like a shift of labels. The condition is what an error of the predicted "
            "frequencies is multiplied by, at most."
        )


def tables(found: Shift) -> list[Table]:
    """The verdicts, every measure with its interval, the sets, the words that tell, and a matrix of more than two."""
    measures = {pair.b: pair.measures for pair in found.new}
    shown = [_verdicts(found), _measured("Every measure", "domain", "value", measures), _sets(found)]
    telling = [*_telling(found)]
    if telling:
        shown.append(table("Words that give a domain away", ["of", "beside", "words"], [], telling))
    topics = [(domain.name, ", ".join(domain.words)) for domain in found.domains if domain.words]
    if topics:
        shown.append(table("Topics", ["topic", "words"], [], topics))
    if any(domain.summaries for domain in found.domains):
        summaries = {domain.name: domain.summaries for domain in found.domains}
        shown.append(_measured("Summaries", "set", "mean", summaries))
    shown += _of_models(found)
    if len(found.domains) > 2:
        shown += [_matrix(found, found.closeness), _matrix(found, "mmd")]
    return shown


def _verdicts(found: Shift) -> Table:
    rows = [
        [pair.b, pair.verdict, *(_cell(name, pair.measure(name).value) for name in SUMMARY), p_value(pair.p)]
        for pair in found.new
    ]
    return table(f"How far from {found.first}", ["domain", "verdict"], [*SUMMARY.values(), "p"], rows)


def _measured(caption: str, of: str, value: str, found: Mapping[str, Sequence[Any]]) -> Table:
    """Measures with their intervals, those of one set or pair together."""
    rows = [
        [
            *(name, MEASURES.get(one.name, one.name.replace("_", " ")), _cell(one.name, one.value)),
            interval(one.low, one.high, partial(_cell, one.name)),
        ]
        for name, measures in found.items()
        for one in measures
    ]
    sections = list(map(len, found.values()))
    return table(caption, [of, "measure"], [value, "95 % interval"], rows, sections=sections)


def _sets(found: Shift) -> Table:
    rows = [
        [
            *(domain.name, f"{domain.rows:,}", f"{domain.mean_words:.1f}", f"{domain.median_words:g}"),
            ", ".join(f"{label} {percent(share)} %" for label, share in domain.labels.items()),
        ]
        for domain in found.domains
    ]
    return table("Sets", ["set"], ["rows", "mean words", "median"], rows, last=["labels"])


def _of_models(found: Shift) -> Iterator[Table]:
    """What models do on the sets, as far as there are any."""
    if found.scores:
        names = [domain.name for domain in found.domains]
        heads = [*found.models, "mean drop"]
        yield table(f"The models: {words(found.metric).column}", ["set"], heads, _scores(found, names))
    if found.estimated:
        labels = list(found.estimated[0].shares)
        rows = [
            [
                *(one.domain, one.model),
                *(percent(one.shares[label]) for label in labels),
                *(percent(one.shift), f"{one.condition:.1f}"),
            ]
            for one in found.estimated
        ]
        yield table("Labels, from what models predict", ["set", "model"], [*labels, "shift", "condition"], rows)
    if found.correlations:
        rows = [
            [
                *(MEASURES.get(one.measure, one.measure.replace("_", " ")), str(one.sets)),
                *(_r(one.pearson), interval(one.pearson_low, one.pearson_high, _r)),
                *(_r(one.spearman), interval(one.spearman_low, one.spearman_high, _r)),
            ]
            for one in found.correlations
        ]
        numbers = ["sets", "Pearson", "95 % interval", "Spearman", "95 % interval"]
        yield table("Does it go with the drop?", ["measure"], numbers, rows)
    if found.choices:
        rows = [
            [
                one.name,
                one.source,
                f"{one.similarity:.3f}",
                points(-one.drop),
                "yes" if one.chosen else "no",
                one.reason,
            ]
            for one in found.choices
        ]
        yield table("Sets to test on", ["set", "source"], ["cosine", "change"], rows, last=["chosen", "reason"])


def _scores(found: Shift, names: Sequence[str]) -> Iterator[list[str]]:
    for name in names:
        scores = [found.score(name, model) for model in found.models]
        drop = "" if name == found.first else points(found.drop(name))
        yield [name, *(percent(one.value) if one else "" for one in scores), drop]


def _r(value: float | None) -> str:
    return "" if value is None else signed(value, decimals=2)


def _telling(found: Shift) -> Iterator[tuple[str, str, str]]:
    for pair in found.new:
        for name, other, telling in ((pair.b, pair.a, pair.words_b), (pair.a, pair.b, pair.words_a)):
            if telling:
                yield name, other, ", ".join(telling)


def _matrix(found: Shift, measure: str) -> Table:
    names = [domain.name for domain in found.domains]
    rows = [
        [
            f"{i + 1} {name}",
            *(
                "" if name == other else _cell(measure, found.pair(name, other).measure(measure).value)
                for other in names
            ),
        ]
        for i, name in enumerate(names)
    ]
    heads = [str(i + 1) for i in range(len(names))]
    return table(f"Every two sets: {MEASURES[measure]}", ["set"], heads, rows)


def _cell(name: str, value: float | None) -> str:
    """A value of a measure as a table has it; empty where it is not defined."""
    if value is None:
        return ""
    if name in PERCENT:
        return percent(value)
    return f"{value:.4f}" if name.endswith("mmd") else f"{value:.1f}" if name.endswith("_length") else f"{value:.3f}"
