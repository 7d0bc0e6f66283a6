"""A checkpoint's own labels, put in the order of the task's: reconciled by name, never assumed by position."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from ranker.errors import LabelError

_UNNAMED = re.compile(r"(label)?\d+")


class Labels(Protocol):
    """What a task must know: `ranker.ood.Task` does."""

    @property
    def labels(self) -> tuple[str, ...]:
        """(C,) the classes, in the order of probabilities."""

    @property
    def aliases(self) -> Mapping[str, tuple[str, ...]]:
        """A class -> other names of it; several of one checkpoint's labels may be names of one class."""


def reconcile(
    names: Mapping[int, str], task: Labels, label_map: Mapping[str, str] | None = None, *, model: str = "the model"
) -> tuple[tuple[int, ...], ...]:
    """The model outputs that make up each class of the task.

    Case, spaces, hyphens and underscores do not matter in a name. A three-way NLI model, in whatever order, becomes
    a binary one: neutral and contradiction are both "non-entailment".

    Args:
        names: output index -> label, as the checkpoint's configuration has them.
        task: the classes and their aliases.
        label_map: output index or label of the checkpoint -> label of the task; it goes before the configuration.
        model: what messages call it.

    Returns:
        (C,) for each class, the indices of its outputs.

    Raises:
        LabelError: labels without names and without a map; a name that is no class's; a class without an output.

    Example:
        >>> from types import SimpleNamespace
        >>> nli = SimpleNamespace(labels=("non-entailment", "entailment"),
        ...                       aliases={"non-entailment": ("neutral", "contradiction")})
        >>> reconcile({0: "ENTAILMENT", 1: "NEUTRAL", 2: "CONTRADICTION"}, nli)
        ((1, 2), (0,))
    """
    classes = {
        plain(name): index
        for index, label in enumerate(task.labels)
        for name in (label, *task.aliases.get(label, ()))
    }  # fmt: skip
    by_name = {plain(name): output for output, name in names.items()}
    by_index = {str(output): output for output in names}
    meant = dict(names)
    for key, value in (label_map or {}).items():
        output = by_index.get(str(key).strip(), by_name.get(plain(str(key))))
        if output is None:
            raise LabelError(f"`--label-map`: {model} has no label {key!r}; its labels are {_list(names)}")
        if plain(str(value)) not in classes:
            raise LabelError(f"`--label-map`: {value!r} is no label of the task ({', '.join(task.labels)})")
        meant[output] = str(value)
    groups: list[list[int]] = [[] for _ in task.labels]
    for output, name in sorted(meant.items()):
        if plain(name) in classes:
            groups[classes[plain(name)]].append(output)
            continue
        what = "labels without names" if _UNNAMED.fullmatch(plain(name)) else f"the label {name!r}"
        raise LabelError(f"{model} has {what} ({_list(names)}); say what they mean, {_example(names, task)}")
    for label, group in zip(task.labels, groups, strict=True):
        if not group:
            lacks = f"{model} has no label that means {label!r} (it has {_list(names)})"
            raise LabelError(f"{lacks}; say what they mean, {_example(names, task)}")
    return tuple(tuple(group) for group in groups)


def plain(name: str) -> str:
    """A label's name without case, spaces and punctuation.

    Example:
        >>> plain("Not_Entailment") == plain("not-entailment ")
        True
    """
    return re.sub(r"[\W_]+", "", name.casefold())


def _list(names: Mapping[int, str]) -> str:
    return ", ".join(names[output] for output in sorted(names))


def _example(names: Mapping[int, str], task: Labels) -> str:
    """A map to copy: right in form, and to be checked in content."""
    last = len(task.labels) - 1
    pairs = ", ".join(f'"{output}": "{task.labels[min(i, last)]}"' for i, output in enumerate(sorted(names)))
    return f"for example `--label-map '{{{pairs}}}'`"
