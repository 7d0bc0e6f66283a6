"""Cells that say nothing: the empty cell, and the words that may stand for one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ranker.errors import listed

WORDS = frozenset({"na", "n/a", "#n/a", "<na>", "nan", "null", "none"})
"""Words for nothing, in any case, where nobody names others and no label of the task is called so."""

INVALID = "[invalid]"
"""Mark of lm-evaluation-harness where it found no answer in what a model wrote; it is no label of a task."""


def is_blank(cell: Any) -> bool:
    """Say whether a cell is empty: none is there, it is nan, or a text of blanks.

    Example:
        >>> [is_blank(cell) for cell in (None, float("nan"), " ", 0, "-", "N/A")]
        [True, True, True, False, False, False]
    """
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or (isinstance(cell, float) and cell != cell)


def is_empty_word(text: str, words: Collection[str] | None = None) -> bool:
    """Say whether a text is a word for nothing.

    Args:
        text: of a cell.
        words: those that somebody named, as they are written; None takes `WORDS` in any case.

    Example:
        >>> is_empty_word("N/A"), is_empty_word("-1"), is_empty_word("-1", ["-1"]), is_empty_word("N/A", ["-1"])
        (True, False, True, False)
    """
    return text.strip().casefold() in WORDS if words is None else text.strip() in words


def says_nothing(cell: Any, words: Collection[str] | None = None) -> bool:
    """Say whether a cell is empty, or holds a word for nothing: see `is_empty_word`.

    Example:
        >>> says_nothing(""), says_nothing("None"), says_nothing("None", words=()), says_nothing(-1)
        (True, True, False, False)
    """
    return is_blank(cell) or is_empty_word(str(cell), words)


def ask(origin: str, column: str, counts: Mapping[str, int]) -> str:
    """The line that asks whether words of a column of labels are labels.

    Args:
        origin: the file.
        column: where the words stand.
        counts: word, as it is written -> in how many cells.

    Example:
        >>> print(ask("a.csv", "gpt", {"N/A": 12}))
        a.csv: 'N/A' in 12 cells of the column 'gpt' may be a label or no answer; `empty_words` says: `empty_words=N/A`, or `empty_words=` where it is a label
    """  # noqa: E501
    number = sum(counts.values())
    where = f"{number:,} cell{'s' if number > 1 else ''} of the column {column!r}"
    what = "it is a label" if len(counts) == 1 else "they are labels"
    return (
        f"{origin}: {listed(map(repr, counts))} in {where} may be a label or no answer; `empty_words` says: "
        f"`empty_words={','.join(counts)}`, or `empty_words=` where {what}"
    )
