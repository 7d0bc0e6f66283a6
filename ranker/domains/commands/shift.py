"""`rank-models shift`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ranker.commands import options, outputs, stderr
from ranker.commands.config import CONFIG
from ranker.commands.program import name_flags, refuse
from ranker.errors import UsageError, look_up
from ranker.sources.options import Heading

if TYPE_CHECKING:
    from ranker.domains.results.shift import Selection
    from ranker.domains.runs.shift import ShiftRequest


@click.command(cls=options.HeadedCommand)
@click.argument("texts", nargs=-1, metavar="TRAIN NEW ...")
@options.option(
    Heading.ROWS,
    "--by",
    metavar="COLUMN",
    help="Column to split the last file by, into a set for each value: domain, source, year.",
)
@options.option(Heading.ROWS, "--topics", type=int, metavar="K", help="Number of topics to split the last file into.")
@options.option(
    Heading.MODELS,
    "--encoder",
    metavar="PATH",
    help="Sentence encoder (directory or hub id), to measure cosine and MMD^2 by its vectors, too.",
)
@options.option(
    Heading.MODELS,
    "--pooling",
    type=click.Choice(["mean", "cls"]),
    default="mean",
    show_default=True,
    help="Pooling of --encoder: the mean of the tokens, or the first.",
)
@options.option(
    Heading.COMMON,
    "--models",
    multiple=True,
    metavar="PATH",
    help="Models to ask about all rows. The report shows what they lose in each new domain, and whether a "
    "measure goes with it.",
)
@options.LOADING
@options.flags_from(*options.added_kinds())
@options.option(
    Heading.METHODS,
    "--select",
    is_flag=True,
    help="Choose the sets to test models on, as BOSS does: one of each text source, none too similar to the in-"
    "domain set, and of these the ones on which models lose most. The file is a table of numbers: set, source, "
    "similarity, model, value, kind.",
)
@options.option(
    Heading.METHODS,
    "--similar",
    type=click.FloatRange(-1, 1),
    default=0.75,
    show_default=True,
    metavar="COSINE",
    help="Similarity from which on --select drops a set as too similar to the in-domain one.",
)
@options.option(
    Heading.METHODS,
    "--sets",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Number of sets that --select chooses.",
)
@options.option(
    Heading.METHODS, "--keep", multiple=True, metavar="SET", help="Set that --select never drops as too similar."
)
@options.TASK
@options.READING
@options.MACHINE
@options.WORKERS
@options.ISOLATE
@options.STORE
@options.SEED
@options.FORMAT
@options.OUTPUT
@options.PLOTS
@options.FORCE
@CONFIG
@options.TALK
def shift(**values: Any) -> None:
    """Say how far new domains are from the one that models were trained for.

    The first file is in-domain, the others are new; the name of an OOD set stands for its embedded rows. Labels are not
    needed. With --by or --topics one file is enough, whose parts are compared: the first part is in-domain.

    \b
    rank-models shift train.jsonl new.jsonl
    rank-models shift hans-sub hans-con paws
    rank-models shift train.jsonl new.jsonl --by source
    rank-models shift reviews.csv --topics 5 -o topics.html
    rank-models shift news.csv talks.csv --columns text=document,summary=summary
    rank-models shift train.csv a.csv b.csv c.csv --models bert-a --models bert-b
    rank-models shift --select candidates.csv   a table of similarities and scores
    """
    from ranker.commands import arguments
    from ranker.domains.report import shift as report
    from ranker.domains.runs.shift import answer_request
    from ranker.report import GENERAL

    stderr.log(values)
    format_name = arguments.format_name(values)
    look_up("format of shifts", format_name, GENERAL)
    outputs.check(values)
    if values["select"]:
        selected = _select_from_table(values)
        stderr.check_strict(values, selected.notes)
        document = report.selection(selected)
        outputs.write_document(document, format_name, values["output"])
        return
    refuse(values, ("keep",), "is for `--select`")
    distances = answer_request(_question({**values, "more_models": ()}))
    distances = replace(distances, failures={model: name_flags(reason) for model, reason in distances.failures.items()})
    stderr.check_strict(values, distances.notes)
    document = report.document(distances)
    outputs.write_document(document, format_name, values["output"])
    if values["plots"] is not None:
        outputs.draw(document.drawn(), values["plots"])
    if distances.failures:
        raise SystemExit(1)


def _select_from_table(values: Mapping[str, Any]) -> Selection:
    """Choose test sets from a table of numbers."""
    from ranker.domains.select import select_sets

    refuse(values, ("models", "by", "topics", "encoder", "plots"), "is for texts, and `--select` reads a table")
    if len(values["texts"]) != 1:
        raise UsageError.about("select", f"reads one table (got {len(values['texts'])})", len(values["texts"]))
    return select_sets(
        values["texts"][0],
        similar=values["similar"],
        sets=values["sets"],
        keep=values["keep"],
        limits=values["limits"],
    )


def _question(values: Mapping[str, Any]) -> ShiftRequest:
    """Turn the options into a request."""
    from ranker.commands import arguments
    from ranker.domains.runs.shift import ReadOptions, ShiftRequest
    from ranker.sources.options import from_flags
    from ranker.sources.tables.options import TableOptions

    columns, options = arguments.columns(values["columns"], ("summary",)), from_flags(TableOptions, values)
    return ShiftRequest(
        values["texts"],
        by=values["by"],
        topics=values["topics"],
        models=arguments.named_models(values),
        task=values["task"],
        reading=ReadOptions(columns, options.encoding, values["limits"], options.empty_words),
        encoder=values["encoder"],
        pooling=values["pooling"],
        seed=values["seed"],
        runtime=arguments.runtime(values, stderr.bars(values)),
    )
