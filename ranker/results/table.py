"""The score table: one scalar per (model, method, example), from which all rankings are computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from factors import BUILTIN
from factors.registry import Factor
from factors.types import Floats
from ranker.results.result import Result


@dataclass(frozen=True, repr=False)
class ScoreTable(Result):
    """One scalar per (model, method, example); nan where a method is undefined.

    Attributes:
        models: (M,) names.
        methods: (F,) the ranking methods; the first is the metric's own column.
        examples: (N,) ids.
        values: (M, F, N) each method's own scalar, in its own unit; read-only.
        metric: metric of the outcomes: "ACC" for classes, the name of the first method.
        truth: (M,) each model's mean outcome on the whole OOD set, a fraction; None if unknown.
        dropped: method -> reason -> number of examples on which the method could not be computed, including methods
            computed on none.

    Raises:
        ValueError: the shapes do not agree, a name occurs twice, or the first method is not the metric's.
    """

    index: ClassVar[tuple[str, ...]] = ("model", "example")

    models: tuple[str, ...]
    methods: tuple[Factor, ...]
    examples: tuple[str, ...]
    values: Floats
    metric: str = "ACC"
    truth: Floats | None = None
    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = (len(self.models), len(self.methods), len(self.examples))
        if self.values.shape != shape:
            raise ValueError(f"values must have the shape {shape} (got {self.values.shape})")
        if self.truth is not None and self.truth.shape != shape[:1]:
            raise ValueError(f"truth must have the shape {shape[:1]} (got {self.truth.shape})")
        for kind, names in (("model", self.models), ("method", [method.name for method in self.methods])):
            twice = [name for name, count in Counter(names).items() if count > 1]
            if twice:
                raise ValueError(f"two {kind}s are named {twice[0]}")
        if not self.methods or self.methods[0].name != self.metric:
            raise ValueError(f"the first method must be the metric, {self.metric}")
        self.values.flags.writeable = False

    @property
    def outcomes(self) -> Floats:
        """(M, N) quality of each model's answer to each example, in [0, 1]; nan if it cannot be judged."""
        return self.values[:, 0]

    @property
    def judged(self) -> tuple[str, ...]:
        """Ids of the examples that all models were judged on."""
        places = np.flatnonzero(np.isfinite(self.outcomes).all(axis=0))
        return tuple(self.examples[place] for place in places.tolist())

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Methods beside the metric and the built-in baselines."""
        return tuple(method for method in self.methods[1:] if method.kind == "factor" or method.name not in BUILTIN)

    @property
    def answer(self) -> str:
        """Size of the table."""
        shape = f"{len(self.models)} models x {len(self.methods)} methods x {len(self.examples)} examples"
        return f"scores of {shape}, by {self.metric} first"

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each model and example, with a column for each method, in its own unit; None if
        undefined."""
        names = [method.name for method in self.methods]
        scores = with_nulls(self.values.transpose(0, 2, 1))
        return [
            {"model": model, "example": example, **dict(zip(names, row, strict=True))}
            for model, rows in zip(self.models, scores, strict=True)
            for example, row in zip(self.examples, rows, strict=True)
        ]

    def in_words(self) -> list[dict[str, str]]:
        """Return the means over the examples, a row for each model; blank if a method is defined on none."""
        names = [method.name for method in self.methods]
        rows = []
        for model, values in zip(self.models, self.values, strict=True):
            means = [f"{row[defined].mean():.3g}" if (defined := ~np.isnan(row)).any() else "" for row in values]
            rows.append({"model": model, **dict(zip(names, means, strict=True))})
        return rows


def with_nulls(values: Floats) -> list[Any]:
    """Convert numbers to JSON values: null where undefined."""
    cells = values.astype(object)
    cells[np.isnan(values)] = None
    return list(cells.tolist())
