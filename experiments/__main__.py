"""`python -m experiments`, in a copy of the repository: parses, calls, prints."""

from __future__ import annotations

import dataclasses
import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ranker.commands import options, outputs, stderr
from ranker.commands.program import run_program, say
from ranker.errors import UsageError, look_up

if TYPE_CHECKING:
    from experiments.published import Exhibit, Published, Tier
    from experiments.recipe import Base
    from experiments.tables import Cell, Run

ENDINGS = {"md": "markdown", "csv": "csv"}
"""How the name of a file ends -> the format that it holds."""

PICTURES = ("png", "svg", "pdf")

ATTRIBUTIONS = click.option(
    "--attribution",
    "attributions",
    multiple=True,
    default=["shap", "lime", "ig"],
    show_default=True,
    metavar="NAME[:SETTINGS]",
    help="Attribution backend; may be given repeatedly.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rank-models")
def cli() -> None:
    """Make suites of models, and reproduce the published tables with them."""


@cli.command()
@click.argument("recipe")
@click.option("--data-dir", type=options.PATH, help="Folder that the recipe's files are relative to.")
@click.option("--output", "-o", type=options.PATH, help="The suite's folder. [default: suites/NAME]")
@click.option("--base", "bases", multiple=True, metavar="NAME=PATH", help="Another directory or hub id for a base.")
@click.option(
    "--training",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of the training: another one draws other rows, weights and batches.",
)
@options.INCLUDE
@options.DEVICE
@click.option("--bf16", is_flag=True, help="Train in bfloat16 where that is safe, and measure in it.")
@click.option(
    "--portable",
    is_flag=True,
    help="Train with kernels that all x86-64 processors share: the same weights on each, to the last bit, "
    "but more slowly.",
)
def inoculate(
    recipe: str,
    data_dir: Path | None,
    output: Path | None,
    bases: Sequence[str],
    training: int,
    include: Sequence[Path],
    device: str,
    bf16: bool,
    portable: bool,
) -> None:
    """Train and measure the suite of RECIPE: a TOML file, or the name of a recipe that comes with the product.

    A member that is complete is not trained again: a killed run goes on where it was. The path of the suite.json goes
    to stdout, for `rank-models --models`.
    """
    from experiments import recipe as recipes

    loaded = recipes.load(recipe).training(training)
    loaded = dataclasses.replace(loaded, bases=with_paths(loaded.bases, bases))
    from transformers.utils.logging import disable_progress_bar

    from experiments.inoculate import TrainingMachine
    from experiments.inoculate import inoculate as make_suite

    disable_progress_bar()  # type: ignore[no-untyped-call]  # there is one bar a training already
    machine = TrainingMachine(device, bf16, portable)
    say(make_suite(loaded, data_dir, output or Path("suites") / loaded.name, machine, include))


@cli.command()
@click.argument("names", nargs=-1, metavar="[SUITE ...]")
@click.option("--output", "-o", type=options.PATH, required=True, help="A folder for the suites.")
@click.option("--within", type=click.FloatRange(0), default=3.0, show_default=True, help="Points that are near enough.")
def rebuild(names: Sequence[str], output: Path, within: float) -> None:
    """Make embedded suites again from their recipes, all of them by default, and compare the accuracies.

    They are trained as `inoculate --portable` does. Complete models in the folder are not trained again. Exit status 1:
    some accuracy is further off than --within.
    """
    from experiments import recipe as recipes
    from experiments.inoculate import TrainingMachine, inoculate
    from experiments.rebuild import TableDifference, differences
    from ranker.sources import suites

    embedded, machine = suites.bundled_suites(), TrainingMachine(portable=True)
    deviations: list[TableDifference] = []
    for name, folder in {name: look_up("embedded suite", name, embedded) for name in names or embedded}.items():
        member_folder = inoculate(recipes.load(name), None, output / name, machine)
        deviations += differences(folder, member_folder.parent)
    for difference in deviations:
        say(difference)
    far = sum(not difference.points <= within for difference in deviations)
    worst = max(difference.points for difference in deviations)
    say(f"{len(deviations)} accuracies, {far} of them more than {within:g} points off; the furthest {worst:.1f}")
    if far:
        raise SystemExit(1)


