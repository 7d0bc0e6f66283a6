"""Owen values: Shapley values of tokens, computed group by group down a tree.

Every group's gain is divided among its children, in each context of present and absent groups at the levels above it:

    phi_t = sum_c w(c) (f(c + t) - f(c))

c runs over the contexts of token t: at each level above it some of the siblings are seen, and a set S of k - 1
siblings has the weight |S|! (k - |S| - 1)! / k!. Two children are seen or not with weight 1/2; a tree of one level
gives the Shapley values. All of this is linear in f: the tree alone determines the sets of tokens (`Walk.masks`) and
the weights of the answers (`Walk.weights`), so any number of examples can be computed at once.

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
"""Token, by its number from 0, or a group of trees."""

WALKS_KEPT = 32
"""Walks in the cache: short texts often have the same shape, and the longest walk takes a few megabytes."""


@dataclass(frozen=True)
class Walk:
    """Sets of T tokens that a model is asked about, and the weights of the E answers.

    Attributes:
        masks: (E, T) bool, True where a token is seen; all different. The first row sees all, the second nothing.
        weights: (T, E) of the answers in each token's value.
    """

    masks: Bools
    weights: Floats

    def __post_init__(self) -> None:
        self.masks.flags.writeable = self.weights.flags.writeable = False


def across_tree(segment: Ints, word: Ints) -> Tree:
    """Return the tree of an example with its segments side by side: words in halves, then a word's pieces in halves.

    Words are ordered by their relative place in their own segment, so that each half has its share of every segment. A
    tree that splits the segments first asks for one of them without the other; the difference of their sums is then
    just f(the first alone) - f(the second alone), and says little about two texts that are read together. This tree
    comes nearer to the Shapley values, at the same price.

    Args:
        segment: (T,) -1 for special tokens, which are always seen, and are not in the tree: its tokens are numbered
            without them.
        word: (T,) -1 for tokens of no word, which are grouped like a word.

    Returns:
        The tree; an empty group where there is no token.

    Example:
        >>> across_tree(np.array([-1, 0, 0, 0, -1, 1, -1]), np.array([-1, 0, 1, 1, -1, 2, -1]))
        (0, (3, (1, 2)))
    """
    placed = [((i + 0.5) / len(words), tree) for words in _words(segment, word) for i, tree in enumerate(words)]
    return halves([tree for _, tree in sorted(placed, key=itemgetter(0))])


def segments_tree(segment: Ints, word: Ints) -> Tree:
    """Return the tree of an example that splits the segments first, then words and pieces in halves.

    Args:
        segment, word: as those of `across_tree`.

    Example:
        >>> segments_tree(np.array([-1, 0, 0, 0, -1, 1, -1]), np.array([-1, 0, 1, 1, -1, 2, -1]))
        ((0, (1, 2)), 3)
    """
    return halves([halves(words) for words in _words(segment, word)])


def _words(segment: Ints, word: Ints) -> list[list[Tree]]:
    """Return each segment's words, as trees of their pieces."""
    inside = segment != SPECIAL
    tokens = enumerate(zip(segment[inside].tolist(), word[inside].tolist(), strict=True))
    return [
        [halves([number for number, _ in pieces]) for _, pieces in groupby(alike, key=lambda token: token[1][1])]
        for _, alike in groupby(tokens, key=lambda token: token[1][0])
    ]


def flat_tree(segment: Ints) -> Tree:
    """Return a tree of one level, whose Owen values are the Shapley values of the tokens.

    Example:
        >>> flat_tree(np.array([-1, 0, 0, -1, 1, -1]))
        (0, 1, 2)
    """
    return tuple(range(int((segment != SPECIAL).sum())))


def halves(trees: Sequence[Tree]) -> Tree:
    """Return a binary tree over trees, in their order and as even as possible.

    Example:
        >>> halves([0, 1, 2, 3, 4])
        ((0, 1), (2, (3, 4)))
    """
    if len(trees) <= 1:
        return trees[0] if trees else ()
    half = len(trees) // 2
    return halves(trees[:half]), halves(trees[half:])


def leaves(tree: Tree) -> list[int]:
    """Return the tokens of a tree, in order."""
    return [tree] if isinstance(tree, int) else [leaf for child in tree for leaf in leaves(child)]


def evaluations(tree: Tree) -> int:
    """Return E, the number of sets of tokens in the whole tree.

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
    """Part of the tree in its contexts: P pairs of masks that differ by it, and the weight of each difference.

    Attributes:
        tree: the part.
        without, present: (P,) row numbers of the masks.
        weight: (P,) adds up to 1.
    """

    tree: Tree
    without: Ints
    present: Ints
    weight: Floats

    @property
    def price(self) -> int:
        """Number of further masks that tell its children apart."""
        return 0 if isinstance(self.tree, int) else len(self.without) * ((1 << len(self.tree)) - 2)


@lru_cache(maxsize=WALKS_KEPT)
def walk(tree: Tree, budget: int) -> Walk:
    """Walk a tree down, level by level, as far as the budget lasts.

    A level over the budget is left out for all groups alike, so that no word is resolved more finely than another. A
    group that is not split shares its value equally among its tokens, as `shap` does. So the sets depend on the text
    alone, not on a model's answers or on their order.

    Args:
        tree: over the tokens 0 to T - 1.
        budget: most evaluations; the sets of all and of no tokens are always included.

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
            weights[token, group.present] += group.weight / len(tokens)
            weights[token, group.without] -= group.weight / len(tokens)
    return Walk(masks, weights)


def _split(group: _Group, masks: Bools, free: int) -> list[_Group]:
    """Return the children of a group, each in its contexts; their masks are written from the row ``free`` on."""
    assert not isinstance(group.tree, int)
    children, contexts = group.tree, len(group.without)
    count = len(children)
    before = masks[group.without]
    rows = {0: group.without, 2**count - 1: group.present}  # set of present children, as bits -> rows
    for subset in range(1, 2**count - 1):
        rows[subset] = np.arange(free, free + contexts)
        tokens = [leaf for i, child in enumerate(children) if subset >> i & 1 for leaf in leaves(child)]
        masks[free : free + contexts] = before
        masks[free : free + contexts, tokens] = True
        free += contexts
    groups = []
    for i, child in enumerate(children):
        without_child = [subset for subset in range(2**count) if not subset >> i & 1]
        groups.append(
            _Group(
                child,
                np.concatenate([rows[subset] for subset in without_child]),
                np.concatenate([rows[subset | 1 << i] for subset in without_child]),
                np.concatenate(
                    [group.weight / (count * comb(count - 1, subset.bit_count())) for subset in without_child]
                ),
            )
        )
    return groups
