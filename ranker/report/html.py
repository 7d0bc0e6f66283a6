"""The report to look at: one HTML file that needs nothing else, the answer first.

`template.html` says how it looks. The page's own policy lets nothing run but its one script, and nothing be loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from ranker.numbers import counted
from ranker.report.document import Document
from ranker.report.explain import sheet
from ranker.report.pages import page
from ranker.results.explanation import Explanation


def write(document: Document) -> str:
    """A page of its own, with the figures beside the tables."""
    figures = []
    for one in document.drawn():
        from ranker.report.figures import inline  # it needs matplotlib, which tables alone do not

        figures.append((one, inline(one)))
    tables = document.shown("html")
    main, end, folded = ([one for one in tables if one.place == place] for place in ("main", "end", "folded"))
    return page(
        "template.html",
        document=document,
        sections=zip_longest(main, figures),
        at_end=end,
        folded=folded,
        **_examples(document.examples),
    )


def _examples(found: Sequence[Explanation]) -> dict[str, Any]:
    """What models see in some rows, and one key to the colours of all."""
    examples = list(map(sheet, found))
    reads = next((example.reads for example in examples if example.reads), "")
    return {
        "examples": examples,
        "telling": f"{counted(len(examples), 'example')} on which the most pairs of models disagree"
        f"{f', of those with words that {reads} reads' if reads else ''}.",
        "key": replace(examples[0], reads=reads, marked=any(one.marked for one in examples)) if examples else None,
    }
