"""Whether the token that hides words says something itself.

Attributions ask what a model makes of an example without some of its words, and put a token in their place. The less
that token says the better, and [MASK], which nothing in fine-tuning ever reads, may say a lot: to encoders of sentence
pairs it can be a word that the other sentence lacks, more so than any real word. So the effect of single words hidden
behind [MASK] is set beside their effect behind [PAD].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from factors.types import Attributions, Example
from ranker.backends import OcclusionSettings, Settings
from ranker.errors import ModelError
from ranker.measure import Progress, Question, Subject

ROWS = 16
"""Examples that are enough to tell."""

LOUD = 1.25
"""[MASK] speaks for itself where hiding a word behind it does so many times as much as behind [PAD]."""


def questions(settings: Settings, population: Sequence[Example]) -> list[Question]:
    """What a model is asked: what single words do, hidden behind [MASK] and behind [PAD], in some of the examples.

    Nothing where a backend hides no words behind [MASK].
    """
    if _parameter(settings) is None:
        return []
    some = population[:: max(len(population) // ROWS, 1)][:ROWS]
    return [
        Question("words behind [MASK]", some, "occlusion", OcclusionSettings(hide="mask")),
        Question("words behind [PAD]", some, "occlusion", OcclusionSettings(hide="pad")),
    ]


def effects(subject: Subject, asked: Sequence[Question], progress: Progress) -> tuple[float, float] | None:
    """The effects of a word hidden behind [MASK], and behind [PAD]; None where that was not asked.

    None, too, where the model's tokenizer has no such token.
    """
    try:
        behind = [effect(subject.answer(question, progress)) for question in asked]
    except ModelError:
        return None
    return (behind[0], behind[1]) if behind else None


def effect(rows: Sequence[Attributions]) -> float:
    """How far hiding one word moves the margin, either way, on average over all words; in log-odds."""
    changes = np.abs(np.concatenate([row.word_scores for row in rows]))
    return float(changes.mean()) if changes.size else 0.0


def speaks(effects: Mapping[str, tuple[float, float]], attribution: str, settings: Settings) -> Iterator[str]:
    """Say so where [MASK] speaks for itself.

    Args:
        effects: model -> the effect of a word hidden behind [MASK], and behind [PAD].
        attribution: the backend that hides words behind [MASK].
        settings: its own.

    Example:
        >>> from ranker.backends import SHAPSettings
        >>> print(*speaks({"a": (3.3, 1.3), "b": (2.0, 1.0)}, "shap", SHAPSettings()))  # doctest: +ELLIPSIS
        [MASK] speaks for itself: to hide a word behind it moves these models 2.3 times as far as behind [PAD]...
        >>> list(speaks({"a": (1.2, 1.3)}, "shap", SHAPSettings()))
        []
    """
    times = float(np.median([mask / pad for mask, pad in effects.values() if pad > 0] or [0.0]))
    if times >= LOUD:
        yield (
            f"[MASK] speaks for itself: to hide a word behind it moves these models {times:.1f} times as far as behind "
            f"[PAD] (median). Factors may be worth more with `--attribution {attribution}:{_parameter(settings)}=pad`."
        )


def _parameter(settings: Settings) -> str | None:
    """The parameter by which a backend hides words behind [MASK]."""
    return next((name for name in ("baseline", "hide") if getattr(settings, name, None) == "mask"), None)
