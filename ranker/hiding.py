"""Whether the token that hides words says something itself.

Attributions ask what a model makes of an example without some of its words, and put a token in their place. The less
that token says the better. To encoders of sentence pairs [MASK], which nothing in fine-tuning ever reads, can be a
word that the other sentence lacks, more so than any real word; of another encoder [PAD] may be as odd. So the effect
of single words hidden behind the one is set beside their effect behind the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from factors.types import Attributions, Example
from ranker.backends.settings import Attributing, Hide, OcclusionSettings, Settings
from ranker.errors import ModelError
from ranker.measure import Question, Subject
from ranker.progress import Progress

ROWS = 16
"""Examples that are enough to tell."""

LOUD = 1.25
"""A token speaks for itself where hiding a word behind it does so many times as much as behind the other."""

OTHER: dict[Hide, Hide] = {"mask": "pad", "pad": "mask"}
"""The tokens that words are hidden behind, each with the one that it is set beside."""


def questions(settings: Settings, population: Sequence[Example]) -> list[Question]:
    """What a model is asked: what single words do, hidden behind the token and behind the other, in some examples.

    Nothing where a backend hides words in another way.
    """
    if not isinstance(settings, Attributing) or getattr(settings, settings.hides) not in OTHER:
        return []
    token: Hide = getattr(settings, settings.hides)
    some = population[:: max(len(population) // ROWS, 1)][:ROWS]
    return [
        Question(f"words behind [{hide.upper()}]", some, OcclusionSettings(settings.target, hide=hide))
        for hide in (token, OTHER[token])
    ]


def effects(subject: Subject, asked: Sequence[Question], progress: Progress) -> tuple[float, float] | None:
    """The effects of a word hidden behind the token, and behind the other; None where that was not asked.

    None, too, where the model's tokenizer has no such token.
    """
    try:
        behind = [effect(subject.answer(question, progress)) for question in asked]
    except ModelError:
        return None
    return (behind[0], behind[1]) if behind else None


def effect(rows: Sequence[Attributions]) -> float:
    """How far hiding one word moves the margin, either way, on average over the words that were seen; in log-odds."""
    changes = np.abs(np.concatenate([row.word_scores for row in rows]))
    seen = changes[~np.isnan(changes)]
    return float(seen.mean()) if seen.size else 0.0


def speaks(effects: Mapping[str, tuple[float, float]], settings: Settings) -> Iterator[str]:
    """Say so where the token speaks for itself.

    Args:
        effects: model -> the effect of a word hidden behind the token, and behind the other.
        settings: of the backend that hides words behind the token.

    Example:
        >>> from ranker.backends.settings import IGSettings
        >>> print(*speaks({"a": (3.3, 1.3), "b": (2.0, 1.0)}, IGSettings()))  # doctest: +ELLIPSIS
        [MASK] speaks for itself: to hide a word behind it moves these models 2.3 times as far as behind [PAD]...
        >>> list(speaks({"a": (1.2, 1.3)}, IGSettings()))
        []
    """
    times = float(np.median([own / others for own, others in effects.values() if others > 0] or [0.0]))
    if times >= LOUD:
        token: Hide = getattr(settings, settings.hides)
        other = OTHER[token]
        yield (
            f"[{token.upper()}] speaks for itself: to hide a word behind it moves these models {times:.1f} times as "
            f"far as behind [{other.upper()}] (median). Factors may be worth more with "
            f"`--attribution {settings.name}:{settings.hides}={other}`."
        )
