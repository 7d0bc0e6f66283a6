import dataclasses

import numpy as np
import pytest
import scipy.stats
from test_evaluation import table

from ranker.errors import UnknownName, UsageError
from ranker.scoring.decision import decide
from ranker.statistics import posterior
from ranker.statistics.methods import LABEL_FREE
from ranker.statistics.pool import Pool


def labelled(right, **kwargs):
    """A table without truth, from who was right on which row."""
    made = table(np.asarray(right, dtype=float)[:, None], ["ACC"], np.zeros(len(right)), **kwargs)
    return dataclasses.replace(made, ood_accuracy=None)


def test_models_that_cannot_be_told_apart_are_in_one_group():
    """A group is broken by any pair in it that can be told apart, also one against the order; groups may overlap."""

    def groups(better):
        found = decide(labelled(np.eye(4))).decision
        found = dataclasses.replace(found, p_beats=tuple(map(tuple, better.tolist())))
        return [tuple(found.models.index(name) for name in group) for group in found.groups]

    assert groups(np.full((4, 4), 0.99)) == [(0,), (1,), (2,), (3,)]
    near = np.full((4, 4), 0.6)
    assert groups(near) == [(0, 1, 2, 3)]
    near[0, 3] = 0.95
    assert groups(near) == [(0, 1, 2), (1, 2, 3)]
    near[1, 2] = 0.01
    assert groups(near) == [(0, 1), (0, 2), (1, 3), (2, 3)]


def test_a_decision_worked_by_hand():
    """Three models on four rows: order, accuracies, probabilities, groups and labels."""
    found = decide(labelled([[1, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0]])).decision
    assert found.models == ("m1", "m2", "m0")
    assert found.method == "ACC"
    assert found.accuracy == (1.0, 0.75, 0.25)
    weights = posterior.weigh(np.array([[1, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0]], bool))
    won = [
        sum(w * scipy.stats.beta.sf(0.5, n + c, c) for w, c in zip(weights, posterior.PRIORS, strict=True))
        for n in (1, 3)
    ]
    assert found.p_beats[0] == pytest.approx([0.5, *won])
    assert found.groups == (("m1", "m2"), ("m0",))
    assert found.more_labels[0][2] == 0
    assert found.more_labels[0][1] > 0
    # four right of four, and one of each from the uniform prior
    assert (found.low[0], found.high[0]) == pytest.approx(scipy.stats.beta.interval(0.95, 5, 1))
    assert found.p_best[0] > found.p_best[1] > found.p_best[2]


def test_ties_are_broken_by_the_declared_factor_or_by_the_loss():
    """ACC+TIES is the default: NLL decides between models of equal accuracy, the declared factor if there is one."""
    hits = np.array([[1.0, 0.0], [0.0, 1.0]])
    loss, factor = np.array([[0.5, 0.5], [0.9, 0.9]]), np.array([[2.0, 2.0], [1.0, 1.0]])
    made = table(np.stack([hits, loss, factor], axis=1), ["ACC", "NLL", "INDEX-DIFF"], np.zeros(2))
    made = dataclasses.replace(made, ood_accuracy=None)
    assert decide(made).decision.models == ("m0", "m1")
    assert decide(made, designed="INDEX-DIFF").decision.models == ("m1", "m0")
    assert decide(made).decision.method == "ACC+TIES"
    assert decide(made).decision.p_beats[0][1] == 0.5


def three(method=None, **more):
    """A decision between three models of two methods: right on 1, 3 and 2 rows of four; losses .1, .2 and .3."""
    hits = np.array([[1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 0, 0]], dtype=float)
    loss = np.repeat([[0.1], [0.2], [0.3]], 4, axis=1)
    made = table(np.stack([hits, loss], axis=1), ["ACC", "NLL"], np.zeros(3))
    return decide(dataclasses.replace(made, ood_accuracy=None), method=method, **more)


@pytest.mark.parametrize(
    ("method", "order", "scores"),
    [
        ("ACC", ["m1", "m2", "m0"], (0.75, 0.5, 0.25)),
        ("ACC+TIES", ["m1", "m2", "m0"], (0.75, 0.5, 0.25)),
        ("NLL", ["m0", "m1", "m2"], (0.1, 0.2, 0.3)),
    ],
)
def test_scores_and_ranks_are_of_the_method(method, order, scores):
    """Best first, each with what it was ordered by; ACC+TIES shows the accuracy, as its own number means nothing."""
    found = three(method)
    assert [(model.name, model.rank) for model in found.models] == list(zip(order, (1, 2, 3), strict=True))
    assert found.decision.scores == pytest.approx(scores)
    by_name = {model.name: model.scores for model in found.models}
    assert by_name["m1"] == pytest.approx({"ACC": 0.75, "NLL": 0.2})


