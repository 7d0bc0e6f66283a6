"""Load factors, methods and metrics of a run: built-in ones by name, a user's own from a file or a package."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from factors import BUILTIN, Factor
from factors.registry import add, factors_in
from ranker.errors import UsageError, listed, look_up
from ranker.runs.rows import RowsFile
from ranker.runs.task import task_of_texts
from ranker.sources.base import Machine
from ranker.sources.hf import bertscore
from ranker.sources.metrics import OF_LABELS, LabelScore, answers_of, installed_metrics
from ranker.sources.packages import load_entry_points
from ranker.statistics import combined
from ranker.statistics import methods as methods_
from ranker.statistics.methods import COINS
from ranker.statistics.pool import PoolMethod

FACTORS, METHODS = "rank_models.factors", "rank_models.methods"
"""Entry point groups of packages with factors, and with methods that see a pool; each names a module."""

N = TypeVar("N", Factor, PoolMethod)
R = TypeVar("R")


def available_factors() -> dict[str, Factor]:
    """Return built-in factors and those of installed packages, by name."""
    return _with_packages(FACTORS, dict(BUILTIN), _add_factors)


def available_methods() -> dict[str, PoolMethod]:
    """Return built-in methods that see a pool and those of installed packages, by name."""
    return _with_packages(METHODS, {method.name: method for method in methods_.BUILTIN}, _add_methods)


def factors(names: Sequence[str]) -> list[Factor]:
    """Return the factors of ``--factors``.

    Args:
        names: names of factors, and files (``.py``) that define some. Files alone mean their factors and the baselines,
            which need no attributions; () means all.

    Example:
        >>> [factor.name for factor in factors(["acc", "INDEX-DIFF"])]
        ['ACC', 'INDEX-DIFF']
    """
    registry = available_factors()
    baselines = [name for name, entry in registry.items() if entry.kind == "baseline"]
    return _choose("factor", names, registry, _add_factors, baselines if names else [*registry])


def methods(names: Sequence[str]) -> list[PoolMethod]:
    """Return the methods of ``--methods``, which add to the columns of the table.

    Args:
        names: names of methods, "all", "none" by itself, and files (``.py``) that define some. Files alone mean the
            default methods and those of the files.

    Example:
        >>> [method.name for method in methods(["surrogate", "mano"])]
        ['SURROGATE', 'MANO']
    """
    registry = available_methods()
    if [name.casefold() for name in names] == ["none"]:
        return []
    if "all" in names:
        names = [*registry, *(name for name in names if name.endswith(".py"))]
    default = [name for name, method in registry.items() if method.default]
    return _choose("method", names, registry, _add_methods, default)


def metric(place: str, machine: Machine = Machine()) -> Callable[..., float] | None:
    """Return the metric of ``--metric FILE.py:NAME``, ``bertscore:ENCODER`` or a package; None for others."""
    file, _, name = (place, "", "") if place.endswith(".py") else place.rpartition(":")
    if file.endswith(".py"):
        return _file_metric(file, name)
    kind, _, encoder = place.partition(":")
    if kind.casefold() == bertscore.NAME:
        return bertscore.BertScore.by(encoder, machine)
    return installed_metrics().get(place.casefold())


def judged_rows(rows: R, metric_name: str | None, machine: Machine) -> tuple[R, str | LabelScore | None]:
    """Return rows whose task judges by a metric of texts of one's own, and None; rows, and one of labels; or both as
    they are.
    """
    if not metric_name or not (score := metric(metric_name, machine)):
        return rows, metric_name
    if answers_of(score) == OF_LABELS:
        return rows, score
    if not (isinstance(rows, RowsFile) and rows.task == "text"):
        raise UsageError(f"`--metric {metric_name}` is for `--task text`", option="metric", value=metric_name)
    return replace(rows, task=task_of_texts(score)), None


def _file_metric(file: str, name: str) -> Callable[..., float]:
    """Return a function of a file; without a name its only public one."""
    module = _module(Path(file).resolve(), "metric")
    functions = {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }
    name = name or (next(iter(functions)) if len(functions) == 1 else "")
    if name not in functions:
        reason = f"there is no function {name!r}" if name else "name one of its functions, as in FILE.py:NAME"
        listed_names = listed(functions) or "none"
        raise UsageError(f"`--metric` {file}: {reason} (functions: {listed_names})", option="metric", value=file)
    return functions[name]


def _choose(
    kind: str,
    names: Sequence[str],
    registry: dict[str, N],
    add_from: Callable[[dict[str, N], ModuleType], dict[str, N]],
    default: Sequence[str],
) -> list[N]:
    """Return the definitions that names and files stand for, with `default` in place of no names."""
    plain_names = [name for name in names if not name.endswith(".py")]
    from_files, option = dict[str, N](), f"{kind}s"
    for file in dict.fromkeys(Path(name).resolve() for name in names if name.endswith(".py")):
        module = _module(file, option)
        with _prefix(f"`--{option}`: {file}", option=option, place=file):
            from_files |= add_from(registry, module)
    chosen = {entry.name: entry for entry in (look_up(kind, name, registry) for name in plain_names or default)}
    return list({**chosen, **from_files}.values())


def _with_packages(
    group: str, registry: dict[str, N], add_from: Callable[[dict[str, N], ModuleType], dict[str, N]]
) -> dict[str, N]:
    """Return the registry with the definitions of the modules that installed packages name in a group."""
    for _, origin, target, module in load_entry_points(group):
        if not isinstance(module, ModuleType):
            raise UsageError.at(origin, f"it must name a module (got {target})", value=target)
        with _prefix(origin, place=origin):
            add_from(registry, module)
    return registry


@contextmanager
def _prefix(prefix: str, *, place: object, option: str = "") -> Iterator[None]:
    """Name a user's file or package in errors about its content."""
    try:
        yield
    except (ValueError, UsageError) as error:
        raise UsageError(
            f"{prefix}: {error}", option=option, value=getattr(error, "value", None), place=place
        ) from error


