"""Map a checkpoint's labels to the task's by name, never by position."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ranker.errors import LabelError, listed
from ranker.tasks.classes import ClassificationTask
from ranker.tasks.names import fold
from ranker.tasks.tags import is_tag

_UNNAMED = re.compile(r"(label[ _-]?)?\d+", re.IGNORECASE)


def reconcile(
    names: Mapping[int, str],
    task: ClassificationTask,
    label_map: Mapping[str, str] | None = None,
    *,
    model: str = "the model",
) -> tuple[tuple[int, ...], ...]:
    """Return (C,) the outputs of a model that make up each class of the task.

    A three-way NLI model, in whatever order, becomes a binary one: neutral and contradiction are both
    "non-entailment".

    Args:
        names: output index -> label in the checkpoint's configuration.
        label_map: output index or label of the checkpoint -> label of the task. One map serves several models: an index
            counts only for unnamed labels; a label overrules the configuration; labels that this checkpoint lacks are
            skipped, and so is LABEL_0 if its labels have names.

    Raises:
        LabelError: unnamed labels without a map; a name of no class; a class without an output; a map that contradicts
            the names.

    Example:
        >>> from ranker.tasks.classes import ClassificationTask
        >>> aliases = {"non-entailment": ("neutral", "contradiction")}
        >>> nli = ClassificationTask("nli", ("non-entailment", "entailment"), aliases)
        >>> reconcile({0: "ENTAILMENT", 1: "NEUTRAL", 2: "CONTRADICTION"}, nli)
        ((1, 2), (0,))
    """
    chosen = mapped_outputs(label_map or {}, names, model)
    for output, (key, label) in chosen.items():
        if task.index(label) is None:
            raise LabelError(
                f"`label_map`: {label!r} is no label of the task ({listed(task.labels)})",
                option="label_map",
                value=label,
                allowed=task.labels,
            )
        if key.strip() == str(output) and task.index(names[output]) not in (None, task.index(label)):
            raise _contrary(model, key, names[output], label)
    meant = _output_meanings(names, chosen)
    groups: list[list[int]] = [[] for _ in task.labels]
    for output, name in sorted(meant.items()):
        index = task.index(name)
        if index is None:
            problem = "labels without names" if _unnamed(name) else f"the label {name!r}"
            raise LabelError.of(
                model, f"has {problem} ({_list(names)}); say what they mean, {_example(names, task)}", value=name
            )
        groups[index].append(output)
    for label, group in zip(task.labels, groups, strict=True):
        if not group:
            lacks = f"has no label that means {label!r} (it has {_list(names)})"
            raise LabelError.of(model, f"{lacks}; say what they mean, {_example(names, task)}", value=label)
    return tuple(tuple(group) for group in groups)


def tag_outputs(
    names: Mapping[int, str], label_map: Mapping[str, str] | None = None, *, model: str = "the model"
) -> dict[str, tuple[int, ...]]:
    """Return the tags of a model, each with the outputs that mean it.

    Args:
        names, label_map, model: as for `reconcile`; the map's values are tags.

    Raises:
        LabelError: a label is no tag, and the map does not say which tag it means; or a map that contradicts the names.

    Example:
        >>> tag_outputs({0: "O", 1: "PER", 2: "ORG"}, {"PER": "I-ENT", "ORG": "I-ENT"})
        {'O': (0,), 'I-ENT': (1, 2)}
    """
    chosen = mapped_outputs(label_map or {}, names, model)
    for output, (key, tag) in chosen.items():
        if key.strip() == str(output) and is_tag(names[output]) and names[output] != tag:
            raise _contrary(model, key, names[output], tag)
    outputs: dict[str, tuple[int, ...]] = {}
    for output, tag in sorted(_output_meanings(names, chosen).items()):
        if not is_tag(tag):
            problem = f"has the label {tag!r}, and a tag must be O, B-TYPE or I-TYPE ({_list(names)})"
            advice = f'say what it means, for example `label_map={{"{names[output]}": "B-PER"}}`'
            raise LabelError.of(model, f"{problem}; {advice}", option="label_map", value=tag)
        outputs[tag] = (*outputs.get(tag, ()), output)
    return outputs


def _contrary(model: str, key: str, name: str, label: str) -> LabelError:
    """Return the error of a map that names an output by its index, and gives it another meaning than the model."""
    contrary = f"{model} calls its output {key} {name!r}, not {label!r}"
    return LabelError(
        f"`label_map`: {contrary}; to overrule it, name the label instead of the index",
        option="label_map",
        value=key,
        place=model,
    )


def check_inverse(names: Mapping[int, str], inverse: Mapping[str, object], place: str) -> None:
    """Refuse a configuration that assigns one label to two outputs, since the trained one is unknown.

    Labels of `label2id` that `id2label` does not have, such as LABEL_0, are skipped.

    Args:
        names: output -> label, as in `id2label`.
        inverse: label -> output, as in `label2id`.
        place: beginning of the message.

    Raises:
        LabelError: `inverse` has a label at another output than `names`.

    Example:
        >>> check_inverse({0: "bad", 1: "good"}, {"bad": 0, "good": 1}, "config.json")
        >>> check_inverse({0: "bad", 1: "good"}, {"bad": 1, "good": 0}, "config.json")
        Traceback (most recent call last):
        ...
        ranker.errors.LabelError: config.json contradicts itself: by `id2label` 'bad' is output 0, by `label2id` 1
    """
    for label, output in inverse.items():
        outputs = [number for number, name in names.items() if fold(name) == fold(label)]
        if outputs and str(output) not in map(str, outputs):
            conflict = f"by `id2label` {label!r} is output {outputs[0]}, by `label2id` {output}"
            raise LabelError.of(place, f"contradicts itself: {conflict}", value=label)


def meanings(names: Mapping[int, str], label_map: Mapping[str, str] | None = None) -> dict[int, str]:
    """Return the labels of outputs by configuration and label map, as for `reconcile`; {} if one is unnamed.

    Example:
        >>> meanings({0: "LABEL_0", 1: "LABEL_1"}), meanings({0: "bad", 1: "LABEL_1"}, {"1": "good"})
        ({}, {0: 'bad', 1: 'good'})
    """
    chosen = mapped_outputs(label_map or {}, names, "the model")
    meant = _output_meanings(names, chosen)
    unsaid = [name for output, name in meant.items() if output not in chosen and _unnamed(name)]
    return {} if unsaid else dict(sorted(meant.items()))


def _output_meanings(names: Mapping[int, str], chosen: Mapping[int, tuple[str, str]]) -> dict[int, str]:
    """Map each output to its chosen label, else its name."""
    return {**names, **{output: label for output, (_, label) in chosen.items()}}


def _unnamed(name: str) -> bool:
    """Return True if a label has no meaning, such as transformers' LABEL_0."""
    return _UNNAMED.fullmatch(name.strip()) is not None


