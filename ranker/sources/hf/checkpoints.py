"""Where a checkpoint's files are, which of them count, and what they say; nothing is loaded."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch, fnmatchcase
from pathlib import Path
from typing import Any

from ranker import records
from ranker.errors import DataError, ModelError
from ranker.limits import LIMITS, Limits

SAFE_WEIGHTS = ("*.safetensors", "*.safetensors.index.json")
PICKLED_WEIGHTS = ("*.bin", "*.bin.index.json")
TOKENIZER = ("tokenizer.*json", "vocab.txt", "vocab.json", "*.model")
CONFIG = "config.json"
ADAPTER = "adapter_config.json"
OTHERS = (
    *TOKENIZER,
    CONFIG,
    ADAPTER,
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "merges.txt",
    "*.py",
)
ADAPTERS = 3
"""Raised when adapters come to give other numbers; part of the store's key of theirs. 2: those with biases of their own
no longer write them into the base that they share. 3: those whose tensors fit nothing are refused."""
NO_BASE = "is an adapter itself; merge that into its own base, and name what comes of it"
NOT_WEIGHTS = ("training_args.bin", "optimizer.bin", "scheduler.bin")

ASKING = (CONFIG, "tokenizer_config.json")
"""Where a checkpoint asks for code of its own."""

NAMING = (
    ("*.safetensors.index.json", "weight_map", "*.safetensors"),
    ("*.bin.index.json", "weight_map", "*.bin"),
    (CONFIG, "transformers_weights", "*.safetensors"),
    ("tokenizer_config.json", "fast_tokenizer_files", "tokenizer.*json"),
)
"""Where a file of a checkpoint names others that are loaded in its place: (file, key, what these may be called)."""


def locate(reference: str | Path, *, allow_pickle: bool = False, named: str = "`models`") -> Path:
    """The folder of a checkpoint's files; from the hub they are fetched once, and kept in its cache.

    Args:
        reference: a directory, or a hub id ``org/name`` with an optional ``@revision``.
        allow_pickle: fetch weights that are not safetensors, too.
        named: the parameter that names it, for messages.

    Raises:
        ModelError: the directory is not there, leads out of itself, or the hub does not give the files.
    """
    return _located(str(reference), named, (1,), allow_pickle)


def locate_base(folder: Path, *, allow_pickle: bool = False) -> Path | None:
    """The folder of what a PEFT adapter's weights are added to; None if the folder is no adapter.

    Args:
        folder: a checkpoint's.
        allow_pickle: fetch weights that are not safetensors, too.

    Raises:
        ModelError: the adapter names no base, its base is not there, or is an adapter itself.
    """
    name = adapter_base(folder)
    return None if name is None else base_at(name, folder, allow_pickle=allow_pickle)


def base_at(name: str, folder: Path, *, allow_pickle: bool = False) -> Path:
    """The folder of an adapter's base.

    Args:
        name: of the base: a directory or a hub id.
        folder: the adapter's.
        allow_pickle: fetch weights that are not safetensors, too.

    Raises:
        ModelError: it is not there, or is an adapter itself.
    """
    whose = f"the base of {folder}"
    base = _located(name, whose, (0, 1), allow_pickle)
    if is_adapter(base):
        raise ModelError(f"{whose} {NO_BASE}")
    return base


def is_hub_id(reference: str, slashes: tuple[int, ...] = (1,)) -> bool:
    """Say whether a reference, which is no directory, is written like a hub id ``org/name@revision``.

    Args:
        reference: the text.
        slashes: how many the part before the revision may have.

    Example:
        >>> is_hub_id("org/name@refs/pr/1"), is_hub_id("./folder"), is_hub_id("org/")
        (True, False, False)
    """
    name = reference.partition("@")[0]
    return name.count("/") in slashes and not name.startswith((".", "/", "~")) and not name.endswith("/")


def _located(reference: str, whose: str, slashes: tuple[int, ...], allow_pickle: bool) -> Path:
    """The folder of a reference.

    Args:
        reference: a directory, or a hub id with an optional ``@revision``.
        whose: what messages begin with.
        slashes: how many a hub id may have; none are in those of the oldest models, which are the bases of many.
        allow_pickle: fetch weights that are not safetensors, too.
    """
    folder = Path(reference)
    if os.path.isdir(folder):  # unlike Path's own, no error where a name is too long
        return _closed(folder)
    if not is_hub_id(reference, slashes):
        raise ModelError(f"{whose}: there is no directory {reference!r}")
    name, _, revision = reference.partition("@")
    from huggingface_hub import snapshot_download

    patterns = [*SAFE_WEIGHTS, *OTHERS, *(PICKLED_WEIGHTS if allow_pickle else ())]
    try:
        fetched = snapshot_download(name, revision=revision or None, allow_patterns=patterns)
    except (OSError, ValueError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise ModelError(f"{whose}: {reference} is no directory, and the hub does not give it: {reason}") from error
    return _closed(Path(fetched))


def _closed(folder: Path) -> Path:
    """The folder, if no file in it links to one outside; the hub's cache links to a folder beside it.

    A checkpoint is what somebody hands on. One that leads to other files of this machine would have them read, and to
    files of another kind, have these read unasked; nor would its content be what it is known by.
    """
    whole = folder.resolve()
    limit = whole.parents[1] if whole.parent.name == "snapshots" else whole
    try:
        links = [file for file in sorted(folder.iterdir()) if file.is_symlink()]
    except OSError as error:
        raise ModelError(f"{folder} cannot be read: {error.strerror}") from error
    for file in links:
        if not Path(os.path.realpath(file)).is_relative_to(limit):
            raise ModelError(f"{file} links to {os.readlink(file)}, outside of its checkpoint; put a copy there")
    return folder


def check_names(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Refuse files that name others outside of their checkpoint, or of another kind, to be loaded in their place.

    Args:
        folder: the checkpoint's.
        contents: its files by name, as they were read.

    Raises:
        ModelError: one does, or is no JSON.
    """
    for pattern, key, kind in NAMING:
        for file in [name for name in contents if fnmatch(name, pattern)]:
            for name in _named(read_json(folder / file, contents[file]).get(key)):
                if os.path.basename(name) != name or not fnmatch(name, kind):
                    raise ModelError(f"{folder / file} names {name!r}; {key!r} must name files like {kind} beside it")


