"""Whole runs on answers that were made elsewhere: tables of predictions, and logs of two programs."""

import csv
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from logmaking import choice_row, eval_log, header, lm_log, results, sample, written_row
from refusals import refuses

from ranker import Ranking, decide, report
from ranker.datasets import sets
from ranker.errors import UnknownName, UsageError
from ranker.sources import suites
from ranker.sources.base import SourceOptions
from ranker.sources.tables.options import TableOptions

LABELS = ("negative", "positive")
SIZE = 40


def one_line(outcome, expected=2):
    """Return the line that a run was refused with; below a question stand only the ways to read the file."""
    status, out, err = outcome
    assert status == expected, (out, err)
    assert not out
    line, *readings = err.splitlines()
    assert line.startswith("rank-models: ")
    assert all(reading.startswith("  ") for reading in readings)
    return line.removeprefix("rank-models: ")


def flat(text):
    """Text without its line ends."""
    return " ".join(text.split())


def truth(size=SIZE):
    """Labels, as many of each."""
    return [LABELS[n % 2] for n in range(size)]


def said(wrong, size=SIZE, silent=()):
    """Labels that are wrong on some rows, and none on others."""
    answers = [LABELS[(n + (n in wrong)) % 2] for n in range(size)]
    return ["" if n in silent else answer for n, answer in enumerate(answers)]


def written(path, columns):
    """A CSV of columns."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def keyed(size=SIZE, **columns):
    """Columns behind one of ids."""
    return {"id": [f"r{n}" for n in range(size)], **columns}


def rows(folder, size=SIZE, name="rows.csv", labelled=None):
    """A file of labelled rows; of rows without labels where that is False."""
    texts = [f"Sentence number {n}." for n in range(size)]
    label = {} if labelled is False else {"label": truth(size)}
    return written(folder / name, keyed(size, text=texts, **label))


def wide(folder, **models):
    """A table of several models with the truth."""
    return written(folder / "wide.csv", keyed(label=truth(), **models))


def log(folder, right, task="small", size=SIZE, **options):
    """A log of lm-evaluation-harness: a model that is right on some rows."""
    samples = []
    for n in range(size):
        chosen = n % 2 if n in right else 1 - n % 2
        likelihoods = [-1.0 - chosen, -2.0 + chosen]
        fields = {name: values[n] for name, values in options.items()}
        samples.append(choice_row(n, {"text": f"Row {n}"}, n % 2, likelihoods, acc=float(n in right), **fields))
    return lm_log(folder, samples, task)


def graded(path, values, scorer="judge", **options):
    """A log of Inspect with a score for each row."""
    samples = [sample(f"s{n}", value, scorer=scorer, **options) for n, value in enumerate(values)]
    return eval_log(path, samples, header(scorer=scorer))


# ---- two logs


def test_two_logs_are_compared(run, tmp_path):
    """The answer comes first: each model's interval, the difference, flips, p, and what an unpaired test had said."""
    first_log, second = log(tmp_path / "run-a", set(range(34))), log(tmp_path / "run-b", set(range(20, 40)))
    status, out, err = run("--models", first_log, second)
    assert (status, err) == (0, "")
    text = flat(out)
    assert "models on small: 2 models, K = 40" in text
    assert "Take run-a run-a has acc 85.0 %" in text
    assert ", run-b 50.0 % (" in text
    assert "The difference is +35.0 points (95 % interval +9.2 to +56.2; p = 0.00" in text
    assert "by McNemar's exact test); run-a is better in the domain with a probability of 99." in text
    assert "run-a did better on 20 rows, run-b on 6." in text
    assert "An unpaired test, which ignores that the rows are the same, gives p < 0.0001" not in text
    assert "ignores that the rows are the same, gives p = 0.000" in text
    assert "points or more in four of five cases." in text
    assert "40 rows are few: a true difference below" in text


def test_the_same_from_python(tmp_path):
    """The files alone are enough."""
    ranking = decide([log(tmp_path / "run-a", set(range(34))), log(tmp_path / "run-b", set(range(20, 40)))])
    assert ranking.decision.names == ("run-a", "run-b")
    assert ranking.header.metric == "acc"
    versus = ranking.decision.versus[0]
    assert (versus.better, versus.worse, versus.rows, versus.test) == (20, 6, 40, "mcnemar")
    assert versus.difference == pytest.approx(0.35)
    assert [row.predicted["run-b"] for row in ranking.decision.rows[:2]] == ["yes", "no"]


def test_the_page_shows_the_rows_that_flip(run, tmp_path):
    """Rows on which the second model does worse come first; the report of the saved run is the same page."""
    first_log, second = log(tmp_path / "run-a", set(range(38))), log(tmp_path / "run-b", set(range(35)) | {39})
    arguments = ("--models", first_log, second, "--save", "run.json", "--format", "html")
    status, page, _ = run(*arguments)
    assert status == 0
    table = page.partition("Rows on which the two differ")[2].partition("</table>")[0]
    assert re.findall(r">(worse|better)<", table) == ["worse"] * 3 + ["better"]
    first = flat(re.sub(r"<[^>]*>", " ", table.partition("<tbody>")[2]))
    assert re.match(r"\w+… Row 35 worse ✓ yes ✗ no yes ", first)
    assert run("report", "run.json", "--format", "html") == (0, page, "")
    loaded = Ranking.load(tmp_path / "run.json")
    assert loaded.decision.versus[0].better == 3
    assert all(report.render(loaded, name) for name in report.TEXTS)


def test_logs_of_one_folder_and_files_of_one_name_are_told_apart(tmp_path):
    """By the folder around them, or by the task; a name that somebody gives stays."""
    right = set(range(30))
    a, b = (log(tmp_path / run_of / "model", right) for run_of in ("zero", "few"))
    other_log = log(tmp_path / "zero" / "model", right, "other")
    assert [model.name for model in suites.load([a, b]).models] == ["zero/model", "few/model"]
    assert [model.name for model in suites.load([a, other_log]).models] == ["small/model", "other/model"]
    assert [model.name for model in suites.load([f"new={a}", b]).models] == ["new", "model"]
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        written(tmp_path / folder / "answers.csv", keyed(prediction=truth()))
        written(tmp_path / folder / "wide.csv", keyed(a=truth(), b=truth(), label=truth()))
    tables = [str(tmp_path / folder / "answers.csv") for folder in ("x", "y")]
    assert [model.name for model in suites.load(tables).models] == ["x/answers", "y/answers"]
    tables = [str(tmp_path / folder / "wide.csv#a") for folder in ("x", "y")]
    assert [model.name for model in suites.load(tables).models] == ["x/a", "y/a"]
    with refuses(UsageError, option="models", value="m"):
        suites.load([f"m={a}", f"m={b}"])


@pytest.mark.more
def test_a_folder_of_logs_is_its_only_task(run, tmp_path):
    """Of several, one has to be named beside a reference to one."""
    for name, right in (("run-a", range(34)), ("run-b", range(20))):
        log(tmp_path / name, set(right))
    assert "run-a did better on 14 rows" in flat(run("--models", "run-a", "run-b")[1])
    for name in ("run-a", "run-b"):
        log(tmp_path / name, set(range(10)), "other")
    assert one_line(run("--models", "run-a#small", "run-b")) == (
        "run-b holds logs of several tasks: other, small; name one, run-b#other"
    )
    assert "models on small" in run("--models", "run-a#small", "run-b#small")[1]


@pytest.mark.more
def test_the_metric_the_filter_and_the_scorer_are_chosen(run, tmp_path):
    """A recorded metric is ranked on, and named; if several could be meant, one line lists them."""
    for name, lucky in (("run-a", 30), ("run-b", 10)):
        all_rows = [
            written_row(n, {"q": n}, "yes", "yes", "yes", filter=filter, em=float(n < lucky - 5 * loose), f1=0.5)
            for loose, filter in enumerate(("strict", "loose"))
            for n in range(SIZE)
        ]
        lm_log(tmp_path / name, all_rows)
    assert "has several filters, strict, loose; say which with `--filter`" in one_line(
        run("--models", "run-a", "run-b"), 1
    )
    assert "metrics, em, f1; say which with `--metric`" in one_line(
        run("--models", "run-a", "run-b", "--filter", "loose"), 1
    )
    status, out, _ = run("--models", "run-a", "run-b", "--filter", "loose", "--metric", "em")
    assert status == 0
    assert "run-a has em 62.5 %" in flat(out)
    assert "are level" in run("--models", "run-a", "run-b", "--filter", "strict", "--metric", "f1")[1]
    two = {"judge": {"value": "C"}, "match": {"value": "I"}}
    for name in "ab":
        eval_log(tmp_path / f"{name}.eval", [sample(f"s{n}", 1, scores=two) for n in range(5)])
    assert "judge, match" in one_line(run("--models", "a.eval", "b.eval"), 1)
    output = json.loads(run("--models", "a.eval", "b.eval", "--scorer", "judge", "--format", "json")[1])
    assert (output["header"]["metric"], output["decision"]["models"][0]["outcome"]) == ("judge", 1.0)


@pytest.mark.more
def test_marks_from_1_to_10_need_a_range(run, tmp_path):
    """`--range` says what is worst and best; `--lower-is-better` turns it."""
    graded(tmp_path / "a.eval", [2, 4, 6, 8, 10, 10])
    graded(tmp_path / "b.eval", [1, 4, 5, 8, 10, 1])
    assert one_line(run("--models", "a.eval", "b.eval"), 1) == (
        "small: judge is between 2 and 10; say with `--range` what is worst and best"
    )
    output = json.loads(run("--models", "a.eval", "b.eval", "--range", "1", "10", "--format", "json")[1])
    assert [model["name"] for model in output["decision"]["models"]] == ["a", "b"]
    assert output["decision"]["models"][0]["outcome"] == pytest.approx(np.mean([1, 3, 5, 7, 9, 9]) / 9)
    assert output["header"]["metric"] == "judge"
    turned = json.loads(
        run("--models", "a.eval", "b.eval", "--range", "1", "10", "--lower-is-better", "--format", "json")[1]
    )
    assert [model["name"] for model in turned["decision"]["models"]] == ["b", "a"]
    assert turned["decision"]["versus"][0]["difference"] == pytest.approx(output["decision"]["versus"][0]["difference"])


