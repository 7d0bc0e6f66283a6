import sys

import pytest

from factors import BUILTIN
from ranker.commands.custom import available, choose
from ranker.datasets import sets
from ranker.errors import UnknownName, UsageError

GOOD = """from factors import factor

@factor("MINE", higher_is_better=True, explains="true")
def mine(attributions, example):
    \"\"\"One.\"\"\"
    return 1.0
"""


def write(folder, text, name="my_factors.py"):
    """A factor file."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return str(file)


def names(*chosen):
    """The names of the chosen factors."""
    return [factor.name for factor in choose(chosen)]


def test_nothing_named_means_every_factor():
    """A run without `--factors` measures what there is."""
    assert names() == list(BUILTIN)


def test_names_choose_in_their_order_whatever_their_case():
    """The table lists what was asked for, as it was asked for."""
    assert names("index-diff", "ACC") == ["INDEX-DIFF", "ACC"]


def test_a_file_alone_adds_to_all_factors(tmp_path):
    """Own factors stand beside the built-in ones."""
    assert names(write(tmp_path, GOOD)) == [*BUILTIN, "MINE"]


def test_a_file_beside_names_adds_its_factors_to_these(tmp_path):
    """A name and a file: that factor, and those of the file; the file twice is the file once."""
    file = write(tmp_path, GOOD)
    assert names("ACC", file, file) == ["ACC", "MINE"]
    assert names("mine", file, "ACC") == ["MINE", "ACC"]


def test_a_file_may_hold_many_factors_and_dataclasses(tmp_path):
    """The file is an ordinary module: what looks its module up finds it."""
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        + GOOD
        + GOOD.replace("MINE", "MINE-TOO").replace("def mine", "def mine_too").partition("\n")[2]
        + "\n@dataclass\nclass Weight:\n    value: float = 1.0\n"
    )
    assert names("ACC", write(tmp_path, text)) == ["ACC", "MINE", "MINE-TOO"]


def test_two_files_of_one_name_do_not_collide(tmp_path):
    """Files are told apart by their folders."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = write(tmp_path / "a", GOOD), write(tmp_path / "b", GOOD.replace("MINE", "YOURS"))
    assert names("ACC", one, other) == ["ACC", "MINE", "YOURS"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from factors import factor\n\ndef broken(:\n", r"`--factors`: .*my_factors\.py, line 3: invalid syntax"),
        (
            "x = 1\n",
            r"`--factors`: .*my_factors\.py defines no factor; a factor is a function under `@factor\(\.\.\.\)`",
        ),
        ("\n1 / 0\n", r"`--factors`: .*my_factors\.py, line 2: ZeroDivisionError: division by zero"),
        ("import no_such_module_at_all\n", r"line 1: ModuleNotFoundError: .*no_such_module_at_all"),
        ("raise SystemExit(0)\n", r"line 1: SystemExit: 0"),
        (GOOD.replace("MINE", "Random"), r"`--factors`: Random is a method of every report; name the factor otherwise"),
        (GOOD.replace("MINE", "SURROGATE+CHOICE"), r"SURROGATE\+CHOICE is a method of every report"),
        (GOOD.replace("MINE", "Majority"), r"Majority is a method of every report"),
        (GOOD.replace('"true"', '"truth"'), r"line 3: ValueError: MINE: `explains` must be one of .* \(got 'truth'\)"),
        (
            GOOD.replace("MINE", "MAX-DIFF"),
            r"two factors are named MAX-DIFF: max_diff in factors\.general and mine in .*py$",
        ),
        (
            GOOD + GOOD.replace("def mine", "def other"),
            r"two factors are named MINE: mine in .*my_factors\.py and other in .*my_factors\.py$",
        ),
    ],
)
def test_a_file_that_cannot_be_used_gets_one_line(tmp_path, text, message):
    """What is wrong, in which file and line, and for a name that is taken both owners."""
    with pytest.raises(UsageError, match=message) as caught:
        choose([write(tmp_path, text)])
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_utf8_is_refused(tmp_path):
    """Bytes that are no text are told like any other slip in the file."""
    file = tmp_path / "latin.py"
    file.write_bytes("# caf\u00e9\n".encode("latin-1"))
    with pytest.raises(UsageError, match=r"`--factors`: .*latin\.py"):
        choose([str(file)])


def test_a_file_that_is_not_there_is_named(tmp_path):
    """Neither a missing file nor a folder is loaded."""
    (tmp_path / "folder.py").mkdir()
    for name in ("missing.py", "folder.py"):
        with pytest.raises(UsageError, match=f"`--factors`: there is no file .*{name}"):
            choose([str(tmp_path / name)])


def test_an_unknown_name_is_met_with_the_near_one(tmp_path):
    """Own factors are among the names that are offered."""
    with pytest.raises(UnknownName, match="there is no factor 'MINDE'; did you mean MINE"):
        choose(["MINDE", write(tmp_path, GOOD)])


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a distribution of one module with an entry point of ours, as pip leaves it on disk."""

    def make(name, text, target=None):
        (tmp_path / f"{name}.py").write_text(text)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[rank_models.factors]\nmine = {target or name}\n")

    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield make
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def test_an_installed_package_brings_its_factors(install):
    """A distribution with an entry point of the group `rank_models.factors` needs no `--factors`."""
    install("their_factors", GOOD.replace("MINE", "THEIRS"))
    assert list(available()) == [*BUILTIN, "THEIRS"]
    assert names("theirs") == ["THEIRS"]


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        ("1 / 0\n", None, r"the package 'theirs', .*: theirs cannot be loaded: ZeroDivisionError: division by zero"),
        ("x = 1\n", None, r"the package 'theirs', .*: theirs defines no factor"),
        (GOOD, "theirs:mine", r"the package 'theirs', .*: it must name a module with factors \(got theirs:mine\)"),
        (
            GOOD.replace("MINE", "acc"),
            None,
            r"two factors are named acc: accuracy in factors\.baselines and mine in theirs$",
        ),
    ],
)
def test_a_package_that_cannot_be_used_is_named(install, text, target, message):
    """Which distribution, which entry point, and why: what a user needs to repair or remove it."""
    install("theirs", text, target)
    with pytest.raises(UsageError, match=message):
        available()


def test_a_file_may_not_take_a_packages_name(install, tmp_path):
    """Both owners are named: the installed module and the file."""
    install("their_factors", GOOD)
    with pytest.raises(UsageError, match=r"two factors are named MINE: mine in their_factors and mine in .*own\.py"):
        choose([write(tmp_path, GOOD, "own.py")])


@pytest.mark.parametrize("card", sets.cards().values(), ids=lambda card: card.name)
def test_the_factor_designed_for_a_set_is_there(card):
    """A card names a factor that exists, and that reads nothing but what the set's rules mark."""
    if card.designed is not None:
        designed = BUILTIN[card.designed]
        assert designed.mark is None or designed.mark in card.marks
        assert designed.explains not in ("shortcut", "evidence") or getattr(card.task, designed.explains) is not None
