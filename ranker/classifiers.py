"""A checkpoint -> probabilities in the task's own label order: any Hugging Face sequence classifier."""

from __future__ import annotations

import copy
import inspect
import logging
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from pickle import UnpicklingError  # noqa: TID251  # the name of an error; nothing is unpickled
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch

from factors.types import UNLABELLED, Example, Floats, Output
from ranker import align, batching, checkpoints, labels
from ranker.align import Encoding
from ranker.batching import Batch, Row
from ranker.errors import LabelError, ModelError, RankModelsError, UsageError
from ranker.last_layer import read_first_token

if TYPE_CHECKING:
    from peft import PeftConfig
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ranker.cards import Task
    from ranker.progress import Advance

log = logging.getLogger(__name__)

S = TypeVar("S")
Bases = dict[tuple[Path, "_Options", tuple[str, ...], int | None], "PreTrainedModel"]
"""The networks that adapters share, by their folder, how they were loaded, the modules given, and how many outputs."""

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
TOKENS_ON_CPU, TOKENS_ELSEWHERE = 1024, 65_536
"""Tokens a batch: a smaller one costs calls, a larger one memory; on CPUs speed changes little from 1,024 on."""
SHORT = Example("short", ("One short text.",), UNLABELLED)
"""What a network is tried with once it is loaded."""
ENCODED_AT_ONCE = 256
"""Examples a call of the tokenizer."""
ADAPTER_WEIGHTS = "adapter_model.safetensors"
GENTLE_INITS = (True, False, None, "gaussian", "orthogonal", "eva")
"""The ways in which PEFT begins an adapter's weights and leaves the base's as they are; pissa and olora do not."""


