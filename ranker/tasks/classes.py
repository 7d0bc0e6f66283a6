"""Tasks whose answer is one of a few labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from factors.types import Floats, Frozen
from ranker.errors import UnknownName


@dataclass(frozen=True)
class Task:
    """What the models are asked.

    Attributes:
        name: "nli", "paraphrase", ...: suites say which task they are for.
        labels: (C,) in class order; `Example.label` is an index into it. In a binary task class 1 is the positive one.
        aliases: label -> other names of it, in files and in the configurations of checkpoints. Several of a
            checkpoint's labels may be aliases of one label: their probabilities add up.
        shortcut: the label that the shortcut speaks for; None where there is no such label.
        evidence: the label that the right evidence (the marked words) speaks for; None where it depends on the row.

    Raises:
        ValueError: fewer than two labels, a name that stands for two of them, or an alias of no label.
    """

    name: str
    labels: tuple[str, ...]
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shortcut: int | None = None
    evidence: int | None = None

    def __post_init__(self) -> None:
        if len(self.labels) < 2:
            raise ValueError(f"a task needs at least two labels (got {list(self.labels)})")
        for label in self.aliases:
            if label not in self.labels:
                raise UnknownName("label with aliases", label, self.labels)
        names = [fold(name) for label in self.labels for name in (label, *self.aliases.get(label, ()))]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"the label name {twice[0]!r} is given twice")
        object.__setattr__(self, "aliases", Frozen(self.aliases))

    def index(self, name: str) -> int | None:
        """The class that a label name, or an alias, stands for; None if it is no name of this task.

        Case does not matter, and "_", "-" and a blank are the same.

        Example:
            >>> task = Task("nli", ("non-entailment", "entailment"), {"non-entailment": ("neutral",)})
            >>> task.index("ENTAILMENT"), task.index("non_entailment"), task.index("neutral"), task.index("LABEL_0")
            (1, 0, 0, None)
        """
        return self._index.get(fold(name))

    @cached_property
    def _index(self) -> Mapping[str, int]:
        return {fold(n): i for i, label in enumerate(self.labels) for n in (label, *self.aliases.get(label, ()))}


def fold(name: str) -> str:
    """A label name without the differences that do not matter: case, and "_" or a blank for "-"."""
    return "-".join(name.casefold().replace("_", " ").replace("-", " ").split())


def softmax(logits: Floats) -> Floats:
    """(R, C) logits -> (R, C) probabilities."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
