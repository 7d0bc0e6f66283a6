"""Client of one server: requests with retries, limits and a budget; each reply is kept in a journal at once."""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import ssl
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote, quote_plus, urlsplit

from ranker.errors import DataError, ModelError, UsageError, first_line
from ranker.limits import LIMITS, Limits
from ranker.sources.endpoint.journal import Journal, request_name
from ranker.sources.endpoint.options import EndpointOptions
from ranker.sources.endpoint.pace import PATIENCE, OutOfPatience, Pace, TooMany, too_many
from ranker.sources.endpoint.replies import BadNumbers, BadReply, Reply, error_text, parse_reply

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger(__name__)

ATTEMPTS = 6
"""Attempts for one request; with the pauses between them, they last about a minute."""

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds before the second attempt, and the most before any; each is twice the one before, with jitter."""

LONGEST_EXCHANGE = 2
"""Times `EndpointOptions.request_timeout` that a request and its reply may last."""

TIMEOUTS = 3
"""Times `EndpointOptions.request_timeout` that all attempts for a request may last."""

CONNECT = 10.0
"""Seconds to reach a server."""

ROOM_EVERY = 0.5
"""Seconds between two checks whether the budget has room for a request."""

OVERHEAD = 256
"""Tokens that a server may add to a prompt, as a chat template does."""

FINAL = (400, 404, 413, 422)
"""Statuses that say that the request itself cannot be answered, whoever asks again."""

TRANSIENT = (408, 409, 425)
"""Statuses below 500 after which a request may be sent again."""

LIMITED = 429
"""Status of a server that had too many requests."""

ADVICE = {401: "the key is missing or wrong; name its variable with `api_key_env`", 403: "the key may not do this"}
"""Status -> what to do about it."""


class ServerError(ModelError):
    """A server cannot be asked at all; the model is left out."""


class RowError(Exception):
    """One request has no reply, while others may have.

    Attributes:
        final: it would have none again.
        spent: the model's share of the budget has no room for it.
        doubtful: it has one, whose log-probabilities cannot be any.
    """

    def __init__(self, reason: str, final: bool = False, doubtful: bool = False, spent: bool = False) -> None:
        super().__init__(reason)
        self.final, self.doubtful, self.spent = final, doubtful, spent


@dataclass
class Share:
    """Share of one model of the budget of a run, so that all models are asked about the same rows.

    Attributes:
        requests, tokens: left of it; infinite without a limit.
        in_flight: requests that have no reply yet.
    """

    requests: float
    tokens: float
    in_flight: int = 0

    def take(self, tokens: int) -> bool:
        """Take a request with its most tokens; return False where there is no room."""
        if self.requests < 1 or self.tokens < tokens:
            return False
        self.requests, self.tokens, self.in_flight = self.requests - 1, self.tokens - tokens, self.in_flight + 1
        return True

    def settle(self, reserved: int, used: int) -> None:
        """Give back what a request did not need."""
        self.tokens, self.in_flight = self.tokens + reserved - used, self.in_flight - 1


class NotKept(Exception):
    """A reply is not in the journal, and nothing may be sent."""


class Failed(Exception):
    """An attempt failed, and another may succeed."""

    def __init__(self, reason: str, reached: bool = True) -> None:
        super().__init__(reason)
        self.reached = reached


@dataclass(frozen=True)
class Server:
    """A server, and how it is asked.

    Attributes:
        url: start of its addresses, without a slash at the end: "http://127.0.0.1:8080/v1".
        key_name: environment variable with its key; "" for none.
        run: name of the run, whose requests are counted together.
    """

    url: str
    key_name: str
    options: EndpointOptions
    run: str
    limits: Limits = LIMITS

    @property
    def host(self) -> str:
        """Host with its port, as the URL has it."""
        return urlsplit(self.url).netloc

    @property
    def is_local(self) -> bool:
        """True if the host is this machine by its name or its address."""
        return is_loopback(urlsplit(self.url).hostname or "")


def is_loopback(host: str) -> bool:
    """Return True if a host is this machine.

    Example:
        >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("::1"), is_loopback("10.0.0.1")
        (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.casefold() == "localhost"


@dataclass
class Client:
    """Client of one server, used by several threads.

    Attributes:
        attempts, first_pause, patience: see `ATTEMPTS`, `FIRST_PAUSE` and `PATIENCE`.
        stopping: set to send nothing more.
        limited: it has refused a request since it had too many.
        met: the server has replied to this client.
        stated: (model of the server, "model" or "fingerprint") -> what its first reply said of itself.
        failures: name of a probe of the abilities of a model -> why it failed.
        in_flight: number of requests that were sent and have no reply yet.
        room: notified when one has its reply.
    """

    server: Server
    journal: Journal
    offline: bool = False
    attempts: int = ATTEMPTS
    first_pause: float = FIRST_PAUSE
    patience: float = PATIENCE
    stopping: threading.Event = field(default_factory=threading.Event)
    met: bool = False
    limited: bool = False
    stated: dict[tuple[str, str], str] = field(default_factory=dict)
    failures: dict[str, ServerError] = field(default_factory=dict)
    pace: Pace = field(init=False)
    in_flight: int = 0
    room: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self.pace = Pace(self.server.options.concurrency, self.first_pause, self.patience)

    def ask(
        self,
        place: str,
        path: str,
        body: Mapping[str, Any],
        round: str,
        expected: Reply | None = None,
        keep_refusals: bool = True,
        share: Share | None = None,
    ) -> Reply:
        """Return the reply to a request, from the journal if it is there.

        Args:
            place: the model of the server.
            round: see `Journal.round`.
            expected: an earlier reply; one of another model is refused, and not kept.
            keep_refusals: keep it, too, that a request cannot be answered.
            share: of the budget; None takes what there is.

        Raises:
            NotKept: it is not kept, and the client is offline.
            RowError: this request cannot be answered.
            ServerError: the server cannot be asked, has changed its model, or the budget of the run is spent.
        """
        name = request_name(place, path, body, round)
        stored = self.journal.reply(name)
        if stored is None:
            if self.offline:
                raise NotKept(name)
            stored = self._send(place, path, body, expected, share)
            if stored[0] == 200 or (keep_refusals and stored[0] != 404):  # a model may be loaded later
                self.journal.keep(name, *stored)
        status, content = stored
        if status != 200:
            raise RowError(f"it refuses the request: {error_text(content)}", final=True)
        return parse_reply(content)

    @cached_property
    def key(self) -> str:
        """Key of the server; "" without one.

        Raises:
            UsageError: the variable that is named for it is not set, or its value cannot be a key.
        """
        key = os.environ.get(self.server.key_name, "").strip() if self.server.key_name else ""
        if not key and any(self.server.key_name in text for text in self.server.options.api_key_env):
            text = f"needs the key in {self.server.key_name} (`api_key_env`), which is not set"
            raise UsageError.of(self.server.host, text, option="api_key_env")
        if not (key.isascii() and key.isprintable()) or " " in key:
            text = f"{self.server.key_name} holds what cannot be a key: it has blanks or unprintable characters"
            raise UsageError(text, option="api_key_env")
        return key

    @cached_property
    def _http(self) -> httpx2.Client:
        """Pool of connections."""
        options = self.server.options
        try:
            import httpx2

            http = httpx2.Client(
                headers={"Authorization": f"Bearer {self.key}"} if self.key else {},
                timeout=httpx2.Timeout(options.request_timeout, connect=CONNECT, pool=None),
                limits=httpx2.Limits(
                    max_connections=options.concurrency, max_keepalive_connections=options.concurrency
                ),
                verify=httpx2.create_ssl_context(),  # which honours SSL_CERT_FILE
                trust_env=not self.server.is_local,  # texts for this machine go through no proxy
                follow_redirects=False,
            )
        except (ImportError, ValueError, OSError) as error:  # of a proxy, or a file of certificates
            text = f"cannot be asked with these proxies and certificates: {self._redacted(first_line(error))}"
            raise ServerError.of(self.server.host, text) from error
        weakref.finalize(self, http.close)
        return http

    def _send(
        self, place: str, path: str, body: Mapping[str, Any], expected: Reply | None, share: Share | None
    ) -> tuple[int, str]:
        """Send a request until it is answered -> the status and the body of the reply. Limits are waited for."""
        while True:
            try:
                with self.pace.turn(self.stopping):
                    return self._retried(place, path, body, expected, share)
            except TooMany as refusal:
                if not self.limited:
                    self.limited = True
                    log.warning("%s: refuses requests for now: %s; they wait", self.server.host, refusal)
            except OutOfPatience as error:
                raise ServerError.of(self.server.host, str(error)) from error

    def _retried(
        self, place: str, path: str, body: Mapping[str, Any], expected: Reply | None, share: Share | None
    ) -> tuple[int, str]:
        """Send a request, and again where that may help -> the status and the body of the reply."""
        import stamina

        stamina.instrumentation.set_on_retry_hooks([])  # else each attempt is a line on stderr

        def may_pass(error: Exception) -> bool:
            return isinstance(error, Failed) and not self.stopping.is_set()

        retries = stamina.retry_context(
            on=may_pass, attempts=self.attempts, timeout=TIMEOUTS * self.server.options.request_timeout,
            wait_initial=self.first_pause, wait_max=LONGEST_PAUSE, wait_jitter=self.first_pause,
        )  # fmt: skip
        try:
            for attempt in retries:
                with attempt:
                    return self._attempt(place, path, body, expected, share)
        except Failed as error:
            if error.reached:
                raise RowError(str(error)) from error
            raise ServerError.of(self.server.host, str(error), option="models") from error
        raise AssertionError("an attempt returns or raises")

    def _attempt(
        self, place: str, path: str, body: Mapping[str, Any], expected: Reply | None, share: Share | None
    ) -> tuple[int, str]:
        """Send a request once; it counts for the budget, whatever comes of it."""
        import httpx2

        if self.stopping.is_set():
            raise ServerError.of(self.server.host, "is not asked any more")
        content = json.dumps(body, ensure_ascii=False).encode()
        most = len(content) + OVERHEAD + int(body["max_tokens" if "max_tokens" in body else "max_completion_tokens"])
        self._reserve(most, share)
        used = most
        try:
            status, text, headers = self._exchange(path, content)
            self.met = True
            if 200 <= status < 300:
                reply = parse_reply(text)
                if reply.prompt_tokens > 0 and reply.output_tokens >= 0:
                    used = reply.prompt_tokens + reply.output_tokens
                self._check_same(place, reply, expected)
                self.pace.answered(headers)
                return 200, text
            used = 0 if status < 500 else most
        except BadNumbers as error:  # which it would give again
            raise RowError(str(error), final=True, doubtful=True) from error
        except BadReply as error:
            raise Failed(str(error)) from error
        except httpx2.ConnectError as error:
            used = 0
            if isinstance(error.__context__, ssl.SSLError) or "CERTIFICATE" in str(error).upper():
                text = f"has a certificate that is not trusted: {first_line(error)}; SSL_CERT_FILE names further ones"
                raise ServerError.of(self.server.host, text, option="models") from error
            reason = f"cannot be reached: {first_line(error) or type(error).__name__}"
            if not self.met:
                raise ServerError.of(self.server.host, reason, option="models") from error
            raise Failed(reason, reached=False) from error
        except httpx2.TimeoutException as error:
            raise Failed(f"gave no answer within {self.server.options.request_timeout:g} s", reached=False) from error
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError) as error:
            text = f"cannot be asked: {self._redacted(first_line(error))}"
            raise ServerError.of(self.server.host, text, option="models") from error
        except (httpx2.HTTPError, RuntimeError, OSError) as error:  # the latter two of connections that were closed
            raise Failed(f"breaks off: {self._redacted(first_line(error)) or type(error).__name__}") from error
        finally:
            self._settle(most, used, share)
        return self._refused(status, text, headers)

    def _refused(self, status: int, text: str, headers: Mapping[str, str]) -> tuple[int, str]:
        """Return a status that is final for the request; raise the others."""
        message = error_text(text)
        if 300 <= status < 400:
            target = self._redacted(headers.get("location", "elsewhere"))[:200]
            predicate = f"redirects to {target}, which is not followed; name that address if you trust it"
            raise ServerError.of(self.server.host, predicate, option="models")
        if status in FINAL:
            return status, text
        if status == LIMITED or (status >= 500 and "retry-after" in headers):
            raise too_many(f"status {status}: {message}", text, headers, time.time())
        if status in TRANSIENT or status >= 500:
            raise Failed(f"replies with status {status}: {message}")
        advice = f"; {ADVICE[status]}" if status in ADVICE else ""
        raise ServerError.of(self.server.host, f"replies with status {status}: {message}{advice}", option="models")

    def _exchange(self, path: str, content: bytes) -> tuple[int, str, Mapping[str, str]]:
        """Send bytes -> status, body without the key, and headers. A body that never ends is cut off."""
        parts: list[bytes] = []
        ends = time.monotonic() + self.server.options.request_timeout
        headers = {"Content-Type": "application/json"}
        http = self._http
        with (
            self._bounded(http),
            http.stream("POST", self.server.url + path, content=content, headers=headers) as response,
        ):
            for part in response.iter_bytes():
                parts.append(part)
                try:
                    self.server.limits.check(self.server.host, "reply", sum(map(len, parts)))
                except DataError as error:
                    raise BadReply(str(error)) from error
                if time.monotonic() > ends:
                    raise BadReply(f"its reply did not end within {self.server.options.request_timeout:g} s")
            body = b"".join(parts).decode("utf-8", "replace")
            return response.status_code, self._redacted_json(body), response.headers

    @contextmanager
    def _bounded(self, http: httpx2.Client) -> Iterator[None]:
        """Close the connections if a request lasts too long in all: a server may send its headers byte by byte."""

        def close() -> None:
            if vars(self).get("_http") is http:
                del self._http
            http.close()

        timer = threading.Timer(LONGEST_EXCHANGE * self.server.options.request_timeout, close)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _redacted(self, text: str) -> str:
        """Return a text of the server without the key, which it may quote, as it is or as an address."""
        for form in {self.key, quote(self.key), quote(self.key, safe=""), quote_plus(self.key)} - {""}:
            text = text.replace(form, "***")
        return text

    def _redacted_json(self, body: str) -> str:
        """Return a body without the key, however JSON escapes it."""
        if not self.key:
            return body
        try:
            content = json.loads(body)
            return self._redacted(json.dumps(content))
        except (ValueError, RecursionError):
            return self._redacted(body)

    def _reserve(self, tokens: int, share: Share | None) -> None:
        """Count a request; refuse it where the budget of the run, or the model's share, has no room for it."""
        options, run = self.server.options, self.server.run
        with self.room:
            while share is not None and not share.take(tokens):
                if share.in_flight and not self.stopping.is_set():
                    self.room.wait(ROOM_EVERY)
                    continue
                reason = "the model's share of the budget is spent; a larger `max_requests` or `max_tokens` goes on"
                raise RowError(reason, spent=True)
            while not self.journal.reserve(run, tokens, options.max_requests, options.max_tokens):
                if self.in_flight and not self.stopping.is_set():  # which may need less than their most
                    self.room.wait(ROOM_EVERY)
                    continue
                self._refuse_spent()
            self.in_flight += 1

    def _settle(self, reserved: int, used: int, share: Share | None) -> None:
        """Replace the most tokens of a request by those that were used."""
        self.journal.settle(self.server.run, reserved, used)
        with self.room:
            if share is not None:
                share.settle(reserved, used)
            self.in_flight -= 1
            self.room.notify_all()

    def _refuse_spent(self) -> NoReturn:
        """Raise that the budget has no room for a request."""
        options, run = self.server.options, self.server.run
        requests, spent = self.journal.spent(run)
        text = (
            f"the budget of the run is spent, after {requests:,} requests and {spent:,} tokens; the answers so far are "
        )
        text += "stored, and a larger `max_requests` or `max_tokens` goes on from there"
        raise ServerError(text, option="max_requests" if options.max_requests else "max_tokens")

    def _check_same(self, place: str, reply: Reply, expected: Reply | None) -> None:
        """Refuse a reply of another model than the earlier ones."""
        for name in ("model", "fingerprint"):
            now = getattr(reply, name)
            before = getattr(expected, name, "") or (self.stated.setdefault((place, name), now) if now else "")
            if before and now and before != now:
                text = f"replied as the {name} {before!r}, and now replies as {now!r}; `refetch` asks everything anew"
                raise ServerError.of(self.server.host, text, option="refetch", value=now)
