"""Accuracies that a suite states for its members, in-domain and on OOD sets, as rows of a table of values.

No model is run. The members of a suite differ in size, training rows and tuning: the points of a trend, as in BOSS
(Yuan et al. 2023, appendix D.1.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ranker.datasets.embedded import SUITE
from ranker.errors import UsageError
from ranker.files.columns import Row
from ranker.limits import LIMITS, Limits
from ranker.records import read_json


def is_suite(path: Path) -> bool:
    """Tell whether a path is a suite (a suite.json, or a folder) and no table."""
    return path.name == SUITE or path.is_dir()


def stated_accuracies(suites: Sequence[Path], limits: Limits = LIMITS) -> Iterator[Row]:
    """Yield a row for each accuracy that suites state.

    Each set is a task of its own, with the in-domain accuracies beside it. With several suites, models and their
    training runs are named SUITE/NAME.

    Args:
        suites: suite.json files, or folders that hold one.

    Raises:
        UsageError: a file is no suite that states accuracies.
    """
    for file in (path / SUITE if path.is_dir() else path for path in suites):
        suite = read_json(file, "a suite", limits)
        try:
            for number, model in enumerate(suite["models"], 1):
                prefix = "" if len(suites) == 1 else f"{suite['name']}/"
                names = {"model": prefix + model["name"]} | ({"run": prefix + model["run"]} if "run" in model else {})
                in_domain = {"value": model["in_domain_accuracy"], "n": model["training"].get("in_domain_rows", "")}
                for ood, accuracy in model["ood_accuracy"].items():
                    shared = names | {"group": ood}
                    place = f"{file}, model {number}"
                    yield Row(place, number, shared | {"set": "in-domain", "kind": "in-domain"} | in_domain)
                    ood_cells = {"set": ood, "kind": "ood", "value": accuracy["accuracy"], "n": accuracy["rows"]}
                    yield Row(place, number, shared | ood_cells)
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError.of(file, f"is no suite that states accuracies: it lacks {error}") from error
