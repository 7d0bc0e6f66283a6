"""Servers that fail, each in its own way and from its own moment on: their models are left out in a line, alone."""

import contextlib
import gzip
import json
import math
import os
import re
import socket
import ssl
import struct
import time
from dataclasses import replace
from functools import partial

import httpx2
import numpy as np
import pytest
from fixed_source import FixedSource
from servers import Handler, Server, serving

from factors.types import Example
from ranker.errors import UsageError
from ranker.limits import LIMITS
from ranker.runs.collect import run_models
from ranker.runs.inspected import InspectedModels, check_connected
from ranker.runtime.base import Request
from ranker.runtime.executors.serial import Serial
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store
from ranker.sources.base import ResourceCache, SourceOptions
from ranker.sources.endpoint import kind
from ranker.sources.endpoint.abilities import SAMPLE
from ranker.sources.endpoint.client import Client
from ranker.sources.endpoint.journal import FILE, Journal
from ranker.sources.endpoint.options import EndpointOptions
from ranker.sources.lm.prompts import Prompt
from ranker.sources.references import Reference
from ranker.sources.suites import Model
from ranker.tasks.base import ANSWERED
from ranker.tasks.classes import ClassificationTask

MOOD = ClassificationTask("mood", ("negative", "positive"))
PROMPT = Prompt(name="plain", template="{text} It was ", verbalizers={"positive": ("good",), "negative": ("bad",)})
EXAMPLES = [Example(f"{n}", (f"A row about number {n}.",), n % 2) for n in range(2)]
OPTIONS = EndpointOptions(request_timeout=0.25)
MOMENTS = {"probe": SAMPLE, "words": "Label:", "rows": "row"}
"""Moment from which on a server fails -> what its first such request holds."""

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def status(line, body=b'{"error": {"message": "not now"}}', *headers):
    """A reply with a status line."""
    parts = [b"HTTP/1.1 " + line, b"Content-Length: %d" % len(body), *headers, b"", body]
    return b"\r\n".join(parts)


def ok(body):
    """A reply with status 200."""
    return status(b"200 OK", body if isinstance(body, bytes) else json.dumps(body).encode())


def choice(**changes):
    """A reply with one choice, in which something is not as it should be."""
    logprobs = {"tokens": [" good"], "token_logprobs": [-0.5], "top_logprobs": [{" good": -0.5, " bad": -1.5}]}
    logprobs |= changes.pop("logprobs", {})
    choices = [{"text": " good", "logprobs": logprobs} | changes]
    return ok({"model": "tiny", "system_fingerprint": "f1", "choices": choices})


def number(text):
    """A reply with something else in the place of a log-probability."""
    body = choice(logprobs={"top_logprobs": [{" good": "?", " bad": "?"}]}).partition(b"\r\n\r\n")[2]
    return ok(body.replace(b'"?"', text))


