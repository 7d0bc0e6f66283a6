"""Logs that lm-evaluation-harness and Inspect wrote; `make logs` writes them anew, and runs these tests on them."""

import csv
import gzip
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

from factors import Example
from ranker import decide
from ranker.errors import DataError
from ranker.files.archive import Archive
from ranker.sources import suites
from ranker.sources.base import SourceOptions
from ranker.sources.logs.kind import scale_outcomes
from ranker.sources.logs.options import LogOptions
from ranker.sources.logs.reading import list_logs, read_log
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER

KEPT = Path(__file__).parent / "programs" / "written"
LOGS = Path(os.environ.get("RANK_MODELS_LOGS", KEPT))
LM_EVAL, INSPECT = LOGS / "lm_eval", LOGS / "inspect"
RUNS = ("run-a", "run-b", "run-a-shots", "run-a-repeats")
CLOSE = {"rel": 0, "abs": 1e-9}


def content(path):
    """A file's text, unpacked."""
    raw = path.read_bytes()
    return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()


def samples(run, task):
    """The file of a run's rows."""
    (path,) = (LM_EVAL / run).glob(f"samples_{task}_*")
    return path


def lines(run, task):
    """The rows as the program wrote them."""
    return [json.loads(line) for line in content(samples(run, task)).splitlines()]


def recorded(run):
    """Results of a run by the program."""
    (path,) = (LM_EVAL / run).glob("results_*.json")
    return json.loads(path.read_text())


def standard_error(values):
    """Standard error of a mean."""
    return values.std(ddof=1) / np.sqrt(len(values))


# ---- lm-evaluation-harness


@pytest.mark.parametrize("run", RUNS)
def test_means_and_errors_are_those_of_the_harness(run):
    """Of every task, metric and filter that its results name."""
    count = 0
    for task, results in recorded(run)["results"].items():
        for name, value in results.items():
            metric, _, filter = name.partition(",")
            if not filter or metric.endswith("_stderr") or task == "small":
                continue
            log = read_log(samples(run, task), LogOptions(metric=metric, filter=filter))
            assert (log.task, log.metric) == (task, metric)
            assert len(log) == results["sample_len"]
            assert log.outcomes.mean() == pytest.approx(value, **CLOSE)
            assert log.measure.agrees
            assert standard_error(log.outcomes) == pytest.approx(results[f"{metric}_stderr,{filter}"], **CLOSE)
            count += 1
    assert count == (6 if run in ("run-a", "run-b") else 2)


LIKELY = [
    *(("likely", metric) for metric in ("perplexity", "acc")),
    *(("rolling", metric) for metric in ("word_perplexity", "byte_perplexity", "bits_per_byte")),
    *(("marks", metric) for metric in ("acc", "brier_score", "acc_mutual_info")),
]


@pytest.mark.parametrize(("task", "metric"), LIKELY)
def test_the_winner_by_rows_is_that_of_the_harness(task, metric):
    """The number of all rows is recomputed, and its direction says of the two models what their rows say."""
    values, rows = [], []
    for run in ("run-a-likely", "run-b-likely"):
        results = recorded(run)
        value, up = results["results"][task][f"{metric},none"], results["higher_is_better"][task][metric]
        log = read_log(samples(run, task), LogOptions(metric=metric))
        assert log.measure.agrees
        assert log.measure.recorded == value
        values.append(value if up else -value)
        rows.append(scale_outcomes(log, LogOptions(metric=metric, scale=(-100, 0) if log.outcomes.min() < 0 else None)))
    assert np.sign(values[0] - values[1]) == np.sign(round(rows[0].mean() - rows[1].mean(), 12))


@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_a_metric_of_all_rows_follows_from_their_labels(metric):
    """The number that the log records is that of its labels; of each row it is read whether this is the right one."""
    log = read_log(samples("run-a-likely", "marks"), LogOptions(metric=metric))
    value = recorded("run-a-likely")["results"]["marks"][f"{metric},none"]
    assert f"The log's {metric}, {value:,.6g}, is that of the labels of its rows." in log.notes
    assert log.metric == "acc"


