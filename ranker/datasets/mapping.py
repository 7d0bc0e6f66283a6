"""Labels of rows that no model has: their probable meaning, and the option to type. Nothing is applied."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from ranker.errors import MAX_EXAMPLES, FileReading, Question, UsageError, listed
from ranker.tasks.names import fold, pole_of, spelled

Map = dict[str, str]
"""A model's output name -> the rows' label for it, as `label_map` takes it."""

OF_THIS_TASK = "are these models for this task? If they are"
"""Question about models none of whose outputs has the name of a label."""

MAX_OPTION_CHARACTERS = 120
"""Characters of a label map from which on a message shows its first pairs."""


def candidate_label_maps(rows: Iterable[str], outputs: Sequence[str]) -> list[Map]:
    """Return the label maps that would turn a model's outputs into the labels of rows.

    Returns:
        One if the names determine it; several if the direction, or the label of an unmatched output, is open; none if
        the rows have more labels, or the names tell nothing.

    Example:
        >>> candidate_label_maps(["good", "bad"], ["NEGATIVE", "POSITIVE"])
        [{'NEGATIVE': 'bad', 'POSITIVE': 'good'}]
        >>> candidate_label_maps(["2", "1"], ["negative", "positive"])
        [{'negative': '1', 'positive': '2'}, {'negative': '2', 'positive': '1'}]
        >>> candidate_label_maps(["1", "2", "3"], ["negative", "positive"])
        []
    """
    row_labels = sorted(dict.fromkeys(rows), key=_place)
    if not 2 <= len(row_labels) <= len(outputs) or len({*map(fold, row_labels)}) < len(row_labels):
        return []
    for key in (fold, pole_of, number_in):
        theirs = {key(name): name for name in row_labels}
        meant = {name: theirs[key(name)] for name in outputs if key(name) in theirs}
        if None not in theirs and len(theirs) == len(row_labels) == len(meant):
            if key is number_in:  # of five stars, those that no row has
                meant |= {name: str(number) for name in outputs if (number := number_in(name)) and name not in meant}
            left = [name for name in outputs if name not in meant]
            open_labels = row_labels if left else row_labels[:1]
            return [{name: meant.get(name, label) for name in outputs} for label in open_labels]
    if len(row_labels) < len(outputs):
        return []
    same = {name: label for name in outputs for label in row_labels if fold(name) == fold(label)}
    if len(same) == len(row_labels) - 1:
        (last_label,) = set(row_labels) - {*same.values()}
        return [{name: same.get(name, last_label) for name in outputs}]
    if same or not (len(row_labels) == 2 or all(number_in(name) is not None for name in row_labels)):
        return []
    return [dict(zip(outputs, labels, strict=True)) for labels in (row_labels, row_labels[::-1])]


def number_in(name: str) -> int | None:
    """Return the only number in a name (4 of "4 stars"); None if there is none, or several."""
    numbers = re.findall("[0-9]{1,6}", name)
    signed = re.fullmatch("[-+][0-9]{1,6}", name.strip())
    return int(signed[0]) if signed else int(numbers[0]) if len(numbers) == 1 else None


def _place(name: str) -> tuple[bool, int, str]:
    """Sort key: numbers in their order, other names alphabetically."""
    number = number_in(name)
    return number is None, number or 0, fold(name)


def parse_label_map(text: str) -> Map:
    """Parse a label map as a user types it.

    Raises:
        UsageError: it is not of the form ``a,b = label; c = label``, or gives two labels to a name.

    Example:
        >>> parse_label_map("contradiction,neutral = non-entailment")
        {'contradiction': 'non-entailment', 'neutral': 'non-entailment'}
    """
    pairs: list[tuple[str, str]] = []
    for part in filter(None, map(str.strip, text.split(";"))):
        names, sign, label = (piece.strip() for piece in part.partition("="))
        outputs = [name.strip() for name in names.split(",")]
        if not sign or not label or not all(outputs):
            raise UsageError.about("label_map", f"is written as `a,b = label; c = label` (got {part[:50]!r})", part)
        pairs += [(name, label) for name in outputs]
    return unique_label_map(pairs)


def unique_label_map(pairs: Iterable[tuple[str, str]]) -> Map:
    """Return a label map of pairs of a name and its label.

    Raises:
        UsageError: a name has two labels.

    Example:
        >>> unique_label_map([("A", "bad"), ("B", "good")])
        {'A': 'bad', 'B': 'good'}
    """
    label_map: dict[str, str] = {}
    for name, label in ((spelled(name), label) for name, label in pairs):
        if label_map.setdefault(name, label) != label:
            raise UsageError.about("label_map", f"gives two labels to {name!r}", name)
    return label_map


def label_map_option(label_map: Map) -> str:
    """Write the option to type; of a long one the first pairs.

    Example:
        >>> label_map_option({"negative": "bad"})
        '`label_map={"negative": "bad"}`'
    """
    text = json.dumps(label_map, ensure_ascii=False)
    if len(text) > MAX_OPTION_CHARACTERS:
        first = {_short(key): _short(label) for key, label in islice(label_map.items(), MAX_EXAMPLES)}
        text = f"{json.dumps(first, ensure_ascii=False)[:-1]}, ...}}"
    return f"`label_map={text}`"


def label_map_reading(label_map: Map) -> FileReading:
    """Return the reading that a label map chooses."""
    return FileReading(label_map_option(label_map), {"label_map": label_map})


def _short(name: str) -> str:
    return listed([name], 1)


def check_spellings(origin: str, columns: str, labels: Iterable[str]) -> None:
    """Raise if two labels of one file differ only in case, since they may or may not be one label.

    Raises:
        Question: there are two such labels.

    Example:
        >>> check_spellings("a.csv", "'label'", ["yes", "no"])
    """
    spellings: dict[str, str] = {}
    for label in map(spelled, labels):
        spelling = spellings.setdefault(fold(label), label)
        if spelling != label:
            same, different = map(label_map_reading, ({label: spelling}, {spelling: spelling, label: label}))
            raise Question.at(
                origin,
                f"{spelling!r} and {label!r} in {columns} may be one label or two; `label_map` says it: "
                f"{same.answer} if one, {different.answer} if two",
                option="label_map",
                value=spelling,
                readings=[same, different],
            )


def label_mismatch(rows: Sequence[str], outputs: Sequence[str]) -> str:
    """Report that rows have other labels than models, and what to type.

    Example:
        >>> print(label_mismatch(["good", "bad"], ["negative", "positive"]))
        the rows say good, bad and the models negative, positive; if that is what they mean, say `label_map={"negative": "bad", "positive": "good"}`
        >>> print(label_mismatch(["dull", "fun"], ["entailment", "neutral", "contradiction"])[:110])
        the rows say dull, fun and the models entailment, neutral, contradiction: are these models for this task? If t
    """  # noqa: E501
    differ = f"the rows say {listed(rows)} and the models {listed(outputs)}"
    maps = candidate_label_maps(rows, outputs)
    if len(maps) == 1:
        return f"{differ}; if that is what they mean, say {label_map_option(maps[0])}"
    if maps:
        ways = " or ".join(map(label_map_option, maps))
        return f"{differ}: {OF_THIS_TASK}, only you know which is which: say {ways}"
    if len(rows) > len(outputs):
        reason = f"{len(rows)} labels are more than {len(outputs)} outputs"
        return f"{differ}; {reason}: write labels of the models into the rows, or name models with these labels"
    example = dict(zip(outputs, [*rows, *[rows[-1]] * len(outputs)], strict=False))
    return f"{differ}: {OF_THIS_TASK}, say which output is which label, for example {label_map_option(example)}"


def label_disagreement(outputs: Mapping[str, Sequence[str]]) -> str:
    """Report that models have other labels than each other, and what to type; "" if they have the same.

    Args:
        outputs: model -> the names of its outputs, for models that name them.

    Example:
        >>> print(label_disagreement({"a": ("negative", "positive"), "b": ("negative", "neutral", "positive")}))
        the labels of the models differ: a says negative, positive; b says negative, neutral, positive. Leave b out, or say what its other labels count as: `label_map={"neutral": "negative"}` or `label_map={"neutral": "positive"}`
    """  # noqa: E501
    groups: dict[frozenset[str], list[str]] = {}
    for model, labels in outputs.items():
        if labels:
            groups.setdefault(frozenset(map(fold, labels)), []).append(model)
    if len(groups) < 2:
        return ""
    most = max(groups, key=lambda labels: (len(groups[labels]), -len(labels)))
    common = outputs[groups[most][0]]
    other_groups = [models for labels, models in groups.items() if labels != most]
    statements = "; ".join(
        f"{listed(models, MAX_EXAMPLES)} {'says' if len(models) == 1 else 'say'} {listed(outputs[models[0]])}"
        for models in (groups[most], *other_groups)
    )
    out = [model for models in other_groups for model in models]
    possessive = "its" if len(out) == 1 else "their"
    lines = " or ".join(map(label_map_option, _bridges(common, [outputs[models[0]] for models in other_groups])))
    advice = f", or say what {possessive} other labels count as: {lines}" if lines else ""
    return f"the labels of the models differ: {statements}. Leave {listed(out, MAX_EXAMPLES)} out{advice}"


def _bridges(common: Sequence[str], other_outputs: Iterable[Sequence[str]]) -> list[Map]:
    """Return maps by which all other models use common labels; several, a few, if the meaning of labels is open."""
    ways = [candidate_label_maps(common, labels) for labels in other_outputs]
    longest = max(map(len, ways))
    if {*map(len, ways)} - {1, longest}:
        return []
    count = min(longest, MAX_EXAMPLES)
    merged = [{key: label for way in ways for key, label in way[index % len(way)].items()} for index in range(count)]
    return [{key: label for key, label in label_map.items() if fold(key) != fold(label)} for label_map in merged]
