"""The methods that rank beside the columns of a score table, by name: what reports, options and files call them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from factors.types import Floats
from ranker.statistics import choice, combined, label_free, surrogate
from ranker.statistics.pool import Pool

Kind = Literal["baseline", "factor", "combined", "pool", "label-free"]

COINS = ("RANDOM", "GUESS")
"""Methods that are right half of the time, whatever K is."""

SURROGATE = surrogate.NAME

CHOSEN = f"{SURROGATE}+CHOICE"
RULES = {
    CHOSEN: choice.DEFAULT,
    f"{SURROGATE}+FACILITY": "facility",
    f"{SURROGATE}+DISAGREE": "disagreement",
}
"""Method -> the rule of `choice` by which its rows are picked; SURROGATE itself has random ones."""

POOL_FACTOR = "POOL-FACTOR"


@dataclass(frozen=True)
class LabelFree:
    """A method that needs no label.

    Attributes:
        name: as it stands in tables.
        score: (pool) -> (M,) scores, higher is better.
        trap: when it fails, in a clause.
        source: the paper.
        needs: what of the pool it needs, beside the probabilities.
    """

    name: str
    score: Callable[[Pool], Floats]
    trap: str
    source: str
    needs: Literal["", "in_domain", "factor"] = ""


LABEL_FREE = (
    LabelFree(
        POOL_FACTOR,
        label_free.pool_factor,
        "the factor may fail on these models",
        "Singhal et al. 2022, section 4.3; over a pool: ours",
        needs="factor",
    ),
    LabelFree(
        "AVG-CONF",
        label_free.average_confidence,
        "a model that is sure of a wrong shortcut looks best",
        "Hendrycks and Gimpel 2017",
    ),
    LabelFree(
        "ATC",
        label_free.thresholded_confidence,
        "what confidence means in-domain has to hold here",
        "Garg et al. 2022, section 4",
        needs="in_domain",
    ),
    LabelFree(
        "DOC",
        label_free.difference_of_confidences,
        "a model may lose accuracy and stay sure",
        "Guillory et al. 2021, section 3",
        needs="in_domain",
    ),
    LabelFree(
        "MAJORITY",
        label_free.majority,
        "where most models share a wrong shortcut, the best is the outsider",
        "Jiang et al. 2022 (two models); votes of many: ours",
    ),
    LabelFree(
        "COT",
        label_free.transport,
        "the labels have to be as frequent here as in-domain",
        "Lu et al. 2023, section 3",
        needs="in_domain",
    ),
    LabelFree(
        "MANO",
        label_free.matrix_norm,
        "it measures confidence, as AVG-CONF does",
        "Xie et al. 2024, section 3, the softmax branch: logits are not kept",
    ),
    LabelFree(
        "DAWID-SKENE",
        label_free.dawid_skene,
        "models that err together count as witnesses that agree",
        "Dawid and Skene 1979",
    ),
)


RESERVED = (*COINS, combined.TIES, combined.FACTOR, SURROGATE, *RULES, *(one.name for one in LABEL_FREE))
"""What no factor of a user's own may be called."""


def possible(pool: Pool) -> list[LabelFree]:
    """The label-free methods that can be had of a pool."""
    return [one for one in LABEL_FREE if not one.needs or getattr(pool, one.needs) is not None]
