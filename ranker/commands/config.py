"""``--config``: read options and input limits from a TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ranker.commands.options import PATH, option
from ranker.errors import UsageError, look_up
from ranker.limits import LIMITS, Limits
from ranker.sources.options import Heading

TABLE = "limits"
"""Table of the file with limits, and name of the command's argument for them."""


def configure(ctx: click.Context, parameter: click.Parameter, file: Path | None) -> Limits:
    """Read a TOML file of options, which the command line overrides; return its limits, or the defaults."""
    if file is None:
        return LIMITS
    from ranker.records import read_toml, record

    table = read_toml(file, "the options of `--config`")
    options = {p.opts[0].removeprefix("--"): p for p in ctx.command.params if isinstance(p, click.Option)}
    try:
        limits = record(Limits, table.pop(TABLE, {}), TABLE)
    except ValueError as error:
        raise UsageError.at(file, error) from error
    chosen = {look_up("option in the file of `--config`,", key, options): value for key, value in table.items()}
    ctx.default_map = {option.name: words(value, option.multiple) for option, value in chosen.items()}
    return limits


def words(value: Any, several: bool) -> str | list[str]:
    """Return an option's value as on a command line: as text, and tables as JSON."""
    if isinstance(value, dict):
        import json

        return json.dumps(value)
    if not several:
        return ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return [str(element) for element in (value if isinstance(value, list) else [value])]


CONFIG = option(
    Heading.MACHINE,
    "--config",
    TABLE,
    type=PATH,
    is_eager=True,
    callback=configure,
    metavar="FILE",
    help="TOML file of options. Its table [limits] limits how much is read of files: see docs/limits.md.",
)
