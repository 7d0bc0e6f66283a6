"""Checkpoints as a kind of source: networks with a head in folders or on the hub, and PEFT adapters of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factors.types import Frozen
from ranker.errors import ModelError, UsageError, check_installed
from ranker.sources.base import Machine, ModelInfo, Needs, ResourceCache, Source, SourceOptions, version
from ranker.sources.hf import align, checkpoints
from ranker.sources.hf.files import Files, open_checkpoint_files
from ranker.sources.hf.heads import LABEL_SETS, LABELS, SPANS, Head, head_of, head_of_files, writing_head
from ranker.sources.hf.labels import check_inverse, mapped_outputs, meanings
from ranker.sources.hf.options import CheckpointOptions
from ranker.sources.options import non_defaults
from ranker.sources.references import Reference
from ranker.tasks.base import require_task

if TYPE_CHECKING:
    from ranker.sources.base import Predictor
    from ranker.tasks.base import Task

Options = CheckpointOptions

UNNAMED = {"0": "LABEL_0", "1": "LABEL_1"}
"""Labels of a configuration that states none."""

LIBRARIES = ("torch", "transformers", "tokenizers")
"""Packages whose version can change the numbers of any checkpoint."""

PRELOAD = ("torch", "transformers", "ranker.sources.hf.classifiers", "ranker.sources.hf.preload")
"""Modules that every checkpoint needs; its network's own module is added."""

OF_TEXTS = (LABELS, LABEL_SETS)
"""Heads that answer to a whole text, which is cut at the model's limit, by the task."""

WINDOWS = 1
"""Version of reading long rows in windows, part of the store's key of heads that do so."""

