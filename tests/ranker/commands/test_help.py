"""Help: what to type for what one has, flags under headings, completion in shells, no colours where none are wanted."""

import os
import re
import shlex
import subprocess
import sys
import textwrap

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from ranker.cli import START, cli, known_commands
from ranker.commands.options import option
from ranker.sources.options import Heading

COMMON = ("ood", "data", "pool", "models", "metric", "output")
"""Names of the six flags that `run --help` lists first."""


@pytest.fixture
def help_of(monkeypatch):
    """Returns the help of a command at a width of 80."""
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *names, flag="--help": CliRunner().invoke(cli, [*names, flag]).stdout


def sections(text):
    """Split a help page: heading -> its lines, without the indentation."""
    by_title = {}
    for line in text.splitlines():
        if line and not line.startswith(" "):
            by_title[line.rstrip(":")] = lines = []
        elif line:
            lines.append(line)
    return by_title


def commands(text):
    """Return the command lines of a text, without the remark behind one."""
    lines = (line.strip() for line in text.splitlines())
    return [line[line.index("rank-models") :].split("  ")[0] for line in lines if "rank-models " in line]


def parse(line):
    """Return the options that a command line sets, by name; click refuses a wrong one."""
    context = cli.make_context("rank-models", shlex.split(line)[1:])
    _, command, arguments = cli.resolve_command(context, [*context._protected_args, *context.args])
    typed = command.make_context(command.name, arguments, parent=context)
    return {name for name, value in typed.params.items() if value not in (None, (), False)}


def test_nothing_typed_gets_ten_lines():
    """The lines are an answer, on stdout; each has a command that can be parsed; `--help` begins with them."""
    done = CliRunner().invoke(cli, [])
    assert (done.exit_code, done.stdout, done.stderr) == (0, f"{START}\n", "")
    lines = START.splitlines()
    assert len(lines) == 10
    assert all(len(line) <= 80 for line in lines)
    for line in commands(START)[:-1]:
        assert parse(line)
    assert len(commands(START)) >= 9
    assert textwrap.indent(START, "  ") in CliRunner().invoke(cli, ["--help"]).stdout


def test_flags_stand_under_headings(help_of):
    """The common ones come first; then each heading, in the order of `Heading`, with each flag of `run` once."""
    page = sections(help_of("run", flag="--help-all"))
    titles = [title for title in page if not title.startswith("Usage")]
    assert titles == [*Heading]
    flags = {title: [line.strip().split()[0] for line in page[title] if line.startswith("  -")] for title in titles}
    assert flags["Common"] == ["--ood", "--data", "--pool", "--models", "--metric", "-o,"]
    assert {"--encoding", "--within", "--columns"} <= set(flags["Rows"])
    assert {"--label-map", "--null-answers"} <= set(flags["Models"])
    assert {"--prediction", "--filter", "--runs"} <= set(flags["Files of answers"])
    assert {"--prompts", "--shots"} <= set(flags["Language models"])
    assert {"--send-texts", "--token-budget"} <= set(flags["Servers"])
    assert {"--method", "--factors", "--seed"} <= set(flags["Methods"])
    assert {"--strict", "--by"} <= set(flags["Checks"])
    assert {"--device", "--workers", "--store"} <= set(flags["Machine"])
    assert {"--format", "--help", "-h,"} & set(flags["Output"])
    command = cli.get_command(click.Context(cli), "run")
    options = [
        parameter for parameter in command.get_params(click.Context(command)) if parameter.param_type_name == "option"
    ]
    assert sum(map(len, flags.values())) == len(options)


@pytest.mark.parametrize("name", ["run", "label", "explain", "report"])
def test_each_example_can_be_typed(help_of, name):
    """Each is a command that click takes; those of `run` have each common flag."""
    typed = [parse(line) for line in commands(help_of(name)) if line.startswith("rank-models ") and "`" not in line]
    assert len(typed) >= 4
    for common in COMMON if name == "run" else ():
        assert any(common.replace("ood", "ood_name") in names for names in typed), common


@pytest.mark.parametrize("name", ["run", "label", "explain"])
def test_help_of_many_flags_is_short(help_of, name):
    """The common ones are described, of the others the names; `--help-all` describes them, and is named."""
    page, full_help = help_of(name), help_of(name, flag="--help-all")
    assert page.count("\n") < 80 < full_help.count("\n")
    assert "--help-all" in page
    assert {*re.findall(r"--[a-z-]+", full_help)} - {"--no-isolate", "--dry-run"} <= {*re.findall(r"--[a-z-]+", page)}
    of_run, flags = {"--prices", "--cluster", "--reducer"}, {*re.findall(r"--[a-z-]+", page)}
    assert of_run & flags == (of_run if name == "run" else set())
    assert ("--errors" in flags) == (name != "explain")


def test_shift_has_no_option_of_label_sets(help_of):
    """It counts labels as they are written, and would ignore them."""
    assert {"--separator", "--threshold"} & {*re.findall(r"--[a-z-]+", help_of("shift"))} == set()


@pytest.mark.parametrize("name", known_commands())
def test_help_fits_into_80_columns(help_of, name):
    """Also what is not wrapped, such as examples; no word is broken at its hyphen."""
    lines = help_of(name).splitlines()
    assert len(lines) > 5
    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines if line.endswith(("rank-", "text="))] == []


def test_a_flag_of_a_package_without_a_heading_is_of_models():
    """A kind of sources adds models, so its flags stand there; a heading of its own comes behind ours."""
    command = click.command(cls=type(cli.get_command(click.Context(cli), "run")))(
        option("Mine", "--ours", help="Of mine.")(option(Heading.MODELS, "--size", help="Of it.")(lambda: None))
    )
    page = sections(CliRunner().invoke(command, ["--help"]).stdout)
    assert [title for title in page if not title.startswith("Usage")] == ["Models", "Output", "Mine"]


def completed(words):
    """Return what click offers behind some words, the last of which is not yet finished."""
    _, *before, last = words.split(" ")
    return ShellComplete(cli, {}, "rank-models", "_RANK_MODELS_COMPLETE").get_completions(before, last)


@pytest.mark.parametrize(
    ("words", "offered", "absent"),
    [
        ("rank-models co", {"compare"}, "run"),
        ("rank-models --da", {"--data", "--data-dir"}, "--pool"),
        ("rank-models --ood hans-sub --po", {"--pool", "--population"}, "--data"),
        ("rank-models label --until 0.9 --ma", {"--marks"}, "--models"),
        ("rank-models run --dtype ", {"float32", "bfloat16", "auto"}, "--data"),
        ("rank-models nothing --mo", set(), "--models"),
        ("rank-models nothing ", set(), "run"),
    ],
)
def test_words_are_completed(words, offered, absent):
    """Commands, flags of `run` without its name, values, and names of sets; nothing for a command that there is not."""
    values = {entry.value for entry in completed(words)}
    assert values >= offered
    assert bool(values) == bool(offered)
    assert absent not in values


def test_models_are_completed_as_files():
    """The shell itself lists files for `--models`, and for the ones behind it."""
    for words in ("rank-models --models a", "rank-models --models a b"):
        assert [entry.type for entry in completed(words)] == ["file"]


def test_the_program_answers_a_shell():
    """As the script asks: by variables of the environment, with a word in each line of stdout."""
    variables = {"_RANK_MODELS_COMPLETE": "bash_complete", "COMP_WORDS": "rank-models sh", "COMP_CWORD": "1"}
    line = [sys.executable, "-m", "ranker"]
    done = subprocess.run(line, env=os.environ | variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "plain,shift\n", "")
