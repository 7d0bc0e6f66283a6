"""The command line as a user meets it: real suites, real files, the real exit codes."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from refusals import refuses

from experiments.generate import sample
from ranker import decide, labelled
from ranker.errors import UnknownName, UsageError
from ranker.results.ranking import Ranking
from ranker.runtime import worker as measure
from ranker.sources import suites
from ranker.statistics.methods import BUILTIN, DEFAULT

FEW = ("--limit", "12", "--methods", "AVG-CONF", "--quiet")
QUICK = (*FEW, "--attribution", "ig:steps=4,max_steps=4")
"""Of the methods that see a pool one that takes no time."""

PLAIN = ("--attribution", "none", "--methods", "AVG-CONF", "--quiet")
MINI = suites.bundled_suites()["hans-sub-mini"]


def few_models(count: int) -> list[str]:
    """The folders of some embedded models."""
    return [model.source.path for model in suites.load(["hans-sub-mini"]).models[:count]]


@pytest.mark.more
def test_the_main_job_prints_models_and_methods(rank_models):
    """One command on embedded data and models ends with a table of all methods, and says that it is the sample."""
    status, out, err = rank_models("--ood", "hans-sub", "--probe", "10", "--limit", "12")
    assert status == 0
    names = "ACC CONF CONF-GT NLL CONF-H RANDOM MAX-DIFF SUM-DIFF INDEX-DIFF FIRST-TOK"
    first_words = {line.split()[0] for line in out.splitlines() if line.strip()}
    assert set(names.split()) <= first_words
    assert "embedded sample" in err
    assert "embedded suite" in err


@pytest.mark.more
def test_the_second_run_asks_no_model(rank_models, monkeypatch):
    """The same command loads no model again, and says the same bytes."""
    command = ("--ood", "hans-sub", *QUICK, "--format", "json", "--models", *few_models(8)[::3])
    first = rank_models(*command)

    def refuse(*arguments: object):
        raise AssertionError("a model was asked again")

    monkeypatch.setattr(measure, "attribute", refuse)
    assert rank_models(*command) == first
    assert first[0] == 0


@pytest.mark.more
def test_seeds_decide_the_numbers(rank_models):
    """The same seed gives the same JSON, byte for byte, and another seed gives another."""
    command = ("--ood", "hans-sub", *QUICK, "--format", "json", "--draws", "50", "--models", *few_models(8)[::3])
    assert rank_models(*command) == rank_models(*command)
    assert rank_models(*command)[1] != rank_models(*command, "--seed", "1")[1]


@pytest.mark.more
def test_json_has_the_stable_fields(rank_models):
    """A program can read the answer: schema version, models, methods and pairs."""
    answer = json.loads(
        rank_models("--ood", "hans-sub", *QUICK, "--format", "json", "--models", *few_models(8)[::3])[1]
    )
    assert answer["schema_version"] == 2
    assert {"ood", "suite", "probe", "seed", "metric"} <= set(answer["header"])
    assert {"models", "methods", "pairs"} <= set(answer["evaluation"])
    assert "decision" not in answer
    accuracies = {method["name"]: method["pairwise_accuracy"] for method in answer["evaluation"]["methods"]}
    assert all(0 <= accuracy <= 1 for accuracy in accuracies.values())


@pytest.mark.more
def test_a_factor_of_ones_own_stands_in_the_table(rank_models, tmp_path):
    """A file with one decorated function adds a row to the table."""
    file = tmp_path / "my_factors.py"
    file.write_text(
        "from factors import factor\n\n"
        '@factor("LAST-TOK", higher_is_better=False, explains="shortcut", source="mine")\n'
        "def last_token(a, example):\n"
        '    """The last word\'s score."""\n'
        "    return float(a.scores[-2])\n"
    )
    status, out, _ = rank_models(
        "--ood", "hans-sub", *QUICK, "--factors", f"ACC,{file}", "--models", *few_models(8)[::3]
    )
    assert status == 0
    assert "LAST-TOK" in out


OWN = """\
from factors import factor

@factor("EMPTY", higher_is_better=True, explains="true")
def empty(a, example):
    return float("nan")

@factor("CRASH", higher_is_better=True, explains="true")
def crash(a, example):
    raise SystemExit(3)
"""


