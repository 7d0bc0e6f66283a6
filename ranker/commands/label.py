"""`rank-models label`."""

from __future__ import annotations

import logging
import shlex
import sys
from contextlib import ExitStack
from functools import partial
from typing import Any

import click
from click.core import ParameterSource

from ranker.commands import options, outputs, stderr
from ranker.commands.config import CONFIG, TABLE
from ranker.commands.program import refuse
from ranker.errors import UsageError, check_installed, look_up
from ranker.sources.options import Heading

log = logging.getLogger("ranker")

FORMATS = {"csv": ".csv", "label-studio": ".json", "doccano": ".jsonl"}
"""Format of a batch -> suffix of its file."""


LOG_OPTIONS = ("strict", "verbose", "quiet")
"""Options about the messages of a command."""


@click.command(cls=options.HeadedCommand)
@options.option(
    Heading.COMMON,
    "--pool",
    type=options.ROWS_PATH,
    required=True,
    metavar="FILE",
    help="Rows of the new domain (.jsonl, .csv, .tsv, .parquet), or a folder or 'pattern' of Parquet files.",
)
@options.option(
    Heading.COMMON,
    "--votes",
    is_flag=True,
    help="Ask which of two models' answers to a row is better, instead of labels. Names are hidden. `--votes FILE` of "
    "`run` reads the file.",
)
@options.option(
    Heading.COMMON,
    "--marks",
    is_flag=True,
    help="Ask for a mark of each model's answer to a row, from 1 to 5, or the digits of --range. Names are hidden.",
)
@options.option(
    Heading.METHODS,
    "--batch",
    type=click.IntRange(1),
    metavar="N",
    help="Write N rows to a file to be filled in, instead of asking. Ten rows at once tell about as much as five asked "
    "one at a time.",
)
@options.option(
    Heading.ROWS,
    "--labelled",
    type=options.ROWS_PATH,
    multiple=True,
    metavar="FILE",
    help="Rows that others have labelled, as for `run --data`. Repeat for several files.",
)
@options.option(
    Heading.ROWS,
    "--documents",
    type=options.PATH,
    metavar="FILE",
    help="Texts of the documents that are graded with `--task ranking`, such as BEIR's corpus.jsonl.",
)
@options.option(
    Heading.COMMON,
    "--ood",
    "ood_name",
    metavar="NAME",
    help="OOD set of the same task, instead of `--task`.",
)
@options.OWN_ROWS
@options.option(
    Heading.METHODS,
    "--rule",
    metavar="NAME",
    help="Goal of picking rows: best (find the best model), order (of all models), or random (estimate "
    "accuracies).  [default: best; order, if answers are no labels]",
)
@options.option(
    Heading.METHODS,
    "--until",
    type=click.FloatRange(0, 1),
    default=0.965,
    show_default=True,
    metavar="P",
    help="Probability that the leader is within a point of the best, at which to stop.",
)
@options.option(
    Heading.METHODS,
    "--shortfall",
    type=click.FloatRange(0, 100),
    metavar="POINTS",
    help="Points that are expected to be lost by taking the leader, at which to stop as well.  [default: 1 if answers "
    "are no labels, else none]",
)
@options.option(
    Heading.METHODS, "--budget", type=click.IntRange(1), metavar="N", help="Stop once the file holds N answers."
)
@options.option(Heading.METHODS, "--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed.")
@options.option(
    Heading.OUTPUT, "--annotator", metavar="NAME", help="Name of the person who answers.  [default: the user's name]"
)
@options.option(
    Heading.OUTPUT, "--guidelines", type=options.PATH, metavar="FILE", help="Text file with guidelines, shown by a key."
)
@options.option(Heading.MACHINE, "--plain", is_flag=True, help="Read one key a line, for screen readers and scripts.")
@options.option(
    Heading.MACHINE,
    "--web",
    is_flag=True,
    help="Ask on a page in the browser instead of the terminal.",
)
@options.option(
    Heading.MACHINE,
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="Port of `--web`. To label on another device, run `ssh -L N:127.0.0.1:N HOST` there, and open the address "
    "that is printed.  [default: a free one]",
)
@options.MODELS
@options.VOTERS
@options.JUDGES
@options.flags_from(*options.records(), without=options.NOT_FOR_LABEL)
@options.INCLUDE
@options.MACHINE
@options.WORKERS
@options.ISOLATE
@options.STORE
@options.option(
    Heading.OUTPUT,
    "--format",
    "format_name",
    default="csv",
    show_default=True,
    metavar="NAME",
    help="Format of the file of --batch: csv, label-studio or doccano.",
)
@options.option(
    Heading.COMMON,
    "--output",
    "-o",
    type=options.PATH,
    metavar="FILE",
    help="File that keeps the answers; with --batch, the rows to be filled in.",
)
@options.FORCE
@CONFIG
@options.TALK
def label(**values: Any) -> None:
    """Label rows one after the other, each the one whose answer tells most about the models, until it is enough.

    \b
    rank-models label --pool rows.jsonl --models bert-a bert-b -o labels.csv
    rank-models label --pool rows.jsonl --models bert-a bert-b -o labels.csv --web
    rank-models label --pool rows.jsonl --models a b --batch 10 -o ten.csv
    rank-models label --pool rows.jsonl --models a.csv b.csv --votes -o votes.csv

    The file is at all times one that `--data` reads. Each answer is on the disk before the next row is shown, and the
    same command goes on where one stopped. With --batch rows are written to be labelled elsewhere, without what models
    say of them. None of them is chosen by the answers to others, so they tell less.
    """
    stderr.log(values)
    look_up("format", values["format_name"], FORMATS)
    if excluded := next((name for name in ("batch", "plain") if values["web"] and values[name]), None):
        raise UsageError.about("web", f"asks on a page; leave out `--{excluded}`", True)
    if not values["web"]:
        refuse(values, ["port"], "is for `--web`")
    if values["batch"]:
        _batch(values)
    else:
        _session(values)


