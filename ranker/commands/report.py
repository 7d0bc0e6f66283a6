"""`rank-models report`."""

from __future__ import annotations

from typing import Any

import click

from ranker.commands import options, outputs
from ranker.errors import look_up


@click.command()
@click.argument("file", metavar="RUN", type=options.PATH)
@click.option("--format", "format_name", metavar="NAME", help="See `rank-models ls formats`.  [default: table]")
@click.option("--pairs", is_flag=True, help="Short for `--format pairs`: every pair of models.")
@click.option("--compare", "other", metavar="RUN2", type=options.PATH, help="Say what changed from RUN to RUN2.")
@options.OUTPUT
@options.PLOTS
@options.FORCE
def report(**given: Any) -> None:
    """Report a run that was kept with `--save`, in any format; no model is loaded.

    \b
    rank-models --ood hans-sub --save run.json
    rank-models report run.json --pairs
    rank-models report run.json --format html -o report.html
    rank-models report run.json --compare later.json       as a table, json, markdown or csv
    """
    from ranker import report as reports
    from ranker.commands import arguments
    from ranker.ranking import Ranking

    name = arguments.format_name(given)
    look_up("format", name, reports.FORMATS)
    outputs.check(given)
    ranking = Ranking.load(given["file"])
    outputs.plot(ranking, given["plots"])
    if given["other"] is None:
        outputs.write(reports.render(ranking, name), given["output"])
        return
    from ranker.comparison import compare
    from ranker.report.comparison import render

    outputs.write(render(compare(ranking, Ranking.load(given["other"])), name), given["output"])
