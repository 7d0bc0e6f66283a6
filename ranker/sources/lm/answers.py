"""Answers in words: whether they can be told apart, where a written text ends, and the label or value in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ranker.errors import LabelError
from ranker.tasks.classes import has_labels

if TYPE_CHECKING:
    from ranker.tasks.base import Task

AROUND = " \t\r\n\"'*`\u201c\u201d\u2018\u2019\u00ab\u00bb\u201e"
"""White space, quotes and marks around a label in a text."""

Words = Mapping[str, tuple[str, ...]]
"""Label -> words for it."""


def before(text: str, stop: Sequence[str]) -> str:
    r"""Return the text before the first of some texts, without blanks around it. None of them ends it at its beginning.

    Example:
        >>> before("\n\nParis.\n\nQuestion: ", ["\n\n"])
        'Paris.'
    """
    begun = text.lstrip()
    ends = [place for end in stop if end and (place := begun.find(end)) >= 0]
    return begun[: min(ends, default=len(begun))].strip()


def label_in(text: str, words: Mapping[str, Sequence[str]]) -> str | None:
    """Return the label that a written text begins with; of several words, the longest counts. Case does not matter.

    Args:
        words: label -> words for it.

    Returns:
        The label; None if the text begins with no word, or a letter or digit follows the word at once.

    Example:
        >>> label_in("Not true, because", {"yes": ["true"], "no": ["not true"]}), label_in("Truely", {"yes": ["true"]})
        ('no', None)
    """
    folded = text.strip(AROUND).casefold()
    folded_words = [(word.strip(AROUND).casefold(), label) for label, forms in words.items() for word in forms]
    lengths = [
        (len(word), label)
        for word, label in folded_words
        if word and folded.startswith(word) and not folded[len(word) :][:1].isalnum()
    ]
    return max(lengths)[1] if lengths else None


def parse_answer(task: Task, words: Words, text: str, segments: Sequence[str]) -> Any:
    """Return the answer in a written text: the label that it begins with, or the value; None if there is none."""
    if has_labels(task):
        label = label_in(text, words)
        return None if label is None else task.index(label)
    try:
        return task.answer_of(text, segments)
    except ValueError:
        return None


def check_apart(words: Sequence[str], continuations: Sequence[Sequence[object]], name: str) -> None:
    """Refuse answers whose tokens begin those of another, which can never be more probable.

    Raises:
        LabelError: there is such an answer.
    """
    for number, first in enumerate(continuations):
        for longer, second in enumerate(continuations):
            if number != longer and second[: len(first)] == first:
                text = (
                    f"reads {words[number]!r} as the beginning of {words[longer]!r}, which could never be the more "
                    "probable answer; choose other `verbalizers`"
                )
                raise LabelError.of(name, text, option="prompts", value=words[number])
