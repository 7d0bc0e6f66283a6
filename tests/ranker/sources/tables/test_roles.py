import numpy as np
import pytest
from refusals import refuses
from tables_made import ROWS, TASK, answers, csv, differing, joined_by, said_by, understood

from ranker.errors import DataError, Question, UnknownName
from ranker.files import reader
from ranker.sources.tables.base import RequestedRows, TableHints
from ranker.sources.tables.reading import parse_predictions
from ranker.tasks.classes import ClassificationTask


def names(parsed):
    """Names of the models of a table."""
    return [model.name for model in parsed.models]


def test_the_only_column_of_labels_holds_the_answers(tmp_path):
    """In HANS' own files of predictions `gold_label` is what the model said."""
    parsed = understood(tmp_path / "esim.csv", csv("pairID,gold_label", "a,good", "b,negative"))
    assert said_by(parsed.models[0]) == ["positive", "negative"]
    assert "'gold_label' is read as the answers, since no other column could hold them" in parsed.notes
    assert parsed.truth is None


def test_numbers_beside_a_truth_of_three_names_are_asked_about(tmp_path):
    """Numbers are no labels by themselves, and the truth is not taken for the answers in their place."""
    path = tmp_path / "a.csv"
    path.write_text("id,label,m,n\na,yes,0,1\nb,no,1,1\nc,maybe,2,0\n")
    with refuses(DataError, option="label_map", place=path):
        parse_predictions(reader.read_columns(path))
    hints = TableHints(label_map={"0": "yes", "1": "no", "2": "maybe"})
    assert names(parse_predictions(reader.read_columns(path), hints=hints)) == ["m", "n"]


def test_answers_and_truth_go_by_names_unless_stated(tmp_path):
    """Two columns of labels are told by their names; the user may say otherwise."""
    parsed = understood(tmp_path / "bert.csv", csv("id,gold,prediction", "a,good,negative", "b,negative,"))
    assert names(parsed) == ["bert"]
    assert said_by(parsed.models[0]) == ["negative", "no answer"]
    assert parsed.truth.tolist() == [1, 0]
    assert "'gold' is read as the truth, by its name; to change that, use `truth` and `prediction`" in parsed.notes
    content = csv("id,gold_label,prediction", "a,good,negative")
    parsed = understood(tmp_path / "bert.csv", content, prediction=("gold_label",), truth="prediction")
    assert said_by(parsed.models[0]) == ["positive"]
    assert parsed.truth.tolist() == [0]
    assert names(parsed) == ["bert"]


def test_a_wide_table_has_a_column_a_model(tmp_path):
    """With the truth or without; one column, or group of columns, can be chosen."""
    parsed = understood(tmp_path / "a.csv", csv("id,label,m1,m2", "a,good,good,negative"))
    assert names(parsed) == ["m1", "m2"]
    assert parsed.truth.tolist() == [1]
    assert "'m1' and 'm2' hold labels" in parsed.notes
    assert names(understood(tmp_path / "b.csv", csv("id,m1,m2", "a,good,negative"))) == ["m1", "m2"]
    content = csv("id,m1,m2", "a,good,negative")
    parsed = understood(tmp_path / "a.csv", content, prediction=("m2",))
    assert names(parsed) == ["m2"]
    assert said_by(parsed.models[0]) == ["negative"]
    assert "'m1' is not read; choose columns with `prediction`" in parsed.notes
    content = csv("id,a/negative,a/positive,b/negative,b/positive", "x,0.9,0.1,0.2,0.8")
    parsed = understood(tmp_path / "b.csv", content, prediction=("b",))
    assert names(parsed) == ["b"]
    assert said_by(parsed.models[0]) == ["positive"]


@pytest.mark.parametrize("header", ["m/{}", "{}", "p_{}", "prob-{}", "logits.{}", "score {}", "predictions_{}"])
def test_a_group_of_columns_of_one_model(tmp_path, header):
    """The names of the labels, behind a model's name or a word for what they are."""
    columns = ",".join(["id", *(header.format(name) for name in TASK.labels)])
    parsed = understood(tmp_path / "bert.csv", csv(columns, "a,0.25,0.75"))
    assert names(parsed) == ["m" if "/" in header else "bert"]
    assert np.allclose(parsed.models[0].probs, [[0.25, 0.75]])


