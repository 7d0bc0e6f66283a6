"""The checks as workflow commands, which GitHub shows as annotations of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ranker.report.document import Check, Document
from ranker.report.escapes import visible

MAX_ERRORS = 10
"""Errors of a step that GitHub shows, at most."""

Level = Literal["error", "warning", "notice"]

LEVELS: dict[str, Level] = {"failed": "error", "error": "error", "allowed": "warning"}
"""State of a check -> the level of its annotation; others have none."""


def write(document: Document) -> str:
    """Write a command a line: the verdict, the choice, and each check that fails or is let pass with a gap.

    No other text is written, so that no line is a command of anyone else.
    """
    return "".join(f"{line}\n" for line in _lines(document))


def _lines(document: Document) -> Iterator[str]:
    errors = [check for check in document.checks if LEVELS.get(check.state) == "error"]
    room = MAX_ERRORS
    if document.verdict:
        yield command("error" if errors else "notice", document.title, document.verdict)
        room -= 1
    choice = document.paragraphs or [document.title]
    yield command("notice", "Choice" if document.verdict else document.title, *choice)
    listed = errors if len(errors) <= room else errors[: room - 1]
    yield from (_annotation(check) for check in listed)
    if len(listed) < len(errors):
        yield command("error", "More that failed", f"{len(errors) - len(listed):,} more")
    yield from (_annotation(check) for check in document.checks if check.state == "allowed")


def _annotation(check: Check) -> str:
    title = f"{check.name} ({check.group})" if check.group else check.name
    return command(LEVELS[check.state], title, check.text, *check.details)


def command(level: Level, title: str, *lines: str) -> str:
    r"""Return a workflow command of one line; GitHub shows the lines of its message below each other.

    Example:
        >>> command("error", "a: 50 %", "lost 2 rows", "row 1\n::notice::x")
        '::error title=a%3A 50 %25::lost 2 rows%0Arow 1 ::notice::x'
    """
    message = "%0A".join(_data(line) for line in lines)
    return f"::{level} title={_data(title).replace(':', '%3A').replace(',', '%2C')}::{message}"


def _data(text: str) -> str:
    """Escape a text in one line as the runner reads it back."""
    return " ".join(visible(" ".join(text.split())).split()).replace("%", "%25")
