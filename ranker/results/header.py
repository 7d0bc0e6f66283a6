"""What a run was about, whatever it found: rows, models, what is left out, and what numbers were made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ranker.results.result import plain


@dataclass(frozen=True)
class Data:
    """The rows that numbers were made from.

    Attributes:
        origin: the file, or "embedded sample".
        rows: of the whole set.
        fingerprint: a hash of their content.
    """

    origin: str
    rows: int
    fingerprint: str


@dataclass(frozen=True)
class Quality:
    """How good a model's attributions are, by the backend's own measure of error: `Settings.error`.

    Attributes:
        error_median, error_high: the median and the 95th percentile; None where there is no such measure.
        over_tolerance: rows over the error tolerance.
        truncated: rows that were cut at the model's limit.
    """

    error_median: float | None
    error_high: float | None
    over_tolerance: int
    truncated: int


@dataclass(frozen=True)
class Provenance:
    """What numbers were made from; None, or empty, what is not known.

    Attributes:
        command: the command that made the run, as a shell takes it; a run from Python has none.
        data: the rows.
        population: N, rows that probes are drawn from; in a decision, all there are.
        attribution: the backend with its settings, as `settings_of` takes it.
        error: what the backend measures its error by, in words.
        settings: of the attribution backend.
        target: the rule that says which label attributions speak for.
        norm: what an example's attributions are divided by.
        dtype: of the models' numbers.
        versions: package -> version.
        models: model -> what identifies its checkpoint.
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
        """What is known, as JSON knows it."""
        known = plain(self)
        return {name: value for name, value in known.items() if value not in (None, {})}


@dataclass(frozen=True)
class Header:
    """What a run was about, whatever it found.

    Attributes:
        ood: the name of the set, or of the file of rows.
        suite: the name of the suite of models.
        probe: K, labelled examples a draw; in a decision, all there are.
        seed: of the draws.
        metric: what an outcome is, the name of its column: "ACC" for classes.
        attribution: the backend that the factors read ("none": baselines alone).
        failures: model -> why it is not ranked.
        left_out: method -> why it has no numbers: it cannot apply to this set, or is defined on none of its examples.
        failed_factors: those of the user's own that raised, or returned no number, on every example.
        quality: model -> how good its attributions are.
        notes: what a reader has to know of rows and models, a sentence each.
        provenance: what the numbers were made from.
    """

    ood: str
    suite: str
    probe: int
    seed: int
    metric: str = "ACC"
    attribution: str = "none"
    failures: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    failed_factors: tuple[str, ...] = ()
    quality: Mapping[str, Quality] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    provenance: Provenance = field(default_factory=Provenance)
