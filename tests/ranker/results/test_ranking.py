import dataclasses
import json
import sys

import numpy as np
import pytest
from test_evaluation import suite
from test_report_formats import toy, toy_decision

from factors import BUILTIN
from ranker.errors import DataError, RankModelsError, UnknownName, UsageError
from ranker.results.ranking import Ranking
from ranker.scoring.decision import decide
from ranker.scoring.evaluation import evaluate


@pytest.fixture(scope="module")
def evaluation():
    """An evaluation with families, a designed factor and a hole."""
    made = suite()
    values = made.values.copy()
    values[0, 2, 3] = np.nan
    made = dataclasses.replace(made, values=values, dropped={"INDEX-DIFF": {"undefined": 1}})
    return evaluate(made, families=["a", "a", "b", "b", "b"], designed="INDEX-DIFF", suite="<five>", ood="hans-sub")


@pytest.fixture(scope="module")
def decided():
    """A decision on ten rows."""
    return decide(dataclasses.replace(suite(examples=10), ood_accuracy=None), suite="five", ood="mine")


@pytest.mark.parametrize("which", ["evaluation", "decided"])
def test_what_is_saved_is_loaded(which, request, tmp_path):
    """Every field comes back as it was; factors keep their declarations, not their functions."""
    ranking = request.getfixturevalue(which)
    ranking.save(tmp_path / "ranking.json")
    back = Ranking.load(tmp_path / "ranking.json")
    for field in dataclasses.fields(Ranking):
        if field.name != "table":
            assert getattr(back, field.name) == getattr(ranking, field.name), field.name
    assert back.to_dict() == ranking.to_dict()
    assert np.array_equal(back.table.values, ranking.table.values, equal_nan=True)
    assert [method.name for method in back.table.methods] == [method.name for method in ranking.table.methods]
    assert [m.higher_is_better for m in back.table.methods] == [m.higher_is_better for m in ranking.table.methods]
    with pytest.raises(NotImplementedError, match="not its function"):
        back.table.methods[0].score(None, None)


def test_examples_are_saved_with_the_run(tmp_path):
    """What the models saw in them comes back to the last digit; a factor's function does not."""
    toy().save(tmp_path / "r.json")
    (back,), (kept,) = Ranking.load(tmp_path / "r.json").examples, toy().examples
    assert back.to_dict() == kept.to_dict()
    assert (back.readings, back.example, back.designed) == (kept.readings, kept.example, kept.designed)
    with pytest.raises(NotImplementedError, match="not its function"):
        back.factors[0].score(None, None)


def test_a_loaded_ranking_evaluates_anew_to_the_same(evaluation, tmp_path):
    """The saved score table is enough to compute everything again."""
    evaluation.save(tmp_path / "r.json")
    again = evaluate(Ranking.load(tmp_path / "r.json").table, designed="INDEX-DIFF", families=["a", "a", "b", "b", "b"])
    assert again.methods == evaluation.methods


def test_the_schema_is_json_without_nan(evaluation, decided):
    """Undefined numbers are null, and all accuracies are fractions."""
    for ranking in (evaluation, decided):
        json.dumps(ranking.to_dict(), allow_nan=False)
    whole = evaluation.to_dict()
    assert whole["schema_version"] == 1
    assert {"name", "kind", "few_shot_accuracy", "ci_low", "ci_high", "vs_acc"} <= set(whole["methods"][0])
    assert {"a", "b", "method", "accuracy"} <= set(whole["pairs"][0])


def test_pairs_are_rows(evaluation, decided):
    """An evaluation has a row for each pair and method, a decision one for each pair."""
    assert len(evaluation.pairs()) == 10 * len(evaluation.methods)
    assert all(pair["gap"] > 0 for pair in evaluation.pairs())
    rows = decided.pairs()
    assert len(rows) == 10
    assert all(0 <= row["p_beats"] <= 1 for row in rows)


