"""The list of commands is written without importing one, and is that of the modules."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from ranker import commands
from ranker.cli import QUESTIONS, UPKEEP, cli, known_commands

HELPERS = {
    "__init__", "arguments", "label_arguments", "label_web", "labelling_ui", "config", "custom", "judge_options",
    "session_files", "session_report", "options", "outputs", "program", "stderr", "tasks", "terminal", "votes",
    "within",
}  # fmt: skip


def test_every_module_of_a_command_is_listed():
    """A new command that is not in the table would be found by nobody."""
    modules = {path.stem for path in Path(commands.__file__).parent.glob("*.py")}
    assert modules - HELPERS == {*QUESTIONS, *UPKEEP}


@pytest.mark.parametrize("name", known_commands())
def test_each_is_a_command_of_its_name(name):
    """Every listed command can be called."""
    command = cli.get_command(click.Context(cli), name)
    assert isinstance(command, click.Command)
    assert command.name == name


@pytest.mark.parametrize(
    ("arguments", "imported"),
    [
        (["--help"], set()), (["ls"], {"ls"}), (["--probes", "10"], {"run"}), (["--ood", "hans-subs"], {"run"}),
        (["compare", "--help"], {"compare"}),
    ],
)  # fmt: skip
def test_no_other_command_is_imported_and_no_numpy(arguments, imported):
    """A counter of the work done: what is imported."""
    code = (
        "import sys\nfrom ranker.cli import known_commands, main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "loaded = [name for name in known_commands() if any(module.endswith(f'.commands.{name}') for module in "
        "sys.modules)]\nprint(*loaded, 'numpy' in sys.modules, sep=',')"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    *names, numpy = done.stdout.splitlines()[-1].split(",")
    assert set(names) - {""} == imported
    assert numpy == "False"
