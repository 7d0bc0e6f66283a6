"""Decisions by a metric that is no mean over rows, from files of answers: what stands in them, and in every format."""

import json

import numpy as np
import pytest
from sklearn.metrics import f1_score, matthews_corrcoef

from ranker import SourceOptions, decide, load_suite
from ranker.errors import UnknownName, UsageError
from ranker.results.ranking import Ranking

LABELS = ("neutral", "no", "yes")


@pytest.fixture(scope="module")
def answers():
    """The truth of 120 rows of three labels, of which one is rare, and what two models say of them."""
    rng = np.random.default_rng(7)
    truth = rng.choice(3, 120, p=[0.1, 0.3, 0.6])
    always = np.where(rng.random(120) < 0.9, 2, truth)  # right on the frequent label, and on little else
    fair = np.where(rng.random(120) < 0.6, truth, rng.integers(3, size=120))
    return truth, {"always": always, "fair": fair}


@pytest.fixture
def files(tmp_path, answers):
    """A table of rows with labels, and a table of answers for each model."""
    truth, said = answers
    rows = tmp_path / "rows.csv"
    rows.write_text("id,text,label\n" + "".join(f"r{n},row {n},{LABELS[one]}\n" for n, one in enumerate(truth)))
    for name, given in said.items():
        lines = "".join(f"r{n},{LABELS[one]}\n" for n, one in enumerate(given))
        (tmp_path / f"{name}.csv").write_text(f"id,prediction\n{lines}")
    return rows, [tmp_path / f"{name}.csv" for name in said]


@pytest.mark.parametrize(
    ("metric", "oracle"),
    [
        ("macro-f1", lambda truth, said: f1_score(truth, said, average="macro")),
        ("MCC", matthews_corrcoef),
        ("f1:yes", lambda truth, said: f1_score(truth, said, labels=[2], average=None)[0]),
    ],
)
def test_a_decision_goes_by_the_metric_that_is_named(files, answers, metric, oracle):
    """Values are scikit-learn's, the order is theirs, and the header says the metric's name."""
    rows, models = files
    truth, said = answers
    found = decide(models, rows, metric=metric)
    expected = {name: oracle(truth, given) for name, given in said.items()}
    assert found.header.metric == metric.lower()
    assert {one.name: one.outcome for one in found.decision.models} == pytest.approx(expected, abs=1e-12)
    assert found.decision.names[0] == max(expected, key=expected.get)
    for one in found.decision.models:
        assert one.low < one.outcome < one.high


def test_accuracy_by_name_is_the_decision_without_a_name(files):
    """Nothing changes: the same path, the same numbers."""
    rows, models = files
    assert decide(models, rows, metric="accuracy").to_dict() == decide(models, rows).to_dict()


def test_a_metric_that_is_not_known_is_refused_with_the_near_names(files):
    """In one line, before any model is asked."""
    rows, models = files
    with pytest.raises(UnknownName, match=r"macro-f1"):
        decide(models, rows, metric="macro-f")
    with pytest.raises(UsageError, match="name it, as in f1:neutral"):
        decide(models, rows, metric="f1")


def test_a_pool_beside_such_a_metric_is_refused(files, tmp_path):
    """The methods that read a pool are of accuracies."""
    rows, models = files
    with pytest.raises(UsageError, match="`metric` macro-f1 is for labelled rows alone, and a pool is read, too"):
        decide(models, rows, pool=rows, metric="macro-f1")


def test_outcomes_that_were_judged_elsewhere_have_no_such_metric(tmp_path):
    """Where no labels are known, nothing but the recorded metric can be had."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("id,outcome\n" + "".join(f"{n},{n % 2}\n" for n in range(9)))
    models = [tmp_path / "a.csv", tmp_path / "b.csv"]
    suite = load_suite(models, SourceOptions(answers="outcomes"))
    with pytest.raises(UsageError, match="`metric` macro-f1 is of labels, and these answers have none"):
        decide(suite, metric="macro-f1")


def test_a_saved_decision_by_a_metric_is_read_again(files, tmp_path):
    """What is loaded says the same."""
    rows, models = files
    found = decide(models, rows, metric="mcc")
    found.save(tmp_path / "run.json")
    assert Ranking.load(tmp_path / "run.json").to_dict() == found.to_dict()
    assert json.loads((tmp_path / "run.json").read_text())["header"]["metric"] == "mcc"
