"""Abilities that backends need of a model, and alternatives where a model lacks them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import get_args, get_type_hints

from ranker.attribution.settings import Settings
from ranker.errors import ModelError
from ranker.sources.base import E, Perturbed, is_embedded


def check(model: Perturbed[E], settings: Settings, kinds: Iterable[type[Settings]]) -> None:
    """Refuse a backend that needs an ability that a model lacks.

    Args:
        model: to attribute.
        settings: of the backend.
        kinds: the settings of all backends, as alternatives.

    Raises:
        ModelError: the model does not answer to points between embeddings, or cannot hide words in that way; the
            message names settings that this model can run.
    """
    if can_run(model, settings):
        return
    wanted = getattr(settings, settings.hides)
    same = next(hiding_lines(model, type(settings)), None)
    alternatives = [
        line for kind in kinds if kind is not type(settings) for line in list(hiding_lines(model, kind))[:1]
    ]
    allowed = [same] if same else alternatives or ["none"]
    offered = [f"`{line}`" for line in allowed]
    if settings.embedded and not is_embedded(model):
        lacks = f"does not answer to points between word embeddings, which `{settings.name}` needs"
    elif wanted == "remove":
        lacks = "cannot leave words out"
    else:
        lacks = f"has no {wanted} token to hide words behind"
    instead = " or ".join(part for part in (", ".join(offered[:-1]), offered[-1]) if part)
    predicate = f"{lacks}; set `attribution` to {instead}"
    raise ModelError.of(model.name, predicate, option="attribution", value=settings.name, allowed=allowed)


def can_run(model: Perturbed[E], settings: Settings) -> bool:
    """Return whether a model has all abilities that a backend needs."""
    if settings.embedded and not is_embedded(model):
        return False
    return not settings.hides or getattr(settings, settings.hides) in (*model.hides, "zero")


def hiding_lines(model: Perturbed[E], kind: type[Settings]) -> Iterator[str]:
    """Yield lines for `settings_of` with each way of a backend to hide words that a model can run."""
    for way in get_args(get_type_hints(kind)[kind.hides]) if kind.hides else ():
        if can_run(model, kind(**{kind.hides: way})):
            yield f"{kind.name}:{kind.hides}={way}"