_ARCHITECTURE = re.compile(r"[a-z0-9_-]+")


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint: a `ranker.sources.base.Source`.

    Attributes:
        path: a directory, or a hub id ``org/name@revision``.
        label_map: its own map, label index or name -> the task's label, if the configuration does not say.
        base: directory or hub id of an adapter's base, once it has been looked up.
    """

    name: str
    path: str
    family: str = ""
    label_map: Mapping[str, str] | None = None
    options: SourceOptions = SourceOptions()
    base: str = ""

    precomputed = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "label_map", None if self.label_map is None else Frozen(self.label_map))

    @property
    def place(self) -> str:
        """Folder with links resolved, or the hub id."""
        return os.path.realpath(self.path) if os.path.isdir(self.path) else self.path

    @property
    def shares(self) -> str:
        """Base of an adapter, whose weights are shared."""
        return self.base

    @property
    def mapped(self) -> dict[str, str] | None:
        """Map from the checkpoint's labels to the task's: its own, or the run's."""
        chosen = self.label_map or self.options.label_map
        return None if chosen is None else dict(chosen)

    @property
    def trusted(self) -> bool:
        """True if the user named this model as one that may run code of its own; no suite can."""
        return self.name in self.options.trust_remote_code

    def inspect(self, cache: ResourceCache) -> ModelInfo:
        """Read its labels from configuration and label map; weights on the hub are fetched. See `Source.inspect`."""
        allow_pickle = self.options.allow_pickle
        try:
            folder = checkpoints.locate(self.path, allow_pickle=allow_pickle)
            base = checkpoints.locate_base(folder, allow_pickle=allow_pickle)
            config = checkpoints.read_json((base or folder) / checkpoints.CONFIG, limits=self.options.limits)
            adapter = checkpoints.read_json(folder / checkpoints.ADAPTER) if base else None
            if writing_head(config, adapter) is not None:
                raise ModelError.of(self.path, f"is a language model; name it so: `lm:{self.path}`", option="models")
            head = head_of(config, adapter)
            names = {} if head is SPANS else _names(config, base or folder)
        except ModelError as error:
            return ModelInfo(self, trouble=str(error))
        pinned = replace(
            self,
            path=pin(self.path, folder),
            base="" if base is None else pin(checkpoints.adapter_base(folder) or "", base),
        )
        cache[FOLDERS, pinned.path] = folder
        cache[FOLDERS, pinned.base] = base
        try:
            labels = tuple(meanings(names, self.mapped).values())
            used = self.label_map or mapped_outputs(self.mapped or {}, names, self.name)
            idle = bool(self.options.label_map) and not used
        except ModelError:  # loading reports it
            labels, idle = (), False
        of_spans = frozenset() if head is SPANS else frozenset(non_defaults(self.options.of(CheckpointOptions)))
        return ModelInfo(
            pinned,
            labels if head is LABELS else (),
            sum(_size(path, allow_pickle) for path in (folder, base) if path),
            (*PRELOAD, *_modules(config), *(("peft",) if base else ())),
            self.options.of_others(CheckpointOptions) | of_spans | ({"label_map"} if idle else frozenset()),
            unclear="" if head is LABELS else f"{self.name} answers with {head.answers}",
            outputs=tuple(names.values()) if head in OF_TEXTS else (),
            needs=Needs(accelerator=True),
        )

    def identity(self, task: Task, machine: Machine, cache: ResourceCache) -> Mapping[str, Any]:
        """Return its content hash, and all else that its numbers depend on. See `Source.identity`."""
        files = self._files(cache)
        adapter = {"adapters": checkpoints.ADAPTERS} if files.under else {}
        head = head_of_files(files)
        return {
            "content": files.digest,
            "label_map": None,
            **self._of_head(head),
            **({} if head in OF_TEXTS else {"windows": WINDOWS}),
            "own_code": self.trusted and files.brings_code(),
            **adapter,
            "alignment": align.REVISION,
            "dtype": machine.dtype,
            "versions": {name: version(name) for name in (*LIBRARIES, *(("peft",) if adapter else ()))},
        }

    def open(self, task: Task, machine: Machine, cache: ResourceCache) -> Predictor:
        """Load the network with its head. See `Source.open`."""
        import torch

        if machine.threads is not None:
            torch.set_num_threads(machine.threads)
        files = self._files(cache)
        head = head_of_files(files)
        task = require_task(task, head.task, head.answers, self.name)
        loaded = head.model_class().load(
            located(self.path, self.options, cache),
            *((task,) if head in OF_TEXTS else ()),
            **self._of_head(head),
            device=machine.device,
            dtype=machine.dtype,
            trust_remote_code=self.trusted,
            allow_pickle=self.options.allow_pickle,
            token_budget=machine.token_budget,
            bases=cache.setdefault(_BASES, {}),
            files=files,
            beat=cache.beat,
            limits=self.options.limits,
        )
        cache.noted[self.place] = 0, loaded.notes
        return loaded  # type: ignore[no-any-return]

    def _of_head(self, head: Head) -> dict[str, Any]:
        """Return the options that only this head reads."""
        if head is SPANS:
            return {"null_answers": self.options.of(CheckpointOptions).null_answers}
        return {"label_map": self.mapped}

    def _files(self, cache: ResourceCache) -> Files:
        """Return its open files, and close those of the previous checkpoint."""
        return last_files(self, partial(self._opened, cache), cache)

    def _opened(self, cache: ResourceCache) -> Files:
        """Open its files, and those of its base."""
        limits, allow_pickle = self.options.limits, self.options.allow_pickle
        folder = located(self.path, self.options, cache)
        if self.base and (FOLDERS, self.base) not in cache:
            cache[FOLDERS, self.base] = checkpoints.base_at(self.base, folder, allow_pickle=allow_pickle)
        base = cache[FOLDERS, self.base] if self.base else None
        return open_checkpoint_files(folder, base, allow_pickle=allow_pickle, beat=cache.beat, limits=limits)


if TYPE_CHECKING:
    _can: type[Source] = Checkpoint  # checked by mypy

FOLDERS, _FILES, _BASES = "folders of checkpoints", "files of a checkpoint", "bases of adapters"
"""Cache keys. Only the files of the last checkpoint are cached, so that few are open."""


