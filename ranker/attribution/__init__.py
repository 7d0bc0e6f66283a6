"""Attribution backends: one file with one function each; this is their table. Each is imported when it is called.

Backends and models (`ranker.sources.base`) know each other only by protocols.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib import import_module, metadata
from typing import get_args, get_type_hints

from factors.types import Attributions, Example
from ranker.attribution.settings import (
    Attributing,
    IGSettings,
    LIMESettings,
    OcclusionSettings,
    PhraseSettings,
    Settings,
    SHAPSettings,
)
from ranker.errors import ModelError, UsageError, look_up
from ranker.progress import Advance
from ranker.records import record
from ranker.sources.base import E, Perturbed, is_embedded

SETTINGS: dict[str, type[Settings]] = {
    kind.name: kind for kind in (Settings, IGSettings, SHAPSettings, LIMESettings, OcclusionSettings, PhraseSettings)
}
"""Settings classes of the built-in backends, by name; they name the function that does the work."""

GROUP = "rank_models.attributions"
"""Entry point group of packages with backends; each names the class of its settings."""


def backends() -> dict[str, type[Settings]]:
    """Return the settings classes of all backends, those of installed packages too, by name.

    Raises:
        UsageError: a package brings something else, or claims a name that is taken.

    Example:
        >>> [*backends()][:4]
        ['none', 'ig', 'shap', 'lime']
    """
    by_name = dict(SETTINGS)
    for point in metadata.entry_points(group=GROUP):
        kind, name = point.load(), point.name
        if not (isinstance(kind, type) and issubclass(kind, Attributing) and kind.name == name and kind.function):
            text = f"it must be a class of settings, an `Attributing` whose `name` is {name!r}, with a `function`"
            raise UsageError.at(point.value, text, value=point.value)
        if name in by_name:
            raise UsageError.at(point.value, f"another attribution backend is named {name}", value=name)
        by_name[name] = kind
    return by_name


def _kind_of(name: str) -> type[Settings]:
    """Return the settings class of a backend; packages are loaded only for other names than built-in ones."""
    return SETTINGS.get(name) or look_up("attribution backend", name, backends())


def settings_of(attribution: str | Settings) -> Settings:
    """Return the settings of a backend, from a line or from settings; every value is checked.

    Args:
        attribution: a backend's name, with the settings that differ from its defaults ("ig:steps=50,baseline=pad"), or
            its settings.

    Raises:
        UsageError: a value is invalid.

    Example:
        >>> settings_of("shap:max_evaluations=200").max_evaluations
        200
    """
    if isinstance(attribution, str):
        name, _, values = attribution.partition(":")
        kind = _kind_of(name.strip().casefold())
        pairs = [part.partition("=") for part in values.split(",") if part]
        values_by_name, line = {key.strip(): _value(value.strip()) for key, _, value in pairs}, attribution
    elif isinstance(attribution, Settings):
        kind, values_by_name, line = type(attribution), asdict(attribution), attribution.name
    else:
        text = f"an attribution must be a backend's name, or its settings (got {attribution!r})"
        raise UsageError(text, option="attribution", value=attribution)
    try:
        return record(kind, values_by_name, label=f"`{kind.name}`")
    except ValueError as error:
        raise UsageError(f"`attribution {line}`: {error}", option="attribution", value=line) from error


NEXT = re.compile(r",(?=[^,=]*(?:[,:]|$))")
"""Comma before a backend, and not before one more setting of the last."""


def backends_of(attribution: str | Settings | Sequence[str | Settings]) -> tuple[Settings, ...]:
    """Return the settings of one or more backends, each as `settings_of` takes it; a line may hold several.

    Raises:
        UnknownName, UsageError: as in `settings_of`; or a backend is named twice, or beside "none".

    Example:
        >>> [backend.name for backend in backends_of("shap,lime:hide=mask,samples=200,ig")]
        ['shap', 'lime', 'ig']
    """
    several = NEXT.split(attribution) if isinstance(attribution, str) else attribution
    backends = tuple(map(settings_of, several if isinstance(several, (list, tuple)) else [several]))
    names = [backend.name for backend in backends]
    for name in names:
        if len(names) > 1 and (name == Settings.name or names.count(name) > 1):
            reason = "stands alone" if name == Settings.name else "is named twice"
            raise UsageError(f"`attribution`: {name} {reason}", option="attribution", value=name)
    return backends


def settings_line(method: str, settings: Mapping[str, object]) -> str:
    """Return a backend with its settings that are not defaults, in a line for `settings_of`.

    Example:
        >>> settings_line("lime", asdict(LIMESettings(hide="mask", samples=100)))
        'lime:hide=mask,samples=100'
    """
    defaults = asdict(_kind_of(method)())
    changed = [f"{name}={value}" for name, value in settings.items() if value not in (None, defaults.get(name))]
    return f"{method}:{','.join(changed)}" if changed else method


def _value(text: str) -> str | int | float:
    """Return a number or a truth value where the text is one, else the text."""
    if text.casefold() in ("true", "false"):
        return text.casefold() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def attribute(
    model: Perturbed[E],
    examples: Sequence[Example],
    attribution: str | Settings,
    advance: Advance = lambda done: None,
) -> Iterator[Attributions]:
    """Attribute a model's output to the tokens of examples.

    Args:
        model: one that answers with tokens hidden; for integrated gradients also at points between embeddings.
        examples: any number of them.
        attribution: a backend that gives scores, with or without settings: "shap", "ig:steps=50".
        advance: called with the number of further examples done.

    Yields:
        One row for each example, in order.

    Raises:
        UnknownName: there is no such backend.
        UsageError: an invalid setting, a target that is none of the model's classes, or "none".
        ModelError: the model lacks an ability that the backend needs, or cannot be run.

    Example:
        >>> from factors import Example
        >>> from ranker import ClassificationTask, TextSource, attribute
        >>> class Polite(TextSource):
        ...     def labels(self):
        ...         return ("rude", "kind")
        ...
        ...     def content(self):
        ...         return "says please, version 1"
        ...
        ...     def probabilities(self, texts):
        ...         return [[0.1, 0.9] if "please" in text else [0.8, 0.2] for (text,) in texts]
        >>> model = Polite("polite").open(ClassificationTask("tone", ("rude", "kind")))
        >>> (row,) = attribute(model, [Example("1", ("Come, please.",), 1)], "occlusion:hide=remove")
        >>> max(zip(row.scores, row.tokens))[1]
        'please'
    """
    settings = settings_of(attribution).settled([str(label) for label in range(model.classes)])
    if not settings.function:
        text = f"`{settings.name}` attributes nothing; a model's answers are asked of the model itself"
        raise UsageError(text, option="attribution", value=settings.name)
    check(model, settings)
    module, _, function = settings.function.partition(":")
    rows: Iterator[Attributions] = getattr(import_module(module), function)(model, examples, settings, advance)
    return rows


def check(model: Perturbed[E], settings: Settings) -> None:
    """Refuse with a ModelError a backend that needs an ability that a model lacks.

    The message names settings that this model can run.
    """
    if can_run(model, settings):
        return
    wanted = getattr(settings, settings.hides)
    same = next(hiding_lines(model, type(settings)), None)
    alternatives = [
        line for kind in SETTINGS.values() if kind is not type(settings) for line in list(hiding_lines(model, kind))[:1]
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
