"""`rank-experiments` (`python -m experiments` is the same): parses, calls, prints."""

from __future__ import annotations

import dataclasses
import logging
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ranker.errors import RankModelsError, UsageError, look_up

if TYPE_CHECKING:
    from experiments.recipe import Base


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rank-models")
def cli() -> None:
    """Make suites of models, and reproduce the published tables with them."""


@cli.command()
@click.argument("recipe")
@click.option("--data-dir", type=click.Path(path_type=Path), help="What the recipe's files are relative to.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The suite's folder. [default: suites/NAME]")
@click.option("--base", "bases", multiple=True, metavar="NAME=PATH", help="Another directory or hub id for a base.")
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1, mps.")
@click.option("--bf16", is_flag=True, help="Train in bfloat16 where that is safe.")
def inoculate(
    recipe: str, data_dir: Path | None, output: Path | None, bases: Sequence[str], device: str, bf16: bool
) -> None:
    """Train and measure the suite of RECIPE: a TOML file, or the name of a recipe that comes with the product.

    A member that is complete is not trained again: a killed run goes on where it was. The path of the suite.json goes
    to stdout, for `rank-models --models`.
    """
    from experiments import recipe as recipes

    read = recipes.load(recipe)
    read = dataclasses.replace(read, bases=with_paths(read.bases, bases))
    from transformers.utils.logging import disable_progress_bar

    from experiments.inoculate import Machine
    from experiments.inoculate import inoculate as make_suite

    disable_progress_bar()  # type: ignore[no-untyped-call]  # there is one bar a training already
    click.echo(make_suite(read, data_dir, output or Path("suites") / read.name, Machine(device, bf16)))


@cli.command()
@click.argument("name")
@click.option("--rows", type=click.IntRange(1), default=600, show_default=True, help="How many.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the draw.")
@click.option("--output", "-o", type=click.Path(path_type=Path), required=True, help="A .jsonl.gz file.")
def sample(name: str, rows: int, seed: int, output: Path) -> None:
    """Generate the embedded sample of the OOD set NAME: rows of our own, in the set's manner."""
    from experiments import generate
    from ranker import ood

    card = look_up("OOD set", name, ood.cards())
    output.write_bytes(generate.sample(name, rows, card.task.labels, seed))


@cli.command("ls")
def list_recipes() -> None:
    """List the recipes that come with the product."""
    from experiments import recipe as recipes

    for name in recipes.shipped():
        read = recipes.load(name)
        click.echo(f"{name}  {len(read.members)} models, {', '.join(read.ood)}")


def with_paths(bases: Mapping[str, Base], options: Sequence[str]) -> dict[str, Base]:
    """The bases, some of them from another path.

    Raises:
        UsageError: an option is not NAME=PATH, or names no base of the recipe.
    """
    replaced = dict(bases)
    for option in options:
        name, equals, path = option.partition("=")
        if not equals or not path:
            raise UsageError(f"`--base` must be NAME=PATH (got {option!r})")
        replaced[name] = dataclasses.replace(look_up("base", name, bases), path=path, architecture=None)
    return replaced


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program, and turn every error that a user can meet into one line and an exit status.

    Exit status: 0 done; 1 something failed; 2 an argument or a recipe cannot be right.
    """
    quieten()
    try:
        sys.exit(cli.main(arguments, prog_name="rank-experiments", standalone_mode=False))
    except click.ClickException as error:
        click.echo(f"rank-experiments: {error.format_message()}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo("rank-experiments: stopped; the same command goes on from here", err=True)
        sys.exit(130)
    except RankModelsError as error:
        click.echo(f"rank-experiments: {error}", err=True)
        sys.exit(error.exit_code)


def quieten() -> None:
    """Keep what the libraries say about a new head or their own progress off the user's stderr."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    warnings.simplefilter("ignore", FutureWarning)


if __name__ == "__main__":
    main()
