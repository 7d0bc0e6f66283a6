"""`rank-models`: parses, calls, prints. The answer goes to stdout, everything else to stderr."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ranker.errors import RankModelsError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from factors import Factor
    from ranker.ood import OODSet
    from ranker.suites import Suite


class DefaultToRun(click.Group):
    """`rank-models --ood hans-sub` is `rank-models run --ood hans-sub`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0].startswith("-") and args[0] not in (*self.get_help_option_names(ctx), "--version"):
            args = ["run", *args] if args else ["--help"]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        from ranker.errors import look_up

        look_up("command", args[0], self.commands)
        return super().resolve_command(ctx, args)


@click.group(cls=DefaultToRun, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rank-models")
def cli() -> None:
    """Which of several fine-tuned language models will do best in a new domain, told from about ten labelled examples.

    \b
    rank-models --ood hans-sub --probe 10        the embedded models on the embedded examples
    rank-models --ood hans-sub --models A B C    your own checkpoints
    rank-models ls ood                           what there is to rank on
    rank-models run --help                       every option
    """


@cli.command()
@click.option("--ood", "ood_name", metavar="NAME", help="The OOD set to rank on; `rank-models ls ood` lists them.")
@click.option(
    "--models",
    "model_references",
    multiple=True,
    metavar="PATH ...",
    help="Model directories, hub ids (org/name@revision) or a suite.json. Default: the set's embedded mini suite.",
)
@click.argument("more_models", nargs=-1, metavar="")
@click.option("--probe", default=10, show_default=True, metavar="K", help="Labelled examples of the new domain.")
@click.option("--draws", default="500", show_default=True, metavar="B", help="How many probes are drawn.")
@click.option("--seed", default=0, show_default=True, help="Of the draws; the same seed gives the same numbers.")
@click.option("--attribution", default="ig", show_default=True, help="ig, or none for the baselines alone.")
@click.option("--factors", "factor_names", metavar="NAMES|FILE.py", help="Comma-separated names, and files of your own.")
@click.option(
    "--target",
    type=click.Choice(["declared", "heuristic", "evidence", "true", "predicted"]),
    default="declared",
    show_default=True,
    help="The label that attribution factors are about: as each declares, or one rule for all.",
)
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where the official data is; default: the embedded sample.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Use the first N rows of the set only (for a quick try).")
@click.option("--label-map", metavar="JSON", help='For models with unnamed labels: \'{"0": "entailment", ...}\'.')
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1, mps.")
@click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), default="float32", show_default=True)
@click.option("--batch-size", type=click.IntRange(1), help="Examples a batch; changes speed and memory, no number.")
@click.option("--trust-remote-code", is_flag=True, help="Run code that comes with a checkpoint.")
@click.option("--allow-pickle", is_flag=True, help="Load weights that are not safetensors.")
@click.option("--store", "store_path", type=click.Path(path_type=Path), help="Where attributions are kept. [default: user cache]")
@click.option("--format", "format_name", default="table", show_default=True, help="table or json.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="A file for the answer, instead of stdout.")
@click.option("--config", type=click.Path(path_type=Path), is_eager=True, callback=lambda *a: None, help="A TOML file of these options.")
@click.option("--dry-run", is_flag=True, help="Say what would run, and how much of it is known already.")
@click.option("-v", "--verbose", count=True, help="Say more.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors on stderr.")
def run(**options: Any) -> None:
    """Rank a suite of models.

    With an OOD set whose labels are known throughout, the report says how often each method, shown K examples, would
    have put two models in the right order.

    \b
    Exit status: 0 done; 1 something failed, the rest was done and is reported; 2 an argument cannot be right.
    """