@pytest.mark.more
def test_a_factor_of_ones_own_that_always_fails_is_no_coin(rank_models, tmp_path, ten):
    """A factor that fails has a reason instead of a row and a status; one that is nan is only named."""
    file = tmp_path / "own.py"
    file.write_text(OWN)
    own_arguments = ("--models", *few_models(8)[::3], "--factors", f"ACC,{file}", "--format", "json")
    status, out, message = rank_models("--ood", "hans-sub", *QUICK, *own_arguments)
    report = json.loads(out)
    assert status == 1
    assert {"EMPTY", "CRASH"}.isdisjoint(method["name"] for method in report["evaluation"]["methods"])
    assert report["header"]["failed_factors"] == ["CRASH"]
    assert "CRASH is not in the table: it is defined on no example; SystemExit: 3" in message
    assert "EMPTY" not in message  # under --quiet
    file.write_text(OWN.partition('@factor("CRASH"')[0])
    own_arguments = ("--models", *few_models(2), "--factors", f"ACC,{file}", "--attribution", "ig:steps=4,max_steps=4")
    status, out, message = rank_models("--data", ten, *own_arguments)
    assert status == 0
    assert "EMPTY is not in the table: it is defined on no example" in message
    assert "- Not in the table: EMPTY (is defined on no example)." in out
    status, _, message = rank_models("--data", ten, *own_arguments, "--method", "empty")
    assert status == 2
    assert "`--method`: EMPTY cannot order these models: is defined on no example" in message


@pytest.mark.more
def test_one_broken_model_among_five(rank_models, tmp_path):
    """Four models are ranked, the failure is listed with its reason, and the exit status tells of it."""
    broken = tmp_path / "broken"
    shutil.copytree(few_models(1)[0], broken)
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    status, out, _ = rank_models("--ood", "hans-sub", *QUICK, "--models", *few_models(8)[4:], broken)
    assert status == 1
    assert "4 models" in out
    assert "broken FAILED: " in " ".join(out.split())


TEN = """\
{"premise": "The poets near the cook slept.", "hypothesis": "The cook slept.", "label": "neutral"}
{"premise": "The baker and the guard laughed.", "hypothesis": "The guard laughed.", "label": "entailment"}
{"premise": "While the nurse washed the dog barked.", "hypothesis": "The nurse washed the dog.", "label": "neutral"}
{"premise": "The tall singer smiled.", "hypothesis": "The singer smiled.", "label": "entailment"}
"""


@pytest.fixture
def ten(tmp_path) -> Path:
    """A user's few labelled rows."""
    file = tmp_path / "ten.jsonl"
    file.write_text(TEN)
    return file


def test_a_decision_between_models(rank_models, ten):
    """A few rows of one's own give an order, who is tied with whom, and how many more labels would tell."""
    status, out, _ = rank_models("--data", ten, "--quiet", "--models", *few_models(3))
    assert status == 0
    for words in ("P(near best)", "P(row > column)", "two models share a letter", "K = 4"):
        assert words in " ".join(out.split())


def test_a_decision_as_json(rank_models, ten):
    """The decision is part of the stable schema: probabilities of models that nobody knows the truth of."""
    answer = json.loads(rank_models("--data", ten, "--quiet", "--models", *few_models(3), "--format", "json")[1])
    assert set(answer) == {"schema_version", "header", "decision"}
    models = answer["decision"]["models"]
    assert sum(model["p_best"] for model in models) == pytest.approx(1)
    assert len(models) == 3
    assert all(model["low"] <= model["outcome"] <= model["high"] for model in models)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--models a b", "`--models`: no file, directory, suite.json or hub id `org/name` is called 'a'"),
        ("--data {ten}", "`--models` is needed: the models to choose from"),
        ("--data {ten} --models hans-sub-mini --probe 5", "`--probe` must be between 1 and 4"),
        ("--data {ten} --models hans-sub-mini --task nly", "there is no task 'nly'; did you mean nli?"),
        ("--data {ten} --models hans-sub-mini --columns label=gold", "`--columns label=gold`: {ten} has no"),
        ("--data {ten} --models hans-sub-mini --columns gold", "`--columns` must be like text=premise"),
        ("--data {ten} --models hans-sub-mini --method ACCC --attribution none", "there is no method 'ACCC'"),
        ("--data {ten} --models hans-sub-mini --task paraphrase", "{ten}, line 1: "),
    ],
)
def test_wrong_decisions_get_one_line(rank_models, ten, arguments, message):
    """A decision that is impossible is refused in one line."""
    status, out, err = rank_models(*arguments.format(ten=ten).split())
    assert (status, out) == (2, "")
    assert one_line(err).startswith(message.format(ten=ten))


