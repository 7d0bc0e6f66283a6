import types

import pytest

from factors import BUILTIN, factor, factors_in


def module(name, **functions):
    """A module that defines the functions, as a file of a user's would."""
    custom_module = types.ModuleType(name)
    for function in functions.values():
        function.__module__ = name
    for key, function in functions.items():
        declare = factor(key.upper(), higher_is_better=True, explains="true")
        setattr(custom_module, key, declare(function))
    return custom_module


def test_the_decorator_returns_the_function_itself():
    """A factor stays an ordinary function that a test can call."""

    def one(attributions, example):
        return 1.0

    assert factor("ONE", higher_is_better=True, explains="true")(one) is one
    assert one.factor.name == "ONE"


def test_factors_are_found_in_the_order_of_definition():
    """Tables list factors as the file does."""
    factors = factors_in(module("mine", b=lambda a, e: 0.0, a=lambda a, e: 0.0))
    assert list(factors) == ["B", "A"]


def test_imported_factors_are_not_defined_again():
    """A user's file that imports a built-in factor to build on it does not redefine it."""
    mine = module("mine", own=lambda a, e: 0.0)
    mine.max_diff = BUILTIN["MAX-DIFF"].score
    assert list(factors_in(mine)) == ["OWN"]


def test_one_name_for_two_factors_is_refused_and_both_owners_are_named():
    """Nobody can guess which of the two was meant."""
    with pytest.raises(ValueError, match=r"named SAME: .* in first and .* in second"):
        factors_in(module("first", same=lambda a, e: 0.0), module("second", same=lambda a, e: 1.0))


def test_every_builtin_states_its_source_and_direction():
    """The directions are fixed before any result is seen; this table is the record of them."""
    declared = {name: (f.higher_is_better, f.explains, f.kind) for name, f in BUILTIN.items()}
    expected = {
        "ACC": (True, "predicted", "baseline"), "CONF": (True, "predicted", "baseline"),
        "CONF-GT": (True, "true", "baseline"), "NLL": (False, "true", "baseline"),
        "CONF-H": (False, "shortcut", "baseline"), "MAX-DIFF": (False, "shortcut", "factor"),
        "SUM-DIFF": (False, "shortcut", "factor"), "INDEX-DIFF": (False, "shortcut", "factor"),
        "FIRST-TOK": (False, "shortcut", "factor"), "SHARED-AVG": (False, "shortcut", "factor"),
        "ABS-SUM-DIFF": (True, "predicted", "factor"), "STOP-SHARE": (False, "predicted", "factor"),
        "CONCENTRATION": (True, "predicted", "factor"), "CONTENT-TRUE": (True, "true", "factor"),
        "CONST": (True, "true", "factor"), "SWAP-AVG": (False, "shortcut", "factor"),
        "SWAP-MAX-DIFF": (False, "shortcut", "factor"), "IRREG": (True, "evidence", "factor"),
        "VERB": (True, "evidence", "factor"), "ADJ": (True, "evidence", "factor"),
        "RATIONALE-P": (True, "true", "factor"), "RATIONALE-R": (True, "true", "factor"),
        "RATIONALE-F1": (True, "true", "factor"), "RATIONALE-TOKEN-F1": (True, "true", "factor"),
        "RATIONALE-IOU-F1": (True, "true", "factor"), "RATIONALE-AUPRC": (True, "true", "factor"),
        "COMPREHENSIVENESS": (True, "predicted", "factor"), "SUFFICIENCY": (False, "predicted", "factor"),
    }  # fmt: skip
    assert declared == expected
    assert all(f.source for f in BUILTIN.values())


def test_names_that_differ_in_case_only_are_one_name():
    """`--factors` does not mind case, so `SAME` and `same` could not be told apart."""
    first, second = module("first", same=lambda a, e: 0.0), module("second", same=lambda a, e: 1.0)
    lower = factor("same", higher_is_better=True, explains="true")(second.same)
    second.same = lower
    with pytest.raises(ValueError, match="two factors are named same"):
        factors_in(first, second)


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ({"name": "TWO WORDS"}, "must be one word without a comma"),
        ({"name": "A,B"}, "must be one word without a comma"),
        ({"name": "mine.py"}, "must be one word without a comma"),
        ({"explains": "shortcuts"}, "X: `explains` must be one of shortcut, evidence, true, predicted"),
        ({"kind": "base"}, "X: `kind` must be one of baseline, factor"),
        ({"pair": True, "single": True}, "X: `pair` and `single` exclude each other"),
    ],
)
def test_an_impossible_declaration_is_refused_where_it_is_made(declaration, message):
    """A slip in a declaration is told when the file is read, not when every cell of the table is empty."""
    fields = {"name": "X", "higher_is_better": True, "explains": "true", **declaration}
    with pytest.raises(ValueError, match=message):
        factor(**fields)(lambda a, e: 0.0)
