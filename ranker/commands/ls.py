"""`rank-models ls`."""

from __future__ import annotations

import click

from ranker.errors import look_up


@click.command()
@click.argument("what", metavar="[ood|suites|factors|backends|formats]", default="ood")
def ls(what: str) -> None:
    """List what there is: OOD sets, embedded suites, factors, attribution backends, report formats."""
    from ranker import listing

    for line in look_up("list", what, listing.LISTS)():
        click.echo(line)
