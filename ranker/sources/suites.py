"""Suites: the models to be ranked, from directories, hub ids, or the `suite.json` that `experiments` writes."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from factors.types import Frozen
from ranker.datasets.embedded import SUITE, folder
from ranker.errors import UnknownName, UsageError, look_up
from ranker.records import fields_of, read_json, table
from ranker.sources import kinds
from ranker.sources.base import ResourceCache, Source, SourceOptions
from ranker.sources.hf.checkpoints import is_hub_id
from ranker.sources.references import Reference, parse

log = logging.getLogger(__name__)

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Model:
    """One model, and what is known of it beforehand.

    Attributes:
        source: where its answers come from.
        in_domain_accuracy: a fraction, where it is known.
        ood_accuracy: fingerprint of an OOD set's rows -> accuracy on them, a fraction.

    Raises:
        UsageError: a name with characters that cannot be shown: line ends, or codes that a terminal obeys; an accuracy
            that is no fraction.
    """

    source: Source
    in_domain_accuracy: float | None = None
    ood_accuracy: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_name("model", self.name)
        for accuracy in (self.in_domain_accuracy, *self.ood_accuracy.values()):
            if accuracy is not None and not 0 <= accuracy <= 1:
                raise UsageError(f"the accuracy of {self.name} must be a fraction between 0 and 1 (got {accuracy})")
        object.__setattr__(self, "ood_accuracy", Frozen(self.ood_accuracy))

    @property
    def name(self) -> str:
        """As it stands in tables; unique in its suite."""
        return self.source.name

    @property
    def family(self) -> str:
        """Models of one family differ by their training only; "" where it is not known."""
        return self.source.family

    def called(self, name: str) -> Model:
        """The model under another name."""
        return replace(self, source=replace(self.source, name=name))  # type: ignore[type-var]  # sources are records


@dataclass(frozen=True, repr=False)
class Suite:
    """Models to be compared with each other.

    Attributes:
        name: as it stands in titles.
        models: two or more; each has a `name` and a `source`.
        shelf: what was opened to find them.

    Raises:
        UsageError: fewer than two models, two of one name, or a name that cannot be shown.

    Example:
        >>> from ranker import Suite, load_suite
        >>> Suite("mine", load_suite(["hans-sub-mini"]).models[-2:])
        <Suite mine: 2 models, inoc-1600, inoc-4000>
    """

    name: str
    models: tuple[Model, ...]
    shelf: ResourceCache = field(default_factory=ResourceCache, compare=False, repr=False)

    def __repr__(self) -> str:
        names = [model.name for model in self.models[:5]] + ["..."] * (len(self.models) > 5)
        return f"<Suite {self.name}: {len(self.models)} models, {', '.join(names)}>"

    def __post_init__(self) -> None:
        _check_name("suite", self.name)
        if len(self.models) < 2:
            doubts = [doubt for model in self.models if (doubt := getattr(model.source, "doubt", ""))]
            few = f"a ranking needs at least two models (got {len(self.models)}); name more with `models`"
            raise UsageError(doubts[0] if doubts else few)
        twice = [name for name, count in Counter(model.name for model in self.models).items() if count > 1]
        if twice:
            raise UsageError(f"two models are named {twice[0]!r}; call one by another name: `models NAME=PATH`")


def load(
    references: Sequence[str | Path | Source | Model],
    options: SourceOptions = SourceOptions(),
    shelf: ResourceCache | None = None,
) -> Suite:
    """The suite that ``models`` names.

    Args:
        references: each what a kind of source claims (a model directory, a directory of checkpoints, a hub id
            ``org/name@revision``), a suite.json, a directory that holds one, or the name of an embedded suite; several
            are taken together. A name of one's own stands before it, ``mine=org/name``. A member's directory in its
            suite's folder keeps what the suite says of it. A source, or a model, stands for itself.
        options: what is said of all of them.
        shelf: what is opened meanwhile is left here; None for a shelf of the suite's own.

    Raises:
        UsageError: a path that does not exist, a suite.json that cannot be read, fewer than two models, a name or a
            model twice, or an option for a model that is not there.

    Example:
        >>> from ranker import load_suite
        >>> load_suite(["hans-sub-mini"])
        <Suite hans-sub-mini: 8 models, untouched, inoc-50, inoc-100, inoc-200, inoc-400, ...>
    """
    shelf = ResourceCache() if shelf is None else shelf
    return Suite(*name_models(references, options, shelf), shelf)


def name_models(
    references: Sequence[str | Path | Source | Model], options: SourceOptions, shelf: ResourceCache
) -> tuple[str, tuple[Model, ...]]:
    """What to call the models that ``models`` names, and these: one or more, see `load`.

    Raises:
        UsageError: as `load`, but for fewer than two models.
    """
    parts = [_part(one, options, shelf) for one in references]
    kinds.check_concerned(options, [kind for part in parts for kind in part.kinds])
    models = _told_apart(parts)
    check_places(models)
    known = {model.name: model for model in models}
    for name in sorted(options.trust_remote_code):
        look_up("model", name, known)
    if len(models) > 1:
        Suite("models", models)  # which refuses a name that two have
    suites = parts and all(len(part.models) > 1 for part in parts)
    return "+".join(part.name for part in parts) if suites else "models", models


def check_places(models: Sequence[Model]) -> None:
    """Point out models that lie in one place: under two names it is one model twice, under one name a slip.

    Raises:
        UsageError: the names are the same, too.
    """
    first: dict[str, Model] = {}
    for model in models:
        other = first.setdefault(model.source.place, model)
        if other is not model and other.name == model.name:
            place = model.source.place
            name = place.rpartition("/")[2].partition("@")[0]
            again = f", or call it by two names: `models {name}={place} {name}-again={place}`" if "/" in place else ""
            raise UsageError(f"{place} is named twice; name it once{again}")
        if other is not model:
            log.warning("%s and %s are one model: both are %s", other.name, model.name, model.source.place)


def _told_apart(parts: Sequence[_Part]) -> tuple[Model, ...]:
    """The models; what would share a name, as `checkpoint-500` of two runs, bears that of the folder around it, too.

    Where that does not tell them apart, as of two files in one folder, it bears that of the file. A name that somebody
    gave stays.
    """
    models = [model for part in parts for model in part.models]
    free = [not part.chosen for part in parts for _ in part.models]
    count = Counter(model.name for model in models)
    for name in [name for name, times in count.items() if times > 1]:
        alike = [n for n, model in enumerate(models) if model.name == name and free[n]]
        ways = ([longer(models[n]) for n in alike] for longer in (_with_folder, _with_file))
        apart = next((names for names in ways if len(set(names)) == len(names)), None)
        for n, longer in zip(alike, apart or [_with_folder(models[n]) for n in alike], strict=True):
            models[n] = models[n].called(longer)
    return tuple(models)


def _with_folder(model: Model) -> str:
    """A model's place, of a path the last two folders; its name, where that is another than the place's."""
    place = Path(model.source.place.partition("#")[0])
    if place.is_file():
        place = place.absolute().parent
        if place.name != model.name:  # as that of a log is
            return f"{place.name}/{model.name}"
    longer = "/".join(place.parts[-2:]) if place.is_absolute() or place.exists() else model.source.place
    return longer if longer.endswith(f"/{model.name}") else model.name


def _with_file(model: Model) -> str:
    """A model's name behind that of its file, where it lies in one."""
    file = Path(model.source.place.partition("#")[0])
    if not file.is_file():
        return model.name
    return f"{getattr(model.source, 'short', file.name.partition('.')[0])}/{model.name}"


