"""What the small files of a checkpoint may say: they select no code, and ask for no more than is plausible.

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
"""What transformers computes attention with that fetches nothing; others are looked for on the hub."""

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
"""The keys that select code, in any part of a configuration, and the values that need none of others: None is one."""

FETCHING = ("mra", "rwkv", "yoso")
"""The kinds of networks whose own code fetches more from the hub, where the package `kernels` is installed."""

OTHER_ADAPTERS = ("XLORA",)
"""The kinds of adapters that load others, from wherever they say."""

_LAYERS = re.compile(r"(^|_)(layers?|blocks?|groups?|experts?|depths|block_sizes|block_repeats|layer_types)$")


def check(files: Files, limits: Limits, trusted: bool) -> None:
    """Refuse a checkpoint whose settings select code, or ask for more than a model is likely to have.

    Args:
        files: the checkpoint's, and those of an adapter's base.
        limits: the most labels, layers and tokens, and how much a tokenizer may add.
        trusted: the user has named it: its code may be run.

    Raises:
        ModelError: so it is; the file and the key are named.
    """
    small = files.small
    for name in (checkpoints.CONFIG, checkpoints.ADAPTER, TOKENIZER_CONFIG, TOKENIZER):
        if name in small:
            _check_file(files.path / name, files, limits, trusted)
    for name in ("vocab.txt", "merges.txt", "vocab.json", "added_tokens.json"):
        held = small.get(name, b"")
        with _in_one_line(files.path / name):
            limits.check(files.path / name, "vocabulary", max(held.count(b"\n"), held.count(b":")))
    if files.under is not None:
        check(files.under, limits, trusted)


def _check_file(place: Path, files: Files, limits: Limits, trusted: bool) -> None:
    with _in_one_line(place):
        limits.check(place, "vocabulary", files.small[place.name].count(b"{"))  # before they are in memory
        content = files.settings(place.name)
        if place.name == TOKENIZER:
            _check_tokenizer(place, content, limits)
            return
        if not trusted:
            _check_code(place, content)
        _check_size(place, content, limits)


@contextmanager
def _in_one_line(place: Path) -> Iterator[None]:
    try:
        yield
    except DataError as error:
        raise ModelError(str(error)) from error
    except (TypeError, AttributeError, LookupError, ValueError, RecursionError) as error:
        raise ModelError(f"{place} cannot be read as a checkpoint's settings: {first_line(error)}") from error


def _check_code(place: Path, content: Mapping[str, Any]) -> None:
    for key, value in _leaves(content):
        named = key.rpartition(".")[2]
        listed = next((LISTED[part] for part in reversed(key.split(".")) if part in LISTED), None)
        if listed is not None and value is not None and value not in listed:
            known = ", ".join(map(str, listed)) or "left out"
            raise ModelError(
                f"{place}: `{key}` selects code, and must be {'one of ' if len(listed) > 1 else ''}{known} "
                f"(got {str(value)[:100]!r}); to have the checkpoint run others': `trust_remote_code`"
            )
        if key == "model_type" and value in FETCHING and find_spec("kernels"):
            raise ModelError(f"{place}: a network of the kind {value} fetches code from the hub: `trust_remote_code`")
        if named == "peft_type" and value in OTHER_ADAPTERS:
            raise ModelError(f"{place}: an adapter of the kind {value} loads others; load each by itself")


def _leaves(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a configuration that are no containers, with the keys that lead to them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{at}.{key}".lstrip("."))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, at)
    else:
        yield at, value


def _tables(value: Any) -> Iterator[tuple[str, Any]]:
    """All keys of a configuration, however deep, with their values."""
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
    """How many a setting asks for: a number, the sum of a list of numbers, or the length of what it lists."""
    if isinstance(value, (list, dict)):
        numbers = [item for item in value if type(item) is int] if isinstance(value, list) else []
        return max(len(value), sum(numbers))
    return int(value) if isinstance(value, (int, float)) and abs(value) < 1e300 else 0


def _check_tokenizer(place: Path, content: Mapping[str, Any], limits: Limits) -> None:
    """Refuse a tokenizer that makes far more of a text than there is."""
    model = content.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    limits.check(f"{place}: its vocabulary", "vocabulary", len(vocabulary or ()))
    limits.check(f"{place}: `added_tokens`", "vocabulary", len(content.get("added_tokens") or ()))
    limits.check(f"{place}: `normalizer`", "growth", _growth(content.get("normalizer")))
    limits.check(f"{place}: `post_processor`", "growth", _added(content.get("post_processor")))


def _growth(step: Any) -> int:
    """How many characters a normalizer can make of one, at most."""
    if not isinstance(step, dict):
        return 1
    match step.get("type"):
        case "Sequence":
            return prod(map(_growth, step.get("normalizers") or ()))
        case "Replace":
            pattern, new = step.get("pattern") or {}, len(str(step.get("content", "")))
            literal = pattern.get("String") if isinstance(pattern, dict) else None
            return max(1, -(-new // len(literal))) if literal else new + 1  # what matches nothing is put everywhere
        case "Prepend":
            return max(1, len(str(step.get("prepend", ""))))
        case "Precompiled":
            return _longest(str(step.get("precompiled_charsmap") or ""))
        case "ByteLevel":
            return 2
        case _:
            return 1


def _longest(packed: str) -> int:
    """The characters of the longest text that SentencePiece's table puts in the place of a character."""
    table = base64.b64decode(packed, validate=True)
    size = int.from_bytes(table[:4], "little")
    if size % 4 or not 4 <= 4 + size < len(table):
        raise ValueError("its `normalizer` is damaged")
    texts = table[4 + size :]
    texts.decode()
    return max(map(len, texts.split(b"\0")), default=1) or 1


def _added(step: Any) -> int:
    """How many tokens a post-processor puts around a text; a text that it repeats counts as endless."""
    if not isinstance(step, dict):
        return 0
    if step.get("type") == "Sequence":
        return sum(map(_added, step.get("processors") or ()))
    if step.get("type") != "TemplateProcessing":
        return 0
    known = step.get("special_tokens") or {}
    sizes = {name: len(one.get("ids") or ()) for name, one in known.items()}
    most = 0
    for template in (step.get("single") or (), step.get("pair") or ()):
        texts = [item["Sequence"]["id"] for item in template if "Sequence" in item]
        if len(set(texts)) < len(texts):
            raise ValueError("its `post_processor` repeats a text")
        most = max(most, sum(sizes.get(item["SpecialToken"]["id"], 0) for item in template if "SpecialToken" in item))
    return most
