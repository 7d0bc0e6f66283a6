"""Decisions by a metric that is no mean over rows, from files of answers: what stands in them, and in every format."""

import csv
import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from refusals import refuses
from sklearn.metrics import f1_score, matthews_corrcoef

import ranker
from ranker import (
    Evidence,
    LogOptions,
    SourceOptions,
    TableOptions,
    decide,
    load_set,
    load_suite,
    rank,
    report,
    what_changed,
)
from ranker.errors import UnknownName, UsageError
from ranker.report import TEXTS
from ranker.results.ranking import Ranking
from ranker.runs.rows import RowsFile

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
    truth, predictions = answers
    rows = tmp_path / "rows.csv"
    rows.write_text("id,text,label\n" + "".join(f"r{n},row {n},{LABELS[label]}\n" for n, label in enumerate(truth)))
    for name, predicted in predictions.items():
        lines = "".join(f"r{n},{LABELS[label]}\n" for n, label in enumerate(predicted))
        (tmp_path / f"{name}.csv").write_text(f"id,prediction\n{lines}")
    return rows, [tmp_path / f"{name}.csv" for name in predictions]


@pytest.mark.parametrize(
    ("metric", "oracle"),
    [
        ("macro-f1", lambda truth, predicted: f1_score(truth, predicted, average="macro")),
        ("MCC", matthews_corrcoef),
        ("f1:yes", lambda truth, predicted: f1_score(truth, predicted, labels=[2], average=None)[0]),
    ],
)
def test_a_decision_goes_by_the_metric_that_is_named(files, answers, metric, oracle):
    """Values are scikit-learn's, the order is theirs, and the header says the metric's name."""
    rows, models = files
    truth, predictions = answers
    ranking = decide(models, rows, metric=metric)
    expected = {name: oracle(truth, predicted) for name, predicted in predictions.items()}
    assert ranking.header.metric == metric.lower()
    assert {model.name: model.outcome for model in ranking.decision.models} == pytest.approx(expected, abs=1e-12)
    assert ranking.decision.names[0] == max(expected, key=expected.get)
    for model in ranking.decision.models:
        assert model.low < model.outcome < model.high


def test_accuracy_by_name_is_the_decision_without_a_name(files):
    """Nothing changes: the same path, the same numbers."""
    rows, models = files
    assert decide(models, rows, metric="accuracy").to_dict() == decide(models, rows).to_dict()


def test_a_metric_that_is_not_known_is_refused_with_the_near_names(files):
    """In one line, before any model is asked."""
    rows, models = files
    with refuses(UnknownName, value="macro-f"):
        decide(models, rows, metric="macro-f")
    with refuses(UsageError, option="metric", value="f1"):
        decide(models, rows, metric="f1")


def test_a_pool_is_read_by_such_a_metric(files, rank_models):
    """SURROGATE orders by it, in Python and on the command line, and methods without a posterior of it do not."""
    rows, models = files
    decision = decide(models, rows, pool=rows, probe=30, metric="macro-f1").found
    assert (decision.method, decision.metric, decision.names) == ("SURROGATE", "macro-f1", ("fair", "always"))
    arguments = ["--data", str(rows), "--probe", "30", "--pool", str(rows), "--models", *map(str, models)]
    status, out, _ = rank_models(*arguments, "--metric", "macro-f1")
    assert not status
    assert "SURROGATE puts fair first. Its macro-f1 on the 30 rows is" in " ".join(out.split())
    status, _, err = rank_models(*arguments, "--metric", "macro-f1", "--method", "MAJORITY")
    assert status == 2
    assert "estimates accuracies, and models are compared by macro-f1" in err


