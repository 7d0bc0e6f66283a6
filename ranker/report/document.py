"""A result as a reader gets it, before any format: an answer, tables, figures and remarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ranker.report.tables import Table

if TYPE_CHECKING:
    from ranker.report.figures import Drawing
    from ranker.results.explanation import Explanation


@dataclass(frozen=True)
class Origin:
    """What a page says of how its numbers were made.

    Attributes:
        command: what a shell takes; None of a run from Python.
        settings: settings, versions and fingerprints, as JSON.
        citation: what to cite.
    """

    command: str | None
    settings: str
    citation: str


@dataclass(frozen=True)
class Document:
    """A title, an answer, tables and remarks, before any format.

    Attributes:
        title: in a line.
        tables: from top to bottom; each says which formats have it.
        remarks: what a reader of the tables has to know, a sentence each.
        rows: of the one tidy table that CSV is, all with the same columns; numbers as raw fractions.
        content: all of it, as JSON knows it.
        lead: the answer in a few words; "" where there is none.
        answer: paragraphs that stand before the tables.
        drawn: draws the figures that a page has room for.
        examples: what models see in some of the rows; a page shows them.
        origin: how the numbers were made; None where they are of several runs, or of none.
    """

    title: str
    tables: Sequence[Table]
    remarks: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    content: Mapping[str, Any]
    lead: str = ""
    answer: Sequence[str] = ()
    drawn: Callable[[], Sequence[Drawing]] = tuple
    examples: Sequence[Explanation] = ()
    origin: Origin | None = None

    @property
    def paragraphs(self) -> list[str]:
        """What stands before the tables: the lead, and the rest of the answer."""
        return [*filter(None, (self.lead, *self.answer))]

    def shown(self, name: str) -> list[Table]:
        """The tables of a format."""
        return [one for one in self.tables if name in one.formats]
