"""Pages from templates: every text is escaped, and a page is self-contained."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from ranker.report.escapes import visible


def page(template: str, **shown: Any) -> str:
    """Render a template of this folder with the given values."""
    return visible(_environment().get_template(template).render(**shown))


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {"code": code, "heat": heat, "sha256": _sha256}
    return environment


def code(text: str) -> Markup:
    """Escape a text, and set commands or options between backticks as code.

    Example:
        >>> print(code("see `rank-models ls` of a<b"))
        see <code>rank-models ls</code> of a&lt;b
    """
    return Markup(re.sub(r"`((?:rank-models|--)[^`]*)`", r"<code>\1</code>", str(escape(text))))


def heat(cell: str) -> int | None:
    """Return the shade of a percentage, 0 (always wrong) to 10 (always right), 5 none; None without a number.

    Example:
        >>> heat("91.2"), heat("50.0"), heat(">99.9"), heat("")
        (9, 5, 10, None)
    """
    return round(float(cell.lstrip("<>")) / 10) if cell else None


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
