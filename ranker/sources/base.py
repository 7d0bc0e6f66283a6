"""Where answers come from: how models are loaded and run, and what can be asked of one that is.

A model answers; it has no method that attributes. Attribution methods ask: `Perturbed` is all that SHAP, LIME and
occlusion need, `Embedded` is all that integrated gradients need. So a new kind of model has every method that it can
be asked for, and a new method works on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeGuard, TypeVar

import numpy as np

from factors.types import SPECIAL, Bools, Example, Floats, Frozen, Ints
from ranker.errors import UsageError
from ranker.limits import LIMITS, Limits
from ranker.sources.options import flags_of, non_defaults

R = TypeVar("R")

if TYPE_CHECKING:
    from torch import Tensor

    from ranker.progress import Advance
    from ranker.tasks.base import Predictions, Task

Hide = Literal["pad", "mask", "remove"]
"""What becomes of a token that is not to be seen: the padding or mask token stands in for it, or it is removed."""

Baseline = Literal["mask", "pad", "zero"]
"""What a path between embeddings starts from: the embedding of the mask or padding token, or zero."""


@dataclass(frozen=True)
class Machine:
    """Where and how models are run; of any kind of source, and of none alone.

    Attributes:
        device: a torch device ("cpu", "cuda", "cuda:1", "mps").
        dtype: "float32", "bfloat16", or "auto": bfloat16 where the device has units for it, for backends that give
            nearly the same scores in it; IG does not within its tolerance.
        token_budget: tokens a batch; None takes what is fast on the device. It changes no number.
        threads: how many a process may use; None leaves that to the libraries.

    Example:
        >>> Machine(dtype="auto").settled(bfloat16=False).dtype
        'float32'
    """

    device: str = "cpu"
    dtype: str = "float32"
    token_budget: int | None = None
    threads: int | None = None

    def settled(self, bfloat16: bool) -> Machine:
        """The machine with "auto" settled: by the device, and by whether numbers are as good in bfloat16."""
        if self.dtype != "auto":
            return self
        from ranker.sources.devices import resolve

        return replace(self, dtype=resolve("auto", self.device) if bfloat16 else "float32")


@dataclass(frozen=True)
class SourceOptions:
    """What is said of all references of a run at once; each kind of source takes what concerns it.

    Attributes:
        label_map: for checkpoints whose labels have no names, and that bring no map of their own.
        trust_remote_code: the names of the models whose checkpoints may run code that they bring.
        allow_pickle: load weights that are not safetensors.
        kinds: what is said of single kinds of sources, a record each: `TableOptions`, `LogOptions`, or that of a kind
            that a package adds.
        limits: how much is read of what a reference names.

    Raises:
        UsageError: two records of one kind.

    Example:
        >>> from ranker import LogOptions, TableOptions
        >>> options = SourceOptions(kinds=[TableOptions(answers="outcomes", cluster="doc")])
        >>> options.of(TableOptions).cluster, options.of(LogOptions).cluster
        ('doc', '')
    """

    label_map: Mapping[str, str] | None = None
    trust_remote_code: frozenset[str] = frozenset()
    allow_pickle: bool = False
    kinds: Sequence[Any] = ()
    limits: Limits = LIMITS

    def __post_init__(self) -> None:
        object.__setattr__(self, "label_map", None if self.label_map is None else Frozen(self.label_map))
        object.__setattr__(self, "kinds", tuple(self.kinds))
        types = [type(record) for record in self.kinds]
        if twice := [each for each in types if types.count(each) > 1]:
            raise UsageError(f"`kinds` must hold one record of a kind (got {len(twice)} of {twice[0].__name__})")

    def of(self, record: type[R]) -> R:
        """What is said of one kind: its record, as it is by default where nothing is said."""
        return next((one for one in self.kinds if type(one) is record), record())

    def of_others(self, *records: type) -> frozenset[str]:
        """The fields that are given for other kinds than these; what the run itself reads, too, is left out.

        A field that kinds share, and that is given for one of these with the same value, is not among them.
        """
        own = [one for one in self.kinds if type(one) in records]
        return frozenset(
            name
            for other in self.kinds
            if type(other) not in records
            for name, value in non_defaults(other).items()
            if not flags_of(type(other))[name].of_run and all(getattr(one, name, None) != value for one in own)
        )


class ResourceCache(dict[Hashable, Any]):
    """What the sources of one process share: opened files, the weights that several adapters are added to.

    Args:
        beat: called at each step of long work (a batch, a piece of a file, a call of a tokenizer), for somebody who
            watches whether the work hangs.
        known: what lies on it from the start.

    Attributes:
        noted: the place of a source -> of how many rows it was asked at most, and what was understood of its answers to
            these, or is to be known of what was loaded, a sentence each.
    """

    def __init__(self, beat: Callable[[], None] = lambda: None, known: Mapping[Hashable, Any] | None = None) -> None:
        super().__init__(known or {})
        self.beat = beat
        self.noted: dict[str, tuple[int, tuple[str, ...]]] = {}


@dataclass(frozen=True)
class BundledRows:
    """The rows that a model's own file brings.

    Attributes:
        task: how the answers to them are judged.
        examples: the rows, each with an id that is the same wherever the row is, its texts, its true label where that
            is known, and the group that it belongs to.
        checks: what must agree between files that bring the same row (a hash of the right answer), by id; "" where
            that is not known.
        questions: what a row asks, by its id; "" where the id itself tells. Under one id, files may ask other things.
        numbered: the ids may be positions: then files that ask other things under one are of other rows.
        prompts: a hash of what the model was given for each row, and how; where those of two files differ, so did
            the prompts. "" where that is not known.
    """

    task: Task
    examples: tuple[Example, ...]
    checks: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    numbered: bool = False
    prompts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Needs:
    """What a model needs of the machine that it works on, beside memory and cores.

    Attributes:
        secrets: environment variables that its worker sees, as far as the run has them. A worker sees no other secret.
        network: its worker sees the variables that say how to reach the network: proxies and certificates.
        accelerator: it computes on the machine's device. A GPU takes one model at a time; others work beside it.
        at_once: how many models of its kind may work side by side; None for as many as there are cores and memory for.
        silence: seconds without a sign of life after which it counts as hung; None for what the executor says.

    Raises:
        UsageError: a number that is not above 0.

    Example:
        >>> Needs(secrets=("OPENAI_API_KEY",), network=True, at_once=4).silence is None
        True
    """

    secrets: tuple[str, ...] = ()
    network: bool = False
    accelerator: bool = False
    at_once: int | None = None
    silence: float | None = None

    def __post_init__(self) -> None:
        for name in ("at_once", "silence"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"`needs.{name}` must be above 0 (got {value})")


@dataclass(frozen=True)
class ModelInfo:
    """What a source says of itself before it is loaded.

    Attributes:
        source: the same, pinned: wherever it is opened, it is this model (a path that is whole, a commit of a hub).
        labels: the names of its answers, in their order; none where it names none.
        size: bytes of what it loads; 0 where it loads nothing, or that is not known.
        preload: modules that are worth importing before it is opened.
        unused: the options that were given and say nothing of it: fields of `SourceOptions`, and of its records.
        trouble: why it cannot be read, in a line; "" where it can.
        unclear: why it can only be read beside rows whose task is known, in a line; "" where it can be by itself.
        rows: the rows that its answers are to, where its file brings them.
        notes: what was understood of its file, a sentence each.
        contents: what is in its file, for somebody who names no other model, a line each.
        outputs: what it calls its outputs before any label map, names or not; none where no label map is for it.
        needs: secrets, network, and how it may be asked.
        metric: a metric of all labels together that was asked for, and that its rows have no number of; "" for none.
    """

    source: Source
    labels: tuple[str, ...] = ()
    size: int = 0
    preload: tuple[str, ...] = ()
    unused: frozenset[str] = frozenset()
    trouble: str = ""
    unclear: str = ""
    rows: BundledRows | None = None
    notes: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    needs: Needs = Needs()
    metric: str = ""


@dataclass(frozen=True)
class TasksOfPlace:
    """What a place holds that may have answers of models to several tasks, each of which `PLACE#TASK` names.

    Attributes:
        of: model -> the tasks that it was asked.
        groups: group of tasks -> the tasks in it.
    """

    of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Source(Protocol):
    """Where the answers of one model come from: a frozen record that can be pickled and compared.
    It is renamed by `dataclasses.replace`.
    """

    @property
    def name(self) -> str:
        """As it stands in tables."""

    @property
    def family(self) -> str:
        """Models of one family differ by their training only; "" where it is not known."""

    @property
    def place(self) -> str:
        """Where it lies, however that was written: what two references to one model have in common."""

    @property
    def shares(self) -> str:
        """Sources of one word are opened by one process, one after the other; "" where there is nothing to share."""

    @property
    def precomputed(self) -> bool:
        """Its answers lie in a file: they are read each time, and the store keeps no copy."""

    def inspect(self, shelf: ResourceCache) -> ModelInfo:
        """What it says of itself; it is asked once a run, and loads no weights. Trouble is stated, not raised."""

    def identity(self, task: Task, machine: Machine, shelf: ResourceCache) -> Mapping[str, Any]:
        """Everything of the model that can change a number, as plain JSON: its part of the store's key.

        Its item "content" is a text: what the model is known by, whatever its name and wherever it lies. Files that
        are opened for it stay on the shelf, and are what `open` loads.

        Raises:
            ModelError: it cannot be read.
        """

    def open(self, task: Task, machine: Machine, shelf: ResourceCache) -> Predictor:
        """The model, ready to be asked.

        Raises:
            ModelError: it cannot be loaded; LabelError: its answers are not the task's.
        """


class Predictor(Protocol):
    """A model that is ready to be asked."""

    @property
    def name(self) -> str:
        """What messages call it."""

    def predict(self, examples: Sequence[Example], advance: Advance) -> Iterator[Predictions]:
        """The answers to examples, in blocks, in order; what was yielded is kept, whatever happens then.

        Args:
            examples: any number of them.
            advance: told how many more examples are done.

        Raises:
            ModelError: the model cannot be run.
            ValueError: it gives numbers that are not finite.
        """


@cache
def version(package: str) -> str | None:
    """A package's version, whatever device it was built for; None where it is not installed. It is read once.

    Example:
        >>> version("torch") == metadata.version("torch").partition("+")[0], version("no-such-package")
        (True, None)
    """
    try:
        return metadata.version(package).partition("+")[0]
    except metadata.PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Encoding:
    """One example as one model reads it, in T tokens. A source may add fields of its own.

    Two questions are kept apart. ``segment`` and ``word`` say whether a token is of the example's text: only those
    tokens are ever hidden. ``fixed`` says that a token of no text is what the model is asked with, and is not moved
    along a path either. So a separator is not fixed: it is never hidden, and integrated gradients move it like any
    other token.

    Attributes:
        tokens: (T,) as the model calls them.
        segment: (T,) the segment of the example that a token belongs to, -1 where it belongs to none.
        word: (T,) index into ``Example.words`` of the token's word, -1 where it belongs to none.
        offsets: (T, 2) the characters of its segment that a token covers, white space around it left out; (0, 0) where
            it belongs to none.
        fixed: (T,) True for what no method may hide or move, and what scores 0: an instruction, demonstrations, the
            words of an answer. None of it is of the example's text.
        truncated: the example was longer than the model's limit, and was cut.

    Raises:
        ValueError: a fixed token is of a segment or a word, where methods would hide it.
    """

    tokens: tuple[str, ...]
    segment: Ints
    word: Ints
    offsets: Ints
    fixed: Bools
    truncated: bool = False

    def __post_init__(self) -> None:
        wrong = np.flatnonzero(self.fixed & ((self.segment != SPECIAL) | (self.word != SPECIAL)))
        if len(wrong):
            raise ValueError(f"a fixed token must be of no segment and no word (got {self.tokens[wrong[0]]!r})")
        for array in (self.segment, self.word, self.offsets, self.fixed):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def words(self) -> int:
        """How many words have tokens; of one that was cut there may be none left."""
        return len(np.unique(self.word[self.word != SPECIAL]))


E = TypeVar("E", bound=Encoding)
S = TypeVar("S")


class Perturbed(Predictor, Protocol[E]):
    """A model that answers to examples with tokens hidden. How it hides them is its own business.

    Its encodings are of a kind of its own, E; it is given none but those that it made.
    """

    @property
    def classes(self) -> int:
        """C, in the order of the task's labels."""

    @property
    def seed(self) -> str:
        """What identifies the loaded model, for random samples: another one for other weights."""

    @property
    def hides(self) -> Sequence[Hide]:
        """The ways in which it can hide tokens."""

    def encodings(self, examples: Iterable[Example]) -> Iterator[E]:
        """Encode examples in order, one after the other, as they are asked for."""

    def answers(
        self, requests: Iterable[tuple[S, E, Bools]], hide: Hide, advance: Advance
    ) -> Iterator[tuple[S, Floats]]:
        """Answer requests in order.

        Args:
            requests: what the caller wants back with the answer, an example, and (R, T) which of its tokens are seen.
                They may be read ahead.
            hide: one of `hides`; any, where every token is seen.
            advance: told how many more requests are done.

        Yields:
            What came with the request, and (R, C) float64 logits or log-probabilities. No row's depend on other rows.

        Raises:
            ModelError: the model cannot be run.
        """


