"""A program on the command line: its commands are run, and no error that a user can meet ends in a traceback."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from ranker.errors import RankModelsError


def run_program(command: click.Command, name: str, arguments: Sequence[str] | None, stopped: str) -> NoReturn:
    """Run a program, and turn every error that a user can meet into one line and an exit status.

    Exit status: 0 done; 1 something failed; 2 an argument, or a file that it names, cannot be right; 130 stopped.

    Args:
        command: the program.
        name: what it is called.
        arguments: without the program's name; None for those of this process.
        stopped: what somebody has to know who stopped it.

    Raises:
        SystemExit: always.
    """
    try:
        sys.exit(command.main(arguments, prog_name=name, standalone_mode=False))
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        click.echo(f"{name}: {error.format_message()}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo(f"{name}: stopped; {stopped}", err=True)
        sys.exit(130)
    except RankModelsError as error:
        click.echo(f"{name}: {error}", err=True)
        sys.exit(error.exit_code)
