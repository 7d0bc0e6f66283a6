"""Locate the files of a checkpoint, select those that count, and read its settings; loads nothing."""

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
OTHER_FILES = (
    *TOKENIZER,
    CONFIG,
    ADAPTER,
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "merges.txt",
    "chat_template.jinja",
    "generation_config.json",
    "*.py",
)
ADAPTERS = 3
"""Version of how adapters are loaded, part of their store key; raise it when their numbers change. 2: those with biases
of their own no longer write them into the shared base. 3: those whose tensors fit nothing are refused.
"""
NO_BASE = "is an adapter itself; merge that into its own base, and name what comes of it"
NOT_WEIGHTS = ("training_args.bin", "optimizer.bin", "scheduler.bin")

ASKING = (CONFIG, "tokenizer_config.json")
"""Files in which a checkpoint asks for code of its own."""

NAMING = (
    ("*.safetensors.index.json", "weight_map", "*.safetensors"),
    ("*.bin.index.json", "weight_map", "*.bin"),
    (CONFIG, "transformers_weights", "*.safetensors"),
    ("tokenizer_config.json", "fast_tokenizer_files", "tokenizer.*json"),
)
"""Files that name others to be loaded in their place: (file, key, allowed names)."""


def locate(reference: str | Path, *, allow_pickle: bool = False, parameter: str = "models") -> Path:
    """Return the folder of a checkpoint; files of the hub are fetched once into its cache.

    Args:
        reference: a directory, or a hub id ``org/name`` with an optional ``@revision``.
        allow_pickle: also fetch weights that are not safetensors.
        parameter: that holds the reference, for messages.

    Raises:
        ModelError: the directory does not exist, links out of itself, or the hub does not provide the files.
    """
    return _resolve_folder(str(reference), f"`{parameter}`", (1,), allow_pickle, option=parameter)


def locate_base(folder: Path, *, allow_pickle: bool = False) -> Path | None:
    """Return the folder of a PEFT adapter's base; None if the folder is no adapter."""
    name = adapter_base(folder)
    return None if name is None else base_at(name, folder, allow_pickle=allow_pickle)


def base_at(name: str, folder: Path, *, allow_pickle: bool = False) -> Path:
    """Return the folder of an adapter's base, a directory or a hub id; raises a ModelError if that is an adapter."""
    whose = f"the base of {folder}"
    base = _resolve_folder(name, whose, (0, 1), allow_pickle, place=whose)
    if is_adapter(base):
        raise ModelError.of(whose, NO_BASE)
    return base


def hub_config(reference: str) -> dict[str, Any]:
    """Return the configuration of a hub id that was fetched before; {} if it was not, since the hub is not asked."""
    from huggingface_hub import try_to_load_from_cache

    name, _, revision = reference.partition("@")
    file = try_to_load_from_cache(name, CONFIG, revision=revision or None)
    return read_json(Path(file)) if isinstance(file, str) else {}


def is_hub_id(reference: str, slashes: tuple[int, ...] = (1,)) -> bool:
    """Return True if a reference to no directory looks like a hub id ``org/name@revision``, with as many slashes.

    Example:
        >>> is_hub_id("org/name@refs/pr/1"), is_hub_id("./folder"), is_hub_id("org/")
        (True, False, False)
    """
    name = reference.partition("@")[0]
    return name.count("/") in slashes and not name.startswith((".", "/", "~")) and not name.endswith("/")


