"""Lets mkdocstrings read the docstrings of this project, as an extension of griffe."""

import re
from typing import Any

import griffe

ITEM = re.compile(r"(?ms)^    ([\w*]+(?:, [\w*]+)+): (.*?\n)(?=    \S|\S|\n|\Z)")
LISTS = re.compile(r"(?ms)^(?:Args|Attributes):\n(?:(?:    .*)?\n)+")


def google(text: str) -> str:
    """Return a docstring as griffe reads it: one name an item, and `Examples:` before code."""
    each = LISTS.sub(lambda found: ITEM.sub(one_name_each, found[0]), text + "\n")
    return re.sub(r"(?m)^Example:$", "Examples:", each)


def one_name_each(item: re.Match[str]) -> str:
    """Return an item about several names as one for each."""
    return "".join(f"    {name}: {item[2]}" for name in item[1].split(", "))


class Docstrings(griffe.Extension):
    """Changes the docstring of each module, class, function and attribute."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change one."""
        if obj.docstring:
            obj.docstring.value = google(obj.docstring.value)
