"""Suites: the models to rank, from directories, hub ids, or the `suite.json` that `experiments` writes."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from factors.types import Frozen
from ranker.datasets.embedded import SUITE, cards, folder
from ranker.errors import UnknownName, UsageError, look_up
from ranker.files.buckets import is_bucket_url, local_path
from ranker.records import fields_of, read_json, table
from ranker.sources import kinds
from ranker.sources.base import ResourceCache, Source, SourceOptions
from ranker.sources.hf.checkpoints import is_hub_id
from ranker.sources.references import Reference, parse

log = logging.getLogger(__name__)

SCHEMA_VERSION = 1

Role = Literal["ranked", "voter", "trusted"]
"""Part of a model in a run: it is ranked; it only votes; it only votes, and is known to be better than the others."""


@dataclass(frozen=True, repr=False)
class Model:
    """One model, with accuracies that are known in advance.

    Attributes:
        source: of its answers.
        in_domain_accuracy: a fraction, if known.
        ood_accuracy: fingerprint of an OOD set's rows -> accuracy on them, a fraction.
        role: whether the model is ranked, or only votes.

    Raises:
        UsageError: a name with unprintable characters (line ends, terminal codes), or an accuracy that is no fraction.

    Example:
        >>> load(["hans-sub-mini"]).models[-1]
        <Model inoc-4000 (bert-mini)>
    """

    source: Source
    in_domain_accuracy: float | None = None
    ood_accuracy: Mapping[str, float] = field(default_factory=dict)
    role: Role = "ranked"

    def __repr__(self) -> str:
        return f"<Model {self.name}{f' ({self.family})' * bool(self.family)}>"

    def __post_init__(self) -> None:
        _check_name("model", self.name)
        for accuracy in (self.in_domain_accuracy, *self.ood_accuracy.values()):
            if accuracy is not None and not 0 <= accuracy <= 1:
                raise UsageError(
                    f"the accuracy of {self.name} must be a fraction between 0 and 1 (got {accuracy})",
                    value=accuracy,
                    allowed=(0, 1),
                    place=self.name,
                )
        object.__setattr__(self, "ood_accuracy", Frozen(self.ood_accuracy))

    @property
    def name(self) -> str:
        """Name in reports; unique in its suite."""
        return self.source.name

    @property
    def votes_only(self) -> bool:
        """True if the model is not ranked."""
        return self.role != "ranked"

    @property
    def family(self) -> str:
        """Models of one family differ by their training only; "" if unknown."""
        return self.source.family

    def called(self, name: str) -> Model:
        """Return the model under another name."""
        return replace(self, source=replace(self.source, name=name))  # type: ignore[type-var]  # sources are records


@dataclass(frozen=True, repr=False)
class Suite:
    """Models to be compared with each other.

    Attributes:
        name: in titles.
        models: two or more that are ranked, and any that only vote; each has a `name` and a `source`.
        cache: of what was opened to find them.

    Raises:
        UsageError: fewer than two ranked models, two with one name, or an unprintable name.

    Example:
        >>> from ranker import Suite, load_suite
        >>> Suite("mine", load_suite(["hans-sub-mini"]).models[-2:])
        <Suite mine: 2 models, inoc-1600, inoc-4000>
    """

    name: str
    models: tuple[Model, ...]
    cache: ResourceCache = field(default_factory=ResourceCache, compare=False, repr=False)

    def __repr__(self) -> str:
        names = [model.name for model in self.models[:5]] + ["..."] * (len(self.models) > 5)
        return f"<Suite {self.name}: {len(self.models)} models, {', '.join(names)}>"

    def __post_init__(self) -> None:
        _check_name("suite", self.name)
        ranked = [model for model in self.models if not model.votes_only]
        if len(ranked) < 2:
            doubtful = next((model.source for model in ranked if getattr(model.source, "doubt", "")), None)
            few = f"a ranking needs at least two models (got {len(ranked)}); name more with `models`"
            text, readings = getattr(doubtful, "doubt", few), getattr(doubtful, "readings", ())
            raise UsageError(text, option="models", value=len(ranked), readings=readings)
        twice = [name for name, count in Counter(model.name for model in self.models).items() if count > 1]
        if twice:
            raise UsageError(
                f"two models are named {twice[0]!r}; call one by another name: `models NAME=PATH`",
                option="models",
                value=twice[0],
            )


def load(
    references: Sequence[str | Path | Source | Model],
    options: SourceOptions = SourceOptions(),
    cache: ResourceCache | None = None,
    voters: Sequence[str | Path | Source | Model] = (),
    trusted: Collection[str] = (),
) -> Suite:
    """Load the suite that ``models`` names.

    Args:
        references: each a place that a kind of source claims (a model directory, a directory of checkpoints, a hub id
            ``org/name@revision``), a suite.json, a directory that holds one, or the name of an embedded suite; several
            are combined. A name may precede it, ``mine=org/name``. A member's directory in its suite's folder keeps the
            suite's settings for it. A source, or a model, stands for itself.
        options: of all references.
        cache: for what is opened; None makes one for the suite.
        voters: models that vote and are not ranked, each as a reference.
        trusted: names of voters that are known to be better than the models.

    Raises:
        UsageError: a path that does not exist, an unreadable suite.json, fewer than two models, a repeated name or
            model, or an option for a missing model.

    Example:
        >>> from ranker import load_suite
        >>> load_suite(["hans-sub-mini"])
        <Suite hans-sub-mini: 8 models, untouched, inoc-50, inoc-100, inoc-200, inoc-400, ...>
    """
    cache = ResourceCache() if cache is None else cache
    return Suite(*name_models(references, options, cache, voters, trusted), cache)


def name_models(
    references: Sequence[str | Path | Source | Model],
    options: SourceOptions,
    cache: ResourceCache,
    voters: Sequence[str | Path | Source | Model] = (),
    trusted: Collection[str] = (),
) -> tuple[str, tuple[Model, ...]]:
    """Return the models that ``models`` names, one or more, then voters, and a name for them all: see `load`."""
    parts, voting = (
        [_to_models(part, options, cache) for part in part_references] for part_references in (references, voters)
    )
    kinds.check_concerned(options, [kind for part in (*parts, *voting) for kind in part.kinds])
    models = _distinguish_names([*parts, *voting])
    ranked = sum(len(part.models) for part in parts)
    models = with_roles(models[:ranked], models[ranked:], trusted)
    check_places(models)
    by_name = {model.name: model for model in models}
    for name in sorted(options.trust_remote_code):
        look_up("model", name, by_name)
    if len(models) > 1:
        Suite("models", models)  # refuses repeated names
    suites = parts and all(len(part.models) > 1 for part in parts)
    return "+".join(part.name for part in parts) if suites else "models", models


def with_roles(models: Sequence[Model], voters: Sequence[Model], trusted: Collection[str] = ()) -> tuple[Model, ...]:
    """Return models with the role that each has of itself, then voters, of which some are trusted by name."""
    voters = [model if model.votes_only else replace(model, role="voter") for model in voters]
    by_name = {model.name: model for model in (*models, *voters) if model.votes_only}
    for name in trusted:
        look_up("voter", name, by_name)
    everyone = (*(model for model in models if not model.votes_only), *by_name.values())
    return tuple(replace(model, role="trusted") if model.name in trusted else model for model in everyone)


def check_places(models: Sequence[Model]) -> None:
    """Warn of models in one place: two names are one model twice; refuse one name twice."""
    first: dict[str, Model] = {}
    for model in models:
        earlier = first.setdefault(model.source.place, model)
        if earlier is not model and earlier.name == model.name:
            place = model.source.place
            name = place.rpartition("/")[2].partition("@")[0]
            again = f", or call it by two names: `models {name}={place} {name}-again={place}`" if "/" in place else ""
            raise UsageError.of(place, f"is named twice; name it once{again}", option="models")
        if earlier is not model:
            log.warning("%s and %s are one model: both are %s", earlier.name, model.name, model.source.place)


def _distinguish_names(parts: Sequence[_NamedModels]) -> tuple[Model, ...]:
    """Prefix repeated names, as `checkpoint-500` of two runs, by their folder or else their file; chosen names stay."""
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
    """Return a model's place (the last two folders of a path), or its name if it differs from the place's."""
    place = Path(model.source.place.partition("#")[0])
    if place.is_file():
        place = place.absolute().parent
        if place.name != model.name:  # logs are named after their folder
            return f"{place.name}/{model.name}"
    longer = "/".join(place.parts[-2:]) if place.is_absolute() or place.exists() else model.source.place
    return longer if longer.endswith(f"/{model.name}") else model.name


def _with_file(model: Model) -> str:
    """Prefix a model's name by that of its file, if it is in one."""
    file = Path(model.source.place.partition("#")[0])
    if not file.is_file():
        return model.name
    return f"{getattr(model.source, 'short', file.name.partition('.')[0])}/{model.name}"


