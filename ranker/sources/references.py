"""How a source of answers is written: ``[NAME=][KIND:]PLACE[@REVISION][#PART]``."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass

_NAME = re.compile(r"[^=/\\:@#?]+")
"""What may stand before "=": no part of a path, of a URL or of a hub id."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}://")


@dataclass(frozen=True)
class Reference:
    """What one reference says.

    Attributes:
        place: a path, a hub id, a URL, or the name of what comes with the product.
        name: what the model is to be called; "" where the place says it.
        kind: of source; "" where the place shows it.
        revision: of a hub id: a branch, a tag or a commit; "" for the one that is current.
        part: which of several models in one place; "" for all of them.
    """

    place: str
    name: str = ""
    kind: str = ""
    revision: str = ""
    part: str = ""


def parse(text: str, kinds: Collection[str] = ()) -> Reference:
    """Read a reference.

    What exists under the whole text is a place, whatever is in its name. A colon ends a kind only where a kind is
    called so, so that a drive of Windows and the scheme of a URL are none; in a URL, "@" and "=" are its own.

    Args:
        text: as it is typed.
        kinds: the kinds of sources that there are.

    Example:
        >>> parse("org/bert@refs/pr/1")
        Reference(place='org/bert', name='', kind='', revision='refs/pr/1', part='')
        >>> parse("new=table:answers.csv#gpt", kinds=["table"])
        Reference(place='answers.csv', name='new', kind='table', revision='', part='gpt')
    """
    if os.path.lexists(text):
        return Reference(text)
    name, named, rest = text.partition("=")
    if not named or not _NAME.fullmatch(name):
        name, rest = "", text
    kind = ""
    for _ in range(2):  # with the kind before it, then without
        whole, _, part = rest.rpartition("#") if "#" in rest else (rest, "", "")
        if os.path.lexists(rest):
            return Reference(rest, name, kind)
        if os.path.lexists(whole):
            return Reference(whole, name, kind, part=part)
        before, colon, behind = rest.partition(":")
        if kind or not colon or before not in kinds:
            break
        kind, rest = before, behind
    place, _, revision = (whole, "", "") if _URL.match(whole) else whole.partition("@")
    return Reference(place, name, kind, revision, part)
