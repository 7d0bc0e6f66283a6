"""Prompts: their files, the built-in ones, and the text that they make around the texts of a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, Literal

from factors.types import Frozen, Ints
from ranker.datasets.embedded import folder
from ranker.errors import DataError, LabelError, ModelError, UnknownName, UsageError, listed
from ranker.records import read_toml, record
from ranker.sources.lm.options import Calibration
from ranker.tasks.classes import has_labels
from ranker.tasks.values import has_values

if TYPE_CHECKING:
    from ranker.tasks.base import Task

TEXTS, LABELS = "text", "labels"
"""Fields of templates: all texts of a row, where a prompt names no segments; and the words for the labels."""

BETWEEN = "\n"
"""Text between two texts of a row, where a prompt names no segments."""

TURNS = ("user", "assistant")
"""Roles of a question and its answer."""

CONTENT_FREE = ("N/A", "[MASK]", "")
"""Texts without content, of Zhao et al. 2021."""

DATE = "26 Jul 2024"
"""Date for chat templates that state today's, so that answers do not depend on it: the default of Llama 3.2's."""

MARK = "\ue000{}\ue001"
"""Place of a text while a chat template is applied: characters for private use, which no template changes."""


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A way to put a task to a language model, as a .toml file writes it.

    Attributes:
        template: text of a row. `{name}` stands for the segment of that name, `{text}` for all texts of a row where
            `segments` is empty, `{labels}` for the words for the labels. Its end is where the answer begins; a blank
            there belongs to the answer's first token.
        segments: names of a row's texts, in order; each is in the template once.
        name: in reports; the name of the file if left out.
        instruction: text before everything else; in a chat the system's message.
        verbalizers: label -> words for it, whose probabilities add up; the label's name where it has none. Labels are
            named as the task does, by alias too, and several may be names of one label.
        chat: use the model's chat template.
        separator: text between instruction, demonstrations and row, in prompts that are no chat.
        decode: let the model write, and read the label from the beginning of its text, instead of comparing the
            probabilities of the words for the labels. Tasks of texts and numbers always do.
        max_new_tokens: most tokens that the model writes.
        stop: texts that end an answer and do not belong to it.
        shots, calibration: as in `LMOptions`; None takes the run's.
        length: score of a word: the sum of its tokens' log-probabilities, or their mean.
        demonstrations: file of labelled rows, relative to the prompt's; "" takes the run's.
        seed: of the choice and the order of demonstrations.

    Raises:
        ValueError: the template lacks a segment, has one twice or another field, or a number is out of range.

    Example:
        >>> prompt = Prompt(segments=("premise", "hypothesis"), template="{premise}\\nSo: {hypothesis} True or false?")
        >>> prompt.fill(("A man ran.", "He moved."))
        'A man ran.\\nSo: He moved. True or false?'
    """

    template: str
    segments: tuple[str, ...] = ()
    name: str = ""
    instruction: str = ""
    verbalizers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    chat: bool = False
    separator: str = "\n\n"
    decode: bool = False
    max_new_tokens: int = 64
    stop: tuple[str, ...] = ("\n\n",)
    shots: int | None = None
    demonstrations: str = ""
    seed: int = 0
    calibration: Calibration | None = None
    length: Literal["sum", "mean"] = "sum"

    def __post_init__(self) -> None:
        object.__setattr__(self, "verbalizers", Frozen(self.verbalizers))
        names = [name for _, name in _parts(self.template) if name is not None and name != LABELS]
        for name in self.segments or (TEXTS,):
            if names.count(name) != 1:
                times = "does not have" if name not in names else "must have only once"
                raise ValueError(f"its `template` {times} the segment {{{name}}}")
        if unknown := [name for name in names if name not in (self.segments or (TEXTS,))]:
            fields = listed(f"{{{name}}}" for name in (*(self.segments or (TEXTS,)), LABELS))
            raise ValueError(f"its `template` has the unknown field {{{unknown[0]}}} (known: {fields})")
        for label, words in self.verbalizers.items():
            if not words or not all(word.strip() for word in words):
                raise ValueError(f"`verbalizers`: {label!r} needs a word, or several, that are not blank")
        if self.max_new_tokens < 1 or (self.shots or 0) < 0:
            raise ValueError("`max_new_tokens` must be at least 1, and `shots` at least 0")

    def words(self, task: Task) -> Mapping[str, tuple[str, ...]]:
        """Return the words for each label: the prompt's own, or the names of the task's labels.

        Raises:
            LabelError: the answers to the task are no labels, or the prompt has words for other labels.
        """
        if not has_labels(task):
            return {}
        words = self.verbalizers or {label: (label,) for label in task.labels}
        if unknown := [label for label in words if task.index(label) is None]:
            text = f"has words for {unknown[0]!r}, which is no label of {task.name} ({listed(task.labels)})"
            raise LabelError.of(f"the prompt {self.name}", text, value=unknown[0], allowed=task.labels)
        missing = [label for label in task.labels if all(task.index(name) != task.index(label) for name in words)]
        if missing:
            text = f"has no words for the label {missing[0]!r} of {task.name}; add them to `verbalizers`"
            raise LabelError.of(f"the prompt {self.name}", text, value=missing[0])
        return words

    def fill(self, texts: Sequence[str], labels: str = "") -> str:
        """Return the template with the texts of a row, and the words for the labels."""
        values = dict(zip(self.segments, texts, strict=True)) if self.segments else {TEXTS: BETWEEN.join(texts)}
        filled = [
            text + ("" if name is None else {**values, LABELS: labels}[name]) for text, name in _parts(self.template)
        ]
        return "".join(filled)

    def identity(self) -> dict[str, Any]:
        """Return everything that can change an answer, as plain JSON; its name and its files cannot."""
        fields = asdict(replace(self, verbalizers={}))
        without = ("name", "shots", "demonstrations", "seed", "calibration", "length")
        words = {label: list(names) for label, names in self.verbalizers.items()}
        settings = {name: value for name, value in fields.items() if name not in without}
        return {**settings, "segments": list(self.segments), "stop": list(self.stop), "verbalizers": words}


