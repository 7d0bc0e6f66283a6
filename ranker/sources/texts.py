"""Black boxes that only answer to whole texts: a source of any function from texts to probabilities.

Its tokens are the words of the example, and a word is hidden by leaving it out. That is all that SHAP, LIME and
occlusion ask for, so such a model has them: `shap:baseline=remove`, `lime:hide=remove`, `occlusion:hide=remove`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from factors.types import Bools, Example, Floats
from ranker.errors import LabelError, ModelError, first_line, listed
from ranker.sources.base import Encoding, Hide, Machine, ModelInfo, ResourceCache, Source, version
from ranker.tasks.classes import ClassProbabilities, require_labels, softmax

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.tasks.base import Task
    from ranker.tasks.classes import ClassificationTask

S = TypeVar("S")
Texts: TypeAlias = tuple[str, ...]
"""What a black box is shown of an example: its segments, one text or two."""

REVISION = 1
"""Raised when words are cut (`factors.types.split_words`) or left out in another way; part of the store's key."""

LEAST = 1e-12
"""A smaller probability counts as this one: there is no logarithm of 0, and log-odds are between -27.6 and 27.6."""

OFF = 1e-3
"""How far from 1 probabilities may add up: those in float32 are not exact."""

AT_ONCE = 256
"""Examples a block of answers."""


@dataclass(frozen=True)
class TextSource(ABC):
    """A source of a black box, which takes texts and gives probabilities; it stands wherever a model may.

    One that is derived says its labels, content and probabilities. It may be a frozen dataclass, too, with fields of
    its own, and can be pickled if they can. `docs/sources.md` makes one, step by step.

    Attributes:
        name: as it stands in tables.
        libraries: packages whose version can change an answer.

    Example:
        >>> class Polite(TextSource):
        ...     def labels(self):
        ...         return ("rude", "kind")
        ...
        ...     def content(self):
        ...         return "says please, version 1"
        ...
        ...     def probabilities(self, texts):
        ...         return [[0.1, 0.9] if "please" in text else [0.8, 0.2] for (text,) in texts]
        >>> Polite("polite").probabilities([("Come.",), ("Come, please.",)])
        [[0.8, 0.2], [0.1, 0.9]]
    """

    name: str
    family, shares, precomputed = "", "", False
    libraries: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def labels(self) -> Sequence[str]:
        """(L,) its labels, in the order of its probabilities, by names that the task knows; two may mean one.

        Raises:
            ModelError: it cannot be read.
        """

    @abstractmethod
    def content(self) -> str:
        """What identifies the model, whatever it is called: a digest of all in it that can change an answer.

        Raises:
            ModelError: it cannot be read.
        """

    @abstractmethod
    def probabilities(self, texts: Sequence[Texts]) -> Floats:
        """(R, L) of R examples, given their segments, in which no word may be left. No row depends on other rows."""

    @property
    def place(self) -> str:
        """Its name, since it lies nowhere."""
        return self.name

    def inspect(self, shelf: ResourceCache) -> ModelInfo:
        """Its labels; see `Source.inspect`."""
        try:
            return ModelInfo(self, self._names())
        except ModelError as error:
            return ModelInfo(self, trouble=str(error))

    def identity(self, task: Task, machine: Machine, shelf: ResourceCache) -> Mapping[str, Any]:
        """Its content and labels, and the versions of its libraries; see `Source.identity`."""
        versions = {name: version(name) for name in self.libraries}
        return {"content": self.content(), "labels": list(self._names()), "texts": REVISION, "versions": versions}

    def open(self, task: Task, machine: Machine = Machine(), shelf: ResourceCache | None = None) -> BlackBox:
        """What asks it; see `Source.open`. It works wherever Python does, and shares nothing."""
        classes = groups(self.name, self._names(), require_labels(task, self.name))
        return BlackBox(self.name, self.content(), classes, self.probabilities)

    def _names(self) -> tuple[str, ...]:
        return tuple(map(str, self.labels()))  # a library may count its labels, or have texts of its own kind


def groups(name: str, labels: Sequence[str], task: ClassificationTask) -> tuple[tuple[int, ...], ...]:
    """(C,) for each class of a task, which of a model's labels mean it.

    Raises:
        LabelError: a label that is no class's, or a class without one.
    """
    meant = [task.index(label) for label in labels]
    if None in meant:
        unknown = labels[meant.index(None)]
        raise LabelError(f"{name} has the label {unknown!r}, which is none of the task's ({listed(task.labels)})")
    for index, label in enumerate(task.labels):
        if index not in meant:
            raise LabelError(f"{name} has no label that means {label!r} (it has {listed(labels)})")
    return tuple(tuple(i for i, one in enumerate(meant) if one == index) for index in range(len(task.labels)))