REPLIES = {
    **{f"status {line.decode()}": status(line) for line in (
        b"400 Bad Request", b"401 Unauthorized", b"403 Forbidden", b"404 Not Found", b"405 No", b"413 Large",
        b"418 Tea", b"422 No", b"451 Legal", b"500 Oops", b"502 Bad", b"503 Busy", b"599 Odd",
        b"999 Beyond", b"000 None",
    )},
    "status 204": status(b"204 No Content", b""),
    "status 100 alone": b"HTTP/1.1 100 Continue\r\n\r\n",
    "status 101": status(b"101 Switching Protocols", b"", b"Upgrade: websocket", b"Connection: upgrade"),
    "429 without end": status(b"429 Slow", b"{}", b"Retry-After: 0"),
    "429 for ever": status(b"429 Slow", b"{}", b"Retry-After: 1e300"),
    "429 for a date": status(b"429 Slow", b"{}", b"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT"),
    "a loop of redirections": status(b"302 Found", b"", b"Location: /v1/completions"),
    "a redirection to nowhere": status(b"301 Moved", b""),
    "a redirection to an address that is none": status(b"308 Moved", b"", b"Location: http://[::1"),
    "nothing": b"",
    "an empty body": ok(b""),
    "a page": status(b"200 OK", b"<!doctype html><h1>Welcome</h1>", b"Content-Type: text/html"),
    "null": ok(b"null"), "a list": ok([{}]), "a text": ok("good"), "an object": ok({}), "NaN": ok(b"NaN"),
    "half of a body": ok(b'{"choices": [{"text'),
    "deep": ok(b"[" * 60_000 + b"]" * 60_000),
    "deep objects": ok(b'{"a":' * 60_000 + b"1" + b"}" * 60_000),
    "another encoding": ok('{"choices": "ä"}'.encode("utf-16")),
    "half of a character": choice(logprobs={"tokens": ["\ud800"]}),
    "a number of 5,000 digits": ok(b'{"choices": ' + b"9" * 5_000 + b"}"),
    "an error with status 200": ok({"error": {"message": "no such model"}}),
    "no choices": ok({"choices": []}), "choices of null": ok({"choices": None}),
    "a dictionary of choices": ok({"choices": {"1": {}}}), "choices of texts": ok({"choices": ["good"]}),
    "a number for a text": choice(text=3), "a list for a text": choice(text=[]),
    "a message that is none": choice(message="good"),
    "content in parts": choice(message={"content": [{"text": "good"}]}),
    "another model": ok({"model": "other", "choices": [{"text": " good"}]}),
    "a model that is none": ok({"model": {"a": 1}, "choices": [{"text": " good"}]}),
    "log-probabilities of text": choice(logprobs={"tokens": "good"}),
    "fewer numbers than tokens": choice(logprobs={"tokens": [" good", "."]}),
    "tokens without numbers": choice(logprobs={"token_logprobs": None}),
    "a list for the tokens": choice(logprobs={"top_logprobs": [[" good", -1]]}),
    "no tokens": choice(logprobs={"tokens": [], "top_logprobs": []}),
    "null for the tokens": choice(logprobs={"top_logprobs": [None]}),
    "a record without a number": choice(logprobs={"content": [{"token": " good"}]}),
    "bytes that are none": choice(logprobs={"content": [{"token": " good", "bytes": [999], "logprob": -1}]}),
    **{f"{text.decode()} for a number": number(text) for text in (
        b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e308", b"-9999", b"5", b"0", b"0.002", b"true", b"null",
        b'"-1"', b"[-1]", b"{}",
    )},
    "more than a body": HEAD + b"Content-Length: 2\r\n\r\n{}{}{}",
    "less than a body": HEAD + b"Content-Length: 999\r\n\r\n{",
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "a negative length": HEAD + b"Content-Length: -1\r\n\r\n{}",
    "a length that is none": HEAD + b"Content-Length: two\r\n\r\n{}",
    "a chunk that is none": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    "half of a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\nff\r\n{}",
    "an encoding that is none": HEAD + b"Transfer-Encoding: magic\r\nContent-Length: 2\r\n\r\n{}",
    "gzip that is none": status(b"200 OK", b"junk", b"Content-Encoding: gzip"),
    "half of gzip": status(b"200 OK", gzip.compress(b"{}" * 99)[:20], b"Content-Encoding: gzip"),
    "a bomb of gzip": status(b"200 OK", gzip.compress(b" " * 3_000_000), b"Content-Encoding: gzip"),
    "deflate that is none": status(b"200 OK", b"junk", b"Content-Encoding: deflate"),
    "huge headers": HEAD + b"X: " + b"y" * 300_000 + b"\r\n\r\n{}",
    "many headers": HEAD + b"X: y\r\n" * 30_000 + b"\r\n{}",
    "headers that are none": b"HTTP/1.1 200 OK\r\n\x00: \xff\r\n\r\n",
    "no HTTP": b"220 mail.example ESMTP\r\n",
    "an alert of TLS": b"\x15\x03\x01\x00\x02\x02\x46",
    "HTTP/2": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
    "another version": b"HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "a status that is none": b"HTTP/1.1 abc OK\r\nContent-Length: 2\r\n\r\n{}",
}  # fmt: skip
"""What a server sends instead of a reply -> its bytes, after which it closes the connection."""


