"""`rank-models`: its commands together.

The answer goes to stdout, everything else to stderr.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click

from ranker.commands import compare, explain, fetch, label, ls, report, run, shift, store
from ranker.commands.program import run_program
from ranker.errors import look_up


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
    rank-models shift train.jsonl new.jsonl           how far a new domain is
    rank-models ls ood                                what there is to rank on
    rank-models run --help                            every option
    """


for command in (
    *(run.run, label.label, explain.explain, compare.compare, shift.shift),
    *(report.report, ls.ls, fetch.fetch, store.store),
):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program: see `ranker.commands.program`."""
    run_program(cli, "rank-models", arguments, "what was computed is kept, the same command goes on from there")
