"""Files that were refused although they mean one thing, and files that were read although they mean nothing."""

import json
import unicodedata

import numpy as np
import pytest
from refusals import refuses
from tables_made import understood

from ranker.commands import arguments
from ranker.datasets.readers import layout_task, raw_labels, read_sheet
from ranker.datasets.sets import unlabelled
from ranker.errors import DataError, UsageError
from ranker.files.reader import of_rows, read_columns

MOODS = ("müde", "froh")


@pytest.fixture
def shares(run):
    """List each model's share of right answers, in percent, by its name."""

    def call(*arguments):
        status, out, err = run(*arguments, "--format", "json")
        assert status == 0, err
        return {model["name"]: round(100 * model["outcome"], 1) for model in json.loads(out)["decision"]["models"]}

    return call


def saved(path, *lines):
    """A file of lines."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def refusal(outcome, status=2):
    """The line that a run was refused with."""
    assert outcome[0] == status, outcome
    return " ".join(outcome[2].split()).removeprefix("rank-models: ")


def as_letters_and_accents(text):
    """Text in NFD, as macOS writes names of files."""
    return unicodedata.normalize("NFD", text)


# ---- names of labels


@pytest.mark.more
def test_labels_that_look_alike_are_one_label(shares, tmp_path):
    """A label is the same with its accents in one character or two, in rows, answers, and label maps."""
    rows = [f"{n},Row {n}.,{MOODS[n % 2] if n % 3 else as_letters_and_accents(MOODS[n % 2])}" for n in range(8)]
    rows_file = saved(tmp_path / "rows.csv", "id,text,label", *rows)
    composed = saved(tmp_path / "a.csv", "id,prediction", *(f"{n},{MOODS[n % 2]}" for n in range(8)))
    apart = saved(tmp_path / "b.csv", "id,prediction", *(f"{n},{as_letters_and_accents(MOODS[0])}" for n in range(8)))
    mapped = saved(tmp_path / "c.csv", "id,prediction", *(f"{n},{'tm'[n % 2]}" for n in range(8)))
    assert shares("--data", rows_file, "--models", composed, apart) == {"a": 100.0, "b": 50.0}
    label_map = json.dumps({"t": as_letters_and_accents(MOODS[0]), "m": MOODS[1]})
    assert shares("--data", rows_file, "--models", composed, mapped, "--label-map", label_map) == {
        "a": 100.0,
        "c": 100.0,
    }


def test_a_table_with_the_truth_has_each_label_once(shares, tmp_path):
    """So it is where one file holds the truth and the answers, in columns of labels or of scores."""
    cells = [f"{n},{MOODS[n % 2]},{as_letters_and_accents(MOODS[n % 2])},{MOODS[0]}" for n in range(6)]
    wide = saved(tmp_path / "wide.csv", "id,label,a,b", *cells)
    assert shares("--models", wide) == {"a": 100.0, "b": 50.0}


# ---- label maps


@pytest.mark.parametrize("text", ['{"A": "bad", "A": "good", "B": "bad"}', "A = bad; A = good; B = bad"])
def test_a_name_has_one_label(text):
    """Neither form of a label map may name two labels for one name."""
    with refuses(UsageError, option="label_map"):
        arguments.label_map(text)


def test_a_file_of_a_label_map_names_each_once(tmp_path):
    """Nor may a file."""
    file = saved(tmp_path / "map.json", '{"A": "bad",', '"A": "good"}')
    with pytest.raises(UsageError):
        arguments.label_map(str(file))


@pytest.mark.parametrize("form", ['{{"{}": "bad", "{}": "good"}}', "{} = bad; {} = good"])
def test_names_that_look_alike_are_one_name(form):
    """One name written in two ways has one label, too."""
    with refuses(UsageError, option="label_map", value=MOODS[0]):
        arguments.label_map(form.format(MOODS[0], as_letters_and_accents(MOODS[0])))


# ---- shapes of files

LABELS = ["good", "bad", "good", "good", "bad", "bad"]
SAID = {"a": ["good", "bad", "good", "good", "bad", "good"], "b": ["bad"] * 6}
SHARES = {"a": 83.3, "b": 50.0}


ROWS = [{"id": str(n), "label": label, "prediction": "good"} for n, label in enumerate(LABELS)]


def read(path):
    """Rows of a file, as it has them."""
    return [dict(row.cells) for row in read_columns(path).rows()]


@pytest.mark.parametrize("key", ["predictions", "data", "rows", "samples", "instances", "results", "examples"])
def test_rows_under_one_key_are_the_rows(tmp_path, key):
    """Facts about the whole file may stand beside them: texts, numbers, objects, and lists of other lengths."""
    facts = {"model": "m", "metadata": {"seed": 1, "lr": [0.1]}, "tags": ["x", "y"], "accuracy": 0.5, "none": None}
    assert read(saved(tmp_path / "a.json", json.dumps({**facts, key: ROWS}))) == ROWS
    assert read(saved(tmp_path / "a.json", json.dumps({key: ROWS}))) == ROWS


def test_columns_may_stand_beside_an_object(tmp_path):
    """Lists of one length are columns, even if one holds objects, whatever stands beside them."""
    columns = {key: [row[key] for row in ROWS] for key in ROWS[0]}
    assert read(saved(tmp_path / "a.json", json.dumps({"metadata": {"seed": 1}, **columns}))) == ROWS
    nested = {"text": ["A.", "B."], "answers": [{"text": ["a"]}, {"text": ["b"]}]}
    names = read_columns(saved(tmp_path / "b.json", json.dumps(nested))).order
    assert names == ("text", "answers")


def test_which_of_two_lists_holds_the_rows_is_a_question(run, tmp_path):
    """Nothing says which of several lists of objects is meant."""
    file = saved(tmp_path / "a.json", json.dumps({"dev": ROWS, "test": ROWS[:2]}))
    assert "'dev', 'test'" in refusal(run("--models", file))


def test_a_quote_that_is_not_closed_is_named_by_its_line(tmp_path):
    """The line is that on which it opens, not that of the end of the file."""
    rows_file = saved(
        tmp_path / "rows.csv", "text,label", '"Two', 'lines",good', '"It said ""no""",bad', '"Open,good', "A,bad"
    )
    with refuses(DataError, place=f"{rows_file}, line 5"):
        read(rows_file)


