"""What a backend needs of a model: whether a model can be asked that, and else what it can be asked instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import get_args, get_type_hints

from ranker.attribution.settings import Settings
from ranker.errors import ModelError
from ranker.sources.base import E, Perturbed, is_embedded


def check(model: Perturbed[E], settings: Settings, kinds: Iterable[type[Settings]]) -> None:
    """Refuse a backend that a model lacks something for.

    Args:
        model: is asked.
        settings: of the backend.
        kinds: the settings of all backends, which are offered instead.

    Raises:
        ModelError: the model does not answer to points between embeddings, or cannot hide words in that way; the
            message names settings that this very model can be run with.
    """
    if can(model, settings):
        return
    wanted = getattr(settings, settings.hides)
    same = next(ways(model, type(settings)), None)
    others = [line for kind in kinds if kind is not type(settings) for line in list(ways(model, kind))[:1]]
    offered = [f"`{line}`" for line in ([same] if same else others or ["none"])]
    if settings.embedded and not is_embedded(model):
        lacks = f"does not answer to points between word embeddings, which `{settings.name}` needs"
    elif wanted == "remove":
        lacks = "cannot leave words out"
    else:
        lacks = f"has no {wanted} token to hide words behind"
    instead = " or ".join(part for part in (", ".join(offered[:-1]), offered[-1]) if part)
    raise ModelError(f"{model.name} {lacks}; set `attribution` to {instead}")


def can(model: Perturbed[E], settings: Settings) -> bool:
    """Whether a model has all that a backend asks of it."""
    if settings.embedded and not is_embedded(model):
        return False
    return not settings.hides or getattr(settings, settings.hides) in (*model.hides, "zero")


def ways(model: Perturbed[E], kind: type[Settings]) -> Iterator[str]:
    """The ways of a backend to hide words that a model can be run with, as `settings_of` reads them."""
    for way in get_args(get_type_hints(kind)[kind.hides]) if kind.hides else ():
        if can(model, kind(**{kind.hides: way})):
            yield f"{kind.name}:{kind.hides}={way}"