def one_line(err: str) -> str:
    """The message of a failed run, which is one line."""
    lines = [line for line in err.splitlines() if line.startswith("rank-models: ")]
    assert len(lines) == 1
    return lines[0].removeprefix("rank-models: ")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("--ood hans-subb", 2, "there is no OOD set 'hans-subb'; did you mean hans-sub?"),
        (
            "--ood hans-sub --probe 0",
            2,
            "`--probe` must be between 1 and 600, the rows of hans-sub that are explained (got 0)",
        ),
        (
            "--ood hans-sub --probe 601",
            2,
            "`--probe` must be between 1 and 600, the rows of hans-sub that are explained (got 601)",
        ),
        ("--ood hans-sub --factors INDEX-DIF", 2, "there is no factor 'INDEX-DIF'; did you mean INDEX-DIFF?"),
        ("--ood hans-sub --attribution igg", 2, "there is no attribution backend 'igg'; did you mean ig?"),
        ("--ood hans-sub --draws many", 2, "`--draws` must be a number of at least 1, or `exact` (got many)"),
        ("--ood hans-sub --format jsn", 2, "there is no format 'jsn'; did you mean json?"),
        (
            "--ood hans-sub --label-map {",
            2,
            "`--label-map` must be JSON, a file of it, or like `a,b = label; c = label` (got '{'): ",
        ),
        ("rnu", 2, "there is no command 'rnu'; did you mean run?"),
    ],
)
def test_wrong_arguments_get_one_line(rank_models, arguments, status, message):
    """Wrong arguments are refused before any work, in one line that says what would be right."""
    code, out, err = rank_models(*arguments.split())
    assert (code, out) == (status, "")
    assert one_line(err).startswith(message)


@pytest.mark.more
def test_a_folder_without_weights(rank_models, tmp_path):
    """A model folder without weights is named, with what it lacks; with one model left there is nothing to rank."""
    bare = tmp_path / "bare"
    shutil.copytree(few_models(1)[0], bare)
    (bare / "model.safetensors").unlink()
    status, _, err = rank_models("--ood", "hans-sub", "--limit", "30", "--models", bare, few_models(2)[1])
    assert status == 1
    assert f"bare is left out: {bare}" in err
    assert "no weights" in err
    assert one_line(err) == "nothing to rank: 1 of 2 models failed"


@pytest.mark.more
def test_the_hub_is_asked_for_a_model_once_a_run(rank_models, ten, tmp_path, monkeypatch):
    """Labels, weights and key are of one revision; by every command, also where one of the models is not to be had."""
    folders, calls = dict(zip(("org/a", "org/b"), few_models(8)[::7], strict=True)), []

    def download(name, **_):
        calls.append(name)
        if name not in folders:
            raise OSError("not there")
        return folders[name]

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    models, rows, quick = ("--models", *folders), ("--data", ten), ("--attribution", "none")
    labels, pool = '{"0": "non-entailment", "1": "entailment"}', tmp_path / "pool.csv"
    pool.write_text("premise,hypothesis\nThe cook ran.,It ran.\nA dog sang.,A cat sang.\n")
    for command in (
        ("run", *rows, *quick),
        ("run", *rows, *quick, "--label-map", labels),
        ("explain", *rows, *quick, "--id", 1),
        ("label", "--pool", pool, "--batch", 1, "--output", tmp_path / "chosen.csv"),
    ):
        status, _, err = rank_models(*command, *models)
        assert (status, sorted(calls)) == (0, sorted(folders)), err
        calls.clear()
    assert rank_models("--ood", "hans-sub", *models, "--probe", "9999")[0] == 2
    with refuses(UnknownName, value="AC"):
        decide(list(folders), labelled(ten), method="AC")
    assert calls == []  # before all else is right
    assert rank_models("--ood", "hans-sub", *QUICK, *models, "--label-map", labels)[0] == 0
    assert sorted(calls) == sorted(folders)
    status, _, err = rank_models("run", *rows, *quick, *models, "org/c")
    assert status == 1
    assert "c is left out: `--models`: org/c is no directory, and the hub does not give it: not there" in err


