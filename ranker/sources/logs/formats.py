"""Formats of logs by the program that writes them: the built-in ones, and those of installed packages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from ranker.errors import DataError, UsageError
from ranker.files.text import read_start
from ranker.limits import LIMITS, Limits
from ranker.sources.logs.base import FoundLog, TaskLog
from ranker.sources.logs.options import LogOptions
from ranker.sources.logs.records import RecordFormat, RecordModule
from ranker.sources.packages import load_entry_points

BUILTIN = {"lm-eval": "ranker.sources.logs.lm_eval", "inspect": "ranker.sources.logs.inspect_ai"}
"""Name of a program -> the module of its format; the first one that claims a file reads it."""

GROUP = "rank_models.logs"
"""Entry point group of packages with formats of logs, each a `RecordModule`: the name is the program's."""

LOOK = 1 << 16
"""Bytes of a file by which formats know it."""


class LogFormat(Protocol):
    """Format of one program's logs.

    Attributes:
        name: of the program, in logs and options.
        program: its name in messages.
        about: description of its files.
        file_pattern: of the names of files that should be its logs, without ``.gz``; "" if no name tells.
        endings: of file names by which its reader reports the fault of a file that no format claims.
        options: of logs, that it alone reads.
        by_text: True if the texts of rows must be the same in all logs of a task.
        names_models: True if a log states its model; else its folder has the model's name.
    """

    name: str
    program: str
    about: str
    file_pattern: str
    endings: tuple[str, ...]
    options: frozenset[str]
    by_text: bool
    names_models: bool

    def claims(self, path: Path, start: bytes, limits: Limits) -> bool:
        """Return True if a file, of which the first bytes are given, is a log of the program; or raise a DataError."""

    def find(self, folder: Path, names: Sequence[str], limits: Limits) -> tuple[list[FoundLog], list[str]]:
        """List the logs of a folder among files that it claims, and errors of those that cannot be read."""

    def groups(self, folder: Path, logs: Sequence[FoundLog], limits: Limits) -> Mapping[str, tuple[str, ...]]:
        """Return group of tasks -> its tasks."""

    def trouble(self, log: FoundLog, limits: Limits) -> str:
        """Return why a log is incomplete, or raise a DataError; "" if it is complete."""

    def read(self, path: Path, choice: LogOptions, limits: Limits) -> TaskLog:
        """Read a log, with the choices among its contents for its task, or raise a DataError."""


def formats() -> dict[str, LogFormat]:
    """Return the formats by name.

    Raises:
        UsageError: a package brings something else, or claims a name that is taken.

    Example:
        >>> [*formats()][:2]
        ['lm-eval', 'inspect']
    """
    return {form.name: form for form in _in_order()}


def _in_order() -> Iterator[LogFormat]:
    """Yield the built-in formats, and then those of packages, for which all that is installed is gone through."""
    for place in BUILTIN.values():
        yield cast("LogFormat", import_module(place))
    names = {*BUILTIN}
    for name, origin, target, module in load_entry_points(GROUP):
        if not all(callable(getattr(module, part, None)) for part in ("claims", "read")) or not hasattr(
            module, "about"
        ):
            text = "it must have the functions `claims` and `read`, and `about`, what its files are"
            raise UsageError.at(origin, f"{text} (got {target})", value=target)
        if name in names:
            raise UsageError.at(origin, f"another format of logs is named {name}", value=name)
        names.add(name)
        yield RecordFormat(name, cast("RecordModule", module))


def format_named(name: str) -> LogFormat:
    """Return the format of a program, such as `program_of` detects."""
    return next(form for form in _in_order() if form.name == name)


def program_of(path: Path, limits: Limits = LIMITS, known_formats: Collection[LogFormat] = ()) -> str | None:
    """Return the name of the program that wrote a file, by its content; None if it is no log.

    Args:
        known_formats: all of them, where many files are asked about that may be no logs.
    """
    try:
        start = read_start(path, LOOK)
        return next((form.name for form in known_formats or _in_order() if form.claims(path, start, limits)), None)
    except DataError:
        return None


def is_named(form: LogFormat, file: str) -> bool:
    """Return True if a file of that name should be a log of a format."""
    return fnmatchcase(file.removesuffix(".gz"), form.file_pattern)
