"""`rank-models compare`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ranker.commands import options, outputs, stderr
from ranker.commands.config import CONFIG
from ranker.errors import UsageError, look_up
from ranker.sources.options import Heading

if TYPE_CHECKING:
    from ranker.report.document import Document

RUN_SUFFIX = ".json"
"""File name suffix of a saved run."""

OF_SETS = ("missing", "rope", "axes", "percent", "lower_is_better", "measures", "level")
"""Options of comparisons over sets."""


@click.command(cls=options.HeadedCommand)
@click.argument("files", metavar="FILE ...", type=options.PATH, nargs=-1, required=True)
@options.option(
    Heading.ROWS,
    "--missing",
    metavar="RULE",
    default="sets",
    show_default=True,
    help="Treatment of missing values: `sets` drops the sets that have some, `models` drops the models, `ranks` "
    "gives the middle rank.",
)
@options.option(
    Heading.METHODS,
    "--rope",
    type=click.FloatRange(0, 1),
    default=0.01,
    show_default=True,
    help="Difference up to which two models count as equally good, as a fraction.",
)
@options.option(
    Heading.METHODS,
    "--axes",
    metavar="NAME",
    default="plain",
    show_default=True,
    help="Axes of trends: `plain`, or `probit` for normal quantiles.",
)
@options.option(
    Heading.ROWS, "--percent", is_flag=True, default=None, help="Read all values as percentages, also those below 1."
)
@options.option(
    Heading.ROWS, "--lower-is-better", is_flag=True, help="Rank low values first, such as error rates or perplexities."
)
@options.option(
    Heading.ROWS,
    "--measures",
    type=options.PATH,
    metavar="FILE",
    help="Table of measures of the sets, a row for each set, to correlate with values and drops.",
)
@options.option(
    Heading.ROWS, "--level", metavar="NAME", help="Level of the sets that count, by the column `level`.  [default: all]"
)
@options.STRICT
@options.SEED
@options.FORMAT
@options.OUTPUT
@options.PLOTS
@options.FORCE
@CONFIG
def compare(**values: Any) -> None:
    """Say who leads over many sets, what in-domain values say of others, or what changed between two runs.

    A table has the columns model, set, value and, where they are known, se, n, group (the task of a set) and kind
    (in-domain or ood) and level (genre, style, topic); a file or several. Or it is wide, with a row for each model and
    a column for each set. Runs that were kept with `--save` are read as such a table; of two runs on
    the same set you see what changed. So are suites, and what they state of their members.

    \b
    rank-models compare results.csv
    rank-models compare results.csv --format html -o page.html        with figures
    rank-models compare scores.csv --measures measures.csv   what goes with them?
    rank-models compare hans.json paws.json msgs.json        runs that were kept
    rank-models compare my-suite/                            accuracies of a suite
    rank-models compare run.json later.json                  what changed
    """
    from ranker.commands import arguments
    from ranker.report import GENERAL

    name = arguments.format_name(values)
    look_up("format of comparisons", name, GENERAL)
    outputs.check(values)
    document = compare_files(values)
    with ExitStack() as after:  # also if writing the answer fails
        if values["plots"] is not None:
            if not (drawings := document.drawn()):
                raise UsageError("`--plots`: there is nothing to draw", option="plots")
            after.callback(outputs.draw, drawings, values["plots"])
        outputs.write_document(document, name, values["output"])


def compare_files(values: Mapping[str, Any]) -> Document:
    """Return the comparison of files: the changes between two runs on one set, or the leaders over sets."""
    from ranker.datasets.stated import is_suite
    from ranker.domains.compare import compare as over_sets
    from ranker.domains.report import over_sets as several
    from ranker.report import changes as changed
    from ranker.results.ranking import Ranking
    from ranker.runs.changes import what_changed

    files: tuple[Path, ...] = values["files"]
    run_files = [file for file in files if file.suffix == RUN_SUFFIX and not is_suite(file) and _is_run(file)]
    if run_files and len(run_files) < len(files):
        raise UsageError(
            f"tables and runs that were kept cannot be mixed (got {files[0]} and {files[-1]})", value=files
        )
    runs = [Ranking.load(file, values["limits"]) for file in run_files]
    if len(runs) == 1:
        raise UsageError(f"one run has nothing to be compared with (got {files[0]})", place=files[0])
    if (
        len(runs) == 2
        and runs[0].mode == runs[1].mode
        and (runs[0].mode == "decision" or runs[0].header.ood == runs[1].header.ood)
    ):
        _check_options_of_changes()
        return changed.document(what_changed(*runs))
    comparison = over_sets(
        runs or list(files),
        missing=values["missing"],
        rope=values["rope"],
        axes=values["axes"],
        percent=values["percent"],
        lower_is_better=values["lower_is_better"],
        measures=values["measures"],
        level=values["level"],
        seed=values["seed"],
        limits=values["limits"],
    )
    stderr.check_strict(values, comparison.notes)

    return several.document(comparison)


def _check_options_of_changes() -> None:
    """Refuse options that say how models are compared over sets, where two runs on one set are."""
    context = click.get_current_context()
    for name in OF_SETS:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError.about(name, "is for models over sets; of two runs on one set you see what changed")


def _is_run(file: Path) -> bool:
    """Return True if a JSON file begins as a saved run, and is no table."""
    from ranker.files.text import read_start

    return b'"schema_version"' in read_start(file, 1 << 12)
