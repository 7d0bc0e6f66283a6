"""Usage of models beside how good they are: tokens, seconds and money, each the mean a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ranker.errors import UsageError, listed
from ranker.numbers import Unit
from ranker.records import Share
from ranker.statistics.draws import NEAR

Quantity = Literal["money", "seconds"]
"""Quantity by which one model is cheaper, or faster, than another."""

COMPARATIVES: Mapping[str, Quantity] = {"cheaper": "money", "faster": "seconds"}
"""Word of a preference -> the quantity of which less is better."""

SUPERLATIVES: Mapping[Quantity, str] = {"money": "cheapest", "seconds": "fastest"}
"""Quantity -> the word for the model with the least of it."""


@dataclass(frozen=True)
class ModelUsage:
    """Usage of one model, each the mean a row; None where unknown.

    Attributes:
        prompt_tokens: tokens of prompts; those that were read from a cache count like the others.
        output_tokens: tokens of answers.
        seconds: time of an answer.
        money: price of an answer.
        currency: of the price; "" if it is not stated.
        rows: quantity -> number of rows on which it is known, of those that are known on any.

    Example:
        >>> ModelUsage(100.0, 5.0, rows={"prompt_tokens": 40, "output_tokens": 40}).tokens
        105.0
    """

    prompt_tokens: float | None = None
    output_tokens: float | None = None
    seconds: float | None = None
    money: float | None = None
    currency: str = ""
    rows: Mapping[str, int] = field(default_factory=dict)

    @property
    def tokens(self) -> float | None:
        """Tokens of prompts and answers together."""
        if self.prompt_tokens is None or self.output_tokens is None:
            return None
        return self.prompt_tokens + self.output_tokens


@dataclass(frozen=True)
class Preference:
    """Wish for the model that takes least among those that are good enough.

    Attributes:
        by: the quantity of which less is preferred.
        points: how many points (hundredths of the scale) below the best a model is good enough.

    Raises:
        UsageError: the points are no number above 0.

    Example:
        >>> Preference.parse("cheaper:1"), Preference.parse("faster:0.5").margin
        (Preference(by='money', points=1.0), 0.005)
    """

    by: Quantity = "money"
    points: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.points <= 1 / NEAR:
            raise UsageError.about("prefer", f"must be above 0 points, at most 100 (got {self.points:g})", self.points)

    @classmethod
    def parse(cls, text: str) -> Preference:
        """Parse ``cheaper:POINTS`` or ``faster:POINTS``.

        Raises:
            UsageError: it is neither.
        """
        word, _, points = text.partition(":")
        try:
            return cls(COMPARATIVES[word.strip()], float(points))
        except (KeyError, ValueError) as error:
            forms = listed(f"{comparative}:POINTS" for comparative in COMPARATIVES)
            raise UsageError.about("prefer", f"must be {forms}, such as cheaper:1 (got {text})", text) from error

    @property
    def margin(self) -> float:
        """The points as a difference of values."""
        return self.points * NEAR

    def distance(self, unit: Unit) -> str:
        """Return how near the best a model must be, for a sentence."""
        near = unit.point if self.points == 1 else f"{unit.difference(self.margin).lstrip('+')}{unit.points}"
        return f"within {near} of the best"

    def in_words(self, unit: Unit) -> str:
        """Return what is preferred, for a sentence.

        Example:
            >>> from ranker.numbers import SHARES
            >>> Preference().in_words(SHARES), Preference("seconds", 2.5).in_words(SHARES)
            ('the cheapest within a point of the best', 'the fastest within 2.5 points of the best')
        """
        return f"the {SUPERLATIVES[self.by]} {self.distance(unit)}"


@dataclass(frozen=True)
class ModelCost:
    """Usage of a model, beside how good it is.

    Attributes:
        p_frontier: probability that no model that takes no more is better; None if it is unknown what this one takes.
        p_within: probability that no other model is better by more than the margin of the preference, or a point;
            None if unknown.
        difference: its expected value in the domain less that of the first model; above 0 it is better.
        low, high: 95 % interval of the difference.
    """

    name: str
    usage: ModelUsage
    p_frontier: Share | None
    p_within: Share | None
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Costs:
    """Usage of all models of a decision.

    Attributes:
        models: (M,) in the order of the decision.
        by: quantity of the frontier: money, or seconds where no price is known; None where neither is known of two
            models.
        prefer: the preference of the user; None for none.
        notes: how the quantities were measured, a sentence each.
    """

    models: tuple[ModelCost, ...]
    by: Quantity | None = None
    prefer: Preference | None = None
    notes: tuple[str, ...] = ()

    def amounts(self, by: Quantity) -> list[float | None]:
        """Return (M,) what each model takes of a quantity."""
        return [getattr(model.usage, by) for model in self.models]

    def lacking(self, by: Quantity) -> list[str]:
        """Return the names of the models of which a quantity is unknown."""
        return [model.name for model, amount in zip(self.models, self.amounts(by), strict=True) if amount is None]

    @property
    def currency(self) -> str:
        """Currency of the prices; "" if none is stated."""
        return next((model.usage.currency for model in self.models if model.usage.money is not None), "")
