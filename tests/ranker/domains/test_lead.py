import numpy as np
import pytest
from refusals import refuses

from ranker.domains.compare import compare
from ranker.errors import UnknownName, UsageError
from ranker.statistics import significance


def made(cells, **options):
    """The result over a table of (model, set, value[, group, kind])."""
    names = ("model", "set", "value", "group", "kind")
    rows = [dict(zip(names, cell, strict=False)) for cell in cells]
    return compare(rows, **options)


def random_table(models=4, sets=7, seed=0):
    """Draw values without ties for the models a, b, c ... in no order."""
    rng = np.random.default_rng(seed)
    return [(chr(97 + m), f"s{s}", rng.random()) for m in range(models) for s in range(sets)]


def test_sets_of_a_task_are_averaged_first():
    """Two sets of one task weigh as much as the one of the other; the in-domain set is that of the task."""
    cells = [("a", "x1", 0.4, "x"), ("a", "x2", 0.6, "x"), ("a", "y1", 0.8, "y")]
    cells += [("b", "x1", 0.5, "x"), ("b", "x2", 0.5, "x"), ("b", "y1", 0.2, "y")]
    cells += [
        (model, f"{task}0", value, task, "in-domain") for model, task, value in [("a", "x", 0.9), ("a", "y", 0.7)]
    ]
    cells += [("b", "x0", 0.6, "x", "in-domain"), ("b", "y0", 0.4, "y", "in-domain")]
    first, second = made(cells).models
    assert (first.model, first.rank, first.tasks) == ("a", 1, {"x": pytest.approx(0.5), "y": pytest.approx(0.8)})
    assert first.value == pytest.approx(0.65)
    assert first.in_domain == pytest.approx(0.8)
    assert first.decay == pytest.approx(0.15 / 0.8)
    assert (first.friedman, second.friedman) == pytest.approx((1.25, 1.75))
    assert second.decay == pytest.approx((0.5 - 0.35) / 0.5)
    assert (first.rank_by_decay, second.rank_by_decay) == (1, 2)


def test_the_order_does_not_depend_on_the_order_of_the_table():
    """Rows shuffled: the same models, values, and p that need no draw."""
    cells = random_table()
    first, turned = made(cells), made(cells[::-1])
    assert first.names == turned.names
    assert [m.value for m in first.models] == pytest.approx([m.value for m in turned.models])
    pairs = {(d.a, d.b): (d.difference, d.nemenyi, d.wilcoxon, d.holm) for d in first.differences}
    for d in turned.differences:
        assert (d.difference, d.nemenyi, d.wilcoxon, d.holm) == pytest.approx(pairs[d.a, d.b])


def test_every_pair_stands_there_the_higher_model_first():
    """Six pairs of four models; Holm's p are those of all pairs; the three probabilities sum to 1."""
    lead = made(random_table())
    order = {name: place for place, name in enumerate(lead.names)}
    assert len(lead.differences) == 6
    assert all(order[gap.a] < order[gap.b] and gap.difference >= 0 for gap in lead.differences)
    assert [difference.holm for difference in lead.differences] == pytest.approx(
        significance.holm(np.array([difference.wilcoxon for difference in lead.differences]))
    )
    assert all(gap.p_better + gap.p_same + gap.p_worse == pytest.approx(1) for gap in lead.differences)


@pytest.mark.parametrize(
    ("options", "left_out"), [({}, {"s3": "1 model missing"}), ({"missing": "models"}, {"b": "1 set missing"})]
)
def test_a_set_that_a_model_lacks_or_the_model_is_left_out_and_said(options, left_out):
    """The set by default, and by the other rule the model, so that all sets count."""
    lead = made([cell for cell in random_table() if cell[:2] != ("b", "s3")], **options)
    assert lead.left_out == left_out
    assert list(lead.tasks) == [name for name in (f"s{n}" for n in range(7)) if name not in left_out]
    assert set(lead.names) == {*"abcd"} - {*left_out}
    assert [f"Left out: {name} ({reason})." in lead.notes for name, reason in left_out.items()] == [True]


def test_a_model_that_lacks_a_set_gets_the_middle_rank_where_that_is_the_rule():
    """By hand: a, b, c on two sets, and c lacks the second."""
    lead = made([("a", "x", 0.9), ("b", "x", 0.8), ("c", "x", 0.7), ("a", "y", 0.1), ("b", "y", 0.2)], missing="ranks")
    assert {model.model: model.friedman for model in lead.models} == pytest.approx(
        {"a": (1 + 8 / 3) / 2, "b": (2 + 4 / 3) / 2, "c": 2.5}
    )
    assert lead.names == ("b", "a", "c")
    assert lead.models[2].value is None
    assert lead.test is None
    assert any("middle rank" in note for note in lead.notes)


def test_nothing_left_is_said():
    """Each set lacks a model; or only one model is whole."""
    cells = [("a", "x", 0.9), ("b", "y", 0.8), ("a", "z", 0.1), ("b", "z", None)]
    with refuses(UsageError, option="missing"):
        made(cells)
    with refuses(UsageError, option="missing"):
        made(cells, missing="models")
    with refuses(UnknownName, value="rank"):
        made(cells, missing="rank")


