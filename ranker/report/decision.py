"""The tables of a decision: the order of the models, every two of them, and the labelled rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ranker.numbers import counted, interval, p_value, probability, unit
from ranker.report.tables import READ, Place, Table, letters, table
from ranker.report.words import ACCURACY, MOST_LABELS, MetricWords, words_of
from ranker.results.decision import Decision, RowResult
from ranker.results.ranking import Ranking

MATRIX = 10
"""The most models whose pairs a terminal shows."""

LISTED = 200
"""The most rows that are listed; the JSON has all."""

LONGEST = 24
"""Characters of a row's id that are shown: of a hash, more than enough."""

FEW = 20
"""The most labelled rows, or pairs of models, that a page shows without being asked for."""

UNSAID = (
    "?: how many is not known: the two were right on the same rows, or each as often where the other was not; with a "
    "pool: labels and pool put them level, or nearly so, or the pool has too few rows."
)
"""What a question mark stands for."""


def _unsaid(decision: Decision) -> str:
    """What a question mark stands for."""
    return f"?: that is said of means, and {decision.metric} is none." if decision.metric else UNSAID


def tables(ranking: Ranking, found: Decision) -> Iterator[Table]:
    """All of them, each for the formats that have it."""
    two, same = decided(found), versus(found)
    open_ = any(more is None for row in found.more_labels for more in row)
    yield order(found, words_of(ranking))
    yield matrix(found)
    yield replace(two, formats=("pairs",), help=_unsaid(found) if open_ else "")
    if found.versus:
        yield same
        yield replace(same, formats=("pairs",), help="Every two models on the same rows")
        if len(found.models) == 2:
            yield flips(ranking)
    if any(row.predicted for row in found.rows):
        yield by_label(found)
        if len(found.rows) <= LISTED:
            yield one_by_one(found)
    yield two


def order(decision: Decision, of: MetricWords) -> Table:
    """The models in the predicted order; models that share a letter cannot be told apart."""
    rows = []
    for model in decision.models:
        score = model.score
        rows.append(
            [
                *(
                    str(model.rank),
                    model.name,
                    letters(model.name, decision.groups),
                    "" if score is None else f"{score:.3g}",
                ),
                *(of.unit.value(model.outcome), interval(model.low, model.high, of.unit.value)),
                probability(model.p_near_best),
            ]
        )
    numbers = [decision.method, of.column, "95 % interval", "P(near best)"]
    shown = of.over if decision.metric else "right: percent of the rows"
    about = of.what if decision.metric else ACCURACY.what
    return table(
        *("Order", ["rank", "model", "tied"], numbers, rows),
        help=f"Models that share a letter cannot be told apart. {shown}; the interval, and P(near best), the "
        f"probability that no other model is better by more than {of.unit.point}, are about {about} in the domain.",
    )


def matrix(decision: Decision) -> Table:
    """P(the model of the row is more accurate than that of the column)."""
    rows = [
        [f"{i + 1} {name}", *("" if i == j else probability(p) for j, p in enumerate(decision.p_beats[i]))]
        for i, name in enumerate(decision.names)
    ]
    numbers = [str(i + 1) for i in range(len(decision.models))]
    better = f"better by {decision.metric}" if decision.metric else "more accurate"
    return table(
        *("How sure is the order of two models?", ["P(row > column)"], numbers, rows),
        help=f"Percent probability that the model of the row is {better} in the domain than that of the column; "
        "50 is no idea.",
        formats=READ if len(rows) <= MATRIX else tuple(name for name in READ if name != "table"),
        heat=1,
    )


def versus(decision: Decision) -> Table:
    """Every two models on the labelled rows: the difference, how sure it is, and on how many rows each did better."""
    of = unit(decision.metric)
    shown = [
        (one.a, one.b, of.difference(one.difference), interval(one.low, one.high, of.difference), f"{one.better:,}",
         f"{one.worse:,}", p_value(one.p), p_value(one.p_corrected))
        for one in decision.versus
    ]  # fmt: skip
    what = f"{decision.metric} on the same rows" if decision.metric else "mean outcomes on the same rows, in points"
    numbers = ["difference", "95 % interval", "first better", "second better", "p", "p, Holm"]
    return table(
        *("On the same rows", ["first", "second"], numbers, shown),
        help=f"The difference of {what}, and its interval; on how many rows each "
        "did better; p of a test that both do equally well, by itself and corrected for the number of pairs.",
        formats=("html",),
        place=_place(shown),
    )


