"""Tests of `ranker.errors`, and of the helper by which tests look at errors."""

import configparser
import re
import sys
from pathlib import Path

import pytest
from refusals import refuses

import ranker
from ranker.errors import EXTRAS, DataError, Question, UsageError, check_installed


def probe_error():
    """Return an error that has all fields."""
    return UsageError("`probe` must be 1 to 6 (got 7)", option="probe", value=7, allowed=(1, 6), place="a.csv")


@pytest.mark.parametrize("field", ["option", "value", "allowed", "place"])
def test_a_test_fails_where_a_field_differs(field):
    """`refuses` compares each field that it is given."""
    with refuses(UsageError, **{field: getattr(probe_error(), field)}):
        raise probe_error()
    with pytest.raises(AssertionError), refuses(UsageError, **{field: "another"}):
        raise probe_error()


@pytest.mark.parametrize(("error_type", "fields"), [(DataError, {"place": ""}), (Question, {})])
def test_a_test_fails_where_the_type_differs_or_no_field_is_named(error_type, fields):
    """`refuses` accepts no subclass of the type, and no expectation without a field."""
    with pytest.raises(AssertionError), refuses(error_type, **fields):
        raise Question("which column is it?")


def extras():
    """Extra -> names of the packages that setup.cfg has for it, but for other extras."""
    setup = configparser.ConfigParser()
    setup.read(Path(__file__).parents[2] / "setup.cfg", encoding="utf-8")
    lines = {extra: text.split() for extra, text in setup["options.extras_require"].items()}
    names = {extra: {re.split(r"[\[><=,]", line)[0] for line in of_extra} for extra, of_extra in lines.items()}
    return {extra: of_extra - {"rank-models"} for extra, of_extra in names.items()}


def test_messages_know_the_packages_of_extras():
    """A package that is added to an extra is looked for, too."""
    installed = extras()
    assert {extra: set(packages.values()) for extra, packages in EXTRAS.items()} == {
        extra: installed[extra] for extra in EXTRAS
    }


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_package_that_is_missing_is_one_line_to_type(monkeypatch, extra):
    """Only what is missing is named, of what is needed."""
    first, *other_packages = EXTRAS[extra]
    monkeypatch.setitem(sys.modules, first, None)
    message = f"this needs {EXTRAS[extra][first]}: `pip install 'rank-models[{extra}]'`"
    with refuses(UsageError, option="x", value=1) as stop:
        check_installed("this", extra, first, option="x", value=1)
    assert str(stop.value) == message
    for name in other_packages:
        monkeypatch.setitem(sys.modules, name, sys)
        check_installed("this", extra, name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ood", "hans-sub"], "a checkpoint needs .*torch.*: `pip install 'rank-models\\[models\\]'`"),
        (["--data", "ten.csv", "--models", "folder"], "a checkpoint needs .*: `pip install 'rank-models\\[models\\]'`"),
        (["--data", "ten.csv", "--models", "lm:folder"], "a language model needs .*`pip install 'rank-models.*'`"),
        (["shift", "ten.csv", "ten.csv"], "`shift` needs scikit-learn: `pip install 'rank-models\\[shift\\]'`"),
    ],
)
def test_a_command_says_what_to_install_before_any_work(tmp_path, monkeypatch, rank_models, arguments, message):
    """The demo, checkpoints, language models and distances of sets."""
    monkeypatch.chdir(tmp_path)
    for name in ("torch", "sklearn"):
        monkeypatch.setitem(sys.modules, name, None)
    Path("folder").mkdir()
    Path("ten.csv").write_text("text,label\ngood,1\nbad,0\n", encoding="utf-8")
    status, out, err = rank_models(*arguments)
    assert (status, out) == (2, "")
    assert re.fullmatch(f"rank-models: {message}", err.splitlines()[-1])


def test_a_public_name_that_needs_an_extra_says_so(monkeypatch):
    """As commands do, and not in the words of Python."""
    monkeypatch.delitem(sys.modules, "ranker.attribution.perturb", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match=r"`ranker.token_masks` needs torch: `pip install 'rank-models\[models\]'`"):
        ranker.token_masks  # noqa: B018
