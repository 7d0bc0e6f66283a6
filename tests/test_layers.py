import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("factors", "ranker", "experiments", "benchmarks")
BASE = ("errors", "numbers", "progress")
MAY_KNOW = {
    # a room of `ranker` -> the rooms of it that it may import, beside itself; all may import `factors`
    **dict.fromkeys(BASE, ()),
    "limits": ("errors",),
    "records": ("errors", "limits"),
    "files": ("errors", "limits"),
    "statistics": (),
    "labelling": ("datasets", "statistics", "errors"),
    "tasks": ("errors",),
    "datasets": ("tasks", "files", "records", "limits", *BASE),
    "results": ("statistics", "files", "records", "limits", "errors", "numbers"),
    "sources": ("datasets", "tasks", "files", "records", "limits", "errors", "progress"),
    "report": ("results", "errors", "numbers"),
    "attribution": ("sources", "tasks", "records", "errors", "progress"),
    "runtime": ("attribution", "sources", "datasets", "tasks", "files", "records", "limits", *BASE),
    "scoring": ("results", "attribution", "statistics", "tasks", "errors", "numbers"),
}
MAY_KNOW["runs"] = tuple(room for room in MAY_KNOW if room not in ("report", "runs"))
MAY_KNOW["commands"] = tuple(room for room in MAY_KNOW if room != "commands")
MAY_KNOW["domains"] = tuple(
    room for room in MAY_KNOW if room not in ("attribution", "labelling", "progress", "records", "scoring")
)
MAY_KNOW["cli"] = ("commands", "errors")
MAY_KNOW["__main__"] = ("cli",)
UPWARDS = {"ranker": ("ranker.domains",)}
"""The public names of a room that an entry point adds are found by name, and imported late; nothing else points up."""
MOST_FLOORS, MOST_ARROWS, MOST_FILES = 11, 154, 8
COMPUTING = ("errors.py", "numbers.py", "scoring/score.py", "scoring/reference.py")
HEAVY = ("torch", "transformers", "captum", "shap", "lime", "scipy", "pyarrow", "matplotlib", "sklearn")


def modules(package):
    """The source files of a package."""
    return sorted((ROOT / package).rglob("*.py"))


def name_of(file):
    """The dotted name of a source file's module."""
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


NAMES = {name_of(file) for package in PACKAGES for file in modules(package)}