def test_two_sets_say_nothing_of_others():
    """Means and ranks are shown, and no test is made."""
    lead = made(random_table(sets=2))
    assert lead.test is None
    assert {difference.wilcoxon for difference in lead.differences} == {None}
    assert lead.models[0].low is None
    assert "2 tasks are too few to tell who leads on others: no test is made." in lead.notes


def test_few_sets_cannot_tell_two_models_apart():
    """Wilcoxon's smallest p is said."""
    assert any("p is at least 0.125" in note for note in made(random_table(sets=4)).notes)


def test_two_models_have_no_friedman():
    """But a Wilcoxon test, which is then the sign-flip test of scipy."""
    lead = made(random_table(models=2))
    assert lead.test is None
    assert lead.differences[0].wilcoxon is not None
    assert any("three models" in note for note in lead.notes)


def test_a_constant_set_is_said():
    """A constant set counts, and says nothing of the order."""
    cells = [*random_table(), *((model, "flat", 0.5) for model in "abcd")]
    assert any(note.startswith("flat: all models have the same value") for note in made(cells).notes)


def test_ties_share_a_place():
    """Two models with the same mean are both second."""
    cells = [("a", "x", 0.9), ("b", "x", 0.5), ("c", "x", 0.5), ("d", "x", 0.1)]
    assert [model.rank for model in made(cells).models] == [1, 2, 2, 4]


def test_an_in_domain_mean_of_no_worth_has_no_decay():
    """There is nothing to lose from an in-domain value of 0."""
    cells = [("a", "x", 0.5), ("b", "x", 0.4), ("a", "id", 0.0, "", "in-domain"), ("b", "id", 0.8, "", "in-domain")]
    first, second = made(cells).models
    assert (first.decay, first.rank_by_decay) == (None, None)
    assert (second.decay, second.rank_by_decay) == (pytest.approx(0.5), 1)


def test_a_task_without_in_domain_values_is_named():
    """No mean is made of the others alone."""
    cells = [(m, s, v, s) for m, s, v in random_table(sets=3)]
    cells += [(m, "s0 id", 0.9, "s0", "in-domain") for m in "abcd"]
    lead = made(cells)
    assert {model.in_domain for model in lead.models} == {None}
    assert any("No in-domain values" in note and "s1, s2" in note for note in lead.notes)


def test_errors_widen_the_intervals_of_ranks():
    """Two models a point apart on three sets: with an error of ten points either may be first."""
    rows = [
        {"model": m, "set": f"s{s}", "value": 0.5 + 0.01 * (m == "a"), "se": 0.1} for m in ("a", "b") for s in range(3)
    ]
    exact = compare([{**row, "se": None} for row in rows])
    noisy = compare(rows)
    assert (exact.models[0].low, exact.models[0].high, exact.models[0].p_first) == (1, 1, pytest.approx(1.0))
    assert (noisy.models[0].low, noisy.models[0].high) == (1, 2)
    assert 0.4 < noisy.models[0].p_first < 0.75


@pytest.mark.parametrize(
    ("columns", "tasks", "draws_of"),
    [
        ({}, 3, ("tasks",)), ({}, 2, ()), ({"n": 100}, 3, ("tasks", "rows")), ({"se": 0.01}, 2, ("tasks", "rows")),
        ({"n": 100}, 1, ("rows",)),
    ],
)  # fmt: skip
def test_what_is_drawn_anew_is_told(columns, tasks, draws_of):
    """Tasks where there are several, and rows where `n` or `se` say how far values may be off."""
    rows = [{"model": m, "set": s, "value": v, **columns} for m, s, v in random_table(sets=tasks)]
    assert compare(rows).draws_of == draws_of


def test_rows_of_some_sets_are_drawn_where_the_others_have_no_errors():
    """One set of three has `n`; in-domain values have no part in these draws."""
    cells = random_table(sets=3)
    rows = [{"model": m, "set": s, "value": v, "n": 100 if s == "s1" else None} for m, s, v in cells]
    assert compare(rows).draws_of == ("tasks", "some rows")
    rows = [{"model": m, "set": s, "value": v} for m, s, v in cells]
    rows += [{"model": m, "set": "home", "kind": "in-domain", "value": 0.5, "n": 100} for m in "abcd"]
    assert compare(rows).draws_of == ("tasks",)


def test_imputed_ranks_are_of_no_draws():
    """Imputed ranks have no interval, whatever is known of the rows."""
    rows = [{"model": m, "set": s, "value": v, "n": 100} for m, s, v in random_table()]
    assert compare(rows, missing="ranks").draws_of == ()


def test_the_result_shows_itself():
    """In a line or two, as rows, as JSON knows it."""
    lead = made(random_table())
    assert lead.answer.startswith("4 models over 7 tasks: Cannot say yet: d leads\nfirst: d, ")
    assert list(lead.to_frame().index) == list(lead.names)
    assert lead.to_rows()[0]["task: s0"] == lead.models[0].tasks["s0"]
    assert lead.to_dict()["models"][0]["rank"] == 1
    assert lead.in_words()[0]["rank"] == "1"
