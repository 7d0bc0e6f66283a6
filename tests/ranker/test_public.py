"""The public face of `ranker`: its names, docs/reference, and that no page needs more."""

import ast
import dataclasses
import doctest
import importlib
import inspect
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import ranker

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
REFERENCE = "".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "reference").glob("*.md")))
DEEPER = re.compile(r"\b(?:from|import) (ranker\.[\w.]+)")
FLAT = re.compile(r"\bfrom ranker import \(?([\w, ]+)")


def is_error(name):
    """Tell whether a public name is an error."""
    value = getattr(ranker, name)
    return inspect.isclass(value) and issubclass(value, Exception)


def blocks(text):
    """The code of a page, whatever its language."""
    return re.findall(r"(?ms)^```[^\n]*\n(.*?)^```", text)


def wrong_imports(text):
    """List what the code of a page imports from `ranker` that is no public name of it."""
    for block in blocks(text):
        yield from DEEPER.findall(block)
        for names in FLAT.findall(block):
            yield from (name for name in re.findall(r"(\w+)(?: as \w+)?", names) if name not in ranker.__all__)


def typed_names():
    """Map each public name to its module and its name there, as a type checker does."""
    (block,) = (
        node
        for node in ast.parse((ROOT / "ranker" / "__init__.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    )
    return {
        alias.asname or alias.name: (statement.module, alias.name)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


def test_a_type_checker_sees_what_python_does():
    """The same names from the same places; no other has a type, since a checker knows no `__getattr__`."""
    assert ranker.__all__ == sorted(ranker.__all__, key=lambda name: (not name.isupper(), name.islower(), name))
    assert {*typed_names()} == {*ranker.__all__}
    for name, (module, type_name) in typed_names().items():
        assert getattr(ranker, name) is getattr(importlib.import_module(module), type_name)


def test_another_name_is_not_there():
    """As of any module."""
    with pytest.raises(AttributeError, match="has no attribute 'ranks'"):
        _ = ranker.ranks
    assert dir(ranker) == sorted(ranker.__all__)


def test_the_names_alone_load_nothing():
    """Each is imported when it is asked for."""
    code = "import sys, ranker; print([name for name in sys.modules if name.startswith(('ranker.', 'numpy'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_reference_has_every_name_once():
    """On one of its pages, as a block of mkdocstrings."""
    counts = Counter(re.findall(r"(?m)^::: ranker\.(\w+)$", REFERENCE))
    assert {*counts} == {*ranker.__all__}
    assert set(counts.values()) == {1}


def test_the_reference_has_every_record_of_an_answer():
    """Records of `ranker.results`, and of the statistics that they hold, have one block each."""
    counts = Counter(re.findall(r"(?m)^::: (ranker\.[\w.]+\.[\w.]+)$", REFERENCE))
    assert set(counts.values()) == {1}
    for path in counts:
        module, _, name = path.rpartition(".")
        assert dataclasses.is_dataclass(getattr(importlib.import_module(module), name)), path


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ranker.__all__ if not is_error(name)])
def test_the_examples_of_the_reference_run(name):
    """Every name that is no error has one, which needs no other name than the public ones."""
    public = {name: getattr(ranker, name) for name in ranker.__all__}
    value = public[name]
    text = inspect.getdoc(value if inspect.isclass(value) or inspect.isroutine(value) else type(value))
    test = doctest.DocTestParser().get_doctest(text, public, name, None, 0)
    messages: list[str] = []
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=messages.append)
    assert results.failed == 0, "".join(messages)
    assert results.attempted


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_imports_public_names_alone(page):
    """`from ranker import ...` is enough for all that the pages do."""
    assert list(wrong_imports(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("from ranker.datasets import sets", ["ranker.datasets"]),
        ("    import ranker.progress", ["ranker.progress"]),
        (">>> from ranker import rank, InspectedModels", ["InspectedModels"]),
        ("from ranker import (rank, suites)", ["suites"]),
        ("from ranker import decide, rank", []),
    ],
)
def test_a_wrong_import_on_a_page_is_seen(code, wrong):
    """In a block of any language, and nowhere else."""
    assert list(wrong_imports(f"text\n```\n{code}\n```\n")) == wrong
    assert list(wrong_imports(f"`{code}`\n")) == []