def test_outcomes_that_were_judged_elsewhere_have_no_such_metric(tmp_path):
    """Only the recorded metric can be had if no labels are known."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("id,outcome\n" + "".join(f"{n},{n % 2}\n" for n in range(9)))
    models = [tmp_path / "a.csv", tmp_path / "b.csv"]
    suite = load_suite(models, SourceOptions(kinds=[TableOptions(answers="outcomes")]))
    with refuses(UsageError, option="metric", value="macro-f1"):
        decide(suite, metric="macro-f1")


def test_a_saved_decision_by_a_metric_is_read_again(files, tmp_path):
    """A loaded decision says the same."""
    rows, models = files
    ranking = decide(models, rows, metric="mcc")
    ranking.save(tmp_path / "run.json")
    assert Ranking.load(tmp_path / "run.json").to_dict() == ranking.to_dict()
    assert json.loads((tmp_path / "run.json").read_text())["header"]["metric"] == "mcc"


@pytest.mark.few(1)
@pytest.mark.parametrize("name", TEXTS)
def test_every_format_writes_values_and_no_percent(files, answers, rank_models, name):
    """A value has three decimals, and what is said of right rows is not said of it."""
    (rows, models), metric = files, "macro-f1"
    status, out, err = rank_models("--data", rows, "--metric", metric, "--format", name, "--models", *models)
    assert (status, "says nothing" in err) == (0, False)
    ranking = decide(models, rows, metric=metric)
    if name in ("json", "csv"):
        assert str(ranking.decision.models[0].outcome) in out
    else:
        if name != "pairs":  # which has no values
            assert metric in out
            assert f"{ranking.decision.models[0].outcome:.3f}" in out
        assert "right: percent" not in out
        assert "a point" not in out
        assert "right on the same rows" not in out


@pytest.mark.more
def test_the_words_of_two_models(files, answers, rank_models):
    """Values, the interval of their difference in the same unit, and the next step."""
    rows, models = files
    _, out, _ = rank_models("--data", rows, "--metric", "macro-f1", "--models", *models)
    text = " ".join(out.split())
    decision = decide(models, rows, metric="macro-f1").decision
    pair = decision.versus[0]
    first = decision.models[0]
    assert f"fair has macro-f1 {first.outcome:.3f} ({first.low:.3f} to {first.high:.3f}), always" in text
    assert f"The difference is {pair.difference:+.3f} (95 % interval {pair.low:+.3f} to {pair.high:+.3f}; p" in text
    assert f"Next: take fair. It is expected to be {first.shortfall:.3f} below the best model." in text


def test_three_models_are_put_in_order(files, tmp_path, rank_models):
    """P(near best) is about 0.01 of the metric."""
    rows, models = files
    third = tmp_path / "third.csv"
    third.write_text(models[1].read_text())
    _, out, _ = rank_models("--data", rows, "--metric", "macro-f1", "--models", *models, third)
    text = " ".join(out.split())
    assert re.search(r"macro-f1 ties fair, third in first place. fair's macro-f1 on the 120 rows is 0\.\d\d\d", text)
    assert "better by more than 0.01" in text


def test_a_table_that_brings_its_truth_is_decided_by_the_metric(tmp_path, answers, rank_models):
    """One wide table: the truth beside the answers of both models."""
    truth, predictions = answers
    table = tmp_path / "wide.csv"
    lines = [f"{LABELS[t]},{LABELS[a]},{LABELS[b]}\n" for t, a, b in zip(truth, *predictions.values(), strict=True)]
    table.write_text(f"label,{','.join(predictions)}\n" + "".join(lines))
    options = ("--truth", "label", "--metric", "macro-f1", "--format", "json")
    status, out, _ = rank_models(
        "--models", table, *[argument for name in predictions for argument in ("--prediction", name)], *options
    )
    assert status == 0
    output = json.loads(out)
    values = {model["name"]: model["outcome"] for model in output["decision"]["models"]}
    assert values == pytest.approx(
        {name: f1_score(truth, predicted, average="macro") for name, predicted in predictions.items()}
    )
    assert (output["header"]["metric"], output["decision"]["metric"]) == ("macro-f1", "macro-f1")
    jsonschema.validate(output, json.loads((Path(ranker.__file__).parent / "report/ranking.schema.json").read_text()))


def test_labels_that_are_numbers_have_errors(tmp_path, rank_models):
    """MAE: less is better, its value may be above 1, the first model is better by a positive difference."""
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 6, 60)
    rows = "".join(f"{n},row {n},{number}\n" for n, number in enumerate(truth))
    (tmp_path / "rows.csv").write_text(f"id,text,label\n{rows}")
    predictions = {"near": np.clip(truth + rng.integers(-1, 2, 60), 1, 5), "far": rng.integers(1, 6, 60)}
    for name, predicted in predictions.items():
        lines = "".join(f"{n},{number}\n" for n, number in enumerate(predicted))
        (tmp_path / f"{name}.csv").write_text(f"id,prediction\n{lines}")
    models = [tmp_path / f"{name}.csv" for name in predictions]
    decision = decide(models, tmp_path / "rows.csv", metric="mae").decision
    assert decision.names == ("near", "far")
    assert [model.outcome for model in decision.models] == pytest.approx(
        [np.abs(predicted - truth).mean() for predicted in predictions.values()]
    )
    assert decision.versus[0].difference == pytest.approx(decision.models[1].outcome - decision.models[0].outcome)
    assert "Less of mae is better; a difference above 0 means that the first model is better." in decision.notes
    status, out, _ = rank_models(
        "--data", tmp_path / "rows.csv", "--metric", "mae", "--models", *models, "--format", "html"
    )
    assert status == 0
    assert f"{decision.models[1].outcome:.3f}" in out


def test_what_is_wrong_about_a_metric_is_one_line(files, rank_models):
    """Exit status 2, with the near names."""
    rows, models = files
    status, out, err = rank_models("--data", rows, "--metric", "macrof1", "--models", *models)
    assert (status, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    assert "macro-f1" in err


def test_a_gate_holds_models_to_the_metric(files, tmp_path, rank_models):
    """The gate passes if the bound is above the margin, in the metric's unit, and exits with 3 otherwise."""
    rows, models = files
    command = ("--data", rows, "--metric", "macro-f1", "--models", *models, "--not-worse-than")
    status, out, _ = rank_models(*command, "always")
    assert status == 0
    assert "PASSED: no worse than always by more than 0.020: fair (at least 0." in " ".join(out.split())
    status, out, _ = rank_models(*command, "fair")
    assert status == 3
    assert "always (may be 0." in " ".join(out.split())
    assert "points" not in out