def lists_labels(prompt: Prompt) -> bool:
    """Return True if a prompt's template has a place for the words for the labels."""
    return any(name == LABELS for _, name in _parts(prompt.template))


def _parts(template: str) -> Iterator[tuple[str, str | None]]:
    """Yield the pieces of a template: a text, and the field behind it, or None."""
    for text, name, form, conversion in Formatter().parse(template):
        if form or conversion:
            raise ValueError(f"its `template` must have plain fields (got {{{name}:{form}}}); write {{{{ for a brace")
        yield text, name


@dataclass(frozen=True)
class Frame:
    """Fixed texts of a prompt around the texts of a row.

    Attributes:
        literals: (S + 1,) texts before, between and behind the row's.
        order: (S,) the row's texts in the order of the prompt.
    """

    literals: tuple[str, ...]
    order: tuple[int, ...]

    def text(self, segments: Sequence[str]) -> tuple[str, Ints]:
        """Return the prompt of a row, and (S, 2) the characters of each of its texts there."""
        import numpy as np

        text, places = self.literals[0], np.zeros((len(segments), 2), np.int64)
        for literal, number in zip(self.literals[1:], self.order, strict=True):
            places[number] = len(text), len(text) + len(segments[number])
            text += segments[number] + literal
        return text, places


def frame(
    prompt: Prompt,
    count: int,
    labels: str = "",
    demonstrations: Sequence[tuple[Sequence[str], str]] = (),
    chat: Callable[[Sequence[Mapping[str, str]]], str] | None = None,
) -> Frame:
    """Return the fixed texts of a prompt.

    Args:
        count: number of texts of a row.
        labels: words for the labels, for `{labels}`.
        demonstrations: texts of other rows, and the answers to them.
        chat: makes one text of a chat's messages; None for a prompt that is no chat.

    Raises:
        ModelError: rows have another number of texts than the prompt, or a chat template changes the texts.

    Example:
        >>> frame(Prompt(name="is", template="{text} It is"), 1, demonstrations=[(["Dull."], " bad")]).literals
        ('Dull. It is bad\\n\\n', ' It is')
    """
    check_count(prompt, count)
    marks = [MARK.format(number) for number in range(count)]
    row = prompt.fill(marks, labels)
    filled = [(prompt.fill(texts, labels), answer) for texts, answer in demonstrations]
    if chat is None:
        parts = [prompt.instruction] * bool(prompt.instruction) + [question + answer for question, answer in filled]
        text = prompt.separator.join([*parts, row])
    else:
        text = _chat_text(prompt, filled, row, chat)
    places = sorted((text.find(mark), number) for number, mark in enumerate(marks))
    if any(text.count(mark) != 1 for mark in marks):
        raise ModelError.of(f"the prompt {prompt.name}", "cannot be put to this model: its chat template changes texts")
    literals, end = [], 0
    for place, number in places:
        literals.append(text[end:place])
        end = place + len(marks[number])
    return Frame((*literals, text[end:]), tuple(number for _, number in places))