@pytest.mark.parametrize("method", [None, "ACC", "MAJORITY", "AVG-CONF"])
def test_what_reads_a_pool_says_what_to_be_careful_of(method):
    """SURROGATE that its accuracies are drawn to chance, a label-free method what misleads it; each its own only."""
    pool = Pool(np.random.default_rng(4).dirichlet([1, 1], (3, 9)))
    found = three(method, pool=pool, places=np.arange(4))
    assert found.decision.method == (method or "SURROGATE")
    assert any(note.startswith("SURROGATE draws accuracies to chance") for note in found.notes) == (method is None)
    trapped = [note.split(" sees no label, and ")[0] for note in found.notes if " sees no label, and " in note]
    free = {one.name: one.score for one in LABEL_FREE}
    assert trapped == [name for name in free if name == method]
    if trapped:
        expected = sorted(free[method](pool), reverse=True)
        assert found.decision.scores == pytest.approx(expected)
        assert [model.scores[method] for model in found.models] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("models", "more"), [(2, "often."), (3, "often, and 1 more pair like this."), (4, "and 2 more pairs like this.")]
)
def test_a_method_against_the_labels_is_said_so(models, more):
    """Ordering by a method that contradicts who was right leaves a note: the first is right, and comes last."""
    hits = np.repeat(np.arange(models)[:, None] == 0, 2, axis=1).astype(float)
    factor = np.repeat(np.arange(models, 0.0, -1.0)[:, None], 2, axis=1)
    made = dataclasses.replace(
        table(np.stack([hits, factor], axis=1), ["ACC", "SUM-DIFF"], np.zeros(models)), ood_accuracy=None
    )
    found = decide(made, method="SUM-DIFF")
    assert found.decision.models == tuple(f"m{i}" for i in reversed(range(models)))
    assert any(f"SUM-DIFF puts m{models - 1} above m0" in note and note.endswith(more) for note in found.notes)


def test_a_tie_contradicts_no_label():
    """A method that has no order for two models puts neither above the other."""
    hits = np.array([[1, 0, 0], [1, 1, 1]], dtype=float)
    level = np.zeros((2, 3))
    made = dataclasses.replace(table(np.stack([hits, level], axis=1), ["ACC", "CONF"], np.zeros(2)), ood_accuracy=None)
    found = decide(made, method="CONF")
    assert found.decision.models == ("m0", "m1")
    assert [model.rank for model in found.models] == [1, 1]
    assert not any("puts" in note for note in found.notes)
    assert any(note.startswith("CONF ties all models") for note in found.notes)


def pooled(rng, models=4, rows=200, size=15):
    """A decision on a pool in which models share a habit to some degree, and (M, K) who is right on the labelled."""
    labels, habit = rng.integers(2, size=rows), rng.normal(size=rows)
    own, shared, noise = rng.uniform([[0], [-2], [0.2]], [[3], [4], [3]], (3, models))[..., None]
    leaning = own * (2 * labels - 1) + shared * habit + noise * rng.normal(size=(models, rows))
    pool = Pool(np.stack([1 / (1 + np.exp(leaning)), 1 / (1 + np.exp(-leaning))], axis=2))
    places = rng.permutation(rows)[:size]
    right = pool.predicted[:, places] == labels[places]
    return decide(labelled(right, labels=labels[places].tolist()), pool=pool, places=places), right


def test_what_is_said_of_labels_is_counted_even_if_a_pool_speaks_against_them():
    """SURROGATE's probabilities are no count of labels: the note names a pair exactly if the labels are against it."""
    rng = np.random.default_rng(1)
    named, other = 0, 0
    for _ in range(60):
        found, right = pooled(rng)
        order = [int(name[1:]) for name in found.decision.models]
        won = posterior.wins(right)
        against = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :] if won[b, a] > won[a, b]]
        notes = [note for note in found.notes if "was right where" in note]
        assert len(notes) == bool(against)
        if against:
            a, b = against[0]
            assert notes[0].startswith(f"SURROGATE puts m{a} above m{b}, though m{b} was right where m{a} was not")
            assert (f" {len(against) - 1} more pair" in notes[0]) == (len(against) > 1)
        named += bool(against)
        other += bool((np.triu(np.array(found.decision.p_beats) < 0.5)).any()) != bool(against)
    assert named > 10
    assert other > 10


