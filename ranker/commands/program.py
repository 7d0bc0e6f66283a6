"""Run a program on the command line, so that no error a user can meet ends in a traceback.

Messages of the library name parameters: `probe`. Here, and only here, they are replaced by options.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, NoReturn

import click

from ranker.commands import terminal
from ranker.errors import DataError, FileReading, RankModelsError, UsageError
from ranker.files.buckets import with_urls
from ranker.report.escapes import inert, visible

NAMED = re.compile(r"(?<!the setting )(?<!`)`([a-z_]+)(?:([= ])([^`]*))?`(?!`)")
"""Pattern of a parameter, with or without a value. Names called a setting, such as a backend's, are no options."""


MAX_LINE_CHARACTERS = 2_000
"""Limit on a printed line; longer ones quote a user's file, or a message of a user's code."""


MAX_QUESTION_LINES = 7
"""Most lines below a question; there is room for the first rows of two or three readings."""


ENDING = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
"""Signals that end the program: Ctrl-C, SIGTERM of schedulers and systems, and SIGHUP of a closed terminal."""


MOMENT = 0.2
"""Seconds in which several signals count as one: a second one would interrupt the cleanup of the first."""


class StopSignal(KeyboardInterrupt):
    """Raised on a signal of `ENDING`; each ends the program as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number, self.at = number, time.monotonic()


class FlagContext(click.Context):
    """Context of a command; library errors that leave it name the command's options."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if isinstance(error, RankModelsError):
            names = flags(self.command)
            error.args = (_message_in_flags(error, names),)
            error.readings = tuple(way._replace(answer=insert_flags(way.answer, names)) for way in error.readings)
        return super().__exit__(kind, error, trace)


def run_program(command: click.Command, name: str, arguments: Sequence[str] | None, stopped: str) -> NoReturn:
    """Run a program, and turn every error that a user can meet into one line and an exit status.

    Exit status: 0 done; 1 something failed; 2 an argument, or a file that it names, is invalid; 130 stopped by Ctrl-C,
    143 by SIGTERM, 129 by SIGHUP. If the reader of the output closes it early, it is 1, without a message.
    """

    stops: list[StopSignal] = []

    def raise_stop(number: int, _: object) -> None:
        if not stops or time.monotonic() - stops[-1].at >= MOMENT:
            stops.append(StopSignal(number))
            raise stops[-1]

    _hold_streams()
    terminal_modes = terminal.modes()
    signals = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN or number != signal.SIGHUP]
    handlers = {number: signal.signal(number, raise_stop) for number in signals}  # nohup ignores SIGHUP
    if hasattr(signal, "SIGTSTP") and signal.getsignal(signal.SIGTSTP) == signal.SIG_DFL:
        handlers[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, terminal.pause_handler(terminal_modes))
    hook, sys.unraisablehook = sys.unraisablehook, _raise_again
    use_flag_names(command)
    try:
        sys.exit(command.main(arguments, prog_name=name, standalone_mode=False))
    except SystemExit:
        raise
    except BaseException as error:
        for number in signals:  # a second signal prints nothing
            signal.signal(number, signal.SIG_IGN)
        try:
            line, status = _ending(error, stops, name, stopped)
            if line:
                with suppress(OSError):  # the terminal may be gone
                    say(line, err=True)
        finally:
            terminal.give_back(terminal_modes)
        sys.exit(status)
    finally:
        sys.unraisablehook = hook
        if arguments is None:  # the process ends here, and no signal may disturb that
            handlers = dict.fromkeys(signals, signal.SIG_IGN)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _ending(error: BaseException, stops: Sequence[BaseException], name: str, stopped: str) -> tuple[str, int]:
    """Return the message and the exit status of an error that ended a program; raise unexpected ones again."""
    # libraries may turn a stop into another error: an interrupted import raises ImportError
    if stops or isinstance(error, (KeyboardInterrupt, click.Abort)):
        first = stops[0] if stops else error.__cause__ or error  # click wraps our error
        return f"{name}: stopped; {stopped}", 128 + (first.number if isinstance(first, StopSignal) else signal.SIGINT)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error.format_message(), 2
    if isinstance(error, click.ClickException):
        return f"{name}: {error.format_message()}", 2
    if isinstance(error, RankModelsError):
        return "\n".join([f"{name}: {error}", *describe_readings(error.readings)]), error.exit_code
    if isinstance(error, FileNotFoundError) and error.filename is None:  # of `os.getcwd`: nothing else has no name
        return f"{name}: the current folder is gone; go to another one", 1
    if isinstance(error, OSError) and error.filename is None:
        sys.stdout = None  # else it is flushed at the end, and fails again
        if error.errno == errno.EPIPE:  # the reader closed the output
            return "", 1
        return f"{name}: stdout cannot be written to: {error.strerror}", 1
    raise error


