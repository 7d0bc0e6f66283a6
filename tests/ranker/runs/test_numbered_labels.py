"""Numbers of labels in files of answers, where the file of the rows states what they are."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from refusals import refuses
from sklearn.metrics import f1_score

from ranker import SourceOptions, TableOptions, decide, load_suite
from ranker.errors import ModelError, Question
from ranker.runs.rows import RowsFile

GLUE = ("entailment", "not_entailment")
SIZE = 40
TRUTH = [n % 2 for n in range(SIZE)]
STRONG = [(n + (n < 4)) % 2 for n in range(SIZE)]
WEAK = [(n + (n < 18)) % 2 for n in range(SIZE)]
IDS = [f"r{n}" for n in range(SIZE)]


def rows_of_numbers(path, names, truth=TRUTH, texts=("premise", "hypothesis")):
    """Rows as `datasets` writes them: a label is a number, and the file says which."""
    about = json.dumps({"info": {"features": {"label": {"names": names, "_type": "ClassLabel"}}}}).encode()
    columns = {"id": IDS, **{name: [f"The {name} of row {n}." for n in range(SIZE)] for name in texts}, "label": truth}
    parquet.write_table(pa.table(columns).replace_schema_metadata({"huggingface": about}), path)
    return path


def csv(path, **columns):
    """A CSV with the ids of the rows before other columns."""
    lines = zip(IDS, *columns.values(), strict=True)
    path.write_text("\n".join([",".join(["id", *columns]), *(",".join(map(str, line)) for line in lines)]) + "\n")
    return path


def labels(path, numbers):
    """The number of each answer."""
    return csv(path.with_suffix(".csv"), prediction=numbers)


def named_numbers(path, numbers):
    """The name that `transformers` gives to a number."""
    return csv(path.with_suffix(".csv"), prediction=[f"LABEL_{number}" for number in numbers])


def probabilities(path, numbers):
    """A probability of each number."""
    return csv(
        path.with_suffix(".csv"), prob_0=[0.9 - 0.8 * n for n in numbers], prob_1=[0.1 + 0.8 * n for n in numbers]
    )


def decision_values(path, numbers):
    """A logit that is above 0 for the number 1."""
    return csv(path.with_suffix(".csv"), logit=[2.5 * number - 1.2 for number in numbers])


def arrays(path, numbers):
    """Logits of `trainer.predict`, in the order of the rows."""
    np.save(path.with_suffix(".npy"), np.eye(2)[numbers] * 3 - 1)
    return path.with_suffix(".npy")


@pytest.mark.few(3)
@pytest.mark.parametrize("task", [None, "nli"])
@pytest.mark.parametrize("answers", [labels, named_numbers, probabilities, decision_values, arrays])
def test_numbers_of_answers_mean_what_the_file_of_the_rows_says(tmp_path, answers, task):
    """RTE counts from entailment, and the task here from non-entailment; a lone number a row has to be named."""
    rows_file = rows_of_numbers(tmp_path / "rte.parquet", GLUE)
    models = [str(answers(tmp_path / name, numbers)) for name, numbers in (("strong", STRONG), ("weak", WEAK))]
    kinds = [TableOptions(answers="logits" if answers is decision_values else "")]
    decision = decide(load_suite(models, SourceOptions(kinds=kinds)), RowsFile(rows_file, task=task)).decision
    assert {model.name: model.outcome for model in decision.models} == pytest.approx({"strong": 0.9, "weak": 0.55})


def test_numbers_of_three_labels_need_no_map_where_the_file_of_the_rows_names_them(tmp_path, caplog):
    """A note says which label each is, and a number that has none is refused beside the right numbers."""
    names = ("pos", "neg", "neu")
    truth = [n % 3 for n in range(SIZE)]
    rows_file = rows_of_numbers(tmp_path / "mood.parquet", names, truth, ("text",))
    right, wrong = csv(tmp_path / "right.csv", prediction=truth), csv(tmp_path / "wrong.csv", prediction=[0] * SIZE)
    ranking = decide([str(right), str(wrong)], rows_file)
    assert {model.name: model.outcome for model in ranking.decision.models} == pytest.approx(
        {"right": 1, "wrong": 0.35}
    )
    note = "right: the numbers in 'prediction' are labels: 0 is pos, 1 is neg, 2 is neu, as the file of the rows says"
    assert any(note in text for text in ranking.notes)
    csv(wrong, prediction=[3] * SIZE)
    with refuses(ModelError, option="models"):
        decide([str(wrong), str(csv(tmp_path / "more.csv", prediction=[3] * SIZE))], rows_file)
    assert "'3' in the column 'prediction' is no label of the task (pos (0), neg (1), neu (2))" in caplog.text


def test_names_of_numbers_go_before_their_places(tmp_path):
    """Stars from 1 to 5 are counted from 0 in the file of the rows; a model's 1 is one star."""
    stars = ("1", "2", "3", "4", "5")
    rows_file = rows_of_numbers(tmp_path / "stars.parquet", stars, [n % 5 for n in range(SIZE)], ("text",))
    right = csv(tmp_path / "right.csv", prediction=[n % 5 + 1 for n in range(SIZE)])
    wrong = csv(tmp_path / "wrong.csv", prediction=[1 + (n + 1) % 5 for n in range(SIZE)])
    decision = decide([str(right), str(wrong)], rows_file).decision
    assert {model.name: model.outcome for model in decision.models} == {"right": 1, "wrong": 0}


