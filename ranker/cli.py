"""`rank-models`: the command line.

The answer goes to stdout, everything else to stderr. A command's module is imported when the command is called.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from importlib import import_module, metadata

import click
from click.shell_completion import CompletionItem

from ranker.commands.program import check_flags, run_program, say, use_flag_names
from ranker.errors import look_up

GROUP = "rank_models.commands"
"""Entry point group of packages with commands; each names a table like `QUESTIONS`, in the package of their modules."""

QUESTIONS = {
    "run": "Rank models on an OOD set, or on rows of your own.",
    "label": "Label rows one after the other, each the most telling.",
    "explain": "Show what models look at in one example.",
}
"""Command that asks about models -> its line in the list. `ranker/commands/NAME.py` defines NAME."""

UPKEEP = {
    "report": "Report runs that were kept, in any format.",
    "ls": "List OOD sets, suites, factors, methods, backends, formats.",
    "fetch": "Fetch the official file of an OOD set.",
    "store": "List, check and tidy up what was computed.",
}
"""The other commands, which stand last."""

START = """\
you have                 you type
  checkpoints, ten rows  rank-models --data ten.csv --models A B C
  ... and unlabelled     rank-models --data ten.csv --pool rows.csv --models A B
  no labels yet          rank-models label --pool rows.csv --models A B C
  answers, or two logs   rank-models --models answers-a.csv answers-b.csv
  an LM and prompts      rank-models --data ten.csv --models LM --prompts nli
  results on many sets   rank-models compare results.csv
  a new domain           rank-models shift train.jsonl new.jsonl
  nothing: see a demo    rank-models --ood hans-sub --probe 10
all flags: rank-models run --help    all commands: rank-models --help"""
"""Ten lines that tell a newcomer what to type for what they have."""


def known_commands() -> dict[str, str]:
    """Return the commands with their lines, the most used first; those of installed packages too."""
    return {**QUESTIONS, **{name: line for lines in _installed().values() for name, line in lines.items()}, **UPKEEP}


def _installed() -> dict[str, Mapping[str, str]]:
    """Return the commands of installed packages: package of their modules -> command -> line."""
    return {entry.module: entry.load() for entry in metadata.entry_points(group=GROUP)}


class DefaultToRun(click.Group):
    """`rank-models --ood hans-sub` is `rank-models run --ood hans-sub`; `rank-models` alone says what to type."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `run` before options that are not the group's own; keep the original command, quoted for a shell."""
        ctx.obj = shlex.join(["rank-models", *args])
        if not args and not ctx.resilient_parsing:
            say(START)
            ctx.exit()
        group_options = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        if args and args[0].startswith("-") and args[0] not in group_options:
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, the most used first."""
        return list(known_commands())

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        """Return the command of that name; an error suggests a similar one, but not while a shell completes."""
        packages = {command: package for package, lines in _installed().items() for command in lines}
        packages |= dict.fromkeys((*QUESTIONS, *UPKEEP), "ranker.commands")
        if ctx.resilient_parsing and name not in packages:
            return click.Command(name, add_help_option=False)
        command_name = look_up("command", name, {command: command for command in known_commands()})
        command = getattr(import_module(f"{packages[command_name]}.{command_name}"), command_name)
        check_flags(command)
        return use_flag_names(command)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands, and flags of `run`, whose name may be left out."""
        if not incomplete.startswith("-"):
            lines = known_commands().items()
            return [CompletionItem(name, help=line) for name, line in lines if name.startswith(incomplete)]
        run = self.get_command(ctx, "run")
        return [*super().shell_complete(ctx, incomplete), *run.shell_complete(click.Context(run), incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of the commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(known_commands().items()))


HELP = f"""Tell which of several fine-tuned language models will do best in a new domain, from about ten labelled
examples.

\b
{START}
"""


@click.group(
    cls=DefaultToRun,
    help=HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="rank-models")
def cli() -> None:
    """Group the commands; each does its own work."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program: see `ranker.commands.program`."""
    run_program(cli, "rank-models", arguments, "results so far are cached, and the same command resumes")