@dataclass(frozen=True)
class Classifier:
    """A loaded sequence classifier, ready to be asked: C classes, in the order of the task's labels.

    Attributes:
        name: where it came from.
        model: the network, in evaluation mode; no weight takes a gradient.
        tokenizer: its tokenizer, a fast one.
        groups: (C,) the network's outputs that make up each class.
        max_length: the most tokens that it takes.
        takes_type_ids: the network wants to be told which segment a token belongs to.
        device: where it is.
        token_budget: the most tokens a batch; it changes speed and memory, no number.
        dtype: what matrix products are computed in: float32, or bfloat16 with all else in float32.
    """

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    groups: tuple[tuple[int, ...], ...]
    max_length: int
    takes_type_ids: bool
    device: torch.device
    token_budget: int
    dtype: torch.dtype = torch.float32

    @classmethod
    def load(
        cls,
        path: str | Path,
        task: Task,
        *,
        device: str = "cpu",
        dtype: str = "float32",
        label_map: Mapping[str, str] | None = None,
        trust_remote_code: bool = False,
        allow_pickle: bool = False,
        token_budget: int | None = None,
        bases: Bases | None = None,
    ) -> Classifier:
        """Load a checkpoint.

        Args:
            path: a directory with a sequence classifier or a PEFT adapter of one, or a hub id ``org/name@revision``.
            task: the labels to map the checkpoint's to.
            device: a torch device.
            dtype: "float32", "bfloat16", or "auto" (see `resolve`).
            label_map: the checkpoint's label index or name -> the task's label, where the configuration does not say.
            trust_remote_code: run code that comes with the checkpoint.
            allow_pickle: load weights that are not safetensors.
            token_budget: the most tokens a batch; None takes what is fast on the device.
            bases: adapters that are loaded with the same dict, one after the other, share the weights of their base in
                memory, but for those that change them. It holds the base of the last one.

        Raises:
            UsageError: a device or a dtype that is none.
            ModelError: the checkpoint is incomplete, damaged, no sequence classifier, or cannot be run from embeddings.
            LabelError: its labels cannot be mapped.
        """
        where = device_named(device)
        products = DTYPES[resolve(dtype, device)]
        folder = checkpoints.locate(path, allow_pickle=allow_pickle)
        options = _Options(trust_remote_code, allow_pickle, products)
        if trust_remote_code:
            checkpoints.brings_code(folder, allow_pickle=allow_pickle)  # of another repository it is refused
        with one_line(folder):
            if checkpoints.adapter_base(folder) is None:
                model, tokenizer = _load(folder, options), _tokenizer(folder, trust_remote_code)
            else:
                model, tokenizer = _load_adapter(folder, options, label_map, {} if bases is None else bases)
            groups = labels.reconcile(_names(model), task, label_map, model=str(folder))
            _check(folder, model, tokenizer)
            model.requires_grad_(False).to(where)  # type: ignore[arg-type]
            model.eval()  # type: ignore[no-untyped-call]
            _store_products(model, products)
            takes_types = "token_type_ids" in inspect.signature(model.forward).parameters
            budget = token_budget or (TOKENS_ON_CPU if where.type == "cpu" else TOKENS_ELSEWHERE)
            loaded = cls(str(path), model, tokenizer, groups, max_length(model, tokenizer), takes_types, where, budget,
                         products)  # fmt: skip
            loaded._prepare()
        return loaded

    def _prepare(self) -> None:
        """Have the network run as it is here: from embeddings, in batches, and no more of its last layer than is read.

        Raises:
            ModelError: it then answers otherwise than it does of itself.
        """
        batch = batching.stack([self.row(encoding) for encoding in self.encode([SHORT])], self.device)
        with torch.no_grad():
            whole = self._run(batch.type_ids, input_ids=batch.ids)
            read_first_token(self.model)
            for config in (self.model.config, self.model.config.get_text_config()):
                if getattr(config, "pad_token_id", None) is None:
                    config.pad_token_id = 0  # batches are never padded, and some are refused without one
            off = (self.from_embeddings(self.embed(batch.ids), batch.type_ids) - whole).abs().max().item()
        # half of the digits: far beyond rounding, and below what makes a difference
        if off > torch.finfo(self.dtype).eps ** 0.5 * max(1.0, whole.abs().max().item()):
            raise ModelError(
                f"{self.name} answers otherwise to embeddings than to the tokens that they are of (logits off by "
                f"{off:.2g}): it is of a kind that cannot be attributed"
            )

    def encode(self, examples: Sequence[Example]) -> list[Encoding]:
        """Encode examples, in order; those past the model's limit are cut, and counted in one warning."""
        return list(self.encodings(examples))

    def encodings(self, examples: Iterable[Example]) -> Iterator[Encoding]:
        """Encode examples one after the other, as they are asked for."""
        stream, count, cut = iter(examples), 0, 0
        while block := list(islice(stream, ENCODED_AT_ONCE)):
            for encoding in align.encode(self.tokenizer, block, self.max_length):
                cut += encoding.truncated
                yield encoding
            count += len(block)
        if cut:
            log.warning("%s: %d of %d examples are longer than its %d tokens, and were cut", self.name, cut, count,
                        self.max_length)  # fmt: skip

    def row(self, encoding: Encoding) -> Row:
        """What the network is fed of an encoding."""
        return Row(encoding.ids, encoding.type_ids if self.takes_type_ids else None)

    def probabilities(self, examples: Sequence[Example], advance: Advance = lambda done: None) -> Floats:
        """The class probabilities of examples: (N, C), each row adds up to 1.

        Args:
            examples: N of them.
            advance: told how many more examples are done.

        Raises:
            ModelError: the network cannot be run.
        """
        requests = ((None, [self.row(encoding)]) for encoding in self.encodings(examples))
        rows = np.empty((len(examples), len(self.groups)))
        for i, (_, logits) in enumerate(self.logits(requests, advance)):
            rows[i] = softmax(logits)[0]
        return rows

    def logits(
        self, requests: Iterable[tuple[S, Sequence[Row]]], advance: Advance = lambda done: None
    ) -> Iterator[tuple[S, Floats]]:
        """Answer requests for rows of token ids, in order, each with its rows' (R, C) logits of the task's classes.

        See `ranker.batching.forward`: requests are read ahead, and duplicates among their rows are computed once.
        """
        return batching.forward(self.network, requests, self.token_budget, self.device, advance)

    def network(self, batch: Batch) -> torch.Tensor:
        """A batch of R rows -> (R, C) float32 logits of the task's classes."""
        return self.from_embeddings(self.embed(batch.ids), batch.type_ids)

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        """(R, T) token ids -> (R, T, D) the network's word embeddings, without positions and segments."""
        return self.model.get_input_embeddings()(ids)  # type: ignore[no-any-return]

    def from_embeddings(self, embeddings: torch.Tensor, type_ids: torch.Tensor | None) -> torch.Tensor:
        """(R, T, D) word embeddings -> (R, C) float32 logits of the task's classes.

        Everything goes in by this door, token ids too: RoBERTa's kind counts positions from the padding ids that it
        sees, so a row that a backend has masked with padding would shift; from embeddings positions only count up.

        Raises:
            ModelError: the network refuses them, as BART's kind does.
        """
        return self._run(type_ids, inputs_embeds=embeddings)

    def _run(self, type_ids: torch.Tensor | None, **rows: torch.Tensor) -> torch.Tensor:
        """R rows of T tokens, as ids or as embeddings -> (R, C) float32 logits of the task's classes."""
        inputs = rows if type_ids is None else {**rows, "token_type_ids": type_ids}
        mask = torch.ones(next(iter(rows.values())).shape[:2], dtype=torch.long, device=self.device)
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
            try:
                outputs = self.model(attention_mask=mask, **inputs)
            except Exception as error:  # a network may be anybody's code
                if batching.is_out_of_memory(error):
                    raise
                raise ModelError(f"{self.name} cannot be run: {_first_line(error)}") from error
        return collapse(outputs.logits.float(), self.groups)


