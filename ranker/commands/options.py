"""Options that several commands share, in groups; a group is a decorator, like the options it consists of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, reduce
from pathlib import Path
from textwrap import wrap
from typing import Any

import click
from click.shell_completion import CompletionItem

from ranker.files.buckets import is_bucket_url
from ranker.sources.endpoint.options import EndpointOptions
from ranker.sources.hf.options import CheckpointOptions
from ranker.sources.lm.options import LMOptions
from ranker.sources.logs.options import LogOptions
from ranker.sources.options import Heading, added_records, flags_of
from ranker.sources.tables.options import TableOptions

Command = Callable[..., None]
Option = Callable[[Command], Command]

PATH = click.Path(path_type=Path)


class RowsType(click.Path):
    """Type of options for rows: a path, or the URL of rows in a bucket as it was typed."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a URL in a bucket unchanged, else a path."""
        return value if is_bucket_url(value) else super().convert(value, param, ctx)


ROWS_PATH = RowsType(path_type=Path)


class HeadedOption(click.Option):
    """Option that stands under a heading of `--help`; `several` takes all values up to the next option."""

    def __init__(self, *arguments: Any, heading: str, several: bool = False, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.heading, self.several = heading, several


def option(heading: str, *names: str, **settings: Any) -> Option:
    """Return click's option of these names and settings, under a heading of `--help`."""
    return click.option(*names, cls=HeadedOption, heading=heading, **settings)


class HeadedCommand(click.Command):
    """Command whose `--help` lists options under their headings."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.is_long = len(self.params) > MANY_OPTIONS
        if self.is_long:
            option(Heading.OUTPUT, "--help-all", **HELP_ALL)(self)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; refuse an option that takes one value and has two, of which the first would be lost."""
        args = list(self._repeated(ctx, args))
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        for parameter, count in Counter(order).items():
            if count > 1 and isinstance(parameter, click.Option) and not (parameter.multiple or parameter.is_flag):
                flag = max(parameter.opts, key=len)
                raise click.UsageError(f"{flag} is given {count} times, and takes one value", ctx)
        return super().parse_args(ctx, args)

    def _repeated(self, ctx: click.Context, args: list[str]) -> Iterator[str]:
        """Yield arguments, with an option that takes several values before each of them."""
        flags = {flag for option in self.get_params(ctx) if getattr(option, "several", False) for flag in option.opts}
        flag = ""
        for before, argument in zip(["", *args], args, strict=False):
            if argument.startswith("-"):
                flag = argument if argument in flags else ""
            elif flag and before != flag:
                yield flag
            yield argument

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the headings in their order, those of packages last; under each its options.

        Of a long list, options that are not common have their names alone, unless `--help-all` asks for all.
        """
        sections: dict[str, list[click.Option]] = {heading: [] for heading in Heading}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "heading", Heading.OUTPUT), []).append(parameter)
        names_alone, width = self.is_long and HELP_ALL_KEY not in ctx.meta, formatter.width - 2
        for heading, options in sections.items():
            if names_alone and heading != Heading.COMMON:
                lines = wrap(", ".join(max(option.opts, key=len) for option in options), width, break_on_hyphens=False)
            else:
                lines = [*_option_lines(options, ctx, width)]
            if options:
                formatter.write("".join((f"\n{heading}:\n", *(f"  {line}".rstrip() + "\n" for line in lines))))


def _option_lines(options: Sequence[click.Option], ctx: click.Context, width: int) -> Iterator[str]:
    """Yield a line for each option's names and lines for its help; long words, such as paths, are not broken."""
    indent = " " * 6
    for names, text in filter(None, (option.get_help_record(ctx) for option in options)):
        yield names
        yield from wrap(
            text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
        )


MANY_OPTIONS = 40
"""Options of a command of which `--help` describes all."""

HELP_ALL_KEY = f"{__name__}.help_all"


def _show_all(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.meta[HELP_ALL_KEY] = True
        click.echo(ctx.get_help())
        ctx.exit()


HELP_ALL: dict[str, Any] = {
    "is_flag": True, "is_eager": True, "expose_value": False, "callback": _show_all,
    "help": "Show all options with their descriptions, and exit.",
}  # fmt: skip


def files(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete a path, where a value may also be something else."""
    return [CompletionItem(incomplete, type="file")]


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
    option(
        Heading.MODELS,
        "--label-map",
        metavar="MAP",
        help="Map labels of models to labels of the rows: JSON, a JSON file, or `a,b = label; c = label`.",
    ),
    option(
        Heading.MODELS,
        "--trust-remote-code",
        multiple=True,
        metavar="NAME",
        help="Run the code that the checkpoint of this model brings. Repeat for each model.",
    ),
    option(Heading.MODELS, "--allow-pickle", is_flag=True, help="Load weights that are pickled (not safetensors)."),
)

MODELS = combine(
    option(
        Heading.COMMON,
        "--models",
        multiple=True,
        shell_complete=files,
        metavar="PATH ...",
        help="Models to compare: directories, folders of checkpoints, hub ids (org/name@revision), GGUF files, "
        "suite.json files, embedded suites; or files of answers: tables of predictions (answers.csv, "
        "wide.parquet#gpt), logs (`rank-models ls logs`). NAME=PATH names a model.  [default: the "
        "set's embedded mini suite]",
    ),
    click.argument("more_models", nargs=-1, metavar="", shell_complete=files),
    LOADING,
)


VOTERS = combine(
    option(
        Heading.MODELS,
        "--voters",
        multiple=True,
        several=True,
        shell_complete=files,
        metavar="PATH ...",
        help="Models that vote on the rows of --pool, and are not ranked: what --models takes. Others of the same "
        "task, the better the more, make labels worth more.",
    ),
    option(
        Heading.MODELS,
        "--trusted",
        multiple=True,
        several=True,
        metavar="NAME ...",
        help="Voters, or judges that label rows or write references, that are known to be better than the models.",
    ),
)


JUDGES = combine(
    option(
        Heading.ANSWERS,
        "--judge",
        "judges",
        multiple=True,
        metavar="NAME=PATH",
        help="A judge of the models' answers, such as a language model: a table or log of its marks, on any scale, or "
        "the model itself, which then marks answers to --pool (lm.gguf, openai:URL#MODEL). People's marks are "
        "--models, or --data FILE. A judge may also label rows, or write references. Repeat for several.",
    ),
    option(
        Heading.ANSWERS,
        "--judge-prompt",
        "judge_prompts",
        multiple=True,
        metavar="PROMPT",
        help="Prompt of judges that are asked: a .toml file with the segments input and answer, or a built-in one "
        "(`rank-models ls prompts`). Each makes a judge.  [default: judge/quality]",
    ),
)


ROW_OPTIONS = ("empty_words", "encoding")
"""Options of tables that also apply to files of rows, and are listed with those."""


NOT_FOR_LABEL = (*ROW_OPTIONS, "prices", "cluster", "reducer")
"""The same, and what changes outcomes alone: `label` reads what models said."""


NOT_FOR_EXPLAIN = (*NOT_FOR_LABEL, "errors")
"""The same, and how failed answers count: one that failed is not explained."""


def flag(record: type, name: str) -> Option:
    """Return the option for a field of an options record."""
    spec = flags_of(record)[name]
    silent = spec.default in (None, "", False, ())
    return option(
        spec.heading or getattr(record, "heading", Heading.MODELS),
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
    return (TableOptions, LogOptions, CheckpointOptions, LMOptions, EndpointOptions, *added_kinds())


def flags_from(*records: type, without: Sequence[str] = ROW_OPTIONS) -> Option:
    """Return the options of records, each once; those that several records share come last."""
    first: dict[str, type] = {}
    for record in records:
        for name in flags_of(record):
            first.setdefault(name, record)
    shared = [name for name in first if sum(name in flags_of(record) for record in records) > 1]
    names = [name for name in (*(name for name in first if name not in shared), *shared) if name not in without]
    return combine(*(flag(first[name], name) for name in names))


class Workers(click.ParamType[int | str]):
    """A number of processes, or "auto"."""

    name = "N|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Convert the text to a value of `Processes.workers`."""
        if str(value) == "auto":
            return "auto"
        return click.IntRange(1).convert(value, param, ctx)


WORKERS = combine(
    option(
        Heading.MACHINE,
        "--workers",
        type=Workers(),
        default="auto",
        show_default=True,
        metavar="N|auto",
        help="Number of processes that run models side by side. auto: as many as work, cores and memory "
        "allow; one on an accelerator.",
    ),
    option(
        Heading.MACHINE,
        "--executor",
        default="auto",
        show_default=True,
        metavar="NAME",
        help="Way to run models: serial (in this process), processes, ray, ray://HOST:PORT, or one that a package "
        "adds. Ray uses the cluster of RAY_ADDRESS, else that of this machine, else one of the run. auto: processes.",
    ),
)

ISOLATE = combine(
    option(
        Heading.MACHINE,
        "--isolate/--no-isolate",
        default=None,
        help="Run each model in a process of its own. A model that crashes, hangs or takes too much memory is"
        " left out. These are limits, not a sandbox.  [default: on Linux]",
    ),
    option(
        Heading.MACHINE,
        "--memory",
        type=click.FloatRange(0, min_open=True),
        default=4,
        show_default=True,
        metavar="GB",
        help="Memory limit of a model's process, on top of three times its weights. Not applied on an accelerator.",
    ),
)

DEVICE = option(
    Heading.MACHINE, "--device", default="cpu", show_default=True, help="Torch device: cpu, cuda, cuda:1, mps ..."
)

DTYPE = option(
    Heading.MACHINE,
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "auto"]),
    default="float32",
    show_default=True,
    help="Number format of matrix products. bfloat16 is less exact, and faster where the device supports it. "
    "auto: bfloat16 there, but not for IG, which needs the precision.",
)

MACHINE = combine(DEVICE, DTYPE)

ATTRIBUTION = combine(
    option(
        Heading.METHODS,
        "--attribution",
        metavar="NAME[:KEY=VALUE,...][,NAME ...]",
        help="Attribution backend, with settings to change: ig:steps=50,baseline=pad; or several side by "
        "side: shap,lime,ig. See `rank-models ls backends`.  [default: shap, if something reads attributions]",
    ),
    option(
        Heading.METHODS,
        "--hide",
        type=click.Choice(["separators"]),
        help="Hide separators beside words, by shap, lime and occlusion: without, a separator has the score 0.",
    ),
    option(
        Heading.METHODS,
        "--factors",
        "factor_names",
        metavar="NAMES|FILE.py",
        help="Factors to measure: comma-separated names, and files with your own.  [default: all; with --data "
        "those that need no attributions, and the one designed for the set]",
    ),
    option(
        Heading.METHODS,
        "--shortcut",
        metavar="LABEL",
        help="Label that a shortcut points to, for factors that explain it.  [default: that of the task, if it has "
        "one]",
    ),
)

DATA_DIR = option(
    Heading.ROWS, "--data-dir", type=PATH, help="Folder or file of the official data.  [default: the embedded sample]"
)

INCLUDE = option(Heading.ROWS, "--include", type=PATH, multiple=True, help="Folder with your own OOD sets.")

COLUMNS = option(
    Heading.ROWS,
    "--columns",
    metavar="ROLE=NAME,...",
    help="Columns of your own rows: text=premise,text=hypothesis,label=gold,id=key,rationale=why.",
)

TASK = option(
    Heading.ROWS,
    "--task",
    metavar="NAME",
    help="Task of your own rows: see `rank-models ls tasks`.  [default: that of the models' labels, or the known task "
    "that the labels fit]",
)

READING = combine(COLUMNS, *(flag(TableOptions, name) for name in ROW_OPTIONS))

OWN_ROWS = combine(
    TASK,
    option(
        Heading.ROWS,
        "--separator",
        metavar="SIGN",
        help="Sign between the labels of a row, with `--task label-sets`, such as ';'.",
    ),
    option(
        Heading.ROWS,
        "--threshold",
        type=click.FloatRange(0, 1, min_open=True),
        metavar="P",
        help="Least probability of a label that is given, with `--task label-sets`.  [default: 0.5]",
    ),
    READING,
)


PREFER = option(
    Heading.METHODS,
    "--prefer",
    metavar="cheaper:POINTS",
    help="Take the cheapest model within so many points of the best, or the fastest (faster:POINTS). Logs and servers "
    "state tokens and times, and `--prices` has prices.",
)

SEED = option(Heading.METHODS, "--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed.")

TARGET = option(
    Heading.METHODS,
    "--target",
    type=click.Choice(["declared", "shortcut", "evidence", "true", "predicted"]),
    default="declared",
    show_default=True,
    help="Label that attribution factors are about: as each declares, or one rule for all.",
)

STORE = option(
    Heading.MACHINE,
    "--store",
    "store_folder",
    metavar="FOLDER|URL",
    help="Folder that keeps answers and attributions; or s3://bucket/prefix, if s3fs is installed.  [default:"
    " the user's cache]",
)

FORMAT = option(
    Heading.OUTPUT,
    "--format",
    "format_name",
    metavar="NAME",
    help="Format of the report: see `rank-models ls formats`; junit and github are for CI.  [default: by the ending of "
    "--output (.html, .json ...), else table]",
)
OUTPUT = option(Heading.COMMON, "--output", "-o", type=PATH, help="File to write the report to.  [default: stdout]")
PLOTS = option(
    Heading.OUTPUT, "--plots", type=PATH, metavar="DIR", help="Folder to write the figures to, as PNG, SVG and PDF."
)
FORCE = option(Heading.OUTPUT, "--force", is_flag=True, help="Overwrite files that exist.")

STRICT = option(
    Heading.CHECKS,
    "--strict",
    is_flag=True,
    help="Make every guess an error, for CI: a dropped row, an unread column, an assumption.",
)

TALK = combine(
    STRICT,
    option(Heading.OUTPUT, "--verbose", "-v", is_flag=True, help="Show more messages on stderr."),
    option(Heading.OUTPUT, "--quiet", "-q", is_flag=True, help="Show only errors on stderr."),
)
