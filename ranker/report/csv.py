"""One tidy CSV table, numbers as raw fractions: a row a method in an evaluation, a row a model in a decision."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ranker.results.ranking import Ranking
from ranker.results.records import Decision

METHOD_FIELDS = (
    *("name", "kind", "designed", "few_shot_accuracy", "ci_low", "ci_high", "models_low", "models_high"),
    *("vs_acc", "vs_acc_low", "vs_acc_high"),
)
"""Fields of `MethodResult` that are columns."""


def render(ranking: Ranking) -> str:
    """The ranking as CSV; each row says which run it is from, so that the tables of several runs can be joined."""
    run = {"suite": ranking.suite, "ood": ranking.ood, "attribution": ranking.attribution, "probe": ranking.probe}
    found = ranking.decision
    return written([run | row for row in (_methods(ranking) if found is None else _models(ranking, found))])


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


def _methods(ranking: Ranking) -> Iterator[dict[str, Any]]:
    for method in ranking.methods:
        yield {field: getattr(method, field) for field in METHOD_FIELDS}


def _models(ranking: Ranking, found: Decision) -> Iterator[dict[str, Any]]:
    """Each model; `groups` are the numbers of its groups: two models that share one cannot be told apart."""
    groups = found.groups
    for i, (name, model) in enumerate(zip(found.models, ranking.models, strict=True)):
        yield {
            "rank": model.rank,
            "name": name,
            "groups": " ".join(str(g) for g, group in enumerate(groups, 1) if name in group),
            "method": found.method,
            "score": found.scores[i],
            "accuracy": found.accuracy[i],
            "low": found.low[i],
            "high": found.high[i],
            "p_best": found.p_best[i],
        }
