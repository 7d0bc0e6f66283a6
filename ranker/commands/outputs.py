"""Write the output of a command. Paths are checked before any work, so that no run fails at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ranker.commands.program import name_flags, say
from ranker.errors import ModelError, RankModelsError, UsageError
from ranker.files.saving import is_read_only, save

if TYPE_CHECKING:
    from ranker.report.document import Document
    from ranker.report.figures import Drawing
    from ranker.results.gate import Gate
    from ranker.results.ranking import Ranking

FILES = ("output", "save")
FOLDERS = ("plots",)
"""Options that name output."""

NOT_SHOWN = 3
"""Exit status where models are not shown to be no worse than a base model."""

SUMMARY = "GITHUB_STEP_SUMMARY"
"""Variable that names the file of a step's summary, on GitHub."""

MAX_SUMMARY_BYTES = 1 << 20
"""Bytes of a summary that GitHub shows, at most."""

CUT = b"\n\nThe rest of this report is too long for a summary.\n"
"""End of a summary that is too long."""


def path_error(option: str, path: object, problem: str, kind: type[RankModelsError] = UsageError) -> RankModelsError:
    """Return an error about the path that an option names.

    Example:
        >>> print(path_error("output", "a.txt", "is there already"))
        `--output`: a.txt is there already
    """
    return kind(f"`--{option}`: {path} {problem}", option=option, value=path)


def check(values: Mapping[str, Any]) -> None:
    """Refuse output that cannot be written, or would overwrite a file."""
    paths: dict[Path, str] = {}
    for option in (*FILES, *FOLDERS):
        if values.get(option) is None:
            continue
        path = Path(values[option])
        if path in paths:
            raise UsageError.about(paths[path], f"and `--{option}` must be different (got {path} for both)", path)
        paths[path] = option
        try:
            check_path(path, option, force=values["force"], folder=option in FOLDERS)
        except (OSError, ValueError) as error:  # a name that is too long, or invalid
            raise path_error(option, path, f"cannot be written: {getattr(error, 'strerror', error)}") from error


def check_path(path: Path, option: str, *, force: bool = False, folder: bool = False) -> None:
    """Refuse one path. A device, such as /dev/null, or an empty folder is fine, since nothing can be lost."""
    with suppress(FileNotFoundError, NotADirectoryError):
        path.lstat()  # raises for an invalid name
    if folder and path.exists() and not path.is_dir():
        raise path_error(option, path, "must be a folder, and is a file")
    if not folder and path.is_dir():
        raise path_error(option, path, "must be a file, and is a folder")
    if not force and (path.is_file() or (folder and path.is_dir() and any(path.iterdir()))):
        raise path_error(option, path, "is there already; `--force` writes over it")
    if not path.parent.is_dir():
        raise path_error(option, path, f"cannot be written: there is no folder {path.parent}")
    if is_read_only(path) if path.exists() else not os.access(path.parent, os.W_OK):
        raise path_error(option, path, "cannot be written: permission denied")


def format_of_path(path: Path | None, formats: Mapping[str, str]) -> str | None:
    """Return the format that the ending of a file means; None without an ending.

    Raises:
        UsageError: no format has that ending.

    Example:
        >>> format_of_path(Path("page.HTML"), {"html": "html", "txt": "table"}), format_of_path(Path("answer"), {})
        ('html', None)
    """
    suffix = "" if path is None else path.suffix.removeprefix(".").casefold()
    if suffix and suffix not in formats:
        endings = ", ".join(sorted(f".{ending}" for ending in formats))
        predicate = f"ends like no format ({endings}); name one of these, or `--format`"
        raise path_error("output", path, predicate)
    return formats.get(suffix)


def name_flags_in_ranking(ranking: Ranking) -> Ranking:
    """Name options of the running command in a ranking's notes and reasons."""
    header, outcome = ranking.header, ranking.found
    named_header = replace(
        header,
        failures={model: name_flags(reason) for model, reason in header.failures.items()},
        left_out={method: name_flags(reason) for method, reason in header.left_out.items()},
        notes=tuple(map(name_flags, header.notes)),
    )
    return replace(ranking, header=named_header, found=replace(outcome, notes=tuple(map(name_flags, outcome.notes))))


