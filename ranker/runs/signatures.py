"""Wrong calls of public functions: one line that names the argument, before any work."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from ranker.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")

NUMBERS: dict[object, type] = {int: Integral, float: Real}
"""Type of a number -> those that count as it, such as NumPy's."""

IN_WORDS = {
    "Models": "a suite, or references to models",
    "LabelledRows": "a dataset, a file, or rows in memory",
    "UnlabelledRows": "examples, a file, or rows in memory",
    "VoteFile": "a file of votes, or rows in memory",
}
"""Annotation -> its description in a message; others describe themselves."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse arguments of other types than annotated; what collections hold is not looked at.

    Example:
        >>> from ranker import Evidence, decide
        >>> decide("models", evidence="shap")
        Traceback (most recent call last):
        ranker.errors.UsageError: `evidence` must be Evidence (got str)
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        hints = get_type_hints(function)
        try:
            arguments = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # which says it better
        for name, value in arguments.items():
            if not _fits(value, hints[name]):
                annotation = str(signature.parameters[name].annotation)
                kind = IN_WORDS.get(annotation.removesuffix(" | None"), annotation)
                raise UsageError.about(name, f"must be {kind} (got {type(value).__name__})")
        return function(*args, **kwargs)

    return call


def _fits(value: object, hint: Any) -> bool:
    """Tell whether a value is of a type; True if that cannot be told."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, kind) for kind in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    kind = NoneType if hint is None else NUMBERS.get(hint, origin or hint)
    return not isinstance(kind, type) or getattr(kind, "_is_protocol", False) or isinstance(value, kind)
