"""How far domains are from each other: the answer, its tables and remarks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ranker.numbers import interval, p_value, percent
from ranker.report.document import Document
from ranker.report.tables import Table, table
from ranker.results.shift import Measure, Shift

MEASURES = {
    "cosine": "cosine of centroids, words",
    "mmd": "MMD^2, words",
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
        remarks=[READING, *found.notes],
        rows=found.to_rows(),
        content=found.to_dict(),
        answer=[f"{pair.b}: {pair.verdict}. {pair.reason}" for pair in found.new],
    )


def tables(found: Shift) -> list[Table]:
    """The verdicts, every measure with its interval, the sets, the words that tell, and a matrix of more than two."""
    shown = [_verdicts(found), _measures(found), _sets(found)]
    telling = [*_telling(found)]
    if telling:
        shown.append(table("Words that give a domain away", ["of", "beside", "words"], [], telling))
    topics = [(domain.name, ", ".join(domain.words)) for domain in found.domains if domain.words]
    if topics:
        shown.append(table("Topics", ["topic", "words"], [], topics))
    if any(domain.summaries for domain in found.domains):
        shown.append(_summaries(found))
    if len(found.domains) > 2:
        shown += [_matrix(found, "cosine"), _matrix(found, "mmd")]
    return shown


def _verdicts(found: Shift) -> Table:
    rows = [
        [pair.b, pair.verdict, *(written(pair.measure(name)) for name in SUMMARY), p_value(pair.p)]
        for pair in found.new
    ]
    return table(f"How far from {found.first}", ["domain", "verdict"], [*SUMMARY.values(), "p"], rows)


def _measures(found: Shift) -> Table:
    rows = [
        [pair.b, MEASURES[one.name], written(one), interval(one.low, one.high, partial(_end, one.name))]
        for pair in found.new
        for one in pair.measures
    ]
    sections = [len(pair.measures) for pair in found.new]
    return table("Every measure", ["domain", "measure"], ["value", "95 % interval"], rows, sections=sections)


def _sets(found: Shift) -> Table:
    rows = [
        [
            *(domain.name, f"{domain.rows:,}", f"{domain.mean_words:.1f}", f"{domain.median_words:g}"),
            ", ".join(f"{label} {percent(share)} %" for label, share in domain.labels.items()),
        ]
        for domain in found.domains
    ]
    return table("Sets", ["set"], ["rows", "mean words", "median"], rows, last=["labels"])


def _summaries(found: Shift) -> Table:
    rows = [
        [domain.name, one.name.replace("_", " "), written(one), interval(one.low, one.high, partial(_end, one.name))]
        for domain in found.domains
        for one in domain.summaries
    ]
    sections = [len(domain.summaries) for domain in found.domains]
    return table("Summaries", ["set", "measure"], ["mean", "95 % interval"], rows, sections=sections)


def _telling(found: Shift) -> Iterator[tuple[str, str, str]]:
    for pair in found.new:
        for name, other, words in ((pair.b, pair.a, pair.words_b), (pair.a, pair.b, pair.words_a)):
            if words:
                yield name, other, ", ".join(words)


def _matrix(found: Shift, measure: str) -> Table:
    names = [domain.name for domain in found.domains]
    rows = [
        [
            f"{i + 1} {name}",
            *("" if name == other else written(found.pair(name, other).measure(measure)) for other in names),
        ]
        for i, name in enumerate(names)
    ]
    heads = [str(i + 1) for i in range(len(names))]
    return table(f"Every two sets: {MEASURES[measure]}", ["set"], heads, rows)


def written(one: Measure) -> str:
    """A value as a table has it; empty where it is not defined."""
    return _end(one.name, one.value)


def _end(name: str, value: float | None) -> str:
    if value is None:
        return ""
    if name in PERCENT:
        return percent(value)
    return f"{value:.4f}" if name.endswith("mmd") else f"{value:.1f}" if name.endswith("_length") else f"{value:.3f}"
