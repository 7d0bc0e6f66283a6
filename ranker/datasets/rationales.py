"""Words that people named as the reason for their answer to a row, as marks that factors read.

A cell has the reason of one annotator: spans of characters, a number for each token, or words of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from json import JSONDecodeError
from operator import index
from typing import Any

from factors import Span
from factors.rationales import mark_of
from ranker.errors import DataError
from ranker.records import parse_json
from ranker.tasks.empty import is_blank

FORMS = "spans of characters ([start, end], or [segment, start, end]), 0 or 1 for each token, or words of the text"

_TOKEN = re.compile(r"[^ \t\r\n\f\v]+")  # a list of tokens is one text, with other blanks inside of tokens


def rationale_marks(
    cells: Mapping[str, Any], columns: Sequence[str], segments: tuple[str, ...]
) -> Mapping[str, tuple[Span, ...]]:
    """Return the rationales of a row as marks: "rationale" of the first annotator, "rationale-2" of the second.

    Args:
        columns: one for each annotator. An annotator without a word on a row has no mark there.

    Raises:
        DataError: a cell has none of the forms, or its spans overlap, or do not fit the text.

    Example:
        >>> rationale_marks({"why": [[0, 5]], "too": [1, 0]}, ("why", "too"), ("Never again",))
        {'rationale': (Span(segment=0, start=0, end=5),), 'rationale-2': (Span(segment=0, start=0, end=5),)}
        >>> rationale_marks({"why": ["again"]}, ("why",), ("Never again",))
        {'rationale': (Span(segment=0, start=6, end=11),)}
    """
    cells_by_mark = {mark_of(number): (column, cells[column]) for number, column in enumerate(columns)}
    return {
        mark: spans
        for mark, (column, cell) in cells_by_mark.items()
        if not is_blank(cell) and (spans := _checked_spans(column, cell, segments))
    }


def _checked_spans(column: str, cell: Any, segments: tuple[str, ...]) -> tuple[Span, ...]:
    """Return the spans of a cell in the order of the text."""
    try:
        spans = sorted(_spans(parse_json(cell) if isinstance(cell, str) else cell, segments))
    except (TypeError, JSONDecodeError) as error:
        raise DataError.of_column(column, f"must hold {FORMS} (got {str(cell)[:50]!r})", cell) from error
    except ValueError as error:
        raise DataError.of_column(column, str(error), cell) from error
    for span in spans:
        if span.segment >= len(segments) or span.end > len(segments[span.segment]):
            raise DataError.of_column(column, f"has a span outside its text ({_numbers(span)})", cell)
    for first, second in pairwise(spans):
        if first.overlaps(second):
            raise DataError.of_column(column, f"has spans that overlap ({_numbers(first)}, {_numbers(second)})", cell)
    return tuple(spans)


def _spans(content: Any, segments: tuple[str, ...]) -> Iterator[Span]:
    """Yield the spans of a cell; a TypeError for none of the forms, a ValueError for one that does not fit."""
    if not isinstance(content, list):
        raise TypeError("no list")
    if all(isinstance(part, list) for part in content):
        segment = [0] if len(segments) == 1 else []
        for part in content:
            numbers = [*(segment if len(part) == 2 else []), *map(index, part)]
            if len(numbers) == 3 and numbers[1] >= numbers[2]:
                raise ValueError(f"has an empty span ({numbers})")
            yield Span(*numbers)
    elif len(segments) > 1:
        raise ValueError("must hold spans, [segment, start, end], since the row has two texts")
    elif all(isinstance(part, str) for part in content):
        yield from _spans_of_words(content, segments[0])
    elif all(part in (0, 1) for part in content):
        yield from _spans_of_tokens(content, segments[0])
    else:
        raise TypeError("neither spans, nor words, nor 0 and 1")


def _spans_of_words(words: Sequence[str], text: str) -> Iterator[Span]:
    end = 0
    for word in words:
        place = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)").search(text, end)
        if place is None or not word:
            raise ValueError(f"has the word {word[:50]!r}, which does not follow in the text: of another tokenization?")
        end = place.end()
        yield Span(0, *place.span())


def _spans_of_tokens(marks: Sequence[int], text: str) -> Iterator[Span]:
    tokens = [match.span() for match in _TOKEN.finditer(text)]
    if len(marks) != len(tokens):
        counts = f"has {len(marks)} numbers, and the text {len(tokens)} tokens between blanks"
        raise ValueError(f"{counts}: of another tokenization?")
    for marked, run in groupby(zip(marks, tokens, strict=True), key=lambda pair: bool(pair[0])):
        places = [place for _, place in run]
        if marked:
            yield Span(0, places[0][0], places[-1][1])


def _numbers(span: Span) -> str:
    return str([span.segment, span.start, span.end])
