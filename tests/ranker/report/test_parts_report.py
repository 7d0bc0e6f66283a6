"""Parts of models in words and tables."""

import dataclasses

import pytest
from test_report_formats import toy_parts, with_found

from ranker import report
from ranker.report import parts as of_parts
from ranker.results.parts import ModelParts


def with_p(p_first):
    """The toy's parts with another probability that the first matters more."""
    parts = toy_parts().parts
    return dataclasses.replace(parts, components=dataclasses.replace(parts.components, p_first=p_first))


@pytest.mark.parametrize(
    ("p_first", "sentence"),
    [
        (
            0.9512,
            "Models matter more than prompts, with a probability of 95.1 %: the standard deviation between models is "
            "28.0 points (0.0 to 41.0), between prompts 0.0 (0.0 to 12.0).",
        ),
        (
            0.0004,
            "Prompts matter more than models, with a probability of >99.9 %: the standard deviation between prompts is "
            "0.0 points (0.0 to 12.0), between models 28.0 (0.0 to 41.0).",
        ),
        (
            0.3,
            "From 2 rows it cannot be told whether prompts or models matter more: the standard deviation between "
            "prompts is 0.0 points (0.0 to 12.0), between models 28.0 (0.0 to 41.0); the probability that prompts do "
            "is 70.0 %.",
        ),
    ],
)
def test_the_part_that_probably_matters_more_comes_first(p_first, sentence):
    """The part is said to matter more from 95 % on; below that it cannot be told, however likely it is."""
    assert of_parts.comparison(with_p(p_first)) == sentence


def test_parts_that_are_not_compared_have_their_tables_and_a_reason():
    """No standard deviation is shown, and no remark on one."""
    parts = ModelParts(toy_parts().parts.parts, None, "all did equally well on every row")
    ranking = dataclasses.replace(toy_parts(), parts=parts)
    text = " ".join(report.render(ranking, "table").split())
    assert "It cannot be told how much models or prompts matter: all did equally well on every row." in text
    assert "prompt members accuracy plain 1 80.0" in text
    assert "tandard deviation" not in text


@pytest.mark.parametrize(("variance", "expected"), [(-0.0031, True), (0.0031, False)])
def test_an_estimate_below_0_is_said_to_be_one(variance, expected):
    """The table has 0 in its place, and a remark names the part."""
    parts = toy_parts().parts
    second = dataclasses.replace(parts.components.second, variance=variance)
    parts = dataclasses.replace(parts, components=dataclasses.replace(parts.components, second=second))
    (remark,) = of_parts.remarks(parts)
    assert ("an estimate below 0 is shown as 0 (prompts)" in remark) == expected


def test_levels_are_in_the_unit_of_the_metric():
    """A metric that is no mean has its own values, as in the other tables."""
    ranking = with_found(toy_parts(), metric="macro-f1")
    ranking = dataclasses.replace(ranking, header=dataclasses.replace(ranking.header, metric="macro-f1"))
    assert "| bert\\_large | 2 | 0.850 |" in report.render(ranking, "markdown")


def test_a_part_with_a_line_end_stays_in_its_comment():
    """A paper that takes the LaTeX tables compiles nothing that a source put into a name."""
    parts = toy_parts().parts
    odd_part = dataclasses.replace(parts.parts[0], name="a\n\\input{x}")
    ranking = dataclasses.replace(toy_parts(), parts=dataclasses.replace(parts, parts=(odd_part, parts.parts[1])))
    assert "\n\\input" not in report.render(ranking, "latex")
