"""One set split into several: by a column, or by topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ranker.domains.shift import Domain
from ranker.domains.words import FITTED, both, counted
from ranker.errors import UsageError

MOST = 20
"""Sets that are compared at once, at most."""

TOPIC_WORDS = 10
"""Words that stand for a topic."""


def by_value(domain: Domain, values: Sequence[str | None]) -> tuple[Domain, ...]:
    """The rows of each value, in the order in which the values come first; rows without one are left out.

    Args:
        domain: the set.
        values: (N,) what each row has in the column; None for nothing.

    Raises:
        UsageError: fewer than two values, or more than `MOST`.

    Example:
        >>> from factors import Example
        >>> rows = [Example(str(n), (text,), 0) for n, text in enumerate(("a b", "c d", "e f"))]
        >>> [part.name for part in by_value(Domain("x", rows, [None] * 3), ["mail", "web", "mail"])]
        ['mail', 'web']
    """
    found: dict[str, list[int]] = {}
    for place, value in enumerate(values):
        if value is not None:
            found.setdefault(value, []).append(place)
    if not 2 <= len(found) <= MOST:
        some = ", ".join(list(found)[:3])
        raise UsageError(f"`by` must name a column with 2 to {MOST} values (got {len(found)} in {domain.name}: {some})")
    return tuple(domain.part(name, rows) for name, rows in found.items())


def by_topic(domain: Domain, topics: int, rng: np.random.Generator) -> tuple[Domain, ...]:
    """Each row to the topic that it has most of; the largest topic first. Topics without a row are left out.

    Latent Dirichlet allocation of scikit-learn on counts of the words that two texts have and that are no stop words. A
    set is named after the three words that have the greatest probability in its topic.

    Args:
        domain: the set.
        topics: K.
        rng: draws the texts that are fitted on, and starts the fit.

    Raises:
        UsageError: K below 2 or above `MOST`, or fewer words than topics.

    Source: Blei, Ng, Jordan 2003, "Latent Dirichlet allocation"; Yuan and Zhang 2025, "DomainSum", section 3.1.
    """
    from sklearn.decomposition import LatentDirichletAllocation

    if not 2 <= topics <= MOST:
        raise UsageError(f"`topics` must be between 2 and {MOST} (got {topics})")
    drawing, starting = rng.spawn(2)
    of = both(domain.counted, counted([]))
    counts: Any = of.counts[0][:, of.content]
    kept = np.flatnonzero(np.asarray((counts > 0).sum(axis=0)).ravel() > 1)
    if len(kept) < topics:
        raise UsageError(f"`topics` must be at most the {len(kept)} words that two texts of {domain.name} share")
    counts = counts[:, kept]
    fitted = counts[np.sort(drawing.permutation(counts.shape[0])[:FITTED])]
    model = LatentDirichletAllocation(
        topics, learning_method="online", random_state=int(starting.integers(2**31)), evaluate_every=-1
    )
    model.fit(fitted)
    topic = np.argmax(model.transform(counts), axis=1)
    sizes = np.bincount(topic, minlength=topics)
    parts = []
    for number in np.argsort(-sizes, kind="stable"):
        if sizes[number]:
            best = np.argsort(-model.components_[number], kind="stable")[:TOPIC_WORDS]
            words = tuple(of.words[of.content[kept[n]]] for n in best)
            parts.append(domain.part(" ".join(words[:3]), np.flatnonzero(topic == number).tolist(), words))
    if len(parts) < 2:
        raise UsageError(f"`topics`: all texts of {domain.name} have most of one topic")
    return tuple(parts)
