"""What a command says beside its answer: log lines and bars, on stderr."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ranker.commands.program import inert, spoken
from ranker.errors import Assumption, UsageError

if TYPE_CHECKING:
    from ranker.progress import Progress


def log(given: Mapping[str, Any]) -> None:
    """Send what the product says to stderr, as much as the options want, and keep the libraries' own talk off it."""
    quieten_libraries()
    logging.captureWarnings(True)
    if logging.lastResort is not None:  # what libraries say, too
        logging.lastResort.setFormatter(Spoken("%(message)s"))
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Spoken("%(message)s"))
    handler.addFilter(once())
    handler.setLevel(logging.ERROR if given["quiet"] else logging.DEBUG if given["verbose"] else logging.INFO)
    logger = logging.getLogger("ranker")
    logger.handlers = [handler, *([Strict()] if given.get("strict") else [])]
    logger.propagate = False
    logger.setLevel(min(handler.level, logging.WARNING) if given.get("strict") else handler.level)


class Strict(logging.Handler):
    """What makes an error of the first guess, dropped row or unread column that is said."""

    def emit(self, record: logging.LogRecord) -> None:
        """Refuse what the line says, where it is an assumption."""
        check_strict({"strict": True}, [record.msg])


def check_strict(given: Mapping[str, Any], notes: Iterable[str]) -> None:
    """Refuse guesses, dropped rows and unread columns, under ``--strict``.

    Args:
        given: the command line.
        notes: sentences about what was read; those that are an `Assumption` count.

    Raises:
        UsageError: there is one.
    """
    assumptions = [note for note in notes if isinstance(note, Assumption)]
    if given.get("strict") and assumptions:
        more = f" (and {len(assumptions) - 1} more)" if assumptions[1:] else ""
        raise UsageError(f"`strict`: {assumptions[0]}{more}")


class Spoken(logging.Formatter):
    """Lines that name the options of the command that is running, with nothing in them that a terminal obeys."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and what stands below it."""
        return inert(spoken(super().format(record)))


def once() -> Callable[[logging.LogRecord], bool]:
    """A filter of log lines that lets no warning through twice: a model is asked in stages, and warns in each."""
    said: set[str] = set()

    def new(record: logging.LogRecord) -> bool:
        text = record.getMessage()
        known = record.levelno >= logging.WARNING and text in said
        said.add(text)
        return not known

    return new


def quieten_libraries() -> None:
    """Keep the libraries' talk off stderr, and their threads from spinning, before they are imported.

    What the environment says already stands.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # a thread that waits takes no core from others
    os.environ.setdefault("KMP_BLOCKTIME", "0")


def bars(given: Mapping[str, Any]) -> Progress:
    """What opens a stage of the work on one model; it shows nothing under ``--quiet``."""
    from ranker import progress

    console = progress.stderr()
    console.quiet = given["quiet"]
    return lambda label, total: progress.bar(console, label, total, inert)
