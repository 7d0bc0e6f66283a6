"""Protocols of models: how they are loaded and run, and what a loaded one can answer.

A model answers; it has no method that attributes. Attribution methods ask: SHAP, LIME and occlusion only need
`Perturbed`, integrated gradients only need `Embedded`. So a new kind of model gets every method that it supports, and
a new method works on all models.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeGuard, TypeVar

import numpy as np

from factors.types import SPECIAL, Bools, Example, Floats, Frozen, Ints
from ranker.errors import FileReading, UsageError
from ranker.limits import LIMITS, Limits
from ranker.sources.options import flags_of, non_defaults

R = TypeVar("R")

if TYPE_CHECKING:
    from torch import Tensor

    from ranker.progress import Advance
    from ranker.tasks.base import Predictions, Task

Hide = Literal["pad", "mask", "remove"]
"""Treatment of a hidden token: replaced by the padding or mask token, or removed."""

Baseline = Literal["mask", "pad", "zero"]
"""Start of a path between embeddings: the embedding of the mask or padding token, or zero."""


@dataclass(frozen=True)
class Machine:
    """Device and settings with which models of any kind are run.

    Attributes:
        device: a torch device ("cpu", "cuda", "cuda:1", "mps").
        dtype: "float32", "bfloat16", or "auto": bfloat16 if the device has units for it, for backends whose scores are
            nearly the same in it; those of IG are not within its tolerance.
        token_budget: tokens a batch; None takes what is fast on the device. It changes no number.
        threads: most threads of a process; None leaves that to the libraries.

    Example:
        >>> Machine(dtype="auto").settled(bfloat16=False).dtype
        'float32'
    """

    device: str = "cpu"
    dtype: str = "float32"
    token_budget: int | None = None
    threads: int | None = None

    def settled(self, bfloat16: bool) -> Machine:
        """Replace "auto" by the device's format if numbers are as good in bfloat16, else by float32."""
        if self.dtype != "auto":
            return self
        from ranker.sources.devices import resolve

        return replace(self, dtype=resolve("auto", self.device) if bfloat16 else "float32")


@dataclass(frozen=True)
class SourceOptions:
    """Options of all references of a run; each kind of source takes what concerns it.

    Attributes:
        label_map: for checkpoints with unnamed labels and no map of their own.
        trust_remote_code: names of the models whose checkpoints may run code that they bring.
        allow_pickle: load weights that are not safetensors.
        kinds: a record of options for a kind of source: `TableOptions`, `LogOptions`, or that of a kind that a package
            adds.
        limits: size limits of reading.
        values: answers are values that only the task of the rows parses, such as tags or texts.
        columns: "text" and "label" -> columns of the user's labelled rows, of which demonstrations may be others.

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
    values: bool = False
    columns: Mapping[str, Sequence[str]] = Frozen({})

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", Frozen({role: tuple(names) for role, names in self.columns.items()}))
        object.__setattr__(self, "label_map", None if self.label_map is None else Frozen(self.label_map))
        object.__setattr__(self, "kinds", tuple(self.kinds))
        types = [type(record) for record in self.kinds]
        if twice := [kind for kind in types if types.count(kind) > 1]:
            raise UsageError.about(
                "kinds", f"must hold one record of a kind (got {len(twice)} of {twice[0].__name__})", twice
            )

    def of(self, record: type[R]) -> R:
        """Return the options of one kind, or its defaults."""
        return next((options for options in self.kinds if type(options) is record), record())

    def of_others(self, *records: type) -> frozenset[str]:
        """Return the fields set for other kinds than these, without those that the run itself reads.

        A field that kinds share and that is set to the same value for one of these is not included.
        """
        selected = [options for options in self.kinds if type(options) in records]
        return frozenset(
            name
            for options in self.kinds
            if type(options) not in records
            for name, value in non_defaults(options).items()
            if not flags_of(type(options))[name].of_run
            and all(getattr(record, name, None) != value for record in selected)
        )


class ResourceCache(dict[Hashable, Any]):
    """Resources that the sources of one process share: opened files, the weights of an adapters' base.

    Args:
        beat: called at each step of long work (a batch, a piece of a file, a call of a tokenizer), as a sign of life.

    Attributes:
        folder: local folder in which sources may keep what they received; None for none.
        offline: nothing may be sent to a server, as in a dry run.
        noted: place of a source -> the largest number of rows it was asked, and notes on its answers to these, or on
            what was loaded, a sentence each.
    """

    def __init__(self, beat: Callable[[], None] = lambda: None, initial: Mapping[Hashable, Any] | None = None) -> None:
        super().__init__(initial or {})
        self.beat = beat
        self.folder: Path | None = None
        self.offline = False
        self.noted: dict[str, tuple[int, tuple[str, ...]]] = {}


FAILED = "failed: "
"""Start of a note on rows that have failed; the reason follows."""


@dataclass(frozen=True)
class BundledRows:
    """Rows that a model's own file brings.

    Attributes:
        task: by which the answers to them are judged.
        examples: the rows, each with an id that is the same in all files, its texts, its true label if known, and its
            group.
        checks: by row: a hash of the right answer, which must agree between files; "" if unknown.
        questions: by row: its question; "" if the id implies it. Under one id, files may ask different things.
        numbered: the ids may be positions: then files that ask different things under one are of other rows.
        prompts: by row: a hash of the model's input; files with different hashes had different prompts. "" if unknown.
    """

    task: Task
    examples: tuple[Example, ...]
    checks: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    numbered: bool = False
    prompts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Needs:
    """Needs of a model beside memory and cores.

    Attributes:
        secrets: environment variables that its worker sees, as far as the run has them. A worker sees no other secret.
        network: its worker sees the variables for reaching the network: proxies and certificates.
        accelerator: it computes on the machine's device. A GPU takes one model at a time; others work beside it.
        at_once: most models of its kind that may run side by side; None for as many as cores and memory allow.
        silence: seconds without a sign of life after which it counts as hung; None for the executor's default.

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
                raise UsageError.about(f"needs.{name}", f"must be above 0 (got {value})", value)


