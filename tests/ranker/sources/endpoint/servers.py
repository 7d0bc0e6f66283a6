"""A small server of the protocol: a language model of a few words, which can be told to misbehave."""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECES = re.compile(r"\n|:| ?[^\s:]{1,5}|\s")
"""Tokens: up to five characters of a word, with the blank before it."""

WORDS = ("good", "bad", "yes", "no", "positive", "negative", "entailment", "other", "A", "B")
VOCABULARY = sorted({
    piece for word in WORDS for form in (word, f" {word}", word.title()) for piece in PIECES.findall(form)
} | {"\n", "Label", ":", " the", " a"})  # fmt: skip
"""All tokens that the model can write."""


def tokens_of(text: str) -> list[str]:
    """The tokens of a text."""
    return PIECES.findall(text)


def logprobs(prompt: str) -> dict[str, float]:
    """The log-probability of each next token: by a hash, but what was repeated is repeated again."""
    scores = {
        token: 3 * int.from_bytes(hashlib.blake2b(f"{prompt}|{token}".encode(), digest_size=4).digest(), "big") / 2**32
        for token in VOCABULARY
    }
    repeated = re.search(r"(?:Label:(.+)\n)\1?[\s\S]*Label:(.*)$|Repeat: (.+)\nassistant: (.*)$", prompt)
    if repeated:
        word, begun = [group for group in repeated.groups() if group is not None][:2]
        ending = word.removeprefix(begun) if word.startswith(begun) else ""
        scores[tokens_of(ending)[0] if ending else "\n"] = 20.0
    total = math.log(sum(map(math.exp, scores.values())))
    return {token: score - total for token, score in scores.items()}


def score(prompt: str, word: str) -> float:
    """The log-probability of a word after a prompt, token by token."""
    total = 0.0
    for token in tokens_of(word):
        total += logprobs(prompt).get(token, -math.inf)
        prompt += token
    return total


@dataclass
class Behaviour:
    """Abilities and faults of the server."""

    echo: bool = False
    top: int | None = 5_000  # None refuses log-probabilities, 0 ignores the wish
    chat_top: int | None = 20
    completions: bool = True
    chat: bool = True
    key: str = ""  # of requests
    fingerprint: str | None = "f1"
    model: str | None = "tiny"
    wrong: deque[str] = field(default_factory=deque)  # of the next requests about rows: see `Handler.misbehave`
    delay: float = 0.0  # seconds of each reply
    together: int = 1  # requests that must be there at once before any of them has its reply
    limit: int = 100_000  # characters of a prompt
    usage: bool = True  # counts tokens; `zeros` counts none
    zeros: bool = False
    opening: str = ""  # text of a chat before everything else, as one token
    ill: deque[str] = field(default_factory=deque)  # statuses of the next requests for log-probabilities
    refuses: Callable[[], tuple[int, str, dict[str, str]] | None] = lambda: None  # (status, message, headers)


class Server(ThreadingHTTPServer):
    """The server, with the requests that it had: (path, body, headers)."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, behaviour: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviour = behaviour
        self.requests: list[tuple[str, dict, dict]] = []
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()
        self.together = threading.Barrier(behaviour.together, timeout=60)

    @property
    def url(self) -> str:
        """The start of its addresses."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def rows(self, mark: str = "row") -> list[str]:
        """The prompts of the requests that a row's text stands in."""
        prompts = [json.dumps(body.get("prompt", body.get("messages"))) for _, body, _ in self.requests]
        return [prompt for prompt in prompts if mark in prompt]


