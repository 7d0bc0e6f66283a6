"""Publication: the files of the wheel, its size, its extras, and where it says it comes from."""

import ast
import configparser
import re
import shutil
import sys
import zlib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from setuptools import Distribution

from ranker.cli import main
from ranker.datasets import embedded
from ranker.sources import suites

ROOT = Path(__file__).parents[1]
MOST_BYTES = 20_000_000
"""Bound of the wheel's size: with all eight suites it had 39 MB."""

DEVELOPMENT = {"docs", "light", "test"}
"""Extras for work on the product itself."""

NOT_INSTALLED = (
    "the suite hans-lex-mini is not installed; a copy of the repository has it (`pip install -e .`); or name models of "
    "your own"
)

COME_WITH_OTHERS = {"tokenizers", "markupsafe"}
"""Modules of packages that a requirement brings: transformers the first, jinja2 the last."""


def packages(*names):
    """The packages in folders of the checkout, by their dotted names."""
    inits = (path.relative_to(ROOT).parent for name in names for path in (ROOT / name).rglob("__init__.py"))
    return {".".join(path.parts) for path in inits}


@pytest.fixture
def settings():
    """Read setup.cfg."""
    parsed = configparser.ConfigParser()
    parsed.read(ROOT / "setup.cfg", encoding="utf-8")
    return parsed


@pytest.fixture
def wheel_files(monkeypatch):
    """The files that setuptools puts into a wheel: place in the wheel -> file."""
    monkeypatch.chdir(ROOT)
    distribution = Distribution({"script_name": "setup.py"})
    distribution.parse_config_files(["setup.cfg"])
    build = distribution.get_command_obj("build_py")
    build.ensure_finalized()
    build.editable_mode = False
    modules = {module: file for _, module, file in build.find_all_modules()}
    data_files = {Path(package.replace(".", "/"), name): Path(source, name)
            for package, source, _, names in build.data_files for name in names}  # fmt: skip
    return modules, data_files


def test_the_wheel_is_small(wheel_files):
    """Below 20 MB, compressed as a wheel is."""
    modules, data_files = wheel_files
    assert (
        sum(len(zlib.compress(Path(file).read_bytes())) for file in (*modules.values(), *data_files.values()))
        < MOST_BYTES
    )


def test_the_wheel_holds_the_suites_of_the_demo(wheel_files):
    """The wheel has the suites that README and the tutorial run, and the checkout more."""
    held = {place.parts[3] for place in wheel_files[1] if place.match("ranker/data/suites/*/suite.json")}
    assert held == {"hans-sub-mini", "hans-con-mini", "paws-mini"}
    of_sets = {f"{name}-mini" for name in embedded.cards()}
    assert suites.bundled_suites().keys() == of_sets | {"hans-sub-across-mini", "paws-across-mini"}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--ood", "hans-lex"), NOT_INSTALLED),
        (("--models", "hans-lex-mini"), NOT_INSTALLED),
        (("--ood", "mine"), "no models for mine are installed; name yours with `--models`"),
    ],
)
def test_a_suite_that_is_not_installed_is_said_so(capsys, monkeypatch, tmp_path, flags, message):
    """With where it is, for a set of ours, whether the set or the suite is named; a user's own set has none."""
    monkeypatch.setattr(suites, "bundled_suites", dict)
    shutil.copytree(ROOT / "data" / "hans-con", tmp_path / "mine")
    with pytest.raises(SystemExit) as stop:
        main([*flags, "--include", str(tmp_path)])
    assert (stop.value.code, capsys.readouterr().err) == (2, f"rank-models: {message}\n")


def test_the_wheel_holds_every_package(settings):
    """A package that setup.cfg forgets is missing from the wheel only, and from no test."""
    assert set(settings["options"]["packages"].split()) - {"ranker.data"} == packages("factors", "ranker")


def test_the_wheel_says_that_it_is_typed(wheel_files):
    """Each package has the file that type checkers look for (PEP 561)."""
    assert {place.parent.name for place in wheel_files[1] if place.name == "py.typed"} == {"factors", "ranker"}


def test_each_extra_that_is_named_exists(settings):
    """In a message, a page, or a comment: `pip install 'rank-models[EXTRA]'`."""
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    files += [path for name in ("factors", "ranker", "experiments", "benchmarks") for path in (ROOT / name).rglob("*")]
    texts = [path.read_text(encoding="utf-8") for path in files if path.suffix in (".md", ".py", ".toml", ".html")]
    extras = {extra for text in texts for extra in re.findall(r"rank-models\[(\w+)\]", text)}
    assert extras
    assert extras <= settings["options.extras_require"].keys() - DEVELOPMENT


def imported():
    """Names of the modules of others that the product imports, at the top of a file or in a function."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for name in ("factors", "ranker") for path in
             (ROOT / name).rglob("*.py")]  # fmt: skip
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in names} - {"factors", "ranker", *sys.stdlib_module_names}


def canonical(requirement):
    """The name of a required package, as packages are compared."""
    return re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")


def test_each_import_has_a_requirement(settings):
    """Of the product, or of an extra for its users; a module that is not installed here has its package's name."""
    extras = [text for name, text in settings["options.extras_require"].items() if name not in DEVELOPMENT]
    required = {canonical(line) for text in (settings["options"]["install_requires"], *extras)
                for line in text.split("\n") if line.strip()}  # fmt: skip
    brought_by = packages_distributions()
    lacking = {
        module for module in imported() - COME_WITH_OTHERS
        if not {canonical(name) for name in brought_by.get(module, [module])} & required
    }  # fmt: skip
    assert lacking == set()


def test_each_extra_is_explained(settings):
    """ARCHITECTURE's table of dependencies has a row for it."""
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## Dependencies")[1]
    explained = settings["options.extras_require"].keys() - {"light", "test"}
    assert [name for name in explained if f"`{name}`" not in page] == []


def test_actions_are_pinned_by_commit():
    """A tag can be moved; the comment says which one it was."""
    files = [*(ROOT / ".github" / "workflows").glob("*.yml"), *(ROOT / "docs" / "workflows").glob("*.yml")]
    used = [line.strip() for path in files for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert len(used) > 10
    assert [line for line in used if not re.search(r"uses: [\w/-]+@[0-9a-f]{40} # v[\d.]+$", line)] == []
