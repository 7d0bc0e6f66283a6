"""Pace of requests to one server: refused for too many, all wait together; then one is sent, then more."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

LONGEST_PAUSE = 60.0
"""Most seconds of a pause whose length no server says: windows of limits mostly last a minute."""

PATIENCE = 300.0
"""Seconds that all requests to a server may be refused before it is given up."""

QUOTA = re.compile(r"insufficient_quota|\bquotas?\b|\bbilling\b|\bcredits?\b|\bper day\b|\bdaily\b|\b[RT]PD\b", re.I)
"""What a server says whose limit is no matter of minutes."""

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}

SPAN = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)(?:ec(?:ond)?s?|in(?:ute)?s?|(?:ou)?rs?|ays?)?(?![a-z])", re.I)
"""A number of seconds, minutes and so on: "1m", "6.5s", "20 seconds"."""

WORDS = re.compile(r"\b(?:again|retry|wait)\b[^.\d]{0,40}((?:\d+(?:\.\d+)?\s*[a-z]+[\s,]*)+)", re.I)
"""A wait in a server's message."""


class TooMany(Exception):
    """A server refuses a request since it had too many.

    Attributes:
        pause: seconds that it asks to wait; None if it does not say.
        quota: it is a quota of a day or of an account, that no wait helps.
    """

    def __init__(self, reason: str, pause: float | None, quota: bool = False) -> None:
        super().__init__(reason)
        self.pause, self.quota = pause, quota


class OutOfPatience(Exception):
    """A server's limits last too long to be waited for; the message says why."""


@dataclass
class Pace:
    """Pace of all requests to one server, by the threads that send them.

    A refusal stops all for the time that the server asks for, or else for a pause that doubles as long as nothing is
    answered. Then a single request is sent, and with each reply one more at a time, up to the most.

    Attributes:
        most: requests at a time.
        first_pause: seconds of the first pause whose length the server does not say.
        patience: seconds without any reply after which the limits are not waited for.
        wait: function of a condition and of seconds by that clock, which waits so long, or until it is notified.

    Source: additive increase of Chiu and Jain 1989, "Analysis of the increase and decrease algorithms", after a
    decrease to one.
    """

    most: int
    first_pause: float = 0.5
    patience: float = PATIENCE
    now: Callable[[], float] = time.monotonic
    wait: Callable[[threading.Condition, float], object] = threading.Condition.wait
    _changed: threading.Condition = field(default_factory=threading.Condition, repr=False)
    _sent: int = 0
    _allowed: int = 0
    _closed_until: float = -math.inf
    _refused_since: float = math.inf
    _pause: float = 0.0
    _closings: int = 0

    def __post_init__(self) -> None:
        self._allowed = self.most

    @contextmanager
    def turn(self, stopping: threading.Event) -> Iterator[None]:
        """Wait until a request may be sent, or nothing is sent any more; hold its place until it has its reply.

        Raises:
            OutOfPatience: a `TooMany` was raised within it, and the limits last too long to be waited for.
        """
        with self._changed:
            while not stopping.is_set():
                closed = self._closed_until - self.now()
                if closed <= 0 and self._sent < self._allowed:
                    break
                self.wait(self._changed, min(max(closed, 0.0), TICK) or TICK)
            self._sent += 1
            closings = self._closings
        try:
            yield
        except TooMany as error:
            with self._changed:
                self._close(error, closings)
            raise
        finally:
            with self._changed:
                self._sent -= 1
                self._changed.notify_all()

    def answered(self, headers: Mapping[str, str]) -> None:
        """Send more at a time after a reply; or wait, where its headers say that it was the last for now."""
        with self._changed:
            self._refused_since, self._pause = math.inf, 0.0
            self._allowed = min(self._allowed + 1, self.most)
            if (wait := until_more(headers)) is not None and wait <= self.patience:
                self._closed_until = max(self._closed_until, self.now() + wait)
            self._changed.notify_all()

    def _close(self, refusal: TooMany, closings: int) -> None:
        """Stop all requests for a while. Refusals of those that were sent before the last stop are of the same one."""
        now = self.now()
        self._refused_since = min(self._refused_since, now)
        if closings == self._closings:
            self._closings += 1
            self._pause = min(max(2 * self._pause, self.first_pause), LONGEST_PAUSE)
        again = self._pause > self.first_pause  # a server that asks for less than it needs is not believed
        pause = max(refusal.pause or 0.0, self._pause if again or refusal.pause is None else 0.0)
        self._allowed = 1
        self._closed_until = max(self._closed_until, now + pause)
        if refusal.quota or self._closed_until - self._refused_since > self.patience:
            raise OutOfPatience(refusal_text(refusal, self.patience))


