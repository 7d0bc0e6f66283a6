"""What the members of suites scored in-domain and on OOD sets, as a table that `rank-models compare` reads.

A recipe makes models of several sizes, with more and fewer training rows, tuned in several ways: the points of a trend,
as in BOSS (Yuan et al. 2023, appendix D.1.1).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ranker.errors import UsageError
from ranker.records import read_json
from ranker.sources import suites

COLUMNS = ("model", "set", "value", "n", "group", "kind")


def points(files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """A row for each accuracy that suites state.

    A set is a task of its own, and has the in-domain accuracies beside it. Where there are several suites, a model is
    called SUITE/NAME.

    Args:
        files: suite.json files, or folders that hold one.

    Raises:
        UsageError: a file is no suite that states accuracies.
    """
    for file in (file / suites.FILE if file.is_dir() else file for file in files):
        whole = read_json(file, "a suite")
        try:
            for model in whole["models"]:
                name = model["name"] if len(files) == 1 else f"{whole['name']}/{model['name']}"
                own = {"value": model["in_domain_accuracy"], "n": model["training"].get("in_domain_rows", "")}
                for ood, known in model["ood_accuracy"].items():
                    shared = {"model": name, "group": ood}
                    yield shared | {"set": "in-domain", "kind": "in-domain"} | own
                    yield shared | {"set": ood, "kind": "ood", "value": known["accuracy"], "n": known["rows"]}
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{file} is no suite that states accuracies: it lacks {error}") from error


def written(rows: Iterator[dict[str, Any]]) -> str:
    """The rows as CSV."""
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()