def located(path: str, options: SourceOptions, cache: ResourceCache) -> Path:
    """Return the folder of a checkpoint; looked up once, so that all files are of one revision."""
    if (FOLDERS, path) not in cache:
        cache[FOLDERS, path] = checkpoints.locate(path, allow_pickle=options.allow_pickle)
    folder: Path = cache[FOLDERS, path]
    return folder


def last_files(whose: object, opened: Callable[[], Files], cache: ResourceCache) -> Files:
    """Return the open files of a model, and close those of the previous one."""
    if cache.get(_FILES, (None, None))[0] != whose:
        if _FILES in cache:
            cache.pop(_FILES)[1].close()
        cache[_FILES] = whose, opened()
    files: Files = cache[_FILES][1]
    return files


def claims(reference: Reference, options: SourceOptions) -> bool:
    """Return True if a reference is a folder, or looks like a hub id."""
    return os.path.isdir(reference.place) or checkpoints.is_hub_id(reference.place)


def sources(reference: Reference, options: SourceOptions, cache: ResourceCache) -> list[Checkpoint]:
    """List the checkpoints that a reference names: one, or those in a folder. A missing one reports its error later.

    Raises:
        UsageError: a part of a checkpoint is named, or the packages of checkpoints are not installed.
    """
    check_installed("a checkpoint", "models", option="models", value=reference.place)
    if reference.part:
        raise UsageError(
            f"`models`: {reference.place}: a checkpoint has no parts (got #{reference.part})",
            option="models",
            value=reference.part,
            place=reference.place,
        )
    place = f"{reference.place}@{reference.revision}" if reference.revision else reference.place
    if os.path.isdir(place):
        below = checkpoints_in(Path(place))
        if below:
            return [Checkpoint(folder.name, str(folder), options=options) for folder in below]
        return [Checkpoint(Path(place).resolve().name, place, options=options)]
    return [Checkpoint(place.partition("/")[2] or place, place, options=options)]


def checkpoints_in(folder: Path) -> list[Path]:
    """List the checkpoints in a folder, in the order of their numbers; none if it is one itself."""
    if checkpoints.is_checkpoint(folder):
        return []
    below = [path for path in folder.iterdir() if path.is_dir() and checkpoints.is_checkpoint(path)]
    return sorted(below, key=lambda path: [(not part.isdigit(), int(part) if part.isdigit() else 0, part)
                                           for part in re.split(r"(\d+)", path.name)])  # fmt: skip


def pin(reference: str, folder: Path) -> str:
    """Return a reference that leads to the same model from any folder, and after the hub has another revision."""
    if os.path.isdir(reference):
        return os.path.abspath(reference)
    if folder.parent.name == "snapshots":
        return f"{reference.partition('@')[0]}@{folder.name}"
    return os.path.abspath(folder)


def _names(config: Mapping[str, Any], folder: Path) -> dict[int, str]:
    """Return the labels in a checkpoint's configuration, in the order of its outputs."""
    id2label = config.get("id2label", UNNAMED)
    try:
        names = dict(sorted((int(output), str(name)) for output, name in id2label.items()))
    except (AttributeError, TypeError, ValueError) as error:
        raise ModelError.at(folder, "`id2label` in config.json must be number -> label", option="id2label") from error
    if isinstance(inverse := config.get("label2id"), dict):
        check_inverse(names, inverse, f"{folder}: config.json")
    return names


def _modules(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the module of transformers that holds a configuration's network."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or not _ARCHITECTURE.fullmatch(kind):
        return ()
    name = kind.replace("-", "_")
    return (f"transformers.models.{name}.modeling_{name}",)


def _size(folder: Path, allow_pickle: bool) -> int:
    """Return the bytes of a checkpoint's weights; 0 if there are none."""
    try:
        return sum(file.stat().st_size for file in checkpoints.weight_files(folder, allow_pickle=allow_pickle))
    except (ModelError, OSError):
        return 0
