"""`rank-models completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ranker.commands.program import say

SHELLS = ("bash", "zsh", "fish")
"""Shells that click has a script for."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that completes commands, flags and names of sets in a shell.

    \b
    rank-models completion bash >> ~/.bashrc
    rank-models completion zsh >> ~/.zshrc
    rank-models completion fish > ~/.config/fish/completions/rank-models.fish
    """
    script = get_completion_class(shell)
    assert script is not None
    say(script(ctx.find_root().command, {}, "rank-models", "_RANK_MODELS_COMPLETE").source())
