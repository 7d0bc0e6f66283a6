"""Factors as pure functions with a declaration; a registry is a dict of them."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from numbers import Real
from reprlib import repr as shortened
from types import ModuleType
from typing import Literal, TypeVar, get_args

import numpy as np

from factors.types import Attributions, Example

Score = Callable[[Attributions, Example], float]
S = TypeVar("S", bound=Score)
Explains = Literal["shortcut", "evidence", "true", "predicted"]
Kind = Literal["baseline", "factor"]


@dataclass(frozen=True, slots=True, repr=False)
class Factor:
    """Scalar per (model, example), with everything that a ranking must know before it reads results.

    Attributes:
        name: in tables, capitals and hyphens ("INDEX-DIFF").
        score: the pure function; nan means "undefined on this example".
        higher_is_better: the declared direction.
        explains: the label whose attributions (and probability) the factor is shown.
        source: the paper and section it comes from, or "ours".
        kind: "baseline" reads probabilities only; "factor" reads attributions.
        pair: it compares two segments.
        single: it is about single texts, and is not measured on pairs.
        mark: the mark that it reads from an example, if any.
        designed_only: it is measured only on sets whose card names it as designed: IRREG, VERB and ADJ read one mark,
            and the set says what that mark means.
        on_request: it is measured where it is named, and where an example has its mark.
        erases: it reads `Attributions.erased`, for which each model is asked about every example twice more.

    Raises:
        ValueError: a name that cannot be asked for, a label rule or kind that is none, or both pairs and single texts.
    """

    name: str
    score: Score
    higher_is_better: bool
    explains: Explains
    source: str
    kind: Kind = "factor"
    pair: bool = False
    single: bool = False
    mark: str | None = None
    designed_only: bool = False
    on_request: bool = False
    erases: bool = False

    def __post_init__(self) -> None:
        if not self.name or set(self.name) & set(", \n\t") or self.name.endswith(".py"):
            raise ValueError(f"a factor's name must be one word without a comma (got {self.name!r})")
        for field, value, choices in (
            ("explains", self.explains, get_args(Explains)),
            ("kind", self.kind, get_args(Kind)),
        ):
            if value not in choices:
                raise ValueError(f"{self.name}: `{field}` must be one of {', '.join(choices)} (got {value!r})")
        if self.pair and self.single:
            raise ValueError(f"{self.name}: `pair` and `single` exclude each other")

    def __repr__(self) -> str:
        """Return a short form, for the defaults of functions."""
        return f"<factor {self.name}>"

    def of(self, attributions: Attributions, example: Example) -> float:
        """Return the score of an example. The function gets copies, so its changes of them have no effect.

        Raises:
            Exception: any that the function raises.
        """
        return self.score(copy(attributions), copy(example))


def factor(
    name: str,
    *,
    higher_is_better: bool,
    explains: Explains,
    source: str = "ours",
    kind: Kind = "factor",
    pair: bool = False,
    single: bool = False,
    mark: str | None = None,
    designed_only: bool = False,
    on_request: bool = False,
    erases: bool = False,
) -> Callable[[S], S]:
    """Declare a function to be a factor. The function itself is returned, and stays an ordinary function.

    Example:
        >>> @factor("LENGTH", higher_is_better=False, explains="predicted")
        ... def length(attributions, example):
        ...     return float(len(attributions.tokens))
        >>> length.factor.name
        'LENGTH'
    """

    def declare(score: S) -> S:
        declared = Factor(
            name, score, higher_is_better, explains, source, kind, pair, single, mark, designed_only, on_request, erases
        )
        score.factor = declared  # type: ignore[attr-defined]
        return score

    return declare


def number(value: object) -> float:
    """Return a factor's value as a float; it must be a number.

    Raises:
        TypeError: it is no number; nor is text that could be read as one.

    Example:
        >>> number(3)
        3.0
        >>> number("3")
        Traceback (most recent call last):
        TypeError: must return a number (got '3')
    """
    if not isinstance(value, (Real, np.bool_)):
        shape = getattr(value, "shape", None)
        got = shortened(value) if shape is None else f"an array of shape {tuple(shape)}"
        raise TypeError(f"must return a number (got {got})")
    return float(value)


def factors_in(*modules: ModuleType) -> dict[str, Factor]:
    """Return the factors that the modules define, by name, in the order of definition.

    Raises:
        ValueError: two functions claim one name; both owners are named.
    """
    registry: dict[str, Factor] = {}
    for module in modules:
        for value in list(vars(module).values()):
            declared = getattr(value, "factor", None)
            if isinstance(declared, Factor) and declared.score.__module__ == module.__name__:
                add(registry, declared)
    return registry


def add(registry: dict[str, Factor], new: Factor) -> None:
    """Add a factor to a registry; the same factor twice is fine, two factors of one name, in any case, are not.

    Raises:
        ValueError: the name is taken; both owners are named.
    """
    by_folded = {name.casefold(): factor for name, factor in registry.items()}
    old = by_folded.get(new.name.casefold(), new)
    if old is not new:
        owners = " and ".join(f"{f.score.__qualname__} in {f.score.__module__}" for f in (old, new))
        raise ValueError(f"two factors are named {new.name}: {owners}")
    registry[new.name] = new
