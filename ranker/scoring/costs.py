"""Usage of models beside a belief in their values: the frontier, and how much worse a cheaper model is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from factors.types import Ints
from ranker.errors import UsageError, listed
from ranker.results.costs import SUPERLATIVES, Costs, ModelCost, ModelUsage, Preference, Quantity
from ranker.statistics.draws import NEAR, Draws
from ranker.statistics.engine import none_if_nan

MISSING: Mapping[Quantity, str] = {
    "money": "no price of {} is known; `prices` names a file that has them, for answers whose tokens are known",
    "seconds": "the time of {} is not known; logs of Inspect and promptfoo record it",
}
"""Quantity -> what is missing where it is known of no model."""


def compare_costs(
    belief: Draws,
    names: Sequence[str],
    order: Ints,
    usage: Mapping[str, ModelUsage],
    prefer: Preference | None = None,
    notes: Sequence[str] = (),
) -> Costs | None:
    """Compare what models take with how good they are; None if nothing is known of what they take.

    Args:
        belief: in the models' values.
        names: (M,) the models of the belief.
        order: (M,) their places in the order of the decision.
        usage: model -> what its answers take, where something is known.
        prefer: the preference of the user.
        notes: how usage was measured.

    Raises:
        UsageError: the quantity that is preferred less of is known of no model.

    Example:
        >>> belief = Draws(np.array([[0.50, 0.49], [0.52, 0.53]]))
        >>> usage = {"a": ModelUsage(money=3), "b": ModelUsage(money=1)}
        >>> costs = compare_costs(belief, ["a", "b"], np.arange(2), usage)
        >>> [model.p_frontier for model in costs.models], costs.by
        ([0.5, 1.0], 'money')
    """
    if prefer is not None and all(getattr(model, prefer.by) is None for model in usage.values()):
        text = MISSING[prefer.by].format(listed(names))
        raise UsageError(f"`prefer` takes the {SUPERLATIVES[prefer.by]} model, and {text}", option="prefer")
    if all(model == ModelUsage() for model in usage.values()):
        return None
    of_models = [usage.get(name, ModelUsage()) for name in names]
    quantities: tuple[Quantity, ...] = ("money", "seconds") if prefer is None else (prefer.by,)
    amounts = {name: np.array([getattr(model, name) for model in of_models], dtype=float) for name in quantities}
    by = next((name for name, values in amounts.items() if prefer or (~np.isnan(values)).sum() > 1), None)
    frontier = np.full(len(names), np.nan) if by is None else belief.frontier(amounts[by])
    within = belief.near(NEAR if prefer is None else prefer.margin)
    models = tuple(
        ModelCost(
            names[m],
            of_models[m],
            none_if_nan(frontier[m]),
            none_if_nan(within[m]),
            *belief.difference(m, int(order[0])),
        )
        for m in order
    )
    return Costs(models, by, prefer, tuple(notes))
