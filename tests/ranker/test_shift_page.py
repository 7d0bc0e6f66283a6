"""docs/shift.md: its command prints what it shows, its Python says what it says, and its table holds the references."""

import doctest
import re
from pathlib import Path

import pytest

from ranker.domains.references import reference_pairs
from ranker.domains.report.correlations import MEASURES

PAGE = (Path(__file__).parents[2] / "docs" / "shift.md").read_text(encoding="utf-8")


@pytest.mark.more
def test_the_command_prints_what_is_shown(rank_models):
    """Word by word, however lines are folded; "..." stands for the rest."""
    for block in re.findall(r"(?ms)^```console\n(.*?)^```", PAGE):
        (command, _, page_output) = block.partition("\n")
        status, out, _ = rank_models(*command.removeprefix("$ rank-models ").split(), "--quiet")
        assert not status
        assert " ".join(out.split()).startswith(" ".join(page_output.partition("...")[0].split()))


@pytest.mark.models
def test_the_python_of_the_page_runs():
    """In order, with the same names."""
    code = "\n".join(re.findall(r"(?ms)^```python\n(.*?)^```", PAGE))
    test = doctest.DocTestParser().get_doctest(code, {}, "shift", "docs/shift.md", 0)
    messages: list[str] = []
    outcome = doctest.DocTestRunner().run(test, out=messages.append)
    assert outcome.failed == 0, "".join(messages)
    assert outcome.attempted > 4


def test_the_table_of_verdicts_holds_the_references():
    """The least and the greatest of each kind."""
    for kind in ("near", "far", "other"):
        values = [pair.mmd for pair in reference_pairs() if pair.kind == kind]
        assert re.search(rf"(?m)^\| {kind} \|.*\| {min(values):.4f} to {max(values):.4f} \|$", PAGE)
    assert f"{len(reference_pairs())} pairs" in PAGE


def test_every_measure_has_its_line():
    """In the order of the report; those of an encoder are told of below."""
    assert re.findall(r"(?m)^\| `(\w+)` \|", PAGE) == [name for name in MEASURES if not name.startswith("encoder_")]
    assert all(f"`{name}`" in PAGE for name in MEASURES)
