"""Load a network and its tokenizer from a checkpoint's files: a whole one, or a PEFT adapter and its base."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from pickle import UnpicklingError  # noqa: TID251  # the name of an error; nothing is unpickled
from typing import TYPE_CHECKING

import numpy as np
import torch

from ranker.errors import LabelError, ModelError, RankModelsError, first_line, listed, need
from ranker.limits import LIMITS, Limits
from ranker.sources.hf import checkpoints, settings, tensors
from ranker.sources.hf.files import Files
from ranker.sources.hf.heads import SEVERAL, Head

if TYPE_CHECKING:
    from peft import PeftConfig
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Notes = tuple[str, ...]
"""Notes on loaded weights, a sentence each."""
Bases = dict[tuple[str, "Options", Head, tuple[str, ...], int | None], tuple["PreTrainedModel", Notes]]
"""Networks that adapters share, by content, load options, head, supplied modules, and number of outputs."""

ADAPTER_WEIGHTS = "adapter_model.safetensors"
PANIC = "PanicException"
"""Name of what tokenizers and safetensors raise when their Rust panics; it is no Exception and cannot be imported."""
SENTENCEPIECE = {"sentencepiece": "sentencepiece", "protobuf": "google.protobuf"}
"""Packages with which transformers reads a SentencePiece model, and a module of each."""
OTHER_TOKENIZERS = ("tiktoken.model",)
"""Tokenizer files that are named like a SentencePiece model and are none."""
GENTLE_INITS = (True, False, None, "gaussian", "orthogonal", "eva")
"""Initialisations of PEFT that leave the base's weights unchanged; pissa and olora do not."""


@dataclass(frozen=True)
class Options:
    """Settings of loading a checkpoint.

    Attributes:
        dtype: in which `store_products` keeps the weights; adapters share a base in one format only.
    """

    trust_remote_code: bool
    allow_pickle: bool
    dtype: torch.dtype
    limits: Limits = LIMITS


def load(
    files: Files, options: Options, head: Head, label_map: Mapping[str, str] | None = None, bases: Bases | None = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, Notes]:
    """Load the network and the tokenizer of a checkpoint; a PEFT adapter is built into its base.

    Args:
        label_map: its label index or name -> the task's label; for an adapter it sets the base's number of outputs.
        bases: cache of the networks that adapters share; None shares none.

    Raises:
        ModelError: it is incomplete, has another head, or would run code of another repository.
    """
    if files.gguf:
        return _gguf(files, head)
    if options.trust_remote_code:
        files.brings_code()  # raises if the code is of another repository
    settings.check(files, options.limits, options.trust_remote_code)
    if files.under is None:
        model, notes = _network(files, options, head)
        return model, _tokenizer(files, options.trust_remote_code), notes
    if not head.adapter:
        raise ModelError.of(files.path, f"is a PEFT adapter; {head.description} must be whole")
    return _adapter(files, files.under, options, head, label_map, {} if bases is None else bases)


def _network(
    files: Files,
    options: Options,
    head: Head,
    skipped: Sequence[str] = (),
    outputs: int | None = None,
    reason: str = "",
) -> tuple[PreTrainedModel, Notes]:
    """Load the network of a whole checkpoint, with notes; `skipped` modules get their weights elsewhere."""
    import transformers

    files.settings(checkpoints.CONFIG)
    with files.loadable() as folder:
        tensors.check_floats(files.path, folder)
        config = transformers.AutoConfig.from_pretrained(
            folder, trust_remote_code=options.trust_remote_code, local_files_only=True
        )
        if outputs is not None:
            config.num_labels = outputs
        if getattr(config, "attention_type", None) == "block_sparse":
            config.attention_type = "original_full"  # BigBird switches to it for good at the first short text
        model, report = getattr(transformers, head.auto).from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,
            use_safetensors=None if options.allow_pickle else True,
            trust_remote_code=options.trust_remote_code,
            local_files_only=True,
            output_loading_info=True,
        )
    model.name_or_path = model.config.name_or_path = str(files.path)
    skipped = (*skipped, *head.optional)
    missing = sorted(key for key in report["missing_keys"] if not any(name in key.split(".") for name in skipped))
    if missing:
        raise ModelError.of(files.path, f"has no weights for {missing[0]}; it must hold {head.description}{reason}")
    unused = tensors.unused_tensors(model, report["unexpected_keys"])
    return model, (tensors.unused_note(unused),) if unused else ()


