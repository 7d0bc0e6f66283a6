"""A page to label on: the session of the terminal, for a browser on this machine.

The page's address has a token behind its `#`, a part that browsers send to nobody. The page's script states it in a
header, so that no other page, program or user can ask. Every change is a POST from the page's own origin. It states
the number of changes that its page knows of, so that a change sent twice, or by a tab that is behind, is none.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from factors import Example
from ranker.commands.labelling_ui import KEYS, WRITE
from ranker.commands.program import say
from ranker.commands.session_files import SessionFile
from ranker.commands.session_report import report_page
from ranker.errors import DataError, RankModelsError, UsageError
from ranker.files.saving import save
from ranker.files.scratch import Scratch
from ranker.numbers import probability
from ranker.report.escapes import visible
from ranker.report.explain import render
from ranker.report.pages import page
from ranker.report.prose import differences, nodes

HOST = "127.0.0.1"

ACTIONS = ("answer", "skip", "cannot-tell", "undo", "reveal", "stop")
"""Changes that the page can ask for."""

BOX_KEYS = KEYS.replace(WRITE, "")
"""Keys of boxes, and of types of spans; the other one saves them."""

LOOPBACK = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.IGNORECASE)
"""Hosts that a browser on this machine states. A page of another name that resolves to this machine states its own."""

MAX_BODY = 1_000_000
"""Limit on the bytes of a request: twice a cell of 100,000 characters, of up to four bytes."""

IDLE = 3600.0
"""Seconds without a request after which the server stops."""

IDLE_AT_END = 600.0
"""The same once the session has ended; until then the last answer can be taken back, and the report opened."""

POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'"
)

HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # no-referrer would hide the origin of the report's form
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True)
class BoundedBody:
    """Middleware that reads the body of each request first, and refuses one with more than `MAX_BODY` bytes.

    Bytes are counted as they arrive, whatever the headers state. A refused connection is closed.
    """

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        headers = Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            await _refuse("a request states its length once", 400)(scope, receive, send)
            return
        body, ended = bytearray(), False
        while not ended and len(body) <= MAX_BODY:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            ended = not message.get("more_body", False)
        if len(body) > MAX_BODY:
            await _refuse(f"a request has at most {MAX_BODY:,} bytes", 413)(scope, receive, send)
            return
        messages = iter([{"type": "http.request", "body": bytes(body), "more_body": False}])

        async def receive_again() -> Message:
            return next(messages, None) or await receive()

        await self.app(scope, receive_again, send)


def _refuse(text: str, status: int) -> Response:
    """Return a response after which the connection is closed."""
    return PlainTextResponse(text, status, headers={**HEADERS, "connection": "close"})


@dataclass
class LabelPage:
    """Server of one session's page.

    Attributes:
        token: the secret of the page's address.
        step: number of changes that were made.
        requested: time of the last request with the token, in seconds.
        stopped: True once the session was left, or cannot go on.
        error: the error that ended it.
    """

    session: SessionFile
    guidelines: str = ""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    step: int = 0
    requested: float = field(default_factory=time.monotonic)
    stopped: bool = False
    error: RankModelsError | None = None

    @property
    def abandoned(self) -> bool:
        """True if nobody has asked for so long that the server stops."""
        return time.monotonic() - self.requested > (IDLE_AT_END if self.session.ending else IDLE)

    def app(self) -> Starlette:
        """Return the application."""
        routes = [
            Route("/", self.show),
            Route("/state", self.state),
            Route("/models", self.models),
            Route("/differences", self.differences),
            Route("/change", self.change, methods=["POST"]),
            *(Route(path, opened, methods=["POST"]) for path, opened in self._forms.items()),
        ]
        guards = [Middleware(BoundedBody), Middleware(BaseHTTPMiddleware, dispatch=self._guard)]
        return Starlette(routes=routes, middleware=guards)

    @property
    def _forms(self) -> dict[str, Callable[[Request], Awaitable[Response]]]:
        """Path -> page that a form opens beside this one; a form has no headers, so its fields hold the token."""
        return {"/report": self.report, "/attributions": self.attributions}

    async def _guard(self, request: Request, proceed: RequestResponseEndpoint) -> Response:
        """Refuse requests of other origins and without the token; the page itself holds nothing of the session."""
        refusal = await self._refusal(request)
        response = PlainTextResponse(*refusal) if refusal else await proceed(request)
        response.headers.update(HEADERS)
        response.headers.setdefault("content-security-policy", "default-src 'none'; frame-ancestors 'none'")
        return response

    async def _refusal(self, request: Request) -> tuple[str, int] | None:
        headers, path = request.headers, request.scope["path"]
        host, origin = headers.get("host", ""), headers.get("origin")
        if not LOOPBACK.fullmatch(host):
            return "this server has no such name", 403
        if origin != f"http://{host}" and (origin is not None or request.method == "POST"):
            return "only the page itself may ask", 403
        if path == "/":
            return None
        if path in self._forms:
            credentials = "Bearer " + parse_qs((await request.body()).decode("latin-1")).get("token", [""])[0]
        else:
            credentials = headers.get("authorization", "")
        if not secrets.compare_digest(credentials.encode(), f"Bearer {self.token}".encode()):
            return "the token is not that of this session", 403
        self.requested = time.monotonic()
        return None

    async def show(self, _: Request) -> Response:
        """Return the page, without anything of the session."""
        nonce = secrets.token_urlsafe(16)
        return HTMLResponse(
            page("label.html", nonce=nonce), headers={"content-security-policy": POLICY.format(nonce=nonce)}
        )

    async def state(self, _: Request) -> Response:
        """Return what the page shows."""
        return JSONResponse(self._state())

    async def models(self, _: Request) -> Response:
        """Return the models in order."""
        if self.session.pool.wording.blind and not self.session.ending:
            return PlainTextResponse("which model leads is told at the end", 403)
        return JSONResponse(self._order())

    async def differences(self, _: Request) -> Response:
        """Return the two answers of the row that waits, in pieces that differ or not; [] if they are no two."""
        row = self.session.ask()
        answers = () if row is None else self.session.panel.answers
        sides = (differences(*answers) if len(answers) == 2 else None) or ()
        return JSONResponse([[{"text": visible(text), "marked": marked} for text, marked in side] for side in sides])

    async def change(self, request: Request) -> Response:
        """Make a change, and return what the page shows then; 409 if it comes too late."""
        change = _parse(await request.body()) if request.headers.get("content-type") == "application/json" else None
        if change is None:
            return PlainTextResponse("no such change", 400)
        step, action, label = change
        if step != self.step:
            return JSONResponse(
                {**self._state(), "message": "too late: another tab was faster, or this was sent twice"}, 409
            )
        try:
            self._apply(action, label)
        except RankModelsError as error:
            text = visible(str(error))
            if isinstance(error, UsageError) and not isinstance(error, DataError):
                return JSONResponse({**self._state(), "message": text}, 409)
            self.error, self.stopped = error, True
            return PlainTextResponse(text, 500)
        self.step += 1
        return JSONResponse(self._state())

    def _apply(self, action: str, label: str) -> None:
        session, labelling = self.session, self.session.labelling
        entries = {"skip": labelling.skip, "cannot-tell": labelling.cannot_tell}
        if action == "undo":
            session.undo()
        elif action == "reveal":
            session.reveal(label)
        elif action == "stop":
            self.stopped = True
        elif session.ask() is None:
            raise UsageError("no row waits for an answer")
        elif action == "answer":
            session.answer(label)
        else:
            session.record(entries[action])

    async def report(self, _: Request) -> Response:
        """Return the report on the models by the answers so far."""
        return _page_beside(partial(report_page, self.session))

    async def attributions(self, _: Request) -> Response:
        """Return the words behind the predictions for the last answered row."""
        return _page_beside(lambda: render(self.session.explain(), "html"))

    def _state(self) -> dict[str, Any]:
        session, wording = self.session, self.session.pool.wording
        row = None if self.stopped else session.ask()
        keys = wording.keys or KEYS
        return {
            "step": self.step,
            "title": wording.title,
            "noun": wording.noun.capitalize(),
            "blind": wording.blind,
            "labels": [
                {"label": label, "text": visible(wording.of(label)), "key": keys[number : number + 1]}
                for number, label in enumerate(session.pool.labels)
            ],
            "boxes": [
                {"label": label, "text": visible(label), "key": BOX_KEYS[number : number + 1]}
                for number, label in enumerate(session.pool.boxes)
            ],
            "types": [
                {"label": label, "text": visible(label) or "Span", "key": BOX_KEYS[number : number + 1]}
                for number, label in enumerate(session.pool.span_types)
            ],
            "hint": session.pool.hint,
            "quotes": session.pool.quotes,
            "guidelines": visible(self.guidelines),
            "annotator": visible(session.annotator),
            "progress": session.sentence,
            "row": None if row is None else self._row(row),
            "ending": session.ending,
            "verdict": visible(session.verdict),
            "stopped": self.stopped,
            "order": [] if row else self._order(),
            "kept": visible(f"saved in {session.request.output}"),
            "last": self._last(),
            "askable": not session.request.models.precomputed,
        }

    def _row(self, row: Example) -> dict[str, Any]:
        """Return the row that waits, with the answers beside it, and which of them is meant."""
        panel = self.session.panel
        return {
            "number": len(self.session.labelling.lines) + 1,
            "segments": self._segments(row),
            "tokens": [visible(token) for token in self.session.pool.tokens(row)],
            "answers": [
                {"title": title, "nodes": nodes(answer), "text": visible(answer)} for title, answer in panel.titled
            ],
            "current": panel.current,
        }

    def _order(self) -> list[str]:
        """Return a line for each model, the best first, once there is an answer."""
        ranking = self.session.labelling.ranking()
        return [
            f"{visible(model.name)}: the best with a probability of {probability(model.p_best, 0)} %"
            for model in (ranking.models if ranking.answers else ())
        ]

    def _last(self) -> dict[str, Any] | None:
        """Return the last answer, and the models' predictions once they were asked for; None after other entries."""
        labelling = self.session.labelling
        line = labelling.lines[-1] if labelling.lines else None
        if line is None or line.event.status != "answered":
            return None
        row = labelling.rows[line.event.row]
        last: dict[str, Any] = {"label": visible(self.session.last_answer)}
        if line.changed_to is not None:
            predictions = labelling.predictions_for(row).items()
            last |= {
                "segments": self._segments(row),
                "changed_to": visible(labelling.text_of(line.changed_to)),
                "predictions": [[visible(name), visible(label) or "no answer"] for name, label in predictions],
            }
        return last

    def _segments(self, row: Example) -> list[dict[str, Any]]:
        """Return each segment's name, and its text in pieces that are marked or not."""
        names = enumerate(self.session.segment_names(row))
        return [{"name": visible(name), "pieces": [*_pieces(row, number)]} for number, name in names]


