"""Rules that mark words: pure functions from a row to spans of its segments, named in the cards of the OOD sets.

A rule takes a row's segments and all its columns, ignores labels, and never raises: a text without a match has no mark.
``docs/marks.md`` describes each rule, its coverage of the real sets and its errors.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from factors import Span
from factors.types import split_words
from ranker.datasets import lexicon as lex
from ranker.datasets.clauses import main_verb
from ranker.errors import look_up

Rule = Callable[[tuple[str, ...], Mapping[str, Any]], tuple[Span, ...]]
"""(segments, the whole row) -> the spans to mark."""

PARSES = ("sentence1_parse", "parse_premise")
"""Columns that may hold the premise's parse: in the official table of HANS, and in its copy on the hub."""

CONTROL = frozenset({*lex.CONTROL_PHRASES, *lex.SUBORDINATORS, *lex.COORDINATORS, *lex.SENTENCE_ADVERBS})
"""Words and phrases that decide whether the clause beside them follows."""

MAX_PHRASE = max(phrase.count(" ") + 1 for phrase in CONTROL)

MAX_DEPTH = 64
"""Open brackets of a parse, at most; reading stops at a deeper one."""

MAX_LABEL = 16
"""Characters read of a parse's label."""

MAX_WORDS = 256
"""Words of a segment whose order is compared, from the first difference on; the time is quadratic."""

_PIECE = re.compile(r"\w+")
_PARSE_PIECE = re.compile(r"\((?:[^\s()]+)?|\)|[^\s()]+")
_CLAUSES = re.compile(r"(?:(?:ROOT|S|SBAR|VP SBAR) )*")


def marker(marks: Mapping[str, str]) -> Callable[[tuple[str, ...], Mapping[str, Any]], Mapping[str, tuple[Span, ...]]]:
    """Build the function that finds the marks of a card.

    Args:
        marks: mark -> the name of a rule.

    Returns:
        (segments, row) -> mark -> spans; a mark without a span is left out.

    Raises:
        UnknownName: no rule has that name.

    Example:
        >>> marker({"feature": "adjective"})(("The tall boy drew a map.",), {})
        {'feature': (Span(segment=0, start=4, end=8),)}
    """
    rules = {mark: look_up("rule of marks", rule, RULES) for mark, rule in marks.items()}

    def find(segments: tuple[str, ...], row: Mapping[str, Any]) -> Mapping[str, tuple[Span, ...]]:
        all_spans = {mark: rule(segments, row) for mark, rule in rules.items()}
        return {mark: spans for mark, spans in all_spans.items() if spans}

    return find


def control(segments: tuple[str, ...], row: Mapping[str, Any]) -> tuple[Span, ...]:
    """Mark words of the premise outside its clauses that decide what follows: "unless", "hoped that", "or", "probably".

    Example:
        >>> premise = "Unless the nurse slept, the clerk sang."
        >>> control((premise, "The clerk sang."), {})
        (Span(segment=0, start=0, end=6),)
    """
    if len(segments) != 2:
        return ()
    parse = next((row[column] for column in PARSES if isinstance(row.get(column), str)), "")
    offsets = _control_by_parse(segments[0], parse)
    return _merged(segments[0], _control_by_text(*segments) if offsets is None else offsets)


def swapped(segments: tuple[str, ...], row: Mapping[str, Any]) -> tuple[Span, ...]:
    """Mark the words of a pair whose order differs, in both segments; function words only if no other word does.

    Example:
        >>> pair = ("Do painters visit bakers?", "Do bakers visit painters?")
        >>> [pair[span.segment][span.start : span.end] for span in swapped(pair, {})]
        ['painters', 'bakers', 'bakers', 'painters']
    """
    if len(segments) != 2:
        return ()
    spans = [[match.span() for match in _PIECE.finditer(text)] for text in segments]
    moved = _moved(*([_folded(text[a:b]) for a, b in cuts] for text, cuts in zip(segments, spans, strict=True)))
    return tuple(Span(s, *spans[s][i]) for s in (0, 1) for i in moved[s])


def irregular_past(segments: tuple[str, ...], row: Mapping[str, Any]) -> tuple[Span, ...]:
    """Mark every finite irregular past verb, but no participle ("had sung") and no noun ("a cut").

    Example:
        >>> irregular_past(("The boy has sung and the girls drew a map.",), {})
        (Span(segment=0, start=31, end=35),)
    """
    return _by_sentence(segments, _irregular_pasts)


def ing_main_verb(segments: tuple[str, ...], row: Mapping[str, Any]) -> tuple[Span, ...]:
    """Mark the main clause's verb if it is an -ing form after a form of "be"; verbs of smaller clauses are not marked.

    Example:
        >>> ing_main_verb(("The girl that a man is watching was singing.",), {})
        (Span(segment=0, start=36, end=43),)
    """
    return _by_sentence(segments, _ing_main_verbs)


