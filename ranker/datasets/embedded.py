"""Where the data that comes with the product lies: ``ranker/data`` once installed, ``data`` beside it in a checkout.

Nothing is read here, and nothing large imported, so that a name can be looked up at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ranker.errors import UsageError

CARD, SUITE = "card.toml", "suite.json"
"""The files of a set's and of a suite's folder that say what these are."""


def folder() -> Path:
    """The folder of the cards, the embedded samples and the embedded suites."""
    package = Path(__file__).parents[1]
    installed = package / "data"
    return installed if installed.is_dir() else package.parent / "data"


def cards(include: Iterable[str | Path] = ()) -> dict[str, Path]:
    """The sets that can be loaded: name -> its card. A user's set hides a built-in one of the same name.

    Args:
        include: folders of a user's own sets, or folders of such folders.

    Raises:
        UsageError: an included folder holds no card.

    Example:
        >>> cards()["hans-sub"].name
        'card.toml'
    """
    found = sorted(folder().glob(f"*/{CARD}"))
    for place in map(Path, include):
        below = sorted(place.glob(f"*/{CARD}")) if os.path.isdir(place) else ()
        own = [path for path in (place / CARD, *below) if os.path.isfile(path)]
        if not own:
            raise UsageError(f"`include` must name a folder with a {CARD}, or a folder of such (got {place})")
        found += own
    return {path.resolve().parent.name: path for path in found}