class Handler(BaseHTTPRequestHandler):
    """Replies to one request."""

    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Requests that follow a redirection would come here."""
        self.server.requests.append((self.path, {}, dict(self.headers)))
        self.send(200, "{}")

    def do_POST(self) -> None:
        """Reply to a request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server, behaviour = self.server, self.server.behaviour
        with server.lock:
            server.requests.append((self.path, body, dict(self.headers)))
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
            about_row = "row" in json.dumps(body)
            wrong = behaviour.wrong.popleft() if about_row and behaviour.wrong else ""
            too_early = behaviour.refuses()
        try:
            time.sleep(behaviour.delay)
            server.together.wait()
            if too_early:
                self.refuse(*too_early)
            elif behaviour.ill and body.get("logprobs"):
                self.refuse(int(behaviour.ill.popleft()), "still loading")
            elif behaviour.key and self.headers.get("Authorization") != f"Bearer {behaviour.key}":
                self.refuse(401, f"Incorrect API key provided: {self.headers.get('Authorization')}")
            elif wrong:
                self.misbehave(wrong, body)
            else:
                self.answer(body)
        finally:
            with server.lock:
                server.at_once -= 1

    def misbehave(self, wrong: str, body: dict) -> None:
        """Do one thing wrong: "429 2" (with Retry-After), "500", "cut", "junk", "endless", "other model" ..."""
        status, _, after = wrong.partition(" ")
        if status.isdecimal():
            self.refuse(int(status), "not now", {"Retry-After": after} if after else {})
        elif wrong == "cut":
            self.send(200, '{"choices": [', length=1_000)
            self.close_connection = True
        elif wrong == "junk":
            self.send(200, "<html>welcome</html>")
        elif wrong == "no-logprobs":
            self.send(200, json.dumps({"choices": [{"text": " a", "logprobs": None}], "model": "tiny"}))
        elif wrong == "redirect":
            self.send(307, "", {"Location": "http://127.0.0.1:9/v1/completions"})
        elif wrong == "endless":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for _ in range(100_000):
                try:
                    self.wfile.write(b"1000\r\n" + b" " * 4096 + b"\r\n")
                except OSError:
                    return
        elif wrong == "trickle":
            try:
                for byte in b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200:
                    self.wfile.write(bytes([byte]))
                    time.sleep(0.05)
            except OSError:
                return
        elif wrong == "slow":
            time.sleep(3)
            self.answer(body)
        elif wrong == "truncated":
            body["prompt"] = body["prompt"][10:]
            self.answer(body)
        elif wrong == "leak":
            escaped = "".join(f"\\u{ord(character):04x}" for character in self.headers["Authorization"])
            self.send(401, '{"error": {"message": "bad key: ' + escaped + '"}}')
        elif wrong == "other model":
            self.answer(body, {"model": "another"})
        elif wrong == "other fingerprint":
            self.answer(body, {"system_fingerprint": "f2"})

    def answer(self, body: dict, changes: dict | None = None) -> None:
        """Answer as the model."""
        behaviour = self.server.behaviour
        chat = self.path == "/v1/chat/completions"
        if not (behaviour.chat if chat else behaviour.completions and self.path == "/v1/completions"):
            self.refuse(404, "File Not Found")
            return
        prompt = body.get("prompt", "")
        if chat:
            prompt = "\n".join(f"{turn['role']}: {turn['content']}" for turn in body["messages"]) + "\nassistant: "
        if len(prompt) > behaviour.limit:
            self.refuse(400, "the request exceeds the context size")
            return
        most = behaviour.chat_top if chat else behaviour.top
        count = (body.get("top_logprobs", 0) if chat else body.get("logprobs") or 0) if body.get("logprobs") else 0
        if count and (most is None or (most and count > most)):
            self.refuse(400, "too many log-probabilities")
            return
        text, tokens = prompt, []
        if chat and behaviour.opening:
            tokens.append((behaviour.opening, -0.01, {behaviour.opening: -0.01, "good": -9.0, "bad": -9.5}))
            text += behaviour.opening
        for _ in range(body["max_tokens"] - len(tokens)):
            options = logprobs(text)
            token = max(options, key=options.get)
            ranked = sorted(options.items(), key=lambda pair: -pair[1])[: count if most else 0]
            tokens.append((token, options[token], dict(ranked)))
            text += token
            if any(stop in text[len(prompt) :] for stop in body.get("stop", ())):
                break
        completion = text[len(prompt) :]
        choice = {"index": 0, "finish_reason": "length"}
        if chat:
            choice["message"] = {"role": "assistant", "content": completion}
            choice["logprobs"] = {"content": [record(*token) for token in tokens]} if count and most else None
        else:
            echoed = [(token, None, None) for token in tokens_of(prompt)] if behaviour.echo and body.get("echo") else []
            for place in range(1, len(echoed)):
                before = "".join(token for token, _, _ in echoed[:place])
                echoed[place] = echoed[place][0], logprobs(before).get(echoed[place][0], -20.0), {}
            listed = echoed + tokens
            choice["text"] = (prompt if echoed else "") + completion
            choice["logprobs"] = {
                "tokens": [token for token, _, _ in listed],
                "token_logprobs": [number for _, number, _ in listed],
                "top_logprobs": [top for _, _, top in listed],
            } if count and most else None  # fmt: skip
        content = {"choices": [choice], "model": behaviour.model, "system_fingerprint": behaviour.fingerprint}
        if behaviour.usage:
            counts = (0, 0) if behaviour.zeros else (len(tokens_of(prompt)), len(tokens))
            content["usage"] = dict(zip(("prompt_tokens", "completion_tokens"), counts, strict=True))
        self.send(200, json.dumps({**content, **(changes or {})}))

    def refuse(self, status: int, message: str, headers: dict | None = None) -> None:
        """Reply with an error."""
        self.send(status, json.dumps({"error": {"message": message, "code": status}}), headers)

    def send(self, status: int, body: str, headers: dict | None = None, length: int | None = None) -> None:
        """Send a reply."""
        content = body.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        self.wfile.write(content)


def record(token: str, logprob: float, top: dict[str, float]) -> dict:
    """A token as chats list it."""
    ranked = [{"token": key, "bytes": list(key.encode()), "logprob": value} for key, value in top.items()]
    return {"token": token, "bytes": list(token.encode()), "logprob": logprob, "top_logprobs": ranked}


@contextmanager
def serving(kind: type[Server] = Server, **changes: object) -> Iterator[Server]:
    """A server that runs in threads of this process."""
    server = kind(Behaviour(**changes))  # type: ignore[arg-type]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
