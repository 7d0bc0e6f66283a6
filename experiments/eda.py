"""Easy data augmentation: copies of training rows with words swapped, dropped, doubled or replaced by words of a kind.

The original takes synonyms from WordNet, which does not come with the product. Here a word is inserted from the text
itself, and replaced only by a word of the user's own lexicon (`Augment.lexicon`); without one, nothing is replaced.

Source: Wei and Zou (2019), EDA: Easy Data Augmentation Techniques for Boosting Performance on Text Classification.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from experiments.recipe import Augment
from factors import Example

Operation = Callable[[list[str], float, np.random.Generator], list[str]]
"""Changes a share of a text's words."""


def augmented(examples: Sequence[Example], augment: Augment, rng: np.random.Generator) -> list[Example]:
    """Return the rows and their copies: each copy has every segment changed by one operation, drawn for it.

    Args:
        examples: the rows.
        how: which operations, how much of a text, how many copies.
        rng: of operations and places.

    Example:
        >>> row = Example("a", ("The old dog ran home .",), 1)
        >>> [copy.segments for copy in augmented([row], Augment(operations=("swap",)), np.random.default_rng(0))]
        [('The old dog ran home .',), ('The old dog home ran .',)]
    """
    copies = [
        replace(
            example,
            id=f"{example.id}+{i}",
            marks={},
            segments=tuple(_changed(s, augment, rng) for s in example.segments),
        )
        for example in examples
        for i in range(1, augment.copies + 1)
    ]
    return [*examples, *copies]


def _changed(text: str, augment: Augment, rng: np.random.Generator) -> str:
    operation = augment.operations[int(rng.integers(len(augment.operations)))]
    words = text.split()
    if operation == "replace":
        return " ".join(replaced(words, augment.share, rng, augment.lexicon))
    return " ".join(OPERATIONS[operation](words, augment.share, rng))


def swapped(words: list[str], share: float, rng: np.random.Generator) -> list[str]:
    """Swap pairs of words, as many as the share says, at least one; a text of one word stays."""
    words = list(words)
    for _ in range(_count(words, share) if len(words) > 1 else 0):
        a, b = rng.choice(len(words), 2, replace=False)
        words[a], words[b] = words[b], words[a]
    return words


def deleted(words: list[str], share: float, rng: np.random.Generator) -> list[str]:
    """Drop each word with the share as its probability; at least one stays."""
    remaining = [word for word, drawn in zip(words, rng.random(len(words)), strict=True) if drawn >= share]
    return remaining or [words[int(rng.integers(len(words)))]]


def inserted(words: list[str], share: float, rng: np.random.Generator) -> list[str]:
    """Insert words of the text itself anywhere, as many as the share says, at least one."""
    longer = list(words)
    for _ in range(_count(words, share)):
        longer.insert(int(rng.integers(len(longer) + 1)), words[int(rng.integers(len(words)))])
    return longer


def replaced(
    words: list[str], share: float, rng: np.random.Generator, lexicon: Mapping[str, Sequence[str]]
) -> list[str]:
    """Replace words by ones of the lexicon, as many as the share says, at least one."""
    words = list(words)
    replaceable = [i for i, word in enumerate(words) if lexicon.get(word)]
    for i in rng.permutation(replaceable)[: _count(words, share)]:
        choices = lexicon[words[i]]
        words[i] = choices[int(rng.integers(len(choices)))]
    return words


OPERATIONS: Mapping[str, Operation] = {"swap": swapped, "delete": deleted, "insert": inserted}
"""Operations that need nothing but the text."""


def _count(words: Sequence[str], share: float) -> int:
    return max(1, round(share * len(words)))
