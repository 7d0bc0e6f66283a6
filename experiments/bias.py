"""Biased models: what a shortcut alone says about the label, to train beside (`losses.product_of_experts`).

A logistic regression on features that see only part of the task, fitted to the rows of the training it stands beside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy import optimize, sparse, special

from factors import Example
from factors.types import Floats

PENALTY = 1e-3
"""Of squared weights, a row: enough to have a solution where a word appears with one label only."""


def log_probabilities(kind: str, examples: Sequence[Example], classes: int) -> Floats:
    """Predictions of a biased model on its training rows.

    Args:
        kind: a key of `FEATURES`.
        examples: the N rows.
        classes: C.

    Returns:
        (N, C) log probabilities.

    Example:
        >>> rows = [Example("a", ("A dog ran.", "A dog ran."), 1), Example("b", ("A dog ran.", "No cat sat."), 0)] * 50
        >>> np.exp(log_probabilities("overlap", rows, 2))[:2].argmax(axis=1).tolist()
        [1, 0]
    """
    features = sparse.hstack([sparse.csr_array(FEATURES[kind](examples)), np.ones((len(examples), 1))]).tocsr()
    truth = np.eye(classes)[[example.target for example in examples]]
    shape = (features.shape[1], classes)

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(shape)
        log_p = special.log_softmax(features @ weights, axis=1)
        slope = features.T @ (np.exp(log_p) - truth) / len(truth) + 2 * PENALTY * weights
        return -(truth * log_p).sum() / len(truth) + PENALTY * (weights**2).sum(), slope.ravel()

    solution = optimize.minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B").x.reshape(shape)
    return np.asarray(special.log_softmax(features @ solution, axis=1))


def hypothesis(examples: Sequence[Example]) -> sparse.csr_array:
    """Return (N, words) whether each word is in the last segment, the hypothesis; the premise is not seen.

    Source: Poliak, Naradowsky, Haldar, Rudinger and Van Durme (2018), Hypothesis Only Baselines.
    """
    bags = [_words(example, -1) for example in examples]
    index = {word: i for i, word in enumerate(sorted(set().union(*bags)))}
    cells = [(row, index[word]) for row, bag in enumerate(bags) for word in sorted(bag)]
    rows, columns = zip(*cells, strict=True)
    return sparse.csr_array((np.ones(len(cells)), (rows, columns)), shape=(len(bags), len(index)))


def overlap(examples: Sequence[Example]) -> Floats:
    """Return (N, 3) how the last segment repeats the first: the share of its words, all of them, all of them in one
    run.

    Source: Clark, Yatskar and Zettlemoyer (2019), section 4.2, the features for HANS that need no word vectors.
    """
    rows = []
    for example in examples:
        first, last = _words(example, 0), _words(example, -1)
        share = len(last & first) / max(1, len(last))
        run = _plain(example.segments[-1]) in _plain(example.segments[0])
        rows.append((share, float(share == 1), float(run)))
    return np.array(rows)


FEATURES: Mapping[str, Callable[[Sequence[Example]], Floats | sparse.csr_array]] = {
    "hypothesis": hypothesis,
    "overlap": overlap,
}
"""Kind of bias -> the features that it sees."""


def _words(example: Example, segment: int) -> set[str]:
    index = segment % len(example.segments)
    return {example.text(word).casefold() for word in example.words if word.segment == index}


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split()).join("  ")
