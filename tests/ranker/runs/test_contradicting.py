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
    rows = [POOL[place] | {"label": label, "annotator": str(person)} for person, (place, label) in enumerate(answers)]
    decision = decide(MODELS, rows, pool=UNANSWERED, method=method).decision
    places = [decision.names.index(word) for word in WORDS]
    return [decision.models[n].score for n in places], np.array(decision.p_beats)[np.ix_(places, places)]


@pytest.mark.more
def test_answers_that_contradict_each_other_say_the_same_in_any_order():
    """A row that several labelled has noisy readings of one label, whichever comes last."""
    score, beats = decided(ANSWERS)
    for order in itertools.islice(itertools.permutations(ANSWERS), 1, 120, 23):
        other_decision = decided(order)
        assert (other_decision[0], other_decision[1].tolist()) == (score, beats.tolist())
    settled = decided([(0, "no"), (1, "yes"), (2, "no")])[0]
    assert score != pytest.approx(settled)


def test_a_method_that_takes_one_label_a_row_has_the_first_of_them():
    """And the mean of the outcomes, whichever of the labels comes last; the same answer twice counts once."""
    calls = []

    def first_row(pool, targets, rows):
        calls.append((targets.labels[rows[0]].tolist(), targets.outcomes[:, rows[0]].tolist()))
        return targets.outcomes[:, rows[:, 0]]

    own_method = PoolMethod("FIRST", "pool", first_row)
    answers = enumerate([*ANSWERS, (2, "yes")])
    rows = [POOL[place] | {"label": label, "annotator": str(person)} for person, (place, label) in answers]
    decide(MODELS, rows, pool=UNANSWERED, method="FIRST", evidence=Evidence("none", methods=(own_method,)))
    ((labels, outcomes),) = calls
    assert labels == [0, 0, 0, 0, 0]
    assert outcomes[0] == [1.0, 0.5, 0.5, 0.5, 0.5]
