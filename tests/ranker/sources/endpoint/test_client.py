"""Requests to a server: retries, limits, the budget, and what is kept."""

import os
import ssl
import subprocess
import threading
import time
from collections import deque

import pytest
from servers import serving, tokens_of

from ranker.errors import StoreError, UsageError
from ranker.sources.endpoint.asking import in_order
from ranker.sources.endpoint.client import Client, NotKept, RowError, Server, ServerError, Share, is_loopback
from ranker.sources.endpoint.journal import FILE, Journal, request_name
from ranker.sources.endpoint.options import EndpointOptions
from ranker.sources.endpoint.replies import BadReply, Reply, parse_reply

BODY = {"model": "tiny", "prompt": "a row", "max_tokens": 1, "temperature": 0}


def client_of(server, journal=None, key_name="", run="run", **options):
    """A client that does not wait long between attempts."""
    address = Server(server if isinstance(server, str) else server.url, key_name, EndpointOptions(**options), run)
    return Client(address, journal or Journal(None), first_pause=0.01)


def ask(client, prompt="a row", expected=None, **fields):
    """The reply to one prompt."""
    return client.ask("m", "/completions", {**BODY, "prompt": prompt, **fields}, "", expected)


def test_a_reply_is_kept_and_not_asked_again(tmp_path):
    """A second client sends nothing, one of another round does, and one that is offline raises for others."""
    with serving() as server:
        first = ask(client_of(server, Journal(tmp_path)))
        again = client_of(server, Journal(tmp_path))
        assert ask(again) == first
        assert len(server.requests) == 1
        again.ask("m", "/completions", BODY, "later round")
        assert len(server.requests) == 2
        offline = client_of(server, Journal(tmp_path))
        offline.offline = True
        ask(offline)
        with pytest.raises(NotKept):
            ask(offline, "another row")
        assert len(server.requests) == 2


@pytest.mark.parametrize("wrong", ["429", "429 0", "500", "503", "cut", "junk", "408"])
def test_what_may_pass_is_tried_again(wrong):
    """Two failures, then the reply: three requests, one answer."""
    with serving(wrong=deque([wrong, wrong])) as server:
        assert ask(client_of(server)).text
        assert len(server.requests) == 3


@pytest.mark.few(1)
@pytest.mark.parametrize(("wrong", "reason"), [
    ("500", "replies with status 500: not now"), ("503", "replies with status 503: not now"),
    ("junk", "it replies with what is no answer of this protocol"), ("cut", "breaks off"),
])  # fmt: skip
def test_a_row_without_a_reply_is_said_in_one_line_and_not_kept(wrong, reason):
    """After all attempts the row has failed, and the next time it is asked again."""
    with serving(wrong=deque([wrong] * 6)) as server:
        client = client_of(server)
        with pytest.raises(RowError, match=reason) as failed:
            ask(client)
        assert not failed.value.final
        assert "\n" not in str(failed.value)
        assert len(server.requests) == 6
        assert ask(client).text


@pytest.mark.parametrize("status", ["400", "413", "422"])
def test_a_refused_request_is_final(status):
    """Such a request is sent once, and never again."""
    with serving(wrong=deque([status] * 3)) as server:
        client = client_of(server)
        for _ in range(2):
            with pytest.raises(RowError, match="it refuses the request: not now") as failed:
                ask(client)
            assert failed.value.final
        assert len(server.requests) == 1


@pytest.mark.parametrize(("wrong", "tokens"), [("400", 0), ("404", 0), ("429 3600", 0), ("500", None)])
def test_a_request_that_is_refused_costs_no_tokens(wrong, tokens):
    """A server that broke may have done the work, so then the most that the request may take counts."""
    with serving(wrong=deque([wrong] * 6)) as server:
        client = client_of(server)
        with pytest.raises((RowError, ServerError)):
            ask(client)
        requests, spent = client.journal.spent("run")
        assert requests == len(server.requests)
        assert spent == tokens if tokens is not None else spent > 0


def test_a_model_that_is_not_there_is_asked_for_again(tmp_path):
    """The model may be loaded later; what else is refused stays so."""
    for wrong, requests in (("404", 2), ("400", 1)):
        (tmp_path / wrong).mkdir()
        with serving(wrong=deque([wrong])) as server:
            with pytest.raises(RowError):
                ask(client_of(server, Journal(tmp_path / wrong)))
            if wrong == "404":
                assert ask(client_of(server, Journal(tmp_path / wrong))).text
            else:
                with pytest.raises(RowError):
                    ask(client_of(server, Journal(tmp_path / wrong)))
            assert len(server.requests) == requests


