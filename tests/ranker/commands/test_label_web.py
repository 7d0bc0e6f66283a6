"""The page of `rank-models label --web`, asked without a browser."""

import contextlib
import dataclasses
import json
import os
import stat
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from starlette.testclient import TestClient
from test_label import ENVIRONMENT, ROWS, arguments, command, kept, plain, pool_folder  # noqa: F401  (a fixture)
from test_report_formats import toy

from factors import Example, Span
from ranker.cli import main
from ranker.commands import label_web
from ranker.errors import DataError, RankModelsError

ORIGIN = "http://127.0.0.1:8000"


class Client:
    """The page's script: it states the token, its origin and its step."""

    def __init__(self, server, **overrides):
        self.server, self.step = server, 0
        headers = {"authorization": f"Bearer {server.token}", "origin": ORIGIN, "content-type": "application/json"}
        self.http = TestClient(server.app(), base_url=ORIGIN, headers={**headers, **overrides})

    def state(self):
        """Return what the page shows."""
        state = self.http.get("/state").json()
        self.step = state["step"]
        return state

    def change(self, action, label="", status=200):
        """Return what the page shows after a change."""
        reply = self.http.post("/change", json={"step": self.step, "action": action, "label": label})
        assert reply.status_code == status, reply.text
        state = reply.json()
        self.step = state["step"]
        return state


def served_in(folder, monkeypatch, visit):
    """Runs the command in this process, and calls a function with a client of its page instead of waiting."""

    def serve(session, bound, guidelines):
        server = label_web.LabelPage(session, guidelines)
        session.keep()
        visit(Client(server))

    def run(*flags, **options):
        monkeypatch.setattr(label_web, "serve", serve)
        with contextlib.chdir(folder), pytest.raises(SystemExit) as stop:
            main(arguments("--web", *flags, **options))
        return stop.value.code or 0

    return run


@pytest.fixture
def served(folder, monkeypatch):
    """Runs the command as `served_in` does."""

    def run(visit, *flags, **options):
        return served_in(folder, monkeypatch, visit)(*flags, **options)

    run.folder = folder
    return run


def texts(state):
    """The texts of the row that the page shows."""
    return ["".join(piece["text"] for piece in segment["pieces"]) for segment in state["row"]["segments"]]


def timeless(folder, name="labels.csv"):
    """The bytes of the file, without the columns of times."""
    rows = [{**row, "seconds": "", "when": ""} for row in kept(folder, name)]
    return rows, (folder / name).read_bytes().split(b"\n", 1)[0]


def test_the_file_is_that_of_the_terminal(served):
    """The same entries, undone and repeated ones too, make the same file but for times."""

    def visit(client):
        client.state()
        for action, label in (("answer", "bad"), ("reveal", ""), ("reveal", "good"), ("answer", "good"), ("skip", ""),
                              ("cannot-tell", ""), ("undo", ""), ("answer", "bad"), ("cannot-tell", "")):  # fmt: skip
            client.change(action, label)

    assert served(visit, output="page.csv") == 0
    status, _, err = plain(served.folder, ["1", "v", "2", "2", "s", "0", "u", "1", "0", "q"], output="labels.csv")
    assert (status, err) == (0, "")
    assert timeless(served.folder, "page.csv") == timeless(served.folder)
    assert [row["status"] for row in kept(served.folder)] == [
        "changed-after-reveal", "answered", "skipped", "answered", "cannot-tell"
    ]  # fmt: skip


def test_an_answer_is_on_the_disk_before_the_next_row_is_shown(served):
    """And each undo."""

    def visit(client):
        first = client.state()
        assert kept(served.folder) == []
        second = client.change("answer", "good")
        assert [row["text"] for row in kept(served.folder)] == texts(first)
        assert texts(second) != texts(first)
        assert texts(client.change("undo")) == texts(first)
        assert kept(served.folder) == []

    assert served(visit) == 0


