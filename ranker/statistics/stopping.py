"""When enough rows are labelled, and when what the models' votes say of labels is not to be believed.

- *Probable*: the leader is within the margin of the best model with a probability of `PROBABLE` or more, under the vote
  of `worlds`. It is looked at after each answer. How often such a winner is right was measured, and is not guaranteed.
- *Certain*: `betting`.
- *Alarm*: each answer had a probability before it was given. Where all of them together are `BEHIND` times less
  probable than under (n_c + 1) / (n + C), the shares of the labels before, the models' votes do not describe these
  labels, and nothing more is claimed. If they did, this would happen in one case of `BEHIND` at most, over all looks
  (Ville 1939).

Axis letters as in `beliefs`.
"""

from __future__ import annotations

import numpy as np

from factors.types import Bools, Floats, Ints
from ranker.statistics.beliefs import Beliefs, least_number

PROBABLE = 0.965
"""The probability at which it is enough: by rows that are asked for the best model, 94 % of such winners were right."""

MARGIN = 0.01
"""How much less accurate than the best model in the domain a winner may be."""

BEHIND = 20.0
"""How many times less probable than their own shares labels have to be."""


def behind(chances: Floats, labels: Ints, classes: int) -> Floats:
    """How many times less probable labels were, under the vote, than under the shares of the labels before.

    Args:
        chances: (K,) the probability that each answer had before it was given, in the order of the answers.
        labels: (K,) the answers.
        classes: C.

    Returns:
        (K,) after each answer: the probabilities of all answers so far under their shares, by those under the vote.

    Example:
        >>> behind(np.array([0.5, 0.25, 0.1]), np.array([1, 1, 1]), 2).round(2).tolist()
        [1.0, 2.67, 20.0]
    """
    given = labels[:, None] == np.arange(classes)
    before = np.cumsum(given, axis=0) - given
    shares = (before[np.arange(len(labels)), labels] + 1) / (np.arange(len(labels)) + classes)
    return np.asarray(np.exp(np.cumsum(np.log(shares) - np.log(chances))))


def alarmed(chances: Floats, labels: Ints, classes: int) -> bool:
    """Whether labels ever were `BEHIND` times less probable under the vote: see `behind`."""
    return bool((behind(chances, labels, classes) >= BEHIND).any())


def chance(beliefs: Beliefs, row: int, label: int) -> float:
    """The probability that the answer to a row is this label, before it is given."""
    labels = beliefs.worlds.labels(*beliefs.patterns.ballots(beliefs.patterns.of[[row]]))[:, :, 0].mean(axis=1)
    return float((1 - beliefs.label_noise) * labels[label] + beliefs.label_noise / beliefs.patterns.classes)


def more_answers(beliefs: Beliefs, row: int, margin: float = MARGIN, probable: float = PROBABLE) -> int:
    """Guess how many more answers it takes until the leader is probably within the margin of the best.

    Each further answer is taken to tell as much as that to the next row, and the leader to lead by as much as now. The
    last answers tell less, so that this is rather a lower end.

    Args:
        beliefs: what is known.
        row: that is asked next.
        margin: how much less accurate than the best the leader may be.
        probable: the probability that is enough.

    Returns:
        0 where it is enough now; -1 where no number would do with this pool.
    """
    from scipy.special import ndtri

    if beliefs.within(margin) >= probable:
        return 0
    if probable >= 1:
        return -1  # a normal distribution has no end
    leader = int(beliefs.score.argmax())
    asked = (beliefs.candidates == beliefs.patterns.of[row]).astype(np.int64)
    lead = beliefs.score[leader] - beliefs.score + margin
    rest = beliefs.apart[leader] / beliefs.rows
    now, raised = beliefs.narrowing(asked)

    def enough(more: Ints) -> Bools:
        left = now[leader] / (1 + more * raised[leader])
        return np.asarray((lead >= ndtri(probable) * np.sqrt(left + rest)).all())

    return int(least_number(enough, np.array(True)))