def test_a_refusal_that_is_not_to_be_kept_is_asked_for_again():
    """A server that could not answer a first request may do so later."""
    with serving(wrong=deque(["400"])) as server:
        client = client_of(server)
        with pytest.raises(RowError):
            client.ask("m", "/completions", BODY, "", keep_refusals=False)
        assert ask(client).text
        assert len(server.requests) == 2


@pytest.mark.parametrize("status", ["401", "403"])
def test_a_wrong_key_is_never_tried_again(status):
    """The server counts as one that cannot be asked."""
    with serving(wrong=deque([status] * 3)) as server:
        with pytest.raises(ServerError, match=f"replies with status {status}: not now; the key"):
            ask(client_of(server))
        assert len(server.requests) == 1


def test_a_server_says_how_long_to_wait():
    """Retry-After is waited for, though the pause by itself would be shorter; an hour is not."""
    with serving(wrong=deque(["429 1"])) as server:
        began = time.monotonic()
        ask(client_of(server))
        assert time.monotonic() - began >= 1
        server.behaviour.wrong.append("429 3600")
        with pytest.raises(ServerError, match=r"asks to wait 1.0 h \(status 429: not now\); the answers so far"):
            ask(client_of(server))


def test_a_redirection_is_not_followed_and_gets_no_key(monkeypatch):
    """The target is named, and nothing is sent there."""
    monkeypatch.setenv("A_KEY", "sk-secret-1")
    with serving(wrong=deque(["redirect"])) as server:
        with pytest.raises(ServerError, match="redirects to http://127.0.0.1:9/v1/completions, which is not followed"):
            ask(client_of(server, key_name="A_KEY"))
        assert len(server.requests) == 1


@pytest.mark.more
def test_a_body_without_end_is_cut_off():
    """A reply that goes on and on is a failure, whatever it holds."""
    with serving(wrong=deque(["endless"] * 6)) as server:
        client = client_of(server)
        client.attempts = 1
        with pytest.raises(RowError, match="more than 16,777,216 bytes, the most that is read"):
            ask(client)


def test_a_slow_server_is_given_up():
    """After the time that is allowed it counts as one that cannot be asked."""
    with serving(wrong=deque(["slow"] * 9)) as server:
        with pytest.raises(ServerError, match="gave no answer within 0.3 s"):
            ask(client_of(server, request_timeout=0.3))
        assert 1 < len(server.requests) <= 6


def test_headers_that_never_end_are_cut_off():
    """Though a byte comes now and then; other requests of the client go on."""
    with serving(wrong=deque(["trickle"])) as server:
        client = client_of(server, request_timeout=0.4)
        began = time.monotonic()
        assert ask(client).text
        assert len(server.requests) == 2
        assert 0.8 <= time.monotonic() - began < 5


def test_a_client_that_stops_sends_nothing():
    """Not even a first attempt."""
    with serving() as server:
        client = client_of(server)
        client.stopping.set()
        with pytest.raises(ServerError, match="is not asked any more"):
            ask(client)
        assert not server.requests


def test_no_server_is_no_reason_to_wait():
    """An address where nothing listens is refused at the first attempt, which costs no tokens."""
    client = client_of("http://127.0.0.1:9/v1")
    with pytest.raises(ServerError, match=r"127.0.0.1:9 cannot be reached: .*refused"):
        ask(client)
    assert client.journal.spent("run") == (1, 0)


@pytest.mark.parametrize("change", ["other model", "other fingerprint"])
def test_another_model_behind_the_same_address_is_refused(change):
    """A reply of another model than the first is not kept."""
    with serving(wrong=deque([change])) as server:
        client = client_of(server)
        expected = Reply("", model="tiny", fingerprint="f1")
        with pytest.raises(ServerError, match=r"replied as the \w+ '\w+', and now replies as '\w+'; `refetch`"):
            ask(client, expected=expected)
        assert ask(client, expected=expected).fingerprint == "f1"
        assert len(server.requests) == 2


