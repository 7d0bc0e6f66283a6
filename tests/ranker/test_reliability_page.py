"""docs/reliability.md: every test that it names is there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(test_\w+\.py)`|`(test_\w+)`")


def functions_of(name):
    """The functions of the test file of a name."""
    (file,) = (ROOT / "tests").rglob(name)
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)}


def named(page):
    """(file, test) of a page; a test belongs to the file that is named before it."""
    file = None
    for match in NAMED.finditer((ROOT / page).read_text()):
        file = match[1] or file
        yield file, match[2]


def test_every_test_that_is_named_is_there():
    """A promise is held by a test, and not by the name of one that is gone."""
    test_names = list(named("docs/reliability.md"))
    assert test_names
    tests = {file: functions_of(file) for file in {file for file, _ in test_names}}
    assert [(file, test) for file, test in test_names if test and test not in tests[file]] == []


def test_every_promise_names_its_test():
    """Each row of each table of promises has one."""
    text = (ROOT / "docs/reliability.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("|") and not set(line) <= set("|- ")]
    promises = [row for row in rows if row.count("|") == 3 and not row.startswith("| promise")]
    assert len(promises) > 20
    assert [row for row in promises if "`test_" not in row.rpartition("|")[0].rpartition("|")[2]] == []
