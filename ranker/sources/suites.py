"""Suites: the models to be ranked, from directories, hub ids, or the `suite.json` that `experiments` writes."""

from __future__ import annotations

import logging
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ranker.datasets.embedded import folder
from ranker.errors import ModelError, UnknownName, UsageError
from ranker.records import fields_of, read_json, table
from ranker.sources.hf.checkpoints import is_checkpoint, is_hub_id, locate
from ranker.sources.references import parse

log = logging.getLogger(__name__)

KINDS = ("hf",)
"""The kinds of sources that a reference may name."""

SCHEMA_VERSION = 1
FILE = "suite.json"


@dataclass(frozen=True)
class Model:
    """One checkpoint.

    Attributes:
        name: as it stands in tables; unique in its suite.
        path: a directory, or a hub id ``org/name@revision``.
        family: models of one family differ by their training only ("" where it is not known).
        label_map: the checkpoint's label index or name -> the task's label, where the configuration does not say.
        in_domain_accuracy: a fraction, where it is known.
        ood_accuracy: fingerprint of an OOD set's rows -> accuracy on them, a fraction.

    Raises:
        UsageError: a name with characters that cannot be shown: line ends, or codes that a terminal obeys; an accuracy
            that is no fraction.
    """

    name: str
    path: str
    family: str = ""
    label_map: Mapping[str, str] | None = None
    in_domain_accuracy: float | None = None
    ood_accuracy: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_name("model", self.name)
        for accuracy in (self.in_domain_accuracy, *self.ood_accuracy.values()):
            if accuracy is not None and not 0 <= accuracy <= 1:
                raise UsageError(f"the accuracy of {self.name} must be a fraction between 0 and 1 (got {accuracy})")


@dataclass(frozen=True)
class Suite:
    """Models to be compared with each other.

    Raises:
        UsageError: fewer than two models, two of one name, or a name that cannot be shown.
    """

    name: str
    models: tuple[Model, ...]

    def __post_init__(self) -> None:
        _check_name("suite", self.name)
        if len(self.models) < 2:
            raise UsageError(f"a ranking needs at least two models (got {len(self.models)}); name more with `--models`")
        twice = [name for name, count in Counter(model.name for model in self.models).items() if count > 1]
        if twice:
            raise UsageError(f"two models are named {twice[0]!r}; list them in a suite.json under names of their own")


def load(references: Sequence[str]) -> Suite:
    """The suite that ``--models`` names.

    Args:
        references: each a model directory, a hub id ``org/name@revision``, a suite.json, a directory that holds one,
            a directory of checkpoints, or the name of an embedded suite; several are taken together. A name of one's
            own stands before it, ``mine=org/name``. A member's directory in its suite's folder keeps what the suite
            says of it.

    Raises:
        UsageError: a path that does not exist, a suite.json that cannot be read, fewer than two models, a name or a
            model twice.
    """
    parts = [_resolve(reference) for reference in references]
    models = _told_apart([model for part in parts for model in part.models])
    check_places(models)
    name = "+".join(part.name for part in parts) if all(len(part.models) > 1 for part in parts) else "models"
    return Suite(name, models)


def models(references: Sequence[str]) -> tuple[Model, ...]:
    """The checkpoints that ``--models`` names, where one is enough: see `load`.

    Raises:
        UsageError: a path that does not exist, a suite.json that cannot be read, or a name twice.
    """
    found = _told_apart([model for reference in references for model in _resolve(reference).models])
    check_places(found)
    return found if len(found) == 1 else Suite("models", found).models


def check_places(models: Sequence[Model]) -> None:
    """Point out models that lie in one place: under two names it is one model twice, under one name a slip.

    Raises:
        UsageError: the names are the same, too.
    """
    first: dict[str, Model] = {}
    for model in models:
        place = os.path.realpath(model.path) if os.path.isdir(model.path) else model.path
        other = first.setdefault(place, model)
        if other is not model and other.name == model.name:
            raise UsageError(f"{other.path} and {model.path} are one model; name it once")
        if other is not model:
            log.warning("%s and %s are one model: both are %s", other.name, model.name, other.path)


def _told_apart(models: Sequence[Model]) -> tuple[Model, ...]:
    """The models; what would share a name, as `checkpoint-500` of two runs, bears that of the folder around it, too."""
    count = Counter(model.name for model in models)
    return tuple(replace(model, name=_longer(model)) if count[model.name] > 1 else model for model in models)


def _longer(model: Model) -> str:
    """The last two parts of a model's folder, or its hub id; its name, where that is another than the path's."""
    folder = Path(os.path.realpath(model.path)) if os.path.isdir(model.path) else None
    longer = f"{folder.parent.name}/{folder.name}" if folder else model.path
    return longer if longer.endswith(f"/{model.name}") else model.name


def at_hand(models: Iterable[Model], *, allow_pickle: bool) -> tuple[Model, ...]:
    """The models by the folders that their hub ids lead to, so that all that is asked of one is of one revision.

    One that the hub does not give stays as it is: whoever asks it says why.

    Args:
        models: by directories and hub ids.
        allow_pickle: fetch weights that are not safetensors, too.
    """
    return tuple(
        model if os.path.isdir(model.path) else replace(model, path=_folder_of(model.path, allow_pickle))
        for model in models
    )


def _folder_of(reference: str, allow_pickle: bool) -> str:
    try:
        return str(locate(reference, allow_pickle=allow_pickle))
    except ModelError:
        return reference