@cli.command()
@click.argument("names", nargs=-1, metavar="[SUITE ...]")
@click.option("--output", "-o", type=options.PATH, required=True, help="A folder for the trainings and the numbers.")
@click.option("--trainings", type=click.IntRange(1), default=5, show_default=True, help="Trainings of each suite.")
@ATTRIBUTIONS
@click.option("--population", type=click.IntRange(1), metavar="N", help="Examples a set that are explained.")
@options.DEVICE
@options.DTYPE
@options.WORKERS
@options.STORE
def replicate(
    names: Sequence[str],
    output: Path,
    trainings: int,
    attributions: Sequence[str],
    population: int | None,
    **machine_options: Any,
) -> None:
    """Train embedded suites several times, all by default, and measure how far designed factors are from accuracy.

    The first training is that of the embedded suites, and the others differ in their seeds. A killed run goes on where
    it was, since no model is trained or asked twice. The output is two tables: trainings.csv, and means.csv with
    intervals over trainings and rows.
    """
    from experiments import recipe as recipes
    from experiments import replication
    from experiments.inoculate import TrainingMachine, inoculate
    from ranker.commands import arguments
    from ranker.sources import suites

    embedded, machine = suites.bundled_suites(), TrainingMachine(portable=True)
    runtime = arguments.runtime(machine_options, stderr.bars({"quiet": False}))
    output.mkdir(parents=True, exist_ok=True)
    measured: list[replication.Distance] = []
    for training in range(1, trainings + 1):
        for name, folder in {name: look_up("embedded suite", name, embedded) for name in names or embedded}.items():
            if training > 1:
                recipe = recipes.load(name).training(training)
                folder = inoculate(recipe, None, output / f"{training}" / name, machine).parent
            measured += replication.distances(folder, training, attributions, runtime, population)
            outputs.write(replication.written(measured), output / "trainings.csv")
            outputs.write(replication.written(list(replication.means(measured))), output / "means.csv")
    say(output / "means.csv")


@cli.command()
@click.argument("suite_folders", nargs=-1, metavar="[SUITE ...]")
@click.option("--cases", type=options.PATH, required=True, help="A .csv of measured cases; those of SUITE are added.")
@ATTRIBUTIONS
@click.option(
    "--all-factors", is_flag=True, help="Judge rules on all factors, and not only on those that are designed."
)
@options.DEVICE
@options.DTYPE
@options.WORKERS
@options.STORE
def trust(
    suite_folders: Sequence[str],
    cases: Path,
    attributions: Sequence[str],
    all_factors: bool,
    **machine_options: Any,
) -> None:
    """Measure what tells, without labels, that a factor beats accuracy.

    SUITE is an embedded suite, or the folder of one that `replicate` trained. Each is measured once. The answer is how
    each feature goes with the gain, and what a rule gains on the sets that it was not fitted on.
    """
    from experiments import trust as trusting
    from ranker.commands import arguments
    from ranker.sources import suites

    runtime = arguments.runtime(machine_options, stderr.bars({"quiet": False}))
    measured = trusting.read(cases.read_text(encoding="utf-8")) if cases.exists() else []
    for folder in suite_folders:
        path = suites.bundled_suites().get(folder) or Path(folder)
        name = f"{path.name} {path.parent.name}" if path.parent.name.isdigit() else path.name
        if name not in {case.suite for case in measured}:
            measured += trusting.cases_of(path, name, attributions, runtime)
            outputs.write(trusting.written(measured), cases)
    judged = [case for case in measured if case.designed or all_factors]
    for feature, correlation in trusting.correlations(judged).items():
        say(f"{feature}: {correlation:+.2f}")
    say(trusting.table(judged))


@cli.command()
@click.argument("name")
@click.option("--rows", type=click.IntRange(1), default=600, show_default=True, help="Number of rows.")
@options.SEED
@click.option("--output", "-o", type=options.PATH, required=True, help="A .jsonl.gz file.")
@options.FORCE
def sample(name: str, rows: int, seed: int, output: Path, force: bool) -> None:
    """Generate the embedded sample of the OOD set NAME: rows of our own, in the set's manner."""
    from experiments import generate
    from ranker.datasets import sets
    from ranker.tasks.classes import require_labels

    card = look_up("OOD set", name, sets.cards())
    if not output.name.endswith(".jsonl.gz"):
        raise UsageError.about("output", f"must be a .jsonl.gz file (got {output})", output)
    outputs.check({"output": output, "force": force})
    outputs.write(generate.sample(name, rows, require_labels(card.task, name).labels, seed), output)


