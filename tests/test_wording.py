"""Names and docstrings keep explaining themselves: three counts of the product, and of the tests, may only fall."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("factors", "ranker", "experiments", "benchmarks")

VAGUE = frozenset(
    re.findall(
        r"\w+",
        """
        both each every it its less more one other others rest some such that them there these they this those what
        which
        here how where who why whole
        asked found given kept known made named read said seen shown taken told written
        at data item obj of own result still stuff thing tmp
        """,
    )
)
"""Names that say nothing of what they hold: name a value by what it is (`row`, `model`, `labels`, `share`)."""

OPENINGS = frozenset({"what", "how", "whether", "who", "where", "which", "why"})
"""Words that a docstring does not open with: a function's opens with a verb, a record's with a noun."""

COUNTS = ("vague names", "docstrings that open with a pronoun", "class names that stand twice")
BOUNDS = {PACKAGES: (45, 7, 0), ("tests",): (5, 78, 0)}
"""Packages -> the most there may be of each count. Lower a bound when a count falls; never raise one."""

SLACK = 5
"""How far a count may fall before its bound has to follow."""


def assigned_names(tree):
    """Yield each name that is bound in a module by assignment or as a parameter, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno


def documented(tree):
    """Yield the docstrings of a module, its classes and functions, with their lines."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield text, getattr(node, "lineno", 1)


@cache
def counted(packages):
    """List what each count of the packages is of: name of the count -> places."""
    places = {name: [] for name in COUNTS}
    classes = defaultdict(list)
    for path in sorted(path for package in packages for path in (ROOT / package).rglob("*.py")):
        tree, file = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT)
        names = [f"{file}:{line}: {name}" for name, line in assigned_names(tree) if name.strip("_") in VAGUE]
        places["vague names"] += names
        opened = [(text.split()[0].lower().strip(",:;"), line) for text, line in documented(tree)]
        places["docstrings that open with a pronoun"] += [
            f"{file}:{n}: {word}" for word, n in opened if word in OPENINGS
        ]
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(f"{file}:{node.lineno}")
    places["class names that stand twice"] = [f"{name}: {files}" for name, files in classes.items() if len(files) > 1]
    return places


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("packages", BOUNDS, ids=["product", "tests"])
def test_a_count_only_falls(packages, name):
    """The list says where to look; a bound that is left behind has to be lowered."""
    places, bound = counted(packages)[name], BOUNDS[packages][COUNTS.index(name)]
    count = len(places)
    assert count <= bound, "\n".join(places[-40:])
    assert bound - count <= SLACK, f"lower the bound of {name} to {count}"


def test_a_vague_name_is_seen():
    """Parameters, locals, and names in a comprehension count."""
    tree = ast.parse("def count(one, rows):\n    found = [it for it in rows]\n    return found")
    assert [name for name, _ in assigned_names(tree) if name in VAGUE] == ["one", "found", "it"]
