"""The embedded suites made again from their recipes, and how near the new accuracies come to the embedded ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ranker.datasets.embedded import SUITE


@dataclass(frozen=True)
class TableDifference:
    """An accuracy of one model, twice.

    Attributes:
        suite, model: names.
        of: "in-domain", or an OOD set.
        embedded, rebuilt: fractions.
    """

    suite: str
    model: str
    of: str
    embedded: float
    rebuilt: float

    @property
    def points(self) -> float:
        """Difference of the rebuilt number, in points."""
        return 100 * abs(self.rebuilt - self.embedded)

    def __str__(self) -> str:
        """One line."""
        pair = f"{100 * self.embedded:.1f} % embedded, {100 * self.rebuilt:.1f} % rebuilt"
        return f"{self.suite} {self.model}, {self.of}: {pair}"


def differences(embedded: Path, rebuilt: Path) -> Iterator[TableDifference]:
    """Every accuracy that two suites of one recipe state.

    Args:
        embedded, rebuilt: folders with a suite.json.
    """
    first, second = (json.loads((folder / SUITE).read_text(encoding="utf-8")) for folder in (embedded, rebuilt))
    new = {model["name"]: model for model in second["models"]}
    for model in first["models"]:
        again, names = new[model["name"]], (first["name"], model["name"])
        yield TableDifference(*names, "in-domain", model["in_domain_accuracy"], again["in_domain_accuracy"])
        for ood, accuracy in model["ood_accuracy"].items():
            yield TableDifference(*names, ood, accuracy["accuracy"], again["ood_accuracy"][ood]["accuracy"])
