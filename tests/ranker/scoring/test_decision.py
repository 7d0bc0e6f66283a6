import dataclasses

import numpy as np
import pytest
import scipy.stats
from deciding import decide
from refusals import refuses
from test_evaluation import table

from ranker.errors import UnknownName, UsageError
from ranker.results.decision import RowResult
from ranker.scoring.unlabelled import LabelContext
from ranker.statistics import posterior
from ranker.statistics.methods import BUILTIN
from ranker.statistics.pool import Pool, PoolMethod, Targets


def labelled(right):
    """A table without truth, from who was right on which row."""
    return table(np.asarray(right, dtype=float)[:, None], ["ACC"], None)


def beside(pool, places, labels=None, methods=BUILTIN):
    """A pool of which the rows at these places are labelled; those of the first class where nothing else is said."""
    size, places = pool.probs.shape[1], np.asarray(places)
    full = np.full(size, -1)
    full[places] = 0 if labels is None else labels
    targets_known = Targets(np.where(full < 0, np.nan, pool.predicted == full), full)
    return LabelContext(pool, targets_known, places, full[places], tuple(methods))


@pytest.mark.more
def test_models_that_cannot_be_told_apart_are_in_one_group():
    """A group is broken by any pair in it that can be told apart, also one against the order; groups may overlap."""

    def groups(better):
        ranking = decide(labelled(np.eye(4)))
        ranking = dataclasses.replace(ranking, p_beats=tuple(map(tuple, better.tolist())))
        return [tuple(ranking.names.index(name) for name in group) for group in ranking.groups]

    assert groups(np.full((4, 4), 0.99)) == [(0,), (1,), (2,), (3,)]
    near = np.full((4, 4), 0.6)
    assert groups(near) == [(0, 1, 2, 3)]
    near[0, 3] = 0.95
    assert groups(near) == [(0, 1, 2), (1, 2, 3)]
    near[1, 2] = 0.01
    assert groups(near) == [(0, 1), (0, 2), (1, 3), (2, 3)]


def test_a_decision_worked_by_hand():
    """Three models on six rows: order, accuracies, probabilities, groups and labels."""
    right = [[1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 1, 1]]
    ranking = decide(labelled(right))
    first, second, third = ranking.models
    assert ranking.names == (first.name, second.name, third.name) == ("m1", "m2", "m0")
    assert (ranking.method, ranking.kind) == ("ACC", "baseline")
    assert (first.outcome, second.outcome, third.outcome) == pytest.approx((1.0, 5 / 6, 1 / 6))
    weights = posterior.weigh(np.array(right, bool))
    won = [
        sum(w * scipy.stats.beta.sf(0.5, n + c, c) for w, c in zip(weights, posterior.PRIORS, strict=True))
        for n in (1, 5)
    ]
    assert ranking.p_beats[0] == pytest.approx([0.5, *won])
    assert ranking.groups == (("m1", "m2"), ("m0",))
    assert ranking.forecast.low > 0
    assert [model.expected for model in ranking.models] == pytest.approx([7 / 8, 6 / 8, 2 / 8])
    # six right of six, and one of each from the uniform prior
    assert (first.low, first.high) == pytest.approx(scipy.stats.beta.interval(0.95, 7, 1))
    assert first.p_best > second.p_best > third.p_best
    assert first.p_best + second.p_best + third.p_best == pytest.approx(1)


@pytest.mark.more
def test_ties_are_broken_by_the_declared_factor_or_by_the_loss():
    """ACC+TIES is the default: NLL decides between models of equal accuracy, the declared factor if there is one."""
    hits = np.array([[1.0, 0.0], [0.0, 1.0]])
    loss, factor = np.array([[0.5, 0.5], [0.9, 0.9]]), np.array([[2.0, 2.0], [1.0, 1.0]])
    tied = table(np.stack([hits, loss, factor], axis=1), ["ACC", "NLL", "INDEX-DIFF"], None)
    assert decide(tied).names == ("m0", "m1")
    assert decide(tied, designed="INDEX-DIFF").names == ("m1", "m0")
    assert (decide(tied).method, decide(tied).kind) == ("ACC+TIES", "combined")
    assert decide(tied).p_beats[0][1] == 0.5