def is_module(name):
    """Tell whether a dotted name is a source file or a package of ours."""
    path = ROOT.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def imports(source, strings=False):
    """Every module that a source imports, wherever in it; with those of ours that its strings name, if wanted."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from names
            if not all(is_module(name) for name in names):  # else only modules are taken from the package
                yield node.module
        elif strings and isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(":")[0]  # "ranker.attribution.ig:attribute"
            if name in NAMES and "." in name:
                yield name


def imports_of(file, strings=False):
    """The same of a file, but for what may point up."""
    upwards = UPWARDS.get(name_of(file), ())
    return (name for name in imports(file.read_text(encoding="utf-8"), strings) if not name.startswith(upwards))


def room_of(name):
    """The room that a module is in: a package or a module at the top of `ranker`, or one of the other packages."""
    first, *inner = name.split(".")
    prefixes = [".".join(name.split(".")[:size]) for size in range(1, name.count(".") + 2)]
    modules_of_name = [part for part in prefixes if part in NAMES]
    return (
        first
        if first != "ranker" or not inner or modules_of_name == ["ranker"]
        else ".".join(modules_of_name[-1].split(".")[:2])
    )


def arrows():
    """(room, room that it imports or names in a string) -> the files that do."""
    arrows_found = {}
    for package in PACKAGES:
        for file in modules(package):
            own_room = room_of(name_of(file))
            for name in imports_of(file, strings=True):
                if name.partition(".")[0] in PACKAGES and room_of(name) != own_room:
                    arrows_found.setdefault((own_room, room_of(name)), []).append(file.relative_to(ROOT).as_posix())
    return arrows_found


def floors(needs):
    """Return the floor of each name from the ground; `needs` maps names to those they need, a circle has none."""
    floor, left = {}, dict(needs)
    while ready := [name for name, below in left.items() if not set(below) & set(left)]:
        floor.update(dict.fromkeys(ready, max(floor.values(), default=-1) + 1))
        left = {name: below for name, below in left.items() if name not in ready}
    return floor


def wrong_imports(room, names):
    """List the imported names that no source in a room of `ranker` may import."""
    allowed = {"ranker", f"ranker.{room}", *(f"ranker.{room_below}" for room_below in MAY_KNOW[room])}
    for name in names:
        top = name.partition(".")[0]
        if top in PACKAGES and top != "factors" and (top != "ranker" or room_of(name) not in allowed - {"ranker"}):
            yield name


@pytest.mark.few(3)
@pytest.mark.parametrize("room", MAY_KNOW)
def test_a_room_knows_only_what_lies_below_it(room):
    """One table says what each may import; a name in a string, "ranker.x.y:function", is an import, too."""
    files = modules(f"ranker/{room}") or [ROOT / "ranker" / f"{room}.py"]
    wrong = {file.name: list(wrong_imports(room, imports_of(file, strings=True))) for file in files}
    assert {name: wrong for name, wrong in wrong.items() if wrong} == {}


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("sources", "from ranker.attribution import settings"),
        ("sources", "def late():\n    import ranker.runtime.store"),
        ("sources", "if TYPE_CHECKING:\n    from ranker.scoring.score import Target"),
        ("report", "PLACE = 'ranker.scoring.decision:decide'"),
        ("report", "from ranker import scoring"),
        ("statistics", "from ranker.errors import UsageError"),
        ("runs", "from ranker import report"),
        ("commands", "from experiments import tables"),
        ("errors", "from ranker import rank"),
    ],
)
def test_a_wrong_import_is_seen(room, source):
    """Wherever it stands: at the top, in a function, for types alone, or in a string."""
    assert list(wrong_imports(room, imports(source, strings=True)))


def test_attribution_knows_no_kind_of_model():
    """Methods ask what any source may answer: they import what sources owe them, and none of the sources."""
    names = {name for file in modules("ranker/attribution") for name in imports_of(file, strings=True)}
    rooms = {".".join(name.split(".")[:3]) for name in names if name.startswith("ranker.sources")}
    assert rooms == {"ranker.sources.base", "ranker.sources.packing"}


def test_every_room_is_in_the_table():
    """A new room says what it may know before it is there."""
    rooms = {name.split(".")[1] for name in NAMES if name.startswith("ranker.")}
    assert rooms == set(MAY_KNOW)


@pytest.mark.more
def test_the_house_stays_low():
    """No circle of rooms, few floors and arrows, and few files that lie in no room."""
    all_arrows = arrows()
    rooms = {room_of(name) for name in NAMES}
    floor = floors({room: [below for above, below in all_arrows if above == room] for room in rooms})
    assert rooms - set(floor) == set()
    assert max(floor.values()) + 1 <= MOST_FLOORS
    assert len(all_arrows) <= MOST_ARROWS
    assert len(list((ROOT / "ranker").glob("*.py"))) <= MOST_FILES


def test_a_circle_has_no_floor():
    """Names that need themselves by way of others stand on nothing, and so do those that need them."""
    assert floors({"a": ["b"], "b": ["c"], "c": ["b"], "d": []}) == {"d": 0}
    assert floors({"a": ["b"], "b": ["c"], "c": []}) == {"c": 0, "b": 1, "a": 2}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("package", "allowed"), [("factors", ()), ("ranker", ("factors",)), ("experiments", ("factors", "ranker"))]
)
def test_imports_point_one_way(package, allowed):
    """`factors` <- `ranker` <- `experiments`, never the other way."""
    forbidden = {*PACKAGES} - {package, *allowed}
    imported = {name for file in modules(package) for name in imports_of(file, strings=True)}
    assert {name for name in imported if name.partition(".")[0] in forbidden} == set()


def test_factors_need_numpy_and_the_standard_library_only():
    """A factor can be read, tested and reused without any of the heavy machinery."""
    allowed = {"numpy", "factors", *sys.stdlib_module_names}
    wrong = [(file.name, name) for file in modules("factors") for name in imports_of(file)]
    assert not [row for row in wrong if row[1].partition(".")[0] not in allowed]


@pytest.mark.more
def test_modules_import_each_other_in_no_circle():
    """A module that needs one that needs it is two halves of one thing, or a type in the wrong place."""
    files = [file for package in PACKAGES for file in modules(package)]
    needs = {name_of(file): (set(imports_of(file)) & NAMES) - {name_of(file)} for file in files}
    assert set(needs) - set(floors(needs)) == set()


def test_the_map_names_every_module():
    """`docs/modules.md` says of each what it is for; of commands and formats, of all at once."""
    text = (ROOT / "docs" / "modules.md").read_text(encoding="utf-8")
    named_modules = set()
    for section in text.split("\n## ")[1:]:
        room = re.match(r"`([a-z/]+)`", section)[1]
        for cell in re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE):
            named_modules.update(f"{room}/{name}" for name in re.findall(r"`([^`]+)`", cell))
    files = {file.relative_to(ROOT).as_posix() for package in PACKAGES[:2] for file in modules(package)}
    folders = {name for name in named_modules if name.endswith("/")}
    alone = {
        name
        for name in files
        if not name.startswith(tuple(folders)) and not name.endswith(("__init__.py", "__main__.py"))
    }
    assert alone - named_modules == set()
    assert {name for name in named_modules if not (ROOT / name).exists()} == set()


@pytest.mark.parametrize(
    "file",
    [
        *modules("ranker/statistics"),
        *modules("ranker/domains/statistics"),
        *(ROOT / "ranker" / name for name in COMPUTING),
    ],
)
def test_the_statistics_see_no_files_and_no_models(file):
    """Arrays in, arrays out: numpy, scipy and nothing that reads a file or runs a network."""
    allowed = {"numpy", "scipy", "factors", "ranker", *sys.stdlib_module_names} - {"pathlib", "os", "io"}
    assert not {name.partition(".")[0] for name in imports_of(file)} - allowed


def asks_the_mode(source):
    """The lines of a source that ask whether a result is of a class, where the result can say what is wanted."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass", "hasattr"):
            words = {
                ast.unparse(name) for name in ast.walk(node.args[1]) if isinstance(name, (ast.Name, ast.Attribute))
            }
            if any(word.rpartition(".")[2] in ("Decision", "Evaluation") for word in words):
                yield node.lineno


