"""Choose OOD sets among candidates by the protocol of BOSS."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ranker.numbers import points
from ranker.results.shift import SetChoice

SIMILAR = 0.75
"""Cosine with the in-domain set from which on a candidate is too similar. BOSS states none; this value lies between
what it keeps and what it drops in three of its five tasks (0.738 and 0.762), and reproduces all five choices."""

MAX_CHOSEN_SETS = 3
"""Sets chosen, as in BOSS for each task."""


@dataclass(frozen=True)
class Candidate:
    """A candidate OOD set.

    Attributes:
        name: of the set.
        source: origin of its texts; at most one set of a source is chosen.
        similarity: the cosine of its centroid with the in-domain one.
        drop: loss of models against in-domain, a fraction.
    """

    name: str
    source: str
    similarity: float
    drop: float


def choose_sets(
    source: str,
    candidates: Sequence[Candidate],
    similar: float = SIMILAR,
    sets: int = MAX_CHOSEN_SETS,
    exempt: Collection[str] = (),
) -> tuple[SetChoice, ...]:
    """Choose OOD sets as BOSS does.

    Sets of the in-domain source are left out, and so are those too similar to the in-domain set. Each remaining source
    contributes its set with the greatest drop; of these, the sets with the greatest drops are chosen.

    Args:
        source: of the in-domain set.
        candidates: the others.
        similar: cosine from which on a set is too similar.
        sets: number of sets chosen, at most.
        exempt: sets that may be similar: adversarial ones made from the in-domain set, which BOSS keeps by hand.

    Returns:
        A decision on each candidate, in their order.

    Example:
        >>> choices = choose_sets("web", [Candidate("a", "news", 0.3, 0.2), Candidate("b", "news", 0.4, 0.1)])
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
    first: dict[str, Candidate] = {}
    for candidate in sorted(remaining, key=lambda candidate: -candidate.drop):
        best = first.setdefault(candidate.source, candidate)
        if best is not candidate:
            greater = f"{best.name} has the greater drop: {_points(best.drop)}"
            reasons[candidate.name] = f"of its source, {candidate.source}, {greater}"
    for candidate in list(first.values())[sets:]:
        reasons[candidate.name] = f"{sets} others have greater drops than {_points(candidate.drop)}"
    choices = []
    for candidate in candidates:
        name, origin, drop = candidate.name, candidate.source, candidate.drop
        reason = reasons.get(name, f"of its source, {origin}, the greatest drop: {_points(drop)}")
        choices.append(SetChoice(name, origin, candidate.similarity, drop, name not in reasons, reason))
    return tuple(choices)


def _points(drop: float) -> str:
    return f"{points(drop).removeprefix('+')} points"
