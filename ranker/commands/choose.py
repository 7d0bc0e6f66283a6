"""`rank-models choose`."""

from __future__ import annotations

import logging
from typing import Any

import click

from ranker.commands import options, outputs, stderr
from ranker.commands.config import CONFIG
from ranker.errors import UsageError, look_up

log = logging.getLogger("ranker")


@click.command()
@click.option(
    "--pool",
    type=options.PATH,
    required=True,
    metavar="FILE",
    help="Rows of the domain (.jsonl, .csv, .tsv, .parquet).",
)
@click.option(
    "--labels", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="How many to choose."
)
@click.option(
    "--labelled", type=options.PATH, metavar="FILE", help="Rows that have a label already, as for `run --data`."
)
@click.option("--ood", "ood_name", metavar="NAME", help="An OOD set of the same task, instead of `--task`.")
@options.OWN_ROWS
@click.option(
    "--rule",
    default="variance-reduction",
    show_default=True,
    metavar="NAME",
    help="variance-reduction, facility, disagreement or random.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random rule.")
@options.MODELS
@options.ANSWERS
@options.INCLUDE
@options.MACHINE
@options.WORKERS
@options.ISOLATE
@options.STORE
@options.OUTPUT
@options.FORCE
@CONFIG
@options.TALK
def choose(**given: Any) -> None:
    """Choose the rows whose labels would tell most about which model is best, as a CSV file with a column to fill in.

    \b
    rank-models choose --pool rows.jsonl --models bert-a bert-b --labels 10 -o to-label.csv
    (fill in its column "label")
    rank-models --data to-label.csv --pool rows.jsonl --models bert-a bert-b

    The file has all columns of the pool. Five labels now and five later: `--labelled` names those that are there, and
    so does a column of labels in the pool. The choice looks at the models' predictions only, and is the same each time.
    """
    from ranker.commands import arguments
    from ranker.datasets import readers, readings, sheets
    from ranker.runs import choose as labelling
    from ranker.runs.gather import looked
    from ranker.statistics import choice

    stderr.log(given)
    look_up("rule", given["rule"], choice.RULES)
    outputs.check(given)
    if given["output"] is not None and given["output"].suffix.casefold() not in ("", ".csv"):
        raise UsageError(f"`--output` must be a .csv file (got {given['output']})")
    models = looked(arguments.suite(given, given["ood_name"]))
    arguments.point_out(given, models)
    columns = arguments.columns(given["columns"])
    pool = readers.pool(given["pool"], columns, given["encoding"] or "", given["limits"])
    if hint := readings.swapped(pool):
        log.warning("%s: %s", given["pool"], hint)
    task = arguments.task(given, models, pool)
    rows = readers.unlabelled(pool)
    done = [row for row, label in zip(rows, readers.written(pool), strict=True) if label is not None]
    chosen = labelling.choose(
        models,
        task,
        rows,
        given["labels"],
        labelled=[*done, *arguments.labelled(given, task)],
        rule=given["rule"],
        seed=given["seed"],
        runtime=arguments.runtime(given, stderr.bars(given)),
    )
    if given["rule"] != "random":
        log.warning(
            "the accuracy on these rows will rank the models, and is no estimate of how accurate they are; "
            "for an estimate label rows drawn at random (`--rule random`)"
        )
    log.warning("%s", chosen.balance)
    outputs.write(sheets.to_fill_in(pool, chosen.rows, *columns.get("label", [])), given["output"])
    if chosen.failures:
        raise SystemExit(1)
