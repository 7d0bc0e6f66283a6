"""Show rows on a terminal and read keys: a thin layer around a session. Control characters in rows are escaped."""

from __future__ import annotations

import json
import signal
import sys

import click
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from factors import Example
from ranker.commands.session_files import SessionFile
from ranker.errors import DataError, RankModelsError, UsageError
from ranker.report.escapes import visible

KEYS = "123456789abcdefhijklmoprtwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Keys of labels, in their order; the other keys are actions."""

ACTIONS = {
    "0": "cannot tell",
    "s": "skip",
    "u": "undo",
    "v": "what models said of the last row",
    "n": "which model leads",
    "g": "guidelines",
    "q": "quit",
}
"""Actions of the other keys."""


WRITE = "t"
"""Key that lets one type an answer, where answers are no labels and so have no keys; that saves ticked boxes."""

ENTER = ("\r", "\n")
"""Keys that save ticked boxes, too."""


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

    def line(self, prompt: str) -> str:
        """Read a line after a prompt; it ends with Enter."""
        try:
            return self.console.input(f"{prompt}: ", markup=False)
        except EOFError:
            return ""


class Lines:
    """One key per line, on any input and output: for screen readers and scripts."""

    def show(self, text: Text, *, new: bool = False) -> None:
        """Print plain text, without colours, rules or wrapping."""
        click.echo(f"\n{text.plain}" if new else text.plain)

    def key(self) -> str:
        """Return the text of the next line; "" at the end of input."""
        line = sys.stdin.readline()
        return line.strip() or "?" if line else ""

    def line(self, prompt: str) -> str:
        """Return the next line."""
        self.show(Text(f"{prompt}:"))
        return sys.stdin.readline()


def keys_of(labels: tuple[str, ...], keys: str = "") -> dict[str, str]:
    """Return key -> label.

    Raises:
        UsageError: there are more labels than keys.

    Example:
        >>> keys_of(("bad", "good"))
        {'1': 'bad', '2': 'good'}
    """
    if len(labels) > len(keys or KEYS):
        text = f"a terminal has keys for {len(keys or KEYS)} labels (got {len(labels)}); write rows with `--batch`"
        raise UsageError(text, option="batch", value=len(labels))
    return dict(zip(keys or KEYS, labels, strict=False))


def actions_of(session: SessionFile) -> dict[str, str]:
    """Return key -> action of a session: none that names a model while names are hidden, or whose key is a label's."""
    wording = session.pool.wording
    excluded = {*wording.keys, *("vn" if wording.blind else "")}
    return {key: action for key, action in ACTIONS.items() if key not in excluded}


def ask(session: SessionFile, ui: Screen | Lines, guidelines: str = "") -> None:
    """Ask for labels until there are enough, no row is left, or the user quits; save each before the next row."""
    boxes, wording = session.pool.boxes, session.pool.wording
    keys = keys_of(session.pool.labels or boxes, wording.keys or (KEYS.replace(WRITE, "") if boxes else ""))
    session.keep()
    labelling = session.labelling
    for sentence in labelling.opening_notes():
        ui.show(Text(visible(sentence)))
    ui.show(legend(session, keys, guidelines))
    anew = True
    while row := session.ask():
        if anew:
            ui.show(row_text(session, row).append_text(answers_text(session)), new=True)
            if boxes:
                ui.show(ticks(session, keys))
        key = ui.key()
        if key in ("", "q", "\x04"):
            break
        anew = handle_key(session, ui, keys, key, guidelines)
    else:
        ui.show(Text(session.ending))
    ui.show(Text(visible(session.last_words)))


def handle_key(session: SessionFile, ui: Screen | Lines, keys: dict[str, str], key: str, guidelines: str) -> bool:
    """Handle a key; return True if the row that waits then is to be shown."""
    labelling, boxes = session.labelling, session.pool.boxes
    if boxes and key in keys:
        session.ticked ^= {keys[key]}
        ui.show(ticks(session, keys))
        return False
    if key in keys or (key == WRITE and not keys) or (boxes and key in (WRITE, *ENTER)):
        try:
            session.answer(typed_answer(session, ui, keys, key))
        except UsageError as error:
            return refused(ui, error)
        ui.show(Text(f"your answer: {visible(session.last_answer)}"))
        if session.row is not None:  # other parts of it wait
            return True
    elif key not in actions_of(session):
        ui.show(legend(session, keys, guidelines))
        return False
    elif key == "0":
        session.record(labelling.cannot_tell)
        ui.show(Text("no label: the row is not asked again"))
    elif key == "s":
        session.record(labelling.skip)
        ui.show(Text("skipped: the row is asked again later"))
    elif key == "u":
        try:
            session.undo()
        except UsageError as error:
            return refused(ui, error)
        ui.show(Text("taken back"))
        return True
    elif key == "v":
        reveal(session, ui, keys)
        return True
    else:
        texts = {"g": guidelines or "there are no guidelines: `--guidelines FILE`"}
        if key == "n":
            texts["n"] = labelling.ranking().answer
        ui.show(Text(visible(texts[key])) if key in texts else legend(session, keys, guidelines))
        return False
    ui.show(Text(session.line, style="green"))
    return True


