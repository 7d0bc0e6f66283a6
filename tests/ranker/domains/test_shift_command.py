import csv
import io
import json
from pathlib import Path

import pytest
from published_tables import TABLES


def test_it_answers_in_a_sentence_for_each_domain(run):
    """Then come the tables."""
    status, out, err = run("shift", "hans-sub", "hans-con", "paws", "--quiet")
    assert (status, err) == (0, "")
    first, _, details = out.partition("\n\n")
    assert first == "hans-sub and 2 other domains"
    assert details.startswith("hans-con: far. MMD^2 ")
    assert "\npaws: other. MMD^2 " in details
    assert "texts that repeat one" in out


@pytest.mark.more
def test_every_format_has_the_same_numbers(run):
    """As the name of the file ends, or as `--format` says."""
    texts = {}
    for form in ("json", "csv", "markdown", "latex", "html"):
        status, texts[form], _ = run("shift", "hans-sub", "hans-con", "--format", form, "--quiet")
        assert status == 0
    value = next(m for m in json.loads(texts["json"])["pairs"][0]["measures"] if m["name"] == "auc")["value"]
    rows = {row["measure"]: row for row in csv.DictReader(io.StringIO(texts["csv"]))}
    assert float(rows["auc"]["value"]) == value
    assert all(f"{100 * value:.1f}" in texts[form] for form in ("markdown", "latex", "html"))
    assert run("shift", "hans-sub", "hans-con", "-o", "a.json", "--quiet")[0] == 0
    assert Path("a.json").read_text(encoding="utf-8") == texts["json"]


@pytest.mark.parametrize(("name", "unit"), [("words", "words"), ("distinct_words", "different words")])
@pytest.mark.parametrize("flags", [[], ["--topics", "2"]])
def test_words_keep_to_the_limits_of_the_options_file(run, name, unit, flags):
    """In all, and different ones; whether sets are compared or split."""
    texts = [" ".join(f"word{10 * row + index}" for index in range(10)) for row in range(30)]
    Path("a.csv").write_text("\n".join(["text", *texts]), encoding="utf-8")
    Path("a.toml").write_text(f"limits.{name} = 200\n", encoding="utf-8")
    assert run("shift", "hans-sub", "a.csv", "--config", "a.toml", "--quiet")[0] == 2
    files = ["a.csv"] if flags else ["a.csv", "a.csv"]
    status, out, err = run("shift", *files, "--config", "a.toml", "--quiet", *flags)
    assert (status, out) == (2, "")
    assert err.endswith(f"more than 200 {unit}, the most that is read (`limits.{name}`)\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hans-sub"], "two sets or more are needed, up to 20: in-domain rows, and new ones (got 1)"),
        (["hans-sub", "--by", "x", "--topics", "3"], "`--by` and `--topics` both split a set: give one of them"),
        (["hans-sub", "hans-con", "--format", "pdf"], "there is no format of shifts 'pdf'"),
        (["hans-sub", "nowhere.jsonl"], "nowhere.jsonl"),
        (["two.jsonl", "bad.jsonl"], "no column has a usual name for the text"),
    ],
)
def test_bad_input_gets_one_line(run, tmp_path, arguments, message):
    """And exit status 2."""
    (tmp_path / "two.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n')
    (tmp_path / "bad.jsonl").write_text('{"x": "a"}\n')
    status, out, err = run("shift", *arguments, "--quiet")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--models", "a"), ("--by", "a"), ("--topics", "3"), ("--encoder", "a"),
        ("--plots", "figures"),
    ],
)  # fmt: skip
def test_options_of_texts_are_refused_with_a_table(run, option, value):
    """A table for `--select` has neither rows nor models."""
    status, out, err = run("shift", "--select", TABLES / "boss-sentiment.csv", option, value)
    assert (status, out) == (2, "")
    assert err == f"rank-models: `{option}` is for texts, and `--select` reads a table\n"


def test_sets_are_chosen_from_a_table_in_every_format(run):
    """With each decision and its number; columns that are not read are an error if that is asked."""
    status, out, _ = run("shift", "--select", TABLES / "boss-sentiment.csv")
    assert status == 0
    assert out.startswith("Test sets for Amazon\n\nSets to test on: Dynasent, SemEval, SST.\n")
    rows = csv.DictReader(io.StringIO(run("shift", "--select", TABLES / "boss-sentiment.csv", "--format", "csv")[1]))
    assert {row["name"]: row["chosen"] for row in rows}["IMDb"] == "False"
    for form in ("markdown", "latex", "html"):
        assert (
            "greatest drop: 43.6 points" in run("shift", "--select", TABLES / "boss-sentiment.csv", "--format", form)[1]
        )
    Path("more.csv").write_text((TABLES / "boss-sentiment.csv").read_text().replace("kind", "kind,note", 1))
    assert run("shift", "--select", "more.csv", "--strict")[0] == 2


def test_two_rows_are_answered(run, tmp_path):
    """With "cannot be told", and no failure."""
    (tmp_path / "two.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n')
    status, out, _ = run("shift", "hans-sub", "two.jsonl", "--quiet")
    assert status == 0
    assert "two: cannot be told. two has 2 texts, and 20 are needed." in out


def test_models_are_shown(run, tmp_path):
    """Each model has its loss and labels."""
    answers = tmp_path / "answers.csv"
    lines = {"home": [("a", "yes"), ("b", "no")], "away": [("c", "yes"), ("d", "no")]}
    for name, rows in lines.items():
        text = "".join(
            json.dumps({"text": f"{word} {n}", "label": label}) + "\n" for n in range(30) for word, label in rows
        )
        (tmp_path / f"{name}.jsonl").write_text(text)
    all_rows = [(f"{word} {n}", "yes" if word in "acd" else "no") for word in "abcd" for n in range(30)]
    answers.write_text("text,prediction\n" + "".join(f"{text},{label}\n" for text, label in all_rows))
    files = ("home.jsonl", "away.jsonl", "--quiet")
    status, out, _ = run("shift", *files, "--models", "answers.csv")
    assert status == 0
    assert "home 100.0 away 50.0 +50.0" in " ".join(out.split())
    assert run("shift", *files, "--keep", "home")[2] == "rank-models: `--keep` is for `--select`\n"
    assert run("shift", *files, "--select")[2] == "rank-models: `--select` reads one table (got 2)\n"
