import itertools
from dataclasses import replace

import numpy as np
import pytest
from test_within import Word

from ranker import ClassificationTask, Evidence, decide, labelled
from ranker.statistics.pool import PoolMethod

WORDS = ("alpha", "beta", "gamma")

MODELS = [Word(word) for word in WORDS]
POOL = [{"id": f"r{n}", "text": f"row {n} {' '.join(w for k, w in enumerate(WORDS) if n >> k & 1)}"} for n in range(40)]
UNANSWERED = tuple(
    replace(row, target=None)
    for row in labelled([row | {"label": "no"} for row in POOL], ClassificationTask("said", ("no", "yes"))).examples
)
ANSWERS = [(0, "no"), (1, "yes"), (1, "no"), (2, "no"), (1, "yes")]
"""Row of the pool and what somebody said of it: two of three say yes to the second."""


def decided(answers, method=None):
    """Scores by name, and P(A > B) of each two."""
    rows = [POOL[at] | {"label": label, "annotator": str(who)} for who, (at, label) in enumerate(answers)]
    found = decide(MODELS, rows, pool=UNANSWERED, method=method).decision
    at = [found.names.index(word) for word in WORDS]
    return [found.models[n].score for n in at], np.array(found.p_beats)[np.ix_(at, at)]


def test_answers_that_contradict_each_other_say_the_same_in_any_order():
    """A row that several labelled has noisy readings of one label, whichever comes last."""
    score, beats = decided(ANSWERS)
    for order in itertools.islice(itertools.permutations(ANSWERS), 1, 120, 23):
        other = decided(order)
        assert (other[0], other[1].tolist()) == (score, beats.tolist())
    settled = decided([(0, "no"), (1, "yes"), (2, "no")])[0]
    assert score != pytest.approx(settled)


def test_a_method_that_takes_one_label_a_row_has_the_first_of_them():
    """And the mean of the outcomes, whichever of the labels comes last; the same answer twice counts once."""
    shown = []

    def first_row(pool, targets, rows):
        shown.append((targets.labels[rows[0]].tolist(), targets.outcomes[:, rows[0]].tolist()))
        return targets.outcomes[:, rows[:, 0]]

    own = PoolMethod("FIRST", "pool", first_row)
    answers = enumerate([*ANSWERS, (2, "yes")])
    rows = [POOL[at] | {"label": label, "annotator": str(who)} for who, (at, label) in answers]
    decide(MODELS, rows, pool=UNANSWERED, method="FIRST", evidence=Evidence("none", methods=(own,)))
    ((labels, outcomes),) = shown
    assert labels == [0, 0, 0, 0, 0]
    assert outcomes[0] == [1.0, 0.5, 0.5, 0.5, 0.5]