@pytest.mark.more
def test_labels_that_cannot_be_mapped(rank_models, tmp_path):
    """Labels that are not the task's are not guessed; unnamed ones ask for `--label-map`."""
    for name, labels in (("colours", ["red", "blue"]), ("unnamed", ["LABEL_0", "LABEL_1"])):
        shutil.copytree(few_models(1)[0], tmp_path / name)
        config = json.loads((tmp_path / name / "config.json").read_text())
        config["id2label"], config["label2id"] = dict(enumerate(labels)), {label: i for i, label in enumerate(labels)}
        (tmp_path / name / "config.json").write_text(json.dumps(config))
    models = [tmp_path / "colours", tmp_path / "unnamed"]
    status, _, err = rank_models("--ood", "hans-sub", "--limit", "30", "--models", *models)
    assert status != 0
    assert "red" in err
    assert "--label-map" in err
    mapping = '{"0": "non-entailment", "1": "entailment"}'
    copies = [tmp_path / "unnamed", few_models(8)[7]]
    assert rank_models("--ood", "hans-sub", *QUICK, "--models", *copies, "--label-map", mapping)[0] == 0
    file = tmp_path / "labels.json"
    file.write_text(mapping)
    assert rank_models("--ood", "hans-sub", *QUICK, "--models", *copies, "--label-map", file)[0] == 0
    table = tmp_path / "run.toml"
    table.write_text('[label-map]\n0 = "non-entailment"\n1 = "entailment"\n')
    assert rank_models("--ood", "hans-sub", *QUICK, "--models", *copies, "--config", table)[0] == 0


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ("", ""),
        ('files = ["own.tsv"]\n', "for the official data: `--data-dir DIR`"),
        ('files = ["own.tsv"]\nurl = "https://example.org/own.tsv"\n', "`rank-models fetch own --data-dir DIR`, then"),
    ],
)
def test_official_data_is_offered_where_there_is_some(rank_models, tmp_path, fields, says):
    """A set of one's own has no embedded sample of another; what cannot be fetched is not offered for fetching."""
    folder = tmp_path / "own"
    folder.mkdir()
    shutil.copy(MINI.parents[1] / "hans-sub" / "examples.jsonl.gz", folder)
    (folder / "card.toml").write_text(
        f'description = "d"\nsource = "s"\nlicence = "l"\n{fields}'
        '[task]\nname = "nli"\nlabels = ["non-entailment", "entailment"]\n'
    )
    command = ("--ood", "own", "--include", folder, "--limit", "8", "--probe", "3", "--attribution", "none", "--models")
    _, _, err = rank_models(*command, *few_models(2))
    assert says in err
    assert ("official" in err) == bool(says)


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "is empty"), ("gold_label\tsentence1\tsentence2\theuristic\tpairID\nentailment\tA dog ran.\n", "line 2")],
)
def test_broken_data_is_named_with_its_line(rank_models, tmp_path, content, message):
    """An empty or malformed TSV is an error of one line, with the place."""
    (tmp_path / "heuristics_evaluation_set.txt").write_text(content)
    status, _, err = rank_models("--ood", "hans-sub", "--data-dir", tmp_path)
    assert status == 2
    assert message in one_line(err)


def test_a_store_that_cannot_be_written(rank_models, tmp_path):
    """The run stops at once and says so if the store's folder cannot be made."""
    (tmp_path / "file").write_text("not a folder")
    status, _, err = rank_models("--ood", "hans-sub", *QUICK, "--store", tmp_path / "file")
    assert status == 1
    assert str(tmp_path / "file") in one_line(err)


