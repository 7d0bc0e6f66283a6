"""`rank-models` and a server, as users have them: real processes, a file of rows, a store."""

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
template = "{text} It was "
[verbalizers]
positive = ["good"]
negative = ["bad"]
"""

KEY = "sk-a-secret-of-38-characters-1234567890"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Rows, two prompts, and a store of its own."""
    monkeypatch.chdir(tmp_path)
    rows = [{"text": f"A row about number {n}.", "label": ("positive", "negative")[n % 2]} for n in range(30)]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("first.toml").write_text(PROMPT)
    Path("second.toml").write_text(PROMPT.replace("It was", "All in all, it is"))
    return tmp_path


def command(server, *options):
    """The words of a run."""
    url = server if isinstance(server, str) else server.url
    words = [sys.executable, "-m", "ranker", "run", "--data", "rows.jsonl", "--store", "store", "--format", "json"]
    words += ["--prompts", "first.toml", "--prompts", "second.toml", "--models", f"openai:{url}#tiny"]
    return [*words, *map(str, options)]


def run(server, *options, **environment):
    """A process that has run the program."""
    return subprocess.run(command(server, *options), capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})  # fmt: skip


@pytest.mark.more
def test_the_key_is_nowhere(folder):
    """Neither in a file, a log, a report or an error of a run, nor in the words of any process."""
    with serving(key=KEY, wrong=deque(["401"]), delay=0.05) as server:
        words = command(server, "--api-key-env", "MY_KEY", "--save", "run.json", "-v")
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "MY_KEY": KEY, "OPENAI_API_KEY": "other"})  # fmt: skip
        command_lines = []
        while process.poll() is None:
            for place in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    command_lines.append(place.read_bytes())
                except OSError:  # it has ended meanwhile
                    continue
            time.sleep(0.2)
        outputs = process.communicate()
        assert process.returncode == 1  # the first prompt was refused with 401 in its first row
        assert "Incorrect" not in "".join(outputs)
        wrong = run(server, "--api-key-env", "WRONG", "--refetch", WRONG="sk-wrong-one-987")
        assert wrong.returncode == 2
        assert "Incorrect API key provided: Bearer ***; the key is missing or wrong" in wrong.stderr
    assert server.requests[0][2]["Authorization"] == f"Bearer {KEY}"
    files = [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    texts = [*map(str.encode, (*outputs, wrong.stdout, wrong.stderr)), *files, *command_lines]
    assert len(command_lines) > 20
    assert not any(KEY.encode() in text or b"sk-wrong-one" in text for text in texts)


@pytest.mark.more
def test_wrong_addresses_and_keys_are_refused_before_the_rows_are_read(folder):
    """Though the file of rows is unreadable, too: the server is named first, in a line, with exit code 2."""
    Path("rows.jsonl").write_text("{")
    with serving(key=KEY) as server:
        cases = [
            (server.url, "", "the key is missing or wrong"), ("http://127.0.0.1:9/v1", "", "cannot be reached"),
            ("http://nowhere.invalid/v1", "", "`--send-texts`"), (server.url[:-3], KEY, "cannot complete"),
        ]  # fmt: skip
        for url, key, expected in cases:
            done = run(url, OPENAI_API_KEY=key)
            assert (done.returncode, done.stdout) == (2, ""), done.stderr
            assert expected in done.stderr
            assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.more
def test_a_run_that_is_killed_loses_nothing(folder):
    """Replies of the server are kept; the next run asks for the others alone, and has the same result."""
    with serving() as server:
        uninterrupted = json.loads(run(server).stdout)
        names = set(server.rows())
        assert len(names) == len(server.rows()) == 60
    shutil.rmtree("store")
    with serving(delay=0.03) as server:
        for _ in range(2):
            before = len(server.rows())
            process = subprocess.Popen(command(server, "--concurrency", 4), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
            while len(server.rows()) < before + 12:
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        server.behaviour.delay = 0
        last = json.loads(run(server).stdout)
        twice = len(server.rows()) - len(set(server.rows()))
        assert set(server.rows()) == names
        assert twice <= 2 * 4  # those that were in flight
    assert last["decision"]["models"] == uninterrupted["decision"]["models"]


@pytest.mark.more
def test_the_budget_holds_whatever_the_workers(folder):
    """25 requests and no more, over all members; the next run goes on, and needs no server when all is there."""
    with serving() as server:
        done = run(server, "--max-requests", 25, "--workers", 4)
        assert done.returncode == 1
        assert 23 <= len(server.requests) <= 25
        assert "the model's share of the budget is spent" in done.stderr
        assert "`--max-requests` or `--token-budget`" in done.stderr
        assert run(server).returncode == 0
        assert len(server.rows()) == len(set(server.rows())) == 60
    assert run(server).returncode == 0  # it is closed by now


@pytest.mark.more
def test_a_dry_run_sends_nothing(folder):
    """Host, requests, tokens and money are said."""
    Path("prices.toml").write_text('currency = "EUR"\n[models.tiny]\nprompt = 1000\noutput = 0\n')
    with serving() as server:
        done = run(server, "--dry-run", "--prices", "prices.toml")
        assert not server.requests
        assert f"tiny/first: rows: 30 to predict; 30 to 60 requests to {server.url[7:-3]}, at most" in done.stdout
        assert "in all 60 to 120 requests to" in done.stdout
        assert done.stdout.strip().endswith("EUR; nothing was sent")


@pytest.mark.slow
def test_a_server_that_ends_in_between_leaves_its_model_out(folder):
    """In a line; when it is back, the rest is asked."""
    with serving(wrong=deque(["", "", "", "cut"])) as server:
        process = subprocess.Popen(command(server, "--request-timeout", 1, "--concurrency", 2), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)  # fmt: skip
        while len(server.rows()) < 10:
            time.sleep(0.01)
        server.behaviour.wrong.extend(["slow"] * 1_000)
        _, errors = process.communicate()
        assert process.returncode == 1
        assert "is left out: 127.0.0.1:" in errors
        assert "gave no answer within 1 s" in errors
        server.behaviour.wrong.clear()
        before = set(server.rows())
        assert run(server).returncode == 0
        assert len(set(server.rows())) == 60
        assert before < set(server.rows())


@pytest.mark.more
def test_attributions_need_a_budget(folder):
    """Without one the model is not asked at all; with one they are computed; a dry run may always be had."""
    with serving() as server:
        url = f"openai:{server.url}#tiny"
        words = [sys.executable, "-m", "ranker", "explain", "--data", "rows.jsonl", "--id", "1", "--store", "store",
                 "--models", url, "--prompts", "first.toml", "--attribution", "occlusion:hide=remove"]  # fmt: skip
        refused = subprocess.run(words, capture_output=True, text=True, check=False)
        assert refused.returncode == 2
        assert "set a budget: `--max-requests` or `--token-budget`" in refused.stderr
        assert not server.rows()
        done = subprocess.run([*words, "--max-requests", "30"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert 5 <= len(server.rows()) < 30
        assert "number" in done.stdout


@pytest.mark.more
@pytest.mark.parametrize(("options", "status"), [((), 1), (("--not-worse-than", "tiny/first"), 3)])
def test_rows_that_failed_come_first_and_decide_the_exit_status(folder, options, status):
    """Failed rows are counted above everything else, in the JSON, and never taken for answers."""
    with serving(wrong=deque(["400", "400", "400"])) as server:
        run_of = run(server, *options)
        assert run_of.returncode == status, run_of.stderr
        assert list(json.loads(run_of.stdout)["header"]["failed_answers"].values()) == [3]
        words = ["table" if word == "json" else word for word in command(server, *options)]
        again = subprocess.run(words, capture_output=True, text=True, check=False)
    assert again.returncode == status, again.stderr
    report = " ".join(again.stdout.split())
    assert "Answers that failed: 3 of tiny/" in report[:600]
    assert "They are neither right nor wrong" in report


@pytest.mark.more
def test_a_limit_of_requests_loses_no_row(folder):
    """A server that takes five requests at a time in each half second: all rows are answered."""
    sent = deque()

    def refuses():
        now = time.monotonic()
        while sent and sent[0] < now - 0.5:
            sent.popleft()
        if len(sent) < 5:
            sent.append(now)
            return None
        return 429, "slow down", {}

    with serving(refuses=refuses) as server:
        run_of = run(server)
    ranking = json.loads(run_of.stdout)
    assert run_of.returncode == 0, run_of.stderr
    assert ranking["header"]["probe"] == 30
    assert ranking["header"]["failed_answers"] == {}
    assert "refuses requests for now: status 429: slow down; they wait" in run_of.stderr


PROBES = 7
"""Requests by which a server without log-probabilities is known."""


@pytest.mark.more
def test_a_budget_is_spent_on_the_same_rows_of_all_prompts(folder):
    """With 60 requests, four prompts and rows of one request each has the same rows; a larger budget goes on."""
    for name in ("third", "fourth"):
        Path(f"{name}.toml").write_text(PROMPT.replace("It was", f"The {name} was"))
    prompts = ["--prompts", "third.toml", "--prompts", "fourth.toml"]
    with serving(top=None, echo=False) as server:
        run_of = run(server, *prompts, "--max-requests", 60)
        counts = [len(server.rows(words)) for words in ("It was", "All in all", "The third", "The fourth")]
        assert run_of.returncode == 1, run_of.stderr
        assert len(server.requests) <= 60
        assert counts == [(60 - PROBES) // 4] * 4
        header = json.loads(run_of.stdout)["header"]
        assert header["probe"] == 30
        assert [*header["failed_answers"].values()] == [30 - counts[0]] * 4
        assert "share of the budget is spent" in run_of.stdout
        second = run(server, *prompts)
        assert second.returncode == 0, second.stderr
        assert len(server.rows()) == 4 * 30


@pytest.mark.more
def test_a_server_votes_on_the_pool_within_its_budget(folder):
    """A dry run counts its requests and sends none; a run sends these, once; it is in no table of ranks."""
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    Path("ten.jsonl").write_text("".join(json.dumps({"id": n, **row}) + "\n" for n, row in enumerate(rows[:10])))
    pool = [json.dumps({"id": n, "text": row["text"]}) + "\n" for n, row in enumerate(rows)]
    Path("pool.jsonl").write_text("".join(pool))
    for name, step in (("a", 3), ("b", 4)):
        lines = [f"{n},{row['label'] if n % step else 'negative'}\n" for n, row in enumerate(rows)]
        Path(f"{name}.csv").write_text("".join(["id,prediction\n", *lines]))
    with serving() as server:
        words = [sys.executable, "-m", "ranker", "run", "--data", "ten.jsonl", "--pool", "pool.jsonl"]
        words += [
            "--store",
            "store",
            "--models",
            "a.csv",
            "b.csv",
            "--voters",
            f"openai:{server.url}#tiny",
            "--prompts",
            "first.toml",
        ]

        def run_words(*options):
            return subprocess.run([*words, *options], capture_output=True, text=True, check=False)

        planned = run_words("--dry-run")
        assert "tiny/first: rows: 30 to predict; 30 to 60 requests" in planned.stdout
        assert not server.requests
        header = json.loads(run_words("--format", "json", "--save", "run.json").stdout)["header"]
        assert set(header["voters"]) == {"tiny/first"}
        assert set(header["provenance"]["models"]) == {"a", "b", "tiny/first"}
        assert [model["name"] for model in json.loads(Path("run.json").read_text())["decision"]["models"]] == ["a", "b"]
        assert sorted(server.rows()) == sorted(set(server.rows()))
        assert len(server.rows()) == 30
        short = run_words("--max-requests", "5", "--refetch")
        assert short.returncode == 1
        assert "tiny/first is left out: the budget of the run is spent, after 5 requests" in short.stderr
        assert "a leads" in short.stdout
