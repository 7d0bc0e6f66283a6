import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "factors": {"factors"},
    "ranker": {"factors", "ranker"},
    "experiments": {"factors", "ranker", "experiments"},
}
ROOMS = {
    "statistics": ("statistics",),
    "tasks": ("tasks", "errors"),
    "datasets": ("datasets", "tasks", "records", "errors", "numbers", "progress"),
    "results": ("results", "statistics", "records", "errors", "numbers"),
    "report": ("report", "results", "numbers", "errors"),
    "sources": ("sources", "datasets", "tasks", "records", "errors", "progress"),
    "scoring": ("scoring", "results", "attribution", "statistics", "tasks", "errors", "numbers"),
    "runtime": ("runtime", "attribution", "sources", "datasets", "tasks", "records", "errors", "progress"),
    "attribution": ("attribution", "sources", "datasets", "tasks", "records", "errors", "progress"),
}
COMPUTING = ("errors.py", "numbers.py", "scoring/score.py", "scoring/reference.py")
HEAVY = ("torch", "transformers", "captum", "shap", "lime", "scipy", "pyarrow", "matplotlib")


def modules(package):
    """The source files of a package."""
    return sorted((ROOT / package).rglob("*.py"))


def is_module(name):
    """Whether a dotted name is a source file or a package of ours."""
    path = ROOT.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def imports(file):
    """Every module that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from names
            if not all(is_module(name) for name in names):  # else only modules are taken from the package
                yield node.module


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_one_way(package):
    """`factors` <- `ranker` <- `experiments`, never the other way."""
    ours = set(MAY_IMPORT)
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in modules(package)
        for name in imports(file)
        if (top := name.partition(".")[0]) in ours and top not in MAY_IMPORT[package]
    ]
    assert not wrong


def test_factors_need_numpy_and_the_standard_library_only():
    """A factor can be read, tested and reused without any of the heavy machinery."""
    allowed = {"numpy", "factors", *sys.stdlib_module_names}
    wrong = [(file.name, name) for file in modules("factors") for name in imports(file)]
    assert not [row for row in wrong if row[1].partition(".")[0] not in allowed]


def test_modules_of_a_package_import_each_other_in_no_circle():
    """A module that needs one that needs it is two halves of one thing, or a type in the wrong place."""
    graph = {}
    for package in MAY_IMPORT:
        for file in modules(package):
            name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            graph[name] = set(imports(file)) - {name}
    graph = {name: {other for other in found if other in graph} for name, found in graph.items()}
    settled: set[str] = set()
    while ready := [name for name, needs in graph.items() if name not in settled and needs <= settled]:
        settled.update(ready)
    assert set(graph) - settled == set()


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_knows_only_what_lies_below_it(room):
    """What reads texts, what runs networks and what only computes can each be read and checked by itself."""
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in modules(f"ranker/{room}")
        for name in imports(file)
        if name.startswith("ranker.") and not f"{name}.".startswith(tuple(f"ranker.{known}." for known in ROOMS[room]))
    ]
    assert not wrong


def test_the_map_names_every_module():
    """`docs/ARCHITECTURE.md` says of each what it is for; of commands and formats, of all at once."""
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set()
    for section in text.partition("## Packages")[2].partition("## Decisions")[0].split("### ")[1:]:
        room = re.match(r"`([a-z/]+)`", section)[1]
        for cell in re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE):
            named.update(f"{room}/{name}" for name in re.findall(r"`([^`]+)`", cell))
    files = {file.relative_to(ROOT).as_posix() for package in MAY_IMPORT for file in modules(package)}
    folders = {name for name in named if name.endswith("/")}
    alone = {
        name
        for name in files
        if not name.startswith(tuple(folders)) and not name.endswith(("__init__.py", "__main__.py"))
    }
    assert alone - named == set()
    assert {name for name in named if not (ROOT / name).exists()} == set()


@pytest.mark.parametrize("file", [*modules("ranker/statistics"), *(ROOT / "ranker" / name for name in COMPUTING)])
def test_the_statistics_see_no_files_and_no_models(file):
    """Arrays in, arrays out: numpy, scipy and nothing that reads a file or runs a network."""
    allowed = {"numpy", "scipy", "factors", "ranker", *sys.stdlib_module_names} - {"pathlib", "os", "io"}
    assert not {name.partition(".")[0] for name in imports(file)} - allowed


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["ls", "ood"], ["ls", "factors"]])
def test_answers_about_itself_load_nothing_heavy(arguments):
    """Help and lists answer at once: none of the heavy libraries is imported."""
    code = (
        "import sys, runpy; sys.argv = ['rank-models', *sys.argv[1:]]\n"
        "try: runpy.run_module('ranker', run_name='__main__')\n"
        "except SystemExit: pass\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == "[]"
    assert ran.stdout.strip()