def suite_of(models: Suite | str | Path | Sequence[str | Path]) -> Suite:
    """A suite, or what `load` makes of one reference or several."""
    if isinstance(models, Suite):
        return models
    return load([str(model) for model in ([models] if isinstance(models, (str, Path)) else models)])


def fetched(suite: Suite, *, allow_pickle: bool) -> Suite:
    """The suite with its models by the folders that they are in: see `at_hand`."""
    return replace(suite, models=at_hand(suite.models, allow_pickle=allow_pickle))


def embedded() -> dict[str, Path]:
    """The suites that come with the product: name -> folder."""
    root = folder() / "suites"
    return {path.parent.name: path.parent for path in sorted(root.glob(f"*/{FILE}"))}


@dataclass(frozen=True)
class _Part:
    """What one reference names: a suite of any size."""

    name: str
    models: tuple[Model, ...]


def _resolve(text: str) -> _Part:
    """What a reference names, under the name that it gives."""
    reference = parse(text, KINDS)
    if reference.part:
        raise UsageError(f"`--models`: {text}: a checkpoint has no parts (got #{reference.part})")
    place = f"{reference.place}@{reference.revision}" if reference.revision else reference.place
    found = _found(place)
    if not reference.name:
        return found
    if len(found.models) > 1:
        raise UsageError(f"`--models`: {text}: a name is for one model (got {len(found.models)} in {place})")
    return _Part(reference.name, (replace(found.models[0], name=reference.name),))


def _found(place: str) -> _Part:
    path = Path(place)
    if path.name == FILE and os.path.isfile(path):  # unlike Path's own, no error where a name is too long
        return _read(path)
    if os.path.isfile(path / FILE):
        return _read(path / FILE)
    if os.path.isdir(path):
        known = _member(path)
        below = () if known else checkpoints_in(path)
        if below:
            return _Part(path.resolve().name, tuple(Model(folder.name, str(folder)) for folder in below))
        return _Part(path.name, (known or Model(path.resolve().name, str(path)),))
    suites = embedded()
    if place in suites:
        return _read(suites[place] / FILE)
    if is_hub_id(place):
        return _Part(place, (Model(place.partition("/")[2], place),))
    known_names = str(UnknownName("suite", place, suites))
    raise UsageError(f"`--models`: no directory, suite.json or hub id `org/name` is called {place!r}; {known_names}")


def checkpoints_in(folder: Path) -> list[Path]:
    """The checkpoints that a folder holds, in the order of their numbers; none where it is one itself."""
    if is_checkpoint(folder):
        return []
    below = [path for path in folder.iterdir() if path.is_dir() and is_checkpoint(path)]
    return sorted(below, key=lambda path: [(not part.isdigit(), int(part) if part.isdigit() else 0, part)
                                           for part in re.split(r"(\d+)", path.name)])  # fmt: skip


def _member(path: Path) -> Model | None:
    """The model that the suite in the folder around a model directory says it is; None where none says so."""
    place = os.path.abspath(path)  # as it is written: a link in the folder is a member, too
    file = Path(place).parent / FILE
    content = read_json(file, "a suite") if os.path.isfile(file) else None
    ours = isinstance(content, dict) and "schema_version" in content  # others have files of this name, too
    listed = _read(file).models if ours else ()
    return next((model for model in listed if os.path.abspath(model.path) == place), None)


def _check_name(of: str, name: str) -> None:
    if not name.isprintable():
        raise UsageError(f"the name of a {of} must be one line of characters that can be shown (got {name!r})")


@dataclass(frozen=True)
class _File:
    """What is read of a suite.json."""

    schema_version: int
    name: str
    models: tuple[Any, ...]


@dataclass(frozen=True)
class _Known:
    """What is read of each accuracy of a model; all else is read as `Model` has it."""

    accuracy: float
    fingerprint: str


def _read(file: Path) -> _Part:
    """Read a suite.json; model paths in it are relative to its folder, and do not lead out of it."""
    content = read_json(file, "a suite")
    try:
        version = table(content, "suite").get("schema_version")
        if version != SCHEMA_VERSION:
            raise UsageError(f"{file}: this version reads suites of schema {SCHEMA_VERSION} (got {version!r})")
        suite = fields_of(_File, content, "suite")
        return _Part(suite.name, tuple(_models(suite.models, file.parent)))
    except ValueError as error:
        raise UsageError(f"{file} is no suite: {error}") from error


def _models(entries: Sequence[Any], folder: Path) -> Iterator[Model]:
    for entry in (table(entry, "models") for entry in entries):
        model = fields_of(Model, {**entry, "ood_accuracy": {}}, "models")
        _check_path(folder, model.path)
        inside = folder / model.path
        listed = table(entry.get("ood_accuracy", {}), "ood_accuracy").values()
        known = [fields_of(_Known, one, "ood_accuracy") for one in listed]
        yield replace(
            model,
            path=str(inside) if os.path.exists(inside) or not is_hub_id(model.path) else model.path,
            ood_accuracy={one.fingerprint: one.accuracy for one in known},
        )


def _check_path(folder: Path, path: str) -> None:
    """A suite is handed on as a folder: what it names by a relative path is in it.

    An absolute path is the word of somebody who knows this machine, and says openly where it leads.
    """
    if not os.path.isabs(path) and Path(os.path.normpath(path)).parts[:1] == (os.pardir,):
        raise UsageError(f"{folder / FILE}: the path {path!r} leads out of the suite's folder; write an absolute one")
