"""Rows that are to be labelled elsewhere, as other tools read them: in order, and without what models say of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import quoteattr

from factors.types import Example
from ranker.datasets.identity import text_key
from ranker.datasets.sheets import table
from ranker.errors import UsageError
from ranker.files.exports import CANNOT_TELL

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What stands in no XML, escaped or not (XML 1.0, section 2.2)."""

ROW, ORDER = "rank_models_row", "rank_models_order"
"""What a row is told by when it comes back, and its place among those that were handed out."""


def render(
    name: str, rows: Sequence[Example], cells: Sequence[Mapping[str, str]], labels: Sequence[str], column: str = "label"
) -> str:
    """Rows as a file of a tool.

    Args:
        name: "csv", "label-studio" (JSON tasks) or "doccano" (JSON lines).
        rows: the rows, the most useful first.
        cells: column -> text of each; none of them holds a label.
        labels: the names of the labels.
        column: that labels are to stand in.

    Example:
        >>> row = Example("1", ("Lovely.",), None)
        >>> print(render("csv", [row], [{"text": "Lovely."}], ["bad", "good"]), end="")
        text,label
        Lovely.,
    """
    if name == "csv":
        names = dict.fromkeys(name for row in cells for name in row)
        return table((*names, column), cells)
    keys = [f"sha256:{text_key(row)}" for row in rows]
    if name == "label-studio":
        tasks = [
            {"data": {**_words(one), ROW: key, ORDER: at}}
            for at, (one, key) in enumerate(zip(cells, keys, strict=True))
        ]
        return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"
    lines = (
        {**one, "text": "\n\n".join(row.segments), "label": [], ROW: key, ORDER: at}
        for at, (row, one, key) in enumerate(zip(rows, cells, keys, strict=True))
    )
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def configuration(texts: Sequence[str], labels: Sequence[str]) -> str:
    """The labelling configuration of a project in Label Studio.

    Args:
        texts: the columns that hold texts.
        labels: the names of the labels.

    Raises:
        UsageError: a label holds what no XML can.

    Example:
        >>> '<Choice value="a&amp;b" hotkey="1"/>' in configuration(["text"], ["a&b", "c"])
        True
    """
    if wrong := next((label for label in labels if _NO_XML.search(label)), None):
        raise UsageError(f"no configuration of Label Studio can hold the label {wrong[:50]!r}")
    shown = [f"  <Text name={quoteattr(_word(name))} value={quoteattr('$' + _word(name))}/>" for name in texts]
    hotkeys = [*"123456789"[: len(labels)], *[""] * max(len(labels) - 9, 0)]
    choices = [*zip(labels, hotkeys, strict=True), (CANNOT_TELL, "0")]
    lines = (
        f"    <Choice value={quoteattr(label)}" + (f' hotkey="{key}"' if key else "") + "/>" for label, key in choices
    )
    asked = f'  <Choices name="label" toName={quoteattr(_word(texts[-1]))} choice="single" required="true">'
    return "\n".join(["<View>", *shown, asked, *lines, "  </Choices>", "</View>", ""])


def _words(cells: Mapping[str, str]) -> dict[str, str]:
    return {_word(name): cell for name, cell in cells.items()}


def _word(name: str) -> str:
    """A column's name of word characters only, which is all that a configuration can name."""
    return "".join(sign if sign.isalnum() or sign == "_" else "_" for sign in name)