def left(text: str, words: Sequence[tuple[int, int]], seen: Sequence[bool]) -> str:
    """What is left of a text without some of its words: exactly the others, since no two of them grow together.

    White space between neighbours stays as it is; where words between two are gone, one blank is there instead. At the
    ends there is none. A text of which every word is seen is as it was.

    Example:
        >>> words = [(0, 4), (4, 5), (7, 10), (11, 14), (14, 15)]
        >>> left("Well,  she ran.", words, [True, True, True, False, True])
        'Well,  she .'
        >>> left("Well,  she ran.", words, [False, False, True, True, True])
        'she ran.'
    """
    if all(seen):
        return text
    kept = [i for i, one in enumerate(seen) if one]
    gaps = [text[words[i][1] : words[j][0]] if j == i + 1 else " " for i, j in pairwise(kept)]
    return "".join(text[slice(*words[i])] + gap for i, gap in zip(kept, [*gaps, ""], strict=False))


@dataclass(frozen=True, kw_only=True)
class WordEncoding(Encoding):
    """An example whose T tokens are its words; none is special.

    Attributes:
        segments: its texts.
    """

    segments: Texts

    @classmethod
    def of(cls, example: Example) -> WordEncoding:
        """An example in words."""
        return cls(
            tokens=tuple(map(example.text, example.words)),
            segment=np.array([word.segment for word in example.words], np.int64),
            word=np.arange(len(example.words)),
            offsets=np.array([(word.start, word.end) for word in example.words], np.int64).reshape(-1, 2),
            fixed=np.zeros(len(example.words), bool),
            segments=example.segments,
        )

    def rows(self, seen: Bools) -> list[Texts]:
        """(R, T) which words are seen -> R examples without the others, see `left`."""
        inside = [self.segment == number for number in range(len(self.segments))]
        parts = [(text, self.offsets[at].tolist(), at) for text, at in zip(self.segments, inside, strict=True)]
        return [tuple(left(text, words, row[at].tolist()) for text, words, at in parts) for row in seen]


@dataclass(frozen=True)
class BlackBox:
    """A black box that is ready to be asked: a `ranker.sources.base.Perturbed`.

    Attributes:
        name: what messages call it.
        seed: its content.
        groups: (C,) for each class of the task, which of the L probabilities add up to its own.
        probabilities: R texts -> (R, L).
    """

    name: str
    seed: str
    groups: tuple[tuple[int, ...], ...]
    probabilities: Callable[[Sequence[Texts]], Floats]
    hides: ClassVar[tuple[Hide, ...]] = ("remove",)

    @property
    def classes(self) -> int:
        """C."""
        return len(self.groups)

    def predict(self, examples: Sequence[Example], advance: Advance) -> Iterator[ClassProbabilities]:
        """The probabilities of examples, in blocks; see `Predictor.predict`."""
        for start in range(0, len(examples), AT_ONCE):
            texts = [example.segments for example in examples[start : start + AT_ONCE]]
            yield ClassProbabilities(softmax(self._logs(texts)))
            advance(len(texts))

    def encodings(self, examples: Iterable[Example]) -> Iterator[WordEncoding]:
        """Examples in words."""
        return map(WordEncoding.of, examples)

    def answers(
        self, requests: Iterable[tuple[S, WordEncoding, Bools]], hide: Hide, advance: Advance
    ) -> Iterator[tuple[S, Floats]]:
        """Log-probabilities of examples without some of their words; see `Perturbed.answers`."""
        for state, words, seen in requests:
            logs = self._logs(words.rows(seen))
            advance(1)
            yield state, logs

    def _logs(self, texts: Sequence[Texts]) -> Floats:
        """(R, C) log-probabilities of R examples; of equal ones, one is asked.

        Raises:
            ModelError: the model fails, or gives what are no probabilities.
        """
        places = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        try:
            probs = np.asarray(self.probabilities(list(places)), np.float64)
        except Exception as error:  # another's code may raise anything
            raise ModelError(f"{self.name} cannot be run: {type(error).__name__}: {first_line(error)}") from error
        shape = (len(places), sum(map(len, self.groups)))
        if probs.shape != shape:
            raise ModelError(
                f"{self.name} must give probabilities of the shape (R, L), here {shape} (got {probs.shape})"
            )
        wrong = ~((probs >= 0).all(axis=1) & (np.abs(probs.sum(axis=1) - 1) <= OFF))
        if wrong.any():
            raise ModelError(f"{self.name} must give probabilities that add up to 1 (got {probs[wrong][0].tolist()})")
        of_classes = np.stack([probs[:, list(group)].sum(axis=1) for group in self.groups], axis=1)
        return np.asarray(np.log(np.maximum(of_classes, LEAST))[[places[text] for text in texts]])


if TYPE_CHECKING:

    def _can(source: TextSource) -> Source:
        return source  # checked by mypy