def test_a_gate_without_rows_that_tell_two_apart_has_a_bound_or_a_reason(files, tmp_path, rank_models):
    """The same answers: of labels the bound has a width; of numbers nothing bounds what was missed."""
    rows, models = files
    again = tmp_path / "again.csv"
    again.write_text(models[0].read_text())
    status, out, _ = rank_models(
        "--data", rows, "--metric", "macro-f1", "--models", models[0], again, "--not-worse-than", "always"
    )
    assert status == 3
    assert "again (may be 0." in " ".join(out.split())
    numbers = "".join(f"{n},row {n},{1 + n % 5}\n" for n in range(30))
    (tmp_path / "numbers.csv").write_text(f"id,text,label\n{numbers}")
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("id,prediction\n" + "".join(f"{n},{1 + n % 4}\n" for n in range(30)))
    models = [tmp_path / "a.csv", tmp_path / "b.csv"]
    command = ("--data", tmp_path / "numbers.csv", "--metric", "mae", "--models", *models)
    status, out, _ = rank_models(*command, "--not-worse-than", "a")
    assert status == 3
    assert "b (too few rows tell the two apart; lost 0 rows, won " in " ".join(out.split())


@pytest.mark.more
def test_two_runs_by_a_metric_are_compared_in_its_unit(files, tmp_path, rank_models):
    """Changes are written as values; runs by different metrics are not compared."""
    rows, models = files
    for metric, probe in (("macro-f1", 60), ("macro-f1", 120), ("accuracy", 120)):
        decide(models, rows, metric=metric, probe=probe).save(tmp_path / f"{metric}-{probe}.json")
    status, out, _ = rank_models("compare", tmp_path / "macro-f1-60.json", tmp_path / "macro-f1-120.json")
    assert status == 0
    assert "macro-f1 here" in " ".join(out.split())
    assert f"{decide(models, rows, metric='macro-f1').decision.models[0].outcome:.3f}" in out
    status, _, err = rank_models("compare", tmp_path / "macro-f1-120.json", tmp_path / "accuracy-120.json")
    assert status == 2
    assert "different metrics (got macro-f1 and ACC)" in err