def endless(handler):
    """A body without an end."""
    handler.wfile.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        handler.wfile.write(b"1000\r\n" + b" " * 4096 + b"\r\n")


def drip(handler):
    """A reply, byte by byte."""
    for byte in choice():
        handler.wfile.write(bytes([byte]))
        time.sleep(0.02)


def reset(handler):
    """A reset of the connection in the middle of a body."""
    handler.wfile.write(HEAD + b"Content-Length: 999\r\n\r\n{")
    handler.wfile.flush()
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


ACTS = {"endless": endless, "drip": drip, "reset": reset, "silent": lambda handler: time.sleep(0.7)}
"""What else a server does -> function that does it to a request."""

WAYS = sorted([*REPLIES, *ACTS])

MUTE = {
    "probe": {"-1e308 for a number", "-9999 for a number", "-Infinity for a number", "null for a number", "no tokens",
              "null for the tokens", "another model", "a model that is none"},
    "words": {"-1e308 for a number", "-9999 for a number", "-Infinity for a number", "null for a number", "no tokens",
              "null for the tokens"},
    "rows": set(),
}  # fmt: skip
"""Ways that are no failure from a moment on, but those of a server that shows no log-probabilities."""


class FailingHandler(Handler):
    """Replies as the model of `servers` until the moment has come; the path names the moment and the way."""

    def do_POST(self):
        """Reply to a request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        _, moment, number, path = self.path.split("/", 3)
        if MOMENTS.get(moment, "never") in json.dumps(body, ensure_ascii=False):
            self.server.failing.add((moment, number))
        if (moment, number) not in self.server.failing:
            self.path = f"/{path}"
            self.answer(body)
            return
        self.close_connection = True
        way = WAYS[int(number)]
        with contextlib.suppress(OSError, ValueError):
            if way in REPLIES:
                self.wfile.write(REPLIES[way])
            else:
                ACTS[way](self)


class FailingServer(Server):
    """A server for all ways and moments; `failing` has those whose moment has come."""

    def __init__(self, behaviour):
        super().__init__(behaviour)
        self.RequestHandlerClass, self.failing = FailingHandler, set()

    def handle_error(self, *_):
        """Say nothing of clients that have gone."""

    def urls(self, moment):
        """The addresses of all ways to fail from a moment on, and one of a model that does not."""
        ends = [*(f"{moment}/{n}" for n in range(len(WAYS))), "never/0"]
        return [self.url.replace("/v1", f"/{end}/v1") for end in ends]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Clients try twice, hardly wait, and read no certificates; no journal and no file is forced to the disk."""

    def journal(folder):
        in_memory = Journal(None)
        in_memory.folder = folder
        return in_memory

    monkeypatch.setattr(kind, "Journal", journal)
    monkeypatch.setattr(os, "fsync", lambda number: None)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    monkeypatch.setattr(httpx2, "create_ssl_context", lambda: context)
    monkeypatch.setattr(kind, "Client", partial(Client, first_pause=0.001, attempts=2, patience=0.01))


@pytest.fixture(scope="module")
def server():
    """The server that fails."""
    with serving(FailingServer) as failing:
        yield failing


def models_of(*urls, prompt=PROMPT):
    """A prompt on each server: m0, m1 ..."""
    cache, sources = ResourceCache(), []
    options = SourceOptions(kinds=[OPTIONS], limits=replace(LIMITS, reply=200_000))
    for number, url in enumerate(urls):
        (source,) = kind.sources(Reference(url, part="tiny"), options, cache)
        sources.append(Model(replace(source, prompt=prompt, name=f"m{number}")))
    return InspectedModels(tuple(sources), cache=cache)