def test_a_log_that_says_that_less_is_better_is_turned(tmp_path):
    """Whatever the metric is called."""
    for name, values in (("run-a", (0.1, 0.2)), ("run-b", (0.9, 0.8))):
        lm_log(tmp_path / name, [written_row(n, {"q": n}, "x", "x", "x", loss=value) for n, value in enumerate(values)])
        results(tmp_path / name, higher={"loss": False})
    ranking = decide([tmp_path / "run-a", tmp_path / "run-b"])
    assert ranking.decision.names == ("run-a", "run-b")
    assert ranking.decision.models[0].outcome == pytest.approx(0.85)


def test_logs_that_do_not_fit_are_one_line(run, tmp_path):
    """Another metric, another right answer, no row in common, no row at all."""
    log(tmp_path / "run-a", set(range(30)))
    lm_log(tmp_path / "f1", [written_row(0, {"text": "Row 0"}, "0", "x", "x", f1=0.5)])
    assert one_line(run("--models", "run-a", "f1")) == ("run-a is judged by acc and f1 by f1; name one with `--metric`")
    log(tmp_path / "hashed", set(range(30)), doc_hash=[f"h{n}" for n in range(SIZE)], target_hash=["t"] * SIZE)
    log(tmp_path / "other", set(range(30)), doc_hash=[f"h{n}" for n in range(SIZE)], target_hash=["u"] * SIZE)
    assert one_line(run("--models", "hashed", "other")) == (
        "hashed and other differ on the right answer to the row 'h0'"
    )
    assert one_line(run("--models", "run-a", "hashed")) == (
        "there is no row that all models were judged on; do their answers belong to the same rows?"
    )


@pytest.mark.more
def test_logs_that_were_asked_otherwise_are_compared_and_said_to_be(run, tmp_path):
    """Another prompt to the same row is one sentence; logs that do not say what they were asked are not meant."""
    hashes = {name: [f"{name}{n}" for n in range(SIZE)] for name in "pq"}
    half = hashes["p"][:20] + hashes["q"][20:]
    prompt_hashes = {"zero": hashes["p"], "same": hashes["p"], "few": hashes["q"], "more": hashes["q"], "half": half}
    for name, prompts in prompt_hashes.items():
        log(tmp_path / name, set(range(30)), prompt_hash=prompts)
    text = flat(run("--models", "zero", "same")[1])
    assert "did equally well on each of the 40 rows" in text
    assert "asked in another way" not in text
    output = json.loads(run("--models", *prompt_hashes, "--format", "json")[1])
    notes = [note for note in output["header"]["notes"] if "asked in another way" in note]
    reason = "(prompt, number of shots, order of choices, solver or arguments of the task), so more than the models may"
    assert notes == [
        f"few, more: 40 of 40 rows were asked in another way than in zero {reason} differ.",
        f"half: 20 of 40 rows were asked in another way than in zero {reason} differ.",
    ]
    for name, prompt in (("a", "Q"), ("b", "Think. Q")):
        messages = [{"role": "user", "content": prompt}]
        eval_log(tmp_path / f"{name}.eval", [sample(f"s{n}", "C", messages=messages) for n in range(5)])
    eval_log(tmp_path / "c.eval", [sample(f"s{n}", "C", messages=[]) for n in range(5)])
    assert "b: 5 of 5 rows were asked in another way than in a (" in flat(run("--models", "a.eval", "b.eval")[1])
    assert "asked in another way" not in flat(run("--models", "a.eval", "c.eval")[1])


def test_what_logs_lack_is_counted_apart(run, tmp_path):
    """Rows that one log alone has, no answer, and what failed: three things, each said of each model."""
    values = ["C"] * 20 + ["I"] * 10 + ["N"] * 6 + ["C"] * 4
    samples = [sample(f"s{n}", value) for n, value in enumerate(values)]
    eval_log(tmp_path / "a.eval", samples)
    samples = [sample(f"s{n}", "C") for n in range(35)]
    samples[3] = sample("s3", None, scores={}, error={"message": "it broke"})
    eval_log(tmp_path / "b.eval", samples)
    status, out, err = run("--models", "a.eval", "b.eval")
    text = flat(out)
    assert status == 0
    assert "a: 6 rows have no answer, which counts as wrong." in text
    assert "b: 5 rows are not in its file, and left out for all models, 1 row failed or was not scored" in text
    assert "on the same 34 rows" in text
    assert "a gives no answer to 6 of 40 rows; they count as wrong" in err
    assert "b gives no answer" not in err
    text = flat(run("--models", "a.eval", "b.eval", "--errors", "wrong")[1])
    assert "on the same 35 rows" in text
    assert "b: 5 rows are not in its file, and left out for all models, 1 row has no answer" in text


def test_a_log_that_is_partial_and_epochs_that_are_missing_are_said(run, tmp_path):
    """In the report, of the model that it is true of; what is there is compared, and epochs are averaged."""
    eval_log(
        tmp_path / "a.eval", [sample(f"s{n}", "C", epoch) for n in range(10) for epoch in (1, 2)], header(epochs=2)
    )
    samples = [sample(f"s{n}", "CI"[epoch - 1], epoch) for n in range(8) for epoch in (1, 2) if n or epoch == 1]
    eval_log(tmp_path / "b.eval", samples, header("cancelled", 2, ids=[f"s{n}" for n in range(10)]))
    status, out, err = run("--models", "a.eval", "b.eval")
    assert (status, err) == (0, "")
    text = flat(out)
    assert "b: The log is partial: its run ended with the status cancelled." in text
    assert "b: The log is partial: it holds 8 of the 10 samples that were to be run." in text
    assert "b: 1 of 8 rows have scores in only some of 2 epochs, and use these." in text
    assert "b: 2 rows are not in its file, and left out for all models." in text
    assert f"b {100 * (1 + 7 * 0.5) / 8:.1f} % (" in text
    assert "on the same 8 rows" in text


@pytest.mark.more
def test_rows_that_belong_together_are_drawn_together(run, tmp_path):
    """`--cluster` names a field of a log's rows, or a column; a field that is not there is one line."""
    for name, wrong in (("a", 8), ("b", 16)):
        samples = [sample(f"s{n}", "I" if n < wrong else "C", metadata={"passage": f"p{n // 8}"}) for n in range(SIZE)]
        eval_log(tmp_path / f"{name}.eval", samples)
    text = flat(run("--models", "a.eval", "b.eval", "--cluster", "passage")[1])
    assert "on the same 40 rows in 5 clusters" in text
    assert "by a sign-flip test" in text
    assert "5 clusters of rows are few" in text
    assert "passage" not in flat(run("--models", "a.eval", "b.eval")[1])
    columns = {"a": said(range(8)), "b": said(range(16)), "passage": [f"p{n // 8}" for n in range(SIZE)]}
    wide(tmp_path, **columns)
    output = json.loads(run("--models", "wide.csv", "--cluster", "passage", "--format", "json")[1])
    (versus,) = output["decision"]["versus"]
    assert (versus["clusters"], versus["rows"], versus["test"]) == (5, 40, "sign-flip")
    assert versus["se"] == pytest.approx(0.2)
    assert "nothing" in one_line(run("--models", "wide.csv", "--cluster", "nothing"))


@pytest.mark.more
def test_clusters_of_rows_of_ones_own(run, tmp_path):
    """A column of `--data`, whatever the models are; the intervals are those of the same clusters in a table."""
    passages = [f"p{n // 8}" for n in range(SIZE)]
    written(tmp_path / "rows.csv", keyed(text=[f"row {n}" for n in range(SIZE)], label=truth(), passage=passages))
    for name, wrong in (("a", set(range(6))), ("b", set(range(4, 20)))):
        written(tmp_path / f"{name}.csv", keyed(prediction=said(wrong)))
    tables = keyed(a=said(set(range(6))), b=said(set(range(4, 20))), label=truth(), passage=passages)
    written(tmp_path / "wide.csv", tables)
    own_arguments = ("--data", "rows.csv", "--models", "a.csv", "b.csv", "--cluster", "passage", "--format", "json")
    output, wide = (
        json.loads(run(*arguments)[1]) for arguments in (own_arguments, ("--models", "wide.csv", *own_arguments[-4:]))
    )
    assert output["decision"]["versus"][0]["clusters"] == 5
    assert output["decision"]["versus"] == wide["decision"]["versus"]
    assert "the column 'nothing' is missing" in one_line(run(*own_arguments[:-3], "nothing"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ood", "hans-sub"], "`--cluster` is for `--data`"),
        (
            ["--data", "rows.csv", "--pool", "rows.csv", "--models", "a.csv", "b.csv"],
            "`--cluster` is for labelled rows alone, without `--pool`",
        ),
    ],
)
def test_clusters_are_for_labelled_rows_alone(run, tmp_path, arguments, message):
    """Not for a set whose truth is known, nor beside a pool: one line."""
    rows = keyed(text=[f"row {n}" for n in range(SIZE)], label=truth(), passage=["p"] * SIZE)
    written(tmp_path / "rows.csv", rows)
    for name in ("a", "b"):
        written(tmp_path / f"{name}.csv", keyed(prediction=truth()))
    assert one_line(run(*arguments, "--cluster", "passage")) == message


