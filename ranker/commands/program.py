"""A program on the command line: its commands are run, and no error that a user can meet ends in a traceback."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from ranker.errors import RankModelsError


class Terminated(KeyboardInterrupt):
    """SIGTERM, by which schedulers and systems end a program: it ends as by Ctrl-C."""


def run_program(command: click.Command, name: str, arguments: Sequence[str] | None, stopped: str) -> NoReturn:
    """Run a program, and turn every error that a user can meet into one line and an exit status.

    Exit status: 0 done; 1 something failed; 2 an argument, or a file that it names, cannot be right; 130 stopped by
    Ctrl-C, 143 by SIGTERM.

    Args:
        command: the program.
        name: what it is called.
        arguments: without the program's name; None for those of this process.
        stopped: what somebody has to know who stopped it.

    Raises:
        SystemExit: always.
    """

    def terminated(*_: object) -> NoReturn:
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminated)
    try:
        sys.exit(command.main(arguments, prog_name=name, standalone_mode=False))
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        click.echo(f"{name}: {error.format_message()}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort) as error:
        click.echo(f"{name}: stopped; {stopped}", err=True)
        sys.exit(143 if isinstance(error.__cause__ or error, Terminated) else 130)  # click's is made of ours
    except RankModelsError as error:
        click.echo(f"{name}: {error}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        if error.filename is not None:
            raise
        click.echo(f"{name}: stdout cannot be written to: {error.strerror}", err=True)
        sys.stdout = None  # it would be flushed at the end, and fail again
        sys.exit(1)
    finally:
        signal.signal(signal.SIGTERM, before)
