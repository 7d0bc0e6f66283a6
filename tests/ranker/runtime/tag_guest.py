"""A kind of answers of its own: a set of tags for each row, with a task and a source."""
# ruff: noqa: D102

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
from toys import Toy


@dataclass(frozen=True, eq=False)
class Tags:
    """(N,) sets of tags."""

    kind = "tag-sets"
    tags: tuple[frozenset[str], ...]
    state: np.ndarray

    def __len__(self):
        return len(self.tags)

    def part(self, places):
        return Tags(tuple(self.tags[at] for at in places), self.state[list(places)])

    def columns(self):
        return {"state": self.state, "tags": pa.array([sorted(tags) for tags in self.tags], pa.list_(pa.string()))}

    def probabilities(self):
        return None

    @classmethod
    def of_columns(cls, columns):
        return cls(tuple(map(frozenset, columns["tags"].to_pylist())), columns["state"])

    @classmethod
    def joined(cls, blocks):
        return cls(sum((one.tags for one in blocks), ()), np.concatenate([one.state for one in blocks]))


@dataclass(frozen=True)
class TagTask:
    """What taggers are asked."""

    name: str = "tags"
    answers: str = "tag-sets"
    labels: tuple[str, ...] = ()
    shortcut: None = None

    def identity(self):
        return {"tags": "any"}


def tags_of(name, example):
    """The letters of a text that a model of this name knows."""
    return frozenset(example.segments[0]) & frozenset(name + "rown1234567890"[: 4 + len(name)])


class Tagger(Toy):
    """It answers with sets of tags, in blocks of eight."""

    def open(self, task, machine, shelf):
        name, does = self.name, super().open(task, machine, shelf)

        def predict(examples, advance):
            for block in does.predict(examples, advance):
                some = examples[predict.done : predict.done + len(block)]
                predict.done += len(block)
                yield Tags(tuple(tags_of(name, one) for one in some), np.zeros(len(some), int))

        predict.done = 0
        return SimpleNamespace(name=name, predict=predict)
