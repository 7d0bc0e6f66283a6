"""A judge behind a server: asked like a model there, under one budget, killed and resumed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

import pytest
from servers import serving

PROMPT = """
segments = ["input", "answer"]
template = "{input} {answer} It was "
[verbalizers]
poor = ["bad"]
fine = ["good"]
"""

NAMES = ("a", "b", "c")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Answers of three models to ten rows, and people's marks of three."""
    monkeypatch.chdir(tmp_path)
    Path("judge.toml").write_text(PROMPT)
    Path("rows.csv").write_text("id,text\n" + "".join(f"q{n},Row {n}\n" for n in range(10)))
    for name in NAMES:
        Path(f"{name}.csv").write_text("id,answer\n" + "".join(f"q{n},says {name} of {n}\n" for n in range(10)))
    marks = [f"q{n},{name},{1 + (n + place) % 5}\n" for n in range(3) for place, name in enumerate(NAMES)]
    Path("marks.csv").write_text("id,model,mark\n" + "".join(marks))
    return tmp_path


def command(server, *options):
    """The words of a run."""
    words = [sys.executable, "-m", "ranker", "run", "--data", "marks.csv", "--range", "1", "5", "--pool", "rows.csv"]
    words += ["--models", "a.csv", "b.csv", "c.csv", "--judge", f"gpt=openai:{server.url}#tiny"]
    return [*words, "--judge-prompt", "judge.toml", "--store", "store", "--format", "json", *map(str, options)]


def run(server, *options):
    """A process that has run the program."""
    return subprocess.run(command(server, *options), capture_output=True, text=True, check=False)


@pytest.mark.more
def test_a_judge_that_is_killed_goes_on(folder):
    """Each answer of each model is marked once; the result is that of a run without a break."""
    with serving() as server:
        uninterrupted = json.loads(run(server).stdout)["decision"]
        names = set(server.rows("Row"))
        assert len(names) == len(server.rows("Row")) == 30
    assert [judge["name"] for judge in uninterrupted["judges"]] == ["gpt"]
    shutil.rmtree("store")
    with serving(delay=0.03) as server:
        words = command(server, "--concurrency", 2)
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        while len(server.rows("Row")) < 12:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        server.behaviour.delay = 0
        last = json.loads(run(server).stdout)["decision"]
        assert set(server.rows("Row")) == names
        assert len(server.rows("Row")) - len(names) <= 2  # those that were in flight
    assert (last["models"], last["judges"]) == (uninterrupted["models"], uninterrupted["judges"])


@pytest.mark.more
def test_a_dry_run_counts_what_a_judge_costs(folder):
    """30 requests, and none is sent about a row; a budget of fewer ends the run, and the next goes on."""
    with serving() as server:
        dry = run(server, "--dry-run")
        assert (dry.returncode, server.rows("Row")) == (0, [])
        assert "gpt: rows: 30 to predict" in dry.stdout
        short = run(server, "--max-requests", 10)
        assert short.returncode == 1
        assert "the budget of the run is spent" in short.stderr
        assert len(server.requests) <= 10
        assert run(server).returncode == 0
        assert len(server.rows("Row")) == len(set(server.rows("Row"))) == 30


@pytest.mark.more
def test_answers_of_a_judge_that_failed_come_first_and_decide_the_exit_status(folder, rank_models):
    """Failed answers are no marks, and the others count."""
    Path("rows.csv").write_text("id,text\n" + "".join(f"q{n},A row {n}\n" for n in range(10)))
    with serving(wrong=deque(["400", "400", "400"])) as server:
        status, out, err = rank_models(*command(server, "--no-isolate")[3:])
        assert status == 1, err
        ranking = json.loads(out)
        assert ranking["header"]["failed_answers"] == {"gpt": 3}
        assert ranking["decision"]["judges"][0]["rows"] == 10
        words = ["table" if word == "json" else word for word in command(server, "--no-isolate")[3:]]
        server.behaviour.wrong = deque(["400", "400", "400"])
        status, out, _ = rank_models(*words)
    assert status == 1
    assert "Answers that failed: 3 of gpt." in " ".join(out.split())


@pytest.mark.more
def test_verdicts_of_a_judge_that_failed_are_none(folder, rank_models):
    """Failed verdicts are counted beside votes: first in the report, in the JSON, and by the exit status."""
    Path("rows.csv").write_text("id,text\n" + "".join(f"q{n},A row {n}\n" for n in range(10)))
    Path("votes.csv").write_text("id,model_a,model_b,winner\nq0,a,b,a\nq1,b,c,b\nq2,a,c,tie\n")
    words = ["--votes", "votes.csv", "--pool", "rows.csv", "--models", "a.csv", "b.csv", "c.csv", "--no-isolate"]
    with serving(wrong=deque(["400"] * 3)) as server:
        words += ["--judge", f"gpt=openai:{server.url}#tiny", "--judge-prompt", "judge.toml", "--store", "store"]
        status, out, err = rank_models(*words, "--format", "json")
        assert status == 1, err
        assert json.loads(out)["failed_answers"] == {"gpt": 3}
        server.behaviour.wrong = deque(["400"] * 3)
        status, out, _ = rank_models(*words)
    assert status == 1
    assert "Answers that failed: 3 of gpt." in " ".join(out.split())


@pytest.mark.more
def test_texts_go_to_other_machines_on_request_alone(folder):
    """As those of models do: a line, before anything is read."""
    with serving() as server:
        words = [word.replace("127.0.0.1", "nowhere.invalid") for word in command(server)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (done.returncode, server.requests) == (2, [])
        assert "`--send-texts`" in done.stderr
