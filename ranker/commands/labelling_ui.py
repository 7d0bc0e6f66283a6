"""Rows on a terminal, and keys: a thin layer around a session. What is shown of a row is inert."""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import dataclass
from typing import Protocol

import click
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from factors import Example
from ranker.commands.session_files import SessionFile
from ranker.errors import RankModelsError, UsageError
from ranker.report.escapes import visible

KEYS = "123456789abcdefhijklmoprtwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Keys of labels, in their order; the others do something."""

DOING = {
    "0": "cannot tell",
    "s": "skip",
    "u": "undo",
    "v": "what models said of the last row",
    "n": "names",
    "g": "guidelines",
    "q": "quit",
}
"""What other keys do."""


class LabellingUI(Protocol):
    """Where rows are shown, and keys come from."""

    def show(self, text: Text, *, new: bool = False) -> None:
        """Show something; a new row stands by itself."""

    def key(self) -> str:
        """The next key; "" where there will be none any more."""


class Screen:
    """A terminal: a key is taken as it is pressed, and one that was pressed before a row was shown is not."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)

    def show(self, text: Text, *, new: bool = False) -> None:
        """Below what was there, after a rule."""
        if new:
            self.console.print(Rule(style="dim"))
        self.console.print(text)

    def key(self) -> str:
        """One key; what is more than one, such as an arrow or something pasted, is none. Ctrl-Z stops the program."""
        try:
            key = click.getchar()
        except EOFError:
            return ""
        if key == "\x1a":
            signal.raise_signal(signal.SIGTSTP)
        return key


class Lines:
    """A key a line, on any input and output: for screen readers and scripts."""

    def show(self, text: Text, *, new: bool = False) -> None:
        """Plain text, without colours, rules or folded lines."""
        click.echo(f"\n{text.plain}" if new else text.plain)

    def key(self) -> str:
        """What the next line says; at the end of the input nothing does."""
        line = sys.stdin.readline()
        return line.strip() or "?" if line else ""


@dataclass
class ShownRow:
    """The row that stands there.

    Attributes:
        row: it.
        since: when it was shown, in seconds.
    """

    row: Example
    since: float


def keys_of(labels: tuple[str, ...]) -> dict[str, str]:
    """Key -> label.

    Raises:
        UsageError: there are more labels than keys.

    Example:
        >>> keys_of(("bad", "good"))
        {'1': 'bad', '2': 'good'}
    """
    if len(labels) > len(KEYS):
        raise UsageError(f"a terminal has keys for {len(KEYS)} labels (got {len(labels)}); write rows with `--batch`")
    return dict(zip(KEYS, labels, strict=False))


def ask(desk: SessionFile, face: LabellingUI, guidelines: str = "") -> None:
    """Ask rows until it is enough, none is left, or nobody answers. Each answer is on the disk before the next row.

    Raises:
        RankModelsError: the file cannot be written.
    """
    keys = keys_of(desk.labelling.task.labels)
    labelling = desk.labelling
    desk.keep()
    for sentence in labelling.foregone():
        face.show(Text(visible(sentence)))
    face.show(legend(keys, guidelines))
    asked: ShownRow | None = None
    while True:
        if asked is None:
            if end := ending(desk):
                face.show(Text(end))
                break
            row = labelling.next()
            if row is None:
                face.show(Text("no row is left that could tell the models apart"))
                break
            asked = shown(face, row)
        key = face.key()
        if key in ("", "q", "\x04"):
            break
        asked = pressed(desk, face, keys, key, asked, guidelines)
    face.show(Text(last_words(desk)))


def pressed(
    desk: SessionFile, face: LabellingUI, keys: dict[str, str], key: str, asked: ShownRow, guidelines: str
) -> ShownRow | None:
    """Do what a key says; the row that is still asked, None where another one is to come."""
    labelling, beside = desk.labelling, desk.beside(time.monotonic() - asked.since)
    if key in keys:
        labelling.tell(asked.row, keys[key], **beside)
    elif key == "0":
        labelling.cannot_tell(asked.row, **beside)
    elif key == "s":
        labelling.skip(asked.row, **beside)
    elif key == "u":
        try:
            back = labelling.undo()
        except UsageError as error:
            face.show(Text(str(error)))
            return asked
        desk.keep()
        face.show(Text("taken back"))
        return shown(face, back)
    elif key == "v":
        reveal(desk, face, keys)
        return shown(face, asked.row)
    else:
        said = {"g": Text(visible(guidelines or "there are no guidelines: `--guidelines FILE`"))}
        if key == "n":
            face.show(Text(visible(labelling.ranking().answer)))
        else:
            face.show(said.get(key, legend(keys, guidelines)))
        return asked
    desk.keep()
    face.show(Text(labelling.ranking().line, style="green"))
    return None


def shown(face: LabellingUI, row: Example) -> ShownRow:
    """Show a row: its texts as they are, newlines included, and nothing else of it."""
    text = Text()
    for number, segment in enumerate(row.segments):
        text.append("\n" if number else "")
        text.append(visible(segment.replace("\r\n", "\n")), style="bold")
    face.show(text, new=True)
    return ShownRow(row, time.monotonic())


def legend(keys: dict[str, str], guidelines: str) -> Text:
    """What the keys do."""
    labels = "  ".join(f"{key} {visible(label)}" for key, label in keys.items())
    others = "  ".join(f"{key} {does}" for key, does in DOING.items() if key != "g" or guidelines)
    return Text(f"{labels}\n{others}")


def reveal(desk: SessionFile, face: LabellingUI, keys: dict[str, str]) -> None:
    """Show what the models said of the row that was answered last; a label that is given now is marked as later."""
    labelling = desk.labelling
    try:
        labelling.revealed()
    except UsageError as error:
        face.show(Text(str(error)))
        return
    line = labelling.lines[-1]
    desk.keep()
    row = labelling.rows[line.event.row]
    told = [f"you said {labelling.task.labels[line.event.label]}"]
    told += [f"{name} said {label or 'nothing'}" for name, label in labelling.said(row).items()]
    face.show(Text(visible("\n".join(told))))
    askable = not desk.request.models.precomputed
    looked = "w what they looked at  " if askable else ""
    face.show(Text(f"{looked}a label: your answer now (the first one counts)  other keys: on"))
    key = face.key()
    if key == "w" and askable:
        looked_at(desk, face, row)
        key = face.key()
    if key in keys:
        labelling.revealed(keys[key])
        desk.keep()


def looked_at(desk: SessionFile, face: LabellingUI, row: Example) -> None:
    """Show which words the models went by, as `rank-models explain` does."""
    from ranker.report.explain import render
    from ranker.runs.explain import explain

    try:
        found = explain(desk.request.models, desk.labelling.task, row, runtime=desk.request.runtime)
    except RankModelsError as error:
        face.show(Text(visible(str(error))))
        return
    face.show(Text(render(found, "terminal")))


def ending(desk: SessionFile) -> str:
    """Why it is enough; "" where it is not."""
    labelling = desk.labelling
    answers = len(labelling.session.answers[0])
    if desk.request.budget is not None and answers >= desk.request.budget:
        return f"the budget of {desk.request.budget} answers is spent"
    if not answers:
        same = (labelling.pool.said == labelling.pool.said[0]).all()
        return "all models predict the same on every row of the pool: no label would tell them apart" if same else ""
    found = labelling.ranking()
    if found.certain:
        return f"proven: the leader is within {found.points} of the best on this pool"
    if (
        found.certain is None
        and not found.alarmed
        and labelling.session.rule != "random"
        and found.within >= desk.request.settings.until
    ):
        return f"enough: P(the leader is within {found.points} of the best) has reached {desk.request.settings.until:g}"
    return ""


def last_words(desk: SessionFile) -> str:
    """What there is, and where it is kept."""
    labelling = desk.labelling
    kept = f"kept in {desk.request.output}; the same command goes on"
    if not len(labelling.session.answers[0]):
        return kept
    return f"{visible(labelling.ranking().answer)}\n{kept}"