def embedded() -> dict[str, Path]:
    """The suites that come with the product: name -> folder."""
    root = folder() / "suites"
    return {path.parent.name: path.parent for path in sorted(root.glob(f"*/{SUITE}"))}


@dataclass(frozen=True)
class _Part:
    """What one reference names: a suite of any size, and whether somebody chose the name of its only model.

    Its kinds are those that the models are of.
    """

    name: str
    models: tuple[Model, ...]
    kinds: tuple[kinds.Kind, ...] = ()
    chosen: bool = False


def _part(given: str | Path | Source | Model, options: SourceOptions, shelf: ResourceCache) -> _Part:
    if isinstance(given, (str, Path)):
        return _resolve(str(given), options, shelf)
    return _Part(given.name, (given if isinstance(given, Model) else Model(given),))


def _resolve(text: str, options: SourceOptions, shelf: ResourceCache) -> _Part:
    """What a reference names, under the name that it gives."""
    reference = parse(text, kinds.known_kinds(shelf))
    found = _found(reference, options, shelf)
    if not reference.name:
        return found
    if len(found.models) > 1:
        raise UsageError(f"`models`: {text}: a name is for one model (got {len(found.models)} in {reference.place})")
    return _Part(reference.name, (found.models[0].called(reference.name),), found.kinds, chosen=True)


