"""Identify what our own functions compute, so that it can be stored.

A function of ours is identified by its name, what it closes over, and the sources of our packages. A function of
somebody else may read whatever it likes, so what it computes is not stored.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

from ranker.runtime.store import key_digest
from ranker.sources.base import version

OURS = ("factors", "ranker.attribution", "ranker.scoring", "ranker.statistics", "ranker.tasks")
"""Packages that our measures are made of; their sources are part of a measure's identity."""

LIBRARIES = ("numpy", "scipy")
"""Installed libraries that our measures use, by version."""


class UnidentifiedValue(Exception):
    """A value may stand for something else another time."""


def identity(value: Any) -> str | None:
    """Return a sha256 of a function of ours, of a plain value or of a record of these; None for all others.

    Example:
        >>> from factors import BUILTIN
        >>> identity(BUILTIN["CONF"].score) == identity(BUILTIN["CONF-GT"].score)
        False
        >>> identity(lambda attributions, example: 1.0) is None
        True
    """
    try:
        return key_digest({"function": _identify(value), "made with": computation_versions()})
    except UnidentifiedValue:
        return None


@cache
def computation_versions() -> Mapping[str, object]:
    """Return the versions behind all measures: our sources, Python and the libraries."""
    return {
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "ours": {name: _sources(name) for name in OURS},
    }


def _sources(package: str) -> str:
    """Return a sha256 of the source files of a package."""
    combined = hashlib.sha256()
    for folder in import_module(package).__path__:
        for file in sorted(Path(folder).glob("*.py")):
            combined.update(hashlib.sha256(file.read_bytes()).digest())
    return combined.hexdigest()


def _identify(value: Any) -> Any:
    """Return JSON that identifies a value."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return [type(value).__name__, repr(value)]
    if isinstance(value, (tuple, frozenset)):
        return [type(value).__name__, *map(_identify, value if isinstance(value, tuple) else sorted(value))]
    if isinstance(value, partial):
        return ["partial", *map(_identify, (value.func, value.args, tuple(sorted(value.keywords.items()))))]
    if is_dataclass(value) and not isinstance(value, type) and _is_ours(type(value).__module__):
        parts = [(field.name, _identify(getattr(value, field.name))) for field in fields(value) if field.compare]
        return [_identify(type(value)), *parts]
    module, name = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
    if isinstance(value, FunctionType) and "<lambda>" not in name and value.__globals__ is _names(module):
        enclosed = tuple(cell.cell_contents for cell in value.__closure__ or ())
        return ["function", module, name, value.__code__.co_firstlineno, _identify(enclosed)]
    if isinstance(value, type) and _names(module).get(name) is value:
        return ["type", module, name]
    raise UnidentifiedValue


def _is_ours(module: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in OURS)


def _names(module: str) -> Mapping[str, object]:
    """Return what a module of ours, or the one of builtins, holds; nothing for another module."""
    return vars(sys.modules[module]) if module == "builtins" or _is_ours(module) else {}
