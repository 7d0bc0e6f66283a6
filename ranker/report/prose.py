"""Texts of models as people read them: Markdown as a tree that a page builds, and the words in which two texts differ.

A tree holds texts and the names of elements, and no HTML: a page makes each element itself, so that no text becomes
markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from ranker.report.escapes import visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

Node: TypeAlias = "str | list[Any]"
"""A text; or the name of an element, and its nodes."""

ELEMENTS = {
    "paragraph": "p",
    "heading": "strong",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "em": "em",
    "strong": "strong",
    "s": "s",
    "hr": "hr",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
}
"""Kind of a node of Markdown -> element; of other kinds the contents stand alone."""

LITERAL = {"text": "", "code_inline": "code", "code_block": "pre", "fence": "pre", "html_block": "", "html_inline": ""}
"""Kind of a node whose content is taken as it is -> element; "" for the text alone."""

MOST_SIGNS = 100_000
"""Most characters of a text whose Markdown is read."""

MOST_WORDS = 3_000
"""Most words of two texts whose differences are found."""


def nodes(text: str) -> list[Node]:
    """Return the nodes of a text in Markdown; control characters are escaped, and links and images are their texts.

    Example:
        >>> nodes("Two *words*, and `<b>`:\\n\\n- one")
        [['p', 'Two ', ['em', 'words'], ', and ', ['code', '<b>'], ':'], ['ul', ['li', ['p', 'one']]]]
    """
    from markdown_it.tree import SyntaxTreeNode

    if len(text) > MOST_SIGNS:
        return [["pre", visible(text)]]
    return [*_nodes(SyntaxTreeNode(_reader().parse(text.replace("\r\n", "\n"))))]


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])


def _nodes(parent: SyntaxTreeNode) -> Iterator[Node]:
    for node in parent.children:
        if node.type in LITERAL:
            element, content = LITERAL[node.type], visible(node.content)
            yield [element, content] if element else content
        elif node.type in ("softbreak", "hardbreak"):
            yield ["br"]
        elif node.type == "image":
            yield visible(f"[image: {node.content or node.attrs.get('src', '')}]")
        elif node.type == "link":
            yield from _nodes(node)
            yield visible(f" ({node.attrs.get('href', '')})")
        elif node.type in ELEMENTS:
            yield [ELEMENTS[node.type], *_nodes(node)]
        else:
            yield from _nodes(node)


def differences(first: str, second: str) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]] | None:
    """Return both texts in pieces, and whether the other text lacks a piece; None of texts that are too long.

    Example:
        >>> differences("A small dog.", "A dog.")
        ([('A ', False), ('small ', True), ('dog.', False)], [('A ', False), ('dog.', False)])
    """
    words = [re.findall(r"\s*\S+\s*|\s+", text) for text in (first, second)]
    if sum(map(len, words)) > MOST_WORDS:
        return None
    stripped = [[word.strip() for word in of_text] for of_text in words]
    matcher = SequenceMatcher(None, stripped[0], stripped[1], autojunk=False)
    sides: tuple[list[tuple[str, bool]], list[tuple[str, bool]]] = ([], [])
    for kind, *ends in matcher.get_opcodes():
        for side, of_words, (begin, end) in zip(sides, words, (ends[:2], ends[2:]), strict=True):
            if begin < end:
                side.append(("".join(of_words[begin:end]), kind != "equal"))
    return sides
