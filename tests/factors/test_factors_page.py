"""docs/factors.md: its examples run, and it names every factor."""

import doctest
import re
from pathlib import Path

import pytest

from factors import BUILTIN

SHORT = {"Singhal et al. 2022": "paper"}
"""Papers that the page has its own words for."""

PAGE = (Path(__file__).parents[2] / "docs" / "factors.md").read_text(encoding="utf-8")


def test_the_worked_examples_are_right():
    """Every value on the page is what the factor gives."""
    code = "\n".join(re.findall(r"(?ms)^```python\n(.*?)^```", PAGE))
    test = doctest.DocTestParser().get_doctest(code, {}, "docs/factors.md", None, 0)
    messages: list[str] = []
    outcome = doctest.DocTestRunner().run(test, out=messages.append)
    assert outcome.failed == 0, "".join(messages)
    assert outcome.attempted > len(BUILTIN)


@pytest.mark.parametrize("name", BUILTIN)
def test_every_factor_has_its_section_with_an_example(name):
    """A heading, a worked value, and in the table the label, direction and source that the factor declares."""
    factor = BUILTIN[name]
    section = re.search(rf"(?ms)^### {name}\n(.*?)(?=^##|\Z)", PAGE)
    assert section, f"docs/factors.md has no section {name}"
    assert f'value("{name}"' in section[1]
    (row,) = re.findall(rf"(?m)^\| \[{name}\].*$", PAGE)
    label, better, source = (cell.strip() for cell in row.split("|")[3:6])
    assert label == factor.explains
    assert better == ("higher" if factor.higher_is_better else "lower")
    paper, _, section = factor.source.partition(", ")
    assert source == ("ours" if factor.source == "ours" else f"{SHORT.get(paper, paper.split(' (')[0])}, {section}")
