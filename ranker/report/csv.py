"""One tidy CSV table, numbers as raw fractions: a row a method in an evaluation, a row a model in a decision."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ranker.results.decision import Decision
from ranker.results.evaluation import Evaluation
from ranker.results.ranking import Ranking

METHOD_FIELDS = (
    *("name", "kind", "designed", "pairwise_accuracy", "ci_low", "ci_high", "models_low", "models_high"),
    *("difference", "difference_low", "difference_high", "draws", "draws_error"),
)
"""Fields of `MethodResult` that are columns."""


def render(ranking: Ranking) -> str:
    """The ranking as CSV; each row says which run it is from, so that the tables of several runs can be joined."""
    run = {key: getattr(ranking.header, key) for key in ("suite", "ood", "metric", "attribution", "probe")}
    found = ranking.found
    return written([run | row for row in (_methods(found) if isinstance(found, Evaluation) else _models(found))])


def written(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows, all of the same columns, under a line of the columns' names; nothing if there are none."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    if rows:
        writer.writerow(rows[0])
    writer.writerows([cell(value) for value in row.values()] for row in rows)
    return file.getvalue()


def cell(value: Any) -> Any:
    """A value that a spreadsheet does not take for a formula: text that could be one gets an apostrophe in front.

    Example:
        >>> cell("=1+1"), cell("ACC"), cell(-0.5), cell(None)
        ("'=1+1", 'ACC', -0.5, None)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else value


def _methods(found: Evaluation) -> Iterator[dict[str, Any]]:
    for method in found.methods:
        yield {field: getattr(method, field) for field in METHOD_FIELDS}


def _models(found: Decision) -> Iterator[dict[str, Any]]:
    """Each model; `groups` are the numbers of its groups: two models that share one cannot be told apart."""
    for model in found.models:
        groups = [str(g) for g, group in enumerate(found.groups, 1) if model.name in group]
        numbers = {key: getattr(model, key) for key in ("score", "outcome", "low", "high", "p_best", "p_near_best")}
        yield {"rank": model.rank, "name": model.name, "groups": " ".join(groups), "method": found.method, **numbers}