@pytest.mark.parametrize("header", ["m/{}", "{}", "logit_{}", "bert_base.{}"])
@pytest.mark.parametrize("row", ["-1.5,3.25,0.5", "0.2,0.7,0.1"])
def test_a_score_of_a_label_that_the_task_lacks_is_asked_about(tmp_path, header, row):
    """Without it the softmax of the others is another model, and probabilities do not add up."""
    columns = [header.format(name) for name in ("negative", "neutral", "positive")]
    path = tmp_path / "bert.csv"
    with refuses(Question, option="label_map", value=columns[1], allowed=TASK.labels, place=path):
        understood(path, csv(",".join(["id", *columns]), f"a,{row}", f"b,{row}"))


@pytest.mark.parametrize("header", ["m/{}", "{}", "p_{}"])
def test_the_other_half_of_a_score_is_asked_about(tmp_path, header):
    """A mistyped label in the rows must not take the column of the label that nobody wrote."""
    columns = [header.format(name) for name in ("negative", "positive")]
    path, task = tmp_path / "bert.csv", ClassificationTask("rows", ("?", "negative"), ordered=False)
    with refuses(Question, option="label_map", value=columns[1], allowed=task.labels, place=path):
        understood(path, csv(",".join(["id", *columns]), "a,0.25,0.75"), task)


@pytest.mark.parametrize("header", ["{}", "p_{}"])
def test_numbers_beside_scores_that_add_up_are_no_scores(tmp_path, header):
    """The group is complete without them; and a probability alone is not joined by a loss."""
    columns = ",".join(header.format(name) for name in ("negative", "positive", "loss"))
    parsed = understood(tmp_path / "bert.csv", csv(f"id,{columns}", "a,0.25,0.75,0.3", "b,,,0.1"))
    assert np.allclose(parsed.models[0].probs[0], [0.25, 0.75])
    assert f"'{header.format('loss')}' holds numbers: not read" in parsed.notes
    columns = ",".join(header.format(name) for name in ("positive", "loss"))
    assert said_by(understood(tmp_path / "a.csv", csv(f"id,{columns}", "a,0.75,2.3")).models[0]) == ["positive"]


def test_columns_of_scores_name_the_labels(tmp_path):
    """Of a file without a task: all that add up to 1, without a word such as p before them, or those of a label map."""
    (tmp_path / "p.csv").write_text("id,p_neg,p_neu,p_pos\nx,0.2,0.7,0.1\ny,,,\n")
    (tmp_path / "logit.csv").write_text("id,logit_neg,logit_neu,logit_pos\nx,-1.5,3.25,0.5\n")
    (tmp_path / "bare.csv").write_text("id,neg,neu,pos,tokens\nx,-1.5,3.25,0.5,7\n")
    (tmp_path / "own.csv").write_text("id,label,neg,neu,pos\nx,neg,-1.5,3.25,0.5\ny,pos,-1.5,3.25,0.5\n")
    for name, label_map, labels in (
        ("p", {}, ("neg", "neu", "pos")),
        ("logit", {"neu": "neu"}, ("neg", "neu", "pos")),
        ("bare", {"neu": "neu"}, ("neg", "neu", "pos")),
        ("bare", {"neu": "neg"}, ("neg", "pos")),
        ("own", {"neu": "neu"}, ("neg", "neu", "pos")),
    ):
        table = reader.read_columns(tmp_path / f"{name}.csv")
        parsed = parse_predictions(table, hints=TableHints(label_map=label_map))
        assert parsed.task.labels == labels
        assert parsed.models[0].probs.shape[1] == len(labels)
    for name in ("logit", "bare", "own"):
        with pytest.raises(DataError):
            parse_predictions(reader.read_columns(tmp_path / f"{name}.csv"))


