"""The tables and the remarks as Markdown, for an issue, a wiki or a README."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ranker.report import rows
from ranker.report.answer import answer
from ranker.report.remarks import remarks
from ranker.report.tables import Table, tables
from ranker.results.decision import Decision
from ranker.results.ranking import Ranking


def render(ranking: Ranking) -> str:
    """The ranking as GitHub-flavoured Markdown."""
    lead, sentences = answer(ranking)
    shown = [*tables(ranking), *(rows.tables(ranking.found) if isinstance(ranking.found, Decision) else ())]
    return page(ranking.title, shown, remarks(ranking), [lead, " ".join(sentences)])


def page(heading: str, shown: Iterable[Table], said: Iterable[str], first: Iterable[str] = ()) -> str:
    """A whole page: its heading, paragraphs that come first, tables, and remarks."""
    parts = [f"# {escape(heading)}", *map(escape, first)]
    for one in shown:
        parts += [f"## {escape(one.caption)}", "\n".join(lines(one))]
    parts += ["## Remarks", "\n".join(f"- {escape(remark)}" for remark in said)]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    r"""Text that Markdown shows as it is, in one line.

    Example:
        >>> print(escape("a|b *c*"), escape("- no item"))
        a\|b \*c\* \- no item
    """
    text = re.sub(r"([\\`*_{}\[\]<>#|&~$])", r"\\\1", " ".join(text.split()))
    return re.sub(r"^(\d*)([-+.)=])(?!\d)", r"\1\\\2", text)  # no list, no line across


def lines(shown: Table) -> Iterator[str]:
    """The lines of a table; its caption is none of them."""
    yield _line([escape(name) for name in shown.head])
    yield _line(["---:" if number else ":---" for number in shown.numeric])
    for row in shown.rows:
        yield _line([escape(cell) for cell in row])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
