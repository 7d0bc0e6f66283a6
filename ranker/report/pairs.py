"""Every pair of models: with every method in an evaluation, with its probability in a decision, and there every row.

Wide plain text.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from ranker.numbers import interval, p_value, percent, points, probability
from ranker.report import rows
from ranker.report.tables import Table, table
from ranker.report.terminal import written
from ranker.report.words import MOST_LABELS, words
from ranker.results.decision import Decision
from ranker.results.evaluation import FOLLOWS, Evaluation
from ranker.results.ranking import Ranking

UNSAID = (
    "?: how many is not known: the two were right on the same rows, or each as often where the other was not; with a "
    "pool: labels and pool put them level, or nearly so, or the pool has too few rows."
)
"""What a question mark stands for."""


def render(ranking: Ranking) -> str:
    """The pairs as plain text; a line is as long as it needs to be."""
    return written(parts(ranking), width=10_000)


def parts(ranking: Ranking) -> Iterator[Table | Text]:
    """The report's tables, from top to bottom."""
    found, metric = ranking.found, ranking.header.metric
    yield Text(ranking.title + "\n")
    if isinstance(found, Decision):
        yield decided(found)
        if any(more is None for row in found.more_labels for more in row):
            yield Text(f"\n{UNSAID}")
        if found.versus:
            yield Text("\nEvery two models on the same rows\n")
            yield versus(found)
        for shown in rows.tables(found):
            yield Text(f"\n{rows.HELP[shown.caption]}\n")
            yield shown
        return
    yield accuracies(found)
    yield Text("\nPairwise accuracy with a probe of K examples\n")
    yield curves(found)
    yield Text(f"\nPairwise accuracy by kind of pair; {kinds(found, metric)}\n")
    yield splits(found)


def accuracies(found: Evaluation) -> Table:
    """How often each method puts two models in their true order, the better one first."""
    names = [method.name for method in found.methods]
    by_pair: dict[tuple[str, str], dict[str, float]] = {}
    gaps = {}
    for pair in found.pairs:
        by_pair.setdefault((pair.a, pair.b), {})[pair.method] = pair.accuracy
        gaps[pair.a, pair.b] = pair.gap
    shown = [
        (a, b, percent(gaps[a, b]), *(percent(one.get(name)) for name in names)) for (a, b), one in by_pair.items()
    ]
    return table("Every pair of models with every method", ["better", "worse"], ["gap", *names], shown)


def curves(found: Evaluation) -> Table:
    """Pairwise accuracy against K."""
    sizes = sorted({size for method in found.methods for size in method.curve})
    shown = [(method.name, *(percent(method.curve.get(size)) for size in sizes)) for method in found.methods]
    return table("Learning curve in numbers", ["method"], [str(size) for size in sizes], shown)


def kinds(found: Evaluation, metric: str) -> str:
    """What makes a pair near, or misled."""
    said = [f"near: OOD {words(metric).whats} less than {percent(found.near)} points apart"]
    if any(model.misled is not None for model in found.models):
        said.append(f"misled: one of the two at least is, on {100 * FOLLOWS:.0f} % of the examples or more")
    return "; ".join(said)


def splits(found: Evaluation) -> Table:
    """Pairwise accuracy over parts of the pairs."""
    named = list(dict.fromkeys(kind for method in found.methods for kind in method.splits))
    shown = []
    for method in found.methods:
        row = [method.pairwise_accuracy, *(method.splits.get(kind) for kind in named)]
        shown.append((method.name, *map(percent, row)))
    return table("By kind of pair", ["method"], ["all", *named], shown)


def versus(decision: Decision) -> Table:
    """Every two models on the labelled rows: the difference, how sure it is, and on how many rows each did better."""
    shown = [
        (one.a, one.b, points(one.difference), interval(one.low, one.high, points), f"{one.better:,}", f"{one.worse:,}",
         p_value(one.p), p_value(one.p_corrected))
        for one in decision.versus
    ]  # fmt: skip
    numbers = ["difference", "95 % interval", "first better", "second better", "p", "p, Holm"]
    return table("On the same rows", ["first", "second"], numbers, shown)


def decided(decision: Decision) -> Table:
    """How sure the order of two models is, the one that is ranked better first."""
    shown = []
    for i, a in enumerate(decision.names):
        for j, b in enumerate(decision.names[i + 1 :], i + 1):
            more = decision.more_labels[i][j]
            shown.append((a, b, probability(decision.p_beats[i][j]), few(more)))
    return table("Two by two", ["better", "worse"], ["P(better > worse)", "more labels"], shown)


def few(more: int | None) -> str:
    """A number of labels that would tell two models apart, in a cell.

    Example:
        >>> few(None), few(40), few(40_057)
        ('?', '40', '>1,000')
    """
    return "?" if more is None else f">{MOST_LABELS:,}" if more > MOST_LABELS else f"{more:,}"
