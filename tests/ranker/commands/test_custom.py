import shutil
import sys

import pytest
from refusals import refuses

from factors import BUILTIN
from ranker.commands.custom import available_factors, available_methods, factors, methods, metric
from ranker.datasets import sets
from ranker.errors import UnknownName, UsageError
from ranker.scoring.score import Evidence
from ranker.sources.metrics import OF_TEXTS, answers_of
from ranker.statistics.methods import BUILTIN as METHODS
from ranker.statistics.methods import COINS, DEFAULT
from ranker.tasks.texts import TextTask

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


def test_a_file_alone_means_its_factors_beside_baselines(tmp_path):
    """No other factor that reads attributions is measured."""
    baselines = [name for name, factor in BUILTIN.items() if factor.kind == "baseline"]
    assert names(write(tmp_path, GOOD)) == [*baselines, "MINE"]


def test_methods_can_be_switched_off():
    """`none` stands for no method, and only by itself."""
    assert methods(["none"]) == methods(["None"]) == []
    with refuses(UnknownName, value="none"):
        methods(["none", "surrogate"])


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
    first_file, second_file = write(tmp_path / "a", GOOD), write(tmp_path / "b", GOOD.replace("MINE", "YOURS"))
    assert names("ACC", first_file, second_file) == ["ACC", "MINE", "YOURS"]


