"""The factors of a run: built-in ones by name, a user's own from a file or an installed package."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType

from factors import BUILTIN, Factor
from factors.registry import add, factors_in
from ranker.errors import UsageError, look_up
from ranker.statistics.methods import RESERVED

GROUP = "rank_models.factors"
"""The entry point group of packages with factors: each entry point names a module."""


def available() -> dict[str, Factor]:
    """Built-in factors and those of installed packages, by name.

    Raises:
        UsageError: a package cannot be imported, defines no factor, or claims a name that is taken.
    """
    registry = dict(BUILTIN)
    for point in metadata.entry_points(group=GROUP):
        package = f"the package {point.dist.name!r}" if point.dist else "a package"
        where = f"{package}, entry point {point.name!r} of {GROUP!r}"
        try:
            module = point.load()
        except Exception as error:  # another package's code may raise anything
            raise UsageError(f"{where}: {point.value} cannot be loaded: {type(error).__name__}: {error}") from error
        if not isinstance(module, ModuleType):
            raise UsageError(f"{where}: it must name a module with factors (got {point.value})")
        _extend(registry, _factors(module, where), where)
    return registry


def choose(names: Sequence[str]) -> list[Factor]:
    """The factors that ``--factors`` names.

    Args:
        names: names of factors, and files (``.py``) that define some. No names but files only means all factors and
            those of the files; nothing at all means all factors.

    Raises:
        UsageError: a file cannot be loaded or defines no factor, a name is unknown or taken twice.

    Example:
        >>> [factor.name for factor in choose(["acc", "INDEX-DIFF"])]
        ['ACC', 'INDEX-DIFF']
    """
    registry = available()
    files = dict.fromkeys(Path(name).resolve() for name in names if name.endswith(".py"))
    plain = [name for name in names if not name.endswith(".py")]
    own: dict[str, Factor] = {}
    for file in files:
        found = _factors(_module(file), f"`--factors`: {file}")
        _extend(registry, found, "`--factors`")
        own.update(found)
    if not plain:
        return list(registry.values())
    chosen = {factor.name: factor for factor in (look_up("factor", name, registry) for name in plain)}
    return list({**chosen, **own}.values())


def _factors(module: ModuleType, where: str) -> dict[str, Factor]:
    """The factors of a user's module; there must be one."""
    try:
        found = factors_in(module)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error
    if not found:
        raise UsageError(f"{where}: {module.__name__} defines no factor; a factor is a function under `@factor(...)`")
    return found


def _extend(registry: dict[str, Factor], found: dict[str, Factor], where: str) -> None:
    """Put a user's factors beside the others, whose names they may not take."""
    for factor in found.values():
        if factor.name.upper() in RESERVED:
            raise UsageError(f"{where}: {factor.name} is a method of every report; name the factor otherwise")
        try:
            add(registry, factor)
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from error


def _module(file: Path) -> ModuleType:
    """Run a file as a module of its own, named by its path. It is code, and is trusted as such."""
    spec = importlib.util.spec_from_file_location(str(file), file)
    if spec is None or spec.loader is None or not os.path.isfile(file):
        raise UsageError(f"`--factors`: there is no file {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[str(file)] = module  # dataclasses and type hints in the file look their module up
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise UsageError(f"`--factors`: {error.filename}, line {error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:  # a user's file may raise anything
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        place = f"{file}, line {lines[-1]}" if lines else str(file)
        raise UsageError(f"`--factors`: {place}: {type(error).__name__}: {error}") from error
    return module
