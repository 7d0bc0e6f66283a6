"""The score table: one scalar per (model, method, example), which everything that ranks is computed from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from factors.registry import Factor
from factors.types import Floats


@dataclass(frozen=True)
class ScoreTable:
    """One scalar per (model, method, example); nan where a method is undefined.

    Attributes:
        models: (M,) names.
        methods: (F,) the ranking methods, baselines first.
        examples: (N,) ids.
        values: (M, F, N) each method's own scalar, in its own unit; read-only.
        labels: (N,) the examples' true labels; read-only.
        ood_accuracy: (M,) each model's accuracy on the whole OOD set, a fraction; None where it is not known.
        dropped: method -> reason -> number of examples that the method could not be computed on; the methods that could
            be computed on none, too.

    Raises:
        ValueError: the shapes do not agree, or a name occurs twice.
    """

    models: tuple[str, ...]
    methods: tuple[Factor, ...]
    examples: tuple[str, ...]
    values: Floats
    labels: tuple[int, ...]
    ood_accuracy: Floats | None = None
    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = (len(self.models), len(self.methods), len(self.examples))
        if self.values.shape != shape:
            raise ValueError(f"values must have the shape {shape} (got {self.values.shape})")
        if len(self.labels) != len(self.examples):
            raise ValueError(f"labels must have the length {len(self.examples)} (got {len(self.labels)})")
        if self.ood_accuracy is not None and self.ood_accuracy.shape != shape[:1]:
            raise ValueError(f"ood_accuracy must have the shape {shape[:1]} (got {self.ood_accuracy.shape})")
        for kind, names in (("model", self.models), ("method", [method.name for method in self.methods])):
            twice = [name for name, count in Counter(names).items() if count > 1]
            if twice:
                raise ValueError(f"two {kind}s are named {twice[0]}")
        self.values.flags.writeable = False
