"""Report of a shift: the answer, its tables and remarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ranker.domains.report.correlations import correlations, measure_name
from ranker.domains.results.shift import Selection, SetChoice, Shift
from ranker.numbers import interval, p_value, percent, points
from ranker.report.document import Document
from ranker.report.tables import Table, table
from ranker.report.words import words

if TYPE_CHECKING:
    from ranker.report.figures import Drawing

PERCENT = (
    *("auc", "word_overlap", "vocabulary_overlap", "label_shift", "repeated"),
    *("document_diversity", "summary_diversity", "coverage", "abstractiveness"),
)
"""Measures that are shares, shown in percent."""

SUMMARY = {"cosine": "cosine", "mmd": "MMD^2", "auc": "AUC %", "word_overlap": "words %", "label_shift": "labels %"}
"""Measures of the first table -> the heads of their columns."""

READING = (
    "near: as far apart as two halves of an embedded set; far: as two sets of one task; other: as sets of two tasks. "
    "The pair with the nearest MMD^2 of words decides."
)


def document(shift: Shift) -> Document:
    """Build the document of the shift."""
    return Document(
        title=shift.title,
        tables=tables(shift),
        remarks=list(_remarks(shift)),
        rows=shift.to_rows(),
        content=shift.to_dict,
        answer=list(_answer(shift)),
        drawn=partial(_drawings, shift),
    )


def selection(selected: Selection) -> Document:
    """Build the document of sets that were chosen from a table."""
    names = ", ".join(selected.chosen) or "none"
    return Document(
        title=f"Test sets for {selected.first}",
        tables=[_choices(selected.choices)],
        remarks=list(selected.notes),
        rows=selected.to_rows(),
        content=selected.to_dict,
        answer=[f"Sets to test on: {names}."],
    )


def _drawings(shift: Shift) -> Sequence[Drawing]:
    from ranker.domains.report.shift_figures import drawings  # and matplotlib with it

    return drawings(shift)


def _answer(shift: Shift) -> Iterator[str]:
    """Yield a sentence for each new domain."""
    for pair in shift.new:
        drop = shift.drop(pair.b)
        yield f"{pair.b}: {pair.verdict}. {pair.reason}{'' if drop is None else f' {_expected(shift, drop)}'}"
    if any(shift.drop(pair.b) is None and pair.verdict != "cannot be told" for pair in shift.new):
        of_halves = [f"Two halves of {shift.first} are {_cell('mmd', half.value)} apart. " for half in shift.halves]
        untold = "A distance does not tell what models lose: label ten rows (`rank-models label`), and rank the models."
        yield f"{''.join(of_halves)}{untold}"


def _expected(shift: Shift, drop: float) -> str:
    """Say what the models lose, where it was measured."""
    change = f"{percent(abs(drop))} points {'less' if drop > 0 else 'more'}"
    return f"Expect {change} than in {shift.first}, as the models did on average on the labelled rows of both."


def _remarks(shift: Shift) -> Iterator[str]:
    """Yield the remarks for a reader of the tables."""
    yield READING
    if shift.encoder:
        yield f"Vectors of the encoder: {shift.encoder}."
    yield from shift.notes
    for model, reason in shift.failures.items():
        yield f"NOT ASKED: {model}: {reason}"
    if shift.scores:
        yield "A drop is the in-domain mean outcome minus that on the set, averaged over the models, in points."


def tables(shift: Shift) -> list[Table]:
    """Return verdicts, measures with intervals, sets, telling words, and matrices for more than two sets."""
    measures = {pair.b: pair.measures for pair in shift.new}
    parts = [_verdicts(shift), _measured("Every measure", "domain", "value", measures), _sets(shift)]
    telling = [*_telling(shift)]
    if telling:
        parts.append(table("Most telling words", ["of", "beside", "words"], [], telling))
    topics = [(domain.name, ", ".join(domain.words)) for domain in shift.domains if domain.words]
    if topics:
        parts.append(table("Topics", ["topic", "words"], [], topics))
    if any(domain.summaries for domain in shift.domains):
        summaries = {domain.name: domain.summaries for domain in shift.domains}
        parts.append(_measured("Summaries", "set", "mean", summaries))
    parts += _of_models(shift)
    if len(shift.domains) > 2:
        parts += [_matrix(shift, shift.closeness), _matrix(shift, "mmd")]
    return parts


def _verdicts(shift: Shift) -> Table:
    rows = [
        [pair.b, pair.verdict, *(_cell(name, pair.measure(name).value) for name in SUMMARY), p_value(pair.p)]
        for pair in shift.new
    ]
    return table(f"Distance from {shift.first}", ["domain", "verdict"], [*SUMMARY.values(), "p"], rows)


def _measured(caption: str, owner: str, value: str, measures_of: Mapping[str, Sequence[Any]]) -> Table:
    """Tabulate measures with their intervals, grouped by set or pair."""
    rows = [
        [
            *(name, measure_name(measure.name), _cell(measure.name, measure.value)),
            interval(measure.low, measure.high, partial(_cell, measure.name)),
        ]
        for name, measures in measures_of.items()
        for measure in measures
    ]
    sections = list(map(len, measures_of.values()))
    return table(caption, [owner, "measure"], [value, "95 % interval"], rows, sections=sections)


def _sets(shift: Shift) -> Table:
    rows = [
        [
            *(domain.name, f"{domain.rows:,}", f"{domain.mean_words:.1f}", f"{domain.median_words:g}"),
            ", ".join(f"{label} {percent(share)} %" for label, share in domain.labels.items()),
        ]
        for domain in shift.domains
    ]
    return table("Sets", ["set"], ["rows", "mean words", "median"], rows, last=["labels"])


def _of_models(shift: Shift) -> Iterator[Table]:
    """Yield the tables of the models' results that exist."""
    if shift.scores:
        names = [domain.name for domain in shift.domains]
        heads = [*shift.models, "mean drop"]
        yield table(f"The models: {words(shift.metric).column}", ["set"], heads, _scores(shift, names))
    yield from correlations(shift.correlations)