def test_a_budget_of_requests_is_never_exceeded(tmp_path):
    """Neither by several clients of one run in many threads, nor by retries; another run has its own."""
    with serving(wrong=deque(["500"] * 30)) as server:
        clients = [client_of(server, Journal(tmp_path), max_requests=50, concurrency=20) for _ in range(2)]
        failures = []

        def work(client, start):
            try:
                list(in_order(client, lambda n: ask(client, f"row {n}"), range(start, start + 100)))
            except ServerError as error:
                failures.append(str(error))

        threads = [threading.Thread(target=work, args=(client, 100 * n)) for n, client in enumerate(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.requests) == 50
        assert len(failures) == 2
        assert all("the budget of the run is spent, after 50 requests" in failure for failure in failures)
        ask(client_of(server, Journal(tmp_path), max_requests=50, run="another"), "row 500")
        assert len(server.requests) == 51


def test_a_budget_of_tokens_is_never_exceeded():
    """A request that might exceed it is not sent; what others used is counted as the server counts it."""
    with serving() as server:
        client = client_of(server, max_tokens=1_000)
        prompts = (f"row {number} " + "word " * 20 for number in range(1_000))
        with pytest.raises(ServerError, match=r"the budget of the run is spent, after \d+ requests and \d+ tokens"):
            list(in_order(client, lambda prompt: ask(client, prompt), prompts))
        used = sum(len(tokens_of(body["prompt"])) + 1 for _, body, _ in server.requests)
        assert 500 < used <= 1_000
        assert client.journal.spent("run") == (len(server.requests), used)


def test_a_share_holds_its_last_request_and_token():
    """And what a request did not need is given back."""
    share = Share(2, 100)
    assert not share.take(101)
    assert share.take(60)
    assert share == Share(1, 40, 1)
    share.settle(60, 10)
    assert share == Share(1, 90, 0)
    assert share.take(90)
    assert not share.take(0)


def test_a_share_counts_tokens_as_the_server_does():
    """Requests wait for those in flight, which may need less than their most; then the share is spent."""
    with serving() as server:
        client, share = client_of(server, concurrency=4), Share(6, 400)
        replies = in_order(
            client, lambda n: client.ask("m", "/completions", {**BODY, "prompt": f"row {n}"}, "", share=share), range(7)
        )
        with pytest.raises(RowError, match="the model's share of the budget is spent") as failed:
            list(replies)
        assert failed.value.spent
        assert share == Share(0, 400 - sum(len(tokens_of(body["prompt"])) + 1 for _, body, _ in server.requests))
        assert len(server.requests) == 6


def test_many_requests_at_a_time():
    """As many as are allowed, and no more; results come in order."""
    with serving(together=40) as server:
        client = client_of(server, concurrency=40)
        replies = list(in_order(client, lambda n: (n, ask(client, f"row {n}").text), range(200)))
        assert [number for number, _ in replies] == list(range(200))
        assert server.most_at_once == 40


def test_what_was_in_flight_is_kept_when_the_caller_stops():
    """Nothing further is sent, and every request that was sent has its reply in the journal."""
    with serving(delay=0.02) as server:
        client = client_of(server, concurrency=4)
        results = in_order(client, lambda n: ask(client, f"row {n}"), range(100))
        next(results)
        results.close()
        sent = [body for _, body, _ in server.requests]
        assert len(sent) < 30
        assert all(client.journal.reply(request_name("m", "/completions", body, "")) for body in sent)
        ask(client, "a row after that")


def test_the_key_is_in_no_message(monkeypatch, tmp_path):
    """A server that quotes it, in any escapes, is quoted without it, and the journal has no trace of it."""
    monkeypatch.setenv("A_KEY", "sk-secret-1")
    with serving(key="sk-secret-2") as server:
        with pytest.raises(ServerError) as refused:
            ask(client_of(server, Journal(tmp_path), key_name="A_KEY"))
        assert "Incorrect API key provided: Bearer ***" in str(refused.value)
        assert server.requests[0][2]["Authorization"] == "Bearer sk-secret-1"
        server.behaviour.key = "sk-secret-1"
        ask(client_of(server, Journal(tmp_path), key_name="A_KEY"))
    assert not any(b"sk-secret" in file.read_bytes() for file in tmp_path.iterdir())
    assert "sk-secret" not in repr(client_of("http://127.0.0.1:9/v1", key_name="A_KEY"))
    monkeypatch.setenv("A_KEY", "sk-abc/def+ghi")
    with serving(wrong=deque(["leak"])) as server, pytest.raises(ServerError) as refused:
        ask(client_of(server, Journal(tmp_path), key_name="A_KEY"), "another row")
    assert "bad key: Bearer ***" in str(refused.value)


@pytest.mark.parametrize(("value", "expected"), [
    ("", "needs the key in A_KEY"), ("two words", "A_KEY holds what cannot be a key"), ("ä", "what cannot be a key"),
])  # fmt: skip
def test_a_key_that_is_none_is_refused_before_anything_is_sent(monkeypatch, value, expected):
    """The key is named by its variable, never by its value."""
    monkeypatch.setenv("A_KEY", value)
    with serving() as server:
        with pytest.raises(UsageError, match=expected) as refused:
            ask(client_of(server, key_name="A_KEY", api_key_env=("A_KEY",)))
        assert not server.requests
        assert not value or value not in str(refused.value)


def test_texts_for_this_machine_go_through_no_proxy(monkeypatch):
    """Though the environment names one for everything."""
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving() as server:
        assert ask(client_of(server)).text


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1.example.com", "0.0.0.0", "192.168.0.1", "localhost.evil"])
def test_other_machines_are_not_taken_for_this_one(host):
    """Only the loopback's addresses and its name are this machine."""
    assert not is_loopback(host)


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"choices": []}', '{"choices": [{"text": 3}]}', "[" * 100_000,
                                  '{"choices": [{"text": "a", "logprobs": {"tokens": ["a"]}}]}'])  # fmt: skip