def adjective(segments: tuple[str, ...], row: Mapping[str, Any]) -> tuple[Span, ...]:
    """Mark every adjective of the list; words that may be verbs or nouns only if their place rules that out.

    Example:
        >>> adjective(("The boy is tall.",), {})
        (Span(segment=0, start=11, end=15),)
    """
    return _by_sentence(segments, _adjectives)


RULES: Mapping[str, Rule] = {
    "control": control,
    "swapped": swapped,
    "irregular-past": irregular_past,
    "ing-main-verb": ing_main_verb,
    "adjective": adjective,
}


def _control_by_parse(premise: str, parse: str) -> list[tuple[int, int]] | None:
    """Return the offsets of the premise's words at clause level; None if this is no parse of all its words."""
    # the path to such a word has clauses only, and then no subject, predicate or punctuation mark
    offsets, end, size = [], 0, 0
    for (path, word), (following, _) in itertools.pairwise(itertools.chain(_leaves(parse), [("", "")])):
        start = premise.find(word, end)
        if start < 0:
            return None
        end, size = start + len(word), size + len(word)
        inner = _CLAUSES.sub("", path, count=1)
        clauses = path.removesuffix(inner)
        governs = inner.startswith("VP V") and following.startswith(f"{clauses}VP SBAR ")  # the verb of "hoped that"
        if governs or not inner.startswith(("NP ", "VP ", ", ", ". ", ": ")):
            offsets.append((start, end))
    return offsets if size == sum(map(len, premise.split())) else None


def _leaves(parse: str) -> Iterator[tuple[str, str]]:
    """Yield the leaves of a bracketed parse as (path of labels from the root, each followed by a blank, word)."""
    labels: list[str] = []
    for match in _PARSE_PIECE.finditer(parse):
        piece = match[0]
        if piece[0] == "(":
            labels.append(piece[1:MAX_LABEL])
        elif piece != ")":
            yield "".join(f"{label} " for label in labels), piece
        elif labels:
            labels.pop()
        if len(labels) > MAX_DEPTH:
            return


def _control_by_text(premise: str, hypothesis: str) -> list[tuple[int, int]]:
    """Find control words at the premise's beginning, and on either side of the hypothesis inside it."""
    spans, words = _words(premise)
    start, end = _run(words, [word for word in _words(hypothesis)[1] if word[0].isalnum()])
    chosen = {*_phrase(words, 0)}
    if start < end:
        behind = end + (words[end : end + 1] == [","])
        chosen |= {*_phrase(words, behind), *_before(words, start)}
    return [spans[i] for i in sorted(chosen - {*range(start, end)})]


def _phrase(words: Sequence[str], index: int) -> range:
    """Return the indices of the control phrase or word that begins at an index; empty if there is none."""
    for length in range(min(MAX_PHRASE, len(words) - index), 0, -1):
        if " ".join(words[index : index + length]) in CONTROL:
            return range(index, index + length)
    return range(0)


def _before(words: Sequence[str], end: int) -> range:
    """Return the indices of what opens the clause at an index: a control phrase, a word and "that", or a past verb."""
    for start in range(max(0, end - MAX_PHRASE), end):
        if start + len(_phrase(words, start)) == end:
            return range(start, end)
    if end > 1 and words[end - 1] == "that":
        return range(end - 2, end)
    governs = end > 1 and (words[end - 1] in lex.IRREGULAR_PASTS or words[end - 1].endswith("ed"))
    return range(end - 1, end) if governs else range(0)


def _run(words: Sequence[str], wanted: Sequence[str]) -> tuple[int, int]:
    """Find the first place of ``wanted`` in ``words`` as one piece; (0, 0) if there is none."""
    # one search in a string is linear; "\n" is in no word
    position = ("\n" + "\n".join(words) + "\n").find("\n" + "\n".join(wanted) + "\n")
    if not wanted or position < 0:
        return 0, 0
    start = "\n".join(words)[:position].count("\n")
    return start, start + len(wanted)