def test_lists_name_what_there_is(rank_models):
    """Every list has its items, and an unknown list is refused."""
    assert "hans-sub" in rank_models("ls", "ood")[1]
    assert "hans-sub-mini" in rank_models("ls", "suites")[1]
    assert "INDEX-DIFF" in rank_models("ls", "factors")[1]
    listed = {line.split()[0]: line for line in rank_models("ls", "methods")[1].splitlines()}
    assert list(listed) == [method.name for method in BUILTIN]
    assert "pool        default" in listed["SURROGATE"]
    assert [name for name, line in listed.items() if " default" in line] == [method.name for method in DEFAULT]
    assert "label-free           a model that is sure of a wrong shortcut looks best" in listed["AVG-CONF"]
    assert "ig" in rank_models("ls", "backends")[1]
    assert "json" in rank_models("ls", "formats")[1]
    assert rank_models("ls", "odd")[0] == 2


def test_an_option_that_takes_one_value_is_given_once(rank_models):
    """The first of two files of rows would be lost; options that may be repeated, and flags, are not touched."""
    status, out, err = rank_models("--data", "a.csv", "--models", "x", "y", "--data", "b.csv")
    assert (status, out, err) == (2, "", "rank-models: --data is given 2 times, and takes one value\n")
    assert "2 times" not in rank_models("-q", "--quiet", "--models", "x", "--models", "y", "--ood", "hans-sub")[2]


@pytest.mark.more
def test_a_dry_run_says_what_is_missing(rank_models, tmp_path):
    """`--dry-run` counts the passes that would be made and says how long they take; it keeps nothing."""
    models = (few_models(1)[0], few_models(8)[7])
    command = ("--ood", "hans-sub", *FEW, "--models", *models, "--attribution", "lime:samples=20")
    for _ in range(2):
        first = rank_models(*command, "--dry-run")[1].splitlines()
        assert first[0] == "models on hans-sub: 2 models, 12 rows, 12 to explain with lime"
        assert re.search(r"untouched: rows: 12 to predict, 12 to explain; \d+ s of processor time, [\d,]+ MB", first[1])
        assert re.fullmatch(
            r"in all \d+ s of processor time, [\d,]+ MB of memory a worker, [\d.]+ MB to store", first[-1]
        )
    prices = tmp_path / "prices.toml"
    prices.write_text('currency = "EUR"\ncore_hour = 3600000\ngpu_hour = 1\n')
    assert re.search(
        r"in all .* to store, [\d.e+]+ EUR$", rank_models(*command, "--dry-run", "--prices", prices)[1].strip()
    )
    rank_models(*command)
    assert "untouched: all is cached" in rank_models(*command, "--dry-run")[1]
    status, out, err = rank_models(*command, "--dry-run", "--probe", 9999)
    assert (status, out) == (2, "")
    assert "must be between 1 and 12" in err


@pytest.mark.parametrize("units", [True, False])
def test_a_format_that_makes_it_slower_is_pointed_out(rank_models, monkeypatch, units):
    """bfloat16 is taken when it is asked for by name, also where it is slower; that is said, once."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": units})
    few = ("--limit", "12", "--models", *few_models(2))
    _, _, message = rank_models("--ood", "hans-sub", *few, "--attribution", "none", "--dtype", "bfloat16", "--dry-run")
    assert message.count("`--dtype bfloat16`: cpu has no units for it; float32 may be faster") == (0 if units else 1)


@pytest.mark.more
def test_a_warning_is_not_said_twice(rank_models, tmp_path):
    """A text that is too long is met when probabilities are asked for, and when it is explained."""
    ten = tmp_path / "ten.jsonl"
    row = {"premise": "The cook ran. " * 100, "hypothesis": "It ran.", "label": "entailment"}
    ten.write_text("".join(json.dumps({**row, "hypothesis": f"It ran {n}."}) + "\n" for n in range(2)))
    models = few_models(2)
    lines = rank_models("--data", ten, "--models", *models, "--attribution", "occlusion")[2].splitlines()
    cut = [line for line in lines if line.endswith("tokens, and were cut")]
    assert len(cut) == len(set(cut)) >= len(models)


@pytest.mark.more
def test_a_label_map_that_fits_no_model_is_pointed_out(rank_models, tmp_path):
    """Once, also where the models' own labels are asked for before; one that fits is no matter for words."""
    ten = tmp_path / "ten.jsonl"
    ten.write_text('{"premise": "A cook ran.", "hypothesis": "It ran.", "label": "entailment"}\n' * 2)
    command = ("--models", *few_models(2), "--dry-run", "--attribution", "none", "--dtype", "bfloat16")
    for rows in (("--data", ten), ("--ood", "hans-sub")):
        message = rank_models(*rows, *command, "--label-map", '{"entailmnt": "entailment"}')[2]
        assert message.count("`--label-map`: none of its labels ('entailmnt') is one of these models'") == 1
        assert message.count("`--dtype bfloat16`") <= 1
        message = rank_models(*rows, *command, "--label-map", '{"entailment": "entailment"}')[2]
        assert "`--label-map`" not in message