def typed_answer(session: SessionFile, ui: Screen | Lines, keys: dict[str, str], key: str) -> str:
    """Return the label of a key, or the ticked boxes, or read an answer that has none."""
    if session.pool.boxes and keys:
        return json.dumps(sorted(session.ticked), ensure_ascii=False)
    return keys[key] if key in keys else ui.line(session.pool.hint)


def ticks(session: SessionFile, keys: dict[str, str]) -> Text:
    """Return the boxes, and which are ticked."""
    signs = (f"[{'x' if label in session.ticked else ' '}] {key} {visible(label)}" for key, label in keys.items())
    return Text("  ".join((*signs, f"{WRITE} save")))


def refused(ui: Screen | Lines, error: UsageError) -> bool:
    """Show why an entry was refused; the row goes on waiting. An error of the file ends the session."""
    if isinstance(error, DataError):
        raise error
    ui.show(Text(visible(str(error))))
    return False


def row_text(session: SessionFile, row: Example, style: str = "bold") -> Text:
    """Return the texts of a row, newlines included, after their names if there are several."""
    text = Text()
    for name, segment in zip(session.segment_names(row), row.segments, strict=True):
        text.append("\n" if text else "")
        text.append(f"{visible(name)}: " if name and len(row.segments) > 1 else "")
        text.append(visible(segment.replace("\r\n", "\n")), style=style)
    return text


def answers_text(session: SessionFile) -> Text:
    """Return the answers that are shown beside the row that waits, and which is meant; nothing without any."""
    panel, text = session.panel, Text()
    for number, (title, answer) in enumerate(panel.titled):
        is_meant = panel.current in (None, number)
        text.append(f"\n\n{title}: ", style="bold" if is_meant else "dim")
        text.append(visible(answer.replace("\r\n", "\n")) or "(empty)", style="" if is_meant else "dim")
    if panel.answers:
        now = "" if panel.current is None else f" Now answer {panel.current + 1}"
        text.append(f"\n\n{session.pool.wording.title}{now}")
    return text


def legend(session: SessionFile, keys: dict[str, str], guidelines: str) -> Text:
    """Return the list of keys."""
    words = session.pool.wording.of
    if session.pool.boxes:
        labels = ticks(session, keys).plain
    else:
        labels = (
            "  ".join(f"{key} {visible(words(label))}" for key, label in keys.items()) or f"{WRITE} type the answer"
        )
    other_keys = "  ".join(f"{key} {action}" for key, action in actions_of(session).items() if key != "g" or guidelines)
    return Text(f"{labels}\n{other_keys}")


def reveal(session: SessionFile, ui: Screen | Lines, keys: dict[str, str]) -> None:
    """Show the models' predictions for the last answered row; a label given now is marked as later."""
    labelling, keys = session.labelling, {} if session.pool.boxes else keys
    try:
        session.reveal()
    except UsageError as error:
        refused(ui, error)
        return
    event = labelling.lines[-1].event
    row = labelling.rows[event.row]
    lines = [f"your answer: {labelling.text_of(event.label)}"]
    lines += [f"{name}: {label or 'no answer'}" for name, label in labelling.predictions_for(row).items()]
    answered = row_text(session, row, "dim").split("\n")
    ui.show(Text("\n    ").join([Text("the row that you have answered:"), *answered]))
    ui.show(Text(visible("\n".join(lines))))
    askable = not session.request.models.precomputed
    words_key = "w what they looked at  " if askable else ""
    label_key = "a label" if keys else WRITE
    ui.show(Text(f"{words_key}{label_key}: your answer now (the first one counts)  other keys: on"))
    key = ui.key()
    if key == "w" and askable:
        show_attributions(session, ui)
        key = ui.key()
    if key in keys or (key == WRITE and not keys):
        try:
            session.reveal(typed_answer(session, ui, keys, key))
        except UsageError as error:
            refused(ui, error)
            return
        ui.show(Text(f"your answer now: {visible(labelling.text_of(labelling.lines[-1].changed_to))}"))


def show_attributions(session: SessionFile, ui: Screen | Lines) -> None:
    """Show the words behind the predictions, as `rank-models explain` does, without factors."""
    from ranker.report.explain import render

    try:
        ui.show(Text(render(session.explain(), "terminal")))
    except RankModelsError as error:
        ui.show(Text(visible(str(error))))
