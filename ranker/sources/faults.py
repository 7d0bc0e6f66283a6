"""Faults of sources: whatever a source raises leaves out its model, in a line, and the others go on."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from ranker.errors import ModelError, RankModelsError, UsageError, first_line

log = logging.getLogger(__name__)

PASSING = (ModelError, UsageError, KeyboardInterrupt, SystemExit, GeneratorExit)
"""Errors that leave out a model already, that no model can be right with, and those that end the program or a loop."""


@contextmanager
def model_errors() -> Iterator[None]:
    """Turn whatever a source raises into a `ModelError`; the log has the traceback, at level DEBUG.

    Errors of arguments and of the files that they name pass, and so do stops.

    Raises:
        ModelError: the block raised something else.

    Example:
        >>> with model_errors():
        ...     {}["logits"]
        Traceback (most recent call last):
        ranker.errors.ModelError: KeyError: 'logits'
    """
    try:
        yield
    except PASSING:
        raise
    except BaseException as error:  # panics of native libraries are no `Exception`
        for line in "".join(traceback.format_exception(error)).splitlines():
            log.debug("%s", line)
        raise ModelError(reason(error)) from error


def reason(error: BaseException, memory: int | None = None) -> str:
    """Return the reason why a model failed, in a line.

    Args:
        memory: bytes that its process may take; None for no limit.

    Example:
        >>> reason(ZeroDivisionError("division by zero")), reason(MemoryError(), 3_000_000_000)
        ('ZeroDivisionError: division by zero', 'MemoryError; its process may take 3.0 GB of memory')
    """
    text = str(error) if isinstance(error, RankModelsError) else type(error).__name__
    line = first_line(error)
    if not isinstance(error, RankModelsError) and line not in ("", text):
        text = f"{text}: {line}"
    causes = [error, *filter(None, (error.__cause__, error.__context__))]
    scarce = any(isinstance(cause, MemoryError) or "memory" in str(cause) for cause in causes)
    return f"{text}; its process may take {memory / 1e9:.1f} GB of memory" if scarce and memory else text