# ---- arrays


def as_arrays(folder, *flags):
    """Two files of ``np.savez`` with two classes: logits, and what else is given."""
    files = []
    for name, answers in SAID.items():
        files.append(folder / f"{name}.npz")
        logits = np.array([[1.5, -1.0] if answer == "bad" else [-2.0, 0.5] for answer in answers])
        np.savez(files[-1], logits, *flags)
    return files


TRUE = np.array([int(label == "good") for label in LABELS])


@pytest.mark.parametrize("flags", [(), ("--prediction", "arr_0", "--truth", "arr_1")])
def test_what_trainers_return_is_read(shares, tmp_path, flags):
    """`np.savez(file, *trainer.predict(rows))` names its arrays by their order; the third is an object of metrics."""
    files = as_arrays(tmp_path, TRUE, {"test_loss": 0.5})
    assert shares("--models", *files, *flags) == SHARES


def test_what_trainers_return_without_labels_is_read(shares, tmp_path):
    """Without labels, the second array is None."""
    files = as_arrays(tmp_path, None, {"test_loss": 0.5})
    rows_file = saved(tmp_path / "rows.csv", "text,label", *(f"Row {n}.,{label}" for n, label in enumerate(LABELS)))
    assert shares("--data", rows_file, "--models", *files) == SHARES


def test_two_arrays_of_labels_are_not_guessed_at(run, tmp_path):
    """Of two arrays of labels, nothing says which is the truth."""
    np.savez(tmp_path / "a.npz", TRUE, TRUE[::-1])
    assert "arr_0" in refusal(run("--models", tmp_path / "a.npz"))