def report_command() -> str:
    """Return the command that ranks the models by the answers of a session: with its options that `run` has, too.

    Marks without a judge are read without the pool.
    """
    from ranker.commands.run import run

    context = click.get_current_context()
    typed_values = context.params
    shared = {parameter.name for parameter in run.params} - {"pool", "output", "force", "seed", "votes", *LOG_OPTIONS}
    flag = "--votes" if typed_values["votes"] else "--data"
    arguments = ["rank-models", flag, typed_values["output"]]
    if not typed_values["marks"] or typed_values["judges"]:
        arguments += ["--pool", typed_values["pool"]]
    if typed_values["marks"] and typed_values["scale"] is None:
        arguments += ["--range", "1", "5"]
    for parameter in context.command.params:
        name = parameter.name or ""
        value: Any = context.params.get(name)
        typed = context.get_parameter_source(name) is not ParameterSource.DEFAULT
        if name == "models":
            arguments += [parameter.opts[0], *value, *context.params["more_models"]] if typed else []
        elif getattr(parameter, "several", False):
            arguments += [parameter.opts[0], *value] if typed else []
        elif typed and name in shared and isinstance(parameter, click.Option) and name != TABLE:
            flag = parameter.secondary_opts[0] if parameter.is_flag and not value else parameter.opts[0]
            several = value if parameter.multiple else (value,)
            values = [()] if parameter.is_flag else [text if parameter.nargs > 1 else (text,) for text in several]
            arguments += [word for words in values for word in (flag, *words)]
    if not typed_values["metric"] and (metric := _metric(typed_values)):
        arguments += ["--metric", metric]
    return shlex.join(map(str, arguments))


def _metric(values: dict[str, Any]) -> str | None:
    """Return the metric of ``--metric``, or that of a session of the task; None for the outcome."""
    from ranker.runs.task import label_metric

    return values["metric"] or label_metric(values["task"]) or None


def _settings(values: dict[str, Any]) -> Any:
    from ranker.results.choice import LOST_IN_SESSION
    from ranker.runs.label_predictions import RULES, LabelSettings
    from ranker.runs.task import takes_values

    usual, lost = ("order", LOST_IN_SESSION) if takes_values(values["task"]) else ("best", None)
    rule_name = look_up("rule", values["rule"] or usual, dict(zip(RULES, RULES, strict=True)))
    lost = lost if values["shortfall"] is None else values["shortfall"] / 100
    return LabelSettings(rule_name, until=values["until"], seed=values["seed"], shortfall=lost)


