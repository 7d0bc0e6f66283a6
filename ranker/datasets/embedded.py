"""Where the data that comes with the product lies: ``ranker/data`` once installed, ``data`` beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

SUITE = "suite.json"
"""The file of a suite's folder that says what its members are."""


def folder() -> Path:
    """The folder of the cards, the embedded samples and the embedded suites."""
    package = Path(__file__).parents[1]
    installed = package / "data"
    return installed if installed.is_dir() else package.parent / "data"