class Embedded(Perturbed[E], Protocol[E]):
    """A model that also answers to points between embeddings, with a gradient. R encodings are always of one length."""

    @property
    def token_budget(self) -> int:
        """The most tokens a batch; it changes speed and memory, no number."""

    @property
    def rounding(self) -> float:
        """The step from 1 to the next number that it computes with."""

    def embed(self, encodings: Sequence[E]) -> Tensor:
        """(R, T, D) the embeddings of the tokens of R examples."""

    def start(self, baseline: Baseline) -> Tensor:
        """(D,) the embedding that paths start from: zero, or that of a token among `hides`."""

    def frame(self, encoding: E) -> Hashable:
        """What it reads of an example beside the embeddings of the tokens that are not fixed.

        Examples of one frame are answered alike where all these tokens are at the start.
        """

    def from_embeddings(self, embeddings: Tensor, encodings: Sequence[E]) -> Tensor:
        """(R, T, D) embeddings in place of those of R examples -> (R, C) float32 logits.

        Raises:
            ModelError: the model cannot be run.
        """


class Timed(Perturbed[E], Protocol[E]):
    """A model that can say how fast it is."""

    def speed(self, encoding: E) -> float:
        """Rows like this one a second, in a full batch."""


def is_timed(model: Perturbed[E]) -> TypeGuard[Timed[E]]:
    """Whether a model can say how fast it is."""
    return hasattr(type(model), "speed")


def is_perturbed(model: Predictor) -> TypeGuard[Perturbed[Encoding]]:
    """Whether a model answers with tokens hidden."""
    return all(hasattr(type(model), name) for name in ("encodings", "answers"))


def is_embedded(model: Perturbed[E]) -> TypeGuard[Embedded[E]]:
    """Whether a model answers to points between embeddings."""
    return all(hasattr(type(model), name) for name in ("embed", "start", "frame", "from_embeddings"))