def bundled_suites() -> dict[str, Path]:
    """Return the suites that come with the product: name -> folder."""
    root = folder() / "suites"
    return {path.parent.name: path.parent for path in sorted(root.glob(f"*/{SUITE}"))}


LARGER_SUITES = {
    "minilm": "8 models of 91 MB, an hour of one core",
    "mpnet": "8 models of 438 MB, two hours of one core in bfloat16",
}
"""Size that ends the name of a suite of an embedded set -> what it takes to make it."""


def check_installed(suite: str) -> None:
    """Raise a UsageError for a suite of an embedded set that is not installed: some are left out, others are made."""
    ood_name, _, size = suite.rpartition("-")
    if size in LARGER_SUITES and ood_name in cards():
        make = f"python -m experiments inoculate RECIPE --data-dir DIR -o {suite}"
        text = (
            f"the suite {suite} is made in a copy of the repository ({LARGER_SUITES[size]}): "
            f"`python -m experiments ls` names its recipe, and `{make}` makes it"
        )
        raise UsageError(text, option="models", value=suite)
    if suite in {f"{name}-mini" for name in cards()} - bundled_suites().keys():
        clone = "a copy of the repository has it (`pip install -e .`)"
        raise UsageError(f"the suite {suite} is not installed; {clone}; or name models of your own", option="models")


