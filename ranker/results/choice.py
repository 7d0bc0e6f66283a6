"""`Choice`: which rows of a pool to label next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from factors import Example
from ranker.numbers import counted
from ranker.results.result import Result, listed

LONELY = 0.8
"""A label that is predicted so often on chosen rows may be the only one that they have."""

ONE_LABEL = "; if all of them turn out to have one label, label some more: a model that always says it looks perfect"


@dataclass(frozen=True, repr=False)
class Choice(Result):
    """Rows to label next.

    Attributes:
        rows: the most useful first.
        failures: model -> why it could not be asked.
        predicted: label -> its share in what all models predict on all these rows, a fraction, in the task's order. It
            is told of the rows together: whoever labels a row is not to know what models say of it.

    Example:
        >>> from factors import Example
        >>> Choice((Example("r7", ("It rang twice.",), 0),)).to_rows()
        [{'id': 'r7', 'text': 'It rang twice.'}]
    """

    index: ClassVar[tuple[str, ...]] = ()

    rows: tuple[Example, ...]
    failures: Mapping[str, str] = field(default_factory=dict)
    predicted: Mapping[str, float] = field(default_factory=dict)

    @property
    def answer(self) -> str:
        """The ids of the rows, and which models had no say."""
        failed = f"\nfailed: {listed(list(self.failures))}" if self.failures else ""
        return f"label {counted(len(self.rows), 'row')} next: {listed([row.id for row in self.rows])}{failed}"

    @property
    def balance(self) -> str:
        """How often each label is predicted on these rows, in a sentence, the most frequent first.

        Example:
            >>> print(Choice((), predicted={"bad": 0.3, "good": 0.7}).balance)
            on these rows together the models predict good 70 %, bad 30 % of the time
        """
        shares = sorted(self.predicted.items(), key=lambda one: -one[1])
        said = ", ".join(f"{label} {100 * share:.0f} %" for label, share in shares)
        lonely = bool(shares) and shares[0][1] >= LONELY
        return f"on these rows together the models predict {said} of the time{ONE_LABEL if lonely else ''}"

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each, the most useful first, as `ranker.labelled` reads them once they have a `label`."""
        return [{"id": row.id, **_texts(row)} for row in self.rows]

    def in_words(self) -> list[dict[str, str]]:
        """The same: all of it is text."""
        return [{"id": row.id, **_texts(row)} for row in self.rows]


def _texts(row: Example) -> dict[str, str]:
    names = ("text",) if len(row.segments) == 1 else ("text1", "text2")
    return dict(zip(names, row.segments, strict=True))
