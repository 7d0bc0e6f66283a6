"""CoNLL files as rows: a token and its tag on each line, and a blank line between two rows."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from ranker.errors import Assumption, DataError
from ranker.files.text import lines
from ranker.limits import LIMITS, Limits

log = logging.getLogger(__name__)

Record = tuple[int, Mapping[str, Any]]
"""Number of a row's first line, and its cells."""

TEXT, TAGS = "text", "tags"
"""Columns of the tokens and of their tags, each with a blank between two."""

DOCUMENT = "-DOCSTART-"
"""Token that stands between two documents, and belongs to no row."""

SHOWN = 50
"""Lines that must end in a tag for a file of another ending to be CoNLL."""

_TAG = re.compile(r"O|[BI](-\S+)?")


def by_tokens(path: Path, encoding: str = "", limits: Limits = LIMITS) -> Iterator[Record]:
    """Read a row for each block of lines.

    Cells of a line stand between tabs, else between blanks. The first is the token; the last is the tag, in `TAGS`;
    those between them are columns of their own, ``column_2`` and so on. Lines of comments (``# id 1``) and document
    marks are left out.

    Raises:
        DataError: a line has no tag, or another number of cells than the first.
    """
    width, first = 0, 0
    tokens: list[list[str]] = []
    for number, line in enumerate(lines(path, encoding, limits), 1):
        cells = _cells(line)
        if not cells and tokens:
            yield first, _row(tokens)
            tokens = []
        if not cells or _is_comment(cells) or cells[0] == DOCUMENT:
            continue
        if len(cells) < 2 or len(cells) != (width or len(cells)):
            needed = f"a line needs {f'{width} cells' if width else 'a token and its tag'} (got {line.strip()[:50]!r})"
            raise DataError.at(f"{path}, line {number}", needed, value=line)
        if not width and len(cells) > 2:
            log.warning(Assumption(f"{path}: of {len(cells)} cells on a line, the last is read as the tag"))
        width, first = len(cells), first if tokens else number
        tokens.append(cells)
        if len(tokens) > limits.list:
            limits.check(f"{path}, line {first}", "list", len(tokens))
    if tokens:
        yield first, _row(tokens)


def looks_like_conll(path: Path, encoding: str = "", limits: Limits = LIMITS) -> bool:
    """Return whether the first lines of a file end in tags, the very first too, which names columns in a table."""
    cells = (_cells(line) for line in islice(lines(path, encoding, limits), SHOWN))
    filled = [row for row in cells if row and not _is_comment(row)]
    return bool(filled) and all(len(row) > 1 and _TAG.fullmatch(row[-1]) for row in filled)


def _cells(line: str) -> list[str]:
    """Return the cells of a line; none of a blank one."""
    line = line.strip()
    return [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()


def _is_comment(cells: list[str]) -> bool:
    """Return whether a line is a comment: its cells are not divided by tabs, or its first says more than "#"."""
    return cells[0].startswith("# ") or (cells[0] == "#" and not _TAG.fullmatch(cells[-1]))


def _row(tokens: list[list[str]]) -> dict[str, str]:
    """Return the cells of a row; blanks within a token become no-break spaces."""
    columns = [" ".join(cell.replace(" ", "\u00a0") for cell in column) for column in zip(*tokens, strict=True)]
    names = [TEXT, *(f"column_{number}" for number in range(2, len(columns))), TAGS]
    return dict(zip(names, columns, strict=True))
