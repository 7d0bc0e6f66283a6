"""Ranking methods that combine the metric with another method of the table; they rank whole draws, and are no means.

They are called after the metric. Of classes that is ACC:

- ACC+TIES: by ACC; models that tie by the factor declared for the set, or by NLL where it has none.
- ACC+FACTOR: by the sum of ACC and that factor, each standardised over the models of the draw. So adding or removing a
  model can change how two others compare.

Nothing is fitted: the set's card names the factor, and the weights are equal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factors.rounding import TIE
from factors.types import Floats

TIES = "+TIES"
FACTOR = "+FACTOR"
"""Ends of the names of the two kinds."""

SAFE = "NLL"
"""Method that breaks ties where no factor is declared."""

LEAST = 1e-6
"""Bound of the score that breaks ties; two accuracies on K < 10^6 examples differ by more."""


def names(measured: Sequence[str], designed: str | None) -> dict[str, str]:
    """Return the available combined methods: name -> the method that the metric is combined with.

    Args:
        measured: the methods of the table, the metric first.
        designed: the factor declared for the set.

    Example:
        >>> names(["ACC", "NLL", "INDEX-DIFF"], "INDEX-DIFF")
        {'ACC+TIES': 'INDEX-DIFF', 'ACC+FACTOR': 'INDEX-DIFF'}
        >>> names(["ACC", "NLL"], "INDEX-DIFF")
        {'ACC+TIES': 'NLL'}
    """
    ties, factor = (f"{measured[0]}{end}" for end in (TIES, FACTOR))
    if designed in measured[1:]:
        return {ties: str(designed), factor: str(designed)}
    return {ties: SAFE} if SAFE in measured else {}


def scores(name: str, outcome: Floats, other_scores: Floats) -> Floats:
    """Return (M, B) scores of the models on each draw; only their order within a draw means anything.

    Args:
        outcome: (M, B) the models' mean outcomes on each draw.
        other_scores: (M, B) those by the other method, higher is better.
    """
    return (
        _with_ties(outcome, other_scores) if name.endswith(TIES) else _standardise(outcome) + _standardise(other_scores)
    )


def _with_ties(outcome: Floats, other_scores: Floats) -> Floats:
    beaten = (other_scores[:, None] > other_scores + TIE).mean(axis=1)
    return np.asarray(outcome + LEAST * beaten)


def _standardise(scores: Floats) -> Floats:
    """Return scores with zero mean and unit spread over the models; all zero where the models do not differ."""
    centred: Floats = scores - scores.mean(axis=0)
    spread = centred.std(axis=0)
    return np.asarray(np.divide(centred, spread, out=np.zeros_like(centred), where=spread > TIE))