def _batch(values: dict[str, Any]) -> None:
    from ranker.commands import label_arguments, session_files
    from ranker.datasets.identity import row_key
    from ranker.files.exports import CANNOT_TELL
    from ranker.labelling import export
    from ranker.runs.task import takes_values

    outputs.check(values)
    suffix = "" if values["output"] is None else values["output"].suffix.casefold()
    if suffix not in ("", FORMATS[values["format_name"]]):
        ending, path = FORMATS[values["format_name"]], values["output"]
        raise UsageError.about("output", f"must be a {ending} file (got {path})", path, allowed=[ending])
    if values["format_name"] != "csv" and takes_values(values["task"]):
        text = f"`--format {values['format_name']}` is for labels; texts are written into a csv"
        raise UsageError(text, option="format", value=values["format_name"])
    settings = _settings(values)
    session = session_files.open_session(
        label_arguments.labelling_request(values, settings, stderr.bars(values)), going_on=False
    )
    rows = session.labelling.next_batch(values["batch"])
    if settings.rule != "random":
        log.warning(
            "the %s on these rows will rank the models, and is no estimate of it in the domain; for an estimate label "
            "rows drawn at random (`--rule random`)",
            values["metric"] or "accuracy",
        )
    if balance := session.labelling.balance(rows):
        log.warning("%s", balance)
    table = [session.pool.cells.get(row_key(row), {}) for row in rows]
    labels, studio = session.pool.labels, values["format_name"] == "label-studio"
    configuration = export.configuration(list(table[0]), labels, CANNOT_TELL) if studio else ""
    outputs.write(export.render(values["format_name"], rows, table, labels, session.column), values["output"])
    if studio and values["output"] is not None:
        path_beside = values["output"].with_suffix(".xml")
        outputs.check_path(path_beside, "output", force=values["force"])
        outputs.write(configuration, path_beside)
        log.warning("%s is the configuration of its project", path_beside)
    if session.labelling.failures:
        raise SystemExit(1)


def _guidelines(values: dict[str, Any]) -> str:
    """Return the text of ``--guidelines``; "" without it."""
    from ranker.records import read_text

    path = values["guidelines"]
    return "" if path is None else str(read_text(path, "`--guidelines`", str, values["limits"], limit="guidelines"))


def _session(values: dict[str, Any]) -> None:
    from ranker.commands import label_arguments, labelling_ui, session_files
    from ranker.errors import RankModelsError
    from ranker.runtime.storage import lock_file

    if values["format_name"] != "csv":
        raise UsageError.about("format", "is for `--batch`", values["format_name"])
    path = values["output"]
    if path is None:
        raise UsageError.about("output", "is needed: the file that answers are kept in; or `--batch N`, to ask nothing")
    if path.suffix.casefold() not in ("", ".csv"):
        raise UsageError.about("output", f"must be a .csv file (got {path})", path, allowed=[".csv"])
    outputs.check({**values, "force": True})
    guidelines = _guidelines(values)
    settings = _settings(values)
    with ExitStack() as stack:
        if values["web"]:
            check_installed("`--web`", "web", option="web")
            from ranker.commands import label_web

            bound = stack.enter_context(label_web.bind(values["port"] or 0))
            ask = partial(label_web.serve, bound=bound)
        else:
            terminal = sys.stdin.isatty() and sys.stdout.isatty() and not values["plain"]
            ask = partial(labelling_ui.ask, ui=labelling_ui.Screen() if terminal else labelling_ui.Lines())
        try:
            stack.enter_context(lock_file(path))
        except BlockingIOError as error:
            text = f"`--output`: another process is labelling into {path}; end it first"
            raise UsageError(text, option="output", value=path) from error
        except OSError as error:
            raise outputs.path_error("output", path, f"cannot be written: {error.strerror}", RankModelsError) from error
        session = session_files.open_session(
            label_arguments.labelling_request(
                {**values, "metric": _metric(values)}, settings, stderr.bars(values), report_command()
            ),
            going_on=path.exists(),
        )
        ask(session, guidelines=guidelines)
    if session.labelling.failures:
        raise SystemExit(1)
