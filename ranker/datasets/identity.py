"""What identifies a text, and what identifies a set of labelled rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from factors.types import Example
from ranker.records import digest
from ranker.tasks.classes import Task

TEXT = 1
"""Of the way in which texts are named. LIME's seeds are made of these names: another number is other samples."""


def text_key(example: Example) -> str:
    """What identifies an example's text: neither its id nor its label changes what a model makes of it.

    Example:
        >>> text_key(Example("a", ("A dog ran.",), 1)) == text_key(Example("b", ("A dog ran.",), 0))
        True
    """
    return digest({"schema": TEXT, "segments": list(example.segments)})


def fingerprint(examples: Iterable[Example], task: Task) -> str:
    """A SHA-256 over the rows' ids, texts and labels by name; marks, which no accuracy depends on, are left out.

    Example:
        >>> task = Task("nli", ("non-entailment", "entailment"))
        >>> fingerprint([Example("a", ("A dog ran.", "A dog ran."), 1)], task)[:8]
        '...'
    """
    digest = hashlib.sha256()
    for example in examples:
        row = [example.id, *example.segments, task.labels[example.label]]
        digest.update(json.dumps(row).encode() + b"\n")
    return digest.hexdigest()