def describe_readings(readings: Sequence[FileReading]) -> list[str]:
    r"""Return the lines below a question: a block for each reading, headed by what to type, as wide as the terminal.

    Example:
        >>> readings = [FileReading("`--runs mean`", {}, ("gpt: 2 rows", "r1: yes", "r2: no"))]
        >>> print(*describe_readings(readings), sep="\n")
          --runs mean  →  gpt: 2 rows
            r1: yes
            r2: no
    """
    width, lines = shutil.get_terminal_size().columns, []
    for reading in (reading for reading in readings[:MAX_QUESTION_LINES] if reading.preview):
        head, rows = reading.answer.replace("`", ""), reading.preview[: MAX_QUESTION_LINES // len(readings) or 1]
        lines += [f"  {'  →  '.join([head, *rows[:1]])}", *(f"    {row}" for row in rows[1:])]
    return [line if len(line) <= width else f"{line[: width - 3]}..." for line in lines]


def _hold_streams() -> None:
    """Open closed standard streams on the null device; else the next opened file would take their place."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115  # for good


def _raise_again(unraisable: sys.UnraisableHookArgs) -> None:
    """Signal a stop again after a moment, if it came where Python cannot raise, as in a destructor."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        number = unraisable.exc_value.number if isinstance(unraisable.exc_value, StopSignal) else signal.SIGINT
        timer = threading.Timer(MOMENT, os.kill, (os.getpid(), number))
        timer.daemon = True
        timer.start()
    else:
        sys.__unraisablehook__(unraisable)


def use_flag_names(command: click.Command) -> click.Command:
    """Make a command, and all loaded ones below it, name options in errors; return it."""
    command.context_class = FlagContext
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            use_flag_names(inner)
    return command


def flags(command: click.Command) -> dict[str, str]:
    """Return parameter -> option of a command, by the option's name and by that of its variable.

    Example:
        >>> @click.command()
        ... @click.option("--normalise", "norm")
        ... def shown(norm): ...
        >>> flags(shown)
        {'norm': '--normalise', 'normalise': '--normalise'}
    """
    flag_names: dict[str, str] = {}
    for option in (parameter for parameter in command.params if isinstance(parameter, click.Option)):
        long = next((flag for flag in option.opts if flag.startswith("--")), option.opts[0])
        flag_names |= {option.name or "": long, long.removeprefix("--").replace("-", "_"): long}
    return flag_names


def check_flags(command: click.Command) -> None:
    """Refuse a command with two options of one name, since packages may add options."""
    names = [name for parameter in command.params for name in dict.fromkeys((*parameter.opts, parameter.name))]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"a package adds an option that there is already: {twice[0]}", option=twice[0].lstrip("-"))


def insert_flags(text: str, names: Mapping[str, str]) -> str:
    """Replace parameters in a text of the library by options; other text in backticks stays.

    Example:
        >>> flag_names = {"norm": "--normalise", "label_map": "--label-map"}
        >>> print(insert_flags("`norm` is one of `raw`, `l1`; for example `label_map={0: 1}`; `norm l2`", flag_names))
        `--normalise` is one of `raw`, `l1`; for example `--label-map '{0: 1}'`; `--normalise l2`
    """

    def option(match: re.Match[str]) -> str:
        name, sign, value = match.groups()
        if name not in names:
            return match[0]
        return f"`{names[name]}`" if not sign else f"`{names[name]} {shlex.quote(value) if sign == '=' else value}`"

    return NAMED.sub(option, text)


def refuse(values: Mapping[str, Any], names: Iterable[str], predicate: str) -> None:
    """Refuse options that say nothing beside the others of a command line."""
    for name in names:
        value = values.get(name)
        if not (value is None or value is False or value == ()):
            raise UsageError.about(name, predicate, value)


def say(message: object, *, err: bool = False) -> None:
    """Print a message on stdout or stderr; only log lines, reports and questions are printed otherwise."""
    click.echo(escape_text(str(message)), err=err)


def escape_text(text: str) -> str:
    r"""Escape text that others may have written for a terminal or a log.

    Control characters, marks that change the direction of writing, and commands to a CI log are escaped; long lines are
    cut.

    Example:
        >>> print(escape_text("a\x1b]52;c;aGk=\x07b"))
        a\u001b]52;c;aGk=\u0007b
    """
    cut = (f"{line[:MAX_LINE_CHARACTERS]}... ({len(line):,} characters)" if len(line) > MAX_LINE_CHARACTERS else line
           for line in visible(text).split("\n"))  # fmt: skip
    return inert("\n".join(cut))


def name_flags(text: str) -> str:
    """Replace parameters in a text by the options of the running command, if any, and copies by their URLs."""
    text, context = type(text)(with_urls(text)), click.get_current_context(silent=True)
    return text if context is None else type(text)(insert_flags(text, flags(context.command)))


def _message_in_flags(error: RankModelsError, flag_names: Mapping[str, str]) -> str:
    """Return an error's message with options and URLs; a key of a file stays, as does text quoted from an error."""
    text, cause = str(error.args[0]) if error.args else "", error.__cause__
    key = f"{error.place}: `{error.option}`"
    if isinstance(error, DataError) and text.startswith(key):
        quoted = key
    else:
        quoted = "" if cause is None or isinstance(cause, RankModelsError) else str(cause)
    before, quote, after = text.partition(quoted) if quoted else (text, "", "")
    return with_urls(f"{insert_flags(before, flag_names)}{quote}{insert_flags(after, flag_names)}")
