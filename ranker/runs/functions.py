"""Identify a function by its code and everything it reaches, so that its results can be stored.

A function can be identified if everything it reads can: its code, defaults, closure, the globals it names, and those
of each function it names. Deterministic libraries are identified by version, our own modules by source. A function
that reaches anything else (a file, the clock, chance, an object of its own class) is computed each time.
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
"""Packages that our measures are made of; their sources are part of a measure's identity."""

LIBRARIES = ("numpy", "scipy")
"""Installed libraries that an identifiable function may use, by version."""

STANDARD = frozenset({
    *("bisect", "builtins", "cmath", "collections", "dataclasses", "difflib", "fractions", "functools", "heapq"),
    *("itertools", "math", "numbers", "operator", "re", "statistics", "string", "textwrap", "typing", "unicodedata"),
    *("_bisect", "_collections", "_functools", "_heapq", "_operator", "_statistics"),
})  # fmt: skip
"""Deterministic modules of the standard library, identified by the version of Python."""

IMPURE = frozenset({
    *("open", "input", "eval", "exec", "compile", "__import__", "globals", "locals", "vars", "dir", "id", "hash"),
    *("getattr", "setattr", "delattr", "breakpoint"),
})  # fmt: skip
"""Builtins that reach further than their arguments, or differ between processes."""

ELSEWHERE = frozenset({"random", "load", "loads", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap"})
"""Names in libraries that read files or draw; a function that takes an attribute of this name is not identifiable."""

NAMING = frozenset({"LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"})
CHANGING = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "LOAD_BUILD_CLASS"})


class UnidentifiedFunction(Exception):
    """A function reaches something that may change."""


def identity(function: Any) -> str | None:
    """Return a sha256 of a function and all that it reaches; None if it cannot be identified.

    Example:
        >>> half = 0.5
        >>> identity(lambda x: x * half) == identity(lambda y: y * half)
        False
        >>> identity(lambda x: open(x)) is None
        True
    """
    try:
        return digest({"function": _identify(function, {}), "made with": computation_versions()})
    except UnidentifiedFunction:
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


def _identify(value: Any, numbers: dict[int, int]) -> Any:
    """Return JSON that identifies a value; `numbers` maps ids of enclosing functions, which may name each other."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)) or value is ...:
        return [type(value).__name__, repr(value)]
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return [type(value).__name__, *(_identify(element, numbers) for element in value)]
    if type(value) in (set, frozenset):
        return [type(value).__name__, *sorted(json.dumps(_identify(element, numbers)) for element in value)]
    if type(value) is dict:
        return ["dict", *([_identify(key, numbers), _identify(element, numbers)] for key, element in value.items())]
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufcUS":
        array = np.ascontiguousarray(value)
        return ["array", array.dtype.str, list(value.shape), hashlib.sha256(array.tobytes()).hexdigest()]
    if isinstance(value, re.Pattern):
        return ["pattern", repr(value.pattern), value.flags]
    if isinstance(value, partial):
        return ["partial", *(_identify(element, numbers) for element in (value.func, value.args, value.keywords))]
    if (name_in_library := _identify_library(value)) is not None:
        return name_in_library
    if isinstance(value, FunctionType):
        return _identify_function(value, numbers)
    if callable(inner := getattr(value, "__wrapped__", None)):  # such as `functools.cache`
        return ["wrapped", _identify(inner, numbers)]
    raise UnidentifiedFunction


def _identify_library(value: Any) -> Any:
    """Return the name under which a library, or we, hold a value; None for any other value."""
    if isinstance(value, ModuleType):
        if not _is_pure(value.__name__):
            raise UnidentifiedFunction
        return ["module", value.__name__]
    if isinstance(value, np.ufunc):
        return ["ufunc", value.__name__]
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not (isinstance(module, str) and isinstance(name, str)) or not _is_pure(module):
        return None
    library_value: Any = sys.modules.get(module)
    for part in name.split("."):
        library_value = getattr(library_value, part, None)
    if library_value is not value:
        return None
    if isinstance(value, BuiltinFunctionType) and module == "builtins" and name in IMPURE:
        raise UnidentifiedFunction
    return ["named", module, name]


def _is_pure(module: str) -> bool:
    """Return True if versions and sources identify what a module holds."""
    top, parts = module.partition(".")[0], module.split(".")
    ours = any(module == package or module.startswith(f"{package}.") for package in OURS)
    return not ELSEWHERE & {*parts} and (top in STANDARD or top in LIBRARIES or ours)


def _identify_function(function: FunctionType, numbers: dict[int, int]) -> Any:
    if id(function) in numbers:
        return ["again", numbers[id(function)]]
    numbers[id(function)] = len(numbers)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return [
        "function",
        _identify_code(function.__code__),
        _identify(function.__defaults__, numbers),
        _identify(function.__kwdefaults__, numbers),
        [[name, _identify(_content(cell), numbers)] for name, cell in cells],
        [[name, _identify(_global(function, name), numbers)] for name in sorted(set(_globals(function.__code__)))],
    ]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError as error:  # an empty cell
        raise UnidentifiedFunction from error


def _global(function: FunctionType, name: str) -> Any:
    for names in (function.__globals__, vars(sys.modules["builtins"])):
        if name in names:
            if name in IMPURE:
                raise UnidentifiedFunction
            return names[name]
    raise UnidentifiedFunction


def _identify_code(code: CodeType) -> Any:
    """Identify code without line numbers, and the functions in it."""
    constants = [
        _identify_code(const) if isinstance(const, CodeType) else _identify(const, {}) for const in code.co_consts
    ]
    counts = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags]
    names = [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars]
    return [code.co_code.hex(), code.co_exceptiontable.hex(), counts, *map(list, names), constants]


def _globals(code: CodeType) -> Iterator[str]:
    """Yield the globals that code names, functions in it included; refuse code that makes classes or sets globals."""
    for instruction in dis.get_instructions(code):
        operation, name = instruction.opname, instruction.argval
        imports = operation == "IMPORT_NAME" and not _is_pure(name)
        if operation in CHANGING or imports or (operation in NAMING and name in ELSEWHERE):
            raise UnidentifiedFunction
        if operation == "LOAD_GLOBAL":
            yield name
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals(constant)