@pytest.mark.more
def test_no_code_asks_which_mode_a_result_is_of():
    """A report has one table of renderers; everything else calls what both modes have."""
    files = [file for package in PACKAGES for file in modules(package)]
    asking = {name_of(file): list(asks_the_mode(file.read_text(encoding="utf-8"))) for file in files}
    assert {name: lines for name, lines in asking.items() if lines} == {}
    assert list(asks_the_mode("if isinstance(found, (int, results.Decision)):\n    pass")) == [1]


def named_flags(source):
    """The flags between backticks in the strings of a source, whole command lines excepted."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"(?<!`)`(--?[a-z][a-z-]*)", node.value)


@pytest.mark.more
def test_messages_below_the_command_line_name_parameters():
    """Whoever calls from Python has no flags; `ranker.commands.program` makes flags of parameters for all others."""
    files = [file for package in ("factors", "ranker") for file in modules(package)]
    below = [file for file in files if room_of(name_of(file)) not in ("ranker.commands", "ranker.cli")]
    with_flags = {file.name: list(named_flags(file.read_text(encoding="utf-8"))) for file in below}
    assert {name: flags for name, flags in with_flags.items() if flags} == {}


def test_a_flag_in_a_string_is_seen():
    """Also in a docstring and in a part of an f-string; a command to type may have flags."""
    assert list(named_flags('x = f"`--probe {k}` is too large"')) == ["--probe"]
    assert list(named_flags('def f():\n    "As `-o FILE`, see `--output`."')) == ["-o", "--output"]
    assert list(named_flags('x = "type `rank-models fetch x --data-dir DIR`; `probe` is K"')) == []


OF_MODELS = ("torch", "transformers", "captum", "safetensors", "peft", "gguf", "sklearn")
"""Libraries that come with extras."""

WITH_MODELS = ("ranker.attribution.", "ranker.sources.hf.", "ranker.sources.lm.", "ranker.sources.devices",
               "ranker.sources.packing")  # fmt: skip
"""Where models are run; the kinds themselves are asked of every reference, and need no model library."""


def needed_at_once(source):
    """Every module that is imported when this one is: in no function, and for no type checker alone."""
    nodes = [ast.parse(source)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from imports(ast.unparse(node))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            nodes += ast.iter_child_nodes(node)


def heavy_modules(needs):
    """The modules that import a library of extras at once, or one that does."""
    heavy = {name for name, needed in needs.items() if any(below.split(".")[0] in OF_MODELS for below in needed)}
    while heavy_too := {name for name, needed in needs.items() if needed & heavy} - heavy:
        heavy |= heavy_too
    return heavy


def test_only_what_runs_models_needs_their_libraries():
    """An answer from two tables needs no torch: nothing outside these rooms imports it with itself."""
    files = [file for package in ("factors", "ranker") for file in modules(package)]
    heavy = heavy_modules({name_of(file): set(needed_at_once(file.read_text(encoding="utf-8"))) for file in files})
    assert [name for name in heavy if not name.startswith(WITH_MODELS) or name.endswith(".kind")] == []
    assert {"ranker.sources.hf.networks", "ranker.sources.devices"} <= heavy


def test_arrow_is_never_asked_for_pandas():
    """Some versions of Arrow import it even for numpy's type of a column, and the core has none."""
    files = [file for package in ("factors", "ranker") for file in modules(package)]
    assert [file.name for file in files if "to_pandas" in file.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize(
    ("source", "heavy"),
    [
        ("import torch", True),
        ("try:\n    from ranker.low import x\nexcept ImportError: pass", True),
        ("class A:\n    import ranker.low", True),
        ("def late():\n    import torch", False),
        ("if TYPE_CHECKING:\n    import torch", False),
    ],
)
def test_a_heavy_module_is_seen(source, heavy):
    """Also through another module, and in a block; not in a function, nor for types."""
    needs = {"ranker.low": {"sklearn.svm"}, "ranker.high": set(needed_at_once(source))}
    assert ("ranker.high" in heavy_modules(needs)) == heavy


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["store", "prune", "--help"], ["ls", "ood"], ["ls", "factors"]]
)
def test_answers_about_itself_load_nothing_heavy(arguments):
    """Help and lists answer at once: none of the heavy libraries is imported."""
    code = (
        "import sys, runpy; sys.argv = ['rank-models', *sys.argv[1:]]\n"
        "try: runpy.run_module('ranker', run_name='__main__')\n"
        "except SystemExit: pass\n"
        f"print([name for name in {(*HEAVY, 'pandas')} if name in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == "[]"
    assert ran.stdout.strip()
