"""The kind of sources that are checkpoints: classifiers in folders or on the hub, and PEFT adapters of them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factors.types import Frozen
from ranker.errors import ModelError, UsageError
from ranker.sources.base import Machine, ModelInfo, Needs, ResourceCache, Source, SourceOptions, version
from ranker.sources.hf import align, checkpoints
from ranker.sources.hf.files import Files, open_checkpoint_files
from ranker.sources.hf.labels import check_inverse, meanings, said_by
from ranker.sources.references import Reference

if TYPE_CHECKING:
    from ranker.sources.hf.classifiers import TextClassifier
    from ranker.tasks.base import Task

UNNAMED = {"0": "LABEL_0", "1": "LABEL_1"}
"""The labels of a configuration that says nothing of them."""

LIBRARIES = ("torch", "transformers", "tokenizers")
"""Packages whose version can change a number of any checkpoint's."""

PRELOAD = ("torch", "transformers", "ranker.sources.hf.classifiers", "ranker.sources.hf.preload")
"""What every checkpoint needs imported; its network's own module comes to it."""

_ARCHITECTURE = re.compile(r"[a-z0-9_-]+")


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint: a `ranker.sources.base.Source`.

    Attributes:
        name, family: see there.
        path: a directory, or a hub id ``org/name@revision``.
        label_map: its own map, label index or name -> the task's label, where the configuration does not say.
        options: what is said of all checkpoints of the run.
        base: of an adapter: the directory or hub id that its weights are added to, once it has been looked up.
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
        """The folder itself, whatever links lead to it; or the hub id."""
        return os.path.realpath(self.path) if os.path.isdir(self.path) else self.path

    @property
    def shares(self) -> str:
        """The weights of its base, if it is an adapter."""
        return self.base

    @property
    def mapped(self) -> dict[str, str] | None:
        """The checkpoint's own map from its labels to the task's, or the run's."""
        chosen = self.label_map or self.options.label_map
        return None if chosen is None else dict(chosen)

    @property
    def trusted(self) -> bool:
        """The user has named this model as one that may run code of its own; no suite can."""
        return self.name in self.options.trust_remote_code

    def inspect(self, shelf: ResourceCache) -> ModelInfo:
        """Its labels by configuration and label map; weights on the hub are fetched. See `Source.inspect`."""
        allow_pickle = self.options.allow_pickle
        try:
            folder = checkpoints.locate(self.path, allow_pickle=allow_pickle)
            base = checkpoints.locate_base(folder, allow_pickle=allow_pickle)
            config = checkpoints.read_json((base or folder) / checkpoints.CONFIG, limits=self.options.limits)
            names = _names(config, base or folder)
        except ModelError as error:
            return ModelInfo(self, trouble=str(error))
        pinned = replace(
            self,
            path=_pinned(self.path, folder),
            base="" if base is None else _pinned(checkpoints.adapter_base(folder) or "", base),
        )
        shelf[_FOLDERS, pinned.path] = folder
        shelf[_FOLDERS, pinned.base] = base
        try:
            labels = tuple(meanings(names, self.mapped).values())
            idle = bool(self.options.label_map) and not (self.label_map or said_by(self.mapped or {}, names, self.name))
        except ModelError:  # loading it says why
            labels, idle = (), False
        return ModelInfo(
            pinned,
            labels,
            sum(_size(one, allow_pickle) for one in (folder, base) if one),
            (*PRELOAD, *_modules(config), *(("peft",) if base else ())),
            self.options.of_others() | ({"label_map"} if idle else frozenset()),
            outputs=tuple(names.values()),
            needs=Needs(accelerator=True),
        )

    def identity(self, task: Task, machine: Machine, shelf: ResourceCache) -> Mapping[str, Any]:
        """Its content, and what its numbers depend on beside it. See `Source.identity`."""
        files = self._files(shelf)
        adapter = {"adapters": checkpoints.ADAPTERS} if files.under else {}
        return {
            "content": files.digest,
            "label_map": self.mapped,
            "own_code": self.trusted and files.brings_code(),
            **adapter,
            "alignment": align.REVISION,
            "dtype": machine.dtype,
            "versions": {name: version(name) for name in (*LIBRARIES, *(("peft",) if adapter else ()))},
        }

    def open(self, task: Task, machine: Machine, shelf: ResourceCache) -> TextClassifier:
        """The loaded classifier. See `Source.open`."""
        import torch

        from ranker.sources.hf.classifiers import TextClassifier
        from ranker.tasks.classes import require_labels

        if machine.threads is not None:
            torch.set_num_threads(machine.threads)
        folder, _ = self._folders(shelf)
        loaded = TextClassifier.load(
            folder,
            require_labels(task, self.name),
            device=machine.device,
            dtype=machine.dtype,
            label_map=self.mapped,
            trust_remote_code=self.trusted,
            allow_pickle=self.options.allow_pickle,
            token_budget=machine.token_budget,
            bases=shelf.setdefault(_BASES, {}),
            files=self._files(shelf),
            beat=shelf.beat,
            limits=self.options.limits,
        )
        shelf.noted[self.place] = 0, loaded.notes
        return loaded

    def _folders(self, shelf: ResourceCache) -> tuple[Path, Path | None]:
        """Its folder, and that of its base; each is looked for once, so that all that is read is of one revision."""
        allow_pickle = self.options.allow_pickle
        if (_FOLDERS, self.path) not in shelf:
            shelf[_FOLDERS, self.path] = checkpoints.locate(self.path, allow_pickle=allow_pickle)
        folder: Path = shelf[_FOLDERS, self.path]
        if not self.base:
            return folder, checkpoints.locate_base(folder, allow_pickle=allow_pickle)
        if (_FOLDERS, self.base) not in shelf:
            shelf[_FOLDERS, self.base] = checkpoints.base_at(self.base, folder, allow_pickle=allow_pickle)
        return folder, shelf[_FOLDERS, self.base]

    def _files(self, shelf: ResourceCache) -> Files:
        """Its files, open: what is loaded is what was hashed. Those of the checkpoint before it are closed."""
        if _FILES not in shelf or shelf[_FILES][0] != self:
            if _FILES in shelf:
                shelf.pop(_FILES)[1].close()
            folder, base = self._folders(shelf)
            limits, allow_pickle = self.options.limits, self.options.allow_pickle
            shelf[_FILES] = (
                self,
                open_checkpoint_files(folder, base, allow_pickle=allow_pickle, beat=shelf.beat, limits=limits),
            )
        found: Files = shelf[_FILES][1]
        return found


