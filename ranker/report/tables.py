"""The tables of a report as plain text, before any format: models and methods; in a decision, the order of the models.

Every format takes its numbers from here, so that they agree to the last digit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import ascii_letters

from ranker.numbers import interval, percent, points, probability
from ranker.report.words import words
from ranker.results.decision import Decision
from ranker.results.evaluation import Evaluation
from ranker.results.ranking import Ranking


@dataclass(frozen=True)
class Table:
    """A table as plain text.

    Attributes:
        caption: what it shows, a few words.
        head: (columns,) names of the columns.
        numeric: (columns,) the column holds numbers.
        rows: a cell for each column.
        sections: how many rows belong together, and how many of the next, where they are set apart.
    """

    caption: str
    head: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    sections: tuple[int, ...] = ()

    def of(self, columns: Sequence[int]) -> Table:
        """Some of its columns."""
        head, *rows = (tuple(row[n] for n in columns) for row in (self.head, *self.rows))
        return Table(self.caption, head, tuple(self.numeric[n] for n in columns), tuple(rows), self.sections)


def table(
    caption: str,
    texts: Sequence[str],
    numbers: Sequence[str],
    rows: Iterable[Iterable[str]],
    last: Sequence[str] = (),
    sections: Iterable[int] = (),
) -> Table:
    """A table whose columns of texts stand before its columns of numbers, or last.

    Args:
        caption: what it shows, a few words.
        texts, numbers, last: names of the columns, in this order.
        rows: a cell for each column.
        sections: see `Table`.

    Example:
        >>> table("methods", ["method"], ["accuracy"], [("ACC", "90.0")]).numeric
        (False, True)
    """
    numeric = (*(False for _ in texts), *(True for _ in numbers), *(False for _ in last))
    return Table(caption, (*texts, *numbers, *last), numeric, tuple(map(tuple, rows)), tuple(sections))


def tables(ranking: Ranking) -> list[Table]:
    """Models and methods; in a decision, the order of the models and how sure it is."""
    found, metric = ranking.found, ranking.header.metric
    if isinstance(found, Evaluation):
        return [models(found, metric), methods(found, metric, over_models=True)]
    return [order(found, metric), matrix(found)]


def models(found: Evaluation, metric: str) -> Table:
    """The models by their true rank."""
    known = ["misled"] if any(model.misled is not None for model in found.models) else []
    rows = [
        [
            *(str(model.rank), model.name, model.family),
            *(percent(model.in_domain), percent(model.outcome)),
            *(percent(model.misled) for _ in known),
        ]
        for model in found.models
    ]
    outcome = words(metric).what
    return table("Models", ["rank", "model", "family"], [f"in-domain {outcome}", f"OOD {outcome}", *known], rows)


def methods(found: Evaluation, metric: str, over_models: bool = False) -> Table:
    """Each method's pairwise accuracy, the best first within its kind.

    Args:
        found: the evaluation.
        metric: what an outcome is.
        over_models: the interval over models, too, if there is any, and the standard error that few draws leave.
    """
    known = over_models and any(method.models_low is not None for method in found.methods)
    more = ["95 % interval over models"] if known else []
    drawn = ["standard error of draws"] if over_models and any(method.draws for method in found.methods) else []
    kinds = Counter(method.kind for method in found.methods)
    place = list(kinds).index
    rows = [
        [
            *(method.name + (" *" if method.designed else ""), method.kind),
            *(percent(method.pairwise_accuracy), interval(method.ci_low, method.ci_high)),
            *(points(method.difference), interval(method.difference_low, method.difference_high, points)),
            *("" if method.draws_error is None else percent(method.draws_error) for _ in drawn),
            *(interval(method.models_low, method.models_high) for _ in more),
        ]
        for method in sorted(found.methods, key=lambda method: (place(method.kind), -method.pairwise_accuracy))
    ]
    numbers = ["pairwise accuracy", "95 % interval", f"minus {metric}", "95 % interval", *drawn, *more]
    return table("Methods", ["method", "kind"], numbers, rows, sections=kinds.values())


def order(decision: Decision, metric: str) -> Table:
    """The models in the predicted order; models that share a letter cannot be told apart."""
    rows = []
    for model in decision.models:
        letters = [letter for letter, group in zip(ascii_letters, decision.groups, strict=False) if model.name in group]
        score = model.score
        rows.append(
            [
                *(str(model.rank), model.name, "".join(letters), "" if score is None else f"{score:.3g}"),
                *(percent(model.outcome), interval(model.low, model.high)),
                probability(model.p_near_best),
            ]
        )
    numbers = [decision.method, words(metric).column, "95 % interval", "P(near best)"]
    return table("Order", ["rank", "model", "tied"], numbers, rows)


def matrix(decision: Decision) -> Table:
    """P(the model of the row is more accurate than that of the column)."""
    rows = [
        [f"{i + 1} {name}", *("" if i == j else probability(p) for j, p in enumerate(decision.p_beats[i]))]
        for i, name in enumerate(decision.names)
    ]
    numbers = [str(i + 1) for i in range(len(decision.models))]
    return table("How sure is the order of two models?", ["P(row > column)"], numbers, rows)