def test_what_is_no_reply_is_a_bad_one(body):
    """Malformed JSON raises one kind of error."""
    with pytest.raises(BadReply):
        parse_reply(body)


def test_a_journal_that_cannot_be_used_is_named(tmp_path):
    """A damaged file is one line."""
    (tmp_path / FILE).write_bytes(os.urandom(5_000))
    with pytest.raises(StoreError, match="cannot be used: file is not a database"):
        Journal(tmp_path)


def test_a_certificate_that_nobody_signed_is_refused(tmp_path, monkeypatch):
    """At once, with the variable that names further ones; with that the server is asked."""
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    words += ["-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with serving() as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = server.url.replace("http:", "https:")
        with pytest.raises(ServerError, match="has a certificate that is not trusted: .*; SSL_CERT_FILE names"):
            ask(client_of(url))
        assert not server.requests
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        assert ask(client_of(url)).text


@pytest.mark.parametrize("number", ["0.5", "true", '"-0.5"', "NaN", "Infinity"])
def test_what_is_no_log_probability_is_a_bad_reply(number):
    """Above 0, not finite, or no number at all."""
    for field in ('"token_logprobs": [%s]', '"token_logprobs": [-1], "top_logprobs": [{"a": %s}]'):
        with pytest.raises(BadReply):
            parse_reply('{"choices": [{"text": "a", "logprobs": {"tokens": ["a"], ' + field % number + "}}]}")


def test_a_sentinel_is_no_log_probability():
    """-9999 says that there is none; counts that are none are unknown."""
    body = '{"choices": [{"text": "a", "logprobs": {"tokens": ["a"], "token_logprobs": [-9999.0], "top_logprobs": [{'
    body += '"a": -1, "b": -9999}]}}], "usage": {"prompt_tokens": 1e400, "completion_tokens": null}}'
    reply = parse_reply(body)
    assert reply.tokens[0].logprob != reply.tokens[0].logprob
    assert reply.tokens[0].top == {b"a": -1.0}
    assert (reply.prompt_tokens, reply.output_tokens) == (-1, -1)
    hidden = parse_reply('{"choices": [{"message": {"content": null}, "logprobs": {"content": [{"token": "a", '
                         '"logprob": -1}]}}]}')  # fmt: skip
    assert (hidden.text, hidden.tokens) == ("", ())


def test_halves_of_characters_are_kept_as_they_are_escaped(monkeypatch, tmp_path):
    """A reply with one can be kept, though no encoding has it."""
    monkeypatch.setenv("A_KEY", "sk-abc")
    with serving() as server:
        client = client_of(server, key_name="A_KEY")
        Journal(tmp_path).keep("a", 200, client._redacted_json('{"text": "\\ud800 sk-abc"}'))
    assert Journal(tmp_path).reply("a") == (200, '{"text": "\\ud800 ***"}')


def test_counts_and_pauses_that_are_none_are_not_believed():
    """The most that a request can have counts, and usual pauses are made instead of nan or negative ones."""
    with serving(zeros=True) as server:
        client = client_of(server, max_tokens=1_000)
        with pytest.raises(ServerError, match="the budget of the run is spent, after 2 requests"):
            list(in_order(client, lambda n: ask(client, f"row {n} " + "word " * 20), range(10)))
    with serving(wrong=deque(["429 nan", "429 -5"])) as server:
        assert ask(client_of(server)).text


@pytest.mark.parametrize("proxy", ["foo://127.0.0.1:9", "http://u:p@bad host:9"])
def test_a_proxy_that_is_none_is_one_line(monkeypatch, proxy):
    """Such a proxy is refused at once, without its password."""
    monkeypatch.setenv("HTTP_PROXY", proxy)
    client = client_of("http://192.0.2.1/v1", send_texts=True)
    with pytest.raises(ServerError, match=r"cannot be (asked|reached)") as refused:
        ask(client)
    assert "\n" not in str(refused.value)


def test_a_file_of_certificates_that_is_none_is_one_line(monkeypatch, tmp_path):
    """Missing, or without a certificate."""
    (tmp_path / "empty.pem").write_text("")
    for name in ("missing.pem", "empty.pem"):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / name))
        with pytest.raises(ServerError, match="cannot be asked with these proxies and certificates"):
            ask(client_of("http://127.0.0.1:9/v1"))
