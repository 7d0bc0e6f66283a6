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


def augmented(examples: Sequence[Example], how: Augment, rng: np.random.Generator) -> list[Example]:
    """The rows and their copies: each copy has every segment changed by one operation, drawn for it.

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
            example, id=f"{example.id}+{i}", marks={}, segments=tuple(_changed(s, how, rng) for s in example.segments)
        )
        for example in examples
        for i in range(1, how.copies + 1)
    ]
    return [*examples, *copies]


def _changed(text: str, how: Augment, rng: np.random.Generator) -> str:
    operation = how.operations[int(rng.integers(len(how.operations)))]
    words = text.split()
    if operation == "replace":
        return " ".join(replaced(words, how.share, rng, how.lexicon))
    return " ".join(OPERATIONS[operation](words, how.share, rng))


def swapped(words: list[str], share: float, rng: np.random.Generator) -> list[str]:
    """As many swaps of two words as the share says, at least one; a text of one word stays."""
    words = list(words)
    for _ in range(_count(words, share) if len(words) > 1 else 0):
        a, b = rng.choice(len(words), 2, replace=False)
        words[a], words[b] = words[b], words[a]
    return words


def deleted(words: list[str], share: float, rng: np.random.Generator) -> list[str]:
    """Each word dropped with the share as its probability; one is left, whatever happens."""
    kept = [word for word, drawn in zip(words, rng.random(len(words)), strict=True) if drawn >= share]
    return kept or [words[int(rng.integers(len(words)))]]


def inserted(words: list[str], share: float, rng: np.random.Generator) -> list[str]:
    """As many words of the text itself, put anywhere, as the share says, at least one."""
    longer = list(words)
    for _ in range(_count(words, share)):
        longer.insert(int(rng.integers(len(longer) + 1)), words[int(rng.integers(len(words)))])
    return longer


def replaced(
    words: list[str], share: float, rng: np.random.Generator, lexicon: Mapping[str, Sequence[str]]
) -> list[str]:
    """As many words as the share says, at least one, replaced by one that the lexicon has for them."""
    words = list(words)
    known = [i for i, word in enumerate(words) if lexicon.get(word)]
    for i in rng.permutation(known)[: _count(words, share)]:
        choices = lexicon[words[i]]
        words[i] = choices[int(rng.integers(len(choices)))]
    return words


OPERATIONS: Mapping[str, Operation] = {"swap": swapped, "delete": deleted, "insert": inserted}
"""Operations that need nothing but the text."""


def _count(words: Sequence[str], share: float) -> int:
    return max(1, round(share * len(words)))
