"""Owen values: Shapley values of tokens that are asked for group by group, down a tree.

Every group's gain is divided among its children, in each context of present and absent groups beside those above it:

    phi_t = sum_c w(c) (f(c + t) - f(c))

c runs over the contexts of token t: at each level above it some of the siblings are seen, and a set S of k - 1
siblings has the weight |S|! (k - |S| - 1)! / k!. Two children are seen or not with weight 1/2; a tree of one level
gives the Shapley values. All of this is linear in f: the tree alone says which sets of tokens to ask for (`Walk.masks`)
and how the answers add up (`Walk.weights`), so any number of examples can be asked for at once.

Source: Owen 1977, "Values of games with a priori unions"; Lundberg and Lee 2017, "A Unified Approach to Interpreting
Model Predictions"; the binary tree is that of `shap.explainers.Partition`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import comb
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from factors.types import SPECIAL, Bools, Floats, Ints

Tree: TypeAlias = "int | tuple[Tree, ...]"
"""A token, by its number from 0, or a group of trees."""

WALKS_KEPT = 32
"""Walks that are remembered: short texts are often of one shape, and a walk of the longest takes a few megabytes."""


@dataclass(frozen=True)
class Walk:
    """What to ask a model about T tokens, and how the E answers add up.

    Attributes:
        masks: (E, T) bool, True where a token is seen; all different. The first row sees all, the second nothing.
        weights: (T, E) of the answers in each token's value.
    """

    masks: Bools
    weights: Floats

    def __post_init__(self) -> None:
        self.masks.flags.writeable = self.weights.flags.writeable = False


def across_tree(segment: Ints, word: Ints) -> Tree:
    """The tree of an example with its segments side by side: words in halves, then the pieces of a word in halves.

    Words stand in the order of their place in their own segment, as a part of its length, so that each half has its
    share of every segment. A tree that parts the segments first asks for one of them without the other, at once; the
    difference of their sums is then nothing but f(the first alone) - f(the second alone), and says little about two
    texts that are read together. This one comes nearer to the Shapley values, at the same price.

    Args:
        segment: (T,) -1 for special tokens, which are always seen, and are not in the tree: its tokens are numbered
            without them.
        word: (T,) -1 for tokens that belong to none, which stand together like a word.

    Returns:
        The tree; an empty group where there is no token.

    Example:
        >>> across_tree(np.array([-1, 0, 0, 0, -1, 1, -1]), np.array([-1, 0, 1, 1, -1, 2, -1]))
        (0, (3, (1, 2)))
    """
    placed = [((i + 0.5) / len(words), tree) for words in _words(segment, word) for i, tree in enumerate(words)]
    return halves([tree for _, tree in sorted(placed, key=itemgetter(0))])


def segments_tree(segment: Ints, word: Ints) -> Tree:
    """The tree of an example with its segments one after the other: segments, then words and pieces in halves.

    Args:
        segment, word: as those of `across_tree`.

    Example:
        >>> segments_tree(np.array([-1, 0, 0, 0, -1, 1, -1]), np.array([-1, 0, 1, 1, -1, 2, -1]))
        ((0, (1, 2)), 3)
    """
    return halves([halves(words) for words in _words(segment, word)])


def _words(segment: Ints, word: Ints) -> list[list[Tree]]:
    """Each segment's words, as trees of their pieces."""
    inside = segment != SPECIAL
    tokens = enumerate(zip(segment[inside].tolist(), word[inside].tolist(), strict=True))
    return [
        [halves([number for number, _ in pieces]) for _, pieces in groupby(alike, key=lambda token: token[1][1])]
        for _, alike in groupby(tokens, key=lambda token: token[1][0])
    ]


def flat_tree(segment: Ints) -> Tree:
    """A tree of one level, whose Owen values are the Shapley values of the tokens.

    Example:
        >>> flat_tree(np.array([-1, 0, 0, -1, 1, -1]))
        (0, 1, 2)
    """
    return tuple(range(int((segment != SPECIAL).sum())))


def halves(trees: Sequence[Tree]) -> Tree:
    """A binary tree over trees, in their order and as even as can be.

    Example:
        >>> halves([0, 1, 2, 3, 4])
        ((0, 1), (2, (3, 4)))
    """
    if len(trees) <= 1:
        return trees[0] if trees else ()
    half = len(trees) // 2
    return halves(trees[:half]), halves(trees[half:])