def three(method=None, **options):
    """A decision between three models of two methods: right on 1, 3 and 2 rows of four; losses .1, .2 and .3."""
    hits = np.array([[1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 0, 0]], dtype=float)
    loss = np.repeat([[0.1], [0.2], [0.3]], 4, axis=1)
    return decide(table(np.stack([hits, loss], axis=1), ["ACC", "NLL"], None), method=method, **options)


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
    decision = three(method)
    assert [(model.name, model.rank) for model in decision.models] == list(zip(order, (1, 2, 3), strict=True))
    assert [model.score for model in decision.models] == pytest.approx(scores)
    by_name = {model.name: model.scores for model in decision.models}
    assert by_name["m1"] == pytest.approx({"ACC": 0.75, "NLL": 0.2})


@pytest.mark.parametrize("method", [None, "ACC", "MAJORITY", "AVG-CONF"])
def test_what_reads_a_pool_says_what_to_be_careful_of(method):
    """A label-free method says what misleads it, and no other does."""
    pool = Pool(np.random.default_rng(4).dirichlet([1, 1], (3, 9)))
    decision = three(method, beside=beside(pool, np.arange(4)))
    assert decision.method == (method or "SURROGATE")
    trapped = [note.split(" sees no label, and ")[0] for note in decision.notes if " sees no label, and " in note]
    free = {method.name: method for method in BUILTIN if method.kind == "label-free"}
    assert trapped == [name for name in free if name == method]
    assert (method in free) == (decision.kind == "label-free")
    if trapped:
        nothing = Targets(np.full((3, 9), np.nan), np.full(9, -1))
        expected = sorted(free[method].estimate(pool, nothing, np.zeros((1, 0), int))[:, 0], reverse=True)
        assert [model.score for model in decision.models] == pytest.approx(expected)
        assert [model.scores[method] for model in decision.models] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("models", "ending"), [(2, "often."), (3, "often, and 1 more pair like this."), (4, "and 2 more pairs like this.")]
)
def test_a_method_against_the_labels_is_said_so(models, ending):
    """Ordering by a method that contradicts who was right leaves a note: the first is right, and comes last."""
    hits = np.repeat(np.arange(models)[:, None] == 0, 2, axis=1).astype(float)
    factor = np.repeat(np.arange(models, 0.0, -1.0)[:, None], 2, axis=1)
    ranking = decide(table(np.stack([hits, factor], axis=1), ["ACC", "SUM-DIFF"], None), method="SUM-DIFF")
    assert ranking.names == tuple(f"m{i}" for i in reversed(range(models)))
    assert any(f"SUM-DIFF puts m{models - 1} above m0" in note and note.endswith(ending) for note in ranking.notes)


def test_level_models_keep_the_order_in_which_they_are_listed():
    """However many they are, below one that is better."""
    right = np.tile(np.arange(40)[:, None] == 39, 3)
    assert decide(labelled(right)).names == ("m39", *(f"m{i}" for i in range(39)))


def test_a_tie_contradicts_no_label():
    """A method that has no order for two models puts neither above the other."""
    hits = np.array([[1, 0, 0], [1, 1, 1]], dtype=float)
    level = np.zeros((2, 3))
    ranking = decide(table(np.stack([hits, level], axis=1), ["ACC", "CONF"], None), method="CONF")
    assert ranking.names == ("m0", "m1")
    assert [model.rank for model in ranking.models] == [1, 1]
    assert not any("puts" in note for note in ranking.notes)
    assert any(note.startswith("CONF ties all models") for note in ranking.notes)


def pooled(rng, models=4, rows=200, size=15):
    """A decision on a pool in which models share a habit to some degree, and (M, K) who is right on the labelled."""
    labels, habit = rng.integers(2, size=rows), rng.normal(size=rows)
    own_skill, shared, noise = rng.uniform([[0], [-2], [0.2]], [[3], [4], [3]], (3, models))[..., None]
    leaning = own_skill * (2 * labels - 1) + shared * habit + noise * rng.normal(size=(models, rows))
    pool = Pool(np.stack([1 / (1 + np.exp(leaning)), 1 / (1 + np.exp(-leaning))], axis=2))
    places = rng.permutation(rows)[:size]
    right = pool.predicted[:, places] == labels[places]
    return decide(labelled(right), beside=beside(pool, places, labels[places])), right


