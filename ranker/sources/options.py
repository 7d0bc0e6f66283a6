"""Options of one kind of source: a frozen record whose fields define the command line's flags.

A kind declares such a record as `Options`. The flags of the commands are made from its fields, and `SourceOptions.of`
returns the values. This module imports nothing heavy, since `--help` waits for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar

from ranker.errors import UsageError, choice_error
from ranker.sources.packages import load_entry_points

GROUP = "rank_models.sources"
"""Entry point group of packages with a kind of sources: the name of an entry point is the kind's."""

FLAG = "flag"
"""Key of a field's `Flag` in its metadata."""

RUNS = ("newest", "mean", "each")
"""Treatments of several runs of a model on one task."""

ERRORS = ("left-out", "wrong")
"""Treatments of an answer that failed or was not scored."""


class Heading(StrEnum):
    """Headings of `--help`, in their order; each flag has one."""

    COMMON = "Common"
    ROWS = "Rows"
    MODELS = "Models"
    ANSWERS = "Files of answers"
    PROMPTS = "Language models"
    SERVERS = "Servers"
    METHODS = "Methods"
    CHECKS = "Checks"
    MACHINE = "Machine"
    OUTPUT = "Output"


@dataclass(frozen=True)
class Flag:
    """Command line flag of a field.

    Attributes:
        default: of the field; False makes a switch, and () a flag that may be given several times.
        help: an imperative or a noun phrase.
        name: of the flag, without its dashes; "" for the field's.
        metavar: placeholder of its value.
        choices: allowed values; () for any.
        type: of its value for click; None for that of the default, and for text.
        parse: converts the typed value to the field's.
        of_run: the run reads it beside the models, as files of rows are; so it may concern none of them.
        heading: of the flag in `--help`; "" for that of its record, its class variable `heading`, else Models.
    """

    default: Any
    help: str
    name: str = ""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    type: Any = None
    parse: Callable[[Any], Any] | None = None
    of_run: bool = False
    heading: str = ""


def option(default: Any, help: str, **more: Any) -> Any:
    """Define a field of a record of options, and its flag.

    Args:
        default: of the field; its type is the flag's. False makes a switch, and () a flag that may be given several
            times.
        help: of the flag.
        more: `name` of the flag, if it is not the field's; `metavar`; `choices`; `type`, for click; `parse`, which
            converts the typed value; `of_run`, if the run itself reads it, too; `heading`, if `--help` lists it under
            another than the record's class variable `heading` names (Models if there is none).

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Options:
        ...     temperature: float = option(1.0, "Of prompted models: how random answers are.", metavar="T")
        >>> Options(), Options(0.5).temperature
        (Options(temperature=1.0), 0.5)
    """
    return field(default=default, metadata={FLAG: Flag(default, help, **more)})


def flags_of(record: type) -> dict[str, Flag]:
    """Return the flags of a record: name of the field -> flag."""
    return {option.name: option.metadata[FLAG] for option in fields(record) if FLAG in option.metadata}


def non_defaults(record: object) -> dict[str, Any]:
    """Return the options of a record that differ from their defaults.

    Example:
        >>> non_defaults(AnswerOptions(cluster="doc"))
        {'cluster': 'doc'}
    """
    options = flags_of(type(record)).items()
    return {name: value for name, flag in options if (value := getattr(record, name)) != flag.default}


def from_flags(record: type, typed: Mapping[str, Any]) -> Any:
    """Make a record from a command line; missing values take their defaults.

    Args:
        typed: name of a field -> typed value; None, or no item, for nothing.
    """
    values = {name: (flag, typed[name]) for name, flag in flags_of(record).items() if typed.get(name) is not None}
    return record(**{name: flag.parse(value) if flag.parse else value for name, (flag, value) in values.items()})


@dataclass(frozen=True)
class AnswerOptions:
    """Options of files of answers, tables and logs alike: see `LogOptions`."""

    heading: ClassVar[str] = Heading.ANSWERS

    runs: str = option(
        "",
        "Treatment of several runs of one model: use the newest, their mean, or each as a model. "
        "FOLDER#TASK@RUN names one: by its number from the oldest (@1), an argument (@seed=2), or its time.  "
        "[default: the newest, if all have the same arguments]",
        choices=RUNS,
    )
    cluster: str = option(
        "",
        "Column that groups rows which belong together, such as questions on one passage.",
        metavar="COLUMN",
    )
    scale: tuple[float, float] | None = option(
        None,
        "Worst and best value of logs and outcomes, such as 1 10 for a judge's marks.",
        name="range",
        type=(float, float),
        metavar="LOW HIGH",
    )
    lower_is_better: bool = option(False, "Treat less as better, in logs and outcomes.")
    errors: str = option(
        ERRORS[0], "Treatment of answers that failed or were not scored, in tables and logs.", choices=ERRORS
    )

    def __post_init__(self) -> None:
        if self.scale is not None and not (self.scale[0] < self.scale[1] and all(map(math.isfinite, self.scale))):
            got = " ".join(f"{end:g}" for end in self.scale)
            raise UsageError.about("scale", f"must be two numbers, the worst below the best (got {got})", self.scale)
        for name, value in non_defaults(self).items():
            choices = flags_of(type(self))[name].choices
            if choices and value not in choices:
                raise choice_error(name, value, choices)


def added_records() -> tuple[type, ...]:
    """Return the records of options that the kinds of installed packages declare.

    Raises:
        UsageError: a package cannot be imported, or its options are no record.
    """
    records = []
    for _, origin, target, kind in load_entry_points(GROUP):
        record = getattr(kind, "Options", None)
        if record is not None:
            if not (isinstance(record, type) and hasattr(record, "__dataclass_fields__")):
                raise UsageError.at(origin, f"`Options` must be a dataclass (got {record!r} in {target})")
            records.append(record)
    return tuple(records)
