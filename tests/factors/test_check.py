import math
import sys

import numpy as np
import pytest

from factors import Example, factor
from factors.check import Checked, cases, check_factor, words_as_tokens
from factors.compose import mean, scores


def declared(score, **options):
    """A factor from a function."""
    return factor("MINE", **{"higher_is_better": True, "explains": "true", **options})(score)


def test_a_good_factor_is_described():
    """The sum of all tokens: linear, the same however words are cut, defined everywhere."""
    assert check_factor(declared(lambda a, e: float(a.scores.sum()))) == Checked("linear", True, ())


def test_a_factor_of_tokens_is_told_from_one_of_words():
    """The highest token changes when words are cut; it ranks tokenizers."""
    assert not check_factor(declared(lambda a, e: float(a.scores.max()))).by_words


@pytest.mark.parametrize(
    ("score", "scale"),
    [
        (lambda a, e: float(len(e.words)), "free"),
        (lambda a, e: float((a.scores**2).sum()), "other"),
        (lambda a, e: float(a.scores.sum() + 1), "other"),
    ],
)
def test_the_scale_is_told(score, scale):
    """A count is free of scale; a square or a sum with a constant is of neither kind."""
    assert check_factor(declared(score)).scale == scale


def remember(calls=[]):  # noqa: B006  # the very mistake that is to be found
    """A factor that counts its calls."""
    calls.append(1)
    return float(len(calls))


def write_through(a, e):
    """A factor that lifts the lock of an array."""
    a.scores.flags.writeable = True
    a.scores[0] += 1
    a.scores.flags.writeable = False
    return 0.0


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda a, e: math.inf, r"MINE must be finite, or nan where it is undefined \(got inf on 'a pair'\)"),
        (lambda a, e: None, r"MINE must return a number \(got None\), on 'a pair'"),
        (lambda a, e: "3", r"MINE must return a number \(got '3'\), on 'a pair'"),
        (lambda a, e: a.scores, r"MINE must return a number \(got an array of shape \(19,\)\), on 'a pair'"),
        (lambda a, e: sys.exit(3), r"MINE must not raise \(got SystemExit: 3 on 'a pair'\)"),
        (lambda a, e: 1 / len(e.marks), r"MINE must not raise \(got ZeroDivisionError: .* on 'no mark'\); it ret"),
        (lambda a, e: a.scores.sort() or 0.0, r"MINE must not raise \(got ValueError: .*read-only.*copies an array"),
        (lambda a, e: remember(), r"MINE must give the same value each time \(got .* on 'all scores zero'\)"),
        (lambda a, e: np.random.default_rng().random(), r"MINE must give the same value each time"),
        (write_through, r"MINE must change nothing that it is shown \(it did on 'a pair'\)"),
        (lambda a, e: math.nan, r"MINE must be defined somewhere .* `@factor\(\.\.\., mark=\.\.\.\)`"),
    ],
)
def test_a_broken_rule_is_named_with_the_case(score, message):
    """The author reads which rule it is, what came, and on what."""
    with pytest.raises(ValueError, match=message):
        check_factor(declared(score))


def test_what_is_no_factor_is_refused():
    """A function without a declaration says neither direction nor label."""
    with pytest.raises(TypeError, match="is no factor; declare it with `@factor"):
        check_factor(lambda a, e: 0.0)


def test_a_factor_of_marks_is_shown_its_own_mark():
    """The cases bear the mark that the factor declares."""
    checked = check_factor(declared(lambda a, e: float(len(e.marks["mine"])) if e.marks else math.nan, mark="mine"))
    assert "no mark" in checked.undefined


def test_more_cases_are_looked_at():
    """A rule that only a user's own row breaks is found."""
    own_cases = {"my row": cases()["one segment"]}
    score = declared(lambda a, e: math.inf if e.id == "one segment" and a is own_cases["my row"][0] else 0.0)
    check_factor(score)
    with pytest.raises(ValueError, match="on 'my row'"):
        check_factor(score, own_cases)


def test_a_factor_of_certain_words_is_checked_on_an_example_that_has_them():
    """Refused on the usual examples with the line that helps, which works."""

    @factor("WORDS", higher_is_better=True, explains="predicted")
    def words(attributions, example):
        """The mean over a word that the usual examples lack."""
        return mean(scores(attributions, np.array([example.text(word) == "perhaps" for word in example.words])))

    with pytest.raises(ValueError, match=r"`check_factor\(factor, more=\{name: \(attributions, example\)\}\)`"):
        check_factor(words)
    mine = Example("mine", ("perhaps",), 0)
    problems = check_factor(words, more={"mine": (words_as_tokens(mine, [0.5]), mine)})
    assert "mine" not in problems.undefined
    assert "a pair" in problems.undefined
