"""Location of the data shipped with the package: ``ranker/data`` once installed, else ``data`` of the checkout.

This module reads no file and imports nothing large, so that names can be looked up at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ranker.errors import UsageError, look_up

CARD, SUITE = "card.toml", "suite.json"
"""File names that identify the folder of a set, and of a suite."""

CATALOGUES = ("boss", "domainsum", "glue-x", "squadshifts")
"""Catalogues: cards of published sets, of which no rows are shipped."""


def folder() -> Path:
    """Return the folder of the cards, the embedded samples and the embedded suites."""
    package = Path(__file__).parents[1]
    installed = package / "data"
    return installed if installed.is_dir() else package.parent / "data"


def cards(include: Iterable[str | Path] = ()) -> dict[str, Path]:
    """Find the sets that can be loaded: name -> its card. A user's set hides a built-in one of the same name.

    Args:
        include: folders of a user's own sets, or folders of such folders.

    Raises:
        UsageError: an included folder holds no card.

    Example:
        >>> cards()["hans-sub"].name
        'card.toml'
    """
    paths = sorted(folder().glob(f"*/{CARD}"))
    for place in map(Path, include):
        below = sorted(place.glob(f"*/{CARD}")) if os.path.isdir(place) else ()
        added = [path for path in (place / CARD, *below) if os.path.isfile(path)]
        if not added:
            raise UsageError.about(
                "include", f"must name a folder with a {CARD}, or a folder of such (got {place})", place
            )
        paths += added
    return {path.resolve().parent.name: path for path in paths}


def catalogue_cards(catalogue: str = "*") -> dict[str, Path]:
    """Find the cards of a catalogue, or of all: name -> its card.

    Example:
        >>> catalogue_cards("boss")["boss/sa/sst"].name
        'sst.toml'
    """
    place = folder() / "catalogues"
    paths = sorted(place.glob(f"{catalogue}/**/*.toml"))
    return {path.relative_to(place).with_suffix("").as_posix(): path for path in paths}


def find(name: str, include: Iterable[str | Path] = ()) -> tuple[str, Path]:
    """Find the card of a set by its name, in any case: its name as written there, and the file."""
    paths = cards(include)
    if "/" in name:  # a message lists no catalogue to those who name none
        paths |= catalogue_cards()
    return look_up("OOD set", name, {label: (label, path) for label, path in paths.items()})