@dataclass(frozen=True)
class ModelInfo:
    """Facts of a source that are known before it is loaded.

    Attributes:
        source: the same, pinned: wherever it is opened, it is this model (an absolute path, a commit of a hub).
        labels: names of its answers, in order; () if it names none.
        size: bytes of what it loads; 0 for nothing or unknown.
        preload: modules worth importing before it is opened.
        unused: options that were set and do not concern it: fields of `SourceOptions`, and of its records.
        trouble: why it cannot be read, in a line; "" if it can.
        unclear: why it can only be read beside rows whose task is known, in a line; "" if it can be by itself.
        readings: ways to read it, if that is why.
        rows: the rows of its answers, if its file brings them.
        notes: how its file was read, a sentence each.
        contents: content of its file, for a user who names no other model, a line each.
        outputs: its outputs before any label map, named or not; () if no label map applies.
        needs: secrets, network, and limits of running it.
        metric: a requested metric of all labels together that its rows have no number of; "" for none.
        demonstrations: texts of rows that it was shown with their answers, so that it must not be judged on them.
        attributable: attributions are computed by default; False where they cost requests without a limit.
        parts: what it is made of, part -> name: {"model": "smollm2", "prompt": "review"}; empty for one piece. A part
            is a noun in the singular. A report groups models by each part that they have in common.
    """

    source: Source
    labels: tuple[str, ...] = ()
    size: int = 0
    preload: tuple[str, ...] = ()
    unused: frozenset[str] = frozenset()
    trouble: str = ""
    unclear: str = ""
    readings: tuple[FileReading, ...] = ()
    rows: BundledRows | None = None
    notes: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    needs: Needs = Needs()
    metric: str = ""
    demonstrations: tuple[tuple[str, ...], ...] = ()
    attributable: bool = True
    parts: Mapping[str, str] = Frozen({})

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", Frozen(self.parts))


