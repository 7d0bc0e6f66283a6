"""Reports: one module a format, each with one function `render(ranking) -> str`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ranker.errors import look_up

if TYPE_CHECKING:
    from ranker.ranking import Ranking

FORMATS = {
    "table": "ranker.report.terminal",
    "pairs": "ranker.report.pairs",
    "json": "ranker.report.json",
    "markdown": "ranker.report.markdown",
    "csv": "ranker.report.csv",
    "latex": "ranker.report.latex",
    "html": "ranker.report.html",
}
"""Format -> the module that renders it."""


def render(ranking: Ranking, name: str) -> str:
    """The ranking in the named format.

    Raises:
        UnknownName: there is no such format.
    """
    return str(import_module(look_up("format", name, FORMATS)).render(ranking))