@pytest.mark.more
def test_a_dry_run_of_a_decision_counts_the_pool(rank_models, tmp_path):
    """As the run does; and the truth, which nobody knows, is not among what is predicted."""
    ten, pool = tmp_path / "ten.jsonl", tmp_path / "pool.jsonl"
    text = '{"premise": "The judge ran %d miles.", "hypothesis": "The judge ran.", "label": "entailment"}\n'
    ten.write_text("".join(text % n for n in range(4)))
    pool.write_text("".join(text % n for n in range(50)))
    command = ("--data", ten, "--models", *few_models(2), "--dry-run", "--attribution", "lime:samples=10")
    out = rank_models(*command, "--task", "nli", "--pool", pool)[1].splitlines()
    assert out[0] == "models on ten: 2 models, 50 rows, 4 to explain with lime"
    assert "untouched: rows: 50 to predict, 4 to explain; " in out[1]
    assert "untouched: rows: 4 to explain; " in rank_models(*command)[1]
    by_factor = ("--ood", "hans-sub", "--pool", pool, "--method", "pool-factor")
    assert "untouched: rows: 50 to explain; " in rank_models(*command, *by_factor)[1]
    home = ("--task", "nli", "--in-domain", ten)
    assert "untouched: rows: 4 to predict, 4 to explain; " in rank_models(*command, *home)[1]
    status, _, err = rank_models(*command, "--task", "nli", "--pool", tmp_path / "none.jsonl")
    assert (status, "none.jsonl" in one_line(err)) == (2, True)
    told = rank_models(*(part for part in command if part != "--dry-run"), *by_factor)[2]
    assert "INDEX-DIFF reads attributions of 50 rows: lime takes about " in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--ood hans-sub --pool none.jsonl", "`--pool` is for `--data`"),
        ("--ood hans-sub --method ACC", "`--method` is for `--data`"),
        ("--ood hans-sub --task nli", "`--task` is for the rows of `--data FILE`"),
        ("--ood hans-sub --columns text=a", "`--columns` is for files of your own"),
        ("--data ten.jsonl --models a b --draws 5", "`--draws` is for `--ood`, without `--data`"),
        ("--ood hans-sub --draws x --dry-run", "`--draws` must be a number of at least 1, or `exact` (got x)"),
        ("--data ten.jsonl --models a b --limit 5", "`--limit` is for `--ood`, without `--data`"),
    ],
)
def test_an_option_of_the_other_mode_is_refused(rank_models, arguments, message):
    """An option that would be ignored is refused."""
    status, out, err = rank_models(*arguments.split())
    assert (status, out) == (2, "")
    assert message in one_line(err)


@pytest.mark.more
def test_columns_are_of_the_in_domain_rows_too(rank_models, tmp_path):
    """Columns are also read of in-domain rows that stand beside a set with known columns."""
    home = tmp_path / "home.csv"
    home.write_text("before,after,gold\nThe judge ran.,The judge ran.,entailment\n")
    models = (few_models(1)[0], few_models(8)[7])
    command = ("--ood", "hans-sub", *PLAIN, "--models", *models, "--in-domain", home)
    assert rank_models(*command, "--columns", "text=before,text=after,label=gold")[0] == 0
    assert "no column has a usual name" in one_line(rank_models(*command)[2])


