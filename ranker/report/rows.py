"""The labelled rows of a decision: who is wrong on which, and how often on rows of which label."""

from __future__ import annotations

from collections.abc import Iterator

from ranker.numbers import counted
from ranker.report.tables import Table, table
from ranker.results.decision import Decision, RowResult
from ranker.results.ranking import Ranking

LISTED = 200
"""The most rows that are listed; the JSON has all."""

COUNTED = "Right, by true label"
LISTS = "Labelled rows"
HELP = {
    COUNTED: "On how many rows of each true label a model is right.",
    LISTS: "wrong: the models that predict another label than the true one, and which; empty: all are right.",
}
"""Caption -> what is shown."""


def tables(found: Decision) -> Iterator[Table]:
    """The rows counted by label and, where they are not too many, one by one; nothing where they are not known."""
    if not any(row.predicted for row in found.rows):
        return
    yield by_label(found)
    if len(found.rows) <= LISTED:
        yield one_by_one(found)


def one_by_one(found: Decision) -> Table:
    """Each row's true label, and the models that predict another, the first of the order first."""
    names, listed = found.names, []
    for row in found.rows:
        wrong = [f"{name} ({row.predicted[name]})" for name in names if row.predicted[name] != row.label]
        listed.append((row.id, row.label, ", ".join(wrong)))
    return table(LISTS, ["row", "true label", "wrong"], [], listed)


LONGEST = 24
"""Characters of a row's id that are shown: of a hash, more than enough."""


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}…"


FLIPPED = "Rows on which the second model named does worse than the first come first."


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
        shown.append((_short(row.id), "worse" if lead[n] < 0 else "better", *said, *cells))
    columns = [*(["text"] if texts else []), *(["true label"] if labels else [])]
    return table("Rows on which the two differ", ["row", f"{of.models[1]} does", *of.models[:2], *columns], [], shown)


def by_label(found: Decision) -> Table:
    """On how many rows of each true label a model is right."""
    labels = [row.label for row in found.rows]
    known = list(dict.fromkeys(labels))
    counts = []
    for model in found.models:
        right = [row.label for row in found.rows if row.predicted[model.name] == row.label]
        counts.append((model.name, *(str(right.count(label)) for label in known)))
    numbers = [f"{label}, {counted(labels.count(label), 'row')}" for label in known]
    return table(COUNTED, ["model"], numbers, counts)
