"""TOML and JSON files, and frozen records from them: every key and value is checked, and errors name the wrong one.

A record is a frozen dataclass, and its annotations are the schema: `str`, `bool`, `int`, `float`, ``Literal[...]``,
``tuple[X, ...]``, ``Mapping[str, X]``, ``Mapping[int, X]``, another record, any of these ``| None``, and numbers with
bounds (`Share`). Values of other annotations are not checked.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from factors.types import Frozen
from ranker.errors import DataError, UnknownName, reject_repeated_keys
from ranker.limits import LIMITS, Limits, open_regular

T = TypeVar("T")

MAX_TOML = 1 << 16
"""Most characters of a TOML file. No limit of `Limits`, since ``--config`` is such a file."""

MAX_DOTS = 25
"""Most dots of a line: a key of n parts, with a dot between each, costs the parser n² steps."""

MAX_QUOTED_CHARACTERS = 100
"""Most characters of a wrong value in a message."""

PLAIN = {str: "a string", bool: "true or false", int: "a whole number", float: "a number"}
"""Types of single values, and their names in messages."""

ROUNDING = 1e-9
"""Distance from a bound by which a computed number may be outside."""


@dataclass(frozen=True)
class Bounds:
    """Least and greatest value of a number, in its annotation."""

    low: float
    high: float


Share = Annotated[float, Bounds(0.0, 1.0)]
"""A probability, or a part of a whole."""

Gain = Annotated[float, Bounds(-1.0, 1.0)]
"""A difference of two shares."""


def read_toml(path: Path, noun: str) -> dict[str, Any]:
    """Read a TOML file; `noun` describes it in messages: "a card".

    Raises:
        DataError: it cannot be read, or is no TOML; the place is named.
    """
    content: dict[str, Any] = read_text(path, noun, _parse_toml)
    return content


def _parse_toml(text: str) -> dict[str, Any]:
    if len(text) > MAX_TOML:
        raise ValueError(f"it has more than {MAX_TOML:,} characters, the most that are read")
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_DOTS:
            raise ValueError(f"line {number} has more than {MAX_DOTS} dots; write it on several lines")
    return tomllib.loads(text)


def read_json(path: Path, noun: str, limits: Limits = LIMITS) -> Any:
    """Read a JSON file, without NaN and Infinity, as `read_toml` reads TOML."""

    def parse(text: str) -> Any:
        limits.check_objects(path, text)
        return parse_json(text)

    return read_text(path, noun, parse, limits)


def parse_json(text: str | bytes) -> Any:
    """Parse JSON strictly, without NaN, Infinity and repeated keys, which Python's own reader accepts.

    Raises:
        ValueError: it is no JSON, nested too deeply, or an object has a key twice.

    Example:
        >>> parse_json('{"a": [1, null]}')
        {'a': [1, None]}
        >>> parse_json("[NaN]")
        Traceback (most recent call last):
        ValueError: NaN is no JSON
    """
    try:
        return json.loads(text, parse_constant=_no_number, object_pairs_hook=reject_repeated_keys)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def digest(fields: Mapping[str, Any]) -> str:
    """Return the sha256 over named fields, as canonical JSON.

    Example:
        >>> digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
        True
    """
    text = json.dumps(fields, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def read_text(
    path: Path,
    noun: str,
    parse: Callable[[str], Any],
    limits: Limits = LIMITS,
    content: bytes | None = None,
    limit: str = "text",
) -> Any:
    """Read a text file with a parser.

    Args:
        parse: the parser, which raises a ValueError for an invalid text.
        content: its bytes, if they were read already; None opens it.
        limit: the name of the limit of its characters.

    Raises:
        DataError: it cannot be read, is too large or nested too deeply, or the parser refuses it.
    """
    try:
        opening = os.fdopen(open_regular(path), "rb") if content is None else io.BytesIO(content)
        with opening as raw, io.TextIOWrapper(raw, "utf-8") as file:
            text = file.read(getattr(limits, limit) + 1)
        limits.check(path, limit, len(text))
        return parse(text)
    except RecursionError as error:
        raise DataError.of(path, f"cannot be read as {noun}: it is nested too deeply") from error
    except (OSError, ValueError) as error:  # also of bytes that are no text, no TOML or no JSON
        raise DataError.of(path, f"cannot be read as {noun}: {getattr(error, 'strerror', None) or error}") from error


def record(cls: type[T], content: Any, name: str = "", label: str = "the file", also: tuple[str, ...] = ()) -> T:
    """Make a frozen record from a table.

    Args:
        name: the table's name, "sources.pairs"; empty for the file itself.
        label: the name of the file itself: "the card".
        also: keys that are no fields, but may be meant by a misspelt key.

    Raises:
        UnknownName: a key is no field; the near one is offered.
        ValueError: a key is missing, a value is of another type, or the record itself refuses it.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Stage:
        ...     epochs: float
        ...     mix: tuple[str, ...] = ()
        >>> record(Stage, {"epochs": 2, "mix": "new"})
        Stage(epochs=2.0, mix=('new',))
        >>> record(Stage, {"epochs": "2"}, "shared")
        Traceback (most recent call last):
        ValueError: `[shared]`: `epochs` must be a number (got '2')
    """
    content_of_table = table(content, name)
    place = f"`[{name}]`" if name else label
    record_fields = {field.name: field for field in fields(cls) if field.init}  # type: ignore[arg-type]  # T is a dataclass
    for key in content_of_table:
        if key not in record_fields:
            raise UnknownName(f"key of {place}", key, (*record_fields, *also))
    for key, field in record_fields.items():
        if field.default is MISSING and field.default_factory is MISSING and key not in content_of_table:
            raise ValueError(f"{place} needs the key `{key}`")
    hints = _hints(cls)  # type: ignore[arg-type]  # a class is hashable
    try:
        return cls(
            **{
                key: typed(value, hints[key], key, f"{name}.{key}".lstrip("."))
                for key, value in content_of_table.items()
            }
        )
    except ValueError as error:
        raise ValueError(f"{place}: {error}" if name else str(error)) from error


def fields_of(cls: type[T], content: Any, name: str) -> T:
    """Make a frozen record from those keys of a table that are its fields; like `record`, but ignores other keys.

    For files that other programs write, and later versions of this one.
    """
    names = {field.name for field in fields(cls)}  # type: ignore[arg-type]  # T is a dataclass
    return record(cls, {key: value for key, value in table(content, name).items() if key in names}, name)


def table(value: Any, name: str) -> Mapping[str, Any]:
    """Return the value, if it is a table."""
    if not isinstance(value, Mapping):
        raise ValueError(f"`{name}` must be a table: `[{name}]` (got {_short(value)})")
    return value


@cache  # a saved run has thousands of records of a class
def _hints(cls: type) -> Mapping[str, Any]:
    return get_type_hints(cls, include_extras=True)


def typed(value: Any, hint: Any, key: str, name: str = "") -> Any:
    """Convert a value to its annotation: lists become tuples, a lone value a tuple of one, tables records.

    Args:
        key: the value's name in a message.
        name: its name if it is a table.

    Raises:
        ValueError: it is of another type.
    """
    kind, parts = get_origin(hint), [part for part in get_args(hint) if part is not NoneType]
    if kind is Annotated:
        number, (low, high) = typed(value, parts[0], key, name), (parts[1].low, parts[1].high)
        if not low - ROUNDING <= number <= high + ROUNDING:
            raise ValueError(f"`{key}` must be from {low:g} to {high:g} (got {_short(value)})")
        return number
    if NoneType in get_args(hint):
        if value is None:
            return None
        return typed(value, next((part for part in parts if type(value) is part), parts[0]), key, name)
    if kind is tuple:
        elements = value if isinstance(value, (list, tuple)) else [value]
        return tuple(typed(element, parts[0], key, name) for element in elements)
    if kind is Mapping:
        rows = table(value, key).items()
        key_of = int if parts[0] is int else str  # keys of JSON are texts
        return Frozen({key_of(k): typed(row, parts[1], f"{k}` in `{key}", f"{name}.{k}") for k, row in rows})
    if is_dataclass(hint) and isinstance(hint, type) and not isinstance(value, hint):
        return record(hint, value, name)
    if kind is Literal and value not in parts:
        raise ValueError(f"`{key}` must be one of {', '.join(map(str, parts))} (got {_short(value)})")
    if hint is float and type(value) in (int, float):
        if not abs(value) <= sys.float_info.max:
            raise ValueError(f"`{key}` must be a finite number (got {_short(value)})")
        return float(value)
    if hint in PLAIN and type(value) is not hint:
        raise ValueError(f"`{key}` must be {PLAIN[hint]} (got {_short(value)})")
    return value


def _short(value: Any) -> str:
    """Return a value for a message: its beginning where it is long, on one line."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # Python writes no number of more than 4,300 digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= MAX_QUOTED_CHARACTERS else f"{text[:MAX_QUOTED_CHARACTERS]} ..."
