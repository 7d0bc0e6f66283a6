"""`rank-models ls`: list what is available, as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from ranker.commands.program import say
from ranker.errors import UsageError, look_up


def ood_sets() -> Iterator[str]:
    """Yield the OOD sets with rows: name, task, and what makes them hard; then the catalogues."""
    from ranker.datasets.embedded import CATALOGUES, cards, catalogue_cards

    for name, path in cards().items():
        card = _read(path)
        yield f"{name:<12}  {card['task']['name']:<10}  {card['description']} {_tested(card)}."
    for catalogue in CATALOGUES:
        count = len(catalogue_cards(catalogue))
        yield f"{catalogue:<12}  catalogue   {count} sets: `rank-models ls ood --catalogue {catalogue}`"


def catalogue_sets(catalogue: str) -> Iterator[str]:
    """Yield the sets of a catalogue: name, task, role, rows, what the layouts were tested on, how to get it, words."""
    from ranker.datasets.embedded import CATALOGUES, catalogue_cards

    folder = look_up("catalogue", catalogue, {name: name for name in CATALOGUES})
    for name, path in catalogue_cards(folder).items():
        card = _read(path)
        rows = f"{card['size']:,} rows" if "size" in card else "rows unknown"
        get = "fetch" if "url" in card else "by hand"
        yield (
            f"{name:<27}  {card['task']['name']:<18}  {card['role']:<9}  {rows:>14}  {_tested(card):<31}  {get:<7}  "
            f"{card['description']}"
        )


def _tested(card: Mapping[str, Any]) -> str:
    """Return words for what the layouts of a card were tested on."""
    return f"layout tested on: {card.get('tested', 'made file')}"


def _read(path: Path) -> dict[str, Any]:
    """Read a card as it is written, without the libraries that its record needs."""
    import tomllib

    return tomllib.loads(path.read_text(encoding="utf-8"))


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

    from ranker.attribution import backends as all_backends

    for name, settings in all_backends().items():
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


def tasks() -> Iterator[str]:
    """Yield the tasks: name, and its labels, or what an answer is and the names of its metrics."""
    from ranker.datasets.sets import tasks as tasks_of_labels
    from ranker.runs.task import kinds_of_values

    for name, task in tasks_of_labels(()).items():
        yield f"{name:<13}  labels: {', '.join(task.labels)}"
    for name, kind in kinds_of_values().items():
        about = (kind.__doc__ or "").strip().partition(".")[0].partition(";")[0]
        yield f"{name:<13}  {about}. Metrics: {', '.join(kind.metrics)}"


def logs() -> Iterator[str]:
    """Yield the formats of logs: the program, and what its files are."""
    from ranker.sources.logs.formats import formats as log_formats

    for form in log_formats().values():
        yield f"{form.name:<13}  {form.about}"


def metrics() -> Iterator[str]:
    """Yield the metrics: name, and the task whose answers it judges; then those of packages."""
    from ranker.runs.task import kinds_of_values
    from ranker.sources.metrics import OF_LABELS, answers_of, installed_metrics, metrics_of_labels

    for name in metrics_of_labels():
        yield f"{name:<19}  {OF_LABELS}"
    for task, kind in kinds_of_values().items():
        yield from (f"{name:<19}  {task}" for name in kind.metrics)
    for metric in installed_metrics().values():
        yield f"{metric.entry_point:<19}  {answers_of(metric)}, by a package"


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
    "tasks": tasks,
    "metrics": metrics,
    "logs": logs,
}
"""Argument of `ls` -> its lines."""


@click.command()
@click.argument("what", metavar=f"[{'|'.join(LISTS)}]", default="ood")
@click.option(
    "--catalogue", metavar="NAME", help="Catalogue whose sets are listed: boss, domainsum, glue-x, squadshifts."
)
def ls(what: str, catalogue: str | None) -> None:
    """List OOD sets, embedded suites, factors, methods, attribution backends, built-in prompts, report formats, tasks,
    metrics, or formats of logs; installed packages may add to them.
    """
    list_of = look_up("list", what, LISTS)
    if catalogue is not None and list_of is not ood_sets:
        raise UsageError.about("catalogue", "is for `ls ood`", catalogue)
    for line in list_of() if catalogue is None else catalogue_sets(catalogue):
        say(line)
