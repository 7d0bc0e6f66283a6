"""How good a model's answers are, and its attributions by their own measure; and what to warn of."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from factors import Attributions, Example
from factors.types import Floats
from ranker.attribution.settings import Settings
from ranker.results.records import FOLLOWS, Quality
from ranker.tasks.base import Task
from ranker.tasks.classes import Classes


def misled_share(answers: Classes, examples: Sequence[Example], task: Task) -> float | None:
    """The share of the examples on which the shortcut is wrong where a model gives the shortcut's label, a fraction.

    None where the task has no such label, or every example that one.
    """
    given = answers.predicted[[example.label != task.shortcut for example in examples]]
    return float((given == task.shortcut).sum() / len(given)) if len(given) and task.shortcut is not None else None


def judged(attributions: Sequence[Attributions], population: Sequence[Example], settings: Settings) -> Floats:
    """Judge a model's attributions, row by row.

    Args:
        attributions: (N,); none where nothing was attributed.
        population: (N,) their examples.
        settings: of the backend.

    Returns:
        (3, N) the error by the backend's own measure; 1 where it is over the tolerance; 1 where the row was cut.
    """
    pairs = zip(attributions, population, strict=bool(attributions))
    return np.array([(settings.error(one), not settings.accepts(one), cut(one, row)) for one, row in pairs]).T.reshape(
        3, -1
    )


def quality_of(judged: Floats) -> Quality:
    """How good a model's attributions are, and how many are not good enough, from what `judged` says of each row."""
    errors, over, truncated = judged
    errors = errors[np.isfinite(errors)]
    return Quality(
        error_median=float(np.median(errors)) if len(errors) else None,
        error_high=float(np.quantile(errors, 0.95)) if len(errors) else None,
        over_tolerance=int(over.sum()),
        truncated=int(truncated.sum()),
    )


def cut(attribution: Attributions, example: Example) -> bool:
    """Whether a model did not see the end of a segment; not known of bare probabilities, and then not said."""
    if not len(attribution.tokens):
        return False
    texts = example.segments
    last = {w.segment: n for n, w in enumerate(example.words) if has_sign(texts[w.segment][w.start : w.end])}
    seen = attribution.word_scores
    return any(n >= len(seen) or bool(np.isnan(seen[n])) for n in last.values())


def has_sign(text: str) -> bool:
    """Whether a text has a sign of its own; accents, joiners and codes that stand alone have none, nor a token.

    Example:
        >>> has_sign("."), has_sign("\\u200b")
        (True, False)
    """
    return any(unicodedata.category(character)[0] not in "MC" for character in text)


def below_chance(in_domain: Mapping[str, float], classes: int) -> Iterator[str]:
    """Warn of models that do worse in-domain than guessing does: their labels are probably mapped wrongly.

    Args:
        in_domain: model -> accuracy, a fraction.
        classes: C.

    Example:
        >>> list(below_chance({"a": 0.84, "b": 0.16}, 2))
        ['b is right on only 16.0 % of the in-domain rows, chance is 50.0 %: are its labels wrong (`label_map`)?']
    """
    for name, accuracy in in_domain.items():
        if accuracy < 1 / classes:
            right = f"{name} is right on only {100 * accuracy:.1f} % of the in-domain rows"
            yield f"{right}, chance is {100 / classes:.1f} %: are its labels wrong (`label_map`)?"


def worse_than_guessing(right: Mapping[str, int], rows: int, classes: int) -> Iterator[str]:
    """Warn of models that are right less often than guessing is: labels or columns are probably read wrongly.

    Args:
        right: model -> on how many rows it is right.
        rows: how many there are.
        classes: C.

    Example:
        >>> list(worse_than_guessing({"a": 9, "b": 0}, 10, 2))
        ['b is right on 0 of 10 rows, as guessing is in less than 1 % of cases: are the labels read as they are meant?']
        >>> list(worse_than_guessing({"a": 5, "b": 3}, 10, 2))
        ['No model is right on more rows than guessing is.']
    """
    from scipy.special import bdtr

    unlikely = [name for name, hits in right.items() if bdtr(hits, rows, 1 / classes) < 0.01]
    for name in unlikely:
        yield (
            f"{name} is right on {right[name]} of {rows} rows, as guessing is in less than 1 % of cases: are the "
            "labels read as they are meant?"
        )
    if not unlikely and right and max(right.values()) <= rows / classes:
        yield "No model is right on more rows than guessing is."


def shortcut_avoided(misled: Mapping[str, float]) -> Iterator[str]:
    """Say so where no model follows the shortcut: what measures agreement with it has little to go by.

    Args:
        misled: model -> how often the shortcut misleads it, a fraction; empty where that is not known.

    Example:
        >>> print(*shortcut_avoided({"a": 0.64, "b": 0.2}))  # doctest: +ELLIPSIS
        No model follows the shortcut: where it is wrong, a gives its label most often, on 64 % of the rows...
        >>> list(shortcut_avoided({"a": 0.96, "b": 0.2}))
        []
    """
    most = max(misled, key=lambda name: misled[name], default=None)
    if most is not None and misled[most] < FOLLOWS:
        yield (
            f"No model follows the shortcut: where it is wrong, {most} gives its label most often, on "
            f"{100 * misled[most]:.0f} % of the rows. Factors measure agreement with a shortcut, and may tell little "
            "here."
        )