def mapped_outputs(label_map: Mapping[str, str], names: Mapping[int, str], model: str) -> dict[int, tuple[str, str]]:
    """Map outputs of a checkpoint to key and label of a label map; raises a LabelError for a key that is no output."""
    outputs = {str(key): _output(str(key), names) for key in label_map}
    all_named = not any(map(_unnamed, names.values()))
    of_others = all(output is None for output in outputs.values()) and not any(map(_unnamed, outputs))
    if of_others:
        return {}
    for key, output in outputs.items():
        if output is None and not (all_named and _unnamed(key)):
            raise LabelError(
                f"`label_map`: {model} has no label {key!r}; its labels are {_list(names)}",
                option="label_map",
                value=key,
                allowed=names.values(),
                place=model,
            )
    mapped = zip(outputs.items(), label_map.values(), strict=True)
    return {output: (key, str(label)) for (key, output), label in mapped if output is not None}


def _output(key: str, names: Mapping[int, str]) -> int | None:
    """Return the output for a label map's key: an index, or a label (see `tasks.names.fold`)."""
    by_key = {fold(name): output for output, name in names.items()} | {str(output): output for output in names}
    return by_key.get(fold(key))


def _list(names: Mapping[int, str]) -> str:
    return listed(names[output] for output in sorted(names))


def _example(names: Mapping[int, str], task: ClassificationTask) -> str:
    """Return a map to copy, correct in form but not in content."""
    last = len(task.labels) - 1
    pairs = ", ".join(f'"{names[output]}": "{task.labels[min(i, last)]}"' for i, output in enumerate(sorted(names)))
    return f"for example `label_map={{{pairs}}}`"