def _gguf(files: Files, head: Head) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, Notes]:
    """Load the network and the tokenizer of a GGUF file; quantized weights become float32."""
    import transformers

    if lack := need("lm"):
        raise ModelError.of(files.path, f"is a GGUF file, which {lack}")
    with files.loadable() as folder, _parsed_once():
        options = {"gguf_file": files.gguf, "local_files_only": True}
        model = getattr(transformers, head.auto).from_pretrained(folder, dtype=torch.float32, **options)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
    model.name_or_path = model.config.name_or_path = tokenizer.name_or_path = str(files.path)
    return model, tokenizer, ()


@contextmanager
def _parsed_once() -> Iterator[None]:
    """Let transformers parse a GGUF file and its names once, not for configuration, tokenizer and weights each."""
    import gguf

    class Reader(gguf.GGUFReader):
        """A reader whose data is a plain array: slices of a mapped one are slow."""

        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, np.asarray(value) if name == "data" else value)

    parts: dict[str, Callable[..., object]] = {
        name: getattr(gguf, name) for name in ("GGUFReader", "get_tensor_name_map")
    }
    try:
        for name, part in (parts | {"GGUFReader": Reader}).items():
            setattr(gguf, name, cache(part))
        yield
    finally:
        for name, part in parts.items():
            setattr(gguf, name, part)


def _adapter(
    files: Files, base: Files, options: Options, head: Head, label_map: Mapping[str, str] | None, bases: Bases
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, Notes]:
    """Load the network and the tokenizer of a PEFT adapter and its base."""
    if lack := need("peft"):
        raise ModelError.of(files.path, f"is a PEFT adapter, which {lack}")
    from peft import PeftConfig, PeftModel, load_peft_weights

    if not (options.allow_pickle or ADAPTER_WEIGHTS in files.weights):  # PEFT would look for it on the hub
        raise ModelError.of(files.path, f"has no {ADAPTER_WEIGHTS}; it must hold a saved adapter")
    config = PeftConfig.from_pretrained(str(files.folder))
    if config.is_prompt_learning:
        raise ModelError.of(
            files.path, f"adds tokens to the input ({config.peft_type}); adapters must change weights only"
        )
    modules = tuple(getattr(config, "modules_to_save", None) or ())
    numbered = bool(modules) and all(key.isdigit() for key in label_map or ())
    outputs = len(label_map) if label_map and numbered else None
    for outdated in [key for key in bases if key[0] != base.digest]:
        del bases[outdated]
    advice = f'save it with task_type="{head.adapter}" and modules_to_save=["{head.module}"]'
    reason = "" if modules else f", since the adapter {files.path} brings no head of its own; {advice}"
    with files.loadable() as folder:
        tensors.check_floats(files.path, folder)
        weights = load_peft_weights(str(folder), device="cpu")
        if _keeps_base(config):
            key = (base.digest, options, head, modules, outputs)
            if key not in bases:
                bases[key] = _network(base, options, head, modules, outputs, reason)
            shared, notes = bases[key]
            values = {name.removeprefix("base_model.model.").replace(".base_layer.", ".") for name in weights}
            parameters = list(shared.named_parameters(remove_duplicate=False))
            overwritten = {id(weight) for name, weight in parameters if name in values}
            # copy the modules but share their tensors, except those that PEFT overwrites, such as biases
            memo = {id(weight): weight for _, weight in parameters if id(weight) not in overwritten}
            model = copy.deepcopy(shared, memo)
            model.name_or_path = model.config.name_or_path = str(base.path)  # the cache may have that of an equal base
        else:
            model, notes = _network(base, options, head, modules, outputs, reason)
        try:
            adapted = PeftModel.from_pretrained(model, str(folder), config=config, is_trainable=False)
        except KeyError as error:  # PEFT looks up modules that are saved whole in the file
            wanted = str(error.args[0]) if error.args else ""
            if not wanted.startswith(tensors.IN_BASE) or wanted in weights:
                raise
            raise tensors.lost_head_error(files.path, model, weights, wanted, head.adapter) from error
        tensors.check_adapter(files.path, adapted, weights)
    tokenizer = _tokenizer(files if checkpoints.has_tokenizer(files.folder) else base, options.trust_remote_code)
    of_base = tuple(f"of its base, {note}" for note in notes)
    return adapted.get_base_model(), tokenizer, of_base  # type: ignore[return-value]


