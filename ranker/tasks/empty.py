"""Empty cells, and words that may stand for one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ranker.errors import FileReading, Question, listed

WORDS = frozenset({"na", "n/a", "#n/a", "<na>", "nan", "null", "none"})
"""Default words for an empty cell, in any case, unless a label of the task has that name."""

NO_GOLD = frozenset({"-", "--", "\N{EN DASH}", "\N{EM DASH}", "?", "??"})
"""Marks in place of a true label, as SNLI has one where people disagreed; among labels that are signs they are none."""

UNDECIDED = frozenset(
    {"unknown", "undecided", "disagreement", "no consensus", "no majority", "no gold label"}
) | frozenset({"unlabeled", "unlabelled", "no label", "-1"})
"""True labels that may say that there is none, unless a model predicts them; -1 beside 0 is that of test sets."""

INVALID = "[invalid]"
"""Mark of lm-evaluation-harness for a text without an answer; it is no label of a task."""


def is_blank(cell: Any) -> bool:
    """Return whether a cell is empty: None, nan, a text of blanks or an empty list.

    Example:
        >>> [is_blank(cell) for cell in (None, float("nan"), " ", [], 0, "-", "N/A")]
        [True, True, True, True, False, False, False]
    """
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or cell == [] or (isinstance(cell, float) and cell != cell)


def is_empty_word(text: str, words: Collection[str] | None = None) -> bool:
    """Return whether a text is a word for an empty cell.

    Args:
        words: the user's own, as they are written; None takes `WORDS` in any case.

    Example:
        >>> is_empty_word("N/A"), is_empty_word("-1"), is_empty_word("-1", ["-1"]), is_empty_word("N/A", ["-1"])
        (True, False, True, False)
    """
    return text.strip().casefold() in WORDS if words is None else text.strip() in words


def says_nothing(cell: Any, words: Collection[str] | None = None) -> bool:
    """Return whether a cell is empty, or holds a word for that: see `is_empty_word`.

    Example:
        >>> says_nothing(""), says_nothing("None"), says_nothing("None", words=()), says_nothing(-1)
        (True, True, False, False)
    """
    return is_blank(cell) or is_empty_word(str(cell), words)


def unlabelled_words(labels: Collection[str], predicted: Collection[str] | None) -> set[str]:
    """Return the true labels, as written, that may say that a row has none.

    Args:
        predicted: labels that models predict; None if they are not known.

    Example:
        >>> sorted(unlabelled_words(["yes", "no", "-", "N/A", "unknown"], {"yes", "no"}))
        ['-', 'N/A', 'unknown']
        >>> unlabelled_words(["-1", "1"], {"1"}), unlabelled_words(["-1", "0", "1"], {"0", "1"})
        (set(), {'-1'})
    """
    names = {*map(_plain, labels)} - {"-1"}
    beside_names = all(any(map(str.isalnum, name)) for name in names - NO_GOLD)
    words = {label for label in labels if is_empty_word(label) or (beside_names and label.strip() in NO_GOLD)}
    for label in labels if predicted is not None else ():
        if _plain(label) in UNDECIDED and _plain(label) not in {*map(_plain, predicted or ())}:
            words |= {label} if _plain(label) != "-1" or "0" in names or not names else set()
    return words


def _plain(label: str) -> str:
    return " ".join(label.casefold().replace("_", " ").split()).removesuffix(".0")


def empty_word_question(origin: str, column: str, counts: Mapping[str, int]) -> Question:
    """Return the question whether words of a column of labels are labels.

    Args:
        counts: word, as it is written -> number of its cells.

    Example:
        >>> print(empty_word_question("a.csv", "gpt", {"N/A": 12}))
        a.csv: 'N/A' in 12 cells of the column 'gpt' may be a label or no answer; `empty_words` says: `empty_words=N/A`, or `empty_words=` where it is a label
    """  # noqa: E501
    number = sum(counts.values())
    cells = f"{number:,} cell{'s' if number > 1 else ''} of the column {column!r}"
    verdict = "it is a label" if len(counts) == 1 else "they are labels"
    empty, labels = f"`empty_words={','.join(counts)}`", "`empty_words=`"
    return Question.at(
        origin,
        f"{listed(map(repr, counts))} in {cells} may be a label or no answer; `empty_words` says: "
        f"{empty}, or {labels} where {verdict}",
        option="empty_words",
        value=next(iter(counts)),
        readings=[FileReading(empty, {"empty_words": (*counts,)}), FileReading(labels, {"empty_words": ()})],
    )