def check_count(prompt: Prompt, count: int) -> None:
    """Raise a ModelError for rows that have another number of texts than a prompt."""
    if prompt.segments and len(prompt.segments) != count:
        names = listed(prompt.segments)
        text = f"is for rows of {len(prompt.segments)} texts ({names}), and these have {count}"
        raise ModelError.of(f"the prompt {prompt.name}", text, value=count)


def _chat_text(
    prompt: Prompt,
    filled: Sequence[tuple[str, str]],
    row: str,
    chat: Callable[[Sequence[Mapping[str, str]]], str],
) -> str:
    """Return a chat of demonstrations and a row as one text; an instruction is the first message, or in it."""
    turns = chat_turns(prompt, filled, row)
    try:
        return chat(turns)
    except ModelError:  # many templates, such as Gemma's, know no message of the system
        if not prompt.instruction:
            raise
        first = {**turns[1], "content": prompt.instruction + prompt.separator + turns[1]["content"]}
        return chat([first, *turns[2:]])


def chat_turns(prompt: Prompt, filled: Sequence[tuple[str, str]], row: str) -> list[dict[str, str]]:
    """Return a chat as messages: the instruction, demonstrations with their answers, and a row.

    Args:
        filled: demonstrations in its template, and the answers to them.
        row: the row in its template.

    Example:
        >>> chat_turns(Prompt(template="{text} Mood?"), [("Dull. Mood?", " bad")], "Fun. Mood?")[1]
        {'role': 'assistant', 'content': 'bad'}
    """
    system = [{"role": "system", "content": prompt.instruction}] * bool(prompt.instruction)
    turns = [(role, text.strip()) for pair in filled for role, text in zip(TURNS, pair, strict=True)]
    return system + [{"role": role, "content": text} for role, text in (*turns, (TURNS[0], row.strip()))]


def builtin() -> dict[str, Path]:
    """Return the prompts that come with the product: ``set/name`` -> file.

    Example:
        >>> "nli/true-or-false" in builtin()
        True
    """
    root = folder() / "prompts"
    return {f"{path.parent.name}/{path.stem}": path for path in sorted(root.glob("*/*.toml"))}


def load(names: Sequence[str]) -> tuple[Prompt, ...]:
    """Load prompts.

    Args:
        names: files, folders of files, and built-in prompts or sets of them, of which chats are left out.

    Raises:
        UsageError: there is no such file or built-in prompt, or two have one name; DataError: a file is no prompt.

    Example:
        >>> [prompt.name for prompt in load(["nli/true-or-false"])]
        ['true-or-false']
    """
    prompts = [read(file) for name in names for file in _files(name)]
    by_name: dict[str, Prompt] = {}
    for prompt in prompts:
        if by_name.setdefault(prompt.name, prompt) != prompt:
            text = f"has two prompts named {prompt.name!r}; give one another `name`"
            raise UsageError.about("prompts", text, prompt.name)
    return tuple(by_name.values())


def _files(name: str) -> list[Path]:
    """Return the files of a name that a user gave."""
    path, files_by_name = Path(name), builtin()
    if path.is_dir():
        files = sorted(path.glob("*.toml"))
        if not files:
            raise UsageError.about("prompts", f"must name files, or folders of .toml files (got {name})", name)
        return files
    if path.suffix == ".toml" or path.is_file():
        return [path]
    of_set = [file for key, file in files_by_name.items() if key.partition("/")[0] == name]
    inside = [files_by_name[name]] if name in files_by_name else [file for file in of_set if not read(file).chat]
    if not inside:
        sets = dict.fromkeys(key.partition("/")[0] for key in files_by_name)
        raise UsageError.about("prompts", str(UnknownName("prompt or file", name, [*sets, *files_by_name])), name)
    return inside


def read(file: Path) -> Prompt:
    """Read a prompt from its file; raises a DataError if it is none."""
    try:
        prompt = record(Prompt, read_toml(file, "a prompt"), label="the prompt")
    except (ValueError, UnknownName) as error:
        raise DataError.at(file, error) from error
    rows = str(file.parent / prompt.demonstrations) if prompt.demonstrations else ""
    return replace(prompt, name=prompt.name or file.stem, demonstrations=rows)


def prompt_of(task: Task, chat: bool = False) -> Prompt:
    """Return the first built-in prompt of a task, a chat or none, or one for any labels; else raise a ModelError."""
    files_by_name = builtin()
    sets = (task.name, *(["labels"] if has_labels(task) else ["text"] if has_values(task) else []))
    prompts = [read(file) for name in sets for key, file in files_by_name.items() if key.partition("/")[0] == name]
    if not prompts:
        text = f"there is no built-in prompt for {task.name}; name one with `prompts`"
        raise ModelError(text, option="prompts", value=task.name)
    return next(prompt for prompt in prompts if prompt.chat == chat)