def _choices(choices: Sequence[SetChoice]) -> Table:
    rows = [
        [
            *(choice.name, choice.source, f"{choice.similarity:.3f}", points(-choice.drop)),
            *("yes" if choice.chosen else "no", choice.reason),
        ]
        for choice in choices
    ]
    return table("Sets to test on", ["set", "source"], ["cosine", "change"], rows, last=["chosen", "reason"])


def _scores(shift: Shift, names: Sequence[str]) -> Iterator[list[str]]:
    for name in names:
        scores = [shift.score(name, model) for model in shift.models]
        drop = "" if name == shift.first else points(shift.drop(name))
        yield [name, *(percent(score.value) if score else "" for score in scores), drop]


def _telling(shift: Shift) -> Iterator[tuple[str, str, str]]:
    for pair in shift.new:
        for name, neighbour, telling in ((pair.b, pair.a, pair.words_b), (pair.a, pair.b, pair.words_a)):
            if telling:
                yield name, neighbour, ", ".join(telling)


def _matrix(shift: Shift, measure: str) -> Table:
    names = [domain.name for domain in shift.domains]
    rows = [
        [
            f"{i + 1} {a}",
            *("" if a == b else _cell(measure, shift.pair(a, b).measure(measure).value) for b in names),
        ]
        for i, a in enumerate(names)
    ]
    heads = [str(i + 1) for i in range(len(names))]
    return table(f"All pairs of sets: {measure_name(measure)}", ["set"], heads, rows)


def _cell(name: str, value: float | None) -> str:
    """Return a measure's value for a table; empty if undefined."""
    if value is None:
        return ""
    if name in PERCENT:
        return percent(value)
    return f"{value:.4f}" if name.endswith("mmd") else f"{value:.1f}" if name.endswith("_length") else f"{value:.3f}"
