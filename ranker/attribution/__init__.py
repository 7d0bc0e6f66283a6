"""Attribution backends: one file, one function each; this is their table. Each is imported when it is called.

Backends ask, and models answer (`ranker.sources.base`): a backend knows no kind of model, and a model no backend.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING

from factors.types import Attributions, Example
from ranker.attribution.abilities import check
from ranker.attribution.settings import IGSettings, LIMESettings, OcclusionSettings, Settings, SHAPSettings
from ranker.errors import UsageError, look_up
from ranker.records import record

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.sources.base import E, Perturbed

SETTINGS: dict[str, type[Settings]] = {
    kind.name: kind for kind in (Settings, IGSettings, SHAPSettings, LIMESettings, OcclusionSettings)
}
"""Every backend's settings, by its name; they name the function that does the work."""


def settings_of(attribution: str | Settings) -> Settings:
    """The settings of a backend, as one writes them in a line, or as they are; every value of theirs is looked at.

    Args:
        attribution: a backend's name, with those of its settings that are to differ ("ig:steps=50,baseline=pad"), or
            its settings.

    Raises:
        UnknownName: there is no such backend, or setting.
        UsageError: a value cannot be.

    Example:
        >>> settings_of("shap:max_evaluations=200").max_evaluations
        200
    """
    if isinstance(attribution, str):
        name, _, values = attribution.partition(":")
        kind = look_up("attribution backend", name.strip().casefold(), SETTINGS)
        pairs = [part.partition("=") for part in values.split(",") if part]
        given, line = {key.strip(): _value(value.strip()) for key, _, value in pairs}, attribution
    elif isinstance(attribution, Settings):
        kind, given, line = type(attribution), asdict(attribution), attribution.name
    else:
        raise UsageError(f"an attribution must be a backend's name, or its settings (got {attribution!r})")
    try:
        return record(kind, given, whole=f"`{kind.name}`")
    except ValueError as error:
        raise UsageError(f"`attribution {line}`: {error}") from error


def spelled(method: str, settings: Mapping[str, object]) -> str:
    """A backend with those of its settings that are not its defaults, as `settings_of` reads it.

    Args:
        method: a backend's name.
        settings: the values of its fields.

    Example:
        >>> spelled("lime", asdict(LIMESettings(hide="mask", samples=100))), spelled("shap", asdict(SHAPSettings()))
        ('lime:hide=mask,samples=100', 'shap')
    """
    defaults = asdict(SETTINGS.get(method, Settings)())
    given = [f"{name}={value}" for name, value in settings.items() if value not in (None, defaults.get(name))]
    return f"{method}:{','.join(given)}" if given else method


def _value(text: str) -> str | int | float:
    """A number where the text is one."""
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
        model: one that answers with tokens hidden; integrated gradients want one that answers to points between
            embeddings, too.
        examples: any number of them.
        attribution: a backend that gives scores, with its settings or as it comes: "shap", "ig:steps=50".
        advance: told how many more examples are done.

    Yields:
        One row for each example, in order.

    Raises:
        UnknownName: there is no such backend.
        UsageError: a setting that cannot be, a target that is none of the model's classes, or "none".
        ModelError: the model lacks what the backend asks of it, or cannot be run.

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
        raise UsageError(f"`{settings.name}` attributes nothing; a model's answers are asked of the model itself")
    check(model, settings, SETTINGS.values())
    module, _, function = settings.function.partition(":")
    rows: Iterator[Attributions] = getattr(import_module(module), function)(model, examples, settings, advance)
    return rows