def test_labels_of_one_text_leave_the_rest_of_the_pool_unlabelled():
    """Rows are counted by their places in the pool, of which several labels may have the same."""
    pool = Pool(np.random.default_rng(4).dirichlet([1, 1], (2, 5)))
    made = labelled([[1, 0, 1, 1, 0, 1, 1], [0, 1, 1, 0, 1, 1, 0]])
    found = decide(made, pool=pool, places=np.array([2, 2, 2, 0, 0, 2, 0]))
    assert "Read without a label: 3 more rows of the pool." in found.notes


def test_close_models_are_honestly_not_separable():
    """Ten labels do not tell 80 from 82 %: one group, and a note."""
    rng = np.random.default_rng(6)
    hits = rng.random((3, 10)) < 0.8
    hits[:, :8] = True
    found = decide(labelled(hits))
    assert len(found.decision.groups) == 1
    assert "No two models can be told apart with these 10 labels." in found.notes


def test_models_that_tie_keep_their_order_and_say_so():
    """A method that ties all models does not pretend to an order."""
    found = decide(labelled(np.ones((3, 5))))
    assert [model.rank for model in found.models] == [1, 1, 1]
    assert found.decision.models == ("m0", "m1", "m2")
    assert "ACC ties all models; their order is that in which they were given." in found.notes


def test_labels_of_a_single_class_are_allowed_and_said():
    """Ten rows of one class are a poor probe, not an error."""
    assert any("same label" in note for note in decide(labelled(np.eye(3))).notes)


def test_a_decision_is_the_same_for_the_same_seed():
    """P(best) is drawn; its seed decides it."""
    made = labelled(np.random.default_rng(7).random((3, 10)) < 0.7)
    assert decide(made, seed=1).decision == decide(made, seed=1).decision
    assert decide(made, seed=1).decision != decide(made, seed=2).decision


def test_the_order_of_the_models_changes_no_probability():
    """P(best) is drawn, and yet the same for every model, whichever stands first."""
    hits = np.random.default_rng(7).permuted(np.arange(10) < np.array([[5], [9], [3], [7]]), axis=1)
    found = decide(labelled(hits)).decision
    best = dict(zip(found.models, found.p_best, strict=True))
    other = decide(labelled(hits[::-1])).decision
    names = {f"m{3 - i}": f"m{i}" for i in range(4)}
    assert {names[model]: chance for model, chance in zip(other.models, other.p_best, strict=True)} == best


def test_scores_that_differ_by_rounding_are_one_rank():
    """0.1 + 0.2 + 0.3 is a little more than 0.3 + 0.2 + 0.1: the models tie, and stand as they were given."""
    scores = np.array([[[1, 0, 1], [0.3, 0.2, 0.1]], [[1, 0, 1], [0.1, 0.2, 0.3]]])
    made = dataclasses.replace(table(scores, ["ACC", "OURS"], np.zeros(2)), ood_accuracy=None)
    assert scores[0, 1].mean() != scores[1, 1].mean()
    found = decide(made, method="OURS")
    assert [(model.name, model.rank) for model in found.models] == [("m0", 1), ("m1", 1)]


def test_no_more_labels_are_needed_exactly_where_two_are_told_apart():
    """0 says "told apart"; of every other pair it is 1 or more, or unknown."""
    rng = np.random.default_rng(3)
    for _ in range(12):
        found = decide(labelled(rng.random((4, 10)) < rng.uniform(0.3, 1, (4, 1)))).decision
        for i in range(4):
            for j in range(4):
                apart = i == j or max(found.p_beats[i][j], 1 - found.p_beats[i][j]) >= found.level
                assert (found.more_labels[i][j] == 0) == apart


def test_wrong_methods_and_models():
    """One model, no ACC, or a method nobody measured: one line each."""
    with pytest.raises(UsageError, match="at least two models"):
        decide(labelled(np.ones((1, 4))))
    with pytest.raises(UsageError, match=r"needs ACC among the methods, those of `--factors` \(got NLL\)"):
        decide(dataclasses.replace(table(np.ones((2, 1, 4)), ["NLL"], np.zeros(2)), ood_accuracy=None))
    with pytest.raises(UnknownName, match="did you mean ACC"):
        decide(labelled(np.ones((2, 4))), method="AC")
