"""Limits of servers: all requests wait together, no row is lost, and a quota of a day is said in words."""

import threading
import time
from collections import deque

import pytest
from servers import serving
from test_client import ask, client_of

from ranker.sources.endpoint.asking import in_order
from ranker.sources.endpoint.client import ServerError
from ranker.sources.endpoint.pace import OutOfPatience, Pace, TooMany, retry_after, seconds_of, too_many, until_more

NEVER = threading.Event()


class SteppedClock:
    """A clock that a wait puts forward, for a single thread."""

    def __init__(self):
        self.time = 0.0

    def now(self):
        """Seconds."""
        return self.time

    def wait(self, condition, seconds):
        """Let seconds pass."""
        self.time += seconds


class FastClock:
    """A clock of which a minute passes in a second, for many threads."""

    speed = 60.0

    def now(self):
        """Seconds."""
        return time.monotonic() * self.speed

    def wait(self, condition, seconds):
        """Wait as long by this clock, or until notified."""
        condition.wait(seconds / self.speed)


class Window:
    """A limit of requests in each window of time: `Behaviour.refuses`."""

    def __init__(self, most, seconds, clock, headers=None):
        self.most, self.seconds, self.clock, self.headers = most, seconds, clock, headers
        self.times, self.refused = deque(), 0

    def __call__(self):
        """Refuse what comes too early."""
        now = self.clock.now()
        while self.times and self.times[0] <= now - self.seconds:
            self.times.popleft()
        if len(self.times) < self.most:
            self.times.append(now)
            return None
        self.refused += 1
        wait = self.times[0] + self.seconds - now
        return 429, "slow down", dict.fromkeys(self.headers or (), f"{wait + 0.5:.3f}")


def limited(pace, *refusals):
    """Send requests that are refused, and return the times at which they were sent."""
    times = []
    for refusal in refusals:
        with pytest.raises(TooMany):
            send(pace, times, refusal)
    return times


def send(pace, times, refusal):
    """Send one request that is refused, and note when."""
    with pace.turn(NEVER):
        times.append(pace.now())
        raise refusal


def pace_of(clock, most=8, **options):
    """The pace by a clock of its own."""
    return Pace(most, now=clock.now, wait=clock.wait, **options)


@pytest.mark.more
@pytest.mark.parametrize("headers", [None, ["Retry-After"]])
def test_every_row_arrives_at_sixty_requests_a_minute(headers):
    """300 rows in a bit more than four minutes of the server's clock; few are refused, and none is lost."""
    clock = FastClock()
    window = Window(60, 60.0, clock, headers)
    with serving(refuses=window) as server:
        client = client_of(server, concurrency=8)
        client.pace = pace_of(clock)
        began = clock.now()
        replies = list(in_order(client, lambda n: ask(client, f"row {n}"), range(300)))
        lasted = clock.now() - began
    assert len(replies) == 300
    assert all(reply.text for reply in replies)
    assert 240 <= lasted <= 480
    assert window.refused <= (40 if headers else 100)


def test_a_refusal_stops_all_and_then_one_is_sent():
    """Eight at a time before it; one after it; and one more with each reply."""
    clock = SteppedClock()
    pace = pace_of(clock)
    limited(pace, TooMany("429", 20.0))
    sent = []
    for _ in range(3):
        with pace.turn(NEVER):
            sent.append(clock.now())
            assert pace._allowed == len(sent)
            pace.answered({})
    assert sent == pytest.approx([20.0] * 3, abs=0.3)


def test_the_pause_doubles_as_long_as_nothing_is_answered():
    """Half a second, one, two ..., not for each request in flight; a reply begins anew."""
    clock = SteppedClock()
    pace = pace_of(clock)
    times = limited(pace, *[TooMany("429", None)] * 8)
    pauses = [after - before for before, after in zip(times, times[1:], strict=False)]
    assert pauses == pytest.approx([0.5, 1, 2, 4, 8, 16, 32], abs=0.3)
    with pace.turn(NEVER):
        pace.answered({})
    times = limited(pace, *[TooMany("429", None)] * 2)
    assert times[1] - times[0] == pytest.approx(0.5, abs=0.3)
    pace = pace_of(SteppedClock())
    turns = [pace.turn(NEVER) for _ in range(4)]
    for turn in turns:
        turn.__enter__()
    for turn in turns:
        assert not turn.__exit__(TooMany, TooMany("429", None), None)
    assert pace._closed_until == 0.5


