"""What a command writes: paths are looked at before any work, so that no run ends at a name it may not use."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ranker.commands.program import say, spoken
from ranker.errors import RankModelsError, UsageError
from ranker.files.saving import is_read_only, save

if TYPE_CHECKING:
    from ranker.report.document import Document
    from ranker.report.figures import Drawing
    from ranker.results.gate import Gate
    from ranker.results.ranking import Ranking

FILES = {"output": "`--output`", "save": "`--save`"}
FOLDERS = {"plots": "`--plots`"}
"""The options that name what is written: an option's variable -> what it is called."""


def check(given: Mapping[str, Any]) -> None:
    """Refuse what cannot be written, and what would be written over.

    Args:
        given: what click read; the options of `FILES` and `FOLDERS` that the command has, and `force`.

    Raises:
        UsageError: a path is there already and `--force` was not given, it cannot be written, or two are the same.
    """
    paths: dict[Path, str] = {}
    for name, option in (FILES | FOLDERS).items():
        if given.get(name) is None:
            continue
        path = Path(given[name])
        if path in paths:
            raise UsageError(f"{paths[path]} and {option} must be different (got {path} for both)")
        paths[path] = option
        try:
            check_path(path, option, force=given["force"], folder=name in FOLDERS)
        except (OSError, ValueError) as error:  # a name too long, or one that no file can have
            raise UsageError(f"{option}: {path} cannot be written: {getattr(error, 'strerror', error)}") from error


def check_path(path: Path, option: str, *, force: bool = False, folder: bool = False) -> None:
    """Refuse one path. A device, such as /dev/null, and an empty folder hold nothing that could be lost.

    Args:
        path: of the file or folder.
        option: what named it, for the message.
        force: what is there may be written over.
        folder: it is to be a folder, with files in it.

    Raises:
        UsageError: it is there and `force` is not set, or it cannot be written.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        path.lstat()  # raises for a name that no file can have
    if folder and path.exists() and not path.is_dir():
        raise UsageError(f"{option}: {path} must be a folder, and is a file")
    if not folder and path.is_dir():
        raise UsageError(f"{option}: {path} must be a file, and is a folder")
    if not force and (path.is_file() or (folder and path.is_dir() and any(path.iterdir()))):
        raise UsageError(f"{option}: {path} is there already; `--force` writes over it")
    if not path.parent.is_dir():
        raise UsageError(f"{option}: {path} cannot be written: there is no folder {path.parent}")
    if is_read_only(path) if path.exists() else not os.access(path.parent, os.W_OK):
        raise UsageError(f"{option}: {path} cannot be written: permission denied")


def meant(path: Path | None, formats: Mapping[str, str]) -> str | None:
    """The format that the name of a file ends like; None where it has no ending.

    Args:
        path: of the file; None where there is none.
        formats: ending, without the dot -> format.

    Raises:
        UsageError: no format has that ending.

    Example:
        >>> meant(Path("page.HTML"), {"html": "html", "txt": "table"}), meant(Path("answer"), {}), meant(None, {})
        ('html', None, None)
    """
    found = "" if path is None else path.suffix.removeprefix(".").casefold()
    if found and found not in formats:
        known = ", ".join(sorted(f".{ending}" for ending in formats))
        raise UsageError(f"`--output`: {path} ends like no format ({known}); name one of these, or `--format`")
    return formats.get(found)


def in_words_of_the_command(ranking: Ranking) -> Ranking:
    """The ranking with notes and reasons that name options of the command that is running."""
    header, found = ranking.header, ranking.found
    said = replace(
        header,
        failures={model: spoken(why) for model, why in header.failures.items()},
        left_out={method: spoken(why) for method, why in header.left_out.items()},
        notes=tuple(map(spoken, header.notes)),
    )
    return replace(ranking, header=said, found=replace(found, notes=tuple(map(spoken, found.notes))))


def save_each(rankings: Mapping[str, Ranking], folder: Path) -> None:
    """Keep several runs in a folder, a file each, named after the task.

    Raises:
        RankModelsError: a file cannot be written.
    """
    with suppress(OSError):  # the first file says why there can be no folder
        folder.mkdir(exist_ok=True)
    for task, ranking in rankings.items():
        ranking.save(folder / f"{task.replace(os.sep, '_')}.json")


def rendered(document: Document, format_name: str, path: Path | None) -> str:
    """The document in a format; text that goes to a terminal is wrapped where that ends, if it is a narrow one."""
    from ranker import report

    if format_name == "table" and path is None and sys.stdout.isatty():
        import shutil

        from ranker.report import terminal

        return terminal.write(document, shutil.get_terminal_size().columns)
    return report.write(document, format_name)


def write(answer: str | bytes, path: Path | None) -> None:
    """Write the answer to ``--output`` or stdout; text as UTF-8, whatever the terminal's encoding.

    Half a surrogate pair is escaped as in JSON.

    Raises:
        RankModelsError: the file cannot be written.
    """
    encoded = answer.encode("utf-8", "backslashreplace") if isinstance(answer, str) else answer
    if path is None:
        click.echo(encoded, nl=False)
        return
    try:
        save(path, encoded)
    except OSError as error:
        raise RankModelsError(f"`--output`: {path} cannot be written: {error.strerror}") from error


def hold(gate: Gate) -> None:
    """Say the verdict of ``--not-worse-than`` in a line.

    Raises:
        SystemExit: 3, it does not hold.
    """
    say(gate.in_words.replace("\n", "\\n"), err=True)
    if not gate.passes:
        raise SystemExit(3)


def plot(ranking: Ranking, folder: Path | None) -> None:
    """Write the figures into the folder of ``--plots``, if one was named."""
    if folder is not None:
        from ranker.report import figures

        draw(figures.drawings(ranking, figures.ALL), folder)


def draw(drawn: Sequence[Drawing], folder: Path) -> None:
    """Write figures into the folder of ``--plots`` as PNG, SVG and PDF, over what is there; it is made where it is not.

    Raises:
        RankModelsError: a file cannot be written.
    """
    from ranker.report import figures

    try:
        folder.mkdir(exist_ok=True)
        for drawing in drawn:
            for extension in figures.FORMATS:
                save(folder / f"{drawing.name}.{extension}", figures.encode(drawing.figure, extension))
    except OSError as error:
        raise RankModelsError(f"`--plots`: {folder} cannot be written: {error.strerror}") from error
