"""Turn ``--judge`` and the options beside it into judges; refuse what says nothing beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ranker.commands.program import refuse
from ranker.errors import UsageError, look_up
from ranker.runs.judges import Judges
from ranker.sources import kinds
from ranker.sources.base import ResourceCache, SourceOptions
from ranker.sources.references import parse

WITHOUT_JUDGES = ("ood_name", "voters", "pool_from_unlabelled", "in_domain", "not_worse_than", "within")
"""Options of `run` that say nothing beside ``--judge``."""


def check(values: Mapping[str, Any]) -> None:
    """Refuse options that judges do not read, and options of judges without one."""
    if values.get("judges"):
        refuse(values, WITHOUT_JUDGES, "is not read beside `--judge`")
    else:
        refuse(values, ("judge_prompts", "judge_directions"), "is for `--judge`")
    if values.get("judges") and values["pool"] and not values["data"] and values.get("scale") is not None:
        raise UsageError.about("range", "is of people's marks, which are `--data` beside `--pool`", values["scale"])


def judges(values: Mapping[str, Any], options: SourceOptions, cache: ResourceCache) -> Judges:
    """Return the judges of ``--judge`` by their names; without a name, a judge has that of its file or model.

    The options are those of all references. The cache is that of the models: both have one budget for servers.

    Raises:
        UsageError: two have one name, or a named direction is of no judge.
    """
    references: dict[str, str] = {}
    for text in values["judges"]:
        reference = parse(text, kinds.available_kinds())
        name = reference.name or reference.part or Path(reference.place).stem
        if name in references:
            raise UsageError.about("judge", f"is given twice as {name}; name one of them: `--judge NAME=FILE`", text)
        references[name] = text.removeprefix(f"{reference.name}=")
    directions = [text.rpartition("=") for text in values.get("judge_directions", ())]
    for name, equals, direction in directions:
        if not equals or direction not in ("lower", "higher"):
            text = f"must be NAME=lower or NAME=higher (got {name}{equals}{direction})"
            raise UsageError.about("judge_direction", text, direction, allowed=("lower", "higher"))
        look_up("judge", name, references)
    lower = frozenset(name for name, _, direction in directions if direction == "lower")
    return Judges(references, values["judge_prompts"], lower, options, cache, tuple(values.get("trusted", ())))
