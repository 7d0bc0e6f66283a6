"""`rank-models`: parses, calls, prints. The answer goes to stdout, everything else to stderr."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ranker.errors import RankModelsError, look_up

if TYPE_CHECKING:
    from ranker.ranking import Ranking

FOLDER = click.Path(path_type=Path)


class DefaultToRun(click.Group):
    """`rank-models --ood hans-sub` is `rank-models run --ood hans-sub`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `run` before options that are not the group's own; keep the command as it was given, for a shell."""
        ctx.obj = shlex.join(["rank-models", *args])
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
    from ranker.records import read_toml

    read = read_toml(file, "the options of `--config`")
    options = {p.opts[0].removeprefix("--"): p for p in ctx.command.params if isinstance(p, click.Option)}
    chosen = {look_up("option in the file of `--config`,", key, options): value for key, value in read.items()}
    ctx.default_map = {option.name: _words(value, option.multiple) for option, value in chosen.items()}


def _words(value: Any, several: bool) -> str | list[str]:
    """An option's value in a file as it would be written on the command line, where all are words."""
    if not several:
        return str(value)
    return [str(item) for item in (value if isinstance(value, list) else [value])]


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
@click.option(
    "--pool",
    type=FOLDER,
    metavar="FILE",
    help="With --data: rows of the same domain without labels, which make ten labels worth many (see `choose`).",
)
@click.option(
    "--method", metavar="NAME", help="With --data: what to order by.  [default: ACC+TIES; with --pool SURROGATE]"
)
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
@click.option(
    "--trust-remote-code",
    multiple=True,
    metavar="NAME",
    help="Run code that comes with the checkpoint of this model; once for each model.",
)
@click.option("--allow-pickle", is_flag=True, help="Load weights that are not safetensors.")
@click.option(
    "--store",
    "store_folder",
    metavar="FOLDER|URL",
    help="Where attributions are kept; s3://bucket/prefix, with s3fs installed.  [default: the user's cache]",
)
@click.option("--format", "format_name", default="table", show_default=True, help="See `rank-models ls formats`.")
@click.option("--output", "-o", type=FOLDER, help="A file for the answer.  [default: stdout]")
@click.option("--save", type=FOLDER, metavar="FILE", help="Keep the whole run for `rank-models report`.")
@click.option("--plots", type=FOLDER, metavar="DIR", help="A folder for the figures, as PNG, SVG and PDF.")
@click.option("--force", is_flag=True, help="Write over files that are there already.")
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
    rank-models --data ten.jsonl --pool unlabelled.jsonl --models bert-a bert-b bert-c

    Exit status: 0 done; 1 something failed, the rest was done and is reported; 2 an argument cannot be right.
    """
    from dataclasses import replace
    from functools import partial

    from ranker import arguments, outputs, pipeline, progress, report
    from ranker.backends import named

    _log(given["verbose"], given["quiet"])
    look_up("format", given["format_name"], report.FORMATS)
    outputs.check(given)
    attribution, settings = named(given["attribution"])
    factors = arguments.factors(given)
    ood = arguments.examples(given)
    suite = arguments.suite(given, None if given["data"] else ood.name)
    options = arguments.model_options(given, suite.models)
    store = arguments.store(given)
    if given["dry_run"]:
        for line in pipeline.plan(suite, ood, attribution, settings, options, store):
            click.echo(line)
        return
    console = progress.stderr()
    console.quiet = given["quiet"]
    only_in_one_mode = (
        partial(pipeline.decide, pool=arguments.pool(given, ood.task), probe=given["probe"], method=given["method"])
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
    command = click.get_current_context().obj
    ranking = replace(ranking, provenance={"command": command, **ranking.provenance})
    if given["save"]:
        ranking.save(given["save"])
    _plot(ranking, given["plots"])
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
    "force",
    "verbose",
    "quiet",
]  # noqa: SIM905  # seventeen lines say no more
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
    from ranker import arguments, outputs
    from ranker.backends import named
    from ranker.explain import explain as explain_example
    from ranker.measure import Subject
    from ranker.report.explain import FORMATS, render

    _log(given["verbose"], given["quiet"])
    look_up("format of explanations", given["format_name"], FORMATS)
    outputs.check(given)
    attribution, settings = named(given["attribution"])
    card, example = arguments.example(given)
    toward = None if given["toward"] is None else arguments.label(given["toward"], card.task)
    models = arguments.models(given, card.name)
    options, store = arguments.model_options(given, models), arguments.store(given)
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


AS_IN_EXPLAIN = set(AS_IN_RUN) - {"attribution", "factor_names", "data_dir"}


@cli.command(params=[option for option in run.params if option.name in AS_IN_EXPLAIN | {"columns", "task"}])
@click.option("--pool", type=FOLDER, required=True, metavar="FILE", help="Rows of the domain (.jsonl, .csv, .tsv).")
@click.option(
    "--labels", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="How many to choose."
)
@click.option("--labelled", type=FOLDER, metavar="FILE", help="Rows that have a label already, as for `run --data`.")
@click.option("--ood", "ood_name", metavar="NAME", help="An OOD set of the same task, instead of `--task`.")
@click.option(
    "--rule",
    default="variance-reduction",
    show_default=True,
    metavar="NAME",
    help="variance-reduction, facility, disagreement or random.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random rule.")
def choose(**given: Any) -> None:
    """Choose the rows whose labels would tell most about which model is best, as a CSV file with a column to fill in.

    \b
    rank-models choose --pool rows.jsonl --task nli --models bert-a bert-b --labels 10 -o to-label.csv
    (fill in its column "label")
    rank-models --data to-label.csv --pool rows.jsonl --task nli --models bert-a bert-b

    Five labels now and five later: `--labelled` names those that are there. The choice looks at the models'
    predictions only, and is the same each time.
    """
    from functools import partial

    from ranker import arguments, choice, labelling, outputs, progress

    _log(given["verbose"], given["quiet"])
    look_up("rule", given["rule"], choice.RULES)
    outputs.check(given)
    task = arguments.task(given)
    rows, labelled = arguments.pool(given, task), arguments.labelled(given, task)
    suite = arguments.suite(given, given["ood_name"])
    console = progress.stderr()
    console.quiet = given["quiet"]
    chosen = labelling.choose(
        suite,
        task,
        rows,
        given["labels"],
        labelled=labelled,
        rule=given["rule"],
        seed=given["seed"],
        options=arguments.model_options(given, suite.models),
        store=arguments.store(given),
        progress=partial(progress.bar, console),
    )
    if given["rule"] != "random":
        labelling.log.warning(
            "accuracy on chosen rows ranks the models and does not estimate their accuracy; "
            "for that, label rows drawn at random (`--rule random`)"
        )
    _answer(labelling.to_fill_in(chosen), given["output"])


choose.params.sort(key=lambda option: option.name in AS_IN_RUN)


@cli.command("report")
@click.argument("file", metavar="RUN", type=FOLDER)
@click.option("--format", "format_name", metavar="NAME", help="See `rank-models ls formats`.  [default: table]")
@click.option("--pairs", is_flag=True, help="Short for `--format pairs`: every pair of models.")
@click.option("--compare", "other", metavar="RUN2", type=FOLDER, help="Say what changed from RUN to RUN2.")
@click.option("--output", "-o", type=FOLDER, help="A file for the answer.  [default: stdout]")
@click.option("--plots", type=FOLDER, metavar="DIR", help="A folder for the figures, as PNG, SVG and PDF.")
@click.option("--force", is_flag=True, help="Write over files that are there already.")
def report_again(**given: Any) -> None:
    """Report a run that was kept with `--save`, in any format; no model is loaded.

    \b
    rank-models --ood hans-sub --save run.json
    rank-models report run.json --pairs
    rank-models report run.json --format html -o report.html
    rank-models report run.json --compare later.json       as a table, json, markdown or csv
    """
    from ranker import arguments, outputs, report
    from ranker.ranking import Ranking

    name = arguments.format_name(given)
    look_up("format", name, report.FORMATS)
    outputs.check(given)
    ranking = Ranking.load(given["file"])
    _plot(ranking, given["plots"])
    if given["other"] is None:
        _answer(report.render(ranking, name), given["output"])
        return
    from ranker.comparison import compare
    from ranker.report.comparison import render

    _answer(render(compare(ranking, Ranking.load(given["other"])), name), given["output"])


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


STORE = click.option(
    "--store", "store_folder", metavar="FOLDER|URL", help="The store's place.  [default: the user's cache]"
)


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


def _plot(ranking: Ranking, folder: Path | None) -> None:
    """Write the figures, if a folder for them was named."""
    if folder is not None:
        from ranker.report import figures

        figures.save(ranking, folder)


def _answer(text: str, output: Path | None) -> None:
    """Write the answer as UTF-8, whatever the terminal's encoding; half a surrogate pair as JSON escapes it."""
    encoded = text.encode("utf-8", "backslashreplace")
    if output is None:
        click.echo(encoded, nl=False)
        return
    try:
        output.write_bytes(encoded)
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
