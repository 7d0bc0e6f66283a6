"""`rank-models ls`: list what is available, as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click

from ranker.commands.program import say
from ranker.errors import look_up


def ood_sets() -> Iterator[str]:
    """Yield the OOD sets: name, task, and what makes them hard."""
    import tomllib

    from ranker.datasets.embedded import cards

    for name, path in cards().items():
        card = tomllib.loads(path.read_text(encoding="utf-8"))
        yield f"{name:<12}  {card['task']['name']:<10}  {card['description']}"


def embedded_suites() -> Iterator[str]:
    """Yield the embedded suites: name, number of models, their OOD accuracies."""
    import json

    from ranker.datasets.embedded import folder

    for path in sorted(folder().glob("suites/*/suite.json")):
        models = json.loads(path.read_text(encoding="utf-8"))["models"]
        sets = {ood: [model["ood_accuracy"][ood]["accuracy"] for model in models] for ood in models[0]["ood_accuracy"]}
        spans = ", ".join(f"{ood} {min(values):.1%} to {max(values):.1%}" for ood, values in sets.items())
        yield f"{path.parent.name:<18}  {len(models)} models  {spans}"


def factors() -> Iterator[str]:
    """Yield the ranking methods: name, kind, direction, the label they are about, and what they measure."""
    from ranker.commands import custom

    for factor in custom.available_factors().values():
        better = "higher" if factor.higher_is_better else "lower"
        first = (factor.score.__doc__ or "").strip().partition("\n")[0]
        yield f"{factor.name:<13}  {factor.kind:<8}  {better:<6}  {factor.explains:<9}  {first}"


def methods() -> Iterator[str]:
    """Yield the methods that see rows without labels: name, kind, whether shown by default, and when they fail."""
    from ranker.commands import custom

    for method in custom.available_methods().values():
        by_default = "default" if method.default else ""
        yield f"{method.name:<17}  {method.kind:<10}  {by_default:<7}  {method.warning}".rstrip()


def backends() -> Iterator[str]:
    """Yield the attribution backends: name, description, and settings with their defaults."""
    from dataclasses import fields

    from ranker.attribution import SETTINGS

    for name, settings in SETTINGS.items():
        yield f"{name:<9}  {(settings.__doc__ or '').strip().partition(chr(10))[0]}"
        defaults = ",".join(f"{field.name}={field.default}" for field in fields(settings))
        if defaults:
            yield f"           {name}:{defaults}"


def prompts() -> Iterator[str]:
    """Yield the built-in prompts: their name, and the text of a row."""
    from ranker.sources.lm.prompts import builtin, read

    for name, file in builtin().items():
        prompt = read(file)
        yield f"{name:<24}  {'chat  ' if prompt.chat else '      '}{prompt.template!r}"


def formats() -> Iterator[str]:
    """Yield the report formats."""
    from ranker import report

    yield from report.FORMATS


LISTS: dict[str, Callable[[], Iterator[str]]] = {
    "ood": ood_sets,
    "suites": embedded_suites,
    "factors": factors,
    "methods": methods,
    "backends": backends,
    "prompts": prompts,
    "formats": formats,
}
"""Argument of `ls` -> its lines."""


@click.command()
@click.argument("what", metavar="[ood|suites|factors|methods|backends|prompts|formats]", default="ood")
def ls(what: str) -> None:
    """List OOD sets, embedded suites, factors, methods, attribution backends, built-in prompts, or report formats."""
    for line in look_up("list", what, LISTS)():
        say(line)