EXHIBIT = options.combine(
    click.option("--tier", default="mini", show_default=True, metavar="NAME", help="mini, minilm, base or paper."),
    click.option(
        "--suites", type=options.PATH, default="suites", show_default=True, help="Where the tier's suites are."
    ),
    click.option(
        "--suite", "own", multiple=True, metavar="SET=PATH", help="Models for a set; may be given repeatedly."
    ),
    click.option("--ood", "sets", multiple=True, metavar="SET", help="Only this set; may be given repeatedly."),
    click.option(
        "--attribution",
        "attributions",
        multiple=True,
        metavar="NAME[:SETTINGS]",
        help="Only this attribution backend; may be given repeatedly. Others keep their published numbers. "
        "Settings as in `rank-models`: ig:baseline=pad.",
    ),
    options.TARGET,
    click.option(
        "--data-dir",
        type=options.PATH,
        help="Where the official data is; the tiers mini and base need none, and are ranked on it if it is there.",
    ),
    click.option(
        "--probe", type=click.IntRange(1), default=10, show_default=True, metavar="K", help="Examples a draw."
    ),
    click.option("--draws", default="exact", show_default=True, metavar="B|exact", help="Number of draws; exact: all."),
    click.option("--population", type=click.IntRange(1), metavar="N", help="Examples a set that are explained."),
    options.SEED,
    options.DEVICE,
    options.DTYPE,
    options.WORKERS,
    options.STORE,
    click.option(
        "--format",
        "form",
        type=click.Choice(["markdown", "csv"]),
        help="[default: as the name of --output ends, else markdown]",
    ),
    options.OUTPUT,
    options.FORCE,
)


@cli.command()
@click.argument("number")
@EXHIBIT
def table(number: str, **given: Any) -> None:
    """Rebuild the published table NUMBER for a tier of suites, beside the published numbers.

    \b
    python -m experiments table 2 --tier mini
    python -m experiments table 1 --tier minilm --suites suites --data-dir DATA --format csv -o table-1.csv
    """
    from experiments import published

    paper = published.load()
    outputs.write(rebuilt(f"Table {number}", look_up("table", number, paper.tables), paper, given), given["output"])


@cli.command()
@click.argument("number")
@EXHIBIT
def figure(number: str, **given: Any) -> None:
    """Rebuild the published figure NUMBER: its numbers, or a picture where the name of --output ends like one.

    \b
    python -m experiments figure 5 --tier mini -o figure-5.svg     .png, .svg or .pdf
    """
    from experiments import published

    paper = published.load()
    outputs.write(rebuilt(f"Figure {number}", look_up("figure", number, paper.figures), paper, given), given["output"])


def rebuilt(name: str, exhibit: Exhibit, paper: Published, options_given: Mapping[str, Any]) -> str | bytes:
    """Return an exhibit in the wanted form.

    Raises:
        UsageError: an option cannot be right, or a suite or data is missing.
    """
    from experiments import render, tables

    outputs.check(options_given)
    ending = "" if options_given["output"] is None else options_given["output"].suffix.removeprefix(".").casefold()
    if ending not in ("", *ENDINGS, *PICTURES):
        kinds = ".md or .csv, a figure as .png, .svg or .pdf"
        raise UsageError(f"`--output`: {name} is written as {kinds} (got .{ending})", option="output", value=ending)
    if options_given["form"] and ending and ENDINGS.get(ending) != options_given["form"]:
        form = options_given["form"]
        raise UsageError(f"`--format {form}` is not what a file ending in .{ending} holds", option="format", value=form)
    draw = drawing(name, exhibit) if ending in PICTURES else None
    tier = look_up("tier", options_given["tier"], paper.tiers)
    run = run_of(exhibit, tier, options_given)
    ranked = {} if exhibit.kind == "sizes" else tables.rankings(exhibit, tier, run)
    cells = tables.cells(exhibit, ranked) if ranked else tables.sizes(exhibit, run)
    if draw is not None:
        return draw(cells, ending)
    if (options_given["form"] or ENDINGS.get(ending)) == "csv":
        return render.comma_separated(cells)
    return render.markdown(name, exhibit, ranked, cells)


