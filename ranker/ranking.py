"""`Ranking`, the result: what a run found, as plain records that can be saved, loaded and shown."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from factors.registry import Factor
from ranker.errors import DataError
from ranker.score import ScoreTable

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1

Kind = Literal["baseline", "factor", "combined"]
Mode = Literal["evaluation", "decision"]


@dataclass(frozen=True)
class MethodResult:
    """How well one method ranks the suite from K examples. Accuracies are fractions.

    Attributes:
        name: "ACC", "INDEX-DIFF", ...
        kind: "baseline" reads probabilities (RANDOM and GUESS: nothing), "factor" reads attributions, "combined" both.
        designed: it is the factor designed for this OOD set.
        few_shot_accuracy: the mean of its pairwise accuracies over the pairs that are decided.
        ci_low, ci_high: 95 %, over populations of examples: what other examples of the domain would have given.
        models_low, models_high: 95 %, over models: what other models of this kind would have given; None if M < 3.
        vs_acc: few-shot accuracy minus that of ACC, on the same draws; None where ACC was not measured.
        vs_acc_low, vs_acc_high: 95 % of that difference, paired, over populations of examples.
        dropped: reason -> how many examples the method could not be computed on.
        curve: K -> few-shot accuracy with a probe of K examples.
        splits: a part of the pairs ("near", "far", "within-family", "across-family") -> few-shot accuracy on it.
    """

    name: str
    kind: Kind
    few_shot_accuracy: float
    ci_low: float
    ci_high: float
    models_low: float | None
    models_high: float | None
    vs_acc: float | None
    vs_acc_low: float | None
    vs_acc_high: float | None
    designed: bool = False
    dropped: Mapping[str, int] = field(default_factory=dict)
    curve: Mapping[int, float] = field(default_factory=dict)
    splits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelResult:
    """One model, and where the truth and each method put it.

    Attributes:
        name: unique in the suite.
        family: its architecture, "" where unknown.
        ood_accuracy: on the whole OOD set, a fraction; None in a decision.
        rank: 1 for the best; by OOD accuracy, in a decision by the chosen method. Equal models share the better rank.
        scores: method -> mean score over the population, in the method's own unit.
        expected_rank: method -> the rank it gives the model, averaged over draws.
    """

    name: str
    family: str
    ood_accuracy: float | None
    rank: int
    scores: Mapping[str, float | None] = field(default_factory=dict)
    expected_rank: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class PairResult:
    """How often a method puts two models in the right order.

    Attributes:
        a, b: the models, the truly better one first.
        method: the ranking method.
        accuracy: share of draws in which it scores a better than b, a tie counting one half.
        accuracy_a, accuracy_b: OOD accuracies, fractions.
        gap: accuracy_a - accuracy_b.
        near: the gap is below the threshold that `Ranking.near` states.
        same_family: None where families are unknown.
    """

    a: str
    b: str
    method: str
    accuracy: float
    accuracy_a: float
    accuracy_b: float
    gap: float
    near: bool
    same_family: bool | None