def test_groups_of_columns_of_several_models(tmp_path):
    """Models may hold any sign, labels be aliases or numbers; `p_non-entailment` is no entailment of `p_non`."""
    for first, second in (("negative", "good"), ("LABEL_0", "LABEL_1"), ("0", "1")):
        header = f"id,gpt-4.1_x/{first},gpt-4.1_x/{second},b/{first},b/{second}"
        parsed = understood(tmp_path / "a.csv", csv(header, "a,0.25,0.75,0.9,0.1"))
        assert names(parsed) == ["gpt-4.1_x", "b"]
        assert [said_by(model) for model in parsed.models] == [["positive"], ["negative"]]
    task = ClassificationTask("nli", ("non-entailment", "entailment"))
    parsed = understood(tmp_path / "a.csv", csv("p_non-entailment,p_entailment", "0.75,0.25"), task)
    assert np.allclose(parsed.models[0].probs, [[0.75, 0.25]])


def test_models_that_are_numbered_are_no_classes(tmp_path):
    """`seed-0` and `seed-1` answer with labels, and not with scores of the labels 0 and 1."""
    content = csv("id,label,seed-0,seed-1", "a,1,1,0", "b,0,0,1", "c,1,1,0")
    parsed = understood(tmp_path / "a.csv", content)
    assert names(parsed) == ["seed-0", "seed-1"]
    assert [said_by(model)[0] for model in parsed.models] == ["positive", "negative"]


def test_zero_and_one_are_labels_where_something_says_so(tmp_path):
    """A name that is used of labels, a truth in the same numbers, or the user says so."""
    for header, hints in (("id,Category", {}), ("id,annotation", {}), ("id,bert", {"answers": "labels"})):
        parsed = understood(tmp_path / "a.csv", csv(header, "a,1", "b,0"), **hints)
        assert said_by(parsed.models[0]) == ["positive", "negative"]
    parsed = understood(tmp_path / "a.csv", csv("id,label,m,n", "a,1,1,0", "b,0,0,1"))
    assert [said_by(model)[0] for model in parsed.models] == ["positive", "negative"]
    with refuses(Question, option="answers", place=tmp_path / "a.csv"):
        understood(tmp_path / "a.csv", csv("id,label,m,n", "a,good,1,0", "b,negative,0,1"))


@pytest.mark.parametrize("pair", ["10", ("1.0", "0.0"), ("True", "False")])
def test_zero_and_one_are_asked_about_however_they_are_written(tmp_path, pair):
    """Pandas writes outcomes with a gap as 1.0 and 0.0; a truth in the same numbers shows labels."""
    yes, no = pair
    path = tmp_path / "a.csv"
    with refuses(Question, option="answers", place=path):
        understood(path, csv("id,label,m,n", f"a,good,{yes},{no}", f"b,negative,{no},"))
    parsed = understood(path, answers="outcomes")
    assert parsed.models[0].outcomes.tolist() == [1, 0]
    with refuses(Question, option="answers", place=tmp_path / "score.csv"):
        understood(tmp_path / "score.csv", csv("id,score", f"a,{yes}", f"b,{no}"))
    parsed = understood(path, csv("id,label,m,n", "a,1,1.0,0.0", "b,0,0.0,0.0"))
    assert [said_by(model)[0] for model in parsed.models] == ["positive", "negative"]


def test_a_constant_beside_models_is_asked_about(tmp_path):
    """A share of agreement is no model, and `prediction` leaves it out."""
    path = tmp_path / "a.csv"
    with refuses(Question, option="answers", place=path) as stop:
        understood(path, csv("id,label,bert,agreement", "a,good,good,1.0", "b,negative,good,1.0"))
    assert "`prediction` says which columns are to be read" in str(stop.value)
    assert names(understood(path, prediction=("bert",))) == ["bert"]


def test_outcomes_by_their_names(tmp_path):
    """A column called correct holds outcomes, unless another one holds answers."""
    parsed = understood(tmp_path / "a.csv", csv("id,correct", "a,1", "b,0"))
    assert (parsed.models[0].kind, parsed.models[0].outcomes.tolist()) == ("outcomes", [1, 0])
    parsed = understood(tmp_path / "b.csv", csv("id,prediction,correct", "a,good,1", "b,good,0"))
    assert said_by(parsed.models[0]) == ["positive", "positive"]


