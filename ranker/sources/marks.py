"""Marks of models' answers that a judge gave in this run, as sources whose answers were judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from factors.types import Example
from ranker.records import digest
from ranker.sources.base import BundledRows, Machine, ModelInfo, ResourceCache
from ranker.tasks.base import ANSWERED, MISSING
from ranker.tasks.precomputed import PrecomputedScores, PrecomputedTask

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.sources.base import Predictor, Source
    from ranker.tasks.base import Predictions, Task


@dataclass(frozen=True)
class MarkedModel:
    """A model by one judge's marks of its answers: a `Source` and its own `Predictor`.

    Attributes:
        judge: name of the judge, and of the outcome.
        marks: id of a row -> mark, from 0 to 1; rows without one are absent.
        rows: ids of all rows that the judge was given.
        scale: the lowest and the highest mark of the judge, which 0 and 1 stand for.

    Example:
        >>> model = MarkedModel("bert", "gpt", {"1": 0.5}, ("1", "2"))
        >>> [str(block.values) for block in model.predict(model.inspect(ResourceCache()).rows.examples, lambda n: None)]
        ['[0.5 nan]']
    """

    name: str
    judge: str
    marks: Mapping[str, float]
    rows: tuple[str, ...]
    scale: tuple[float, float] = (0.0, 1.0)

    family = ""
    shares = ""
    precomputed = True

    @property
    def place(self) -> str:
        """The judge and the model."""
        return f"{self.judge}#{self.name}"

    def inspect(self, cache: ResourceCache) -> ModelInfo:
        """Return the rows that the judge was given. See `Source.inspect`."""
        examples = tuple(Example(row, ("",)) for row in self.rows)
        metric = "-".join([*self.judge.replace(",", " ").split(), "mark"])
        task = PrecomputedTask(f"marks by {self.judge}", metric, scale=self.scale)
        return ModelInfo(self, rows=BundledRows(task, examples))

    def identity(self, task: Task, machine: Machine, cache: ResourceCache) -> Mapping[str, Any]:
        """Return a digest of the marks. See `Source.identity`."""
        return {"content": digest({"of": self.place, "marks": dict(self.marks), "rows": list(self.rows)})}

    def open(self, task: Task, machine: Machine, cache: ResourceCache) -> Predictor:
        """Return itself. See `Source.open`."""
        return self

    def predict(self, examples: Sequence[Example], advance: Advance) -> Iterator[Predictions]:
        """Yield the marks as scores; see `Predictor.predict`."""
        values = np.array([self.marks.get(example.id, np.nan) for example in examples], dtype=np.float64)
        yield PrecomputedScores(values, np.where(np.isnan(values), MISSING, ANSWERED))
        advance(len(examples))


if TYPE_CHECKING:
    _can: type[Source] = MarkedModel  # checked by mypy
