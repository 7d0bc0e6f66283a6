"""Header of a run, whatever its mode: rows, models, exclusions and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ranker.results.result import to_plain


@dataclass(frozen=True)
class Data:
    """The rows of a run.

    Attributes:
        origin: the file, or "embedded sample".
        rows: number of rows of the whole set.
        fingerprint: a hash of their content.
    """

    origin: str
    rows: int
    fingerprint: str


@dataclass(frozen=True)
class Quality:
    """Quality of a model's attributions, by the backend's own measure of error: `Settings.error`.

    Attributes:
        error_median, error_high: median and 95th percentile; None without such a measure.
        over_tolerance: rows over the error tolerance.
        truncated: rows cut at the model's limit.
    """

    error_median: float | None
    error_high: float | None
    over_tolerance: int
    truncated: int


@dataclass(frozen=True)
class Provenance:
    """Origin of the numbers; unknown values are None or empty.

    Attributes:
        command: the shell command of the run; None from Python.
        data: the rows.
        population: N, rows from which probes are drawn; in a decision, all rows.
        attribution: the backend with its settings, as `settings_of` takes it.
        error: the backend's measure of error, in words.
        settings: of the attribution backend.
        target: the rule for the label that attributions explain.
        norm: divisor of an example's attributions.
        dtype: of the models' numbers.
        versions: package -> version.
        models: model -> identity of its checkpoint.
    """

    command: str | None = None
    data: Data | None = None
    population: int | None = None
    attribution: str | None = None
    error: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    target: str | None = None
    norm: str | None = None
    dtype: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the known values as JSON values."""
        values = to_plain(self)
        return {name: value for name, value in values.items() if value not in (None, {})}


@dataclass(frozen=True)
class Header:
    """Subject of a run, whatever its mode.

    Attributes:
        ood: name of the set, or of the file of rows.
        suite: name of the suite of models.
        probe: K, labelled examples per draw; in a decision, all labelled rows.
        seed: random seed.
        metric: name of the outcome's column: "ACC" for classes.
        attribution: backend that the factors read ("none": baselines alone).
        failures: model -> why it is not ranked.
        failed_answers: model that was asked in this run -> its answers that failed, if there are any.
        copies: model -> the model that it is a copy of, and is ranked as.
        voters: model that votes and is not ranked -> its weight, 1 as of a ranked one; 0 where it has no say.
        left_out: method -> why it has no numbers: it does not apply to this set, or is defined on none of its examples.
        failed_factors: the user's factors that raised, or returned no number, on every example.
        quality: model -> quality of its attributions.
        unlabelled: rows without a label in the files of the labelled ones, which could be a pool; 0 with a pool.
        notes: notes on rows and models for a reader, a sentence each.
        provenance: origin of the numbers.
    """

    ood: str
    suite: str
    probe: int
    seed: int
    metric: str = "ACC"
    attribution: str = "none"
    failures: Mapping[str, str] = field(default_factory=dict)
    failed_answers: Mapping[str, int] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    voters: Mapping[str, float] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    failed_factors: tuple[str, ...] = ()
    quality: Mapping[str, Quality] = field(default_factory=dict)
    unlabelled: int = 0
    notes: tuple[str, ...] = ()
    provenance: Provenance = field(default_factory=Provenance)
