"""Which of several candidate sets to test models on outside their domain, by the protocol of BOSS."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ranker.numbers import points
from ranker.results.shift import SetChoice

SIMILAR = 0.75
"""The cosine with the in-domain set from which on a candidate is too like it. BOSS states none; this one lies between
what it keeps and what it drops in three of its five tasks (0.738 and 0.762), and its choices in all five follow."""

SETS = 3
"""Sets that are chosen, as BOSS has them of each task."""


@dataclass(frozen=True)
class Candidate:
    """A set that may be chosen.

    Attributes:
        name: of the set.
        source: where its texts come from; sets of one source are not both chosen.
        similarity: the cosine of its centroid with the in-domain one.
        drop: how much worse models are on it than in-domain, a fraction.
    """

    name: str
    source: str
    similarity: float
    drop: float


def chosen(
    source: str,
    candidates: Sequence[Candidate],
    similar: float = SIMILAR,
    sets: int = SETS,
    kept: Collection[str] = (),
) -> tuple[SetChoice, ...]:
    """Choose sets as BOSS does.

    Sets of the in-domain source are left out, and so are those too similar to the in-domain set. Of each text source
    that is left, the set with the greatest drop stands, and of these the ones with the greatest drops are chosen.

    Args:
        source: of the in-domain set.
        candidates: the others.
        similar: the cosine from which on a set is too similar.
        sets: how many are chosen, at most.
        kept: sets that are not left out for being similar: adversarial ones that were made from the in-domain set,
            which BOSS keeps by hand.

    Returns:
        A decision on each candidate, in their order.

    Example:
        >>> found = chosen("web", [Candidate("a", "news", 0.3, 0.2), Candidate("b", "news", 0.4, 0.1)])
        >>> [one.chosen for one in found], found[1].reason
        ([True, False], 'of its source, news, a has the greater drop: 20.0 points')

    Source: Yuan et al. 2023, "Revisiting out-of-distribution robustness in NLP" (BOSS), section 2.2.
    """
    reasons: dict[str, str] = {}
    for one in candidates:
        if one.source == source:
            reasons[one.name] = f"its texts have the source of the in-domain set: {source}"
        elif one.similarity >= similar and one.name not in kept:
            reasons[one.name] = f"too similar: a cosine of {one.similarity:.3f}, and {similar:g} is the most"
    order = sorted((one for one in candidates if one.name not in reasons), key=lambda one: -one.drop)
    first: dict[str, Candidate] = {}
    for one in order:
        best = first.setdefault(one.source, one)
        if best is not one:
            reasons[one.name] = f"of its source, {one.source}, {best.name} has the greater drop: {_points(best.drop)}"
    for one in list(first.values())[sets:]:
        reasons[one.name] = f"{sets} others have greater drops than {_points(one.drop)}"
    return tuple(
        SetChoice(
            one.name,
            one.source,
            one.similarity,
            one.drop,
            one.name not in reasons,
            reasons.get(one.name, f"of its source, {one.source}, the greatest drop: {_points(one.drop)}"),
        )
        for one in candidates
    )


def _points(drop: float) -> str:
    return f"{points(drop).removeprefix('+')} points"
