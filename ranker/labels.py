"""A checkpoint's own labels, put in the order of the task's: reconciled by name, never assumed by position."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ranker.errors import LabelError

if TYPE_CHECKING:
    from ranker.cards import Task

_UNNAMED = re.compile(r"(label[ _-]?)?\d+", re.IGNORECASE)


def reconcile(
    names: Mapping[int, str], task: Task, label_map: Mapping[str, str] | None = None, *, model: str = "the model"
) -> tuple[tuple[int, ...], ...]:
    """The model outputs that make up each class of the task.

    A three-way NLI model, in whatever order, becomes a binary one: neutral and contradiction are both
    "non-entailment".

    Args:
        names: output index -> label, as the checkpoint's configuration has them.
        task: the classes and their aliases.
        label_map: output index or label of the checkpoint -> label of the task. One map serves several models, so an
            index is for labels without a meaning, a label overrules the configuration, and LABEL_0 says nothing of a
            checkpoint whose labels have names.
        model: what messages call it.

    Returns:
        (C,) for each class, the indices of its outputs.

    Raises:
        LabelError: labels without names and without a map; a name that is no class's; a class without an output; a map
            that contradicts the names.

    Example:
        >>> from ranker.cards import Task
        >>> nli = Task("nli", ("non-entailment", "entailment"), {"non-entailment": ("neutral", "contradiction")})
        >>> reconcile({0: "ENTAILMENT", 1: "NEUTRAL", 2: "CONTRADICTION"}, nli)
        ((1, 2), (0,))
    """
    meant, unnamed = dict(names), any(map(_unnamed, names.values()))
    for key, value in (label_map or {}).items():
        output = _output(str(key), names)
        if output is None and _unnamed(str(key)) and not unnamed:
            continue
        if output is None:
            raise LabelError(f"`--label-map`: {model} has no label {key!r}; its labels are {_list(names)}")
        if task.index(str(value)) is None:
            raise LabelError(f"`--label-map`: {value!r} is no label of the task ({', '.join(task.labels)})")
        if str(key).strip() == str(output) and task.index(names[output]) not in (None, task.index(str(value))):
            contrary = f"{model} calls its output {key} {names[output]!r}, not {value!r}"
            raise LabelError(f"`--label-map`: {contrary}; to overrule it, name the label instead of the index")
        meant[output] = str(value)
    groups: list[list[int]] = [[] for _ in task.labels]
    for output, name in sorted(meant.items()):
        index = task.index(name)
        if index is None:
            what = "labels without names" if _unnamed(name) else f"the label {name!r}"
            raise LabelError(f"{model} has {what} ({_list(names)}); say what they mean, {_example(names, task)}")
        groups[index].append(output)
    for label, group in zip(task.labels, groups, strict=True):
        if not group:
            lacks = f"{model} has no label that means {label!r} (it has {_list(names)})"
            raise LabelError(f"{lacks}; say what they mean, {_example(names, task)}")
    return tuple(tuple(group) for group in groups)


def _unnamed(name: str) -> bool:
    """A label without a meaning, as transformers calls outputs that nobody has named."""
    return _UNNAMED.fullmatch(name.strip()) is not None


def _output(key: str, names: Mapping[int, str]) -> int | None:
    """The output that a label map's key stands for: its index, or its label in any case."""
    by_key = {name.casefold(): output for output, name in names.items()} | {str(output): output for output in names}
    return by_key.get(key.strip().casefold())


def _list(names: Mapping[int, str]) -> str:
    return ", ".join(names[output] for output in sorted(names))


def _example(names: Mapping[int, str], task: Task) -> str:
    """A map to copy: right in form, and to be checked in content."""
    last = len(task.labels) - 1
    pairs = ", ".join(f'"{output}": "{task.labels[min(i, last)]}"' for i, output in enumerate(sorted(names)))
    return f"for example `--label-map '{{{pairs}}}'`"
