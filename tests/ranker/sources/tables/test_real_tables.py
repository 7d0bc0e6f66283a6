"""Tables that others published, and that real programs wrote: they are not part of the project."""

import csv
import gzip
import io
import os
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses
from tables_made import differing, joined_by

from ranker.datasets.mapping import parse_label_map
from ranker.errors import DataError, Question
from ranker.files import reader
from ranker.sources.tables import join
from ranker.sources.tables.base import RequestedRows, TableHints
from ranker.sources.tables.reading import parse_predictions
from ranker.tasks.classes import ClassificationTask

SHARED = Path(os.environ.get("RANK_MODELS_DATA") or Path(__file__).parents[5] / "shared" / "data")
LOGS = SHARED / "logs"
pytestmark = pytest.mark.skipif(not LOGS.is_dir(), reason=f"there are no published tables in {LOGS}")

SST2 = ClassificationTask("sentiment", ("negative", "positive"))
NLI = ClassificationTask("nli", ("non-entailment", "entailment"))


def plain(path):
    """The rows of a CSV, read with nothing but the standard library."""
    content = path.read_bytes()
    content = gzip.decompress(content) if path.suffix == ".gz" else content
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))


def sst2():
    """The rows that the tables answer, and their labels."""
    rows = plain(LOGS / "tables" / "sst2_dev_truth.csv")
    return RequestedRows(tuple(row["id"] for row in rows), tuple((row["sentence"],) for row in rows)), [
        row["label"] for row in rows
    ]


def read(path, rows, task=SST2, **hints):
    """The models of a table, joined: name -> answers."""
    name = path.name.partition(".")[0]
    joined = join.join(parse_predictions(reader.read_columns(path), task, TableHints(**hints), rows, name), rows)
    return {model.name: model for model in joined.models}, joined


def accuracy(model, truth, task=SST2):
    """The part of the rows that is right, as the record counts it."""
    return float(np.nanmean(model.correct(np.array([task.index(label) for label in truth]))))


def test_probabilities_beside_texts_and_labels():
    """An index of pandas without a name first; probabilities that are rounded to four digits."""
    path = LOGS / "tables" / "count-nb_with_index.csv.gz"
    rows, truth = sst2()
    models, joined = read(path, rows)
    lines = plain(path)
    right = [row["prediction"] == label for row, label in zip(lines, truth, strict=True)]
    assert accuracy(models["count-nb_with_index"], truth) == pytest.approx(np.mean(right), abs=1e-12)
    scores = np.array([[float(row["p_negative"]), float(row["p_positive"])] for row in lines])
    expected = scores / scores.sum(axis=1, keepdims=True)
    assert np.allclose(models["count-nb_with_index"].probs, expected, atol=1e-12)
    assert (joined_by(joined), differing(joined)) == ("id", 0)


def test_a_submission_of_kaggle():
    """`Id,Category` in another order, 0 and 1."""
    path = LOGS / "tables" / "kaggle_submission.csv"
    rows, truth = sst2()
    models, joined = read(path, rows)
    answer_of = {row["Id"]: int(row["Category"]) for row in plain(path)}
    right = [SST2.labels[answer_of[name]] == label for name, label in zip(rows.ids, truth, strict=True)]
    assert accuracy(models["kaggle_submission"], truth) == pytest.approx(np.mean(right), abs=1e-12)
    assert joined_by(joined) == "id"


def test_what_the_programs_of_glue_write():
    """`index TAB prediction`, where the index numbers the rows."""
    path = LOGS / "tables" / "predict_results_sst2.txt"
    rows, truth = sst2()
    models, joined = read(path, rows)
    lines = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    right = [SST2.labels[int(label)] == truth[int(row)] for row, label in lines]
    assert accuracy(models["predict_results_sst2"], truth) == pytest.approx(np.mean(right), abs=1e-12)
    assert joined_by(joined) == "number"


def test_columns_that_are_named_for_the_classes():
    """No ids and no texts: the order, which is said."""
    path = LOGS / "tables" / "sklearn_predict_proba.csv"
    rows, truth = sst2()
    models, joined = read(path, rows)
    right = [
        (float(row["positive"]) > 0.5) == (label == "positive") for row, label in zip(plain(path), truth, strict=True)
    ]
    assert accuracy(models["sklearn_predict_proba"], truth) == pytest.approx(np.mean(right), abs=1e-12)
    assert joined.notes[0].startswith("rows are joined by their order alone")


