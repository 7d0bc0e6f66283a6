"""Judges beside people: what the marks of each are worth, and whom it flatters."""

from __future__ import annotations

from dataclasses import dataclass

from ranker.records import Gain


@dataclass(frozen=True)
class JudgeBias:
    """Difference between a judge and people about a model, beside the other models.

    Attributes:
        value: the judge's mark less people's, both relative to the mean model, in people's unit, a fraction of their
            scale; above 0 it flatters the model.
        low, high: its 95 % interval.
    """

    model: str
    value: Gain
    low: Gain
    high: Gain


@dataclass(frozen=True)
class JudgeResult:
    """A judge, by people's marks.

    Attributes:
        rows: rows that it marked.
        share: part of the judges' prior weight that it has before people speak; 0 if it is left out.
        agreement: correlation of its marks and people's, both less their means over a row's models; None if unknown.
        worth: further rows marked by people that would tell as much as this judge does; None if unknown.
        biases: of each model; none if it is left out.
    """

    name: str
    rows: int
    share: float
    agreement: float | None
    worth: float | None
    biases: tuple[JudgeBias, ...] = ()
