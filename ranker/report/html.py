"""The report to look at: one HTML file that needs nothing else, the answer first.

What is shown is worked out here; `template.html` says how it looks. The page's own policy lets nothing run but its one
script, and nothing be loaded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from ranker.numbers import counted
from ranker.report import figures, pairs, rows, tables
from ranker.report.answer import answer
from ranker.report.explain import sheet
from ranker.report.figures import Drawing
from ranker.report.pages import page
from ranker.report.remarks import remarks
from ranker.report.tables import Table, table
from ranker.results.decision import Decision
from ranker.results.evaluation import Evaluation
from ranker.results.ranking import Ranking

FIGURES = (figures.learning_curve, figures.distribution, figures.against_acc, figures.intervals)
"""What the page shows as drawings; pairs by method and model by model are tables of it."""

PAPER = (
    "Singhal, Forristal, Ye and Durrett (2022), Assessing Out-of-Domain Language Model Performance from Few Examples"
)

FEW = 20
"""The most labelled rows, or models, that are shown without being asked for."""


@dataclass(frozen=True)
class Shown:
    """A part of the page: a table or a drawing.

    Attributes:
        table: as plain text.
        drawing: the drawing.
        heat: cells from this column on are fractions that are coloured; None: none are.
        help: what its numbers are, a sentence or two.
        folded: it is shown on demand.
    """

    table: Table | None = None
    drawing: Drawing | None = None
    heat: int | None = None
    help: str = ""
    folded: bool = False

    @property
    def title(self) -> str:
        """What it shows."""
        return self.drawing.title if self.drawing else self.table.caption if self.table else ""

    @property
    def svg(self) -> str:
        """The drawing, as it stands in a page."""
        return figures.inline(self.drawing) if self.drawing else ""


def render(ranking: Ranking) -> str:
    """The ranking as one HTML page."""
    found = ranking.found
    lead, said = answer(ranking)
    drawn = [Shown(drawing=drawing, help=drawing.help) for drawing in figures.drawings(ranking, FIGURES)]
    tabled = list(
        _evaluation_tables(ranking, found) if isinstance(found, Evaluation) else _decision_tables(ranking, found)
    )
    parts = [part for pair in zip_longest(tabled, drawn) for part in pair if part is not None]
    examples = list(map(sheet, ranking.examples))
    reads = next((example.reads for example in examples if example.reads), "")
    return page(
        "template.html",
        title=ranking.title,
        lead=lead,
        answer=said,
        parts=[part for part in parts if not part.folded],
        folded=[part for part in parts if part.folded],
        examples=examples,
        telling=f"{counted(len(examples), 'example')} on which the most pairs of models disagree"
        f"{f', of those with words that {reads} reads' if reads else ''}.",
        key=replace(examples[0], reads=reads, marked=any(one.marked for one in examples)) if examples else None,
        at_end=list(_losses(ranking)),
        remarks=remarks(ranking),
        command=ranking.header.provenance.command,
        provenance=_provenance(ranking),
        citation=citation(ranking),
    )


# ---- tables


def _evaluation_tables(ranking: Ranking, found: Evaluation) -> Iterator[Shown]:
    metric = ranking.header.metric
    yield Shown(
        tables.methods(found, metric, over_models=True),
        help="Percent of draws in which two models are put in their true order; minus ACC: percentage points. The "
        "intervals are over other samples of examples; over models: over other models of this kind.",
    )
    yield Shown(
        tables.models(found, metric),
        help="Percent right, where the models were trained (in-domain) and on the whole of the new domain (OOD). "
        "misled: percent of the examples on which the shortcut is wrong where a model gives its label.",
    )
    yield Shown(
        pairs.accuracies(found),
        heat=3,
        help="Percent of draws in which the truly better model is put first; 50 is guessing. gap: between their OOD "
        "accuracies, in points.",
    )
    if any(method.splits for method in found.methods):
        yield Shown(
            pairs.splits(found),
            help=f"{pairs.kinds(found, metric)}.",
        )
    if any(method.curve for method in found.methods):
        yield Shown(pairs.curves(found), help="A column a K.", folded=True)


def _decision_tables(ranking: Ranking, found: Decision) -> Iterator[Shown]:
    yield Shown(
        tables.order(found, ranking.header.metric),
        help="Models that share a letter cannot be told apart. right: percent of the rows; the interval, and "
        "P(near best), the probability that no other model is better by more than a point, are about accuracy in the "
        "domain.",
    )
    yield Shown(
        tables.matrix(found),
        heat=1,
        help="Percent probability that the model of the row is more accurate in the domain than that of the column; "
        "50 is no idea.",
    )
    if found.versus:
        yield Shown(
            pairs.versus(found),
            help="The difference of mean outcomes on the same rows, in points, and its interval; on how many rows each "
            "did better; p of a test that both do equally well, by itself and corrected for the number of pairs.",
            folded=len(found.versus) > FEW,
        )
        if len(found.models) == 2:
            yield Shown(rows.flips(ranking), help=rows.FLIPPED, folded=False)
    for shown in rows.tables(found):
        yield Shown(shown, help=rows.HELP[shown.caption], folded=len(shown.rows) > FEW)
    yield Shown(
        pairs.decided(found),
        help=f"more labels: how many would tell the two apart. {pairs.UNSAID}",
        folded=True,
    )


# ---- what the numbers rest on


def _losses(ranking: Ranking) -> Iterator[Shown]:
    """How good the attributions are, and what is not in the numbers."""
    measured = any(found.error_median is not None for found in ranking.header.quality.values())
    if measured:
        tolerance = ranking.header.provenance.settings.get("tolerance")
        yield Shown(
            quality(ranking),
            help=f"Error: {ranking.header.provenance.error or 'not said'}. Tolerance: {tolerance}.",
        )
    dropped = [
        (method.name, f"{count}", reason)
        for method in ranking.table.methods
        for reason, count in ranking.table.dropped.get(method.name, {}).items()
    ]
    left_out = [(name, "all", reason) for name, reason in ranking.header.left_out.items()]
    if dropped or left_out:
        yield Shown(
            table("What was left out", ["method", "examples", "reason"], [], [*dropped, *left_out]),
            help="An example that a method cannot be computed on for one model is left out of it for all; a method "
            "that cannot apply is left out as a whole.",
        )


def quality(ranking: Ranking) -> Table:
    """The backend's own measure of error for each model, and how many of its rows are not as they should be."""
    shown = []
    for model, found in ranking.header.quality.items():
        errors = ("" if error is None else f"{error:.2g}" for error in (found.error_median, found.error_high))
        shown.append((model, *errors, f"{found.over_tolerance}", f"{found.truncated}"))
    numbers = ["median error", "95 % are below", "over tolerance", "cut at its limit"]
    return table("Attribution quality", ["model"], numbers, shown)


def citation(ranking: Ranking) -> str:
    """The program, in the version that made the run, and the paper that its method is from."""
    version = ranking.header.provenance.versions.get("rank-models")
    return f"{' '.join(filter(None, ('rank-models', version)))}; the method: {PAPER}."


def _provenance(ranking: Ranking) -> str:
    of = {key: getattr(ranking.header, key) for key in ("suite", "ood", "metric", "attribution", "probe", "seed")}
    draws = {"draws": ranking.found.draws} if isinstance(ranking.found, Evaluation) else {}
    found = replace(ranking.header.provenance, command=None)
    return json.dumps({"mode": ranking.mode} | of | draws | found.to_dict(), indent=2, ensure_ascii=False)
