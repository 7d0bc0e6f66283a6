"""`Choice`: which rows of a pool to label next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from factors import Example
from ranker.numbers import counted
from ranker.results.result import Result, listed


@dataclass(frozen=True, repr=False)
class Choice(Result):
    """Rows to label next.

    Attributes:
        rows: the most useful first.
        failures: model -> why it could not be asked.

    Example:
        >>> from factors import Example
        >>> Choice((Example("r7", ("It rang twice.",), 0),)).to_rows()
        [{'id': 'r7', 'text': 'It rang twice.'}]
    """

    index: ClassVar[tuple[str, ...]] = ()

    rows: tuple[Example, ...]
    failures: Mapping[str, str] = field(default_factory=dict)

    @property
    def answer(self) -> str:
        """The ids of the rows, and which models had no say."""
        failed = f"\nfailed: {listed(list(self.failures))}" if self.failures else ""
        return f"label {counted(len(self.rows), 'row')} next: {listed([row.id for row in self.rows])}{failed}"

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each, the most useful first, as `ranker.labelled` reads them once they have a `label`."""
        return [{"id": row.id, **_texts(row)} for row in self.rows]

    def in_words(self) -> list[dict[str, str]]:
        """The same: all of it is text."""
        return [{"id": row.id, **_texts(row)} for row in self.rows]


def _texts(row: Example) -> dict[str, str]:
    names = ("text",) if len(row.segments) == 1 else ("text1", "text2")
    return dict(zip(names, row.segments, strict=True))
