"""LIME: a linear model of the explained output by which words are hidden, fitted around one example.

    beta = argmin_b sum_s pi_s (f(row_s) - b_0 - sum_w b_w z_sw)^2 + ridge |b|^2
    pi_s = sqrt(exp(-d_s^2 / width^2)),    d_s = 100 (1 - sqrt(words seen / W))

z_sw is 1 where sample s shows word w, f the explained output, d_s the cosine distance to the example in hundredths.
The number of words that a sample hides is uniform on 1 to W; the first sample is the example itself.

Source: Ribeiro, Singh, Guestrin 2016, "Why Should I Trust You?"; the regression is that of `lime.lime_base` with all
features in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from factors.rounding import TIE
from factors.types import Attributions, Bools, Example, Floats
from ranker.attribution import perturb
from ranker.attribution.settings import LIMESettings, Units
from ranker.progress import Advance
from ranker.records import digest
from ranker.sources.base import E, Perturbed
from ranker.tasks.classes import softmax

TEXT_VERSION = 1
"""Version of the digests of texts, which are those of the store: another version draws other samples."""


def attribute(
    model: Perturbed[E], examples: Sequence[Example], settings: LIMESettings, advance: Advance
) -> Iterator[Attributions]:
    """Compute LIME's coefficients of examples' words, each shared equally by the tokens of its word.

    Words are identified by their place: a repeated word, or one in both segments, has a score at each place. Tokens of
    no word are always seen, and score 0; separators only where the settings do not hide them.

    The rest is as of `ranker.attribution.attribute`; ``residual`` is 1 - R2, ``effort`` the samples.
    """
    drawn = model.seed

    def request(encoding: E, example: Example) -> tuple[tuple[E, Units, Bools], E, Bools]:
        rng = np.random.default_rng(seed_of(settings.seed, drawn, example))
        units = settings.units(encoding)
        masks = samples(units.words, settings.samples, rng)
        return (encoding, units, masks), encoding, perturb.token_masks(masks, units.word)

    # encodings first: a last call of theirs reports truncation
    requests = map(request, model.encodings(examples), examples)
    for (e, units, masks), logits in model.answers(requests, settings.hide, advance):
        values = perturb.explained_values(logits, settings.label, settings.output)
        coefficients, r2 = fit(masks, values, settings.kernel_width, settings.ridge)
        scores = perturb.share_among_tokens(coefficients, units.word)
        yield settings.attributed(e, softmax(logits[:1])[0], scores, residual=1 - r2, effort=len(values))


def seed_of(seed: int, model: str, example: Example) -> int:
    """Return the seed of one example's samples, independent of its place and of other examples."""
    text = digest({"schema": TEXT_VERSION, "segments": example.segments})
    parts = (str(seed), model, "lime", text)
    return int.from_bytes(hashlib.sha256("\0".join(parts).encode()).digest()[:16], "big")


def samples(words: int, count: int, rng: np.random.Generator) -> Bools:
    """Draw random sets of words: (count, words), True where a word is seen; the first shows all of them.

    Each of the others hides a number of words that is uniform on 1 to ``words``, and any words with equal chance.

    Example:
        >>> samples(3, 50, np.random.default_rng(0)).sum(axis=1).max()
        np.int64(3)
    """
    if not words:
        return np.ones((1, 0), bool)
    hidden = rng.integers(1, words, size=count - 1, endpoint=True)
    order = rng.random((count - 1, words)).argsort(axis=1).argsort(axis=1)
    return np.concatenate([np.ones((1, words), bool), order >= hidden[:, None]])


def fit(masks: Bools, values: Floats, kernel_width: float, ridge: float) -> tuple[Floats, float]:
    """Fit the ridge regression of (S,) values on (S, W) masks of words; the intercept is not penalised.

    Returns:
        (W,) the coefficients, and the weighted R2 of the fit.
    """
    words = masks.shape[1]
    if not words:
        return np.zeros(0), 1.0
    distances = 100 * (1 - np.sqrt(masks.mean(axis=1)))
    kernel = np.sqrt(np.exp(-(distances**2) / kernel_width**2))
    share = kernel / kernel.sum()
    x, y = masks - share @ masks, values - share @ values
    coefficients = np.linalg.solve(x.T @ (kernel[:, None] * x) + ridge * np.eye(words), x.T @ (kernel * y))
    left, total = share @ (y - x @ coefficients) ** 2, share @ y**2
    return coefficients, float(1 - left / total) if total > (TIE * np.abs(values).max()) ** 2 else 1.0