def _pieces(row: Example, number: int) -> Iterator[dict[str, Any]]:
    """Cut a segment where a mark begins or ends."""
    text = row.segments[number]
    spans = [(span.start, span.end) for marks in row.marks.values() for span in marks if span.segment == number]
    cuts = sorted({0, len(text), *(end for span in spans for end in span)})
    for start, end in pairwise(cuts):
        marked = any(a <= start and end <= b for a, b in spans)
        yield {"text": visible(text[start:end].replace("\r\n", "\n")), "marked": marked}


def _parse(body: bytes) -> tuple[int, str, str] | None:
    """Return step, action and label of a change; None if it is none."""
    try:
        change = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(change, dict):
        return None
    step, action, label = change.get("step"), change.get("action"), change.get("label", "")
    if type(step) is int and isinstance(action, str) and action in ACTIONS and isinstance(label, str):
        return step, action, label
    return None


def _page_beside(write: Callable[[], str]) -> Response:
    """Return a page, or the error that prevents it."""
    try:
        return HTMLResponse(write(), headers={"content-security-policy": "frame-ancestors 'none'"})
    except RankModelsError as error:
        return PlainTextResponse(visible(str(error)), 500)


def bind(port: int) -> socket.socket:
    """Return a socket on this machine alone; port 0 takes a free one.

    Raises:
        UsageError: the port cannot be used.
    """
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
    except OSError as error:
        bound.close()
        raise UsageError.about("port", f"{port} cannot be used: {error.strerror}", port) from error
    return bound