def test_reloads_and_second_tabs_lose_and_double_nothing(served):
    """A reload shows the same row; what is sent twice, or by a tab that is behind, changes nothing, and is said."""

    def visit(client):
        first = client.state()
        assert client.state() == first
        other_client = Client(client.server)
        other_client.state()
        second = client.change("answer", "bad")
        late = other_client.change("answer", "good", status=409)
        assert "too late" in late.pop("message")
        assert late == second
        client.step = 0  # the reply was lost, and the request is sent again
        assert client.change("answer", "bad", status=409)["row"] == second["row"]
        assert [row["label"] for row in kept(served.folder)] == ["bad"]
        other_client.change("answer", "good")
        assert [row["label"] for row in kept(served.folder)] == ["bad", "good"]

    assert served(visit) == 0


def test_predictions_are_shown_after_the_answer_alone(served):
    """No reply names a model before; then all do, and the answer given after it is the second one."""

    def visit(client):
        replies = [client.state(), client.change("skip"), client.change("answer", "bad")]
        assert not any(name in str(reply) for name in ("alpha", "beta", "gamma") for reply in replies)
        last = client.change("reveal")["last"]
        assert [name for name, _ in last["predictions"]] == ["alpha", "beta", "gamma"]
        assert (last["label"], last["changed_to"]) == ("bad", "bad")
        assert client.change("reveal", "good")["last"]["changed_to"] == "good"
        assert client.state()["last"]["changed_to"] == "good"  # after a reload
        assert sorted(line.split(":")[0] for line in client.http.get("/models").json()) == ["alpha", "beta", "gamma"]
        client.change("cannot-tell")
        assert "predictions are shown once" in client.change("reveal", status=409)["message"]

    assert served(visit) == 0


def test_what_models_looked_at_is_shown_after_their_predictions(served, monkeypatch):
    """On a page of its own, by the terminal's call, without factors; nothing of it is there before."""

    examples = []

    def looked_at(models, row, *, task, evidence, runtime):
        examples.append((row.segments[0], evidence.factors))
        return dataclasses.replace(toy().examples[0], factors=())

    def visit(client):
        def ask():
            fields = {"token": client.server.token}
            return client.http.post("/attributions", data=fields, headers={"content-type": FORM})

        answered = texts(client.state())
        client.change("answer", "bad")
        assert (ask().status_code, ask().text) == (500, "what models looked at is shown after their predictions")
        client.change("reveal")
        assert not client.state()["askable"]  # these answers lie in files
        assert "nobody can be asked" in ask().text
        monkeypatch.setattr("ranker.runs.explain.explain", looked_at)
        page = ask()
        assert page.status_code == 200
        assert examples == [(answered[0], ())]
        assert "Factor values" not in page.text

    assert served(visit) == 0


def test_the_session_ends_with_the_answer_and_its_report(served):
    """In words, with no row; the last answer can be taken back, and the report is the one of `run --data --pool`."""

    def visit(client):
        client.state()
        for _ in range(2):
            state = client.change("answer", "bad")
            assert state["order"] == []
        end = client.change("answer", "bad")
        assert (end["row"], end["ending"]) == (None, "the budget of 3 answers is spent")
        assert [line.split(": ")[1].startswith("the best with a probability of ") for line in end["order"]] == [
            True
        ] * 3
        assert end["verdict"].startswith("The budget is spent. Cannot say yet: ")
        assert end["kept"] == "saved in labels.csv"
        assert "no row waits" in client.change("answer", "bad", status=409)["message"]
        form = client.http.post("/report", data={"token": client.server.token}, headers={"content-type": FORM})
        assert form.status_code == 200
        assert "SURROGATE puts" in form.text
        taken_back = client.change("undo")
        assert taken_back["row"] is not None
        assert taken_back["ending"] == ""
        assert client.change("stop")["stopped"]
        assert client.server.stopped

    assert served(visit, "--budget", "3") == 0


FORM = "application/x-www-form-urlencoded"