def test_a_row_has_to_say_what_it_belongs_to(run, tmp_path):
    """An empty cell in the column of clusters is one line."""
    passages = ["p", "", *["q"] * (SIZE - 2)]
    written(tmp_path / "rows.csv", keyed(text=[f"row {n}" for n in range(SIZE)], label=truth(), passage=passages))
    written(tmp_path / "wide.csv", keyed(a=truth(), b=truth()))
    message = one_line(run("--data", "rows.csv", "--models", "wide.csv", "--cluster", "passage"))
    assert message == "rows.csv, line 3: the column 'passage' is empty, and must say which rows this one belongs with"


# ---- tables


@pytest.mark.more
def test_a_wide_file_is_several_models(run, tmp_path):
    """A column each, of which the truth is none; one of them is `file#column`."""
    wide(tmp_path, good=said(range(4)), fair=said(range(12)), poor=said(range(24)))
    status, out, err = run("--models", "wide.csv")
    assert (status, err) == (0, "")
    assert "wide.csv on wide: 3 models, K = 40" in out
    assert re.findall(r"(?m)^([123]) +(\w+) ", out)[:3] == [("1", "good"), ("2", "fair"), ("3", "poor")]
    text = flat(out)
    assert "'good', 'fair' and 'poor' hold labels." in text
    assert "'label' is read as the truth, by its name; to change that, use `--truth` and `--prediction`." in text
    assert "CONF, CONF-GT, NLL (needs probabilities, and the answers of good and of 2 others are labels alone)" in text
    status, out, _ = run("--models", "wide.csv#good", "wide.csv#poor")
    assert "good did better on 20 rows, poor on 0." in flat(out)
    assert "there is no model in wide.csv 'god'; did you mean good?" in one_line(
        run("--models", "wide.csv#god", "wide.csv#poor")
    )


def test_probabilities_have_all_methods(run, tmp_path):
    """Groups of columns, model/class; what reads confidence is measured."""
    rng = np.random.default_rng(0)
    columns = {}
    for name, hits in (("a", 34), ("b", 22)):
        right = np.where(np.arange(SIZE) < hits, 0.8, 0.2) + 0.1 * rng.random(SIZE)
        positive = [p if label == "positive" else 1 - p for p, label in zip(right, truth(), strict=True)]
        columns |= {f"{name}/negative": [1 - p for p in positive], f"{name}/positive": positive}
    wide(tmp_path, **columns)
    output = json.loads(run("--models", "wide.csv", "--format", "json")[1])
    assert output["decision"]["method"] == "ACC+TIES"
    assert set(output["decision"]["models"][0]["scores"]) == {"ACC", "CONF", "CONF-GT", "NLL"}
    assert [model["outcome"] for model in output["decision"]["models"]] == [0.85, 0.55]
    by = json.loads(run("--models", "wide.csv", "--method", "nll", "--format", "json")[1])
    assert by["decision"]["method"] == "NLL"
    assert "`--task` is for the rows of `--data FILE`" in one_line(run("--models", "wide.csv", "--task", "nli"))
    assert "`--draws` is for `--ood`" in one_line(run("--models", "wide.csv", "--draws", "5"))


def test_outcomes_alone_are_ranked(run, tmp_path):
    """Outcomes without predictions are ranked, and must be said to be that if they could be labels."""
    columns = {f"m{m}": [int(n >= 5 * m) for n in range(SIZE)] for m in range(3)}
    written(tmp_path / "outcomes.csv", keyed(**columns))
    assert "`--answers` says which: labels, outcomes" in one_line(run("--models", "outcomes.csv"))
    status, out, _ = run("--models", "outcomes.csv", "--answers", "outcomes")
    assert status == 0
    assert "outcome puts m0 first. Its mean outcome on the 40 rows is 100.0 %" in flat(out)
    assert "(reads probabilities of labels, and these answers have none)" in flat(out)
    assert "must be one of labels" in one_line(run("--models", "outcomes.csv", "--answers", "marks"))


@pytest.mark.more
def test_marks_in_a_table_need_a_range(run, tmp_path):
    """Marks of a table need a range as those of a log, `--lower-is-better` turns them, and no answer stays 0."""
    marks = {"a": ["[invalid]", 4, 6, 8, 10, 10], "b": [1, 4, 5.5, 8, 10, 1]}
    for name, values in marks.items():
        written(tmp_path / f"{name}.csv", {"id": list("uvwxyz"), "mark": values})
    arguments = ("--models", "a.csv", "b.csv", "--answers", "outcomes", "--format", "json")
    assert "no column holds outcomes, numbers from 0 to 1 (columns: 'id' and 'mark')" in (
        message := one_line(run(*arguments))
    )
    assert "`--range` says what is worst and best" in message
    models = json.loads(run(*arguments, "--range", "1", "10")[1])["decision"]["models"]
    means = {"a": np.mean([0, 3, 5, 7, 9, 9]) / 9, "b": np.mean([0, 3, 4.5, 7, 9, 0]) / 9}
    assert {model["name"]: model["outcome"] for model in models} == pytest.approx(means)
    content = json.loads(run(*arguments, "--range", "1", "10", "--lower-is-better")[1])
    scale = "Outcomes are shown on a scale from 0 % (the worst, 10 in the file) to 100 % (1)."
    assert scale in content["header"]["notes"]
    turned = content["decision"]["models"]
    means = {"a": np.mean([0, 6, 4, 2, 0, 0]) / 9, "b": np.mean([9, 6, 4.5, 2, 0, 9]) / 9}
    assert {model["name"]: model["outcome"] for model in turned} == pytest.approx(means)
    wide = ("--models", "wide.csv", "--answers", "outcomes", "--prediction", "m", "--prediction", "n")
    written(tmp_path / "wide.csv", {"id": ["u", "v"], "m": [7, 3], "n": [2, 11]})
    message = one_line(run(*wide, "--range", "0", "10"))
    assert "row 2: the column 'n' holds outcomes, and must be between 0 and 10 (got '11')" in message


@pytest.mark.parametrize(
    ("option", "value"), [("filter", "strict"), ("scorer", "judge"), ("range", "0 10"), ("lower-is-better", "")]
)
def test_an_option_that_says_nothing_of_any_model_is_refused(run, tmp_path, option, value):
    """Labels of a table have no metric but accuracy, and no direction; nothing is ignored in silence."""
    wide(tmp_path, a=said(range(4)), b=said(range(12)))
    said_of_it = one_line(run("--models", "wide.csv", f"--{option}", *value.split()))
    assert f"none of these models reads `--{option}`; leave it out" in said_of_it


def test_an_option_that_says_something_of_one_model_is_taken(run, tmp_path):
    """Of tables beside logs, that of one kind alone; of logs, those of tables."""
    first_log, second = log(tmp_path / "run-a", set(range(34))), log(tmp_path / "run-b", set(range(20)))
    assert run("--models", first_log, second, "--metric", "acc")[2] == ""
    err = one_line(run("--models", first_log, second, "--prediction", "x", "--truth", "y", "--answers", "labels"))
    assert "none of these models reads `--answers` or `--prediction` or `--truth`; leave it out" in err
    err = one_line(run("--models", first_log, second, "--scorer", "judge", "--metric", "acc"))
    assert "none of these models reads `--scorer`; leave it out" in err


def test_one_file_a_model_beside_rows(run, tmp_path):
    """In any order and of any kind; numbers and names of labels, ids or none."""
    rows(tmp_path)
    written(tmp_path / "names.csv", keyed(prediction=said(range(4))))
    shuffled = np.random.default_rng(0).permutation(SIZE)
    numbers = [LABELS.index(answer) for answer in said(range(8))]
    written(tmp_path / "numbers.csv", {"Id": [f"r{n}" for n in shuffled], "Category": [numbers[n] for n in shuffled]})
    logits = np.random.default_rng(1).normal(size=(SIZE, 2))
    np.savez(tmp_path / "logits.npz", predictions=logits)
    status, out, err = run("--data", "rows.csv", "--models", "names.csv", "numbers.csv", "logits.npz")
    assert (status, err) == (0, "")
    right = (logits.argmax(axis=1) == np.arange(SIZE) % 2).mean()
    accuracies = dict(re.findall(r"(?m)^[123] +(\w+) +\w+ +[\d.]+ +([\d.]+) ", out))
    assert accuracies == {"names": "90.0", "numbers": "80.0", "logits": f"{100 * right:.1f}"}
    text = flat(out)
    assert "numbers: the numbers in 'Category' are labels: 0 is negative, 1 is positive." in text
    assert "logits: rows are joined by their order alone; nothing in the file confirms it." in text
    assert one_line(run("--models", "names.csv", "numbers.csv")) == (
        "`--data` or `--ood`, or `--truth COLUMN`, is needed: no model brings rows of its own whose truth is known"
    )


def test_a_table_whose_truth_has_another_name_has_its_columns_listed(run, tmp_path):
    """So `--truth` can be typed; with it the models are compared."""
    written(tmp_path / "wide.csv", keyed(y=truth(), a=said(range(8)), b=said(range(4))))
    assert one_line(run("--models", "wide.csv")).endswith(
        "no model brings rows of its own whose truth is known (wide.csv: 40 rows; columns: id, y, a, b)"
    )
    assert "Take b" in run("--models", "wide.csv", "--truth", "y")[1]