@pytest.mark.parametrize("truth", ["gold", "label", "y_true", "expected"])
@pytest.mark.parametrize("right", ["correct", "is_correct", "acc", "bert_correct"])
def test_a_truth_beside_outcomes_is_no_answer(tmp_path, truth, right):
    """A log of what was right has the true label in it, and not what was said; the user may say otherwise."""
    content = csv(f"id,{truth},{right}", "a,good,1", "b,negative,0")
    parsed = understood(tmp_path / "bert.csv", content)
    assert (names(parsed), parsed.models[0].kind, parsed.models[0].outcomes.tolist()) == (["bert"], "outcomes", [1, 0])
    assert parsed.truth.tolist() == [1, 0]
    assert said_by(understood(tmp_path / "bert.csv", prediction=(truth,)).models[0]) == ["positive", "negative"]


def test_several_outcomes_beside_a_truth(tmp_path):
    """Each column of outcomes is a model."""
    parsed = understood(tmp_path / "a.csv", csv("id,label,bert_correct,gpt_correct", "a,good,1,1", "b,negative,1,0"))
    assert [(model.name, model.outcomes.tolist()) for model in parsed.models] == [
        ("bert_correct", [1, 1]),
        ("gpt_correct", [1, 0]),
    ]


def test_labels_beside_their_scores_are_held_against_them(tmp_path):
    """If they differ on some rows, the scores are read, and it is said."""
    rows = ["good,0.1,0.9", "good,0.2,0.8", "negative,0.4,0.6"]
    parsed = understood(tmp_path / "a.csv", csv("prediction,p_negative,p_positive", *rows))
    assert said_by(parsed.models[0]) == ["positive"] * 3
    assert "differ on 1 of 3 rows; the scores are read" in parsed.models[0].notes[-1]


def test_models_may_stand_below_each_other(tmp_path):
    """In any order with ids; without, each has as many rows, whose texts must agree."""
    content = csv("model,id,label,prediction", "m,a,good,good", "n,b,negative,negative", "m,b,negative,good")
    parsed = understood(tmp_path / "a.csv", content)
    assert {model.name: said_by(model) for model in parsed.models} == {
        "m": ["positive", "positive"],
        "n": ["missing", "negative"],
    }
    assert parsed.ids == ("a", "b")
    assert parsed.truth.tolist() == [1, 0]
    rows = ["m,Lovely.,good", "m,Dull.,negative", "n,Lovely.,good", "n,Dull.,good"]
    parsed = understood(tmp_path / "a.csv", csv("model,text,prediction", *rows))
    assert [said_by(model) for model in parsed.models] == [["positive", "negative"], ["positive", "positive"]]
    assert parsed.texts[0] == ("Lovely.", "Dull.")
    with refuses(DataError, option="id_column", place=tmp_path / "b.csv"):
        understood(tmp_path / "b.csv", csv("model,text,prediction", *rows[:2], *reversed(rows[2:])))


def test_a_column_called_model_may_name_one_model_or_say_something_else(tmp_path):
    """The model of all rows has the name that stands there; a text that repeats in no row is like any other."""
    assert names(understood(tmp_path / "a.csv", csv("model,id,prediction", "bert,a,good", "bert,b,good"))) == ["bert"]
    assert names(understood(tmp_path / "a.csv", csv("model,id,prediction", "T,a,good", "V8,b,good"))) == ["a"]


def test_ids_go_by_the_rows_unless_stated(tmp_path):
    """Names do not matter where the rows are known: a premise may be called a hypothesis."""
    rows = RequestedRows(("7", "8"), (("A dog ran.", "It ran."), ("A cat sat.", "It sat.")))
    content = csv("id,zzz,hypothesis,premise,out", "x,7,A dog ran.,It ran.,good", "y,8,A cat sat.,It sat.,good")
    joined = answers(tmp_path / "a.csv", content, rows=rows, prediction=("out",))
    assert (joined_by(joined), differing(joined)) == ("id", 0)
    assert said_by(joined.models[0]) == ["positive", "positive"]
    content = csv("id,key2,t,prediction", "x,a,Lovely.,good")
    assert understood(tmp_path / "a.csv", content, id="key2", rows=ROWS).ids == ("a",)


