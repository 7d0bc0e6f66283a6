"""Every option of every command stands in an example of a page, and examples have no other options."""

import re
from pathlib import Path

import click

from ranker.cli import cli, known_commands

ROOT = Path(__file__).parents[1]
PAGES = [path for path in (ROOT / "docs").rglob("*.md") if not {"results", "reference"} & {*path.parts}]

WITHOUT_EXAMPLE = {"--help", "--version"}
"""Options that show a text and end."""


def options_of(command):
    """The options of a command, and of those below it, each as the set of its spellings."""
    context = click.Context(command)
    options = {
        frozenset((*parameter.opts, *parameter.secondary_opts))
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option)
    }
    below = command.commands.values() if isinstance(command, click.Group) else ()
    return options.union(*map(options_of, below))


OPTIONS = {name: options_of(cli.get_command(click.Context(cli), name)) for name in known_commands()}
"""Command -> its options."""


def examples(page):
    """Yield the command and the options of each example in a block of a page, fenced or indented."""
    blocks = re.findall(r"(?ms)^ *```.*?^ *```$|^    .*?$", page.replace("\\\n", " "))
    for line in re.findall(r"(?m)(?:^|[ $])rank-models ([\w-].*?)(?= [#|>]|$)", "\n".join(blocks)):
        first, *_ = words = line.split()
        name = first if first in OPTIONS else "run"
        yield name, {word.partition("=")[0] for word in words if re.match("--?[a-z]", word)}


EXAMPLES = [example for path in (ROOT / "README.md", *PAGES) for example in examples(path.read_text(encoding="utf-8"))]


def test_every_option_stands_in_an_example():
    """Of a command that has it. An option that needs no example is one that nobody needs."""
    options = options_of(cli).union(*OPTIONS.values())
    used = {option for name, words in EXAMPLES for option in OPTIONS[name] if option & words}
    assert sorted(max(option, key=len) for option in options - used if not option & WITHOUT_EXAMPLE) == []


def test_every_example_has_options_of_its_command():
    """None has been removed or renamed."""
    unknown = [(name, words.difference(*OPTIONS[name])) for name, words in EXAMPLES]
    assert [(name, words) for name, words in unknown if words] == []


def test_examples_are_found_in_blocks_alone():
    """A line may go on after a backslash, and ends before a remark; what is printed is no example."""
    block = "```console\n$ rank-models ls x --a \\\n  --b=1 # --c\nsay --d\n```\n"
    page = f"`rank-models --seed 1`\n\n{block}\n    rank-models -q\n"
    assert [*examples(page)] == [("ls", {"--a", "--b"}), ("run", {"-q"})]