@pytest.mark.few(3)
@pytest.mark.parametrize("junk", ["x", "?", "n.a.", "LABEL_7", "oops"])
@pytest.mark.parametrize("names", [("0", "1"), ("1", "2"), ("01", "02"), ("1.0", "2.0"), ("2019", "2020")])
def test_a_cell_that_is_no_label_makes_no_class_of_labels_that_are_numbers(tmp_path, names, junk):
    """The cell counts as wrong for its model, and macro-F1 is the mean over the labels of the rows."""
    words = [names[n] for n in TRUTH]
    rows = csv(tmp_path / "rows.csv", text=[f"Row {n}." for n in range(SIZE)], label=words)
    broken = csv(tmp_path / "broken.csv", prediction=[*words[:-1], junk])
    weak = csv(tmp_path / "weak.csv", prediction=[names[n] for n in WEAK])
    ranking = decide([broken, weak], rows, metric="macro-f1")
    outcomes = {model.name: model.outcome for model in ranking.decision.models}
    f1_of_last = 2 * (SIZE / 2 - 1) / (SIZE - 1)
    assert outcomes["broken"] == pytest.approx((1 + f1_of_last) / 2)
    assert outcomes["weak"] == pytest.approx(f1_score(TRUTH, WEAK, average="macro"))
    assert f"Broken: 1 cell is no label in 'prediction' ({junk!r}): no answer." in {
        note[:1].upper() + note[1:] for note in ranking.notes
    }


def test_numbers_of_rows_beside_two_words_of_models_are_a_question(tmp_path):
    """Both maps are named, and either is the answer."""
    rows = csv(tmp_path / "rows.csv", text=[f"Row {n}." for n in range(SIZE)], label=TRUTH)
    models = [csv(tmp_path / f"{name}.csv", prediction=[("fake", "real")[n] for n in answers])
              for name, answers in (("strong", STRONG), ("weak", WEAK))]  # fmt: skip
    with refuses(Question, option="label_map", allowed=("fake", "real")):
        decide(models, rows)
    for fake, right in (("0", 0.9), ("1", 0.1)):
        ranking = decide(models, rows, label_map={"fake": fake, "real": "10"[int(fake)]})
        assert {model.name: model.outcome for model in ranking.decision.models}["strong"] == pytest.approx(right)
