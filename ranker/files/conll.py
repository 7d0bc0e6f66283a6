"""CoNLL files as rows: a token and its tag, or a token alone, on each line, and a blank line between two rows."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from ranker.errors import Assumption, DataError
from ranker.files.columns import Record
from ranker.files.text import lines, pieces
from ranker.limits import LIMITS, Limits

log = logging.getLogger(__name__)

TEXT, TAGS = "text", "tags"
"""Columns of the tokens and of their tags, each with a blank between two."""

DOCUMENT = "-DOCSTART-"
"""Token that stands between two documents, and belongs to no row."""

SHOWN = 50
"""Lines that must end in a tag for a file of another ending to be CoNLL."""

_TAG = re.compile(r"O|[BI](-\S+)?")

_PLAIN = re.compile(r"(?m:^)(?:(?!#\t|-DOCSTART-\t)\S+\t\S+(?:\n|\Z))+")
"""Lines of a token, a tab and a tag."""

_BLANK = re.compile(r"\n[^\S\n]+(?=\n)")
"""Line of blanks."""


def by_tokens(path: Path, encoding: str = "", limits: Limits = LIMITS) -> Iterator[Record]:
    """Read a row for each block of lines.

    Cells of a line stand between tabs, else between blanks. The first is the token; the last is the tag, in `TAGS`;
    those between them are columns of their own, ``column_2`` and so on. All tokens may stand alone. Lines of comments
    (``# id 1``) and document marks are left out.

    Raises:
        DataError: a line has another number of cells than the first.
    """
    width = 0
    for first, block in _blocks(path, encoding, limits):
        if width in (0, 2) and _PLAIN.fullmatch(block):
            cells, width = block.replace("\n", "\t").split("\t"), 2
            yield first, {TEXT: " ".join(cells[::2]), TAGS: " ".join(cells[1::2])}
            continue
        rows = [(number, _cells(line)) for number, line in enumerate(block.split("\n"), first) if line.strip()]
        tokens = [(number, cells) for number, cells in rows if not _is_comment(cells) and cells[0] != DOCUMENT]
        if not tokens:
            continue
        if not width and len(tokens[0][1]) > 2:
            log.warning(Assumption(f"{path}: of {len(tokens[0][1])} cells on a line, the last is read as the tag"))
        wanted = width or len(tokens[0][1])
        if wrong := next(((number, cells) for number, cells in tokens if len(cells) != wanted), None):
            needed = "a token alone" if wanted == 1 else f"{wanted} cells" if width else "a token and its tag"
            place = f"{path}, line {wrong[0]}"
            raise DataError.at(place, f"a line needs {needed} (got {' '.join(wrong[1])[:50]!r})")
        width = wanted
        yield tokens[0][0], _row([cells for _, cells in tokens])


def _blocks(path: Path, encoding: str, limits: Limits) -> Iterator[tuple[int, str]]:
    """Yield the texts between blank lines, each with the number of its first line."""
    number, begun = 1, ""
    for piece in chain(pieces(path, encoding, limits), ("\n\n",)):
        *blocks, begun = _BLANK.sub("\n", (begun + piece).replace("\r\n", "\n")).split("\n\n")
        for block in blocks:
            first, text = _trimmed(path, number, block, limits)
            if text:
                yield first, text
            number += block.count("\n") + 2
        _trimmed(path, number, begun, limits)


def _trimmed(path: Path, number: int, block: str, limits: Limits) -> tuple[int, str]:
    """Return the number of the first line of a block that is not blank, and the block from there; check its size."""
    text = block.strip()
    first, size = number + block.count("\n", 0, block.find(text)), text.count("\n") + 1
    if size > limits.list:
        limits.check(f"{path}, line {first}", "list", size)
    return first, text


def looks_like_conll(path: Path, encoding: str = "", limits: Limits = LIMITS) -> bool:
    """Return whether the first lines of a file end in tags, the very first too, which names columns in a table."""
    cells = (_cells(line) for line in islice(lines(path, encoding, limits), SHOWN))
    filled = [row for row in cells if row and not _is_comment(row)]
    return bool(filled) and all(len(row) > 1 and _TAG.fullmatch(row[-1]) for row in filled)


def _cells(line: str) -> list[str]:
    """Return the cells of a line; none of a blank one."""
    line = line.strip()
    return line.split("\t") if "\t" in line else line.split()


def _is_comment(cells: list[str]) -> bool:
    """Return whether a line is a comment: its cells are not divided by tabs, or its first says more than "#"."""
    return cells[0][:1] == "#" and (cells[0][:2] == "# " or (cells[0] == "#" and not _TAG.fullmatch(cells[-1].strip())))


def _row(tokens: list[list[str]]) -> dict[str, str]:
    """Return the cells of a row; blanks within a token become no-break spaces."""
    columns = [
        " ".join([cell.strip().replace(" ", "\u00a0") for cell in column]) for column in zip(*tokens, strict=True)
    ]
    names = [TEXT, *(f"column_{number}" for number in range(2, len(columns))), TAGS][: len(columns)]
    return dict(zip(names, columns, strict=True))
