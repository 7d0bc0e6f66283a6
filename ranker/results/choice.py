"""The choice that a belief supports, in one verb: one model, any of several, or none yet.

The rule was measured (docs/results/decision.md): a model that it takes is within a point of the best in nine of ten
cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from factors.rounding import TIE
from ranker.errors import listed
from ranker.results.result import NAMES
from ranker.statistics.draws import NEAR, Draws

SURE = 0.9
"""P(no other model is better by more than a point) from which on a model is taken."""

LOST = 0.004
"""What may be expected to be lost by a model that is taken (docs/results/decision.md)."""

CLOSE = 0.005
"""What may be expected to be lost by any of several models among which one may choose."""

LOST_IN_SESSION = 0.01
"""The same after a session whose answers are no labels, which ends there by default (docs/results/anchors.md)."""

EVEN = (0.2, 0.8)
"""Least and most P(the leader is better) at which nothing tells another model from it."""

Verb = Literal["take", "any", "none"]


@dataclass(frozen=True)
class Choice:
    """Advice on which model to take.

    Attributes:
        verb: "take" the first model; take "any" of the models, which nothing tells apart; or "none" yet.
        models: the leader first. Of "take", then those that are as good or close.
        text: the same in words.
    """

    verb: Verb
    models: tuple[str, ...]
    text: str


def choose(
    names: Sequence[str],
    near: float | None,
    shortfall: Sequence[float | None],
    beats: Sequence[float],
    equal: Sequence[float] = (),
    *,
    sure: float = SURE,
    lost: float = LOST,
    doubt: str = "",
) -> Choice:
    """Choose by how near the leader is to the best, and by what is expected to be lost.

    Args:
        near: P(no other model is better than the leader by more than a point); None if unknown.
        shortfall: (M,) what is expected to be lost by taking each model instead of the best; None if unknown.
        beats: (M,) P(the leader is better than each).
        equal: (M,) P(each is within a point of the leader); empty if unknown.
        lost: expected loss that is little enough.
        doubt: why no model is to be taken, whatever its probability; "" for no reason.

    Example:
        >>> choose(["a", "b"], 0.95, [0.001, 0.02], [0.5, 0.9]).text
        'Take a'
        >>> choose(["a", "b"], 0.95, [0.001, 0.003], [0.5, 0.9]).text
        'Take a; b is as good or close'
        >>> choose(["a", "b"], 0.95, [0.001, 0.002], [0.5, 0.6]).text
        'a or b: nothing tells them apart, take the cheaper'
        >>> choose(["a", "b"], 0.7, [0.02, 0.03], [0.5, 0.6]).text
        'Cannot say yet: a leads'
    """
    first, rivals = names[0], range(1, len(names))
    close_by = [loss is not None and loss <= CLOSE for loss in shortfall]
    if doubt:
        return Choice("none", (first,), f"Cannot say yet: {doubt}")
    even = [j for j in rivals if close_by[0] and close_by[j] and EVEN[0] <= beats[j] <= EVEN[1]]
    if even:
        models = (first, *(names[j] for j in even))
        *most, last = models if len(models) <= NAMES else (*models[: NAMES - 1], f"{len(models) - NAMES + 1:,} others")
        cheapest = "cheaper" if len(models) == 2 else "cheapest"
        return Choice("any", models, f"{listed(most, NAMES)} or {last}: nothing tells them apart, take the {cheapest}")
    loss = shortfall[0]
    if (near is None or near < sure) and (loss is None or loss > lost):
        level = (first, *(names[j] for j in rivals if abs(beats[j] - 0.5) < TIE))
        leads = f"{first} leads" if len(level) == 1 else f"{listed(level, NAMES)} are level"
        return Choice("none", (first,), f"Cannot say yet: {leads}")
    close = tuple(names[j] for j in rivals if close_by[j] or (len(equal) and equal[j] >= sure))
    also = f"; {listed(close, NAMES)} {'is' if len(close) == 1 else 'are'} as good or close" if close else ""
    return Choice("take", (first, *close), f"Take {first}{also}")


def choose_least(
    names: Sequence[str],
    within: Sequence[float | None],
    amounts: Sequence[float | None],
    words: str,
    *,
    sure: float = SURE,
    doubt: str = "",
) -> Choice | None:
    """Choose the model that takes least among those that are surely good enough; None if none is, or none is known.

    Args:
        within: (M,) P(each is within a margin of the best); None if unknown.
        amounts: (M,) what each takes, such as its price; None if unknown, and then it is not chosen.
        words: what the chosen model is: "the cheapest within a point of the best".

    Example:
        >>> choose_least(["a", "b", "c"], [0.99, 0.92, 0.4], [3.0, 1.0, 0.1], "the cheapest near the best").text
        'Take b: the cheapest near the best'
    """
    near = [amounts[m] is not None and (share or 0.0) >= sure for m, share in enumerate(within)]
    enough = [m for m, is_near in enumerate(near) if is_near]
    if doubt or not enough:
        return None
    least = min(enough, key=lambda m: amounts[m] or 0.0)
    return Choice("take", (names[least],), f"Take {names[least]}: {words}")


def choose_by(belief: Draws, names: Sequence[str], margin: float = NEAR, *, shares: bool = True) -> Choice:
    """Choose by draws of the models' values.

    Args:
        belief: in the order of the names.
        margin: how far below the best a model may be that is as good a choice.
        shares: the values are fractions; if not, there is no loss that is little enough on their scale.

    Example:
        >>> import numpy as np
        >>> choose_by(Draws(np.random.default_rng(0).normal([0.9, 0.8], 0.01, (1000, 2))), ["a", "b"]).text
        'Take a'
    """
    near, lost = belief.near(margin)[0], belief.shortfall()
    losses = [float(loss) if shares else None for loss in lost]
    return choose(names, float(near), losses, belief.better(0).tolist(), belief.equal(0, margin).tolist())
