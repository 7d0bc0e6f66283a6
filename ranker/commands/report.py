"""`rank-models report`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import click

from ranker.commands import options, outputs
from ranker.commands.config import CONFIG
from ranker.errors import UsageError, look_up
from ranker.sources.options import Heading


@click.command(cls=options.HeadedCommand)
@click.argument("files", metavar="RUN ...", type=options.PATH, nargs=-1, required=True)
@options.FORMAT
@options.option(
    Heading.COMMON,
    "--output",
    "-o",
    type=options.PATH,
    help="File to write the report to; for several runs a folder.  [default: stdout]",
)
@options.PLOTS
@options.FORCE
@CONFIG
def report(**values: Any) -> None:
    """Report runs that were kept with `--save`, in any format; no model is loaded.

    \b
    rank-models --ood hans-sub --save run.json
    rank-models report run.json --format pairs
    rank-models report run.json --format html -o report.html
    rank-models report shap.json ig.json lime.json --format html -o pages
    """
    from ranker import report as reports
    from ranker.commands import arguments
    from ranker.report.ranking import document
    from ranker.results.ranking import Ranking

    several = len(values["files"]) > 1
    name = arguments.format_name({**values, "output": None} if several else values)  # a folder has no ending
    look_up("format", name, reports.FORMATS)
    if several:
        report_each(values, name)
        return
    outputs.check(values)
    ranking = Ranking.load(values["files"][0], values["limits"])
    with ExitStack() as after:  # also if writing the answer fails
        after.callback(outputs.plot, ranking, values["plots"])
        outputs.write_document(document(ranking), name, values["output"])


def report_each(values: Mapping[str, Any], name: str) -> None:
    """Report several runs, one file each; nothing is written unless every run can be read."""
    from ranker import report as reports
    from ranker.results.ranking import Ranking

    folder: Path | None = values["output"]
    if values["plots"] is not None:
        raise UsageError.about("plots", f"takes one run (got {len(values['files'])})", values["plots"])
    if folder is None:
        raise UsageError(f"`--output FOLDER` is needed for {len(values['files'])} runs, a file each", option="output")
    outputs.check_path(folder, "output", force=values["force"], folder=True)
    ending = look_up("format", name, reports.FORMATS)
    targets = [folder / f"{file.stem}.{ending}" for file in values["files"]]
    twice = [target.name for target, count in Counter(targets).items() if count > 1]
    if twice:
        raise UsageError(f"two of the runs would be written to {twice[0]}; report them one by one", place=twice[0])
    rankings = [Ranking.load(file, values["limits"]) for file in values["files"]]
    with suppress(OSError):  # writing the first file reports the reason
        folder.mkdir(exist_ok=True)
    for ranking, target in zip(rankings, targets, strict=True):
        outputs.write(reports.render(ranking, name), target)
