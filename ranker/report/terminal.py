"""The answer on one screen: models, methods, and what was left out."""

from __future__ import annotations

import io
from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ranker.ranking import MethodResult, Ranking


def render(ranking: Ranking, *, width: int = 100, color: bool = False) -> str:
    """The ranking as text.

    Args:
        ranking: what to show.
        width: columns; 80 are enough.
        color: with ANSI colours.
    """
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        no_color=not color,
        color_system="standard" if color else None,
        highlight=False,
    )
    console.print(Group(*_parts(ranking)))
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


def _parts(ranking: Ranking) -> Iterator[RenderableType]:
    yield Text(f"{ranking.suite} on {ranking.ood}", style="bold")
    yield Text("")
    yield _models(ranking)
    yield Text("")
    yield _methods(ranking)
    yield Text("")
    yield from (Text(f"- {note}") for note in notes(ranking))
