"""Output of a command beside its answer, on stderr: log lines and progress bars."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ranker.commands.program import escape_text, name_flags
from ranker.errors import Assumption, UsageError

if TYPE_CHECKING:
    from ranker.progress import Progress


def log(values: Mapping[str, Any]) -> None:
    """Log to stderr at the level of the options, and silence the libraries."""
    quieten_libraries()
    logging.captureWarnings(True)
    if logging.lastResort is not None:  # used by libraries
        logging.lastResort.setFormatter(FlagFormatter("%(message)s"))
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FlagFormatter("%(message)s"))
    handler.addFilter(drop_repeated_warnings())
    handler.setLevel(logging.ERROR if values["quiet"] else logging.DEBUG if values["verbose"] else logging.INFO)
    logger = logging.getLogger("ranker")
    logger.handlers = [handler, *([StrictHandler()] if values.get("strict") else [])]
    logger.propagate = False
    logger.setLevel(min(handler.level, logging.WARNING) if values.get("strict") else handler.level)


class StrictHandler(logging.Handler):
    """Log handler that turns the first guess, dropped row or unread column into an error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Refuse a record that is an assumption."""
        check_strict({"strict": True}, [record.msg])


def check_strict(values: Mapping[str, Any], notes: Iterable[str]) -> None:
    """Refuse guesses, dropped rows and unread columns, under ``--strict``."""
    assumptions = [note for note in notes if isinstance(note, Assumption)]
    if values.get("strict") and assumptions:
        others_text = f" (and {len(assumptions) - 1} more)" if assumptions[1:] else ""
        raise UsageError(f"`strict`: {assumptions[0]}{others_text}", option="strict", value=assumptions[0])


class FlagFormatter(logging.Formatter):
    """Log formatter that names options of the running command, and escapes what a terminal would obey."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and the traceback below it."""
        return escape_text(name_flags(super().format(record)))


def drop_repeated_warnings() -> Callable[[logging.LogRecord], bool]:
    """Return a log filter that drops repeated warnings: a model is asked in stages, and warns in each."""
    texts: set[str] = set()

    def new(record: logging.LogRecord) -> bool:
        text = record.getMessage()
        repeated = record.levelno >= logging.WARNING and text in texts
        texts.add(text)
        return not repeated

    return new


def quieten_libraries() -> None:
    """Silence libraries, and keep their threads from spinning, before they are imported.

    Variables that are set already stay.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # waiting threads leave their cores to others
    os.environ.setdefault("KMP_BLOCKTIME", "0")


def bars(values: Mapping[str, Any]) -> Progress:
    """Return a function that opens a progress bar for one model; it shows nothing under ``--quiet``."""
    from ranker import progress

    console = progress.stderr()
    console.quiet = values["quiet"]
    return lambda label, total: progress.bar(console, label, total, escape_text)