@dataclass(frozen=True)
class TasksOfPlace:
    """Tasks of a place that may hold answers to several tasks; `PLACE#TASK` names each."""

    by_model: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Source(Protocol):
    """Description of one model's answers: a frozen record that can be pickled and compared; `open` returns the model.
    It is renamed by `dataclasses.replace`.
    """

    @property
    def name(self) -> str:
        """Name in reports."""

    @property
    def family(self) -> str:
        """Models of one family differ by their training only; "" if unknown."""

    @property
    def place(self) -> str:
        """Location in a canonical form, which two references to one model share."""

    @property
    def shares(self) -> str:
        """Key of sources that run in one worker, one after the other, and reuse what it has loaded; "" for none."""

    @property
    def precomputed(self) -> bool:
        """True if its answers are in a file: they are read each time, and the store keeps no copy."""

    def inspect(self, cache: ResourceCache) -> ModelInfo:
        """Inspect the model, once a run, without loading weights. Trouble is stated, not raised."""

    def identity(self, task: Task, machine: Machine, cache: ResourceCache) -> Mapping[str, Any]:
        """Return everything of the model that can change a number, as plain JSON: its part of the store's key.

        Its item "content" is a text that identifies the model, whatever its name and location. Files that are opened
        for it stay in the cache, and are what `open` loads.

        Raises:
            ModelError: it cannot be read.
        """

    def open(self, task: Task, machine: Machine, cache: ResourceCache) -> Predictor:
        """Load the model.

        Raises:
            ModelError: it cannot be loaded; LabelError: its answers are not the task's.
        """


class Connected(Source, Protocol):
    """A source that asks a server."""

    def connect(self, cache: ResourceCache) -> None:
        """Find out what the server can do, unless that is known, so that a wrong address fails before any work.

        Raises:
            ModelError: the server cannot be asked.
        """


def is_connected(source: Source) -> TypeGuard[Connected]:
    """Return True if a source asks a server."""
    return hasattr(type(source), "connect")


class Predictor(Protocol):
    """A loaded model."""

    @property
    def name(self) -> str:
        """Name in messages."""

    def predict(self, examples: Sequence[Example], advance: Advance) -> Iterator[Predictions]:
        """Yield the answers to examples, in blocks, in order; yielded blocks are kept, whatever happens next.

        Args:
            advance: called with the number of newly finished examples.

        Raises:
            ModelError: the model cannot be run.
            ValueError: it gives numbers that are not finite.
        """


@functools.cache
def version(package: str) -> str | None:
    """Return a package's version without its device suffix; None if it is not installed. It is read once.

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

    ``segment`` and ``word`` say whether a token belongs to the example's text: only those tokens are ever hidden.
    ``fixed`` says that a token outside the text is part of the prompt, and is not moved along a path either. So a
    separator is not fixed: it is never hidden, and integrated gradients move it like any other token.

    Attributes:
        tokens: (T,) the model's names of them.
        segment: (T,) segment of the example that a token belongs to, -1 for none.
        word: (T,) index into ``Example.words`` of the token's word, -1 for none.
        offsets: (T, 2) characters of its segment that a token covers, without white space around it; (0, 0) for none.
        fixed: (T,) True for tokens that no method may hide or move, and that attributions leave out: an instruction,
            demonstrations, the words of an answer. None of them belongs to the example's text.
        truncated: the example was longer than the model's limit, and was cut.

    Raises:
        ValueError: a fixed token belongs to a segment or a word, where methods would hide it.
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
        """Number of words that have tokens; 0 is possible if the example was cut."""
        return len(np.unique(self.word[self.word != SPECIAL]))


E = TypeVar("E", bound=Encoding)
S = TypeVar("S")


class Perturbed(Predictor, Protocol[E]):
    """A model that answers to examples with tokens hidden, in whatever way.

    Its encodings are of its own type E; it only gets those that it made.
    """

    @property
    def classes(self) -> int:
        """C, in the order of the task's labels; 1 if answers are no labels."""

    @property
    def seed(self) -> str:
        """Identity of the loaded model for random samples: it differs for other weights."""

    @property
    def hides(self) -> Sequence[Hide]:
        """Ways in which it can hide tokens."""

    def encodings(self, examples: Iterable[Example]) -> Iterator[E]:
        """Encode examples lazily, in order. If answers are no labels, with the model's own answer to each."""

    def answers(
        self, requests: Iterable[tuple[S, E, Bools]], hide: Hide, advance: Advance
    ) -> Iterator[tuple[S, Floats]]:
        """Answer requests in order.

        Args:
            requests: any object that is returned with the answer, an example, and (R, T) True for visible tokens. They
                may be read ahead.
            hide: one of `hides`; any if all tokens are visible.
            advance: called with the number of newly finished requests.

        Yields:
            The object of the request, and (R, C) float64 logits or log-probabilities. No row depends on other rows.
            If answers are no labels, (R, 1) the number of the model's own answer to the whole example, see
            `Task.outputs`; nan if that answer has none.

        Raises:
            ModelError: the model cannot be run.
        """


