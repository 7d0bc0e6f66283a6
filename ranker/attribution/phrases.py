"""Phrase removal: what the explained output loses when a phrase is hidden, while a word beside it is hidden, too.

    score_p = mean over words b beside p of f(x without b) - f(x without b and p)

A phrase is a word, or a negation with one or more words behind it ("not so good"). With a neighbour hidden, a word
shows whose evidence the neighbour repeats. A phrase without a neighbour is hidden from the whole text. A word has the
score of a phrase that it is in, shared equally by the phrase's words: of several the greatest in magnitude, of equals
that of the shortest phrase.

Source: Yang et al. 2023, "GLUE-X", section 3.4; Jin et al. 2019, "Towards Hierarchical Importance Attribution". GLUE-X
also averages over other texts with the same phrase, and does not say which words are beside one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from factors.types import SPECIAL, Attributions, Bools, Example, Floats, Span
from ranker.attribution import perturb
from ranker.attribution.settings import PhraseSettings
from ranker.progress import Advance
from ranker.sources.base import E, Perturbed
from ranker.tasks.classes import softmax

NEGATIONS = frozenset(
    ("no", "not", "never", "none", "nobody", "nothing", "neither", "nor", "nowhere", "without", "cannot")
    + ("hardly", "barely", "scarcely")
)
"""Words that a phrase of several begins with, in lower case, beside those that end in n't or begin with non-."""

Words = tuple[int, ...]
"""Numbers of words, ascending: a phrase, or what is hidden."""

Removals = Mapping[Words, Sequence[tuple[Words, Words]]]
"""Phrase -> what is hidden without it, and with it, of each context."""


def attribute(
    model: Perturbed[E], examples: Sequence[Example], settings: PhraseSettings, advance: Advance
) -> Iterator[Attributions]:
    """Compute the effect of hiding each phrase on the output; the tokens of a word share its score equally.

    Tokens of no word are always seen, and score 0.

    The rest is as of `ranker.attribution.attribute`; ``effort`` is the number of passes.
    """

    def request(encoding: E, example: Example) -> tuple[tuple[E, Removals, dict[Words, int]], E, Bools]:
        words = [example.words[w] for w in np.unique(encoding.word[encoding.word != SPECIAL])]
        removals = removals_of(words, [example.text(word) for word in words], settings)
        all_hidden: list[Words] = [(), *(hidden for pairs in removals.values() for pair in pairs for hidden in pair)]
        places = {hidden: place for place, hidden in enumerate(dict.fromkeys(all_hidden))}
        masks = np.array([[w not in hidden for w in range(len(words))] for hidden in places], dtype=bool)
        return (encoding, removals, places), encoding, perturb.token_masks(masks, encoding.word)

    # encodings first: a last call of theirs reports truncation
    requests = map(request, model.encodings(examples), examples)
    for (e, removals, places), logits in model.answers(requests, settings.hide, advance):
        values = perturb.explained_values(logits, settings.label, settings.output)
        scores = word_scores(removals, {hidden: float(values[place]) for hidden, place in places.items()}, e.words)
        token_scores = perturb.share_among_tokens(scores, e.word)
        yield settings.attributed(e, softmax(logits[:1])[0], token_scores, effort=len(values))


def removals_of(words: Sequence[Span], texts: Sequence[str], settings: PhraseSettings) -> Removals:
    """Return the phrases of a text, and the words that are hidden to score each.

    Example:
        >>> words, texts = [Span(0, 0, 3), Span(0, 4, 8), Span(0, 9, 10)], ["not", "good", "!"]
        >>> removals_of(words, texts, PhraseSettings(window=2))
        {(0,): [((1,), (0, 1))], (1,): [((0,), (0, 1)), ((2,), (1, 2))], (2,): [((1,), (1, 2))], (0, 1): [((2,), (0, 1, 2))]}
    """  # noqa: E501
    lengths = {w: settings.window if negates(text) else 1 for w, text in enumerate(texts)}
    runs = [tuple(range(w, w + length)) for w, most in lengths.items() for length in range(1, most + 1)]
    phrases = sorted((run for run in runs if run[-1] < len(words) and _together(words, run)), key=len)
    removals = {}
    for phrase in phrases:
        near = range(max(phrase[0] - settings.reach, 0), min(phrase[-1] + settings.reach + 1, len(words)))
        beside: list[Words] = [(w,) for w in near if w not in phrase and _together(words, (w, phrase[0]))]
        removals[phrase] = [(hidden, tuple(sorted(hidden + phrase))) for hidden in beside or [()]]
    return removals


def word_scores(removals: Removals, values: Mapping[Words, float], words: int) -> Floats:
    """Return (W,) scores of words from the explained output with words hidden."""
    scores = np.zeros(words)
    for phrase, pairs in removals.items():
        share = np.mean([values[without] - values[with_phrase] for without, with_phrase in pairs]) / len(phrase)
        for word in phrase:
            if not abs(share) <= abs(scores[word]):  # nan where an answer has nothing to attribute
                scores[word] = share
    return scores


def negates(word: str) -> bool:
    """Return whether a phrase of several words begins with this one.

    Example:
        >>> [negates(word) for word in ("Not", "didn't", "non-existent", "knot")]
        [True, True, True, False]
    """
    lower = word.casefold().replace("\u2019", "'")
    return lower in NEGATIONS or lower.endswith("n't") or lower.startswith("non-")


def _together(words: Sequence[Span], places: Sequence[int]) -> bool:
    return words[places[0]].segment == words[places[-1]].segment
