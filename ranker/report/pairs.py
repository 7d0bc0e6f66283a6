"""Every pair of models: with every method in an evaluation, with its probability in a decision, and there every row.

Wide plain text.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from ranker.numbers import percent, probability
from ranker.report import rows
from ranker.report.answer import title
from ranker.report.tables import Table, table
from ranker.report.terminal import written
from ranker.results.ranking import Ranking
from ranker.results.records import FOLLOWS, Decision

UNSAID = (
    "?: how many cannot be said: the two were right on the same rows, or each as often where the other was not; with a "
    "pool: labels and pool put them level, or nearly so, or the pool has too few rows."
)
"""What a question mark stands for."""


def render(ranking: Ranking) -> str:
    """The pairs as plain text; a line is as long as it needs to be."""
    return written(parts(ranking), width=10_000)


def parts(ranking: Ranking) -> Iterator[Table | Text]:
    """The report's tables, from top to bottom."""
    yield Text(title(ranking) + "\n")
    if ranking.decision is not None:
        yield decided(ranking.decision)
        if any(pair["more_labels"] is None for pair in ranking.pairs()):
            yield Text(f"\n{UNSAID}")
        for shown in rows.tables(ranking):
            yield Text(f"\n{rows.HELP[shown.caption]}\n")
            yield shown
        return
    yield accuracies(ranking)
    yield Text("\nPairwise accuracy with a probe of K examples\n")
    yield curves(ranking)
    yield Text(f"\nPairwise accuracy by kind of pair; {kinds(ranking)}\n")
    yield splits(ranking)


def accuracies(ranking: Ranking) -> Table:
    """How often each method puts two models in their true order, the better one first."""
    names = [method.name for method in ranking.methods]
    by_pair: dict[tuple[str, str], dict[str, float]] = {}
    gaps = {}
    for pair in ranking.pair_results:
        by_pair.setdefault((pair.a, pair.b), {})[pair.method] = pair.accuracy
        gaps[pair.a, pair.b] = pair.gap
    shown = [
        (a, b, percent(gaps[a, b]), *(percent(found.get(name)) for name in names)) for (a, b), found in by_pair.items()
    ]
    return table("Every pair of models with every method", ["better", "worse"], ["gap", *names], shown)


def curves(ranking: Ranking) -> Table:
    """Pairwise accuracy against K."""
    sizes = sorted({size for method in ranking.methods for size in method.curve})
    shown = [(method.name, *(percent(method.curve.get(size)) for size in sizes)) for method in ranking.methods]
    return table("Learning curve in numbers", ["method"], [str(size) for size in sizes], shown)


def kinds(ranking: Ranking) -> str:
    """What makes a pair near, or misled."""
    said = [f"near: OOD accuracies less than {percent(ranking.near)} points apart"]
    if any(model.misled is not None for model in ranking.models):
        said.append(f"misled: one of the two at least is, on {100 * FOLLOWS:.0f} % of the examples or more")
    return "; ".join(said)


def splits(ranking: Ranking) -> Table:
    """Pairwise accuracy over parts of the pairs."""
    named = list(dict.fromkeys(kind for method in ranking.methods for kind in method.splits))
    shown = []
    for method in ranking.methods:
        row = [method.few_shot_accuracy, *(method.splits.get(kind) for kind in named)]
        shown.append((method.name, *map(percent, row)))
    return table("By kind of pair", ["method"], ["all", *named], shown)


def decided(decision: Decision) -> Table:
    """How sure the order of two models is, the one that is ranked better first."""
    shown = []
    for i, a in enumerate(decision.models):
        for j, b in enumerate(decision.models[i + 1 :], i + 1):
            more = decision.more_labels[i][j]
            shown.append((a, b, probability(decision.p_beats[i][j]), "?" if more is None else f"{more:,}"))
    return table("Two by two", ["better", "worse"], ["P(better > worse)", "more labels"], shown)
