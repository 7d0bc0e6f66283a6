import numpy as np
import pytest
from refusals import refuses
from tables_made import TASK, answers, understood, written

from ranker.errors import DataError
from ranker.sources.base import ResourceCache
from ranker.sources.tables.kind import TableModel
from ranker.sources.tables.reading import parse_predictions
from ranker.tasks.classes import ClassificationTask

ORDER = [("negative", "positive"), ("positive", "negative"), ("negative", "positive"), ("negative", "positive")]
RANKED = {"id": [*"abcd"], "labels": [*map(list, ORDER)], "scores": [[0.8, 0.2], [0.7, 0.3], [0.6, 0.4], [0.9, 0.1]]}
PROBS = [[0.8, 0.2], [0.3, 0.7], [0.6, 0.4], [0.9, 0.1]]
THREE = ClassificationTask("mood", ("neg", "neu", "pos"), ordered=False)


def records(columns):
    """The rows of columns, for JSON."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def numbered(label, score, first=0, columns=RANKED):
    """A CSV of the same lists, with a column for each place."""
    pairs = [(f"{label}{place}", f"{score}{place}") for place in (first, first + 1)]
    lines = [",".join(["id", *(name for pair in pairs for name in pair)])]
    for name, texts, scores in zip(*columns.values(), strict=True):
        lines.append(",".join([name, *(f"{cell}" for pair in zip(texts, scores, strict=True) for cell in pair)]))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("name", "content"), [
    ("a.json", records(RANKED)), ("a.json", RANKED), ("a.parquet", RANKED), ("a.csv", numbered("pred_", "prob_")),
    ("a.csv", numbered("label_", "score_", 1)), ("a.csv", numbered("top", "p", 1)),
])  # fmt: skip
def test_scores_belong_to_the_labels_beside_them(tmp_path, name, content):
    """The best stands first in a row, and the score of a label is that at its place."""
    (model,) = answers(tmp_path / name, content).models
    assert model.name == "a"
    assert np.allclose(model.probs, PROBS)


@pytest.mark.parametrize("name", ["a.json", "a.parquet"])
def test_ranked_lists_of_three_labels(tmp_path, name):
    """The lists of texts of any number of labels are read, and a row without them has no answer."""
    content = {
        "id": [*"abc"],
        "labels": [["neu", "neg", "pos"], ["pos", "neu", "neg"], None],
        "scores": [[0.5, 0.3, 0.2], [0.6, 0.3, 0.1], None],
    }
    columns = TableModel("a", str(written(tmp_path / name, content))).columns(ResourceCache())
    (model,) = parse_predictions(columns, THREE).models
    assert np.allclose(model.probs[:2], [[0.3, 0.5, 0.2], [0.1, 0.3, 0.6]])
    assert np.isnan(model.probs[2]).all()


def test_ranked_labels_that_are_numbers_in_lists_of_texts(tmp_path):
    """The texts of a list are labels, even if they are digits."""
    content = [{"labels": ["1", "0"], "scores": [0.9, 0.1]}, {"labels": ["0", "1"], "scores": [0.8, 0.2]}]
    (model,) = understood(tmp_path / "a.json", content, ClassificationTask("digits", ("0", "1"))).models
    assert np.allclose(model.probs, [[0.1, 0.9], [0.8, 0.2]])


def test_numbers_beside_labels_that_differ_between_rows_are_refused(tmp_path):
    """Answers of two seeds, each beside its confidence, are no scores of two labels."""
    seeds = RANKED | {"labels": [["negative", "negative"], ["positive", "negative"], *[["negative", "positive"]] * 2]}
    for name, content in (("a.csv", numbered("pred_", "prob_", 0, seeds)), ("b.json", records(seeds))):
        with refuses(DataError, option="prediction"):
            understood(tmp_path / name, content)
    parsed = understood(tmp_path / "a.csv", prediction=("pred_0", "pred_1"))
    assert [model.name for model in parsed.models] == ["pred_0", "pred_1"]


def test_other_columns_name_no_scores(tmp_path):
    """A truth in columns of 0 and 1, and texts of a row, which differ between rows, are no names of labels."""
    content = "id,y_0,y_1,prob_0,prob_1\na,1,0,0.8,0.2\nb,1,0,0.3,0.7\nc,0,1,0.6,0.4\nd,0,1,0.9,0.1\n"
    assert np.allclose(understood(tmp_path / "a.csv", content).models[0].probs, PROBS)
    content = [
        {"segments": ["Lovely.", "Dull."], "probs": [0.8, 0.2]},
        {"segments": ["Fine.", "Poor."], "probs": [0.3, 0.7]},
    ]
    assert np.allclose(understood(tmp_path / "a.json", content).models[0].probs, PROBS[:2])


def test_a_named_column_of_ranked_labels_is_read_alone(tmp_path):
    """The user may name the column of the best labels."""
    parsed = understood(tmp_path / "a.csv", numbered("top", "p", 1), prediction=("top1",))
    assert [TASK.labels[label] for label in parsed.models[0].predicted] == ["negative", "positive", *["negative"] * 2]
