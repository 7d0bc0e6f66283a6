"""The score table: one scalar per (model, method, example), which everything that ranks is computed from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from factors.registry import Factor
from factors.types import Floats
from ranker.results.result import Result
from ranker.statistics.engine import TIE


@dataclass(frozen=True, repr=False)
class ScoreTable(Result):
    """One scalar per (model, method, example); nan where a method is undefined.

    Attributes:
        models: (M,) names.
        methods: (F,) the ranking methods; the first is the metric's own column.
        examples: (N,) ids.
        values: (M, F, N) each method's own scalar, in its own unit; read-only.
        metric: what an outcome is: "ACC" for classes, the name of the first method.
        truth: (M,) each model's mean outcome on the whole OOD set, a fraction; None where it is not known.
        dropped: method -> reason -> number of examples that the method could not be computed on; the methods that could
            be computed on none, too.

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
        """(M, N) how good each model's answer to each example is, in [0, 1]; nan where there is nothing to judge."""
        return self.values[:, 0]

    @property
    def answer(self) -> str:
        """How much was scored."""
        shape = f"{len(self.models)} models x {len(self.methods)} methods x {len(self.examples)} examples"
        return f"scores of {shape}, by {self.metric} first"

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each model and example, with a column for each method, in its own unit; None where undefined."""
        names = [method.name for method in self.methods]
        scores = nulls(self.values.transpose(0, 2, 1))
        return [
            {"model": model, "example": example, **dict(zip(names, row, strict=True))}
            for model, rows in zip(self.models, scores, strict=True)
            for example, row in zip(self.examples, rows, strict=True)
        ]

    def in_words(self) -> list[dict[str, str]]:
        """The means over the examples, a row for each model; blank where a method is defined on none."""
        names = [method.name for method in self.methods]
        rows = []
        for model, values in zip(self.models, self.values, strict=True):
            means = [f"{one[known].mean():.3g}" if (known := ~np.isnan(one)).any() else "" for one in values]
            rows.append({"model": model, **dict(zip(names, means, strict=True))})
        return rows

    def better(self, one: str, other: str) -> int:
        """On how many examples one model's outcome is better than the other's."""
        first, second = (self.outcomes[self.models.index(name)] for name in (one, other))
        return int((first > second + TIE).sum())


def nulls(values: Floats) -> list[Any]:
    """Numbers as JSON knows them: null where they are undefined."""
    made = values.astype(object)
    made[np.isnan(values)] = None
    return list(made.tolist())