class Embedded(Perturbed[E], Protocol[E]):
    """A model that also answers to points between embeddings, with a gradient.

    R encodings have one length T, unless it pads: then T is the longest, and what stands behind a row moves nothing.
    """

    @property
    def token_budget(self) -> int:
        """Most tokens a batch; it changes speed and memory, no number."""

    @property
    def padding(self) -> int:
        """Most tokens of padding in a batch; 0 for rows of one length. It changes speed and memory, no number."""

    def window(self, passes: int = 1) -> int:
        """Return the most tokens that are read ahead, where each takes so many passes."""

    @property
    def rounding(self) -> float:
        """Step from 1 to the next number of its format."""

    def embed(self, encodings: Sequence[E]) -> Tensor:
        """Return (R, T, D) embeddings of the tokens of R examples."""

    def start(self, baseline: Baseline) -> Tensor:
        """Return (D,) the embedding that paths start from: zero, or that of a token among `hides`."""

    def frame(self, encoding: E) -> Hashable:
        """Return all input from an example except the embeddings of tokens that are not fixed.

        Examples of one frame have the same answer if all these tokens are at the start.
        """

    def from_embeddings(self, embeddings: Tensor, encodings: Sequence[E]) -> Tensor:
        """Run (R, T, D) embeddings in place of those of R examples -> (R, C) float32 logits.

        Raises:
            ModelError: the model cannot be run.
        """


@dataclass(frozen=True)
class Bill:
    """Requests to a server, and what they cost, before they are sent.

    Attributes:
        requests, most: number of requests, at least and at most, without retries.
        prompt_tokens, output_tokens: number of tokens of the most requests, estimated from the lengths of texts.
        money: price of all of them; nan where it is not known.

    Example:
        >>> print(Bill("api.example.com", 300, 300, 12_000, 300, 0.0123, "USD"))
        300 requests to api.example.com, about 12,000 tokens and 300 written, 0.0123 USD
        >>> print(Bill("api.example.com", 300, 600, 24_000, 600))
        300 to 600 requests to api.example.com, at most about 24,000 tokens and 600 written
    """

    host: str
    requests: int
    most: int
    prompt_tokens: int
    output_tokens: int
    money: float = math.nan
    currency: str = ""

    def __add__(self, bill: Bill) -> Bill:
        requests, most = self.requests + bill.requests, self.most + bill.most
        tokens = self.prompt_tokens + bill.prompt_tokens, self.output_tokens + bill.output_tokens
        return Bill(self.host, requests, most, *tokens, self.money + bill.money, self.currency)

    def __str__(self) -> str:
        """Return the bill in a line."""
        sure = self.requests == self.most
        requests = f"{self.requests:,} request{'' if self.most == 1 else 's'}"
        requests = requests if sure else f"{self.requests:,} to {self.most:,} requests"
        tokens = f"{'' if sure else 'at most '}about {self.prompt_tokens:,} tokens and {self.output_tokens:,} written"
        money = "" if math.isnan(self.money) else f", {self.money:,.3g} {self.currency}".rstrip()
        return f"{requests} to {self.host}, {tokens}{money}"


class Billed(Predictor, Protocol):
    """A model whose answers cost requests to a server."""

    def bill(self, examples: Sequence[Example], passes: int) -> Bill:
        """Return the bill of some answers.

        Args:
            passes: number of rows that are asked: the examples, or versions of them with words hidden.
        """


def is_billed(model: Predictor) -> TypeGuard[Billed]:
    """Return True if a model's answers cost requests to a server."""
    return hasattr(type(model), "bill")


def is_perturbed(model: Predictor) -> TypeGuard[Perturbed[Encoding]]:
    """Return True if a model answers with tokens hidden."""
    return all(hasattr(type(model), name) for name in ("encodings", "answers"))


def is_embedded(model: Perturbed[E]) -> TypeGuard[Embedded[E]]:
    """Return True if a model answers to points between embeddings."""
    return all(hasattr(type(model), name) for name in ("embed", "start", "frame", "from_embeddings"))
