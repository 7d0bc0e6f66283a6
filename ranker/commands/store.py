"""`rank-models store info`, `verify` and `prune`."""

from __future__ import annotations

from typing import Any

import click

from ranker.commands import options
from ranker.commands.program import say


@click.group()
def store() -> None:
    """List, check and tidy up what was computed and is kept."""


@store.command()
@options.STORE
def info(**values: Any) -> None:
    """List what is kept, a line for each model, backend and settings; models by their content's hash and their name."""
    from ranker.commands import arguments
    from ranker.runtime import upkeep

    entries = upkeep.contents(arguments.store_folder(values))
    for entry in entries:
        say(entry)
    rows, size = sum(entry.rows for entry in entries), sum(entry.size for entry in entries)
    say(f"{len(entries)} keys, {rows:,} rows, {size:,} bytes")


@store.command()
@options.STORE
def verify(**values: Any) -> None:
    """Compare every file with its checksum, and name those that are damaged; exit status 1 if there are any."""
    from ranker.commands import arguments
    from ranker.runtime import upkeep

    count, damaged = upkeep.verify(arguments.store_folder(values))
    for file in damaged:
        say(f"{file} is damaged")
    say(f"{count} files compared, {len(damaged)} damaged")
    if damaged:
        raise SystemExit(1)


@store.command()
@options.STORE
def prune(**values: Any) -> None:
    """Remove what no run will read again: damaged and duplicate shards, and temporary files of crashed runs."""
    from ranker.commands import arguments
    from ranker.runtime import upkeep

    count = 0
    for file, reason in upkeep.prune(arguments.store_folder(values)):
        say(f"{file} removed ({reason})")
        count += 1
    say(f"{count} files removed")
