"""Whole runs on folders of logs with several tasks: matched, each decided, and means over groups of tasks."""

import csv
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from logmaking import choice_row, eval_log, header, lm_log, results, sample
from refusals import refuses

from ranker.errors import UsageError
from ranker.report import GENERAL, write
from ranker.report import over_tasks as report
from ranker.results.ranking import Ranking
from ranker.runs.over_tasks import match_tasks, over_tasks
from ranker.scoring import over_tasks as scoring
from ranker.scoring import paired_comparison
from ranker.sources.base import SourceOptions
from ranker.sources.logs.options import LogOptions
from ranker.sources.logs.reading import holds_logs

RIGHT = {
    "run-a": {"nli": [1] * 30 + [0] * 10, "hans": [1] * 12 + [0] * 8, "old": [1, 0]},
    "run-b": {"nli": [1] * 10 + [0] * 30, "hans": [0] * 4 + [1] * 12 + [0] * 4, "new": [1, 1, 0]},
}
"""Run -> task -> whether each row was right."""


def rows(task, right, **options):
    """Rows of a task: two choices, of which the second is the right one."""
    lines = []
    for n, good in enumerate(right):
        likelihoods = [-2.0, -1.0] if good else [-1.0, -2.0]
        lines.append(
            choice_row(n, {"text": f"{task} {n}"}, 1, likelihoods, acc=float(good), doc_hash=f"{task}-{n}", **options)
        )
    return lines


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Two folders of logs, as `lm_eval --log_samples` leaves them; the group `entail` has the tasks nli and hans."""
    monkeypatch.chdir(tmp_path)
    for run, tasks in RIGHT.items():
        for task, right in tasks.items():
            lm_log(tmp_path / run, rows(task, right), task)
        results(tmp_path / run, group_subtasks={"entail": ["nli", "hans"], "more": ["nli", "old"]})
    return tmp_path


@pytest.fixture
def run(runs, rank_models):
    """`rank-models` beside them: arguments -> (exit status, stdout, stderr)."""
    return rank_models


def part(summary, name, over):
    """One part of what was found."""
    return next(part for part in summary.parts if (part.name, part.over) == (name, over))


def test_tasks_are_matched_and_the_others_listed(runs):
    """Shared tasks come in the order of the first, and of each side the rest."""
    matched = match_tasks(["run-a", "run-b"], SourceOptions())
    assert set(matched.shared) == {"nli", "hans"}
    assert matched.only == {"run-a": ("old",), "run-b": ("new",)}
    assert matched.references_to("nli") == ["run-a#nli", "run-b#nli"]


@pytest.mark.parametrize("references", [["run-a", "run-b#nli"], ["run-a#nli", "run-b#nli"], ["single"] * 2, []])
def test_where_one_task_is_meant_nothing_is_matched(runs, references):
    """A reference names its task, or all folders have one only."""
    lm_log(runs / "single", rows("nli", [1, 0]), "nli")
    assert match_tasks(references, SourceOptions()) is None


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "limit", [{"log_files": 3}, {"log_rows": 19}, {"log_line": 100}, {"log": 1_000}, {"log_values": 100}]
)
def test_folders_of_logs_keep_to_the_limits_of_the_options_file(run, tmp_path, limit):
    """Each limit by itself, whether one task of a folder is asked for or all; the message names it."""
    ((name, most),) = limit.items()
    (tmp_path / "a.toml").write_text(f"[limits]\n{name} = {most}\n")
    for references in (["run-a", "run-b"], ["run-a#nli", "run-b#nli"]):
        status, _, err = run("--config", "a.toml", "--models", *references)
        assert status in (1, 2)
        assert f"more than {most:,} " in err
        assert f"(`limits.{name}`)" in err.splitlines()[-1]


@pytest.mark.more
def test_a_limit_of_the_options_file_lets_more_files_lie_in_a_folder(run, tmp_path):
    """More than are looked at otherwise; without it the limit is named, and the folder is taken for nothing else."""
    for number in range(10_001):
        (tmp_path / "run-a" / f"other-{number}").touch()
    (tmp_path / "a.toml").write_text("[limits]\nlog_files = 20_000\n")
    status, _, err = run("--models", "run-a", "run-b")
    assert (status, "more than 10,000 files" in err) == (2, True)
    assert err.splitlines()[-1].endswith("(`limits.log_files`)")
    for references in (["run-a", "run-b"], ["run-a#nli", "run-b#nli"]):
        status, _, err = run("--config", "a.toml", "--models", *references)
        assert (status, err) == (0, "")


def test_a_folder_that_may_not_be_read_is_no_reason_to_refuse_the_one_above(runs, monkeypatch):
    """As the file system of a disk has one, in which checkpoints may lie."""
    (runs / "lost+found").mkdir()
    readable, names = os.access, os.listdir

    def refused(place):
        if Path(place).name == "lost+found":
            raise PermissionError(13, "Permission denied")
        return names(place)

    monkeypatch.setattr(os, "listdir", refused)
    monkeypatch.setattr(os, "access", lambda place, mode: place.name != "lost+found" and readable(place, mode))
    assert holds_logs(runs)


def test_a_folder_of_one_task_is_matched_with_one_of_several(run, tmp_path):
    """Other tasks of the second folder are listed."""
    lm_log(tmp_path / "single", rows("nli", [0, 1] * 20), "nli")
    matched = match_tasks(["single", "run-a"], SourceOptions())
    assert (matched.shared, matched.only) == (("nli",), {"run-a": ("hans", "old")})
    status, out, err = run("--models", "run-a", "single")
    assert (status, err) == (0, "")
    text = " ".join(out.split())
    assert "Cannot say yet: run-a leads, and all labels are alike" in text
    assert "Only run-a has hans, old." in text


@pytest.mark.more
def test_the_oldest_logs_of_the_harness_are_matched(run, tmp_path):
    """Before 0.4.3 a file was called after the model and the task, and held one list."""
    for name, right in (("x", 30), ("y", 10)):
        folder = tmp_path / f"old-{name}"
        folder.mkdir()
        for task in ("nli", "sst_2"):
            content = rows(task, [1] * right + [0] * (40 - right))
            (folder / f"pretrained={name},dtype=float_{task}.jsonl").write_text(json.dumps(content, indent=2))
        configs = {"nli": {}, "sst_2": {}}
        about = {"results": {}, "configs": configs, "config": {"model_args": f"pretrained={name},dtype=float"}}
        (folder / "results.json").write_text(json.dumps(about))
    status, out, err = run("--models", "old-x", "old-y")
    assert (status, err) == (0, "")
    assert "Take pretrained=x,dtype=float" in " ".join(out.split())
    status, out, err = run("--models", "old-x#nli", "old-y#nli")
    assert (status, err) == (0, "")
    assert "pretrained=x,dtype=float did better on 20 rows" in " ".join(out.split())


def test_each_task_is_its_decision(runs):
    """Means, differences and p of a task are those of a run on it alone."""
    summary = over_tasks(["run-a", "run-b"])
    assert summary.models == ("run-a", "run-b")
    for task in ("nli", "hans"):
        (gap,), alone = part(summary, task, "task").gaps, summary.rankings[task].decision.versus[0]
        sign = 1 if alone.a == "run-a" else -1
        assert gap.difference == pytest.approx(sign * alone.difference)
        assert (gap.se, gap.p) == (pytest.approx(alone.se), alone.p)
    assert part(summary, "nli", "task").means[0].value == 0.75


def test_means_over_a_group_are_those_of_its_rows_and_of_its_tasks(runs):
    """Pooled means count every row the same and draw rows task by task; macro means count every task the same."""
    summary = over_tasks(["run-a", "run-b"])
    pooled, macro = part(summary, "entail", "pooled"), part(summary, "entail", "macro")
    a, b = ([np.array(RIGHT[run][task], float) for task in ("nli", "hans")] for run in ("run-a", "run-b"))
    assert pooled.rows == macro.rows == 60
    assert pooled.means[0].value == pytest.approx(np.concatenate(a).mean())
    assert macro.means[1].value == pytest.approx(np.mean([outcomes.mean() for outcomes in b]))
    errors = [(x - y).std(ddof=1) / np.sqrt(len(x)) for x, y in zip(a, b, strict=True)]
    assert macro.gaps[0].se == pytest.approx(np.hypot(*errors) / 2)
    assert pooled.gaps[0].se == pytest.approx(np.hypot(40 * errors[0], 20 * errors[1]) / 60)
    assert macro.gaps[0].low < macro.gaps[0].difference < macro.gaps[0].high


def test_a_group_that_has_all_tasks_stands_for_all(runs):
    """No second pair of means; a group of which one task is shared has none, and it is said."""
    summary = over_tasks(["run-a", "run-b"])
    assert [(mean.name, mean.over) for mean in summary.means] == [("entail", "pooled"), ("entail", "macro")]
    assert "more: 1 of its 2 tasks is in its means." in summary.notes


def test_p_is_corrected_over_tasks_and_pairs(runs):
    """Holm's: the smallest p times the number of tests."""
    lm_log(runs / "run-c", rows("nli", [1] * 40), "nli")
    lm_log(runs / "run-c", rows("hans", [1] * 20), "hans")
    summary = over_tasks(["run-a", "run-b", "run-c"])
    gaps = [gap for task in summary.tasks for gap in task.gaps]
    assert len(gaps) == 6
    smallest = min(gaps, key=lambda gap: gap.p)
    assert smallest.p_corrected == pytest.approx(6 * smallest.p)
    assert summary.models[0] == "run-c"
    text = write(report.document(summary), "table")
    assert "Take run-c" in text


