"""`rank-models`: parses, calls, prints. The answer goes to stdout, everything else to stderr."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ranker.errors import RankModelsError, UsageError, look_up

FOLDER = click.Path(path_type=Path)


class DefaultToRun(click.Group):
    """`rank-models --ood hans-sub` is `rank-models run --ood hans-sub`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `run` before options that are not the group's own."""
        own = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        if args and args[0].startswith("-") and args[0] not in own:
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name; a near one is offered where there is none."""
        return look_up("command", name, self.commands)


@click.group(cls=DefaultToRun, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="rank-models")
def cli() -> None:
    """Which of several fine-tuned language models will do best in a new domain, told from about ten labelled examples.

    \b
    rank-models --ood hans-sub --probe 10             the embedded models on the embedded examples
    rank-models --ood hans-sub --models DIR DIR DIR   your own checkpoints
    rank-models ls ood                                what there is to rank on
    rank-models run --help                            every option
    """


def _configure(ctx: click.Context, parameter: click.Parameter, file: Path | None) -> None:
    """Read a TOML file of options; what the command line says wins."""
    if file is None:
        return
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        read = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"`--config`: {file} cannot be read: {error}") from error
    options = {p.opts[0].removeprefix("--"): p for p in ctx.command.params if isinstance(p, click.Option)}
    ctx.default_map = {look_up("option in the file of `--config`,", key, options).name: read[key] for key in read}


@cli.command()
@click.option("--ood", "ood_name", metavar="NAME", help="The OOD set: see `rank-models ls ood`.")
@click.option(
    "--data",
    type=FOLDER,
    metavar="FILE",
    help="Your own labelled rows (.jsonl, .csv, .tsv): decide between models whose truth nobody knows.",
)
@click.option(
    "--models",
    multiple=True,
    metavar="PATH ...",
    help="Model directories, hub ids (org/name@revision), suite.json files or embedded suites.  "
    "[default: the set's embedded mini suite]",
)
@click.argument("more_models", nargs=-1, metavar="")
@click.option("--task", metavar="NAME", help="With --data: nli, paraphrase, ...  [default: the one its labels fit]")
@click.option("--columns", metavar="ROLE=NAME,...", help="With --data: text=premise,text=hypothesis,label=gold,id=key.")
@click.option("--method", metavar="NAME", help="With --data: what to order by.  [default: ACC+TIES]")
@click.option(
    "--probe",
    type=int,
    metavar="K",
    help="Labelled examples one would have.  [default: 10; with --data all of its rows]",
)
@click.option(
    "--draws", default="exact", show_default=True, metavar="B|exact", help="How many probes are drawn; exact: all."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the draws.")
@click.option(
    "--attribution",
    default="shap",
    show_default=True,
    metavar="NAME[:KEY=VALUE,...]",
    help="The backend, with settings that are to differ: ig:steps=50,baseline=pad; see `rank-models ls backends`.",
)
@click.option(
    "--factors",
    "factor_names",
    metavar="NAMES|FILE.py",
    help="Names, comma-separated, and files with factors of your own.  [default: all]",
)
@click.option(
    "--target",
    type=click.Choice(["declared", "heuristic", "evidence", "true", "predicted"]),
    default="declared",
    show_default=True,
    help="The label that attribution factors are about: as each declares, or one rule for all.",
)
@click.option(
    "--normalise",
    "norm",
    type=click.Choice(["raw", "l1", "max"]),
    default="raw",
    show_default=True,
    help="What the attributions of an example are divided by: nothing, their sum of magnitudes, the greatest of these.",
)
@click.option(
    "--in-domain",
    type=FOLDER,
    metavar="FILE",
    help="Labelled rows of the domain that the models were trained for: one below chance there is pointed out.",
)
@click.option("--data-dir", type=FOLDER, help="Where the official data is.  [default: the embedded sample]")
@click.option("--include", type=FOLDER, multiple=True, help="A folder with OOD sets of your own.")
@click.option(
    "--limit", type=click.IntRange(1), metavar="N", help="A sample of N rows is the whole set, for a quick try."
)
@click.option(
    "--population",
    type=click.IntRange(1),
    metavar="N",
    help="How many of the set's rows are explained, and probes drawn from.  [default: as its card says, 400 or 600]",
)
@click.option("--label-map", metavar="JSON", help='For checkpoints with unnamed labels: {"0": "entailment", ...}.')
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1, mps ...")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "auto"]),
    default="float32",
    show_default=True,
    help="auto: bfloat16 where the device has units for it.",
)
@click.option("--batch-size", type=click.IntRange(1), metavar="TOKENS", help="Tokens a batch; changes no number.")
@click.option("--trust-remote-code", is_flag=True, help="Run code that comes with a checkpoint.")
@click.option("--allow-pickle", is_flag=True, help="Load weights that are not safetensors.")
@click.option("--store", "store_folder", type=FOLDER, help="Where attributions are kept.  [default: the user's cache]")
@click.option("--format", "format_name", default="table", show_default=True, help="See `rank-models ls formats`.")
@click.option("--output", "-o", type=FOLDER, help="A file for the answer.  [default: stdout]")
@click.option("--save", type=FOLDER, metavar="FILE", help="Keep the whole run for `rank-models report`.")
@click.option("--config", type=FOLDER, is_eager=True, expose_value=False, callback=_configure, help="TOML of options.")
@click.option("--dry-run", is_flag=True, help="Say what would run, and how much of it is known already.")
@click.option("--verbose", "-v", is_flag=True, help="Say more on stderr.")
@click.option("--quiet", "-q", is_flag=True, help="Say only errors on stderr.")
def run(**given: Any) -> None:
    """Rank a suite of models: on an OOD set whose labels are known, or on a few labelled rows of your own.

    With --ood the report says how often each method, shown K examples, would have put two models in the right order.
    With --data it says which model to take, which cannot be told apart, and how many more labels would do it.

    \b
    rank-models --ood hans-sub --probe 10
    rank-models --ood hans-sub --data-dir data/hans --models bert-a bert-b org/bert-c@main
    rank-models --ood hans-sub --factors ACC,INDEX-DIFF,my_factors.py --format json -o ranking.json
    rank-models --data ten.jsonl --models bert-a bert-b bert-c

    Exit status: 0 done; 1 something failed, the rest was done and is reported; 2 an argument cannot be right.
    """
    from functools import partial

    from ranker import arguments, pipeline, progress, report
    from ranker.backends import named

    _log(given["verbose"], given["quiet"])
    look_up("format", given["format_name"], report.FORMATS)
    attribution, settings = named(given["attribution"])
    factors = arguments.factors(given)
    ood = arguments.examples(given)
    suite = arguments.suite(given, None if given["data"] else ood.name)
    options = arguments.model_options(given)
    store = arguments.store(given)
    if given["dry_run"]:
        for line in pipeline.plan(suite, ood, attribution, settings, options, store):
            click.echo(line)
        return
    console = progress.stderr()
    console.quiet = given["quiet"]
    only_in_one_mode = (
        partial(pipeline.decide, probe=given["probe"], method=given["method"])
        if given["data"]
        else partial(
            pipeline.rank, probe=10 if given["probe"] is None else given["probe"], draws=arguments.draws(given["draws"])
        )
    )
    ranking = only_in_one_mode(
        suite,
        ood,
        seed=given["seed"],
        attribution=attribution,
        settings=settings,
        factors=factors,
        target=given["target"],
        norm=given["norm"],
        in_domain=arguments.in_domain(given, ood.task),
        options=options,
        store=store,
        progress=partial(progress.bar, console),
    )
    if given["save"]:
        ranking.save(given["save"])
    _answer(report.render(ranking, given["format_name"]), given["output"])
    if ranking.failures:
        raise SystemExit(1)


AS_IN_RUN = [
    "models",
    "more_models",
    "attribution",
    "factor_names",
    "data_dir",
    "include",
    "label_map",
    "device",
    "dtype",
    "batch_size",
    "trust_remote_code",
    "allow_pickle",
    "store_folder",
    "output",
    "verbose",
    "quiet",
]  # noqa: SIM905  # sixteen lines say no more
"""Options of `run` that `explain` takes, too."""


@cli.command(params=[option for option in run.params if option.name in AS_IN_RUN])
@click.option("--ood", "ood_name", required=True, metavar="NAME", help="The OOD set: its task, marks and models.")
@click.option("--id", "example_id", metavar="ID", help="One of its examples.")
@click.option("--text", "texts", multiple=True, metavar="TEXT", help="A text of your own instead; twice for a pair.")
@click.option("--label", metavar="LABEL", help="The true label of `--text`.  [default: not known]")
@click.option("--toward", metavar="LABEL", help="The label that scores speak for.  [default: the heuristic's]")
@click.option("--format", "format_name", default="terminal", show_default=True, help="terminal, html or json.")
def explain(**given: Any) -> None:
    """Show what models see in one example: coloured words, the prediction, and what each factor reads.

    \b
    rank-models explain --ood hans-sub --id sn_past_participle-0 --models bert-a bert-b
    rank-models explain --ood hans-sub --text "The poets near the bridge ran." --text "The bridge ran."
    rank-models explain --ood hans-sub --id sn_past_participle-0 --format html -o example.html
    """
    from ranker import arguments
    from ranker.backends import named
    from ranker.explain import explain as explain_example
    from ranker.measure import Subject
    from ranker.report.explain import FORMATS, render

    _log(given["verbose"], given["quiet"])
    look_up("format of explanations", given["format_name"], FORMATS)
    attribution, settings = named(given["attribution"])
    card, example = arguments.example(given)
    toward = None if given["toward"] is None else arguments.label(given["toward"], card.task)
    models = arguments.models(given, card.name)
    options, store = arguments.model_options(given), arguments.store(given)
    explanation = explain_example(
        [Subject(model, card.task, options, store) for model in models],
        example,
        attribution=attribution,
        settings=settings,
        factors=arguments.factors(given),
        toward=toward,
        labelled=not given["texts"] or given["label"] is not None,
        designed=card.designed,
    )
    colour = given["output"] is None and sys.stdout.isatty() and "NO_COLOR" not in os.environ
    _answer(render(explanation, given["format_name"], colour), given["output"])
    if explanation.failures:
        raise SystemExit(1)


explain.params.sort(key=lambda option: option.name in AS_IN_RUN)  # in `--help`, its own options come first


@cli.command("report")
@click.argument("file", type=FOLDER)
@click.option("--format", "format_name", default="table", show_default=True, help="See `rank-models ls formats`.")
@click.option("--output", "-o", type=FOLDER, help="A file for the answer.  [default: stdout]")
def report_again(file: Path, format_name: str, output: Path | None) -> None:
    """Report a run that was kept with `--save`, in any format; no model is loaded.

    \b
    rank-models --ood hans-sub --save run.json
    rank-models report run.json --format html -o report.html
    """
    from ranker import report
    from ranker.ranking import Ranking

    look_up("format", format_name, report.FORMATS)
    _answer(report.render(Ranking.load(file), format_name), output)


@cli.command("ls")
@click.argument("what", metavar="[ood|suites|factors|backends|formats]", default="ood")
def list_names(what: str) -> None:
    """List what there is: OOD sets, embedded suites, factors, attribution backends, report formats."""
    from ranker import listing

    for line in look_up("list", what, listing.LISTS)():
        click.echo(line)


@cli.command()
@click.argument("name")
@click.option("--data-dir", type=FOLDER, required=True, help="Where to put the file.")
@click.option("--url", help="Another address of the same file.")
def fetch(name: str, data_dir: Path, url: str | None) -> None:
    """Fetch the official file of an OOD set, and check its sha256."""
    from ranker.fetch import fetch as get

    click.echo(get(name, data_dir, url=url))


@cli.group("store")
def kept() -> None:
    """What was computed and is kept: list it, check it, tidy it up."""


STORE = click.option("--store", "store_folder", type=FOLDER, help="The store's folder.  [default: the user's cache]")


@kept.command("info")
@STORE
def info(**given: Any) -> None:
    """List what is kept, a line for each model, method and settings; models by the hash of their content."""
    from ranker import arguments, store

    found = store.contents(arguments.store_folder(given))
    for one in found:
        click.echo(one)
    rows, size = sum(one.rows for one in found), sum(one.size for one in found)
    click.echo(f"{len(found)} keys, {rows:,} rows, {size:,} bytes")


@kept.command("verify")
@STORE
def verify(**given: Any) -> None:
    """Compare every file with its checksum, and name those that are damaged; exit status 1 if there are any."""
    from ranker import arguments, store

    count, damaged = store.verify(arguments.store_folder(given))
    for file in damaged:
        click.echo(f"{file} is damaged")
    click.echo(f"{count} files compared, {len(damaged)} damaged")
    if damaged:
        raise SystemExit(1)


@kept.command("prune")
@STORE
def prune(**given: Any) -> None:
    """Remove what no run will read again: damaged and duplicate shards, and temporary files of crashed runs."""
    from ranker import arguments, store

    count = 0
    for file, why in store.prune(arguments.store_folder(given)):
        click.echo(f"{file} removed ({why})")
        count += 1
    click.echo(f"{count} files removed")


def _answer(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RankModelsError(f"`--output`: {output} cannot be written: {error.strerror}") from error


def _log(verbose: bool, quiet: bool) -> None:
    """Send what the product says to stderr, and keep the libraries' own talk off it."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("ranker")
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(logging.ERROR if quiet else logging.DEBUG if verbose else logging.INFO)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program, and turn every error that a user can meet into one line and an exit status."""
    try:
        sys.exit(cli.main(arguments, prog_name="rank-models", standalone_mode=False))
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        click.echo(f"rank-models: {error.format_message()}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo("rank-models: stopped; what was computed is kept, the same command goes on from there", err=True)
        sys.exit(130)
    except RankModelsError as error:
        click.echo(f"rank-models: {error}", err=True)
        sys.exit(error.exit_code)
