"""What a suite states of its members, in-domain and on OOD sets, as rows of a table of what models scored on sets.

No model is run. A recipe makes models of several sizes, with more and fewer training rows, tuned in several ways: the
points of a trend, as in BOSS (Yuan et al. 2023, appendix D.1.1).
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
    """Whether that is a suite, and no table: a suite.json, or a folder."""
    return path.name == SUITE or path.is_dir()


def points(suites: Sequence[Path], limits: Limits = LIMITS) -> Iterator[Row]:
    """A row for each accuracy that suites state.

    A set is a task of its own, and has the in-domain accuracies beside it. Where there are several suites, a model is
    called SUITE/NAME, and so is the training run that it is a checkpoint of, where it is one.

    Args:
        suites: suite.json files, or folders that hold one.
        limits: how much of a file is read.

    Raises:
        UsageError: a file is no suite that states accuracies.
        DataError: it cannot be read.
    """
    for file in (path / SUITE if path.is_dir() else path for path in suites):
        whole = read_json(file, "a suite", limits)
        try:
            for number, model in enumerate(whole["models"], 1):
                of = "" if len(suites) == 1 else f"{whole['name']}/"
                who = {"model": of + model["name"]} | ({"run": of + model["run"]} if "run" in model else {})
                own = {"value": model["in_domain_accuracy"], "n": model["training"].get("in_domain_rows", "")}
                for ood, known in model["ood_accuracy"].items():
                    shared = who | {"group": ood}
                    place = f"{file}, model {number}"
                    yield Row(place, number, shared | {"set": "in-domain", "kind": "in-domain"} | own)
                    said = {"set": ood, "kind": "ood", "value": known["accuracy"], "n": known["rows"]}
                    yield Row(place, number, shared | said)
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{file} is no suite that states accuracies: it lacks {error}") from error
