"""Black boxes that only answer to whole texts: a source of any function from texts to probabilities.

Its tokens are the words of the example, and a word is hidden by leaving it out. SHAP, LIME and occlusion need no more,
so such a model has them: `shap:baseline=remove`, `lime:hide=remove`, `occlusion:hide=remove`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from factors.types import Bools, Example, Floats
from ranker.errors import LabelError, ModelError, first_line, listed
from ranker.sources.base import Encoding, Hide, Machine, ModelInfo, Needs, ResourceCache, Source, version
from ranker.tasks.classes import ClassProbabilities, require_labels, softmax

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.tasks.base import Task
    from ranker.tasks.classes import ClassificationTask

S = TypeVar("S")
Texts: TypeAlias = tuple[str, ...]
"""Input of a black box from one example: its segments, one text or two."""

REVISION = 1
"""Version of splitting (`factors.types.split_words`) and removing words, part of the store's key; raise if changed."""

MIN_PROBABILITY = 1e-12
"""Smaller probabilities are raised to this one, since 0 has no logarithm; log-odds are between -27.6 and 27.6."""

MAX_SUM_ERROR = 1e-3
"""Largest deviation of a sum of probabilities from 1: those in float32 are not exact."""

AT_ONCE = 256


@dataclass(frozen=True)
class TextSource(ABC):
    """A source for a black box from texts to probabilities; it can be used wherever a model can.

    A subclass defines its labels, content and probabilities. It may be a frozen dataclass, too, with fields of its own,
    and can be pickled if they can. `docs/sources.md` makes one, step by step.

    Attributes:
        name: in reports.
        family: models that differ only in their training have the same one; "" if unknown. It is keyword-only; a
            subclass with another default writes `field(default=..., kw_only=True)`.
        libraries: packages whose version can change an answer.
        needs: what it needs of the machine: secrets, the network, a limit of models at a time.

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
    family: str = field(default="", kw_only=True)
    shares, precomputed = "", False
    libraries: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[Needs] = Needs()

    @abstractmethod
    def labels(self) -> Sequence[str]:
        """Return (L,) its labels, in the order of its probabilities, by names that the task knows; two may mean one.

        Raises:
            ModelError: it cannot be read.
        """

    @abstractmethod
    def content(self) -> str:
        """Return a digest of all in the model that can change an answer; it identifies the model whatever its name.

        Raises:
            ModelError: it cannot be read.
        """

    @abstractmethod
    def probabilities(self, texts: Sequence[Texts]) -> Floats:
        """Return (R, L) for the segments of R examples, which may have no words left. No row depends on other rows."""

    @property
    def place(self) -> str:
        """Name, since it has no location."""
        return self.name

    def inspect(self, cache: ResourceCache) -> ModelInfo:
        """Return its labels; see `Source.inspect`."""
        try:
            return ModelInfo(self, self._names(), needs=self.needs)
        except ModelError as error:
            return ModelInfo(self, trouble=str(error))

    def identity(self, task: Task, machine: Machine, cache: ResourceCache) -> Mapping[str, Any]:
        """Return its content and labels, and the versions of its libraries; see `Source.identity`."""
        versions = {name: version(name) for name in self.libraries}
        return {"content": self.content(), "labels": list(self._names()), "texts": REVISION, "versions": versions}

    def open(self, task: Task, machine: Machine = Machine(), cache: ResourceCache | None = None) -> BlackBox:
        """Return its predictor; see `Source.open`. It works wherever Python does, and shares nothing."""
        classes = group_labels(self.name, self._names(), require_labels(task, self.name))
        return BlackBox(self.name, self.content(), classes, self.probabilities)

    def _names(self) -> tuple[str, ...]:
        return tuple(map(str, self.labels()))  # a library may number its labels, or have its own string type


def group_labels(name: str, labels: Sequence[str], task: ClassificationTask) -> tuple[tuple[int, ...], ...]:
    """Return (C,) for each class of a task, the indices of a model's labels that mean it.

    Raises:
        LabelError: a label that is no class's, or a class without one.
    """
    meant = [task.index(label) for label in labels]
    if None in meant:
        unknown = labels[meant.index(None)]
        raise LabelError.of(
            name,
            f"has the label {unknown!r}, which is none of the task's ({listed(task.labels)})",
            value=unknown,
            allowed=task.labels,
        )
    for index, label in enumerate(task.labels):
        if index not in meant:
            raise LabelError.of(
                name, f"has no label that means {label!r} (it has {listed(labels)})", value=label, allowed=labels
            )
    return tuple(tuple(i for i, k in enumerate(meant) if k == index) for index in range(len(task.labels)))


def remove_words(text: str, words: Sequence[tuple[int, int]], visible: Sequence[bool]) -> str:
    """Remove invisible words from a text; the visible ones never grow together.

    White space between neighbours stays; removed words between two visible ones leave one blank, and none at the ends.
    A text with all words visible is unchanged.

    Example:
        >>> words = [(0, 4), (4, 5), (7, 10), (11, 14), (14, 15)]
        >>> remove_words("Well,  she ran.", words, [True, True, True, False, True])
        'Well,  she .'
        >>> remove_words("Well,  she ran.", words, [False, False, True, True, True])
        'she ran.'
    """
    if all(visible):
        return text
    indices = [i for i, is_visible in enumerate(visible) if is_visible]
    gaps = [text[words[i][1] : words[j][0]] if j == i + 1 else " " for i, j in pairwise(indices)]
    return "".join(text[slice(*words[i])] + gap for i, gap in zip(indices, [*gaps, ""], strict=False))


@dataclass(frozen=True, kw_only=True)
class WordEncoding(Encoding):
    """An example whose T tokens are its words; none is special."""

    segments: Texts

    @classmethod
    def from_example(cls, example: Example) -> WordEncoding:
        """Encode an example in words."""
        return cls(
            tokens=tuple(map(example.text, example.words)),
            segment=np.array([word.segment for word in example.words], np.int64),
            word=np.arange(len(example.words)),
            offsets=np.array([(word.start, word.end) for word in example.words], np.int64).reshape(-1, 2),
            fixed=np.zeros(len(example.words), bool),
            segments=example.segments,
        )

    def rows(self, visible: Bools) -> list[Texts]:
        """Return R examples without their invisible words, for (R, T) visible words: see `remove_words`."""
        inside = [self.segment == number for number in range(len(self.segments))]
        parts = [
            (text, self.offsets[tokens].tolist(), tokens) for text, tokens in zip(self.segments, inside, strict=True)
        ]
        return [
            tuple(remove_words(text, words, row[tokens].tolist()) for text, words, tokens in parts) for row in visible
        ]


@dataclass(frozen=True)
class BlackBox:
    """A black box that is ready to answer: a `ranker.sources.base.Perturbed`.

    Attributes:
        groups: (C,) for each class of the task, indices of the L probabilities that add up to its own.
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
        """Yield the probabilities of examples, in blocks; see `Predictor.predict`."""
        for start in range(0, len(examples), AT_ONCE):
            texts = [example.segments for example in examples[start : start + AT_ONCE]]
            yield ClassProbabilities(softmax(self._logs(texts)))
            advance(len(texts))

    def encodings(self, examples: Iterable[Example]) -> Iterator[WordEncoding]:
        """Encode examples in words."""
        return map(WordEncoding.from_example, examples)

    def answers(
        self, requests: Iterable[tuple[S, WordEncoding, Bools]], hide: Hide, advance: Advance
    ) -> Iterator[tuple[S, Floats]]:
        """Yield log-probabilities of examples without some of their words; see `Perturbed.answers`."""
        for state, words, visible in requests:
            logs = self._logs(words.rows(visible))
            advance(1)
            yield state, logs

    def _logs(self, texts: Sequence[Texts]) -> Floats:
        """Return (R, C) log-probabilities of R examples; equal ones are asked once."""
        places = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        try:
            probs = np.asarray(self.probabilities(list(places)), np.float64)
        except Exception as error:  # foreign code may raise anything
            raise ModelError.of(self.name, f"cannot be run: {type(error).__name__}: {first_line(error)}") from error
        shape = (len(places), sum(map(len, self.groups)))
        if probs.shape != shape:
            raise ModelError.of(
                self.name,
                f"must give probabilities of the shape (R, L), here {shape} (got {probs.shape})",
                value=probs.shape,
            )
        wrong = ~((probs >= 0).all(axis=1) & (np.abs(probs.sum(axis=1) - 1) <= MAX_SUM_ERROR))
        if wrong.any():
            raise ModelError.of(
                self.name,
                f"must give probabilities that add up to 1 (got {probs[wrong][0].tolist()})",
                value=probs[wrong][0].tolist(),
            )
        of_classes = np.stack([probs[:, list(group)].sum(axis=1) for group in self.groups], axis=1)
        return np.asarray(np.log(np.maximum(of_classes, MIN_PROBABILITY))[[places[text] for text in texts]])


if TYPE_CHECKING:

    def _can(source: TextSource) -> Source:
        return source  # checked by mypy