def _place(shown: Sequence[object]) -> Place:
    return "folded" if len(shown) > FEW else "main"


def decided(decision: Decision) -> Table:
    """How sure the order of two models is, the one that is ranked better first."""
    shown = []
    for i, a in enumerate(decision.names):
        for j, b in enumerate(decision.names[i + 1 :], i + 1):
            more = decision.more_labels[i][j]
            shown.append((a, b, probability(decision.p_beats[i][j]), few(more)))
    return table(
        *("Two by two", ["better", "worse"], ["P(better > worse)", "more labels"], shown),
        help=f"more labels: how many would tell the two apart. {_unsaid(decision)}",
        formats=("html",),
        place="folded",
    )


def few(more: int | None) -> str:
    """A number of labels that would tell two models apart, in a cell.

    Example:
        >>> few(None), few(40), few(40_057)
        ('?', '40', '>1,000')
    """
    return "?" if more is None else f">{MOST_LABELS:,}" if more > MOST_LABELS else f"{more:,}"


def one_by_one(found: Decision) -> Table:
    """Each row's true label, and the models that predict another, the first of the order first."""
    names, listed = found.names, []
    for row in found.rows:
        wrong = [f"{name} ({row.predicted[name]})" for name in names if row.predicted[name] != row.label]
        listed.append((row.id, row.label, ", ".join(wrong)))
    return table(
        *("Labelled rows", ["row", "true label", "wrong"], [], listed),
        help="wrong: the models that predict another label than the true one, and which; empty: all are right.",
        formats=("markdown", "html", "pairs"),
        place=_place(listed),
    )


def flips(ranking: Ranking) -> Table:
    """The rows on which two models differ: those first on which the one that was named last does worse.

    Each with what was asked, the true label, what each model said, and how good that was, as far as they are known.
    """
    of, known = ranking.table, {row.id: row for row in ranking.decision.rows}
    lead = of.outcomes[1] - of.outcomes[0]
    differing = [n for n in range(len(of.examples)) if abs(lead[n]) > 0]  # nan is not
    listed = sorted(differing, key=lambda n: (lead[n] > 0, n))[:LISTED]
    texts = any(known[of.examples[n]].text for n in listed if of.examples[n] in known)
    labels = any(row.predicted for row in known.values())
    shown = []
    for n in listed:
        row = known.get(of.examples[n], RowResult(of.examples[n], "", {}))
        outcomes = [f"{of.outcomes[m][n]:.3g}" for m in (0, 1)]
        said = [f"{row.predicted[of.models[m]]} ({outcomes[m]})" if row.predicted else outcomes[m] for m in (0, 1)]
        cells = [*([row.text] if texts else []), *([row.label] if labels else [])]
        shown.append(
            (
                row.id if len(row.id) <= LONGEST else f"{row.id[:LONGEST]}…",
                "worse" if lead[n] < 0 else "better",
                *said,
                *cells,
            )
        )
    columns = [*(["text"] if texts else []), *(["true label"] if labels else [])]
    return table(
        *("Rows on which the two differ", ["row", f"{of.models[1]} does", *of.models[:2], *columns], [], shown),
        help="Rows on which the second model named does worse than the first come first.",
        formats=("html",),
    )


def by_label(found: Decision) -> Table:
    """On how many rows of each true label a model is right."""
    labels = [row.label for row in found.rows]
    known = list(dict.fromkeys(labels))
    counts = []
    for model in found.models:
        right = [row.label for row in found.rows if row.predicted[model.name] == row.label]
        counts.append((model.name, *(str(right.count(label)) for label in known)))
    numbers = [f"{label}, {counted(labels.count(label), 'row')}" for label in known]
    return table(
        *("Right, by true label", ["model"], numbers, counts),
        help="On how many rows of each true label a model is right.",
        formats=("markdown", "html", "pairs"),
        place=_place(counts),
    )