@pytest.mark.parametrize("task", [TASK, None])
@pytest.mark.parametrize("role", ["id", "truth", "cluster", "prediction"])
def test_a_column_that_is_not_there_is_one_line(tmp_path, role, task):
    """The near one is offered, whether the labels are known or are to be read off the file."""
    wanted = ("idd",) if role == "prediction" else "idd"
    with refuses(UnknownName, value="idd", place=tmp_path / "a.csv"):
        understood(tmp_path / "a.csv", csv("id,prediction", "a,good", "b,bad"), task, **{role: wanted})


def test_rows_of_its_own(tmp_path):
    """Ids, texts, truth and clusters; a row without a truth has none."""
    content = csv("id,premise,hypothesis,label,m,doc", "a,A b.,A.,good,good,x", "b,C d.,C.,,good,y")
    parsed = understood(tmp_path / "a.csv", content, cluster="doc")
    assert parsed.ids == ("a", "b")
    assert parsed.texts == {0: ("A b.", "C d."), 1: ("A.", "C.")}
    assert parsed.truth.tolist() == [1, -1]
    assert parsed.clusters == ("x", "y")


@pytest.mark.parametrize(
    ("content", "labels"),
    [
        (csv("id,label,m", "a,yes,no", "b,no,yes"), ("no", "yes")),
        (csv("id,label,m", "a,2,0", "b,0,1"), ("0", "1", "2")),
        (csv("id,label,m/no,m/yes", "a,0,0.9,0.1", "b,1,0.2,0.8"), ("no", "yes")),
        (csv("no,maybe,yes", "0.5,0.25,0.25", "0,0,1"), ("no", "maybe", "yes")),
        (csv("id,prediction", "a,yes", "b,no", "c,[invalid]", "d,yes"), ("no", "yes")),
    ],
)
def test_labels_that_stand_in_the_file(tmp_path, content, labels):
    """If no task is named, labels are those of the truth, of the answers, or of the columns' names."""
    parsed = understood(tmp_path / "a.csv", content, task=None)
    assert parsed.task.labels == labels


def test_no_labels_in_the_file_is_one_line(tmp_path):
    """A column of texts, or of one label, makes no task."""
    with refuses(DataError, option="truth", place=tmp_path / "a.csv"):
        understood(tmp_path / "a.csv", csv("id,prediction", "a,good", "b,good"), task=None)


def test_names_of_models(tmp_path):
    """Which of `bert_pred` and `gpt` hold answers has to be said; `m/label` and `n/label` are the models m and n."""
    content = csv("id,label,bert_pred,gpt", "a,good,good,negative")
    with refuses(Question, option="prediction", place=tmp_path / "a.csv"):
        understood(tmp_path / "a.csv", content)
    assert names(understood(tmp_path / "a.csv", content, prediction=("bert_pred", "gpt"))) == ["bert_pred", "gpt"]
    assert names(understood(tmp_path / "a.csv", csv("id,m/label,n/label", "a,good,negative"))) == ["m", "n"]
    parsed = understood(tmp_path / "a.csv", csv("id,m/prediction,m/prediction_2", "a,good,negative"))
    assert names(parsed) == ["m/prediction", "m/prediction_2"]


def test_empty_scores_are_errors(tmp_path):
    """A model that failed on every row stays, and errors may come before the first number."""
    header = "id,m/negative,m/positive,n/negative,n/positive"
    parsed = understood(tmp_path / "a.csv", csv(header, "a,0.1,0.9,,", "b,0.9,0.1,nan,nan"))
    assert {model.name: said_by(model) for model in parsed.models} == {
        "m": ["positive", "negative"],
        "n": ["error", "error"],
    }
    rows = [f"{i},," for i in range(150)] + ["x,0.25,0.75"]
    model = understood(tmp_path / "a.csv", csv("id,negative,positive", *rows)).models[0]
    assert said_by(model) == [*["error"] * 150, "positive"]


def test_whole_numbers_of_a_data_frame_are_counted(tmp_path):
    """A data frame writes 2.0 once a cell is empty; the labels are 0, 1 and 2."""
    path = tmp_path / "a.csv"
    path.write_text("id,prediction\na,0.0\nb,2.0\nc,\n")
    assert parse_predictions(reader.read_columns(path)).task.labels == ("0", "1", "2")