def _add_factors(registry: dict[str, Factor], module: ModuleType) -> dict[str, Factor]:
    """Add the factors of a user's module, one or more, whose names must be free; return them."""
    own_factors = factors_in(module)
    if not own_factors:
        raise UsageError("no factor is defined there; a factor is a function under `@factor(...)`")
    for factor in own_factors.values():
        _check_free("factor", factor.name, (method.name for method in methods_.BUILTIN))
        add(registry, factor)
    return own_factors


def _add_methods(registry: dict[str, PoolMethod], module: ModuleType) -> dict[str, PoolMethod]:
    """Add the methods of a user's module, one or more, whose names must be free; return them."""
    module_methods = [value for value in vars(module).values() if isinstance(value, PoolMethod)]
    if not module_methods:
        raise UsageError("no method is defined there; a method is a `PoolMethod` by any name")
    distinct = {id(method): method for method in module_methods}.values()  # one method may have two names
    names = Counter(method.name.casefold() for method in distinct)
    if twice := [method.name for method in module_methods if names[method.name.casefold()] > 1]:
        raise UsageError(f"two methods are named {twice[0]}", value=twice[0])
    for method in module_methods:
        _check_free("method", method.name, BUILTIN)
        if method.name.casefold() in {name.casefold() for name, entry in registry.items() if entry is not method}:
            raise UsageError(f"two methods are named {method.name}", value=method.name)
        registry[method.name] = method
    return {method.name: method for method in module_methods}


def _check_free(kind: str, name: str, built_in: Iterable[str]) -> None:
    """Refuse the name of a built-in method, of a combined one, or of the coin."""
    of_report = set(map(str.casefold, built_in))
    if name.casefold() in of_report or name.upper() in COINS or name.upper().endswith((combined.TIES, combined.FACTOR)):
        raise UsageError(f"{name} is a method of every report; name the {kind} otherwise", value=name)


def _module(file: Path, option: str) -> ModuleType:
    """Run a file as a module named by its path. Its code is trusted."""
    spec = importlib.util.spec_from_file_location(str(file), file)
    if spec is None or spec.loader is None or not os.path.isfile(file):
        raise UsageError(f"`--{option}`: there is no file {file}", option=option, value=str(file))
    module = importlib.util.module_from_spec(spec)
    sys.modules[str(file)] = module  # dataclasses and type hints look up their module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        place = f"{error.filename or file}, line {error.lineno}" if error.lineno else str(file)
        raise UsageError(f"`--{option}`: {place}: {error.msg}", option=option, place=place) from error
    except (Exception, SystemExit) as error:  # a user's file may raise anything
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        place = f"{file}, line {lines[-1]}" if lines else str(file)
        text = f"`--{option}`: {place}: {type(error).__name__}: {error}"
        raise UsageError(text, option=option, place=place) from error
    return module
