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


@click.command()
@click.argument("files", metavar="RUN ...", type=options.PATH, nargs=-1, required=True)
@options.FORMAT
@click.option(
    "--pairs", is_flag=True, help="Short for `--format pairs`: every pair of models; of a decision every row, too."
)
@click.option(
    "--output",
    "-o",
    type=options.PATH,
    help="A file for the answer; of several runs a folder, for a file each.  [default: stdout]",
)
@options.PLOTS
@options.FORCE
@CONFIG
def report(**given: Any) -> None:
    """Report runs that were kept with `--save`, in any format; no model is loaded.

    \b
    rank-models --ood hans-sub --save run.json
    rank-models report run.json --pairs
    rank-models report run.json --format html -o report.html
    rank-models report shap.json ig.json lime.json --format html -o pages     pages/shap.html, ...
    """
    from ranker import report as reports
    from ranker.commands import arguments
    from ranker.report.ranking import document
    from ranker.results.ranking import Ranking

    several = len(given["files"]) > 1
    name = arguments.format_name({**given, "output": None} if several else given)  # a folder's name says no format
    look_up("format", name, reports.FORMATS)
    if several:
        each(given, name)
        return
    outputs.check(given)
    ranking = Ranking.load(given["files"][0], given["limits"])
    answer = outputs.rendered(document(ranking), name, given["output"])
    with ExitStack() as rest:  # written, whatever becomes of the answer
        rest.callback(outputs.plot, ranking, given["plots"])
        outputs.write(answer, given["output"])


def each(given: Mapping[str, Any], name: str) -> None:
    """Report several runs, a file each; nothing is written unless every run can be read.

    Args:
        given: what click read.
        name: of the format.

    Raises:
        UsageError: no folder is named for the files, two of them would have one name, or an option takes one run.
        RankModelsError: a run cannot be read, or a file cannot be written.
    """
    from ranker import report as reports
    from ranker.results.ranking import Ranking

    folder: Path | None = given["output"]
    if given["plots"] is not None:
        raise UsageError(f"`--plots` takes one run (got {len(given['files'])})")
    if folder is None:
        raise UsageError(f"`--output FOLDER` is needed for {len(given['files'])} runs, a file each")
    outputs.check_path(folder, "`--output`", force=given["force"], folder=True)
    ending = look_up("format", name, reports.FORMATS).ending
    targets = [folder / f"{file.stem}.{ending}" for file in given["files"]]
    twice = [target.name for target, count in Counter(targets).items() if count > 1]
    if twice:
        raise UsageError(f"two of the runs would be written to {twice[0]}; report them one by one")
    rankings = [Ranking.load(file, given["limits"]) for file in given["files"]]
    with suppress(OSError):  # the first file says why there can be no folder
        folder.mkdir(exist_ok=True)
    for ranking, target in zip(rankings, targets, strict=True):
        outputs.write(reports.render(ranking, name), target)
