"""Models that are made of parts, grouped by each part, and which of two parts matters more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from factors.rounding import level
from ranker.numbers import counted
from ranker.results.decision import Decision
from ranker.results.evaluation import Evaluation
from ranker.results.parts import ModelPart, ModelParts, PartLevel
from ranker.results.table import ScoreTable
from ranker.scoring.by_metric import MetricRows
from ranker.scoring.paired_comparison import clusters_of
from ranker.statistics.components import VarianceComponents, variance_components


def group_by_parts(
    outcome: Evaluation | Decision,
    table: ScoreTable,
    parts: Mapping[str, Mapping[str, str]],
    *,
    seed: int = 0,
    groups: Sequence[str] = (),
    by_metric: MetricRows | None = None,
) -> ModelParts | None:
    """Group models by each of their parts, and compare what two parts do to the outcomes.

    None if no model has parts, or no part is common to all that have some.

    Args:
        parts: model -> part -> its name, of the models that have parts.
        by_metric: a metric that is no mean, by which the models are compared.
    """
    members = [model for model in table.models if parts.get(model)]
    names = [name for name in (parts[members[0]] if members else ()) if all(name in parts[model] for model in members)]
    if not names:
        return None
    outcomes = {model.name: model.outcome for model in outcome.models}
    sign = 1 if by_metric is None or by_metric.metric.higher_is_better else -1
    grouped = []
    for name in names:
        levels = [
            PartLevel(part, models, float(np.mean([outcomes[model] for model in models])))
            for part in dict.fromkeys(parts[model][name] for model in members)
            for models in [tuple(model for model in members if parts[model][name] == part)]
        ]
        order = np.argsort(-sign * level(np.array([part.outcome for part in levels])), kind="stable")
        grouped.append(ModelPart(name, tuple(levels[place] for place in order)))
    components: VarianceComponents | str
    if len(names) != 2:
        components = f"two parts are compared, and these have {counted(len(names), 'part')} in common"
    elif by_metric is not None:
        components = f"this is known for means only, and {by_metric.metric.name} is not a mean"
    else:
        first, second = (np.unique([parts[model][name] for model in members], return_inverse=True)[1] for name in names)
        members_outcomes = table.outcomes[[table.models.index(model) for model in members]]
        rng = np.random.default_rng(seed)
        components = variance_components(members_outcomes, first, second, rng, clusters_of(groups))
    if isinstance(components, str):
        return ModelParts(tuple(grouped), None, components)
    return ModelParts(tuple(grouped), components, "")