def test_nothing_answers_without_the_token(served):
    """Nor with another one; the page itself, which holds nothing of the session, does."""

    def visit(client):
        before = client.state()
        for token in ("", "Bearer ", "Bearer x", client.server.token, f"Bearer {client.server.token}x"):
            stranger = Client(client.server, authorization=token)
            for path in ("/state", "/models", "/change", "/report", "/attributions", "/docs"):
                assert stranger.http.get(path).status_code == 403
                assert stranger.http.post(path, json={"step": 0, "action": "skip"}).status_code == 403
            shell = stranger.http.get("/")
            assert shell.status_code == 200
            assert "of the pool" not in shell.text
            assert client.server.token not in shell.text
        assert client.state() == before

    assert served(visit) == 0


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "headers",
    [
        {"host": "rebind.example:8000", "origin": "http://rebind.example:8000"},
        {"host": "127.0.0.1.example", "origin": "http://127.0.0.1.example"},
        {"host": "localhost@example", "origin": "http://localhost@example"}, {"host": "", "origin": "http://"},
        {"origin": "http://127.0.0.1:9000"}, {"origin": "https://127.0.0.1:8000"}, {"origin": "http://evil.example"},
        {"origin": "null"}, {"origin": ""},
    ],
)  # fmt: skip
def test_other_hosts_and_origins_are_refused(served, headers):
    """Even with the token: a page of another origin, and a name that resolves to this machine."""

    def visit(client):
        before = client.state()
        stranger = Client(client.server, **headers)
        paths = ("/", "/state", "/models") if "host" in headers else ("/state", "/models")
        assert {stranger.http.get(path).status_code for path in paths} == {403}
        assert stranger.http.post("/change", json={"step": 0, "action": "skip"}).status_code == 403
        assert client.state() == before

    assert served(visit) == 0


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1:1", "[::1]:8000", "LOCALHOST"])
def test_names_of_this_machine_are_taken_with_any_port(served, host):
    """`ssh -L` may give the page another port."""

    def visit(client):
        assert Client(client.server, host=host, origin=f"http://{host}").state() == client.state()

    assert served(visit) == 0


def test_what_is_no_change_is_refused(served):
    """Other methods, types and sizes of requests, and labels that the task does not have; the session goes on."""

    def visit(client):
        client.state()
        change = {"step": 0, "action": "skip"}
        assert {client.http.request(method, "/change").status_code for method in ("GET", "PUT", "DELETE")} == {405}
        assert client.http.post("/state", json=change).status_code == 405
        for body in (b"", b"[", b"[]", b"[" * 9_000, b"{}", b'{"step": "0", "action": "skip"}', b'{"step": true}',
                     b'{"step": 0, "action": "drop"}', b'{"step": 0, "action": ["skip"]}',
                     b'{"step": 0, "action": "answer", "label": 1}'):  # fmt: skip
            assert client.http.post("/change", content=body).status_code == 400
        simple = client.http.post("/change", json=change, headers={"content-type": "text/plain"})
        assert simple.status_code == 400
        assert client.http.post("/change", content=b" " * 1_000_001).status_code == 413
        assert client.http.post("/change", content=iter([b" " * 600_000] * 2)).status_code == 413  # of no stated length
        assert client.http.post("/change", content=iter([b"{}"])).status_code == 400
        assert "must be one of bad (0), good (1)" in client.change("answer", "ugly", status=409)["message"]
        assert "taken back" in client.change("undo", status=409)["message"]
        assert kept(served.folder) == []
        client.change("answer", "good")

    assert served(visit) == 0


def test_every_reply_states_what_it_may_do(served):
    """The page runs its own script alone, each time by another nonce; no reply is kept, framed or guessed at."""

    def visit(client):
        pages = [client.http.get("/") for _ in range(2)]
        nonces = {page.headers["content-security-policy"].split("'nonce-")[1].split("'")[0] for page in pages}
        assert len(nonces) == 2
        for page in pages:
            assert page.text.count("<script") == page.text.count('<script nonce="') == 1
            assert "http" not in page.text.replace("http-equiv", "")
        for reply in (
            *pages,
            client.http.get("/state"),
            client.http.get("/nothing"),
            client.http.get("/state", headers={"host": "x"}),
        ):
            assert reply.headers["cache-control"] == "no-store"
            assert reply.headers["x-content-type-options"] == "nosniff"
            assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
            assert "default-src 'none'" in reply.headers["content-security-policy"]
            assert "set-cookie" not in reply.headers

    assert served(visit) == 0