def _moved(first: Sequence[str], second: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the words of either sequence whose order differs in the other one."""
    skip = _alike(first, second)
    tail = _alike(first[skip:][::-1], second[skip:][::-1])
    pair = [words[skip : len(words) - tail][:MAX_WORDS] for words in (first, second)]
    pair_moves = _exchanged(*pair) or _out_of_order(*pair)
    return [skip + i for i in pair_moves[0]], [skip + i for i in pair_moves[1]]


def _alike(first: Sequence[str], second: Sequence[str]) -> int:
    """Count the words of the common beginning of two sequences."""
    return sum(1 for _ in itertools.takewhile(bool, map(operator.eq, first, second)))


def _exchanged(first: Sequence[str], second: Sequence[str]) -> tuple[list[int], list[int]] | None:
    """Return the words of x and y if the two are "x ... y" and "y ... x" with the same words between; else None."""
    x, y = _overlap(first, second), _overlap(second, first)
    if not x or not y or x + y >= len(first) or first[x : len(first) - y] != second[y : len(second) - x]:
        return None
    ahead, behind = _content(first[:x]), _content(second[:y])
    return (
        [*ahead, *(len(first) - y + i for i in behind)],
        [*behind, *(len(second) - x + i for i in ahead)],
    )


def _overlap(first: Sequence[str], second: Sequence[str]) -> int:
    """Count the words of the longest beginning of ``first`` that is an end of ``second``."""
    lengths = range(min(len(first), len(second)), 0, -1)
    return next((length for length in lengths if first[:length] == second[len(second) - length :]), 0)


def _out_of_order(first: Sequence[str], second: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the words, in both sequences, that some longest common subsequence lacks."""
    spare = _spare(first, second)
    in_both = {first[i] for i in spare[0]} & {second[j] for j in spare[1]}
    moved = [[i for i in free if words[i] in in_both] for free, words in zip(spare, (first, second), strict=True)]
    content = [
        [free[i] for i in _content([words[i] for i in free])]
        for free, words in zip(moved, (first, second), strict=True)
    ]
    return content[0], content[1]


def _content(words: Sequence[str]) -> list[int]:
    """Return the indices of the content words; all if there is none."""
    return [i for i, word in enumerate(words) if word not in lex.FUNCTION_WORDS] or list(range(len(words)))


def _spare(first: Sequence[str], second: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the words of either sequence that are not in every longest common subsequence of the two."""
    ahead = _common(first, second)
    behind = [row[::-1] for row in _common(first[::-1], second[::-1])[::-1]]
    longest = ahead[-1][-1]
    rows = [i for i in range(len(first)) if max(map(sum, zip(ahead[i], behind[i + 1], strict=True))) == longest]
    columns = [
        j for j in range(len(second)) if max(a[j] + b[j + 1] for a, b in zip(ahead, behind, strict=True)) == longest
    ]
    return rows, columns


def _common(first: Sequence[str], second: Sequence[str]) -> list[list[int]]:
    """Return table[i][j], the length of the longest common subsequence of ``first[:i]`` and ``second[:j]``."""
    table = [[0] * (len(second) + 1)]
    for word in first:
        above, row = table[-1], [0]
        for j, other_word in enumerate(second):
            row.append(above[j] + 1 if word == other_word else max(above[j + 1], row[j]))
        table.append(row)
    return table


def _irregular_pasts(words: Sequence[str]) -> Iterator[int]:
    auxiliary = False  # whether a finite auxiliary is open: what follows it is a participle or a bare form
    for i, (before, word, behind) in enumerate(_with_neighbours(words)):
        helps = word in lex.AUXILIARIES and not (word == "had" and behind in lex.DETERMINERS)
        if word in lex.IRREGULAR_PASTS and not auxiliary and not helps and before not in lex.DETERMINERS:
            yield i
        auxiliary = helps or (auxiliary and (word in lex.BETWEEN or word.endswith("ly")))


def _ing_main_verbs(words: Sequence[str]) -> Iterator[int]:
    group = main_verb(words)
    if group and group.verb < len(words) and words[group.first] in lex.BE and words[group.verb].endswith("ing"):
        yield group.verb


def _adjectives(words: Sequence[str]) -> Iterator[int]:
    for i, (before, word, behind) in enumerate(_with_neighbours(words)):
        ends = not behind[:1].isalnum() or behind in _NO_NOUNS
        noun_follows = (before in lex.DETERMINERS or before in lex.ADJECTIVES) and not ends
        predicate = (before in lex.BE or before.endswith("ly")) and ends and behind not in lex.DETERMINERS
        if word in lex.ADJECTIVES or (word in lex.DOUBTFUL_ADJECTIVES and (noun_follows or predicate)):
            yield i


_NO_NOUNS = lex.AUXILIARIES | lex.DETERMINERS | lex.PREPOSITIONS | lex.COORDINATORS | lex.SUBORDINATORS | lex.RELATIVES


def _with_neighbours(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (the word before, the word, the word behind) of each; "" at the ends."""
    return zip(["", *words], words, [*words[1:], ""], strict=False)


def _folded(word: str) -> str:
    """Lower the case, except of words that capitals distinguish: "US" is not "us"."""
    return word if word.isupper() and len(word) > 1 else word.lower()


def _by_sentence(segments: Sequence[str], find: Callable[[Sequence[str]], Iterable[int]]) -> tuple[Span, ...]:
    """Return the words that a rule for a single sentence finds in each segment."""
    marked = []
    for segment, text in enumerate(segments):
        spans, words = _words(text)
        marked += [Span(segment, *spans[i]) for i in find(words)]
    return tuple(marked)


def _words(text: str) -> tuple[list[tuple[int, int]], list[str]]:
    """Return the spans of a text's words, and the words in lower case."""
    spans = split_words(text)
    return spans, [text[start:end].lower() for start, end in spans]


def _merged(premise: str, spans: Iterable[tuple[int, int]]) -> tuple[Span, ...]:
    """Join spans of the premise that have only a blank between them."""
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and premise[merged[-1][1] : start].isspace():
            start = merged.pop()[0]
        merged.append((start, end))
    return tuple(Span(0, start, end) for start, end in merged)