@pytest.mark.more
def test_labels_are_those_of_the_rows_where_no_file_names_them(run, tmp_path):
    """A table of bare numbers, or of columns named p_..., is read by the task of the rows beside it."""
    texts = [f"Sentence number {n}." for n in range(4)]
    written(tmp_path / "rows.csv", keyed(4, text=texts, label=["pos", "neg", "pos", "neg"]))
    written(tmp_path / "p.csv", keyed(4, p_pos=[0.9, 0.2, 0.8, 0.4], p_neg=[0.1, 0.8, 0.2, 0.6]))
    (tmp_path / "numbers.json").write_text(json.dumps({f"r{n}": 0 for n in range(4)}))
    status, out, _ = run("--data", "rows.csv", "--models", "p.csv", "numbers.json", "--format", "json")
    assert status == 0
    rows_of = json.loads(out)["decision"]["rows"]
    assert [row["predicted"] for row in rows_of[:2]] == [
        {"p": "pos", "numbers": "neg"}, {"p": "neg", "numbers": "neg"}
    ]  # fmt: skip
    turned = '{"0": "pos", "1": "neg"}'
    out = run("--data", "rows.csv", "--models", "p.csv", "numbers.json", "--label-map", turned, "--format", "json")[1]
    assert json.loads(out)["decision"]["rows"][0]["predicted"]["numbers"] == "pos"
    written(tmp_path / "mood.csv", keyed(4, label=["good", "bad"] * 2, prediction=["good", "bad"] * 2))
    written(tmp_path / "tone.csv", keyed(4, label=["pos", "neg"] * 2, prediction=["pos", "neg"] * 2))
    assert one_line(run("--models", "mood.csv", "tone.csv")) == (
        "mood has the labels bad, good and tone neg, pos; put the rows into a file of their own: `--data`"
    )


def test_rows_that_lack_a_label_of_the_models(run, tmp_path):
    """Logits of a third label are asked about, never dropped; a label map makes it a label, and the order is true."""
    written(tmp_path / "ten.csv", keyed(10, label=["neg", "pos"] * 5))
    first = [[3.25, -1.25, -1.25], [-1.25, -1.25, 3.25]] * 5
    second_scores = [[1.5, 3.25, -1.25], [-1.25, 3.25, 1.5]] * 4 + first[:2]
    for name, scores in (("a", first), ("b", second_scores)):
        columns = dict(zip(("neg", "neu", "pos"), map(list, zip(*scores, strict=True)), strict=True))
        written(tmp_path / f"{name}.csv", keyed(10, **columns))
    line = one_line(run("--data", "ten.csv", "--models", "a.csv", "b.csv"))
    assert line.startswith("a.csv: 'neu' stands among scores such as 'neg', and 'neu' is no label of the task")
    assert "`--label-map` says what it stands for, `neu = neu` if it is a label too" in line
    status, out, _ = run("--data", "ten.csv", "--models", "a.csv", "b.csv", "--label-map", "neu = neu")
    assert status == 0
    assert "a has accuracy 100.0 % (71.5 to 99.8), b 20.0 %" in flat(out)


@pytest.mark.more
def test_columns_beside_scores_that_only_the_rows_explain_are_noted(run, tmp_path):
    """A file of logits is read by the labels of the rows; its unread columns are named, and `--strict` refuses them."""
    written(tmp_path / "ten.csv", keyed(10, label=["neg", "pos"] * 5))
    for name, sign in (("a", 1.5), ("b", -1.5)):
        columns = {"neg": [sign, -sign] * 5, "pos": [-sign, sign] * 5, "tokens": [*range(10)]}
        written(tmp_path / f"{name}.csv", keyed(10, **columns))
    command = ("--data", "ten.csv", "--models", "a.csv", "b.csv")
    assert "- 'tokens' holds numbers: not read." in run(*command)[1]
    assert one_line(run(*command, "--strict")) == "`--strict`: 'tokens' holds numbers: not read."


@pytest.mark.more
def test_a_label_that_no_model_predicts_is_noted(run, tmp_path):
    """Such a label may be mistyped, and is wrong for every model: a note, and an error under `--strict`."""
    moods = ["neg", "neu", "pos", "pos", "neu"] * 2
    written(tmp_path / "ten.csv", keyed(10, text=[f"Row {n}." for n in range(10)], label=["postive", *moods[1:]]))
    written(tmp_path / "pool.csv", keyed(30, text=[f"Row {n}." for n in range(30)]))
    written(tmp_path / "a.csv", keyed(30, answer=moods * 3))
    written(tmp_path / "b.csv", keyed(30, answer=moods[::-1] * 3))
    command = ("--data", "ten.csv", "--models", "a.csv", "b.csv")
    assert "- No model predicts 'postive' (1 row)." in run(*command)[1]
    assert one_line(run(*command, "--strict")) == "`--strict`: No model predicts 'postive' (1 row)."
    batch = ("label", "--pool", "pool.csv", "--labelled", "ten.csv", "--batch", "3", *command[2:], "-o", "batch.csv")
    assert "`--strict`: No model predicts 'postive' (1 row)." in run(*batch, "--strict")[2]
    assert "No model predicts 'postive' (1 row)." in run(*batch)[2]


@pytest.mark.more
def test_a_label_map_that_no_file_has_a_name_of_is_pointed_out(run, tmp_path):
    """Unknown names of the map are listed; a number, a name in a cell and that of a column of scores are read."""
    labels = ["neg", "pos"] * 5
    written(tmp_path / "w.csv", keyed(10, label=labels, a=labels, b=labels[::-1]))
    text = "`--label-map`: none of its labels ('foo') is one of these models'"
    assert text in run("--models", "w.csv", "--label-map", '{"foo": "pos"}')[2]
    assert text not in run("--models", "w.csv", "--label-map", '{"foo": "pos", "neg": "neg"}')[2]
    written(tmp_path / "n.csv", keyed(10, label=labels, a=["LABEL_0", "LABEL_1"] * 5, b=[0, 1] * 5))
    assert "none of its" not in run("--models", "n.csv", "--label-map", '{"0": "neg", "1": "pos"}')[2]
    written(tmp_path / "s.csv", keyed(10, label=labels, **{"m/bad": [0.9, 0.1] * 5, "m/pos": [0.1, 0.9] * 5}))
    assert "none of its" not in run("--models", "s.csv", "w.csv", "--label-map", '{"bad": "neg"}')[2]


@pytest.mark.more
def test_several_labels_are_one_as_one_writes_it(run, tmp_path):
    """`a,b = label; c = label` says what the same object in JSON says; what is neither is one line."""
    names = ("non-entailment", "entailment")
    right = [names[n % 2] for n in range(SIZE)]
    written(tmp_path / "rows.csv", keyed(text=[f"row {n}" for n in range(SIZE)], label=right))
    predictions = {
        name: [("maybe", "surely not", "it follows")[n % k] for n in range(SIZE)] for name, k in (("a", 3), ("b", 2))
    }
    for name, answers in predictions.items():
        written(tmp_path / f"{name}.csv", keyed(prediction=answers))
    line = ("--data", "rows.csv", "--models", "a.csv", "b.csv", "--format", "json", "--label-map")
    by_hand = run(*line, "maybe, surely not = non-entailment; it follows = entailment")
    assert by_hand[0] == 0, by_hand
    of_json = {"maybe": names[0], "surely not": names[0], "it follows": names[1]}
    decision, same = (json.loads(report)["decision"] for report in (by_hand[1], run(*line, json.dumps(of_json))[1]))
    assert decision == same
    means = {model["name"]: model["outcome"] for model in decision["models"]}
    translated = {name: [of_json[answer] for answer in answers] for name, answers in predictions.items()}
    assert means == {
        name: np.mean([label == two for label, two in zip(translated[name], right, strict=True)]) for name in "ab"
    }
    assert one_line(run(*line, "maybe = ")) == "`--label-map` is written as `a,b = label; c = label` (got 'maybe =')"
    assert one_line(run(*line, "maybe = x; maybe = y")) == "`--label-map` gives two labels to 'maybe'"
    assert one_line(run(*line, "maybe")).startswith(
        "`--label-map` must be JSON, a file of it, or like `a,b = label; c ="
    )


@pytest.mark.more
def test_rows_of_three_labels_are_judged_three_ways_by_files_that_name_none(run, tmp_path):
    """Three labels stay three though a known task takes two for one, and the order of numbers is asked for."""
    names = ("entailment", "neutral", "contradiction")
    right = [n % 3 for n in range(SIZE)]
    texts = {"premise": [f"A {n}." for n in range(SIZE)], "hypothesis": [f"B {n}." for n in range(SIZE)]}
    written(tmp_path / "rows.csv", keyed(**texts, label=[names[n] for n in right]))
    answers = {"a": [n % 3 if n % 5 else (n + 1) % 3 for n in range(SIZE)], "b": [n % 2 for n in range(SIZE)]}
    np.savez(tmp_path / "a.npz", predictions=np.eye(3)[answers["a"]] * 2.5 - 1)
    written(tmp_path / "b.csv", keyed(prediction=answers["b"]))
    arguments = ("--data", "rows.csv", "--models", "a.npz", "b.csv")
    status, out, err = run(*arguments)
    assert (status, out) == (1, "")
    assert "a.npz: 'predictions' holds 3 scores a row, for 3 labels; `--label-map` says which label each stands" in err
    assert "b.csv: '0' and '1' in the column 'prediction' are no labels" in err
    text = "; ".join(f"{number} = {name}" for number, name in enumerate(names))
    models = json.loads(run(*arguments, "--label-map", text, "--format", "json")[1])["decision"]["models"]
    means = {
        name: np.mean([label == two for label, two in zip(predicted, right, strict=True)])
        for name, predicted in answers.items()
    }
    assert {model["name"]: model["outcome"] for model in models} == pytest.approx(means)
    two_ways = ("--task", "nli", "--label-map", "0 = entailment; 1, 2 = non-entailment", "--format", "json")
    models = json.loads(run(*arguments, *two_ways)[1])["decision"]["models"]
    means = {
        name: np.mean([(label == 0) == (two == 0) for label, two in zip(predicted, right, strict=True)])
        for name, predicted in answers.items()
    }
    assert {model["name"]: model["outcome"] for model in models} == pytest.approx(means)


