"""`rank-models shift`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ranker.commands import options, outputs, stderr
from ranker.commands.config import CONFIG
from ranker.commands.program import spoken
from ranker.errors import UsageError, look_up

if TYPE_CHECKING:
    from ranker.runs.shift import Selecting, ShiftRequest


@click.command()
@click.argument("texts", nargs=-1, metavar="TRAIN NEW ...")
@click.option("--by", metavar="COLUMN", help="Split the last file into a set for each value: domain, source, year.")
@click.option("--topics", type=int, metavar="K", help="Split the last file into K topics.")
@click.option(
    "--encoder",
    metavar="PATH",
    help="An encoder of sentences, a directory or a hub id: cosine and MMD^2 are measured by its vectors, too.",
)
@click.option(
    "--layer", type=click.IntRange(0), metavar="N", help="Of --encoder: whose output; 0: embeddings.  [default: last]"
)
@click.option(
    "--pooling",
    type=click.Choice(["mean", "cls"]),
    default="mean",
    show_default=True,
    help="Of --encoder: the mean of the tokens, or the first.",
)
@click.option(
    "--models",
    multiple=True,
    metavar="PATH",
    help="Ask this model about all rows; may be given several times. What the models lose in each new domain is shown, "
    "and whether a measure goes with it.",
)
@options.LOADING
@options.flags_from(*options.added())
@click.option(
    "--select",
    is_flag=True,
    help="Choose the sets to test models on as BOSS does: one of each text source, none too like the in-domain set, "
    "and of these the ones on which --models lose most.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="SET=SOURCE",
    help="With --select: where the texts of a set come from; once for each set.",
)
@click.option(
    "--similar",
    type=click.FloatRange(-1, 1),
    default=0.75,
    show_default=True,
    metavar="COSINE",
    help="With --select: from here on a set is too like the in-domain one.",
)
@click.option(
    "--sets", type=click.IntRange(1), default=3, show_default=True, help="With --select: how many are chosen."
)
@click.option("--keep", multiple=True, metavar="SET", help="With --select: a set that is never too like.")
@options.OWN_ROWS
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
def shift(**given: Any) -> None:
    """Say how far new domains are from the one that models were trained for.

    The first file is in-domain, the others are new; the name of an OOD set stands for its embedded rows. Labels are not
    needed. With --by or --topics one file is enough, whose parts are compared: the first part is in-domain.

    \b
    rank-models shift train.jsonl new.jsonl
    rank-models shift hans-sub hans-con paws
    rank-models shift train.jsonl new.jsonl --by source
    rank-models shift reviews.csv --topics 5 -o topics.html
    rank-models shift news.jsonl talks.jsonl --columns text=document,summary=summary
    rank-models shift train.jsonl a.jsonl b.jsonl c.jsonl --models bert-a --models bert-b
    """
    from ranker.commands import arguments
    from ranker.report import GENERAL
    from ranker.report import shift as report
    from ranker.runs.shift import answer_request

    stderr.log(given)
    format_name = arguments.format_name(given)
    look_up("format of shifts", format_name, GENERAL)
    outputs.check(given)
    found = answer_request(_question({**given, "more_models": ()}))
    found = replace(found, failures={model: spoken(why) for model, why in found.failures.items()})
    stderr.check_strict(given, found.notes)
    shown = report.document(found)
    outputs.write(outputs.rendered(shown, format_name, given["output"]), given["output"])
    if given["plots"] is not None:
        outputs.draw(shown.drawn(), given["plots"])
    if found.failures:
        raise SystemExit(1)


def _question(given: Mapping[str, Any]) -> ShiftRequest:
    """What was typed, as the flow takes it."""
    from ranker.commands import arguments
    from ranker.runs.shift import ReadOptions, SentenceEncoding, ShiftRequest
    from ranker.sources.options import from_flags
    from ranker.sources.tables.options import TableOptions

    columns, of = arguments.columns(given["columns"], ("summary",)), from_flags(TableOptions, given)
    return ShiftRequest(
        given["texts"],
        by=given["by"],
        topics=given["topics"],
        models=arguments.named_models(given),
        task=given["task"],
        reading=ReadOptions(columns, of.encoding, given["limits"], of.empty_words),
        selecting=_selecting(given),
        encoding=SentenceEncoding(given["encoder"], given["layer"], given["pooling"]) if given["encoder"] else None,
        seed=given["seed"],
        runtime=arguments.runtime(given, stderr.bars(given)),
    )


def _selecting(given: Mapping[str, Any]) -> Selecting | None:
    """How sets are chosen; None without `--select`.

    Raises:
        UsageError: a source that names no set, or options of `--select` without it.
    """
    from ranker.runs.shift import Selecting

    if not given["select"]:
        if given["sources"] or given["keep"]:
            raise UsageError("`--source` and `--keep` are for `--select`")
        return None
    sources = {}
    for one in given["sources"]:
        name, _, source = one.partition("=")
        if not source:
            raise UsageError(f"`--source` must be like train=web (got {one})")
        sources[name] = source
    return Selecting(sources, given["similar"], given["sets"], given["keep"])
