"""Check the small files of a checkpoint: they may select no code, and ask for no implausible sizes.

Everything else passes, so that a new architecture is no fault.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

from ranker.errors import DataError, ModelError, first_line
from ranker.limits import Limits
from ranker.sources.hf import checkpoints
from ranker.sources.hf.files import Files

TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"

ATTENTION = ("eager", "sdpa", "flex_attention")
"""Attention implementations of transformers that fetch nothing; others are looked for on the hub."""

LISTED: Mapping[str, tuple[object, ...]] = {
    "attn_implementation": ATTENTION,
    "_attn_implementation": ATTENTION,
    "_attn_implementation_internal": ATTENTION,
    "experts_implementation": ("eager", "batched_mm", "grouped_mm"),
    "_experts_implementation": ("eager", "batched_mm", "grouped_mm"),
    "_experts_implementation_internal": ("eager", "batched_mm", "grouped_mm"),
    "use_kernels": (False,),
    "kernel_config": (),
    "quant_method": ("awq", "bitsandbytes", "compressed-tensors", "gptq", "hqq", "quanto"),
    "megatron_config": (),
    "megatron_core": ("megatron.core",),
}
"""Keys that select code, in any part of a configuration, and their safe values; None is always safe."""

FETCHING = ("mra", "rwkv", "yoso")
"""Kinds of networks whose own code fetches more from the hub if the package `kernels` is installed."""

OTHER_ADAPTERS = ("XLORA",)
"""Kinds of adapters that load others, from wherever they say."""

_LAYERS = re.compile(r"(^|_)(layers?|blocks?|groups?|experts?|depths|block_sizes|block_repeats|layer_types)$")


def check(files: Files, limits: Limits, trusted: bool) -> None:
    """Refuse a checkpoint whose settings select code, or ask for more than a model is likely to have.

    Args:
        files: of the checkpoint, and of an adapter's base.
        limits: of labels, layers and tokens, and of what a tokenizer may add.
        trusted: the user has named it: its code may be run.

    Raises:
        ModelError: it does; the message names the file and the key.
    """
    small = files.small
    for name in (checkpoints.CONFIG, checkpoints.ADAPTER, TOKENIZER_CONFIG, TOKENIZER):
        if name in small:
            _check_file(files.path / name, files, limits, trusted)
    for name in ("vocab.txt", "merges.txt", "vocab.json", "added_tokens.json"):
        held = small.get(name, b"")
        with _one_line_errors(files.path / name):
            limits.check(files.path / name, "vocabulary", max(held.count(b"\n"), held.count(b":")))
    if files.under is not None:
        check(files.under, limits, trusted)


def _check_file(place: Path, files: Files, limits: Limits, trusted: bool) -> None:
    with _one_line_errors(place):
        limits.check(place, "vocabulary", files.small[place.name].count(b"{"))  # before parsing them
        content = files.settings(place.name)
        if place.name == TOKENIZER:
            _check_tokenizer(place, content, limits)
            return
        if not trusted:
            _check_code(place, content)
        _check_size(place, content, limits)


@contextmanager
def _one_line_errors(place: Path) -> Iterator[None]:
    try:
        yield
    except DataError as error:
        raise ModelError.like(error) from error
    except (TypeError, AttributeError, LookupError, ValueError, RecursionError) as error:
        raise ModelError.of(place, f"cannot be read as a checkpoint's settings: {first_line(error)}") from error


def _check_code(place: Path, content: Mapping[str, Any]) -> None:
    for key, value in _leaves(content):
        last_key = key.rpartition(".")[2]
        listed = next((LISTED[part] for part in reversed(key.split(".")) if part in LISTED), None)
        if listed is not None and value is not None and value not in listed:
            allowed = ", ".join(map(str, listed)) or "left out"
            raise ModelError.at(
                place,
                f"`{key}` selects code, and must be {'one of ' if len(listed) > 1 else ''}{allowed} "
                f"(got {str(value)[:100]!r}); to have the checkpoint run others': `trust_remote_code`",
                option="trust_remote_code",
                value=value,
                allowed=listed,
            )
        if key == "model_type" and value in FETCHING and find_spec("kernels"):
            raise ModelError.at(
                place,
                f"a network of the kind {value} fetches code from the hub: `trust_remote_code`",
                option="trust_remote_code",
                value=value,
            )
        if last_key == "peft_type" and value in OTHER_ADAPTERS:
            raise ModelError.at(place, f"an adapter of the kind {value} loads others; load each by itself", value=value)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a configuration that are no containers, with their key paths."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, path)
    else:
        yield path, value


def _tables(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield all keys of a configuration, however deep, with their values."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield key, inner
        yield from _tables(inner)
    for inner in value if isinstance(value, list) else ():
        yield from _tables(inner)


def _check_size(place: Path, content: Mapping[str, Any], limits: Limits) -> None:
    for key, value in _tables(content):
        if key in ("num_labels", "id2label", "label2id"):
            limits.check(f"{place}: `{key}`", "labels", _count(value))
        elif key.endswith("vocab_size") or key == "added_tokens_decoder":
            limits.check(f"{place}: `{key}`", "vocabulary", _count(value))
        elif _LAYERS.search(key):
            limits.check(f"{place}: `{key}`", "layers", _count(value))


def _count(value: Any) -> int:
    """Count what a setting asks for: a number, the sum of a list of numbers, or the length of a list."""
    if isinstance(value, (list, dict)):
        numbers = [number for number in value if type(number) is int] if isinstance(value, list) else []
        return max(len(value), sum(numbers))
    return int(value) if isinstance(value, (int, float)) and abs(value) < 1e300 else 0


def _check_tokenizer(place: Path, content: Mapping[str, Any], limits: Limits) -> None:
    """Refuse a tokenizer that makes a text far longer."""
    model = content.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    limits.check(f"{place}: its vocabulary", "vocabulary", len(vocabulary or ()))
    limits.check(f"{place}: `added_tokens`", "vocabulary", len(content.get("added_tokens") or ()))
    limits.check(f"{place}: `normalizer`", "growth", _growth(content.get("normalizer")))
    limits.check(f"{place}: `post_processor`", "growth", _count_added(content.get("post_processor")))


def _growth(step: Any) -> int:
    """Return the most characters that a normalizer can make of one."""
    if not isinstance(step, dict):
        return 1
    match step.get("type"):
        case "Sequence":
            return prod(map(_growth, step.get("normalizers") or ()))
        case "Replace":
            pattern, new = step.get("pattern") or {}, len(str(step.get("content", "")))
            literal = pattern.get("String") if isinstance(pattern, dict) else None
            return (
                max(1, -(-new // len(literal))) if literal else new + 1
            )  # a pattern may match nothing, and insert everywhere
        case "Prepend":
            return max(1, len(str(step.get("prepend", ""))))
        case "Precompiled":
            return _longest_replacement(str(step.get("precompiled_charsmap") or ""))
        case "ByteLevel":
            return 2
        case _:
            return 1


def _longest_replacement(packed: str) -> int:
    """Return the length of the longest text with which SentencePiece's table replaces a character."""
    table = base64.b64decode(packed, validate=True)
    size = int.from_bytes(table[:4], "little")
    if size % 4 or not 4 <= 4 + size < len(table):
        raise ValueError("its `normalizer` is damaged")
    texts = table[4 + size :]
    texts.decode()
    return max(map(len, texts.split(b"\0")), default=1) or 1


def _count_added(step: Any) -> int:
    """Count the tokens that a post-processor adds to a text; repeating the text is refused."""
    if not isinstance(step, dict):
        return 0
    if step.get("type") == "Sequence":
        return sum(map(_count_added, step.get("processors") or ()))
    if step.get("type") != "TemplateProcessing":
        return 0
    special = step.get("special_tokens") or {}
    sizes = {name: len(token.get("ids") or ()) for name, token in special.items()}
    most = 0
    for template in (step.get("single") or (), step.get("pair") or ()):
        texts = [part["Sequence"]["id"] for part in template if "Sequence" in part]
        if len(set(texts)) < len(texts):
            raise ValueError("its `post_processor` repeats a text")
        most = max(most, sum(sizes.get(part["SpecialToken"]["id"], 0) for part in template if "SpecialToken" in part))
    return most
