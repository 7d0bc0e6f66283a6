"""Encoding of a text file, and the delimiter of its cells. UTF-8 and commas are not reported."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable

from ranker.errors import UsageError

MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Marks at the start of a file that name its encoding, the longer ones first."""

SIGNS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""Delimiters and their names; of equal counts the first is taken."""


def check(encoding: str) -> str:
    """Return the encoding, if Python knows it; "" is allowed.

    Raises:
        UsageError: Python knows no such encoding.

    Example:
        >>> check("cp1252"), check("")
        ('cp1252', '')
    """
    try:
        "".encode(encoding or "utf-8")
    except LookupError as error:
        raise UsageError.about(
            "encoding", f"must be one that Python knows, such as cp1252 (got {encoding!r})", encoding
        ) from error
    return encoding


def marked_encoding(stream: io.BufferedReader) -> str:
    """Return the encoding that the mark at a file's start names; "" without a mark."""
    start = stream.peek(4)[:4]
    return next((encoding for mark, encoding in MARKS.items() if start.startswith(mark)), "")


def reader(stream: io.BufferedReader, encoding: str) -> Callable[[int], bytes]:
    """Return a function that reads on in a stream as UTF-8, up to about a number of bytes; b"" at the end.

    Args:
        encoding: "" for UTF-8, whose bytes pass through.

    Example:
        >>> read = reader(io.BufferedReader(io.BytesIO("caf\\xe9".encode("cp1252"))), "cp1252")
        >>> read(80).decode(), read(80)
        ('café', b'')
    """
    if not encoding:
        return stream.read1
    text = io.TextIOWrapper(stream, encoding, newline="\n")
    return lambda most: text.read(most).encode()


def unreadable(error: UnicodeDecodeError, nul: bool = False) -> str:
    """Describe bytes that are no text in the tried encoding, and the remedy.

    Example:
        >>> print(unreadable(UnicodeDecodeError("utf-8", b"caf\\xe9", 3, 4, "no")))
        not UTF-8 (byte 0xe9); save it as UTF-8, or say `encoding=cp1252`, or which it is
    """
    byte = f"byte 0x{error.object[error.start]:02x}"
    tried = error.encoding.upper() if error.encoding.startswith("utf") else error.encoding
    if nul:
        return f"not {tried} ({byte}); is it UTF-16? save it as UTF-8, or say `encoding=utf-16-le`"
    if error.encoding != "utf-8":
        return f"not {tried} ({byte}), as its mark or `encoding` says"
    return f"not UTF-8 ({byte}); save it as UTF-8, or say `encoding=cp1252`, or which it is"


def delimiter(header: str) -> str:
    """Return the delimiter, by the line that names the columns; a comma between digits is a decimal comma.

    Example:
        >>> delimiter("text;label"), delimiter("text,label"), delimiter('"a;b",label'), delimiter("text")
        (';', ',', ',', ',')
        >>> delimiter("r1;0,5"), delimiter("0,1,label"), delimiter("0,1")
        (';', ',', ',')
    """
    bare = re.sub(r'"[^"]*"|(?<=\d),(?=\d)', "", header)
    return max(SIGNS, key=bare.count)
