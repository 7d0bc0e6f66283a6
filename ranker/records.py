"""TOML files as frozen records: every key and the type of every value is checked, and what is wrong is named.

A record is a frozen dataclass, and its annotations are the schema: `str`, `bool`, `int`, `float`, ``Literal[...]``,
``tuple[X, ...]``, ``Mapping[str, X]``, another record, and any of these ``| None``. Other annotations are taken as they
come.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from ranker.errors import DataError, UnknownName

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")

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
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path} cannot be read as {what}: {error}") from error


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
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]  # T is a dataclass
    for key in given:
        if key not in known:
            raise UnknownName(f"key of {place}", key, (*known, *also))
    for key, field in known.items():
        if field.default is MISSING and field.default_factory is MISSING and key not in given:
            raise ValueError(f"{place} needs the key `{key}`")
    hints = get_type_hints(cls)
    try:
        return cls(**{key: _typed(value, hints[key], key, f"{name}.{key}".lstrip(".")) for key, value in given.items()})
    except ValueError as error:
        raise ValueError(f"{place}: {error}" if name else str(error)) from error


def table(value: Any, name: str) -> Mapping[str, Any]:
    """The value, if it is a table.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, Mapping):
        raise ValueError(f"`{name}` must be a table: `[{name}]` (got {value!r})")
    return value


def _typed(value: Any, hint: Any, key: str, name: str) -> Any:
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
        return _typed(value, parts[0], key, name)
    if kind is tuple:
        items = value if isinstance(value, (list, tuple)) else [value]
        return tuple(_typed(item, parts[0], key, name) for item in items)
    if kind is Mapping:
        rows = table(value, key).items()
        return MappingProxyType({k: _typed(row, parts[1], f"{k}` in `{key}", f"{name}.{k}") for k, row in rows})
    if is_dataclass(hint) and isinstance(hint, type) and not isinstance(value, hint):
        return record(hint, value, name)
    if kind is Literal and value not in parts:
        raise ValueError(f"`{key}` must be one of {', '.join(map(str, parts))} (got {value!r})")
    if hint is float and type(value) is int:
        return float(value)
    if hint in PLAIN and type(value) is not hint:
        raise ValueError(f"`{key}` must be {PLAIN[hint]} (got {value!r})")
    return value
