"""Report of correlations between measures of sets and models' scores on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ranker.domains.results.shift import Correlation
from ranker.numbers import interval, p_value, signed
from ranker.report.tables import Table, table

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
}
"""Measure -> its name in a table."""


def measure_name(name: str) -> str:
    """Return the name of a measure in a table."""
    return MEASURES.get(name, name.replace("_", " "))


def correlations(fits: Sequence[Correlation]) -> Iterator[Table]:
    """Tabulate each measure's correlation, a table for each outcome and level."""
    for outcome, level in dict.fromkeys((fit.outcome, fit.level) for fit in fits):
        rows = [
            [
                *(measure_name(fit.measure), str(fit.sets)),
                *(_r(fit.pearson), interval(fit.pearson_low, fit.pearson_high, _r), p_value(fit.p)),
                *(_r(fit.spearman), interval(fit.spearman_low, fit.spearman_high, _r)),
            ]
            for fit in fits
            if (fit.outcome, fit.level) == (outcome, level)
        ]
        numbers = ["sets", "Pearson", "95 % interval", "p", "Spearman", "95 % interval"]
        suffix = f", {level}" if level else ""
        yield table(f"Measures against mean {outcome}s{suffix}", [f"measure / {outcome}{suffix}"], numbers, rows)


def _r(value: float | None) -> str:
    return "" if value is None else signed(value, decimals=2)
