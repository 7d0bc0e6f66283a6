"""Sentences from templates with slots: ``"N1 was1 greeted1 by N2 => N2 greeted1 N1"`` becomes a labelled pair."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import NamedTuple

import numpy as np

from factors import Example

Forms = Mapping[str, str]
"""The forms of one word or phrase: name of the form -> text."""

Lexicon = Mapping[str, Sequence[Sequence[Forms]]]
"""Class -> its words -> the variants of a word (singular and plural, or the only one) -> forms."""

PATIENCE = 200
"""Rows seen before, one after the other, until a kind of row counts as exhausted."""

_ARROW = re.compile(r"\s+(=/?>)\s+")
SLOT = re.compile(r"\b([A-Za-z_]+)(\d)\b")


class Template(NamedTuple):
    """One line of a table.

    Attributes:
        kind: what rows of it are called.
        label: of its rows.
        segments: one or two, with slots.
    """

    kind: str
    label: int
    segments: tuple[str, ...]


def table(text: str) -> dict[str, list[Template]]:
    """Return the templates of a table of pairs, by kind: a line is a kind, a premise, ``=>`` or ``=/>``, a hypothesis.

    Example:
        >>> table("passive  N1 was1 greeted1 by N2 => N2 greeted1 N1")
        {'passive': [Template(kind='passive', label=1, segments=('N1 was1 greeted1 by N2', 'N2 greeted1 N1'))]}
    """
    templates: dict[str, list[Template]] = {}
    for line in text.strip().splitlines():
        kind, pair = line.split(maxsplit=1)
        first, arrow, second = _ARROW.split(pair)
        templates.setdefault(kind, []).append(Template(kind, int(arrow == "=>"), (first, second)))
    return templates


def fill(segments: Sequence[str], lexicon: Lexicon, rng: np.random.Generator) -> tuple[str, ...]:
    """Return the segments of a template with each slot filled, a capital in front and a full stop behind.

    A slot is the name of a form and a digit. Slots of one class and one digit are forms of the same word; other digits
    are other words.

    Args:
        segments: with slots.
        lexicon: what they are filled with; the name of a form occurs in one class only.
        rng: draws the words.

    Example:
        >>> people = [[{"N": f"the {p}", "was": "was"}, {"N": f"the {p}s", "was": "were"}] for p in ("cook", "poet")]
        >>> lexicon = {"person": people, "deed": [[{"greeted": "greeted", "greet": "greet"}]]}
        >>> fill(("N1 was1 greeted1 by N2", "N2 did not greet1 N1"), lexicon, np.random.default_rng(0))
        ('The cooks were greeted by the poet.', 'The poet did not greet the cooks.')
    """
    class_of = {form: kind for kind, words in lexicon.items() for form in words[0][0]}
    digits: dict[str, set[str]] = {}
    for form, digit in SLOT.findall(" ".join(segments)):
        digits.setdefault(class_of[form], set()).add(digit)
    chosen: dict[tuple[str, str], Forms] = {}
    for kind, wanted in digits.items():
        words = rng.choice(len(lexicon[kind]), len(wanted), replace=False)
        for digit, word in zip(sorted(wanted), words, strict=True):
            variants = lexicon[kind][int(word)]
            chosen[kind, digit] = variants[int(rng.integers(len(variants)))]
    return tuple(sentence(SLOT.sub(lambda s: chosen[class_of[s[1]], s[2]][s[1]], segment)) for segment in segments)


def sentence(text: str) -> str:
    """Return a text with a capital in front, and a full stop after one without a mark of its own.

    Example:
        >>> sentence("the baker smiled")
        'The baker smiled.'
    """
    return text[0].upper() + text[1:] + ("" if text[-1] in ".?" else ".")


def rows(rng: np.random.Generator, n: int, kinds: Mapping[str, Sequence[Template]], lexicon: Lexicon) -> list[Example]:
    """Draw rows in random order, no two of the same text, each kind as often as the others (give or take one).

    Args:
        rng: draws templates, words and the order.
        n: how many.
        kinds: kind -> its templates. A row's id is its kind and its number.
        lexicon: what the slots are filled with.

    Raises:
        ValueError: the templates of a kind do not yield so many different rows.
    """
    by_text: dict[tuple[str, ...], Template] = {}
    for kind, templates in islice(cycle(kinds.items()), n):
        for _ in range(PATIENCE):
            template = templates[int(rng.integers(len(templates)))]
            segments = fill(template.segments, lexicon, rng)
            if segments not in by_text:
                break
        else:
            raise ValueError(
                f"{n} different rows cannot be made: {kind} is exhausted after {len(by_text)} of all kinds"
            )
        by_text[segments] = template
    pairs = list(by_text.items())
    shuffled = (pairs[row] for row in rng.permutation(n))
    return [Example(f"{row.kind}-{i}", segments, row.label) for i, (segments, row) in enumerate(shuffled)]


def words(form: str, text: str) -> list[list[Forms]]:
    """Return a class of words with one form each, from a text with commas between them, or blanks without commas."""
    return [[{form: word}] for word in (text.split(", ") if "," in text else text.split())]
