"""What identifies a text, and what identifies a set of labelled rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from json.encoder import encode_basestring_ascii

from factors.types import Example
from ranker.tasks.base import Task

TEXT = 1
"""Of the way in which texts are named. LIME's seeds are made of these names: another number is other samples."""


def text_key(example: Example) -> str:
    """What identifies an example's text: neither its id nor its label changes what a model makes of it.

    Example:
        >>> text_key(Example("a", ("A dog ran.",), 1)) == text_key(Example("b", ("A dog ran.",), 0))
        True
    """
    return _digest(example).hexdigest()


class Texts(tuple[Example, ...]):
    """Examples that several models are asked about: the names of their texts are worked out once."""

    @cached_property
    def names(self) -> list[bytes]:
        """(N,) see `text_names`."""
        return [_digest(example).digest() for example in self]

    def part(self, places: Sequence[int]) -> Texts:
        """Some of the examples, with their names."""
        some = Texts([self[at] for at in places])
        some.__dict__["names"] = [self.names[at] for at in places]
        return some


def text_names(examples: Iterable[Example]) -> list[bytes]:
    """The keys of examples' texts as 32 bytes each, which is what a store finds them by.

    Example:
        >>> example = Example("a", ("A dog ran.",), 1)
        >>> text_names([example])[0].hex() == text_key(example)
        True
    """
    return (examples if isinstance(examples, Texts) else Texts(examples)).names


def _digest(example: Example) -> hashlib._Hash:
    # canonical JSON of {"schema": ..., "segments": [...]}, as `records.digest` writes it, five times as fast
    segments = ", ".join(map(encode_basestring_ascii, example.segments))
    return hashlib.sha256(f'{{"schema": {TEXT}, "segments": [{segments}]}}'.encode())


def fingerprint(examples: Iterable[Example], task: Task) -> str:
    """A SHA-256 over the rows' ids, texts and targets; marks, which no accuracy depends on, are left out.

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