def test_the_arrays_of_a_trainer():
    """Logits, by softmax, and the truth beside them."""
    path = LOGS / "tables" / "trainer_predict.npz"
    rows, truth = sst2()
    models, _ = read(path, rows)
    arrays = np.load(path)
    logits = arrays["predictions"].astype(float)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    assert np.allclose(models["trainer_predict"].probs, powers / powers.sum(axis=1, keepdims=True), atol=1e-12)
    expected = float((logits.argmax(axis=1) == arrays["label_ids"]).mean())
    assert accuracy(models["trainer_predict"], truth) == pytest.approx(expected, abs=1e-12)
    bundled = parse_predictions(reader.read_columns(path), SST2)
    assert bundled.truth.tolist() == arrays["label_ids"].tolist()


def test_wide_tables_of_one_kind_and_another_agree():
    """Labels, probabilities with a decision value among them, and outcomes of the same four models."""
    rows, truth = sst2()
    labels, _ = read(LOGS / "tables" / "wide_labels.parquet", rows)
    scores, _ = read(LOGS / "tables" / "wide_probabilities.parquet", rows)
    outcomes, _ = read(LOGS / "tables" / "outcomes_wide.csv", rows, answers="outcomes")
    lines = plain(LOGS / "tables" / "outcomes_wide.csv")
    assert set(labels) == set(scores) == set(outcomes) == set(lines[0]) - {"id"}
    for name, model in labels.items():
        expected = np.mean([int(row[name]) for row in lines])
        for same_model in (model, scores[name], outcomes[name]):
            assert accuracy(same_model, truth) == pytest.approx(expected, abs=1e-12)
    assert scores["tfidf-svm"].kind == "logits"
    assert scores["count-nb"].kind == "probabilities"


def test_outcomes_are_not_taken_for_labels():
    """0 and 1 under the names of models may be either: it is asked."""
    with refuses(Question, option="answers", place=LOGS / "tables" / "outcomes_wide.csv"):
        read(LOGS / "tables" / "outcomes_wide.csv", sst2()[0])


def test_wide_tables_bring_their_own_rows():
    """Ids, texts and truth, read without being told a task."""
    reading = parse_predictions(reader.read_columns(LOGS / "tables" / "wide_labels.parquet"))
    rows, truth = sst2()
    assert reading.ids == rows.ids
    assert tuple(zip(reading.texts[0], strict=True)) == rows.texts
    assert [reading.task.labels[label] for label in reading.truth] == truth


@pytest.mark.parametrize("name", ["esim", "decomp_attn"])
def test_predictions_on_hans(name):
    """A column `gold_label` that holds predictions; three labels for a task of two, by a map; CSV in a .txt."""
    path = LOGS / "hans_official" / f"{name}_heur_preds.txt.gz"
    official = gzip.decompress((SHARED / "hans" / "heuristics_evaluation_set.txt.gz").read_bytes()).decode()
    header, *lines = (line.split("\t") for line in official.splitlines())
    table = [dict(zip(header, line, strict=True)) for line in lines]
    rows = RequestedRows(
        tuple(row["pairID"] for row in table), tuple((row["sentence1"], row["sentence2"]) for row in table)
    )
    with refuses(DataError, option="label_map", value="contradiction"):
        read(path, rows, NLI)
    hints = {"label_map": parse_label_map("contradiction,neutral = non-entailment")}
    models, joined = read(path, rows, NLI, **hints)
    (model,) = models.values()
    answered = {row["pairID"]: row["gold_label"] for row in plain(path)}
    for heuristic in ("lexical_overlap", "subsequence", "constituent"):
        for gold in NLI.labels:
            mine = [i for i, row in enumerate(table) if (row["heuristic"], row["gold_label"]) == (heuristic, gold)]
            right = [(answered[rows.ids[i]] == "entailment") == (gold == "entailment") for i in mine]
            assert len(right) == 5_000
            part = model.part(mine)
            assert accuracy(part, [gold] * len(mine), NLI) == pytest.approx(np.mean(right), abs=1e-12)
    assert joined_by(joined) == "id"


def test_labels_of_prompted_models():
    """Texts and labels in one file, the truth in another, joined by order, where all texts agree."""
    folder = LOGS / "textclass_env_claims"
    texts, truth = plain(folder / "X_test.csv"), [row["label"] for row in plain(folder / "y_test.csv")]
    rows = RequestedRows(tuple(str(i) for i in range(1, len(texts) + 1)), tuple((row["text"],) for row in texts))
    task = ClassificationTask("claims", ("no claim", "claim"))
    names = [path for path in sorted(folder.glob("*.csv")) if path.name not in ("X_test.csv", "y_test.csv")]
    assert len(names) == 6
    for path in names:
        models, joined = read(path, rows, task)
        right = [row["annotation"] == label for row, label in zip(plain(path), truth, strict=True)]
        (model,) = models.values()
        true_labels = [task.labels[int(label)] for label in truth]
        assert accuracy(model, true_labels, task) == pytest.approx(np.mean(right), abs=1e-12)
        assert (joined_by(joined), differing(joined)) == ("order", 0)
