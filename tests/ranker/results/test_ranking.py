import dataclasses
import json

import numpy as np
import pytest
import test_report_formats as by
from refusals import refuses
from test_evaluation import suite
from test_report_formats import toy, toy_decision, with_found

from factors import BUILTIN
from ranker.errors import DataError, RankModelsError, UnknownName, UsageError
from ranker.results.ranking import Ranking
from ranker.scoring.evaluation import evaluate


@pytest.fixture(scope="module")
def evaluation():
    """An evaluation with families, a designed factor and a hole."""
    table = suite()
    values = table.values.copy()
    values[0, 2, 3] = np.nan
    table = dataclasses.replace(table, values=values, dropped={"INDEX-DIFF": {"undefined": 1}})
    return by.evaluated(table, "<five>", families=["a", "a", "b", "b", "b"], designed="INDEX-DIFF")


@pytest.fixture(scope="module")
def decided():
    """A decision on ten rows."""
    return by.decided(suite(examples=10))


@pytest.fixture(scope="module")
def of_parts():
    """A decision between models that are made of two parts."""
    return dataclasses.replace(by.toy_parts(), examples=())


@pytest.mark.parametrize("fixture_name", ["evaluation", "decided", "of_parts"])
def test_what_is_saved_is_loaded(fixture_name, request, tmp_path):
    """Every field comes back as it was; factors keep their declarations, not their functions."""
    ranking = request.getfixturevalue(fixture_name)
    ranking.save(tmp_path / "ranking.json")
    back = Ranking.load(tmp_path / "ranking.json")
    for field in dataclasses.fields(Ranking):
        if field.name != "table":
            assert getattr(back, field.name) == getattr(ranking, field.name), field.name
    assert back.to_dict() == ranking.to_dict()
    assert np.array_equal(back.table.values, ranking.table.values, equal_nan=True)
    assert (back.table.truth is None) == (ranking.table.truth is None) == (fixture_name != "evaluation")
    assert fixture_name != "evaluation" or np.array_equal(back.table.truth, ranking.table.truth)
    for field in ("models", "examples", "metric", "dropped"):
        assert getattr(back.table, field) == getattr(ranking.table, field), field
    assert [method.name for method in back.table.methods] == [method.name for method in ranking.table.methods]
    assert [m.higher_is_better for m in back.table.methods] == [m.higher_is_better for m in ranking.table.methods]
    with pytest.raises(NotImplementedError):
        back.table.methods[0].score(None, None)


def test_examples_are_saved_with_the_run(tmp_path):
    """Texts and scores of examples come back to the last digit; a factor's function does not."""
    toy().save(tmp_path / "r.json")
    (back,), (original,) = Ranking.load(tmp_path / "r.json").examples, toy().examples
    assert back.to_dict() == original.to_dict()
    assert (back.readings, back.example, back.designed) == (original.readings, original.example, original.designed)
    with pytest.raises(NotImplementedError):
        back.factors[0].score(None, None)


def test_a_loaded_ranking_evaluates_anew_to_the_same(evaluation, tmp_path):
    """The saved score table is enough to compute everything again."""
    evaluation.save(tmp_path / "r.json")
    again = evaluate(Ranking.load(tmp_path / "r.json").table, designed="INDEX-DIFF", families=["a", "a", "b", "b", "b"])
    assert again == evaluation.found


def test_the_schema_is_json_without_nan(evaluation, decided):
    """Undefined numbers are null, and all accuracies are fractions."""
    for ranking in (evaluation, decided):
        json.dumps(ranking.to_dict(), allow_nan=False)
    as_dict = evaluation.to_dict()
    assert list(as_dict) == ["schema_version", "header", "evaluation"]
    assert list(decided.to_dict()) == ["schema_version", "header", "decision"]
    assert as_dict["schema_version"] == 2
    evaluation_part = as_dict["evaluation"]
    assert {"name", "kind", "pairwise_accuracy", "ci_low", "ci_high", "difference"} <= set(
        evaluation_part["methods"][0]
    )
    assert {"a", "b", "method", "accuracy"} <= set(evaluation_part["pairs"][0])


def test_pairs_are_rows(evaluation, decided):
    """An evaluation has a record for each pair and method, the better model first; a decision a matrix of all pairs."""
    pairs = evaluation.evaluation.pairs
    assert len(pairs) == 10 * len(evaluation.evaluation.methods)
    assert all(pair.gap > 0 for pair in pairs)
    decision = decided.decision
    assert [len(row) for row in decision.p_beats] == [5] * 5
    assert all(0 <= p <= 1 for row in decision.p_beats for p in row)


