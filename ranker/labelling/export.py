"""Export rows for labelling in other tools: in order, and without what models predict on them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import quoteattr

from factors.types import Example
from ranker.datasets.identity import text_key
from ranker.datasets.sheets import csv_table
from ranker.errors import UsageError

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold, escaped or not (XML 1.0, section 2.2)."""

ROW, ORDER = "rank_models_row", "rank_models_order"
"""Columns of an exported row: the key that identifies it when it comes back, and its place in the order."""


def render(
    name: str, rows: Sequence[Example], cells: Sequence[Mapping[str, str]], labels: Sequence[str], column: str = "label"
) -> str:
    """Render rows in the format of a tool.

    Args:
        name: "csv", "label-studio" (JSON tasks) or "doccano" (JSON lines).
        cells: column -> text of each row, without labels.

    Example:
        >>> row = Example("1", ("Lovely.",), None)
        >>> print(render("csv", [row], [{"text": "Lovely."}], ["bad", "good"]), end="")
        text,label
        Lovely.,
    """
    if name == "csv":
        names = dict.fromkeys(name for row in cells for name in row)
        return csv_table((*names, column), cells)
    keys = [f"sha256:{text_key(row)}" for row in rows]
    if name == "label-studio":
        tasks = [
            {"data": {**{_word(name): cell for name, cell in row_cells.items()}, ROW: key, ORDER: order}}
            for order, (row_cells, key) in enumerate(zip(cells, keys, strict=True))
        ]
        return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"
    lines = (
        {**row_cells, "text": "\n\n".join(row.segments), "label": [], ROW: key, ORDER: order}
        for order, (row, row_cells, key) in enumerate(zip(rows, cells, keys, strict=True))
    )
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def configuration(texts: Sequence[str], labels: Sequence[str], cannot_tell: str) -> str:
    """Write the labelling configuration of a project in Label Studio; raises a UsageError if XML cannot hold a label.

    Example:
        >>> '<Choice value="a&amp;b" hotkey="1"/>' in configuration(["text"], ["a&b", "c"], "cannot tell")
        True
    """
    if bad_label := next((label for label in labels if _NO_XML.search(label)), None):
        text = f"no configuration of Label Studio can hold the label {bad_label[:50]!r}"
        raise UsageError(text, option="label", value=bad_label)
    text_tags = [f"  <Text name={quoteattr(_word(name))} value={quoteattr('$' + _word(name))}/>" for name in texts]
    hotkeys = [*"123456789"[: len(labels)], *[""] * max(len(labels) - 9, 0)]
    choices = [*zip(labels, hotkeys, strict=True), (cannot_tell, "0")]
    lines = (
        f"    <Choice value={quoteattr(label)}" + (f' hotkey="{key}"' if key else "") + "/>" for label, key in choices
    )
    choices_tag = f'  <Choices name="label" toName={quoteattr(_word(texts[-1]))} choice="single" required="true">'
    return "\n".join(["<View>", *text_tags, choices_tag, *lines, "  </Choices>", "</View>", ""])


def _word(name: str) -> str:
    """Reduce a column's name to word characters, the only ones that a configuration can name."""
    return "".join(sign if sign.isalnum() or sign == "_" else "_" for sign in name)