def drawing(name: str, exhibit: Exhibit) -> Callable[[Sequence[Cell], str], bytes]:
    """Return the function that draws an exhibit's cells.

    Raises:
        UsageError: it is a table.
    """
    if exhibit.draw is None:
        raise UsageError(f"`--output`: {name} is no picture; write to a .md or a .csv file", option="output")
    from experiments import figures

    return partial(figures.draw, exhibit)


def run_of(exhibit: Exhibit, tier: Tier, options_given: Mapping[str, Any]) -> Run:
    """Return the settings of a run from the command line.

    Raises:
        UsageError: an option cannot be right.
    """
    from experiments.tables import Run
    from ranker.commands import arguments
    from ranker.scoring.score import Evidence

    sets = {name: name for name in exhibit.sets}
    attributions = {Evidence(setting).backends[0].name: setting for setting in options_given["attributions"]}
    for name in attributions:
        look_up("attribution of this exhibit", name, dict.fromkeys(exhibit.attributions))
    own_checkpoints: dict[str, list[str]] = {}
    for option in options_given["own"]:
        name, path = named("suite", "SET=PATH", option)
        own_checkpoints.setdefault(look_up("set of this exhibit", name, sets), []).append(path)
    return Run(
        folder=options_given["suites"],
        own=own_checkpoints,
        sets=[look_up("set of this exhibit", name, sets) for name in options_given["sets"]],
        attributions=attributions,
        target=options_given["target"],
        data_dir=options_given["data_dir"],
        probe=options_given["probe"],
        draws=arguments.draws(options_given["draws"]),
        population=options_given["population"],
        seed=options_given["seed"],
        runtime=arguments.runtime(options_given, stderr.bars({"quiet": False})),
    )


@cli.command()
@click.argument("files", nargs=-1, metavar="SUITE ...", type=options.PATH, required=True)
@options.OUTPUT
@options.FORCE
def points(files: Sequence[Path], output: Path | None, force: bool) -> None:
    """Write what the members of suites scored, in-domain and on OOD sets, as a table for `rank-models compare`.

    A SUITE is a suite.json, or the folder that holds one. No model is run: the accuracies are those that `inoculate`
    measured.
    """
    from experiments.points import written
    from ranker.datasets import stated

    outputs.check({"output": output, "force": force})
    outputs.write(written(stated.stated_accuracies(files)), output)


@cli.command("ls")
def list_recipes() -> None:
    """List the recipes that come with the product."""
    from experiments import recipe as recipes

    for name in recipes.shipped():
        loaded = recipes.load(name)
        say(f"{name}  {len(loaded.names)} models, {', '.join(loaded.ood)}")


def with_paths(bases: Mapping[str, Base], options: Sequence[str]) -> dict[str, Base]:
    """Return the bases, some of them from another path.

    Raises:
        UsageError: an option is not NAME=PATH, or names no base of the recipe.
    """
    replaced = dict(bases)
    for option in options:
        name, path = named("base", "NAME=PATH", option)
        replaced[name] = dataclasses.replace(look_up("base", name, bases), path=path, architecture=None, config={})
    return replaced


def named(option: str, form: str, value: str) -> tuple[str, str]:
    """Return the name and the path of an option like ``--base NAME=PATH``.

    Raises:
        UsageError: it is not of that form.

    Example:
        >>> named("base", "NAME=PATH", "minilm=models/minilm")
        ('minilm', 'models/minilm')
    """
    name, equals, path = value.partition("=")
    if not equals or not path:
        raise UsageError.about(option, f"must be {form} (got {value!r})", value)
    return name, path


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program: see `ranker.commands.program`."""
    quieten()
    run_program(cli, "python -m experiments", arguments, "the same command resumes")


def quieten() -> None:
    """Keep what the libraries say about a new head or their own progress off the user's stderr."""
    stderr.log({"quiet": False, "verbose": False})
    logging.getLogger("transformers").setLevel(logging.ERROR)
    warnings.simplefilter("ignore", FutureWarning)


if __name__ == "__main__":
    main()