def _resolve_folder(reference: str, whose: str, slashes: tuple[int, ...], allow_pickle: bool, **fields: Any) -> Path:
    """Return the folder of a directory or hub id; errors begin with `whose` and have the fields."""
    folder = Path(reference)
    if os.path.isdir(folder):  # unlike Path.is_dir, it accepts names that are too long
        return _check_links(folder)
    if not is_hub_id(reference, slashes):
        raise ModelError(f"{whose}: there is no directory {reference!r}", value=reference, **fields)
    name, _, revision = reference.partition("@")
    from huggingface_hub import snapshot_download

    patterns = [*SAFE_WEIGHTS, *OTHER_FILES, *(PICKLED_WEIGHTS if allow_pickle else ())]
    try:
        fetched = snapshot_download(name, revision=revision or None, allow_patterns=patterns)
    except (OSError, ValueError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        text = f"{whose}: {reference} is no directory, and the hub does not give it: {reason}"
        raise ModelError(text, value=reference, **fields) from error
    return _check_links(Path(fetched))


def _check_links(folder: Path) -> Path:
    """Return the folder if no file links out of it; the hub's cache may link to the folder beside it."""
    root = folder.resolve()  # a checkpoint may come from a stranger: it must not make this machine read other files
    limit = root.parents[1] if root.parent.name == "snapshots" else root
    try:
        links = [file for file in sorted(folder.iterdir()) if file.is_symlink()]
    except OSError as error:
        raise ModelError.unreadable(folder, error) from error
    for file in links:
        if not Path(os.path.realpath(file)).is_relative_to(limit):
            raise ModelError.of(file, f"links to {os.readlink(file)}, outside of its checkpoint; put a copy there")
    return folder


def check_names(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Raise a ModelError if files name others, to be loaded, outside of their checkpoint or of another kind."""
    for pattern, key, kind in NAMING:
        for file in [name for name in contents if fnmatch(name, pattern)]:
            for name in _names_in(read_json(folder / file, contents[file]).get(key)):
                if os.path.basename(name) != name or not fnmatch(name, kind):
                    raise ModelError.of(
                        folder / file, f"names {name!r}; {key!r} must name files like {kind} beside it", value=name
                    )


def _names_in(value: Any) -> set[str]:
    """Return the file names in a value: itself, the items of a list, or the values of a mapping."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    return {str(name) for name in items if name is not None}


def weight_files(folder: Path, *, allow_pickle: bool = False) -> list[Path]:
    """List the files that may hold a checkpoint's weights: safetensors, and others if allowed.

    Raises:
        ModelError: there are none, or none that may be loaded.
    """
    safe = _matches(folder, SAFE_WEIGHTS)
    pickled = [file for file in _matches(folder, PICKLED_WEIGHTS) if file.name not in NOT_WEIGHTS]
    if safe or (pickled and allow_pickle):
        return [*safe, *(pickled if allow_pickle else ())]
    if pickled:
        raise ModelError.of(
            folder,
            f"has no safetensors weights, only {pickled[0].name}, which may run code when it is loaded; "
            "convert it, or trust it with `allow_pickle`",
            option="allow_pickle",
        )
    raise ModelError.of(folder, "has no weights (*.safetensors); it must hold a saved checkpoint")


def other_files(folder: Path) -> list[Path]:
    """List the other files that count: configuration, tokenizer, and code of the checkpoint's own."""
    return _matches(folder, OTHER_FILES)


def ask_for_code(configs: Iterable[tuple[Path, dict[str, Any]]]) -> bool:
    """Return True if files of one checkpoint ask for code beside the library's.

    Args:
        configs: its files among `ASKING`, and their contents.

    Raises:
        ModelError: one asks for the code of another repository.
    """
    classes = [(file, name) for file, config in configs for name in _classes(config)]
    for file, name in classes:
        if "--" in name:
            origin, _, inside = name.partition("--")
            raise ModelError.of(
                file, f"takes its code from {origin!r}; put the module beside it, and name it {inside!r}"
            )
    return bool(classes)


def _classes(config: dict[str, Any]) -> set[str]:
    """Return the classes that a configuration asks for: "module.Class", or "org/name--module.Class"."""
    auto_map = config.get("auto_map") or {}
    values = auto_map.values() if isinstance(auto_map, dict) else [auto_map]
    return {name for value in values for name in _names_in(value)}


def is_checkpoint(folder: Path) -> bool:
    """Return True if a folder holds the configuration of a checkpoint or a PEFT adapter."""
    return any(os.path.isfile(folder / name) for name in (CONFIG, ADAPTER))


def is_adapter(folder: Path) -> bool:
    """Return True if a checkpoint is a PEFT adapter."""
    return (folder / ADAPTER).is_file()


def adapter_base(folder: Path) -> str | None:
    """Return the directory or hub id of a PEFT adapter's base; None if the folder is no adapter."""
    return named_base(read_json(folder / ADAPTER), folder) if is_adapter(folder) else None


def named_base(config: dict[str, Any], folder: Path) -> str:
    """Return the directory or hub id of the base that an adapter's configuration names; raises a ModelError without."""
    name, revision = config.get("base_model_name_or_path"), config.get("revision")
    if not (name and isinstance(name, str) and isinstance(revision, str | None)):
        raise ModelError.of(folder / ADAPTER, "names no base model (base_model_name_or_path)")
    beside = folder / name
    if os.path.isdir(beside):
        return str(beside)
    return f"{name}@{revision}" if revision and not os.path.isdir(name) else str(name)


def has_tokenizer(folder: Path) -> bool:
    """Return True if the folder holds a saved tokenizer."""
    return bool(_matches(folder, TOKENIZER))


def read_json(file: Path, content: bytes | None = None, limits: Limits = LIMITS) -> dict[str, Any]:
    """Read a JSON object.

    Args:
        content: of the file, if already read; None opens it.

    Raises:
        ModelError: there is no such file, or it holds something else.
    """
    if content is None and not file.is_file():
        below = sorted(path.parent.name for path in file.parent.glob(f"*/{file.name}"))
        hint = f"; did you mean {file.parent / below[-1]}?" if below else "; it must hold a saved checkpoint"
        raise ModelError.of(file.parent, f"has no {file.name}{hint}")
    try:
        if content is None:
            limits.check(file, "config", os.stat(file).st_size)
        config = records.read_text(file, "a checkpoint's settings", json.loads, content=content)
    except (DataError, OSError) as error:
        raise (ModelError.like(error) if isinstance(error, DataError) else ModelError(str(error))) from error
    if not isinstance(config, dict):
        raise ModelError.of(file, f"must hold a JSON object (got {type(config).__name__})", value=type(config).__name__)
    return config


def _matches(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    try:
        names = os.listdir(folder)
    except OSError:  # reading its files reports the reason
        return []
    fitting = {name for pattern in patterns for name in names if fnmatchcase(name, pattern)}
    return sorted(folder / name for name in fitting if (folder / name).is_file())
