"""Pages and help are plain sentences: three counts that may only fall, and the checks of proselint."""

import re
from pathlib import Path

import click
import pytest
from markdown_it import MarkdownIt
from proselint.checks import __register__
from proselint.config import DEFAULT
from proselint.registry import CheckRegistry
from proselint.tools import LintFile

from experiments.__main__ import cli as experiments
from ranker.cli import cli

ROOT = Path(__file__).parents[1]
FRONT = ("README.md", "CONTRIBUTING.md")
PAGES = [
    path
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if not {"json-schema.md", "results", "reference"} & {*path.parts}
]

LONGEST = 35
"""Most words of a sentence: beyond, it has more than one idea."""

RULES = {
    "long": lambda sentence: len(re.findall(r"\w[\w'.-]*", sentence)) > LONGEST,
    "which twice": lambda sentence: len(re.findall(r"\bwhich\b", sentence, re.IGNORECASE)) > 1,
    "opens with a pronoun": lambda sentence: re.match(r"(What|Who|Which|Whether|How)\b[^?]*$", sentence),
}
"""Rule -> whether a sentence breaks it; a question may open with its word."""

BOUNDS = {"front": {}, "help": {}, "docs": {"long": 32, "opens with a pronoun": 1, "proselint": 3}}
"""The most sentences that may break a rule, 0 if unnamed. Lower a bound when a count falls; never raise one."""

SLACK = 10
"""How far a count may fall before its bound has to follow."""

OFF = ("typography", "lexical_illusions", "needless_variants")
CHECKS = {**DEFAULT, "checks": {**DEFAULT["checks"], **dict.fromkeys(OFF, False)}}
"""All of proselint, but those that ask for typographer's signs, take figures for words, or know one spelling of two."""


def paragraphs(text):
    """Yield the paragraphs of a page with their lines: no headings, tables or code; code within a line is one word."""
    blocks = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.nesting == 1:
            blocks.append(token.type)
        elif token.nesting == -1:
            blocks.pop()
        elif token.type == "inline" and not {"heading_open", "table_open"} & {*blocks}:
            words = {"text": str, "code_inline": lambda _: "Code", "softbreak": lambda _: " "}
            yield token.map[0] + 1, "".join(words.get(part.type, lambda _: "")(part.content) for part in token.children)


def sentences(paragraph):
    """Split a paragraph at ends of sentences."""
    return re.split(r"""(?<=[.!?])["')]* +(?=["'(]*[A-Z0-9])|(?<=:) +(?=[A-Z])""", paragraph)


def help_texts(command, name):
    """Yield the paragraphs of a command's help, and of its commands'; blocks after a \\b are as they are typed."""
    texts = [command.help or "", *(getattr(parameter, "help", "") or "" for parameter in command.params)]
    blocks = [block.strip() for text in texts for block in re.split(r"\n\s*\n", text)]
    yield from ((name, " ".join(block.split())) for block in blocks if block and not block.startswith("\b"))
    if isinstance(command, click.Group):
        for sub in command.list_commands(click.Context(command)):
            yield from help_texts(command.get_command(click.Context(command), sub), f"{name} {sub}")


def prose():
    """Room -> its paragraphs, each with its place."""
    texts_of = {"help": [*help_texts(cli, "rank-models"), *help_texts(experiments, "experiments")]}
    for room, paths in {"front": [ROOT / name for name in FRONT], "docs": PAGES}.items():
        pages = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in paths}
        texts_of[room] = [
            (f"{path}:{line}", text) for path, page in pages.items() for line, text in paragraphs(page) if text
        ]
    return texts_of


PROSE = prose()


def broken(room):
    """Rule -> the places in a room that break it."""
    registry = CheckRegistry()
    if not registry.checks:
        registry.register_many(__register__)
    places = {rule: [] for rule in (*RULES, "proselint")}
    for place, text in PROSE[room]:
        for rule, breaks in RULES.items():
            places[rule] += [f"{place}: {sentence}" for sentence in sentences(text) if breaks(sentence)]
        places["proselint"] += [
            f"{place}: {fault.check_result.message}" for fault in LintFile(place, text).lint(CHECKS)
        ]
    return places


@pytest.mark.parametrize("room", BOUNDS)
def test_sentences_that_break_a_rule_only_grow_fewer(room):
    """The list says where to look; a bound that is left behind has to be lowered."""
    for rule, places in broken(room).items():
        bound = BOUNDS[room].get(rule, 0)
        assert len(places) <= bound, "\n".join((rule, *places[-40:]))
        assert bound - len(places) <= SLACK, f"lower the bound of {rule} in {room} to {len(places)}"


def test_a_broken_rule_is_seen():
    """In the second sentence too, and not in code or a table."""
    page = "# Which\n\nA `which` is\ncode. What it gains is shown.\n\n| which which |\n|---|\n| Which |\n"
    ((line, text),) = paragraphs(page)
    assert (line, sentences(text)) == (3, ["A Code is code.", "What it gains is shown."])
    assert [rule for rule in RULES if RULES[rule](sentences(text)[1])] == ["opens with a pronoun"]
    assert not RULES["opens with a pronoun"]("Which is it?")
    assert RULES["which twice"]("Which of them, and which not?")
    assert RULES["long"]("word " * 36)
    assert not RULES["long"]("word " * 35)


def test_a_word_of_proselint_is_seen(monkeypatch):
    """And what it says of figures and signs is not."""
    monkeypatch.setitem(PROSE, "made", [("page", 'A very unique model has "1 1" of ...')])
    assert list(map(len, broken("made").values())) == [0, 0, 0, 2]