@pytest.mark.parametrize("run", ["run-a", "run-b"])
def test_the_mean_of_a_group_is_that_of_the_harness(run):
    """Pooled over the rows of its tasks."""
    listing = list_logs(LM_EVAL / run)
    assert listing.groups == {"small": ("reviews", "questions")}
    logs = [read_log(log.path, LogOptions(metric="acc")) for log in listing.logs if log.task in listing.groups["small"]]
    pooled = np.concatenate([log.outcomes for log in logs])
    assert pooled.mean() == pytest.approx(recorded(run)["groups"]["small"]["acc,none"], **CLOSE)


def test_the_harness_says_what_its_version_and_models_are():
    """And which way is better."""
    log = read_log(samples("run-b", "reviews"))
    assert (log.program, log.model, log.measure.higher_is_better) == ("lm-eval", "run-b", True)
    assert re.fullmatch(r"0\.\d+\.\d+", log.version)


@pytest.mark.parametrize("run", ["run-a", "run-b"])
def test_choices_are_compared_as_the_harness_does(run):
    """By character, since bad and good differ in length; the labels tell what acc_norm, and acc, says on every row."""
    log = read_log(samples(run, "reviews"))
    assert log.metric == "acc_norm"
    for labelled in (log, read_log(samples(run, "reviews"), LogOptions(metric="acc"))):
        assert labelled.labels == ("bad", "good")
        assert ((labelled.answers == labelled.truth) == labelled.outcomes).all()
    assert [line["doc"]["label"] for line in lines(run, "reviews")] == [log.labels[n] for n in log.truth]
    questions = read_log(samples(run, "questions"))
    assert (questions.metric, questions.labels) == ("acc_norm", ())


def test_our_hashes_are_those_of_the_harness(tmp_path):
    """Without what the log says of them, keys and hashes of prompts are the same."""
    for task, filter in (("reviews", ""), ("questions", ""), ("written", "strict")):
        path = samples("run-a", task)
        bare = [{k: v for k, v in line.items() if not k.endswith("_hash")} for line in lines("run-a", task)]
        copy = tmp_path / path.name
        copy.write_text("".join(json.dumps(line) + "\n" for line in bare))
        theirs, ours = (read_log(place, LogOptions(filter=filter)) for place in (path, copy))
        for name in ("keys", "prompt_hashes", "target_hashes"):
            assert getattr(theirs, name) == getattr(ours, name)


@pytest.mark.parametrize("run", ["run-a", "run-b"])
@pytest.mark.parametrize(("filter", "pattern"), [("strict", r"^ ?(good|bad)$"), ("loose", r"(good|bad|fair)")])
def test_written_answers_are_labels(run, filter, pattern):
    """An answer is what the filter's pattern finds in the model's text; if it finds nothing there is none."""
    log = read_log(samples(run, "written"), LogOptions(filter=filter))
    assert log.labels == ("bad", "good")
    wrote = [line["resps"][0][0] for line in lines(run, "written") if line["filter"] == filter]
    words = [re.findall(pattern, text)[:1] for text in wrote]
    assert [[log.labels[n]] if n >= 0 else [] for n in log.answers] == words
    assert log.state.tolist() == [ANSWERED if answer else NO_ANSWER for answer in words]
    assert ((log.answers == log.truth) == log.outcomes).all()
    assert log.notes == ("Answers have labels: exact_match says whether each is the target, exactly.",)


def test_one_of_two_filters_has_to_be_named():
    """The message lists both."""
    with refuses(DataError, option="filter"):
        read_log(samples("run-a", "written"))


def test_examples_in_the_prompt_are_said():
    """The same rows with two examples before each: compared, with a sentence."""
    ranking = decide([samples("run-a", "reviews"), samples("run-a-shots", "reviews")])
    (note,) = [text for text in ranking.notes if "asked in another way" in text]
    assert note == (
        "run-a-shots: 32 of 32 rows were asked in another way than in run-a (prompt, number of shots, order of "
        "choices, solver or arguments of the task), so more than the models may differ."
    )
    alike = decide([samples("run-a", "reviews"), samples("run-b", "reviews")])
    assert not [text for text in alike.notes if "asked in another way" in text]


