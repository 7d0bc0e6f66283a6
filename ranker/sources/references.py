"""References to sources of answers: ``[NAME=][KIND:]PLACE[@REVISION][#PART]``."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass

_NAME = re.compile(r"[^=/\\:@#?]+")
"""Names before "=": they contain no sign of a path, a URL or a hub id."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}://")


@dataclass(frozen=True)
class Reference:
    """Parts of one reference.

    Attributes:
        place: a path, a hub id, a URL, or the name of an embedded suite.
        name: of the model; "" if the place implies it.
        kind: of source; "" if the place shows it.
        revision: of a hub id: a branch, a tag or a commit; "" for the current one.
        part: one of several models in one place; "" for all.
    """

    place: str
    name: str = ""
    kind: str = ""
    revision: str = ""
    part: str = ""


def parse(text: str, kinds: Collection[str] = ()) -> Reference:
    """Parse a reference.

    If the whole text exists as a path, it is a place, whatever its name contains. A colon ends a kind only if such a
    kind exists, so drives of Windows and schemes of URLs are no kinds; in a URL, "@" and "=" belong to it.

    Example:
        >>> parse("org/bert@refs/pr/1")
        Reference(place='org/bert', name='', kind='', revision='refs/pr/1', part='')
        >>> parse("new=table:answers.csv#gpt", kinds=["table"])
        Reference(place='answers.csv', name='new', kind='table', revision='', part='gpt')
    """
    if os.path.lexists(text):
        return Reference(text)
    name, equals, address = text.partition("=")
    if not equals or not _NAME.fullmatch(name):
        name, address = "", text
    kind = ""
    for _ in range(2):  # first with the kind, then without
        bare, _, part = address.rpartition("#") if "#" in address else (address, "", "")
        if os.path.lexists(address):
            return Reference(address, name, kind)
        if os.path.lexists(bare):
            return Reference(bare, name, kind, part=part)
        before, colon, behind = address.partition(":")
        if kind or not colon or before not in kinds:
            break
        kind, address = before, behind
    place, _, revision = (bare, "", "") if _URL.match(bare) else bare.partition("@")
    return Reference(place, name, kind, revision, part)
