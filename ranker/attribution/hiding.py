"""Check that the token that hides words has no meaning of its own.

Attributions compare a model's answers with and without some words, and put a token in their place, which should mean as
little as possible. To encoders of sentence pairs [MASK], which fine-tuning never shows, can be a word that the other
sentence lacks, more so than any real word; to another encoder [PAD] may be as odd. So the effect of single words hidden
behind one token is compared with their effect behind the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from factors.types import Attributions, Example
from ranker.attribution.settings import Attributing, OcclusionSettings, Settings
from ranker.sources.base import Hide

ROWS = 16
"""Examples that suffice for the check."""

LOUD = 1.25
"""Ratio of the effects of the two tokens from which on the first counts as meaningful."""

OTHER: dict[Hide, Hide] = {"mask": "pad", "pad": "mask"}
"""Tokens that hide words, each with the one that it is compared with."""


def occlusion_settings(settings: Settings) -> tuple[OcclusionSettings, ...]:
    """Return settings that hide single words behind a backend's token, and behind the other.

    It is empty where the backend hides words in another way.

    Example:
        >>> from ranker.attribution.settings import SHAPSettings
        >>> [occlusion.hide for occlusion in occlusion_settings(SHAPSettings())]
        ['pad', 'mask']
    """
    if not isinstance(settings, Attributing) or getattr(settings, settings.hides) not in OTHER:
        return ()
    token: Hide = getattr(settings, settings.hides)
    return tuple(OcclusionSettings(settings.target, hide=hide) for hide in (token, OTHER[token]))


def sample_examples(population: Sequence[Example]) -> Sequence[Example]:
    """Return `ROWS` of the examples, spread over all of them."""
    return population[:: max(len(population) // ROWS, 1)][:ROWS]


def mean_effect(attributions: Sequence[Attributions]) -> float:
    """Return the mean absolute change of the margin by hiding one word, over the words seen; in log-odds."""
    changes = np.abs(np.concatenate([attribution.word_scores for attribution in attributions]))
    finite = changes[~np.isnan(changes)]
    return float(finite.mean()) if finite.size else 0.0


def token_warnings(effects: Mapping[str, tuple[float, float]], settings: Settings) -> Iterator[str]:
    """Warn where the token has a meaning of its own.

    Args:
        effects: model -> the mean effect of a word hidden behind the token, and behind the other.

    Example:
        >>> from ranker.attribution.settings import IGSettings
        >>> print(*token_warnings({"a": (3.3, 1.3), "b": (2.0, 1.0)}, IGSettings()))  # doctest: +ELLIPSIS
        [MASK] means something to these models: a word hidden behind it moves them 2.3 times as far as behind [PAD]...
        >>> list(token_warnings({"a": (1.2, 1.3)}, IGSettings()))
        []
    """
    times = float(np.median([first / second for first, second in effects.values() if second > 0] or [0.0]))
    if times >= LOUD:
        token: Hide = getattr(settings, settings.hides)
        other_token = OTHER[token]
        yield (
            f"[{token.upper()}] means something to these models: a word hidden behind it moves them {times:.1f} times "
            f"as far as behind [{other_token.upper()}] (median). Factors may be worth more with "
            f"`attribution={settings.name}:{settings.hides}={other_token}`."
        )