def test_a_server_that_asks_for_less_than_it_needs_is_not_believed():
    """Pauses grow though the server says 0 seconds each time."""
    times = limited(pace_of(SteppedClock()), *[TooMany("429", 0.0)] * 6)
    assert times[-1] - times[0] >= 15


def test_limits_are_not_waited_for_without_end():
    """After five minutes without any reply, or where a longer wait is asked for, or of a quota."""
    for refusals, message in (
        ([TooMany("status 429: slow down", None)] * 20, "has refused all requests for 5 min (status 429: slow down)"),
        ([TooMany("status 429: slow down", 7200.0)], "asks to wait 2.0 h (status 429: slow down)"),
        ([TooMany("status 429: no credits", None, quota=True)], "has a quota that is used up (status 429: no credits)"),
    ):
        pace = pace_of(SteppedClock())
        with pytest.raises(OutOfPatience) as failed:
            limited(pace, *refusals)
        assert str(failed.value) == f"{message}; the answers so far are stored, so go on later"
        assert pace.now() <= 300


@pytest.mark.parametrize(("message", "pause", "quota"), [
    ("Rate limit reached for gpt on requests per min (RPM): Limit 3. Please try again in 20s. Visit x.", 20.0, False),
    ("Please try again in 6m0s.", 360.0, False),
    ("Rate limit reached on tokens per day (TPD): Limit 100000. Please try again in 14m2.4s.", 842.4, False),
    ("You exceeded your current quota, please check your plan and billing details.", None, True),
    ("Limit of 50 requests per day reached", None, True),
    ("slow down", None, False),
    ("retry after 3 seconds", 3.0, False),
])  # fmt: skip
def test_waits_and_quotas_are_read_from_words(message, pause, quota):
    """As vendors write them; a time that is said counts, whatever it is a limit of."""
    refusal = too_many("status 429", message, {}, 0.0)
    assert (refusal.pause, refusal.quota) == (pause, quota)


def test_waits_are_read_from_headers():
    """Retry-After before limits, and these before words."""
    spent = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "7.5s"}
    assert too_many("", "try again in 9s", spent | {"retry-after": "2"}, 0.0).pause == 2.0
    assert too_many("", "try again in 9s", spent, 0.0).pause == 7.5
    assert until_more(spent | {"x-ratelimit-remaining-requests": "4"}) is None
    assert retry_after({"retry-after": "nan"}, 0.0) is None
    assert retry_after({"retry-after": "-5"}, 0.0) == 0.0
    assert seconds_of("2 hours") == 7200


def test_the_last_reply_before_a_limit_says_when_the_next_may_come():
    """So that nothing is refused at all."""
    clock = SteppedClock()
    pace = pace_of(clock)
    with pace.turn(NEVER):
        pace.answered({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "30s"})
    with pace.turn(NEVER):
        assert clock.now() == pytest.approx(30, abs=0.3)


def test_who_stops_does_not_wait():
    """An interrupted run ends at once."""
    stopping = threading.Event()
    pace = pace_of(SteppedClock())
    limited(pace, TooMany("429", 200.0))
    stopping.set()
    with pace.turn(stopping):
        assert pace.now() == 0


def test_a_quota_leaves_the_model_out_in_words():
    """Nothing is sent twice."""
    refusal = (429, "You exceeded your current quota", {})
    with serving(refuses=lambda: refusal) as server:
        with pytest.raises(ServerError, match=r"has a quota that is used up \(status 429: You exceeded your current"):
            ask(client_of(server))
        assert len(server.requests) == 1