def _named(value: Any) -> set[str]:
    """The names of files in a value: itself, the items of a list, or what a mapping leads to."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    return {str(item) for item in items if item is not None}


def weights(folder: Path, *, allow_pickle: bool = False) -> list[Path]:
    """The files that may hold a checkpoint's weights: safetensors, and with leave to load others these as well.

    Which of both kinds are loaded goes by the names of the files, and is for the libraries to say.

    Raises:
        ModelError: there are none, or none that may be loaded.
    """
    safe = _matches(folder, SAFE_WEIGHTS)
    pickled = [file for file in _matches(folder, PICKLED_WEIGHTS) if file.name not in NOT_WEIGHTS]
    if safe or (pickled and allow_pickle):
        return [*safe, *(pickled if allow_pickle else ())]
    if pickled:
        raise ModelError(
            f"{folder} has no safetensors weights, only {pickled[0].name}, which may run code when it is loaded; "
            "convert it, or trust it with `allow_pickle`"
        )
    raise ModelError(f"{folder} has no weights (*.safetensors); it must hold a saved sequence classifier")


def others(folder: Path) -> list[Path]:
    """What counts of a checkpoint beside its weights: its configuration, its tokenizer, and code of its own."""
    return _matches(folder, OTHERS)


def ask_for_code(configs: Iterable[tuple[Path, dict[str, Any]]]) -> bool:
    """Say whether files of one checkpoint ask for code beside the library's.

    Args:
        configs: those of `ASKING` that it has, and what they say.

    Raises:
        ModelError: one asks for the code of another repository.
    """
    classes = [(file, name) for file, config in configs for name in _classes(config)]
    for file, name in classes:
        if "--" in name:
            where, _, inside = name.partition("--")
            raise ModelError(f"{file} takes its code from {where!r}; put the module beside it, and name it {inside!r}")
    return bool(classes)


def _classes(config: dict[str, Any]) -> set[str]:
    """The classes that a configuration asks for beside the library's: "module.Class", or "org/name--module.Class"."""
    asked = config.get("auto_map") or {}
    named = asked.values() if isinstance(asked, dict) else [asked]
    return {name for value in named for name in _named(value)}


def is_checkpoint(folder: Path) -> bool:
    """Say whether a folder holds a checkpoint's configuration, or a PEFT adapter's."""
    return any(os.path.isfile(folder / name) for name in (CONFIG, ADAPTER))


def is_adapter(folder: Path) -> bool:
    """Say whether a checkpoint is a PEFT adapter, which is read by PEFT."""
    return (folder / ADAPTER).is_file()


def adapter_base(folder: Path) -> str | None:
    """What a PEFT adapter's weights are added to: a directory or a hub id; None if the folder is no adapter.

    Raises:
        ModelError: its configuration cannot be read, or names no base.
    """
    return named_base(read_json(folder / ADAPTER), folder) if is_adapter(folder) else None


def named_base(config: dict[str, Any], folder: Path) -> str:
    """What an adapter's configuration names as its base: a directory or a hub id.

    Args:
        config: what its file says.
        folder: where that lies.

    Raises:
        ModelError: it names none.
    """
    name, revision = config.get("base_model_name_or_path"), config.get("revision")
    if not (name and isinstance(name, str) and isinstance(revision, str | None)):
        raise ModelError(f"{folder / ADAPTER} names no base model (base_model_name_or_path)")
    beside = folder / name
    if os.path.isdir(beside):
        return str(beside)
    return f"{name}@{revision}" if revision and not os.path.isdir(name) else str(name)


def has_tokenizer(folder: Path) -> bool:
    """Say whether a tokenizer was saved in the folder."""
    return bool(_matches(folder, TOKENIZER))


def read_json(file: Path, content: bytes | None = None, limits: Limits = LIMITS) -> dict[str, Any]:
    """A JSON object.

    Args:
        file: which holds it.
        content: what was read of that already; None opens it.
        limits: how much of it is read.

    Raises:
        ModelError: there is no such file, or something else is in it.
    """
    if content is None and not file.is_file():
        below = sorted(path.parent.name for path in file.parent.glob(f"*/{file.name}"))
        hint = f"; did you mean {file.parent / below[-1]}?" if below else "; it must hold a saved sequence classifier"
        raise ModelError(f"{file.parent} has no {file.name}{hint}")
    try:
        if content is None:
            limits.check(file, "config", os.stat(file).st_size)
        found = records.read_text(file, "a checkpoint's settings", json.loads, content=content)
    except (DataError, OSError) as error:
        raise ModelError(str(error)) from error
    if not isinstance(found, dict):
        raise ModelError(f"{file} must hold a JSON object (got {type(found).__name__})")
    return found


def _matches(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    try:
        names = os.listdir(folder)
    except OSError:  # what reads its files says why
        return []
    fitting = {name for pattern in patterns for name in names if fnmatchcase(name, pattern)}
    return sorted(folder / name for name in fitting if (folder / name).is_file())
