"""A program on the command line: its commands are run, and no error that a user can meet ends in a traceback.

Messages of the library name parameters, as Python has them: `probe`. On the command line they name options instead:
this is the one place where they are translated.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import NoReturn

import click

from ranker.commands import terminal
from ranker.errors import RankModelsError, UsageError
from ranker.report.escapes import visible

NAMED = re.compile(r"(?<!the setting )(?<!`)`([a-z_]+)(?:([= ])([^`]*))?`(?!`)")
"""A parameter, with a value or without one. What is called a setting, as those of a backend, is no option."""


LONGEST = 2_000
"""Characters of a line that is told; what is longer quotes somebody's file, or a message of somebody's code."""


ENDING = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
"""Ctrl-C; what schedulers and systems end a program by; and what it is told when its terminal goes."""


MOMENT = 0.2
"""Seconds in which several of `ENDING` count as one: a second would break off what the first has begun to tidy up."""


class Stopped(KeyboardInterrupt):
    """One of `ENDING` came; each ends the program as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number, self.at = number, time.monotonic()


class Speaking(click.Context):
    """The context of a command; an error of the library that leaves it names the command's options."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if isinstance(error, RankModelsError):
            error.args = (_translated(error, flags(self.command)),)
        return super().__exit__(kind, error, trace)


def run_program(command: click.Command, name: str, arguments: Sequence[str] | None, stopped: str) -> NoReturn:
    """Run a program, and turn every error that a user can meet into one line and an exit status.

    Exit status: 0 done; 1 something failed; 2 an argument, or a file that it names, cannot be right; 130 stopped by
    Ctrl-C, 143 by SIGTERM, 129 by SIGHUP. Where nobody reads the answer to its end, it is 1, and nothing is said.

    Args:
        command: the program.
        name: what it is called.
        arguments: without the program's name; None for those of this process.
        stopped: what somebody has to know who stopped it.

    Raises:
        SystemExit: always.
    """

    asked: list[Stopped] = []

    def stopping(number: int, _: object) -> None:
        if not asked or time.monotonic() - asked[-1].at >= MOMENT:
            asked.append(Stopped(number))
            raise asked[-1]

    _hold_streams()
    found = terminal.modes()
    heard = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN or number != signal.SIGHUP]
    before = {number: signal.signal(number, stopping) for number in heard}  # nohup has SIGHUP ignored
    if hasattr(signal, "SIGTSTP") and signal.getsignal(signal.SIGTSTP) == signal.SIG_DFL:
        before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, terminal.pausing(found))
    hook, sys.unraisablehook = sys.unraisablehook, _raised_again
    speaking(command)
    try:
        sys.exit(command.main(arguments, prog_name=name, standalone_mode=False))
    except SystemExit:
        raise
    except BaseException as error:
        for number in heard:  # it ends as it is; who presses twice gets no second line
            signal.signal(number, signal.SIG_IGN)
        try:
            line, status = _ending(error, asked, name, stopped)
            if line:
                with suppress(OSError):  # the terminal may be gone
                    say(line, err=True)
        finally:
            terminal.give_back(found)
        sys.exit(status)
    finally:
        sys.unraisablehook = hook
        if arguments is None:  # the process ends with the program, and nothing may disturb that
            before = dict.fromkeys(heard, signal.SIG_IGN)
        for number, handler in before.items():
            signal.signal(number, handler)


def _ending(error: BaseException, asked: Sequence[BaseException], name: str, stopped: str) -> tuple[str, int]:
    """What is said of an error that has ended a program, and the exit status; others are raised again.

    A stop by Ctrl-C counts whatever the libraries have made of it: an import that it broke off is an ImportError.
    """
    if asked or isinstance(error, (KeyboardInterrupt, click.Abort)):
        first = asked[0] if asked else error.__cause__ or error  # click's is made of ours
        return f"{name}: stopped; {stopped}", 128 + (first.number if isinstance(first, Stopped) else signal.SIGINT)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error.format_message(), 2
    if isinstance(error, click.ClickException):
        return f"{name}: {error.format_message()}", 2
    if isinstance(error, RankModelsError):
        return f"{name}: {error}", error.exit_code
    if isinstance(error, FileNotFoundError) and error.filename is None:  # of `os.getcwd`: nothing else has no name
        return f"{name}: the current folder is gone; go to another one", 1
    if isinstance(error, OSError) and error.filename is None:
        sys.stdout = None  # it would be flushed at the end, and fail again
        if error.errno == errno.EPIPE:  # nobody reads the answer to its end
            return "", 1
        return f"{name}: stdout cannot be written to: {error.strerror}", 1
    raise error


def _hold_streams() -> None:
    """Open those of the standard streams that are closed, on nothing: else a file of ours would be in their place."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115  # for good


