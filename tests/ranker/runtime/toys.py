"""Models that are nothing but a rule, and behave in one way or another when they are asked."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from factors.types import Example
from ranker.errors import ModelError
from ranker.sources.base import ModelInfo
from ranker.tasks.classes import ClassificationTask, ClassProbabilities

TASK = ClassificationTask("mood", ("bad", "good"))
ROWS = [Example(str(n), (f"row number {n}",), n % 2) for n in range(40)]
BLOCK = 8


PanicException = type("PanicException", (BaseException,), {})
"""Stand-in for pyo3's exception of a Rust panic, which is no Exception either."""


def truth(name, examples):
    """(N, 2) what a toy of a name answers."""
    good = [(zlib.crc32(f"{name}{example.segments}".encode()) % 1000 + 1) / 1002 for example in examples]
    return np.stack([1 - np.array(good), good], axis=1)


@dataclass(frozen=True)
class Toy:
    """Source whose answers are the `truth` of its content, and that may fail (`does`) before its second block."""

    name: str
    does: str = ""
    file: str = ""
    content: str = ""
    shares: str = ""
    family: str = ""
    precomputed: bool = False

    @property
    def place(self):
        """The toy is nowhere."""
        return f"toy {self.name}"

    def inspect(self, cache):
        """The toy says nothing of itself."""
        return ModelInfo(self)

    def identity(self, task, machine, cache):
        """Content of the toy's file, if it is told to read one."""
        text = Path(self.file).read_text() if self.does == "reads" else ""
        return {"content": self.content or self.name, "read": text}

    def open(self, task, machine, cache):
        """Leave a mark in the file, if there is one."""
        if self.does == "marks":
            with open(self.file, "a", encoding="utf-8") as file:
                file.write(f"{self.name} {os.getpid()} {cache.setdefault('first', self.name)}\n")
        return OpenedToy(self.content or self.name, self.does, self.file, cache.beat)


@dataclass(frozen=True)
class OpenedToy:
    """A toy that answers in blocks, and does something odd before the second."""

    name: str
    does: str
    file: str
    beat: object

    def predict(self, examples, advance):
        """Blocks of eight."""
        for start in range(0, len(examples), BLOCK):
            if start == BLOCK or (start == 0 and len(examples) <= BLOCK):
                getattr(self, self.does.replace(" ", "_") or "nothing")()
            block = examples[start : start + BLOCK]
            self.beat()
            advance(len(block))
            yield ClassProbabilities(truth(self.name, block))

    def nothing(self):
        """As it should."""

    marks = reads = nothing

    def is_killed(self):
        """As the system does where memory runs out."""
        os.kill(os.getpid(), signal.SIGKILL)

    def aborts(self):
        """As a native library does."""
        os.abort()

    def crashes(self):
        """Read at address 0."""
        ctypes.string_at(0)

    def panics(self):
        """As a library in Rust does."""
        raise PanicException("called `Option::unwrap()` on a `None` value")

    def leaves(self):
        """End the process as if all were well."""
        os._exit(0)

    def raises(self):
        """Something that is no error of a model."""
        raise ZeroDivisionError("division by zero\nand more")

    def hangs(self):
        """Without a sign of life, and deaf."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)

    def is_slow(self, seconds=60):
        """With signs of life."""
        for _ in range(seconds * 10):
            time.sleep(0.1)
            self.beat()

    def dawdles(self):
        """With signs of life, for some seconds."""
        self.is_slow(5)

    def logs(self):
        """A line in its file each time that it is asked, and a second of work."""
        with open(self.file, "a", encoding="utf-8") as file:
            file.write(f"{self.name}\n")
        self.is_slow(1)

    def hoards(self):
        """Far more memory than there is."""
        self.__dict__["hoard"] = [np.ones(1 << 27) for _ in range(64)]

    def tells(self):
        """Fail with what the process sees."""
        facts = {"environment": dict(os.environ), "folder": os.listdir(), "cwd": os.getcwd(), "path": sys.path}
        Path(self.file).write_text(json.dumps(facts))

    def prints(self):
        """To where the answer goes, and to where log lines go."""
        os.write(1, b"an answer of mine\n")
        os.write(2, b"a line of mine\n")

    def send(self, content):
        """Send bytes to the supervisor, as no guest of ours does."""
        self.beat.__self__._write(content)
        time.sleep(1)

    def forges(self):
        """Bytes that are no message."""
        self.send(b"\x00\x00\x00\x04what" * 3)

    def claims(self):
        """A message that says rows of another key are its own."""
        head = json.dumps({"what": "rows", "order": 0}).encode() + b"\n" + b"PAR1 no shard"
        self.send(len(head).to_bytes(4, "big") + head)

    def nests(self):
        """A message that no reader of JSON can follow."""
        self.send(b"\x00\x00\xc3\x50" + b"[" * 50_000)

    def overflows(self):
        """A message with more rows than there are numbers."""
        head = b'{"what": "beat", "rows": 1e999}\n'
        self.send(len(head).to_bytes(4, "big") + head)

    def counts_up(self):
        """A message that claims to be a gigabyte and more."""
        self.send(b"\xff\xff\xff\xff")

    def fails(self):
        """As a model does that cannot be run."""
        raise ModelError(f"{self.name} cannot be run")