@pytest.mark.more
def test_parts_of_a_file_are_compared_by_the_metric(files, tmp_path, rank_models):
    """Within each part it is that of a decision on it, and the mean over parts that of these."""
    rows, models = files
    with open(rows, newline="") as file:
        table = [*csv.DictReader(file)]
    for number, row in enumerate(table):
        row["half"] = "even" if number % 2 else "odd"
    halves = {half: [row for row in table if row["half"] == half] for half in ("even", "odd")}
    for name, content in {"both": table, **halves}.items():
        with open(tmp_path / f"{name}.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, table[0])
            writer.writeheader()
            writer.writerows(content)
    arguments = ("--data", tmp_path / "both.csv", "--within", "half", "--metric", "macro-f1", "--models", *models)
    output = json.loads(rank_models(*arguments, "--format", "json")[1])
    parts = {part["name"]: part for part in output["parts"]}
    values: dict[str, list[float]] = {}
    for half in halves:
        means = {mean["model"]: mean["value"] for mean in parts[half]["means"]}
        for model in decide(models, tmp_path / f"{half}.csv", metric="macro-f1").decision.models:
            assert means[model.name] == pytest.approx(model.outcome)
            values.setdefault(model.name, []).append(model.outcome)
    means = {mean["model"]: mean["value"] for mean in parts["all tasks"]["means"]}
    assert means == pytest.approx({name: np.mean(of_halves) for name, of_halves in values.items()})
    assert [part["over"] for part in output["parts"]] == ["task", "task", "macro"]
    status, out, _ = rank_models(*arguments)
    assert (status, "Macro: each task counts the same." in out, "Pooled" in out) == (0, True, False)


def write_set(folder, name, seed, right):
    """Write the answers of three models to 60 rows, right with a probability or guessed; return the file."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, 60, p=[0.2, 0.3, 0.5])
    answers = {model: np.where(rng.random(60) < p, truth, rng.integers(3, size=60)) for model, p in right.items()}
    lines = [",".join([f"{name}{n}", *(LABELS[column[n]] for column in (truth, *answers.values()))]) for n in range(60)]
    file = folder / f"{name}.csv"
    file.write_text("\n".join([",".join(["id", "label", *answers]), *lines]))
    return file, truth, answers


@pytest.mark.more
def test_models_are_compared_over_sets_by_such_a_metric(tmp_path):
    """Means are scikit-learn's; ranks and P(best on average) are those of resampled rows, and of drawn tasks."""
    right = {"a": 0.62, "b": 0.6, "c": 0.4}
    sets = [write_set(tmp_path, name, seed, right) for seed, name in enumerate(("day", "night", "noon"))]
    runs = [decide([file], metric="mcc") for file, _, _ in sets]
    for number, run in enumerate(runs):
        run.save(tmp_path / f"run-{number}.json")
    comparison = ranker.compare([Ranking.load(tmp_path / f"run-{number}.json") for number in range(3)])
    values = {
        model: [matthews_corrcoef(truth, predictions[model]) for _, truth, predictions in sets] for model in right
    }
    assert {model.model: model.value for model in comparison.models} == pytest.approx(
        {m: np.mean(v) for m, v in values.items()}
    )
    assert "The values are those of mcc, in percent." in comparison.notes
    rng = np.random.default_rng(3)
    drawn = np.array(
        [[values_of_resample(rng, truth, predictions) for _ in range(400)] for _, truth, predictions in sets]
    )
    tasks = rng.integers(3, size=(400, 3))  # of each draw, three of the tasks
    over_tasks = drawn[tasks, np.arange(400)[:, None]].mean(axis=1)
    first = np.bincount(over_tasks.argmax(axis=1), minlength=3) / 400
    assert [model.p_first for name in right for model in comparison.models if model.model == name] == pytest.approx(
        first, abs=0.08
    )
    best = np.bincount(drawn.mean(axis=0).argmax(axis=1), minlength=3) / 400
    assert [comparison.on_average.p_best[name] for name in right] == pytest.approx(best, abs=0.08)


def values_of_resample(rng, truth, predictions):
    """MCC of each model on the same rows, drawn with replacement, by Gorodkin's formula from a table of labels."""
    places, values = rng.integers(len(truth), size=len(truth)), []
    for answers in predictions.values():
        counts = np.bincount(3 * truth[places] + answers[places], minlength=9).reshape(3, 3)
        of_truth, of_answers, size = counts.sum(axis=1), counts.sum(axis=0), counts.sum()
        spread = (size**2 - of_truth @ of_truth) * (size**2 - of_answers @ of_answers)
        values.append((np.trace(counts) * size - of_truth @ of_answers) / np.sqrt(spread))
    return values


@pytest.mark.more
def test_errors_are_not_compared_over_sets_or_parts(tmp_path, rank_models):
    """Errors have no scale that sets share; and the order of means would be reversed."""
    rows = [f"r{n},row {n},{'xy'[n % 2]},{n % 5}" for n in range(20)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,text,half,label", *rows]))
    for name, off in (("near", 0.1), ("far", 1.0)):
        answers = [f"r{n},{abs(n % 5 - off)}" for n in range(20)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,prediction", *answers]))
    arguments = ("--data", tmp_path / "rows.csv", "--task", "number", "--range", "0", "5", "--metric", "mae")
    arguments += ("--models", tmp_path / "near.csv", tmp_path / "far.csv")
    assert rank_models(*arguments, "--save", tmp_path / "run.json")[0] == 0
    for again in ((*arguments, "--within", "half"), ("compare", *[tmp_path / "run.json"] * 3)):
        status, _, err = rank_models(*again)
        assert (status, "errors have no scale that" in err) == (2, True)


def test_the_label_that_f1_is_about_is_stated(tmp_path):
    """Of two labels the second; whoever names it is not told."""
    for name, label in (("a", "ham"), ("b", "spam")):
        rows = "".join(f"{n},{label},{'spam' if n % 3 else 'ham'}\n" for n in range(12))
        (tmp_path / f"{name}.csv").write_text(f"id,prediction,label\n{rows}")
    models = [tmp_path / "a.csv", tmp_path / "b.csv"]
    stated = "f1 is that of spam, the second label; f1:ham is that of the other."
    assert stated in decide(models, metric="f1").notes
    assert stated not in decide(models, metric="f1:spam").notes


def log_of(folder, pairs, recorded=None, acc=True):
    """A log of choices whose rows hold [right, predicted] for f1 and mcc, as lm-evaluation-harness writes them."""
    rows = []
    for n, (right, predicted) in enumerate(pairs):
        likelihoods = [-1.0, -2.0] if predicted == 0 else [-2.0, -1.0]
        accuracy = {"acc": float(right == predicted)} if acc else {}
        rows.append(
            {
                "doc_id": n,
                "doc": {"question": f"question {n}"},
                "target": str(right),
                "arguments": {
                    f"gen_args_{i}": {"arg_0": "Is it?", "arg_1": text} for i, text in enumerate((" no", " yes"))
                },
                "resps": [[[str(value), "False"]] for value in likelihoods],
                "filtered_resps": [[str(value), "False"] for value in likelihoods],
                "filter": "none",
                "metrics": [*accuracy, "f1", "mcc"],
                **accuracy,
                "f1": [right, predicted],
                "mcc": [right, predicted],
            }
        )
    folder.mkdir()
    (folder / "samples_small_2026-01-02T03-04-05.678901.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    if recorded is not None:
        content = {
            "results": {"small": {f"{name},none": value for name, value in recorded.items()}},
            "configs": {"small": {}},
        }
        (folder / "results_2026-01-02T03-04-05.678901.json").write_text(json.dumps(content))
    return folder


@pytest.mark.few(1)
@pytest.mark.parametrize("acc", [True, False])
@pytest.mark.parametrize(("metric", "oracle"), [("f1", f1_score), ("mcc", matthews_corrcoef)])
def test_pairs_of_labels_in_a_log_are_ranked_by_their_metric(tmp_path, rank_models, acc, metric, oracle):
    """Recomputed from the rows, whether or not these record an accuracy; the log's own number is held to them."""
    rng = np.random.default_rng(5)
    truth = (rng.random(80) < 0.3).astype(int)
    predictions = {
        "good": np.where(rng.random(80) < 0.85, truth, 1 - truth),
        "poor": (rng.random(80) < 0.4).astype(int),
    }
    expected = {name: float(oracle(truth, predicted)) for name, predicted in predictions.items()}
    recorded = {"good": {metric: expected["good"]}, "poor": {metric: expected["poor"] + 0.25}}
    logs = [
        log_of(tmp_path / name, zip(truth.tolist(), predicted.tolist(), strict=True), recorded[name], acc)
        for name, predicted in predictions.items()
    ]
    status, out, _ = rank_models("--models", *logs, "--metric", metric, "--format", "json")
    assert status == 0
    output = json.loads(out)
    assert output["header"]["metric"] == metric
    assert {model["name"]: model["outcome"] for model in output["decision"]["models"]} == pytest.approx(
        expected, abs=1e-12
    )
    notes = " ".join(output["header"]["notes"])
    assert f"The log's {metric}, {expected['good']:,.6g}, is that of the labels of its rows." in notes
    assert f"The log records {metric} {recorded['poor'][metric]:,.6g}, and {expected['poor']:,.6g} follows" in notes


@pytest.mark.more
def test_a_metric_that_a_log_does_not_record_is_that_of_its_labels(tmp_path, rank_models):
    """The recorded one goes first; what neither records nor labels tell is refused."""
    truth = [0, 1, 1, 0, 1, 0] * 10
    predictions = {"good": [0, 1, 1, 0, 1, 1] * 10, "poor": [1, 1, 1, 0, 1, 1] * 10}
    logs = [log_of(tmp_path / name, zip(truth, predicted, strict=True)) for name, predicted in predictions.items()]
    status, out, _ = rank_models("--models", *logs, "--metric", "macro-f1", "--format", "json")
    assert status == 0
    values = {model["name"]: model["outcome"] for model in json.loads(out)["decision"]["models"]}
    assert values == pytest.approx(
        {name: f1_score(truth, answers, average="macro") for name, answers in predictions.items()}
    )
    status, out, _ = rank_models("--models", *logs, "--metric", "acc", "--format", "json")
    assert (status, json.loads(out)["header"]["metric"], json.loads(out)["decision"]["metric"]) == (0, "acc", "")
    status, _, err = rank_models("--models", *logs, "--metric", "bleu")
    assert (status, "no metric 'bleu'" in err) == (1, True)


@pytest.mark.more
def test_an_evaluation_takes_the_metric_for_the_truth(tmp_path):
    """The true order is that of the metric on the whole set, which is a method of its own, the first."""
    rows, suite = load_set("hans-sub", limit=200), load_suite(["hans-sub-mini"]).models[-4:]
    ranking = rank(suite, rows, metric="macro-f1", evidence=Evidence("none"))
    predictions = explicit_labels(suite, rows)
    labels = np.array([row.target for row in rows.examples])
    expected = {name: f1_score(labels, predicted, average="macro") for name, predicted in predictions.items()}
    models = ranking.evaluation.models
    assert {model.name: model.outcome for model in models} == pytest.approx(expected)
    assert [model.outcome for model in models] == pytest.approx(sorted(expected.values(), reverse=True))
    methods = {method.name: method for method in ranking.evaluation.methods}
    assert next(iter(methods)) == "macro-f1"
    assert 0.5 < methods["macro-f1"].ci_low < methods["macro-f1"].pairwise_accuracy < methods["macro-f1"].ci_high <= 1
    assert sorted(methods["macro-f1"].curve) == sorted(methods["ACC"].curve)
    assert any("macro-f1 is not a mean over examples" in note for note in ranking.notes)
    assert what_changed(ranking, ranking).changed is False
    drawn = rank(suite, rows, metric="macro-f1", draws=500, evidence=Evidence("none")).evaluation.methods[0]
    assert drawn.pairwise_accuracy == pytest.approx(methods["macro-f1"].pairwise_accuracy, abs=0.03)
    assert methods["macro-f1"].curve[10] == pytest.approx(methods["macro-f1"].pairwise_accuracy, abs=0.01)
    assert ranking.header.left_out["SURROGATE"] == "estimates accuracies, and models are compared by macro-f1"
    ranking.save(tmp_path / "run.json")
    assert Ranking.load(tmp_path / "run.json").to_dict() == ranking.to_dict()
    jsonschema.validate(
        ranking.to_dict(), json.loads((Path(ranker.__file__).parent / "report/ranking.schema.json").read_text())
    )
    for name in TEXTS:
        assert report.render(ranking, name)
    assert f"Truly best: {models[0].name} (macro-f1 {models[0].outcome:.3f} on hans-sub)" in report.render(
        ranking, "markdown"
    )


def explicit_labels(suite, rows):
    """Model -> the labels that it predicts on a set, as a decision on all of its rows shows them."""
    decision = decide(suite, rows, evidence=Evidence("none")).decision
    place = {label: n for n, label in enumerate(rows.task.labels)}
    return {name: [place[row.predicted[name]] for row in decision.rows] for name in decision.names}


@pytest.mark.more
def test_the_pairwise_accuracy_of_a_metric_is_that_of_drawn_probes():
    """A slow loop over drawn probes agrees, within what draws leave."""
    rows, suite = load_set("hans-sub", limit=200), load_suite(["hans-sub-mini"]).models[-4:]
    evaluation = rank(suite, rows, metric="mcc", evidence=Evidence("none")).evaluation
    predictions, labels = explicit_labels(suite, rows), np.array([row.target for row in rows.examples])
    predicted = np.array([predictions[model.name] for model in evaluation.models])
    rng, points = np.random.default_rng(1), []
    pairs = [(a, b) for a in range(len(predicted)) for b in range(a + 1, len(predicted))]
    decided = [(a, b) for a, b in pairs if evaluation.models[a].outcome - evaluation.models[b].outcome > 1e-12]
    for _ in range(300):
        draw = rng.integers(len(labels), size=10)
        values = [mcc(labels[draw], row[draw]) for row in predicted]
        points.append(np.mean([(np.sign(round(values[a] - values[b], 12)) + 1) / 2 for a, b in decided]))
    assert evaluation.methods[0].pairwise_accuracy == pytest.approx(np.mean(points), abs=4 * np.std(points) / 300**0.5)


def mcc(truth, predicted):
    """Matthews' correlation, 0 where one of the two has one label only."""
    return matthews_corrcoef(truth, predicted) if len(set(truth)) > 1 and len(set(predicted)) > 1 else 0.0


def test_less_of_a_metric_has_no_true_order():
    """An evaluation is by a metric of which more is better."""
    with refuses(UsageError, option="metric", value="mae"):
        rank("hans-sub-mini", "hans-sub", metric="mae", evidence=Evidence("none"))


def test_a_metric_that_is_named_for_logs_is_not_lost(tmp_path):
    """From Python it stands in the options of the logs; it is what models are compared by, with no other word."""
    truth = [0, 1, 1, 0, 1, 0] * 10
    predictions = {"good": [0, 1, 1, 0, 1, 1] * 10, "poor": [1, 1, 1, 0, 1, 1] * 10}
    logs = [log_of(tmp_path / name, zip(truth, predicted, strict=True)) for name, predicted in predictions.items()]
    ranking = decide(load_suite(logs, SourceOptions(kinds=[LogOptions(metric="mcc")])))
    assert (ranking.header.metric, ranking.decision.metric) == ("mcc", "mcc")
    values = {model.name: model.outcome for model in ranking.decision.models}
    assert values == pytest.approx({name: matthews_corrcoef(truth, answer) for name, answer in predictions.items()})


def test_means_over_tasks_are_of_the_metric(tmp_path, rank_models):
    """Of two tasks that are alike they are the metric of one, with a narrower interval."""
    pairs = {"a": [(n % 2, n % 2 if n % 5 else 0) for n in range(40)], "b": [(n % 2, n // 2 % 2) for n in range(40)]}
    for name, rows in pairs.items():
        folder = log_of(tmp_path / name, rows)
        (log,) = folder.glob("samples_*")
        (folder / log.name.replace("small", "other")).write_text(log.read_text())
    status, out, _ = rank_models("--models", tmp_path / "a", tmp_path / "b", "--metric", "mcc", "--format", "json")
    parts = json.loads(out)["parts"]
    expected = {name: matthews_corrcoef(*zip(*rows, strict=True)) for name, rows in pairs.items()}
    for part in parts:
        assert {mean["model"]: mean["value"] for mean in part["means"]} == pytest.approx(expected)
    (task, _, macro), gaps = parts, [part["gaps"][0] for part in parts]
    assert (status, task["over"], macro["over"], macro["metric"]) == (0, "task", "macro", "mcc")
    width = [gap["high"] - gap["low"] for gap in gaps]
    assert width[2] == pytest.approx(np.sqrt(width[0] ** 2 + width[1] ** 2) / 2, rel=0.05)
    assert gaps[2]["p"] < min(gaps[0]["p"], gaps[1]["p"])


@pytest.mark.more
def test_checkpoints_are_decided_between_by_the_metric(tmp_path):
    """As files of answers are, in clusters, too."""
    rows, suite = load_set("hans-sub", limit=60), load_suite(["hans-sub-mini"])
    ranking = decide(suite, rows, metric="macro-f1", evidence=Evidence("none"))
    labels = np.array([row.target for row in rows.examples])
    predictions = explicit_labels(suite, rows)
    expected = {name: f1_score(labels, predicted, average="macro") for name, predicted in predictions.items()}
    assert {model.name: model.outcome for model in ranking.decision.models} == pytest.approx(expected)
    lines = [
        json.dumps({"premise": row.segments[0], "hypothesis": row.segments[1], "group": n // 3}
                   | {"label": rows.task.labels[row.target]})
        for n, row in enumerate(rows.examples)
    ]  # fmt: skip
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    clustered_rows = RowsFile(tmp_path / "rows.jsonl", columns={"cluster": ("group",)}, like="hans-sub")
    clustered = decide(suite, clustered_rows, metric="macro-f1", evidence=Evidence("none")).decision
    assert {model.name: model.outcome for model in clustered.models} == pytest.approx(expected)
    assert {pair.clusters for pair in clustered.versus} == {20}


def test_a_run_that_was_saved_before_metrics_is_read(files, tmp_path):
    """The keys are not there, and what they would say is the mean outcome."""
    rows, models = files
    ranking = decide(models, rows, base="fair")
    ranking.save(tmp_path / "run.json")
    full_report = json.loads((tmp_path / "run.json").read_text())
    del full_report["decision"]["metric"]
    (tmp_path / "run.json").write_text(json.dumps(full_report))
    assert Ranking.load(tmp_path / "run.json").to_dict() == ranking.to_dict()


def test_one_file_alone_is_not_described_by_another_metric(tmp_path, rank_models):
    """Accuracy would stand in the place of the metric that was asked for."""
    log_file = log_of(tmp_path / "a", [(n % 2, (n // 2) % 2) for n in range(12)])
    status, out, err = rank_models("--models", log_file, "--metric", "mcc")
    assert (status, out) == (2, "")
    assert "`--metric` mcc compares models: name two or more with `--models`" in err
    assert rank_models("--models", log_file, "--metric", "acc")[0] == 0
