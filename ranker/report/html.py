"""The report as one self-contained HTML file, the answer first.

`template.html` sets the layout. The page's content policy allows only its own script and loads nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from ranker.numbers import counted
from ranker.report.decision import judged_answer
from ranker.report.document import Document
from ranker.report.explain import sheet
from ranker.report.pages import page
from ranker.report.tables import Table, table
from ranker.results.explanation import Explanation

MAX_SHOWN_MODELS = 12
"""Models whose words are shown on an example, at most: the first of the order."""


def write(document: Document) -> str:
    """Render a page, with the figures beside the tables."""
    figures = []
    for drawing in document.drawn():
        from ranker.report.figures import inline  # it needs matplotlib, which tables alone do not

        figures.append((drawing, inline(drawing)))
    tables = document.tables_for("html")
    main, end, folded = ([table for table in tables if table.place == place] for place in ("main", "end", "folded"))
    return page(
        "template.html",
        document=document,
        sections=zip_longest(main, figures),
        at_end=end,
        folded=folded,
        **_examples(document.examples),
    )


def _examples(explanations: Sequence[Explanation]) -> dict[str, Any]:
    """Prepare the explanations of some rows, with one key to the colours of all."""
    count = max((len(explanation.readings) for explanation in explanations), default=0)
    first = f" The first {MAX_SHOWN_MODELS} of {count:,} models." if count > MAX_SHOWN_MODELS else ""
    examples = [
        sheet(replace(explanation, readings=explanation.readings[:MAX_SHOWN_MODELS])) for explanation in explanations
    ]
    marked = any(example.marked for example in examples)
    reads = next((example.reads for example in examples if example.reads), "")
    return {
        "examples": examples,
        "telling": f"{counted(len(examples), 'example')} on which the most pairs of models disagree"
        f"{f', among those with words that {reads} reads' if reads else ''}.{first}",
        "key": replace(examples[0], reads=reads, marked=marked) if examples else None,
        "predictions": _predictions(explanations),
    }


def _predictions(explanations: Sequence[Explanation]) -> Table:
    """Tabulate what models predict for examples, where no word has a score."""
    names = list(dict.fromkeys(reading.name for example in explanations for reading in example.readings))[
        :MAX_SHOWN_MODELS
    ]
    rows = []
    for example in explanations:
        predicted = {reading.name: reading.predicted for reading in example.readings}
        answers = (
            judged_answer(predicted[name], predicted[name] == example.label, is_right=True)
            if example.label is not None and name in predicted
            else predicted.get(name, "")
            for name in names
        )
        rows.append((example.example.id, " / ".join(example.example.segments), example.label or "", *answers))
    return table("Predictions", ["row", "text", "true label", *names], [], rows)