def resolve(dtype: str, device: str = "cpu") -> str:
    """A number format by its name: "auto" is bfloat16 where the device has units for it, else float32.

    In bfloat16 are the matrix products, which take most of the time; norms, sums and embeddings stay in float32, as
    they do in training with mixed precision. Scores move by about one part in a hundred, so it is never taken unasked.

    Raises:
        UsageError: no such format, or no such device.
    """
    if dtype == "auto":
        return "bfloat16" if _has_bfloat16(device_named(device)) else "float32"
    if dtype not in DTYPES:
        raise UsageError(f"`--dtype` must be one of auto, {', '.join(DTYPES)} (got {dtype!r})")
    return dtype


def collapse(logits: torch.Tensor, groups: Sequence[Sequence[int]]) -> torch.Tensor:
    """The logits of classes from those of the outputs that make them up: z_c = log sum_{o in c} exp(z_o).

    So a class's probability is the sum of its outputs' probabilities, and the margin of two classes their log-odds.

    Args:
        logits: (R, O).
        groups: (C,) the outputs of each class.

    Returns:
        (R, C).

    Example:
        >>> three = torch.tensor([[0.2, 0.5, 0.3]]).log()
        >>> [round(p, 4) for p in collapse(three, [(1, 2), (0,)]).exp()[0].tolist()]
        [0.8, 0.2]
    """
    if all(len(group) == 1 for group in groups):
        return logits[:, [group[0] for group in groups]]
    return torch.stack([logits[:, list(group)].logsumexp(dim=1) for group in groups], dim=1)


def explained(logits: torch.Tensor, target: int, output: Output = "margin") -> torch.Tensor:
    """The one number of each row that is attributed to its tokens.

    - margin: log(p / (1 - p)) of the target's probability p; for two classes z_target - z_other.
    - logit: z_target.
    - probability: p.

    Args:
        logits: (R, C).
        target: the class.
        output: which of the three.

    Returns:
        (R,).

    Example:
        >>> explained(torch.tensor([[1.0, 3.0]]), 1).tolist()
        [2.0]
    """
    if output == "logit":
        return logits[:, target]
    if output == "probability":
        return logits.softmax(dim=1)[:, target]
    others = [i for i in range(logits.shape[1]) if i != target]
    return logits[:, target] - logits[:, others].logsumexp(dim=1)


