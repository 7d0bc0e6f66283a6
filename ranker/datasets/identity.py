"""Keys of texts, of rows, and of sets of labelled rows."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from json.encoder import encode_basestring_ascii

from factors.types import Example
from ranker.tasks.base import Task

TEXT_KEY_VERSION = 1
"""Version of the text keys, by which a store finds what models said of texts."""


def text_key(example: Example) -> str:
    """Return the key of an example's text; neither its id nor its label changes a model's input.

    Example:
        >>> text_key(Example("a", ("A dog ran.",), 1)) == text_key(Example("b", ("A dog ran.",), 0))
        True
    """
    return _digest(example).hexdigest()


class Texts(tuple[Example, ...]):
    """Examples given to several models; the keys of their texts are computed once."""

    @cached_property
    def names(self) -> list[bytes]:
        """(N,) see `text_names`."""
        return [_digest(example).digest() for example in self]

    def part(self, places: Sequence[int]) -> Texts:
        """Select some of the examples, with their keys."""
        selection = Texts([self[index] for index in places])
        selection.__dict__["names"] = [self.names[index] for index in places]
        return selection


def text_names(examples: Iterable[Example]) -> list[bytes]:
    """Return the keys of examples' texts as 32 bytes each, by which a store finds them.

    Example:
        >>> example = Example("a", ("A dog ran.",), 1)
        >>> text_names([example])[0].hex() == text_key(example)
        True
    """
    return (examples if isinstance(examples, Texts) else Texts(examples)).names


def _digest(example: Example) -> hashlib._Hash:
    # canonical JSON of {"schema": ..., "segments": [...]}, as `records.digest` writes it, five times as fast
    segments = ", ".join(map(encode_basestring_ascii, example.segments))
    return hashlib.sha256(f'{{"schema": {TEXT_KEY_VERSION}, "segments": [{segments}]}}'.encode())


def row_key(row: Example) -> Hashable:
    """Return what tells a row from others: its id, else its texts; without both its place in its file.

    Example:
        >>> row_key(Example("a", ("A dog ran.",), None))
        'a'
        >>> row_key(Example("1", ("A dog ran.",), None, numbered_in="rows.csv"))
        ('A dog ran.',)
        >>> row_key(Example("1", ("",), None, numbered_in="rows.csv"))
        ('rows.csv', '1')
    """
    return text_or_place(row) if row.numbered_in else row.id


def text_or_place(row: Example) -> Hashable:
    """Return what tells a row from others if ids do not: its texts; without any its place in its file."""
    return row.segments if any(row.segments) else (row.numbered_in, row.id)


def counted_keys(keys: Iterable[Hashable]) -> Iterator[tuple[Hashable, int]]:
    """Yield each key, and how many keys so far are equal to it.

    Example:
        >>> list(counted_keys("aba"))
        [('a', 1), ('b', 1), ('a', 2)]
    """
    counts: Counter[Hashable] = Counter()
    for key in keys:
        counts[key] += 1
        yield key, counts[key]


def fingerprint(examples: Iterable[Example], task: Task) -> str:
    """Hash the rows' ids, texts and targets (SHA-256); marks are left out, since no accuracy depends on them.

    Example:
        >>> from ranker.tasks.classes import ClassificationTask
        >>> task = ClassificationTask("nli", ("non-entailment", "entailment"))
        >>> fingerprint([Example("a", ("A dog ran.", "A dog ran."), 1)], task)[:8]
        '...'
    """
    digest = hashlib.sha256()
    for example in examples:
        target = task.show(example.target) if example.labelled else None
        row = [example.id, *example.segments, target]
        digest.update(json.dumps(row).encode() + b"\n")
    return digest.hexdigest()
