"""Models of a run, and what each says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ranker.errors import ModelError, UsageError
from ranker.sources.base import ModelInfo, ResourceCache, Source, SourceOptions, is_connected
from ranker.sources.faults import model_errors
from ranker.sources.suites import Model, Suite, name_models, with_roles


@dataclass(frozen=True)
class InspectedModels:
    """Models, and what each says of itself, which is read on first use, since a hub may be far away.

    Attributes:
        unpinned: the models as they were named, those that are ranked first.
        cache: of what was opened; precomputed answers are read from it.
    """

    unpinned: tuple[Model, ...]
    name: str = "models"
    cache: ResourceCache = field(default_factory=ResourceCache, repr=False)

    @cached_property
    def infos(self) -> tuple[ModelInfo, ...]:
        """(M,) What each model says of itself."""
        return tuple(inspect_source(model.source, self.cache) for model in self.unpinned)

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """(M,) The models with their sources pinned."""
        return tuple(replace(model, source=info.source) for model, info in zip(self.unpinned, self.infos, strict=True))

    @property
    def ranked(self) -> tuple[Model, ...]:
        """(M,) The models that are ranked."""
        return tuple(model for model in self.models if not model.votes_only)

    @property
    def parts(self) -> Mapping[str, Mapping[str, str]]:
        """Model -> what it is made of, of those that say so."""
        return {info.source.name: info.parts for info in self.infos if info.parts}

    @property
    def precomputed(self) -> bool:
        """True if the answers of all models lie in files."""
        return all(info.source.precomputed for info in self.infos)


def inspect_source(source: Source, cache: ResourceCache) -> ModelInfo:
    """Return what a source says of itself; whatever it raises is its trouble."""
    try:
        with model_errors():
            return source.inspect(cache)
    except ModelError as error:
        return ModelInfo(source, trouble=str(error))


Models = InspectedModels | Suite | str | Path | Sequence[str | Path | Source | Model]
"""Models as a user names them: references, sources, a suite, or models that are inspected already."""


def inspect_models(
    models: Models,
    label_map: Mapping[str, str] | None = None,
    voters: Models = (),
) -> InspectedModels:
    """Prepare models for inspection, each once; a label map is for models that are named by references.

    Raises:
        UsageError: as `inspect_references`, or a label map for models that were loaded already.
    """
    if label_map and isinstance(models, (InspectedModels, Suite)):
        predicate = "is for references; load the suite with it: `load_suite(references, SourceOptions(label_map=...))`"
        raise UsageError.about("label_map", predicate)
    options = SourceOptions(label_map=label_map)
    if isinstance(models, InspectedModels):
        inspected = models
    elif isinstance(models, Suite):
        inspected = InspectedModels(with_roles(models.models, ()), models.name, models.cache)
    else:
        inspected = inspect_references([models] if isinstance(models, (str, Path)) else models, options)
    voting = inspect_models(voters, label_map).unpinned if voters else ()
    models_by_role = with_roles(inspected.unpinned, voting)
    return inspected if models_by_role == inspected.unpinned else replace(inspected, unpinned=models_by_role)


def inspect_references(
    references: Sequence[str | Path | Source | Model],
    options: SourceOptions = SourceOptions(),
    cache: ResourceCache | None = None,
) -> InspectedModels:
    """Prepare models for inspection from references, with options for all: see `ranker.sources.suites.name_models`."""
    cache = ResourceCache() if cache is None else cache
    name, models = name_models(references, options, cache)
    return InspectedModels(models, name, cache)


def check_connected(models: Sequence[Model], cache: ResourceCache) -> None:
    """Ask the servers of models for what they can do; those that cannot be asked are left out later.

    Raises:
        UsageError: no model can be asked; the reason is that of the first.
    """
    errors = []
    for model in models:
        if is_connected(model.source):
            try:
                with model_errors():
                    pinned = model.source.inspect(cache).source
                    if is_connected(pinned):
                        pinned.connect(cache)
            except ModelError as error:
                errors.append(error)
    if errors and len(errors) == len(models):
        raise UsageError.like(errors[0]) from errors[0]


def unread_options(infos: Sequence[ModelInfo]) -> frozenset[str]:
    """Return the options that no model reads, such as a label map with misspelt labels.

    A model that cannot be read may read any of them.
    """
    return frozenset.intersection(*(info.unused for info in infos)) if infos else frozenset()
