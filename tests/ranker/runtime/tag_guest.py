"""A kind of answers of its own: a tag for each word, with its task, metric and source."""
# ruff: noqa: D102

from itertools import islice
from types import SimpleNamespace

from toys import Toy

from ranker.tasks.metrics import ItemF1
from ranker.tasks.values import ValueAnswers, ValueTask


class Tags(ValueAnswers):
    """(N,) tuples of tags."""

    kind = "word-tags"


class TagTask(ValueTask):
    """What taggers are asked; F1 of spans."""

    answers, metric = "word-tags", "EXACT"

    def answer_of(self, cell, segments=()):
        if {*str(cell).split()} - {"B", "I", "O"}:
            raise ValueError("a tag must be B, I or O")
        return tuple(str(cell).split())

    def outcome(self, answer, target):
        return float(answer == target)

    def metric_named(self, name):
        return ItemF1("span-f1", spans) if name in ("", "span-f1") else super().metric_named(name)


class Tagger(Toy):
    """It answers with tags, in blocks of eight."""

    def open(self, task, machine, shelf):
        name, does = self.name, super().open(task, machine, shelf)

        def predict(examples, advance):
            rows = iter(examples)
            for block in does.predict(examples, advance):
                yield Tags([tags_of(name, row) for row in islice(rows, len(block))])

        return SimpleNamespace(name=name, predict=predict)


def tags_of(name, example):
    """B for each word that begins as the name does."""
    return tuple("B" if word[0] == name[0] else "O" for word in example.segments[0].split())


def spans(tags):
    """(first, end) of each span."""
    starts = [at for at, tag in enumerate(tags) if tag == "B"]
    return {(at, next((end for end in range(at + 1, len(tags)) if tags[end] != "I"), len(tags))) for at in starts}
