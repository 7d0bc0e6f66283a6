"""Choose OOD sets among candidates by the protocol of BOSS."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from factors.rounding import level
from ranker.domains.results.shift import Selection, SetChoice
from ranker.domains.rows import read_rows, require
from ranker.domains.values import NEEDED, are_percentages, values_of_rows
from ranker.errors import DataError, listed, look_up
from ranker.limits import LIMITS, Limits
from ranker.numbers import points

SELECTION_COLUMNS = (*NEEDED, "source", "similarity", "kind")
"""Columns of a table of candidates."""

SIMILAR = 0.75
"""Cosine with the in-domain set from which on a candidate is too similar. BOSS states none; this value lies between
what it keeps and what it drops in three of its five tasks (0.738 and 0.762), and reproduces all five choices."""

MAX_CHOSEN_SETS = 3
"""Sets chosen, as in BOSS for each task."""


def choose_sets(
    source: str,
    candidates: Sequence[SetChoice],
    similar: float = SIMILAR,
    sets: int = MAX_CHOSEN_SETS,
    exempt: Collection[str] = (),
) -> tuple[SetChoice, ...]:
    """Choose OOD sets as BOSS does.

    Sets of the in-domain source are left out, and so are those too similar to the in-domain set. Each remaining source
    contributes its set with the greatest drop; of these, the sets with the greatest drops are chosen.

    Args:
        candidates: the others, undecided.
        similar: cosine from which on a set is too similar.
        sets: number of sets chosen, at most.
        exempt: sets that may be similar: adversarial ones made from the in-domain set, which BOSS keeps by hand.

    Returns:
        A decision on each candidate, in their order.

    Example:
        >>> choices = choose_sets("web", [SetChoice("a", "news", 0.3, 0.2), SetChoice("b", "news", 0.4, 0.1)])
        >>> [choice.chosen for choice in choices], choices[1].reason
        ([True, False], 'of its source, news, a has the greater drop: 20.0 points')

    Source: Yuan et al. 2023, "Revisiting out-of-distribution robustness in NLP" (BOSS), section 2.2.
    """
    reasons: dict[str, str] = {}
    for candidate in candidates:
        if candidate.source == source:
            reasons[candidate.name] = f"its texts have the source of the in-domain set: {source}"
        elif candidate.similarity >= similar and candidate.name not in exempt:
            cosine = f"{candidate.similarity:.3f}"
            reasons[candidate.name] = f"too similar: a cosine of {cosine}, and {similar:g} is the most"
    remaining = [candidate for candidate in candidates if candidate.name not in reasons]
    first: dict[str, SetChoice] = {}
    drops = level(np.array([candidate.drop for candidate in remaining]))
    for candidate in (remaining[place] for place in np.argsort(-drops, kind="stable")):
        best = first.setdefault(candidate.source, candidate)
        if best is not candidate:
            greater = f"{best.name} has the greater drop: {_points(best.drop)}"
            reasons[candidate.name] = f"of its source, {candidate.source}, {greater}"
    for candidate in list(first.values())[sets:]:
        reasons[candidate.name] = f"{sets} others have greater drops than {_points(candidate.drop)}"
    chosen = "of its source, {0.source}, the greatest drop: {1}"
    return tuple(
        replace(
            candidate,
            chosen=candidate.name not in reasons,
            reason=reasons.get(candidate.name, chosen.format(candidate, _points(candidate.drop))),
        )
        for candidate in candidates
    )


def select_sets(
    table: Any,
    *,
    similar: float = SIMILAR,
    sets: int = MAX_CHOSEN_SETS,
    keep: Sequence[str] = (),
    limits: Limits = LIMITS,
) -> Selection:
    """Choose the sets to test models on as BOSS does, from numbers alone.

    Args:
        table: a file, a data frame, or a list of rows, a row for each model and set: `set`, `source` (of its texts),
            `similarity` (to the in-domain set, a cosine), `model`, `value` and `kind`, which is "in-domain" for one
            set. Numbers may be percentages.
        similar: the similarity from which on a set is too similar.
        sets: largest number of chosen sets.
        keep: sets that are never too similar.

    Raises:
        UsageError: the table cannot be right (a `DataError` names the line).

    Example:
        >>> from ranker import select_sets
        >>> columns = ("set", "source", "similarity", "model", "value", "kind")
        >>> cells = [("train", "web", None, "m", 0.9, "in-domain"), ("a", "news", 0.3, "m", 0.7, "ood")]
        >>> rows = [dict(zip(columns, row)) for row in (*cells, ("b", "news", 0.4, "m", 0.8, "ood"))]
        >>> select_sets(rows)
        test sets for train: a
    """
    rows, notes = read_rows(table, limits)
    values = values_of_rows(require(rows, SELECTION_COLUMNS[:-1]), columns=SELECTION_COLUMNS)
    homes = [index for index, scored in enumerate(values.sets) if scored.kind == "in-domain"]
    if len(homes) != 1:
        text = f"one set must be of the kind in-domain, from which the others are chosen (got {len(homes)})"
        raise DataError(text, option="kind", value=len(homes))
    home = values.sets[homes[0]]
    new = [index for index, scored in enumerate(values.sets) if scored.kind == "ood"]
    for name in keep:
        look_up("set", name, dict.fromkeys(values.sets[index].name for index in new))
    if without := [scored.name for scored in values.sets if not scored.source]:
        text = f"every set needs a source, where its texts come from; {listed(without)} has none"
        raise DataError(text, option="source", value=without[0])
    similarities = np.array([_similarity(values.sets[index].similarity, values.sets[index].name) for index in new])
    if are_percentages(similarities):
        similarities = similarities / 100
    candidates = []
    for index, cosine in zip(new, similarities, strict=True):
        scored, drops = values.sets[index], values.values[:, homes[0]] - values.values[:, index]
        complete = drops[~np.isnan(drops)]
        if not len(complete):
            raise DataError(f"no model has values on both {home.name} and {scored.name}", value=scored.name)
        if len(complete) < len(drops):
            models = f"{len(complete)} of {len(drops)} models"
            notes.append(f"{scored.name}: the drop is that of {models}, which have both values.")
        candidates.append(SetChoice(scored.name, scored.source, float(cosine), float(complete.mean())))
    choices = choose_sets(home.source, candidates, similar, sets, keep)
    return Selection(home.name, home.source, choices, (*notes, *values.notes))


def _similarity(cell: str, name: str) -> float:
    try:
        return float(cell)
    except ValueError as error:
        text = f"every new set needs a number as `similarity`; {name} has {cell!r}"
        raise DataError(text, option="similarity", value=cell) from error


def _points(drop: float) -> str:
    return f"{points(drop).removeprefix('+')} points"
