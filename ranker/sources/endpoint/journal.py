"""Journal of what servers replied, and of what a run has spent: an SQLite file beside the store.

Each reply is kept as soon as it is there, so that a crash loses those alone that were in flight, and no request is sent
twice. Several processes and runs may share a journal.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ranker.errors import StoreError
from ranker.records import digest

FILE = "responses.sqlite3"

WAIT = 60.0
"""Seconds to wait for another process that writes."""

TABLES = (
    "CREATE TABLE IF NOT EXISTS replies (name TEXT PRIMARY KEY, status INTEGER NOT NULL, body BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS spent (run TEXT PRIMARY KEY, requests INTEGER NOT NULL, tokens INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS rounds (place TEXT PRIMARY KEY, run TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS remarks (member TEXT, remark TEXT, row TEXT, PRIMARY KEY (member, remark, row))",
)


class Journal:
    """Replies of servers, by the name of their request.

    Args:
        folder: that the file lies in; None keeps everything in memory.

    Raises:
        StoreError: the file cannot be opened.

    Example:
        >>> journal = Journal(None)
        >>> journal.keep("a", 200, "{}")
        >>> journal.reply("a"), journal.reply("b")
        ((200, '{}'), None)
        >>> [journal.reserve("run", 10, max_requests=2) for _ in range(3)]
        [True, True, False]
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._place = ":memory:" if folder is None else folder / FILE
        with self._failures():
            self._base = sqlite3.connect(self._place, timeout=WAIT, isolation_level=None, check_same_thread=False)
            weakref.finalize(self, self._base.close)
            self._base.execute("PRAGMA journal_mode=WAL")
            for table in TABLES:
                self._base.execute(table)

    def reply(self, name: str) -> tuple[int, str] | None:
        """Return the status and the body of a reply; None if it is not kept."""
        row = self._execute("SELECT status, body FROM replies WHERE name = ?", name).fetchone()
        return None if row is None else (row[0], zlib.decompress(row[1]).decode())

    def keep(self, name: str, status: int, body: str) -> None:
        """Keep a reply."""
        self._execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", name, status, zlib.compress(body.encode()))

    def reserve(self, run: str, tokens: int, max_requests: int = 0, max_tokens: int = 0) -> bool:
        """Count a request of a run, with its most tokens, unless a limit would be exceeded; return whether it counts.

        Args:
            tokens: most tokens of the request and its answer.
            max_requests, max_tokens: limits of the run; 0 for none.
        """
        self._execute("INSERT OR IGNORE INTO spent VALUES (?, 0, 0)", run)
        done = self._execute(
            "UPDATE spent SET requests = requests + 1, tokens = tokens + ?2 "
            "WHERE run = ?1 AND (?3 = 0 OR requests < ?3) AND (?4 = 0 OR tokens + ?2 <= ?4)",
            run, tokens, max_requests, max_tokens,
        )  # fmt: skip
        return done.rowcount > 0

    def settle(self, run: str, reserved: int, used: int) -> None:
        """Replace the most tokens of a request by those that were used."""
        self._execute("UPDATE spent SET tokens = tokens + ? WHERE run = ?", used - reserved, run)

    def spent(self, run: str) -> tuple[int, int]:
        """Return the requests and the tokens of a run."""
        row = self._execute("SELECT requests, tokens FROM spent WHERE run = ?", run).fetchone()
        return (row[0], row[1]) if row else (0, 0)

    def round(self, place: str, anew: str = "") -> str:
        """Return the name of the round in which a place is asked; replies of earlier rounds do not count.

        Args:
            anew: name of a round to begin, unless it has begun already; "" goes on with the last.
        """
        if anew:
            self._execute("INSERT OR REPLACE INTO rounds VALUES (?, ?)", place, anew)
        row = self._execute("SELECT run FROM rounds WHERE place = ?", place).fetchone()
        return row[0] if row else ""

    def remark(self, member: str, remark: str, row: str) -> None:
        """Count a remark on a row of a member, once."""
        self._execute("INSERT OR IGNORE INTO remarks VALUES (?, ?, ?)", member, remark, row)

    def forget_remarks(self, member: str, row: str) -> None:
        """Forget the remarks on a row, which is asked again."""
        self._execute("DELETE FROM remarks WHERE member = ? AND row = ?", member, row)

    def remarks(self, member: str) -> dict[str, int]:
        """Return the number of rows with each remark."""
        rows = self._execute("SELECT remark, count(*) FROM remarks WHERE member = ? GROUP BY remark", member)
        return dict(rows.fetchall())

    def _execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        """Execute a statement, which is committed at once; threads wait for each other."""
        with self._lock, self._failures():
            return self._base.execute(statement, values)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Raise errors of the file in one line."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError.of(self._place, f"cannot be used: {error}") from error


def request_name(place: str, path: str, body: object, round: str) -> str:
    """Return the name of a request: a digest of all that decides its reply.

    Example:
        >>> request_name("http://a/v1#m", "/completions", {"prompt": "x"}, "") == request_name("b", "/", {}, "")
        False
    """
    return digest({"place": place, "path": path, "body": body, "round": round})