def asked(models):
    """Answers of models, and the reasons why others were left out; nothing is kept on the disk."""
    requests = [(Request(EXAMPLES),)] * len(models.unpinned)
    return run_models(models, MOOD, requests, Runtime(executor=Serial(), store=None))


@pytest.mark.more
@pytest.mark.parametrize("moment", MOMENTS)
def test_servers_that_fail_leave_out_their_models_alone(server, moment):
    """Each in one line, whatever it does, from the probe, from the words or from the rows on; the last one answers."""
    answers, failures = asked(models_of(*server.urls(moment)))
    names = {f"m{n}": way for n, way in enumerate([*WAYS, "none"])}
    assert {names[name] for name in answers} == MUTE[moment] | {"none"}
    assert all((answer.answers[0].predictions.state == ANSWERED).all() for answer in answers.values())
    lines = {names[name]: reason for name, reason in failures.items()}
    assert [way for way, line in lines.items() if "\n" in line or not 10 < len(line) < 300] == []
    assert [way for way, line in lines.items() if re.search(r"[A-Z]\w*Error\b|Traceback", line)] == []


@pytest.mark.parametrize("served", [0, 1, 3, 5])
def test_a_server_that_is_gone_after_some_requests_leaves_out_its_model(server, served):
    """A server may go before the first row, or in the midst of the rows."""
    with serving() as going:
        answer = going.RequestHandlerClass.answer

        class Going(Handler):
            def answer(self, body, changes=None):
                self.close_connection = len(going.requests) >= served
                if len(going.requests) <= served:  # a request that came meanwhile has no answer
                    answer(self, body, changes)
                if self.close_connection:
                    with contextlib.suppress(OSError):  # another request may have done so
                        going.socket.shutdown(socket.SHUT_RDWR)  # from now on nobody can connect
                    going.socket.close()

        going.RequestHandlerClass = Going
        if not served:
            going.socket.close()
        answers, failures = asked(models_of(going.url, server.urls("rows")[-1]))
    assert list(answers) == ["m1"]
    assert list(failures) == ["m0"]
    assert re.search("cannot be reached|breaks off|gave no answer", failures["m0"])


def test_a_journal_that_cannot_be_used_leaves_out_models_behind_servers_alone(server, tmp_path, monkeypatch):
    """The file is damaged, and other models need no journal."""
    monkeypatch.setattr(kind, "Journal", Journal)
    (tmp_path / FILE).write_bytes(b"no database" * 1_000)
    models = InspectedModels((*models_of(server.urls("rows")[-1]).unpinned, Model(FixedSource("polite", MOOD.labels))))
    runtime = Runtime(executor=Serial(), store=Store(tmp_path))
    answers, failures = run_models(models, MOOD, [(Request(EXAMPLES),)] * 2, runtime)
    assert list(answers) == ["polite"]
    assert re.fullmatch(r".*responses.sqlite3 cannot be used: file is not a database", failures["m0"])


@pytest.mark.parametrize(("urls", "refused"), [
    (["dead", "dead"], True), (["dead", "well"], False), (["well", "dead"], False), (["dead", "polite"], False),
])  # fmt: skip
def test_a_wrong_address_is_refused_at_once_only_if_no_other_model_is_left(server, urls, refused):
    """Else it is left out later, and is not asked again for that."""
    addresses = {"dead": "http://127.0.0.1:9/v1", "well": server.urls("rows")[-1]}
    models = models_of(*[addresses[url] for url in urls if url in addresses])
    unpinned = (*models.unpinned, *([Model(FixedSource("polite", MOOD.labels))] if "polite" in urls else []))
    if refused:
        with pytest.raises(UsageError, match="127.0.0.1:9 cannot be reached"):
            check_connected(unpinned, models.cache)
        return
    check_connected(unpinned, models.cache)
    answers, failures = asked(InspectedModels(unpinned, cache=models.cache))
    assert len(answers) == len(failures) == 1
    assert "127.0.0.1:9 cannot be reached" in next(iter(failures.values()))


