"""A result before any format: an answer, tables, figures and remarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ranker.report.tables import Table

if TYPE_CHECKING:
    from ranker.report.figures import Drawing
    from ranker.results.explanation import Explanation


@dataclass(frozen=True)
class Origin:
    """Provenance of the numbers on a page.

    Attributes:
        command: the shell command; None for a run from Python.
        settings: settings, versions and fingerprints, as JSON.
    """

    command: str | None
    settings: str
    citation: str


CheckState = Literal["passed", "allowed", "failed", "error", "skipped"]


@dataclass(frozen=True)
class Check:
    """Check for CI, as a test that passes or fails.

    Attributes:
        group: the task; "" for none.
        name: what has to hold, in the same words in every run.
        state: "allowed" fails, and is let pass; "error" could not be checked; "skipped" was not.
        text: the reason.
        details: lines below it, such as the rows that decided it.
    """

    group: str
    name: str
    state: CheckState
    text: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """A title, an answer, tables and remarks, before any format.

    Attributes:
        tables: from top to bottom; each names the formats that show it.
        remarks: remarks for a reader of the tables, a sentence each.
        rows: rows of the tidy CSV table, all with the same columns; numbers as raw fractions.
        content: returns everything, as JSON values.
        lists: returns further columns of a list for each row, for formats that hold lists.
        lead: the answer in a few words; "" without one.
        answer: paragraphs before the tables.
        heading: the title in words that need no explanation, for a page; "" for the title.
        first: paragraphs of a page's first screen, which then has the answer's among its notes; () for the answer's.
        drawn: draws the figures of a page.
        verdict: the verdict of a check for CI, before all else; "" without one.
        checks: what was checked, and what could not be.
    """

    title: str
    tables: Sequence[Table]
    remarks: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    content: Callable[[], Mapping[str, Any]]
    lead: str = ""
    answer: Sequence[str] = ()
    heading: str = ""
    first: Sequence[str] = ()
    drawn: Callable[[], Sequence[Drawing]] = tuple
    examples: Sequence[Explanation] = ()
    lists: Callable[[], Mapping[str, Sequence[Sequence[Any]]]] = dict
    origin: Origin | None = None
    verdict: str = ""
    checks: Sequence[Check] = ()

    @property
    def paragraphs(self) -> list[str]:
        """The paragraphs before the tables: the lead, and the rest of the answer."""
        return [*filter(None, (self.lead, *self.answer))]

    def tables_for(self, name: str) -> list[Table]:
        """Return the tables of a format."""
        return [shown_table for shown_table in self.tables if name in shown_table.formats]