def _keeps_base(config: PeftConfig) -> bool:
    """Return True if PEFT leaves the base's own weights unchanged when it builds in this adapter."""
    inits = [value for name, value in vars(config).items() if name.startswith("init_") and name.endswith("weights")]
    return all(value in GENTLE_INITS for value in inits)


def _tokenizer(files: Files, trust_remote_code: bool) -> PreTrainedTokenizerBase:
    from transformers import AutoTokenizer

    _check_sentencepiece(files)
    if not trust_remote_code:
        _check_class(files)
    if not checkpoints.has_tokenizer(files.folder):
        raise ModelError.of(files.path, "has no tokenizer (tokenizer.json); save it beside the weights")
    tokenizer = AutoTokenizer.from_pretrained(files.folder, trust_remote_code=trust_remote_code, local_files_only=True)
    if not tokenizer.is_fast:
        raise ModelError.of(
            files.path, "has a slow tokenizer, which cannot say where a token stands; save a tokenizer.json"
        )
    tokenizer.name_or_path = str(files.path)
    return tokenizer


def _check_sentencepiece(files: Files) -> None:
    """Refuse a bare SentencePiece model if its packages are missing: transformers would ask for tiktoken instead."""
    models = [name for name in files.small if name.endswith(".model") and name not in OTHER_TOKENIZERS]
    alone = models and not any(fnmatch(name, "tokenizer.*json") for name in files.small)
    missing = [package for package, module in SENTENCEPIECE.items() if alone and not _has_module(module)]
    if missing:
        raise ModelError.of(
            files.path,
            f"has a SentencePiece tokenizer ({models[0]}) and no tokenizer.json; "
            f"`pip install {' '.join(missing)}` to read it",
        )


def _has_module(name: str) -> bool:
    """Return True if a module is installed."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # its parent package is missing
        return False


def _check_class(files: Files) -> None:
    """Refuse a tokenizer class that transformers does not know."""
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

    if settings.TOKENIZER_CONFIG in files.small:
        name = files.settings(settings.TOKENIZER_CONFIG).get("tokenizer_class")
        if name is not None and (not isinstance(name, str) or tokenizer_class_from_name(name) is None):
            raise ModelError.at(
                files.path / settings.TOKENIZER_CONFIG,
                f"`tokenizer_class` selects code, and must be one that "
                f"transformers knows, such as TokenizersBackend (got {str(name)[:100]!r}); to have the checkpoint run "
                "its own: `trust_remote_code`",
                option="trust_remote_code",
                value=name,
            )


def label_names(model: PreTrainedModel, several: bool = False) -> dict[int, str]:
    """Return the labels of a network's outputs, by index; `several`: whether a text may have several.

    Raises:
        LabelError: it is no classifier, or one of texts with one label.
    """
    names: dict[int, str] = model.config.id2label or {}  # type: ignore[assignment]
    if len(names) < 2 and not several:
        raise LabelError.of(model.name_or_path, "has one output: a regression, where a classifier is needed")
    kind = getattr(model.config, "problem_type", None)
    if kind == SEVERAL and not several:
        raise LabelError.of(
            model.name_or_path, "says that labels do not exclude each other; a classifier of one label is needed"
        )
    if kind == "regression":
        raise LabelError.of(model.name_or_path, "says that it is a regression, where a classifier is needed")
    if sorted(names) != list(range(len(names))):
        numbers = listed(sorted(names))
        raise LabelError.at(
            model.name_or_path,
            f"`id2label` in config.json must number its outputs from 0 (got {numbers})",
            option="id2label",
            value=sorted(names),
        )
    return names


def check_ids(folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Raise a ModelError for token ids that the network does not know: the first example would fail, or worse, not."""
    size = len(model.get_input_embeddings().weight)  # type: ignore[arg-type]
    last = max(tokenizer.get_vocab().values())
    if last >= size:
        raise ModelError.at(folder, f"its tokenizer has token ids up to {last}, its network only up to {size - 1}")


