"""Show rows on a terminal and read keys: a thin layer around a session. Control characters in rows are escaped."""

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
"""Keys of labels, in their order; the other keys are actions."""

ACTIONS = {
    "0": "cannot tell",
    "s": "skip",
    "u": "undo",
    "v": "what models said of the last row",
    "n": "names",
    "g": "guidelines",
    "q": "quit",
}
"""Actions of the other keys."""


class LabellingUI(Protocol):
    """Interface that shows rows and reads keys."""

    def show(self, text: Text, *, new: bool = False) -> None:
        """Show a text; a new row is set apart."""

    def key(self) -> str:
        """Return the next key; "" at the end of input."""


class Screen:
    """A terminal, where keys need no Enter; keys pressed before a row is shown do not count."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)

    def show(self, text: Text, *, new: bool = False) -> None:
        """Print below earlier output; a new row follows a rule."""
        if new:
            self.console.print(Rule(style="dim"))
        self.console.print(text)

    def key(self) -> str:
        """Return one key press; multi-byte input (arrows, paste) is ignored. Ctrl-Z stops the program."""
        try:
            key = click.getchar()
        except EOFError:
            return ""
        if key == "\x1a":
            signal.raise_signal(signal.SIGTSTP)
        return key


class Lines:
    """One key per line, on any input and output: for screen readers and scripts."""

    def show(self, text: Text, *, new: bool = False) -> None:
        """Print plain text, without colours, rules or wrapping."""
        click.echo(f"\n{text.plain}" if new else text.plain)

    def key(self) -> str:
        """Return the text of the next line; "" at the end of input."""
        line = sys.stdin.readline()
        return line.strip() or "?" if line else ""


@dataclass
class ShownRow:
    """The row on screen.

    Attributes:
        row: the row.
        since: time when it was shown, in seconds.
    """

    row: Example
    since: float


def keys_of(labels: tuple[str, ...]) -> dict[str, str]:
    """Return key -> label.

    Raises:
        UsageError: there are more labels than keys.

    Example:
        >>> keys_of(("bad", "good"))
        {'1': 'bad', '2': 'good'}
    """
    if len(labels) > len(KEYS):
        text = f"a terminal has keys for {len(KEYS)} labels (got {len(labels)}); write rows with `--batch`"
        raise UsageError(text, option="batch", value=len(labels))
    return dict(zip(KEYS, labels, strict=False))


def ask(session: SessionFile, ui: LabellingUI, guidelines: str = "") -> None:
    """Ask for labels until there are enough, no row is left, or the user quits; save each before the next row."""
    keys = keys_of(session.labelling.task.labels)
    labelling = session.labelling
    session.keep()
    for sentence in (*labelling.inseparable_models(), *labelling.opening_notes()):
        ui.show(Text(visible(sentence)))
    ui.show(legend(keys, guidelines))
    shown_row: ShownRow | None = None
    while True:
        if shown_row is None:
            if end := ending(session):
                ui.show(Text(end))
                break
            row = labelling.next()
            if row is None:
                ui.show(Text("no row is left that could tell the models apart"))
                break
            shown_row = show_row(ui, row)
        key = ui.key()
        if key in ("", "q", "\x04"):
            break
        shown_row = handle_key(session, ui, keys, key, shown_row, guidelines)
    ui.show(Text(last_words(session)))


def handle_key(
    session: SessionFile, ui: LabellingUI, keys: dict[str, str], key: str, shown_row: ShownRow, guidelines: str
) -> ShownRow | None:
    """Handle a key; return the row that is still asked, or None to go on to the next."""
    labelling, metadata = session.labelling, session.answer_metadata(time.monotonic() - shown_row.since)
    if key in keys:
        labelling.tell(shown_row.row, keys[key], **metadata)
    elif key == "0":
        labelling.cannot_tell(shown_row.row, **metadata)
    elif key == "s":
        labelling.skip(shown_row.row, **metadata)
    elif key == "u":
        try:
            row = labelling.undo()
        except UsageError as error:
            ui.show(Text(str(error)))
            return shown_row
        session.keep()
        ui.show(Text("taken back"))
        return show_row(ui, row)
    elif key == "v":
        reveal(session, ui, keys)
        return show_row(ui, shown_row.row)
    else:
        texts = {"g": Text(visible(guidelines or "there are no guidelines: `--guidelines FILE`"))}
        if key == "n":
            ui.show(Text(visible(labelling.ranking().answer)))
        else:
            ui.show(texts.get(key, legend(keys, guidelines)))
        return shown_row
    session.keep()
    ui.show(Text(labelling.ranking().line, style="green"))
    return None


def show_row(ui: LabellingUI, row: Example) -> ShownRow:
    """Show the texts of a row, newlines included, and nothing else."""
    text = Text()
    for number, segment in enumerate(row.segments):
        text.append("\n" if number else "")
        text.append(visible(segment.replace("\r\n", "\n")), style="bold")
    ui.show(text, new=True)
    return ShownRow(row, time.monotonic())


def legend(keys: dict[str, str], guidelines: str) -> Text:
    """Return the list of keys."""
    labels = "  ".join(f"{key} {visible(label)}" for key, label in keys.items())
    other_keys = "  ".join(f"{key} {action}" for key, action in ACTIONS.items() if key != "g" or guidelines)
    return Text(f"{labels}\n{other_keys}")


def reveal(session: SessionFile, ui: LabellingUI, keys: dict[str, str]) -> None:
    """Show the models' predictions for the last answered row; a label given now is marked as later."""
    labelling = session.labelling
    try:
        labelling.mark_revealed()
    except UsageError as error:
        ui.show(Text(str(error)))
        return
    line = labelling.lines[-1]
    session.keep()
    row = labelling.rows[line.event.row]
    lines = [f"your answer: {labelling.task.labels[line.event.label]}"]
    lines += [f"{name}: {label or 'no answer'}" for name, label in labelling.predictions_for(row).items()]
    ui.show(Text(visible("\n".join(lines))))
    askable = not session.request.models.precomputed
    words_key = "w what they looked at  " if askable else ""
    ui.show(Text(f"{words_key}a label: your answer now (the first one counts)  other keys: on"))
    key = ui.key()
    if key == "w" and askable:
        show_attributions(session, ui, row)
        key = ui.key()
    if key in keys:
        labelling.mark_revealed(keys[key])
        session.keep()


