"""`rank-models fetch`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ranker.commands import options
from ranker.commands.config import CONFIG
from ranker.commands.program import say
from ranker.limits import Limits
from ranker.sources.options import Heading


@click.command(cls=options.HeadedCommand)
@click.argument("name")
@options.option(Heading.ROWS, "--data-dir", type=options.PATH, required=True, help="Folder to put the file in.")
@options.option(Heading.ROWS, "--url", help="Other address to download the same file from.")
@options.INCLUDE
@CONFIG
def fetch(name: str, data_dir: Path, url: str | None, include: Sequence[Path], limits: Limits) -> None:
    """Fetch the official file of an OOD set, and check its sha256 where that is known.

    Sets with an address, on the web or on the Hugging Face hub, are hans-sub, hans-con, hans-lex, many of the
    catalogues (`rank-models ls ood --catalogue boss`), and sets of your own. For the others one line says what to do
    by hand.
    """
    from ranker.datasets.fetch import fetch as get

    say(get(name, data_dir, url, include, limits))
