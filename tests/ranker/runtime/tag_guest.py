"""A kind of answers of its own: a tag for each word, with its task, metric and sources."""
# ruff: noqa: D102

import os
import signal
import zlib
from dataclasses import dataclass
from itertools import islice
from types import SimpleNamespace

import numpy as np
from toys import Toy

from ranker.sources.base import Encoding
from ranker.tasks.metrics import ItemF1
from ranker.tasks.values import ValueAnswers, ValueTask


class Tags(ValueAnswers):
    """(N,) tuples of tags."""

    kind = "word-tags"


class TagTask(ValueTask):
    """Task of taggers, judged by the F1 of spans."""

    answers, metric = "word-tags", "EXACT"

    def answer_of(self, cell, segments=()):
        if {*str(cell).split()} - {"B", "I", "O"}:
            raise ValueError("a tag must be B, I or O")
        return tuple(str(cell).split())

    def outcome(self, answer, target):
        return float(answer == target)

    def metric_named(self, name):
        return ItemF1("span-f1", spans) if name in ("", "span-f1") else super().metric_named(name)


class WeighedTask(TagTask):
    """The same, of whose answers words can be attributed a number."""

    outputs = ("the weight of all words",)


class Tagger(Toy):
    """Source that answers with tags, in blocks of eight."""

    def open(self, task, machine, cache):
        name, does = self.name, super().open(task, machine, cache)

        def predict(examples, advance):
            rows = iter(examples)
            for block in does.predict(examples, advance):
                yield Tags([tags_of(name, row) for row in islice(rows, len(block))])

        return SimpleNamespace(name=name, predict=predict)


class Weigher(Tagger):
    """A tagger whose number is a sum of weights; `does` is the number of the row before which it is killed."""

    def open(self, task, machine, cache):
        return Weighing(self.name, self.file, int(self.does or -1))


@dataclass(frozen=True)
class Weighing:
    """A linear tagger, opened: its file has a line for each row that it encodes."""

    name: str
    file: str
    last: int
    classes, seed, hides = 1, "weights", ("pad",)

    def predict(self, examples, advance):
        yield Tags([tags_of(self.name, row) for row in examples])

    def encodings(self, examples):
        for number, example in enumerate(examples):
            if number == self.last:
                os.kill(os.getpid(), signal.SIGKILL)
            with open(self.file, "a", encoding="utf-8") as file:
                file.write(f"{example.id}\n")
            words = example.words
            offsets = np.array([(word.start, word.end) for word in words])
            none = np.zeros(len(words), np.int64)
            encoding = Encoding(
                tuple(map(example.text, words)), none, np.arange(len(words)), offsets, none.astype(bool)
            )
            object.__setattr__(encoding, "answered", "B" in tags_of(self.name, example))
            yield encoding

    def answers(self, requests, hide, advance):
        for state, encoding, requested in requests:
            advance(1)
            values = requested @ np.array(list(map(weight, encoding.tokens)))
            yield state, (values if encoding.answered else values * np.nan)[:, None]


def weight(word):
    """The weight of a word, between -1 and 1."""
    return zlib.crc32(word.encode()) / 2**31 - 1


def tags_of(name, example):
    """B for each word that begins as the name does."""
    return tuple("B" if word[0] == name[0] else "O" for word in example.segments[0].split())


def spans(tags):
    """(first, end) of each span."""
    starts = [index for index, tag in enumerate(tags) if tag == "B"]
    return {
        (start, next((end for end in range(start + 1, len(tags)) if tags[end] != "I"), len(tags))) for start in starts
    }