def special_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    """Return ids of the tokens that a network may look for: those special to its tokenizer or its configuration."""
    settings = model.config.get_text_config().to_dict()
    stated = [value for name, value in settings.items() if name.endswith("_token_id") and isinstance(value, int)]
    return tuple(sorted({*tokenizer.all_special_ids, *stated}))


def store_products(model: PreTrainedModel, dtype: torch.dtype) -> None:
    """Store the weights of linear layers in the format of the products, so that batches do not round them anew.

    This includes weights of the module around a linear layer: DeBERTa's adds biases to the products.
    """
    for module in model.modules():
        if isinstance(module, torch.nn.Linear) or any(isinstance(m, torch.nn.Linear) for m in module.children()):
            for weight in module.parameters(recurse=False):
                weight.data = weight.data.to(dtype)


def max_length(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """Return the most tokens that a model takes: the minimum of the tokenizer's and the position embeddings' limits."""
    limits = [tokenizer.model_max_length, sys.maxsize]  # a tokenizer without a limit says 1e30
    positions = getattr(model.config, "max_position_embeddings", None) or 0
    if positions > 0:
        tables = (m for name, m in model.named_modules() if name.endswith("position_embeddings"))
        # RoBERTa's kind counts positions from behind the padding index
        first = [table.padding_idx + 1 for table in tables if getattr(table, "padding_idx", None) is not None]
        limits.append(positions - max(first, default=0))
    return int(min(limits))


@contextmanager
def one_line_errors(
    name: str | Path, failed: str = "cannot be loaded", rephrase: Callable[[str], str] = str
) -> Iterator[None]:
    """Turn any error of a checkpoint into one line, and silence the libraries' own messages.

    Args:
        failed: what could not be done.
        rephrase: puts a message in terms that the user knows.

    Raises:
        ModelError: anything went wrong.
    """
    from safetensors import SafetensorError

    try:
        with silent():
            yield
    except RankModelsError as error:
        error.args = tuple(rephrase(part) if isinstance(part, str) else part for part in error.args)
        raise
    except UnpicklingError as error:  # torch only reads tensors, even with `allow_pickle`
        raise ModelError.at(name, "its pickled weights are damaged, or hold more than tensors") from error
    except SafetensorError as error:
        raise ModelError.at(name, f"its weights are damaged ({rephrase(_reason(error))})") from error
    except BaseException as error:  # transformers and its dependencies raise many kinds
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise
        raise ModelError.of(name, f"{failed}: {rephrase(_reason(error))}") from error


@contextmanager
def silent() -> Iterator[None]:
    """Silence the libraries' own messages and progress bars."""
    from transformers.utils import logging as talk

    level, bars = talk.get_verbosity(), talk.is_progress_bar_enabled()
    talk.set_verbosity_error()  # type: ignore[no-untyped-call]
    talk.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        talk.set_verbosity(level)
        if bars:
            talk.enable_progress_bar()  # type: ignore[no-untyped-call]


def _reason(error: BaseException) -> str:
    if "ignore_mismatched_sizes" in str(error):  # transformers logs the names, and only refers to the log here
        return "its weights are not of the shapes that its config.json says"
    mismatch = next((line.strip() for line in str(error).splitlines() if "size mismatch for" in line), None)
    return mismatch or first_line(error)
