"""TOML and JSON files, and frozen records from them: every key and value is checked, and what is wrong is named.

A record is a frozen dataclass, and its annotations are the schema: `str`, `bool`, `int`, `float`, ``Literal[...]``,
``tuple[X, ...]``, ``Mapping[str, X]``, another record, and any of these ``| None``. Other annotations are taken as they
come.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from factors.types import Frozen
from ranker.errors import DataError, UnknownName
from ranker.limits import LIMITS, Limits, open_regular

T = TypeVar("T")

MAX_TOML = 1 << 16
"""Characters of a TOML file. No limit that can be set: ``--config`` is one."""

MAX_DOTS = 25
"""Of a line of it: a key of n parts, with a dot between each, costs the parser n² steps."""

LONGEST = 100
"""Characters of a wrong value that a message quotes."""

PLAIN = {str: "a string", bool: "true or false", int: "a whole number", float: "a number"}
"""The types of single values, and what they are called in messages."""


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The content of a TOML file.

    Args:
        path: the file.
        what: what it should be, for the message: "a card".

    Raises:
        DataError: it cannot be read, or is no TOML; the place is named.
    """
    content: dict[str, Any] = read_text(path, what, _parse_toml)
    return content


def _parse_toml(text: str) -> dict[str, Any]:
    if len(text) > MAX_TOML:
        raise ValueError(f"it has more than {MAX_TOML:,} characters, the most that are read")
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_DOTS:
            raise ValueError(f"line {number} has more than {MAX_DOTS} dots; write it on several lines")
    return tomllib.loads(text)


def read_json(path: Path, what: str, limits: Limits = LIMITS) -> Any:
    """The content of a JSON file.

    Args:
        path: the file.
        what: what it should be, for the message: "a suite".
        limits: how much of it is read.

    Raises:
        DataError: it cannot be read, or is no JSON: NaN and Infinity are none.
    """

    def parse(text: str) -> Any:
        limits.check_objects(path, text)
        return parse_json(text)

    return read_text(path, what, parse, limits)


def parse_json(text: str | bytes) -> Any:
    """What a text says in JSON; unlike Python's own reader this one takes no NaN and no Infinity, which JSON lacks.

    Raises:
        ValueError: it is no JSON, or nested too deeply.

    Example:
        >>> parse_json('{"a": [1, null]}')
        {'a': [1, None]}
        >>> parse_json("[NaN]")
        Traceback (most recent call last):
        ValueError: NaN is no JSON
    """
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def digest(fields: Mapping[str, Any]) -> str:
    """The sha256 over named fields, as canonical JSON.

    Raises:
        TypeError: a field that JSON cannot name; nothing is keyed by an object's address or by chance.

    Example:
        >>> digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
        True
    """
    text = json.dumps(fields, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def read_text(
    path: Path,
    what: str,
    parse: Callable[[str], Any],
    limits: Limits = LIMITS,
    content: bytes | None = None,
    limit: str = "text",
) -> Any:
    """The content of a text file, as a parser understands it.

    Args:
        path: the file.
        what: what it should be, for the message.
        parse: raises a ValueError where the text cannot be right.
        limits: how much of it is read.
        content: what was read of it already; None opens it.
        limit: the one that its characters have.

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
        raise DataError(f"{path} cannot be read as {what}: it is nested too deeply") from error
    except (OSError, ValueError) as error:  # of which bytes that are no text, and what is no TOML or JSON, are kinds
        raise DataError(f"{path} cannot be read as {what}: {getattr(error, 'strerror', None) or error}") from error


def record(cls: type[T], content: Any, name: str = "", whole: str = "the file", also: tuple[str, ...] = ()) -> T:
    """A frozen record from a table.

    Args:
        cls: the record's class.
        content: the table.
        name: the table's name, "sources.pairs"; empty for the file itself.
        whole: what the file itself is called: "the card".
        also: keys that are no fields, but may be what a misspelt key means.

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
    given = table(content, name)
    place = f"`[{name}]`" if name else whole
    known = {field.name: field for field in fields(cls) if field.init}  # type: ignore[arg-type]  # T is a dataclass
    for key in given:
        if key not in known:
            raise UnknownName(f"key of {place}", key, (*known, *also))
    for key, field in known.items():
        if field.default is MISSING and field.default_factory is MISSING and key not in given:
            raise ValueError(f"{place} needs the key `{key}`")
    hints = _hints(cls)  # type: ignore[arg-type]  # a class is hashable
    try:
        return cls(**{key: typed(value, hints[key], key, f"{name}.{key}".lstrip(".")) for key, value in given.items()})
    except ValueError as error:
        raise ValueError(f"{place}: {error}" if name else str(error)) from error


def fields_of(cls: type[T], content: Any, name: str) -> T:
    """A frozen record from those keys of a table that are its fields; like `record`, but others may stand there.

    For files that other programs write, and later versions of this one.

    Raises:
        ValueError: a key is missing, or a value is of another type.
    """
    known = {field.name for field in fields(cls)}  # type: ignore[arg-type]  # T is a dataclass
    return record(cls, {key: value for key, value in table(content, name).items() if key in known}, name)


def table(value: Any, name: str) -> Mapping[str, Any]:
    """The value, if it is a table.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, Mapping):
        raise ValueError(f"`{name}` must be a table: `[{name}]` (got {_short(value)})")
    return value


_hints = cache(get_type_hints)  # a saved run has thousands of records of a class


def typed(value: Any, hint: Any, key: str, name: str = "") -> Any:
    """The value in the shape of its annotation: lists become tuples, a lone value a tuple of one, tables records.

    Args:
        value: as TOML has it.
        hint: the annotation.
        key: what to call the value in a message.
        name: what to call it if it is a table of its own.

    Raises:
        ValueError: it is of another type.
    """
    kind, parts = get_origin(hint), [part for part in get_args(hint) if part is not NoneType]
    if NoneType in get_args(hint):
        if value is None:
            return None
        return typed(value, next((part for part in parts if type(value) is part), parts[0]), key, name)
    if kind is tuple:
        items = value if isinstance(value, (list, tuple)) else [value]
        return tuple(typed(item, parts[0], key, name) for item in items)
    if kind is Mapping:
        rows = table(value, key).items()
        return Frozen({k: typed(row, parts[1], f"{k}` in `{key}", f"{name}.{k}") for k, row in rows})
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
    """A value in a message: its beginning where it is long, on one line."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # Python writes no number of more than 4,300 digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