# ---- exports of labelling tools


def annotation(*choices, **facts):
    """An annotation as Label Studio writes it."""
    selections = [{"type": "choices", "value": {"choices": [*choices]}}] if choices else []
    return {"id": 1, "completed_by": 1, "was_cancelled": False, "result": selections, **facts}


def test_the_ground_truth_of_a_task_decides(tmp_path):
    """Annotations that are marked as ground truth count, and the others of the task do not."""
    tasks = [
        {"data": {"text": "Fine."}, "annotations": [annotation("bad"), annotation("good", ground_truth=True)]},
        {"data": {"text": "Dull."}, "annotations": [annotation("bad"), annotation("good")]},
        {
            "data": {"text": "Odd."},
            "annotations": [annotation(ground_truth=True, was_cancelled=True), annotation("bad")],
        },
    ]
    sheet = read_sheet(saved(tmp_path / "export.json", json.dumps(tasks)))
    assert raw_labels(sheet) == ["good", "bad", "good", None, "bad"]


def test_a_row_with_several_labels_is_counted(tmp_path, caplog):
    """A row with several labels counts as unlabelled, as long as most rows have one label."""
    tasks = [
        {"data": {"text": f"{n}."}, "annotations": [annotation(*labels)]} for n, labels in enumerate(["ab", "a", "b"])
    ]
    sheet = read_sheet(saved(tmp_path / "export.json", json.dumps(tasks)))
    assert raw_labels(sheet) == [None, "a", "b"]
    assert "several labels count as unlabelled: 1" in caplog.text
    lines = [json.dumps({"text": f"{n}.", "label": [*labels]}) for n, labels in enumerate(["a", "ab", "b"])]
    assert raw_labels(read_sheet(saved(tmp_path / "rows.jsonl", *lines))) == ["a", None, "b"]


def test_rows_that_mostly_have_several_labels_are_refused(tmp_path):
    """Rows of a task with several labels a row are not read."""
    lines = [json.dumps({"text": f"{n}.", "label": [*labels]}) for n, labels in enumerate(["ab", "ab", "b"])]
    with refuses(DataError, value=["a", "b"]):
        read_sheet(saved(tmp_path / "rows.jsonl", *lines))


# ---- scores of two classes


PROBABILITIES = {"a": [0.9, 0.2, 0.7, 0.8, 0.4, 0.6], "b": [0.1, 0.2, 0.3, 0.4, 0.45, 0.2]}


def scored(folder, column, truth="y_true", labels=TRUE):
    """Two files with the truth and one score a row."""
    files = []
    for name, scores in PROBABILITIES.items():
        rows = (f"{label},{score}" for label, score in zip(labels, scores, strict=True))
        files.append(saved(folder / f"{name}.csv", f"{truth},{column}", *rows))
    return files


def right_by(path, **options):
    """The share of rows that each model of a table has right, in percent."""
    table = understood(path, task=None, **options)
    truth = table.truth
    return {model.name: round(100 * float(np.mean(model.correct(truth))), 1) for model in table.models}


@pytest.mark.parametrize(
    "column", ["y_score", "y_prob", "y_proba", "score", "prob_1", "proba", "probability", "a_score"]
)
def test_one_score_of_two_classes_is_read(tmp_path, column):
    """Scores in [0, 1] beside a truth of 0 and 1 are probabilities of 1, as scikit-learn has them."""
    shares = [right_by(path) for path in scored(tmp_path, column)]
    assert shares == [{"a": 83.3}, {"b": 50.0}]


def test_scores_of_several_models_stand_beside_one_truth(tmp_path):
    """Each column is a model."""
    rows = zip(TRUE, *PROBABILITIES.values(), strict=True)
    wide = saved(tmp_path / "wide.csv", "y_true,a_prob,b_prob", *(",".join(map(str, row)) for row in rows))
    assert right_by(wide) == {"a_prob": 83.3, "b_prob": 50.0}