@pytest.mark.more
def test_what_is_said_of_labels_is_counted_even_if_a_pool_speaks_against_them():
    """SURROGATE's probabilities are no count of labels: the note names a pair exactly if the labels are against it."""
    rng = np.random.default_rng(1)
    named_count, told_count = 0, 0
    for _ in range(60):
        decision, right = pooled(rng)
        order = [int(name[1:]) for name in decision.names]
        won = posterior.wins(right)
        against = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :] if won[b, a] > won[a, b]]
        notes = [note for note in decision.notes if "on the labelled rows" in note and "did better" in note]
        assert len(notes) == bool(against)
        if against:
            a, b = against[0]
            assert notes[0].startswith(f"SURROGATE puts m{a} above m{b}, but on the labelled rows m{b} did better")
            assert (f" {len(against) - 1} more pair" in notes[0]) == (len(against) > 1)
        named_count += bool(against)
        told_count += bool((np.triu(np.array(decision.p_beats) < 0.5)).any()) != bool(against)
    assert named_count > 10
    assert told_count > 10


def test_labels_of_one_text_leave_the_rest_of_the_pool_unlabelled():
    """Rows are counted by their places in the pool, of which several labels may have the same."""
    pool = Pool(np.random.default_rng(4).dirichlet([1, 1], (2, 5)))
    table_labelled = labelled([[1, 0, 1, 1, 0, 1, 1], [0, 1, 1, 0, 1, 1, 0]])
    ranking = decide(table_labelled, beside=beside(pool, [2, 2, 2, 0, 0, 2, 0]))
    assert "The pool adds 3 rows, read without labels." in ranking.notes


def test_close_models_are_honestly_not_separable():
    """Ten labels do not tell 80 from 82 %: one group, and nothing to take."""
    rng = np.random.default_rng(6)
    hits = rng.random((3, 10)) < 0.8
    hits[:, :8] = True
    ranking = decide(labelled(hits))
    assert len(ranking.groups) == 1
    assert ranking.choice.verb == "none"


def test_models_that_tie_keep_their_order_and_say_so():
    """A method that ties all models does not pretend to an order."""
    ranking = decide(labelled(np.ones((3, 5))))
    assert [model.rank for model in ranking.models] == [1, 1, 1]
    assert ranking.names == ("m0", "m1", "m2")
    assert "ACC ties all models; they are in the given order." in ranking.notes


def test_labels_of_a_single_class_are_allowed_and_said():
    """Rows of one class are a poor probe, not an error; the decision holds the rows that it was given."""
    for labels, is_noted in (("xxx", True), ("xyx", False), ("", False)):
        rows = [RowResult(f"e{n}", label, dict.fromkeys(("m0", "m1", "m2"), "x")) for n, label in enumerate(labels)]
        ranking = decide(labelled(np.eye(3)), rows=rows)
        assert ranking.rows == tuple(rows)
        assert any("same label" in note for note in ranking.notes) == is_noted


def test_a_decision_is_the_same_for_the_same_seed():
    """P(best) is drawn; its seed decides it."""
    alike = labelled(np.random.default_rng(7).random((3, 10)) < 0.7)
    assert decide(alike, seed=1) == decide(alike, seed=1)
    assert decide(alike, seed=1) != decide(alike, seed=2)


def test_the_order_of_the_models_changes_no_probability():
    """P(best) is drawn, and yet the same for every model, whichever stands first."""
    hits = np.random.default_rng(7).permuted(np.arange(10) < np.array([[5], [9], [3], [7]]), axis=1)
    best = {model.name: model.p_best for model in decide(labelled(hits)).models}
    names = {f"m{3 - i}": f"m{i}" for i in range(4)}
    turned = {names[model.name]: model.p_best for model in decide(labelled(hits[::-1])).models}
    assert turned == pytest.approx(best, abs=1e-12)


