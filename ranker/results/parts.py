"""`ModelParts`: models that are made of parts, grouped by each part, and which of two parts matters more."""

from __future__ import annotations

from dataclasses import dataclass

from ranker.statistics.components import VarianceComponents


@dataclass(frozen=True)
class PartLevel:
    """Models that share a part.

    Attributes:
        name: of what they share: "smollm2".
        models: their names.
        outcome: mean of their outcomes: see `EvaluatedModel.outcome` and `DecidedModel.outcome`.
    """

    name: str
    models: tuple[str, ...]
    outcome: float


@dataclass(frozen=True)
class ModelPart:
    """A part of models.

    Attributes:
        name: a noun in the singular: "model", "prompt".
        levels: the models grouped by it, the best group first.
    """

    name: str
    levels: tuple[PartLevel, ...]


@dataclass(frozen=True)
class ModelParts:
    """Models of a run that are made of the same parts; those without parts are left out.

    Attributes:
        parts: the parts that all of them have.
        components: variances of their mean outcomes due to the first part and to the second, on the rows of the table;
            None if undefined.
        reason: why they are undefined, in a line; "" if they are known.

    Raises:
        ValueError: there are components of other than two parts, or neither components nor a reason.
    """

    parts: tuple[ModelPart, ...]
    components: VarianceComponents | None
    reason: str

    def __post_init__(self) -> None:
        if (self.components is None) != bool(self.reason) or (self.components and len(self.parts) != 2):
            raise ValueError("`components` are those of two parts, or there is a `reason` why there are none")