def test_which_of_two_names_a_score_is_of_is_a_question(run, tmp_path):
    """Of two words of one's own the second is not known; the question names the option, and its answer is taken."""
    words = [{"good": "spam", "bad": "ham"}[label] for label in LABELS]
    files = scored(tmp_path, "y_score", labels=words)
    assert '`--label-map \'{"y_score": "spam"}\'`' in refusal(run("--models", *files))
    assert right_by(files[0], label_map={"y_score": "spam"}) == {"a": 83.3}
    assert right_by(scored(tmp_path, "y_score", labels=LABELS)[0]) == {"a": 83.3}  # good is the upper end of a scale


def test_the_question_about_a_score_has_an_answer(tmp_path):
    """Whatever the column is named, `answers` decides, with the truth named or not."""
    for path in scored(tmp_path, "m", truth="t"):
        assert right_by(path, answers="probabilities", truth="t") == {path.stem: SHARES[path.stem]}


def test_rows_of_numbers_judge_one_score(shares, tmp_path):
    """So it is where the truth has its own file, though no file of scores names a label."""
    rows = saved(tmp_path / "rows.csv", "id,text,label", *(f"r{n},Row {n}.,{label}" for n, label in enumerate(TRUE)))
    files = [
        saved(tmp_path / f"{name}.csv", "id,proba", *(f"r{n},{score}" for n, score in enumerate(scores)))
        for name, scores in PROBABILITIES.items()
    ]
    assert shares("--data", rows, "--models", *files) == SHARES


def test_three_classes_have_no_single_score(tmp_path):
    """One score cannot tell three classes, and an outcome is none."""
    three = saved(tmp_path / "three.csv", "y_true,y_score", "0,0.5", "1,0.25", "2,0.75")
    with pytest.raises(DataError):
        right_by(three, answers="probabilities")


def test_what_is_worse_than_guessing_comes_first(run, tmp_path):
    """Columns in the other order make every model worse than guessing: the answer says so before all else."""
    labels = [LABELS[n % 6] for n in range(30)]
    wrong = {"good": "bad", "bad": "good"}
    rows = [f"r{n},{label},{wrong[label]},{wrong[label] if n else label}" for n, label in enumerate(labels)]
    status, out, _ = run("--models", saved(tmp_path / "wide.csv", "id,label,a,b", *rows))
    text = " ".join(out.split())
    assert status == 0
    assert text.index("do worse than guessing. Do their labels match those of the rows?") < text.index("Cannot say yet")


# ---- labels as numbers and as names


def both_ways(folder, **columns):
    """A table with the truth and one model's answers as numbers and as names, in columns of some names."""
    numbers = {"bad": "0", "good": "1", "fine": "2"}
    truth, predictions = [*LABELS, "fine"], [*SAID["a"], "fine"]
    cells = {
        columns.get("truth", "label"): [numbers[label] for label in truth],
        columns.get("truth_name", "label_name"): truth,
        columns.get("answer", "prediction"): [numbers[label] for label in predictions],
        columns.get("answer_name", "prediction_name"): predictions,
    }
    rows = zip(*cells.values(), strict=True)
    return saved(folder / "both.csv", ",".join(cells), *map(",".join, rows))


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"answer": "bert_predicted_label", "answer_name": "bert_prediction"},
        {"truth": "label_id", "truth_name": "label"},
        {"truth": "y_true", "answer": "y_pred", "truth_name": "y_true_name", "answer_name": "y_pred_name"},
    ],
)
@pytest.mark.parametrize("prediction", ["nothing", "numbers", "names", "a number", "a name"])
def test_labels_as_numbers_and_as_names_are_one_model(tmp_path, columns, prediction):
    """The file is read by either pair of columns, with the columns named or not."""
    path = both_ways(tmp_path, **columns)
    truth, truth_name, answer, answer_name = path.read_text().split("\n")[0].split(",")
    predictions = {
        "nothing": {},
        "numbers": {"truth": truth, "prediction": (answer,)},
        "names": {"truth": truth_name, "prediction": (answer_name,)},
        "a number": {"prediction": (answer,)},
        "a name": {"prediction": (answer_name,)},
    }
    assert [*right_by(path, **predictions[prediction]).values()] == [85.7]


