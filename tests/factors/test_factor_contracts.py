"""Contracts of every registered factor; a new one is tested by being registered."""

import math

import pytest

from factors import BUILTIN
from factors.check import cases, check_factor

UNSIGNED = {"ABS-SUM-DIFF", "STOP-SHARE", "CONCENTRATION"}
"""Shares of all attribution, whatever its sign."""

ORDERED = {name for name in BUILTIN if name.startswith("RATIONALE")}
"""They read the order of words by their scores."""

ERASING = {"COMPREHENSIVENESS", "SUFFICIENCY"}
"""They read probabilities of a text without some words."""

SCALE_FREE = {"ACC", "CONF", "CONF-GT", "NLL", "CONF-H"} | UNSIGNED | {"CONTENT-TRUE"} | ORDERED | ERASING
"""Probabilities, shares and orders have no unit; the others are in the scores' unit."""


@pytest.mark.parametrize("name", BUILTIN)
def test_a_factor_is_pure_and_finite_or_nan(name):
    """Twice the same value in any order of examples, nothing changed, no infinity, no exception."""
    check_factor(BUILTIN[name])


@pytest.mark.parametrize("name", BUILTIN)
def test_a_factors_scale_is_the_listed_one(name):
    """Four times the attributions are four times the factor, but for those that are listed: there is no third kind."""
    assert check_factor(BUILTIN[name]).scale == ("free" if name in SCALE_FREE else "linear")


@pytest.mark.parametrize("name", BUILTIN)
def test_a_factor_does_not_depend_on_how_words_are_cut(name):
    """A tokenizer that cuts every word in two gives the same value."""
    assert check_factor(BUILTIN[name]).by_words


@pytest.mark.parametrize("name", BUILTIN)
def test_a_factor_is_undefined_where_it_has_nothing_to_read(name):
    """A factor of marks where there are none, and one of two segments where the second was not seen, is nan."""
    factor = BUILTIN[name]
    undefined = check_factor(factor).undefined
    assert ("no mark" in undefined) == (factor.mark is not None)
    if factor.pair and name not in ("FIRST-TOK", "SHARED-AVG"):  # these need one segment's words or tokens only
        assert "cut off after three words" in undefined


@pytest.mark.parametrize("name", [name for name, factor in BUILTIN.items() if factor.kind == "factor"])
def test_the_other_label_reverses_a_factor_of_signed_scores(name):
    """The direction of a factor depends on the label that it is about; only magnitudes have none."""
    factor = BUILTIN[name]
    row, example = cases(factor.mark or "mark")["a pair"]
    first_score, second_score = factor.score(row, example), factor.score(row.toward(0), example)
    if name in UNSIGNED:
        assert second_score == pytest.approx(first_score, rel=1e-12)
    elif name == "MAX-DIFF" or name in ORDERED:  # the maximum of the other label's scores is minus their minimum
        assert second_score != pytest.approx(-first_score)
    else:
        assert second_score == pytest.approx(-first_score, abs=1e-12)


def test_every_factor_says_what_it_is():
    """Name in capitals, a first sentence for `ls factors`, and where it comes from."""
    for name, factor in BUILTIN.items():
        assert name == name.upper()
        assert (factor.score.__doc__ or "").strip().partition("\n")[0].endswith((".", ":"))
        assert factor.source


def test_the_cases_have_something_for_every_factor():
    """No factor is undefined on the full pair, so no rule above holds for want of a value."""
    for factor in BUILTIN.values():
        assert not math.isnan(factor.score(*cases(factor.mark or "mark")["a pair"]))
