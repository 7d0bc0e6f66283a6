"""Posterior of a metric of label sets, given a pool and a few labelled rows: each label's own vote (SURROGATE).

Whether a row has a label is a label of two classes, on which the models vote as in `ranker.statistics.vote`; labels are
taken as independent. In world i, with t, p and l the shares of rows of the domain where both answer and truth, the
answer, and the truth have label c, a draw of the metric of model m is value(t_im, p_im, l_i) of all labels together.

Axis letters as in `ranker.statistics.vote`: M models, N rows, S worlds; L labels, K labelled rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from factors.types import Bools, Ints
from ranker.statistics.draws import Draws, kinds_of
from ranker.statistics.patterns import fold
from ranker.statistics.vote import LABEL_NOISE, MetricByLabel, believe, draw_values


@dataclass(frozen=True, eq=False)
class LabelVotes:
    """Label sets that models give to the rows of a pool, those of a few rows, and a metric.

    Attributes:
        answers: (M, N, L) whether a model gives a label to a row.
        places: (K,) the labelled rows; a row may occur several times.
        truth: (K, L) whether they have a label.
        metric: (3, 2, 3) whether both, the answer and the truth have a label, of an answer without it, with it and
            none, and each truth; and (..., 3 L + 1) means of these of all labels, and of other labels answered -> (...)
            values.
    """

    answers: Bools
    places: Ints
    truth: Bools
    metric: MetricByLabel


def draw(evidence: LabelVotes, label_noise: float = LABEL_NOISE) -> Draws:
    """Draw models' values of a metric in the domain; the draws are seeded by pool and answers, as in `vote`.

    Args:
        label_noise: the share of labelled rows that are wrong.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> truth = rng.random((1, 40, 2)) < 0.5
        >>> answers = truth ^ (rng.random((3, 40, 2)) < np.array([0.1, 0.2, 0.4])[:, None, None])
        >>> from ranker.tasks.label_sets import LabelSetTask
        >>> metric = LabelSetTask("moods", possible=("joy", "love")).metric_named("macro-f1")
        >>> by_label = MetricByLabel(metric.by_label(), metric.value)
        >>> draw(LabelVotes(answers, np.arange(5), truth[0, :5], by_label)).order.tolist()
        [0, 1, 2]
    """
    models, _, labels = evidence.answers.shape
    counts, parts = evidence.metric._replace(value=lambda means: means), []
    for label in range(labels):
        patterns = fold(evidence.answers[:, :, label].astype(np.int64), 2)
        beliefs = believe(patterns, evidence.places, evidence.truth[:, label].astype(np.int64), label_noise)
        parts.append(draw_values(beliefs.label_shares(counts), counts, beliefs.rng(1)))
    means = np.stack(parts, axis=-1).reshape(-1, models, 3 * labels)  # (S, M, 3, L), whose last axes are joined
    drawn = evidence.metric.value(np.concatenate([means, np.zeros_like(means[..., :1])], axis=-1))
    return Draws(drawn, 0, kinds_of(evidence.answers.reshape(models, -1).astype(np.int64)))