def softmax(logits: Floats) -> Floats:
    """(R, C) logits -> (R, C) probabilities."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def max_length(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """The most tokens that a model takes: the least of what the tokenizer and the position embeddings allow."""
    limits = [tokenizer.model_max_length, sys.maxsize]  # a tokenizer without a limit says 1e30, more than it takes
    positions = getattr(model.config, "max_position_embeddings", None) or 0
    if positions > 0:
        tables = (m for name, m in model.named_modules() if name.endswith("position_embeddings"))
        # RoBERTa's kind counts positions from behind the padding index
        first = [table.padding_idx + 1 for table in tables if getattr(table, "padding_idx", None) is not None]
        limits.append(positions - max(first, default=0))
    return int(min(limits))


@dataclass(frozen=True)
class _Options:
    trust_remote_code: bool
    allow_pickle: bool
    dtype: torch.dtype


def _load(folder: Path, options: _Options, given: Sequence[str] = (), outputs: int | None = None) -> PreTrainedModel:
    """The network of a folder.

    Args:
        folder: with configuration and weights.
        options: how.
        given: modules whose weights come from elsewhere.
        outputs: how many it has, where the weights of its head come from elsewhere; None for as many as it says.
    """
    from transformers import AutoConfig, AutoModelForSequenceClassification

    checkpoints.read_json(folder / checkpoints.CONFIG)
    checkpoints.weights(folder, allow_pickle=options.allow_pickle)
    config = AutoConfig.from_pretrained(folder, trust_remote_code=options.trust_remote_code, local_files_only=True)
    if outputs is not None:
        config.num_labels = outputs
    if getattr(config, "attention_type", None) == "block_sparse":
        config.attention_type = "original_full"  # which BigBird changes to, for good, at the first short text
    model, report = AutoModelForSequenceClassification.from_pretrained(
        folder,
        config=config,
        dtype=torch.float32,
        use_safetensors=None if options.allow_pickle else True,
        trust_remote_code=options.trust_remote_code,
        local_files_only=True,
        output_loading_info=True,
    )
    missing = sorted(key for key in report["missing_keys"] if not any(name in key.split(".") for name in given))
    if missing:
        raise ModelError(f"{folder} has no weights for {missing[0]}; it must hold a trained sequence classifier")
    return model  # type: ignore[no-any-return]


def _load_adapter(
    folder: Path, options: _Options, label_map: Mapping[str, str] | None, bases: Bases
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The network and the tokenizer of a PEFT adapter."""
    try:
        from peft import PeftConfig, PeftModel, load_peft_weights
    except ImportError as error:
        raise ModelError(f"{folder} is a PEFT adapter; `pip install rank-models[peft]` to load it") from error

    checkpoints.weights(folder, allow_pickle=options.allow_pickle)
    if not (options.allow_pickle or (folder / ADAPTER_WEIGHTS).is_file()):  # PEFT would take a pickled one
        raise ModelError(f"{folder} has no {ADAPTER_WEIGHTS}; it must hold a saved adapter")
    config = PeftConfig.from_pretrained(str(folder))
    if config.is_prompt_learning:
        raise ModelError(f"{folder} adds tokens to the input ({config.peft_type}); adapters must change weights only")
    base = checkpoints.locate_base(folder, allow_pickle=options.allow_pickle)
    assert base is not None
    head = tuple(getattr(config, "modules_to_save", None) or ())
    numbered = bool(head) and all(key.isdigit() for key in label_map or ())
    outputs = len(label_map) if label_map and numbered else None
    for other in [known for known in bases if known[0] != base.resolve()]:
        del bases[other]
    if _keeps_base(config):
        key = (base.resolve(), options, head, outputs)
        if key not in bases:
            bases[key] = _load(base, options, head, outputs)
        values = {_name_in_base(name) for name in load_peft_weights(str(folder), device="cpu")}
        named = list(bases[key].named_parameters(remove_duplicate=False))
        written = {id(weight) for name, weight in named if name in values}
        # a copy of the modules that holds the same tensors, for the adapter to be built into, but for those that it has
        # values of its own for, such as biases: PEFT writes these into the tensors that are there
        model = copy.deepcopy(bases[key], {id(weight): weight for _, weight in named if id(weight) not in written})
    else:
        model = _load(base, options, head, outputs)
    adapted = PeftModel.from_pretrained(model, str(folder), config=config, is_trainable=False)
    own = checkpoints.has_tokenizer(folder)
    return adapted.get_base_model(), _tokenizer(folder if own else base, options.trust_remote_code)  # type: ignore[return-value]


def _name_in_base(name: str) -> str:
    """The parameter of the base that a tensor in an adapter's file would be written into, if there is one."""
    return name.removeprefix("base_model.model.").replace(".base_layer.", ".")


def _keeps_base(config: PeftConfig) -> bool:
    """Say whether PEFT is known to leave a base's own weights as they are while it builds an adapter into it."""
    inits = [value for name, value in vars(config).items() if name.startswith("init_") and name.endswith("weights")]
    return all(value in GENTLE_INITS for value in inits)


