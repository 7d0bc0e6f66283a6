"""Models of a run, and what each says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ranker.errors import UsageError
from ranker.sources.base import ModelInfo, ResourceCache, Source, SourceOptions
from ranker.sources.suites import Model, Suite, name_models


@dataclass(frozen=True)
class InspectedModels:
    """Models, and what each says of itself, which is read on first use, since a hub may be far away.

    Attributes:
        unpinned: the models as they were named.
        name: name of the suite.
        shelf: cache of what was opened; precomputed answers are read from it.
    """

    unpinned: tuple[Model, ...]
    name: str = "models"
    shelf: ResourceCache = field(default_factory=ResourceCache, repr=False)

    @cached_property
    def infos(self) -> tuple[ModelInfo, ...]:
        """(M,) What each model says of itself."""
        return tuple(model.source.inspect(self.shelf) for model in self.unpinned)

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """(M,) The models with their sources pinned."""
        return tuple(replace(model, source=info.source) for model, info in zip(self.unpinned, self.infos, strict=True))

    @property
    def parts(self) -> Mapping[str, Mapping[str, str]]:
        """Model -> what it is made of, of those that say so."""
        return {info.source.name: info.parts for info in self.infos if info.parts}

    @property
    def precomputed(self) -> bool:
        """True if the answers of all models lie in files."""
        return all(info.source.precomputed for info in self.infos)

    @property
    def suite(self) -> Suite:
        """The models as a suite; a UsageError if there are fewer than two."""
        return Suite(self.name, self.models)


Models = InspectedModels | Suite | str | Path | Sequence[str | Path | Source | Model]
"""Models as a user names them: references, sources, a suite, or models that are inspected already."""


def inspect_models(models: Models, label_map: Mapping[str, str] | None = None) -> InspectedModels:
    """Prepare models for inspection, each once.

    Args:
        models: the models.
        label_map: meaning of the outputs of models that are named by references.

    Raises:
        UsageError: as `inspect_references`, or a label map for models that were loaded already.
    """
    if label_map and isinstance(models, (InspectedModels, Suite)):
        predicate = "is for references; load the suite with it: `load_suite(references, SourceOptions(label_map=...))`"
        raise UsageError.about("label_map", predicate)
    if isinstance(models, InspectedModels):
        return models
    if isinstance(models, Suite):
        return InspectedModels(models.models, models.name, models.shelf)
    references = [models] if isinstance(models, (str, Path)) else models
    return inspect_references(references, SourceOptions(label_map=label_map))


def inspect_references(
    references: Sequence[str | Path | Source | Model], options: SourceOptions = SourceOptions()
) -> InspectedModels:
    """Prepare models for inspection from references, with options for all: see `ranker.sources.suites.name_models`."""
    shelf = ResourceCache()
    name, models = name_models(references, options, shelf)
    return InspectedModels(models, name, shelf)


def unread_options(infos: Sequence[ModelInfo]) -> frozenset[str]:
    """Return the options that no model reads, such as a label map with misspelt labels.

    A model that cannot be read may read any of them.
    """
    return frozenset.intersection(*(info.unused for info in infos)) if infos else frozenset()