@pytest.mark.more
def test_what_a_table_lacks_is_counted_apart(run, tmp_path):
    """Missing rows, rows of another text, no answers, errors."""
    rows(tmp_path)
    answers_of_all = said(range(10), silent=(0, 1, 2, 3, 4))
    written(tmp_path / "a.csv", {name: column[:37] for name, column in keyed(prediction=answers_of_all).items()})
    texts = [f"Sentence number {n}." for n in range(SIZE)]
    scores = ["" if n in (5, 6) else 0.5 + 0.2 * (n % 2) for n in range(SIZE)]
    complement = [0.5 if score == "" else 1 - score for score in scores]
    texts[39] = "Quite another."
    written(tmp_path / "b.csv", keyed(sentence=texts, negative=complement, positive=scores))
    status, out, err = run("--data", "rows.csv", "--models", "a.csv", "b.csv")
    assert status == 0
    text = flat(out)
    assert "a: 3 rows are not in its file, and left out for all models, 5 rows have no answer, which counts" in text
    assert "b: 1 row has another text in the file: missing." in text
    assert "b: 1 row is not in its file, and left out for all models, 2 rows failed or were not scored" in text
    assert "on the same 35 rows" in text
    assert "a gives no answer to 5 of 37 rows; they count as wrong" in err
    assert "on the same 37 rows" in flat(
        run("--data", "rows.csv", "--models", "a.csv", "b.csv", "--errors", "wrong")[1]
    )
    output = json.loads(run("--data", "rows.csv", "--models", "a.csv", "b.csv", "--format", "json")[1])
    rows_of = {row["id"]: row["predicted"] for row in output["decision"]["rows"]}
    assert rows_of["r0"]["a"] == "no answer"
    assert rows_of["r38"]["a"] == rows_of["r39"]["b"] == "missing"
    assert rows_of["r5"]["b"] == "failed"
    for name in report.TEXTS:
        assert run("--data", "rows.csv", "--models", "a.csv", "b.csv", "--format", name)[0] == 0


def test_a_named_method_that_cannot_be_had_is_listed_beside_a_pool(run, tmp_path):
    """ATC needs in-domain rows: another method orders the models, and says that it does not read the pool."""
    rows(tmp_path, name="pool.csv", labelled=False)
    rows(tmp_path, 10, name="ten.csv")
    for name, wrong in (("a", range(0, 40, 9)), ("b", range(0, 40, 4))):
        written(tmp_path / f"{name}.csv", keyed(prediction=said(wrong)))
    command = "--data", "ten.csv", "--pool", "pool.csv", "--models", "a.csv", "b.csv"
    status, out, _ = run(*command, "--methods", "ATC")
    assert status == 0
    assert "ACC does not read the other 30 rows of the pool." in flat(out)
    assert "The pool adds" not in flat(out)
    assert "ATC (needs labelled rows: `--in-domain`)" in flat(out)
    assert "ATC" not in run(*command)[1]


@pytest.mark.more
@pytest.mark.parametrize("silent", [(), (1, 5, 9)])
def test_ten_labels_and_a_pool(run, tmp_path, silent):
    """Labels of ten rows, answers to all: SURROGATE ranks, rows on which somebody was silent among them."""
    rows(tmp_path, name="pool.csv", labelled=False)
    rows(tmp_path, 10, name="ten.csv")
    for name, wrong in (("a", range(0, 40, 9)), ("b", range(0, 40, 4)), ("c", range(0, 40, 2))):
        quiet = silent if name == "b" else ()
        written(tmp_path / f"{name}.csv", keyed(prediction=said(wrong, silent=quiet)))
    status, out, _ = run("--data", "ten.csv", "--pool", "pool.csv", "--models", "a.csv", "b.csv", "c.csv")
    assert status == 0
    text = flat(out)
    assert "SURROGATE puts a first" in text
    assert "The pool adds 30 rows, read without labels." in text
    assert "nan" not in out
    assert "are only in the file" not in text
    chosen = run("label", "--pool", "pool.csv", "--batch", "5", "--models", "a.csv", "b.csv", "c.csv")
    assert chosen[0] == 0
    assert len(chosen[1].splitlines()) == 6
    assert "MAJORITY puts" in flat(
        run("--data", "ten.csv", "--pool", "pool.csv", "--models", "a.csv", "b.csv", "c.csv", "--method", "majority")[1]
    )
    assert "AVG-CONF cannot order these models: needs probabilities" in one_line(
        run("--data", "ten.csv", "--pool", "pool.csv", "--models", "a.csv", "c.csv", "--method", "avg-conf")
    )


def test_arrays_answer_the_rows_of_a_pool_in_their_order(run, tmp_path):
    """Ten of these rows have labels elsewhere: the answers to them are those to the rows of the pool."""
    rows(tmp_path, name="pool.csv", labelled=False)
    texts = [f"Sentence number {n}." for n in range(SIZE)]
    ten = list(range(30, 40))
    written(tmp_path / "ten.csv", {"text": [texts[n] for n in ten], "label": [truth()[n] for n in ten]})
    wrong = {"a": set(range(0, 40, 9)), "b": set(range(0, 40, 4)), "c": set(range(0, 40, 2))}
    for name, rows_of in wrong.items():
        logits = [[3.0, -1.0] if answer == LABELS[0] else [-1.0, 2.0] for answer in said(rows_of)]
        np.savez(tmp_path / f"{name}.npz", predictions=np.array(logits))
    arguments = ("--data", "ten.csv", "--pool", "pool.csv", "--models", "a.npz", "b.npz", "c.npz", "--format", "json")
    status, out, err = run(*arguments)
    assert status == 0, err
    decision = json.loads(out)["decision"]
    assert decision["method"] == "SURROGATE"
    right = {model["name"]: model["outcome"] for model in decision["models"]}
    assert right == {name: pytest.approx(1 - len(rows_of & set(ten)) / 10) for name, rows_of in wrong.items()}
    for name in wrong:
        assert [row["predicted"][name] for row in decision["rows"]] == [said(wrong[name])[n] for n in ten]


def test_of_equal_texts_in_a_pool_the_one_of_the_same_id_has_the_label(run, tmp_path):
    """Ids tell equal texts apart; a labelled row of another id is the first of its text."""
    texts = ["Again." if n in (3, 8) else f"Sentence number {n}." for n in range(SIZE)]
    written(tmp_path / "pool.csv", keyed(text=texts))
    first = {name: column[:10] for name, column in keyed(text=texts, label=truth()).items()}
    written(tmp_path / "ten.csv", first)
    for name, wrong in (("a", {8}), ("b", {3, 5})):
        written(tmp_path / f"{name}.csv", keyed(prediction=said(wrong)))
    arguments = ("--data", "ten.csv", "--pool", "pool.csv", "--models", "a.csv", "b.csv", "--format", "json")
    decision = json.loads(run(*arguments)[1])["decision"]
    assert {model["name"]: model["outcome"] for model in decision["models"]} == {"a": 0.9, "b": 0.8}


def test_rows_that_a_file_lacks_are_no_part_of_the_pool(run, tmp_path):
    """Neither ranked on nor chosen: nobody knows what it would have said."""
    rows(tmp_path, name="pool.csv", labelled=False)
    rows(tmp_path, 10, name="ten.csv")
    written(tmp_path / "a.csv", keyed(prediction=said(range(4))))
    part = {name: column[5:30] for name, column in keyed(prediction=said(range(20))).items()}
    written(tmp_path / "b.csv", part)
    status, out, _ = run("--data", "ten.csv", "--pool", "pool.csv", "--models", "a.csv", "b.csv")
    assert status == 0
    assert "The pool adds 20 rows, read without labels." in flat(out)
    status, out, _ = run("label", "--pool", "pool.csv", "--batch", "25", "--models", "a.csv", "b.csv")
    assert status == 0
    assert {line.split(",")[0] for line in out.splitlines()[1:]} == {f"r{n}" for n in range(5, 30)}
    assert one_line(run("label", "--pool", "pool.csv", "--batch", "26", "--models", "a.csv", "b.csv")) == (
        "`--batch` must be between 1 and 25, the rows of the pool without a label (got 26)"
    )


@pytest.mark.more
def test_rows_without_a_truth_are_a_pool_where_somebody_says_so(run, tmp_path):
    """Else they are left out, and counted; so is said what --not-worse-than cannot do beside a pool."""
    label = [name if n < 10 else "" for n, name in enumerate(truth())]
    columns = keyed(label=label, a=said(range(0, 40, 9)), b=said(range(0, 40, 3)), c=said(range(0, 40, 2)))
    written(tmp_path / "wide.csv", columns)
    status, out, _ = run("--models", "wide.csv", "--not-worse-than", "c", "--by", "1")
    assert status == 0
    assert "ACC puts a first" in flat(out)
    left_out = "30 of 40 rows have no true label, and are left out; `--pool-from-unlabelled` takes them as the pool."
    assert left_out in flat(out)
    assert json.loads(run("--models", "wide.csv", "--format", "json")[1])["header"]["unlabelled"] == 30
    pooled = ("--models", "wide.csv", "--pool-from-unlabelled")
    assert json.loads(run(*pooled, "--format", "json")[1])["header"]["unlabelled"] == 0
    status, out, _ = run(*pooled)
    assert status == 0
    assert "SURROGATE puts a first" in flat(out)
    assert "K = 10" in out
    assert "left out;" not in flat(out)
    status, _, err = run(*pooled, "--not-worse-than", "a")
    assert status == 2
    assert "`--not-worse-than` is for labelled rows alone" in err
    outcome = [json.loads(run(*pooled, "--format", "json")[1])["decision"]]
    written(tmp_path / "wide.csv", {**columns, "text": [f"Sentence number {n}." for n in range(SIZE)]})
    outcome += [json.loads(run(*pooled, "--format", "json")[1])["decision"]]
    without, with_texts = ([(m["name"], m["scores"], m["p_best"]) for m in decision["models"]] for decision in outcome)
    assert without == with_texts  # rows are told by their ids, too
    assert decide(["wide.csv"], pool_from_unlabelled=True).decision.method == "SURROGATE"