def test_texts_that_may_not_be_sent_are_refused_beside_other_models(server):
    """A missing option is no failure of a server."""
    models = models_of("http://192.0.2.1/v1", server.urls("rows")[-1])
    with pytest.raises(UsageError, match="`send_texts` allows that"):
        check_connected(models.unpinned, models.cache)


class EchoingHandler(Handler):
    """Repeats the prompt with its log-probabilities, which `server.changed` changes."""

    def send(self, status, body, headers=None, length=None):
        """Send a reply."""
        if self.server.requests[-1][1].get("echo"):
            content = json.loads(body)
            self.server.changed(content, content["choices"][0]["logprobs"])
            body = json.dumps(content)
        super().send(status, body, headers, length)


def numbers_of(value):
    """A change of all log-probabilities but the first."""
    return lambda content, logprobs: logprobs.update(token_logprobs=[None] + [value] * (len(logprobs["tokens"]) - 1))


ECHOES = {
    "zeros": (numbers_of(0.0), "has a probability of about 1"),
    "nearly zeros": (numbers_of(-1e-6), "has a probability of about 1"),
    "above zero": (numbers_of(0.7), "gives 0.7 as a log-probability"),
    "not a number": (numbers_of(math.nan), "gives nan as a log-probability"),
    "infinite": (numbers_of(math.inf), "gives inf as a log-probability"),
    "minus infinity": (numbers_of(-math.inf), "some tokens have none"),
    "text": (numbers_of("-1.5"), "gives '-1.5' as a log-probability"),
    "null": (numbers_of(None), "some tokens have none"),
    "too few": (lambda content, logprobs: logprobs["token_logprobs"].pop(), "are malformed"),
    "too many tokens": (lambda content, logprobs: content["usage"].update(prompt_tokens=99), "it counts 99 tokens"),
    "more than 1 in one place": (
        lambda content, logprobs: logprobs["top_logprobs"].__setitem__(1, {"a": -0.1, "b": -0.1}),
        "a probability of 1.81",
    ),
    "another prompt": (lambda content, logprobs: logprobs["tokens"].__setitem__(0, "Thy"), ""),
    "more behind the prompt": (lambda content, logprobs: [logprobs[name].insert(-1, value) for name, value in (
        ("tokens", " and"), ("token_logprobs", -1.0), ("top_logprobs", {}))], ""),
}  # fmt: skip
"""What is wrong with a repeated prompt -> the change, and what is said of it; "" for no prompt that is repeated."""


@pytest.mark.few(1)
@pytest.mark.parametrize("wrong", ECHOES)
def test_an_echo_is_believed_only_if_its_numbers_can_be_probabilities(wrong):
    """Else labels are scored by next tokens, as of a server without echo, and a note has the reason."""
    change, words = ECHOES[wrong]
    with serving(echo=True) as echoing:
        believed = asked(models_of(echoing.url))[0]["m0"]
        echoing.RequestHandlerClass, echoing.changed = EchoingHandler, change
        models = models_of(echoing.url)
        answers, failures = asked(models)
    assert failures == {}
    ((_, notes),) = models.cache.noted.values()
    assert any("next tokens" in note for note in notes)
    assert [words in note for note in notes if "(echo) are not used: " in note] == [True] * bool(words)
    probs = [answer.answers[0].predictions.probs for answer in (answers["m0"], believed)]
    np.testing.assert_allclose(*probs, atol=1e-6)


def test_an_echo_that_becomes_impossible_fails_its_rows():
    """A server that is believed at the probe, and says of rows that they were certain."""
    with serving(echo=True) as echoing:
        echoing.RequestHandlerClass = EchoingHandler
        echoing.changed = lambda content, logprobs: (
            None if SAMPLE in "".join(logprobs["tokens"]) else numbers_of(0.0)(content, logprobs)
        )
        answers, failures = asked(models_of(echoing.url))
    assert answers == {}
    assert "it answered no row; failed: by its log-probabilities the prompt has" in failures["m0"]
