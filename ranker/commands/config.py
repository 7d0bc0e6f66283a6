"""``--config``: options, and the limits of what is read, from a TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ranker.commands.options import PATH
from ranker.errors import UsageError, look_up
from ranker.limits import LIMITS, Limits

TABLE = "limits"
"""The table of the file that holds limits; a command gets them as an argument of that name."""


def configure(ctx: click.Context, parameter: click.Parameter, file: Path | None) -> Limits:
    """Read a TOML file of options; what the command line says wins.

    Returns:
        The limits, from its table ``[limits]`` or as they are by default.

    Raises:
        UsageError: an option or a limit that there is not, or a limit that cannot be.
    """
    if file is None:
        return LIMITS
    from ranker.records import read_toml, record

    read = read_toml(file, "the options of `--config`")
    options = {p.opts[0].removeprefix("--"): p for p in ctx.command.params if isinstance(p, click.Option)}
    try:
        limits = record(Limits, read.pop(TABLE, {}), TABLE)
    except ValueError as error:
        raise UsageError(f"{file}: {error}") from error
    chosen = {look_up("option in the file of `--config`,", key, options): value for key, value in read.items()}
    ctx.default_map = {option.name: words(value, option.multiple) for option, value in chosen.items()}
    return limits


def words(value: Any, several: bool) -> str | list[str]:
    """An option's value in a file as it would be written on the command line, where all are words, and tables JSON."""
    if isinstance(value, dict):
        import json

        return json.dumps(value)
    if not several:
        return ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return [str(item) for item in (value if isinstance(value, list) else [value])]


CONFIG = click.option(
    "--config",
    TABLE,
    type=PATH,
    is_eager=True,
    callback=configure,
    metavar="FILE",
    help="TOML of options, and of how much is read of files, in a table [limits]; see docs/limits.md.",
)