def test_scores_that_differ_by_rounding_are_one_rank():
    """0.1 + 0.2 + 0.3 is a little more than 0.3 + 0.2 + 0.1: the models tie, and stand as they were given."""
    scores = np.array([[[1, 0, 1], [0.3, 0.2, 0.1]], [[1, 0, 1], [0.1, 0.2, 0.3]]])
    rounded = table(scores, ["ACC", "OURS"], None)
    assert scores[0, 1].mean() != scores[1, 1].mean()
    ranking = decide(rounded, method="OURS")
    assert [(model.name, model.rank) for model in ranking.models] == [("m0", 1), ("m1", 1)]


@pytest.mark.more
def test_no_more_labels_are_needed_exactly_where_the_leader_is_probably_near_the_best():
    """From 0 to 0 says so; else a range begins at 1 or later, and labels that are all alike have none."""
    rng = np.random.default_rng(3)
    reached = set()
    for size in (10, 10, 10, 300, 300):
        ranking = decide(labelled(rng.random((4, size)) < [[0.95], [0.6], [0.5], [0.4]]))
        enough = ranking.models[0].p_near_best >= ranking.level
        assert (ranking.forecast.high == 0) == enough
        assert enough or ranking.forecast.low is None or ranking.forecast.low >= 1
        reached.add(enough)
    assert reached == {True, False}
    rows = [RowResult(f"r{n}", "yes", {}) for n in range(10)]
    assert decide(labelled(rng.random((2, 10)) < 0.5), rows=rows).forecast is None


def test_wrong_methods_and_models():
    """One model, no rows, or a method nobody measured: one line each."""
    with refuses(UsageError, option="models", value=1):
        decide(labelled(np.ones((1, 4))))
    with refuses(UsageError, option="models", value=None):
        decide(labelled(np.ones((2, 0))))
    with refuses(UnknownName, value="AC"):
        decide(labelled(np.ones((2, 4))), method="AC")


def test_an_outcome_of_another_name_is_what_is_ordered_by():
    """Scores between 0 and 1: the loss breaks their ties, and methods are called after them."""
    outcomes, loss = np.array([[0.25, 0.5], [0.5, 0.25], [0.0, 0.25]]), np.array([[0.9] * 2, [0.5] * 2, [0.1] * 2])
    ranking = decide(table(np.stack([outcomes, loss], axis=1), ["EXACT-MATCH", "NLL"], None))
    assert (ranking.method, ranking.kind, ranking.names) == ("EXACT-MATCH+TIES", "combined", ("m1", "m0", "m2"))
    for values in ([model.outcome for model in ranking.models], [model.score for model in ranking.models]):
        assert values == pytest.approx([0.375, 0.375, 0.125])
    alone = decide(table(outcomes[:, None], ["EXACT-MATCH"], None))
    assert (alone.method, alone.names) == ("EXACT-MATCH", ("m0", "m1", "m2"))


def test_what_is_known_of_models_stays_with_them():
    """Families stand in the order of the table, the rest goes by name; what is not known is not said."""
    facts = {"families": ["a", "b", "c"], "misled": {"m0": 0.9}, "in_domain": {"m2": 0.5}}
    by_name = {model.name: model for model in decide(labelled(np.eye(3) + [[0], [1], [2]] > 1), **facts).models}
    assert [by_name[name].family for name in ("m0", "m1", "m2")] == ["a", "b", "c"]
    assert [by_name[name].misled for name in ("m0", "m1", "m2")] == [0.9, None, None]
    assert [by_name[name].in_domain for name in ("m0", "m1", "m2")] == [None, None, 0.5]
    assert {model.family for model in decide(labelled(np.eye(3))).models} == {""}