def test_of_many_models_a_pair_that_a_task_does_not_compare_has_no_p(runs, monkeypatch):
    """Above the limit each task compares the others with its own best, and that need not be the best over all."""
    for module in (paired_comparison, scoring):
        monkeypatch.setattr(module, "MAX_PAIRED_MODELS", 2)
    lm_log(runs / "run-c", rows("nli", [0] * 40), "nli")
    lm_log(runs / "run-c", rows("hans", [1] * 20), "hans")
    summary = over_tasks(["run-a", "run-b", "run-c"])
    has_p = {(task.name, gap.a, gap.b): gap.p is not None for task in summary.tasks for gap in task.gaps}
    compared = {("nli", "run-a", "run-b"), ("nli", "run-a", "run-c"), ("hans", "run-a", "run-c")}
    assert has_p == dict.fromkeys(compared, True) | {("hans", "run-a", "run-b"): False}


@pytest.mark.more
def test_clusters_hold_within_tasks(runs):
    """The standard errors of tasks, and so of the means, are those of clusters."""
    for name in ("c", "d"):
        doc = [{"text": f"x {n}", "passage": n // 4} for n in range(40)]
        right = [float((n // 4) % (2 if name == "c" else 3) > 0) for n in range(40)]
        for task in ("one", "two"):
            choices = [
                choice_row(n, doc[n], 1, [-2.0, -1.0] if right[n] else [-1.0, -2.0], acc=right[n], doc_hash=f"{n}")
                for n in range(40)
            ]
            lm_log(runs / name, choices, task)
    plain, clustered = (
        over_tasks(["c", "d"]),
        over_tasks(["c", "d"], SourceOptions(kinds=[LogOptions(cluster="passage")])),
    )
    for score in (0, -1):
        assert clustered.parts[score].gaps[0].se == pytest.approx(2 * plain.parts[score].gaps[0].se, rel=0.1)
    assert any("Fewer than 20 clusters" in note for note in clustered.notes)


@pytest.mark.more
def test_a_task_that_cannot_be_decided_is_listed(run, runs):
    """The others are compared; a line on stderr and the exit status say that one is missing, to a check of CI, too."""
    lines = rows("odd", [1, 0, 1], rouge=0.5)
    for name in RIGHT:
        lm_log(runs / name, [{**row, "acc": 7.0, "metrics": ["acc"]} for row in lines], "odd")
    status, out, err = run("--models", "run-a", "run-b")
    text = "NOT COMPARED: odd: odd: acc is between 7 and 7; say with `--range` what is worst and best"
    assert (status, err) == (1, f"{text}\n")
    assert text in " ".join(out.split())
    assert "Take run-a" in out
    status, out, err = run(
        *("--models", "run-a", "run-b", "--not-worse-than", "run-a", "--by", "1", "--allow-absent"),
        *("--format", "github"),
    )
    verdict = "not shown to be no worse than run-a by more than 100.0 points: odd was not compared"
    assert (status, err.splitlines()) == (3, [text, f"{verdict}; run-b was not asked old (allowed)"])
    assert "::error title=the models are compared (odd)::NOT COMPARED: odd: acc is between 7 and 7" in out


def test_where_no_task_can_be_decided_that_is_the_error(run, runs):
    """One line, and no report."""
    status, out, err = run("--models", "run-a", "run-b", "--metric", "bleu")
    assert (status, out) == (run("--models", "run-a#nli", "run-b#nli", "--metric", "bleu")[0], "")
    assert err.startswith("rank-models: ")
    assert err.count("\n") == 1
    assert "bleu" in err


def test_no_shared_task_is_one_line(run, runs):
    """The line says what each side has."""
    for name, tasks in (("x", "ab"), ("y", "cd")):
        for task in tasks:
            lm_log(runs / name, rows(task, [1, 0]), task)
    assert run("--models", "x", "y") == (
        2, "", "rank-models: no task was asked of all models: x has a, b; y has c, d; name one, x#a\n",
    )  # fmt: skip


def test_the_answer_lists_tasks_and_means(run):
    """On one screen, with what only one side has."""
    status, out, err = run("--models", "run-a", "run-b")
    text = " ".join(out.split())
    assert (status, err) == (0, "")
    assert text.startswith("2 models on 2 tasks Take run-a")
    assert "run-a has a mean acc of 67.5 %, run-b 42.5 %, each task counting the same." in text
    assert "run-a is better on 1 task, run-b on 0; 1 task is undecided." in text
    assert "entail, pooled 60 70.0 36.7 +33.3" in text
    assert "entail, macro 60 67.5 42.5 +25.0" in text
    assert "Only run-a has old." in text
    assert "Only run-b has new." in text
    assert "Fewer than 300 rows, too few to detect small differences: hans, nli." in text


@pytest.mark.more
@pytest.mark.parametrize(
    "name", [name for name in GENERAL if name not in ("parquet", "github")]
)  # bytes, for a file; and the answer alone
def test_every_format_writes_it(run, name):
    """The same bytes each time, with every task in it."""
    first, second = (run("--models", "run-a", "run-b", "--format", name) for _ in range(2))
    assert first == second
    assert first[0] == 0
    assert "hans" in first[1]
    assert "entail" in first[1]


def test_json_has_the_decision_on_each_task(run):
    """Whole, beside the parts."""
    content = json.loads(run("--models", "run-a", "run-b", "--format", "json")[1])
    assert content["tasks"]["nli"]["decision"]["versus"][0]["better"] == 20
    assert {part["over"] for part in content["parts"]} == {"task", "pooled", "macro"}
    assert content["only"] == {"run-a": ["old"], "run-b": ["new"]}


def test_csv_has_a_row_for_each_model_and_pair(run):
    """Of each of four parts: two models and one pair, as raw fractions."""
    parts = list(csv.DictReader(io.StringIO(run("--models", "run-a", "run-b", "--format", "csv")[1])))
    assert len(parts) == 4 * 3
    means = {row["model"]: float(row["value"]) for row in parts if row["part"] == "nli" and row["model"]}
    assert means == {"run-a": 0.75, "run-b": 0.25}


def test_every_task_is_kept_in_a_folder(run, runs):
    """As a run of its own, which `report` reads; nothing is written over unasked."""
    assert run("--models", "run-a", "run-b", "--save", "kept")[0] == 0
    assert sorted(file.name for file in (runs / "kept").iterdir()) == ["hans.json", "nli.json"]
    assert Ranking.load(runs / "kept" / "nli.json").header.ood == "nli"
    status, out, err = run("--models", "run-a", "run-b", "--save", "kept")
    assert (status, out) == (2, "")
    assert "`--force` writes over it" in err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--plots", "p"], "`--plots` takes one task: name it, `--models A#TASK B#TASK`"),
        (["--format", "pairs"], "there is no format of several tasks 'pairs'"),
    ],
)
def test_what_takes_one_task_is_refused(run, arguments, expected):
    """In one line, before anything is read."""
    status, out, err = run("--models", "run-a", "run-b", *arguments)
    assert (status, out) == (2, "")
    assert expected in err


@pytest.mark.more
def test_not_worse_has_to_hold_on_every_task(run):
    """The gate exits with 3, and names the tasks on which it fails, and those that are absent."""
    arguments = ("--models", "run-a", "run-b", "--not-worse-than", "run-a")
    status, _, err = run(*arguments, "--by", "0.8")
    assert (status, err) == (
        3,
        "not shown to be no worse than run-a by more than 80.0 points: run-b was not asked old\n",
    )
    status, out, err = run(*arguments, "--by", "0.8", "--allow-absent")
    text = "no worse than run-a by more than 80.0 points: run-b on hans (at most "
    assert (status, err[: len(text)]) == (0, text)
    assert " ".join(out.split()).startswith(f"PASSED: {text}")
    status, out, err = run(*arguments, "--by", "0.5", "--allow-absent", "--format", "json")
    assert (status, err.partition(" (")[0]) == (
        3,
        "not shown to be no worse than run-a by more than 50.0 points: run-b on nli",
    )
    gate = json.loads(out)["gate"]
    assert (gate["absent"], gate["allow_absent"], gate["passes"]) == (["run-b was not asked old"], True, False)
    assert [(task["task"], task["passes"]) for task in gate["held"]] == [("hans", True), ("nli", False)]


def test_of_a_folder_with_several_models_each_has_its_own_tasks(run, runs):
    """Inspect keeps the logs of several models in one folder; y was not asked two."""
    folder = runs / "logs"
    folder.mkdir()
    for model, tasks in (("org/x", ("one", "two")), ("org/y", ("one", "three"))):
        for task in tasks:
            ids = [str(n) for n in range(8)]
            header_line = header(ids=ids)
            header_line["eval"] |= {"model": model, "task": task}
            samples = [sample(name, "C") for name in ids]
            eval_log(folder / f"{model.partition('/')[2]}-{task}.eval", samples, header_line)
    status, _, err = run("--models", "logs", "--not-worse-than", "org/x", "--by", "1")
    assert (status, err) == (
        3,
        "not shown to be no worse than org/x by more than 100.0 points: org/y was not asked two\n",
    )


def test_a_folder_of_inspect_has_several_models(runs):
    """Logs bear the models' names, and tasks that all of them were asked are matched."""
    folder = runs / "logs"
    folder.mkdir()
    for model in ("org/x", "org/y"):
        for task in ("one", "two"):
            ids = [str(n) for n in range(8)]
            marks = ["C" if n % (2 if model == "org/x" else 4) else "I" for n in range(8)]
            header_line = header(ids=ids)
            header_line["eval"] |= {"model": model, "task": task}
            eval_log(
                folder / f"2026-01-02T03-04-05_{task}_{model[-1]}.eval",
                [sample(key, mark) for key, mark in zip(ids, marks, strict=True)],
                header_line,
            )
    summary = over_tasks(["logs"])
    assert summary.models == ("org/y", "org/x")
    assert [part.name for part in summary.tasks] == ["one", "two"]


def test_over_tasks_needs_several_tasks(runs):
    """Of one task there are no means over tasks."""
    with refuses(UsageError, option="references", value=("run-a#nli", "run-b#nli")):
        over_tasks(["run-a#nli", "run-b#nli"])
