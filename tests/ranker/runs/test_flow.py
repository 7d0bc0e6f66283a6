"""The flow goes one way: what commands hand down is typed, and no step knows a later one."""

import ast
from pathlib import Path

import pytest

import ranker

ROOT = Path(ranker.__file__).parent
STEPS = ("gather", "plan", "collect", "pool", "run_measurements")
QUESTIONS = ("rank", "decide", "label", "explain")


def tree(file):
    """A module, parsed."""
    return ast.parse(file.read_text(encoding="utf-8"))


def imported(module):
    """Names that a module imports -> where from."""
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


@pytest.mark.parametrize("file", sorted((ROOT / "runs").glob("*.py")), ids=lambda file: file.stem)
def test_runs_take_no_mapping_of_anything(file):
    """A mapping from names to anything is a command line; the flow has records."""
    source = file.read_text(encoding="utf-8")
    assert "dict[str, Any]" not in source
    assert "Mapping[str, Any]" not in source


@pytest.mark.parametrize("file", sorted((ROOT / "commands").glob("*.py")), ids=lambda file: file.stem)
def test_commands_hand_no_unpacked_mapping_down(file):
    """Arguments of the flow stand there by name, so that they are checked."""
    module = tree(file)
    of_runs = {name for name, module_name in imported(module).items() if module_name.startswith("ranker.runs")}
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if called in of_runs:
                assert all(keyword.arg is not None for keyword in node.keywords), called


@pytest.mark.parametrize("step", STEPS)
def test_a_step_knows_those_before_it_alone(step):
    """gather, plan, collect, pool, scored; the questions know them, and they know no question."""
    later = {*STEPS[STEPS.index(step) + 1 :], *QUESTIONS}
    importing = {
        name.split(".")[2] for name in imported(tree(ROOT / "runs" / f"{step}.py")).values() if ".runs." in name
    }
    assert not importing & later


def test_every_question_takes_the_same_steps():
    """Each gathers, plans and collects; none has a way of its own to ask models."""
    for name in (*(name for name in QUESTIONS if name != "label"), "label_predictions"):  # which asks for `label`
        modules = {
            module_name
            for module_name in imported(tree(ROOT / "runs" / f"{name}.py")).values()
            if ".runs." in module_name
        }
        assert {"ranker.runs.collect.collect", "ranker.runs.plan.plan"} <= modules, name
        assert any(module_name.startswith("ranker.runs.gather.") for module_name in modules), name