if TYPE_CHECKING:
    _can: type[Source] = Checkpoint  # checked by mypy

_FOLDERS, _FILES, _BASES = "folders of checkpoints", "files of a checkpoint", "bases of adapters"
"""Where on a shelf they are. Files are those of the last checkpoint alone, so that few are open."""


def claims(reference: Reference, options: SourceOptions) -> bool:
    """Whether a reference is a folder, or is written like a hub id."""
    return os.path.isdir(reference.place) or checkpoints.is_hub_id(reference.place)


def sources(reference: Reference, options: SourceOptions, shelf: ResourceCache) -> list[Checkpoint]:
    """The checkpoints that a reference names: one, or those that a folder holds. One that is not there says so later.

    Raises:
        UsageError: a part of a checkpoint is named.
    """
    if reference.part:
        raise UsageError(f"`models`: {reference.place}: a checkpoint has no parts (got #{reference.part})")
    place = f"{reference.place}@{reference.revision}" if reference.revision else reference.place
    if os.path.isdir(place):
        below = checkpoints_in(Path(place))
        if below:
            return [Checkpoint(folder.name, str(folder), options=options) for folder in below]
        return [Checkpoint(Path(place).resolve().name, place, options=options)]
    return [Checkpoint(place.partition("/")[2] or place, place, options=options)]


def checkpoints_in(folder: Path) -> list[Path]:
    """The checkpoints that a folder holds, in the order of their numbers; none where it is one itself."""
    if checkpoints.is_checkpoint(folder):
        return []
    below = [path for path in folder.iterdir() if path.is_dir() and checkpoints.is_checkpoint(path)]
    return sorted(below, key=lambda path: [(not part.isdigit(), int(part) if part.isdigit() else 0, part)
                                           for part in re.split(r"(\d+)", path.name)])  # fmt: skip


def _pinned(reference: str, folder: Path) -> str:
    """A reference that leads to the same model from any folder, and after the hub has another revision."""
    if os.path.isdir(reference):
        return os.path.abspath(reference)
    if folder.parent.name == "snapshots":
        return f"{reference.partition('@')[0]}@{folder.name}"
    return os.path.abspath(folder)


def _names(config: Mapping[str, Any], folder: Path) -> dict[int, str]:
    """The labels in a checkpoint's configuration, in the order of its outputs.

    Raises:
        ModelError: they cannot be read.
        LabelError: `label2id` contradicts them.
    """
    written = config.get("id2label", UNNAMED)
    try:
        names = dict(sorted((int(output), str(name)) for output, name in written.items()))
    except (AttributeError, TypeError, ValueError) as error:
        raise ModelError(f"{folder}: `id2label` in config.json must be number -> label") from error
    if isinstance(inverse := config.get("label2id"), dict):
        check_inverse(names, inverse, f"{folder}: config.json")
    return names


def _modules(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The module of transformers that a configuration's network is in."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or not _ARCHITECTURE.fullmatch(kind):
        return ()
    name = kind.replace("-", "_")
    return (f"transformers.models.{name}.modeling_{name}",)


def _size(folder: Path, allow_pickle: bool) -> int:
    """Bytes of a checkpoint's weights; 0 where there are none."""
    try:
        return sum(file.stat().st_size for file in checkpoints.weights(folder, allow_pickle=allow_pickle))
    except (ModelError, OSError):
        return 0
