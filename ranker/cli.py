"""`rank-models`: the command line.

The answer goes to stdout, everything else to stderr. A command's module is imported when the command is called.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from importlib import import_module

import click

from ranker.commands.program import check_flags, run_program, use_flag_names
from ranker.errors import look_up

COMMANDS = {
    "run": "Rank models on an OOD set, or on rows of your own.",
    "label": "Label rows one after the other, each the most telling.",
    "explain": "Show what models look at in one example.",
    "compare": "Say who leads over many sets, or what changed.",
    "shift": "Say how far new domains are from the training data.",
    "report": "Report runs that were kept, in any format.",
    "ls": "List OOD sets, suites, factors, methods, backends, formats.",
    "fetch": "Fetch the official file of an OOD set.",
    "store": "List, check and tidy up what was computed.",
}
"""Command -> its line in the list. `ranker/commands/NAME.py` defines NAME."""


class DefaultToRun(click.Group):
    """`rank-models --ood hans-sub` is `rank-models run --ood hans-sub`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `run` before options that are not the group's own; keep the original command, quoted for a shell."""
        ctx.obj = shlex.join(["rank-models", *args])
        group_options = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        if args and args[0].startswith("-") and args[0] not in group_options:
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, the most used first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command of that name; an error suggests a similar one."""
        command_name = look_up("command", name, {key: key for key in COMMANDS})
        command = getattr(import_module(f"ranker.commands.{command_name}"), command_name)
        check_flags(command)
        return use_flag_names(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of the commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=DefaultToRun, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="rank-models")
def cli() -> None:
    """Which of several fine-tuned language models will do best in a new domain, told from about ten labelled examples.

    \b
    rank-models --ood hans-sub --probe 10             the embedded models on the embedded examples
    rank-models --ood hans-sub --models DIR DIR DIR   your own checkpoints
    rank-models shift train.jsonl new.jsonl           how far a new domain is
    rank-models ls ood                                what there is to rank on
    rank-models run --help                            every option
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program: see `ranker.commands.program`."""
    run_program(cli, "rank-models", arguments, "results so far are cached, and the same command resumes")