@pytest.mark.more
def test_the_format_is_that_of_the_file(rank_models, tmp_path):
    """As its name ends; a format that was named wins."""
    models = (few_models(1)[0], few_models(8)[7])
    command = ("--ood", "hans-sub", *PLAIN, "--limit", "60", "--models", *models)
    rank_models(*command, "-o", tmp_path / "answer.json")
    assert json.loads((tmp_path / "answer.json").read_text())["header"]["ood"] == "hans-sub"
    rank_models(*command, "-o", tmp_path / "answer.html", "--format", "csv")
    assert not (tmp_path / "answer.html").read_text().startswith("<!")


def test_a_file_that_ends_like_no_format_is_refused(rank_models, tmp_path):
    """Before any work, with the endings that there are; unless a format was named."""
    for command in (("--ood", "hans-sub"), ("explain", "--ood", "hans-sub", "--id", "x")):
        status, out, err = rank_models(*command, "-o", tmp_path / "answer.xlsx")
        assert (status, out) == (2, "")
        assert one_line(err).startswith(f"`--output`: {tmp_path / 'answer.xlsx'} ends like no format (.")
        assert ".html, .json" in err
    assert "there is no OOD set" in rank_models("--ood", "hans", "-o", tmp_path / "answer.xlsx", "--format", "csv")[2]


def test_a_run_that_cannot_be_kept_is_answered_all_the_same(rank_models, tmp_path, monkeypatch):
    """The answer comes first; what cannot be written is one line and the exit status."""

    def full(self, path):
        raise UsageError("the disk is full")

    monkeypatch.setattr(Ranking, "save", full)
    models = (few_models(1)[0], few_models(8)[7])
    command = ("--ood", "hans-sub", *PLAIN, "--limit", "60", "--models", *models)
    status, out, err = rank_models(*command, "--save", tmp_path / "run.json")
    assert (status, one_line(err)) == (2, "the disk is full")
    assert "untouched" in out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_full_stdout_is_one_line():
    """Exit status 1, no traceback, and nothing said at the end of the process."""
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "ranker", "ls", "formats"]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (
        1,
        "rank-models: stdout cannot be written to: No space left on device\n",
    )


def test_no_arguments_show_the_help(rank_models):
    """As it is, with the status of a wrong call."""
    status, out, err = rank_models("store")
    assert (status, out) == (2, "")
    assert err.startswith("Usage: rank-models store")


@pytest.mark.more
def test_settings_of_a_backend(rank_models):
    """Settings stand behind the backend's name, go into the provenance, and are checked."""
    models = (few_models(1)[0], few_models(8)[7])
    command = ("--ood", "hans-sub", *FEW, "--models", *models, "--format", "json")
    answer = json.loads(rank_models(*command, "--attribution", "IG:steps=4,baseline=pad", "--normalise", "l1")[1])
    provenance = answer["header"]["provenance"]
    assert answer["header"]["attribution"] == "ig"
    assert provenance["norm"] == "l1"
    assert (provenance["settings"]["steps"], provenance["settings"]["baseline"]) == (4, "pad")
    for options, message in (
        ("ig:stepz=4", "there is no key of `ig` 'stepz'; did you mean steps?"),
        ("ig:steps=many", "`--attribution ig:steps=many`: `steps` must be a whole number (got 'many')"),
        ("ig:steps=0", "`--attribution ig:steps=0`: `steps` must be between 1 and `max_steps`, 320 (got 0)"),
        ("ig:target=2", "the target must be one of non-entailment (0), entailment (1) (got 2)"),
        ("ig:baseline=zeros", "`baseline` must be one of mask, pad, zero (got 'zeros')"),
    ):
        status, _, err = rank_models(*command, "--attribution", options)
        assert status == 2
        assert message in one_line(err)


@pytest.mark.more
def test_a_smaller_population(rank_models):
    """`--population` bounds what is explained; the truth stays that of all rows."""
    models = (few_models(1)[0], few_models(8)[7])
    command = ("--ood", "hans-sub", *PLAIN, "--models", *models, "--format", "json")
    few = json.loads(rank_models(*command, "--population", "20")[1])
    provenance, all_rows = few["header"]["provenance"], json.loads(rank_models(*command)[1])
    assert (provenance["population"], provenance["data"]["rows"]) == (20, 600)
    assert few["evaluation"]["models"][0]["outcome"] == all_rows["evaluation"]["models"][0]["outcome"]


