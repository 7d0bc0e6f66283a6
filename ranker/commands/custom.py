"""The factors and methods of a run: built-in ones by name, a user's own from a file or an installed package."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from factors import BUILTIN, Factor
from factors.registry import add, factors_in
from ranker.errors import UsageError, look_up
from ranker.sources.packages import load_entry_points
from ranker.statistics import combined
from ranker.statistics import methods as methods_
from ranker.statistics.methods import COINS
from ranker.statistics.pool import PoolMethod

FACTORS, METHODS = "rank_models.factors", "rank_models.methods"
"""The entry point groups of packages with factors, and with methods that see a pool: each names a module."""

N = TypeVar("N", Factor, PoolMethod)


def available() -> dict[str, Factor]:
    """Built-in factors and those of installed packages, by name.

    Raises:
        UsageError: a package cannot be imported, defines no factor, or claims a name that is taken.
    """
    registry = dict(BUILTIN)
    for where, module in _installed(FACTORS):
        _extend(registry, _factors(module, where), where)
    return registry


def available_methods() -> dict[str, PoolMethod]:
    """Built-in methods that see a pool and those of installed packages, by name.

    Raises:
        UsageError: a package cannot be imported, defines no method, or claims a name that is taken.
    """
    registry = {one.name: one for one in methods_.BUILTIN}
    for where, module in _installed(METHODS):
        _extend_methods(registry, _methods(module, where), where)
    return registry


def factors(names: Sequence[str]) -> list[Factor]:
    """The factors that ``--factors`` names.

    Args:
        names: names of factors, and files (``.py``) that define some. No names but files only means all factors and
            those of the files; nothing at all means all factors.

    Raises:
        UsageError: a file cannot be loaded or defines no factor, a name is unknown or taken twice.

    Example:
        >>> [factor.name for factor in factors(["acc", "INDEX-DIFF"])]
        ['ACC', 'INDEX-DIFF']
    """
    registry = available()

    def read(file: Path) -> dict[str, Factor]:
        found = _factors(_module(file, "--factors"), f"`--factors`: {file}")
        _extend(registry, found, "`--factors`")
        return found

    return _chosen("factor", names, registry, read, ())


def methods(names: Sequence[str]) -> list[PoolMethod]:
    """The methods that ``--methods`` names, beside the columns of the table.

    Args:
        names: names of methods, "all", and files (``.py``) that define some. No names but files only means those that
            are shown by default and those of the files.

    Raises:
        UsageError: a file cannot be loaded or defines no method, a name is unknown or taken twice.

    Example:
        >>> [method.name for method in methods(["surrogate", "mano"])]
        ['SURROGATE', 'MANO']
    """
    registry = available_methods()
    if "all" in names:
        names = [*registry, *(name for name in names if name.endswith(".py"))]

    def read(file: Path) -> dict[str, PoolMethod]:
        found = _methods(_module(file, "--methods"), f"`--methods`: {file}")
        _extend_methods(registry, found, "`--methods`")
        return found

    default = [name for name, one in registry.items() if one.default]
    return _chosen("method", names, registry, read, default)


def _chosen(
    kind: str,
    names: Sequence[str],
    registry: dict[str, N],
    read: Callable[[Path], dict[str, N]],
    default: Sequence[str],
) -> list[N]:
    """What names and files stand for.

    Args:
        kind: of what they stand for, for messages.
        names: names and files.
        registry: what there is by name; what files define comes to it.
        read: reads a file.
        default: what is taken where no name is given; all where that is nothing.
    """
    files = dict.fromkeys(Path(name).resolve() for name in names if name.endswith(".py"))
    plain = [name for name in names if not name.endswith(".py")]
    own = {name: one for file in files for name, one in read(file).items()}
    chosen = {one.name: one for one in (look_up(kind, name, registry) for name in plain or default or registry)}
    return list({**chosen, **own}.values())


def _installed(group: str) -> Iterator[tuple[str, ModuleType]]:
    """The modules that installed packages name in a group, and how to call each in a message."""
    for _, where, target, module in load_entry_points(group):
        if not isinstance(module, ModuleType):
            raise UsageError(f"{where}: it must name a module (got {target})")
        yield where, module


def _factors(module: ModuleType, where: str) -> dict[str, Factor]:
    """The factors of a user's module; there must be one."""
    try:
        found = factors_in(module)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error
    if not found:
        raise UsageError(f"{where}: {module.__name__} defines no factor; a factor is a function under `@factor(...)`")
    return found


def _methods(module: ModuleType, where: str) -> dict[str, PoolMethod]:
    """The methods of a user's module; there must be one."""
    found = [value for value in vars(module).values() if isinstance(value, PoolMethod)]
    if not found:
        raise UsageError(f"{where}: {module.__name__} defines no method; a method is a `PoolMethod` by any name")
    names = Counter(one.name.casefold() for one in {id(one): one for one in found}.values())  # which may have two names
    if twice := [one.name for one in found if names[one.name.casefold()] > 1]:
        raise UsageError(f"{where}: two methods are named {twice[0]}")
    return {one.name: one for one in found}


def _extend(registry: dict[str, Factor], found: dict[str, Factor], where: str) -> None:
    """Put a user's factors beside the others, whose names they may not take."""
    taken = {one.name.casefold() for one in methods_.BUILTIN}
    for factor in found.values():
        if factor.name.casefold() in taken or _of_every_report(factor.name):
            raise UsageError(f"{where}: {factor.name} is a method of every report; name the factor otherwise")
        try:
            add(registry, factor)
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from error


def _extend_methods(registry: dict[str, PoolMethod], found: dict[str, PoolMethod], where: str) -> None:
    """Put a user's methods beside the others, whose names they may not take."""
    for method in found.values():
        if method.name.casefold() in {name.casefold() for name in BUILTIN} or _of_every_report(method.name):
            raise UsageError(f"{where}: {method.name} is a method of every report; name the method otherwise")
        if method.name.casefold() in {name.casefold() for name, one in registry.items() if one is not method}:
            raise UsageError(f"{where}: two methods are named {method.name}")
        registry[method.name] = method


def _of_every_report(name: str) -> bool:
    """Whether a name is that of a method which is made of others, or of a coin."""
    return name.upper() in COINS or name.upper().endswith((combined.TIES, combined.FACTOR))


def _module(file: Path, option: str) -> ModuleType:
    """Run a file as a module of its own, named by its path. It is code, and is trusted as such."""
    spec = importlib.util.spec_from_file_location(str(file), file)
    if spec is None or spec.loader is None or not os.path.isfile(file):
        raise UsageError(f"`{option}`: there is no file {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[str(file)] = module  # dataclasses and type hints in the file look their module up
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        place = f"{error.filename or file}, line {error.lineno}" if error.lineno else str(file)
        raise UsageError(f"`{option}`: {place}: {error.msg}") from error
    except (Exception, SystemExit) as error:  # a user's file may raise anything
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        place = f"{file}, line {lines[-1]}" if lines else str(file)
        raise UsageError(f"`{option}`: {place}: {type(error).__name__}: {error}") from error
    return module
