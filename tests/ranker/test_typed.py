"""A user's type checker on the installed packages."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

GOOD = """\
from factors import Attributions, Example, factor
from ranker import ClassificationTask, Evidence, Runtime, decide, labelled, load_set, load_suite
from ranker import plot, rank, what_changed


@factor("SECOND", higher_is_better=False, explains="shortcut", pair=True)
def second(attributions: Attributions, example: Example) -> float:
    return float(attributions.scores[attributions.segment == 1].sum())


def best(names: list[str], rows: str, seed: int = 0) -> tuple[str, float]:
    task = ClassificationTask("mood", ("bad", "good"))
    decision = decide(names, labelled(rows, task), seed=seed, runtime=Runtime(store=None)).decision
    first = decision.models[0]
    return first.name, first.p_best


ranking = rank(load_suite(["hans-sub-mini"]), load_set("hans-sub", limit=40), evidence=Evidence("none"))
accuracy: float = ranking.evaluation.best.pairwise_accuracy
rows: list[str] = [change.name for change in what_changed(ranking, ranking).methods]
plot(ranking).figure.savefig("figure.svg")
"""

WRONG = {
    "ranked": ("from ranker import ranked", 'Module "ranker" has no attribute "ranked"'),
    "probe": (
        "from ranker import rank\nrank('a', 'b', probe='ten')",
        'Argument "probe" to "rank" has incompatible type',
    ),
    "level": (
        "from ranker import decide\nlevel: str = decide(['a', 'b']).decision.level",
        'expression has type "float"',
    ),
    "span": ("from factors import Span\nSpan('a', 0, 1)", 'Argument 1 to "Span" has incompatible type "str"'),
    "set": ("from ranker import load_set\nload_set(1)", 'Argument 1 to "load" has incompatible type "int"'),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The Python of an environment that holds the wheel, and all that it needs from this one."""
    folder = tmp_path_factory.mktemp("typed")
    copy = folder / "source"
    wanted = ("setup.cfg", "pyproject.toml", "README.md", "LICENSE")
    for name in wanted:
        copy.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, copy)
    for name in ("factors", "ranker"):
        shutil.copytree(ROOT / name, copy / name)
    (copy / "data").mkdir()  # typed without it, and built sooner
    (copy / "data" / "__init__.py").touch()
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist", copy]
    subprocess.run(build, check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    (packages,) = (folder / "env").glob("lib/python*/site-packages")
    (wheel,) = (folder / "dist").glob("*.whl")
    shutil.unpack_archive(wheel, packages, "zip")
    (packages / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "env" / "bin" / "python"


def checked(site, folder, script):
    """Check a script by mypy, strictly, in a folder without any other source."""
    (folder / "script.py").write_text(script)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", site, "--config-file", "/dev/null"]
    cache = ["--cache-dir", site.parents[2] / "cache"]
    return subprocess.run([*command, *cache, "script.py"], cwd=folder, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_a_users_script_is_typed(site, tmp_path):
    """Every public name has its type, through and through."""
    assert checked(site, tmp_path, GOOD) == "Success: no issues found in 1 source file\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_users_mistake_is_seen(site, tmp_path, name):
    """A name that there is not, an argument of another type, an answer taken for something else."""
    script, says = WRONG[name]
    assert says in checked(site, tmp_path, script)


@pytest.mark.slow
def test_every_package_says_that_it_is_typed(site):
    """As PEP 561 asks; without the file a checker takes a package for untyped."""
    (packages,) = site.parents[1].glob("lib/python*/site-packages")
    assert [(packages / name / "py.typed").is_file() for name in ("factors", "ranker")] == [True] * 2
