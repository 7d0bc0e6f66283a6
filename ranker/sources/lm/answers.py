"""Answers in words: whether they can be told apart, where a written text ends, and the label or value in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ranker.errors import LabelError
from ranker.tasks.classes import has_labels

if TYPE_CHECKING:
    from ranker.tasks.base import Task

Words = Mapping[str, tuple[str, ...]]
"""Label -> words for it."""


def before(text: str, stop: Sequence[str]) -> str:
    r"""Return the text before the first of some texts, without blanks around it.

    Example:
        >>> before(" Paris.\n\nQuestion: ", ["\n\n"])
        'Paris.'
    """
    ends = [place for end in stop if end and (place := text.find(end)) >= 0]
    return text[: min(ends, default=len(text))].strip()


def label_in(text: str, words: Mapping[str, Sequence[str]]) -> str | None:
    """Return the label that a written text begins with; of several words, the longest counts. Case does not matter.

    Args:
        text: the text.
        words: label -> words for it.

    Returns:
        The label; None if the text begins with no word, or a letter or digit follows the word at once.

    Example:
        >>> label_in("Not true, because", {"yes": ["true"], "no": ["not true"]}), label_in("Truely", {"yes": ["true"]})
        ('no', None)
    """
    folded = text.strip().strip("\"'*`").casefold()
    lengths = [
        (len(word.strip()), label)
        for label, forms in words.items()
        for word in forms
        if folded.startswith(word.strip().casefold()) and not folded[len(word.strip()) :][:1].isalnum()
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

    Args:
        words: the answers.
        continuations: the tokens of each.
        name: of the model, for the message.

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