def test_texts_arrive_as_text(served):
    """Signs that a program would obey are escapes; everything else arrives as it is, however long."""
    hostile = "<script>canary()</script>\x1b[31m\u202ered & 'so' on {{ 1 }}"
    long = "long " * 30_000
    rows = [{"id": f"r{n}", "text": f"{n} {hostile if n % 2 else long}"} for n in range(ROWS)]
    (served.folder / "pool.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    limits = served.folder / "limits.toml"
    limits.write_text("[limits]\ncell = 200_000\n")

    def visit(client):
        escaped = hostile.replace("\x1b", "\\u001b").replace("\u202e", "\\u202e")
        page_texts, state = set(), client.state()
        while page_texts != {True, False}:
            number, text = texts(state)[0].split(" ", 1)
            assert text == (escaped if int(number) % 2 else long)
            page_texts.add(text == long)
            state = client.change("answer", "good")

    assert served(visit, "--config", "limits.toml", pool="pool.jsonl") == 0


def test_marks_are_pieces_of_their_texts(served):
    """Marks may overlap or touch; the pieces together are the text, and those with a mark are its marked parts."""
    marks = {"a": (Span(0, 0, 3), Span(0, 3, 5), Span(1, 2, 4)), "b": (Span(0, 2, 4), Span(0, 8, 9))}

    def visit(client):
        session = client.server.session
        session.row = Example("r0", ("abcdefghi", "0123"), marks=marks)
        pieces = [segment["pieces"] for segment in client.state()["row"]["segments"]]
        assert ["".join(piece["text"] for piece in segment) for segment in pieces] == ["abcdefghi", "0123"]
        marked = ["".join(piece["text"] for piece in segment if piece["marked"]) for segment in pieces]
        assert marked == ["abcdei", "23"]

    assert served(visit) == 0


def test_a_file_that_cannot_be_written_ends_the_session(served):
    """The page gets the reason, and the server stops with the same error."""

    def visit(client):
        client.state()
        client.change("answer", "bad")
        (served.folder / "labels.csv").write_text('id,text,label\nr1,"Row 1 of')
        reply = client.http.post("/change", json={"step": 1, "action": "answer", "label": "bad"})
        assert reply.status_code == 500
        assert "labels-session-1.csv" in reply.text
        assert client.server.stopped
        assert isinstance(client.server.error, DataError)
        assert issubclass(DataError, RankModelsError)

    assert served(visit) == 0


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--web", "--batch", "3"), "`--web` asks on a page; leave out `--batch`"),
        (("--web", "--plain"), "`--web` asks on a page; leave out `--plain`"),
        (("--port", "8000"), "`--port` is for `--web`"),
        (("--web", "--task", "text", "--rule", "best"), "`--rule` best is for labels; here it is order or random"),
    ],
)
def test_options_that_exclude_each_other_are_one_line(folder, flags, says):
    """Before any model is asked."""
    status, _, err = plain(folder, "", *flags)
    assert (status, len(err.splitlines())) == (2, 1)
    assert says in err


def test_a_port_in_use_is_one_line(folder):
    """With the system's reason."""
    with label_web.bind(0) as bound:
        bound.listen()
        port = bound.getsockname()[1]
        status, _, err = plain(folder, "", "--web", "--port", str(port))
    assert (status, err) == (2, f"rank-models: `--port` {port} cannot be used: Address already in use\n")


