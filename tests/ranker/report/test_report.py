import dataclasses
import json

import pytest
import test_report_formats as by
from refusals import refuses
from test_evaluation import suite

from ranker import report
from ranker.errors import UnknownName
from ranker.numbers import p_value, percent, points


@pytest.fixture(scope="module")
def evaluation():
    """An evaluation of five models of two families."""
    return by.evaluated(suite(), families=["a", "a", "b", "b", "b"], designed="INDEX-DIFF")


@pytest.fixture(scope="module")
def decided():
    """A decision on ten rows."""
    return by.decided(suite(examples=10))


def cells(text, *starts):
    """The cells of the line that begins with these words."""
    (words,) = [line.split() for line in text.splitlines() if line.split()[: len(starts)] == list(starts)]
    return words[len(starts) :]


def test_the_terminal_shows_every_method_with_its_interval(evaluation):
    """The numbers in the table are those of the ranking, in percent."""
    text = report.render(evaluation, "table")
    for method in evaluation.evaluation.methods:
        marked = [method.name, "*"] if method.designed else [method.name]
        cells_of = cells(text, *marked, method.kind)
        assert cells_of[:4] == [
            percent(method.pairwise_accuracy), percent(method.ci_low), "to", percent(method.ci_high),
        ]  # fmt: skip
        assert cells_of[4] == points(method.difference)
    assert max(map(len, text.splitlines())) <= 100


def test_every_pair_has_every_method(evaluation):
    """The better model stands first, and the numbers are those of the ranking."""
    text = report.render(evaluation, "pairs")
    names = [method.name for method in evaluation.evaluation.methods]
    for pair in evaluation.evaluation.pairs:
        rows_shown = cells(text, pair.a, pair.b)
        assert rows_shown[0] == percent(pair.gap)
        assert rows_shown[1 + names.index(pair.method)] == percent(pair.accuracy)


def test_pairs_come_with_curves_and_kinds(evaluation):
    """Below the pairs stand the learning curve of every method, and its accuracy on near and far pairs."""
    _, curve, split = report.render(evaluation, "pairs").split("Pairwise accuracy ")
    for method in evaluation.evaluation.methods:
        assert cells(curve, method.name) == [percent(value) for _, value in sorted(method.curve.items())]
        kinds = list(evaluation.evaluation.methods[0].splits)
        assert cells(split, method.name) == [
            percent(method.pairwise_accuracy),
            *map(percent, map(method.splits.get, kinds)),
        ]


def test_a_decision_by_pairs(decided):
    """Each two models with the probability of their order; then paired."""
    order, same_rows = report.render(decided, "pairs").split("Every two models on the same rows")
    decision = decided.decision
    for i, a in enumerate(decision.names):
        for j in range(i + 1, len(decision.names)):
            assert cells(order, a, decision.names[j]) == [percent(decision.p_beats[i][j])]
    for versus in decision.versus:
        fields = [f"{versus.better}", f"{versus.worse}", p_value(versus.p), p_value(versus.p_corrected)]
        assert cells(same_rows, versus.a, versus.b)[-4:] == fields
        assert cells(same_rows, versus.a, versus.b)[0] == points(versus.difference)


def test_json_is_the_dictionary(evaluation, decided):
    """The same ranking gives the same bytes, and they hold what `to_dict` does."""
    for ranking in (evaluation, decided):
        text = report.render(ranking, "json")
        assert json.loads(text) == json.loads(json.dumps(ranking.to_dict()))
        assert report.render(ranking, "json") == text


@pytest.mark.parametrize("name", ["table", "pairs"])
def test_names_are_text(name, evaluation):
    """Markup in a model's name stays as it is."""
    table = dataclasses.replace(suite(), models=("[red]m0[/red]", *suite().models[1:]))
    ranking = by.evaluated(table)
    assert "[red]m0[/red]" in report.render(ranking, name)


def test_an_unknown_format_is_refused(evaluation):
    """The near one is offered."""
    with refuses(UnknownName, value="pair"):
        report.render(evaluation, "pair")