@pytest.mark.more
def test_a_kept_run_is_reported_again(rank_models, tmp_path):
    """A saved run gives the same report in every format, without a model, and says what command made it."""
    models = (few_models(1)[0], few_models(8)[7])
    command = ("--ood", "hans-sub", *QUICK, "--models", *models)
    first = rank_models(*command, "--save", tmp_path / "run.json")
    stored_command = json.loads((tmp_path / "run.json").read_text())["header"]["provenance"]["command"]
    assert shlex.split(stored_command) == ["rank-models", *command, "--save", str(tmp_path / "run.json")]
    assert rank_models("report", tmp_path / "run.json") == (0, first[1], "")
    pairs = rank_models(*command, "--format", "pairs")[1]
    assert rank_models("report", tmp_path / "run.json", "--format", "pairs", "-o", tmp_path / "pairs.txt")[0] == 0
    assert (tmp_path / "pairs.txt").read_text() == pairs


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read as a ranking"),
        ("{}", "must be a ranking of schema 2 (got None); rank again"),
        ('{"schema_version": 1}', "must be a ranking of schema 2 (got 1); rank again"),
        ('{"schema_version": 2, "header"', "cannot be read as a ranking"),
        ('{"schema_version": 2}', "is no whole ranking"),
    ],
)
def test_what_is_no_run_is_not_reported(rank_models, tmp_path, content, message):
    """A file that is missing, cut off, of another schema or of something else is one line and exit status 2."""
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    status, out, err = rank_models("report", tmp_path / "run.json")
    assert (status, out) == (2, "")
    assert message in one_line(err)


@pytest.mark.more
def test_a_model_below_chance_at_home_is_pointed_out(rank_models, tmp_path):
    """Labels mapped the wrong way round show on in-domain rows, before anyone trusts the rank."""
    models = [*few_models(2), tmp_path / "wrong"]
    shutil.copytree(few_models(1)[0], models[2])
    config = json.loads((models[2] / "config.json").read_text())
    config["id2label"] = {"0": "entailment", "1": "non-entailment"}
    config["label2id"] = {"entailment": 0, "non-entailment": 1}
    (models[2] / "config.json").write_text(json.dumps(config))
    home = tmp_path / "home.jsonl.gz"
    home.write_bytes(sample("nli", 60, ["non-entailment", "entailment"]))
    command = ("--ood", "hans-sub", "--limit", "30", "--models", *models, *PLAIN[:-1])
    status, out, err = rank_models(*command, "--in-domain", home)
    assert status == 0
    assert re.search("- wrong is right on only .* % of the in-domain rows, chance is 50.0 %", out)
    assert "wrong is right on only" in err
    assert "untouched is right on only" not in out


@pytest.mark.more
def test_options_from_a_file(rank_models, tmp_path):
    """`--config` holds options, the command line wins, and an unknown key is refused."""
    file = tmp_path / "run.toml"
    text = 'attribution = "none"\nmethods = "AVG-CONF"\nquiet = true\nformat = "json"\n'
    file.write_text(f'ood = "hans-sub"\nprobe = 5\nlimit = 30\n{text}')
    assert json.loads(rank_models("run", "--config", file)[1])["header"]["probe"] == 5
    assert json.loads(rank_models("run", "--config", file, "--probe", "7")[1])["header"]["probe"] == 7
    file.write_text("prob = 5\n")
    status, _, err = rank_models("run", "--config", file)
    assert status == 2
    assert "did you mean probe?" in one_line(err)


@pytest.mark.slow
def test_an_installed_wheel_does_the_main_job(tmp_path):
    """The wheel holds the embedded data and models: installed apart and run elsewhere, it does the main job."""
    root = Path(__file__).parents[3]
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / "dist", root], check=True
    )
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--no-deps", "--target", tmp_path / "site", wheel], check=True
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "RANK_MODELS_STORE": str(tmp_path / "store")}
    done = subprocess.run(
        [sys.executable, "-m", "ranker", "--ood", "hans-sub", "--probe", "10", "--limit", "30"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "INDEX-DIFF" in done.stdout