def test_rows_with_other_labels_than_all_files_are_one_line(run, tmp_path):
    """The line has the label map to type, by which the models are compared."""
    rows(tmp_path)
    short = {name: name[:3] for name in LABELS}
    for name in ("a", "b", "c"):
        written(tmp_path / f"{name}.csv", keyed(prediction=[short[answer] for answer in said(range(4))]))
    command = ("--data", "rows.csv", "--models", "a.csv", "b.csv", "c.csv")
    label_map = '{"neg": "negative", "pos": "positive"}'
    assert one_line(run(*command)).endswith(f"if that is what they mean, say `--label-map '{label_map}'`")
    assert run(*command, "--label-map", label_map)[0] == 0


def test_one_row_without_a_truth_changes_no_verdict(run, tmp_path):
    """The models are compared on the others: a pair stays a pair, and no draws stand in for the missing label."""
    columns = keyed(label=truth(), a=said(range(8)), b=said(range(4, 12)))
    written(tmp_path / "whole.csv", {name: cells[:39] for name, cells in columns.items()})
    written(tmp_path / "gap.csv", {**columns, "label": [*truth()[:39], ""]})
    full_decision, gap = (decide([tmp_path / f"{name}.csv"]).decision for name in ("whole", "gap"))
    assert (gap.method, gap.versus) == (full_decision.method, full_decision.versus)


@pytest.mark.more
def test_rows_of_a_labelled_file_are_its_pool_where_somebody_says_so(run, tmp_path):
    """Of `--data`, too; where all have labels there is no pool, and one beside `--pool` is refused."""
    rows(tmp_path)
    label = [name if n < 10 else "" for n, name in enumerate(truth())]
    texts = [f"Sentence number {n}." for n in range(SIZE)]
    written(tmp_path / "some.csv", keyed(text=texts, label=label))
    for name, wrong in (("a", range(0, 40, 9)), ("b", range(0, 40, 2))):
        written(tmp_path / f"{name}.csv", keyed(prediction=said(wrong)))
    models = ("--models", "a.csv", "b.csv", "--pool-from-unlabelled")
    assert "SURROGATE puts a first" in flat(run("--data", "some.csv", *models)[1])
    near = ("--models", "near.csv", "far.csv", "--format", "json")
    for name in ("near", "far"):
        written(tmp_path / f"{name}.csv", keyed(prediction=said(range(10, 30) if name == "near" else [0])))
    assert json.loads(run("--data", "some.csv", *near)[1])["header"]["unlabelled"] == 30
    out = flat(run("--data", "some.csv", *near[:-2])[1])
    assert "Next: add the 30 rows of your own without labels (--pool-from-unlabelled). On eleven sets" in out
    assert "Take a\n" in run("--data", "rows.csv", *models)[1]
    assert one_line(run("--data", "some.csv", "--pool", "rows.csv", *models)) == (
        "`--pool-from-unlabelled` is for rows of one file, without `--pool`"
    )
    assert one_line(run("--ood", "hans-sub", "--pool-from-unlabelled")).startswith("`--pool-from-unlabelled` is for")


@pytest.mark.more
def test_a_model_that_is_no_label_at_times_is_ranked(run, tmp_path):
    """In the ranking, in the JSON and under --not-worse-than, with its other answers as wrong ones."""
    best = [answer if n not in (3, 8) else f"I cannot say, {n}" for n, answer in enumerate(said(()))]
    wide(tmp_path, fair=said(range(12)), poor=said(range(20)), best=best)
    output = json.loads(run("--models", "wide.csv", "--format", "json")[1])
    assert [model["name"] for model in output["decision"]["models"]] == ["best", "fair", "poor"]
    assert output["decision"]["models"][0]["outcome"] == 38 / 40
    note = "2 cells are no labels in 'best' ('I cannot say, 3' and 'I cannot say, 8'): no answer."
    assert f"best: {note}" in output["header"]["notes"]
    status, _, err = run("--models", "wide.csv", "--not-worse-than", "best")
    assert (status, re.findall(r"(\w+) \(may be", err)) == (3, ["fair", "poor"])


def test_a_word_for_nothing_among_labels_is_asked_about(run, tmp_path):
    """One line, in the words of the command; either answer is another number."""
    label = ["none" if n % 4 == 0 else name for n, name in enumerate(truth())]
    wide(tmp_path, a=["none" if n % 8 == 0 else name for n, name in enumerate(label)], b=said(range(0, 40, 8)))
    written(tmp_path / "wide.csv", {**keyed(label=label), "a": label, "b": truth()})
    assert one_line(run("--models", "wide.csv")) == (
        "wide.csv: 'none' in 10 cells of the column 'label' may be a label or no answer; "
        "`--empty-words` says: `--empty-words none`, or `--empty-words ''` where it is a label"
    )
    for words, means, size in (("", {"a": 1.0, "b": 0.75}, 40), ("none", {"a": 1.0, "b": 1.0}, 30)):
        decision = json.loads(run("--models", "wide.csv", "--empty-words", words, "--format", "json")[1])["decision"]
        assert {model["name"]: model["outcome"] for model in decision["models"]} == means
        assert len(decision["rows"]) == size


def test_labels_that_are_numbers_with_a_sign_are_labels(run, tmp_path):
    """In a table with the truth, and beside rows of one's own: -1 is an answer like any other."""
    labels = [str(n % 3 - 1) for n in range(24)]
    models = {"a": labels, "b": [label if label == "-1" else "-1" for label in labels]}
    texts = [f"Sentence number {n}." for n in range(24)]
    written(tmp_path / "wide.csv", keyed(24, label=labels, **models))
    written(tmp_path / "rows.csv", keyed(24, text=texts, label=labels))
    for name, column in models.items():
        written(tmp_path / f"{name}.csv", keyed(24, prediction=column))
    for arguments in (("--models", "wide.csv"), ("--data", "rows.csv", "--models", "wide.csv")):
        output = json.loads(run(*arguments, "--format", "json")[1])
        assert {model["name"]: model["outcome"] for model in output["decision"]["models"]} == {"a": 1, "b": 1 / 3}
        assert not any("no answer" in note or "left out" in note for note in output["header"]["notes"])


@pytest.mark.more
def test_tables_without_ids_meet_by_their_texts_or_their_places(run, tmp_path):
    """Never by numbers of our own: another order is told by the texts, and another size is one line."""
    texts = [f"Sentence number {n}." for n in range(SIZE)]
    a, b = ({"label": truth(), "prediction": said(wrong)} for wrong in (range(4), range(12)))
    written(tmp_path / "a.csv", {"text": texts, **a})
    written(tmp_path / "b.csv", {"text": texts[::-1], **{name: cells[::-1] for name, cells in b.items()}})
    texts_said = json.loads(run("--models", "a.csv", "b.csv", "--format", "json")[1])["decision"]["models"]
    assert {model["name"]: model["outcome"] for model in texts_said} == {"a": 0.9, "b": 0.7}
    for name, columns in (("a", a), ("b", b)):
        written(tmp_path / f"{name}.csv", columns)
    output = json.loads(run("--models", "a.csv", "b.csv", "--format", "json")[1])
    assert {model["name"]: model["outcome"] for model in output["decision"]["models"]} == {"a": 0.9, "b": 0.7}
    assert any("by their order alone" in note for note in output["header"]["notes"])
    written(tmp_path / "b.csv", {name: cells[:30] for name, cells in b.items()})
    assert one_line(run("--models", "a.csv", "b.csv")) == (
        "which rows are the same cannot be told without ids or texts: a has 40 rows, b has 30 rows"
    )
    gap = {"label": ["", *truth()[1:]], "a": said(range(4)), "b": said(range(12))}
    written(tmp_path / "wide.csv", gap)
    output = json.loads(run("--models", "wide.csv", "--format", "json")[1])["decision"]
    assert {model["name"]: model["outcome"] for model in output["models"]} == {"a": 36 / 39, "b": 28 / 39}


def test_a_dry_run_counts_rows_without_texts(run, tmp_path):
    """Each by its id."""
    wide(tmp_path, a=said(range(4)), b=said(range(12)))
    assert "wide.csv on wide: 2 models, 40 rows" in run("--models", "wide.csv", "--dry-run")[1]


def test_beside_a_checkpoint_on_the_same_rows(run, tmp_path):
    """One suite of an embedded model, a table and a wide file; nothing of the tables lands in the store."""
    hans = sets.sample(sets.load("hans-sub"), 30)
    labels = sets.cards()["hans-sub"].task.labels
    ids = [row.id for row in hans]
    texts = {"premise": [row.segments[0] for row in hans], "hypothesis": [row.segments[1] for row in hans]}
    right = [labels[row.target] for row in hans]
    written(tmp_path / "rows.csv", {"id": ids, **texts, "label": right})
    written(tmp_path / "perfect.csv", {"id": ids, "prediction": right})
    written(tmp_path / "wide.csv", {"id": ids, "u": right[::-1], "v": [labels[0]] * 30})
    model = suites.load(["hans-sub-mini"]).models[0].source.path
    status, out, err = run(
        "--data", "rows.csv", "--models", model, "perfect.csv", "wide.csv", "--format", "json", "--workers", "1"
    )
    assert status == 0, err
    output = json.loads(out)
    assert output["decision"]["models"][0]["name"] == "perfect"
    assert len(output["decision"]["models"]) == 4
    assert len(output["header"]["provenance"]["models"]) == 4
    text = b"".join(path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())
    assert text
    assert b"perfect" not in text
    assert b"wide.csv" not in text


@pytest.mark.more
def test_nothing_of_tables_and_logs_is_kept(run, tmp_path):
    """Tables and logs are read each time, and a changed file is another answer at once."""
    wide(tmp_path, a=said(range(4)), b=said(range(12)))
    first_log, second = log(tmp_path / "run-a", set(range(34))), log(tmp_path / "run-b", set(range(20)))
    assert run("--models", "wide.csv")[0] == run("--models", first_log, second)[0] == 0
    kept_files = [
        path for path in (tmp_path / "store").rglob("*") if path.is_file() and path.suffix in (".parquet", ".json")
    ]
    assert kept_files == []
    before = decide(["wide.csv"])
    wide(tmp_path, a=said(range(12)), b=said(range(4)))
    after = decide(["wide.csv"])
    assert (before.decision.names, after.decision.names) == (("a", "b"), ("b", "a"))
    assert before.header.provenance.models != after.header.provenance.models