def test_each_mode_has_its_question_and_refuses_the_other(evaluation, decided):
    """A question of the other mode is a wrong argument, in one line; methods are an evaluation's."""
    assert (evaluation.mode, decided.mode) == ("evaluation", "decision")
    assert (evaluation.evaluation, decided.decision) == (evaluation.found, decided.found)
    with refuses(UsageError, value="evaluation"):
        _ = evaluation.decision
    for ask in (lambda: decided.evaluation, lambda: decided.method("ACC")):
        with refuses(UsageError, value="decision"):
            ask()


def test_a_decision_says_in_a_word_which_model(evaluation, decided):
    """The first model, the order, and how sure it is; an evaluation has none of these."""
    models = decided.decision.models
    assert (decided.best, decided.order) == (models[0].name, tuple(model.name for model in models))
    assert decided.p_near_best == models[0].p_near_best
    with pytest.raises(UsageError, match="an evaluation has no decision"):
        _ = evaluation.best


def test_notes_and_the_command_of_a_run():
    """Notes of rows and models come before those of what was found; a run says which command made it."""
    noted = by.with_found(by.with_header(toy(), notes=("First.",)), notes=("Second.",))
    assert noted.notes == ("First.", "Second.")
    again = noted.made_by("rank-models --ood hans-sub")
    assert again.header.provenance.command == "rank-models --ood hans-sub"
    assert again.made_by(None).header.provenance.to_dict().get("command") is None
    assert again.found == noted.found


def test_models_that_a_decision_cannot_tell_apart():
    """By their place in the order, whichever is the better one."""
    decision = toy_decision().decision
    assert decision.names == ("bert_large", "bert_base", "lstm")
    assert [decision.tied(i) for i in range(3)] == [["bert_base"], ["bert_large"], []]


def test_pandas_tables_have_a_row_a_method_or_a_model(evaluation, decided):
    """The index is the name; the columns are the fields."""
    assert evaluation.to_frame().loc["ACC", "pairwise_accuracy"] == evaluation.method("ACC").pairwise_accuracy
    table, decision = decided.to_frame(), decided.decision
    assert list(table.index) == list(decision.names)
    for column in ("score", "outcome", "low", "high", "p_best"):
        assert list(table[column]) == [getattr(model, column) for model in decision.models]
    first = [other_name for other_name, p in zip(decision.names, decision.p_beats[0], strict=True) if 0.1 < p < 0.9]
    assert table["tied"].iloc[0] == ", ".join(first[1:])
    assert set(table["method"]) == {"ACC+TIES"}


def test_a_factor_is_written_in_a_line():
    """A shell shows one line, alone or among the defaults of a function."""
    assert repr(BUILTIN["ACC"]) == "<factor ACC>"


def test_a_method_is_found_by_name(evaluation):
    """Case does not matter, and the near name is offered."""
    assert evaluation.method("acc") is evaluation.method("ACC")
    with refuses(UnknownName, value="INDEX-DIF"):
        evaluation.method("INDEX-DIF")


HEADER = '"header": {"ood": "hans-sub", "suite": "two", "probe": 1, "seed": 0}'


@pytest.mark.parametrize(
    ("text", "version", "allowed"),
    [
        ("no json", None, ()), ("[]", None, (2,)), ('{"schema_version": 9}', 9, (2,)),
        ('{"schema_version": 1}', 1, (2,)), ('{"schema_version": 2}', None, ()),
        (f'{{"schema_version": 2, {HEADER}}}', None, ()),
        (f'{{"schema_version": 2, {HEADER}, "decision": null}}', None, ()),
    ],
)  # fmt: skip
def test_a_file_that_is_no_ranking(text, version, allowed, tmp_path):
    """The error names the file, and a schema that is another."""
    path = tmp_path / "r.json"
    path.write_text(text)
    with refuses(DataError, value=version, allowed=allowed, place=path):
        Ranking.load(path)


def test_a_ranking_of_no_models_is_none(evaluation, decided, tmp_path):
    """Nothing could be said of it."""
    path = tmp_path / "r.json"
    for ranking in (evaluation, decided):
        ranking.save(path)
        report = json.loads(path.read_text())
        lists = report[ranking.mode]
        lists |= {name: [] for name, value in lists.items() if isinstance(value, list)}
        path.write_text(json.dumps(report))
        with refuses(DataError, place=path):
            Ranking.load(path)


def test_rows_that_lack_a_model_are_none(tmp_path):
    """A report asks each row what every model takes it for."""
    ranking = toy_decision()
    rows = (dataclasses.replace(ranking.decision.rows[0], predicted={}),)
    path = tmp_path / "r.json"
    with_found(ranking, rows=rows).save(path)
    with refuses(DataError, place=path):
        Ranking.load(path)


def test_a_file_that_cannot_be_written_or_found(evaluation, tmp_path):
    """A missing folder is one line, not a traceback."""
    unwritable, absent = tmp_path / "no" / "r.json", tmp_path / "none.json"
    with refuses(RankModelsError, place=unwritable):
        evaluation.save(unwritable)
    with refuses(DataError, place=absent):
        Ranking.load(absent)