TICK = 0.25
"""Most seconds between two looks at whether to stop."""


def refusal_text(refusal: TooMany, patience: float = PATIENCE) -> str:
    """Return why a server is not waited for, as a predicate.

    Example:
        >>> refusal_text(TooMany("status 429: slow down", 7200.0))
        'asks to wait 2.0 h (status 429: slow down); the answers so far are stored, so go on later'
    """
    if refusal.quota:
        asks = "has a quota that is used up"
    elif refusal.pause is None or refusal.pause <= patience:
        asks = f"has refused all requests for {patience / 60:.0f} min"
    else:
        hours = refusal.pause / 3600
        asks = f"asks to wait {f'{hours:,.1f} h' if hours >= 1 else f'{refusal.pause / 60:.0f} min'}"
    return f"{asks} ({refusal}); the answers so far are stored, so go on later"


def too_many(reason: str, message: str, headers: Mapping[str, str], clock: float) -> TooMany:
    """Return the refusal that a reply is.

    Args:
        reason: status and message, for a reader.
        clock: seconds since 1970.

    Example:
        >>> too_many("429", "Please try again in 6m30s", {}, 0).pause
        390.0
        >>> too_many("429", "You exceeded your current quota", {}, 0).quota
        True
    """
    pause = retry_after(headers, clock)
    if pause is None:
        pause = until_more(headers)
    if pause is None and (words := WORDS.search(message)):
        pause = seconds_of(words[1])
    return TooMany(reason, pause, pause is None and QUOTA.search(message) is not None)


def until_more(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until more requests are allowed, where headers say that none is now; else None.

    Example:
        >>> until_more({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m2s"})
        62.0
        >>> until_more({"x-ratelimit-remaining-tokens": "9000", "x-ratelimit-reset-tokens": "7ms"})
    """
    waits = []
    for unit in ("-requests", "-tokens", ""):
        if headers.get(f"x-ratelimit-remaining{unit}", "").strip() == "0":
            wait = seconds_of(headers.get(f"x-ratelimit-reset{unit}", ""))
            waits += [] if wait is None else [wait]
    return max(waits, default=None)


def seconds_of(text: str) -> float | None:
    """Return the seconds that a text says; None where it says none.

    Example:
        >>> seconds_of("1h2m3.5s"), seconds_of("20 seconds"), seconds_of("120ms"), seconds_of("4"), seconds_of("soon")
        (3723.5, 20.0, 0.12, 4.0, None)
    """
    if re.fullmatch(r"\s*\d+(\.\d+)?\s*", text):
        return float(text)
    parts = SPAN.findall(text)
    return sum(float(number) * UNITS[unit.lower()] for number, unit in parts) if parts else None


def retry_after(headers: Mapping[str, str], clock: float) -> float | None:
    """Return the seconds that headers ask to wait: a number, or a date; None if they say neither.

    Example:
        >>> retry_after({"retry-after": "3"}, 0.0), retry_after({"retry-after-ms": "250"}, 0.0)
        (3.0, 0.25)
        >>> retry_after({"retry-after": "Thu, 01 Jan 1970 00:00:09 GMT"}, 4.0), retry_after({"retry-after": "x"}, 0.0)
        (5.0, None)
    """
    text = headers.get("retry-after", "")
    try:
        milliseconds = float(headers.get("retry-after-ms", "nan"))
        seconds = float(text) if math.isnan(milliseconds) else milliseconds / 1000
        return None if math.isnan(seconds) else max(seconds, 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(text).timestamp() - clock, 0.0)
    except (ValueError, TypeError):
        return None