@pytest.mark.parametrize(
    ("text", "line", "value"),
    [
        ("from factors import factor\n\ndef broken(:\n", ", line 3", None),
        ("x = 1\n", "", None),
        ("\n1 / 0\n", ", line 2", None),
        ("import no_such_module_at_all\n", ", line 1", None),
        ("raise SystemExit(0)\n", ", line 1", None),
        ("x = 1\n\0\n", "", None),
        (GOOD.replace("MINE", "Random"), "", "Random"),
        (GOOD.replace("MINE", "SURROGATE+LABEL"), "", "SURROGATE+LABEL"),
        (GOOD.replace("MINE", "Majority"), "", "Majority"),
        (GOOD.replace('"true"', '"truth"'), ", line 3", None),
        (GOOD.replace("MINE", "MAX-DIFF"), "", None),
        (GOOD + GOOD.replace("def mine", "def other"), "", None),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path, text, line, value):
    """With the line, or with the name that is taken."""
    file = write(tmp_path, text)
    with refuses(UsageError, option="factors", value=value, place=f"{file}{line}"):
        factors([file])


def test_a_file_that_is_not_utf8_is_refused(tmp_path):
    """Bytes that are no text are told like any other slip in the file."""
    file = tmp_path / "latin.py"
    file.write_bytes("# caf\u00e9\n".encode("latin-1"))
    with refuses(UsageError, option="factors", place=file):
        factors([str(file)])


def test_a_file_that_is_not_there_is_named(tmp_path):
    """Neither a missing file nor a folder is loaded."""
    (tmp_path / "folder.py").mkdir()
    for name in ("missing.py", "folder.py"):
        file = str(tmp_path / name)
        with refuses(UsageError, option="factors", value=file):
            factors([file])
        with refuses(UsageError, option="methods", value=file):
            methods([file])


def test_an_unknown_name_is_met_with_the_near_one(tmp_path):
    """Own factors are among the names that are offered."""
    with refuses(UnknownName, value="MINDE"):
        factors(["MINDE", write(tmp_path, GOOD)])


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a distribution of one module with an entry point of ours, as pip leaves it on disk."""

    def make(name, text, target=None, group="factors", point="mine"):
        (tmp_path / f"{name}.py").write_text(text)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[rank_models.{group}]\n{point} = {target or name}\n")

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


def test_a_file_may_not_take_a_packages_name(install, tmp_path):
    """The file is refused, and the package stays."""
    install("their_factors", GOOD)
    file = write(tmp_path, GOOD, "own.py")
    with refuses(UsageError, option="factors", place=file):
        factors([file])


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
    """Names keep their order whatever their case, a file adds to the short list, and counts once."""
    file = write(tmp_path, POOLED)
    assert chosen_methods("mano", "SURROGATE") == ["MANO", "SURROGATE"]
    assert chosen_methods(file) == ["SURROGATE", "SURROGATE+LABEL", "DAWID-SKENE", "MINE"]
    assert chosen_methods("all", file) == [*(method.name for method in METHODS), "MINE"]
    assert chosen_methods("COT", file, file) == ["COT", "MINE"]
    assert chosen_methods("mine", file, "cot") == ["MINE", "COT"]


@pytest.mark.parametrize(
    ("text", "line", "value"),
    [
        ("from ranker import rank\n\ndef broken(:\n", ", line 3", None),
        ("x = 1\n", "", None),
        ("\n1 / 0\n", ", line 2", None),
        ("raise SystemExit(0)\n", ", line 1", None),
        (POOLED.replace('"MINE"', '"two words"'), ", line 7", None),
        (POOLED.replace('"MINE"', '"Guess"'), "", "Guess"),
        (POOLED.replace('"MINE"', '"acc"'), "", "acc"),
        (POOLED.replace('"MINE"', '"INDEX-DIFF"'), "", "INDEX-DIFF"),
        (POOLED.replace('"MINE"', '"NLL+TIES"'), "", "NLL+TIES"),
        (POOLED.replace('"MINE"', '"Surrogate"'), "", "Surrogate"),
        (POOLED.replace('"MINE"', '"ATC"'), "", "ATC"),
        (POOLED + POOLED.replace("MINE = ", "OTHER = "), "", "MINE"),
    ],
)
def test_a_file_of_methods_that_cannot_be_used_is_named(tmp_path, text, line, value):
    """With the line, or with a name that is taken, by a factor, a method or a coin."""
    file = write(tmp_path, text)
    with refuses(UsageError, option="methods", value=value, place=f"{file}{line}"):
        methods([file])


def test_an_unknown_method_is_met_with_the_near_one(tmp_path):
    """Own methods are among the names that are offered."""
    with refuses(UnknownName, value="SUROGATE"):
        methods(["SUROGATE"])
    with refuses(UnknownName, value="MINDE"):
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
    ("group", "text", "target", "value"),
    [
        *((group, "1 / 0\n", None, "theirs") for group in ("factors", "methods")),
        *((group, "x = 1\n", None, None) for group in ("factors", "methods")),
        ("factors", GOOD, "theirs:mine", "theirs:mine"),
        ("factors", GOOD.replace("MINE", "acc"), None, None),
        ("methods", POOLED, "theirs:MINE", "theirs:MINE"),
        ("methods", POOLED.replace('"MINE"', '"doc"'), None, "doc"),
    ],
)
def test_a_package_that_cannot_be_used_is_named(install, group, text, target, value):
    """The line names the distribution, the entry point and its group, which a user needs to repair or remove it."""
    install("theirs", text, target, group=group)
    with refuses(UsageError, value=value, place=f"the package 'theirs', entry point 'mine' of 'rank_models.{group}'"):
        {"factors": available_factors, "methods": available_methods}[group]()


def test_a_file_may_not_take_the_name_of_a_packages_method(install, tmp_path):
    """Nor may a factor take that of a method, or of a coin."""
    install("their_methods", POOLED, group="methods")
    with refuses(UsageError, option="methods", value="MINE"):
        methods([write(tmp_path, POOLED, "own.py")])
    for name in (*COINS, "Surrogate", "mano"):
        with refuses(UsageError, option="factors", value=name):
            factors([write(tmp_path, GOOD.replace("MINE", name))])


def test_a_factor_and_a_method_of_one_name_do_not_meet(tmp_path):
    """Neither file knows of the other: what is ranked by is refused as a whole."""
    mine = factors([write(tmp_path, GOOD, "one.py")])[-1]
    pooled = methods([write(tmp_path, POOLED, "other.py")])[-1]
    assert Evidence(factors=[mine], methods=methods([])).factors == [mine]
    for wrong in ({"factors": [mine], "methods": [pooled]}, {"factors": [mine, mine]}, {"methods": [pooled, pooled]}):
        with refuses(UsageError, value="MINE"):
            Evidence(**wrong)


@pytest.mark.parametrize("card", sets.cards().values(), ids=lambda card: card.name)
def test_the_factor_designed_for_a_set_is_there(card):
    """A card names a factor that exists, and that reads nothing but what the set's rules mark."""
    if card.designed is not None:
        designed = BUILTIN[card.designed]
        assert designed.mark is None or designed.mark in card.marks
        assert designed.explains not in ("shortcut", "evidence") or getattr(card.task, designed.explains) is not None


# ---- metrics of texts


OVERLAP = """def mine(answer, reference):
    return float(answer == reference)
"""


def test_an_installed_package_brings_its_metrics(install):
    """A distribution with an entry point of the group `rank_models.metrics`; case does not matter."""
    install("theirs", OVERLAP.replace("mine", "same"), "theirs:same", "metrics")
    score = metric("MINE")
    assert (score.__name__, score("a", "a"), score("a", "b")) == ("mine", 1.0, 0.0)
    assert answers_of(score) == OF_TEXTS
    assert metric("rouge-l") is None


@pytest.mark.parametrize(
    ("text", "target", "point", "value"),
    [
        ("1 / 0\n", None, "mine", "theirs"), (OVERLAP, None, "mine", "theirs"),
        (OVERLAP, "theirs:yours", "mine", "theirs:yours"), (OVERLAP, "theirs:mine", "ROUGE-L", "ROUGE-L"),
        (OVERLAP, "theirs:mine", "BertScore", "BertScore"), (OVERLAP, "theirs:mine", "my metric", "my metric"),
    ],
)  # fmt: skip
def test_a_package_without_a_usable_metric_is_named(install, text, target, point, value):
    """The package cannot be imported, names no function, or takes a name that is taken or is no word."""
    install("theirs", text, target, "metrics", point)
    place = f"the package 'theirs', entry point {point!r} of 'rank_models.metrics'"
    with refuses(UsageError, value=value, place=place):
        metric("anything")


def test_a_packages_metric_is_judged_as_that_of_a_file(install, tmp_path):
    """A number outside 0 to 1, nan, and an error of the function are told with the metric's name."""
    rows = {}
    for value in ("2", "float('nan')", "1 / 0"):
        install("theirs", f"def f(answer, reference):\n    return {value}\n", "theirs:f", "metrics")
        with refuses(UsageError, option="metric", **({} if "/" in value else {"allowed": (0, 1)})) as stop:
            TextTask("text", metric("mine")).outcome("a", ("b",))
        rows[value] = str(stop.value)
        shutil.rmtree(tmp_path / "theirs-1.0.dist-info")
        del sys.modules["theirs"]
    assert all(message.startswith("`metric` mine: it ") for message in rows.values())
