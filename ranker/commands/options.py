"""Options that several commands share, in groups; a group is a decorator, like the options it consists of."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from pathlib import Path
from typing import Any

import click

from ranker.sources.logs.options import LogOptions
from ranker.sources.options import added_records, flags_of
from ranker.sources.tables.options import TableOptions

Command = Callable[..., None]
Option = Callable[[Command], Command]

PATH = click.Path(path_type=Path)


def combine(*options: Option) -> Option:
    """Combine options into one decorator; `--help` lists them in the same order.

    Example:
        >>> @click.command()
        ... @combine(click.option("--first"), click.option("--second"))
        ... def shown(**values): ...
        >>> [option.name for option in shown.params]
        ['first', 'second']
    """
    return lambda command: reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


LOADING = combine(
    click.option(
        "--label-map",
        metavar="MAP",
        help="What labels of models stand for, as JSON, a file of it, or like `a,b = label; c = label`.",
    ),
    click.option(
        "--trust-remote-code",
        multiple=True,
        metavar="NAME",
        help="Run code that comes with the checkpoint of this model; once for each model.",
    ),
    click.option("--allow-pickle", is_flag=True, help="Load weights that are not safetensors."),
)

MODELS = combine(
    click.option(
        "--models",
        multiple=True,
        metavar="PATH ...",
        help="Model directories, folders of checkpoints, hub ids (org/name@revision), suite.json files or embedded "
        "suites; or files of answers: tables of predictions (answers.csv, wide.parquet#gpt) and logs of "
        "lm-evaluation-harness and Inspect. NAME=PATH calls a model NAME.  "
        "[default: the set's embedded mini suite]",
    ),
    click.argument("more_models", nargs=-1, metavar=""),
    LOADING,
)


ROW_OPTIONS = ("empty_words", "encoding")
"""Options of tables that also apply to files of rows, and are listed with those."""


def flag(record: type, name: str) -> Option:
    """Return the option for a field of an options record."""
    spec = flags_of(record)[name]
    silent = spec.default in (None, "", False, ())
    return click.option(
        f"--{spec.name or name.replace('_', '-')}",
        name,
        type=click.Choice(spec.choices) if spec.choices else spec.type or (None if silent else type(spec.default)),
        default=None if silent else spec.default,
        show_default=not silent,
        is_flag=spec.default is False,
        multiple=spec.default == (),
        metavar=spec.metavar,
        help=spec.help,
    )


@cache
def added_kinds() -> tuple[type, ...]:
    """Return the options records of installed packages; they are looked up once."""
    return added_records()


def records() -> tuple[type, ...]:
    """Return the options records of all kinds of sources."""
    return (TableOptions, LogOptions, *added_kinds())


def flags_from(*records: type) -> Option:
    """Return the options of records, each once; those that several records share come last."""
    first: dict[str, type] = {}
    for record in records:
        for name in flags_of(record):
            first.setdefault(name, record)
    shared = [name for name in first if sum(name in flags_of(record) for record in records) > 1]
    names = [name for name in first if name not in (*shared, *ROW_OPTIONS)]
    return combine(*(flag(first[name], name) for name in (*names, *shared)))


class Workers(click.ParamType[int | str]):
    """A number of processes, or "auto"."""

    name = "N|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Convert the text to a value of `Processes.workers`."""
        if str(value) == "auto":
            return "auto"
        return click.IntRange(1).convert(value, param, ctx)


WORKERS = combine(
    click.option(
        "--workers",
        type=Workers(),
        default="auto",
        show_default=True,
        metavar="N|auto",
        help="Processes that run models side by side, each with its share of the cores; auto: as many as there is "
        "work, cores and memory for, and one on an accelerator.",
    ),
    click.option(
        "--executor",
        default="auto",
        show_default=True,
        metavar="NAME",
        help="Who has models run: serial (this process), processes, or one that an installed package adds; auto: "
        "processes.",
    ),
)

ISOLATE = combine(
    click.option(
        "--isolate/--no-isolate",
        default=None,
        help="Run each model in a process of its own: one that crashes, hangs or takes too much memory is left out. "
        "Limits, and no sandbox.  [default: on Linux]",
    ),
    click.option(
        "--memory",
        type=click.FloatRange(0, min_open=True),
        default=4,
        show_default=True,
        metavar="GB",
        help="What a model's process may take, beside three times its weights; not on an accelerator.",
    ),
)

DEVICE = click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1, mps ...")

DTYPE = click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "auto"]),
    default="float32",
    show_default=True,
    help="Of matrix products. bfloat16 is less exact, and faster where the device has units for it; auto takes it "
    "there, but for IG, whose completeness its rounding spoils.",
)

MACHINE = combine(
    DEVICE,
    DTYPE,
    click.option("--batch-size", type=click.IntRange(1), metavar="TOKENS", help="Tokens a batch; changes no number."),
)

ATTRIBUTION = combine(
    click.option(
        "--attribution",
        metavar="NAME[:KEY=VALUE,...]",
        help="The attribution backend, with settings that are to differ: ig:steps=50,baseline=pad; see "
        "`rank-models ls backends`.  [default: shap, where something reads attributions]",
    ),
    click.option(
        "--factors",
        "factor_names",
        metavar="NAMES|FILE.py",
        help="Names, comma-separated, and files with factors of your own.  [default: all; with --data those that need "
        "no attributions, and the one designed for the set]",
    ),
)

DATA_DIR = click.option("--data-dir", type=PATH, help="Where the official data is.  [default: the embedded sample]")

INCLUDE = click.option("--include", type=PATH, multiple=True, help="A folder with OOD sets of your own.")

COLUMNS = click.option(
    "--columns", metavar="ROLE=NAME,...", help="Of your own rows: text=premise,text=hypothesis,label=gold,id=key."
)

OWN_ROWS = combine(
    click.option(
        "--task",
        metavar="NAME",
        help="Of your own rows: nli, paraphrase, ...  [default: the models' own labels, or the one that labels fit]",
    ),
    COLUMNS,
    *(flag(TableOptions, name) for name in ROW_OPTIONS),
)

SEED = click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the draws.")

STORE = click.option(
    "--store",
    "store_folder",
    metavar="FOLDER|URL",
    help="Where attributions are kept; s3://bucket/prefix, with s3fs installed.  [default: the user's cache]",
)

FORMAT = click.option(
    "--format",
    "format_name",
    metavar="NAME",
    help="See `rank-models ls formats`.  [default: as --output ends, .html, .json ...; else table]",
)
OUTPUT = click.option("--output", "-o", type=PATH, help="A file for the answer.  [default: stdout]")
PLOTS = click.option("--plots", type=PATH, metavar="DIR", help="A folder for the figures, as PNG, SVG and PDF.")
FORCE = click.option("--force", is_flag=True, help="Write over files that are there already.")

STRICT = click.option(
    "--strict",
    is_flag=True,
    help="Refuse to guess, for CI: a dropped row, an unread column or a guess is an error.",
)

TALK = combine(
    STRICT,
    click.option("--verbose", "-v", is_flag=True, help="Say more on stderr."),
    click.option("--quiet", "-q", is_flag=True, help="Say only errors on stderr."),
)