def test_explain_says_why_not(run, tmp_path):
    """In one line; what they answered can be shown, and a row without an answer is a failure that is listed."""
    rows(tmp_path)
    written(tmp_path / "a.csv", keyed(prediction=said(range(4))))
    written(tmp_path / "b.csv", keyed(prediction=said(range(8), silent=(3,))))
    explain = ("explain", "--data", "rows.csv", "--id", "r3", "--models", "a.csv", "b.csv")
    assert one_line(run(*explain)) == (
        "`--attribution` must be none: the answers of these models lie in files, and nobody can be asked where they "
        "come from"
    )
    status, out, _ = run(*explain, "--attribution", "none")
    assert status == 1
    assert "a: negative with probability 1.000, wrong" in out
    assert "b FAILED: has no answer to it in its file" in out


# ---- equal models, CI


def test_explain_says_why_not_of_outcomes_and_logs(run, tmp_path):
    """The same line, whatever the rows are labelled with; what was judged elsewhere cannot be shown either."""
    rows(tmp_path)
    written(tmp_path / "outcomes.csv", keyed(a=[n % 2 for n in range(SIZE)], b=[1] * SIZE))
    first_log, second = log(tmp_path / "run-a", set(range(34))), log(tmp_path / "run-b", set(range(20)))
    arguments = ("explain", "--data", "rows.csv", "--id", "r3", "--models")
    text = "`--attribution` must be none: the answers of these models lie in files, and nobody can be asked where they"
    assert one_line(run(*arguments, "outcomes.csv", "--answers", "outcomes")).startswith(text)
    assert one_line(run(*arguments, first_log, second)).startswith(text)
    assert one_line(run("explain", "--text", "Row 3", "--models", first_log, second)).startswith(text)
    predictions = (*arguments, first_log, "--attribution", "none", "--metric")
    assert one_line(run(*predictions, "acc")).startswith(
        "rows.csv: the rows say negative, positive and the models no, yes"
    )
    assert one_line(run(*predictions, "f1")) == "`--metric` is of logs here, and none of these models records it"
    status, _, err = run(*arguments, "outcomes.csv", "--answers", "outcomes", "--attribution", "none")
    assert status == 1
    assert "a says what was right, and not what was said" in err


def test_rows_to_label_are_chosen_from_numbers_by_the_labels_of_those_that_have_some(run, tmp_path):
    """A table of bare numbers is read by the task of the rows beside it, as when models are ranked."""
    rows(tmp_path, name="pool.csv", labelled=False)
    rows(tmp_path, 10, name="ten.csv")
    for name, wrong in (("a", range(0, 40, 9)), ("b", range(0, 40, 4))):
        written(tmp_path / f"{name}.csv", keyed(prediction=[LABELS.index(answer) for answer in said(wrong)]))
    arguments = ("label", "--pool", "pool.csv", "--labelled", "ten.csv", "--models", "a.csv", "b.csv", "--batch", "3")
    status, out, err = run(*arguments)
    assert status == 0, err
    assert len(out.splitlines()) == 4
    assert "the models predict negative" in err


@pytest.mark.more
def test_two_equal_models(run, tmp_path):
    """Equal models have p = 1, which is no error, and 40 rows exclude a loss of 10.9 points."""
    wide(tmp_path, a=said(range(4)), b=said(range(4)))
    status, out, err = run("--models", "wide.csv", "--not-worse-than", "a", "--by", "0.12")
    assert (status, err) == (
        0,
        "no worse than a by more than 12.0 points: b (at most 10.9 points worse; lost 0 rows, won 0)\n",
    )
    assert run("--models", "wide.csv", "--not-worse-than", "a", "--by", "0.1")[0] == 3
    assert run("--models", "wide.csv", "--not-worse-than", "a", "--by", "0")[0] == 3
    assert "Cannot say yet: a, b are level a and b did equally well on each of the 40 rows: p = 1." in flat(out)
    assert "40 rows are few." in flat(out)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("by", "status", "opening"),
    [
        (
            None,
            3,
            "not shown to be no worse than base by more than 2.0 points: fair (may be 30.5 points worse; lost 6 rows, "
            "won 0), poor",
        ),
        (
            "0",
            3,
            "not shown to be no worse than base by more than 0.0 points: fair (may be 30.5 points worse; lost 6 rows, "
            "won 0), poor",
        ),
        ("0.4", 3, "not shown to be no worse than base by more than 40.0 points: poor (may be 65.9"),
        (
            "0.9",
            0,
            "no worse than base by more than 90.0 points: fair (at most 30.5 points worse; lost 6 rows, "
            "won 0), poor (at most 65.9",
        ),
    ],
)
def test_ci_holds_models_to_one(run, tmp_path, by, status, opening):
    """Exit 3 unless the interval of the difference to it lies above minus the margin for each other model; a line."""
    wide(tmp_path, base=said(range(4)), fair=said(range(10)), poor=said(range(24)))
    margin = () if by is None else ("--by", by)
    outcome = run("--models", "wide.csv", "--not-worse-than", "base", *margin)
    assert outcome[0] == status
    assert outcome[2].startswith(opening)
    assert outcome[2].count("\n") == 1
    assert flat(outcome[1]).startswith(f"{'PASSED' if status == 0 else 'NOT PASSED'}: {opening}")
    full_report = json.loads(run("--models", "wide.csv", "--not-worse-than", "base", *margin, "--format", "json")[1])
    gate = full_report["decision"]["gate"]
    assert (gate["passes"], gate["margin"], gate["absent"]) == (status == 0, float(by or 0.02), [])
    assert [(model["model"], round(model["low"], 3)) for model in gate["held"]][0] == ("fair", -0.305)


@pytest.mark.more
def test_ci_holds_rows_that_one_model_lacks_against_it(run, tmp_path):
    """Three files, of which one has 30 of 40 rows: exit 3, named; `--allow-absent` compares the others."""
    rows(tmp_path)
    for name, size in (("a", 40), ("b", 40), ("c", 30)):
        written(tmp_path / f"{name}.csv", keyed(size, prediction=said(range(4), size)))
    arguments = ("--data", "rows.csv", "--models", "a.csv", "b.csv", "c.csv", "--not-worse-than", "a", "--by", "0.3")
    status, _, err = run(*arguments)
    assert (status, err.splitlines()[-1]) == (
        3,
        "not shown to be no worse than a by more than 30.0 points: c has no outcome on 10 of 40 rows",
    )
    status, _, err = run(*arguments, "--allow-absent")
    assert (status, err.splitlines()[-1].partition(" (")[0]) == (0, "no worse than a by more than 30.0 points: b")


@pytest.mark.more
def test_ci_holds_answers_that_failed_against_a_model(run, tmp_path):
    """Failed answers are errors before the answer: exit 3, 2 under `--strict`, and counted so by `--errors wrong`."""
    rows(tmp_path)
    written(tmp_path / "a.csv", keyed(prediction=said(range(4))))
    failed = [0, 4, 5]
    written(
        tmp_path / "b.csv",
        keyed(prediction=said(range(4), silent=failed), error=["late" * (n in failed) for n in range(SIZE)]),
    )
    arguments = ("--data", "rows.csv", "--models", "a.csv", "b.csv", "--not-worse-than", "a", "--by", "0.5")
    status, out, err = run(*arguments)
    assert (status, err.splitlines()[0]) == (
        3,
        "b failed or was not scored on 3 of 40 rows; they are left out for all models",
    )
    assert "b has no outcome on 3 of 40 rows" in err
    assert "b: 3 rows failed or were not scored, and are left out for all models." in flat(out)
    status, _, err = run(*arguments[:5], "--strict")
    assert (status, "`--strict`: b: 3 rows failed" in err) == (2, True)
    status, out, _ = run(*arguments, "--errors", "wrong")
    assert status == 0
    assert "b: 3 answers failed or were not scored, and count as wrong by `--errors`." in flat(out)


def test_ci_holds_a_log_that_was_cut_short_against_it(run, tmp_path):
    """A log with fewer rows than were run fails the gate, and a test of the note as well."""
    first_log, second = log(tmp_path / "run-a", set(range(40))), log(tmp_path / "run-b", set(range(40)))
    results(tmp_path / "run-b", **{"n-samples": {"small": {"original": 60, "effective": 60}}})
    arguments = ("--models", first_log, second, "--not-worse-than", "run-a", "--by", "0.2")
    status, _, err = run(*arguments)
    assert (status, err) == (
        3,
        "not shown to be no worse than run-a by more than 20.0 points: run-b: The log is partial: it holds 40 of the "
        "60 rows that were run\n",
    )
    assert run(*arguments, "--allow-absent")[0] == 0


def test_a_margin_alone_is_an_error_of_usage(run, tmp_path):
    """Nothing would be held to it."""
    wide(tmp_path, a=said(range(4)), b=said(range(12)))
    assert one_line(run("--models", "wide.csv", "--by", "0.02")) == "`--by` is for `--not-worse-than`"
    assert one_line(run("--models", "wide.csv", "--allow-absent")) == "`--allow-absent` is for `--not-worse-than`"