def _found(reference: Reference, options: SourceOptions, shelf: ResourceCache) -> _Part:
    place, plain = reference.place, replace(reference, name="") == Reference(reference.place)
    path = Path(place)
    if plain and path.name == SUITE and os.path.isfile(path):  # unlike Path's own, no error where a name is too long
        return _read(path, options, shelf)
    if plain and os.path.isfile(path / SUITE):
        return _read(path / SUITE, options, shelf)
    if plain and os.path.isdir(path) and (member := _member(path, options, shelf)):
        return member
    suites = embedded()
    if plain and place in suites and not os.path.isdir(path):
        return _read(suites[place] / SUITE, options, shelf)
    kind = kinds.kind_of(reference, options, shelf, list(suites))
    found = kind.sources(reference, options, shelf)
    return _Part(found[0].name if len(found) == 1 else path.resolve().name, tuple(map(Model, found)), (kind,))


def _member(path: Path, options: SourceOptions, shelf: ResourceCache) -> _Part | None:
    """The model that the suite in the folder around a model directory says it is; None where none says so."""
    place = os.path.abspath(path)  # as it is written: a link in the folder is a member, too
    file = Path(place).parent / SUITE
    content = read_json(file, "a suite", options.limits) if os.path.isfile(file) else None
    ours = isinstance(content, dict) and "schema_version" in content  # others have files of this name, too
    if not ours:
        return None
    suite = _read(file, options, shelf)
    listed = zip(_paths(file, options), suite.models, suite.kinds, strict=True)
    here = ((model, kind) for where, model, kind in listed if os.path.abspath(file.parent / where) == place)
    return next((_Part(path.name, (model,), (kind,)) for model, kind in here), None)


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
class _Entry:
    """What is read of each of its models, beside accuracies on OOD sets."""

    name: str
    path: str
    kind: str = "hf"
    family: str = ""
    label_map: Mapping[str, str] | None = None
    in_domain_accuracy: float | None = None


@dataclass(frozen=True)
class _Known:
    """What is read of each accuracy of a model."""

    accuracy: float
    fingerprint: str


def _paths(file: Path, options: SourceOptions) -> list[str]:
    """The paths of a suite's models, as they are written."""
    return [entry["path"] for entry in read_json(file, "a suite", options.limits)["models"]]


def _read(file: Path, options: SourceOptions, shelf: ResourceCache) -> _Part:
    """Read a suite.json; model paths in it are relative to its folder, and do not lead out of it."""
    content = read_json(file, "a suite", options.limits)
    try:
        version = table(content, "suite").get("schema_version")
        if version != SCHEMA_VERSION:
            raise UsageError(f"{file}: this version reads suites of schema {SCHEMA_VERSION} (got {version!r})")
        suite = fields_of(_File, content, "suite")
        members = list(_members(suite.models, file.parent, options, shelf))
        return _Part(suite.name, tuple(model for model, _ in members), tuple(kind for _, kind in members))
    except (ValueError, UnknownName) as error:
        raise UsageError(f"{file} is no suite: {error}") from error


def _members(
    entries: Sequence[Any], folder: Path, options: SourceOptions, shelf: ResourceCache
) -> Iterator[tuple[Model, kinds.Kind]]:
    for entry in (table(entry, "models") for entry in entries):
        one = fields_of(_Entry, entry, "models")
        _check_path(folder, one.path)
        inside = folder / one.path
        listed = table(entry.get("ood_accuracy", {}), "ood_accuracy").values()
        known = [fields_of(_Known, one, "ood_accuracy") for one in listed]
        place = str(inside) if os.path.exists(inside) or not is_hub_id(one.path) else one.path
        reference = Reference(place, kind=one.kind)
        kind = kinds.kind_of(reference, options, shelf)
        found = kind.sources(reference, options, shelf)
        if len(found) != 1:
            raise ValueError(f"the path of {one.name} must name one model (got {len(found)} in {place})")
        if one.label_map and not hasattr(found[0], "label_map"):
            raise ValueError(f"{one.name} is of the kind {one.kind!r}, which has no `label_map`")
        said = {"name": one.name, "family": one.family, **({"label_map": one.label_map} if one.label_map else {})}
        source: Source = replace(found[0], **said)  # type: ignore[type-var]  # sources are records
        yield Model(source, one.in_domain_accuracy, {one.fingerprint: one.accuracy for one in known}), kind


def _check_path(folder: Path, path: str) -> None:
    """A suite is handed on as a folder: what it names by a relative path is in it.

    An absolute path is the word of somebody who knows this machine, and says openly where it leads.
    """
    if not os.path.isabs(path) and Path(os.path.normpath(path)).parts[:1] == (os.pardir,):
        raise UsageError(f"{folder / SUITE}: the path {path!r} leads out of the suite's folder; write an absolute one")
