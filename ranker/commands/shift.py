"""`rank-models shift`."""

from __future__ import annotations

from typing import Any

import click

from ranker.commands import options, outputs, stderr
from ranker.commands.config import CONFIG
from ranker.errors import look_up


@click.command()
@click.argument("texts", nargs=-1, metavar="TRAIN NEW ...")
@click.option("--by", metavar="COLUMN", help="Split the last file into a set for each value: domain, source, year.")
@click.option("--topics", type=int, metavar="K", help="Split the last file into K topics.")
@options.COLUMNS
@options.ENCODING
@options.SEED
@options.FORMAT
@options.OUTPUT
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
    """
    from ranker.commands import arguments
    from ranker.datasets.encodings import check
    from ranker.report import document
    from ranker.report import shift as report
    from ranker.runs.shift import Reading, shift_of

    stderr.log(given)
    format_name = arguments.format_name(given)
    look_up("format of shifts", format_name, document.FORMATS)
    outputs.check(given)
    reading = Reading(
        arguments.columns(given["columns"], ("summary",)), check(given["encoding"] or ""), given["limits"]
    )
    found = shift_of(given["texts"], given["by"], given["topics"], reading, given["seed"], stderr.bars(given))
    outputs.write(document.render(report.document(found), format_name), given["output"])