def _raised_again(found: sys.UnraisableHookArgs) -> None:
    """A stop that came where Python can raise nothing, as in a destructor, is asked for again a moment later."""
    if isinstance(found.exc_value, KeyboardInterrupt):
        number = found.exc_value.number if isinstance(found.exc_value, Stopped) else signal.SIGINT
        again = threading.Timer(MOMENT, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(found)


def speaking(command: click.Command) -> click.Command:
    """The command, with all below it that are loaded: their errors name their options."""
    command.context_class = Speaking
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            speaking(inner)
    return command


def flags(command: click.Command) -> dict[str, str]:
    """Parameter -> the option of a command that says it: by the name of the option, or by that of its variable.

    Example:
        >>> @click.command()
        ... @click.option("--normalise", "norm")
        ... def shown(norm): ...
        >>> flags(shown)
        {'norm': '--normalise', 'normalise': '--normalise'}
    """
    found: dict[str, str] = {}
    for option in (one for one in command.params if isinstance(one, click.Option)):
        long = next((flag for flag in option.opts if flag.startswith("--")), option.opts[0])
        found |= {option.name or "": long, long.removeprefix("--").replace("-", "_"): long}
    return found


def check_flags(command: click.Command) -> None:
    """Refuse a command with two options of one name: the options of a package stand beside ours.

    Raises:
        UsageError: it has such options.
    """
    names = [name for one in command.params for name in dict.fromkeys((*one.opts, one.name))]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"a package adds an option that there is already: {twice[0]}")


def in_flags(text: str, known: Mapping[str, str]) -> str:
    """A text of the library with options instead of parameters; what else stands between backticks stays.

    Args:
        text: names parameters as `name`, or with a value as `name=value` or `name value`.
        known: see `flags`.

    Example:
        >>> known = {"norm": "--normalise", "label_map": "--label-map"}
        >>> print(in_flags("`norm` must be one of `raw`, `l1`; for example `label_map={0: 1}`; `norm l2`", known))
        `--normalise` must be one of `raw`, `l1`; for example `--label-map '{0: 1}'`; `--normalise l2`
    """

    def option(match: re.Match[str]) -> str:
        name, sign, value = match.groups()
        if name not in known:
            return match[0]
        return f"`{known[name]}`" if not sign else f"`{known[name]} {shlex.quote(value) if sign == '=' else value}`"

    return NAMED.sub(option, text)


def say(what: object, *, err: bool = False) -> None:
    """Tell something on stdout or stderr: the one way but for the log, for reports and for what is asked."""
    click.echo(inert(str(what)), err=err)


def inert(text: str) -> str:
    r"""A text, part of which others may have written, as it may go to a terminal or a log.

    Controls, and marks that turn the direction of writing, are shown as escapes; lines are cut.

    Example:
        >>> print(inert("a\x1b]52;c;aGk=\x07b"))
        a\u001b]52;c;aGk=\u0007b
    """
    cut = (f"{line[:LONGEST]}... ({len(line):,} characters)" if len(line) > LONGEST else line
           for line in visible(text).split("\n"))  # fmt: skip
    return "\n".join(cut)


def spoken(text: str) -> str:
    """A text of the library as the command that is running says it; as it is where none is."""
    context = click.get_current_context(silent=True)
    return text if context is None else type(text)(in_flags(text, flags(context.command)))


def _translated(error: RankModelsError, known: Mapping[str, str]) -> str:
    """An error's message; what it quotes of another error, as on the keys of a file or of a backend, stays."""
    text, cause = str(error.args[0]) if error.args else "", error.__cause__
    quoted = "" if cause is None or isinstance(cause, RankModelsError) else str(cause)
    before, quote, after = text.partition(quoted) if quoted else (text, "", "")
    return f"{in_flags(before, known)}{quote}{in_flags(after, known)}"