@dataclass(frozen=True)
class _NamedModels:
    """Models of one reference and their kinds, with a name for them; `chosen`: the user named the only model."""

    name: str
    models: tuple[Model, ...]
    kinds: tuple[kinds.Kind, ...] = ()
    chosen: bool = False


def _to_models(reference: str | Path | Source | Model, options: SourceOptions, cache: ResourceCache) -> _NamedModels:
    if isinstance(reference, (str, Path)):
        return _resolve(str(reference), options, cache)
    return _NamedModels(reference.name, (reference if isinstance(reference, Model) else Model(reference),))


def _resolve(text: str, options: SourceOptions, cache: ResourceCache) -> _NamedModels:
    """Return the models of a reference, under the name that it gives."""
    reference = parse(text, kinds.known_kinds(cache))
    if is_bucket_url(reference.place):
        reference = replace(reference, place=str(local_path(reference.place, "models")))
    part = _find_part(reference, options, cache)
    if not reference.name:
        return part
    prompted = {model.name.partition("/")[0] for model in part.models}
    if len(part.models) > 1 and len(prompted) == 1 and all("/" in model.name for model in part.models):
        renamed = [model.called(f"{reference.name}/{model.name.partition('/')[2]}") for model in part.models]
        return _NamedModels(reference.name, tuple(renamed), part.kinds)
    if len(part.models) > 1:
        raise UsageError(
            f"`models`: {text}: a name is for one model (got {len(part.models)} in {reference.place})",
            option="models",
            value=text,
        )
    return _NamedModels(reference.name, (part.models[0].called(reference.name),), part.kinds, chosen=True)


def _find_part(reference: Reference, options: SourceOptions, cache: ResourceCache) -> _NamedModels:
    place, plain = reference.place, replace(reference, name="") == Reference(reference.place)
    path = Path(place)
    if plain and path.name == SUITE and os.path.isfile(path):  # unlike Path.is_file, it accepts names that are too long
        return _read_suite(path, options, cache)
    if plain and os.path.isfile(path / SUITE):
        return _read_suite(path / SUITE, options, cache)
    if plain and os.path.isdir(path) and (member := _member(path, options, cache)):
        return member
    suites = bundled_suites()
    if plain and place in suites and not os.path.isdir(path):
        return _read_suite(suites[place] / SUITE, options, cache)
    if plain and not os.path.exists(path):
        check_installed(place)
    kind = kinds.kind_of(reference, options, cache, list(suites))
    sources = kind.sources(reference, options, cache)
    name = sources[0].name if len(sources) == 1 else reference.part or path.resolve().name
    return _NamedModels(name, tuple(map(Model, sources)), (kind,))