def save_each(rankings: Mapping[str, Ranking], folder: Path) -> None:
    """Save several runs in a folder, one file per task."""
    with suppress(OSError):  # writing the first file reports the reason
        folder.mkdir(exist_ok=True)
    for task, ranking in rankings.items():
        ranking.save(folder / f"{task.replace(os.sep, '_')}.json")


def render_document(document: Document, format_name: str, path: Path | None) -> str | bytes:
    """Render the document in a format; on a terminal a table is wrapped to its width."""
    from ranker import report

    if format_name == "table" and path is None and sys.stdout.isatty():
        import shutil

        from ranker.report import terminal

        return terminal.write(document, shutil.get_terminal_size().columns)
    return report.write(document, format_name)


def write(answer: str | bytes, path: Path | None) -> None:
    """Write the answer to ``--output`` or stdout; text as UTF-8, whatever the terminal's encoding.

    Unpaired surrogates are escaped as in JSON.

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
        raise path_error("output", path, f"cannot be written: {error.strerror}", RankModelsError) from error


def write_document(document: Document, format_name: str, path: Path | None) -> None:
    """Write the document to ``--output`` or stdout, and the summary of a step on GitHub."""
    write(render_document(document, format_name, path), path)
    append_summary(document, format_name)


def append_summary(document: Document, format_name: str) -> None:
    """Append the report to the summary of a step on GitHub, for the format of that name, where there is one."""
    summary = os.environ.get(SUMMARY)
    if format_name != "github" or not summary:
        return
    from ranker import report

    text = str(report.write(document, "markdown")).encode("utf-8", "backslashreplace")
    if len(text) > MAX_SUMMARY_BYTES:
        text = text[: MAX_SUMMARY_BYTES - len(CUT)].rpartition(b"\n")[0] + CUT
    try:
        path = Path(summary)
        save(path, (path.read_bytes() if path.exists() else b"") + text)
    except OSError as error:
        raise RankModelsError(f"{SUMMARY}: {summary} cannot be written: {error.strerror}", place=summary) from error


def report_failures(failures: Mapping[str, str]) -> None:
    """Print the tasks that were not compared, a line each, on stderr."""
    for task, reason in failures.items():
        say(f"NOT COMPARED: {task}: {reason}".replace("\n", "\\n"), err=True)


def enforce_gate(gate: Gate) -> None:
    """Print the verdict of ``--not-worse-than``; exit with 3 if the check fails."""
    say(gate.in_words.replace("\n", "\\n"), err=True)
    if not gate.passes:
        raise SystemExit(NOT_SHOWN)


@contextmanager
def failing_check(base: str | None) -> Iterator[None]:
    """Give failures of models the exit status of a failed check, if models are held to a base model."""
    try:
        yield
    except ModelError as error:
        error.exit_code = 1 if base is None else NOT_SHOWN
        raise


def plot(ranking: Ranking, folder: Path | None) -> None:
    """Write the figures into the folder of ``--plots``, if one was named."""
    if folder is not None:
        from ranker.report import figures

        draw(figures.drawings(ranking, figures.ALL[ranking.mode]), folder)


def draw(drawings: Sequence[Drawing], folder: Path) -> None:
    """Write figures into the folder of ``--plots`` as PNG, SVG and PDF, over existing files; make the folder if needed.

    Raises:
        RankModelsError: a file cannot be written.
    """
    from ranker.report import figures

    try:
        folder.mkdir(exist_ok=True)
        for drawing in drawings:
            for extension in figures.FORMATS:
                save(folder / f"{drawing.name}.{extension}", figures.encode(drawing.figure, extension))
    except OSError as error:
        raise path_error("plots", folder, f"cannot be written: {error.strerror}", RankModelsError) from error