def serve(session: SessionFile, bound: socket.socket, guidelines: str) -> None:
    """Serve a session's page until the session is left, or nobody asks any more."""
    session.keep()
    server = LabelPage(session, guidelines)
    labelling = session.labelling
    for sentence in labelling.opening_notes():
        say(sentence)
    bound.listen()  # before a browser asks
    address = f"http://{HOST}:{bound.getsockname()[1]}/#{server.token}"
    say(f"label at {address}\nthis address is secret, and for this machine; Ctrl-C stops")
    with Scratch() as scratch:
        open_browser(address, scratch.path)
        session.ask()  # while the browser begins
        asyncio.run(_serve(server, bound))
    if server.error is not None:
        raise server.error
    if not server.stopped:
        say("stopped, since nobody has asked for long")
    for line in filter(None, (session.ending, *session.last_words.splitlines())):
        say(line)


async def _serve(server: LabelPage, bound: socket.socket) -> None:
    options = {"log_config": None, "log_level": "error", "access_log": False, "server_header": False}
    options |= {"http": "h11", "ws": "none", "lifespan": "off"}  # h11 bounds the bytes of headers
    config = uvicorn.Config(server.app(), timeout_graceful_shutdown=2, **options)  # type: ignore[arg-type]
    running = uvicorn.Server(config)
    serving = asyncio.create_task(running.serve(sockets=[bound]))
    try:
        while not serving.done():
            await asyncio.wait([serving], timeout=0.2)
            running.should_exit |= server.stopped or server.abandoned
        await serving
    finally:
        if serving.done() and not serving.cancelled():
            serving.exception()  # a stop by a signal, which ends the loop, too: unread, its traceback is printed


def open_browser(address: str, folder: Path) -> None:
    """Open a browser on this machine, if it has a screen.

    Its command line names a file that only the user can read: the file leads to the address, whose token is then in no
    list of processes.
    """
    screen = sys.platform == "darwin" or any(map(os.environ.get, ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")))
    if not screen or "SSH_CONNECTION" in os.environ:
        return
    file = folder / "label.html"
    content = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={address}">\n'
    file.touch(0o600, exist_ok=False)  # a file keeps its mode when it is replaced
    save(file, content.encode())
    threading.Thread(target=webbrowser.open, args=[file.as_uri()], daemon=True).start()