def test_written_answers_are_seen_by_methods_that_read_a_pool():
    """SURROGATE sees what the models wrote, and the rows show it."""
    logs = [read_log(samples(run, "written"), LogOptions(filter="loose")) for run in ("run-a", "run-b")]
    suite = suites.load(
        [samples(run, "written") for run in ("run-a", "run-b")], SourceOptions(kinds=[LogOptions(filter="loose")])
    )
    pool = [Example(key, (text,), None) for key, text in zip(logs[0].keys, logs[0].texts, strict=True)]
    decision = decide(suite, pool=pool).decision
    assert decision.method == "SURROGATE"
    assert {model.name: model.outcome for model in decision.models} == {
        run: pytest.approx(recorded(run)["results"]["written"]["exact_match,loose"], **CLOSE)
        for run in ("run-a", "run-b")
    }
    for run, log in zip(("run-a", "run-b"), logs, strict=True):
        predicted = [row.predicted[run] for row in decision.rows]
        assert predicted == [log.labels[n] if n >= 0 else "no answer" for n in log.answers]


def test_a_row_that_was_asked_three_times_has_the_answer_of_its_filter():
    """The first one, or the commonest."""
    rows = lines("run-a-repeats", "repeated")
    for name in ("first", "majority"):
        log = read_log(samples("run-a-repeats", "repeated"), LogOptions(filter=name))
        answers = [log.labels[n] for n in log.answers]
        assert answers == [row["filtered_resps"][0] for row in rows if row["filter"] == name]
        assert all(len(row["resps"][0]) == 3 for row in rows)


def written_rows(path, rows, label):
    """A CSV of the rows of our tasks, without the ids that logs have."""
    with path.open("w", newline="") as file:
        columns = ["text", "label"] if label else ["text"]
        csv.writer(file).writerows([columns, *([row[name] for name in columns] for row in rows)])
    return str(path)


@pytest.mark.parametrize(
    ("logs", "options"),
    [
        ([("run-a", "written"), ("run-b", "written")], ["--filter", "loose"]),
        ([("run-a", "reviews"), ("run-b", "reviews")], ["--metric", "acc"]),
    ],
)
def test_logs_answer_rows_of_ones_own(tmp_path, monkeypatch, rank_models, logs, options):
    """Found by their texts: ten labels and a pool order the models, and rows to label are chosen."""
    monkeypatch.setenv("RANK_MODELS_STORE", str(tmp_path))
    rows = [line["doc"] for line in lines("run-a", "reviews")][::-1]
    pool, ten = written_rows(tmp_path / "pool.csv", rows, False), written_rows(tmp_path / "ten.csv", rows[:10], True)
    models = ["--models", *(str(samples(*log)) for log in logs), *options]
    status, out, err = rank_models("--data", ten, "--pool", pool, *models, "--format", "json")
    assert (status, err) == (0, "")
    decision = json.loads(out)["decision"]
    assert decision["method"] == "SURROGATE"
    choice = LogOptions(metric="acc") if "--metric" in options else LogOptions(filter="loose")
    for run, task in logs:
        log = read_log(samples(run, task), choice)
        right = dict(zip(log.texts, log.outcomes, strict=True))
        (model,) = [model for model in decision["models"] if model["name"] == run]
        assert model["outcome"] == pytest.approx(np.mean([right[row["text"]] for row in rows[:10]]))
    status, out, err = rank_models("label", "--pool", pool, *models, "--batch", "4")
    assert not status, err
    assert len(out.strip().splitlines()) == 5


# ---- Inspect


def said(name):
    """A log of Inspect as the program wrote it: its header, and its samples by name."""
    path = INSPECT / name
    if not name.endswith(".eval"):
        text = json.loads(content(path))
        return text, text["samples"]
    with path.open("rb") as stream:
        archive = Archive(stream, path)
        parts = [json.loads(archive.read(part)) for part in archive.parts if part.startswith("samples/")]
        return json.loads(archive.read("header.json")), parts


def names():
    """All logs of Inspect."""
    return sorted(path.name for path in KEPT.joinpath("inspect").iterdir() if path.is_file())