def _store_products(model: PreTrainedModel, dtype: torch.dtype) -> None:
    """Keep the weights of linear layers as they are multiplied, so that they are not rounded anew in each batch.

    So are those that the module around a linear layer holds itself: DeBERTa's adds biases to the products.
    """
    for module in model.modules():
        if isinstance(module, torch.nn.Linear) or any(isinstance(m, torch.nn.Linear) for m in module.children()):
            for weight in module.parameters(recurse=False):
                weight.data = weight.data.to(dtype)


def _tokenizer(folder: Path, trust_remote_code: bool) -> PreTrainedTokenizerBase:
    from transformers import AutoTokenizer

    if not checkpoints.has_tokenizer(folder):
        raise ModelError(f"{folder} has no tokenizer (tokenizer.json); save it beside the weights")
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=trust_remote_code, local_files_only=True)
    if not tokenizer.is_fast:
        raise ModelError(f"{folder} has a slow tokenizer, which cannot say where a token stands; save a tokenizer.json")
    tokenizer.truncation_side = "right"  # see `align.encode`: what is too long loses its end
    return tokenizer


def _names(model: PreTrainedModel) -> dict[int, str]:
    """The outputs' labels, by index."""
    names: dict[int, str] = model.config.id2label or {}  # type: ignore[assignment]
    if len(names) < 2:
        raise LabelError(f"{model.name_or_path} has one output: a regression, where a classifier is needed")
    kind = getattr(model.config, "problem_type", None)
    if kind == "regression":
        raise LabelError(f"{model.name_or_path} says that it is a regression, where a classifier is needed")
    if kind == "multi_label_classification":
        raise LabelError(
            f"{model.name_or_path} says that labels do not exclude each other; a classifier of one label is needed"
        )
    if sorted(names) != list(range(len(names))):
        numbers = ", ".join(map(str, sorted(names)))
        raise LabelError(
            f"{model.name_or_path}: `id2label` in config.json must number its outputs from 0 (got {numbers})"
        )
    return names


def _check(folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """What would fail at the first example, or worse, would not."""
    known = len(model.get_input_embeddings().weight)  # type: ignore[arg-type]
    last = max(tokenizer.get_vocab().values())
    if last >= known:
        raise ModelError(f"{folder}: its tokenizer has token ids up to {last}, its network only up to {known - 1}")


def device_named(name: str) -> torch.device:
    """The device of a name.

    Raises:
        UsageError: torch has none of that name here.
    """
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = _first_line(error)
        raise UsageError(f"`--device` must be one that torch can use here (got {name!r}): {reason}") from error
    return device


def _has_bfloat16(device: torch.device) -> bool:
    """Say whether a device has units for products in bfloat16, so that they are faster than in float32.

    A processor that has the instructions of AVX-512 for it, and no such units (AMX), takes half as long again; one that
    has neither emulates it, many times slower.
    """
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and bool(torch.cpu.get_capabilities().get("amx_bf16", False))


@contextmanager
def one_line(name: str | Path, failed: str = "cannot be loaded") -> Iterator[None]:
    """Whatever goes wrong with a checkpoint meanwhile is told in one line; the library's own talk is not.

    Args:
        name: the checkpoint's.
        failed: what it then was that could not be done.

    Raises:
        ModelError: anything went wrong.
    """
    from safetensors import SafetensorError
    from transformers.utils import logging as talk

    level, bars = talk.get_verbosity(), talk.is_progress_bar_enabled()
    talk.set_verbosity_error()  # type: ignore[no-untyped-call]
    talk.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except RankModelsError:
        raise
    except UnpicklingError as error:  # torch reads tensors and nothing else, whatever `--allow-pickle` says
        raise ModelError(f"{name}: its pickled weights are damaged, or hold more than tensors") from error
    except SafetensorError as error:
        raise ModelError(f"{name}: its weights are damaged ({_first_line(error)})") from error
    except Exception as error:  # of transformers and what it calls, each of which has kinds of its own
        raise ModelError(f"{name} {failed}: {_first_line(error)}") from error
    finally:
        talk.set_verbosity(level)
        if bars:
            talk.enable_progress_bar()  # type: ignore[no-untyped-call]


def _first_line(error: BaseException) -> str:
    if "ignore_mismatched_sizes" in str(error):  # transformers logs which, and says here that it did
        return "its weights are not of the shapes that its config.json says"
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