def test_two_models_that_answer_alike_stay_two(tmp_path):
    """Columns of other names are models of their own, even if one has numbers and the other names."""
    rows = ("0,0,0", "1,1,1", "0,0,1")
    path = saved(tmp_path / "wide.csv", "label,ann_pred,bob_pred", *rows)
    assert len(right_by(path)) == 2


# ---- columns that are named


def test_a_column_that_holds_a_few_labels_is_named_with_its_option(run, tmp_path):
    """The line about a column of other words names the option that chooses the columns of answers."""
    rows = ["1,calm,ok,ok", "2,bad,bad,ok", "3,bad,ok,bad", "4,calm,bad,bad"]
    wide = saved(tmp_path / "wide.csv", "id,topic,expected_label,lr_label", *rows)
    assert "`--prediction`" in refusal(run("--models", wide))


# ---- plain lines of text


LINES = ["It rang, and rang.", "The lift, of course.", "", "Nine steps\tdown.", "cat"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("first", [0, 1, 4])
def test_a_text_a_line_is_read_in_order(tmp_path, caplog, end, mark, first):
    """Commas, tabs and blank lines are part of it; a note says so."""
    lines = LINES[first:] + LINES[:first]
    path = tmp_path / "lines.txt"
    path.write_bytes((mark + "".join(f"{line}{end}" for line in lines)).encode())
    assert [row["text"] for row in read(path)] == [line or None for line in lines]
    assert "each line is a row" in caplog.text


@pytest.mark.parametrize(
    "lines",
    [["text", "A cat."], ["id,bert,gpt", "1,a,b"], ["Prediction", "good"], ["m1\tm2", "0\t1", "1\t1"], ["id;a", "1;x"]],
)
def test_a_first_line_that_names_columns_is_a_head(tmp_path, lines):
    """A usual name, or names above as many cells in each line, are no text."""
    assert len(read(saved(tmp_path / "table.txt", *lines))) == len(lines) - 1


@pytest.mark.more
def test_lines_are_answers_rows_and_labels(shares, tmp_path):
    """Of a .txt, answers are joined to rows by order, and labels are read where the user says so."""
    truth = ["a cat sat", "a dog ran", "it rained"]
    rows = saved(tmp_path / "rows.tsv", "text\treference", *(f"Row {n}.\t{text}" for n, text in enumerate(truth)))
    right, wrong = saved(tmp_path / "right.txt", *truth), saved(tmp_path / "wrong.txt", *["nothing"] * 3)
    assert shares("--data", rows, "--task", "text", "--models", right, wrong) == {"right": 100.0, "wrong": 0.0}
    gold = saved(tmp_path / "gold.txt", *LABELS)
    models = [saved(tmp_path / f"{name}.txt", *answers) for name, answers in SAID.items()]
    assert shares("--data", gold, "--columns", "label=text", "--models", *models) == SHARES


@pytest.mark.parametrize("name", ["gold.txt", "gold.csv"])
def test_rows_without_a_head_get_a_hint(run, tmp_path, name):
    """The line says that the names of columns are missing, or how lines are labels."""
    gold = saved(tmp_path / name, "1", "0", "1")
    message = refusal(run("--data", gold, "--models", saved(tmp_path / "a.csv", "prediction", "1", "0", "1")))
    assert "`--columns label=text`" in message or "the line that names the columns missing?" in message


# ---- pools


def test_a_pool_may_have_ids_alone(run, tmp_path):
    """Files of answers are joined to its rows by id; labelled rows count as without it."""
    rows = saved(tmp_path / "rows.csv", "id,text,label", *(f"r{n},Row {n}.,{label}" for n, label in enumerate(LABELS)))
    pool = saved(tmp_path / "pool.csv", "id", *(f"p{n}" for n in range(12)))
    files = [
        saved(
            tmp_path / f"{name}.csv",
            "id,prediction",
            *(f"r{n},{label}" for n, label in enumerate(answers)),
            *(f"p{n},{LABELS[n % 6]}" for n in range(12)),
        )
        for name, answers in SAID.items()
    ]
    status, out, err = run("--data", rows, "--models", *files, "--pool", pool, "--format", "json")
    assert status == 0, err
    assert {
        model["name"]: round(100 * model["outcome"], 1) for model in json.loads(out)["decision"]["models"]
    } == SHARES
    assert "The pool adds 12 rows" in out


def test_a_pool_of_other_rows_is_refused(run, tmp_path):
    """Read all the same, its labelled rows alone would be the whole domain, and the answer far too sure."""
    rows = saved(tmp_path / "rows.csv", "id,text,label", *(f"r{n},Row {n}.,{label}" for n, label in enumerate(LABELS)))
    pool = saved(tmp_path / "pool.csv", "id", *(f"p{n}" for n in range(12)))
    files = [
        saved(tmp_path / f"{name}.csv", "id,prediction", *(f"r{n},{label}" for n, label in enumerate(answers)))
        for name, answers in SAID.items()
    ]
    message = refusal(run("--data", rows, "--models", *files, "--pool", pool))
    assert "no row of the pool without a label has an answer of every model; do their files hold these rows?" in message


def test_tokens_alone_are_rows(tmp_path):
    """A CoNLL file without tags is a pool."""
    path = saved(tmp_path / "pool.conll", "Ann", "ran", "", "It", "did")
    assert [row.segments for row in unlabelled(path)] == [("Ann ran",), ("It did",)]


# ---- files of one task


CONLL = ["Ann NNP I-NP B-PER", "ran VBD I-VP O", "", "It PRP I-NP O", "rained VBD I-VP O"]


def test_tags_of_tokens_decide_the_task(shares, tmp_path):
    """CoNLL files of several columns are rows and answers to `tags`, whose last column is the tag."""
    gold = saved(tmp_path / "gold.conll", *CONLL)
    right = saved(tmp_path / "right.conll", *(f"{line} {line.split()[-1]}" if line else "" for line in CONLL))
    wrong = saved(tmp_path / "wrong.conll", *(line.replace("B-PER", "O") for line in CONLL))
    assert shares("--data", gold, "--models", right, wrong) == {"right": 100.0, "wrong": 0.0}


def test_questions_about_passages_decide_the_task(shares, tmp_path):
    """SQuAD's JSON is of `spans`."""
    questions = [
        {"id": f"q{n}", "question": f"What is {n}?", "answers": [{"text": word, "answer_start": 0}]}
        for n, word in enumerate(["one", "two"])
    ]
    squad = {"data": [{"paragraphs": [{"context": "one or two", "qas": questions}]}]}
    gold = saved(tmp_path / "gold.json", json.dumps(squad))
    right = saved(tmp_path / "right.json", json.dumps({"q0": "one", "q1": "two"}))
    wrong = saved(tmp_path / "wrong.json", json.dumps({"q0": "one", "q1": "one"}))
    assert shares("--data", gold, "--models", right, wrong) == {"right": 100.0, "wrong": 50.0}


def test_words_in_a_column_of_tags_decide_nothing():
    """Topics of a text are no tags of its tokens."""
    rows = [{"text": "Ann ran.", "tags": "sports"}, {"text": "It rained.", "tags": "weather"}]
    assert layout_task(of_rows(rows)) == ""


@pytest.mark.parametrize("column", ["score", "probability"])
def test_a_label_beside_its_score_is_an_answer(tmp_path, column):
    """Pipelines of transformers write a label and its probability: neither is the truth."""
    for labels in (("1", "0", "1"), ("bad", "good", "bad")):
        rows = (f"{label},{score}" for label, score in zip(labels, (0.9, 0.75, 0.5), strict=True))
        table = understood(saved(tmp_path / "a.csv", f"label,{column}", *rows), task=None)
        assert ([model.kind for model in table.models], table.truth) == (["labels"], None)