def test_pandas_tables_have_a_row_a_method_or_a_model(evaluation, decided):
    """The index is the name; the columns are the fields."""
    assert evaluation.to_pandas().loc["ACC", "few_shot_accuracy"] == evaluation.method("ACC").few_shot_accuracy
    table, found = decided.to_pandas(), decided.decision
    assert list(table.index) == list(found.models)
    for column in ("accuracy", "low", "high", "p_best"):
        assert tuple(table[column]) == getattr(found, column)
    first = [other for other, p in zip(found.models, found.p_beats[0], strict=True) if 0.1 < p < 0.9]
    assert table["tied"].iloc[0] == ", ".join(first[1:])
    assert (set(table["method"]), tuple(table["score"])) == ({"ACC+TIES"}, found.scores)


def test_without_pandas_one_line_says_what_to_install(evaluation, monkeypatch):
    """It is no requirement."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pip install pandas"):
        evaluation.to_pandas()


def test_a_notebook_shows_a_small_table(evaluation, decided):
    """Methods or models, one row each; names are escaped."""
    html = evaluation._repr_html_()
    assert html.count("<tr>") == 1 + len(evaluation.methods)
    assert "&lt;five&gt; on hans-sub, K = 10" in html
    assert decided._repr_html_().count("<tr>") == 1 + 5


def test_a_ranking_and_a_factor_are_written_in_a_line(evaluation, decided):
    """What a shell shows of them, alone or among the defaults of a function."""
    assert repr(evaluation) == "<Ranking <five> on hans-sub: 5 models, K = 10, 7 methods, best m4>"
    assert str(decided) == f"<Ranking five on mine: 5 models, K = 10, by ACC+TIES, first {decided.models[0].name}>"
    assert repr(BUILTIN["ACC"]) == "<factor ACC>"


def test_a_method_is_found_by_name(evaluation):
    """Case does not matter, and the near name is offered."""
    assert evaluation.method("acc") is evaluation.method("ACC")
    with pytest.raises(UnknownName, match="did you mean INDEX-DIFF"):
        evaluation.method("INDEX-DIF")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no json", "cannot be read as a ranking"),
        ("[]", r"must be a ranking of schema 1 \(got None\)"),
        ('{"schema_version": 9}', r"must be a ranking of schema 1 \(got 9\)"),
        ('{"schema_version": 1}', "is no whole ranking: it has no 'decision'"),
        ('{"schema_version": 1, "decision": null}', "is no whole ranking: it has no 'table'"),
    ],
)
def test_a_file_that_is_no_ranking(text, says, tmp_path):
    """What cannot be read is named, with the reason."""
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(DataError, match=says):
        Ranking.load(tmp_path / "r.json")


def test_a_ranking_of_no_models_is_none(evaluation, decided, tmp_path):
    """Nothing could be said of it."""
    path = tmp_path / "r.json"
    for ranking in (evaluation, decided):
        ranking.save(path)
        whole = json.loads(path.read_text())
        lists = whole if ranking.decision is None else whole["decision"]
        lists |= {name: [] for name, value in lists.items() if isinstance(value, list)}
        path.write_text(json.dumps(whole))
        with pytest.raises(DataError, match="`models` are none"):
            Ranking.load(path)


def test_rows_that_lack_a_model_are_none(tmp_path):
    """A report asks each row what every model takes it for."""
    ranking = toy_decision()
    rows = (dataclasses.replace(ranking.rows[0], predicted={}),)
    dataclasses.replace(ranking, rows=rows).save(tmp_path / "r.json")
    with pytest.raises(DataError, match="what is predicted of e0 must be those of the models"):
        Ranking.load(tmp_path / "r.json")


def test_a_file_that_cannot_be_written_or_found(evaluation, tmp_path):
    """A missing folder is one line, not a traceback."""
    with pytest.raises(RankModelsError, match="cannot be written to"):
        evaluation.save(tmp_path / "no" / "r.json")
    with pytest.raises(DataError, match="cannot be read"):
        Ranking.load(tmp_path / "none.json")