@pytest.mark.parametrize("name", names())
def test_means_and_errors_are_those_of_inspect(name):
    """Of every scorer and part; the errors of clusters, too."""
    header, _ = said(name)
    assert header["results"]["scores"]
    for score in header["results"]["scores"]:
        part = score["name"] if score["name"] != score["scorer"] else ""
        log = read_log(
            INSPECT / name, LogOptions(scorer=score["scorer"], metric=part, reducer=score.get("reducer") or "")
        )
        assert log.measure.agrees
        metrics = {key: metric["value"] for key, metric in score["metrics"].items()}
        values = log.outcomes[~np.isnan(log.outcomes)]
        assert len(values) == score["scored_samples"]
        assert values.mean() == pytest.approx(metrics.get("accuracy", metrics.get("mean")), **CLOSE)
        assert (log.task, log.model) == (header["eval"]["task"], header["eval"]["model"])
        if score["scorer"] == "graded":
            sums = {}
            for value, group in zip(log.outcomes - values.mean(), log.clusters, strict=True):
                sums[group] = sums.get(group, 0.0) + (0.0 if np.isnan(value) else value)
            error = np.sqrt(sum(total**2 for total in sums.values()) * len(sums) / (len(sums) - 1)) / len(values)
            assert error == pytest.approx(metrics["stderr"], **CLOSE)
        elif "stderr" in metrics:
            assert standard_error(values) == pytest.approx(metrics["stderr"], **CLOSE)


@pytest.mark.parametrize("run", ["run-a", "run-b"])
def test_epochs_and_failures_are_those_of_inspect(run):
    """One sample failed in both epochs, another in one; both forms of a log say the same."""
    log = read_log(INSPECT / f"twice-{run}.eval", LogOptions(scorer="graded"))
    assert log.epochs == 2
    assert [key for key, state in zip(log.keys, log.state, strict=True) if state == ERROR] == ["r03"]
    assert "1 of 12 rows have scores in only some of 2 epochs, and use these." in log.notes
    values = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
    by_row = {}
    for sample in said(f"twice-{run}.eval")[1]:
        if sample["scores"]:
            by_row.setdefault(sample["id"], []).append(values[sample["scores"]["graded"]["value"]])
    means = {key: np.mean(scores) for key, scores in by_row.items()}
    assert {k: v for k, v in zip(log.keys, log.outcomes, strict=True) if k != "r03"} == means
    as_json = read_log(INSPECT / f"twice-{run}.json.gz", LogOptions(scorer="graded"))
    assert (log.keys, log.texts, log.prompt_hashes) == (as_json.keys, as_json.texts, as_json.prompt_hashes)
    np.testing.assert_array_equal(log.outcomes, as_json.outcomes)


def labels(name, **choice):
    """The label of each row of a log, "" where it has none; None where the log has no labels."""
    log = read_log(INSPECT / name, LogOptions(**choice))
    if not log.labels:
        return None
    assert ((log.answers == log.truth) == log.outcomes).all()
    return {key: log.labels[n] if n >= 0 else "" for key, n in zip(log.keys, log.answers, strict=True)}


@pytest.mark.parametrize("run", ["run-a", "run-b"])
def test_answers_of_inspect_are_labels(run):
    """A label is the letter of a choice, a word that a pattern found, or the whole answer."""
    for name, read_as in (("lettered", {"A": "bad", "B": "good"}), ("found", None), ("exact", None)):
        meant = {}
        for sample in said(f"{name}-{run}.eval")[1]:
            (score,) = sample["scores"].values()
            word = (score.get("answer") or "").strip(".").casefold()
            meant[sample["id"]] = (
                read_as.get(score["answer"], "") if read_as else word if word in ("bad", "good") else ""
            )
        assert labels(f"{name}-{run}.eval") == meant
        assert set(meant.values()) >= {"bad", "good"}


def test_answers_that_are_judged_by_a_part_are_no_labels():
    """`Bad, I think` is right where bad is to begin it: nobody knows which label a wrong one would be."""
    assert labels("begins-run-b.eval", scorer="match") is None
    log = read_log(INSPECT / "begins-run-b.eval", LogOptions(scorer="match"))
    note = r"Answers have no labels: match disagrees with a comparison to the target on \d of 12 answers\."
    assert re.fullmatch(note, log.notes[0])


def test_two_logs_of_inspect_are_compared(rank_models, monkeypatch, tmp_path):
    """By clusters that the log names itself; neither was asked otherwise than the other."""
    monkeypatch.setenv("RANK_MODELS_STORE", str(tmp_path))
    logs = [str(INSPECT / f"twice-{run}.eval") for run in ("run-a", "run-b")]
    status, out, _ = rank_models("--models", *logs, "--scorer", "graded")
    text = " ".join(out.split())
    assert not status
    assert "on the same 11 rows in 3 clusters" in text
    assert "asked in another way" not in text


