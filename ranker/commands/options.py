"""Options that several commands share, in groups; a group is a decorator, like the options that it is made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

from ranker.sources.references import RUNS

Command = Callable[..., None]
Option = Callable[[Command], Command]

PATH = click.Path(path_type=Path)


def together(*options: Option) -> Option:
    """One decorator for several options, which `--help` lists in the same order.

    Example:
        >>> @click.command()
        ... @together(click.option("--first"), click.option("--second"))
        ... def shown(**given): ...
        >>> [option.name for option in shown.params]
        ['first', 'second']
    """
    return lambda command: reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


LOADING = together(
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

MODELS = together(
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


ANSWERS = together(
    click.option("--prediction", multiple=True, metavar="COLUMN", help="Of tables: a column that holds answers."),
    click.option("--truth", metavar="COLUMN", help="Of tables: the column of the true labels."),
    click.option(
        "--answers",
        metavar="KIND",
        help="Of tables: what cells are: labels, probabilities, logits, log-likelihoods or outcomes.",
    ),
    click.option(
        "--metric",
        metavar="NAME",
        help="What to compare models by. Of logs: the recorded metric; of several tasks acc,sst2=f1 says it. Of "
        "answers with labels, too: macro-f1, micro-f1, weighted-f1, f1, f1:LABEL, mcc, kappa, balanced-accuracy; of "
        "labels that are numbers or in order pearson, spearman, mae.  [default: accuracy]",
    ),
    click.option(
        "--filter",
        metavar="NAME",
        help="Of logs of lm-evaluation-harness: which filter's answers; of several tasks as above.",
    ),
    click.option("--scorer", metavar="NAME", help="Of logs of Inspect: which scorer."),
    click.option(
        "--reducer",
        metavar="NAME",
        help="Of logs of Inspect: what the epochs of a row are reduced to: mean, median, mode, majority, max, "
        "at_least_K, pass_at_K or pass_k_K.  [default: the log's own]",
    ),
    click.option(
        "--runs",
        type=click.Choice(RUNS),
        help="Of several runs of one model: take the newest, their mean, or each as a model. FOLDER#TASK@RUN is one: "
        "by its number from the oldest (@1), by an argument (@seed=2), or by its time.  "
        "[default: the newest, where all have the same arguments]",
    ),
    click.option(
        "--cluster",
        metavar="COLUMN",
        help="Of your own rows, tables and logs: what says which rows belong together: questions on one passage.",
    ),
    click.option(
        "--range",
        "scale",
        type=(float, float),
        metavar="LOW HIGH",
        help="Of logs and outcomes: what is worst and best, such as 1 10 of a judge's marks.",
    ),
    click.option("--lower-is-better", is_flag=True, help="Of logs and outcomes: less is better."),
    click.option(
        "--errors",
        type=click.Choice(["left-out", "wrong"]),
        default="left-out",
        show_default=True,
        help="Of tables and logs: what becomes of answers that failed or were not scored.",
    ),
)


class Workers(click.ParamType[int | str]):
    """A number of processes, or "auto"."""

    name = "N|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """What was typed, as `Processes.workers` has it."""
        if str(value) == "auto":
            return "auto"
        return click.IntRange(1).convert(value, param, ctx)


WORKERS = click.option(
    "--workers",
    type=Workers(),
    default="auto",
    show_default=True,
    metavar="N|auto",
    help="Processes that run models side by side, each with its share of the cores; auto: as many as there is work, "
    "cores and memory for, and one on an accelerator.",
)

ISOLATE = together(
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

MACHINE = together(
    DEVICE,
    DTYPE,
    click.option("--batch-size", type=click.IntRange(1), metavar="TOKENS", help="Tokens a batch; changes no number."),
)

ATTRIBUTION = together(
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

ENCODING = click.option(
    "--encoding",
    metavar="NAME",
    help="Of files of rows and answers that are not UTF-8, such as cp1252.  [default: UTF-8, or what a file says]",
)

EMPTY_WORDS = click.option(
    "--empty-words",
    metavar="WORD,...",
    help="Of your own rows and tables: the words that are nothing, such as N/A,-1; '' for none but the empty "
    "cell.  [default: NA, N/A, nan, null and None, unless a label is called so]",
)

OWN_ROWS = together(
    click.option(
        "--task",
        metavar="NAME",
        help="Of your own rows: nli, paraphrase, ...  [default: the models' own labels, or the one that labels fit]",
    ),
    COLUMNS,
    EMPTY_WORDS,
    ENCODING,
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

TALK = together(
    STRICT,
    click.option("--verbose", "-v", is_flag=True, help="Say more on stderr."),
    click.option("--quiet", "-q", is_flag=True, help="Say only errors on stderr."),
)
