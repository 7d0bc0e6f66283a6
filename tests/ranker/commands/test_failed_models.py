"""Runs of which a model fails: the others are ranked, and the exit status says so, also to the check of CI."""

import csv
from pathlib import Path

import pytest

PROMPT = 'template = "{text} It was "\n[verbalizers]\npositive = ["good"]\nnegative = ["bad"]\n'
DEAD = "dead=openai:http://127.0.0.1:9/v1#tiny"
LEFT_OUT = "dead is left out: 127.0.0.1:9 cannot be reached: [Errno 111] Connection refused"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Rows, two tables of answers, and a prompt."""
    monkeypatch.chdir(tmp_path)
    labels = ["positive", "negative", "negative", "positive"] * 5
    write("rows.csv", ["id", "text", "label"], [(n, f"Row {n}.", label) for n, label in enumerate(labels)])
    write("right.csv", ["id", "prediction"], enumerate(labels))
    write("same.csv", ["id", "prediction"], [(n, "positive") for n in range(len(labels))])
    Path("prompt.toml").write_text(PROMPT)
    return tmp_path


def write(name, header, rows):
    """Write a table."""
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


OPTIONS = ("--data", "rows.csv", "--prompts", "prompt.toml", "--store", "store", "--format", "csv", "--models")


@pytest.mark.few(1)
@pytest.mark.parametrize(("flags", "status", "verdicts"), [
    ((), 1, []),
    (("--not-worse-than", "same"), 3, ["same by more than 2.0 points: dead failed"]),
    (("--not-worse-than", "dead"), 3, ["dead by more than 2.0 points: dead failed"]),
    (("--not-worse-than", "same", "--allow-absent", "--by", "0.9"), 3, ["same by more than 90.0 points: dead failed"]),
])  # fmt: skip
def test_a_server_that_is_gone_is_left_out_in_a_line(folder, rank_models, flags, status, verdicts):
    """The tables beside it are ranked; the check of CI does not pass without it, whatever may be absent."""
    exit_status, out, err = rank_models(*OPTIONS, DEAD, "right.csv", "same.csv", *flags)
    assert exit_status == status
    assert err.splitlines() == [LEFT_OUT, *(f"not shown to be no worse than {verdict}" for verdict in verdicts)]
    assert "right" in out
    assert "same" in out


@pytest.mark.parametrize(("flags", "status"), [((), 1), (("--not-worse-than", "same"), 3)])
def test_with_one_model_left_there_is_nothing_to_rank(folder, rank_models, flags, status):
    """Two lines: why the other was left out, and that nothing can be compared."""
    exit_status, out, err = rank_models(*OPTIONS, DEAD, "same.csv", *flags)
    assert (exit_status, out) == (status, "")
    assert err.splitlines() == [LEFT_OUT, "rank-models: nothing to rank: 1 of 2 models failed"]


@pytest.mark.parametrize("flags", [(), ("--not-worse-than", "dead")])
def test_if_no_model_can_be_asked_no_row_is_read(folder, rank_models, flags):
    """A wrong address is an argument that cannot be right; the file of rows is none, and is not mentioned."""
    Path("rows.csv").write_bytes(b"\0")
    exit_status, out, err = rank_models(*OPTIONS, DEAD, "second=openai:http://127.0.0.1:10/v1#tiny", *flags)
    assert (exit_status, out) == (2, "")
    assert err == "rank-models: 127.0.0.1:9 cannot be reached: [Errno 111] Connection refused\n"


def test_a_part_without_a_model_fails(folder, rank_models):
    """Within each part of a file, too."""
    exit_status, _, err = rank_models(
        *OPTIONS, DEAD, "right.csv", "same.csv", "--within", "label", "--columns", "text=text"
    )
    assert exit_status == 1
    assert "dead" in err


@pytest.mark.parametrize("base", ["same", "broken"])
def test_a_checkpoint_that_fails_is_as_a_server_that_does(folder, rank_models, base):
    """The check of CI has one status for both, also if the base model is what failed."""
    Path("broken").mkdir()
    Path("broken", "config.json").write_text(
        '{"model_type": "bert", "architectures": ["BertForSequenceClassification"]}'
    )
    exit_status, out, err = rank_models(
        *OPTIONS[:2], *OPTIONS[4:], "broken", "right.csv", "same.csv", "--not-worse-than", base
    )
    assert exit_status == 3, err
    assert "broken is left out: " in err
    assert "right" in out