def leaves(tree: Tree) -> list[int]:
    """The tokens of a tree, in order."""
    return [tree] if isinstance(tree, int) else [leaf for child in tree for leaf in leaves(child)]


def evaluations(tree: Tree) -> int:
    """E, how many sets of tokens the whole tree asks for.

    Example:
        >>> evaluations(((0, 1), (2, 3))), evaluations((0, 1, 2, 3)), evaluations(0), evaluations(())
        (12, 16, 2, 1)
    """

    def below(node: Tree, contexts: int) -> int:
        if isinstance(node, int):
            return 0
        children = sum(below(child, contexts << len(node) - 1) for child in node)
        return contexts * ((1 << len(node)) - 2) + children

    return 2 + below(tree, 1) if leaves(tree) else 1


@dataclass(frozen=True)
class _Group:
    """A part of the tree in its contexts: P pairs of masks that differ by it, and the weight of each difference.

    Attributes:
        tree: the part.
        without, seen: (P,) row numbers of the masks.
        weight: (P,) adds up to 1.
    """

    tree: Tree
    without: Ints
    seen: Ints
    weight: Floats

    @property
    def price(self) -> int:
        """How many more masks tell its children apart."""
        return 0 if isinstance(self.tree, int) else len(self.without) * ((1 << len(self.tree)) - 2)


@lru_cache(maxsize=WALKS_KEPT)
def walk(tree: Tree, budget: int) -> Walk:
    """Walk a tree down, level by level, for as long as the budget lasts.

    A level that is too dear is left out, for all groups alike, so that no word is seen more closely than another;
    a group that stays whole shares its value equally among its tokens, as `shap` does with a cluster that must not
    be split. So what is asked for depends on the text alone, not on a model's answers or on their order.

    Args:
        tree: over the tokens 0 to T - 1.
        budget: the most evaluations; everything and nothing are asked for in any case.

    Example:
        >>> both = walk((0, 1), 4)
        >>> both.masks.astype(int).tolist(), both.weights.tolist()
        ([[1, 1], [0, 0], [1, 0], [0, 1]], [[0.5, -0.5, 0.5, -0.5], [0.5, -0.5, -0.5, 0.5]])
    """
    size = len(leaves(tree))
    if not size:
        return Walk(np.ones((1, 0), bool), np.zeros((0, 1)))
    masks = np.array([[True] * size, [False] * size])
    level, settled = [_Group(tree, np.array([1]), np.array([0]), np.ones(1))], []
    while level:
        settled += [group for group in level if isinstance(group.tree, int)]
        level = [group for group in level if not isinstance(group.tree, int)]
        price = sum(group.price for group in level)
        if len(masks) + price > budget:
            break
        free = len(masks)
        masks = np.concatenate([masks, np.empty((price, size), bool)])
        children = []
        for group in level:
            children += _split(group, masks, free)
            free += group.price
        level = children
    weights = np.zeros((size, len(masks)))
    for group in settled + level:
        tokens = leaves(group.tree)
        for token in tokens:
            weights[token, group.seen] += group.weight / len(tokens)
            weights[token, group.without] -= group.weight / len(tokens)
    return Walk(masks, weights)


def _split(group: _Group, masks: Bools, free: int) -> list[_Group]:
    """The children of a group, each in its contexts; their masks are written from the row ``free`` on."""
    assert not isinstance(group.tree, int)
    children, contexts = group.tree, len(group.without)
    count = len(children)
    before = masks[group.without]
    rows = {0: group.without, 2**count - 1: group.seen}  # of each set of children, as bits, that are seen
    for subset in range(1, 2**count - 1):
        rows[subset] = np.arange(free, free + contexts)
        tokens = [leaf for i, child in enumerate(children) if subset >> i & 1 for leaf in leaves(child)]
        masks[free : free + contexts] = before
        masks[free : free + contexts, tokens] = True
        free += contexts
    groups = []
    for i, child in enumerate(children):
        others = [subset for subset in range(2**count) if not subset >> i & 1]
        groups.append(
            _Group(
                child,
                np.concatenate([rows[subset] for subset in others]),
                np.concatenate([rows[subset | 1 << i] for subset in others]),
                np.concatenate([group.weight / (count * comb(count - 1, subset.bit_count())) for subset in others]),
            )
        )
    return groups