def test_methods_of_ones_own_see_the_pool_and_the_labelled_rows():
    """One without a posterior puts the models in its order; how sure that is, the labels alone say."""
    calls = []

    def last_row(pool, targets, rows):
        calls.append(rows.tolist())
        return targets.outcomes[:, rows[:, -1]]

    mine = PoolMethod("LAST", "pool", last_row, warning="goes by one row")
    hits = np.array([[1, 1, 1, 0], [0, 0, 0, 1]])
    pool = Pool(np.random.default_rng(4).dirichlet([1, 1], (2, 9)))
    outcomes = np.full((2, 9), np.nan)
    outcomes[:, :4] = hits
    context = LabelContext(pool, Targets(outcomes, np.full(9, -1)), np.arange(4), np.full(4, -1), (mine, *BUILTIN))
    ranking = decide(labelled(hits), beside=context)
    assert (ranking.method, ranking.kind, ranking.names) == ("LAST", "pool", ("m1", "m0"))
    assert [model.score for model in ranking.models] == [1, 0]
    assert calls == [[[0, 1, 2, 3]]]
    alone = decide(labelled(hits), method="ACC")
    assert ranking.p_beats[0][1] == pytest.approx(alone.p_beats[1][0])
    assert "LAST goes by one row." in ranking.notes


def test_what_sees_chosen_rows_or_lacks_what_it_needs_is_no_method_of_a_decision():
    """With such methods alone a pool leaves the order to the metric; to name one is a mistake."""
    pool = Pool(np.random.default_rng(4).dirichlet([1, 1], (3, 9)))
    restricted = [method for method in BUILTIN if not method.decides or method.needs - {"labels", "probabilities"}]
    assert {"SURROGATE+LABEL", "POOL-FACTOR", "ATC"} <= {method.name for method in restricted}
    assert three(beside=beside(pool, np.arange(4), methods=restricted)).method == "ACC+TIES"
    for method in restricted:
        with refuses(UnknownName, value=method.name):
            three(method.name, beside=beside(pool, np.arange(4), methods=restricted))


def test_labels_alone_have_no_method_that_reads_confidence():
    """One model that gives no probability is enough; silence beside probabilities is none."""
    probs = np.random.default_rng(4).dirichlet([1, 1], (3, 9))
    confident = {method.name for method in BUILTIN if "probabilities" in method.needs}
    assert confident == {"AVG-CONF", "ATC", "DOC", "COT", "MANO"}
    assert "AVG-CONF" in beside(Pool(probs), np.arange(4)).methods
    hard = probs.copy()
    hard[1] = np.eye(2)[probs[1].argmax(axis=1)]
    assert not confident & set(beside(Pool(hard), np.arange(4)).methods)
    assert "MAJORITY" in beside(Pool(hard), np.arange(4)).methods
    silent = np.concatenate([probs, np.zeros((3, 9, 1))], axis=2)
    silent[0, 2] = [0, 0, 1]
    assert "AVG-CONF" in beside(Pool(silent), np.arange(4)).methods


@pytest.mark.parametrize(
    ("home", "order", "says"),
    [
        ([0.9, 0.7, 0.5], ("m0", "m1", "m2"), "the same"),
        ([0.5, 0.7, 0.9], ("m2", "m1", "m0"), "m0, m1, m2"),
        (None, ("m0", "m1", "m2"), ""),
    ],
)
def test_what_in_domain_accuracies_change_is_said(home, order, says):
    """Of models that err alone on ever more rows; a note has the order without these accuracies, if they count."""
    truth, row = np.arange(90) % 2, np.arange(90)
    errs = np.stack([row < 6, (row >= 10) & (row < 17), (row >= 20) & (row < 28)])
    in_domain = None if home is None else np.array(home)
    pool = Pool(np.eye(2)[np.where(errs, 1 - truth, truth)], in_domain_accuracy=in_domain)
    places = np.arange(40, 44)
    ranking = decide(labelled(~errs[:, places]), beside=beside(pool, places, truth[places]))
    assert ranking.names == order
    notes = [note for note in ranking.notes if "in-domain" in note]
    assert [f"Without them the order would be {says}, and P(near best) of m0 " in note for note in notes] == [True] * (
        home is not None
    )


def test_labels_that_are_not_known_are_not_read():
    """SURROGATE would take them for the last label; outcomes need none."""
    pool, places = Pool(np.random.default_rng(4).dirichlet([1, 1], (3, 9))), np.arange(4)
    assert three(beside=beside(pool, places)).method == "SURROGATE"
    assert three(beside=beside(pool, places, labels=[0, 1, -1, 0])).method == "ACC+TIES"
