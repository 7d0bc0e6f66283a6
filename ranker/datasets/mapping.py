"""Labels of rows that are none of the models': what they probably mean, and the line to type. Nothing is applied."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from ranker.errors import Question, UsageError
from ranker.tasks.names import fold

Map = dict[str, str]
"""What a model calls an output -> the label that rows have for it: what `label_map` takes."""

POLES = {
    -1: frozenset(("negative", "neg", "bad", "poor", "terrible", "unfavorable", "against", "no", "n", "false", "-1")),
    0: frozenset(("neutral", "neu", "mixed", "none", "neither", "0")),
    1: frozenset(("positive", "pos", "good", "great", "excellent", "favorable", "for", "yes", "y", "true", "1")),
}
"""Which end of a scale a label names, where that is known."""

NAMED = 3
"""Models that are named one by one in a message."""

LISTED = 10
"""Labels that are."""


def candidate_label_maps(rows: Iterable[str], outputs: Sequence[str]) -> list[Map]:
    """The label maps that would make a model's outputs the labels of rows.

    Args:
        rows: the labels as rows write them.
        outputs: the names of the model's outputs, in their order.

    Returns:
        One where the names tell what is meant; several where they leave the direction open, or what an output counts as
        that no label of the rows means; none where the rows have more labels, or nothing tells.

    Example:
        >>> candidate_label_maps(["good", "bad"], ["NEGATIVE", "POSITIVE"])
        [{'NEGATIVE': 'bad', 'POSITIVE': 'good'}]
        >>> candidate_label_maps(["2", "1"], ["negative", "positive"])
        [{'negative': '1', 'positive': '2'}, {'negative': '2', 'positive': '1'}]
        >>> candidate_label_maps(["1", "2", "3"], ["negative", "positive"])
        []
    """
    said = sorted(dict.fromkeys(rows), key=_place)
    if not 2 <= len(said) <= len(outputs) or len({*map(fold, said)}) < len(said):
        return []
    for key in (fold, _pole, number_in):
        theirs = {key(name): name for name in said}
        meant = {name: theirs[key(name)] for name in outputs if key(name) in theirs}
        if None not in theirs and len(theirs) == len(said) == len(meant):
            if key is number_in:  # of five stars, those that no row has
                meant |= {name: str(number) for name in outputs if (number := number_in(name)) and name not in meant}
            left = [name for name in outputs if name not in meant]
            return [{name: meant.get(name, label) for name in outputs} for label in said[: len(said) if left else 1]]
    if len(said) < len(outputs):
        return []
    same = {name: label for name in outputs for label in said if fold(name) == fold(label)}
    if len(same) == len(said) - 1:
        (rest,) = set(said) - {*same.values()}
        return [{name: same.get(name, rest) for name in outputs}]
    if same or not (len(said) == 2 or all(number_in(name) is not None for name in said)):
        return []
    return [dict(zip(outputs, labels, strict=True)) for labels in (said, said[::-1])]


def _pole(name: str) -> int | None:
    return next((end for end, names in POLES.items() if fold(name) in names), None)


def number_in(name: str) -> int | None:
    """The only number in a name: of "4 stars" 4; None where there is none, or several."""
    numbers = re.findall("[0-9]{1,6}", name)
    signed = re.fullmatch("[-+][0-9]{1,6}", name.strip())
    return int(signed[0]) if signed else int(numbers[0]) if len(numbers) == 1 else None


def _place(name: str) -> tuple[bool, int, str]:
    """Numbers in their order, other names by the alphabet."""
    number = number_in(name)
    return number is None, number or 0, fold(name)


def by_hand(text: str) -> Map:
    """A map as one writes it by hand.

    Raises:
        UsageError: it is not of the form ``a,b = label; c = label``, or gives two labels to a name.

    Example:
        >>> by_hand("contradiction,neutral = non-entailment")
        {'contradiction': 'non-entailment', 'neutral': 'non-entailment'}
    """
    found: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        names, sign, label = (piece.strip() for piece in part.partition("="))
        every = [name.strip() for name in names.split(",")]
        if not sign or not label or not all(every):
            raise UsageError(f"`label_map` is written as `a,b = label; c = label` (got {part[:50]!r})")
        for name in every:
            if found.setdefault(name, label) != label:
                raise UsageError(f"`label_map` gives two labels to {name!r}")
    return found


def line(label_map: Map) -> str:
    """What to type.

    Example:
        >>> line({"negative": "bad"})
        '`label_map={"negative": "bad"}`'
    """
    return f"`label_map={json.dumps(label_map, ensure_ascii=False)}`"


def check_alike(origin: str, where: str, labels: Iterable[str]) -> None:
    """Refuse two labels of one file that differ in no more than case: nobody can see whether they are one.

    Args:
        origin: the file.
        where: the columns that they stand in, for the message.
        labels: as they are written.

    Raises:
        Question: there are two.

    Example:
        >>> check_alike("a.csv", "'label'", ["yes", "no"])
    """
    spellings: dict[str, str] = {}
    for label in labels:
        other = spellings.setdefault(fold(label), label)
        if other != label:
            one, two = line({label: other}), line({other: other, label: label})
            raise Question(
                f"{origin}: {other!r} and {label!r} in {where} may be one label or two; `label_map` says it: {one} if "
                f"one, {two} if two"
            )


def unlike(rows: Sequence[str], outputs: Sequence[str]) -> str:
    """Say that rows have other labels than models, and what to type.

    Example:
        >>> print(unlike(["good", "bad"], ["negative", "positive"]))
        the rows say good, bad and the models negative, positive; if that is what they mean, say `label_map={"negative": "bad", "positive": "good"}`
    """  # noqa: E501
    differ = f"the rows say {_some(rows, LISTED)} and the models {_some(outputs, LISTED)}"
    maps = candidate_label_maps(rows, outputs)
    if len(maps) == 1:
        return f"{differ}; if that is what they mean, say {line(maps[0])}"
    if maps:
        return f"{differ}; which is which, only you know: say {' or '.join(map(line, maps))}"
    if len(rows) > len(outputs):
        why = f"{len(rows)} labels are more than {len(outputs)} outputs"
        return f"{differ}; {why}: write labels of the models into the rows, or name models with these labels"
    example = dict(zip(outputs, [*rows, *[rows[-1]] * len(outputs)], strict=False))
    return f"{differ}; say which output of the models is which label, for example {line(example)}"


def differing(said: Mapping[str, Sequence[str]]) -> str:
    """Say that models have other labels than each other, and what to type; "" where they have the same.

    Args:
        said: model -> the names of its outputs, for models that name them.

    Example:
        >>> print(differing({"a": ("negative", "positive"), "b": ("negative", "neutral", "positive")}))
        the labels of the models differ: a says negative, positive; b says negative, neutral, positive. Leave b out, or say what its other labels count as: `label_map={"neutral": "negative"}` or `label_map={"neutral": "positive"}`
    """  # noqa: E501
    groups: dict[frozenset[str], list[str]] = {}
    for model, labels in said.items():
        if labels:
            groups.setdefault(frozenset(map(fold, labels)), []).append(model)
    if len(groups) < 2:
        return ""
    most = max(groups, key=lambda labels: (len(groups[labels]), -len(labels)))
    common = said[groups[most][0]]
    others = [models for labels, models in groups.items() if labels != most]
    each = "; ".join(
        f"{_some(models)} {'says' if len(models) == 1 else 'say'} {_some(said[models[0]], LISTED)}"
        for models in (groups[most], *others)
    )
    out = [model for models in others for model in models]
    its = "its" if len(out) == 1 else "their"
    lines = " or ".join(map(line, _bridges(common, [said[models[0]] for models in others])))
    more = f", or say what {its} other labels count as: {lines}" if lines else ""
    return f"the labels of the models differ: {each}. Leave {_some(out)} out{more}"


def _bridges(common: Sequence[str], others: Iterable[Sequence[str]]) -> list[Map]:
    """Maps by which all other models say common labels; several where it is open what labels count as."""
    ways = [candidate_label_maps(common, labels) for labels in others]
    longest = max(map(len, ways))
    if {*map(len, ways)} - {1, longest}:
        return []
    merged = [{key: label for way in ways for key, label in way[at % len(way)].items()} for at in range(longest)]
    return [{key: label for key, label in one.items() if fold(key) != fold(label)} for one in merged]


def _some(names: Sequence[str], most: int = NAMED) -> str:
    """Names one by one, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most] if more > 1 else names) + (f" and {more} more" if more > 1 else "")
