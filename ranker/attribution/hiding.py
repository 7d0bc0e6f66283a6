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
from ranker.attribution.settings import Attributing, OcclusionSettings, Settings
from ranker.sources.base import Hide

ROWS = 16
"""Examples that are enough to tell."""

LOUD = 1.25
"""A token speaks for itself where hiding a word behind it does so many times as much as behind the other."""

OTHER: dict[Hide, Hide] = {"mask": "pad", "pad": "mask"}
"""The tokens that words are hidden behind, each with the one that it is set beside."""


def compared(settings: Settings) -> tuple[OcclusionSettings, ...]:
    """Single words hidden behind the token that a backend hides them behind, and behind the other.

    Nothing where it hides words in another way.

    Example:
        >>> from ranker.attribution.settings import SHAPSettings
        >>> [one.hide for one in compared(SHAPSettings())]
        ['pad', 'mask']
    """
    if not isinstance(settings, Attributing) or getattr(settings, settings.hides) not in OTHER:
        return ()
    token: Hide = getattr(settings, settings.hides)
    return tuple(OcclusionSettings(settings.target, hide=hide) for hide in (token, OTHER[token]))


def enough(population: Sequence[Example]) -> Sequence[Example]:
    """Some of the examples, spread over all of them: as many as are enough to tell."""
    return population[:: max(len(population) // ROWS, 1)][:ROWS]


def effect(attributions: Sequence[Attributions]) -> float:
    """How far hiding one word moves the margin, either way, on average over the words that were seen; in log-odds."""
    changes = np.abs(np.concatenate([attribution.word_scores for attribution in attributions]))
    seen = changes[~np.isnan(changes)]
    return float(seen.mean()) if seen.size else 0.0


def speaks(effects: Mapping[str, tuple[float, float]], settings: Settings) -> Iterator[str]:
    """Say so where the token speaks for itself.

    Args:
        effects: model -> the effect of a word hidden behind the token, and behind the other.
        settings: of the backend that hides words behind the token.

    Example:
        >>> from ranker.attribution.settings import IGSettings
        >>> print(*speaks({"a": (3.3, 1.3), "b": (2.0, 1.0)}, IGSettings()))  # doctest: +ELLIPSIS
        [MASK] means something to these models: a word hidden behind it moves them 2.3 times as far as behind [PAD]...
        >>> list(speaks({"a": (1.2, 1.3)}, IGSettings()))
        []
    """
    times = float(np.median([own / others for own, others in effects.values() if others > 0] or [0.0]))
    if times >= LOUD:
        token: Hide = getattr(settings, settings.hides)
        other = OTHER[token]
        yield (
            f"[{token.upper()}] means something to these models: a word hidden behind it moves them {times:.1f} times "
            f"as far as behind [{other.upper()}] (median). Factors may be worth more with "
            f"`attribution={settings.name}:{settings.hides}={other}`."
        )
