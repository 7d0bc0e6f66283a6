import sys

import pytest

from factors import BUILTIN
from ranker.commands.custom import available_factors, available_methods, factors, methods
from ranker.datasets import sets
from ranker.errors import UnknownName, UsageError
from ranker.scoring.score import Evidence
from ranker.statistics.methods import BUILTIN as METHODS
from ranker.statistics.methods import COINS, DEFAULT

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
    return [factor.name for factor in factors(chosen)]


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
        ("x = 1\n\0\n", r"`--factors`: .*my_factors\.py: source code string cannot contain null bytes"),
        (GOOD.replace("MINE", "Random"), r"`--factors`: Random is a method of every report; name the factor otherwise"),
        (GOOD.replace("MINE", "SURROGATE+LABEL"), r"SURROGATE\+LABEL is a method of every report"),
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
        factors([write(tmp_path, text)])
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_utf8_is_refused(tmp_path):
    """Bytes that are no text are told like any other slip in the file."""
    file = tmp_path / "latin.py"
    file.write_bytes("# caf\u00e9\n".encode("latin-1"))
    with pytest.raises(UsageError, match=r"`--factors`: .*latin\.py"):
        factors([str(file)])


def test_a_file_that_is_not_there_is_named(tmp_path):
    """Neither a missing file nor a folder is loaded."""
    (tmp_path / "folder.py").mkdir()
    for name in ("missing.py", "folder.py"):
        with pytest.raises(UsageError, match=f"`--factors`: there is no file .*{name}"):
            factors([str(tmp_path / name)])
        with pytest.raises(UsageError, match=f"`--methods`: there is no file .*{name}"):
            methods([str(tmp_path / name)])


def test_an_unknown_name_is_met_with_the_near_one(tmp_path):
    """Own factors are among the names that are offered."""
    with pytest.raises(UnknownName, match="there is no factor 'MINDE'; did you mean MINE"):
        factors(["MINDE", write(tmp_path, GOOD)])


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a distribution of one module with an entry point of ours, as pip leaves it on disk."""

    def make(name, text, target=None, group="factors"):
        (tmp_path / f"{name}.py").write_text(text)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[rank_models.{group}]\nmine = {target or name}\n")

    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield make
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def test_an_installed_package_brings_its_factors(install):
    """A distribution with an entry point of the group `rank_models.factors` needs no `--factors`."""
    install("their_factors", GOOD.replace("MINE", "THEIRS"))
    assert list(available_factors()) == [*BUILTIN, "THEIRS"]
    assert names("theirs") == ["THEIRS"]


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        ("1 / 0\n", None, r"the package 'theirs', .*: theirs cannot be loaded: ZeroDivisionError: division by zero"),
        ("x = 1\n", None, r"the package 'theirs', .*: theirs defines no factor"),
        (GOOD, "theirs:mine", r"the package 'theirs', .*: it must name a module \(got theirs:mine\)"),
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
        available_factors()


def test_a_file_may_not_take_a_packages_name(install, tmp_path):
    """Both owners are named: the installed module and the file."""
    install("their_factors", GOOD)
    with pytest.raises(UsageError, match=r"two factors are named MINE: mine in their_factors and mine in .*own\.py"):
        factors([write(tmp_path, GOOD, "own.py")])


# ---- methods that see a pool

POOLED = """from ranker.statistics.pool import PoolMethod

def votes(pool, targets, rows):
    agreed = (pool.predicted[:, None] == pool.predicted).mean(axis=(1, 2))
    return agreed[:, None].repeat(len(rows), axis=1)

