"""The factors of a run: built-in ones by name, a user's own from a file or an installed package."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType

from factors import BUILTIN, Factor
from factors.registry import add, factors_in
from ranker.errors import UsageError, look_up

GROUP = "rank_models.factors"
"""The entry point group of packages with factors: each entry point names a module."""


def available() -> dict[str, Factor]:
    """Built-in factors and those of installed packages, by name.

    Raises:
        UsageError: a package cannot be imported, or claims a name that is taken.
    """
    registry = dict(BUILTIN)
    for point in metadata.entry_points(group=GROUP):
        try:
            module = point.load()
        except Exception as error:  # another package's code may raise anything
            raise UsageError(f"the factors of the package {point.value!r} cannot be loaded: {error}") from error
        _extend(registry, factors_in(module))
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
    files = [name for name in names if name.endswith(".py")]
    plain = [name for name in names if not name.endswith(".py")]
    own: dict[str, Factor] = {}
    for file in files:
        found = factors_in(_module(Path(file)))
        if not found:
            raise UsageError(f"`--factors`: {file} defines no factor; a factor is a function under `@factor(...)`")
        _extend(registry, found)
        _extend(own, found)
    if not plain:
        return list(registry.values())
    chosen = {factor.name: factor for factor in (look_up("factor", name, registry) for name in plain)}
    return list({**chosen, **own}.values())


def _extend(registry: dict[str, Factor], found: dict[str, Factor]) -> None:
    for factor in found.values():
        try:
            add(registry, factor)
        except ValueError as error:
            raise UsageError(f"`--factors`: {error}") from error


def _module(file: Path) -> ModuleType:
    """Run a file as a module of its own. It is code, and is trusted as such."""
    name = f"rank_models_own_{file.stem}_{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise UsageError(f"`--factors`: there is no file {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and type hints in the file look their module up
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise UsageError(f"`--factors`: {file}, line {error.lineno}: {error.msg}") from error
    except Exception as error:  # a user's file may raise anything
        raise UsageError(f"`--factors`: {file} cannot be loaded: {type(error).__name__}: {error}") from error
    return module