def test_packages_that_are_missing_are_named(folder, monkeypatch):
    """With the extra that brings them."""
    for name in ("starlette", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)
    status, _, err = plain(folder, "", "--web")
    assert (status, err) == (2, "rank-models: `--web` needs starlette, uvicorn: `pip install 'rank-models[web]'`\n")


@pytest.mark.more
def test_neither_help_nor_the_terminal_imports_a_server(folder):
    """A counter of the work done: what is imported."""
    code = (
        "import sys; from ranker.cli import main\ntry: main()\nexcept SystemExit: pass\n"
        "print({'starlette', 'uvicorn', 'anyio'} & {*sys.modules})"
    )
    for line in (["label", "--help"], arguments("--plain")):
        done = subprocess.run(
            [sys.executable, "-c", code, *line], cwd=folder, input="q\n", capture_output=True, text=True,
            env=ENVIRONMENT, check=True,
        )  # fmt: skip
        assert done.stdout.splitlines()[-1] == "set()"


class Served:
    """The program in a process of its own, with a browser that only notes what it is called with."""

    def __init__(self, folder, *flags, environment=None, **options):
        browser = folder / "browser.sh"
        browser.write_text('#!/bin/sh\ncp "${1#file://}" page.html; echo "$@" > called.txt\n')
        browser.chmod(0o700)
        variables = {**ENVIRONMENT, "BROWSER": str(browser), **(environment or {})}
        variables.pop("SSH_CONNECTION", None)
        self.process = subprocess.Popen(
            command("--web", *flags, **options), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env=variables,
        )  # fmt: skip
        self.lines = []
        while not self.lines or "label at http" not in self.lines[-1]:
            line = self.process.stdout.readline()
            assert line, self.lines
            self.lines.append(line)
        self.address = self.lines[-1].split()[-1]

    def close(self, kill=False):
        """The exit status, and what it said at the end."""
        if kill:
            self.process.kill()
        output, _ = self.process.communicate(timeout=120)
        return self.process.returncode, output


@pytest.mark.more
def test_the_token_is_in_no_list_of_processes(folder):
    """The browser is called with a file that only the user can read; it is gone once the program has ended."""
    with contextlib.closing(SimpleNamespace(close=lambda: served.process.kill())):
        served = Served(folder)
        called = folder / "called.txt"
        for _ in range(100):
            if called.exists() and called.read_text().endswith("\n"):
                break
            time.sleep(0.1)
        token = served.address.split("#")[1]
        assert len(token) >= 43
        file = called.read_text().strip().removeprefix("file://")
        assert token not in called.read_text()
        assert served.address in (folder / "page.html").read_text()
        assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(os.path.dirname(file)).st_mode) == 0o700
        served.process.send_signal(2)
        status, output = served.close()
        assert status == 130
        assert output.splitlines()[-1].startswith("rank-models: stopped; results so far are cached")
        assert not os.path.exists(file)


def test_an_hour_without_a_request_is_long(served, monkeypatch):
    """At the end ten minutes are; a request with the token begins anew, and one without it does not."""
    clock = SimpleNamespace(now=10_000.0)
    monkeypatch.setattr(label_web, "time", SimpleNamespace(monotonic=lambda: clock.now))

    def visit(client):
        client.state()
        for ask, seconds in ((lambda: client.change("answer", "bad"), 3600), (client.state, 3600),
                             (lambda: client.change("answer", "bad"), 600)):  # fmt: skip
            ask()
            clock.now += seconds
            assert not client.server.abandoned
            Client(client.server, authorization="").http.get("/state")
            clock.now += 1
            assert client.server.abandoned

    assert served(visit, "--budget", "2") == 0


def test_it_stops_when_nobody_asks(folder, monkeypatch, capsys):
    """And says so."""
    monkeypatch.setattr(label_web, "IDLE", 0.5)
    monkeypatch.setattr(label_web, "open_browser", lambda address, place: None)
    status, out, err = plain(folder, "", "--web")
    assert (status, err) == (0, "")
    assert "stopped, since nobody has asked for long" in out
    assert "the same command resumes" in out