@pytest.mark.parametrize("run", ["run-a", "run-b"])
def test_the_first_reducer_of_a_log_counts(run):
    """The reducer's name stands behind the metric; what the log has of every one is recomputed above."""
    log = read_log(INSPECT / f"reduced-{run}.eval")
    names = "max, mean, median, mode, at_least_2, pass_at_2, pass_k_2"
    assert (log.metric, log.notes[0]) == ("match[max]", f"Each row is the max of 3 epochs (the log has {names}).")


@pytest.mark.parametrize("run", ["run-a", "run-b"])
def test_samples_that_a_limit_ended_are_counted(run):
    """Two of them hit the limit of tokens."""
    notes = read_log(INSPECT / f"limited-{run}.eval").notes
    assert "A limit ended 2 of 12 samples (token 2); their scores count." in notes


def test_shuffled_choices_are_compared():
    """Each row has an order of its own in each log: its right answer is one text, and often another letter."""
    paths = [INSPECT / f"shuffled-{run}.eval" for run in ("run-a", "run-b")]
    first, second = map(read_log, paths)
    assert dict(zip(first.keys, first.target_hashes, strict=True)) == dict(
        zip(second.keys, second.target_hashes, strict=True)
    )
    letters = [{entry["id"]: entry["target"] for entry in said(path.name)[1]} for path in paths]
    assert letters[0] != letters[1]
    ranking = decide(paths)
    assert {model.name: model.outcome for model in ranking.decision.models} == {
        "shuffled-run-a": pytest.approx(7 / 12),
        "shuffled-run-b": pytest.approx(4 / 12),
    }


def test_an_eval_set_is_read_by_its_newest_whole_run():
    """The run that failed is named, with what it lacks; the lists beside them are no logs."""
    listing = list_logs(INSPECT / "set")
    assert [log.path.name for log in listing.logs] == ["retried-2.eval"]
    assert [(log.path.name, log.trouble) for log in listing.older] == [("retried-1.eval", "it holds 10 of 12 samples")]
    assert listing.notes == ()


# ---- written anew


@pytest.mark.skipif(LOGS == KEPT, reason="`make logs` writes them anew")
def test_logs_that_are_written_anew_say_the_same():
    """All but dates, random ids and paths: every reading of every log, and what the programs recorded."""
    files = sorted(path.relative_to(KEPT) for path in KEPT.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(LOGS) for path in LOGS.rglob("*") if path.is_file())
    for file in files:
        if file.name in ("logs.json", "eval-set.json") or file.name == "retried-1.eval":
            continue  # lists of random names, and a run that failed before anything was scored alike
        if file.name.startswith("results_"):
            old, new = (json.loads((folder / file).read_text())["results"] for folder in (KEPT, LOGS))
            assert [(task, *values) for task, values in old.items()] == [
                (task, *values) for task, values in new.items()
            ]
            continue
        trained = file.parts[0] == LM_EVAL.name  # training rounds otherwise on another processor
        for choice in readings(KEPT / file):
            old, new = (read_log(folder / file, choice) for folder in (KEPT, LOGS))
            for name in ("task", "model", "metric", "candidates", "keys", "texts", "target_hashes", "prompt_hashes"):
                assert getattr(old, name) == getattr(new, name), (file, name)
            for name in ("counts", "truth") if trained else ("outcomes", "counts", "state", "truth", "answers"):
                np.testing.assert_array_equal(getattr(old, name), getattr(new, name))


def readings(path):
    """All selections that may be asked of a log."""
    selections = {"written": [LogOptions(filter=name) for name in ("strict", "loose")]}
    selections |= {"repeated": [LogOptions(filter=name) for name in ("first", "majority")]}
    selections |= {"begins": [LogOptions(scorer=name) for name in ("match", "includes")]}
    selections |= {"twice": [LogOptions(scorer=name) for name in ("graded", "manners.short", "manners.polite")]}
    selections |= {name: [LogOptions(metric="acc"), LogOptions(metric="acc_norm")] for name in ("reviews", "questions")}
    for task, metric in LIKELY:
        selections.setdefault(task, []).append(LogOptions(metric=metric))
    task = path.name.removeprefix("samples_").partition("_")[0].partition("-")[0]
    return selections.get(task, [LogOptions()])