MINE = PoolMethod("MINE", "label-free", votes, warning="may be wrong")
"""


def chosen_methods(*chosen):
    """The names of the chosen methods."""
    return [method.name for method in methods(chosen)]


def test_nothing_named_means_the_methods_that_are_shown_by_default():
    """A run without `--methods` has the short list, and "all" is all there are."""
    assert chosen_methods() == [method.name for method in DEFAULT] == ["SURROGATE", "SURROGATE+LABEL", "DAWID-SKENE"]
    assert chosen_methods("all") == [method.name for method in METHODS]
    assert {"SURROGATE+FACILITY", "SURROGATE+DISAGREE"}.isdisjoint(available_methods())


def test_methods_are_chosen_as_factors_are(tmp_path):
    """Names in their order whatever their case; a file alone adds to the short list, or to all, beside names to these.

    The file twice is the file once.
    """
    file = write(tmp_path, POOLED)
    assert chosen_methods("mano", "SURROGATE") == ["MANO", "SURROGATE"]
    assert chosen_methods(file) == ["SURROGATE", "SURROGATE+LABEL", "DAWID-SKENE", "MINE"]
    assert chosen_methods("all", file) == [*(method.name for method in METHODS), "MINE"]
    assert chosen_methods("COT", file, file) == ["COT", "MINE"]
    assert chosen_methods("mine", file, "cot") == ["MINE", "COT"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from ranker import rank\n\ndef broken(:\n", r"`--methods`: .*my_factors\.py, line 3: invalid syntax"),
        ("x = 1\n", r"`--methods`: .*my_factors\.py defines no method; a method is a `PoolMethod` by any name"),
        ("\n1 / 0\n", r"`--methods`: .*my_factors\.py, line 2: ZeroDivisionError: division by zero"),
        ("raise SystemExit(0)\n", r"line 1: SystemExit: 0"),
        (
            POOLED.replace('"MINE"', '"two words"'),
            r"line 7: ValueError: a method's name must be one word .*'two words'",
        ),
        (POOLED.replace('"MINE"', '"Guess"'), r"`--methods`: Guess is a method of every report; name the method other"),
        (POOLED.replace('"MINE"', '"acc"'), r"acc is a method of every report"),
        (POOLED.replace('"MINE"', '"INDEX-DIFF"'), r"INDEX-DIFF is a method of every report"),
        (POOLED.replace('"MINE"', '"NLL+TIES"'), r"NLL\+TIES is a method of every report"),
        (POOLED.replace('"MINE"', '"Surrogate"'), r"`--methods`: two methods are named Surrogate"),
        (POOLED.replace('"MINE"', '"ATC"'), r"`--methods`: two methods are named ATC"),
        (POOLED + POOLED.replace("MINE = ", "OTHER = "), r"`--methods`: .*my_factors\.py: two methods are named MINE$"),
    ],
)
def test_a_file_of_methods_that_cannot_be_used_gets_one_line(tmp_path, text, message):
    """What is wrong, in which file and line; a name that is taken, by a factor, a method or a coin."""
    with pytest.raises(UsageError, match=message) as caught:
        methods([write(tmp_path, text)])
    assert "\n" not in str(caught.value)


def test_an_unknown_method_is_met_with_the_near_one(tmp_path):
    """Own methods are among the names that are offered."""
    with pytest.raises(UnknownName, match="there is no method 'SUROGATE'; did you mean SURROGATE"):
        methods(["SUROGATE"])
    with pytest.raises(UnknownName, match="there is no method 'MINDE'; did you mean MINE"):
        methods(["MINDE", write(tmp_path, POOLED)])


def test_an_installed_package_brings_its_methods(install):
    """A distribution with an entry point of the group `rank_models.methods`; default ones are shown unasked."""
    install("their_methods", POOLED.replace('"MINE"', '"THEIRS"'), group="methods")
    assert list(available_methods()) == [*(method.name for method in METHODS), "THEIRS"]
    assert chosen_methods("theirs") == ["THEIRS"]
    assert "THEIRS" not in chosen_methods()
    assert "THEIRS" in chosen_methods("all")


def test_an_installed_method_may_be_shown_by_default(install):
    """As it declares itself."""
    install("their_methods", POOLED.replace("warning=", "default=True, warning="), group="methods")
    assert chosen_methods()[-1] == "MINE"


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        ("1 / 0\n", None, r"the package 'theirs', .*: theirs cannot be loaded: ZeroDivisionError: division by zero"),
        ("x = 1\n", None, r"the package 'theirs', .*: theirs defines no method"),
        (POOLED, "theirs:MINE", r"the package 'theirs', .*: it must name a module \(got theirs:MINE\)"),
        (POOLED.replace('"MINE"', '"doc"'), None, r"the package 'theirs', .*: two methods are named doc"),
    ],
)
def test_a_package_of_methods_that_cannot_be_used_is_named(install, text, target, message):
    """Which distribution, which entry point of which group, and why."""
    install("theirs", text, target, group="methods")
    with pytest.raises(UsageError, match=message) as caught:
        available_methods()
    assert "of 'rank_models.methods'" in str(caught.value)


def test_a_file_may_not_take_the_name_of_a_packages_method(install, tmp_path):
    """Nor may a factor take that of a method, or of a coin."""
    install("their_methods", POOLED, group="methods")
    with pytest.raises(UsageError, match=r"`--methods`: two methods are named MINE"):
        methods([write(tmp_path, POOLED, "own.py")])
    for name in (*COINS, "Surrogate", "mano"):
        with pytest.raises(UsageError, match="is a method of every report; name the factor otherwise"):
            factors([write(tmp_path, GOOD.replace("MINE", name))])


def test_a_factor_and_a_method_of_one_name_do_not_meet(tmp_path):
    """Neither file knows of the other: what is ranked by is refused as a whole."""
    mine = factors([write(tmp_path, GOOD, "one.py")])[-1]
    pooled = methods([write(tmp_path, POOLED, "other.py")])[-1]
    assert Evidence(factors=[mine], methods=methods([])).factors == [mine]
    for wrong in ({"factors": [mine], "methods": [pooled]}, {"factors": [mine, mine]}, {"methods": [pooled, pooled]}):
        with pytest.raises(UsageError, match="two methods are named MINE; name one of them otherwise"):
            Evidence(**wrong)


@pytest.mark.parametrize("card", sets.cards().values(), ids=lambda card: card.name)
def test_the_factor_designed_for_a_set_is_there(card):
    """A card names a factor that exists, and that reads nothing but what the set's rules mark."""
    if card.designed is not None:
        designed = BUILTIN[card.designed]
        assert designed.mark is None or designed.mark in card.marks
        assert designed.explains not in ("shortcut", "evidence") or getattr(card.task, designed.explains) is not None