def _member(path: Path, options: SourceOptions, cache: ResourceCache) -> _NamedModels | None:
    """Return the model at a directory as its suite, in the folder around it, describes it; None if no suite does."""
    place = os.path.abspath(path)  # unresolved: a link in the folder is a member, too
    file = Path(place).parent / SUITE
    content = read_json(file, "a suite", options.limits) if os.path.isfile(file) else None
    if not (isinstance(content, dict) and "schema_version" in content):  # other programs use this file name, too
        return None
    suite = _read_suite(file, options, cache)
    listed = zip([entry["path"] for entry in content["models"]], suite.models, suite.kinds, strict=True)
    members = ((model, kind) for within, model, kind in listed if os.path.abspath(file.parent / within) == place)
    return next((_NamedModels(path.name, (model,), (kind,)) for model, kind in members), None)


def _check_name(noun: str, name: str) -> None:
    if not name.isprintable():
        raise UsageError(
            f"the name of a {noun} must be one line of characters that can be shown (got {name!r})", value=name
        )


@dataclass(frozen=True)
class _File:
    """Fields of a suite.json."""

    schema_version: int
    name: str
    models: tuple[Any, ...]


@dataclass(frozen=True)
class _Entry:
    """Fields of each of its models, beside accuracies on OOD sets."""

    name: str
    path: str
    kind: str = "hf"
    family: str = ""
    label_map: Mapping[str, str] | None = None
    in_domain_accuracy: float | None = None
    role: Role = "ranked"


@dataclass(frozen=True)
class _KnownAccuracy:
    """Fields of each accuracy of a model."""

    accuracy: float
    fingerprint: str


def _read_suite(file: Path, options: SourceOptions, cache: ResourceCache) -> _NamedModels:
    """Read a suite.json; model paths in it are relative to its folder, and do not lead out of it."""
    content = read_json(file, "a suite", options.limits)
    try:
        version = table(content, "suite").get("schema_version")
        if version != SCHEMA_VERSION:
            raise UsageError.at(
                file,
                f"this version reads suites of schema {SCHEMA_VERSION} (got {version!r})",
                value=version,
                allowed=[SCHEMA_VERSION],
            )
        suite = fields_of(_File, content, "suite")
        members = list(_members(suite.models, file.parent, options, cache))
        return _NamedModels(suite.name, tuple(model for model, _ in members), tuple(kind for _, kind in members))
    except (ValueError, UnknownName) as error:
        raise UsageError.of(file, f"is no suite: {error}") from error


def _members(
    entries: Sequence[Any], folder: Path, options: SourceOptions, cache: ResourceCache
) -> Iterator[tuple[Model, kinds.Kind]]:
    for content in (table(entry, "models") for entry in entries):
        entry = fields_of(_Entry, content, "models")
        _check_path(folder, entry.path)
        inside = folder / entry.path
        listed = table(content.get("ood_accuracy", {}), "ood_accuracy").values()
        accuracies = [fields_of(_KnownAccuracy, accuracy, "ood_accuracy") for accuracy in listed]
        place = str(inside) if os.path.exists(inside) or not is_hub_id(entry.path) else entry.path
        reference = Reference(place, kind=entry.kind)
        kind = kinds.kind_of(reference, options, cache)
        sources = kind.sources(reference, options, cache)
        if len(sources) != 1:
            raise ValueError(f"the path of {entry.name} must name one model (got {len(sources)} in {place})")
        if entry.label_map and not hasattr(sources[0], "label_map"):
            raise ValueError(f"{entry.name} is of the kind {entry.kind!r}, which has no `label_map`")
        label_map = {"label_map": entry.label_map} if entry.label_map else {}
        source: Source = replace(sources[0], name=entry.name, family=entry.family, **label_map)  # type: ignore[type-var]  # sources are records
        by_fingerprint = {record.fingerprint: record.accuracy for record in accuracies}
        yield Model(source, entry.in_domain_accuracy, by_fingerprint, entry.role), kind


def _check_path(folder: Path, path: str) -> None:
    """Refuse relative paths out of a suite's folder, which may come from a stranger; absolute paths hide nothing."""
    if not os.path.isabs(path) and Path(os.path.normpath(path)).parts[:1] == (os.pardir,):
        raise UsageError.at(
            folder / SUITE, f"the path {path!r} leads out of the suite's folder; write an absolute one", value=path
        )
