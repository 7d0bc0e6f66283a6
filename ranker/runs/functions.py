"""What identifies a function: its code, and all that the code reaches, so that what it gave once can be kept.

A function is known where everything that it can read is: its code, its defaults, what it closes over, the globals that
it names, and those of each function that it names. Libraries that give the same for the same are known by their
versions, and our own modules by their sources. Whatever else a function reaches (a file, the clock, chance, an object
of a class of its own) leaves it unknown: it is then computed each time.
"""

from __future__ import annotations

import dis
import hashlib
import json
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ranker.records import digest
from ranker.sources.base import version

OURS = ("factors", "ranker.attribution", "ranker.scoring", "ranker.statistics", "ranker.tasks")
"""The packages that a measure of ours is made of; their sources are a part of what identifies one."""

LIBRARIES = ("numpy", "scipy")
"""Installed libraries that a known function may use, by their versions."""

STANDARD = frozenset({
    *("bisect", "builtins", "cmath", "collections", "dataclasses", "difflib", "fractions", "functools", "heapq"),
    *("itertools", "math", "numbers", "operator", "re", "statistics", "string", "textwrap", "typing", "unicodedata"),
    *("_bisect", "_collections", "_functools", "_heapq", "_operator", "_statistics"),
})  # fmt: skip
"""Modules of the standard library that give the same for the same, by the version of Python."""

IMPURE = frozenset({
    *("open", "input", "eval", "exec", "compile", "__import__", "globals", "locals", "vars", "dir", "id", "hash"),
    *("getattr", "setattr", "delattr", "breakpoint"),
})  # fmt: skip
"""Builtins that reach further than their arguments, or are not the same in each process."""

ELSEWHERE = frozenset({"random", "load", "loads", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap"})
"""What libraries call that which reads files or draws: a function that takes an attribute of this name is unknown."""

NAMING = frozenset({"LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"})
CHANGING = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "LOAD_BUILD_CLASS"})


class Unknown(Exception):
    """A function reaches something of which nobody can say whether it stays the same."""


def identity(function: Any) -> str | None:
    """A sha256 of a function and of all that it reaches; None where that is not known.

    Example:
        >>> half = 0.5
        >>> identity(lambda x: x * half) == identity(lambda y: y * half)
        False
        >>> identity(lambda x: open(x)) is None
        True
    """
    try:
        return digest({"function": _known(function, {}), "made with": made_with()})
    except Unknown:
        return None


@cache
def made_with() -> Mapping[str, object]:
    """What all measures are made with: our sources, and the versions of Python and of the libraries."""
    return {
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "ours": {name: _sources(name) for name in OURS},
    }


def _sources(package: str) -> str:
    """A sha256 of the source files of a package."""
    found = hashlib.sha256()
    for folder in import_module(package).__path__:
        for file in sorted(Path(folder).glob("*.py")):
            found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


def _known(value: Any, seen: dict[int, int]) -> Any:
    """What identifies a value, as JSON.

    Args:
        value: what is to be identified.
        seen: functions that are being told -> their numbers, since they may name each other.

    Raises:
        Unknown: nobody can say.
    """
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)) or value is ...:
        return [type(value).__name__, repr(value)]
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return [type(value).__name__, *(_known(one, seen) for one in value)]
    if type(value) in (set, frozenset):
        return [type(value).__name__, *sorted(json.dumps(_known(one, seen)) for one in value)]
    if type(value) is dict:
        return ["dict", *([_known(key, seen), _known(one, seen)] for key, one in value.items())]
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufcUS":
        array = np.ascontiguousarray(value)
        return ["array", array.dtype.str, list(value.shape), hashlib.sha256(array.tobytes()).hexdigest()]
    if isinstance(value, re.Pattern):
        return ["pattern", repr(value.pattern), value.flags]
    if isinstance(value, partial):
        return ["partial", *(_known(one, seen) for one in (value.func, value.args, value.keywords))]
    if (named := _of_library(value)) is not None:
        return named
    if isinstance(value, FunctionType):
        return _of_function(value, seen)
    if callable(inner := getattr(value, "__wrapped__", None)):  # as under `functools.cache`
        return ["wrapped", _known(inner, seen)]
    raise Unknown


def _of_library(value: Any) -> Any:
    """What a library, or we, hold under a name: by that name; None for anything else.

    Raises:
        Unknown: it is a module, or a builtin, that is not the same for the same.
    """
    if isinstance(value, ModuleType):
        if not _pure(value.__name__):
            raise Unknown
        return ["module", value.__name__]
    if isinstance(value, np.ufunc):
        return ["ufunc", value.__name__]
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not (isinstance(module, str) and isinstance(name, str)) or not _pure(module):
        return None
    held: Any = sys.modules.get(module)
    for part in name.split("."):
        held = getattr(held, part, None)
    if held is not value:
        return None
    if isinstance(value, BuiltinFunctionType) and module == "builtins" and name in IMPURE:
        raise Unknown
    return ["named", module, name]


def _pure(module: str) -> bool:
    """Whether what a module holds is known by versions and sources."""
    top, parts = module.partition(".")[0], module.split(".")
    ours = any(module == own or module.startswith(f"{own}.") for own in OURS)
    return not ELSEWHERE & {*parts} and (top in STANDARD or top in LIBRARIES or ours)


def _of_function(function: FunctionType, seen: dict[int, int]) -> Any:
    if id(function) in seen:
        return ["again", seen[id(function)]]
    seen[id(function)] = len(seen)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return [
        "function",
        _of_code(function.__code__),
        _known(function.__defaults__, seen),
        _known(function.__kwdefaults__, seen),
        [[name, _known(_content(cell), seen)] for name, cell in cells],
        [[name, _known(_global(function, name), seen)] for name in sorted(set(_globals(function.__code__)))],
    ]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError as error:  # nothing is in it yet
        raise Unknown from error


def _global(function: FunctionType, name: str) -> Any:
    for names in (function.__globals__, vars(sys.modules["builtins"])):
        if name in names:
            if name in IMPURE:
                raise Unknown
            return names[name]
    raise Unknown


def _of_code(code: CodeType) -> Any:
    """Code without the lines that it stands on, and that of the functions in it."""
    constants = [_of_code(one) if isinstance(one, CodeType) else _known(one, {}) for one in code.co_consts]
    counts = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags]
    names = [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars]
    return [code.co_code.hex(), code.co_exceptiontable.hex(), counts, *map(list, names), constants]


def _globals(code: CodeType) -> Iterator[str]:
    """The globals that code names, and the functions in it.

    Raises:
        Unknown: it makes classes, sets globals, imports what is not the same for the same, or takes an attribute that
            reads files or draws.
    """
    for instruction in dis.get_instructions(code):
        operation, name = instruction.opname, instruction.argval
        imports = operation == "IMPORT_NAME" and not _pure(name)
        if operation in CHANGING or imports or (operation in NAMING and name in ELSEWHERE):
            raise Unknown
        if operation == "LOAD_GLOBAL":
            yield name
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _globals(one)