def show_attributions(session: SessionFile, ui: LabellingUI, row: Example) -> None:
    """Show the words behind the predictions, as `rank-models explain` does."""
    from ranker.report.explain import render
    from ranker.runs.explain import explain

    try:
        explanation = explain(session.request.models, session.labelling.task, row, runtime=session.request.runtime)
    except RankModelsError as error:
        ui.show(Text(visible(str(error))))
        return
    ui.show(Text(render(explanation, "terminal")))


def ending(session: SessionFile) -> str:
    """Return the reason to stop; "" to go on."""
    labelling = session.labelling
    answers = len(labelling.session.answers[0])
    if session.request.budget is not None and answers >= session.request.budget:
        return f"the budget of {session.request.budget} answers is spent"
    if not answers:
        alike = (labelling.pool.answered_labels == labelling.pool.answered_labels[0]).all()
        return "all models predict the same on every row of the pool: no label would tell them apart" if alike else ""
    ranking = labelling.ranking()
    if ranking.certain:
        return f"proven: the leader is within {ranking.points} of the best on this pool"
    until = session.request.settings.until
    if (
        ranking.certain is None
        and not ranking.alarmed
        and labelling.session.rule != "random"
        and ranking.within >= until
    ):
        return f"enough: P(the leader is within {ranking.points} of the best) has reached {until:g}"
    return ""


def last_words(session: SessionFile) -> str:
    """Return the result, and where it is kept."""
    labelling = session.labelling
    where_kept = f"saved in {session.request.output}; the same command resumes"
    if not len(labelling.session.answers[0]):
        return where_kept
    return f"{visible(labelling.ranking().answer)}\n{where_kept}"