@pytest.mark.more
def test_ci_holds_sixty_models_to_one_that_is_not_the_best(run, tmp_path):
    """Of very many, every one is compared with it, too."""
    columns = {f"m{m}": said(range(m // 4)) for m in range(60)}
    wide(tmp_path, **columns)
    status, _, err = run("--models", "wide.csv", "--not-worse-than", "m40", "--by", "0.15")
    lacking = [name for name in columns if int(name[1:]) // 4 > 12]
    assert status == 3
    names = re.findall(r"(m\d+) \(may be", err)
    assert set(names) <= {*lacking, *(name for name in columns if int(name[1:]) // 4 > 8)}
    assert "m59" in names


def test_a_margin_or_a_range_that_is_none_is_one_line(run, tmp_path):
    """A margin of nan would let every model pass."""
    wide(tmp_path, a=said(range(4)), b=said(range(12)))
    assert one_line(run("--models", "wide.csv", "--not-worse-than", "a", "--by", "nan")) == (
        "`--by` must be between 0 and 1 (got nan)"
    )
    for low, high in (("5", "5"), ("10", "1"), ("nan", "1"), ("0", "inf")):
        assert one_line(run("--models", "wide.csv", "--range", low, high)).startswith(
            "`--range` must be two numbers, the worst below the best (got "
        )


def test_ci_is_refused_where_it_means_nothing(run, tmp_path):
    """A model that is not there, a set whose truth is known, a pool: before anything is run."""
    wide(tmp_path, a=said(range(4)), b=said(range(12)))
    assert "there is no model 'c'; known: a, b" in one_line(run("--models", "wide.csv", "--not-worse-than", "c"))
    assert "`--not-worse-than` is for `--data`" in one_line(run("--ood", "hans-sub", "--not-worse-than", "a"))
    assert "without `--pool`" in one_line(
        run("--data", "x.csv", "--pool", "y.csv", "--models", "wide.csv", "--not-worse-than", "a")
    )


# ---- what it costs


@pytest.mark.more
def test_no_model_library_is_imported(tmp_path):
    """A comparison of tables or logs is over before torch alone would be there."""
    wide(tmp_path, a=said(range(4)), b=said(range(12)))
    first_log, second = log(tmp_path / "run-a", set(range(34))), log(tmp_path / "run-b", set(range(20)))
    program = (
        "import sys\nfrom ranker.cli import main\n"
        "for models in sys.argv[1].split('|'):\n"
        "    try:\n        main(['--quiet', '--models', *models.split(',')])\n"
        "    except SystemExit as stop:\n        assert not stop.code\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    text = f"{tmp_path / 'wide.csv'}|{first_log},{second}"
    done = subprocess.run([sys.executable, "-c", program, text], capture_output=True, text=True, check=True)
    loaded = {"torch", "transformers", "shap", "lime", "captum"} & set(done.stderr.split())
    assert not loaded


def test_a_file_of_many_models_is_read_once(tmp_path, monkeypatch):
    """However many models it holds, and whatever they are asked."""
    from ranker.files import reader
    from ranker.sources.tables import join

    wide(tmp_path, **{f"m{m}": said(range(m)) for m in range(8)})
    calls = {"read_columns": 0, "join": 0}
    for module, name in ((reader, "read_columns"), (join, "join")):
        inner = getattr(module, name)

        def counting(*flags, inner=inner, name=name, **options):
            calls[name] += 1
            return inner(*flags, **options)

        monkeypatch.setattr(module, name, counting)
    decide([tmp_path / "wide.csv"])
    assert calls["read_columns"] <= 2
    assert calls["join"] == 1


def test_options_can_be_given_in_python(tmp_path):
    """`suites.load` takes what the command line says of files."""
    columns = {f"m{m}": [int(n >= 5 * m) for n in range(SIZE)] for m in range(3)}
    file = written(tmp_path / "outcomes.csv", keyed(**columns))
    ranking = decide(suites.load([file], SourceOptions(kinds=[TableOptions(answers="outcomes")])), base="m1")
    assert ranking.decision.names == ("m0", "m1", "m2")
    with refuses(UnknownName, value="m9"):
        decide(suites.load([file], SourceOptions(kinds=[TableOptions(answers="outcomes")])), base="m9")
    with refuses(UsageError, option="models", value=str(tmp_path / "no-log.csv")):
        decide([tmp_path / "no-log.csv", file])


# ---- rows


def table(path, **columns):
    """A table of columns."""
    written(path, columns)


@pytest.mark.more
def test_rows_need_no_text_beside_files_of_answers(tmp_path, run):
    """Ids and labels are enough, and rows with one label are not one row; without ids they are found by their order."""
    ids = [f"r{n}" for n in range(SIZE)]
    table(tmp_path / "rows.csv", id=ids, label=truth())
    table(tmp_path / "a.csv", id=ids[::-1], prediction=said({0, 1})[::-1])
    table(tmp_path / "b.csv", id=ids, prediction=said({2, 3, 4, 5}))
    status, out, err = run("--data", "rows.csv", "--models", "a.csv", "b.csv")
    assert (status, err) == (0, "")
    assert "a has accuracy 95.0 %" in flat(out)
    assert "b 90.0 %" in flat(out)
    assert "on the same 40 rows" in flat(out)
    assert "same text" not in flat(out)
    table(tmp_path / "rows.csv", label=truth())
    out = flat(run("--data", "rows.csv", "--models", "b.csv", "again=b.csv")[1])
    assert "Rows are joined by their order alone" in out


@pytest.mark.more
def test_a_model_that_was_asked_some_rows_is_judged_on_these_and_on_all(tmp_path, run):
    """An absent row is not asked, an empty cell is: of a file for each model, and of one with a row for each model."""
    ids = [f"r{n}" for n in range(SIZE)]
    table(tmp_path / "rows.csv", id=ids, label=truth())
    some_answers = said({0}, silent={1})[:10]
    table(tmp_path / "some.csv", id=ids[:10], prediction=some_answers)
    table(tmp_path / "all.csv", id=ids, prediction=said({5, 6}))
    sentence = (
        "Accuracy on the rows that each model was asked (and of all 40, where a row that it was not asked counts as "
        "wrong): some 80.0 % of 10 (20.0 %), all 95.0 % of 40 (95.0 %)."
    )
    out = flat(run("--data", "rows.csv", "--models", "some.csv", "all.csv")[1])
    assert sentence in out
    assert "worse than guessing" not in out
    assert "some: 30 rows are not in its file, and left out for all models, 1 row has no answer" in out
    table(tmp_path / "rare.csv", id=ids, prediction=said({0}, silent=range(10, SIZE)))
    out = flat(run("--data", "rows.csv", "--models", "rare.csv", "all.csv")[1])
    assert "rare 22.5 %" in out  # no answer is wrong, and says nothing of what its labels mean
    assert "worse than guessing" not in out
    table(
        tmp_path / "long.csv", id=ids[:10] + ids, model=["some"] * 10 + ["all"] * SIZE, label=truth()[:10] + truth(),
        prediction=some_answers + said({5, 6}),
    )  # fmt: skip
    out = flat(run("--models", "long.csv")[1])
    assert sentence in out
    assert "worse than guessing" not in out


def test_a_truth_alone_is_not_described_as_the_answers_beside_scores(run, tmp_path):
    """The line asks what the other columns hold; of one score, as a pipeline writes it, nothing is asked."""
    scores = np.random.default_rng(0).uniform(size=(2, SIZE)).round(3).tolist()
    written(tmp_path / "scores.csv", {"y_true": [n % 2 for n in range(SIZE)], "a": scores[0], "b": scores[1]})
    text = "scores.csv: 'y_true' is read as the answers; 'a' and 'b' hold numbers: not read; `--prediction` names "
    for flags in ([], ["--format", "json"]):
        assert one_line(run("--models", "scores.csv", *flags)).startswith(text)
    answer = ["--prediction", "a", "--prediction", "b", "--answers", "probabilities"]
    assert run("--models", "scores.csv", *answer)[0] == 0
    written(
        tmp_path / "words.csv",
        keyed(label=["True", "False"] * (SIZE // 2), a=["yes", "no"] * (SIZE // 2), b="n" * SIZE),
    )
    assert "'a' and 'b' hold cells that are no labels" in one_line(run("--models", "words.csv"))
    written(tmp_path / "pipeline.csv", keyed(label=truth(), score=scores[0]))
    assert run("--models", "pipeline.csv")[0] == 0


def test_one_file_alone_is_described(tmp_path, run):
    """The description has rows and columns, what the model answers, and how good that is, if the file says it."""
    ids = [f"r{n}" for n in range(SIZE)]
    table(tmp_path / "a.csv", id=ids, prediction=said({0, 1}, silent={2}))
    status, out, err = run("--models", "a.csv")
    assert (status, err) == (0, "")
    assert out.splitlines()[:3] == [
        "a.csv: one model, a",
        "40 rows; columns: id, prediction",
        "answers: positive 20, negative 19, no answer 1",
    ]
    table(tmp_path / "b.csv", id=ids, label=truth(), prediction=said({0, 1}, silent={2}))
    out = run("--models", "b.csv")[1].splitlines()
    assert out[3:5] == ["no answer 1", "accuracy: 92.5 % (80.1 to 97.3) on 40 rows"]
    assert out[-1] == "A ranking needs two models or more: name another one with `--models`."
    table(tmp_path / "rows.csv", id=ids[:30], label=truth()[:30])
    out = run("--data", "rows.csv", "--models", "a.csv")[1].splitlines()
    assert out[2:6] == [
        "30 labelled rows in rows.csv",
        "answers: positive 15, negative 14",
        "no answer 1",
        "accuracy: 90.0 % (74.2 to 96.4) on 30 rows",
    ]
    eval_log(tmp_path / "c.eval", [sample(f"s{n}", "C" if n else "I") for n in range(4)])
    out = run("--models", "c.eval")[1].splitlines()
    assert "4 rows of the task small, by inspect 0.3.200" in out
    assert "match: 75.0 % (28.4 to 94.7) on 4 rows" in out
    for arguments in (["--format", "json"], ["--save", "x.json"], ["--not-worse-than", "a"]):
        assert "at least two models (got 1)" in one_line(run("--models", "b.csv", *arguments))
