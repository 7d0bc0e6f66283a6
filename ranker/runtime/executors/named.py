"""Executors by name: built-in ones, and those of installed packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, cast

from ranker.errors import UsageError, look_up
from ranker.runtime.base import Executor
from ranker.runtime.executors.processes import MEMORY, Processes
from ranker.runtime.executors.serial import Serial
from ranker.sources.packages import load_entry_points

GROUP = "rank_models.executors"
"""Entry point group of packages with executors: the name of an entry point is that of its executor."""


@dataclass(frozen=True)
class ExecutorOptions:
    """Options of a run for its executor.

    Attributes:
        workers: how many models work at a time, or "auto": as many as there is room for.
        limits: whether models work within limits, so that one that fails ends no other.
        memory: bytes that a model may take, beside its weights.
        address: of a cluster, such as ``ray://HOST:PORT``; "" where the executor's name is none.
    """

    workers: int | Literal["auto"] = "auto"
    limits: bool = True
    memory: int = MEMORY
    address: str = ""


BUILTIN: Mapping[str, Callable[[ExecutorOptions], Executor]] = {
    "serial": lambda options: Serial(),
    "processes": lambda options: Processes(options.workers, limits=options.limits, memory=options.memory),
}
"""Built-in executors: name -> function that makes one from a run's options."""


def executor_named(name: str, options: ExecutorOptions = ExecutorOptions()) -> Executor:
    """Make an executor.

    Args:
        name: one of `BUILTIN`, or of an installed package, or the address of a cluster, which begins with such a name;
            "auto" is processes, and serial for one worker without limits.

    Raises:
        UsageError: a package cannot be loaded, or gives no executor.

    Example:
        >>> executor_named("auto", ExecutorOptions(workers=1, limits=False))
        Serial()
    """
    if "://" in name:
        name, options = name.partition("://")[0], replace(options, address=name)
    if name == "auto":
        name = "serial" if options.workers == 1 and not options.limits else "processes"
    if name in BUILTIN:
        return BUILTIN[name](options)
    packages = {entry.name: entry for entry in load_entry_points(GROUP)}
    look_up("executor", name, dict.fromkeys(["auto", *BUILTIN, *packages]))
    executor = cast("Callable[[ExecutorOptions], Executor]", packages[name].loaded)(options)
    if not callable(getattr(executor, "run", None)):
        kind = type(executor).__name__
        raise UsageError.at(packages[name].origin, f"it must make an object with `run` (got a {kind})", value=kind)
    return executor
