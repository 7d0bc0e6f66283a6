"""Split a set into several: by a column, or by topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ranker.domains.shift import Domain
from ranker.domains.words import MAX_FITTED_TEXTS, align_words, count_words
from ranker.errors import UsageError, range_error

MAX_SETS = 20
"""Sets that are compared at once, at most."""

TOPIC_WORDS = 10
"""Words listed for a topic."""


def by_value(domain: Domain, values: Sequence[str | None]) -> tuple[Domain, ...]:
    """Split a set by the values of a column, in order of first appearance; rows without a value are left out.

    Args:
        values: (N,) cells of the column; None if empty.

    Raises:
        UsageError: fewer than two values, or more than `MAX_SETS`.

    Example:
        >>> from factors import Example
        >>> rows = [Example(str(n), (text,), 0) for n, text in enumerate(("a b", "c d", "e f"))]
        >>> [part.name for part in by_value(Domain("x", rows, [None] * 3), ["mail", "web", "mail"])]
        ['mail', 'web']
    """
    rows_by_value: dict[str, list[int]] = {}
    for place, value in enumerate(values):
        if value is not None:
            rows_by_value.setdefault(value, []).append(place)
    if not 2 <= len(rows_by_value) <= MAX_SETS:
        got = f"{len(rows_by_value)} in {domain.name}: {', '.join(list(rows_by_value)[:3])}"
        raise UsageError.about(
            "by",
            f"must name a column with 2 to {MAX_SETS} values (got {got})",
            len(rows_by_value),
            allowed=(2, MAX_SETS),
        )
    return tuple(domain.part(name, rows) for name, rows in rows_by_value.items())


def by_topic(domain: Domain, topics: int, rng: np.random.Generator) -> tuple[Domain, ...]:
    """Assign each row to its main topic, the largest topic first; topics without a row are left out.

    Latent Dirichlet allocation of scikit-learn on counts of words that two texts have and that are no stop words. A
    set is named after the three most probable words of its topic.

    Args:
        rng: draws the texts that are fitted on, and starts the fit.

    Raises:
        UsageError: K below 2 or above `MAX_SETS`, or fewer words than topics.

    Source: Blei, Ng, Jordan 2003, "Latent Dirichlet allocation"; Yuan and Zhang 2025, "DomainSum", section 3.1.
    """
    from sklearn.decomposition import LatentDirichletAllocation

    if not 2 <= topics <= MAX_SETS:
        raise range_error("topics", topics, 2, MAX_SETS)
    drawing, starting = rng.spawn(2)
    word_pair = align_words(domain.word_counts, count_words([]))
    counts: Any = word_pair.counts[0][:, word_pair.content]
    frequent = np.flatnonzero(np.asarray((counts > 0).sum(axis=0)).ravel() > 1)
    if len(frequent) < topics:
        raise UsageError.about(
            "topics", f"must be at most the {len(frequent)} words that two texts of {domain.name} share"
        )
    counts = counts[:, frequent]
    fitted = counts[np.sort(drawing.permutation(counts.shape[0])[:MAX_FITTED_TEXTS])]
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
            words = tuple(word_pair.words[word_pair.content[frequent[n]]] for n in best)
            parts.append(domain.part(" ".join(words[:3]), np.flatnonzero(topic == number).tolist(), words))
    if len(parts) < 2:
        raise UsageError(f"`topics`: all texts of {domain.name} have most of one topic", option="topics")
    return tuple(parts)
