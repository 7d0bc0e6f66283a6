"""Stopping rules for labelling, and an alarm where the models' votes do not describe the labels.

- *Probable*: the leader is within the margin of the best model with a probability of `PROBABLE` or more, under the vote
  of `posterior_samples`. It is checked after each answer. The share of such winners that are right was measured, and is
  not guaranteed.
- *Shortfall*: what is expected to be lost by taking the leader (`Draws.shortfall`) is at most what the user allows,
  after five answers or more. Models that are about equal end a session so, since nothing is lost by any of them.
- *Alarm*: the vote gave each answer a probability in advance. Where all of them together are `BEHIND` times less
  probable than under (n_c + 1) / (n + C), the shares of the labels before, the models' votes do not describe these
  labels, and nothing more is claimed. If they did, this would happen in one case of `BEHIND` at most, over all checks
  (Ville 1939).

Axis letters as in `vote`.
"""

from __future__ import annotations

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics.vote import Beliefs

PROBABLE = 0.965
"""Probability that is enough: with rows chosen for the best model, 94 % of such winners were right."""

MARGIN = 0.01
"""Accuracy by which a winner may be below the best model in the domain."""

BEHIND = 20.0
"""Factor by which labels must be less probable under the vote than under their own shares to raise the alarm."""


def evidence_against_vote(chances: Floats, labels: Ints, classes: int) -> Floats:
    """Return (K,) how many times less probable all answers so far were under the vote than under the labels' shares.

    Args:
        chances: (K,) the probability that each answer had before it was given, in the order of the answers.
        labels: (K,) the answers.

    Example:
        >>> evidence_against_vote(np.array([0.5, 0.25, 0.1]), np.array([1, 1, 1]), 2).round(2).tolist()
        [1.0, 2.67, 20.0]
    """
    is_label = labels[:, None] == np.arange(classes)
    before = np.cumsum(is_label, axis=0) - is_label
    shares = (before[np.arange(len(labels)), labels] + 1) / (np.arange(len(labels)) + classes)
    return np.asarray(np.exp(np.cumsum(np.log(shares) - np.log(chances))))


def raises_alarm(chances: Floats, labels: Ints, classes: int) -> bool:
    """Return whether labels ever were `BEHIND` times less probable under the vote (`evidence_against_vote`)."""
    return bool((evidence_against_vote(chances, labels, classes) >= BEHIND).any())


def answer_probability(beliefs: Beliefs, row: int, label: int) -> float:
    """Return the probability that the answer to a row is this label, before it is given."""
    labels = beliefs.worlds.labels(*beliefs.patterns.ballots(beliefs.patterns.pattern_of_row[[row]]))[:, :, 0].mean(
        axis=1
    )
    return float((1 - beliefs.label_noise) * labels[label] + beliefs.label_noise / beliefs.patterns.classes)
